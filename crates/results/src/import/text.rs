//! A text read line by line, with mistakes reported at their line.

use hotlink_bench::Record;
use hotlink_study::Error;

/// The output of a program.
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

/// The text of a log: UTF-8, or the encoding of its byte order mark.
pub fn decoded(bytes: &[u8]) -> String {
    let units = |of: fn([u8; 2]) -> u16| bytes[2..].chunks_exact(2).map(move |pair| of([pair[0], pair[1]]));
    match bytes {
        [0xff, 0xfe, ..] => String::from_utf16_lossy(&units(u16::from_le_bytes).collect::<Vec<_>>()),
        [0xfe, 0xff, ..] => String::from_utf16_lossy(&units(u16::from_be_bytes).collect::<Vec<_>>()),
        // Logs hold what other programs wrote, too: their stray bytes are no reason to refuse the numbers.
        _ => String::from_utf8_lossy(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)).into_owned(),
    }
}

/// Whether bytes say by their mark that they are UTF-16.
pub fn is_utf16(bytes: &[u8]) -> bool {
    matches!(bytes, [0xff, 0xfe, ..] | [0xfe, 0xff, ..])
}

/// Why bytes are no log: UTF-16 that has no mark to say so.
pub fn unreadable(bytes: &[u8]) -> Option<&'static str> {
    (!is_utf16(bytes) && bytes.contains(&0))
        .then_some("it holds zero bytes, so it is binary or UTF-16: save it as UTF-8")
}

/// The text without the ranks that a launcher put before its lines, where most of them have one.
pub fn plain_log(text: &str) -> String {
    let count = |is: fn(&str) -> bool| text.lines().filter(|line| is(line)).count();
    if count(|line| unlabelled(line).is_some()) * 2 <= count(|line| !line.trim().is_empty()) {
        return text.to_owned();
    }
    text.split_inclusive('\n').map(|line| unlabelled(line).unwrap_or(line)).collect()
}

/// A line without the `0: ` of `srun --label` or the `[1,0]<stdout>:` of `mpirun --tag-output`. Lines of `lspci` (`17:00.0`)
/// have no blank behind the colon.
fn unlabelled(line: &str) -> Option<&str> {
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    let of_srun = || {
        let (rank, rest) = line.split_once(':')?;
        let is_rank = is_number(rank.trim()) && (rest.trim().is_empty() || rest.starts_with(' '));
        is_rank.then(|| rest.strip_prefix(' ').unwrap_or(rest))
    };
    let of_mpirun = || {
        let (rank, rest) = line.strip_prefix('[')?.split_once("]<std")?;
        let is_rank = is_number(rank.rsplit(',').next()?);
        let (_, rest) = rest.split_once(':').filter(|_| is_rank)?;
        Some(rest.strip_prefix(' ').unwrap_or(rest))
    };
    of_srun().or_else(of_mpirun)
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

pub use hotlink_bench::OF_ALL_PARTS;

/// Adds the bandwidth of a message that took `latency_us`.
pub fn with_bandwidth(record: Record) -> Record {
    match (record.number("size_B"), record.number("latency_us")) {
        (Some(size), Some(us)) if size > 0.0 && us > 0.0 => record.with("bandwidth_MBps", size / us),
        _ => record,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_that_a_launcher_puts_before_lines_are_taken_off() {
        let plain = "# OSU MPI Latency Test v7.4\n\n8  1.10\n";
        let labelled = |label: &str| plain.lines().map(|line| format!("{label}{line}\n")).collect::<String>();
        for label in ["0: ", " 12: ", "[1,0]<stdout>:", "[prterun-n1-7@1,12]<stdout>: "] {
            assert_eq!(plain_log(&labelled(label)), plain, "{label}");
        }
        for text in [plain, "[  5]   0.00-1.00   sec\n", "12: 13\n14\n15\n", "17:00.0 Ethernet\n18:00.0 X\n", ""] {
            assert_eq!(plain_log(text), text);
        }
    }

    #[test]
    fn a_byte_order_mark_tells_the_encoding() {
        let units: Vec<u16> = "\u{feff}# \u{b5}s\n".encode_utf16().collect();
        let bytes = |of: fn(u16) -> [u8; 2]| units.iter().flat_map(|unit| of(*unit)).collect::<Vec<u8>>();
        for bytes in [bytes(u16::to_le_bytes), bytes(u16::to_be_bytes), "\u{feff}# \u{b5}s\n".as_bytes().to_vec()] {
            assert_eq!(decoded(&bytes), "# \u{b5}s\n");
        }
        assert_eq!(decoded(&[0xff, 0xfe, b'a']), "");
        let unmarked: Vec<u8> = "# a\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert!(unreadable(&unmarked).is_some_and(|why| why.contains("UTF-16")));
        assert_eq!((unreadable(b"# a\n"), unreadable(&bytes(u16::to_le_bytes))), (None, None));
    }
}
