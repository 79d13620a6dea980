//! Messages from and into buffers that are used again, or not. They show what a registration cache saves (W01 slide
//! 10).

use crate::Bench;
use hotlink_message::{Endpoint, Error};
use hotlink_port::loopback::Random;
use hotlink_port::{Kind, Memory, Span};
use serde::{Deserialize, Serialize};

/// In what order a program uses its buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// One after the other, over and over: an iteration over fixed arrays.
    Loop,
    /// Nine of ten uses are of the first tenth of the buffers.
    HotCold,
    /// A tenth of the buffers over and over, then the next tenth: a program's phases.
    Phases,
    /// Up and down: nested scopes.
    Stack,
    /// Each as likely as the other.
    Uniform,
    /// Every buffer once: nothing to reuse.
    Stream,
}

/// A trace of buffer uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reuse {
    /// In what order.
    pub pattern: Pattern,
    /// Bytes of each buffer.
    pub buffers: Vec<u64>,
    /// Messages.
    pub uses: u64,
    /// Bytes of each message, which a buffer holds at its beginning; no more than the smallest buffer.
    pub message: u64,
    /// This many of the first buffers are those of persistent operations: registered ahead, and kept before others.
    pub persistent: usize,
    /// Of the random patterns.
    pub seed: u64,
}

/// The time at rank 0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReuseTime {
    /// All messages.
    pub time_us: f64,
    /// Registrations made ahead of them.
    pub ahead: u64,
}

impl Reuse {
    /// The buffers that the messages use, in order.
    pub fn trace(&self) -> Vec<usize> {
        let n = self.buffers.len() as u64;
        let tenth = n.div_ceil(10);
        let mut random = Random::new(self.seed);
        let phase = (self.uses / 10).max(1);
        let next = |use_: u64| match self.pattern {
            Pattern::Loop | Pattern::Stream => use_ % n,
            Pattern::HotCold if random.chance(90) => random.below(tenth),
            Pattern::HotCold | Pattern::Uniform => random.below(n),
            Pattern::Phases => (use_ / phase * tenth + use_ % tenth) % n,
            Pattern::Stack => {
                let at = use_ % (2 * n).saturating_sub(2).max(1);
                if at < n { at } else { 2 * n - 2 - at }
            }
        };
        let uses = if self.pattern == Pattern::Stream { self.uses.min(n) } else { self.uses };
        (0..uses).map(next).map(|buffer| buffer as usize).collect()
    }
}

impl Bench for Reuse {
    type Result = ReuseTime;
    async fn on<E: Endpoint>(&self, comm: &E) -> Result<ReuseTime, Error> {
        let memories: Result<Vec<Memory>, Error> =
            self.buffers.iter().map(|&bytes| comm.alloc(bytes, Kind::Private)).collect();
        let memories = memories?;
        let span = |memory| Span::new(memory, 0, self.message);
        let ahead = memories[..self.persistent].iter().filter(|&&memory| comm.hold_for(span(memory))).count() as u64;
        let start = comm.now();
        for buffer in self.trace() {
            let span = span(memories[buffer]);
            match comm.rank() {
                0 => comm.send(1, 0, span).await?,
                1 => comm.recv(Some(0), Some(0), span).await.map(|_| ())?,
                _ => {}
            }
        }
        Ok(ReuseTime { time_us: (comm.now() - start).us(), ahead })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reuse(pattern: Pattern, n: usize, uses: u64) -> Reuse {
        Reuse { pattern, buffers: vec![8; n], uses, message: 8, persistent: 0, seed: 3 }
    }

    #[test]
    fn traces_are_what_they_are_called() {
        assert_eq!(reuse(Pattern::Loop, 3, 7).trace(), [0, 1, 2, 0, 1, 2, 0]);
        assert_eq!(reuse(Pattern::Stack, 4, 8).trace(), [0, 1, 2, 3, 2, 1, 0, 1]);
        assert_eq!(reuse(Pattern::Stream, 3, 9).trace(), [0, 1, 2]);
        assert_eq!(reuse(Pattern::Phases, 20, 40).trace()[..10], [0, 1, 0, 1, 2, 3, 2, 3, 4, 5]);
        let hot = reuse(Pattern::HotCold, 50, 1000).trace().into_iter().filter(|&buffer| buffer < 5).count();
        assert!((850..970).contains(&hot), "{hot}");
        assert_eq!(reuse(Pattern::Uniform, 50, 100).trace(), reuse(Pattern::Uniform, 50, 100).trace());
        for pattern in [Pattern::Loop, Pattern::Stack, Pattern::Uniform, Pattern::HotCold, Pattern::Phases] {
            assert_eq!(reuse(pattern, 1, 5).trace(), [0; 5], "one buffer");
        }
    }
}
