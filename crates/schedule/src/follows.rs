//! What waits for an operation, as it is kept: most have one successor, near them, which takes a byte.

/// Marks a successor that waits for the start only.
pub(crate) const START: u32 = 1 << 31;

/// What waits for an operation, while the schedule is in the making.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Follows(u32);

/// Its kind, in the top two bits. One operation waits for the end, the start, or both, at the distance in the other
/// bits; or these are the number of a list.
const END: u32 = 0;
const BEGIN: u32 = 1;
const BOTH: u32 = 2;
const LIST: u32 = 3;

impl Follows {
    pub const NOBODY: Follows = Follows(u32::MAX);
    /// Lists: the number of no list is that of nobody.
    const MOST_LISTS: u32 = (1 << 30) - 1;

    #[inline]
    fn kind(self) -> u32 {
        self.0 >> 30
    }
    pub fn list(number: u32) -> Follows {
        assert!(number < Follows::MOST_LISTS, "more than {} operations for which several wait", Follows::MOST_LISTS);
        Follows(LIST << 30 | number)
    }
    #[inline]
    pub fn number(self) -> Option<usize> {
        (self.kind() == LIST && self != Follows::NOBODY).then_some((self.0 & Follows::MOST_LISTS) as usize)
    }
    /// `after` alone waits for `before`, if they are near enough.
    #[inline]
    fn one(before: u32, after: u32, kind: u32) -> Option<Follows> {
        let follows = Follows(kind << 30 | after.wrapping_sub(before) & Follows::MOST_LISTS);
        (follows.after(before) == after).then_some(follows)
    }
    /// With one more that waits, for the end of `before` or its start, if that needs no list.
    #[inline]
    pub fn with(self, before: u32, after: u32, start_only: bool) -> Option<Follows> {
        let kind = match self.kind() {
            LIST if self == Follows::NOBODY => Some(if start_only { BEGIN } else { END }),
            END if start_only && self.after(before) == after => Some(BOTH),
            _ => None,
        };
        kind.and_then(|kind| Follows::one(before, after, kind))
    }
    /// The one that waits for `before`.
    #[inline]
    fn after(self, before: u32) -> u32 {
        before.wrapping_add_signed((self.0 << 2).cast_signed() >> 2)
    }
    /// Those of `before`, with the mark, that stand in no list: of this many the first.
    #[inline]
    pub fn alone(self, before: u32) -> ([u32; 2], usize) {
        let after = self.after(before);
        match self.kind() {
            END => ([after, 0], 1),
            BEGIN => ([after | START, 0], 1),
            BOTH => ([after, after | START], 2),
            _ => ([0, 0], 0),
        }
    }
    /// In a byte, if it is near enough: the kind, then the distance.
    fn near(self) -> u8 {
        let byte = (self.kind() << 6) as u8 | self.0 as u8 & 0x3f;
        if self == Follows::NOBODY {
            return NOBODY;
        }
        if self.kind() != LIST && Follows::of_byte(byte) == self { byte } else { FAR }
    }
    #[inline]
    fn of_byte(byte: u8) -> Follows {
        let distance = (u32::from(byte) << 26).cast_signed() >> 26;
        Follows(u32::from(byte >> 6) << 30 | distance.cast_unsigned() & Follows::MOST_LISTS)
    }
}

/// Bytes of the kind of a list.
const NOBODY: u8 = u8::MAX;
const FAR: u8 = 0xfe;
/// So many operations share the place of the first of them that is far.
const GROUP: usize = 64;

/// What waits for each operation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Successors {
    /// By operation.
    near: Vec<u8>,
    /// Those of operations that are far, and by group where they begin.
    far: Vec<Follows>,
    groups: Vec<u32>,
    /// List n is `listed[lists[n]..lists[n + 1]]`.
    lists: Vec<u32>,
    listed: Vec<u32>,
    /// Whether anything waits for a start.
    pub starts: bool,
}

impl Successors {
    /// By operation; and what lists hold, in the order given: what is waited for, and who waits, with the mark.
    pub fn of(mut follows: Vec<Follows>, edges: &[(u32, u32)]) -> Successors {
        let mut lists = vec![0u32];
        if !edges.is_empty() {
            for follows in follows.iter_mut().filter(|follows| follows.number().is_some()) {
                *follows = Follows::list(lists.len() as u32 - 1);
                lists.push(0);
            }
        }
        let list = |before: u32| follows[before as usize].number().expect("has a list");
        edges.iter().for_each(|&(before, _)| lists[list(before)] += 1);
        let mut sum = 0;
        for end in &mut lists {
            sum += *end;
            *end = sum;
        }
        // Filled from behind: each list's end becomes its beginning, its entries in the order given.
        let mut listed = vec![0u32; edges.len()];
        for &(before, after) in edges.iter().rev() {
            let at = &mut lists[list(before)];
            *at -= 1;
            listed[*at as usize] = after;
        }
        let near: Vec<u8> = follows.iter().map(|follows| follows.near()).collect();
        let (mut far, mut groups) = (Vec::new(), Vec::new());
        for (follows, near) in follows.chunks(GROUP).zip(near.chunks(GROUP)) {
            groups.push(far.len() as u32);
            far.extend(follows.iter().zip(near).filter(|&(_, &near)| near == FAR).map(|(&follows, _)| follows));
        }
        let starts = follows.iter().any(|follows| matches!(follows.kind(), BEGIN | BOTH))
            || listed.iter().any(|word| word & START != 0);
        Successors { near, far, groups, lists, listed, starts }
    }

    #[inline]
    fn follows(&self, op: u32) -> Follows {
        match self.near[op as usize] {
            NOBODY => Follows::NOBODY,
            FAR => self.far(op as usize),
            byte => Follows::of_byte(byte),
        }
    }
    fn far(&self, op: usize) -> Follows {
        let group = op / GROUP;
        let before = self.near[group * GROUP..op].iter().filter(|&&near| near == FAR).count();
        self.far[self.groups[group] as usize + before]
    }
    #[inline]
    fn list(&self, follows: Follows) -> &[u32] {
        match follows.number() {
            Some(list) => &self.listed[self.lists[list] as usize..self.lists[list + 1] as usize],
            None => &[],
        }
    }
    /// Whether anything waits for `op`.
    #[inline]
    pub fn has(&self, op: u32) -> bool {
        self.near[op as usize] != NOBODY
    }
    /// How many wait in all.
    pub fn many(&self) -> usize {
        let mut many = 0;
        self.each(|_| many += 1);
        many
    }
    /// Shows each that waits, once for each dependency.
    pub fn each(&self, mut show: impl FnMut(u32)) {
        for (before, &near) in (0..).zip(&self.near) {
            if near == NOBODY {
                continue;
            }
            let follows = if near == FAR { self.far(before as usize) } else { Follows::of_byte(near) };
            let (after, kind) = (follows.after(before), follows.kind());
            if kind != LIST {
                show(after);
            }
            if kind == BOTH {
                show(after);
            }
        }
        self.listed.iter().for_each(|&word| show(word & !START));
    }
    /// Those that wait for `op`, and whether they wait for its start only.
    #[inline]
    pub fn iter(&self, op: u32) -> impl Iterator<Item = (u32, bool)> {
        let follows = self.follows(op);
        let (alone, many) = follows.alone(op);
        let words = alone.into_iter().take(many).chain(self.list(follows).iter().copied());
        words.map(|word| (word & !START, word & START != 0))
    }
    /// Shows those that wait for the end of `op`, or for its start only.
    #[inline]
    pub fn each_of(&self, op: u32, start_only: bool, mut show: impl FnMut(u32)) {
        let follows = self.follows(op);
        match follows.kind() {
            LIST => {
                let words = self.list(follows).iter().filter(|&&word| (word & START != 0) == start_only);
                words.for_each(|word| show(word & !START));
            }
            kind if kind == BOTH || (kind == BEGIN) == start_only => show(follows.after(op)),
            _ => {}
        }
    }
    /// Whether the next operation waits for `op`.
    #[inline]
    pub fn has_next(&self, op: u32) -> bool {
        let is_one = |byte: u8| byte >> 6 != LIST as u8 && byte & 0x3f == 1;
        is_one(self.near[op as usize]) || self.iter(op).any(|(after, _)| after == op + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn successors_survive_their_packing() {
        const MOST: u32 = (1 << 31) - 2;
        let near = 1u32 << 29;
        for (before, after) in [(0, near - 1), (near, 0), (7, 7), (5, 6), (6, 5), (MOST, MOST + 1 - near)] {
            for kind in [END, BEGIN, BOTH] {
                assert_eq!(Follows::one(before, after, kind).map(|follows| follows.after(before)), Some(after));
            }
        }
        assert_eq!([Follows::one(0, near, END), Follows::one(near + 1, 0, END)], [None, None]);
        assert_eq!((Follows::NOBODY.number(), Follows::list(7).number()), (None, Some(7)));
        let one = |distance: i32, kind| Follows::one(100, 100u32.wrapping_add_signed(distance), kind).unwrap();
        for kind in [END, BEGIN, BOTH] {
            let is_near = |distance: i32| one(distance, kind).near() != FAR;
            assert_eq!((-100..100).filter(|&distance| is_near(distance)).count(), 64);
            assert!((-32..32).all(|distance| Follows::of_byte(one(distance, kind).near()) == one(distance, kind)));
        }
        assert_eq!([Follows::NOBODY.near(), Follows::list(7).near()], [NOBODY, FAR]);
    }

    #[test]
    fn what_is_far_is_found_among_what_is_near() {
        let follows = |op: u32| match op % 7 {
            0 => Follows::one(op, op + 1000 + op % 5, BEGIN).unwrap(),
            1 => Follows::NOBODY,
            _ => Follows::one(op, op + 1, END).unwrap(),
        };
        let all: Vec<Follows> = (0..500).map(follows).collect();
        let successors = Successors::of(all.clone(), &[]);
        assert!((0..500).all(|op| successors.follows(op) == all[op as usize]));
        assert!((0..500).all(|op| successors.has_next(op) == (op % 7 > 1)));
        assert_eq!(successors.many(), all.iter().filter(|&&follows| follows != Follows::NOBODY).count());
    }
}
