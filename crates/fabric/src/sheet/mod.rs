//! A TOML text read key by key: every key asked for is a key allowed, every mistake is kept with its place.

mod mistake;
pub mod unit;

use crate::terms::{Status, Value};
pub use mistake::{Lines, Mistake, MistakeKind, nearest, one_a_line};
use std::cell::RefCell;
use std::ops::{Range, RangeInclusive};
use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};
use unit::Dimension;

/// Names of [`Status`] in files.
pub(super) const STATUSES: &[(&str, Status)] = &[
    ("published", Status::Published),
    ("measured", Status::Measured),
    ("fitted", Status::Fitted),
    ("estimated", Status::Estimated),
];

/// The name of a status as files and results write it.
pub fn status_name(status: Status) -> &'static str {
    name_of(STATUSES, &status)
}

/// The name of `value` among `choices`, which hold every value.
pub(super) fn name_of<'n, T: PartialEq>(choices: &[(&'n str, T)], value: &T) -> &'n str {
    choices.iter().find(|(_, choice)| choice == value).map_or("", |(name, _)| *name)
}

/// One number that was read, as the file states it: what `catalog show` prints.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Dotted key: `resource.link.gross`.
    pub key: String,
    /// The number in `unit`.
    pub value: f64,
    /// Unit as stated; empty for a topology's counts.
    pub unit: String,
    /// Source.
    pub source: String,
    /// Status.
    pub status: Status,
    /// Least and greatest plausible value in `unit`, if stated.
    pub range: Option<[f64; 2]>,
    /// The same in base units.
    pub base_range: Option<[f64; 2]>,
    /// `file:line`.
    pub place: String,
}

/// One file being read.
pub(crate) struct Sheet<'a> {
    pub(super) file: String,
    text: &'a str,
    lines: Lines<'a>,
    mistakes: RefCell<Vec<Mistake>>,
    entries: RefCell<Vec<Entry>>,
}

impl<'a> Sheet<'a> {
    pub(super) fn new(file: &str, text: &'a str) -> Sheet<'a> {
        Sheet {
            file: file.to_owned(),
            text,
            lines: Lines::new(text),
            mistakes: RefCell::default(),
            entries: RefCell::default(),
        }
    }

    /// The text as a table; what is no TOML is a mistake.
    pub(super) fn parse(&self) -> Spanned<DeTable<'a>> {
        let (document, errors) = DeTable::parse_recoverable(self.text);
        for error in errors {
            self.mistake(&error.span().unwrap_or(0..0), "", error.message().replace('\n', ", "), "");
        }
        document
    }

    pub(super) fn mistake(&self, span: &Range<usize>, key: &str, what: impl Into<String>, allowed: impl Into<String>) {
        self.push(span, key, Mistake::of_file(&self.file, what, allowed));
    }

    /// Adds a mistake of the whole file as one of `key` at `span`.
    fn push(&self, span: &Range<usize>, key: &str, whole: Mistake) {
        let (line, column) = self.lines.place(span);
        self.mistakes.borrow_mut().push(Mistake { line, column, key: key.to_owned(), ..whole });
    }

    /// Whether something is wrong with `key` or within it.
    pub(super) fn told(&self, key: &str) -> bool {
        self.mistakes.borrow().iter().any(|mistake| mistake.key.starts_with(key))
    }

    /// Adds a range to the entry that was read last.
    fn record_range(&self, range: [f64; 2], factor: f64) {
        if let Some(entry) = self.entries.borrow_mut().last_mut() {
            entry.range = Some(range);
            entry.base_range = Some(range.map(|end| end * factor));
        }
    }

    /// The ranges of the values read so far, by key, in base units.
    pub(super) fn ranges(&self) -> Vec<(String, [f64; 2])> {
        let entries = self.entries.borrow();
        entries.iter().filter_map(|entry| Some((entry.key.clone(), entry.base_range?))).collect()
    }

    /// The keys read so far.
    pub(super) fn keys(&self) -> Vec<String> {
        self.entries.borrow().iter().map(|entry| entry.key.clone()).collect()
    }

    /// All mistakes in the order of the file, or what was read. In a text that is no TOML the rest is guesswork.
    pub(super) fn finish(self) -> Result<Vec<Entry>, Vec<Mistake>> {
        let mut mistakes = self.mistakes.into_inner();
        if mistakes.iter().any(|mistake| mistake.key.is_empty()) {
            mistakes.retain(|mistake| mistake.key.is_empty());
        }
        mistakes.sort_by(|a, b| (a.line, a.column, &a.key).cmp(&(b.line, b.column, &b.key)));
        mistakes.dedup();
        if mistakes.is_empty() { Ok(self.entries.into_inner()) } else { Err(mistakes) }
    }

    fn record(&self, key: String, value: f64, unit: &str, origin: (&str, Status), span: &Range<usize>) {
        let place = format!("{}:{}", self.file, self.lines.place(span).0);
        let (source, status) = (origin.0.to_owned(), origin.1);
        let (unit, range, base_range) = (unit.to_owned(), None, None);
        self.entries.borrow_mut().push(Entry { key, value, unit, source, status, range, base_range, place });
    }
}

/// One table of a [`Sheet`].
pub(crate) struct Table<'s> {
    sheet: &'s Sheet<'s>,
    path: String,
    span: Range<usize>,
    items: &'s DeTable<'s>,
    asked: RefCell<Vec<String>>,
}

impl<'s> Table<'s> {
    pub(crate) fn root(sheet: &'s Sheet<'s>, document: &'s Spanned<DeTable<'s>>) -> Table<'s> {
        Table { sheet, path: String::new(), span: 0..0, items: document.get_ref(), asked: RefCell::default() }
    }

    /// The dotted name of `key` in this table.
    pub(crate) fn dotted(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// A mistake at the value of `key` (dotted, too), or at the innermost table that is there.
    pub(crate) fn wrong(&self, key: &str, what: impl Into<String>, allowed: impl Into<String>) {
        let (mut span, mut items) = (self.span.clone(), Some(self.items));
        for step in key.split('.') {
            let Some(value) = items.and_then(|items| find(items, step)) else { break };
            span = value.span();
            items = value.get_ref().as_table();
        }
        self.sheet.mistake(&span, &self.dotted(key), what, allowed);
    }

    /// A value that neither this file nor a part states, unless what stands there was found wrong already.
    pub(crate) fn missing(&self, key: &str, allowed: &str) {
        if !self.sheet.told(&self.dotted(key)) {
            self.wrong(key, "is missing, here and in the parts", allowed);
        }
    }

    fn get(&self, key: &str) -> Option<&'s Spanned<DeValue<'s>>> {
        self.asked.borrow_mut().push(key.to_owned());
        find(self.items, key)
    }

    /// Keys that are allowed though nobody asks for them.
    pub(crate) fn allow<'k>(&self, keys: impl Iterator<Item = &'k str>) {
        self.asked.borrow_mut().extend(keys.map(str::to_owned));
    }

    /// Whether `key` is there (it is allowed from now on).
    pub(crate) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    fn wrong_type(&self, key: &str, value: &DeValue<'_>, allowed: &str) {
        self.wrong(key, format!("is {}", article(value.type_str())), allowed);
    }

    /// A text that must not be empty; absent is a mistake.
    pub(crate) fn text(&self, key: &str) -> Option<String> {
        if !self.has(key) {
            self.wrong(key, "is missing", "a text");
        }
        self.text_opt(key)
    }

    /// A text that must not be empty, if it is there.
    pub(crate) fn text_opt(&self, key: &str) -> Option<String> {
        match self.get(key)?.get_ref() {
            DeValue::String(text) if !text.trim().is_empty() => Some(text.as_ref().to_owned()),
            DeValue::String(_) => {
                self.wrong(key, "is empty", "a text");
                None
            }
            other => {
                self.wrong_type(key, other, "a text");
                None
            }
        }
    }

    /// A flag, if it is there.
    pub(crate) fn flag_opt(&self, key: &str) -> Option<bool> {
        match self.get(key)?.get_ref() {
            DeValue::Boolean(flag) => Some(*flag),
            other => {
                self.wrong_type(key, other, "true or false");
                None
            }
        }
    }

    /// One of `choices` by its name; absent is a mistake.
    pub(crate) fn choice<T: Clone>(&self, key: &str, choices: &[(&str, T)]) -> Option<T> {
        if !self.has(key) {
            self.wrong(key, "is missing", one_of(choices));
            return None;
        }
        let text = self.text_opt(key)?;
        let found = choices.iter().find(|(name, _)| *name == text).map(|(_, choice)| choice.clone());
        if found.is_none() {
            self.wrong(key, unknown(&text, choices.iter().map(|(name, _)| *name)), one_of(choices));
        }
        found
    }

    /// A whole number in `range`; absent is a mistake.
    pub(crate) fn count(&self, key: &str, range: RangeInclusive<u32>) -> Option<u32> {
        if !self.has(key) {
            self.wrong(key, "is missing", format!("a whole number {} to {}", range.start(), range.end()));
        }
        self.count_opt(key, range)
    }

    /// A whole number in `range`, if it is there.
    pub(crate) fn count_opt(&self, key: &str, range: RangeInclusive<u32>) -> Option<u32> {
        let value = self.get(key)?;
        self.whole(key, value.get_ref(), &range)
    }

    fn whole(&self, key: &str, value: &DeValue<'_>, range: &RangeInclusive<u32>) -> Option<u32> {
        let allowed = format!("a whole number {} to {}", range.start(), range.end());
        let DeValue::Integer(integer) = value else {
            self.wrong_type(key, value, &allowed);
            return None;
        };
        let number = integer_value(integer).and_then(|number| u32::try_from(number).ok());
        let number = number.filter(|number| range.contains(number));
        if number.is_none() {
            self.wrong(key, format!("{integer} is out of range"), allowed);
        }
        number
    }

    /// A list of whole numbers in `range`, if the value is a list; nothing is said of another type.
    pub(crate) fn counts_opt(&self, key: &str, range: RangeInclusive<u32>) -> Option<Vec<u32>> {
        let DeValue::Array(array) = self.get(key)?.get_ref() else { return None };
        array.iter().map(|item| self.whole(key, item.get_ref(), &range)).collect()
    }

    /// A list of texts, with the place of each; absent is an empty list.
    pub(crate) fn texts(&self, key: &str) -> Vec<(String, Range<usize>)> {
        let Some(value) = self.get(key) else { return Vec::new() };
        let DeValue::Array(array) = value.get_ref() else {
            self.wrong_type(key, value.get_ref(), "a list of texts");
            return Vec::new();
        };
        let mut texts = Vec::new();
        for item in array.iter() {
            match item.get_ref() {
                DeValue::String(text) => texts.push((text.as_ref().to_owned(), item.span())),
                other => self.sheet.mistake(
                    &item.span(),
                    &self.dotted(key),
                    format!("holds {}", article(other.type_str())),
                    "a list of texts",
                ),
            }
        }
        texts
    }

    /// A plain number in `range`, integer or float, if it is there.
    pub(crate) fn number_opt(&self, key: &str, range: RangeInclusive<f64>) -> Option<f64> {
        let allowed = format!("a number {} to {}", range.start(), range.end());
        let value = self.get(key)?;
        let Some(number) = number_of(value.get_ref()) else {
            self.wrong_type(key, value.get_ref(), &allowed);
            return None;
        };
        if range.contains(&number) {
            return Some(number);
        }
        self.wrong(key, format!("{number} is out of range"), allowed);
        None
    }

    /// A table, if it is there.
    pub(crate) fn table_opt(&self, key: &str) -> Option<Table<'s>> {
        let value = self.get(key)?;
        let DeValue::Table(items) = value.get_ref() else {
            self.wrong_type(key, value.get_ref(), "a table");
            return None;
        };
        let (sheet, path, span) = (self.sheet, self.dotted(key), value.span());
        Some(Table { sheet, path, span, items, asked: RefCell::default() })
    }

    /// A table; absent is a mistake.
    pub(crate) fn table(&self, key: &str) -> Option<Table<'s>> {
        if !self.has(key) {
            self.wrong(key, "is missing", "a table");
        }
        self.table_opt(key)
    }

    /// The line on which the table stands.
    pub(crate) fn line(&self) -> usize {
        self.sheet.lines.place(&self.span).0
    }

    /// The names of all keys in the table.
    pub(crate) fn keys(&self) -> Vec<String> {
        self.items.keys().map(|key| key.get_ref().as_ref().to_owned()).collect()
    }

    /// A value with unit, source and status, in base units of `dimension`, within `range` (base units).
    pub(crate) fn value_opt(&self, key: &str, dimension: Dimension, range: RangeInclusive<f64>) -> Option<Value<f64>> {
        self.value_of(key, dimension.units(), range, |_| ())?.0
    }

    /// As [`Table::value_opt`] in one of `units` with their factors; `more` reads what else the value's table holds.
    /// `None`: absent or no table.
    pub(crate) fn value_of<T>(
        &self,
        key: &str,
        units: &[(&str, f64)],
        range: RangeInclusive<f64>,
        more: impl FnOnce(&Table<'s>) -> T,
    ) -> Option<(Option<Value<f64>>, T)> {
        let is_table = self.get(key)?.get_ref().is_table();
        if !is_table {
            self.wrong(
                key,
                "has no unit, source and status",
                "{ value = ..., unit = ..., source = ..., status = ... }",
            );
            return None;
        }
        let table = self.table_opt(key)?;
        let factor = table.choice("unit", units);
        let unit = factor.and_then(|_| table.text_opt("unit"));
        let source = table.text("source");
        let status = table.choice("status", STATUSES);
        let number = table.stated_number("value", factor, &unit, range);
        // Read in any case: next to a wrong value it is no unknown key.
        let is_uncertain = table.has("uncertainty");
        let uncertain = number.filter(|_| is_uncertain).and_then(|number| table.uncertainty(number));
        let more = more(&table);
        let span = table.span.clone();
        table.finish();
        let value = (|| {
            let (number, factor, unit, source, status) = (number?, factor?, unit?, source?, status?);
            self.sheet.record(self.dotted(key), number, &unit, (&source, status), &span);
            if let Some(range) = uncertain {
                self.sheet.record_range(range, factor);
            }
            Some(Value { value: number * factor, unit, source, status })
        })();
        Some((value, more))
    }

    /// `uncertainty = "20 %"`, or the least and greatest plausible number as `uncertainty = [low, high]`, in its unit.
    fn uncertainty(&self, number: f64) -> Option<[f64; 2]> {
        const ALLOWED: &str = "\"20 %\", or [least, most] in the value's unit, with the value between them";
        let value = self.get("uncertainty")?;
        let range = match value.get_ref() {
            DeValue::String(text) => {
                let share = text.trim().strip_suffix('%').and_then(|share| share.trim().parse::<f64>().ok());
                share.filter(|share| (0.0..=100.0).contains(share)).map(|share| {
                    let apart = number.abs() * share / 100.0;
                    [number - apart, number + apart]
                })
            }
            DeValue::Array(ends) => {
                let ends: Vec<f64> = ends.iter().filter_map(|end| number_of(end.get_ref())).collect();
                <[f64; 2]>::try_from(ends).ok().filter(|[low, high]| *low >= 0.0 && (*low..=*high).contains(&number))
            }
            _ => None,
        };
        if range.is_none() {
            self.wrong("uncertainty", "is no uncertainty", ALLOWED);
        }
        range
    }

    /// The number of a value, checked in base units, and reported in the unit that the file states.
    fn stated_number(
        &self,
        key: &str,
        factor: Option<f64>,
        unit: &Option<String>,
        range: RangeInclusive<f64>,
    ) -> Option<f64> {
        if !self.has(key) {
            self.wrong(key, "is missing", "a number");
            return None;
        }
        let Some(number) = number_of(find(self.items, key)?.get_ref()) else {
            self.wrong(key, "is no number", "a number");
            return None;
        };
        let (factor, unit) = (factor?, unit.as_ref()?);
        if range.contains(&(number * factor)) {
            return Some(number);
        }
        let (low, high) = (range.start() / factor, range.end() / factor);
        self.wrong(key, format!("{number} {unit} is out of range"), format!("{low} to {high} {unit}"));
        None
    }

    /// Notes plain counts (all numbers of this table) as entries under the table's own `source` and `status`.
    pub(crate) fn record_counts(&self, source: &str, status: Status) {
        for (key, value) in self.items.iter() {
            if let Some(number) = number_of(value.get_ref()) {
                self.sheet.record(self.dotted(key.get_ref()), number, "", (source, status), &value.span());
            }
        }
    }

    /// Reports every key that nobody asked for.
    pub(crate) fn finish(self) {
        let asked = self.asked.borrow();
        let mut allowed: Vec<&str> = asked.iter().map(String::as_str).collect();
        allowed.sort_unstable();
        allowed.dedup();
        for (key, _) in self.items.iter() {
            let name = key.get_ref().as_ref();
            if !allowed.contains(&name) {
                let near = nearest(name, allowed.iter().copied()).map(|near| format!("; did you mean `{near}`?"));
                let what = format!("unknown key{}", near.unwrap_or_default());
                let whole = Mistake::of_file(&self.sheet.file, what, allowed.join(", "));
                let whole = Mistake { kind: MistakeKind::UnknownKey, ..whole };
                self.sheet.push(&key.span(), &self.dotted(name), whole);
            }
        }
    }
}

fn find<'t, 'i>(items: &'t DeTable<'i>, key: &str) -> Option<&'t Spanned<DeValue<'i>>> {
    items.iter().find(|(name, _)| name.get_ref() == key).map(|(_, value)| value)
}

/// `"x" is unknown; did you mean "y"?`
pub(super) fn unknown<'a>(text: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    let near = nearest(text, candidates).map(|near| format!("; did you mean {near:?}?"));
    format!("{text:?} is unknown{}", near.unwrap_or_default())
}

fn one_of<T>(choices: &[(&str, T)]) -> String {
    choices.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

fn article(type_name: &str) -> String {
    let vowel = type_name.starts_with(['a', 'i']);
    format!("{} {type_name}", if vowel { "an" } else { "a" })
}

fn integer_value(integer: &DeInteger<'_>) -> Option<i64> {
    i64::from_str_radix(integer.as_str(), integer.radix()).ok()
}

/// A finite number from an integer or a float.
fn number_of(value: &DeValue<'_>) -> Option<f64> {
    let number = match value {
        DeValue::Integer(integer) => integer_value(integer)? as f64,
        DeValue::Float(float) => float.as_str().parse().ok()?,
        _ => return None,
    };
    number.is_finite().then_some(number)
}
