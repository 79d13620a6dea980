//! What others print and measured: `catalog/published/`, for `reproduce`. A file is a study that hotlink grew out of, or a
//! source (`[source]`) whose results check what the catalog's machines predict.

use super::library::Library;
use crate::sheet::Mistake;
use crate::sheet::{Sheet, Table};

/// One quantity or claim of a study or source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claim {
    /// Its key: `G077`.
    pub id: String,
    /// What it is about.
    pub system: String,
    /// What is claimed.
    pub quantity: String,
    /// As printed; empty while only the question stands.
    pub value: String,
    /// Unit, empty if it has none.
    pub unit: String,
    /// Under which conditions.
    pub conditions: String,
    /// Where in the study, or authors, title, year and place of a source.
    pub source: String,
    /// Inputs that were taken from it or fitted to it (`qsnet/parameter.acknowledge_time`): no evidence for it.
    pub gives: Vec<String>,
    /// How hotlink is asked the same, of a source's row.
    pub asked: Option<Asked>,
}

/// How hotlink is asked for a source's number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The command.
    pub command: String,
    /// The command whose number is divided by the first one's.
    pub over: Option<String>,
    /// The key of the record that answers.
    pub key: String,
    /// `table`, `figure` or `text` of the source.
    pub read: &'static str,
    /// How far the reading may be off: `1 %`.
    pub within: String,
    /// Rows of one name are one curve, and count once.
    pub curve: Option<String>,
    /// Line of the row in its file.
    pub line: usize,
}

/// Where a source's numbers were printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The authors.
    pub authors: String,
    /// Its title.
    pub title: String,
    /// When.
    pub year: u32,
    /// Where it is found.
    pub address: String,
    /// `page`: read there for this file. `memory`: recalled.
    pub checked: &'static str,
    /// How values of the catalog name it as their source.
    pub cited_as: Vec<String>,
    /// Inputs that were read from other places of it than the rows.
    pub elsewhere: Vec<String>,
}

/// A file of `catalog/published/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Published {
    /// Its name.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// The file.
    pub file: String,
    /// Where its numbers were printed; `None`: a study that hotlink grew out of.
    pub origin: Option<Origin>,
    /// Its rows in order of their ids.
    pub claims: Vec<Claim>,
}

const READ: &[(&str, &str)] = &[("table", "table"), ("figure", "figure"), ("text", "text")];
const CHECKED: &[(&str, &str)] = &[("page", "page"), ("memory", "memory")];
/// Units in which a source's number is held against a record's.
pub const UNITS: &[&str] = &["us", "ms", "s", "MB/s", "MiB/s", "GB/s", "Mbit/s", "Gbit/s", "x"];

impl Library {
    /// The claims of the study or source `name` (`m02`) in order of their ids.
    ///
    /// # Errors
    /// Every mistake of the file.
    pub fn published(&self, name: &str) -> Result<Vec<Claim>, Vec<Mistake>> {
        Ok(self.published_file(name)?.claims)
    }

    /// The study or source `name_or_path`.
    ///
    /// # Errors
    /// Every mistake of the file.
    pub fn published_file(&self, name_or_path: &str) -> Result<Published, Vec<Mistake>> {
        let (file, text) = self.open("published", name_or_path).map_err(|mistake| vec![mistake])?;
        parse(&file, &text)
    }

    /// Every source whose results check the catalog, by name.
    ///
    /// # Errors
    /// Every mistake of the first file that has one.
    pub fn sources(&self) -> Result<Vec<Published>, Vec<Mistake>> {
        let files = self.list("published").into_iter().map(|listed| self.published_file(&listed.name));
        let files: Vec<Published> = files.collect::<Result<_, _>>()?;
        Ok(files.into_iter().filter(|file| file.origin.is_some()).collect())
    }
}

/// The study or source that `text` states, called `file` in messages.
///
/// # Errors
/// Every mistake of the text.
pub fn parse(file: &str, text: &str) -> Result<Published, Vec<Mistake>> {
    let sheet = Sheet::new(file, text);
    let read = read(&sheet, file);
    sheet.finish()?;
    read.ok_or_else(|| vec![Mistake::of_file(file, "states nothing that was published", "")])
}

fn read(sheet: &Sheet<'_>, file: &str) -> Option<Published> {
    let document = sheet.parse();
    let root = Table::root(sheet, &document);
    let (name, title) = (root.text("name"), root.text("title"));
    let is_source = root.has("source");
    let origin = root.table_opt("source").map(read_origin);
    let mut claims = Vec::new();
    if let Some(table) = root.table("claim") {
        for id in table.keys() {
            let claim = table.table_opt(&id);
            claims.extend(claim.and_then(|claim| match &origin {
                None => read_claim(id, claim),
                Some(origin) => read_row(id, claim, origin.as_ref()),
            }));
        }
    }
    root.finish();
    let origin = if is_source { Some(origin??) } else { None };
    Some(Published { name: name?, title: title?, file: file.to_owned(), origin, claims })
}

fn read_claim(id: String, table: Table<'_>) -> Option<Claim> {
    let (system, quantity, value) = (table.text("system"), table.text("quantity"), table.text("value"));
    let (unit, conditions) = (table.text_opt("unit"), table.text_opt("conditions"));
    let (source, gives) = (table.text("source"), inputs(&table, "gives"));
    table.finish();
    let (unit, conditions) = (unit.unwrap_or_default(), conditions.unwrap_or_default());
    let (system, quantity, value, source) = (system?, quantity?, value?, source?);
    Some(Claim { id, system, quantity, value, unit, conditions, source, gives, asked: None })
}

fn read_origin(table: Table<'_>) -> Option<Origin> {
    let (authors, title) = (table.text("authors"), table.text("title"));
    let (year, address) = (table.count("year", 1980..=2100), table.text("address"));
    let checked = table.choice("checked", CHECKED);
    let (cited_as, elsewhere) = (texts(&table, "cited_as"), inputs(&table, "elsewhere"));
    if cited_as.is_empty() {
        table.wrong(
            "cited_as",
            "is missing or empty",
            "how values of the catalog name this source, such as [\"A and B, SC 2003\"]",
        );
    }
    table.finish();
    let (authors, title, year, address, checked) = (authors?, title?, year?, address?, checked?);
    Some(Origin { authors, title, year, address, checked, cited_as, elsewhere })
}

/// A row of a source: what is asked, and what it prints once that is entered.
fn read_row(id: String, table: Table<'_>, origin: Option<&Origin>) -> Option<Claim> {
    let (system, quantity, place) = (table.text("system"), table.text("quantity"), table.text("place"));
    let (value, unit, conditions) = (table.text_opt("value"), table.text("unit"), table.text_opt("conditions"));
    let (command, over, key) = (table.text("ask"), table.text_opt("over"), table.text("key"));
    let (read, within, curve) = (table.choice("read", READ), table.text("within"), table.text_opt("curve"));
    let gives = inputs(&table, "gives");
    if let Some(text) = value.as_deref().filter(|text| bare(text).parse::<f64>().is_err()) {
        table.wrong(
            "value",
            format!("{text:?} is no number"),
            "a number as printed, with < or > before it where the source prints a limit",
        );
    }
    if let Some(text) = unit.as_deref().filter(|text| !UNITS.contains(text)) {
        table.wrong("unit", format!("{text:?} is unknown"), UNITS.join(", "));
    }
    if let Some(text) = within.as_deref().filter(|text| percent(text).is_none()) {
        table.wrong("within", format!("{text:?} is no share"), "how far the reading may be off: 1 %");
    }
    let line = table.line();
    table.finish();
    let source = origin.map(|origin| {
        format!("{}, {}, {}, {}", origin.authors, origin.title, origin.year, place.as_deref().unwrap_or_default())
    });
    let (system, quantity, unit, _) = (system?, quantity?, unit?, place?);
    let asked = Asked { command: command?, over, key: key?, read: read?, within: within?, curve, line };
    let (value, conditions) = (value.unwrap_or_default(), conditions.unwrap_or_default());
    Some(Claim { id, system, quantity, value, unit, conditions, source: source?, gives, asked: Some(asked) })
}

/// The number of a printed value, which may be a limit.
fn bare(text: &str) -> &str {
    text.trim_start_matches(['<', '>']).trim()
}

/// The number of a share: `1 %`.
fn percent(text: &str) -> Option<f64> {
    let number = text.trim().strip_suffix('%')?.trim().parse::<f64>().ok()?;
    (0.0..=100.0).contains(&number).then_some(number)
}

fn texts(table: &Table<'_>, key: &str) -> Vec<String> {
    table.texts(key).into_iter().map(|(text, _)| text).collect()
}

/// Names of inputs: `fabric/key`.
fn inputs(table: &Table<'_>, key: &str) -> Vec<String> {
    let found = texts(table, key);
    if let Some(text) = found.iter().find(|text| !text.contains('/')) {
        table.wrong(key, format!("{text:?} names no input"), "FABRIC/KEY, such as qsnet/parameter.put_overhead_send");
    }
    found
}
