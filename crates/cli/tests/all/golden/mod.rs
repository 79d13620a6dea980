//! The figures of a study as a table beside this file: a change of any figure is a visible difference.

use serde_json::Value;
use std::fmt::Write;

/// What names a point, and what tells how it comes about.
const KEYS: [&str; 9] = ["id", "quantity", "reading", "fabric", "series", "stride", "size_B", "busy_us", "method"];

/// Holds the records of `hotlink reproduce` against `golden/<study>.csv`; `HOTLINK_GOLDEN=write` accepts a change.
pub fn check(study: &str, records: &[Value]) {
    let mut table = format!("{},reproduced,limiting\n", KEYS.join(","));
    for record in records {
        for key in KEYS {
            write!(table, "{},", text(&record[key])).expect("a string takes all");
        }
        writeln!(table, "{},{}", text(&record["reproduced"]), text(&record["limiting_resource"])).expect("as above");
    }
    let path = format!("{}/tests/all/golden/{study}.csv", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("HOTLINK_GOLDEN").is_some() {
        std::fs::write(&path, &table).expect("the golden table can be written");
    }
    let golden = std::fs::read_to_string(&path).expect("written with HOTLINK_GOLDEN=write");
    for (line, (new, old)) in table.lines().zip(golden.lines()).enumerate() {
        assert_eq!(new, old, "{path}, line {}: HOTLINK_GOLDEN=write accepts it", line + 1);
    }
    assert_eq!(table.lines().count(), golden.lines().count(), "{path}: HOTLINK_GOLDEN=write accepts it");
}

/// Seven digits of a number; commas would end a cell.
fn text(value: &Value) -> String {
    match (value.as_f64(), value.as_str()) {
        (Some(number), _) if value.is_f64() => format!("{number:.6e}"),
        (Some(number), _) => number.to_string(),
        (_, Some(text)) => text.replace(',', ";"),
        _ => String::new(),
    }
}
