//! Ranks that people start by a command each (`--listen`, `--connect`) must ask for the same. Another window or number
//! of blocks would hang, or mix two measurements into one record.

use crate::request::{Carrier, Repetition, Request};
use crate::session::{Session, failure};
use hotlink_port::Driver;
use hotlink_real::{Seat, Tcp};
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
    let all = Tcp::new(session.limits()).run(ranks, &|_: Seat| async { mine.clone() }).map_err(failure)?;
    match in_words(&differing(&all)) {
        what if what.is_empty() => Ok(()),
        what => Err(Error::Input(format!("--listen, --connect: {what}"))),
    }
}

/// This process's choices as a text, one on each line, for [`objection`] in another process.
pub(crate) fn told(request: &Request) -> String {
    choices(request).iter().map(|(name, value)| format!("{name}\t{value}\n")).collect()
}

/// How the choices in another process's [`told`] differ from those of this one, which is rank 0; empty if they do not.
pub(crate) fn objection(request: &Request, other: &str) -> String {
    let split = |line: &str| line.split_once('\t').map(|(name, value)| (name.to_owned(), value.to_owned()));
    in_words(&differing(&[choices(request), other.lines().filter_map(split).collect()]))
}

fn in_words(differing: &[String]) -> String {
    if differing.is_empty() {
        return String::new();
    }
    let what = "the commands do not ask for the same, and must but for --listen, --connect and --as-rank";
    format!("{what}: {}", differing.join("; "))
}

/// Choices by name, as this process has them.
fn choices(request: &Request) -> Vec<(String, String)> {
    let Carrier { via, copy, cache, watching, .. } = &request.carrier;
    let Repetition { fabric, time_s, blocks, spread_s, limit_s, rounds, raw: _, buffers } = &request.repetition;
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
    tell("limit", format!("{limit_s:?}"));
    tell("rounds", rounds.to_string());
    // Sockets have buffers of their own.
    tell("message buffers", buffers.name().to_owned());
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

/// Differences between ranks, in words.
fn differing(all: &[Vec<(String, String)>]) -> Vec<String> {
    let Some(first) = all.first() else { return Vec::new() };
    let of = |rank: usize, name: &str| {
        let found = all[rank].iter().find(|(known, _)| known == name);
        found.map_or("none", |(_, value)| value.as_str())
    };
    let one = |(name, value): &(String, String)| {
        let other = (1..all.len()).find(|&rank| of(rank, name) != value)?;
        Some(format!("{name} is {} on rank 0 and {} on rank {other}", given(value), given(of(other, name))))
    };
    first.iter().filter_map(one).collect()
}

/// The debug text of an option that may be left out, in plain words.
fn given(value: &str) -> &str {
    match value {
        "None" => "not given",
        _ => value.strip_prefix("Some(").and_then(|inside| inside.strip_suffix(')')).unwrap_or(value),
    }
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
        assert_eq!(told(&one, &other), "window is 4 on rank 0 and 8 on rank 1");
        let told_without = told(&stream(None), &other);
        assert_eq!(told_without, "window is not given on rank 0 and 8 on rank 1");
        let sockets = Request::new(Choices::default().benchmark("sockets").unwrap());
        assert_eq!(objection(&sockets, &super::told(&sockets)), "");
        assert_eq!(objection(&one, &super::told(&one)), "");
        let what = objection(&one, &super::told(&other));
        assert!(what.ends_with("and --as-rank: window is 4 on rank 0 and 8 on rank 1"), "{what}");
        assert_eq!(
            told(&one, &longer),
            "time is 0.5 on rank 0 and 2 on rank 1; blocks is 12 on rank 0 and 3 on rank 1"
        );
        assert!(choices(&one).contains(&("sizes".to_owned(), "[8, 64]".to_owned())), "{:?}", choices(&one));
    }
}
