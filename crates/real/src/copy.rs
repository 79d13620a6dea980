//! Memory copy kernels: contiguous, and to and from blocks with gaps.
#![allow(unsafe_code)]

use hotlink_port::Layout;

pub use hotlink_port::STREAM_BYTES;

/// Copies the bytes of `from_layout` at `from`, one after the other, to the bytes of `to_layout` at `to`.
///
/// # Safety
/// Both extents are valid memory, the first for reading and the second for writing, and do not overlap. No thread of
/// this process writes the source or touches the target meanwhile. The layouts hold equally many bytes.
#[inline]
pub(crate) unsafe fn copy(from: *const u8, from_layout: Layout, to: *mut u8, to_layout: Layout) {
    debug_assert_eq!(from_layout.bytes(), to_layout.bytes());
    // SAFETY: as promised by the caller.
    unsafe {
        if from_layout.is_contiguous() && to_layout.is_contiguous() {
            row(from, to, from_layout.bytes());
        } else {
            blocks(from, from_layout, to, to_layout);
        }
    }
}

/// # Safety
/// As [`copy`].
unsafe fn blocks(from: *const u8, from_layout: Layout, to: *mut u8, to_layout: Layout) {
    // SAFETY: (all arms) runs lie inside the extents that the caller vouches for.
    unsafe {
        match (from_layout.is_contiguous(), to_layout.is_contiguous()) {
            (true, false) if to_layout.block == 8 => scatter_words::<u64>(from, to, to_layout),
            (true, false) if to_layout.block == 4 => scatter_words::<u32>(from, to, to_layout),
            (false, true) if from_layout.block == 8 => gather_words::<u64>(from, from_layout, to),
            (false, true) if from_layout.block == 4 => gather_words::<u32>(from, from_layout, to),
            (true, false) => {
                let (block, stride) = (to_layout.block as usize, to_layout.stride as usize);
                for i in 0..to_layout.count as usize {
                    std::ptr::copy_nonoverlapping(from.add(i * block), to.add(i * stride), block);
                }
            }
            (false, true) => {
                let (block, stride) = (from_layout.block as usize, from_layout.stride as usize);
                for i in 0..from_layout.count as usize {
                    std::ptr::copy_nonoverlapping(from.add(i * stride), to.add(i * block), block);
                }
            }
            _ => both_strided(from, from_layout, to, to_layout),
        }
    }
}

/// Copies `bytes` in a row.
///
/// # Safety
/// As [`copy`].
#[inline(always)]
pub(crate) unsafe fn row(from: *const u8, to: *mut u8, bytes: u64) {
    // SAFETY: as promised by the caller.
    unsafe {
        if bytes <= SHORT {
            return short(from, to, bytes as usize);
        }
        if bytes >= STREAM_BYTES {
            return stream(from, to, bytes as usize);
        }
        std::ptr::copy_nonoverlapping(from, to, bytes as usize);
    }
}

/// Most bytes of a short copy.
const SHORT: u64 = 32;

/// Copies at most [`SHORT`] bytes without a call: two words that overlap where the length is between.
///
/// # Safety
/// As [`copy`].
#[inline(always)]
pub(crate) unsafe fn short(from: *const u8, to: *mut u8, bytes: usize) {
    /// # Safety
    /// `bytes`, at least one word of `T` and at most two, can be read and written.
    #[inline]
    unsafe fn two<T>(from: *const u8, to: *mut u8, bytes: usize) {
        let last = bytes - size_of::<T>();
        // SAFETY: both words lie inside.
        unsafe {
            let words = (from.cast::<T>().read_unaligned(), from.add(last).cast::<T>().read_unaligned());
            to.cast::<T>().write_unaligned(words.0);
            to.add(last).cast::<T>().write_unaligned(words.1);
        }
    }
    // SAFETY: as promised by the caller.
    unsafe {
        match bytes {
            8 => to.cast::<u64>().write_unaligned(from.cast::<u64>().read_unaligned()),
            0 => {}
            1 => *to = *from,
            2..=3 => two::<u16>(from, to, bytes),
            4..=7 => two::<u32>(from, to, bytes),
            9..=16 => two::<u64>(from, to, bytes),
            _ => two::<u128>(from, to, bytes),
        }
    }
}

/// Where there are no such stores: an ordinary copy.
///
/// # Safety
/// As [`copy`].
#[cfg(not(target_arch = "x86_64"))]
pub(crate) unsafe fn stream(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: as promised by the caller.
    unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) };
}

/// Non-temporal stores of whole lines; the ends by ordinary copies.
///
/// # Safety
/// As [`copy`].
#[cfg(target_arch = "x86_64")]
pub(crate) unsafe fn stream(from: *const u8, to: *mut u8, bytes: usize) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};
    let head = to.align_offset(64).min(bytes);
    let lines = (bytes - head) / 64;
    let tail = head + lines * 64;
    // SAFETY: head, lines and tail lie inside `bytes`; SSE2 is part of x86-64; streamed addresses are 16-aligned.
    unsafe {
        std::ptr::copy_nonoverlapping(from, to, head);
        for line in 0..lines {
            let source = from.add(head + line * 64).cast::<__m128i>();
            let target = to.add(head + line * 64).cast::<__m128i>();
            for part in 0..4 {
                _mm_stream_si128(target.add(part), _mm_loadu_si128(source.add(part)));
            }
        }
        _mm_sfence();
        std::ptr::copy_nonoverlapping(from.add(tail), to.add(tail), bytes - tail);
    }
}

const LINE: usize = 64;
/// Words ahead of a store whose lines are asked for.
const AHEAD: usize = 32;

/// Asks for the line at `at`, to be written; without effect where there is no memory.
#[inline(always)]
pub(crate) fn own_line(at: *const u8) {
    // SAFETY: a hint, which never faults; processors that lack it ignore it.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::asm!("prefetchw [{at}]", at = in(reg) at, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// Words from a row to every `stride` bytes.
///
/// # Safety
/// As [`copy`]; the layout's blocks are words.
unsafe fn scatter_words<W: Copy>(from: *const u8, to: *mut u8, layout: Layout) {
    let stride = layout.stride as usize;
    // Stores wait for their lines in order, some dozens at a time. A prefetch brings more lines at once. Where words
    // share lines, a second prefetch costs more than it saves.
    let ahead = if stride >= LINE { AHEAD * stride } else { 0 };
    for i in 0..layout.count as usize {
        if ahead > 0 {
            own_line(to.wrapping_add(i * stride + ahead));
        }
        // SAFETY: the i-th word of the row and of the layout.
        unsafe {
            let word = from.cast::<W>().add(i).read_unaligned();
            to.add(i * stride).cast::<W>().write_unaligned(word);
        }
    }
}

/// Words from every `stride` bytes to a row.
///
/// # Safety
/// As [`copy`]; the layout's blocks are words.
unsafe fn gather_words<W: Copy>(from: *const u8, layout: Layout, to: *mut u8) {
    let stride = layout.stride as usize;
    for i in 0..layout.count as usize {
        // SAFETY: the i-th word of the layout and of the row.
        unsafe {
            let word = from.add(i * stride).cast::<W>().read_unaligned();
            to.cast::<W>().add(i).write_unaligned(word);
        }
    }
}

/// # Safety
/// As [`copy`].
unsafe fn both_strided(from: *const u8, from_layout: Layout, to: *mut u8, to_layout: Layout) {
    let mut at = 0;
    for (source, run) in from_layout.runs(0, from_layout.bytes()) {
        let mut source = source as usize;
        for (target, part) in to_layout.runs(at, run) {
            // SAFETY: both runs lie inside their extents.
            unsafe { std::ptr::copy_nonoverlapping(from.add(source), to.add(target as usize), part as usize) };
            source += part as usize;
        }
        at += run;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn layout() -> impl Strategy<Value = (u64, u64, u64)> {
        (prop_oneof![Just(8u64), Just(4), 1u64..20], 0u64..20, 0u64..30)
    }

    proptest! {
        /// Any layout to any other of the same length: the packed streams are equal, bytes between stay untouched.
        #[test]
        fn copies_exactly_the_bytes_named((block, count, gap) in layout(), pick in 0usize..4) {
            let bytes = block * count;
            let from_layout = Layout::strided(block, count, block + gap);
            let to_layout = match pick {
                0 => Layout::contiguous(bytes),
                1 => Layout::strided(count.max(1), if count == 0 { 0 } else { block }, count + gap + 1),
                2 => Layout::strided(1, bytes, 3),
                _ => from_layout,
            };
            let source: Vec<u8> = (0..from_layout.extent()).map(|i| (i % 251) as u8).collect();
            let mut target = vec![0xEE; to_layout.extent() as usize + 16];
            // SAFETY: both vectors hold their layout's extent.
            unsafe { copy(source.as_ptr(), from_layout, target.as_mut_ptr(), to_layout) };
            let stream: Vec<u8> = from_layout.runs(0, bytes).flat_map(|(o, n)| source[o as usize..(o + n) as usize].to_vec()).collect();
            let mut expected = vec![0xEE; target.len()];
            let mut at = 0;
            for (offset, run) in to_layout.runs(0, bytes) {
                expected[offset as usize..(offset + run) as usize].copy_from_slice(&stream[at..at + run as usize]);
                at += run as usize;
            }
            prop_assert_eq!(target, expected);
        }
    }

    #[test]
    fn streams_every_byte_of_an_unaligned_block() {
        let bytes = STREAM_BYTES as usize + 77;
        let source: Vec<u8> = (0..bytes + 3).map(|i| (i * 7 % 253) as u8).collect();
        let mut target = vec![0xEE; bytes + 64];
        let layout = Layout::contiguous(bytes as u64);
        // SAFETY: source and target hold `bytes` from the addresses given.
        unsafe { copy(source.as_ptr().wrapping_add(3), layout, target.as_mut_ptr().wrapping_add(5), layout) };
        assert!(target[5..5 + bytes] == source[3..3 + bytes]);
        assert!(target[..5].iter().chain(&target[5 + bytes..]).all(|&b| b == 0xEE));
    }
}
