//! The cases: every program of some sends and receives in every world, numbered. The order mixes them, so that the
//! first thousand are a fair sample of all.

use super::case::{Case, Size, Step};
use super::port::{Door, Faults, Shape};
use crate::Mode;
use hotlink_port::Rank;

/// Ways to send.
const SENDS: [(Size, Mode, bool); 14] = [
    (Size::Empty, Mode::Standard, false),
    (Size::Short, Mode::Standard, false),
    (Size::Short, Mode::Standard, true),
    (Size::Short, Mode::Restricted, false),
    (Size::Short, Mode::Postal, false),
    (Size::Edge, Mode::Standard, false),
    (Size::Long, Mode::Standard, false),
    (Size::Long, Mode::Standard, true),
    (Size::Long, Mode::Restricted, false),
    (Size::Long, Mode::Postal, false),
    (Size::Huge, Mode::Standard, true),
    (Size::Huge, Mode::Restricted, true),
    (Size::Huge, Mode::Standard, false),
    (Size::Empty, Mode::Restricted, false),
];
/// Ways to receive: from any rank, any tag, room, whether the program waits, and whether it probes before.
const RECEIVES: [(bool, bool, Size, bool, bool); 14] = [
    (false, false, Size::Huge, false, false),
    (false, false, Size::Huge, true, false),
    (false, false, Size::Huge, false, true),
    (false, true, Size::Huge, false, false),
    (false, true, Size::Huge, true, true),
    (true, false, Size::Huge, false, false),
    (true, true, Size::Huge, false, false),
    (true, true, Size::Huge, true, false),
    (true, false, Size::Huge, true, true),
    (true, true, Size::Huge, false, true),
    (false, false, Size::Long, false, false),
    (false, false, Size::Long, true, false),
    (false, false, Size::Short, false, false),
    (false, false, Size::Empty, false, false),
];
/// Sender and receiver of each message: two ranks one way and both ways, three ranks to one, a ring, and one rank to
/// itself.
const FLOWS: [&[(Rank, Rank)]; 10] = [
    &[(0, 1)],
    &[(0, 1), (0, 1)],
    &[(0, 1), (1, 0)],
    &[(0, 1), (0, 1), (0, 1)],
    &[(0, 1), (0, 1), (1, 0)],
    &[(0, 2), (1, 2)],
    &[(0, 2), (1, 2), (0, 2)],
    &[(0, 1), (1, 2), (2, 0)],
    &[(0, 1), (0, 2), (1, 2)],
    &[(0, 0), (0, 1)],
];
const DOORS: [Door; 5] = [Door::Both, Door::Pio, Door::Deposit, Door::Fetch, Door::Messages];
/// Room between two ranks, transfers under way, entries.
const SHAPES: [(usize, usize, usize); 5] = [(99, 99, 99), (1, 99, 99), (2, 1, 99), (99, 99, 1), (1, 1, 2)];
const FAULTS: [Faults; 7] = [
    Faults { busy: 0, refuse: 0, fail: 0, die: 0 },
    Faults { busy: 1, refuse: 0, fail: 0, die: 0 },
    Faults { busy: 0, refuse: 1, fail: 0, die: 0 },
    Faults { busy: 0, refuse: 0, fail: 1, die: 0 },
    Faults { busy: 0, refuse: 0, fail: 0, die: 1 },
    Faults { busy: 1, refuse: 1, fail: 1, die: 0 },
    Faults { busy: 1, refuse: 0, fail: 0, die: 1 },
];
/// Ways in which a program is put together: when what was started is waited for, and what lies between.
const ORDERS: u64 = 4;

/// Digits of a number whose every digit has its own base.
struct Digits(u64);

impl Digits {
    fn next(&mut self, base: usize) -> usize {
        let digit = self.0 % base as u64;
        self.0 /= base as u64;
        digit as usize
    }
}

/// All cases of some flows.
pub struct Cases;

impl Cases {
    /// How many there are with at most `messages` messages each, before those are left out that are others with ranks or
    /// tags renamed.
    pub fn count(messages: usize) -> u64 {
        FLOWS.iter().filter(|flow| flow.len() <= messages).map(|flow| Cases::of_flow(flow)).sum()
    }
    fn worlds() -> u64 {
        (DOORS.len() * SHAPES.len() * FAULTS.len() * 2 * 2 * 2 * 2 * 2) as u64 * ORDERS
    }
    fn of_flow(flow: &[(Rank, Rank)]) -> u64 {
        let each = (SENDS.len() * 2 * RECEIVES.len() * 2) as u64;
        Cases::worlds() * each.pow(flow.len() as u32)
    }
    /// The n-th case of `count(messages)`, in an order that mixes them; `None`: it is another one, renamed.
    pub fn get(messages: usize, number: u64) -> Option<Case> {
        let count = Cases::count(messages);
        // A step that shares no factor with the count visits each once.
        let step = (1..).map(|k| (count as u128 * 618 / 1000) as u64 + k).find(|&step| coprime(step, count))?;
        let mut index = (u128::from(number) * u128::from(step) % u128::from(count)) as u64;
        for flow in FLOWS.iter().filter(|flow| flow.len() <= messages) {
            let size = Cases::of_flow(flow);
            if index < size {
                return build(flow, Digits(index));
            }
            index -= size;
        }
        None
    }
}

fn coprime(mut a: u64, mut b: u64) -> bool {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a == 1
}

fn build(flow: &[(Rank, Rank)], mut digits: Digits) -> Option<Case> {
    let (room, slots, entries) = SHAPES[digits.next(SHAPES.len())];
    let faults = FAULTS[digits.next(FAULTS.len())];
    let door = DOORS[digits.next(DOORS.len())];
    let mut is = || digits.next(2) == 1;
    let (private, strided, frees, turns, leaves) = (is(), is(), is(), is(), is());
    let order = digits.next(ORDERS as usize);
    let ranks = flow.iter().flat_map(|&(from, to)| [from, to]).max()? as usize + 1;
    let mut programs: Vec<Vec<Step>> = vec![Vec::new(); ranks];
    // Renaming the tags changes nothing: the first message has tag 0.
    let mut tags_renamed = false;
    for (number, &(from, to)) in flow.iter().enumerate() {
        let (size, mode, waits) = SENDS[digits.next(SENDS.len())];
        let tag = digits.next(2) as u32;
        tags_renamed |= number == 0 && tag == 1;
        let (anybody, any_tag, room, here, probes) = RECEIVES[digits.next(RECEIVES.len())];
        let (source, wanted) = ((!anybody).then_some(from), digits.next(2) as u32);
        let its = (!any_tag).then_some(wanted);
        programs[from as usize].push(Step::Send { to, tag, size, mode, waits });
        // A pattern that takes any tag is the same with the other one.
        tags_renamed |= any_tag && wanted == 1;
        if probes {
            programs[to as usize].push(Step::Probe { from: source, tag: its });
        }
        programs[to as usize].push(Step::Recv { from: source, tag: its, size: room, waits: here });
    }
    if tags_renamed {
        return None;
    }
    programs.iter_mut().for_each(|program| arrange(program, order));
    let shape = Shape { door, room, slots, entries };
    Some(Case { programs, shape, private, strided, frees, turns, leaves, faults })
}

/// Puts the waits into a program. They come at the end, in order or reversed, or after a wait that is given up, or each
/// before the next step.
fn arrange(program: &mut Vec<Step>, order: usize) {
    let begun =
        |program: &[Step]| program.iter().filter(|step| matches!(step, Step::Send { .. } | Step::Recv { .. })).count();
    let all = begun(program);
    match order {
        0 => program.extend((0..all).map(Step::Wait)),
        1 => program.extend((0..all).rev().map(Step::Wait)),
        2 => {
            let middle = program.len().div_ceil(2);
            program.insert(middle, Step::Turn);
            program.extend((0..all).map(Step::Wait));
        }
        _ => {
            let last = program.pop();
            let before = begun(program);
            program.extend((0..before).map(Step::Wait));
            program.extend(last);
            program.extend((before..all).map(Step::Wait));
        }
    }
}
