//! A queue of DMA operations: the processor writes descriptors while the engine works, until the queue is full. Polling
//! or an interrupt reports the end of an operation.

use super::deposit::DepositTime;
use super::{Adapter, Host};
use hotlink_fabric::units::Time;

/// How the processor learns that an operation has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Completion {
    /// The processor polls until it sees the end, which takes no time of its own.
    Poll,
    /// The adapter interrupts it (`interrupt_time`).
    Interrupt,
}

impl Completion {
    /// Name on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            Completion::Poll => "poll",
            Completion::Interrupt => "interrupt",
        }
    }
}

/// The engine takes one operation at a time; a descriptor takes `setup` of the processor, which learns of an end `notice`
/// after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Queue {
    depth: u64,
    setup: Time,
    notice: Time,
}

impl Queue {
    /// Until the processor knows that the last of `operations` has ended, each of which moves data for `transfer`.
    fn run(self, transfer: Time, operations: u64) -> Time {
        let depth = self.depth.min(operations) as usize;
        // When each of the last `depth` operations was noticed, the oldest at `index % depth`.
        let mut noticed = vec![Time::ZERO; depth];
        let (mut written, mut engine_free) = (Time::ZERO, Time::ZERO);
        for index in 0..operations as usize {
            written = written.max(noticed[index % depth]) + self.setup;
            engine_free = engine_free.max(written) + transfer;
            noticed[index % depth] = engine_free + self.notice;
        }
        engine_free + self.notice
    }
}

impl Host {
    /// Moves `operations` contiguous blocks of `bytes` into remote memory by DMA, through the adapter's queue. `None`
    /// where the adapter has no DMA to set up, or `completion` needs an interrupt whose time the fabric does not state.
    ///
    /// # Panics
    /// If `bytes` is 0 or above [`super::Deposit::MOST_BYTES`], or `operations` 0 or above [`Host::MOST_OPERATIONS`].
    pub fn dma(&self, bytes: u64, operations: u64, completion: Completion) -> Option<DepositTime> {
        assert!((1..=super::Deposit::MOST_BYTES).contains(&bytes) && (1..=Host::MOST_OPERATIONS).contains(&operations));
        if matches!(self.adapter, Adapter::T3d(_)) {
            return None;
        }
        let notice = match completion {
            Completion::Poll => Time::ZERO,
            Completion::Interrupt => self.interrupt?,
        };
        let pipeline = self.block(bytes, 0);
        let mut outcome = pipeline.run();
        let transfer = Time(outcome.time.0 - pipeline.start.0);
        let queue = Queue { depth: self.dma_queue, setup: pipeline.start, notice };
        let time = queue.run(transfer, operations);
        for (_, load) in &mut outcome.load {
            load.0 *= operations;
        }
        outcome.charge("DMA setup and completion", Time(time.0.saturating_sub(transfer.0 * operations)));
        outcome.time = time;
        let bound = self.bound_of_peaks(bytes);
        Some(DepositTime::new(bytes * operations, &outcome, bound))
    }

    /// Most operations of one [`Host::dma`].
    pub const MOST_OPERATIONS: u64 = 1 << 16;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// At depth one, operations run in a row. With room for two, the shorter of setup and transfer hides behind the
        /// longer.
        #[test]
        fn a_queue_takes_its_closed_form(setup in 0u64..1000, transfer in 1u64..1000, notice in 0u64..100, n in 1u64..50) {
            let queue = |depth, notice| Queue { depth, setup: Time(setup), notice: Time(notice) };
            let time = |queue: Queue| queue.run(Time(transfer), n).0;
            prop_assert_eq!(time(queue(1, notice)), n * (setup + transfer + notice));
            prop_assert_eq!(time(queue(2, 0)), setup + transfer + (n - 1) * setup.max(transfer));
            prop_assert!(time(queue(4, notice)) <= time(queue(2, notice)));
            prop_assert!(time(queue(64, notice)) >= n * transfer + setup + notice);
        }
    }
}
