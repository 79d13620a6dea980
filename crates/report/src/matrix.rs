//! A site's network group by group: its cells on a canvas with names and a scale of colours. A table names the hottest,
//! so that the page also serves without script or sight.

use crate::scale;
use hotlink_bench::Record;
use maud::{Markup, PreEscaped, html};
use serde_json::Value;

/// How many cells the table names.
const NAMED: usize = 20;
/// More groups than this are too fine for a page; the table names the hottest cells all the same.
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
    let every = (0..names.len()).flat_map(|a| (0..names.len()).map(move |b| (a, b)));
    let mut cells: Vec<Cell> = every.map(|(a, b)| cell(a, b)).filter(|cell| is_hot(cell.2)).collect();
    let all = names.len() * names.len();
    cells.sort_by(|a, b| a.2.unwrap_or(-1.0).total_cmp(&b.2.unwrap_or(-1.0)));
    let share =
        |share: Option<f64>| share.map_or_else(|| "unreachable".to_owned(), |share| scale::told("_share", share));
    let whole = records[0].number("all_to_all_share");
    // Text inside a script element must not end it.
    let data = serde_json::json!({ "names": names, "shares": rows.iter().map(|row| row.iter().map(rounded).collect::<Vec<Value>>()).collect::<Vec<_>>() });
    let data = data.to_string().replace('<', "\\u003c");
    Some(html! {
        p { "Under all-to-all, hosts get " (share(whole)) " of the usual host link. A cell is the share that the slowest cable on the paths from the row's switch to the column's hosts allows." }
        @if names.len() <= MOST_GROUPS {
            figure .matrix {
                div .legend aria-hidden="true" {}
                canvas tabindex="0" role="img" aria-label=(format!("{} by {} groups of hosts; {}", names.len(), names.len(), if cells.is_empty() { "every cell is at 100 %" } else { "the table below names the hottest cells" })) {}
                p .note aria-live="polite" { "Darker is hotter. Point at a cell, or move by the arrow keys." }
                script type="application/json" { (PreEscaped(data)) }
            }
        }
        @if cells.is_empty() {
            p { "Every cell is at 100 %: no cable takes anything from any pair of groups." }
        } @else { div .scroll tabindex="0" role="region" aria-label="hottest cells" {
            table .sortable {
                caption { "The " (cells.len().min(NAMED)) " hottest of " (all) " cells" }
                thead { tr { th { "from hosts of" } th { "to hosts of" } th .number { "share" } } }
                tbody {
                    @for (from, to, value) in cells.iter().take(NAMED) {
                        tr { td .name { (names[*from]) } td .name { (names[*to]) } td .number data-sort=[value.map(|v| v.to_string())] { (share(*value)) } }
                    }
                }
            }
        } }
    })
}

/// Whether a cell is below its whole share, by more than the rounding of sums.
fn is_hot(share: Option<f64>) -> bool {
    share.is_none_or(|share| share < 1.0 - 1e-9)
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
        assert!(page.contains("The 3 hottest of 4 cells"), "a cell at 100 % is not hot: {page}");
        let whole = [row("a", vec![Value::from(1.0 - 1e-16); 1])];
        let page = matrix(&whole.iter().collect::<Vec<_>>()).unwrap().into_string();
        assert!(page.contains("Every cell is at 100 %") && !page.contains("<table"), "{page}");
        assert!(matrix(&[&Record::new().with("benchmark", "pingpong")]).is_none());
    }
}
