//! What a run keeps of each operation: 4 bytes, and its state only from the first that it waited for to its last use.

use crate::form::{NONE, Schedule};

/// Marks the other operation of a message, and an operation that has a state.
const MARK: u32 = 1 << 31;
/// Marks a state that is used once more. The other bits of the word are its place.
const LAST: u32 = 1 << 30;
const PLACE: u32 = LAST - 1;
/// The word of an operation that nobody needs any longer.
const GONE: u32 = u32::MAX;

/// State of one operation, with what the run itself keeps.
#[derive(Clone, Copy, Debug)]
struct State<T> {
    own: T,
    /// Dependencies that it still waits for. Then the next operation in the line in which it stands: a message stands in
    /// one after its send has ended. Of a free place: the next one.
    link: u32,
    /// The other operation of its message, marked, once they are matched.
    mate: u32,
}

/// States of all operations of a run: a run needs those of few at a time.
#[derive(Clone, Debug)]
pub struct States<T> {
    /// By operation: dependencies that it waits for, while it has no state; else where that stands, marked.
    words: Vec<u32>,
    states: Vec<State<T>>,
    /// The first free place.
    free: u32,
}

impl<T: Copy + Default> States<T> {
    /// Of a schedule that has not begun.
    pub fn new(schedule: &Schedule) -> States<T> {
        let mut words = vec![0u32; schedule.ops().len()];
        schedule.each_waiting(|after| words[after as usize] += 1);
        let most = words.iter().copied().max().unwrap_or(0);
        assert!(most < MARK, "an operation with {most} dependencies: at most {}", MARK - 1);
        States { words, states: Vec::new(), free: NONE }
    }
    /// Whether an operation waits for nothing, from the beginning on.
    #[inline]
    pub fn is_ready(&self, id: u32) -> bool {
        self.words[id as usize] == 0
    }
    #[inline(always)]
    fn state(&mut self, id: u32) -> &mut State<T> {
        let word = self.words[id as usize];
        let place = if word & MARK != 0 { word & PLACE } else { self.begin(id) };
        &mut self.states[place as usize]
    }
    #[inline(never)]
    fn begin(&mut self, id: u32) -> u32 {
        let state = State { own: T::default(), link: self.words[id as usize], mate: 0 };
        let mut place = self.free;
        match self.states.get_mut(place as usize) {
            Some(free) => self.free = std::mem::replace(free, state).link,
            None => {
                place = self.states.len() as u32;
                assert!(place < PLACE, "more than {PLACE} operations under way");
                self.states.push(state);
            }
        }
        self.words[id as usize] = MARK | place;
        place
    }
    /// The run's own.
    #[inline]
    pub fn own(&mut self, id: u32) -> &mut T {
        &mut self.state(id).own
    }
    /// It waits for one dependency less; whether that was the last. The run's own is shown.
    #[inline]
    pub fn released(&mut self, id: u32, show: impl FnOnce(&mut T)) -> bool {
        let state = self.state(id);
        show(&mut state.own);
        state.link -= 1;
        state.link == 0
    }
    /// The same, where there is a state.
    pub fn get(&self, id: u32) -> Option<&T> {
        self.kept(id).map(|state| &state.own)
    }
    #[inline]
    fn kept(&self, id: u32) -> Option<&State<T>> {
        let word = self.words[id as usize];
        // No state has the place of what is gone.
        if word & MARK == 0 { None } else { self.states.get((word & PLACE) as usize) }
    }
    /// The other operation of its message, once matched.
    #[inline]
    pub fn partner(&self, id: u32) -> Option<u32> {
        let state = self.kept(id)?;
        (state.mate & MARK != 0).then_some(state.mate & !MARK)
    }
    #[inline]
    pub(crate) fn meet(&mut self, one: u32, other: u32) {
        self.state(one).mate = MARK | other;
        self.state(other).mate = MARK | one;
    }
    /// The operation has ended, and is used so often after this: at most twice.
    #[inline]
    pub fn ends(&mut self, id: u32, uses: u32) {
        match uses {
            0 => self.forget(id),
            1 => {
                self.state(id);
                self.words[id as usize] |= LAST;
            }
            _ => {
                self.state(id);
            }
        }
    }
    /// It was used; after the last time it has no state. The run's own as it was.
    #[inline]
    pub fn used(&mut self, id: u32) -> T {
        let own = *self.own(id);
        match self.words[id as usize] & LAST {
            0 => self.words[id as usize] |= LAST,
            _ => self.forget(id),
        }
        own
    }
    #[inline]
    fn forget(&mut self, id: u32) {
        let word = std::mem::replace(&mut self.words[id as usize], GONE);
        if word & MARK != 0 {
            self.states[(word & PLACE) as usize].link = std::mem::replace(&mut self.free, word & PLACE);
        }
    }
    /// Whether it was used for the last time.
    #[inline]
    pub fn is_gone(&self, id: u32) -> bool {
        self.words[id as usize] == GONE
    }
    #[inline]
    fn link(&mut self, id: u32) -> &mut u32 {
        &mut self.state(id).link
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
    pub fn join<T: Copy + Default>(&mut self, states: &mut States<T>, id: u32) {
        self.join_by(id, |of, next| *states.link(of) = next);
    }
    /// Removes the first in the line.
    #[inline]
    pub fn take<T: Copy + Default>(&mut self, states: &mut States<T>) -> Option<u32> {
        self.take_by(|id| *states.link(id))
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
    pub(crate) fn take_by(&mut self, link: impl FnOnce(u32) -> u32) -> Option<u32> {
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
    /// Whether `id` is marked.
    #[inline]
    pub fn has(&self, id: u32) -> bool {
        self.0[id as usize / 64] >> (id % 64) & 1 != 0
    }
}
