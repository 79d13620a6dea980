//! The standard's own operators on packed elements.

use crate::basic::{Basic, Class};
use crate::datatype::Datatype;
use crate::extended::{self, Extended};
use hotlink_port::{Combine, Element, Operation, Value as _};

/// An operator that the standard defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Builtin {
    Sum,
    Min,
    Max,
    Prod,
    BitAnd,
    BitOr,
    BitXor,
    And,
    Or,
    Xor,
    MinLoc,
    MaxLoc,
    /// The earlier value replaces the later one; of one-sided calls only.
    Replace,
    /// Nothing changes; of one-sided calls only.
    Nothing,
}

/// The same operation where ports have it: then they may do it themselves.
pub fn operation_of(builtin: Builtin, basic: Basic) -> Option<Operation> {
    let combine = match builtin {
        Builtin::Sum => Combine::Sum,
        Builtin::Min => Combine::Min,
        Builtin::Max => Combine::Max,
        Builtin::Prod => Combine::Product,
        _ => return None,
    };
    let element = match basic {
        Basic::F64 => Element::F64,
        Basic::F32 => Element::F32,
        Basic::I64 => Element::I64,
        Basic::I32 => Element::I32,
        _ => return None,
    };
    Some(Operation { combine, element })
}

/// `into` becomes `other` combined with `into`, element by element.
fn each<const N: usize>(into: &mut [u8], other: &[u8], how: impl Fn([u8; N], [u8; N]) -> [u8; N]) {
    for (into, other) in into.as_chunks_mut::<N>().0.iter_mut().zip(other.as_chunks::<N>().0) {
        *into = how(*other, *into);
    }
}

macro_rules! numbers {
    ($t:ty, $into:expr, $other:expr, $how:expr) => {{
        let how = $how;
        each($into, $other, |a, b| <$t>::to_ne_bytes(how(<$t>::from_ne_bytes(a), <$t>::from_ne_bytes(b))))
    }};
}

macro_rules! integer {
    ($t:ty, $builtin:expr, $into:expr, $other:expr) => {
        match $builtin {
            Builtin::Sum => numbers!($t, $into, $other, |a: $t, b: $t| a.wrapping_add(b)),
            Builtin::Prod => numbers!($t, $into, $other, |a: $t, b: $t| a.wrapping_mul(b)),
            Builtin::Min => numbers!($t, $into, $other, |a: $t, b: $t| a.min(b)),
            Builtin::Max => numbers!($t, $into, $other, |a: $t, b: $t| a.max(b)),
            Builtin::BitAnd => numbers!($t, $into, $other, |a: $t, b: $t| a & b),
            Builtin::BitOr => numbers!($t, $into, $other, |a: $t, b: $t| a | b),
            Builtin::BitXor => numbers!($t, $into, $other, |a: $t, b: $t| a ^ b),
            Builtin::And => numbers!($t, $into, $other, |a: $t, b: $t| <$t>::from(a != 0 && b != 0)),
            Builtin::Or => numbers!($t, $into, $other, |a: $t, b: $t| <$t>::from(a != 0 || b != 0)),
            Builtin::Xor => numbers!($t, $into, $other, |a: $t, b: $t| <$t>::from((a != 0) != (b != 0))),
            _ => return false,
        }
    };
}

macro_rules! real {
    ($t:ty, $builtin:expr, $into:expr, $other:expr) => {
        match $builtin {
            Builtin::Sum => numbers!($t, $into, $other, |a: $t, b: $t| a + b),
            Builtin::Prod => numbers!($t, $into, $other, |a: $t, b: $t| a * b),
            Builtin::Min => numbers!($t, $into, $other, <$t>::least),
            Builtin::Max => numbers!($t, $into, $other, <$t>::greatest),
            _ => return false,
        }
    };
}

/// Long doubles, one or pairs of them.
fn extended(builtin: Builtin, into: &mut [u8], other: &[u8]) -> bool {
    let of = |how: fn(Extended, Extended) -> Extended| move |a, b| how(Extended::read(a), Extended::read(b)).write();
    /// What is no number wins, whichever it is.
    fn chosen(a: Extended, b: Extended, wins: std::cmp::Ordering) -> Extended {
        let is_first = match a.compare(b) {
            None => a.compare(a).is_none(),
            Some(order) => order == wins,
        };
        if is_first { a } else { b }
    }
    match builtin {
        Builtin::Sum => each::<{ extended::BYTES }>(into, other, of(Extended::plus)),
        Builtin::Prod => each::<{ extended::BYTES }>(into, other, of(Extended::times)),
        Builtin::Min => each::<{ extended::BYTES }>(into, other, of(|a, b| chosen(a, b, std::cmp::Ordering::Less))),
        Builtin::Max => each::<{ extended::BYTES }>(into, other, of(|a, b| chosen(a, b, std::cmp::Ordering::Greater))),
        _ => return false,
    }
    true
}

fn extended_complex(builtin: Builtin, into: &mut [u8], other: &[u8]) -> bool {
    match builtin {
        // By parts.
        Builtin::Sum => return extended(builtin, into, other),
        Builtin::Prod => {}
        _ => return false,
    }
    let parts = |bytes: [u8; 2 * extended::BYTES]| {
        let part = |at: usize| Extended::read(std::array::from_fn(|i| bytes[at + i]));
        (part(0), part(extended::BYTES))
    };
    each::<{ 2 * extended::BYTES }>(into, other, |a, b| {
        let (a, b) = (parts(a), parts(b));
        let re = a.0.times(b.0).plus(a.1.times(b.1).opposite()).write();
        let im = a.0.times(b.1).plus(a.1.times(b.0)).write();
        std::array::from_fn(|i| if i < extended::BYTES { re[i] } else { im[i - extended::BYTES] })
    });
    true
}

macro_rules! complex {
    ($t:ty, $size:literal, $builtin:expr, $into:expr, $other:expr) => {{
        let parts = |bytes: [u8; 2 * $size]| {
            let part = |at: usize| <$t>::from_ne_bytes(std::array::from_fn(|i| bytes[at + i]));
            (part(0), part($size))
        };
        let whole = |(re, im): ($t, $t)| {
            let (re, im) = (re.to_ne_bytes(), im.to_ne_bytes());
            std::array::from_fn(|i| if i < $size { re[i] } else { im[i - $size] })
        };
        match $builtin {
            Builtin::Sum => each::<{ 2 * $size }>($into, $other, |a, b| {
                let (a, b) = (parts(a), parts(b));
                whole((a.0 + b.0, a.1 + b.1))
            }),
            Builtin::Prod => each::<{ 2 * $size }>($into, $other, |a, b| {
                let (a, b) = (parts(a), parts(b));
                whole((a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0))
            }),
            _ => return false,
        }
    }};
}

impl Builtin {
    /// All of them.
    pub const ALL: [Builtin; 14] = {
        use Builtin::*;
        [Sum, Min, Max, Prod, BitAnd, BitOr, BitXor, And, Or, Xor, MinLoc, MaxLoc, Replace, Nothing]
    };
    /// Its name in the standard.
    pub fn name(self) -> &'static str {
        match self {
            Builtin::Sum => "MPI_SUM",
            Builtin::Min => "MPI_MIN",
            Builtin::Max => "MPI_MAX",
            Builtin::Prod => "MPI_PROD",
            Builtin::BitAnd => "MPI_BAND",
            Builtin::BitOr => "MPI_BOR",
            Builtin::BitXor => "MPI_BXOR",
            Builtin::And => "MPI_LAND",
            Builtin::Or => "MPI_LOR",
            Builtin::Xor => "MPI_LXOR",
            Builtin::MinLoc => "MPI_MINLOC",
            Builtin::MaxLoc => "MPI_MAXLOC",
            Builtin::Replace => "MPI_REPLACE",
            Builtin::Nothing => "MPI_NO_OP",
        }
    }
    /// Whether it takes elements of a datatype; see [`Builtin::combine`].
    pub fn takes(self, datatype: &Datatype) -> bool {
        self.combine(datatype, &mut [], &[])
    }
    /// `into` becomes `other` combined with `into`: packed elements of a predefined datatype. `false`: the operator does not
    /// take these, and nothing was done.
    pub fn combine(self, datatype: &Datatype, into: &mut [u8], other: &[u8]) -> bool {
        match self {
            // Any bytes do.
            Builtin::Nothing | Builtin::Replace => return self.combine_basic(Basic::Byte, into, other),
            Builtin::MinLoc | Builtin::MaxLoc => {
                let Some(pair) = datatype.value_index() else { return false };
                return located(self == Builtin::MinLoc, pair, datatype.size() as usize, into, other);
            }
            _ => {}
        }
        datatype.basic().is_some_and(|basic| self.combine_basic(basic, into, other))
    }
    /// The same for numbers of a basic type.
    pub fn combine_basic(self, basic: Basic, into: &mut [u8], other: &[u8]) -> bool {
        match self {
            Builtin::Nothing => return true,
            Builtin::Replace => into.copy_from_slice(other),
            _ => return self.basic(basic, into, other),
        }
        true
    }
    /// A number for an operator with a basic type, for [`Builtin::combine_numbered`] in another process.
    pub fn numbered(self, basic: Basic) -> Option<u32> {
        let operator = Builtin::ALL.iter().position(|&other| other == self)?;
        let element = Basic::ALL.iter().position(|&other| other == basic)?;
        Some((operator << 8 | element) as u32)
    }
    /// Combines as the operator and the type of a number say. Of one that is none, nothing is done.
    pub fn combine_numbered(number: u32, into: &mut [u8], other: &[u8]) {
        let operator = Builtin::ALL.get((number >> 8) as usize);
        if let (Some(operator), Some(&basic)) = (operator, Basic::ALL.get((number & 0xff) as usize)) {
            operator.combine_basic(basic, into, other);
        }
    }
    fn basic(self, basic: Basic, into: &mut [u8], other: &[u8]) -> bool {
        let bits = matches!(self, Builtin::BitAnd | Builtin::BitOr | Builtin::BitXor);
        let logical = matches!(self, Builtin::And | Builtin::Or | Builtin::Xor);
        if (basic.class() == Class::Logical && !logical) || (basic.class() == Class::Byte && !bits) {
            return false;
        }
        match basic {
            Basic::I8 => integer!(i8, self, into, other),
            Basic::Char => integer!(std::ffi::c_char, self, into, other),
            Basic::I16 => integer!(i16, self, into, other),
            Basic::I32 => integer!(i32, self, into, other),
            Basic::I64 => integer!(i64, self, into, other),
            Basic::U8 | Basic::Byte | Basic::Bool | Basic::Logical(1) => integer!(u8, self, into, other),
            Basic::U16 | Basic::Logical(2) => integer!(u16, self, into, other),
            Basic::U32 | Basic::Logical(4) => integer!(u32, self, into, other),
            Basic::U64 | Basic::Logical(8) => integer!(u64, self, into, other),
            Basic::Logical(16) => integer!(u128, self, into, other),
            Basic::F32 => real!(f32, self, into, other),
            Basic::F64 => real!(f64, self, into, other),
            Basic::F80 => return extended(self, into, other),
            Basic::C80 => return extended_complex(self, into, other),
            Basic::C32 => complex!(f32, 4, self, into, other),
            Basic::C64 => complex!(f64, 8, self, into, other),
            _ => return false,
        }
        true
    }
}

/// The least or greatest value, with the least index of those that have it.
fn located(least: bool, (value, index): (Basic, Basic), size: usize, into: &mut [u8], other: &[u8]) -> bool {
    let at = value.size() as usize;
    let number = |basic: Basic, bytes: &[u8]| -> Option<f64> {
        Some(match basic {
            Basic::I16 => f64::from(i16::from_ne_bytes(bytes.try_into().ok()?)),
            Basic::I32 => f64::from(i32::from_ne_bytes(bytes.try_into().ok()?)),
            Basic::F32 => f64::from(f32::from_ne_bytes(bytes.try_into().ok()?)),
            Basic::F64 => f64::from_ne_bytes(bytes.try_into().ok()?),
            _ => return None,
        })
    };
    let whole = |bytes: &[u8]| bytes.try_into().map_or(0, i64::from_ne_bytes);
    let known =
        |basic: Basic| matches!(basic, Basic::I16 | Basic::I32 | Basic::I64 | Basic::F32 | Basic::F64 | Basic::F80);
    let long = |bytes: &[u8]| bytes.try_into().map(Extended::read);
    if !known(value) || !matches!(index, Basic::I32 | Basic::I64 | Basic::F32 | Basic::F64) {
        return false;
    }
    let order = |basic: Basic, a: &[u8], b: &[u8]| match basic {
        Basic::I64 => whole(a).partial_cmp(&whole(b)),
        Basic::F80 => long(a).ok()?.compare(long(b).ok()?),
        _ => number(basic, a).partial_cmp(&number(basic, b)),
    };
    for (into, other) in into.chunks_exact_mut(size).zip(other.chunks_exact(size)) {
        let wins = match order(value, &other[..at], &into[..at]) {
            Some(std::cmp::Ordering::Equal) => {
                order(index, &other[at..], &into[at..]) == Some(std::cmp::Ordering::Less)
            }
            Some(ordering) => (ordering == std::cmp::Ordering::Less) == least,
            None => false,
        };
        if wins {
            into.copy_from_slice(other);
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn combined<const N: usize>(builtin: Builtin, basic: Basic, a: [u8; N], b: [u8; N]) -> Option<[u8; N]> {
        let (mut into, mut by_number) = (b, b);
        let is_done = builtin.combine(&Datatype::named(basic), &mut into, &a);
        Builtin::combine_numbered(builtin.numbered(basic).unwrap(), &mut by_number, &a);
        assert_eq!(into, by_number);
        is_done.then_some(into)
    }

    #[test]
    fn operators_take_what_the_standard_lets_them() {
        let int = |a: i32, b: i32, builtin| {
            combined(builtin, Basic::I32, a.to_ne_bytes(), b.to_ne_bytes()).map(i32::from_ne_bytes)
        };
        let results = [Builtin::Sum, Builtin::Prod, Builtin::Min, Builtin::BitXor, Builtin::And, Builtin::Xor];
        let results = results.map(|builtin| int(6, -3, builtin).unwrap());
        assert_eq!(results, [3, -18, -3, 6 ^ -3, 1, 0]);
        let real = Datatype::named(Basic::F64);
        assert!(Builtin::Max.takes(&real) && !Builtin::BitAnd.takes(&real) && !Builtin::And.takes(&real));
        let byte = Datatype::named(Basic::Byte);
        assert!(Builtin::BitOr.takes(&byte) && !Builtin::Sum.takes(&byte));
        let complex = Datatype::named(Basic::C64);
        assert!(Builtin::Prod.takes(&complex) && !Builtin::Min.takes(&complex));
        assert!(!Builtin::Sum.takes(&Datatype::named(Basic::Wide)));
        assert_eq!(combined(Builtin::Sum, Basic::Char, [100], [27]), Some([127]));
        assert_eq!(combined(Builtin::Max, Basic::Char, *b"a", *b"z"), Some(*b"z"));
    }

    #[test]
    fn complex_numbers_multiply() {
        let pack = |re: f32, im: f32| -> [u8; 8] { [re.to_ne_bytes(), im.to_ne_bytes()].concat().try_into().unwrap() };
        assert_eq!(combined(Builtin::Prod, Basic::C32, pack(1.0, 2.0), pack(3.0, 4.0)), Some(pack(-5.0, 10.0)));
    }

    #[test]
    fn the_least_and_the_greatest_do_not_depend_on_who_comes_first() {
        let real = Datatype::named(Basic::F64);
        let found = |builtin: Builtin, values: [f64; 3]| {
            let mut into = values[0].to_ne_bytes();
            values[1..].iter().for_each(|value| assert!(builtin.combine(&real, &mut into, &value.to_ne_bytes())));
            u64::from_ne_bytes(into)
        };
        let orders = [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 2, 1], [1, 0, 2], [2, 1, 0]];
        for (builtin, values, due) in [
            (Builtin::Min, [3.0, f64::NAN, 1.0], f64::NAN),
            (Builtin::Max, [3.0, -f64::NAN, 1.0], f64::NAN),
            (Builtin::Min, [0.0, -0.0, 1.0], -0.0),
            (Builtin::Max, [0.0, -0.0, -1.0], 0.0),
            (Builtin::Min, [2.0, -3.0, f64::INFINITY], -3.0),
        ] {
            for order in orders {
                assert_eq!(found(builtin, order.map(|i| values[i])), due.to_bits(), "{builtin:?} {values:?} {order:?}");
            }
        }
    }

    #[test]
    fn of_equal_values_the_least_index_stands() {
        let pair = Datatype::pair(Basic::F64, Basic::I32);
        let pack = |value: f64, index: i32| [&value.to_ne_bytes()[..], &index.to_ne_bytes()].concat();
        for (a, b, least, most) in [((1.0, 5), (1.0, 3), 3, 3), ((1.0, 5), (2.0, 3), 5, 3)] {
            for (builtin, index) in [(Builtin::MinLoc, least), (Builtin::MaxLoc, most)] {
                let mut into = pack(b.0, b.1);
                assert!(builtin.combine(&pair, &mut into, &pack(a.0, a.1)));
                assert_eq!(into[8..], i32::to_ne_bytes(index), "{builtin:?}");
            }
        }
    }
}
