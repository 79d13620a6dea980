//! Price lists: `catalog/prices/` and a user's own file of the same form.

use crate::price::{PriceItem, PriceList};
use crate::sheet::Mistake;
use crate::sheet::unit::Dimension;
use crate::sheet::{Entry, Sheet, Table};
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

fn read_item(table: Table<'_>, currency: &str) -> Option<PriceItem> {
    let title = table.text("title");
    if !table.has("price") {
        table.wrong("price", "is missing", "{ value = ..., unit = ..., source = ..., status = ... }");
    }
    let price = table.value_of("price", &[(currency, 1.0)], 0.0..=MOST, |price| {
        (price.number_opt("low", 0.0..=MOST), price.number_opt("high", 0.0..=MOST))
    });
    let length = table.value_opt("length", Dimension::Length, 0.0..=1e5);
    let power = table.value_of("power", &[("W", 1.0)], 0.0..=1e6, |power| {
        (power.number_opt("low", 0.0..=1e6), power.number_opt("high", 0.0..=1e6))
    });
    let power = power.and_then(|(value, (low, high))| {
        let watts = value?.value;
        let range = [watts, low.unwrap_or(watts), high.unwrap_or(watts)];
        if !(range[1]..=range[2]).contains(&watts) {
            table.wrong("power", "the value is outside its own range", "low <= value <= high");
        }
        Some(range)
    });
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
    Some(PriceItem { title: title?, price: value?.map(cents), low, high, length, power })
}
