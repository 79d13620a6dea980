//! What is wrong with a file, with its place.

use std::fmt;
use std::ops::Range;

/// One mistake of a file, as `file:line:column: key: what was wrong (allowed: ...)`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mistake {
    /// The file as the user named it, or `built-in:fabrics/NAME.toml`.
    pub file: String,
    /// Line, from 1; 0 where the mistake is the file itself.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The key, dotted (`resource.link.gross.unit`); empty where the text is no TOML.
    pub key: String,
    /// What was wrong.
    pub what: String,
    /// What is allowed; empty if the message says it all.
    pub allowed: String,
    /// Its kind, for readers that tell it in other words.
    pub kind: MistakeKind,
}

/// Kinds of mistake that a reader tells apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum MistakeKind {
    /// A key that nothing reads.
    UnknownKey,
    /// Any other.
    #[default]
    Other,
}

impl Mistake {
    /// A mistake of the file as a whole.
    pub fn of_file(file: &str, what: impl Into<String>, allowed: impl Into<String>) -> Mistake {
        let (what, allowed) = (what.into(), allowed.into());
        Mistake {
            file: file.to_owned(),
            line: 0,
            column: 0,
            key: String::new(),
            what,
            allowed,
            kind: MistakeKind::Other,
        }
    }
}

/// All of them, one a line.
pub fn one_a_line(mistakes: &[Mistake]) -> String {
    mistakes.iter().map(Mistake::to_string).collect::<Vec<_>>().join("\n")
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file)?;
        if self.line > 0 {
            write!(f, "{}:{}:", self.line, self.column)?;
        }
        if !self.key.is_empty() {
            write!(f, " {}:", self.key)?;
        }
        write!(f, " {}", self.what)?;
        if self.allowed.is_empty() { Ok(()) } else { write!(f, " (allowed: {})", self.allowed) }
    }
}

/// Finds the line and column of places in a text.
pub struct Lines<'a> {
    text: &'a str,
    /// Where each line starts.
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    /// The lines of this text.
    pub fn new(text: &'a str) -> Lines<'a> {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Lines { text, starts }
    }

    /// Line and column (from 1, in characters) of the start of `span`.
    pub fn place(&self, span: &Range<usize>) -> (usize, usize) {
        let mut at = span.start.min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        let line = self.starts.partition_point(|start| *start <= at);
        (line, self.text[self.starts[line - 1]..at].chars().count() + 1)
    }
}

/// The candidate most like `word`, if one is near enough to be what was meant.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (word.chars().count() / 3).max(1) + 1;
    let scored = candidates.into_iter().map(|candidate| (distance(word, candidate), candidate));
    scored.filter(|(score, _)| *score <= limit).min().map(|(_, candidate)| candidate)
}

/// Levenshtein distance.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replace = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replace.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
