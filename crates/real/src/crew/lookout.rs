//! The end of a launched job's run: every rank gives its result to rank 0, which gives all to all. Ranks that wait for
//! long also report that to rank 0. It then checks whether any can go on, as it does for ranks that it forked.

use super::{Crew, Lost, RESULTS};
use crate::sys;
use hotlink_port::RunError;
use hotlink_seats::{Waits, Words};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU8, Ordering::Acquire, Ordering::Release};
use std::sync::{Arc, OnceLock};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Duration;

/// Kinds of message, in the first byte. To rank 0: a rank's result; what it waits for.
const RESULT: u8 = 0;
const WAIT: u8 = 1;
/// From rank 0: all results; that no rank can go on, and why.
const ALL: u8 = 2;
const STUCK: u8 = 3;

/// This rank's program: it runs, has ended, or will not end, since its thread panics.
const RUNS: u8 = 0;
const OVER: u8 = 1;
const LOST: u8 = 2;

static STUCK_FOR: OnceLock<String> = OnceLock::new();

/// Why no rank of the launched job can go on, once that was found: which rank waits for which.
pub fn stuck() -> Option<&'static str> {
    STUCK_FOR.get().map(String::as_str)
}

fn stuck_for(why: String) -> RunError {
    RunError::Stuck(STUCK_FOR.get_or_init(|| why).clone())
}

fn lost(rank: u32) -> RunError {
    RunError::RankDied { rank, how: "ended before the others".to_owned() }
}

/// A thread that looks out while the program runs.
pub(crate) struct Lookout<'scope> {
    thread: Option<ScopedJoinHandle<'scope, Result<Gathered, RunError>>>,
    own: Arc<AtomicU8>,
    /// Closed when the program is over.
    wake: Option<OwnedFd>,
}

/// Rank 0: the results that have come.
type Gathered = Vec<Option<Vec<u8>>>;

impl<'scope> Lookout<'scope> {
    /// Begins to look out, for waits of so long.
    pub(crate) fn start<'env>(
        scope: &'scope Scope<'scope, 'env>,
        crew: &'scope mut Crew,
        waits: Arc<Waits>,
        stall: Duration,
    ) -> std::io::Result<Lookout<'scope>> {
        let own = Arc::new(AtomicU8::new(RUNS));
        let (woken, wake) = sys::pipe()?;
        let seen = own.clone();
        let interval = (stall / 8).clamp(Duration::from_millis(10), Duration::from_millis(500));
        let thread = scope.spawn(move || {
            if crew.rank == 0 {
                crew.look_out(&waits, stall, &seen, &woken)
            } else {
                crew.tell_waits(&waits, interval, &woken).map(|()| Vec::new())
            }
        });
        Ok(Lookout { thread: Some(thread), own, wake: Some(wake) })
    }
    /// The program of this rank is over. Gives what has come.
    pub(crate) fn end(mut self) -> Result<Gathered, RunError> {
        self.own.store(OVER, Release);
        self.wake = None;
        match self.thread.take().map(ScopedJoinHandle::join) {
            Some(Ok(gathered)) => gathered,
            _ => Err(RunError::Start("the thread that looks out for stalls failed".to_owned())),
        }
    }
}

impl Drop for Lookout<'_> {
    fn drop(&mut self) {
        let _ = self.own.compare_exchange(RUNS, LOST, Release, Acquire);
    }
}

impl Crew {
    /// At rank 0, until every rank is over: takes their reports.
    fn look_out(
        &mut self,
        waits: &Arc<Waits>,
        stall: Duration,
        own: &AtomicU8,
        woken: &OwnedFd,
    ) -> Result<Gathered, RunError> {
        let mut results: Gathered = vec![None; self.ranks as usize];
        let mut watch = waits.watch(stall);
        let mut is_woken = false;
        loop {
            let is_over = |rank: u32, results: &Gathered| match rank {
                0 => own.load(Acquire) != RUNS,
                rank => results[rank as usize].is_some(),
            };
            if own.load(Acquire) == LOST {
                return Err(lost(0));
            }
            if (0..self.ranks).all(|rank| is_over(rank, &results)) {
                return Ok(results);
            }
            let open: Vec<u32> = (1..self.ranks).filter(|&rank| results[rank as usize].is_none()).collect();
            let links = open.iter().filter_map(|&rank| Some(self.links[rank as usize].as_ref()?.as_raw_fd()));
            let fds: Vec<i32> = links.chain((!is_woken).then_some(woken.as_raw_fd())).collect();
            let readable = sys::wait_readable(&fds, Duration::from_millis(20));
            is_woken |= readable.len() > open.len() && readable[open.len()];
            for (&rank, _) in open.iter().zip(readable).filter(|(_, readable)| *readable) {
                if let Some(result) = self.hear(rank, Some(waits))? {
                    results[rank as usize] = Some(result);
                }
            }
            if let Some(why) = watch.look(|rank| is_over(rank, &results)) {
                for rank in 1..self.ranks {
                    let told = [&[STUCK], why.as_bytes()].concat();
                    let _ = self.link(rank).map(|link| link.send(&told));
                }
                return Err(stuck_for(why));
            }
        }
    }
    /// The next message of a rank at rank 0: its result, or what it waits for.
    fn hear(&mut self, rank: u32, waits: Option<&Waits>) -> Result<Option<Vec<u8>>, RunError> {
        let received = self.link(rank).and_then(|link| link.receive(RESULTS).map_err(|_| Lost(rank)));
        let mut message = received.map_err(|_| lost(rank))?;
        match message.first() {
            Some(&RESULT) => {
                message.remove(0);
                Ok(Some(message))
            }
            Some(&WAIT) => {
                let mut words = Words::default();
                for (word, bytes) in words.iter_mut().zip(message[1..].chunks_exact(8)) {
                    *word = u64::from_le_bytes(std::array::from_fn(|k| bytes[k]));
                }
                if let Some(waits) = waits.filter(|waits| rank < waits.ranks()) {
                    waits.put(rank, words);
                }
                Ok(None)
            }
            _ => Err(lost(rank)),
        }
    }
    /// At another rank, while its program runs: reports a long wait to rank 0.
    fn tell_waits(&mut self, waits: &Waits, interval: Duration, woken: &OwnedFd) -> Result<(), RunError> {
        let (rank, mut told) = (self.rank, 0);
        loop {
            let link = self.link(0).map_err(|_| lost(0))?;
            let readable = sys::wait_readable(&[link.as_raw_fd(), woken.as_raw_fd()], interval);
            if readable[1] {
                return Ok(());
            }
            if readable[0] {
                return self.all_results().map(|_| ());
            }
            if rank < waits.ranks() {
                let words = waits.words(rank);
                if words[0] > 0 && words[1] != told {
                    told = words[1];
                    let message = [&[WAIT], words.map(u64::to_le_bytes).as_flattened()].concat();
                    if link.send(&message).is_err() {
                        // It has gone; before, it may have said why.
                        return self.all_results().map(|_| ());
                    }
                }
            }
        }
    }
    /// The last message of rank 0.
    fn all_results(&mut self) -> Result<Vec<Vec<u8>>, RunError> {
        let message = self.link(0).and_then(|link| link.receive(RESULTS).map_err(|_| Lost(0))).map_err(|_| lost(0))?;
        match message.first() {
            Some(&ALL) => serde_json::from_slice(&message[1..]).map_err(|_| lost(0)),
            Some(&STUCK) => Err(stuck_for(String::from_utf8_lossy(&message[1..]).into_owned())),
            _ => Err(lost(0)),
        }
    }
    /// Every rank's part of its result, in order, at every rank. `gathered`: the parts that rank 0 has already.
    pub(crate) fn share_results(&mut self, mine: &[u8], gathered: Gathered) -> Result<Vec<Vec<u8>>, RunError> {
        if self.rank > 0 {
            let result = [&[RESULT], mine].concat();
            // Where it has gone, it may have said why before.
            let _ = self.link(0).map(|link| link.send(&result));
            return self.all_results();
        }
        let mut all = vec![mine.to_vec()];
        for rank in 1..self.ranks {
            let mut result = gathered.get(rank as usize).cloned().flatten();
            while result.is_none() {
                result = self.hear(rank, None)?;
            }
            all.extend(result);
        }
        let packed = [&[ALL][..], &serde_json::to_vec(&all).map_err(|_| lost(0))?].concat();
        for rank in 1..self.ranks {
            self.link(rank).and_then(|link| link.send(&packed).map_err(|_| Lost(rank))).map_err(|_| lost(rank))?;
        }
        Ok(all)
    }
}
