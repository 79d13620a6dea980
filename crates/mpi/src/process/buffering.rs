//! Collective buffering: ranks whose pieces of a file interleave exchange data first. So each reads or writes a stretch
//! of its own in few long pieces.

use crate::failure::{Done, Failure, fail};
use crate::memory::Everything;
use crate::process::buffer::Staged;
use crate::process::file::File;
use hotlink_message::Comm;
use hotlink_message::words::gathered;
use hotlink_real::Seat;
use hotlink_standard::Piece;
use hotlink_standard::constants as c;
use std::rc::Rc;

/// The stretches of ranks begin at multiples of this.
const GRAIN: u64 = 4096;

/// Every rank's bytes for each other, at each.
async fn exchanged(view: &Comm<Seat>, all: &Everything, send: &[Vec<u8>]) -> Done<Vec<Vec<u8>>> {
    let lengths: Vec<i64> = send.iter().map(|bytes| bytes.len() as i64).collect();
    let own = view.rank() as usize;
    let lengths: Vec<u64> = gathered(view, &lengths).await?.iter().map(|row| row[own] as u64).collect();
    let out: Vec<Staged> = send.iter().map(|bytes| Staged::of(all, bytes)).collect();
    let into: Vec<Staged> = lengths.iter().map(|&bytes| Staged::room(all, bytes)).collect();
    let spans = |of: &[Staged]| of.iter().map(|one| one.span).collect::<Vec<_>>();
    view.alltoallv(&spans(&out), &spans(&into)).await?;
    Ok(into.iter().map(|one| one.own().to_vec()).collect())
}

fn packed(pieces: &[Piece]) -> Vec<u8> {
    let words = pieces.iter().flat_map(|piece| [piece.at, piece.bytes]);
    std::iter::once(pieces.len() as u64).chain(words).flat_map(u64::to_le_bytes).collect()
}

/// The pieces at the beginning of a message, and the data behind them.
fn unpacked(bytes: &[u8]) -> (Vec<Piece>, &[u8]) {
    let (words, _) = bytes.as_chunks::<8>();
    let word = |place: usize| words.get(place).map_or(0, |word| u64::from_le_bytes(*word));
    let count = word(0) as usize;
    let pieces = (0..count).map(|place| Piece { at: word(1 + 2 * place), bytes: word(2 + 2 * place) });
    (pieces.collect(), bytes.get(8 + 16 * count..).unwrap_or_default())
}

/// Which rank has which stretch of the file.
struct Stretches {
    from: u64,
    each: u64,
    ranks: u64,
    /// Where the file ends, as all ranks say.
    end: u64,
}

impl Stretches {
    /// `None`: no two ranks' pieces lie between each other's, and each can go by itself.
    ///
    /// # Errors
    /// Some ranks read, and others write.
    async fn of(view: &Comm<Seat>, file: &File, pieces: &[Piece], writes: bool) -> Done<Option<Stretches>> {
        let from = pieces.iter().map(|piece| piece.at).min().unwrap_or(u64::MAX);
        let to = pieces.iter().map(|piece| piece.at + piece.bytes).max().unwrap_or(0);
        let (count, bytes) = (pieces.len() as i64, file.bytes().unwrap_or(0) as i64);
        let all = gathered(view, &[from as i64, to as i64, count, bytes, i64::from(writes)]).await?;
        if let Some(other) = all.iter().position(|row| (row[4] != 0) != writes) {
            let verbs = if writes { ["writes", "reads"] } else { ["reads", "writes"] };
            let why = format!("rank {} {} the file, and rank {other} {} it", view.rank(), verbs[0], verbs[1]);
            return fail(c::MPI_ERR_OTHER, why + ": all must call the same function");
        }
        let end = all.iter().map(|row| row[3] as u64).max().unwrap_or(0);
        let mut ranges: Vec<(u64, u64)> =
            all.iter().filter(|row| row[2] > 0).map(|row| (row[0] as u64, row[1] as u64)).collect();
        ranges.sort_unstable();
        if ranges.windows(2).all(|two| two[0].1 <= two[1].0) {
            return Ok(None);
        }
        let (from, to) = (ranges[0].0, ranges.iter().map(|range| range.1).max().unwrap_or(0));
        let ranks = u64::from(view.ranks());
        let from = from / GRAIN * GRAIN;
        let each = (to - from).div_ceil(ranks).next_multiple_of(GRAIN);
        Ok(Some(Stretches { from, each, ranks, end }))
    }
    /// Each piece cut where stretches meet: with its rank, and where its data are among all.
    fn cut(&self, pieces: &[Piece]) -> Vec<(usize, Piece, usize)> {
        let (mut parts, mut place) = (Vec::new(), 0);
        for piece in pieces {
            let (mut at, end) = (piece.at, piece.at + piece.bytes);
            while at < end {
                let owner = ((at - self.from) / self.each).min(self.ranks - 1);
                let border = if owner + 1 == self.ranks { end } else { self.from + (owner + 1) * self.each };
                let bytes = border.min(end) - at;
                parts.push((owner as usize, Piece { at, bytes }, place));
                (at, place) = (at + bytes, place + bytes as usize);
            }
        }
        parts
    }
}

/// Pieces in the order of the file, joined where they meet or overlap.
fn joined(mut pieces: Vec<Piece>) -> Vec<Piece> {
    pieces.sort_unstable_by_key(|piece| piece.at);
    let mut all: Vec<Piece> = Vec::new();
    for piece in pieces {
        match all.last_mut() {
            Some(last) if piece.at <= last.at + last.bytes => {
                last.bytes = last.bytes.max(piece.at + piece.bytes - last.at);
            }
            _ => all.push(piece),
        }
    }
    all
}

/// Where in the data of joined pieces a byte of the file is.
fn place_in(joined: &[Piece], starts: &[usize], at: u64) -> usize {
    let number = joined.partition_point(|piece| piece.at <= at) - 1;
    starts[number] + (at - joined[number].at) as usize
}

/// Where each joined piece's data begin among all, and how many there are.
fn starts(joined: &[Piece]) -> (Vec<usize>, usize) {
    let (mut starts, mut total) = (Vec::new(), 0);
    for piece in joined {
        starts.push(total);
        total += piece.bytes as usize;
    }
    (starts, total)
}

/// Writes every rank's pieces.
pub(crate) async fn write(
    view: Comm<Seat>,
    all: Everything,
    file: Rc<File>,
    pieces: Vec<Piece>,
    data: Vec<u8>,
) -> Done {
    let Some(stretches) = Stretches::of(&view, &file, &pieces, true).await? else { return file.write(&pieces, &data) };
    let ranks = view.ranks() as usize;
    let (mut heads, mut bodies) = (vec![Vec::new(); ranks], vec![Vec::new(); ranks]);
    for (owner, piece, place) in stretches.cut(&pieces) {
        heads[owner].push(piece);
        bodies[owner].extend_from_slice(&data[place..place + piece.bytes as usize]);
    }
    let send: Vec<Vec<u8>> = heads.iter().zip(bodies).map(|(head, body)| [packed(head), body].concat()).collect();
    let came = exchanged(&view, &all, &send).await?;
    let came: Vec<(Vec<Piece>, &[u8])> = came.iter().map(|bytes| unpacked(bytes)).collect();
    let whole = joined(came.iter().flat_map(|(pieces, _)| pieces.iter().copied()).collect());
    let (starts, total) = starts(&whole);
    let mut gathered = vec![0; total];
    // Where ranks write to the same place, the highest rank's data stay: any order is allowed.
    for (pieces, mut data) in came {
        for piece in pieces {
            let (here, rest) = data.split_at(piece.bytes as usize);
            let place = place_in(&whole, &starts, piece.at);
            gathered[place..place + here.len()].copy_from_slice(here);
            data = rest;
        }
    }
    file.write(&whole, &gathered)
}

/// Reads every rank's pieces, up to the file's end.
pub(crate) async fn read(view: Comm<Seat>, all: Everything, file: Rc<File>, pieces: Vec<Piece>) -> Done<Vec<u8>> {
    let bytes = pieces.iter().map(|piece| piece.bytes).sum::<u64>() as usize;
    let mut data = vec![0; bytes];
    let Some(stretches) = Stretches::of(&view, &file, &pieces, false).await? else {
        let came = file.read(&pieces, &mut data)?;
        data.truncate(came as usize);
        return Ok(data);
    };
    let parts = stretches.cut(&pieces);
    let mut heads = vec![Vec::new(); view.ranks() as usize];
    parts.iter().for_each(|(owner, piece, _)| heads[*owner].push(*piece));
    let send: Vec<Vec<u8>> = heads.iter().map(|head| packed(head)).collect();
    let asked = exchanged(&view, &all, &send).await?;
    let asked: Vec<Vec<Piece>> = asked.iter().map(|bytes| unpacked(bytes).0).collect();
    let whole = joined(asked.iter().flatten().copied().collect());
    let (starts, total) = starts(&whole);
    let mut found = vec![0; total];
    let end = stretches.end;
    // A rank that fails must take part in what follows: the others would wait for it.
    let failed: Option<Box<Failure>> = file.read(&whole, &mut found).err();
    let of = |piece: &Piece| {
        let there = piece.bytes.min(end.saturating_sub(piece.at)) as usize;
        let place = place_in(&whole, &starts, piece.at);
        &found[place..place + there]
    };
    let answers: Vec<Vec<u8>> = asked.iter().map(|pieces| pieces.iter().flat_map(of).copied().collect()).collect();
    let came = exchanged(&view, &all, &answers).await?;
    if let Some(failed) = failed {
        return Err(failed);
    }
    let mut taken = vec![0; came.len()];
    let mut short = bytes;
    for (owner, piece, place) in parts {
        let rest = &came[owner][taken[owner]..];
        let there = rest.len().min(piece.bytes as usize).min(end.saturating_sub(piece.at) as usize);
        data[place..place + there].copy_from_slice(&rest[..there]);
        taken[owner] += there;
        if there < piece.bytes as usize {
            short = short.min(place + there);
        }
    }
    data.truncate(short);
    Ok(data)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(at: u64, bytes: u64) -> Piece {
        Piece { at, bytes }
    }

    #[test]
    fn pieces_are_cut_where_stretches_meet() {
        let stretches = Stretches { from: 0, each: 10, ranks: 3, end: 0 };
        let cut = stretches.cut(&[piece(5, 10), piece(28, 4)]);
        assert_eq!(cut, [(0, piece(5, 5), 0), (1, piece(10, 5), 5), (2, piece(28, 4), 10)]);
    }

    #[test]
    fn messages_hold_pieces_and_their_data() {
        let pieces = [piece(7, 2), piece(90, 1)];
        let message = [packed(&pieces), b"abc".to_vec()].concat();
        assert_eq!(unpacked(&message), (pieces.to_vec(), &b"abc"[..]));
    }

    #[test]
    fn joined_pieces_know_their_places() {
        let whole = joined(vec![piece(8, 4), piece(0, 2), piece(2, 3), piece(9, 1)]);
        assert_eq!(whole, [piece(0, 5), piece(8, 4)]);
        let (starts, total) = starts(&whole);
        assert_eq!((total, place_in(&whole, &starts, 4), place_in(&whole, &starts, 9)), (9, 4, 6));
    }
}
