//! Element-wise combination of two buffers.

use crate::Error;
use hotlink_port::{Kind, Port, Refusal, Span, Work};

/// How two elements become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combine {
    /// Their sum (integers wrap around).
    Sum,
    /// The smaller.
    Min,
    /// The larger.
    Max,
}

/// What elements are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// 64-bit float.
    F64,
    /// 32-bit float.
    F32,
    /// 64-bit signed integer.
    I64,
    /// 32-bit signed integer.
    I32,
}

/// A reduction: all four element kinds with all three ways to combine them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// How.
    pub combine: Combine,
    /// What.
    pub element: Element,
}

/// Bytes combined at a time.
const CHUNK: usize = 16 << 10;

impl Operation {
    pub(crate) fn element_bytes(self) -> u64 {
        match self.element {
            Element::F64 | Element::I64 => 8,
            Element::F32 | Element::I32 => 4,
        }
    }
    /// Whether buffers hold whole elements, as many each, in a row.
    pub(crate) fn check(self, send: &Span, recv: &Span) -> Result<(), Refusal> {
        let whole = send.bytes() == recv.bytes() && send.bytes().is_multiple_of(self.element_bytes());
        let rows = send.layout.is_contiguous() && recv.layout.is_contiguous();
        if whole && rows { Ok(()) } else { Err(Refusal::OutOfBounds) }
    }
    /// `into` becomes `into` combined with `other`.
    pub(crate) fn apply(self, port: &mut impl Port, other: Span, into: Span) -> Result<(), Error> {
        port.compute(Work::Own { streamed: 3 * into.bytes(), scattered: 0 });
        if port.kind(into.memory)? == Kind::Ghost || port.kind(other.memory)? == Kind::Ghost {
            return Ok(());
        }
        let (mut a, mut b) = ([0; CHUNK], [0; CHUNK]);
        let mut at = 0;
        while at < into.bytes() {
            let len = (into.bytes() - at).min(CHUNK as u64) as usize;
            port.read(into.memory, into.offset + at, &mut a[..len])?;
            port.read(other.memory, other.offset + at, &mut b[..len])?;
            self.combine(&mut a[..len], &b[..len]);
            port.write(into.memory, into.offset + at, &a[..len])?;
            at += len as u64;
        }
        Ok(())
    }
    fn combine(self, into: &mut [u8], other: &[u8]) {
        macro_rules! each {
            ($t:ty, $sum:expr) => {{
                let sum: fn($t, $t) -> $t = $sum;
                let how: fn($t, $t) -> $t = match self.combine {
                    Combine::Sum => sum,
                    Combine::Min => |a, b| if b < a { b } else { a },
                    Combine::Max => |a, b| if b > a { b } else { a },
                };
                const N: usize = size_of::<$t>();
                let (into, _) = into.as_chunks_mut::<N>();
                let (other, _) = other.as_chunks::<N>();
                for (a, b) in into.iter_mut().zip(other) {
                    *a = how(<$t>::from_ne_bytes(*a), <$t>::from_ne_bytes(*b)).to_ne_bytes();
                }
            }};
        }
        match self.element {
            Element::F64 => each!(f64, |a, b| a + b),
            Element::F32 => each!(f32, |a, b| a + b),
            Element::I64 => each!(i64, i64::wrapping_add),
            Element::I32 => each!(i32, i32::wrapping_add),
        }
    }
}
