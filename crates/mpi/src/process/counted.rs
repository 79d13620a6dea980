//! Variables of the message engine in the tools interface: settings and counts.

use crate::abi::Handle;
use crate::failure::{Done, check};
use crate::process::Process;
use hotlink_message::{Counters, Options};
use hotlink_standard::constants as c;
use std::cell::Cell;
use std::ffi::c_int;

/// A setting of the message engine.
pub(crate) struct Setting {
    pub(crate) name: &'static str,
    pub(crate) meaning: &'static str,
    pub(crate) value: fn(&Options) -> u64,
}

/// Counts of the message engine.
pub(crate) struct Counted {
    pub(crate) name: &'static str,
    pub(crate) meaning: &'static str,
    pub(crate) class: c_int,
    pub(crate) value: fn(&Counters) -> u64,
}

pub(crate) const SETTINGS: [Setting; 5] = [
    Setting { name: "hotlink_eager_bytes", meaning: "longest eager message", value: |o| o.eager_bytes },
    Setting {
        name: "hotlink_piece_bytes",
        meaning: "longest piece of a rendezvous through buffers",
        value: |o| o.piece_bytes,
    },
    Setting {
        name: "hotlink_zero_copy_bytes",
        meaning: "shortest rendezvous without buffers; the greatest number: none",
        value: |o| o.zero_copy_bytes,
    },
    Setting {
        name: "hotlink_halves_bytes",
        meaning: "shortest message that both ranks move, a half each; the greatest number: none",
        value: |o| o.halves_bytes,
    },
    Setting {
        name: "hotlink_kept_bytes_most",
        meaning: "memory for eager messages that come before their receives",
        value: |o| o.kept_bytes,
    },
];

const fn counter(name: &'static str, meaning: &'static str, value: fn(&Counters) -> u64) -> Counted {
    Counted { name, meaning, class: c::MPI_T_PVAR_CLASS_COUNTER, value }
}

pub(crate) const COUNTED: [Counted; 13] = [
    counter("hotlink_eager", "messages sent eagerly", |n| n.eager),
    counter("hotlink_pieces", "messages sent by rendezvous through buffers", |n| n.pieces),
    counter("hotlink_fetched", "messages that this rank fetched from the sender's memory", |n| n.fetched),
    counter("hotlink_halved", "of those, with the sender's help for one half", |n| n.halved),
    counter("hotlink_deposited", "messages that this rank deposited into the receiver's memory", |n| n.deposited),
    counter("hotlink_early", "of those, into receives announced before the message", |n| n.early),
    counter("hotlink_unexpected", "messages that came before their receive", |n| n.unexpected),
    Counted {
        name: "hotlink_kept_bytes",
        meaning: "bytes of eager messages that wait for their receives",
        class: c::MPI_T_PVAR_CLASS_LEVEL,
        value: |n| n.kept_bytes,
    },
    Counted {
        name: "hotlink_kept_bytes_max",
        meaning: "most bytes of eager messages that waited",
        class: c::MPI_T_PVAR_CLASS_HIGHWATERMARK,
        value: |n| n.kept_bytes_max,
    },
    counter("hotlink_held_back", "short messages that only announced themselves: the receiver had enough", |n| {
        n.held_back
    }),
    counter("hotlink_credits", "times that this rank reported to another what it had taken", |n| n.credits),
    counter("hotlink_buffered", "messages copied so that their send could end at once", |n| n.buffered),
    counter("hotlink_packed", "messages of several blocks packed or unpacked through a buffer", |n| n.packed),
];

pub(crate) const CATEGORY: (&str, &str) =
    ("hotlink_messages", "the message engine: protocols, and how often each was used");

/// A performance variable under one handle.
pub(crate) struct Reading {
    pub(crate) session: Handle,
    pub(crate) variable: &'static Counted,
    /// The amount to subtract: from a reset or a write.
    pub(crate) off: Cell<u64>,
}

impl Reading {
    /// Counters can be written; what is there cannot.
    pub(crate) fn is_counter(&self) -> bool {
        self.variable.class == c::MPI_T_PVAR_CLASS_COUNTER
    }
    fn now(&self, p: &Process) -> u64 {
        p.any_world().map_or(0, |world| (self.variable.value)(&world.comm.counters()))
    }
    pub(crate) fn value(&self, p: &Process) -> u64 {
        self.now(p).wrapping_sub(self.off.get())
    }
    pub(crate) fn set(&self, p: &Process, value: u64) -> Done {
        check(self.is_counter(), c::MPI_T_ERR_PVAR_NO_WRITE, String::new)?;
        self.off.set(self.now(p).wrapping_sub(value));
        Ok(())
    }
}
