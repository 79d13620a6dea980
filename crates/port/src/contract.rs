//! The traits: [`Host`], [`Port`], [`Driver`], and the one point of suspension, [`wait`].

use crate::blocks::Elsewhere;
use crate::{
    Align, Attachment, Engine, Event, Head, Key, Kind, Limits, Memory, Op, Operation, Payload, Posted, Rank, Refusal,
    Span, Work,
};
use hotlink_fabric::units::Time;
use serde::{Serialize, de::DeserializeOwned};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

/// Bytes that [`Host::combine`] combines at a time where a port has no shorter path.
const COMBINED: usize = 16 << 10;

/// Local work with a cost: done for real, or charged to the rank's virtual clock. Each call is over when it returns.
pub trait Host {
    /// Allocates `bytes` of zeros.
    fn alloc(&mut self, bytes: u64, kind: Kind, align: Align) -> Result<Memory, Refusal>;
    /// Frees memory; exports of it are revoked. Freeing twice is refused.
    fn free(&mut self, memory: Memory) -> Result<(), Refusal>;
    /// Bytes of a memory.
    fn size(&self, memory: Memory) -> Result<u64, Refusal>;
    /// Its kind (never [`Kind::Default`]): W01's state query.
    fn kind(&self, memory: Memory) -> Result<Kind, Refusal>;
    /// The program reads its memory: fills `into` from byte `offset`. Free of charge. Ghosts are refused.
    fn read(&self, memory: Memory, offset: u64, into: &mut [u8]) -> Result<(), Refusal>;
    /// The program writes its memory from byte `offset`. Free of charge. Ghosts ignore it.
    fn write(&mut self, memory: Memory, offset: u64, from: &[u8]) -> Result<(), Refusal>;
    /// Copies, packs or unpacks the bytes of `from`, in order, to as many bytes of `to`. They must not overlap.
    fn copy(&mut self, from: Span, to: Span) -> Result<(), Refusal>;
    /// `into` becomes `into` combined with `other`, element by element: rows of equal length that do not overlap. Free
    /// of charge; ghosts stay as they are.
    fn combine(&mut self, operation: Operation, other: Span, into: Span) -> Result<(), Refusal> {
        operation.check(&other, &into)?;
        if self.kind(into.memory)? == Kind::Ghost || self.kind(other.memory)? == Kind::Ghost {
            return Ok(());
        }
        let (mut a, mut b) = ([0; COMBINED], [0; COMBINED]);
        let mut at = 0;
        while at < into.bytes() {
            let len = (into.bytes() - at).min(COMBINED as u64) as usize;
            self.read(into.memory, into.offset + at, &mut a[..len])?;
            self.read(other.memory, other.offset + at, &mut b[..len])?;
            operation.combine(&mut a[..len], &b[..len]);
            self.write(into.memory, into.offset + at, &a[..len])?;
            at += len as u64;
        }
        Ok(())
    }
    /// Exports memory: pins and registers private memory, publishes a segment. Registering twice gives two keys. A port
    /// without remote memory refuses this, and the three calls below.
    fn register(&mut self, memory: Memory) -> Result<Key, Refusal> {
        let _ = memory;
        Err(Refusal::Unsupported)
    }
    /// Ends an export; other ranks that imported it get [`Event::Revoked`].
    fn unregister(&mut self, key: Key) -> Result<(), Refusal> {
        let _ = key;
        Err(Refusal::Unsupported)
    }
    /// Imports exported memory: [`Engine::Pio`] maps it (PIO and DMA), [`Engine::Dma`] connects it (DMA only).
    fn attach(&mut self, key: Key, engine: Engine) -> Result<Attachment, Refusal> {
        let _ = (key, engine);
        Err(Refusal::Unsupported)
    }
    /// Ends an import.
    fn detach(&mut self, attachment: Attachment) -> Result<(), Refusal> {
        let _ = attachment;
        Err(Refusal::Unsupported)
    }
    /// Computes.
    fn compute(&mut self, work: Work);
}

/// One rank's non-blocking door to a fabric.
pub trait Port: Host {
    /// This rank.
    fn rank(&self) -> Rank;
    /// Number of ranks.
    fn ranks(&self) -> u32;
    /// What the port claims.
    fn limits(&self) -> &Limits;
    /// This rank's clock.
    fn now(&self) -> Time;
    /// This rank's clock for one who only watches: a simulated port that puts work off leaves it where it is.
    fn glance(&self) -> Time {
        self.now()
    }
    /// Starts an operation, or says why not. Never blocks.
    fn post(&mut self, op: &Op<'_>) -> Posted;
    /// As [`Port::post`] of an [`Op::Control`] with so many bytes in a row of this rank's memory. A port of real time
    /// may have a shorter path for these.
    #[inline]
    fn post_row(&mut self, to: Rank, head: Head, memory: Memory, offset: u64, bytes: u64) -> Posted {
        self.post(&Op::Control { to, head, payload: Payload::of(Span::new(memory, offset, bytes)) })
    }
    /// The next thing that has happened, if any. Ends the life of the previous event's payload.
    fn poll(&mut self) -> Option<Event>;
    /// Moves the payload of the control message that `poll` just gave to `to`, unpacking it: its bytes from `at`,
    /// as many as `to` has. The cost is that of a copy.
    fn deliver(&mut self, at: u64, to: Span) -> Result<(), Refusal>;
    /// Reads that payload from byte `at` without moving it to memory; returns the bytes filled (0 for a ghost).
    fn peek(&self, at: u64, into: &mut [u8]) -> usize;
    /// The program has nothing to do before an event or `until`: what a driver consults when the program suspends.
    fn idle(&mut self, until: Time);
    /// The program waits for a message, has nothing else to do and polls next. Where an early poll would delay the
    /// answer, a port may let the answer's minimum time pass here.
    #[inline]
    fn settle(&mut self) {}
    /// Records that the program ends: after this the rank's silence is not a death. A post to a rank that has closed is
    /// accepted and lost, or refused; it does not find the port busy for ever.
    fn close(&mut self);
    /// Whether the port wants to hear now what the program waits for ([`Note::Waits`]). A simulated port always does, a
    /// port of real time once a wait has taken long.
    #[inline]
    fn listens(&self) -> bool {
        !self.limits().real_time
    }
    /// Hears what the program does. Only a simulated port's later reports depend on it. They say who waits for what
    /// when nobody can go on, whether anybody left a barrier too early, and what a calibrated machine's calls cost.
    #[inline]
    fn note(&mut self, note: Note) {
        let _ = note;
    }
}

/// A port that moves memory which somebody else keeps.
pub trait Lodge: Port {
    /// Names so many bytes of it, which count as aligned to a page; [`Host::free`] forgets them.
    ///
    /// # Errors
    /// The port has no memory of this kind.
    fn lodge(&mut self, bytes: u64, kind: Kind, with: Rc<dyn Elsewhere>) -> Result<Memory, Refusal>;
}

/// What a program reports to its port for the record: see [`Port::note`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note {
    /// It calls a collective. A machine that was calibrated with an MPI charges what such a call took there in addition
    /// to its messages.
    Calls,
    /// It enters a barrier of all ranks.
    EntersBarrier,
    /// It leaves it.
    LeavesBarrier,
    /// It waits for a message, or for the end of one.
    Waits {
        /// In what.
        call: Call,
        /// From or to whom; `None`: from anybody.
        peer: Option<Rank>,
        /// With which tag; `None`: any.
        tag: Option<u32>,
    },
}

/// What a program waits in: see [`Note::Waits`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Call {
    Send,
    Receive,
    Probe,
    /// For one of several requests.
    Several,
    /// For a put, a get or an operation of the fabric.
    Transfer,
    /// For the end of sends whose copies it keeps.
    Flush,
    /// For messages that a library sends for itself.
    Internal,
    /// For others to open a region.
    Region,
    Barrier,
    Bcast,
    Reduce,
    Gather,
    Scatter,
    Allgather,
    Alltoall,
}

impl Call {
    /// All of them, by number.
    pub const ALL: [Call; 15] = {
        use Call::*;
        [
            Send, Receive, Probe, Several, Transfer, Flush, Internal, Region, Barrier, Bcast, Reduce, Gather, Scatter,
            Allgather, Alltoall,
        ]
    };
    /// In a sentence after a rank.
    pub fn name(self) -> &'static str {
        match self {
            Call::Send => "sends",
            Call::Receive => "receives",
            Call::Probe => "probes",
            Call::Several => "waits for one of several requests",
            Call::Transfer => "waits for a transfer",
            Call::Flush => "flushes its postal sends",
            Call::Internal => "exchanges messages of the library",
            Call::Region => "opens a region",
            Call::Barrier => "is in a barrier",
            Call::Bcast => "is in a broadcast",
            Call::Reduce => "is in a reduction",
            Call::Gather => "is in a gather",
            Call::Scatter => "is in a scatter",
            Call::Allgather => "is in an allgather",
            Call::Alltoall => "is in an alltoall",
        }
    }
    /// Whether all ranks call it together, with tags of its own.
    pub fn is_collective(self) -> bool {
        self as u8 >= Call::Region as u8
    }
}

/// Suspends the program until the port may have an event, or its clock reaches `until` ([`Time::MAX`]: no limit).
/// May return early; callers poll in a loop.
pub async fn wait<P: Port + ?Sized>(port: &mut P, until: Time) {
    port.idle(until);
    yield_once().await;
}

/// Gives control to the driver once. Call [`Port::idle`] first: without it the driver may resume at once.
pub fn yield_once() -> impl Future<Output = ()> {
    struct Yield(bool);
    impl Future for Yield {
        type Output = ();
        fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
            if std::mem::replace(&mut self.0, true) { Poll::Ready(()) } else { Poll::Pending }
        }
    }
    Yield(false)
}

/// Runs one program on every rank: in virtual time, or in real processes by busy polling.
pub trait Driver {
    /// The kind of port it gives each rank.
    type Port: Port;

    /// Runs `program` on `ranks` ranks and gives their results in rank order. Results travel between processes where
    /// ranks are processes, hence the bounds.
    fn run<T, R>(&mut self, ranks: u32, program: &R) -> Result<Vec<T>, RunError>
    where
        T: Serialize + DeserializeOwned,
        R: Program<Self::Port, T>;
}

/// A driver that is lent: what it knows of its machine lasts from run to run.
impl<D: Driver> Driver for &mut D {
    type Port = D::Port;

    fn run<T, R>(&mut self, ranks: u32, program: &R) -> Result<Vec<T>, RunError>
    where
        T: Serialize + DeserializeOwned,
        R: Program<D::Port, T>,
    {
        (**self).run(ranks, program)
    }
}

/// An asynchronous program for one rank, for any kind of port. A trait and not a closure, because a closure cannot be
/// generic over the port: benchmarks are written once and run on every driver.
pub trait Program<P: Port, T> {
    /// The program of the rank that `port` belongs to.
    fn run(&self, port: P) -> impl Future<Output = T>;
}

impl<P: Port, T, F: Fn(P) -> Fut, Fut: Future<Output = T>> Program<P, T> for F {
    fn run(&self, port: P) -> impl Future<Output = T> {
        self(port)
    }
}

/// Why a run gave no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The ranks could not be started.
    #[error("ranks could not be started: {0}")]
    Start(String),
    /// An option or a variable of the environment cannot be: names it, and what is allowed.
    #[error("{0}")]
    Setting(String),
    /// A rank ended without a result: how.
    #[error("rank {rank} {how}")]
    RankDied {
        /// Which.
        rank: Rank,
        /// `was killed by signal 9`, `ended with status 101`.
        how: String,
    },
    /// No rank can ever proceed (virtual time), or the time allowed is up (real time).
    #[error("no progress: {0}")]
    Stuck(String),
    /// The number of ranks is not possible here.
    #[error("{ranks} ranks: {why}")]
    Ranks {
        /// Asked for.
        ranks: u32,
        /// What is allowed.
        why: String,
    },
}

/// The contract stays usable as an object.
const _: Option<&dyn Port> = None;
