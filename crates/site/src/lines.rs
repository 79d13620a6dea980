//! A file line by line, with the number of each.

use hotlink_fabric::import::ImportError;
use std::io::{BufRead, Read};

/// Longest line that is read: a longer one is no text.
const LONGEST: u64 = 1 << 16;

/// A file as it is read.
pub(super) struct Lines<'a, R> {
    file: &'a str,
    from: R,
    line: Vec<u8>,
    number: u64,
}

impl<'a, R: BufRead> Lines<'a, R> {
    pub(super) fn new(file: &'a str, from: R) -> Lines<'a, R> {
        Lines { file, from, line: Vec::new(), number: 0 }
    }

    /// Reads the next line; false at the end. [`Lines::bytes`] and [`Lines::text`] then give it.
    pub(super) fn advance(&mut self) -> Result<bool, ImportError> {
        self.line.clear();
        self.number += 1;
        let read = (&mut self.from).take(LONGEST).read_until(b'\n', &mut self.line);
        match read {
            Err(error) => self.wrong(format!("cannot be read: {error}")),
            Ok(0) => Ok(false),
            Ok(bytes) if bytes as u64 == LONGEST && self.line.last() != Some(&b'\n') => {
                self.wrong(format!("a line of more than {LONGEST} bytes: this is no dump in text form"))
            }
            Ok(_) => {
                while self.line.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
                    self.line.pop();
                }
                Ok(true)
            }
        }
    }

    /// The line.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.line
    }

    /// The line as text; other bytes become replacement characters.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.line).into_owned()
    }

    /// Number of the line, the first being 1.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// A mistake on this line.
    pub(super) fn wrong<T>(&self, what: impl Into<String>) -> Result<T, ImportError> {
        self.wrong_at(self.number, what)
    }

    /// A mistake on another line.
    pub(super) fn wrong_at<T>(&self, number: u64, what: impl Into<String>) -> Result<T, ImportError> {
        Err(ImportError { place: format!("{}:{number}", self.file), what: what.into() })
    }

    /// A mistake of the whole file.
    pub(super) fn wrong_file<T>(&self, what: impl Into<String>) -> Result<T, ImportError> {
        Err(ImportError { place: self.file.to_owned(), what: what.into() })
    }

    /// The line, cut to what a message can show.
    pub(super) fn shown(&self) -> String {
        self.text().trim().chars().take(60).collect()
    }
}

/// A number in hexadecimal, with or without `0x`.
pub(super) fn hex(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let is_plain = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_plain.then(|| u64::from_str_radix(digits, 16).ok()).flatten()
}

/// The text after `open` up to `close`, and what follows `close`.
pub(super) fn between(text: &str, open: char, close: char) -> Option<(&str, &str)> {
    text.strip_prefix(open)?.split_once(close)
}
