//! What ranks wait for, reported when a wait has taken long, and the proof that no rank can go on.
//!
//! Each rank has a line. A wait becomes long after the first naps of its rank's idling. The rank then gives it a
//! number, notes what it waits for, and counts each of its polls in vain (*beats*). An event ends the wait without a
//! note: the next long wait has another number. A wait thus costs nothing before it is long, and nothing when it ends.
//!
//! No rank can go on if three things hold. All ranks that are not over wait, and no number changes. After both were
//! seen, every rank has polled several times more in vain: all earlier messages would have arrived by then. A rank that
//! computes does not beat.
#![allow(unsafe_code)]

use crate::name;
use crate::sys::SharedMemory;
use hotlink_port::{Call, Rank};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize};
use std::time::{Duration, Instant};

/// Polls in vain of every rank, after all were seen to wait, that show that nothing is under way.
const BEATS: u64 = 8;
/// They take at least a quarter of the time allowed, within these: a network may be slow.
const CONFIRM: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));
/// Ranks that a report names one by one.
const TOLD: usize = 16;

#[repr(C, align(128))]
struct Line {
    /// The number of the wait; 0: none was long yet.
    number: AtomicU64,
    beats: AtomicU64,
    /// A [`Call`], by number, plus one; 0: none.
    call: AtomicU32,
    /// With which rank and tag, and one more; 0: any.
    peer: AtomicU32,
    tag: AtomicU64,
    /// The library's function that the rank is in: bytes, filled up with zeros.
    within: [AtomicU64; NAME],
    /// Whether a process of the job has opened the lines; of the first rank's line alone.
    opened: AtomicBool,
}

/// Words of a function's name in a report.
const NAME: usize = 5;
/// The function that this process is in: where its name begins, and its length.
static WITHIN: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

/// This process enters a function of its library, whose name a report of a long wait gives.
#[inline(always)]
pub fn waits_in(name: &'static str) {
    WITHIN[0].store(name.as_ptr() as usize, Relaxed);
    WITHIN[1].store(name.len(), Relaxed);
}

/// The function that this process is in.
#[inline(always)]
pub fn function() -> &'static str {
    match WITHIN[0].load(Relaxed) {
        0 => "",
        // SAFETY: `waits_in` has put both there, for a name that lives for ever. One thread of the process at a time is
        // in the library: the others are quiet.
        start => unsafe {
            let bytes = std::slice::from_raw_parts(start as *const u8, WITHIN[1].load(Relaxed));
            std::str::from_utf8_unchecked(bytes)
        },
    }
}

/// Does something that is not reported: a thread that polls in vain and goes on does not wait.
pub fn quietly<T>(work: impl FnOnce() -> T) -> T {
    let before = QUIET.load(Relaxed);
    QUIET.store(true, Relaxed);
    let result = work();
    QUIET.store(before, Relaxed);
    result
}

/// The lines of a job's ranks, made before they are forked.
pub struct Waits {
    lines: SharedMemory,
    ranks: u32,
}

// SAFETY: nothing is shared but atomics, in memory that lives as long as this.
unsafe impl Send for Waits {}
// SAFETY: as above.
unsafe impl Sync for Waits {}

/// What a rank reports of its wait where it shares no memory with the watcher.
pub type Words = [u64; 5 + NAME];

/// Names the memory of the lines that a job's launcher reads.
pub const WAITS: &str = "HOTLINK_WAITS";

static QUIET: AtomicBool = AtomicBool::new(false);

/// From now on this process reports no wait: another of its threads may do what its thread in a call waits for.
pub fn keep_quiet() {
    QUIET.store(true, Relaxed);
}

impl Waits {
    /// For so many ranks.
    ///
    /// # Errors
    /// The system's.
    pub fn new(ranks: u32) -> io::Result<Arc<Waits>> {
        Ok(Arc::new(Waits { lines: SharedMemory::new(Waits::bytes(ranks))?, ranks }))
    }
    /// Those that the launcher of this process's job reads ([`WAITS`]). Without such a launcher, those of this process
    /// alone.
    ///
    /// # Errors
    /// The system's.
    pub fn of_job(ranks: u32) -> io::Result<Arc<Waits>> {
        let shared = std::env::var(WAITS).ok().and_then(|path| SharedMemory::open(&path, Waits::bytes(ranks)).ok());
        let Some(lines) = shared else { return Waits::new(ranks) };
        let waits = Waits { lines, ranks };
        waits.line(0).opened.store(true, Release);
        Ok(Arc::new(waits))
    }
    /// Whether any process of the job has them ([`Waits::of_job`]): else none of its programs has begun with the library.
    pub fn are_opened(&self) -> bool {
        self.line(0).opened.load(Acquire)
    }
    fn bytes(ranks: u32) -> usize {
        ranks.max(1) as usize * std::mem::size_of::<Line>()
    }
    /// Where other processes of this user find the lines, while this one lives.
    pub fn path(&self) -> Option<String> {
        self.lines.path()
    }
    fn line(&self, rank: Rank) -> &Line {
        assert!(rank < self.ranks);
        // SAFETY: inside the block, which lives as long as this; zeros are valid, and only atomics are shared.
        unsafe { &*self.lines.start().cast::<Line>().add(rank as usize) }
    }
    /// What a rank waits for: the wait's number, and its polls since the job began.
    fn read(&self, rank: Rank) -> (u64, u64) {
        let line = self.line(rank);
        (line.number.load(Acquire), line.beats.load(Acquire))
    }
    /// A rank's line, to be sent.
    pub fn words(&self, rank: Rank) -> Words {
        let line = self.line(rank);
        let (number, beats) = self.read(rank);
        let (call, peer) = (u64::from(line.call.load(Relaxed)), u64::from(line.peer.load(Relaxed)));
        let [a, b, c, d, e] = [0, 1, 2, 3, 4].map(|k| line.within[k].load(Relaxed));
        [number, beats, call, peer, line.tag.load(Relaxed), a, b, c, d, e]
    }
    /// What a rank has sent of its line.
    pub fn put(&self, rank: Rank, [number, beats, call, peer, tag, within @ ..]: Words) {
        let line = self.line(rank);
        line.within.iter().zip(within).for_each(|(word, bytes)| word.store(bytes, Relaxed));
        line.call.store(call as u32, Relaxed);
        line.peer.store(peer as u32, Relaxed);
        line.tag.store(tag, Relaxed);
        line.beats.store(beats, Release);
        line.number.store(number, Release);
    }
    /// Ranks.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }
    fn peer(&self, rank: Rank) -> Option<Rank> {
        self.line(rank).peer.load(Relaxed).checked_sub(1)
    }
    /// `receives from rank 1, tag 7 (MPI_Recv)`.
    fn told(&self, rank: Rank) -> String {
        match name::read(&self.line(rank).within) {
            None => self.what(rank),
            Some(name) => format!("{} ({name})", self.what(rank)),
        }
    }
    /// `receives from rank 1, tag 7`.
    fn what(&self, rank: Rank) -> String {
        let line = self.line(rank);
        let Some(&call) = Call::ALL.get((line.call.load(Relaxed) as usize).wrapping_sub(1)) else {
            return "waits".to_owned();
        };
        let (peer, tag) = (self.peer(rank), line.tag.load(Relaxed).checked_sub(1));
        let whom = |word: &str| match peer {
            Some(peer) => format!(" {word} rank {peer}"),
            None => format!(" {word} any rank"),
        };
        let tagged = || tag.map_or(", any tag".to_owned(), |tag| format!(", tag {tag}"));
        let more = match (call, peer) {
            (Call::Send, _) => whom("to") + &tag.map_or(String::new(), |tag| format!(", tag {tag}")),
            (Call::Receive | Call::Probe, _) => whom("from") + &tagged(),
            (_, Some(peer)) => format!(", waiting for rank {peer}"),
            _ => String::new(),
        };
        format!("{}{more}", call.name())
    }
    /// A watch for waits of these ranks that cannot end, each of this duration.
    pub fn watch(self: &Arc<Waits>, stall: Duration) -> Watch {
        Watch { waits: self.clone(), stall, numbers: Vec::new(), since: Instant::now(), confirmed: None }
    }
}

/// Sees that no rank can go on.
pub struct Watch {
    waits: Arc<Waits>,
    stall: Duration,
    /// For every rank, the number of its wait when they last changed; 0 if it is over or does not wait.
    numbers: Vec<u64>,
    since: Instant,
    /// All have waited for long: since when that is known, and the beats of every rank then.
    confirmed: Option<(Instant, Vec<u64>)>,
}

impl Watch {
    /// To be called now and then. `is_over`: whether a rank's program has ended well. Returns which rank waits for
    /// which, if no rank that is not over can go on.
    pub fn look(&mut self, is_over: impl Fn(Rank) -> bool) -> Option<String> {
        let over: Vec<bool> = (0..self.waits.ranks).map(is_over).collect();
        let (numbers, beats): (Vec<u64>, Vec<u64>) =
            (0..self.waits.ranks).map(|rank| if over[rank as usize] { (0, 0) } else { self.waits.read(rank) }).unzip();
        let all_wait = numbers.iter().zip(&over).all(|(&number, &over)| over || number > 0);
        if numbers != self.numbers || !all_wait || over.iter().all(|&over| over) {
            (self.numbers, self.since, self.confirmed) = (numbers, Instant::now(), None);
            return None;
        }
        if self.since.elapsed() < self.stall {
            return None;
        }
        let (since, before) = self.confirmed.get_or_insert_with(|| (Instant::now(), beats.clone()));
        let polled = over.iter().zip(before.iter().zip(&beats)).all(|(&over, (b, n))| over || *n >= b + BEATS);
        let window = (self.stall / 4).clamp(CONFIRM.0, CONFIRM.1);
        (polled && since.elapsed() >= window).then(|| self.report(&over))
    }
    fn report(&self, over: &[bool]) -> String {
        let waiting: Vec<Rank> = (0..self.waits.ranks).filter(|&rank| !over[rank as usize]).collect();
        let mut parts: Vec<String> =
            waiting.iter().take(TOLD).map(|&rank| format!("rank {rank} {}", self.waits.told(rank))).collect();
        if waiting.len() > TOLD {
            parts.push(format!("and {} more wait", waiting.len() - TOLD));
        }
        let ended: Vec<String> = (0..self.waits.ranks)
            .filter(|&rank| over[rank as usize])
            .take(TOLD)
            .map(|rank| format!("rank {rank} has ended"))
            .collect();
        let cycle = self.cycle(over).map(|ranks| {
            let names: Vec<String> = ranks.iter().map(|rank| format!("rank {rank}")).collect();
            format!(" (a cycle: {})", names.join(" waits for "))
        });
        let text = parts.into_iter().chain(ended).collect::<Vec<_>>().join("; ");
        let seconds = self.stall.as_secs_f64();
        format!(
            "every rank has waited for {seconds} s or longer, and nothing is under way: {text}{}",
            cycle.unwrap_or_default()
        )
    }
    /// Ranks in a cycle: each waits for the next, the last for the first.
    fn cycle(&self, over: &[bool]) -> Option<Vec<Rank>> {
        (0..self.waits.ranks).find_map(|start| {
            let mut way = vec![start];
            loop {
                let last = *way.last()?;
                let next = self.waits.peer(last).filter(|&next| next != last && !over[last as usize])?;
                way.push(next);
                if next == start {
                    return Some(way);
                }
                if way.len() > over.len() {
                    return None;
                }
            }
        })
    }
}

/// A rank's own side of its line.
pub struct Account {
    waits: Arc<Waits>,
    rank: Rank,
    /// The present wait has its number.
    is_told: bool,
    /// The port wants to hear what the program waits for.
    pub listens: bool,
}

impl Account {
    /// The account of a rank.
    pub fn new(waits: &Arc<Waits>, rank: Rank) -> Account {
        Account { waits: waits.clone(), rank, is_told: false, listens: false }
    }
    /// A new wait has begun.
    pub fn begin(&mut self) {
        (self.is_told, self.listens) = (false, false);
    }
    /// A poll in vain of a long wait.
    pub fn beat(&mut self) {
        if QUIET.load(Relaxed) {
            return;
        }
        if !self.is_told {
            self.is_told = true;
            self.number_anew(0, 0, 0);
        }
        let beats = &self.waits.line(self.rank).beats;
        let beat = beats.load(Relaxed) + 1;
        beats.store(beat, Release);
        // Another wait may have begun without an event between, as where a signal ended the first.
        self.listens = beat.is_multiple_of(16) || self.waits.line(self.rank).call.load(Relaxed) == 0;
    }
    /// What the program waits for.
    pub fn tell(&mut self, call: Call, peer: Option<Rank>, tag: Option<u32>) {
        self.listens = false;
        if !self.is_told {
            return;
        }
        let (call, tag) = (call as u32 + 1, tag.filter(|_| !call.is_collective()));
        let (peer, tag) = (peer.map_or(0, |peer| peer + 1), tag.map_or(0, |tag| u64::from(tag) + 1));
        let line = self.waits.line(self.rank);
        let before = line.call.load(Relaxed);
        if before == 0 {
            line.peer.store(peer, Relaxed);
            line.tag.store(tag, Relaxed);
            line.call.store(call, Release);
        } else if (before, line.peer.load(Relaxed), line.tag.load(Relaxed)) != (call, peer, tag) {
            self.number_anew(call, peer, tag);
        }
    }
    fn number_anew(&self, call: u32, peer: u32, tag: u64) {
        let line = self.waits.line(self.rank);
        line.peer.store(peer, Relaxed);
        line.tag.store(tag, Relaxed);
        line.call.store(call, Relaxed);
        name::write(&line.within, function());
        line.number.fetch_add(1, Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STALL: Duration = Duration::from_millis(1);

    /// Looks for long enough for a report, while the ranks of `beating` poll in vain.
    fn look(watch: &mut Watch, beating: &mut [&mut Account], over: &[Rank]) -> Option<String> {
        let start = Instant::now();
        while start.elapsed() < CONFIRM.0 * 3 {
            beating.iter_mut().for_each(|account| account.beat());
            let report = watch.look(|rank| over.contains(&rank));
            if report.is_some() {
                return report;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        None
    }
    fn waits(account: &mut Account, call: Call, peer: Option<Rank>, tag: Option<u32>) {
        account.begin();
        account.beat();
        account.tell(call, peer, tag);
    }

    #[test]
    fn ranks_that_wait_for_each_other_are_told_with_their_calls() {
        let all = Waits::new(3).unwrap();
        let [mut a, mut b] = [0, 1].map(|rank| Account::new(&all, rank));
        let mut watch = all.watch(STALL);
        waits(&mut a, Call::Receive, Some(1), Some(7));
        waits(&mut b, Call::Send, Some(0), None);
        assert_eq!(look(&mut watch, &mut [&mut a, &mut b], &[]), None, "rank 2 has not waited");
        let report = look(&mut watch, &mut [&mut a, &mut b], &[2]).unwrap();
        assert!(
            report.ends_with(
                "rank 0 receives from rank 1, tag 7; rank 1 sends to rank 0; rank 2 has ended \
             (a cycle: rank 0 waits for rank 1 waits for rank 0)"
            ),
            "{report}"
        );
    }

    #[test]
    fn who_computes_after_a_wait_is_no_rank_that_waits() {
        let all = Waits::new(2).unwrap();
        let [mut a, mut b] = [0, 1].map(|rank| Account::new(&all, rank));
        let mut watch = all.watch(STALL);
        waits(&mut a, Call::Receive, None, None);
        waits(&mut b, Call::Barrier, None, Some(3));
        assert_eq!(look(&mut watch, &mut [&mut a], &[]), None, "rank 1 polls no more: it computes");
        waits(&mut b, Call::Barrier, None, Some(3));
        let report = look(&mut watch, &mut [&mut a, &mut b], &[]).unwrap();
        assert!(report.ends_with("rank 0 receives from any rank, any tag; rank 1 is in a barrier"), "{report}");
    }
}
