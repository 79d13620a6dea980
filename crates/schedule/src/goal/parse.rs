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
//! Every rank has a block. Statements end with a line, a `;` or the block. Labels are the rank's own and may be used before they stand.

use super::GoalError;
use super::text::Text;
use crate::form::{ANY, Builder, Kind, MOST_BYTES, MOST_OPS, MOST_RANKS, MOST_UNITS, NONE, Op, Place, Schedule};
use std::collections::HashMap;
use std::io::Read;
use std::ops::Range;

/// Labels `l0` to this are kept in an array, and those after it as long as they are few for the operations.
const NUMBERED: usize = 1 << 20;
/// So many for each operation.
const SPREAD: usize = 4;
/// Digits of such a label.
const MOST_DIGITS: usize = 9;

/// Which bytes stand in words.
static WORD: [bool; 256] = {
    let mut is = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        is[byte] = (byte as u8).is_ascii_alphanumeric() || byte as u8 == b'_';
        byte += 1;
    }
    is
};

impl Schedule {
    /// Reads a schedule.
    ///
    /// # Errors
    /// The first mistake with its place.
    pub fn parse(text: &str) -> Result<Schedule, GoalError> {
        Ok(builder(text.as_bytes(), NONE)?.build())
    }
    /// Reads a schedule as it comes.
    ///
    /// # Errors
    /// The first mistake with its place.
    pub fn read_goal(from: impl Read) -> Result<Schedule, GoalError> {
        Ok(builder(from, NONE)?.build())
    }
}

/// All operations of a text, with the line of operation `watched`.
pub(crate) fn builder(from: impl Read, watched: u32) -> Result<Builder, GoalError> {
    let mut parser = Parser { text: Text::new(from) };
    let read = parser.schedule(watched);
    let failed = parser.text.failed.take().map(|error| (parser.text.at, format!("cannot be read: {error}")));
    let error = |(at, what)| {
        let (line, column) = parser.text.position(at);
        GoalError { line, column, what }
    };
    match (failed, read) {
        (Some(failed), _) => Err(error(failed)),
        (None, Err(Wrong::At(at, what))) => Err(error((at, what))),
        (None, Err(Wrong::Placed(error))) => Err(error),
        (None, Ok(builder)) => Ok(builder),
    }
}

/// What is wrong.
enum Wrong {
    /// At this offset of the statement.
    At(usize, String),
    /// In a statement before.
    Placed(GoalError),
}

impl From<(usize, String)> for Wrong {
    fn from((at, what): (usize, String)) -> Wrong {
        Wrong::At(at, what)
    }
}

struct Parser<R> {
    text: Text<R>,
}

/// Labels of one rank. Those of the form `l7`, which generators write, need no hash.
#[derive(Default)]
struct Labels {
    /// By number: an operation's id and one more. What is not above `first` is of a rank before.
    numbered: Vec<u32>,
    /// Id of the rank's first operation.
    first: u32,
    named: HashMap<Box<[u8]>, u32>,
}

impl Labels {
    fn slot(label: &[u8]) -> Option<usize> {
        let [b'l', digits @ ..] = label else { return None };
        if !(1..=MOST_DIGITS).contains(&digits.len()) || (digits[0] == b'0' && digits.len() > 1) {
            return None;
        }
        let mut number = 0;
        for &byte in digits {
            number = number * 10 + usize::from(byte.is_ascii_digit().then(|| byte - b'0')?);
        }
        Some(number)
    }
    fn get(&self, label: &[u8]) -> Option<u32> {
        let numbered = Self::slot(label).and_then(|slot| self.numbered.get(slot)).filter(|&&op| op > self.first);
        match numbered {
            Some(op) => Some(op - 1),
            None if self.named.is_empty() => None,
            None => self.named.get(label).copied(),
        }
    }
    /// False if the label stands already.
    fn insert(&mut self, label: &[u8], op: u32) -> bool {
        // What is in the array stays there: the rank's operations become more.
        let most = NUMBERED.max(SPREAD * (op - self.first) as usize);
        let Some(slot) = Self::slot(label).filter(|&slot| slot < most) else {
            return self.named.insert(label.into(), op).is_none();
        };
        if slot >= self.numbered.len() {
            self.numbered.resize((slot + 1).next_power_of_two(), 0);
        }
        let before = std::mem::replace(&mut self.numbered[slot], op + 1);
        before <= self.first && (self.named.is_empty() || !self.named.contains_key(label))
    }
    /// A rank begins, with this operation.
    fn begin(&mut self, first: u32) {
        self.first = first;
        self.named.clear();
    }
}

/// A label, with its line and column.
type Placed = (Box<[u8]>, (usize, usize));

/// A dependency whose labels were not all known yet, with their lines and columns.
struct Forward {
    labels: [Placed; 2],
    start_only: bool,
}

type Done<T> = Result<T, Wrong>;

impl<R: Read> Parser<R> {
    fn schedule(&mut self, watched: u32) -> Done<Builder> {
        self.skip_lines()?;
        let at = self.text.at;
        if !self.word_is(b"num_ranks") {
            return Err((at, "expected `num_ranks N`".to_owned()).into());
        }
        let ranks = self.number("the number of ranks", 1, u64::from(MOST_RANKS))? as u32;
        let mut builder = Builder::watching(ranks, watched);
        let mut labels = Labels::default();
        loop {
            self.skip_lines()?;
            self.text.begin();
            let at = self.text.at;
            if self.text.peek().is_none() {
                // LogGOPSim's generators write a block for every rank: a text without one is cut short.
                return match builder.without() {
                    None => Ok(builder),
                    Some((rank, many)) => {
                        let what = format!("ends without the blocks of {many} of {ranks} ranks");
                        Err((at, format!("{what}; one that does nothing has an empty block: rank {rank} {{ }}")).into())
                    }
                };
            }
            if !self.word_is(b"rank") {
                return Err((at, "expected `rank R {` or the end".to_owned()).into());
            }
            self.block(&mut builder, &mut labels)?;
        }
    }

    /// `R { ... }`
    fn block(&mut self, builder: &mut Builder, labels: &mut Labels) -> Done<()> {
        self.skip()?;
        let at = self.text.at;
        let rank = self.number("the rank", 0, u64::from(builder.ranks()) - 1)? as u32;
        if !builder.begin(rank) {
            return Err((at, format!("rank {rank} occurs twice")).into());
        }
        self.skip_lines()?;
        self.byte(b'{', "`{`")?;
        labels.begin(builder.ops() as u32);
        let mut forward = Vec::new();
        loop {
            self.skip_lines()?;
            self.text.begin();
            if self.text.peek() == Some(b'}') {
                self.text.at += 1;
                break;
            }
            self.statement(rank, builder, labels, &mut forward)?;
        }
        for Forward { labels: [after, before], start_only } in &forward {
            let find = |(label, (line, column)): &Placed| {
                let what = || format!("label `{}` is unknown", show(label));
                let unknown = || GoalError { line: *line, column: *column, what: what() };
                labels.get(label).ok_or_else(|| Wrong::Placed(unknown()))
            };
            builder.requires(find(after)?, find(before)?, *start_only);
        }
        Ok(())
    }

    fn statement(
        &mut self,
        rank: u32,
        builder: &mut Builder,
        labels: &mut Labels,
        forward: &mut Vec<Forward>,
    ) -> Done<()> {
        if builder.edges() >= u32::MAX as usize {
            return Err((self.text.at, "more than 2^32 dependencies".to_owned()).into());
        }
        builder.stands(Place { file: 0, at: [self.text.statement_line() as u64, 0] });
        let at = self.text.at;
        let first = self.word();
        if let Some(kind) = kind_of(self.text.bytes(&first)) {
            self.operation(kind, rank, builder)?;
            return self.end();
        }
        if first.is_empty() {
            return Err((at, "expected a label, `send`, `recv`, `calc` or `}`".to_owned()).into());
        }
        self.skip()?;
        if self.text.peek() == Some(b':') {
            self.text.at += 1;
            self.skip()?;
            let op_at = self.text.at;
            let word = self.word();
            let kind = kind_of(self.text.bytes(&word));
            let kind = kind.ok_or((op_at, "expected `send`, `recv` or `calc`".to_owned()))?;
            let op = self.operation(kind, rank, builder)?;
            let label = self.text.bytes(&first);
            if !labels.insert(label, op) {
                return Err((at, format!("label `{}` occurs twice", show(label))).into());
            }
            return self.end();
        }
        let verb_at = self.text.at;
        let verb = self.word();
        let start_only = match self.text.bytes(&verb) {
            b"requires" => false,
            b"irequires" => true,
            _ => return Err((verb_at, "expected `:`, `requires` or `irequires` after a label".to_owned()).into()),
        };
        self.skip()?;
        let before_at = self.text.at;
        let before = self.word();
        if before.is_empty() {
            return Err((before_at, "expected a label".to_owned()).into());
        }
        let known = [&first, &before].map(|label| labels.get(self.text.bytes(label)));
        match known {
            [Some(after), Some(before)] => builder.requires(after, before, start_only),
            _ => {
                let labels = [(first, at), (before, before_at)]
                    .map(|(label, at)| (self.text.bytes(&label).into(), self.text.position(at)));
                forward.push(Forward { labels, start_only });
            }
        }
        self.end()
    }

    /// What follows `send`, `recv` or `calc`.
    fn operation(&mut self, kind: Kind, rank: u32, builder: &mut Builder) -> Done<u32> {
        let mut op = Op { kind, cpu: 0, nic: 0, rank, peer: 0, tag: 0, size: 0 };
        if kind == Kind::Calc {
            op.size = self.number("the time", 0, MOST_UNITS)?;
        } else {
            op.size = self.number("the bytes", 0, MOST_BYTES)?;
            self.byte(b'b', "`b` after the bytes")?;
            let (preposition, any) = if kind == Kind::Send { ("to", None) } else { ("from", Some(ANY)) };
            self.skip()?;
            let at = self.text.at;
            if !self.word_is(preposition.as_bytes()) {
                return Err((at, format!("expected `{preposition}`")).into());
            }
            op.peer = self.number_or_any("the other rank", u64::from(builder.ranks()) - 1, any)?;
        }
        loop {
            self.skip()?;
            let at = self.text.at;
            let word = self.word();
            match self.text.bytes(&word) {
                b"cpu" => op.cpu = self.number("the processor", 0, 255)? as u8,
                b"nic" if kind != Kind::Calc => op.nic = self.number("the adapter", 0, 255)? as u8,
                b"tag" if kind != Kind::Calc => {
                    let any = (kind == Kind::Recv).then_some(ANY);
                    op.tag = self.number_or_any("the tag", u64::from(ANY) - 1, any)?;
                }
                b"" => break,
                _ if kind == Kind::Calc => {
                    return Err((at, "expected `cpu` or the end of the statement".to_owned()).into());
                }
                _ => return Err((at, "expected `tag`, `cpu`, `nic` or the end of the statement".to_owned()).into()),
            }
        }
        if builder.ops() >= MOST_OPS {
            return Err((self.text.at, format!("more than {MOST_OPS} operations")).into());
        }
        Ok(builder.add(op))
    }

    fn number_or_any(&mut self, what: &str, most: u64, any: Option<u32>) -> Done<u32> {
        self.skip()?;
        if let Some(any) = any
            && self.text.peek() == Some(b'-')
            && self.text.peek_at(1) == Some(b'1')
        {
            self.text.at += 2;
            return Ok(any);
        }
        self.number(what, 0, most).map(|number| number as u32)
    }

    fn number(&mut self, what: &str, least: u64, most: u64) -> Done<u64> {
        self.skip()?;
        let at = self.text.at;
        let mut number = 0u64;
        self.text.pass(|byte| {
            let digit = byte.wrapping_sub(b'0');
            if digit < 10 {
                number = number.saturating_mul(10).saturating_add(u64::from(digit));
            }
            digit < 10
        });
        if self.text.at == at || number < least || number > most {
            let none = self.text.at == at;
            let found = if none { "no number".to_owned() } else { show(self.text.bytes(&(at..self.text.at))) };
            return Err((at, format!("{what}: {found} (allowed: {least} to {most})")).into());
        }
        Ok(number)
    }

    /// A word, or nothing.
    fn word(&mut self) -> Range<usize> {
        let start = self.text.at;
        if self.text.peek().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_') {
            self.text.pass(|byte| WORD[usize::from(byte)]);
        }
        start..self.text.at
    }

    fn word_is(&mut self, expected: &[u8]) -> bool {
        let word = self.word();
        self.text.bytes(&word) == expected
    }

    fn byte(&mut self, byte: u8, what: &str) -> Done<()> {
        self.skip()?;
        if self.text.peek() != Some(byte) {
            return Err((self.text.at, format!("expected {what}")).into());
        }
        self.text.at += 1;
        Ok(())
    }

    /// The end of a statement.
    fn end(&mut self) -> Done<()> {
        self.skip()?;
        match self.text.peek() {
            Some(b';') => self.text.at += 1,
            Some(b'\n') => {
                self.text.at += 1;
                self.text.line();
            }
            Some(b'}') => {}
            _ => {
                let what = "expected the end of the statement: a new line, `;` or `}`";
                return Err((self.text.at, what.to_owned()).into());
            }
        }
        Ok(())
    }

    /// Blanks and comments, not line ends.
    #[inline(always)]
    fn skip(&mut self) -> Done<()> {
        while self.text.peek() == Some(b' ') {
            self.text.at += 1;
        }
        match self.text.peek() {
            Some(b'\t' | b'\r' | b'/') => self.skip_more(),
            _ => Ok(()),
        }
    }

    #[inline(never)]
    fn skip_more(&mut self) -> Done<()> {
        loop {
            match self.text.peek() {
                Some(b' ' | b'\t' | b'\r') => self.text.at += 1,
                Some(b'/') => self.comment()?,
                _ => return Ok(()),
            }
        }
    }

    /// Blanks, comments, line ends and empty statements.
    fn skip_lines(&mut self) -> Done<()> {
        loop {
            self.skip()?;
            match self.text.peek() {
                Some(b';') => self.text.at += 1,
                Some(b'\n') => {
                    self.text.at += 1;
                    self.text.line();
                }
                _ => return Ok(()),
            }
        }
    }

    fn comment(&mut self) -> Done<()> {
        let start = self.text.at;
        match self.text.peek_at(1) {
            Some(b'/') => {
                self.text.pass(|byte| byte != b'\n');
            }
            Some(b'*') => {
                let (line, column) = self.text.position(start);
                self.text.at += 2;
                loop {
                    match self.text.peek() {
                        Some(b'*') if self.text.peek_at(1) == Some(b'/') => break self.text.at += 2,
                        Some(byte) => {
                            self.text.at += 1;
                            if byte == b'\n' {
                                self.text.line();
                            }
                        }
                        None => {
                            let what = "this comment has no end: `*/`".to_owned();
                            return Err(Wrong::Placed(GoalError { line, column, what }));
                        }
                    }
                }
            }
            _ => return Err((start, "a lone `/`: comments are `// ...` and `/* ... */`".to_owned()).into()),
        }
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
