//! A few numbers by collectives, for agreements of the ranks apart from the program's data.

use crate::comm::Comm;
use crate::{Combine, Element, Error, Operation};
use hotlink_port::{Kind, Port, Rank, Span};

/// The largest of every rank's words, at every rank.
///
/// # Errors
/// As of the collective.
pub async fn largest<P: Port>(view: &Comm<P>, words: &[i64]) -> Result<Vec<i64>, Error> {
    let bytes = 8 * words.len() as u64;
    let memory = view.alloc(2 * bytes.max(8), Kind::Private)?;
    let (mine, all) = (Span::new(memory, 0, bytes), Span::new(memory, bytes, bytes));
    view.write(memory, 0, words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>().as_slice())?;
    view.allreduce(Operation { combine: Combine::Max, element: Element::I64 }, mine, all).await?;
    let result = words_at(view, all)?;
    view.free(memory)?;
    Ok(result)
}

fn words_at<P: Port>(view: &Comm<P>, span: Span) -> Result<Vec<i64>, Error> {
    let mut bytes = vec![0; span.bytes() as usize];
    view.read(span.memory, span.offset, &mut bytes)?;
    Ok(bytes.as_chunks::<8>().0.iter().map(|word| i64::from_ne_bytes(*word)).collect())
}

/// Every rank's words, rank by rank.
///
/// # Errors
/// As of the collective.
pub async fn gathered<P: Port>(view: &Comm<P>, words: &[i64]) -> Result<Vec<Vec<i64>>, Error> {
    let (bytes, ranks) = (8 * words.len() as u64, u64::from(view.ranks()));
    let memory = view.alloc(bytes * (ranks + 1), Kind::Private)?;
    let (mine, all) = (Span::new(memory, 0, bytes), Span::new(memory, bytes, bytes * ranks));
    view.write(memory, 0, words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>().as_slice())?;
    view.allgather(mine, all).await?;
    let result = words_at(view, all)?;
    view.free(memory)?;
    Ok(result.chunks(words.len()).map(<[i64]>::to_vec).collect())
}

/// Words of `root`, at every rank, which all know how many.
///
/// # Errors
/// As of the collective.
pub async fn told<P: Port>(view: &Comm<P>, root: Rank, words: &[i64]) -> Result<Vec<i64>, Error> {
    let bytes = 8 * words.len() as u64;
    let memory = view.alloc(bytes.max(8), Kind::Private)?;
    let span = Span::new(memory, 0, bytes);
    view.write(memory, 0, words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>().as_slice())?;
    view.bcast(root, span).await?;
    let result = words_at(view, span)?;
    view.free(memory)?;
    Ok(result)
}
