//! How a collective's schedule grows with its bytes and channels, so that what bounds it is counted of a small one.

use super::{Algorithm, Job, Machine, Which, ring};
use crate::draft::{Draft, Sums};

impl Job {
    /// What it puts on links and processors, all channels together.
    ///
    /// # Errors
    /// The machine cannot run it.
    pub fn sums(&self) -> Result<Sums, String> {
        self.check()?;
        let places: Vec<u32> = (0..self.machine.ranks / self.machine.domain).collect();
        let mut draft = Draft::summing(self.ranks());
        self.write(&mut draft, &self.homes(&places), 0);
        Ok(draft.sums())
    }

    /// The same by one channel or three, with the bytes that the fullest has: channels are alike and wait for none of the
    /// others. Only pairs share theirs.
    #[must_use]
    pub fn of_few_channels(&self) -> Job {
        let Machine { channels, domain, .. } = self.machine;
        // A chain that begins amid a host comes back to it. On the third channel it passes other GPUs of that host at both ends.
        let some = if matches!(self.which, Which::Bcast | Which::Reduce) { 3 } else { 1 };
        if channels <= some || self.algorithm == Algorithm::Pairwise || self.which == Which::Alltoall {
            return *self;
        }
        let all = if self.algorithm == Algorithm::Ring { ring::rings(&self.machine) } else { channels };
        // A channel alone carries both halves of a tree, of two that have one each.
        let halves = if self.algorithm == Algorithm::Tree && channels >= 2 * domain { 2 } else { 1 };
        let machine = Machine { channels: some, ..self.machine };
        Job { bytes: halves * u64::from(some) * self.bytes.div_ceil(all.into()), machine, ..*self }
    }

    /// How often what this takes grows by what it grew from the first to the second of [`Job::steady`]. The last round of a ring
    /// may be short and has all steps of one. A short last piece of others passes all stages sooner: it does not count.
    #[must_use]
    pub fn growth(&self) -> f64 {
        let [from, each] = self.steady();
        let times = self.bytes.saturating_sub(from) as f64 / each as f64;
        let has_rounds = self.algorithm == Algorithm::Ring && !matches!(self.which, Which::Bcast | Which::Reduce);
        if has_rounds { times } else { times.floor() }
    }

    /// Bytes from which on every channel has but whole pieces more, and those of a piece more for each. From there on what it
    /// takes grows evenly. Of a ring the first round does not, which fills its pipeline.
    #[must_use]
    pub fn steady(&self) -> [u64; 2] {
        let Machine { ranks, domain, channels, slices, costs, .. } = self.machine;
        let [n, d, channels] = [ranks, domain, channels].map(u64::from);
        let (chunk, domains) = (self.chunk(), n / d);
        // Pieces are halved until those of all stages fill (see `pipelined`).
        let filling = |stages: u64| match chunk >> 10 {
            0..=32 => 1,
            33..=64 => stages,
            65..=128 => 4 * stages,
            _ => 8 * stages,
        };
        let (pieces, each) = match (self.which, self.algorithm) {
            (Which::Bcast | Which::Reduce, _) => {
                // Lines grow with the bytes, up to whole pieces.
                (if costs.line > 0 { ring::FINE * n } else { 1 }, chunk * channels)
            }
            (_, Algorithm::Ring) => (2, slices * chunk * n * u64::from(ring::rings(&self.machine))),
            (_, Algorithm::Tree) => {
                let lanes = if channels < 2 * d { 2 * channels } else { channels };
                (filling(d + u64::from(domains.ilog2())), chunk * lanes)
            }
            (_, Algorithm::Pairwise) => {
                let pair = self.machine.of_a_pair(ranks, ranks == domain);
                (1, chunk * n * u64::from(pair))
            }
            (Which::Alltoall, _) => (1, chunk * n * channels),
            _ => (filling(self.stages()), chunk * d * channels),
        };
        [pieces, 1].map(|pieces| pieces.saturating_mul(each))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Costs, PeerChannels, Wiring};
    use super::*;
    use crate::{Kind, Op, Protocol, longest};
    use std::collections::BTreeMap;

    /// Collectives by all algorithms of machines of several kinds.
    fn jobs(bytes: u64) -> Vec<Job> {
        let mut jobs = Vec::new();
        for (ranks, domain, mesh, joined) in
            [(8, 8, true, false), (24, 8, false, false), (12, 4, true, false), (12, 4, false, true)]
        {
            for (protocol, line) in [(Protocol::Simple, 0), (Protocol::Ll, 4 << 10)] {
                let costs = Costs {
                    launch_ps: 6_600_000,
                    reduce_ps_per_byte: 40.0,
                    copy_ps_per_byte: 30.0,
                    protocol,
                    line,
                    near_ps: 400_000,
                    proxy_ps: 2_000_000,
                    post_ps: 1_000_000,
                    ..Costs::default()
                };
                let machine = Machine {
                    ranks,
                    domain,
                    channels: 16,
                    peer: PeerChannels { near: 4, far: 2 },
                    chunk: 32 << 10,
                    slices: 2,
                    costs,
                    wiring: Wiring { mesh, joined },
                    switch: !mesh,
                    rails: None,
                    uneven: None,
                };
                for which in Which::ALL {
                    let all = Algorithm::of(which).iter();
                    jobs.extend(all.map(|&algorithm| Job { which, algorithm, bytes, machine }));
                }
            }
        }
        jobs.retain(|job| job.check().is_ok());
        jobs
    }

    /// A message between domains takes longer.
    fn chain(job: &Job) -> u64 {
        let home =
            |rank: u32| if rank < job.machine.ranks { rank / job.machine.domain } else { rank - job.machine.ranks };
        let took = |op: &Op| if home(op.rank) == home(op.peer) { 300_000 } else { 900_000 } + op.size * 20;
        longest(&job.schedule().unwrap(), took).unwrap().chain
    }

    #[test]
    fn few_channels_have_the_chain_of_all_and_sums_are_those_of_the_operations() {
        for bytes in [8, 100_000, 2 << 20] {
            for job in jobs(bytes) {
                let share = chain(&job.of_few_channels()) as f64 / chain(&job) as f64;
                assert!((share - 1.0).abs() < 0.005, "{share}: {job:?}");
                let (sums, schedule) = (job.sums().unwrap(), job.schedule().unwrap());
                let (mut sent, mut work) = (BTreeMap::<_, u64>::new(), BTreeMap::<_, u64>::new());
                for op in schedule.ops() {
                    match op.kind {
                        Kind::Send => *sent.entry((op.rank, op.peer)).or_default() += op.size,
                        Kind::Calc => *work.entry((op.rank, op.cpu)).or_default() += op.size,
                        _ => {}
                    }
                }
                let largest = schedule.ops().filter(|op| op.kind == Kind::Send).map(|op| op.size).max();
                assert_eq!(sums, Sums { sent, largest: largest.unwrap_or(0), work }, "{job:?}");
            }
        }
    }

    /// What grows from few pieces is what is counted of many: no more, and little less.
    #[test]
    fn what_many_pieces_take_is_no_less_than_few_grow_to() {
        for job in jobs(0) {
            let job = Job { machine: Machine { channels: 2, ..job.machine }, ..job };
            let [from, each] = job.steady();
            let at = |bytes: u64| chain(&Job { bytes, ..job }) as f64;
            let (one, two) = (at(from), at(from + each));
            for more in [9.0, 19.5] {
                let whole = Job { bytes: from + (more * each as f64) as u64, ..job };
                let share = (one + whole.growth() * (two - one)) / at(whole.bytes);
                assert!((0.95..1.00001).contains(&share), "{share}, {more}: {job:?}");
            }
        }
    }

    /// No operation is forgotten where a limit of them decides.
    #[test]
    fn operations_are_at_most_about_those_of_the_schedule() {
        for job in [8, 100_000, 2 << 20].into_iter().flat_map(jobs) {
            let ops = job.schedule().unwrap().ops().len() as u64;
            let launches = u64::from(2 * job.ranks() * 32);
            assert!(ops <= job.operations() + job.operations() / 4 + launches, "{ops} {}: {job:?}", job.operations());
        }
    }
}
