//! What the studies that hotlink grew out of print and claim: `catalog/published/`, for `reproduce`.

use super::library::Library;
use crate::sheet::Mistake;
use crate::sheet::{Sheet, Table};

/// One quantity or claim of a study.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Its key: `G077`.
    pub id: String,
    /// What it is about.
    pub system: String,
    /// What is claimed.
    pub quantity: String,
    /// As printed.
    pub value: String,
    /// Unit, empty if it has none.
    pub unit: String,
    /// Under which conditions.
    pub conditions: String,
    /// Where in the study.
    pub source: String,
    /// Inputs that were taken from it or fitted to it (`qsnet/parameter.acknowledge_time`): no evidence for it.
    pub gives: Vec<String>,
}

impl Library {
    /// The claims of the study `name` (`m02`) in order of their ids.
    ///
    /// # Errors
    /// Every mistake of the file.
    pub fn published(&self, name: &str) -> Result<Vec<Claim>, Vec<Mistake>> {
        let (file, text) = self.open("published", name).map_err(|mistake| vec![mistake])?;
        let sheet = Sheet::new(&file, &text);
        let claims = read(&sheet);
        sheet.finish()?;
        Ok(claims)
    }
}

fn read(sheet: &Sheet<'_>) -> Vec<Claim> {
    let document = sheet.parse();
    let root = Table::root(sheet, &document);
    let _ = (root.text("name"), root.text("title"));
    let mut claims = Vec::new();
    if let Some(table) = root.table("claim") {
        for id in table.keys() {
            claims.extend(table.table_opt(&id).and_then(|claim| read_claim(id, claim)));
        }
    }
    root.finish();
    claims
}

fn read_claim(id: String, table: Table<'_>) -> Option<Claim> {
    let (system, quantity, value) = (table.text("system"), table.text("quantity"), table.text("value"));
    let (unit, conditions) = (table.text_opt("unit"), table.text_opt("conditions"));
    let (source, gives) = (table.text("source"), table.texts("gives"));
    let gives = gives.into_iter().map(|(input, _)| input).collect();
    table.finish();
    let (unit, conditions) = (unit.unwrap_or_default(), conditions.unwrap_or_default());
    Some(Claim { id, system: system?, quantity: quantity?, value: value?, unit, conditions, source: source?, gives })
}
