//! Element-wise combination of two buffers.

use crate::{Rank, Refusal, Span};
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
    /// Their product (integers wrap around).
    Product,
}

impl Combine {
    /// All of them.
    pub const ALL: [Combine; 4] = [Combine::Sum, Combine::Min, Combine::Max, Combine::Product];
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

/// A reduction: all four element kinds with all paths to combine them.
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
        self.with(Bytes { into, other });
    }
    /// Gives `work` the one definition of this operation: how two elements become one.
    #[inline(always)]
    pub fn with<W: With>(self, work: W) -> W::Result {
        macro_rules! each {
            ($t:ty, $sum:expr, $product:expr) => {
                match self.combine {
                    Combine::Sum => work.with::<$t>($sum),
                    Combine::Min => work.with::<$t>(<$t>::least),
                    Combine::Max => work.with::<$t>(<$t>::greatest),
                    Combine::Product => work.with::<$t>($product),
                }
            };
        }
        match self.element {
            Element::F64 => each!(f64, |a, b| a + b, |a, b| a * b),
            Element::F32 => each!(f32, |a, b| a + b, |a, b| a * b),
            Element::I64 => each!(i64, i64::wrapping_add, i64::wrapping_mul),
            Element::I32 => each!(i32, i32::wrapping_add, i32::wrapping_mul),
        }
    }
}

/// Work with elements of the kind of an operation: see [`Operation::with`].
pub trait With {
    /// Its result.
    type Result;
    /// Does it with `how`, by which two elements become one.
    fn with<T: Value>(self, how: impl Fn(T, T) -> T + Copy) -> Self::Result;
}

/// An element: a number of four or eight bytes.
pub trait Value: Copy + Default + 'static {
    /// The lesser of two, in any order. It is no number if one of them is none, and -0 is below 0. All ranks then get
    /// the same, in any order of combination.
    fn least(self, other: Self) -> Self;
    /// The greater of two, likewise.
    fn greatest(self, other: Self) -> Self;
    /// The number whose bytes these are; as many as it has.
    fn of(bytes: &[u8]) -> Self;
    /// Becomes those bytes.
    fn put(self, bytes: &mut [u8]);
}

macro_rules! values {
    ($($t:ty, $least:expr, $greatest:expr;)*) => {$(
        impl Value for $t {
            #[inline(always)]
            fn least(self, other: $t) -> $t {
                $least(self, other)
            }
            #[inline(always)]
            fn greatest(self, other: $t) -> $t {
                $greatest(self, other)
            }
            #[inline(always)]
            fn of(bytes: &[u8]) -> $t {
                bytes.try_into().map_or(<$t>::default(), <$t>::from_ne_bytes)
            }
            #[inline(always)]
            fn put(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_ne_bytes());
            }
        }
    )*};
}
/// Of two floats the one that `wins`. For equal ones, as zeros of both signs are, the bits that `equal` makes of both.
macro_rules! of_floats {
    ($t:ty, $wins:tt, $equal:tt) => {
        |a: $t, b: $t| {
            let one = if b $wins a { b } else { a };
            let one = if a == b { <$t>::from_bits(a.to_bits() $equal b.to_bits()) } else { one };
            if a.is_nan() || b.is_nan() { <$t>::NAN } else { one }
        }
    };
}
values! {
    f64, of_floats!(f64, <, |), of_floats!(f64, >, &);
    f32, of_floats!(f32, <, |), of_floats!(f32, >, &);
    i64, i64::min, i64::max;
    i32, i32::min, i32::max;
}

/// Two buffers; the first takes the result.
struct Bytes<'a> {
    into: &'a mut [u8],
    other: &'a [u8],
}

impl With for Bytes<'_> {
    type Result = ();
    fn with<T: Value>(self, how: impl Fn(T, T) -> T + Copy) {
        let bytes = size_of::<T>();
        for (a, b) in self.into.chunks_exact_mut(bytes).zip(self.other.chunks_exact(bytes)) {
            how(T::of(a), T::of(b)).put(a);
        }
    }
}

/// Which ranks get the result of a reduction. The order of combination depends neither on arrivals nor on the receivers
/// of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Share {
    /// Every rank all of it.
    All,
    /// One rank all of it, the others nothing.
    Root(Rank),
    /// Every rank a part: the first the first, all as long.
    Parts,
}

impl Share {
    /// Whether `rank` of `ranks` can post such a reduction of these spans: rows of whole elements, of the lengths that
    /// the share asks for. Where nothing is received, `to` is ignored.
    ///
    /// # Errors
    /// [`Refusal::NoRank`] of a root that is none, else [`Refusal::OutOfBounds`].
    pub fn check(self, operation: Operation, rank: Rank, ranks: u32, from: &Span, to: &Span) -> Result<(), Refusal> {
        match self {
            Share::Root(root) if root >= ranks => Err(Refusal::NoRank),
            Share::Root(root) if root != rank => operation.check(from, from),
            Share::All | Share::Root(_) => operation.check(from, to),
            Share::Parts => {
                operation.check(to, to)?;
                let whole = from.layout.is_contiguous() && Some(from.bytes()) == to.bytes().checked_mul(ranks.into());
                if whole { Ok(()) } else { Err(Refusal::OutOfBounds) }
            }
        }
    }
}
