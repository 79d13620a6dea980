//! A replay as a whole: what ran, and what others did for which it ran.

use super::Run;
use super::alike::{Copies, after};
use super::replay::{Machine, Replay};
use crate::net::Stats;
use crate::plan::Plan;
use hotlink_fabric::units::Time;

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Replayed {
    /// Elapsed time and counts.
    pub run: Run,
    /// When each rank's last operation ended.
    pub finish: Vec<Time>,
    /// Messages received.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The longest chain of operations and messages, none of which ever waits for another, from a rank's start: no run
    /// takes less. Posts take no time in it.
    pub chain: Time,
    /// The rank and processor that worked longest, and for how long.
    pub busiest: Option<(u32, u32, Time)>,
    /// The same without posts: no run takes less.
    pub computing: Option<(u32, u32, Time)>,
    /// From each send's own end to the arrival of its message, by operation; empty where it was not asked for.
    pub took: Vec<Time>,
}

/// Sums over the ranks that have run so far.
pub(super) struct Whole {
    stats: Stats,
    trace_hash: Option<u64>,
    unreachable: Vec<(u32, u32)>,
    /// When the network had nothing left to do.
    worked: u64,
    /// By server: time busy.
    busy: Vec<u64>,
    finish: Vec<u64>,
    messages: u64,
    bytes: u64,
    longest: u64,
    /// By rank and processor: work, and that of posts.
    cpus: Vec<[u64; 2]>,
    cpus_each: u32,
    took: Vec<u64>,
}

impl Whole {
    pub fn new(plan: &Plan<'_>, job: &Replay<'_>) -> Whole {
        let (ranks, cpus_each) = (job.schedule.ranks(), job.schedule.extent().cpus.max(1));
        Whole {
            stats: Stats::default(),
            trace_hash: None,
            unreachable: Vec::new(),
            worked: 0,
            busy: vec![0; plan.servers()],
            finish: vec![0; ranks as usize],
            messages: 0,
            bytes: 0,
            longest: 0,
            cpus: Vec::new(),
            cpus_each,
            took: Vec::new(),
        }
    }

    /// Adds what has run, as often as it counts. No rank runs twice.
    pub fn add(&mut self, ran: &Machine<'_, '_>, times: u64) {
        let own = ran.net.trace_hash();
        self.trace_hash = Some(self.trace_hash.map_or(own, |before| after(before, own)));
        self.stats = self.stats.and(&ran.net.stats(), times);
        self.unreachable.extend(ran.net.unreachable());
        self.worked = self.worked.max(ran.net.worked().0);
        self.busy.iter_mut().zip(ran.net.busy_ps()).for_each(|(sum, own)| *sum += own);
        self.messages += times * ran.messages;
        self.bytes += times * ran.bytes;
        self.longest = self.longest.max(ran.longest);
        self.cpus.resize(ran.cpus.len(), [0; 2]);
        let works = ran.cpus.iter().map(|cpu| [cpu.work, cpu.posting]);
        self.cpus.iter_mut().zip(works).for_each(|(sums, own)| (0..2).for_each(|i| sums[i] += own[i]));
        sums(&mut self.finish, &ran.finish);
        sums(&mut self.took, &ran.took);
    }

    /// What ranks and servers did that have not run themselves.
    pub fn copy(&mut self, job: &Replay<'_>, copies: &Copies) {
        for (own, &first) in copies.servers.iter().enumerate() {
            self.busy[own] = self.busy[first as usize];
        }
        let each = self.cpus_each as usize;
        for (own, &first) in (0u32..).zip(&copies.ranks).filter(|(own, first)| own != *first) {
            let [ids, others] = [own, first].map(|rank| job.schedule.of_rank(rank));
            let [own, first] = [own, first].map(|rank| rank as usize);
            self.finish[own] = self.finish[first];
            self.cpus.copy_within(first * each..(first + 1) * each, own * each);
            if !self.took.is_empty() {
                self.took.copy_within(others.start as usize..others.end as usize, ids.start as usize);
            }
        }
    }

    pub fn replayed(self) -> Replayed {
        let elapsed = Time(self.finish.iter().copied().max().unwrap_or(0));
        let most = |of: &dyn Fn(&[u64; 2]) -> u64| {
            let works = (0..).zip(self.cpus.iter().map(of));
            let most = works.reduce(|most: (u32, u64), one| if one.1 > most.1 { one } else { most });
            let (at, work) = most.filter(|&(_, work)| work > 0)?;
            Some((at / self.cpus_each, at % self.cpus_each, Time(work)))
        };
        let (busiest, computing) = (most(&|work| work[0]), most(&|work| work[0] - work[1]));
        let span = self.worked.max(elapsed.0).max(1) as f64;
        Replayed {
            run: Run {
                elapsed,
                bytes: self.stats.delivered_bytes,
                stats: self.stats,
                trace_hash: self.trace_hash.unwrap_or(0),
                unreachable: self.unreachable,
                busy: self.busy.into_iter().map(|ps| ps as f64 / span).collect(),
            },
            finish: self.finish.into_iter().map(Time).collect(),
            messages: self.messages,
            bytes: self.bytes,
            chain: Time(self.longest),
            took: self.took.into_iter().map(Time).collect(),
            busiest,
            computing,
        }
    }
}

/// Each of what ran is 0 in every other run.
fn sums(all: &mut Vec<u64>, own: &[u64]) {
    all.resize(own.len(), 0);
    all.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
}
