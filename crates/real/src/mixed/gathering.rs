//! Which rank is on which host, and what each host's ranks share.

use super::{MixedPort, limits};
use crate::crew::{Crew, Lost};
use crate::drivers::is_oversubscribed;
use crate::ranks::Doors;
use crate::shm::World;
use crate::sys;
use crate::tcp::Meeting;
use hotlink_job::machine;
use hotlink_port::{Port, Rank};
use hotlink_seats::Waits;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::io;
use std::sync::Arc;
use std::time::Instant;

/// The shared state of the ranks of a job on several hosts.
pub struct Gathering {
    /// The host of every rank: 0, 1, ...
    hosts: Vec<u32>,
    /// Of every host: its ranks' shared state, if this process has it.
    worlds: RefCell<Vec<Option<World>>>,
    meeting: Meeting,
}

/// A launched rank's description of itself.
#[derive(Serialize, Deserialize)]
struct Place {
    /// The same for ranks that can share memory: of one machine, and seeing each other's processes.
    host: String,
    pid: i32,
    /// Where the first rank of a host has what its ranks share, and when their clock started.
    path: String,
    start_ns: u64,
}

/// The ranks of `host`.
fn group(hosts: &[u32], host: u32) -> Vec<Rank> {
    (0..hosts.len() as Rank).filter(|&rank| hosts[rank as usize] == host).collect()
}

impl Gathering {
    /// Of ranks that this process forks, in rows of equal length on `count` hosts that it plays.
    pub(crate) fn new(ranks: u32, count: u32) -> io::Result<Gathering> {
        let hosts: Vec<u32> =
            (0..ranks).map(|rank| (u64::from(rank) * u64::from(count) / u64::from(ranks)) as u32).collect();
        let crowded = is_oversubscribed(ranks);
        let meeting = Meeting::new(ranks, crowded)?;
        let world = |host| {
            let group = group(&hosts, host);
            let mut world = World::new(group.len().max(1) as u32)?;
            (world.crowded, world.here) = (crowded, ranks);
            // The ranks of a host follow each other.
            let first = group.first().copied().unwrap_or(0);
            world.waits = meeting.waits.clone().map(|waits| (waits, first));
            Ok(Some(world))
        };
        let worlds = RefCell::new((0..count).map(world).collect::<io::Result<_>>()?);
        Ok(Gathering { worlds, meeting, hosts })
    }
    /// Of the first `ranks` of a launched job. All of the job call this.
    pub(crate) fn of_crew(crew: &mut Crew, ranks: u32) -> io::Result<Gathering> {
        let lost = |lost: Lost| io::Error::other(format!("rank {} has ended", lost.0));
        let host = host_name();
        let names = crew.exchange(host.as_bytes()).map_err(lost)?;
        let taking_part = &names[..ranks as usize];
        let first = |name: &Vec<u8>| taking_part.iter().position(|other| other == name).unwrap_or(0) as u32;
        let leaders: Vec<u32> = taking_part.iter().map(first).collect();
        let leads = leaders.get(crew.rank as usize) == Some(&crew.rank);
        let mine = leaders.get(crew.rank as usize).map_or(Vec::new(), |&leader| group(&leaders, leader));
        let made = if leads { Some(World::new(mine.len() as u32)?) } else { None };
        let path = made.as_ref().and_then(World::path).unwrap_or_default();
        let told = Place { host, pid: sys::pid(), path, start_ns: sys::monotonic_ns() };
        let told = crew.exchange(&serde_json::to_vec(&told)?).map_err(lost)?;
        let places: Vec<Place> = told
            .iter()
            .map(|place| serde_json::from_slice(place))
            .collect::<Result<_, _>>()
            .map_err(io::Error::other)?;
        let crowded = crew.shares_cores(&mine).map_err(lost)?;
        // Hosts by the number of their first rank.
        let mut meeting = Meeting::of_crew(crew, ranks)?;
        meeting.oversubscribed = crowded;
        let mut worlds: Vec<Option<World>> = (0..ranks).map(|_| None).collect();
        if let Some(&leader) = mine.first() {
            let place = &places[leader as usize];
            let pids: Vec<i32> = mine.iter().map(|&rank| places[rank as usize].pid).collect();
            let own = mine.iter().position(|&rank| rank == crew.rank).unwrap_or(0);
            let mut world = World::of_group(made, &place.path, &pids, own, place.start_ns, crowded)?;
            // Only its own line is written here.
            world.waits = meeting.waits.clone().map(|waits| (waits, crew.rank - own as u32));
            worlds[leader as usize] = Some(world);
        }
        Ok(Gathering { hosts: leaders, worlds: RefCell::new(worlds), meeting })
    }
}

/// Names this host among those of the job: ranks with the same name share memory. Processes that do not see each other,
/// in containers of one machine, do not.
fn host_name() -> String {
    let processes = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    format!("{} {}", machine(), processes.display())
}

impl Doors for Gathering {
    type Port = MixedPort;
    fn open(&self, rank: Rank) -> io::Result<MixedPort> {
        let host = self.hosts[rank as usize];
        let group = group(&self.hosts, host);
        let mut place = vec![None; self.hosts.len()];
        (0..).zip(&group).for_each(|(local, &rank)| place[rank as usize] = Some(local));
        let mut worlds = self.worlds.borrow_mut();
        // The shared state of other hosts takes address space that this process, a rank of one host, does not need.
        for (_, other) in (0..).zip(worlds.iter_mut()).filter(|&(number, _)| number != host) {
            *other = None;
        }
        let world = worlds[host as usize].as_ref().ok_or(io::ErrorKind::NotConnected)?;
        let mut shm = world.open(place[rank as usize].unwrap_or(0))?;
        if group.len() < place.len() {
            shm.look_by_calls();
        }
        let streams = self.meeting.streams(rank, |other| self.hosts[other as usize] != host)?;
        let limits = limits(shm.limits());
        Ok(MixedPort { rank, limits, shm, streams, place, group, is_far: false, until_far: 0, looked: Instant::now() })
    }
    fn bury(&self, rank: Rank) {
        let host = self.hosts[rank as usize];
        let local = group(&self.hosts, host).iter().position(|&other| other == rank);
        if let (Some(world), Some(local)) = (&self.worlds.borrow()[host as usize], local) {
            world.bury(local as Rank);
        }
        self.meeting.mark_dead(rank);
    }
    fn waits(&self) -> Option<Arc<Waits>> {
        self.meeting.waits.clone()
    }
}
