//! The page: verdict, checks, what stands out, results, what they rest on, inputs, signatures.

use crate::acceptance::Acceptance;
use crate::judge::{Verdict, interval};
use crate::quantity::between;
use crate::{Report, chart, front, matrix, scale, series};
use hotlink_bench::Record;
use hotlink_results::compare_runs::QUANTITIES;
use hotlink_results::{IMPORTED_ON, Results};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::Value;
use std::collections::BTreeMap;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// Longer tables are cut, and say so: the page stays one that people can open and print.
const MOST_ROWS: usize = 400;

pub(crate) fn html(report: &Report) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy"
                    content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";
                meta name="generator" content=(format!("hotlink {}", env!("CARGO_PKG_VERSION")));
                title { (report.title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a .skip href="#results" { "To the results" }
                header {
                    h1 { (report.title) }
                    p .verdict .(report.verdict().name()) { strong { (report.verdict().name()) } " " (report.sentence()) }
                }
                main {
                    (checks(report))
                    (findings(report))
                    section id="results" {
                        h2 { "Results" }
                        @for (index, results) in report.inputs.iter().enumerate() { (file(index, results)) }
                    }
                    (assumptions(&report.inputs))
                    (inputs(report))
                    (signatures())
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string()
}

fn badge(verdict: Verdict) -> Markup {
    html! { span .badge .(verdict.name()) { (verdict.name()) } }
}

fn checks(report: &Report) -> Markup {
    let Some(acceptance) = &report.acceptance else { return html! {} };
    html! {
        section {
            h2 { "What was required" }
            div .scroll tabindex="0" role="region" aria-label="requirements" {
                table .sortable {
                    caption { "Requirements of " (acceptance.file.display()) ". An interval that reaches over its limit is suspicious: measure again, or longer." }
                    thead { tr { th { "verdict" } th { "requirement" } th { "result" } th { "quantity" } th { "required" } th { "reached" } } }
                    tbody {
                        @for outcome in &report.outcomes {
                            tr {
                                td { (badge(outcome.verdict)) }
                                td { (outcome.requirement) }
                                td { (outcome.subject) }
                                td { (scale::name(&outcome.quantity)) }
                                td { (outcome.required) }
                                td { (outcome.reached()) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn findings(report: &Report) -> Markup {
    html! {
        section {
            h2 { "What stands out" }
            @if report.findings.is_empty() {
                p { "Nothing: no result is wrong in itself or beyond its bound." }
            } @else {
                div .scroll tabindex="0" role="region" aria-label="findings" {
                    table .sortable {
                        thead { tr { th { "verdict" } th { "what" } th { "result" } } }
                        tbody {
                            @for finding in report.findings.iter().take(MOST_ROWS) {
                                tr { td { (badge(finding.verdict)) } td { (finding.what) } td { (finding.subject) } }
                            }
                        }
                    }
                }
                (cut(report.findings.len()))
            }
        }
    }
}

/// What was left out of a table.
fn cut(rows: usize) -> Markup {
    html! { @if rows > MOST_ROWS { p .note { "The first " (MOST_ROWS) " of " (rows) " rows; the file holds all." } } }
}

/// One file's results, benchmark by benchmark.
fn file(index: usize, results: &Results) -> Markup {
    let mut groups: Vec<(String, Vec<&Record>)> = Vec::new();
    for record in &results.records {
        let name = kind(record);
        match groups.iter_mut().find(|(known, _)| *known == name) {
            Some((_, records)) => records.push(record),
            None => groups.push((name, vec![record])),
        }
    }
    html! {
        article id=(format!("file-{index}")) {
            h3 { (results.file.display()) }
            p .command { code { (results.command) } }
            @for (name, records) in &groups {
                h4 { (name) }
                @if let Some(front) = front::front(records) {
                    (front)
                } @else if name == "crossovers" {
                    p .note { "By the sizes that were asked for; nothing was computed between them." }
                    ul { @for record in records { li { (crossover(record)) } } }
                } @else {
                    @for figure in series::figures(records) { (chart::charts(&figure)) }
                    @match matrix::matrix(records) {
                        Some(matrix) => (matrix),
                        None => (table(records)),
                    }
                }
            }
            (environment(results))
        }
    }
}

/// What kind of row a record is, as a heading.
fn kind(record: &Record) -> String {
    let of = record.text("benchmark").or_else(|| record.text("traffic")).or_else(|| record.text("study"));
    let of = of.unwrap_or("result").to_owned();
    match (record.text("kind"), of.as_str()) {
        (Some(kind), "diagnose" | "report") => format!("{of}: {kind}"),
        (Some("crossover"), _) => "crossovers".to_owned(),
        _ => of,
    }
}

/// Who overtakes whom for good, in a sentence.
fn crossover(record: &Record) -> String {
    let text = |key: &str| record.text(key).unwrap_or("?");
    let quantity = text("quantity");
    let is_ahead = match quantity {
        key if key.starts_with("cost_per_MBps_") => "costs less for each MB/s than".to_owned(),
        key if key.starts_with("cost_") => "costs less than".to_owned(),
        "idle_latency_us" => "has a lower latency than".to_owned(),
        "power_kW" => "takes less power than".to_owned(),
        "bandwidth_per_node_MBps" => "gives each node more bandwidth than".to_owned(),
        key => format!("is better in {} than", scale::name(key)),
    };
    let nodes = record.number("nodes").map_or_else(|| "?".to_owned(), |nodes| scale::told("nodes", nodes));
    let before = match record.number("lead_changes").unwrap_or(1.0) {
        changes if changes > 2.0 => format!(" Before that, the lead changes {} times.", changes - 1.0),
        2.0 => " Before that, the lead changes once.".to_owned(),
        _ => String::new(),
    };
    format!("From {nodes} nodes on, {} {is_ahead} {}.{before}", text("ahead_after"), text("ahead_before"))
}

/// The columns of a table of records, by what tells a reader most: what differs between the rows, then numbers with their
/// intervals, bounds, efficiency and what limits. What all rows share stands in the caption; the rest is in the file.
struct Columns {
    parameters: Vec<String>,
    numbers: Vec<String>,
    texts: Vec<String>,
}

impl Columns {
    fn of(records: &[&Record]) -> Columns {
        let differs = |key: &str| records.iter().any(|record| record.get(key) != records[0].get(key));
        let (mut columns, mut seen) = (Columns { parameters: vec![], numbers: vec![], texts: vec![] }, vec![]);
        for (key, value) in records.iter().flat_map(|record| record.fields()) {
            if seen.contains(&key) || value.is_null() {
                continue;
            }
            seen.push(key);
            let is_parameter = records.iter().any(|record| series::named(record).any(|(name, _)| name == key));
            if is_parameter {
                if differs(key) {
                    columns.parameters.push(key.to_owned());
                }
            } else if is_result(key) {
                columns.numbers.push(key.to_owned());
            } else if SAID.contains(&key) {
                columns.texts.push(key.to_owned());
            }
        }
        columns
    }
}

/// Texts and lists that say what came out.
const SAID: [&str; 14] = [
    "limiting_resource",
    "hot_link",
    "limiter",
    "differs",
    "error",
    "slow_links",
    "missing_links",
    "odd_links",
    "unused_links",
    "unbalanced_links",
    "hot_link_destinations",
    "deadlock",
    "what",
    "verdict",
];

/// Whether a number is one that people read a result for.
fn is_result(key: &str) -> bool {
    let shares = [
        "efficiency",
        "injection_per_node_MBps",
        "p99",
        "before",
        "after",
        "ratio",
        "published",
        "reproduced",
        "error_pct",
    ];
    QUANTITIES.iter().any(|(quantity, _)| *quantity == key)
        || key.strip_prefix("cost_").is_some_and(|currency| !currency.contains('_'))
        || key.starts_with("bound_") && key != "bound_is"
        || key.ends_with("_share")
        || key.ends_with("_pairs")
        || shares.contains(&key)
}

fn table(records: &[&Record]) -> Markup {
    let columns = Columns::of(records);
    if let [record] = records {
        return list(record, &columns);
    }
    let unit = |key: &str| if key.ends_with("_B") { "bytes".to_owned() } else { String::new() };
    html! {
        p .note { (shared(records)) }
        div .scroll tabindex="0" role="region" aria-label="table" {
            table .sortable {
                thead {
                    tr {
                        @for key in &columns.parameters { th title=(unit(key)) { (scale::name(key)) } }
                        @for key in &columns.numbers { th .number { (scale::name(key)) } }
                        @for key in &columns.texts { th { (scale::name(key)) } }
                    }
                }
                tbody {
                    @for record in records.iter().take(MOST_ROWS) {
                        tr {
                            @for key in &columns.parameters { (plain(record, key)) }
                            @for key in &columns.numbers { (number(record, key)) }
                            @for key in &columns.texts { td .said { (record.get(key).filter(|value| !value.is_null()).map_or_else(String::new, |value| text(key, value))) } }
                        }
                    }
                }
            }
        }
        (cut(records.len()))
    }
}

/// A record that stands alone, line by line.
fn list(record: &Record, columns: &Columns) -> Markup {
    let said = |key: &String| record.get(key).map_or_else(String::new, |value| text(key, value));
    let names =
        series::named(record).filter(|(key, _)| *key != "benchmark").map(|(key, value)| (key, text(key, value)));
    html! {
        dl {
            @for (key, value) in names { dt { (scale::name(key)) } dd { (value) } }
            @for key in &columns.numbers {
                dt { (scale::name(key)) }
                dd { (between(record, key).map_or_else(|| said(key), |number| interval(key, number))) }
            }
            @for key in &columns.texts { @let said = said(key); @if !said.is_empty() { dt { (scale::name(key)) } dd { (said) } } }
        }
        @if let Some(bound) = record.text("bound_is") { p .note { "The bound is " (bound) "." } }
    }
}

/// What all rows have in common, as one line.
fn shared(records: &[&Record]) -> String {
    let same = |key: &str| records.iter().all(|record| record.get(key) == records[0].get(key));
    let own = series::named(records[0]).filter(|(key, _)| same(key) && *key != "benchmark" && records.len() > 1);
    let said: Vec<String> = own.map(|(key, value)| format!("{} {}", scale::name(key), text(key, value))).collect();
    let bound = records[0].text("bound_is").filter(|_| same("bound_is"));
    let bound = bound.map_or_else(String::new, |bound| format!(" The bound is {bound}."));
    match said.is_empty() {
        true => bound.trim_start().to_owned(),
        false => format!("In all rows: {}.{bound}", said.join(", ")),
    }
}

fn text(key: &str, value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.as_f64().map_or_else(|| number.to_string(), |number| scale::told(key, number)),
        Value::Array(list) => list.iter().map(|one| text(key, one)).collect::<Vec<_>>().join("; "),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        other => other.to_string(),
    }
}

fn plain(record: &Record, key: &str) -> Markup {
    let value = record.get(key).filter(|value| !value.is_null());
    let sort = value.and_then(Value::as_f64).map(|number| number.to_string());
    html! { td .name data-sort=[sort] { (value.map_or_else(String::new, |value| text(key, value))) } }
}

fn number(record: &Record, key: &str) -> Markup {
    let Some(between) = between(record, key) else { return plain(record, key) };
    // Percentiles are of what the statistics are of.
    let unit = if key == "p99" { record.statistic().unwrap_or(key) } else { key };
    let share = (key == "efficiency").then(|| format!("--share: {:.1}%", 100.0 * between.value.clamp(0.0, 1.0)));
    html! {
        td .number .share[share.is_some()] style=[share] data-sort=(between.value) {
            (scale::told(unit, between.value))
            @if between.is_interval() {
                " " span .interval { (scale::told(unit, between.low)) " to " (scale::told(unit, between.high)) }
            }
        }
    }
}

fn environment(results: &Results) -> Markup {
    let is_imported = results.is_imported();
    let facts = match results.environment.get(IMPORTED_ON) {
        Some(Value::Object(facts)) => facts,
        _ => &results.environment,
    };
    html! {
        @if is_imported { p .note { "The machine that measured is not known: these are imported results of another program." } }
        @if !facts.is_empty() {
            details {
                summary { @if is_imported { "Where they were imported" } @else { "Environment" } }
                dl { @for (key, value) in facts { @if !value.is_null() { dt { (scale::name(key)) } dd { (text("", value)) } } } }
            }
        }
    }
}

/// What was assumed or estimated, how many results rest on it, and what moves them most.
fn assumptions(inputs: &[Results]) -> Markup {
    let count = |key: &str| {
        let mut found: BTreeMap<String, usize> = BTreeMap::new();
        for record in inputs.iter().flat_map(|results| &results.records) {
            for line in record.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
                *found.entry(line.to_owned()).or_default() += 1;
            }
        }
        found
    };
    let kinds = [
        ("assumed", "Assumed: no file states it"),
        ("estimates", "Estimated: the catalog says so"),
        ("sensitivity", "How far the answers move"),
        ("not_varied", "Not varied: no uncertainty is stated"),
    ];
    let kinds = kinds.map(|(key, title)| (title, count(key)));
    html! {
        section {
            h2 { "What the numbers rest on" }
            @if kinds.iter().all(|(_, found)| found.is_empty()) {
                p { "No result names an assumed or estimated input." }
            }
            @for (title, found) in &kinds {
                @if !found.is_empty() {
                    details {
                        summary { (title) " (" (found.len()) ")" }
                        ul {
                            @for (line, results) in found.iter().take(MOST_ROWS) {
                                li { (line) @if *results > 1 { span .note { " in " (results) " results" } } }
                            }
                        }
                        (cut(found.len()))
                    }
                }
            }
        }
    }
}

fn inputs(report: &Report) -> Markup {
    let row = |file: String, hash: &str, command: &str| html! { tr { td { (file) } td { code { (hash) } } td { code { (command) } } } };
    let required = |acceptance: &Acceptance| row(acceptance.file.display().to_string(), &acceptance.sha256, "");
    html! {
        section {
            h2 { "How to make it again" }
            p .command { code { (report.command) } }
            div .scroll {
                table {
                    caption { "The files that this page was made of" }
                    thead { tr { th { "file" } th { "SHA-256" } th { "command" } } }
                    tbody {
                        @for results in &report.inputs { (row(results.file.display().to_string(), &results.sha256, &results.command)) }
                        @if let Some(acceptance) = &report.acceptance { (required(acceptance)) }
                    }
                }
            }
        }
    }
}

fn signatures() -> Markup {
    html! {
        section .signatures {
            h2 { "Signatures" }
            @for who in ["For the supplier", "For the site"] {
                p { span { (who) } span .line { "Name" } span .line { "Date" } span .line { "Signature" } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn report(records: &str, required: Option<&str>) -> Report {
        let json = format!(
            r#"{{"schema": "hotlink/1", "command": ["hotlink", "x"], "environment": {{"host": "<n1>"}}, "records": {records}}}"#
        );
        let results = hotlink_results::parse(Path::new("m.json"), &json).unwrap();
        let acceptance = required.map(|text| Acceptance::parse(Path::new("a.toml"), text).unwrap());
        Report::new(vec![results], acceptance, None, "hotlink report m.json".to_owned())
    }

    #[test]
    fn a_percentile_has_the_unit_of_what_it_is_of() {
        let of = Record::new().with("p99", 12.5).with("statistic_of", "latency_us of the messages that arrived");
        assert!(number(&of, "p99").into_string().contains("12.5 us"), "{}", number(&of, "p99").into_string());
    }

    #[test]
    fn where_results_were_imported_is_not_where_they_were_measured() {
        for (command, environment) in [
            (r#"["hotlink", "import", "osu", "o.txt"]"#, r#"{"host": "n1"}"#),
            ("[]", r#"{"imported_on": {"host": "n1"}}"#),
        ] {
            let json = format!(
                r#"{{"schema": "hotlink/2", "command": {command}, "environment": {environment}, "records": []}}"#
            );
            let results = hotlink_results::parse(Path::new("m.json"), &json).unwrap();
            let page = Report::new(vec![results], None, None, "hotlink report m.json".to_owned()).html();
            assert!(page.contains("The machine that measured is not known"), "{page}");
            assert!(page.contains("Where they were imported") && !page.contains("Environment"), "{page}");
        }
    }

    #[test]
    fn what_a_file_says_cannot_become_markup() {
        let page = report(r#"[{"benchmark": "<script>alert(1)</script>", "fabric": "\"><b>", "latency_us": 1.0, "limiting_resource": "</td>"}]"#, None).html();
        assert!(!page.contains("<script>alert") && !page.contains("<b>") && !page.contains("<n1>"));
        assert!(page.contains("&lt;script&gt;alert(1)"));
    }

    #[test]
    fn the_verdict_stands_first_and_in_the_records() {
        let required = "[[require]]\nwhere = { benchmark = 'pingpong' }\nlatency_us = { at_most = 1.0 }\n";
        let failed = report(r#"[{"benchmark": "pingpong", "size_B": 8, "latency_us": 2.0}]"#, Some(required));
        assert_eq!(failed.verdict(), Verdict::Fail);
        assert_eq!(failed.records()[0].text("verdict"), Some("fail"));
        let (page, junit) = (failed.html(), failed.junit());
        assert!(page.find("fail</strong>").unwrap() < page.find("What was required").unwrap());
        assert!(junit.contains("failures=\"1\"") && junit.contains("at most 1 us: 2 us"));
        let passed = report(r#"[{"benchmark": "pingpong", "size_B": 8, "latency_us": 0.5}]"#, Some(required));
        assert_eq!((passed.verdict(), passed.html() == passed.html()), (Verdict::Pass, true));
    }

    #[test]
    fn crossovers_are_sentences_and_costs_are_grouped() {
        let crossover = |quantity: &str, changes: u64| {
            format!(
                r#"{{"kind": "crossover", "method": "load", "quantity": "{quantity}", "nodes": 128, "ahead_before": "tree",
                "ahead_after": "dragonfly", "lead_changes": {changes}}}"#
            )
        };
        let row = |nodes: u64| {
            format!(
                r#"{{"fabric": "tree", "nodes": {nodes}, "traffic": "all-to-all", "cost_USD": 94160, "cost_USD_low": 64000,
                "cost_USD_high": 120000}}"#
            )
        };
        let records = [row(64), row(128), crossover("cost_USD", 2), crossover("idle_latency_us", 1)].join(",");
        let page = report(&format!("[{records}]"), None).html();
        for said in [
            "<h4>crossovers</h4>",
            "From 128 nodes on, dragonfly costs less than tree. Before that, the lead changes once.</li>",
            "From 128 nodes on, dragonfly has a lower latency than tree.</li>",
            "94,160 USD <span class=\"interval\">64,000 USD to 120,000 USD</span>",
        ] {
            assert!(page.contains(said), "{said}: {page}");
        }
        assert!(!page.contains("ahead before"));
    }

    #[test]
    fn one_of_a_thing_is_told_as_one() {
        let required = "[[require]]\nlatency_us = { at_most = 1.0 }\n";
        let one = report(r#"[{"benchmark": "pingpong", "latency_us": 0.5}]"#, Some(required)).sentence();
        assert!(one.starts_with("1 check of 1 result: "), "{one}");
        let row = r#"{"benchmark": "pingpong", "latency_us": 0.5}"#;
        let two = report(&format!("[{row}, {row}]"), Some(required)).sentence();
        assert!(two.starts_with("2 checks of 2 results: "), "{two}");
    }
}
