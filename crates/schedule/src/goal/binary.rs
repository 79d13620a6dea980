//! LogGOPSim's binary GOAL, little-endian, as its `txt2bin` writes it.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | 4223, by which the form is known |
//! | 4, 1, 1 | ranks, largest processor, largest adapter |
//! | 16 a rank | where its operations begin and end, counted from the 9th byte of the file |
//!
//! A rank has its number of operations (4), of those that wait for nothing (4) and the list of these (4 each); then 39
//! bytes an operation: dependencies (4), kind (1), other rank (4), size (8), tag (4), processor (1), adapter (1), how many
//! wait for its end (4) and where they stand in the list behind (4), how many wait for its start (4) and where (4); then
//! that list (4 each).

use crate::form::{ANY, Builder, Kind, MOST_BYTES, MOST_OPS, MOST_RANKS, MOST_UNITS, Op, Place, Schedule};
use std::io::{self, Write};

/// The first eight bytes.
pub(crate) const MAGIC: u64 = 4223;
/// Bytes of the header before the table of ranks.
const HEADER: usize = 14;
/// Bytes of an operation.
const RECORD: usize = 39;

/// What is wrong, and at which byte of the file.
pub(crate) type Wrong = (usize, String);

/// All operations, with the place of operation `watched`: rank and number.
pub(crate) fn builder(bytes: &[u8], watched: u32) -> Result<Builder, Wrong> {
    let reader = Reader { bytes };
    if reader.u64(0)? != MAGIC {
        return Err((0, format!("does not begin with {MAGIC}, as binary GOAL does")));
    }
    let ranks = reader.u32(8)?;
    if !(1..=MOST_RANKS).contains(&ranks) {
        return Err((8, format!("{ranks} ranks (allowed: 1 to {MOST_RANKS})")));
    }
    // Before memory is taken for them.
    reader.has(HEADER, ranks as usize * 16)?;
    let mut builder = Builder::watching(ranks, watched);
    for rank in 0..ranks {
        block(&reader, rank, &mut builder)?;
    }
    Ok(builder)
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl Reader<'_> {
    fn has(&self, at: usize, bytes: usize) -> Result<(), Wrong> {
        match at.checked_add(bytes).is_some_and(|end| end <= self.bytes.len()) {
            true => Ok(()),
            false => Err((self.bytes.len(), format!("ends early: {bytes} bytes are needed from byte {at} on"))),
        }
    }
    fn array<const N: usize>(&self, at: usize) -> Result<[u8; N], Wrong> {
        self.has(at, N)?;
        Ok(self.bytes[at..at + N].try_into().unwrap_or([0; N]))
    }
    fn u64(&self, at: usize) -> Result<u64, Wrong> {
        self.array(at).map(u64::from_le_bytes)
    }
    fn u32(&self, at: usize) -> Result<u32, Wrong> {
        self.array(at).map(u32::from_le_bytes)
    }
}

fn block(reader: &Reader<'_>, rank: u32, builder: &mut Builder) -> Result<(), Wrong> {
    let entry = HEADER + rank as usize * 16;
    let from_magic = |at: usize| -> Result<usize, Wrong> {
        let offset = reader.u64(at)?;
        let place = usize::try_from(offset).ok().and_then(|offset| offset.checked_add(8));
        place.filter(|&place| place <= reader.bytes.len()).ok_or_else(|| {
            (at, format!("rank {rank} stands at byte {offset}, past the end: the file is cut short or another version"))
        })
    };
    let (begin, end) = (from_magic(entry)?, from_magic(entry + 8)?);
    let (ops, roots) = (reader.u32(begin)?, reader.u32(begin + 4)?);
    let records = begin + 8 + roots as usize * 4;
    reader.has(records, ops as usize * RECORD)?;
    let list = records + ops as usize * RECORD;
    if roots > ops || list > end {
        let what = format!("rank {rank}: {ops} operations, {roots} of them first, do not fit before byte {end}");
        return Err((begin, what));
    }
    if builder.ops() + ops as usize > MOST_OPS {
        return Err((begin, format!("more than {MOST_OPS} operations")));
    }
    let _ = builder.begin(rank);
    let first = builder.ops() as u32;
    for number in 0..ops {
        let at = records + number as usize * RECORD;
        builder.stands(Place { file: 0, at: [rank.into(), u64::from(number) + 1] });
        builder.add(op(reader, at, rank, builder.ranks())?);
    }
    let mut waits = vec![0u32; ops as usize];
    for number in 0..ops {
        let at = records + number as usize * RECORD;
        for (offset, start_only) in [(23, false), (31, true)] {
            let (count, from) = (reader.u32(at + offset)?, reader.u32(at + offset + 4)?);
            let place = list + from as usize * 4;
            if count > 0 && place + count as usize * 4 > end {
                let what = format!("rank {rank}, operation {}: its list ends past byte {end}", number + 1);
                return Err((at + offset, what));
            }
            for entry in 0..count as usize {
                let after = reader.u32(place + entry * 4)?;
                let waiting = waits.get_mut(after as usize).ok_or_else(|| {
                    let what = format!("rank {rank}, operation {}: operation {after} waits for it", number + 1);
                    (place + entry * 4, format!("{what}, but there are {ops}"))
                })?;
                *waiting += 1;
                builder.requires(first + after, first + number, start_only);
            }
        }
    }
    for (number, &waiting) in waits.iter().enumerate() {
        let at = records + number * RECORD;
        let said = reader.u32(at)?;
        if said != waiting {
            let what = format!("rank {rank}, operation {}: waits for {said} operations", number + 1);
            return Err((at, format!("{what}, but {waiting} name it")));
        }
    }
    Ok(())
}

fn op(reader: &Reader<'_>, at: usize, rank: u32, ranks: u32) -> Result<Op, Wrong> {
    let [code, cpu, nic] = [at + 4, at + 21, at + 22].map(|place| reader.bytes[place]);
    let (peer, size, tag) = (reader.u32(at + 5)?, reader.u64(at + 9)?, reader.u32(at + 17)?);
    let kind = match code {
        1 => Kind::Send,
        2 => Kind::Recv,
        3 => Kind::Calc,
        _ => return Err((at + 4, format!("kind {code} (allowed: 1 send, 2 receive, 3 computation)"))),
    };
    if kind == Kind::Calc {
        return match size <= MOST_UNITS {
            true => Ok(Op { kind, cpu, nic: 0, rank, peer: 0, tag: 0, size }),
            false => Err((at + 9, format!("a computation of {size} (allowed: 0 to {MOST_UNITS})"))),
        };
    }
    if peer >= ranks && !(kind == Kind::Recv && peer == ANY) {
        return Err((at + 5, format!("other rank {peer} (allowed: 0 to {})", ranks - 1)));
    }
    if size > MOST_BYTES {
        return Err((at + 9, format!("a message of {size} bytes (allowed: 0 to {MOST_BYTES})")));
    }
    if kind == Kind::Send && tag == ANY {
        return Err((at + 17, "a message with any tag: only receives take any".to_owned()));
    }
    Ok(Op { kind, cpu, nic, rank, peer, tag, size })
}

impl Schedule {
    /// Writes LogGOPSim's binary form.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_binary(&self, out: &mut impl Write) -> io::Result<()> {
        let most = |number: fn(&Op) -> u8| self.ops().iter().map(number).max().unwrap_or(0);
        out.write_all(&MAGIC.to_le_bytes())?;
        out.write_all(&self.ranks().to_le_bytes())?;
        out.write_all(&[most(|op| op.cpu), most(|op| op.nic)])?;
        let mut at = (HEADER - 8) as u64 + u64::from(self.ranks()) * 16;
        for rank in 0..self.ranks() {
            let block = self.of_rank(rank);
            let followers: usize = block.clone().map(|op| self.successors(op).count()).sum();
            let bytes = 8 + 4 * self.roots(rank).count() + RECORD * block.len() + 4 * followers;
            out.write_all(&at.to_le_bytes())?;
            at += bytes as u64;
            out.write_all(&at.to_le_bytes())?;
        }
        (0..self.ranks()).try_for_each(|rank| self.write_block(rank, out))
    }

    /// Operations of a rank that wait for nothing, by their numbers in it.
    fn roots(&self, rank: u32) -> impl Iterator<Item = u32> {
        let block = self.of_rank(rank);
        block.clone().filter(|&op| self.waits()[op as usize] == 0).map(move |op| op - block.start)
    }

    fn write_block(&self, rank: u32, out: &mut impl Write) -> io::Result<()> {
        let block = self.of_rank(rank);
        out.write_all(&(block.len() as u32).to_le_bytes())?;
        out.write_all(&(self.roots(rank).count() as u32).to_le_bytes())?;
        self.roots(rank).try_for_each(|root| out.write_all(&root.to_le_bytes()))?;
        let mut listed = 0u32;
        for id in block.clone() {
            let op = &self.ops()[id as usize];
            out.write_all(&self.waits()[id as usize].to_le_bytes())?;
            let code = match op.kind {
                Kind::Send => 1,
                Kind::Recv => 2,
                Kind::Calc => 3,
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
