//! Names of functions in memory that processes share.

use std::sync::atomic::{AtomicU64, Ordering};

/// Writes a name, with a zero behind it where there is room; of one that is too long, the beginning.
pub(crate) fn write(words: &[AtomicU64], name: &str) {
    // A zero ends it.
    let pieces = name.as_bytes().chunks(8).chain(std::iter::once(&[][..]));
    for (word, bytes) in words.iter().zip(pieces) {
        let mut value = [0; 8];
        value[..bytes.len()].copy_from_slice(bytes);
        word.store(u64::from_ne_bytes(value), Ordering::Relaxed);
    }
}

/// The name that was written; `None`: none was.
pub(crate) fn read(words: &[AtomicU64]) -> Option<String> {
    let bytes = words.iter().flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes());
    let name: Vec<u8> = bytes.take_while(|&byte| byte != 0).collect();
    String::from_utf8(name).ok().filter(|name| !name.is_empty())
}
