//! A text read line by line, with mistakes told at their line.

use hotlink_bench::Record;
use hotlink_study::Error;

/// What a program printed.
pub struct Text<'a> {
    file: &'a str,
    pub text: &'a str,
}

impl<'a> Text<'a> {
    pub fn new(file: &'a str, text: &'a str) -> Text<'a> {
        Text { file, text }
    }

    /// Whether the text is JSON rather than lines.
    pub fn is_json(&self) -> bool {
        self.text.trim_start().starts_with('{')
    }

    /// The text as JSON.
    pub fn json(&self) -> Result<serde_json::Value, Error> {
        serde_json::from_str(self.text).map_err(|error| self.wrong(error.line(), &format!("is not JSON: {error}"), ""))
    }

    /// Lines with their numbers from 1.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &'a str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    /// A mistake at a line; 0 for the file as a whole.
    pub fn wrong(&self, line: usize, what: &str, allowed: &str) -> Error {
        let place = if line == 0 { self.file.to_owned() } else { format!("{}:{line}", self.file) };
        let allowed = if allowed.is_empty() { String::new() } else { format!(" (allowed: {allowed})") };
        Error::Input(format!("{place}: {what}{allowed}"))
    }

    /// A number that a result can be.
    pub fn number(&self, line: usize, word: &str) -> Result<f64, Error> {
        let number = word.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
        number.ok_or_else(|| self.wrong(line, &format!("`{word}` is not a number"), "0 or more"))
    }

    /// A whole number.
    pub fn count(&self, line: usize, word: &str) -> Result<u64, Error> {
        word.parse().map_err(|_| self.wrong(line, &format!("`{word}` is not a whole number"), "0 or more"))
    }

    /// The words of a row, as many as the table has columns.
    pub fn row<'w>(&self, line: usize, text: &'w str, columns: &[String]) -> Result<Vec<&'w str>, Error> {
        let words: Vec<&str> = text.split_whitespace().collect();
        match words.len() == columns.len() {
            true => Ok(words),
            false => {
                let what = format!("has {} columns, its table {}", words.len(), columns.len());
                Err(self.wrong(line, &what, &columns.join(", ")))
            }
        }
    }
}

/// Whether a line can be a row: it begins with a digit.
pub fn is_row(line: &str) -> bool {
    line.trim_start().starts_with(|c: char| c.is_ascii_digit())
}

/// Heads of columns: words up to one that ends in a unit's bracket or is one of `whole`.
pub fn columns(line: &str, bracket: char, whole: &[&str]) -> Vec<String> {
    let mut columns = Vec::new();
    let mut head = String::new();
    for word in line.split_whitespace() {
        if !head.is_empty() {
            head.push(' ');
        }
        head.push_str(word);
        if word.ends_with(bracket) || whole.contains(&head.as_str()) {
            columns.push(std::mem::take(&mut head));
        }
    }
    if !head.is_empty() {
        columns.push(head);
    }
    columns
}

/// A name of ours for whatever a program calls a benchmark or a column.
pub fn plain(name: &str) -> String {
    let letters = name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { ' ' });
    letters.collect::<String>().split_whitespace().collect::<Vec<_>>().join("_")
}

/// Our name of a collective, blocking or not, whatever a program calls it ([`plain`]).
pub fn collective(name: &str) -> String {
    let (prefix, bare) = match name.strip_prefix("non_blocking_") {
        Some(bare) => ("non_blocking_", bare),
        None => ("", name),
    };
    let bare = match bare {
        "broadcast" => "bcast",
        "reduce_scatter" => "reduce-scatter",
        "all_to_all" | "all_to_all_personalized_exchange" => "alltoall",
        "all_to_allv" | "all_to_allv_personalized_exchange" => "alltoallv",
        other => other,
    };
    format!("{prefix}{bare}")
}

/// Adds the bandwidth of a message that took `latency_us`.
pub fn with_bandwidth(record: Record) -> Record {
    match (record.number("size_B"), record.number("latency_us")) {
        (Some(size), Some(us)) if size > 0.0 && us > 0.0 => record.with("bandwidth_MBps", size / us),
        _ => record,
    }
}
