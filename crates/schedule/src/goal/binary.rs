//! LogGOPSim's binary GOAL, little-endian, as its `txt2bin` writes it.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | 4223, by which the form is known |
//! | 4, 1, 1 | ranks, largest processor, largest adapter |
//! | 16 a rank | where its operations begin and end, counted from the 9th byte of the file |
//!
//! A rank has its number of operations (4), of those that wait for nothing (4) and the list of these (4 each). Then
//! each operation has 39 bytes:
//! - dependencies (4), kind (1), other rank (4), size (8), tag (4), processor (1), adapter (1)
//! - how many operations wait for its end (4), and their place in the list (4)
//! - how many operations wait for its start (4), and their place (4).
//!
//! That list follows (4 each).

use super::window::{Input, Window};
use crate::form::{ANY, Builder, Kind, MOST_BYTES, MOST_OPS, MOST_RANKS, MOST_UNITS, Op, Place, Schedule};
use std::io::{self, Read, Seek, Write};

/// The first eight bytes.
pub(crate) const MAGIC: u64 = 4223;
/// Bytes of the header before the table of ranks.
const HEADER: usize = 14;
/// Bytes of an operation.
const RECORD: usize = 39;

/// What is wrong.
#[derive(Debug)]
pub(crate) enum Wrong {
    /// At which byte of the file.
    At(usize, String),
    /// It cannot be read.
    Unread(io::Error),
}

impl From<(usize, String)> for Wrong {
    fn from((at, what): (usize, String)) -> Wrong {
        Wrong::At(at, what)
    }
}

impl From<io::Error> for Wrong {
    fn from(error: io::Error) -> Wrong {
        Wrong::Unread(error)
    }
}

/// All operations, with the place of operation `watched`: rank and number.
pub(crate) fn builder(from: impl Read + Seek, watched: u32) -> Result<Builder, Wrong> {
    let mut reader = Reader {
        input: Input::new(from)?,
        table: Window::default(),
        records: Window::default(),
        lists: Window::default(),
        missing: Vec::new(),
    };
    reader.has(0, 8)?;
    if u64::from_le_bytes(*reader.table.array(&mut reader.input, 0)?) != MAGIC {
        return Err((0, format!("does not begin with {MAGIC}, as binary GOAL does")).into());
    }
    reader.has(8, 4)?;
    let ranks = u32::from_le_bytes(*reader.table.array(&mut reader.input, 8)?);
    if !(1..=MOST_RANKS).contains(&ranks) {
        return Err((8, format!("{ranks} ranks (allowed: 1 to {MOST_RANKS})")).into());
    }
    // Before memory is taken for them.
    reader.has(HEADER, ranks as usize * 16)?;
    let mut builder = Builder::watching(ranks, watched);
    for rank in 0..ranks {
        reader.block(rank, &mut builder)?;
    }
    Ok(builder)
}

/// Reads operations at one place of the file and their lists at another.
struct Reader<R> {
    input: Input<R>,
    table: Window,
    records: Window,
    lists: Window,
    /// For a rank's operations: the dependencies that each states, less those that name it.
    missing: Vec<u32>,
}

/// Where a rank's operations stand.
struct Block {
    rank: u32,
    ops: u32,
    records: usize,
    list: usize,
    end: usize,
    /// Id of its first operation.
    first: u32,
}

/// What waits for an operation's end, or for its start.
#[derive(Clone, Copy)]
struct Followers {
    count: u32,
    /// Where they begin in the rank's list.
    from: u32,
    start_only: bool,
    /// Where that stands.
    place: usize,
}

impl<R: Read + Seek> Reader<R> {
    fn has(&self, at: usize, bytes: usize) -> Result<(), Wrong> {
        match at.checked_add(bytes).is_some_and(|end| end <= self.input.length) {
            true => Ok(()),
            false => Err((self.input.length, format!("ends early: {bytes} bytes are needed from byte {at} on")).into()),
        }
    }

    /// Where the table says that a rank begins or ends.
    fn place(&mut self, rank: u32, at: usize) -> Result<usize, Wrong> {
        let offset = u64::from_le_bytes(*self.table.array(&mut self.input, at)?);
        let place = usize::try_from(offset).ok().and_then(|offset| offset.checked_add(8));
        place.filter(|&place| place <= self.input.length).ok_or_else(|| {
            let what = "past the end: the file is cut short or another version";
            (at, format!("rank {rank} is at byte {offset}, {what}")).into()
        })
    }

    fn count(&mut self, at: usize) -> Result<u32, Wrong> {
        self.has(at, 4)?;
        Ok(u32::from_le_bytes(*self.records.array(&mut self.input, at)?))
    }

    fn block(&mut self, rank: u32, builder: &mut Builder) -> Result<(), Wrong> {
        let entry = HEADER + rank as usize * 16;
        let (begin, end) = (self.place(rank, entry)?, self.place(rank, entry + 8)?);
        let (ops, roots) = (self.count(begin)?, self.count(begin + 4)?);
        let records = begin + 8 + roots as usize * 4;
        self.has(records, ops as usize * RECORD)?;
        let list = records + ops as usize * RECORD;
        if roots > ops || list > end {
            let what = format!("rank {rank}: {ops} operations, {roots} of them first, do not fit before byte {end}");
            return Err((begin, what).into());
        }
        if builder.ops() + ops as usize > MOST_OPS {
            return Err((begin, format!("more than {MOST_OPS} operations")).into());
        }
        let _ = builder.begin(rank);
        builder.expect(ops as usize);
        let block = Block { rank, ops, records, list, end, first: builder.ops() as u32 };
        self.operations(&block, builder)
    }

    fn operations(&mut self, block: &Block, builder: &mut Builder) -> Result<(), Wrong> {
        let &Block { rank, ops, records, .. } = block;
        self.missing.clear();
        self.missing.resize(ops as usize, 0);
        let Reader { input, records: window, lists, missing, .. } = self;
        let mut waiting = Waiting { lists, missing, listed: 0, most: (block.end - block.list) / 4 };
        // A mistake in an operation is reported before one in a list, wherever they stand.
        let (mut wrong, mut number) = (None, 0);
        while number < ops {
            let at = records + number as usize * RECORD;
            let several = window.arrays::<RECORD>(input, at, (ops - number) as usize)?;
            let mut at = at;
            for record in several {
                let Some(op) = op(record, rank, builder.ranks()) else {
                    return Err(mistake(record, at, builder.ranks()));
                };
                let stated = &mut waiting.missing[number as usize];
                *stated = stated.wrapping_add(u32_of(record, 0));
                builder.stands(Place { file: 0, at: [rank.into(), u64::from(number) + 1] });
                builder.add(op);
                let (ends, starts) = (u32_of(record, 23), u32_of(record, 31));
                let ends = Followers { count: ends, from: u32_of(record, 27), start_only: false, place: at + 23 };
                let starts = Followers { count: starts, from: u32_of(record, 35), start_only: true, place: at + 31 };
                if ends.count > 0 && wrong.is_none() {
                    wrong = waiting.add(input, block, number, ends, builder).err();
                }
                if starts.count > 0 && wrong.is_none() {
                    wrong = waiting.add(input, block, number, starts, builder).err();
                }
                number += 1;
                at += RECORD;
            }
        }
        if let Some(wrong) = wrong {
            return Err(*wrong);
        }
        let Some(number) = self.missing.iter().position(|&missing| missing != 0) else { return Ok(()) };
        let at = records + number * RECORD;
        let said = self.count(at)?;
        let waiting = said.wrapping_sub(self.missing[number]);
        let what = format!("rank {rank}, operation {}: waits for {said} operations", number + 1);
        Err((at, format!("{what}, but {waiting} name it")).into())
    }
}

/// Reads what waits for a rank's operations.
struct Waiting<'a> {
    lists: &'a mut Window,
    missing: &'a mut [u32],
    /// Dependencies so far, and as many as the rank's list has.
    listed: usize,
    most: usize,
}

impl Waiting<'_> {
    /// What waits for an operation. An error is boxed so that its absence is one word.
    #[inline(never)]
    fn add(
        &mut self,
        input: &mut Input<impl Read + Seek>,
        block: &Block,
        number: u32,
        followers: Followers,
        builder: &mut Builder,
    ) -> Result<(), Box<Wrong>> {
        let &Block { rank, ops, list, end, first, .. } = block;
        let Followers { place: told, start_only, count, from } = followers;
        let place = list + from as usize * 4;
        if place + count as usize * 4 > end {
            let what = format!("rank {rank}, operation {}: its list ends past byte {end}", number + 1);
            return Err(Box::new((told, what).into()));
        }
        self.listed += count as usize;
        if self.listed > self.most {
            let what = format!("rank {rank}, operation {}: names more than its rank's list holds", number + 1);
            return Err(Box::new((told, what).into()));
        }
        let (mut place, end) = (place, place + count as usize * 4);
        while place < end {
            let after = u32::from_le_bytes(*self.lists.array(input, place).map_err(Wrong::from)?);
            let Some(missing) = self.missing.get_mut(after as usize) else {
                let what = format!("rank {rank}, operation {}: operation {after} waits for it", number + 1);
                return Err(Box::new((place, format!("{what}, but there are {ops}")).into()));
            };
            *missing = missing.wrapping_sub(1);
            builder.requires(first + after, first + number, start_only);
            place += 4;
        }
        Ok(())
    }
}

#[inline]
fn u32_of(record: &[u8; RECORD], at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|byte| record[at + byte]))
}

/// An operation, if nothing is wrong with it.
#[inline]
fn op(record: &[u8; RECORD], rank: u32, ranks: u32) -> Option<Op> {
    let [code, cpu, nic] = [record[4], record[21], record[22]];
    let (peer, size, tag) = (u32_of(record, 5), size_of(record), u32_of(record, 17));
    let plain = Op { kind: Kind::Calc, cpu, nic: 0, rank, peer: 0, tag: 0, size };
    let op = match code {
        1 => Op { kind: Kind::Send, nic, peer, tag, ..plain },
        2 => Op { kind: Kind::Recv, nic, peer, tag, ..plain },
        3 => return (size <= MOST_UNITS).then_some(plain),
        _ => return None,
    };
    let takes_any = op.kind == Kind::Recv;
    let is_sound = (peer < ranks || peer == ANY && takes_any) && size <= MOST_BYTES && (tag != ANY || takes_any);
    is_sound.then_some(op)
}

/// What is wrong with the operation at a place.
#[cold]
fn mistake(record: &[u8; RECORD], at: usize, ranks: u32) -> Wrong {
    let (code, peer, size) = (record[4], u32_of(record, 5), size_of(record));
    let (place, what) = match code {
        3 => (9, format!("a computation of {size} (allowed: 0 to {MOST_UNITS})")),
        1 | 2 if peer >= ranks && !(code == 2 && peer == ANY) => {
            (5, format!("other rank {peer} (allowed: 0 to {})", ranks - 1))
        }
        1 | 2 if size > MOST_BYTES => (9, format!("a message of {size} bytes (allowed: 0 to {MOST_BYTES})")),
        1 | 2 => (17, "a message with any tag: only receives take any".to_owned()),
        _ => (4, format!("kind {code} (allowed: 1 send, 2 receive, 3 computation)")),
    };
    Wrong::At(at + place, what)
}

#[inline]
fn size_of(record: &[u8; RECORD]) -> u64 {
    u64::from(u32_of(record, 13)) << 32 | u64::from(u32_of(record, 9))
}

impl Schedule {
    /// Writes LogGOPSim's binary form.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_binary(&self, out: &mut impl Write) -> io::Result<()> {
        let most = |number: fn(Op) -> u8| self.ops().map(number).max().unwrap_or(0);
        out.write_all(&MAGIC.to_le_bytes())?;
        out.write_all(&self.ranks().to_le_bytes())?;
        out.write_all(&[most(|op| op.cpu), most(|op| op.nic)])?;
        let mut at = (HEADER - 8) as u64 + u64::from(self.ranks()) * 16;
        let waits = self.waits();
        for rank in 0..self.ranks() {
            let block = self.of_rank(rank);
            let followers: usize = block.clone().map(|op| self.successors(op).count()).sum();
            let bytes = 8 + 4 * self.roots(rank, &waits).count() + RECORD * block.len() + 4 * followers;
            out.write_all(&at.to_le_bytes())?;
            at += bytes as u64;
            out.write_all(&at.to_le_bytes())?;
        }
        (0..self.ranks()).try_for_each(|rank| self.write_block(rank, &waits, out))
    }

    /// Operations of a rank that wait for nothing, by their numbers in it.
    fn roots(&self, rank: u32, waits: &[u32]) -> impl Iterator<Item = u32> {
        let block = self.of_rank(rank);
        block.clone().filter(|&op| waits[op as usize] == 0).map(move |op| op - block.start)
    }

    fn write_block(&self, rank: u32, waits: &[u32], out: &mut impl Write) -> io::Result<()> {
        let block = self.of_rank(rank);
        out.write_all(&(block.len() as u32).to_le_bytes())?;
        out.write_all(&(self.roots(rank, waits).count() as u32).to_le_bytes())?;
        self.roots(rank, waits).try_for_each(|root| out.write_all(&root.to_le_bytes()))?;
        let mut listed = 0u32;
        for id in block.clone() {
            let op = self.op(id).without_posts();
            out.write_all(&waits[id as usize].to_le_bytes())?;
            let code = match op.kind {
                Kind::Send => 1,
                Kind::Recv => 2,
                Kind::Calc | Kind::Post => 3,
            };
            out.write_all(&[code])?;
            out.write_all(&op.peer.to_le_bytes())?;
            out.write_all(&op.size.to_le_bytes())?;
            out.write_all(&op.tag.to_le_bytes())?;
            out.write_all(&[op.cpu, op.nic])?;
            for start_only in [false, true] {
                let count = self.successors(id).filter(|&(_, start)| start == start_only).count() as u32;
                out.write_all(&count.to_le_bytes())?;
                out.write_all(&listed.to_le_bytes())?;
                listed += count;
            }
        }
        for id in block.clone() {
            for start_only in [false, true] {
                for (after, _) in self.successors(id).filter(|&(_, start)| start == start_only) {
                    out.write_all(&(after - block.start).to_le_bytes())?;
                }
            }
        }
        Ok(())
    }
}
