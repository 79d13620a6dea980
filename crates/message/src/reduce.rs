//! Element-wise combination of two buffers of a rank's memory.

use crate::Error;
use hotlink_port::{Kind, Operation, Port, Span, Work};

/// Bytes combined at a time.
const CHUNK: usize = 16 << 10;

/// `into` becomes `into` combined with `other`.
pub(crate) fn apply(operation: Operation, port: &mut impl Port, other: Span, into: Span) -> Result<(), Error> {
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
        operation.combine(&mut a[..len], &b[..len]);
        port.write(into.memory, into.offset + at, &a[..len])?;
        at += len as u64;
    }
    Ok(())
}
