//! What MPI's matching rules say of the results of a script.
//!
//! A receive and a message that match but did not meet need a reason. Either the receive took an earlier message, or
//! the message met an earlier receive. So if receive `R` got `m`, every message `n` that `R` would take and that a
//! later receive got came after `m`. Each sender's order adds further such demands on the order in which messages came.
//! The results are allowed if and only if no message must come before itself.

use super::model::takes;
use super::script::{Message, Script, Seen, Step, prefix};
use hotlink_message::Tag;
use hotlink_port::Rank;

/// What is promised of messages from different senders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// What MPI promises: nothing.
    Mpi,
    /// All receives of a rank see them in one order.
    OneOrder,
}

/// A receive of a script.
#[derive(Clone, Copy, Debug)]
struct Posted {
    from: Option<Rank>,
    tag: Option<Tag>,
    room: u64,
}

/// What is wrong with the results of a rank's receives, which stand in the order in which they were posted. Empty: they
/// are allowed.
pub fn judge(script: &Script, rank: Rank, seen: &[Seen], promise: Promise) -> Vec<String> {
    let receives: Vec<Posted> = script.ranks[rank as usize].iter().filter_map(posted).collect();
    let messages = script.messages_to(rank);
    let mut wrong = Vec::new();
    if receives.len() != seen.len() {
        wrong.push(format!("rank {rank}: {} receives ended of {}", seen.len(), receives.len()));
        return wrong;
    }
    // By message: the receive that got it.
    let mut taker: Vec<Option<usize>> = vec![None; messages.len()];
    for (number, (receive, seen)) in receives.iter().zip(seen).enumerate() {
        let told = format!("rank {rank}, receive {number} ({})", told_of(receive));
        if let Some(damage) = &seen.damage {
            wrong.push(format!("{told}: {damage}"));
        }
        let is = |(at, message): (usize, &Message)| taker[at].is_none() && is_it(receive, seen, message);
        match messages.iter().enumerate().position(is) {
            Some(at) => taker[at] = Some(number),
            None => wrong.push(format!("{told} got {}", stranger(seen, &messages, &taker))),
        }
    }
    if wrong.is_empty() {
        wrong.extend(disorder(rank, &receives, &messages, &taker, promise));
    }
    wrong
}

fn posted(step: &Step) -> Option<Posted> {
    match *step {
        Step::Recv { from, tag, room, .. } => Some(Posted { from, tag, room }),
        _ => None,
    }
}

fn told_of(receive: &Posted) -> String {
    let from = receive.from.map_or("anybody".to_owned(), |rank| format!("rank {rank}"));
    let tag = receive.tag.map_or("any tag".to_owned(), |tag| format!("tag {tag}"));
    format!("from {from}, {tag}, room {} B", receive.room)
}

/// Whether what a receive got can be this message.
fn is_it(receive: &Posted, seen: &Seen, message: &Message) -> bool {
    let named = match (&seen.status, seen.truncated) {
        (Ok(status), None) => {
            (status.from, status.tag, status.bytes) == (message.from, message.tag, message.bytes)
                && message.bytes <= receive.room
        }
        (_, Some(sent)) => sent == message.bytes && sent > receive.room,
        (Err(_), None) => false,
    };
    named
        && takes(receive.from, receive.tag, message)
        && seen.prefix == prefix(message.key, message.bytes.min(receive.room))
}

/// What came, if it is no message that may come.
fn stranger(seen: &Seen, messages: &[Message], taker: &[Option<usize>]) -> String {
    let known = messages.iter().position(|message| message.bytes >= 8 && message.key == seen.prefix);
    let contents = match known {
        Some(at) => {
            let Message { from, number, tag, bytes, .. } = messages[at];
            let before = taker[at].map(|other| format!(", which receive {other} got")).unwrap_or_default();
            format!("the contents of rank {from}'s send {number} (tag {tag}, {bytes} B){before}")
        }
        None => format!("contents that begin with {:#x}", seen.prefix),
    };
    format!("{:?} with {contents}: not the message that is due", seen.status)
}

/// A message that must come before itself, if there is one.
fn disorder(
    rank: Rank,
    receives: &[Posted],
    messages: &[Message],
    taker: &[Option<usize>],
    promise: Promise,
) -> Option<String> {
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); messages.len()];
    for (first, one) in messages.iter().enumerate() {
        for (second, other) in messages.iter().enumerate() {
            let sent_before = one.from == other.from && one.number < other.number;
            let refused = match (taker[first], taker[second]) {
                (Some(earlier), Some(later)) if earlier < later => {
                    takes(receives[earlier].from, receives[earlier].tag, other)
                }
                (Some(earlier), None) => takes(receives[earlier].from, receives[earlier].tag, other),
                _ => false,
            };
            let counts = promise == Promise::OneOrder || one.from == other.from;
            if first != second && (sent_before || (refused && counts)) {
                after[first].push(second);
            }
        }
    }
    let mut marks = vec![0u8; messages.len()];
    let circle = (0..messages.len()).find_map(|start| circle_from(start, &after, &mut marks))?;
    let Message { from, number, tag, .. } = messages[circle];
    let receive = taker[circle].map_or_else(|| "nobody".to_owned(), |receive| format!("receive {receive}"));
    let what = format!("rank {from}'s send {number} (tag {tag}), which {receive} got");
    Some(format!("rank {rank}: messages were matched in an order that is not allowed, among them {what}"))
}

fn circle_from(at: usize, after: &[Vec<usize>], marks: &mut [u8]) -> Option<usize> {
    match marks[at] {
        1 => return Some(at),
        2 => return None,
        _ => marks[at] = 1,
    }
    for &next in &after[at] {
        if let Some(circle) = circle_from(next, after, marks) {
            return Some(circle);
        }
    }
    marks[at] = 2;
    None
}

#[cfg(test)]
mod tests {
    use super::super::{Ground, generate, rehearse};
    use super::*;
    use hotlink_port::Limits;
    use hotlink_port::loopback::Random;

    fn ground() -> Ground {
        Ground::new(Limits { control_bytes_max: 256, ..Limits::messages("x") }, 9000)
    }

    /// In any order of the ranks, the sequential model's results are allowed, and every script ends.
    #[test]
    fn all_that_the_model_does_is_allowed() {
        for seed in 0..300 {
            let script = generate(seed, &ground());
            for turn in 0..8 {
                let seen = rehearse(&script, &mut Random::new(seed << 8 | turn)).expect("no deadlock");
                for (rank, seen) in seen.iter().enumerate() {
                    let wrong = judge(&script, rank as Rank, seen, Promise::OneOrder);
                    assert_eq!(wrong, [""; 0], "seed {seed}, turn {turn}: {script:?}");
                }
            }
        }
    }

    /// Two results of a rank exchanged. That is never allowed where no wildcard of source is, unless nobody could
    /// distinguish them.
    #[test]
    fn exchanged_results_are_not_allowed() {
        let (mut tried, mut caught) = (0, 0);
        for seed in 0..200 {
            let script = generate(seed, &ground());
            let Ok(seen) = rehearse(&script, &mut Random::new(seed)) else { panic!("seed {seed} deadlocks") };
            let wild = script.ranks.iter().flatten().any(|step| matches!(step, Step::Recv { from: None, .. }));
            for (rank, seen) in seen.iter().enumerate().filter(|_| !wild) {
                for at in 1..seen.len() {
                    let mut exchanged = seen.clone();
                    exchanged.swap(at - 1, at);
                    if exchanged != *seen {
                        tried += 1;
                        caught += u64::from(!judge(&script, rank as Rank, &exchanged, Promise::Mpi).is_empty());
                    }
                }
            }
        }
        assert!(tried > 500 && caught == tried, "{caught} of {tried} were caught");
    }

    #[test]
    fn messages_of_one_sender_do_not_overtake() {
        let text = |seen: &[Seen]| judge(&overtaking(), 1, seen, Promise::Mpi).join("; ");
        let script = overtaking();
        let got = |number: usize| {
            let message = script.messages_to(1)[number];
            let status = hotlink_message::Status { from: 0, tag: message.tag, bytes: message.bytes };
            Seen { status: Ok(status), truncated: None, prefix: message.key, damage: None }
        };
        assert_eq!(text(&[got(0), got(1)]), "");
        assert!(text(&[got(1), got(0)]).contains("not allowed"), "{}", text(&[got(1), got(0)]));
        assert!(text(&[got(0), got(0)]).contains("which receive 0 got"), "{}", text(&[got(0), got(0)]));
        let damaged = Seen { damage: Some("byte 9 is 7".to_owned()), ..got(1) };
        assert!(text(&[got(0), damaged]).contains("byte 9"));
    }

    fn overtaking() -> Script {
        use super::super::{Form, Posting, Tuning};
        let form = Form { place: 0, private: true, offset: 64, block: 0, stride: 0 };
        let send = || Step::Send {
            to: 1,
            tag: 3,
            bytes: 8,
            mode: hotlink_message::Mode::Standard,
            form,
            how: Posting::Blocking,
        };
        let receive = |tag| Step::Recv { from: Some(0), tag, room: 8, form, how: Posting::Blocking, probe: false };
        let ranks = vec![vec![send(), send()], vec![receive(None), receive(Some(3))]];
        Script { seed: 1, tuning: Tuning::default(), ranks }
    }
}
