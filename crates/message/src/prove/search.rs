//! Breadth first through every state of a case, each visited once.

use super::case::{Case, Step};
use super::features::{NAMES, Pairs};
use super::moves::{Move, What};
use super::oracle::Received;
use super::world::{Outcome, World};
use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The results of a search.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Cases searched.
    pub cases: u64,
    /// Of those, not to the end: the limit of states was reached, or the search was stopped.
    pub cut: u64,
    /// Distinct states.
    pub states: u64,
    /// Moves tried.
    pub moves: u64,
    /// Most moves from a beginning to a state.
    pub depth: usize,
    /// States in which nothing more can happen.
    pub ends: u64,
    /// Of those, ends in which a program waits for what its own programs never do.
    pub stuck: u64,
    /// Features that met in a run.
    pub pairs: Pairs,
}

impl Seen {
    /// Adds what another search saw.
    pub fn merge(&mut self, other: &Seen) {
        self.cases += other.cases;
        self.cut += other.cut;
        self.states += other.states;
        self.moves += other.moves;
        self.depth = self.depth.max(other.depth);
        self.ends += other.ends;
        self.stuck += other.stuck;
        self.pairs.merge(&other.pairs);
    }
}

/// A state in which something is wrong, and the shortest way there.
#[derive(Clone, Debug)]
pub struct Fault {
    /// The case that ran.
    pub case: Case,
    /// From the beginning.
    pub moves: Vec<Move>,
    /// The fault.
    pub why: String,
}

impl Fault {
    /// A test that one can paste into `prove/traces.rs`.
    pub fn source(&self) -> String {
        let moves: Vec<String> = self.moves.iter().map(Move::source).collect();
        let why = self.why.replace('\n', " ");
        let case = self.case.source();
        format!("/// {why}\n#[test]\nfn trace() {{\n{case}    holds(&case, \"{}\");\n}}\n", moves.join(" "))
    }
}

/// Whether matching rules allow what a receiver got: the answer depends on little, and is asked often.
type Known = HashMap<Received, bool>;

/// Visits every state of `case`, or `limit` of them, or as many as are seen when `stop` says so.
///
/// # Errors
/// A state in which something is wrong.
pub fn search(case: &Case, limit: u64, stop: &dyn Fn() -> bool) -> Result<Seen, Box<Fault>> {
    let mut seen = Seen { cases: 1, ..Seen::default() };
    let mut visited = HashSet::new();
    let mut known = Known::new();
    // How each state was reached: from which, by what.
    let mut origins: Vec<(u32, Move)> = Vec::new();
    let first = World::new(case);
    visited.insert(first.fingerprint());
    let mut frontier = vec![(first, u32::MAX)];
    let mut moves = Vec::new();
    let mut met = HashMap::new();
    'levels: while !frontier.is_empty() {
        let mut next = Vec::new();
        for (world, origin) in frontier {
            if visited.len() as u64 > limit || stop() {
                seen.cut = 1;
                break 'levels;
            }
            let fault = |mut path: Vec<Move>, why| {
                let mut at = origin;
                while let Some((before, step)) = origins.get(at as usize) {
                    path.push(step.clone());
                    at = *before;
                }
                path.reverse();
                Box::new(Fault { case: case.clone(), moves: path, why })
            };
            let mine = world.fingerprint();
            let mut ends = true;
            let mut found = Vec::new();
            world.moves(&mut moves);
            for &(rank, what) in &moves {
                let mut scripts = vec![Vec::new()];
                while let Some(script) = scripts.pop() {
                    seen.moves += 1;
                    let (after, result) = made(&world, rank, what, &script);
                    more_scripts(&script, after.net.borrow().asked, &mut scripts);
                    let step = Move(rank, what, script);
                    result.map_err(|why| fault(vec![step.clone()], why))?;
                    let print = after.fingerprint();
                    ends &= what == What::Die || print == mine;
                    if visited.insert(print) {
                        found.push((after, step));
                    }
                }
            }
            *met.entry(world.net.borrow().met).or_insert(0u64) += 1;
            if ends {
                seen.ends += 1;
                seen.stuck += u64::from(check_end(&world, &mut known).map_err(|why| fault(Vec::new(), why))?);
            }
            for (after, step) in found {
                origins.push((origin, step));
                next.push((after, origins.len() as u32 - 1));
            }
        }
        seen.depth += usize::from(!next.is_empty());
        frontier = next;
    }
    seen.states = visited.len() as u64;
    met.into_keys().for_each(|met| seen.pairs.add(met & ((1 << NAMES.len()) - 1)));
    Ok(seen)
}

/// The world after a move, and what is wrong with it. A panic is a fault like others.
fn made(world: &World, rank: usize, what: What, script: &[u8]) -> (World, Result<(), String>) {
    let mut after = world.clone();
    {
        let mut net = after.net.borrow_mut();
        net.asked = 0;
        net.script.clear();
        net.script.extend(script);
    }
    let result = catch_unwind(AssertUnwindSafe(|| after.make(rank, what)));
    let said = |panic: Box<dyn std::any::Any + Send>| match panic.downcast::<String>() {
        Ok(text) => Err(format!("panic: {text}")),
        Err(panic) => {
            Err(format!("panic: {}", panic.downcast::<&str>().map_or("?".to_owned(), |text| text.to_string())))
        }
    };
    (after, result.unwrap_or_else(said))
}

/// The other answers to choices that came up beyond those of `script`.
fn more_scripts(script: &[u8], asked: usize, into: &mut Vec<Vec<u8>>) {
    for place in script.len()..asked {
        let mut other = script.to_vec();
        other.resize(place, 0);
        other.push(1);
        into.push(other);
    }
}

/// Whether what came of everything is right; whether a program waits, as it must.
fn check_end(world: &World, known: &mut Known) -> Result<bool, String> {
    let world = &mut world.clone();
    world.end_all()?;
    let world = &*world;
    let ranks = world.tasks.len();
    let dead: Vec<bool> = world.net.borrow().seats.iter().map(|seat| seat.dead).collect();
    let over: Vec<bool> = world.net.borrow().seats.iter().map(|seat| seat.dead || seat.left).collect();
    for rank in (0..ranks).filter(|&rank| !dead[rank]) {
        let received = Received::of(world, rank);
        let explained = match known.get(&received) {
            Some(&explained) => explained,
            None => {
                let explained = received.is_explained(world);
                known.insert(received.clone(), explained);
                explained
            }
        };
        if !explained {
            return Err(format!("no order of arrivals explains what rank {rank} received: {received:?}"));
        }
        if !world.untouched(rank) {
            return Err(format!("rank {rank}: memory was written after its request was over"));
        }
        check_waits(world, rank, &over)?;
    }
    check_modes(world)?;
    let all_over = (0..ranks).all(|rank| dead[rank] || world.is_over(rank));
    // A request that failed, since its peer was over, may leave a message behind.
    let failed = world.tasks.iter().flat_map(|task| &task.started).any(|one| one.outcome == Outcome::Failed);
    if all_over && !failed && !dead.contains(&true) {
        check_leftovers(world)?;
        check_counters(world)?;
    }
    Ok(!all_over)
}

/// A rank that is alive waits only for what no rank does, and never for a rank that is over.
fn check_waits(world: &World, rank: usize, over: &[bool]) -> Result<(), String> {
    let (program, task) = (&world.case.programs[rank], &world.tasks[rank]);
    let step = match program.get(task.at) {
        None => return Ok(()),
        Some(&Step::Wait(number)) => program[task.started[number].step],
        Some(&step) => step,
    };
    let in_vain = match step {
        Step::Send { to, .. } => {
            let started = match program.get(task.at) {
                Some(&Step::Wait(number)) => task.started[number].step,
                _ => task.at,
            };
            let message = world.messages.iter().position(|&sent| sent == (rank, started)).unwrap_or(0);
            let got = |other: &super::world::Started| other.outcome == Outcome::Got(1 << message);
            !over[to as usize] && !world.tasks[to as usize].started.iter().any(got)
        }
        Step::Recv { from, .. } | Step::Probe { from, .. } => from.is_none_or(|from| !over[from as usize]),
        Step::Wait(_) | Step::Turn => false,
    };
    if in_vain { Ok(()) } else { Err(format!("rank {rank} waits forever in step {}: {step:?}", task.at)) }
}

/// A restricted send is over only when its receive has begun.
fn check_modes(world: &World) -> Result<(), String> {
    for (message, &(rank, at)) in world.messages.iter().enumerate() {
        let Step::Send { to, mode: crate::Mode::Restricted, .. } = world.case.programs[rank][at] else { continue };
        let Some(sent) = world.tasks[rank].started.iter().find(|started| started.step == at) else { continue };
        let Outcome::Sent(begun) = sent.outcome else { continue };
        let receives = world.tasks[to as usize]
            .started
            .iter()
            .filter(|other| matches!(world.case.programs[to as usize][other.step], Step::Recv { .. }));
        let mut outcomes = receives.map(|receive| receive.outcome);
        if let Some(place) = outcomes.position(|outcome| outcome == Outcome::Got(1 << message))
            && place >= usize::from(begun)
        {
            return Err(format!("rank {rank}, step {at}: a restricted send was over before its receive had begun"));
        }
    }
    Ok(())
}

/// Every message went one way and was counted there: at once, fetched, deposited or in pieces. One that both sides move is
/// counted again if a half fails, since it then comes in pieces.
fn check_counters(world: &World) -> Result<(), String> {
    let sum = |of: fn(&crate::Counters) -> u64| world.engines.iter().map(|engine| of(&engine.counters)).sum::<u64>();
    let gone = sum(|one| one.eager + one.fetched + one.deposited + one.pieces);
    let (sent, halved) = (world.messages.len() as u64, sum(|one| one.halved));
    if (sent..=sent + halved).contains(&gone) {
        return Ok(());
    }
    Err(format!("{sent} messages were sent, {halved} of them in halves, but {gone} were counted"))
}

fn check_leftovers(world: &World) -> Result<(), String> {
    for (rank, engine) in world.engines.iter().enumerate() {
        if let Some(leftover) = engine.leftover(world.net.borrow().seats[rank].left) {
            return Err(format!("rank {rank} is through and holds: {leftover}"));
        }
        let seat = &world.net.borrow().seats[rank];
        let due = if world.case.frees { 0 } else { world.tasks[rank].started.len() };
        if seat.allocated() != due {
            return Err(format!("rank {rank} is through and has {} blocks, not {due}", seat.allocated()));
        }
        for (other, peer) in world.engines.iter().enumerate() {
            let (sent, seen) = (engine.flow_with(other).0, peer.flow_with(rank).1);
            if sent != seen {
                return Err(format!("rank {rank} sent {sent} messages to rank {other}, which saw {seen}"));
            }
        }
    }
    Ok(())
}

/// Makes the moves of a trace, as [`Fault::source`] prints them, as far as they are possible, and then every first
/// possible one to the end.
///
/// # Errors
/// What is wrong.
pub fn replay(case: &Case, trace: &str) -> Result<(), String> {
    let mut world = World::new(case);
    let mut moves = Vec::new();
    for text in trace.split_whitespace() {
        let Move(rank, what, script) = Move::parse(text).ok_or_else(|| format!("{text} is no move"))?;
        world.moves(&mut moves);
        if moves.contains(&(rank, what)) {
            let (after, result) = made(&world, rank, what, &script);
            result?;
            world = after;
        }
    }
    for _ in 0..1000 {
        let mine = world.fingerprint();
        world.moves(&mut moves);
        moves.retain(|&(_, what)| what != What::Die);
        let mut others = moves.iter().map(|&(rank, what)| made(&world, rank, what, &[]));
        match others.find(|(after, result)| result.is_err() || after.fingerprint() != mine) {
            Some((after, result)) => {
                result?;
                world = after;
            }
            None => return check_end(&world, &mut Known::new()).map(|_| ()),
        }
    }
    Err("no end after 1000 moves".to_owned())
}
