//! The times of collectives. Each rank reports when it enters one and when it leaves. A call of all ranks of a
//! communicator lasts from the first entry to the last exit.

use crate::talk::{self, Reader};
use hotlink_fabric::units::Time;
use hotlink_port::Rank;
use std::collections::BTreeMap;

/// A collective that a rank enters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The function's name.
    pub name: String,
    /// The communicator's number, which groups without a common rank may share.
    pub comm: u32,
    /// Its first rank, as the port numbers them.
    pub first: Rank,
    /// Calls with the same number here are made in the same order by all its ranks.
    pub line: u32,
    /// This rank's place in it, and how many there are.
    pub place: u32,
    /// See above.
    pub ranks: u32,
    /// The place of its root.
    pub root: Option<u32>,
    /// Bytes that all ranks give alike.
    pub bytes: Option<u64>,
    /// Where ranks give several lengths: bytes that this one sends to others or receives from them, whichever is more.
    pub moved: Option<u64>,
}

/// Calls of a collective that are alike, once all ranks have left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Called {
    /// The function's name.
    pub name: String,
    /// The ranks of the communicator, as the port numbers them.
    pub ranks: Vec<Rank>,
    /// The place of the root among them.
    pub root: Option<u32>,
    /// Bytes that all ranks gave alike.
    pub bytes: Option<u64>,
    /// The fabric has a network of its own for it, and ranks used that.
    pub by_hardware: bool,
    /// How many, and their sums.
    pub sums: Sums,
}

/// Sums over calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// How many.
    pub calls: u64,
    /// From the first rank that entered to the last that left.
    pub whole: Time,
    /// The part of it until the last rank entered.
    pub spread: Time,
    /// What all ranks spent, each from its entry on.
    pub inside: Time,
    /// Where lengths differ: bytes of the rank with the most.
    pub moved: Option<u64>,
}

/// A communicator.
type Group = (u32, Rank);

/// Calls that count as alike.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    name: String,
    group: Group,
    root: Option<u32>,
    bytes: Option<u64>,
    by_hardware: bool,
}

/// A call that ranks are in.
struct Open {
    kind: Kind,
    moved: Option<u64>,
    left: u32,
    /// Entries of the first and the last rank, and when the last was through.
    first: Time,
    last: Time,
    out: Time,
    inside: Time,
}

/// Which call a rank is in: its place among those of a line of its communicator.
type Place = (Group, u32, u64);

/// The calls of all ranks so far.
#[derive(Default)]
pub(crate) struct Calls {
    groups: BTreeMap<Group, Vec<Rank>>,
    counts: BTreeMap<(Rank, Group, u32), u64>,
    /// What each rank is in, by the name that it gave it, and since when.
    under_way: BTreeMap<(Rank, u64), (Place, Time)>,
    open: BTreeMap<Place, Open>,
    over: BTreeMap<Kind, Sums>,
}

/// No number.
const NONE: u64 = u64::MAX;

impl Entry {
    pub(crate) fn put(&self, token: u64, words: &mut Vec<u64>) {
        let numbers = [self.comm, self.first, self.line, self.place, self.ranks].map(u64::from);
        words.push(token);
        words.extend(numbers);
        words.extend([self.root.map(u64::from), self.bytes, self.moved].map(|some| some.unwrap_or(NONE)));
        talk::put_bytes(words, self.name.as_bytes());
    }
    /// The token and the entry.
    pub(crate) fn read(reader: &mut Reader<'_>) -> (u64, Entry) {
        let token = reader.word();
        let [comm, first, line, place, ranks] = std::array::from_fn(|_| reader.narrow());
        let [root, bytes, moved] = std::array::from_fn(|_| Some(reader.word()).filter(|&word| word != NONE));
        let name = String::from_utf8_lossy(&reader.bytes()).into_owned();
        (token, Entry { name, comm, first, line, place, ranks, root: root.map(|root| root as u32), bytes, moved })
    }
}

impl Calls {
    /// `rank` enters a collective that it names so.
    pub(crate) fn enters(&mut self, rank: Rank, (token, entry): (u64, Entry), now: Time) {
        let Entry { name, comm, first, line, place, ranks, root, bytes, moved } = entry;
        let group = (comm, first);
        let members = self.groups.entry(group).or_insert_with(|| vec![Rank::MAX; ranks as usize]);
        if let Some(member) = members.get_mut(place as usize) {
            *member = rank;
        }
        let count = self.counts.entry((rank, group, line)).or_default();
        let place = (group, line, *count);
        *count += 1;
        self.under_way.insert((rank, token), (place, now));
        let open = self.open.entry(place).or_insert_with(|| {
            let kind = Kind { name, group, root, bytes, by_hardware: false };
            Open { kind, moved, left: 0, first: now, last: now, out: now, inside: Time::ZERO }
        });
        // Entries come in the order of the simulation, not of the ranks' clocks.
        (open.first, open.last) = (open.first.min(now), open.last.max(now));
        open.moved = open.moved.max(moved);
        // What ranks do not give alike is not known.
        if open.kind.bytes != bytes {
            open.kind.bytes = None;
        }
    }
    /// What `rank` is in goes through a network of the fabric's own.
    pub(crate) fn uses_hardware(&mut self, rank: Rank) {
        let latest = self.under_way.range((rank, 0)..=(rank, u64::MAX)).next_back();
        if let Some((_, (place, _))) = latest
            && let Some(open) = self.open.get_mut(place)
        {
            open.kind.by_hardware = true;
        }
    }
    /// `rank` is through.
    pub(crate) fn leaves(&mut self, rank: Rank, token: u64, now: Time) {
        let Some((place, since)) = self.under_way.remove(&(rank, token)) else { return };
        let Some(open) = self.open.get_mut(&place) else { return };
        open.left += 1;
        open.inside += now - since;
        open.out = open.out.max(now);
        let all = self.groups.get(&place.0).map_or(0, Vec::len);
        if open.left as usize == all
            && let Some(open) = self.open.remove(&place)
        {
            let sums = self.over.entry(open.kind).or_default();
            sums.calls += 1;
            sums.whole += open.out.max(open.last) - open.first;
            sums.spread += open.last - open.first;
            sums.inside += open.inside;
            sums.moved = match (sums.moved, open.moved) {
                (None, moved) if sums.calls == 1 => moved,
                (Some(sum), Some(moved)) => Some(sum + moved),
                _ => None,
            };
        }
    }
    /// All that are over.
    pub(crate) fn called(&self) -> Vec<Called> {
        let one = |(kind, sums): (&Kind, &Sums)| Called {
            name: kind.name.clone(),
            ranks: self.groups.get(&kind.group).cloned().unwrap_or_default(),
            root: kind.root,
            bytes: kind.bytes,
            by_hardware: kind.by_hardware,
            sums: *sums,
        };
        self.over.iter().map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, comm: u32, first: Rank, place: u32, ranks: u32, bytes: Option<u64>) -> Entry {
        Entry { name: name.to_owned(), comm, first, line: 0, place, ranks, root: None, bytes, moved: None }
    }

    #[test]
    fn an_entry_is_read_as_it_was_put() {
        let entry = Entry { root: Some(3), moved: Some(9), line: 7, ..entry("MPI_Iallreduce", 4, 2, 1, 5, None) };
        let mut words = Vec::new();
        entry.put(8, &mut words);
        assert_eq!(Entry::read(&mut Reader::new(&words)), (8, entry));
    }

    #[test]
    fn a_call_lasts_from_the_first_entry_to_the_last_leave() {
        let mut calls = Calls::default();
        let sum = |place| entry("MPI_Allreduce", 0, 0, place, 2, Some(8));
        // Rank 1 enters later by its clock, but the simulation hears of it first.
        calls.enters(1, (0, sum(1)), Time(30));
        calls.enters(0, (0, sum(0)), Time(10));
        calls.leaves(0, 0, Time(70));
        assert!(calls.called().is_empty(), "rank 1 is in it");
        // Rank 0 is in the next call before rank 1 has left the first.
        calls.enters(0, (1, sum(0)), Time(100));
        calls.leaves(1, 0, Time(60));
        calls.uses_hardware(0);
        calls.enters(1, (1, sum(1)), Time(100));
        calls.leaves(0, 1, Time(101));
        calls.leaves(1, 1, Time(104));
        let called = calls.called();
        let sums = Sums { calls: 1, whole: Time(60), spread: Time(20), inside: Time(90), moved: None };
        assert_eq!((called.len(), called[0].by_hardware, called[0].sums), (2, false, sums));
        assert_eq!(
            (called[1].by_hardware, called[1].sums.whole, called[1].ranks.as_slice()),
            (true, Time(4), &[0, 1][..])
        );
    }

    /// Halves of a communicator have one number, and different lengths have none.
    #[test]
    fn groups_are_told_apart_and_unlike_lengths_are_unknown() {
        let mut calls = Calls::default();
        for (rank, first, bytes) in [(0, 0, 8), (1, 0, 16), (2, 2, 8), (3, 2, 8)] {
            let half = entry("MPI_Bcast", 6, first, rank - first, 2, Some(bytes));
            calls.enters(rank, (5, half), Time(0));
        }
        (0..4).for_each(|rank| calls.leaves(rank, 5, Time(9)));
        let told: Vec<_> = calls.called().into_iter().map(|called| (called.ranks, called.bytes)).collect();
        assert_eq!(told, [(vec![0, 1], None), (vec![2, 3], Some(8))]);
    }
}
