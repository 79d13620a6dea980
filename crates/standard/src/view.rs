//! What a rank sees of a file: the data of a datatype that is repeated over it, from some byte on.

use crate::datatype::Datatype;

/// Bytes of a file that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The first, from the file's beginning.
    pub at: u64,
    /// How many.
    pub bytes: u64,
}

/// A view of a file. What it shows is a stream of bytes; everything else of the file is a hole.
#[derive(Clone, Debug)]
pub struct View {
    displacement: u64,
    /// One tile: its pieces from the tile's beginning, each with how much of the stream lies before it in the tile.
    tile: Vec<(Piece, u64)>,
    /// Bytes of the stream in a tile, and of the file from one tile to the next.
    size: u64,
    extent: u64,
    overlaps: bool,
}

impl View {
    /// All of a file.
    pub fn whole() -> View {
        View { displacement: 0, tile: vec![(Piece { at: 0, bytes: 1 }, 0)], size: 1, extent: 1, overlaps: false }
    }
    /// The data of `filetype` from `displacement` on: none where it has no bytes. `None`: it goes backwards, which the
    /// standard forbids.
    pub fn new(displacement: u64, filetype: &Datatype) -> Option<View> {
        let mut tile: Vec<(Piece, u64)> = Vec::new();
        if filetype.size() == 0 {
            return Some(View { displacement, tile, size: 0, extent: 2, overlaps: false });
        }
        let (mut size, mut overlaps) = (0, false);
        for run in filetype.runs() {
            for block in 0..run.count as i64 {
                let at = u64::try_from(run.at + block * run.stride).ok()?;
                match tile.last_mut() {
                    Some((last, _)) if at < last.at => return None,
                    Some((last, _)) if at == last.at + last.bytes => last.bytes += run.bytes,
                    last => {
                        overlaps |= last.is_some_and(|(last, _)| at < last.at + last.bytes);
                        tile.push((Piece { at, bytes: run.bytes }, size));
                    }
                }
                size += run.bytes;
            }
        }
        let extent = u64::try_from(filetype.extent()).ok()?;
        let &(first, _) = tile.first()?;
        if let [(only, _)] = tile[..]
            && only.bytes == extent
        {
            // No holes: a byte after the other.
            return Some(View { displacement: displacement + first.at, ..View::whole() });
        }
        let &(last, _) = tile.last()?;
        // A tile may reach into the next.
        overlaps |= last.at + last.bytes > extent + first.at;
        (extent > 0).then_some(View { displacement, tile, size, extent, overlaps })
    }
    /// Whether it shows a byte twice, as a file that is written must not be seen.
    pub fn overlaps(&self) -> bool {
        self.overlaps
    }
    /// The byte of the file at which it begins.
    pub fn displacement(&self) -> u64 {
        self.displacement
    }
    /// Whether it shows nothing of the file.
    pub fn is_empty(&self) -> bool {
        self.size == 0
    }
    /// The byte of the file that a byte of the stream is; where there is none, the first.
    pub fn place(&self, stream: u64) -> u64 {
        if self.is_empty() {
            return self.displacement;
        }
        let (tiles, within) = (stream / self.size, stream % self.size);
        let (piece, before) = self.tile[self.piece_with(within)];
        self.displacement + tiles * self.extent + piece.at + (within - before)
    }
    /// The piece of a tile in which such a byte of its stream is.
    fn piece_with(&self, within: u64) -> usize {
        self.tile.partition_point(|(_, before)| *before <= within) - 1
    }
    /// Where in the file so many bytes of the stream are, in order, from one of them on.
    pub fn pieces(&self, stream: u64, bytes: u64) -> Vec<Piece> {
        if self.extent == 1 && bytes > 0 {
            return vec![Piece { at: self.displacement + stream, bytes }];
        }
        let mut pieces: Vec<Piece> = Vec::new();
        if self.is_empty() {
            return pieces;
        }
        let (mut tile, mut within, mut left) = (stream / self.size, stream % self.size, bytes);
        let mut number = self.piece_with(within);
        while left > 0 {
            let (piece, before) = self.tile[number];
            let skipped = within - before;
            let here = (piece.bytes - skipped).min(left);
            let at = self.displacement + tile * self.extent + piece.at + skipped;
            match pieces.last_mut() {
                Some(last) if last.at + last.bytes == at => last.bytes += here,
                _ => pieces.push(Piece { at, bytes: here }),
            }
            left -= here;
            within += here;
            number += 1;
            if number == self.tile.len() {
                (tile, within, number) = (tile + 1, 0, 0);
            }
        }
        pieces
    }
    /// Bytes of the stream that lie before a byte of the file.
    pub fn before(&self, at: u64) -> u64 {
        let Some(from) = at.checked_sub(self.displacement) else { return 0 };
        let (tiles, within) = (from / self.extent, from % self.extent);
        let in_tile = |(piece, _): &(Piece, u64)| within.saturating_sub(piece.at).min(piece.bytes);
        tiles * self.size + self.tile.iter().map(in_tile).sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::basic::Basic;
    use std::rc::Rc;

    fn ints(lengths: &[i64], displacements: &[i64]) -> Rc<Datatype> {
        Rc::new(Datatype::hindexed(lengths, displacements, &Rc::new(Datatype::named(Basic::I32))).unwrap())
    }

    /// Two of every four integers, after one that is skipped.
    fn striped() -> View {
        View::new(100, &Datatype::resized(0, 16, &ints(&[2], &[4]))).unwrap()
    }

    #[test]
    fn a_view_may_show_nothing() {
        let view = View::new(100, &ints(&[], &[])).unwrap();
        assert!(view.is_empty() && !view.overlaps() && view.pieces(3, 8).is_empty());
        assert_eq!((view.place(8), view.before(4000)), (100, 0));
    }

    #[test]
    fn a_stream_is_found_piece_by_piece() {
        let view = striped();
        assert_eq!((view.place(0), view.place(7), view.place(8), view.place(19)), (104, 111, 120, 139));
        let of = |pieces: Vec<Piece>| pieces.iter().map(|piece| (piece.at, piece.bytes)).collect::<Vec<_>>();
        assert_eq!(of(view.pieces(4, 14)), [(108, 4), (120, 8), (136, 2)]);
        assert_eq!(of(view.pieces(4, 0)), []);
        assert_eq!(of(View::whole().pieces(7, 9)), [(7, 9)]);
    }

    #[test]
    fn what_lies_before_a_byte_is_counted() {
        let view = striped();
        let counts = [0, 100, 104, 106, 112, 119, 121].map(|at| view.before(at));
        assert_eq!(counts, [0, 0, 0, 2, 8, 8, 9]);
        for stream in 0..40 {
            assert_eq!(view.before(view.place(stream)), stream);
        }
    }

    #[test]
    fn types_without_holes_are_a_row() {
        let view = View::new(8, &ints(&[3], &[0])).unwrap();
        assert_eq!(view.pieces(5, 100), [Piece { at: 13, bytes: 100 }]);
        assert!(View::new(0, &ints(&[1, 1], &[8, 0])).is_none());
        assert!(View::new(0, &ints(&[3, 1], &[0, 4])).unwrap().overlaps());
        assert!(!striped().overlaps());
    }
}
