//! Messages beyond a slot: payloads that take the ring of bytes, come in parts, or lie in several blocks.
#![allow(unsafe_code)]

use super::{PART_SPINS, ShmPort, USER};
use crate::copy;
use crate::shm::ring::{Receiver, Seen};
use crate::shm::world::state;
use crate::sys;
use hotlink_port::{Head, Payload, Posted, Rank, Refusal, Span};
use std::sync::atomic::Ordering::Acquire;

impl ShmPort {
    /// A message that is no single short row of bytes, or has to wait for others.
    /// By value, so that a short one need not lie in memory.
    #[inline(never)]
    pub(super) fn control_long(&mut self, to: Rank, head: Head, payload: Payload<'_>) -> Posted {
        match self.gone.get(to as usize) {
            Some(false) => {}
            Some(true) => return Posted::Refused(Refusal::PeerGone(to)),
            None => return Posted::Refused(Refusal::NoRank),
        }
        let bytes = payload.bytes();
        let most = self.limits.control_bytes_max;
        if bytes > most {
            return Posted::Refused(Refusal::TooLong(most));
        }
        if self.scatters.blocks(to) && !self.send_puts(Some(to)) {
            return Posted::Busy;
        }
        let (store, sender) = (&self.store, &mut self.senders[to as usize]);
        match payload {
            Payload::None => sender.send((USER, false), &head, 0, |_, _| Ok(())),
            Payload::Bytes(from) => sender.send((USER, false), &head, bytes, |_, into| {
                into.copy_from_slice(from);
                Ok(())
            }),
            Payload::Span(span) if !span.layout.is_contiguous() => {
                sender.send((USER, false), &head, bytes, |_, into| store.pack(span, into))
            }
            // Refused, if it is to be, before the reader has seen a part.
            Payload::Span(span) if let Err(refusal) = store.address(span) => Posted::Refused(refusal),
            Payload::Span(span) => sender.send((USER, true), &head, bytes, |at, into| {
                store.pack(Span::new(span.memory, span.offset + at, into.len() as u64), into)
            }),
        }
    }
    /// Waits until `bytes` of a payload that comes in parts are there, which its sender is copying now: how many are.
    pub(super) fn wait_filled(
        &self,
        (from, receiver): &(Rank, Receiver),
        seen: &Seen,
        bytes: u64,
    ) -> Result<u64, Refusal> {
        let from = *from;
        let mut spins = 0;
        loop {
            let there = receiver.filled(seen);
            if there >= bytes {
                return Ok(there);
            }
            if spins < PART_SPINS {
                spins += 1;
                std::hint::spin_loop();
                continue;
            }
            self.world.watch();
            if self.world.member(from).state.load(Acquire) == state::DEAD && receiver.filled(seen) < bytes {
                return Err(Refusal::PeerGone(from));
            }
            sys::yield_core();
        }
    }
    /// Delivers a payload that comes in parts, or to several blocks.
    pub(super) fn deliver_long(&mut self, at: u64, to: Span) -> Result<(), Refusal> {
        if to.layout.is_contiguous() {
            let streams = self.lengthens(to);
            return self.deliver_parts(at, to, streams);
        }
        self.store.address(to)?;
        self.wait_filled(&self.receivers[self.here], &self.current, at + to.bytes())?;
        // SAFETY: inside the payload, which the ring keeps until `release`; not memory of the store.
        let from = unsafe { std::slice::from_raw_parts(self.current.payload.add(at as usize), to.bytes() as usize) };
        self.store.unpack(from, to)
    }
    /// Whether the bytes delivered to `to` continue a row that is too long for the caches. Then they are stored past
    /// them, as one copy of that length would be.
    fn lengthens(&mut self, to: Span) -> bool {
        let (memory, end, bytes) = self.row;
        let before = if memory == to.memory && end == to.offset { bytes } else { 0 };
        self.row = (to.memory, to.offset + to.bytes(), before + to.bytes());
        before >= self.world.copying.stream_min
    }
    /// Copies the current payload from byte `at` to a contiguous span while it comes.
    fn deliver_parts(&mut self, at: u64, to: Span, streams: bool) -> Result<(), Refusal> {
        let target = self.store.row(to.memory, to.offset, to.bytes())?;
        let (here, seen) = (self.here, self.current);
        let mut done = 0;
        while done < to.bytes() {
            let there = self.wait_filled(&self.receivers[here], &seen, at + done + 1)?.min(at + to.bytes());
            let bytes = there - at - done;
            // SAFETY: so much of the payload is there, and the ring keeps it until `release`; the target is inside a
            // block of the store.
            unsafe {
                let (from, into) = (seen.payload.add((at + done) as usize), target.add(done as usize));
                if streams { copy::stream(from, into, bytes as usize) } else { copy::row(from, into, bytes) }
            }
            done += bytes;
        }
        Ok(())
    }
}
