//! Application kernels as schedules for a calibrated machine: what each rank computes, copies, sends and receives.

use hotlink_bench::is::{Class, ITERATIONS, TESTS};
use hotlink_bench::part;
use hotlink_fabric::spec::FabricSpec;
use hotlink_fabric::units::Time;
use hotlink_real::STREAM_BYTES;
use hotlink_sim::loggp::{Builder, Curve, Kind, LogGops, Op, Outcome, Schedule, per_size, simulate};

/// A machine whose messages are LogGP's and whose processors copy and update memory at calibrated speeds.
pub(crate) struct Machine {
    /// Its messages; a unit of `calc` is a picosecond.
    pub(crate) messages: LogGops,
    /// Time of a copy by itself, and while every processor copies.
    copies: Curve,
    copies_beside: Curve,
    /// Time of a message in a row of blocking calls, and of an exchange in a row of them.
    row: Curve,
    exchange: Curve,
    /// Time of a message to oneself, and up to which size a rank's own part is one, in alltoall and in alltoallv.
    to_self: Curve,
    own_message_max: [u64; 2],
    /// Picoseconds that a call of a collective adds to its messages, on each rank.
    collective: u64,
    /// Processors move messages themselves, as over shared memory: no adapter does it beside their work.
    is_carried: bool,
    update: Option<Time>,
    /// Picoseconds for each byte that a program moves between its own data and its messages' buffers.
    program_copy: f64,
    name: String,
}

/// Messages of so many bytes no library takes into buffers of its own: their sender waits for the receiver, and their time
/// has no more steps of protocols.
const UNBUFFERED: u64 = 1 << 20;

/// The time of `bytes` by `curve`, in a program that goes through `working` bytes before it comes back to the same ones.
/// What was measured went through twice its size, from one block to another, so a larger working set moves at the speed
/// of blocks of half of it: its data come from farther away than those of a small block that is sent again and again.
/// Larger copies bypass the caches from some size on, which shorter ones in a large working set do not: their speed is
/// no measure beyond it.
fn within(curve: &Curve, bytes: u64, working: u64) -> Option<u64> {
    let by_itself = curve.at(bytes)?;
    let reach = if bytes < STREAM_BYTES { (working / 2).min(STREAM_BYTES / 2) } else { working / 2 };
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
        let row = Curve::through(&per_size(spec, "row_time_of_"));
        let exchange = Curve::through(&per_size(spec, "exchange_time_of_"));
        let most = |name: &str| spec.parameters.get(name).map_or(0, |value| value.value as u64);
        Ok(Machine {
            messages,
            copies,
            copies_beside: beside,
            row,
            exchange,
            to_self: Curve::through(&per_size(spec, "self_time_of_")),
            own_message_max: ["alltoall_own_message_max", "alltoallv_own_message_max"].map(most),
            collective: spec.parameters.get("collective_overhead").map_or(0, |value| value.value as u64),
            is_carried,
            update,
            program_copy,
            name: spec.name.clone(),
        })
    }

    /// Time of a copy on each of `ranks` ranks at once, within a working set.
    fn copy(&self, bytes: u64, ranks: u32, working: u64) -> Result<u64, String> {
        let missing = || format!("{}: it states no copy costs; calibrate with `measure memory` too", self.name);
        let beside = within(&self.copies_beside, bytes, working).filter(|_| ranks > 1);
        if bytes == 0 { Ok(0) } else { beside.or_else(|| within(&self.copies, bytes, working)).ok_or_else(missing) }
    }

    /// What a copy of `bytes` takes longer within a working set. A message's own time may have steps between its size and
    /// the working set's that are its protocol's, not the memory's: only copies tell how much farther the bytes come.
    fn colder(&self, bytes: u64, working: u64) -> u64 {
        let copies = [&self.copies_beside, &self.copies].into_iter().find(|curve| curve.at(bytes).is_some());
        let longer = copies.and_then(|curve| Some(within(curve, bytes, working)?.saturating_sub(curve.at(bytes)?)));
        longer.unwrap_or(0)
    }

    /// Time of a rank's own part of an exchange, of which `common` bytes are every rank's: a message to itself, or a copy,
    /// which takes no longer. (The library's copies may bypass the caches from another size on than those that were
    /// measured; its messages tell.)
    fn own_part(&self, (bytes, common): (u64, u64), ranks: u32, working: u64, uneven: bool) -> Result<u64, String> {
        let as_message = self.to_self.at(bytes).map(|ps| ps + self.colder(bytes, working)).filter(|_| ranks > 1);
        match as_message {
            Some(time) if bytes <= self.own_message_max[usize::from(uneven)] => Ok(time),
            _ => {
                let together = self.copy(bytes, ranks, working)?.min(as_message.unwrap_or(u64::MAX));
                Ok((together as f64 * self.partly_alone(bytes, common)) as u64)
            }
        }
    }

    /// What is left of the time of a copy beside others where only `common` of its bytes are: the rest has the memory to
    /// itself, once the caches hold no more.
    fn partly_alone(&self, bytes: u64, common: u64) -> f64 {
        let alone = match (self.copies.at(bytes), self.copies_beside.at(bytes)) {
            (Some(alone), Some(beside)) if bytes >= STREAM_BYTES => (alone as f64 / beside as f64).min(1.0),
            _ => 1.0,
        };
        let share = common as f64 / bytes.max(1) as f64;
        share + (1.0 - share) * alone
    }

    /// Time of a copy between a program's data and its messages' buffers. Where the copies that were measured bypass the
    /// caches, a program's do not: its stores fetch their lines first, three streams of the memory's for two.
    fn program_copy(&self, bytes: u64, ranks: u32, working: u64) -> Result<u64, String> {
        let streams = if bytes < STREAM_BYTES { 1.0 } else { 1.5 };
        let shared = self.copy(bytes, ranks, working)? as f64 * streams;
        Ok(shared.max(bytes as f64 * self.program_copy) as u64)
    }

    /// Time of the news that a message was carried: an empty message's.
    fn news(&self) -> u64 {
        self.messages.latency.0 + 2 * self.messages.overhead.0 + self.messages.transit.at(1).unwrap_or(0)
    }

    /// Processor time to move a message of `bytes` each way at once, before the news of it: as exchanges were measured;
    /// else ping-pong's, but no less than a copy's beside others, for the ranks share the memory.
    fn carry_both(&self, bytes: u64, working: u64) -> u64 {
        let both = match bytes < UNBUFFERED {
            true => self.exchange.at(bytes).map(|both| both + self.colder(bytes, working)),
            false => within(&self.exchange, bytes, working),
        };
        if let Some(both) = both {
            return both.saturating_sub(self.news());
        }
        let alone = within(&self.messages.transit, bytes, working).unwrap_or(0);
        alone.max(within(&self.copies_beside, bytes, working).unwrap_or(0))
    }

    /// Processor time to move a message of `bytes` one way, before the news of it: ping-pong's. Of many in a row the next
    /// is on its way before the last has come: then it is what one of such a row takes, by blocking calls if that was
    /// measured, else a stream's. A long one of such a row waits for the last to have come, and is one by itself, with
    /// one buffer on each side as here: ping-pong has two.
    fn carry(&self, bytes: u64, in_a_row: bool) -> u64 {
        let each = self.row.at(bytes).filter(|_| in_a_row || bytes >= UNBUFFERED);
        match each.or_else(|| self.messages.occupancy.at(bytes).filter(|_| in_a_row)) {
            Some(each) if in_a_row => each.saturating_sub(self.messages.overhead.0),
            Some(each) => each.saturating_sub(self.news()),
            None => self.messages.transit.at(bytes).unwrap_or(0),
        }
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
    /// Every rank sends a part to every other and copies its own: `size` bytes, or, if `uneven`, as many as
    /// [`hotlink_bench::part`] says; so often, one after the other.
    Exchange { size: u64, uneven: bool, repeat: u32 },
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
            Kernel::Exchange { repeat, .. } | Kernel::Bcast { repeat, .. } => *repeat,
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
                Kernel::Exchange { size, uneven, repeat } => {
                    let part = |from, to| if uneven { part(size, from, to) } else { size };
                    // Parts to all and from all, one's own among them.
                    line.working = (0..ranks).map(|other| part(rank, other) + part(other, rank)).sum();
                    let common = (0..ranks).map(|rank| part(rank, rank)).min().unwrap_or(0);
                    let own = machine.own_part((part(rank, rank), common), ranks, line.working, uneven)?;
                    for _ in 0..repeat {
                        line.exchange(machine, part, own);
                    }
                }
                Kernel::Bcast { size, repeat } => {
                    (0..repeat).for_each(|_| line.bcast(machine, size, repeat > 1));
                }
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
    /// A part to and from every other rank at once, and a copy of one's own.
    fn exchange(&mut self, machine: &Machine, part: impl Fn(u32, u32) -> u64, own_ps: u64) {
        let mut ends = Vec::new();
        let (me, ranks) = (self.rank, self.ranks);
        // What processors carry costs their time, and so does a copy before it; what is left on the way is news of it.
        let (first, beside) = if machine.is_carried { (own_ps, 0) } else { (0, own_ps) };
        self.calc(machine.collective + first);
        let sent = |bytes: u64| if machine.is_carried { bytes.min(1) } else { bytes };
        for step in 1..ranks {
            let (to, from) = ((me + step) % ranks, (me + ranks - step) % ranks);
            if machine.is_carried {
                self.calc(machine.carry_both(part(me, to).max(part(from, me)), self.working));
            }
            ends.push(self.add(Kind::Send, to, sent(part(me, to))));
        }
        if beside > 0 {
            ends.push(self.add(Kind::Calc, me, beside));
        }
        for step in 1..ranks {
            let from = (me + ranks - step) % ranks;
            ends.push(self.add(Kind::Recv, from, sent(part(from, me))));
        }
        self.last = ends;
    }
    /// A sum on all ranks by recursive doubling; the ranks are a power of two.
    fn allreduce(&mut self, machine: &Machine, size: u64, combine_ps: u64) {
        self.calc(machine.collective);
        for round in 0..self.ranks.trailing_zeros() {
            let partner = self.rank ^ (1 << round);
            let send = self.add(Kind::Send, partner, size);
            let recv = self.add(Kind::Recv, partner, size);
            self.last = vec![send, recv];
            self.calc(combine_ps);
        }
    }
    fn bcast(&mut self, machine: &Machine, size: u64, in_a_row: bool) {
        let sent = if machine.is_carried { size.min(1) } else { size };
        self.calc(machine.collective);
        let rounds = self.ranks.next_power_of_two().trailing_zeros();
        for round in 0..rounds {
            let half = 1 << round;
            if self.rank < half && self.rank + half < self.ranks {
                if machine.is_carried {
                    self.calc(machine.carry(size, in_a_row));
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
        self.allreduce(machine, sums, machine.copy(sums, all, 0)?);
        self.exchange(machine, |_, _| COUNT, 0);
        self.calc(keys);
        let part = KEY * share / ranks;
        self.exchange(
            machine,
            |_, _| part,
            machine.own_part((part, part), all, working, true)?.max(machine.program_copy(part, all, working)?),
        );
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
            row: Curve::default(),
            exchange: Curve::default(),
            to_self: Curve::default(),
            own_message_max: [0; 2],
            collective: 0,
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
        let one = machine.run(&Kernel::Exchange { size: 1000, uneven: false, repeat: 1 }, 2).unwrap();
        assert_eq!(one.latency(), Time(2_999_000));
        let bcast = machine.run(&Kernel::Bcast { size: 1, repeat: 1 }, 4).unwrap();
        assert_eq!(bcast.latency(), Time(4_000_000), "two rounds of 2 o + L");
    }

    #[test]
    fn carried_messages_take_what_was_measured() {
        // 2 o + L of a short message is 2 us; processors carry long ones, each way at once slower than one way.
        let line = |start: u64, ps_per_byte: u64| {
            Curve::through(&[(1, Time(start)), (1001, Time(start + 1000 * ps_per_byte))])
        };
        let messages = LogGops { transit: line(0, 1000), ..machine().messages };
        let made = || Machine {
            messages,
            is_carried: true,
            row: line(600_000, 500),
            exchange: line(2_000_000, 3000),
            ..machine()
        };
        let shared = made();
        let us = |kernel| shared.run(&kernel, 2).unwrap().latency().us();
        assert_eq!(us(Kernel::Bcast { size: 1001, repeat: 1 }), 3.0);
        // In a row each takes its time of a row, and the last one's news its way: o + L, less o that the row has.
        assert!((us(Kernel::Bcast { size: 1001, repeat: 100 }) - 111.5).abs() < 1e-6);
        // One's own part is copied first: the processors do both.
        let exchange = Kernel::Exchange { size: 1001, uneven: false, repeat: 1 };
        assert!((us(exchange) - 5.1).abs() < 0.01, "{}", us(exchange));
        // Or it is a message, which takes longer.
        let own = Machine { to_self: line(2_000_000, 5000), own_message_max: [0, u64::MAX], ..made() };
        let uneven = Kernel::Exchange { size: 1000, uneven: true, repeat: 1 };
        let (copied, sent) = (shared.run(&uneven, 2).unwrap().latency(), own.run(&uneven, 2).unwrap().latency());
        assert!(sent.us() > copied.us() + 5.0, "{copied:?} {sent:?}");
        assert_eq!(own.run(&exchange, 2).unwrap().latency(), shared.run(&exchange, 2).unwrap().latency());
    }

    #[test]
    fn copies_know_who_else_copies_and_whose_they_are() {
        let line = |ps_per_byte: u64| Curve::through(&[(0, Time(0)), (1 << 30, Time(ps_per_byte << 30))]);
        let machine = Machine { copies: line(10), copies_beside: line(20), ..machine() };
        let own = |machine: &Machine, part| machine.own_part(part, 2, 0, false).unwrap();
        let (large, small) = (2 * STREAM_BYTES, STREAM_BYTES / 2);
        // Half of it while the other rank copies too; what the caches hold is no faster alone.
        assert_eq!([own(&machine, (large, large)), own(&machine, (large, large / 2))], [20 * large, 15 * large]);
        assert_eq!(own(&machine, (small, small / 2)), 20 * small);
        // The library's messages to oneself tell that its copies are faster, or are what it does.
        let messages = |ps_per_byte| Machine {
            to_self: line(ps_per_byte),
            copies: line(10),
            copies_beside: line(20),
            ..self::machine()
        };
        assert_eq!([own(&messages(5), (small, small)), own(&messages(50), (small, small))], [5 * small, 20 * small]);
        let sent = Machine { own_message_max: [u64::MAX; 2], ..messages(50) };
        assert_eq!(own(&sent, (large, large / 2)), 50 * large);
        // A program's copies fetch what they overwrite.
        assert_eq!(machine.program_copy(large, 2, 0), Ok(30 * large));
        assert_eq!(machine.program_copy(small, 2, 0), Ok(20 * small));
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
