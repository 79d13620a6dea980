//! Tables for people: aligned text and Markdown, from records or made by a verb.

use hotlink_bench::Record;
pub use hotlink_study::text::figure;
use serde_json::Value;
use std::collections::HashSet;
use std::fmt::Write;

/// A titled table. A row may be shorter than the columns; missing cells stay empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Printed above the table; empty for none.
    pub title: String,
    /// Column heads.
    pub columns: Vec<String>,
    /// Cells, already text.
    pub rows: Vec<Vec<String>>,
    /// Lines printed under the table.
    pub notes: Vec<String>,
}

/// The records' keys in order of first appearance.
pub fn keys(records: &[Record]) -> Vec<&str> {
    let mut seen = HashSet::new();
    records.iter().flat_map(|record| record.fields().map(|(key, _)| key)).filter(|key| seen.insert(*key)).collect()
}

impl Table {
    /// One row a record. The title states once what all records share; a single record is laid out as key and value.
    pub fn of(records: &[Record]) -> Table {
        Table::of_keys(records, &keys(records))
    }

    /// As [`Table::of`], with these (key, heading) columns only.
    pub fn of_columns(records: &[Record], columns: &[(&str, &str)]) -> Table {
        let keys: Vec<&str> = columns.iter().map(|(key, _)| *key).collect();
        let heading = |key: &str| {
            columns.iter().find(|(known, _)| *known == key).map_or_else(String::new, |(_, head)| (*head).to_owned())
        };
        Table::headed(records, &keys, heading)
    }

    /// A row a record and a column for each of these keys and headings, even where the records share them.
    pub fn with_heads(records: &[Record], columns: &[(&str, &str)]) -> Table {
        let row = |record: &Record| columns.iter().map(|(key, _)| cell(record.get(key))).collect();
        let heads = columns.iter().map(|(_, head)| (*head).to_owned()).collect();
        Table { columns: heads, rows: records.iter().map(row).collect(), ..Table::default() }
    }

    /// As [`Table::of`], with these keys only.
    pub fn of_keys(records: &[Record], keys: &[&str]) -> Table {
        Table::headed(records, keys, str::to_owned)
    }

    /// As [`Table::of_keys`], with what `heading` makes of each key.
    fn headed(records: &[Record], keys: &[&str], heading: impl Fn(&str) -> String) -> Table {
        let keys: Vec<&str> =
            keys.iter().copied().filter(|key| records.iter().any(|record| record.get(key).is_some())).collect();
        let cells = |key: &str| records.iter().map(|record| cell(record.get(key))).collect::<Vec<_>>();
        if let [record] = records {
            let rows = keys.iter().map(|key| vec![heading(key), cell(record.get(key))]).collect();
            return Table { columns: vec!["key".to_owned(), "value".to_owned()], rows, ..Table::default() };
        }
        let (shared, own): (Vec<&str>, Vec<&str>) = keys.into_iter().partition(|key| {
            let cells = cells(key);
            !cells.is_empty() && cells.iter().all(|cell| *cell == cells[0])
        });
        let title =
            shared.iter().map(|key| format!("{}: {}", heading(key), cell(records[0].get(key)))).collect::<Vec<_>>();
        let rows = records.iter().map(|record| own.iter().map(|key| cell(record.get(key))).collect()).collect();
        Table { title: title.join("   "), columns: own.into_iter().map(heading).collect(), rows, notes: vec![] }
    }

    /// As [`Table::of_keys`], and those of `choices` in which the records differ, first but for what is first there.
    pub fn with_choices(records: &[Record], keys: &[&str], choices: &[&str]) -> Table {
        let differs = |key: &&str| {
            let mut given = records.iter().filter_map(|record| record.get(key));
            given.next().is_some_and(|first| given.any(|other| other != first))
        };
        let mut all = keys.to_vec();
        let after = all.len().min(1);
        all.splice(after..after, choices.iter().copied().filter(|key| !keys.contains(key)).filter(differs));
        Table::of_keys(records, &all)
    }

    /// As [`Table::text`], in lines of at most `screen` letters. Long texts take several lines. If that is not enough,
    /// columns are left out and named below, those about the run itself first. A file or a pipe gets all.
    pub fn text_within(&self, screen: usize) -> String {
        let mut kept = self.clone();
        let mut table = kept.narrowed(screen);
        while table.total() > screen && kept.columns.len() > 2 {
            let minor = kept.columns.iter().rposition(|head| MINOR.contains(&head.as_str()));
            let at = minor.unwrap_or(kept.columns.len() - 1);
            kept.columns.remove(at);
            for row in kept.rows.iter_mut().filter(|row| at < row.len()) {
                row.remove(at);
            }
            table = kept.narrowed(screen);
        }
        let left_out = self.columns.iter().filter(|head| !table.columns.contains(head));
        let left_out: Vec<&str> = left_out.map(String::as_str).collect();
        if !left_out.is_empty() {
            table.notes.insert(0, format!("left out for want of room: {} (--format csv has all)", left_out.join(", ")));
        }
        let said = wrapped(&table.title, "   ", screen);
        table.title = said.iter().flat_map(|line| wrapped(line, " ", screen)).collect::<Vec<_>>().join("\n");
        table.notes = table.notes.iter().flat_map(|note| wrapped(note, " ", screen)).collect();
        table.text()
    }

    /// With long texts in several lines, as far as that helps; a word longer than its line stays whole.
    fn narrowed(&self, screen: usize) -> Table {
        let mut table = self.clone();
        let mut texts: Vec<usize> = (0..self.columns.len()).filter(|at| !self.is_numeric(*at)).collect();
        texts.sort_by_key(|at| self.width(*at));
        while let Some(at) = texts.pop().filter(|_| table.total() > screen) {
            let least = NARROW.max(table.columns[at].chars().count());
            let width = (table.width(at) + screen).saturating_sub(table.total()).max(least);
            table.rows = table.rows.into_iter().flat_map(|row| lines_of(row, at, width)).collect();
        }
        table
    }

    /// Letters of a line.
    fn total(&self) -> usize {
        (0..self.columns.len()).map(|at| self.width(at) + GAP).sum::<usize>().saturating_sub(GAP)
    }

    /// Aligned columns; numbers to the right.
    pub fn text(&self) -> String {
        let mut text = String::new();
        if self.columns.is_empty() {
            return self.bare("");
        }
        if !self.title.is_empty() {
            let _ = writeln!(text, "{}\n", self.title);
        }
        let widths: Vec<usize> = (0..self.columns.len()).map(|column| self.width(column)).collect();
        let right: Vec<bool> = (0..self.columns.len()).map(|column| self.is_numeric(column)).collect();
        for row in std::iter::once(&self.columns).chain(&self.rows) {
            let mut line = String::new();
            for (column, cell) in row.iter().enumerate().take(widths.len()) {
                let pad = " ".repeat(widths[column] - cell.chars().count());
                let (before, after) = if right[column] { (pad.as_str(), "") } else { ("", pad.as_str()) };
                let _ = write!(line, "{before}{cell}{after}  ");
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        for note in &self.notes {
            let _ = writeln!(text, "{note}");
        }
        text
    }

    /// Title and notes of a table without columns; `gap` stands before each note.
    fn bare(&self, gap: &str) -> String {
        let title = Some(format!("{}\n", self.title)).filter(|_| !self.title.is_empty());
        title.into_iter().chain(self.notes.iter().map(|note| format!("{gap}{note}\n"))).collect()
    }

    /// A Markdown table under a heading.
    pub fn markdown(&self) -> String {
        if self.columns.is_empty() {
            return self.bare("\n");
        }
        let mut text = String::new();
        if !self.title.is_empty() {
            let _ = writeln!(text, "{}\n", self.title);
        }
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        text.push_str(&line(&self.columns.iter().map(|head| escape(head)).collect::<Vec<_>>()));
        let rule =
            (0..self.columns.len()).map(|column| if self.is_numeric(column) { "---:" } else { "---" }.to_owned());
        text.push_str(&line(&rule.collect::<Vec<_>>()));
        for row in &self.rows {
            text.push_str(&line(&row.iter().map(|cell| escape(cell)).collect::<Vec<_>>()));
        }
        for note in &self.notes {
            let _ = writeln!(text, "\n{note}");
        }
        text
    }

    fn cells(&self, column: usize) -> impl Iterator<Item = &String> {
        self.rows.iter().filter_map(move |row| row.get(column))
    }
    fn width(&self, column: usize) -> usize {
        let head = &self.columns[column];
        self.cells(column).chain([head]).map(|cell| cell.chars().count()).max().unwrap_or(0)
    }
    fn is_numeric(&self, column: usize) -> bool {
        let one = |cell: &str| cell.trim_end_matches('*').replace([',', '%', '$'], "").parse::<f64>().is_ok();
        let is_number =
            |cell: &str| one(cell) || cell.split_once("..").is_some_and(|(low, high)| one(low) && one(high));
        self.cells(column).all(|cell| cell.is_empty() || cell == "-" || is_number(cell))
            && self.cells(column).any(|cell| is_number(cell))
    }
}

/// Letters between columns.
const GAP: usize = 2;
/// A text's column is made no narrower.
const NARROW: usize = 24;
/// Columns about the run itself, which the records hold for whoever asks.
const MINOR: [&str; 12] = [
    "inputs",
    "bound_is",
    "statistic_of",
    "median",
    "clock_overhead_us",
    "clock_resolution_us",
    "inner",
    "warmup",
    "ended_by",
    "buffers",
    "events",
    "wall_s",
];

/// A row as several; each holds so many letters of the cell `at`.
fn lines_of(row: Vec<String>, at: usize, width: usize) -> Vec<Vec<String>> {
    let Some(cell) = row.get(at) else { return vec![row] };
    let parts = wrapped(cell, " ", width);
    let rest = parts.iter().skip(1).map(|part| {
        let mut line = vec![String::new(); row.len()];
        line[at].clone_from(part);
        line
    });
    let rest: Vec<Vec<String>> = rest.collect();
    let mut first = row;
    first[at] = parts.into_iter().next().unwrap_or_default();
    std::iter::once(first).chain(rest).collect()
}

/// A text in lines of at most `width` letters, broken where `gap` stands. What begins further right continues there.
fn wrapped(text: &str, gap: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let mut now = String::new();
        for part in line.split(gap) {
            if !now.trim().is_empty() && now.chars().count() + gap.len() + part.chars().count() > width {
                lines.push(std::mem::take(&mut now));
                now.push_str(part);
            } else {
                if !now.is_empty() || (part.is_empty() && gap == " ") {
                    now.push_str(gap);
                }
                now.push_str(part);
            }
        }
        lines.push(now);
    }
    lines
}

fn escape(cell: &str) -> String {
    // A line of a table is a row.
    cell.replace('|', "\\|").replace('\n', "<br>")
}

pub(crate) fn cell(value: Option<&Value>) -> String {
    match value {
        None => String::new(),
        Some(Value::Null) => "-".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Bool(yes)) => if *yes { "yes" } else { "no" }.to_owned(),
        Some(Value::Number(number)) if number.is_f64() => number.as_f64().map_or_else(String::new, figure),
        Some(Value::Array(list)) if list.is_empty() => "none".to_owned(),
        Some(Value::Array(list)) if list.iter().all(Value::is_string) => {
            list.iter().map(|one| cell(Some(one))).collect::<Vec<_>>().join(", ")
        }
        Some(Value::Array(list)) if list.iter().any(Value::is_f64) => {
            format!("[{}]", list.iter().map(|one| cell(Some(one))).collect::<Vec<_>>().join(", "))
        }
        Some(other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records() -> Vec<Record> {
        let base = Record::new().with("fabric", "ring");
        vec![
            base.clone().with("nodes", 2).with("bandwidth_MBps", 138.912_3),
            base.with("nodes", 16).with("bandwidth_MBps", 7.5).with("note", "a|b"),
        ]
    }

    #[test]
    fn shared_columns_are_said_once_and_numbers_stand_right() {
        let text = Table::of(&records()).text();
        assert_eq!(
            text,
            "fabric: ring\n\nnodes  bandwidth_MBps  note\n    2           138.9\n   16             7.5  a|b\n"
        );
    }

    #[test]
    fn a_title_alone_has_no_empty_lines_below_it() {
        let table = Table { title: "pass".into(), notes: vec!["one".into()], ..Table::of(&[]) };
        assert_eq!((table.text(), table.markdown()), ("pass\none\n".into(), "pass\n\none\n".into()));
    }

    #[test]
    fn shares_in_a_list_are_rounded_like_others() {
        let list = serde_json::json!([0.999_999_999_999_999_9, 0.343_749_999_999_999_94, null, 1]);
        assert_eq!(cell(Some(&list)), "[1, 0.3437, -, 1]");
        assert_eq!(cell(Some(&serde_json::json!(["a", "b"]))), "a, b");
    }

    #[test]
    fn a_heading_is_of_its_own_key_alone() {
        let row = |nodes: u64| Record::new().with("nodes", nodes).with("rate_MBps", 8).with("min_rate_MBps", 4);
        let columns = [("nodes", "nodes"), ("rate_MBps", "MB/s"), ("min_rate_MBps", "least MB/s")];
        assert_eq!(Table::of_columns(&[row(2), row(4)], &columns).title, "MB/s: 8   least MB/s: 4");
        assert_eq!(Table::of_columns(&[row(2)], &columns).rows[2], ["least MB/s", "4"]);
    }

    #[test]
    fn a_choice_has_a_column_where_rows_differ_in_it() {
        let row = |zero_copy: bool| Record::new().with("fabric", "ring").with("zero_copy", zero_copy).with("size_B", 8);
        let of = |rows: [Record; 2]| Table::with_choices(&rows, &["fabric", "size_B"], &["zero_copy", "alignment"]);
        assert_eq!(of([row(true), row(false)]).columns, ["zero_copy"]);
        assert!(of([row(true), row(true)]).columns.is_empty());
    }

    #[test]
    fn a_screen_gets_what_it_shows_and_hears_of_the_rest() {
        let row = |size: u64| {
            let record = Record::new().with("size_B", size).with("latency_us", 0.5 * size as f64).with("inner", size);
            let said = "a sentence of many words, which is longer than any screen is wide";
            record.with("what", said).with("p99", size).with("fabric", "one").with("via", "two")
        };
        let table =
            Table { notes: vec!["a note of words that take two lines".into()], ..Table::of(&[row(8), row(64)]) };
        let text = table.text_within(30);
        assert!(text.lines().all(|line| line.chars().count() <= 30), "{text}");
        assert!(text.contains("\nfabric: one   via: two\n"), "{text}");
        assert!(text.contains("size_B  latency_us"), "{text}");
        assert!(table.text_within(20).replace('\n', " ").contains("left out for want of room: inner"), "{table:?}");
        assert_eq!(table.text_within(400), table.text());
        let wide = Table { columns: vec!["check".into(), "found".into()], ..Table::default() };
        let wide = Table { rows: vec![vec!["one".into(), "many words in one cell of the table".into()]], ..wide };
        assert_eq!(wide.text_within(31), "check  found\none    many words in one cell\n       of the table\n");
    }

    #[test]
    fn markdown_escapes_bars_and_line_ends() {
        let [first, second] = [0, 1].map(|index| records()[index].clone());
        let records = [first, second.with("note", "a|b\nc")];
        assert!(Table::of(&records).markdown().contains("| 16 | 7.5 | a\\|b<br>c |"));
    }
}
