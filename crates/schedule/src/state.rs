//! What any run keeps of each operation: 8 bytes, followed by the run's own, so that an event finds all in one place.

use crate::form::NONE;

/// Marks the other operation of a message.
const MATCHED: u32 = 1 << 31;

/// State of one operation, with what the run itself keeps.
#[derive(Clone, Copy, Debug)]
pub struct State<T> {
    /// The run's own.
    pub own: T,
    /// Dependencies that it still waits for. After them, the next operation in the line in which it stands.
    link: u32,
    /// The number of its pattern, until it is matched; then the other operation of its message, marked.
    mate: u32,
}

/// State of an operation that waits for nothing.
impl<T: Default> Default for State<T> {
    fn default() -> State<T> {
        State { own: T::default(), link: 0, mate: 0 }
    }
}

impl<T> State<T> {
    /// The operation is of this pattern.
    pub(crate) fn is_of(&mut self, pattern: u32) {
        self.mate = pattern;
    }
    /// Keeps a word for somebody, who takes it before dependencies are counted.
    pub(crate) fn lend(&mut self, word: u32) {
        self.link = word;
    }
    /// The word.
    pub(crate) fn lent(&mut self) -> u32 {
        std::mem::take(&mut self.link)
    }
    /// It waits for one dependency more.
    pub(crate) fn held(&mut self) {
        self.link += 1;
    }
    /// Whether an operation that was not yet released waits for nothing.
    #[inline]
    pub fn is_ready(&self) -> bool {
        self.link == 0
    }
    /// It waits for one dependency less; whether that was the last.
    #[inline]
    pub fn released(&mut self) -> bool {
        self.link -= 1;
        self.link == 0
    }
    /// The other operation of its message, once matched.
    #[inline]
    pub fn partner(&self) -> Option<u32> {
        (self.mate & MATCHED != 0).then_some(self.mate & !MATCHED)
    }
    /// The number of its pattern, of what is not matched.
    #[inline]
    pub(crate) fn pattern(&self) -> u32 {
        self.mate
    }
    #[inline]
    pub(crate) fn meet(&mut self, other: u32) {
        self.mate = MATCHED | other;
    }
}

/// Operations in a row, threaded through their states: each stands in one line at a time, and waits for nothing else.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    first: u32,
    last: u32,
}

impl Line {
    /// Nobody.
    pub const EMPTY: Line = Line { first: NONE, last: NONE };

    /// Whether nobody stands here.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first == NONE
    }
    /// The first in the line.
    #[inline]
    pub fn first(&self) -> Option<u32> {
        (!self.is_empty()).then_some(self.first)
    }
    /// `id` is last now.
    #[inline]
    pub fn join<T>(&mut self, states: &mut [State<T>], id: u32) {
        self.join_by(id, |of, next| states[of as usize].link = next);
    }
    /// Removes the first in the line.
    #[inline]
    pub fn take<T>(&mut self, states: &[State<T>]) -> Option<u32> {
        self.take_by(|id| states[id as usize].link)
    }
    /// The same, threaded otherwise.
    #[inline]
    pub(crate) fn join_by(&mut self, id: u32, mut link: impl FnMut(u32, u32)) {
        link(id, NONE);
        match self.last {
            NONE => self.first = id,
            last => link(last, id),
        }
        self.last = id;
    }
    #[inline]
    pub(crate) fn take_by(&mut self, link: impl Fn(u32) -> u32) -> Option<u32> {
        let first = self.first()?;
        self.first = link(first);
        if self.first == NONE {
            self.last = NONE;
        }
        Some(first)
    }
}

/// A mark for each operation, of none at first.
#[derive(Clone, Debug, Default)]
pub struct Marks(Vec<u64>);

impl Marks {
    /// For so many operations.
    pub fn new(many: usize) -> Marks {
        Marks(vec![0; many.div_ceil(64)])
    }
    /// Marks `id`.
    #[inline]
    pub fn set(&mut self, id: u32) {
        self.0[id as usize / 64] |= 1 << (id % 64);
    }
    /// Unmarks `id`.
    #[inline]
    pub(crate) fn clear(&mut self, id: u32) {
        self.0[id as usize / 64] &= !(1 << (id % 64));
    }
    /// Whether `id` is marked.
    #[inline]
    pub fn has(&self, id: u32) -> bool {
        self.0[id as usize / 64] >> (id % 64) & 1 != 0
    }
}
