//! A machine that was calibrated as LogGP: what messages, copies and updates of memory take on it.

use super::parameters::{Curve, LogGops, per_size};
use hotlink_bound::schedule::{Window, window_moved};
use hotlink_fabric::ledger::Inputs;
use hotlink_fabric::spec::FabricSpec;
use hotlink_fabric::units::Time;
use hotlink_port::STREAM_BYTES;
use std::sync::Arc;

/// Up to which size a rank's own part of an exchange is a message to itself, in alltoall and in alltoallv.
const OWN_MESSAGE_MAX: [&str; 2] = ["alltoall_own_message_max", "alltoallv_own_message_max"];

/// From this many bytes on, no library takes messages into its own buffers. Their sender waits for the receiver, and
/// their time has no more steps of protocols.
const UNBUFFERED: u64 = 1 << 20;

/// What a machine does not state and a program on it needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Missing {
    /// The time of copies.
    Copies,
    /// The time of an update of a word in no order.
    Updates,
    /// The time of a multiply-add.
    MultiplyAdd,
}

impl Missing {
    /// What is missing, and how to get it.
    pub fn told(self) -> &'static str {
        match self {
            Missing::Copies => "states no copy costs; calibrate with `measure memory` too",
            Missing::Updates => "states no update_time; calibrate with `measure is --ranks 1` too",
            Missing::MultiplyAdd => "states no time of a multiply-add, and no calibration gives one",
        }
    }
}

/// Processor time, or what had to be known for it.
pub type Cost = Result<u64, Missing>;

/// How processors of ranks that share a memory move messages: no adapter does it while they work.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Carried {
    /// Time of a message in a row of blocking calls, and of an exchange in a row of them.
    row: Curve,
    exchange: Curve,
}

/// What local work takes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Local {
    /// Time of a copy by itself, and while every processor copies.
    copies: Curve,
    copies_beside: Curve,
    update: Option<Time>,
    /// Picoseconds for each byte that a program moves between its own data and its messages' buffers.
    program_copy: f64,
}

/// A machine of the LogGP family: its messages, and what processors do between them.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Its messages; a unit of `calc` is a picosecond.
    pub messages: LogGops,
    /// `None`: messages are all that the machine is, and local work takes no time.
    local: Option<Local>,
    /// Processors move messages themselves, as over shared memory.
    pub(super) carried: Option<Carried>,
    /// Time of a rank's message to itself.
    to_self: Curve,
    /// Picoseconds that a call of a collective adds to its messages, on each rank.
    collective: u64,
    own_message_max: [u64; 2],
    name: String,
    /// Where it is noted what was used.
    spec: Option<Arc<FabricSpec>>,
}

/// The time of `bytes` by `curve`, in a program that goes through `working` bytes before it returns to the same ones.
/// The measurement went through twice its size, from one block to another. A larger working set therefore moves at the
/// speed of blocks of half its size. Its data come from farther away than those of a small block that is sent again and
/// again.
///
/// From some size on, copies bypass the caches. Shorter copies in a large working set do not, so the speed of the
/// larger ones does not apply to them.
fn within(curve: &Curve, bytes: u64, working: u64) -> Option<u64> {
    let by_itself = curve.at(bytes)?;
    let reach = if bytes < STREAM_BYTES { (working / 2).min(STREAM_BYTES / 2) } else { working / 2 };
    if reach <= bytes {
        return Some(by_itself);
    }
    Some(by_itself.max((curve.at(reach)? as f64 * (bytes as f64 / reach as f64)) as u64))
}

impl Machine {
    /// Nothing but messages: local work takes no time.
    pub fn of_messages(name: &str, messages: LogGops) -> Machine {
        Machine {
            messages: LogGops { calc_unit: Time(1), ..messages },
            local: None,
            carried: None,
            to_self: Curve::default(),
            collective: 0,
            own_message_max: [0; 2],
            name: name.to_owned(),
            spec: None,
        }
    }
    /// From a fabric that `calibrate --model loggp` wrote.
    ///
    /// # Errors
    /// Which parameter of LogGP is missing.
    pub fn of(spec: &FabricSpec) -> Result<Machine, String> {
        // What only some programs need is noted when they do.
        let quiet = FabricSpec { parameters: spec.parameters.unasked(), ..spec.clone() };
        let quiet = Inputs::new(&quiet);
        let always = |name: &str| quiet.require(name).expect("an assumption of any technology");
        let curve = |prefix: &str| Curve::through(&per_size(spec, prefix));
        let local = Local {
            copies: curve("copy_time_of_"),
            copies_beside: curve("copy_time_beside_others_of_"),
            update: quiet.stated("update_time").map(|ps| Time(ps.round() as u64)),
            program_copy: always("program_copy_time_per_byte"),
        };
        let share = spec.parameters.get("loggp_processor_share");
        let is_carried = share.is_some_and(|share| share.value >= 0.5);
        let carried = Carried { row: curve("row_time_of_"), exchange: curve("exchange_time_of_") };
        Ok(Machine {
            local: Some(local),
            carried: is_carried.then_some(carried),
            to_self: curve("self_time_of_"),
            collective: always("collective_overhead") as u64,
            own_message_max: OWN_MESSAGE_MAX.map(|name| always(name) as u64),
            spec: Some(Arc::new(spec.clone())),
            ..Machine::of_messages(&spec.name, LogGops::of(spec)?)
        })
    }
    /// A parameter is used.
    fn uses(&self, name: &str) {
        if let Some(spec) = &self.spec {
            // Its absence is the business of whoever needs it.
            let _ = Inputs::new(spec).require(name);
        }
    }
    /// Picoseconds that a call of a collective adds to its messages, on each rank.
    pub(super) fn collective(&self) -> u64 {
        self.uses("collective_overhead");
        self.collective
    }
    /// Up to which size a rank's own part of an exchange is a message to itself, in alltoall or (`uneven`) alltoallv.
    pub fn own_message_max(&self, uneven: bool) -> u64 {
        self.uses(OWN_MESSAGE_MAX[usize::from(uneven)]);
        self.own_message_max[usize::from(uneven)]
    }
    /// Its name: the fabric's.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// Whether a fabric is a LogGP machine.
    pub fn is(spec: &FabricSpec) -> bool {
        spec.parameters.contains_key("loggp_latency")
    }
    /// Whether processors move messages themselves, as over shared memory.
    pub fn is_carried(&self) -> bool {
        self.carried.is_some()
    }
    /// What memory takes makes no difference to what messages in it take.
    pub(super) fn forgets_memory(&self) -> bool {
        self.local.is_none()
    }

    /// Time of a copy on each of `ranks` ranks at once, within a working set. It is at most that of a rank's message to
    /// itself. (The library's copies may bypass the caches from another size on than those that were measured; its
    /// messages show that.)
    pub(super) fn copy(&self, bytes: u64, ranks: u32, working: u64) -> Cost {
        let plain = self.plain_copy(bytes, ranks, working)?;
        let message = self.message_to_self(bytes, working).filter(|_| ranks > 1 && bytes > 0);
        Ok(plain.min(message.unwrap_or(u64::MAX)))
    }
    fn plain_copy(&self, bytes: u64, ranks: u32, working: u64) -> Cost {
        let Some(local) = self.local.as_ref().filter(|_| bytes > 0) else { return Ok(0) };
        let beside = within(&local.copies_beside, bytes, working).filter(|_| ranks > 1);
        beside.or_else(|| within(&local.copies, bytes, working)).ok_or(Missing::Copies)
    }
    /// The part of a long copy's time that remains while no other rank copies: it has the memory to itself. A copy
    /// within the caches is no faster alone.
    pub(super) fn alone(&self, bytes: u64) -> f64 {
        let Some(local) = &self.local else { return 1.0 };
        match (local.copies.at(bytes), local.copies_beside.at(bytes)) {
            (Some(alone), Some(beside)) if bytes >= STREAM_BYTES => (alone as f64 / beside as f64).min(1.0),
            _ => 1.0,
        }
    }
    /// The extra time of a copy of `bytes` within a working set. A message's own time may have steps between its size
    /// and the working set's that come from its protocol, not the memory. Only copies show how much farther the bytes
    /// come.
    fn colder(&self, bytes: u64, working: u64) -> u64 {
        let Some(local) = &self.local else { return 0 };
        let copies = [&local.copies_beside, &local.copies].into_iter().find(|curve| curve.at(bytes).is_some());
        let longer = copies.and_then(|curve| Some(within(curve, bytes, working)?.saturating_sub(curve.at(bytes)?)));
        longer.unwrap_or(0)
    }
    /// Time of a rank's message to itself, where it was measured.
    pub(super) fn message_to_self(&self, bytes: u64, working: u64) -> Option<u64> {
        self.to_self.at(bytes).map(|ps| ps + self.colder(bytes, working))
    }
    /// Time of a copy between a program's data and its messages' buffers, where copies are stated. Where the measured
    /// copies bypass the caches, a program's do not. Its stores fetch their lines first: three streams of the memory's
    /// for two.
    pub(super) fn program_copy(&self, bytes: u64, ranks: u32, working: u64) -> u64 {
        let Some(local) = &self.local else { return 0 };
        let streams = if bytes < STREAM_BYTES { 1.0 } else { 1.5 };
        let shared = self.plain_copy(bytes, ranks, working).unwrap_or(0) as f64 * streams;
        self.uses("program_copy_time_per_byte");
        shared.max(bytes as f64 * local.program_copy) as u64
    }
    /// Time of a program's own work: bytes that it reads or writes in order, words that it updates in no order.
    pub(super) fn own(&self, streamed: u64, scattered: u64, ranks: u32) -> Cost {
        let Some(local) = &self.local else { return Ok(0) };
        let update = match scattered {
            0 => 0,
            _ => {
                self.uses("update_time");
                local.update.ok_or(Missing::Updates)?.0
            }
        };
        // A copy's reads and writes are two streams.
        Ok(self.plain_copy(streamed / 2, ranks, 0)? + scattered.saturating_mul(update))
    }

    /// Time of multiply-adds over vectors: no calibration gives it.
    pub(super) fn daxpy(&self) -> Cost {
        if self.local.is_some() { Err(Missing::MultiplyAdd) } else { Ok(0) }
    }

    /// The least time of a window of this many messages to another rank, which answers with an empty one, and what
    /// takes that time. With `both`, the other rank sends as many, and nobody answers.
    pub fn least_of_window(&self, bytes: u64, window: u64, both: bool) -> (Time, &'static str) {
        let (work, news) = (self.messages.work(bytes), self.news());
        if self.is_carried() {
            let carry = self.carry(bytes, true).min(self.carry(bytes, false));
            let each = if both { carry.min(self.carry_both(bytes, 0)) } else { carry };
            return (Time(window_moved(window, each, news)), "processors that move the messages");
        }
        let whole = self.messages.latency.0 + 2 * work + self.messages.transit(bytes);
        let answer = if both { 0 } else { self.messages.latency.0 + 2 * self.messages.work(0) };
        let (least, by_adapter) =
            Window { count: window, whole: whole + answer, both }.least(self.messages.occupancy(bytes), work);
        (Time(least), if by_adapter { "adapter (g and G)" } else { "processor (o)" })
    }
    /// The same for a rank's messages to itself. Each takes as long as measured, else as an exchange with another rank.
    pub fn least_of_own_window(&self, bytes: u64, window: u64) -> (Time, &'static str) {
        match self.message_to_self(bytes, 0) {
            Some(ps) => (Time(window_moved(window, ps, 0)), "processor that moves its own messages"),
            None => self.least_of_window(bytes, window, true),
        }
    }

    /// Time of the notice that a message was carried: an empty message's.
    pub(super) fn news(&self) -> u64 {
        self.messages.latency.0 + 2 * self.messages.overhead.0 + self.messages.transit.at(1).unwrap_or(0)
    }
    /// Processor time to move a message of `bytes` each way at once, before its notice: as exchanges were measured.
    /// Without that it is ping-pong's, but at least the time of concurrent copies, because the ranks share the memory.
    pub(super) fn carry_both(&self, bytes: u64, working: u64) -> u64 {
        let exchange = self.carried.as_ref().map(|carried| &carried.exchange);
        let both = exchange.and_then(|exchange| match bytes < UNBUFFERED {
            true => exchange.at(bytes).map(|both| both + self.colder(bytes, working)),
            false => within(exchange, bytes, working),
        });
        if let Some(both) = both {
            return both.saturating_sub(self.news());
        }
        let beside = self.local.as_ref().and_then(|local| within(&local.copies_beside, bytes, working));
        let alone = within(&self.messages.transit, bytes, working).unwrap_or_else(|| self.messages.transit(bytes));
        alone.max(beside.unwrap_or(0))
    }
    /// Processor time to move a message of `bytes` one way, before its notice: ping-pong's. In a row, the next message
    /// leaves before the last has arrived. Then it is the time of one message in such a row, by blocking calls if
    /// measured, else a stream's. A long message in such a row waits until the last has arrived. It is a single
    /// message, with one buffer on each side as here; ping-pong has two.
    pub(super) fn carry(&self, bytes: u64, in_a_row: bool) -> u64 {
        let row = self.carried.as_ref().and_then(|carried| carried.row.at(bytes));
        let each = row.filter(|_| in_a_row || bytes >= UNBUFFERED);
        match each.or_else(|| self.messages.occupancy.at(bytes).filter(|_| in_a_row)) {
            Some(each) if in_a_row => each.saturating_sub(self.messages.overhead.0),
            Some(each) => each.saturating_sub(self.news()),
            None => self.messages.transit(bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(ps_per_byte: u64) -> Curve {
        Curve::through(&[(0, Time(0)), (1 << 30, Time(ps_per_byte << 30))])
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
    fn copies_know_who_else_copies_and_whose_they_are() {
        let messages: LogGops = "L=1us,o=0.5us,g=0.1us,G=1ns".parse().unwrap();
        let local = Local { copies: line(10), copies_beside: line(20), update: None, program_copy: 1.0 };
        let machine = Machine { local: Some(local), ..Machine::of_messages("x", messages) };
        let (large, small) = (2 * STREAM_BYTES, STREAM_BYTES / 2);
        assert_eq!((machine.copy(large, 1, 0), machine.copy(large, 2, 0)), (Ok(10 * large), Ok(20 * large)));
        assert_eq!([machine.alone(large), machine.alone(small)], [0.5, 1.0], "what the caches hold is no faster alone");
        // A rank's messages to itself show that the library's copies are faster.
        let quick = Machine { to_self: line(5), ..machine.clone() };
        let slow = Machine { to_self: line(50), ..machine.clone() };
        assert_eq!([quick.copy(small, 2, 0), slow.copy(small, 2, 0)], [Ok(5 * small), Ok(20 * small)]);
        // A program's copies fetch what they overwrite.
        assert_eq!([machine.program_copy(large, 2, 0), machine.program_copy(small, 2, 0)], [30 * large, 20 * small]);
        assert_eq!(machine.own(8, 1, 1), Err(Missing::Updates));
        assert_eq!(Machine::of_messages("x", messages).own(8, 1, 1), Ok(0));
    }
}
