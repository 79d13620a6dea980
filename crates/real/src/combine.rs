//! Element-wise combination of memory, in the widest registers that the processor has. Which is faster changes no bit:
//! elements do not meet each other.
#![allow(unsafe_code)]

use hotlink_port::{Operation, Value, With};

/// Elements combined at a time: of eight bytes two cache lines, of four one.
const ELEMENTS: usize = 16;

/// `to` becomes `a` combined with `b`, element by element, and so does `also`, unless it is null. `bytes` are those of
/// whole elements; addresses need no alignment.
///
/// # Safety
/// `bytes` can be read at `a` and `b`, and written at `to` and `also`. Targets may be sources; otherwise these areas
/// do not overlap. No other thread or process writes any of them meanwhile.
pub(crate) unsafe fn combine(operation: Operation, a: *const u8, b: *const u8, to: *mut u8, also: *mut u8, bytes: u64) {
    operation.with(Rows { a, b, to, also, bytes: bytes as usize });
}

struct Rows {
    a: *const u8,
    b: *const u8,
    to: *mut u8,
    also: *mut u8,
    bytes: usize,
}

impl With for Rows {
    type Result = ();
    #[inline(always)]
    fn with<T: Value>(self, how: impl Fn(T, T) -> T + Copy) {
        // SAFETY: (all) as promised to `combine`; the processor has what each function needs.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            if self.bytes >= WIDE && is_x86_feature_detected!("avx512f") {
                return avx512(&self, how);
            }
            if self.bytes >= WIDE && is_x86_feature_detected!("avx2") {
                return avx2(&self, how);
            }
        }
        // SAFETY: as above.
        unsafe { rows(&self, how) }
    }
}

/// Shorter rows do not repay the check of the processor's abilities.
#[cfg(target_arch = "x86_64")]
const WIDE: usize = 256;

/// # Safety
/// As [`combine`]; the processor has AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn avx2<T: Value>(of: &Rows, how: impl Fn(T, T) -> T + Copy) {
    // SAFETY: as promised by the caller.
    unsafe { rows(of, how) }
}

/// # Safety
/// As [`combine`]; the processor has AVX-512 F.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn avx512<T: Value>(of: &Rows, how: impl Fn(T, T) -> T + Copy) {
    // SAFETY: as promised by the caller.
    unsafe { rows(of, how) }
}

/// # Safety
/// As [`combine`].
#[inline(always)]
unsafe fn rows<T: Value>(of: &Rows, how: impl Fn(T, T) -> T + Copy) {
    let (a, b, to, also) = (of.a.cast::<T>(), of.b.cast::<T>(), of.to.cast::<T>(), of.also.cast::<T>());
    let count = of.bytes / size_of::<T>();
    let mut at = 0;
    // SAFETY: (both loops) elements below `count`. All of a step are read before any is written, since targets may be
    // sources.
    unsafe {
        while at + ELEMENTS <= count {
            let x = a.add(at).cast::<[T; ELEMENTS]>().read_unaligned();
            let y = b.add(at).cast::<[T; ELEMENTS]>().read_unaligned();
            let z: [T; ELEMENTS] = std::array::from_fn(|i| how(x[i], y[i]));
            to.add(at).cast::<[T; ELEMENTS]>().write_unaligned(z);
            if !also.is_null() {
                also.add(at).cast::<[T; ELEMENTS]>().write_unaligned(z);
            }
            at += ELEMENTS;
        }
        while at < count {
            let z = how(a.add(at).read_unaligned(), b.add(at).read_unaligned());
            to.add(at).write_unaligned(z);
            if !also.is_null() {
                also.add(at).write_unaligned(z);
            }
            at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hotlink_port::{Combine, Element};
    use proptest::prelude::*;

    fn operations() -> impl Iterator<Item = Operation> {
        let elements = [Element::F64, Element::F32, Element::I64, Element::I32];
        elements.into_iter().flat_map(move |element| Combine::ALL.map(|combine| Operation { combine, element }))
    }

    proptest! {
        /// Any bits, numbers or not, at any address and in place: as the port contract defines it, bit for bit.
        #[test]
        fn is_what_the_contract_says(bytes in prop::collection::vec(any::<u8>(), 0..1500), shift in 0usize..9, in_place: bool) {
            for operation in operations() {
                let whole = bytes.len() / 2 / 8 * 8;
                let (a, b) = (&bytes[..whole], &bytes[whole..2 * whole]);
                let mut due = a.to_vec();
                operation.combine(&mut due, b);
                let (mut to, mut also) = (vec![0xEE; whole + 16], vec![0xEE; whole + 16]);
                to[shift..shift + whole].copy_from_slice(a);
                let target = to[shift..].as_mut_ptr();
                let from = if in_place { target.cast_const() } else { a.as_ptr() };
                // SAFETY: each has at least that many bytes.
                unsafe { combine(operation, from, b.as_ptr(), target, also[shift..].as_mut_ptr(), whole as u64) };
                prop_assert_eq!(&to[shift..shift + whole], &due[..]);
                prop_assert_eq!(&to, &also.iter().enumerate().map(|(i, &byte)| if i < shift || i >= shift + whole { 0xEE } else { byte }).collect::<Vec<u8>>());
            }
        }
    }

    /// Values by which the order of operands shows: sums of three differ by how they are put in brackets.
    #[test]
    fn not_a_number_and_negative_zero_are_as_in_the_contract() {
        let values = [f64::NAN, -0.0, 0.0, f64::INFINITY, 1.0, f64::MIN_POSITIVE];
        let a: Vec<u8> = values.iter().flat_map(|v| [*v; 8]).flat_map(f64::to_ne_bytes).collect();
        let b: Vec<u8> = (0..48).map(|i| values[i % 6]).flat_map(f64::to_ne_bytes).collect();
        for operation in operations().filter(|operation| operation.element == Element::F64) {
            let (mut due, mut to) = (a.clone(), a.clone());
            operation.combine(&mut due, &b);
            let target = to.as_mut_ptr();
            // SAFETY: each has at least that many bytes.
            unsafe { combine(operation, target, b.as_ptr(), target, std::ptr::null_mut(), a.len() as u64) };
            assert_eq!(to, due, "{operation:?}");
        }
    }
}
