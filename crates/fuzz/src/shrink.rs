//! Makes failing scripts small.

use super::model::rehearse;
use super::script::{Form, Posting, Script, Step, Tuning, Waiting};
use hotlink_message::Mode;
use hotlink_port::loopback::Random;

/// The smallest script found that still `fails` and still ends by MPI's rules, after at most so many tries.
pub fn shrink(script: &Script, tries: u64, mut fails: impl FnMut(&Script) -> bool) -> Script {
    let (mut best, mut left) = (script.clone(), tries);
    loop {
        let before = best.clone();
        for candidate in Candidates::of(&best) {
            // Candidates are made from one script: what has become of it meanwhile is tried in the next round.
            let candidate = match candidate.on(&best) {
                Some(candidate) if candidate != best => candidate,
                _ => continue,
            };
            if left == 0 {
                return best;
            }
            if ends(&candidate) {
                left -= 1;
                if fails(&candidate) {
                    best = candidate;
                }
            }
        }
        if best == before {
            return best;
        }
    }
}

/// Whether the ranks get to their ends, however they take turns.
fn ends(script: &Script) -> bool {
    (0..200).all(|seed| rehearse(script, &mut Random::new(seed)).is_ok())
}

/// The failing script, as JSON, as a test to add to those in `tests/all/random.rs`.
pub fn as_test(seed: u64, json: &str) -> String {
    format!("#[test]\nfn seed_{seed}() {{\n    replay({seed}, r#\"{json}\"#);\n}}\n")
}

/// Paths to make a script smaller.
#[derive(Clone, Copy)]
enum Change {
    /// Leave out so many steps from a step of a rank on, and the receives or sends that would be left over.
    Cut(usize, usize, usize),
    /// Leave out a message: a send and a receive.
    Message((usize, usize), (usize, usize)),
    /// Leave out the last rank.
    Rank,
    /// Make a step simpler.
    Simpler(usize, usize, Simpler),
    /// The port's own thresholds, one by one.
    Tuning(u8),
}

#[derive(Clone, Copy)]
enum Simpler {
    InARow,
    Offset,
    Standard,
    Each,
    Blocking,
    NoProbe,
}

struct Candidates;

impl Candidates {
    fn of(script: &Script) -> Vec<Change> {
        let mut changes = vec![Change::Rank];
        for (rank, steps) in script.ranks.iter().enumerate() {
            for count in [16, 4, 1] {
                changes.extend((0..steps.len()).rev().step_by(count).map(|at| Change::Cut(rank, at, count)));
            }
        }
        let places = |wanted: fn(&Step) -> bool| {
            let each = script.ranks.iter().enumerate();
            each.flat_map(move |(rank, steps)| {
                steps.iter().enumerate().filter(move |(_, step)| wanted(step)).map(move |(at, _)| (rank, at))
            })
        };
        let sends: Vec<_> = places(|step| matches!(step, Step::Send { .. })).collect();
        let receives: Vec<_> = places(|step| matches!(step, Step::Recv { .. })).collect();
        for &send in sends.iter().rev() {
            for &receive in receives.iter().rev() {
                if may_meet(script, send, receive) {
                    changes.push(Change::Message(send, receive));
                }
            }
        }
        for (rank, steps) in script.ranks.iter().enumerate() {
            for at in 0..steps.len() {
                use Simpler::*;
                changes.extend(
                    [InARow, Offset, Standard, Each, Blocking, NoProbe].map(|how| Change::Simpler(rank, at, how)),
                );
            }
        }
        changes.extend((0..6).map(Change::Tuning));
        changes
    }
}

fn may_meet(script: &Script, send: (usize, usize), receive: (usize, usize)) -> bool {
    let (Step::Send { to, tag, .. }, Step::Recv { from, tag: wanted, .. }) =
        (&script.ranks[send.0][send.1], &script.ranks[receive.0][receive.1])
    else {
        return false;
    };
    *to as usize == receive.0
        && from.is_none_or(|from| from as usize == send.0)
        && wanted.is_none_or(|wanted| wanted == *tag)
}

impl Change {
    /// The changed script; `None`: it cannot be changed so.
    fn on(self, script: &Script) -> Option<Script> {
        let mut new = script.clone();
        match self {
            Change::Rank => {
                let last = new.ranks.len() - 1;
                let named = |step: &Step| match *step {
                    Step::Send { to, .. } => to as usize == last,
                    Step::Recv { from, .. } | Step::Iprobe { from, .. } => from == Some(last as u32),
                    _ => false,
                };
                if last < 2 || new.ranks.iter().flatten().any(named) {
                    return None;
                }
                new.ranks.pop();
            }
            Change::Cut(rank, at, count) => {
                let steps = &mut new.ranks[rank];
                let end = (at + 1).min(steps.len());
                let start = end.saturating_sub(count);
                let plain = |step: &Step| matches!(step, Step::Pause { .. } | Step::Iprobe { .. } | Step::Free { .. });
                if count > 1 {
                    let kept: Vec<Step> = steps.drain(start..end).filter(|step| !plain(step)).collect();
                    steps.splice(start..start, kept);
                } else {
                    match steps.get(at)? {
                        step if plain(step) => drop(steps.remove(at)),
                        Step::Collective(_) => cut_collective(&mut new, rank, at),
                        _ => return None,
                    }
                }
            }
            Change::Message(send, receive) => {
                let is = |at: (usize, usize)| script.ranks[at.0].get(at.1);
                if !matches!((is(send), is(receive)), (Some(Step::Send { .. }), Some(Step::Recv { .. })))
                    || !may_meet(script, send, receive)
                {
                    return None;
                }
                let mut ends = [send, receive];
                ends.sort_unstable();
                for (rank, at) in ends.into_iter().rev() {
                    let step = new.ranks[rank].remove(at);
                    if let Step::Send { how, .. } | Step::Recv { how, .. } = step {
                        forget(&mut new.ranks[rank], how);
                    }
                }
            }
            Change::Simpler(rank, at, how) => simplify(&mut new.ranks[rank], at, how)?,
            Change::Tuning(which) => {
                let Tuning { eager, piece, zero_copy, halves, kept, policy } = &mut new.tuning;
                match which {
                    0 => *eager = None,
                    1 => *piece = None,
                    2 => *zero_copy = None,
                    3 => *halves = None,
                    4 => *kept = None,
                    _ => *policy = 0,
                }
            }
        }
        Some(new)
    }
}

/// Leaves out the collective that a rank takes part in at a step, at all ranks.
fn cut_collective(script: &mut Script, rank: usize, at: usize) {
    let is = |step: &Step| matches!(step, Step::Collective(_));
    let number = script.ranks[rank][..at].iter().filter(|step| is(step)).count();
    for steps in &mut script.ranks {
        let place = steps.iter().enumerate().filter(|(_, step)| is(step)).nth(number).map(|(at, _)| at);
        if let Some(at) = place {
            steps.remove(at);
        }
    }
}

/// A request is gone: no step waits for it.
fn forget(steps: &mut Vec<Step>, how: Posting) {
    let Some(id) = how.request() else { return };
    steps.retain_mut(|step| match step {
        Step::Wait { requests, .. } => {
            requests.retain(|&request| request != id);
            !requests.is_empty()
        }
        _ => true,
    });
}

fn simplify(steps: &mut Vec<Step>, at: usize, how: Simpler) -> Option<()> {
    // A persistent request's starts are alike.
    let persistent = matches!(
        steps.get(at)?,
        Step::Send { how: Posting::Persistent(..), .. } | Step::Recv { how: Posting::Persistent(..), .. }
    );
    match (how, steps.get_mut(at)?) {
        (Simpler::InARow, Step::Send { form, .. } | Step::Recv { form, .. }) if !persistent => {
            *form = Form { block: 0, stride: 0, ..*form };
        }
        (Simpler::Offset, Step::Send { form, .. } | Step::Recv { form, .. }) if !persistent => form.offset = 64,
        (Simpler::Standard, Step::Send { mode, .. }) if !persistent => *mode = Mode::Standard,
        (Simpler::NoProbe, Step::Recv { probe, .. }) => *probe = false,
        (Simpler::Each, Step::Wait { how, requests }) => {
            if *how == Waiting::Each && requests.len() > 1 {
                // One by one, so that each can go to where it belongs.
                let singles: Vec<Step> =
                    requests.iter().map(|&id| Step::Wait { how: Waiting::Each, requests: vec![id] }).collect();
                steps.splice(at..=at, singles);
            } else {
                *how = Waiting::Each;
            }
        }
        (Simpler::Blocking, Step::Send { how, .. } | Step::Recv { how, .. }) => {
            how.request().filter(|_| !persistent)?;
            let before = std::mem::replace(how, Posting::Blocking);
            forget(steps, before);
        }
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hotlink_port::Rank;

    const FORM: Form = Form { place: 0, private: true, offset: 64, block: 0, stride: 0 };

    fn send(to: Rank, tag: u32, how: Posting) -> Step {
        Step::Send { to, tag, bytes: 8, mode: Mode::Standard, form: FORM, how }
    }
    fn recv(from: Option<Rank>, tag: Option<u32>) -> Step {
        Step::Recv { from, tag, room: 8, form: FORM, how: Posting::Blocking, probe: false }
    }
    fn ends_always(ranks: Vec<Vec<Step>>) -> bool {
        ends(&Script { seed: 1, tuning: Tuning::default(), ranks })
    }

    /// A receive of any source may take another rank's message where the rank's own one comes late: then the program's
    /// last receive waits in vain. The smaller programs of a hunt must not be such.
    #[test]
    fn a_program_that_ends_only_if_a_message_is_quick_is_none_that_ends() {
        let wait = Step::Wait { how: Waiting::Each, requests: vec![0] };
        let own = vec![send(1, 1, Posting::Request(0)), recv(None, Some(1)), wait, recv(Some(0), Some(1))];
        assert!(!ends_always(vec![vec![send(1, 1, Posting::Blocking)], own]));
    }

    /// Rank 1 goes on after its first send only in a library that keeps short messages. Then its second may be the
    /// first that rank 2 sees, and rank 2's last receive waits in vain.
    #[test]
    fn a_program_that_ends_only_if_sends_wait_is_none_that_ends() {
        let program = |first: Option<Rank>| {
            vec![
                vec![send(2, 1, Posting::Blocking), send(2, 2, Posting::Blocking), recv(Some(1), None)],
                vec![send(0, 2, Posting::Blocking), send(2, 1, Posting::Blocking)],
                vec![recv(first, Some(1)), recv(Some(0), None), recv(Some(1), Some(1))],
            ]
        };
        assert!(!ends_always(program(None)));
        assert!(ends_always(program(Some(0))));
    }
}
