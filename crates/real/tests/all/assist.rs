//! Short copies that a process does for another (`hotlink_real::Assists`): every order of events of a model, and threads that
//! play processes.
#![allow(unsafe_code)]

use hotlink_real::{Assists, How, Latches, Neighbor};
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};

/// The phase of the slot.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Phase {
    Away,
    Open,
    Claimed,
    Posted,
}

/// The part of the protocol that is left out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Without {
    Nothing,
    /// The process of the slot looks again before it works.
    Check,
    /// Who withdraws looks whether its request was taken.
    Note,
    /// Who finds its request taken waits for the reply, or for the note that it was dropped.
    Doubt,
    /// Two claim a slot by compare-and-swap.
    Swap,
}

/// One who asks.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Asker {
    at: u8,
    /// Requests to come.
    left: u8,
    turn: u8,
    serial: u8,
    /// The number of the request that was done last.
    reply: u8,
    /// Its request was withdrawn while it was posted.
    withdrew: bool,
    /// Requests that were done by the process of the slot, and by the system's copy, as it believes.
    helped: u8,
    alone: u8,
}

/// The process of the slot.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Server {
    at: u8,
    turn: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct World {
    turn: u8,
    phase: Phase,
    asker: u8,
    serial: u8,
    taken: u8,
    /// The last turn taken was dropped.
    dropped: bool,
    /// Requests that were done.
    served: u8,
    server: Server,
    askers: [Asker; 2],
}

impl World {
    /// The next event of the process of the slot. Each is one access to a word that others change.
    fn serve(mut self, without: Without) -> Option<World> {
        let is_posted = self.phase == Phase::Posted;
        match self.server.at {
            0 if self.phase == Phase::Away => self.phase = Phase::Open,
            0 if is_posted => self.server = Server { at: 1, turn: self.turn },
            0 => return None,
            1 => (self.taken, self.dropped, self.server.at) = (self.server.turn, false, 2),
            2 if without == Without::Check || (is_posted && self.turn == self.server.turn) => self.server.at = 3,
            2 => (self.dropped, self.server.at) = (true, 0),
            3 => (self.served, self.server.at) = (self.served + 1, 4),
            4 => (self.askers[self.asker as usize].reply, self.server.at) = (self.serial, 5),
            _ => (self.turn, self.phase, self.server.at) = (self.server.turn, Phase::Open, 0),
        }
        Some(self)
    }
    /// The next events of one who asks: where it waits, its patience may be over at any time.
    fn ask(self, who: usize, without: Without) -> Vec<World> {
        let asker = self.askers[who];
        let goes = |change: &dyn Fn(&mut World, &mut Asker)| {
            let (mut next, mut asker) = (self, asker);
            change(&mut next, &mut asker);
            next.askers[who] = asker;
            next
        };
        let alone = |asker: &mut Asker| (asker.at, asker.left, asker.alone) = (0, asker.left - 1, asker.alone + 1);
        let helped = |asker: &mut Asker| (asker.at, asker.left, asker.helped) = (0, asker.left - 1, asker.helped + 1);
        let is_done = asker.reply == asker.serial;
        match asker.at {
            0 if asker.left == 0 => vec![],
            0 if self.phase == Phase::Open => vec![goes(&|_, asker| (asker.at, asker.turn) = (1, self.turn + 1))],
            0 => vec![goes(&|_, asker| alone(asker))],
            // The claim: another may have been quicker.
            1 if without == Without::Swap || (self.phase, self.turn + 1) == (Phase::Open, asker.turn) => {
                vec![goes(&|next, asker| {
                    (next.phase, next.turn) = (Phase::Claimed, asker.turn);
                    (asker.at, asker.serial, asker.withdrew) = (2, asker.reply + 1, false);
                })]
            }
            1 => vec![goes(&|_, asker| asker.at = 0)],
            2 => vec![goes(&|next, asker| (next.asker, next.serial, asker.at) = (who as u8, asker.serial, 3))],
            3 => vec![goes(&|next, asker| (next.phase, asker.at) = (Phase::Posted, 4))],
            // Patience is over, or it sees that the request is done.
            4 => {
                let withdraws = goes(&|next, asker| {
                    asker.at = 5;
                    if (next.phase, next.turn) == (Phase::Posted, asker.turn) {
                        (next.phase, asker.withdrew) = (Phase::Away, true);
                    }
                });
                let sees = is_done.then(|| goes(&|_, asker| helped(asker)));
                [withdraws].into_iter().chain(sees).collect()
            }
            5 if asker.withdrew && (without == Without::Note || self.taken != asker.turn || self.dropped) => {
                vec![goes(&|_, asker| asker.at = 6)]
            }
            5 if without == Without::Doubt => vec![goes(&|_, asker| asker.at = 6)],
            5 if is_done => vec![goes(&|_, asker| helped(asker))],
            6 => vec![goes(&|_, asker| if is_done { helped(asker) } else { alone(asker) })],
            // Not yet: it looks again.
            _ => vec![],
        }
    }
}

/// Whether in every order of events each request is done once, where it is believed to be, and none waits for ever.
fn holds(requests: [u8; 2], without: Without) -> bool {
    let asker = |left| Asker { at: 0, left, turn: 0, serial: 0, reply: 0, withdrew: false, helped: 0, alone: 0 };
    let first = World {
        turn: 0,
        phase: Phase::Away,
        asker: 0,
        serial: 0,
        taken: 0,
        dropped: false,
        served: 0,
        server: Server { at: 0, turn: 0 },
        askers: requests.map(asker),
    };
    let (mut seen, mut open, mut helped) = (HashSet::from([first]), vec![first], false);
    while let Some(world) = open.pop() {
        let asked: Vec<World> = (0..2).flat_map(|who| world.ask(who, without)).collect();
        let is_over = world.askers.iter().all(|asker| asker.left == 0);
        let served = world.serve(without);
        if asked.is_empty() && served.is_none_or(|_| is_over && world.server.at == 0) {
            let believed = world.askers.iter().map(|asker| asker.helped).sum::<u8>();
            if !is_over || believed != world.served {
                return false;
            }
            helped |= believed == requests[0] + requests[1];
        }
        open.extend(asked.into_iter().chain(served).filter(|next| seen.insert(*next)));
    }
    assert!(helped || without != Without::Nothing, "in some order all are helped");
    true
}

#[test]
fn each_request_is_done_once_in_every_order_of_events() {
    for requests in [[1, 0], [2, 0], [1, 1], [2, 1], [2, 2], [3, 2]] {
        assert!(holds(requests, Without::Nothing));
    }
}

#[test]
fn each_part_of_the_protocol_is_needed() {
    for without in [Without::Check, Without::Note, Without::Doubt, Without::Swap] {
        assert!(!holds([2, 2], without));
    }
}

const THREADS: usize = 4;
const ROW: usize = 600;

/// Memory that all see.
#[repr(align(64))]
struct Shared(#[allow(dead_code)] [u8; THREADS * (Assists::BYTES + Latches::BYTES) as usize]);

static COMBINED: AtomicU64 = AtomicU64::new(0);

fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap()))
}

/// Adds words.
fn combine(number: u32, now: &mut [u8], data: &[u8]) {
    assert_eq!(number, 7);
    COMBINED.fetch_add(1, Ordering::Relaxed);
    let sums: Vec<u64> = words(now).zip(words(data)).map(|(one, other)| one + other).collect();
    now.iter_mut().zip(sums.into_iter().flat_map(u64::to_ne_bytes)).for_each(|(byte, sum)| *byte = sum);
}

/// Each addition is done once, by whichever route, and what is read was there. Nobody waits for the one that is asked, then all
/// do for a moment, then until it is done.
#[test]
fn nothing_is_lost_or_done_twice_while_the_one_that_is_asked_comes_and_goes() {
    let card = Neighbor::card();
    if Neighbor::reaches(card).is_some() {
        [0, 1000, u64::MAX].into_iter().for_each(|limit_ns| comes_and_goes(card, limit_ns));
    }
}

/// Three threads add to numbers that belong to a fourth one, and put and get others. That one polls now and then.
fn comes_and_goes(card: [i64; 3], limit_ns: u64) {
    const ROUNDS: u64 = 600;
    let mut shared = Box::new(Shared([0; THREADS * (Assists::BYTES + Latches::BYTES) as usize]));
    let mut row = vec![0u64; ROW];
    let mut places = vec![[0u64; 64]; THREADS];
    let (start, row_at) = ((&raw mut *shared) as usize, row.as_mut_ptr() as usize);
    let places_at = places.as_mut_ptr() as usize;
    let asking = AtomicU64::new(THREADS as u64 - 1);
    // SAFETY: the memory is zero, and outlives all that use it.
    let assists =
        |own: usize| unsafe { Assists::at(start as *mut u8, (own as u32, THREADS as u32), limit_ns, combine) };
    let latch = |own: usize| {
        let at = start + THREADS * Assists::BYTES as usize;
        // SAFETY: as above.
        unsafe { Latches::at(at as *mut u8, own as u32, THREADS as u32, false) }.of(0)
    };
    let ask = |own: usize| {
        let other = Neighbor::of(card).helping(assists(own), 0);
        let (latch, mut before) = (latch(own), 0);
        for round in 0..ROUNDS {
            let count = [1, 10, ROW][(round % 3) as usize];
            let (ones, mut old) = (vec![1u64; count], vec![0u64; count]);
            let (from, into, bytes) = (ones.as_ptr(), old.as_mut_ptr(), 8 * count);
            latch.alone(|| {
                // SAFETY: the row is there, and only changed under the latch.
                unsafe {
                    if !other.combines(row_at as u64, bytes, How::Combine(7), from.cast(), into.cast()) {
                        assert!(other.moves(into as u64, row_at as u64, bytes as u64, false));
                        let new: Vec<u64> = old.iter().map(|word| word + 1).collect();
                        assert!(other.moves(new.as_ptr() as u64, row_at as u64, bytes as u64, true));
                    }
                }
            });
            assert!(old[0] > before || round == 0, "{} after {before}", old[0]);
            before = old[0];
            // This thread's own place in the other's memory.
            let (put, mut got) = ([round << 8 | own as u64; 64], [0u64; 64]);
            let (place, bytes) = ((places_at + own * 512) as u64, 8 << (round % 7));
            // SAFETY: as above; it is changed here alone.
            unsafe {
                assert!(other.moves(put.as_ptr() as u64, place, bytes, true));
                assert!(other.moves(got.as_mut_ptr() as u64, place, bytes, false));
            }
            let words = bytes as usize / 8;
            assert_eq!(got[..words], put[..words]);
        }
        asking.fetch_sub(1, Ordering::Relaxed);
    };
    let serve = || {
        let (own, mut served) = (assists(0), 0u64);
        while asking.load(Ordering::Relaxed) > 0 {
            // It polls for a while, then is away.
            (0..served % 997).for_each(|_| _ = own.serve());
            served += 1;
            if served.is_multiple_of(3) {
                std::thread::sleep(std::time::Duration::from_micros(20));
            }
        }
    };
    assert!(assists(0).serve(), "it opens its slot");
    COMBINED.store(0, Ordering::Relaxed);
    std::thread::scope(|scope| {
        scope.spawn(serve);
        (1..THREADS).for_each(|own| _ = scope.spawn(move || ask(own)));
    });
    let all = (THREADS as u64 - 1) * ROUNDS;
    assert_eq!((row[0], row[9], row[ROW - 1]), (all, all / 3 * 2, all / 3));
    if limit_ns == u64::MAX {
        assert_eq!(COMBINED.load(Ordering::Relaxed), all, "all were helped");
    }
}
