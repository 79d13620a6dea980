//! Element-wise combination of two buffers.

use crate::{Refusal, Span};
use serde::{Deserialize, Serialize};

/// How two elements become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Combine {
    /// Their sum (integers wrap around).
    Sum,
    /// The smaller.
    Min,
    /// The larger.
    Max,
}

/// What elements are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// How.
    pub combine: Combine,
    /// What.
    pub element: Element,
}

impl Operation {
    /// Bytes of an element.
    pub fn element_bytes(self) -> u64 {
        match self.element {
            Element::F64 | Element::I64 => 8,
            Element::F32 | Element::I32 => 4,
        }
    }
    /// Whether buffers hold whole elements, as many each, in a row.
    ///
    /// # Errors
    /// [`Refusal::OutOfBounds`] if not.
    pub fn check(self, send: &Span, recv: &Span) -> Result<(), Refusal> {
        let whole = send.bytes() == recv.bytes() && send.bytes().is_multiple_of(self.element_bytes());
        let rows = send.layout.is_contiguous() && recv.layout.is_contiguous();
        if whole && rows { Ok(()) } else { Err(Refusal::OutOfBounds) }
    }
    /// `into` becomes `into` combined with `other`, element by element.
    pub fn combine(self, into: &mut [u8], other: &[u8]) {
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
