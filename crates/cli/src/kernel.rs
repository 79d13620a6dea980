//! Application kernels as schedules for a calibrated machine: what each rank computes, copies, sends and receives.

use hotlink_bench::is::{Class, ITERATIONS, TESTS};
use hotlink_fabric::spec::FabricSpec;
use hotlink_fabric::units::Time;
use hotlink_sim::loggp::{Builder, Curve, Kind, LogGops, Op, Outcome, Schedule, per_size, simulate};

/// A machine whose messages are LogGP's and whose processors copy and update memory at calibrated speeds.
pub(crate) struct Machine {
    /// Its messages; a unit of `calc` is a picosecond.
    pub(crate) messages: LogGops,
    /// Time of a copy by itself, and while every processor copies.
    copies: Curve,
    copies_beside: Curve,
    /// Processors move messages themselves, as over shared memory: no adapter does it beside their work.
    is_carried: bool,
    update: Option<Time>,
    /// Picoseconds for each byte that a program moves between its own data and its messages' buffers.
    program_copy: f64,
    name: String,
}

/// The time of `bytes` by `curve`, in a program that goes through `working` bytes before it comes back to the same ones.
/// What was measured went through twice its size, from one block to another, so a larger working set moves at the speed
/// of blocks of half of it: its data come from farther away than those of a small block that is sent again and again.
fn within(curve: &Curve, bytes: u64, working: u64) -> Option<u64> {
    let (by_itself, reach) = (curve.at(bytes)?, working / 2);
    if reach <= bytes {
        return Some(by_itself);
    }
    Some(by_itself.max((curve.at(reach)? as f64 * (bytes as f64 / reach as f64)) as u64))
}

impl Machine {
    /// From a fabric that `calibrate --model loggp` wrote.
    pub(crate) fn of(spec: &FabricSpec) -> Result<Machine, String> {
        let messages = LogGops { calc_unit: Time(1), ..LogGops::of(spec)? };
        let copies = Curve::through(&per_size(spec, "copy_time_of_"));
        let update = spec.parameters.get("update_time").map(|value| Time(value.value.round() as u64));
        let beside = Curve::through(&per_size(spec, "copy_time_beside_others_of_"));
        let is_carried = spec.parameters.get("loggp_processor_share").is_some_and(|share| share.value >= 0.5);
        let program_copy = spec.parameters.get("program_copy_time_per_byte").map_or(0.0, |value| value.value);
        let name = spec.name.clone();
        Ok(Machine { messages, copies, copies_beside: beside, is_carried, update, program_copy, name })
    }

    /// Time of a copy on each of `ranks` ranks at once, within a working set.
    fn copy(&self, bytes: u64, ranks: u32, working: u64) -> Result<u64, String> {
        let missing = || format!("{}: it states no copy costs; calibrate with `measure memory` too", self.name);
        let beside = within(&self.copies_beside, bytes, working).filter(|_| ranks > 1);
        if bytes == 0 { Ok(0) } else { beside.or_else(|| within(&self.copies, bytes, working)).ok_or_else(missing) }
    }

    /// Time of a copy between a program's data and its messages' buffers.
    fn program_copy(&self, bytes: u64, ranks: u32, working: u64) -> Result<u64, String> {
        Ok(self.copy(bytes, ranks, working)?.max((bytes as f64 * self.program_copy) as u64))
    }

    /// Processor time to move a message of `bytes`, while every rank does: ping-pong's, but no less than a copy's beside
    /// others, for they share the memory.
    fn carry(&self, bytes: u64, working: u64) -> u64 {
        let alone = within(&self.messages.transit, bytes, working).unwrap_or(0);
        alone.max(within(&self.copies_beside, bytes, working).unwrap_or(0))
    }

    /// Time of a program's own work: bytes that it reads or writes in order, words that it updates in no order.
    fn own(&self, streamed: u64, scattered: u64, ranks: u32) -> Result<u64, String> {
        let missing = || {
            let how = "calibrate with `measure is --ranks 1` too";
            format!("{}: it states no update_time; {how}", self.name)
        };
        // A copy's reads and writes are two streams.
        Ok(self.copy(streamed / 2, ranks, 0)? + scattered * self.update.ok_or_else(missing)?.0)
    }

    /// The outcome of a kernel.
    pub(crate) fn run(&self, kernel: &Kernel, ranks: u32) -> Result<Outcome, String> {
        simulate(&kernel.schedule(self, ranks)?, &self.messages).map_err(|stuck| stuck.to_string())
    }
}

/// What the ranks do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kernel {
    /// NPB's Integer Sort, as `hotlink_bench::is` does it; ten iterations.
    IntegerSort(Class),
    /// Every rank sends `size` bytes to every other and copies its own part; so often, one after the other.
    Alltoallv { size: u64, repeat: u32 },
    /// Rank 0 sends `size` bytes to all, along a binomial tree; so often, one after the other.
    Bcast { size: u64, repeat: u32 },
}

/// Bytes of a key of the sort, and of a count.
const KEY: u64 = 4;
const COUNT: u64 = 8;

impl Kernel {
    /// How often it is done: the time of one is the whole time over this.
    pub(crate) fn repeat(&self) -> u32 {
        match self {
            Kernel::IntegerSort(_) => 1,
            Kernel::Alltoallv { repeat, .. } | Kernel::Bcast { repeat, .. } => *repeat,
        }
    }

    fn schedule(&self, machine: &Machine, ranks: u32) -> Result<Schedule, String> {
        let mut builder = Builder::new(ranks);
        for rank in 0..ranks {
            let first = builder.begin(rank);
            debug_assert!(first, "each rank begins once");
            let mut line = Line { builder: &mut builder, rank, ranks, working: 0, last: Vec::new() };
            match *self {
                Kernel::IntegerSort(class) => {
                    for _ in 0..ITERATIONS {
                        line.sort(machine, class)?;
                    }
                }
                Kernel::Alltoallv { size, repeat } => {
                    // Parts to all and from all, one's own among them.
                    line.working = 2 * u64::from(ranks) * size;
                    let own = machine.copy(size, ranks, line.working)?;
                    for _ in 0..repeat {
                        line.exchange(machine, size, own);
                    }
                }
                Kernel::Bcast { size, repeat } => (0..repeat).for_each(|_| line.bcast(machine, size)),
            }
        }
        Ok(builder.build())
    }
}

/// Seconds of a sort's own computation in one iteration on one rank of one: streamed bytes and scattered updates.
pub(crate) fn sort_work(class: Class, ranks: u64) -> (u64, u64) {
    let (share, range) = (class.keys() / ranks, u64::from(class.key_limit()) / ranks);
    // Keys to buckets: read, written and read; then counted, and the counts summed.
    (KEY * share * 3 + KEY * (share + 3 * range), 3 * share)
}

/// A rank's operations, one after the other.
struct Line<'b> {
    builder: &'b mut Builder,
    rank: u32,
    ranks: u32,
    /// Bytes that the rank goes through before it comes back to the same ones.
    working: u64,
    /// What the next operation waits for.
    last: Vec<u32>,
}

impl Line<'_> {
    fn add(&mut self, kind: Kind, peer: u32, size: u64) -> u32 {
        let id = self.builder.add(Op { kind, cpu: 0, nic: 0, rank: self.rank, peer, tag: 0, size });
        self.last.iter().for_each(|&before| self.builder.requires(id, before, false));
        id
    }
    fn calc(&mut self, ps: u64) {
        if ps > 0 {
            self.last = vec![self.add(Kind::Calc, self.rank, ps)];
        }
    }
    /// To and from every other rank at once, and a copy of one's own part.
    fn exchange(&mut self, machine: &Machine, size: u64, own_ps: u64) {
        let mut ends = Vec::new();
        // What processors carry costs their time; what is left on the way is news of it.
        let sent = if machine.is_carried { size.min(1) } else { size };
        for step in 1..self.ranks {
            if machine.is_carried {
                self.calc(machine.carry(size, self.working));
            }
            ends.push(self.add(Kind::Send, (self.rank + step) % self.ranks, sent));
        }
        if own_ps > 0 {
            ends.push(self.add(Kind::Calc, self.rank, own_ps));
        }
        for step in 1..self.ranks {
            ends.push(self.add(Kind::Recv, (self.rank + self.ranks - step) % self.ranks, sent));
        }
        self.last = ends;
    }
    /// A sum on all ranks by recursive doubling; the ranks are a power of two.
    fn allreduce(&mut self, size: u64, combine_ps: u64) {
        for round in 0..self.ranks.trailing_zeros() {
            let partner = self.rank ^ (1 << round);
            let send = self.add(Kind::Send, partner, size);
            let recv = self.add(Kind::Recv, partner, size);
            self.last = vec![send, recv];
            self.calc(combine_ps);
        }
    }
    fn bcast(&mut self, machine: &Machine, size: u64) {
        let sent = if machine.is_carried { size.min(1) } else { size };
        let rounds = self.ranks.next_power_of_two().trailing_zeros();
        for round in 0..rounds {
            let half = 1 << round;
            if self.rank < half && self.rank + half < self.ranks {
                if machine.is_carried {
                    self.calc(machine.messages.transit.at(size).unwrap_or(0));
                }
                self.last = vec![self.add(Kind::Send, self.rank + half, sent)];
            } else if (half..2 * half).contains(&self.rank) {
                self.last = vec![self.add(Kind::Recv, self.rank - half, sent)];
            }
        }
    }
    /// One iteration of the sort.
    fn sort(&mut self, machine: &Machine, class: Class) -> Result<(), String> {
        let ranks = u64::from(self.ranks);
        let (share, range) = (class.keys() / ranks, u64::from(class.key_limit()) / ranks);
        let buckets = if class == Class::S { 1 << 9 } else { 1 << 10 };
        let sums = COUNT * (buckets + TESTS as u64);
        // The keys as they are, in buckets, as sent, as they came, as they are counted; and the counts.
        self.working = KEY * (5 * share + range);
        let (all, working) = (self.ranks, self.working);
        let keys = machine.program_copy(KEY * share, all, working)?;
        self.calc(machine.own(KEY * share * 3, 2 * share, all)?);
        self.allreduce(sums, machine.copy(sums, all, 0)?);
        self.exchange(machine, COUNT, 0);
        self.calc(keys);
        let part = KEY * share / ranks;
        self.exchange(machine, part, machine.program_copy(part, all, working)?);
        self.calc(keys);
        self.calc(machine.own(KEY * (share + 3 * range), share, all)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Machine {
        let messages = LogGops { calc_unit: Time(1), ..("L=1us,o=0.5us,g=0.1us,G=1ns").parse().unwrap() };
        let copies = Curve::through(&[(0, Time(0)), (1000, Time(100_000))]);
        Machine {
            messages,
            copies,
            copies_beside: Curve::default(),
            is_carried: false,
            update: Some(Time(1000)),
            program_copy: 0.0,
            name: "x".to_owned(),
        }
    }

    #[test]
    fn two_ranks_take_what_the_closed_form_says() {
        let machine = machine();
        // o + L + 999 G + o, for the copy of 100 ns fits into the message's flight.
        let one = machine.run(&Kernel::Alltoallv { size: 1000, repeat: 1 }, 2).unwrap();
        assert_eq!(one.latency(), Time(2_999_000));
        let bcast = machine.run(&Kernel::Bcast { size: 1, repeat: 1 }, 4).unwrap();
        assert_eq!(bcast.latency(), Time(4_000_000), "two rounds of 2 o + L");
    }

    #[test]
    fn a_larger_working_set_moves_at_the_speed_of_its_own_size() {
        // 1 ps/B up to 1000 B, 3 ps/B at 10 000 B.
        let curve = Curve::through(&[(0, Time(0)), (1000, Time(1000)), (10_000, Time(30_000))]);
        assert_eq!(within(&curve, 1000, 2000), Some(1000), "from one block to another");
        assert_eq!(within(&curve, 1000, 20_000), Some(3000));
        assert_eq!(within(&curve, 10_000, 1000), Some(30_000), "never faster than by itself");
        assert_eq!(within(&Curve::default(), 1, 1), None);
    }

    #[test]
    fn a_sort_alone_is_its_work_and_copies() {
        let machine = machine();
        let class = Class::S;
        let (streamed, scattered) = sort_work(class, 1);
        let copies = [4 << 16, 4 << 16, 4 << 16].iter().map(|&bytes| machine.copy(bytes, 1, 0).unwrap()).sum::<u64>();
        let once = machine.own(streamed, scattered, 1).unwrap() + copies;
        let outcome = machine.run(&Kernel::IntegerSort(class), 1).unwrap();
        assert!((outcome.latency().0 as f64 / (ITERATIONS as u64 * once) as f64 - 1.0).abs() < 1e-6);
        let two = machine.run(&Kernel::IntegerSort(class), 2).unwrap();
        assert!(two.latency() < outcome.latency() && two.messages > 0);
    }
}
