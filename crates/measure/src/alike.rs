//! Ranks that people start by a command each (`--listen`, `--connect`) must ask for the same: another window or number of
//! blocks would hang, or mix two measurements into one record.

use crate::request::{Carrier, Repetition, Request};
use crate::session::{Session, failure};
use hotlink_port::Driver;
use hotlink_real::{Tcp, TcpPort};
use hotlink_study::Error;

/// Refuses ranks of several commands that do not ask for the same.
///
/// # Errors
/// Every choice that differs, with what each rank has.
pub(crate) fn check(session: &Session<'_>) -> Result<(), Error> {
    if !session.request.hosts.are_several() {
        return Ok(());
    }
    let Some((_, ranks)) = hotlink_real::launched().map_err(failure)? else { return Ok(()) };
    let mine = choices(session.request);
    let all = Tcp::new(session.limits()).run(ranks, &|_: TcpPort| async { mine.clone() }).map_err(failure)?;
    let differing = differing(&all);
    match differing.is_empty() {
        true => Ok(()),
        false => {
            let what = "the commands do not ask for the same, and must but for --listen, --connect and --as-rank";
            Err(Error::Input(format!("--listen, --connect: {what}: {}", differing.join("; "))))
        }
    }
}

/// Choices by name, as this process has them.
fn choices(request: &Request) -> Vec<(String, String)> {
    let Carrier { via, copy, cache, watching, .. } = &request.carrier;
    let Repetition { fabric, time_s, blocks, spread_s, rounds, raw: _, buffers } = &request.repetition;
    let mut choices = leaves(&format!("{:?}", request.benchmark));
    let mut tell = |name: &str, value: String| choices.push((name.to_owned(), value));
    tell("via", format!("{via:?}"));
    tell("copy", format!("{copy:?}"));
    tell("cache", format!("{cache:?}"));
    tell("trace, count, inject", format!("{watching:?}"));
    tell("fabric", fabric.clone());
    tell("time", time_s.to_string());
    tell("blocks", blocks.to_string());
    tell("spread", format!("{spread_s:?}"));
    tell("rounds", rounds.to_string());
    tell("buffers", buffers.name().to_owned());
    choices
}

/// The fields of a value's debug text, those of a field that is a struct among them: `A(B { c: 1, d: [2, 3] })` has c and d.
fn leaves(text: &str) -> Vec<(String, String)> {
    let Some((_, inside)) = text.split_once("{ ").filter(|_| text.ends_with(['}', ')'])) else { return Vec::new() };
    let inside = inside.trim_end_matches([')', '}', ' ']);
    let (mut depth, mut from, mut parts) = (0, 0, Vec::new());
    for (at, letter) in inside.char_indices() {
        match letter {
            '[' | '(' | '{' => depth += 1,
            ']' | ')' | '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&inside[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&inside[from..]);
    let named = |part: &str| {
        let (name, value) = part.trim().split_once(": ")?;
        Some((name.to_owned(), value.to_owned()))
    };
    parts.into_iter().filter_map(named).collect()
}

/// What differs between ranks, in words.
fn differing(all: &[Vec<(String, String)>]) -> Vec<String> {
    let Some(first) = all.first() else { return Vec::new() };
    let of = |rank: usize, name: &str| {
        let found = all[rank].iter().find(|(known, _)| known == name);
        found.map_or("none", |(_, value)| value.as_str())
    };
    let one = |(name, value): &(String, String)| {
        let other = (1..all.len()).find(|&rank| of(rank, name) != value)?;
        Some(format!("{name} is {value} on rank 0 and {} on rank {other}", of(other, name)))
    };
    first.iter().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Choices;

    #[test]
    fn what_differs_is_named_with_what_each_has() {
        let stream = |window| {
            let choices = Choices { size: Some(vec![8, 64]), window, ..Choices::default() };
            Request::new(choices.benchmark("stream").unwrap())
        };
        let (one, other) = (stream(Some(4)), stream(Some(8)));
        let longer =
            Request { repetition: Repetition { time_s: 2.0, blocks: 3, ..Repetition::default() }, ..one.clone() };
        let told = |a: &Request, b: &Request| differing(&[choices(a), choices(b)]).join("; ");
        assert_eq!(told(&one, &one), "");
        assert_eq!(told(&one, &other), "window is Some(4) on rank 0 and Some(8) on rank 1");
        assert_eq!(
            told(&one, &longer),
            "time is 0.5 on rank 0 and 2 on rank 1; blocks is 12 on rank 0 and 3 on rank 1"
        );
        assert!(choices(&one).contains(&("sizes".to_owned(), "[8, 64]".to_owned())), "{:?}", choices(&one));
    }
}
