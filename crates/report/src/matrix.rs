//! A site's network group by group: hot cells on canvas, the hottest by name in a table, which says the same without
//! script or sight.

use crate::scale;
use hotlink_bench::Record;
use maud::{Markup, PreEscaped, html};
use serde_json::Value;

/// How many cells the table names.
const NAMED: usize = 20;
/// More groups than this are too fine to tell apart on a page; the table names the hottest cells all the same.
const MOST_GROUPS: usize = 512;

/// A cell: from, to, share; none where a host cannot be reached.
type Cell = (usize, usize, Option<f64>);

/// The matrix of `hotlink fabric --groups`; `None` if the records are none.
pub(crate) fn matrix(records: &[&Record]) -> Option<Markup> {
    if records.iter().any(|record| record.text("benchmark") != Some("groups")) {
        return None;
    }
    let names: Vec<&str> = records.iter().map(|record| record.text("group").unwrap_or("?")).collect();
    let rows: Option<Vec<&Vec<Value>>> =
        records.iter().map(|record| record.get("shares").and_then(Value::as_array)).collect();
    let rows = rows.filter(|rows| rows.iter().all(|row| row.len() == names.len()))?;
    let cell = |from: usize, to: usize| (from, to, rows[from][to].as_f64());
    let mut cells: Vec<Cell> =
        (0..names.len()).flat_map(|a| (0..names.len()).map(move |b| (a, b))).map(|(a, b)| cell(a, b)).collect();
    cells.sort_by(|a, b| a.2.unwrap_or(-1.0).total_cmp(&b.2.unwrap_or(-1.0)));
    let share =
        |share: Option<f64>| share.map_or_else(|| "unreachable".to_owned(), |share| scale::told("_share", share));
    let whole = records[0].number("all_to_all_share");
    // Text inside a script element must not end it.
    let data = serde_json::json!({ "names": names, "shares": rows.iter().map(|row| row.iter().map(rounded).collect::<Vec<Value>>()).collect::<Vec<_>>() });
    let data = data.to_string().replace('<', "\\u003c");
    Some(html! {
        p { "Under all-to-all, hosts get " (share(whole)) " of the usual host link. A cell is what the slowest cable on the ways from the row's switch to the column's hosts would give." }
        @if names.len() <= MOST_GROUPS {
            figure .matrix {
                canvas tabindex="0" role="img" aria-label=(format!("{} by {} groups; the table below names the hottest cells", names.len(), names.len())) {}
                p .note aria-live="polite" { "Darker is hotter. Point at a cell, or move by the arrow keys." }
                script type="application/json" { (PreEscaped(data)) }
            }
        }
        div .scroll tabindex="0" role="region" aria-label="hottest cells" {
            table .sortable {
                caption { "The " (cells.len().min(NAMED)) " hottest of " (cells.len()) " cells" }
                thead { tr { th { "from hosts of" } th { "to hosts of" } th .number { "share" } } }
                tbody {
                    @for (from, to, value) in cells.iter().take(NAMED) {
                        tr { td .name { (names[*from]) } td .name { (names[*to]) } td .number data-sort=[value.map(|v| v.to_string())] { (share(*value)) } }
                    }
                }
            }
        }
    })
}

/// To three digits, which is more than a colour shows.
fn rounded(value: &Value) -> Value {
    value.as_f64().map_or(Value::Null, |share| Value::from((share * 1e3).round() / 1e3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hottest_cell_is_named_first_and_names_cannot_end_the_script() {
        let row = |name: &str, shares: Vec<Value>| {
            Record::new()
                .with("benchmark", "groups")
                .with("group", name)
                .with("all_to_all_share", 0.25)
                .with("shares", shares)
        };
        let rows = [
            row("</script>", vec![Value::from(1.0), Value::from(0.25)]),
            row("b", vec![Value::from(0.5), Value::Null]),
        ];
        let page = matrix(&rows.iter().collect::<Vec<_>>()).unwrap().into_string();
        assert!(!page.contains("[\"</script>"));
        let (first, second) = (page.find("unreachable").unwrap(), page.rfind("25 %").unwrap());
        assert!(first < second, "what cannot be reached comes before what is slow");
        assert!(matrix(&[&Record::new().with("benchmark", "pingpong")]).is_none());
    }
}
