//! LogGOPSim's GOAL text.
//!
//! ```text
//! num_ranks 2
//! rank 0 {
//!   a: calc 1000 cpu 0
//!   b: send 8b to 1 tag 3 cpu 0 nic 0   // a comment
//!   b requires a                        /* irequires: waits for the start only */
//! }
//! rank 1 { recv 8b from -1 tag -1 }
//! ```
//!
//! Statements end with a line, a `;` or the block. Labels are the rank's own and may be used before they stand.

use super::schedule::{ANY, Builder, Kind, MOST_OPS, MOST_RANKS, Op, Schedule};
use hotlink_event::NONE;
use std::collections::HashMap;

/// What is wrong with a text, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {what}")]
pub struct GoalError {
    /// Line, from 1.
    pub line: usize,
    /// Column in bytes, from 1.
    pub column: usize,
    /// What was wrong, and what is allowed.
    pub what: String,
}

/// A message of more bytes is a slip of the pen.
const MOST_BYTES: u64 = 1 << 40;
/// The longest computation: 10^15 units.
const MOST_UNITS: u64 = 1_000_000_000_000_000;
/// Labels `l0` to this are kept in an array.
const NUMBERED: usize = 1 << 20;

impl Schedule {
    /// Reads a schedule.
    ///
    /// # Errors
    /// The first mistake with its place.
    pub fn parse(text: &str) -> Result<Schedule, GoalError> {
        Parser { text: text.as_bytes(), at: 0 }.schedule().map_err(|(at, what)| {
            let before = &text.as_bytes()[..at.min(text.len())];
            let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
            let column = before.iter().rev().take_while(|&&byte| byte != b'\n').count() + 1;
            GoalError { line, column, what }
        })
    }
}

/// Offset in the text and what is wrong there.
type Wrong = (usize, String);

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
}

/// Labels of one rank. Those of the form `l7`, which generators write, need no hash.
struct Labels<'a> {
    numbered: Vec<u32>,
    used: Vec<usize>,
    named: HashMap<&'a [u8], u32>,
}

impl<'a> Labels<'a> {
    fn slot(label: &[u8]) -> Option<usize> {
        let [b'l', digits @ ..] = label else { return None };
        if !(1..=7).contains(&digits.len()) || (digits[0] == b'0' && digits.len() > 1) {
            return None;
        }
        let mut number = 0;
        for &byte in digits {
            number = number * 10 + usize::from(byte.is_ascii_digit().then(|| byte - b'0')?);
        }
        Some(number).filter(|&number| number < NUMBERED)
    }
    fn get(&self, label: &[u8]) -> Option<u32> {
        match Self::slot(label) {
            Some(slot) => self.numbered.get(slot).copied().filter(|&op| op != NONE),
            None => self.named.get(label).copied(),
        }
    }
    /// False if the label stands already.
    fn insert(&mut self, label: &'a [u8], op: u32) -> bool {
        let Some(slot) = Self::slot(label) else { return self.named.insert(label, op).is_none() };
        if slot >= self.numbered.len() {
            self.numbered.resize((slot + 1).next_power_of_two(), NONE);
        }
        self.used.push(slot);
        std::mem::replace(&mut self.numbered[slot], op) == NONE
    }
    fn clear(&mut self) {
        self.used.drain(..).for_each(|slot| self.numbered[slot] = NONE);
        self.named.clear();
    }
}

/// A dependency whose labels were not all known yet.
struct Forward<'a> {
    labels: [(&'a [u8], usize); 2],
    start_only: bool,
}

impl<'a> Parser<'a> {
    fn schedule(mut self) -> Result<Schedule, Wrong> {
        self.skip_lines()?;
        let at = self.at;
        if self.word() != b"num_ranks" {
            return Err((at, "expected `num_ranks N`".to_owned()));
        }
        let ranks = self.number("the number of ranks", 1, u64::from(MOST_RANKS))? as u32;
        let mut builder = Builder::new(ranks);
        let mut labels = Labels { numbered: Vec::new(), used: Vec::new(), named: HashMap::new() };
        loop {
            self.skip_lines()?;
            let at = self.at;
            if at == self.text.len() {
                return Ok(builder.build());
            }
            if self.word() != b"rank" {
                return Err((at, "expected `rank R {` or the end".to_owned()));
            }
            self.block(&mut builder, &mut labels)?;
        }
    }

    /// `R { ... }`
    fn block(&mut self, builder: &mut Builder, labels: &mut Labels<'a>) -> Result<(), Wrong> {
        self.skip()?;
        let at = self.at;
        let rank = self.number("the rank", 0, u64::from(builder.ranks()) - 1)? as u32;
        if !builder.begin(rank) {
            return Err((at, format!("rank {rank} stands twice")));
        }
        self.skip_lines()?;
        self.byte(b'{', "`{`")?;
        labels.clear();
        let mut forward = Vec::new();
        loop {
            self.skip_lines()?;
            if self.peek() == Some(b'}') {
                self.at += 1;
                break;
            }
            self.statement(rank, builder, labels, &mut forward)?;
        }
        for Forward { labels: [after, before], start_only } in forward {
            let find =
                |(label, at)| labels.get(label).ok_or_else(|| (at, format!("label `{}` is unknown", show(label))));
            builder.requires(find(after)?, find(before)?, start_only);
        }
        Ok(())
    }

    fn statement(
        &mut self,
        rank: u32,
        builder: &mut Builder,
        labels: &mut Labels<'a>,
        forward: &mut Vec<Forward<'a>>,
    ) -> Result<(), Wrong> {
        if builder.edges() >= u32::MAX as usize {
            return Err((self.at, "more than 2^32 dependencies".to_owned()));
        }
        let at = self.at;
        let first = self.word();
        if let Some(kind) = kind_of(first) {
            self.operation(kind, rank, builder)?;
            return self.end();
        }
        if first.is_empty() {
            return Err((at, "expected a label, `send`, `recv`, `calc` or `}`".to_owned()));
        }
        self.skip()?;
        if self.peek() == Some(b':') {
            self.at += 1;
            self.skip()?;
            let op_at = self.at;
            let kind = kind_of(self.word()).ok_or((op_at, "expected `send`, `recv` or `calc`".to_owned()))?;
            let op = self.operation(kind, rank, builder)?;
            if !labels.insert(first, op) {
                return Err((at, format!("label `{}` stands twice", show(first))));
            }
            return self.end();
        }
        let verb_at = self.at;
        let start_only = match self.word() {
            b"requires" => false,
            b"irequires" => true,
            _ => return Err((verb_at, "expected `:`, `requires` or `irequires` after a label".to_owned())),
        };
        self.skip()?;
        let (before_at, before) = (self.at, self.word());
        if before.is_empty() {
            return Err((before_at, "expected a label".to_owned()));
        }
        match (labels.get(first), labels.get(before)) {
            (Some(after), Some(before)) => builder.requires(after, before, start_only),
            _ => forward.push(Forward { labels: [(first, at), (before, before_at)], start_only }),
        }
        self.end()
    }

    /// What follows `send`, `recv` or `calc`.
    fn operation(&mut self, kind: Kind, rank: u32, builder: &mut Builder) -> Result<u32, Wrong> {
        let mut op = Op { kind, cpu: 0, nic: 0, rank, peer: 0, tag: 0, size: 0 };
        if kind == Kind::Calc {
            op.size = self.number("the time", 0, MOST_UNITS)?;
        } else {
            op.size = self.number("the bytes", 0, MOST_BYTES)?;
            self.byte(b'b', "`b` after the bytes")?;
            let (preposition, any) = if kind == Kind::Send { ("to", None) } else { ("from", Some(ANY)) };
            self.skip()?;
            let at = self.at;
            if self.word() != preposition.as_bytes() {
                return Err((at, format!("expected `{preposition}`")));
            }
            op.peer = self.number_or_any("the other rank", u64::from(builder.ranks()) - 1, any)?;
        }
        loop {
            self.skip()?;
            let at = self.at;
            match self.word() {
                b"cpu" => op.cpu = self.number("the processor", 0, 255)? as u8,
                b"nic" if kind != Kind::Calc => op.nic = self.number("the adapter", 0, 255)? as u8,
                b"tag" if kind != Kind::Calc => {
                    let any = (kind == Kind::Recv).then_some(ANY);
                    op.tag = self.number_or_any("the tag", u64::from(ANY) - 1, any)?;
                }
                b"" => break,
                _ if kind == Kind::Calc => return Err((at, "expected `cpu` or the end of the statement".to_owned())),
                _ => return Err((at, "expected `tag`, `cpu`, `nic` or the end of the statement".to_owned())),
            }
        }
        if builder.ops() >= MOST_OPS {
            return Err((self.at, format!("more than {MOST_OPS} operations")));
        }
        Ok(builder.add(op))
    }

    fn number_or_any(&mut self, what: &str, most: u64, any: Option<u32>) -> Result<u32, Wrong> {
        self.skip()?;
        if let Some(any) = any
            && self.text[self.at..].starts_with(b"-1")
        {
            self.at += 2;
            return Ok(any);
        }
        self.number(what, 0, most).map(|number| number as u32)
    }

    fn number(&mut self, what: &str, least: u64, most: u64) -> Result<u64, Wrong> {
        self.skip()?;
        let at = self.at;
        let mut number = 0u64;
        while let Some(digit) = self.peek().filter(u8::is_ascii_digit) {
            number = number.saturating_mul(10).saturating_add(u64::from(digit - b'0'));
            self.at += 1;
        }
        if self.at == at || number < least || number > most {
            let found = if self.at == at { "no number".to_owned() } else { show(&self.text[at..self.at]) };
            return Err((at, format!("{what}: {found} (allowed: {least} to {most})")));
        }
        Ok(number)
    }

    /// A word, or nothing.
    fn word(&mut self) -> &'a [u8] {
        let rest = &self.text[self.at..];
        let length = match rest.first() {
            Some(first) if first.is_ascii_alphabetic() || *first == b'_' => {
                rest.iter().position(|&byte| !(byte.is_ascii_alphanumeric() || byte == b'_')).unwrap_or(rest.len())
            }
            _ => 0,
        };
        self.at += length;
        &rest[..length]
    }

    fn byte(&mut self, byte: u8, what: &str) -> Result<(), Wrong> {
        self.skip()?;
        if self.peek() != Some(byte) {
            return Err((self.at, format!("expected {what}")));
        }
        self.at += 1;
        Ok(())
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// The end of a statement.
    fn end(&mut self) -> Result<(), Wrong> {
        self.skip()?;
        match self.peek() {
            Some(b'\n' | b';') => self.at += 1,
            Some(b'}') => {}
            _ => return Err((self.at, "expected the end of the statement: a new line, `;` or `}`".to_owned())),
        }
        Ok(())
    }

    /// Blanks and comments, not line ends.
    fn skip(&mut self) -> Result<(), Wrong> {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\r') => self.at += 1,
                Some(b'/') => self.comment()?,
                _ => return Ok(()),
            }
        }
    }

    /// Blanks, comments, line ends and empty statements.
    fn skip_lines(&mut self) -> Result<(), Wrong> {
        loop {
            self.skip()?;
            if !matches!(self.peek(), Some(b'\n' | b';')) {
                return Ok(());
            }
            self.at += 1;
        }
    }

    fn comment(&mut self) -> Result<(), Wrong> {
        let rest = &self.text[self.at..];
        let length = match rest.get(1) {
            Some(b'/') => rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len()),
            Some(b'*') => match rest[2..].windows(2).position(|pair| pair == b"*/") {
                Some(inside) => inside + 4,
                None => return Err((self.at, "this comment has no end: `*/`".to_owned())),
            },
            _ => return Err((self.at, "a lone `/`: comments are `// ...` and `/* ... */`".to_owned())),
        };
        self.at += length;
        Ok(())
    }
}

fn kind_of(word: &[u8]) -> Option<Kind> {
    match word {
        b"send" => Some(Kind::Send),
        b"recv" => Some(Kind::Recv),
        b"calc" => Some(Kind::Calc),
        _ => None,
    }
}

fn show(word: &[u8]) -> String {
    let mut text = String::from_utf8_lossy(&word[..word.len().min(40)]).into_owned();
    if word.len() > 40 {
        text.push_str("...");
    }
    text
}
