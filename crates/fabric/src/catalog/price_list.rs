//! Price lists: `catalog/prices/` and a user's own file of the same form.

use super::read::ITEMS;
use crate::price::{PriceItem, PriceList};
use crate::sheet::Mistake;
use crate::sheet::unit::Dimension;
use crate::sheet::{Entry, Sheet, Table};
use crate::terms::ItemKind;
use crate::topology::MAX_PORTS;
use crate::units::Money;
use std::collections::BTreeMap;

/// Most units of a currency for one piece.
const MOST: f64 = 1e10;

/// The price list that `text` states, called `file` in messages.
///
/// # Errors
/// Every mistake of the text.
pub fn parse_price_list(file: &str, text: &str) -> Result<PriceList, Vec<Mistake>> {
    read_price_list(file, text).map(|(list, _)| list)
}

/// As [`parse_price_list`], with every number.
pub(super) fn read_price_list(file: &str, text: &str) -> Result<(PriceList, Vec<Entry>), Vec<Mistake>> {
    let sheet = Sheet::new(file, text);
    let list = read(&sheet);
    let entries = sheet.finish()?;
    let list = list.ok_or_else(|| vec![Mistake::of_file(file, "states no price list", "")])?;
    Ok((list, entries))
}

fn read(sheet: &Sheet<'_>) -> Option<PriceList> {
    let document = sheet.parse();
    let root = Table::root(sheet, &document);
    let (name, title) = (root.text("name"), root.text("title"));
    let currency = root.text("currency");
    let date = root.text("date").filter(|date| is_date(&root, date));
    let mut items = BTreeMap::new();
    if let (Some(table), Some(currency)) = (root.table("item"), &currency) {
        for key in table.keys() {
            if let Some(item) = table.table_opt(&key).and_then(|item| read_item(item, currency)) {
                items.insert(key, item);
            }
        }
    }
    root.finish();
    Some(PriceList { name: name?, title: title?, currency: currency?, date: date?, items, beneath: None })
}

fn is_date(root: &Table<'_>, date: &str) -> bool {
    let shape = |(at, c): (usize, char)| if at == 4 || at == 7 { c == '-' } else { c.is_ascii_digit() };
    let is_in =
        |at, most| date.get(at).and_then(|part: &str| part.parse().ok()).is_some_and(|part| (1..=most).contains(&part));
    let right = date.len() == 10 && date.char_indices().all(shape) && is_in(5..7, 12) && is_in(8..10, 31);
    if !right {
        root.wrong("date", format!("{date:?} is no date"), "YYYY-MM-DD");
    }
    right
}

fn cents(units: f64) -> Money {
    Money((units * 100.0).round() as i64)
}

/// What links an item is for, which of their pieces it is, and the ports of a switch.
fn read_pieces(table: &Table<'_>) -> (Option<String>, Vec<ItemKind>, Option<u32>) {
    let kinds = ITEMS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let mut pieces = Vec::new();
    for (name, _) in table.texts("pieces") {
        match ITEMS.iter().find(|(known, _)| *known == name) {
            Some((_, kind)) => pieces.push(*kind),
            None => table.wrong("pieces", format!("{name:?} is no kind of piece"), &*kinds),
        }
    }
    let (link, ports) = (table.text_opt("link"), table.count_opt("ports", 1..=MAX_PORTS));
    if link.is_some() == pieces.is_empty() {
        let what = "a piece of certain links states both which links and what it is of them";
        table.wrong("link", what, format!("link = \"infiniband-ndr\" with pieces = [...] of {kinds}"));
    }
    if ports.is_some() && !pieces.contains(&ItemKind::Switch) {
        table.wrong("ports", "only a switch has ports", "pieces = [\"switch\"]");
    }
    (link, pieces, ports)
}

/// A value with the ends of its range, as far as it states them.
fn within(table: &Table<'_>, key: &str, units: &[(&str, f64)], most: f64) -> Option<[f64; 3]> {
    let ends = |value: &Table<'_>| ["low", "high"].map(|end| value.number_opt(end, 0.0..=most));
    let (value, [low, high]) = table.value_of(key, units, 0.0..=most, ends)?;
    let value = value?.value;
    let range = [value, low.unwrap_or(value), high.unwrap_or(value)];
    if !(range[1]..=range[2]).contains(&value) {
        table.wrong(key, "the value is outside its own range", "low <= value <= high");
    }
    Some(range)
}

fn read_item(table: Table<'_>, currency: &str) -> Option<PriceItem> {
    let title = table.text("title");
    let (link, pieces, ports) = read_pieces(&table);
    if !table.has("price") {
        table.wrong("price", "is missing", "{ value = ..., unit = ..., source = ..., status = ... }");
    }
    let price = table.value_of("price", &[(currency, 1.0)], 0.0..=MOST, |price| {
        (price.number_opt("low", 0.0..=MOST), price.number_opt("high", 0.0..=MOST))
    });
    let length = table.value_opt("length", Dimension::Length, 0.0..=1e5);
    let power = within(&table, "power", &[("W", 1.0)], 1e6);
    let other_ports = within(&table, "other_ports", Dimension::Ratio.units(), 100.0);
    let (value, (low, high)) = price?;
    if let Some(value) = &value
        && (low.is_some_and(|low| low > value.value) || high.is_some_and(|high| high < value.value))
    {
        table.wrong("price", "the value is outside its own range", "low <= value <= high");
    }
    for (key, units) in
        [("price.value", value.as_ref().map(|value| value.value)), ("price.low", low), ("price.high", high)]
    {
        if let Some(units) = units.filter(|units| cents(*units).units() != *units) {
            let what = format!("{units} {currency} has parts of a cent");
            table.wrong(key, what, "at most two decimals; of cheaper pieces state the price of many as one piece");
        }
    }
    table.finish();
    let (low, high) = (low.map(cents), high.map(cents));
    let (title, price) = (title?, value?.map(cents));
    Some(PriceItem { title, price, low, high, length, power, link, pieces, ports, other_ports, assumed: None })
}
