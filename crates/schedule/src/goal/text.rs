//! A text that is read through a window: schedules may be larger than memory.

use std::io::Read;
use std::ops::Range;

/// Bytes read at once.
const WINDOW: usize = 1 << 18;

pub(super) struct Text<R> {
    from: R,
    buffer: Vec<u8>,
    /// Bytes of the buffer that hold text.
    filled: usize,
    /// Where in the text the buffer begins.
    base: usize,
    /// Where the reader is in the text.
    pub at: usize,
    /// From here on the text is kept.
    keep: usize,
    ended: bool,
    /// Line ends passed, and where the line begins.
    lines: usize,
    line_start: usize,
    /// The same at the statement's start.
    statement: (usize, usize),
    /// Why reading ended early.
    pub failed: Option<std::io::Error>,
}

impl<R: Read> Text<R> {
    pub fn new(from: R) -> Text<R> {
        Text {
            from,
            buffer: vec![0; WINDOW],
            filled: 0,
            base: 0,
            at: 0,
            keep: 0,
            ended: false,
            lines: 0,
            line_start: 0,
            statement: (0, 0),
            failed: None,
        }
    }

    /// A statement begins here: what was before it is done with.
    #[inline]
    pub fn begin(&mut self) {
        self.keep = self.at;
        self.statement = (self.lines, self.line_start);
    }

    #[inline]
    pub fn peek(&mut self) -> Option<u8> {
        self.peek_at(0)
    }

    #[inline]
    pub fn peek_at(&mut self, ahead: usize) -> Option<u8> {
        loop {
            let place = self.at - self.base + ahead;
            if place < self.filled {
                return Some(self.buffer[place]);
            }
            if !self.refill() {
                return None;
            }
        }
    }

    /// Passes over bytes as long as they are such.
    #[inline]
    pub fn pass(&mut self, mut is: impl FnMut(u8) -> bool) {
        loop {
            let rest = &self.buffer[self.at - self.base..self.filled];
            if let Some(many) = rest.iter().position(|&byte| !is(byte)) {
                self.at += many;
                return;
            }
            self.at += rest.len();
            if !self.refill() {
                return;
            }
        }
    }

    #[cold]
    fn refill(&mut self) -> bool {
        if self.ended {
            return false;
        }
        let done = self.keep - self.base;
        self.buffer.copy_within(done..self.filled, 0);
        (self.base, self.filled) = (self.keep, self.filled - done);
        if self.filled == self.buffer.len() {
            self.buffer.resize(2 * self.filled, 0);
        }
        loop {
            match self.from.read(&mut self.buffer[self.filled..]) {
                Ok(0) => self.ended = true,
                Ok(bytes) => self.filled += bytes,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => (self.ended, self.failed) = (true, Some(error)),
            }
            return !self.ended;
        }
    }

    /// The bytes at a place of the statement.
    #[inline]
    pub fn bytes(&self, range: &Range<usize>) -> &[u8] {
        &self.buffer[range.start - self.base..range.end - self.base]
    }

    /// A line end was passed.
    #[inline]
    pub fn line(&mut self) {
        self.lines += 1;
        self.line_start = self.at;
    }

    /// The line of the statement, from 1.
    #[inline]
    pub fn statement_line(&self) -> usize {
        self.statement.0 + 1
    }

    /// Line and column of a place in this statement or after it.
    pub fn position(&self, at: usize) -> (usize, usize) {
        let (lines, start) = if at >= self.line_start { (self.lines, self.line_start) } else { self.statement };
        (lines + 1, at.saturating_sub(start) + 1)
    }
}
