//! The page: verdict, checks, findings, results, their basis, inputs, signatures.

use crate::acceptance::Acceptance;
use crate::checks::{SHOWN, allowances};
use crate::judge::{Verdict, interval};
use crate::quantity::between;
use crate::{Report, chart, front, machine, matrix, rests, scale, series};
use hotlink_bench::Record;
use hotlink_results::compare_runs::QUANTITIES;
use hotlink_results::{IMPORTED_ON, Results};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::Value;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// Longer tables are cut, and say so: the page stays one that people can open and print.
const MOST_ROWS: usize = 400;
/// A table of more columns is printed across the paper.
const PORTRAIT: usize = 7;
/// Longer texts take several lines.
const NAME: usize = 40;

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
                    @let is_judged = report.verdict() > Verdict::Pass;
                    @if is_judged || report.lead.is_none() {
                        p .verdict .(report.verdict().name()) {
                            strong { (report.verdict().name()) } " " (report.sentence()) "."
                            span .meaning { (report.verdict().meaning()) }
                        }
                    }
                    @if let Some(lead) = &report.lead { (lead) }
                }
                main {
                    (checks(report))
                    @if report.lead.is_none() || !report.findings.is_empty() { (findings(report)) }
                    (furthest(report))
                    (held(report))
                    section id="results" {
                        h2 { "Results" }
                        @let files = html! { @for (index, results) in report.inputs.iter().enumerate() { (file(index, results)) } };
                        @match report.lead {
                            Some(_) => details { summary { "Every record of these commands" } (files) },
                            None => (files),
                        }
                    }
                    (rests::section(&report.inputs))
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
                                td .said { (outcome.subject) }
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
                p {
                    @if report.outcomes.iter().any(|outcome| outcome.verdict > Verdict::Pass) { "Nothing beyond what was required" }
                    @else { "Nothing" }
                    ": no result is wrong in itself, and none breaks a check."
                }
            } @else {
                div .scroll tabindex="0" role="region" aria-label="findings" {
                    table .sortable {
                        thead { tr { th { "verdict" } th { "what" } th { "result" } } }
                        tbody {
                            @for finding in report.findings.iter().take(MOST_ROWS) {
                                tr { td { (badge(finding.verdict)) } td .said { (finding.what) } td .said { (finding.subject) } }
                            }
                        }
                    }
                }
                (cut(report.findings.len()))
            }
        }
    }
}

/// What its bound explains least, result by result.
fn furthest(report: &Report) -> Markup {
    html! {
        @if !report.furthest.is_empty() {
            section {
                h2 { "Furthest from the bound" }
                div .scroll tabindex="0" role="region" aria-label="results furthest from their bound" {
                    table .sortable {
                        caption {
                            "The result of each series that is furthest from its bound, the furthest first"
                            @if report.furthest.len() > SHOWN { ": " (SHOWN) " of " (report.furthest.len()) " series" }
                            ". The share is the most that the intervals allow."
                        }
                        thead {
                            tr {
                                th { "result" } th .number { "share of the bound" } th .number { "value" } th .number { "bound" }
                                th .number { "time lost" } th { "what limits" }
                            }
                        }
                        tbody {
                            @for far in report.furthest.iter().take(SHOWN) {
                                @let share = 1.0 - far.unexplained;
                                tr {
                                    td .said { (far.subject) }
                                    td .number .share style=(format!("--share: {:.1}%", 100.0 * share)) data-sort=(share) { (scale::told("_share", share)) }
                                    td .number data-sort=(far.value.value) {
                                        (scale::told(far.quantity, far.value.value))
                                        @if far.value.is_interval() {
                                            " " span .interval { (scale::told(far.quantity, far.value.low)) " to " (scale::told(far.quantity, far.value.high)) }
                                        }
                                    }
                                    td .number data-sort=(far.bound.value) { (scale::told(far.quantity, far.bound.value)) }
                                    td .number { (far.lost()) }
                                    td .said { (far.limits()) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The checks, and how many results each covers.
fn held(report: &Report) -> Markup {
    html! {
        section {
            h2 { "What was checked" }
            div .scroll tabindex="0" role="region" aria-label="checks" {
                table {
                    caption { "Rules that results are held to without any requirement. They compare intervals, bounds and other results. " (allowances()) }
                    thead { tr { th { "verdict" } th { "check" } th { "what must hold" } th { "results" } } }
                    tbody {
                        @for check in &report.checks {
                            tr { td { (badge(check.verdict)) } td .name { (check.name) } td .said { (check.rule) } td { (check.outcome()) } }
                        }
                    }
                }
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
                    ul { @for record in records { li { "From " (from(record)) " nodes on, " (crossover(record)) } } }
                } @else {
                    @for figure in series::figures(records) { (chart::charts(&figure)) }
                    @match matrix::matrix(records) {
                        Some(matrix) => (matrix),
                        None => (table(records, &format!("{name} of {}", results.file.display()))),
                    }
                }
            }
            (environment(results))
        }
    }
}

/// The kind of a record's row, as a heading.
fn kind(record: &Record) -> String {
    let of = record.text("benchmark").or_else(|| record.text("traffic")).or_else(|| record.text("study"));
    let of = of.unwrap_or("result").to_owned();
    match (record.text("kind"), of.as_str()) {
        (Some(kind), "diagnose" | "report") => format!("{of}: {kind}"),
        (Some("crossover"), _) => "crossovers".to_owned(),
        _ => of,
    }
}

/// The number of nodes of a crossover.
fn from(record: &Record) -> String {
    record.number("nodes").map_or_else(|| "?".to_owned(), |nodes| scale::told("nodes", nodes))
}

/// Which fabric leads which from a crossover on, in words.
pub fn crossover(record: &Record) -> String {
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
    let before = match record.number("lead_changes").unwrap_or(1.0) {
        changes if changes > 2.0 => format!(" Before that, the lead changes {} times.", changes - 1.0),
        2.0 => " Before that, the lead changes once.".to_owned(),
        _ => String::new(),
    };
    format!("{} {is_ahead} {}.{before}", text("ahead_after"), text("ahead_before"))
}

/// The columns of a table of records, the most useful first. Values that differ between the rows lead; numbers with
/// their intervals, bounds, efficiency and limits follow. Values that all rows share stand in the caption; the rest is
/// in the file.
struct Columns {
    parameters: Vec<String>,
    numbers: Vec<String>,
    texts: Vec<String>,
}

impl Columns {
    fn of(records: &[&Record]) -> Columns {
        let differs = |key: &str| records.iter().any(|record| record.get(key) != records[0].get(key));
        let is_offer = records.iter().any(|record| series::is_offer(record));
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
            } else if is_result(key) || is_offer && is_of_offers(key) {
                columns.numbers.push(key.to_owned());
            } else if SAID.contains(&key) {
                columns.texts.push(key.to_owned());
            }
        }
        columns
    }
}

/// Texts and lists that say what came out.
const SAID: [&str; 21] = [
    "limiting_resource",
    "no_efficiency",
    "hot_link",
    "fallback",
    "limiter",
    "differs",
    "error",
    "slow_links",
    "missing_links",
    "odd_links",
    "unused_links",
    "unbalanced_links",
    "hot_link_flows_count",
    "hot_link_flows",
    "hot_link_senders_count",
    "hot_link_senders",
    "hot_link_destinations_count",
    "hot_link_destinations",
    "deadlock",
    "what",
    "verdict",
];

/// Whether a number is one by which networks to buy are compared.
fn is_of_offers(key: &str) -> bool {
    let parts = ["idle_latency_us", "power_kW", "switches", "routers"];
    parts.contains(&key)
        || key.ends_with("_cables")
        || key.starts_with("cost_per_MBps_") && !key.ends_with("_low") && !key.ends_with("_high")
}

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
        || key == "hosts_lost"
        || shares.contains(&key)
}

/// `label` names the region of the table for a screen reader.
fn table(records: &[&Record], label: &str) -> Markup {
    let columns = Columns::of(records);
    if let [record] = records {
        return list(record, &columns);
    }
    // The rest is ranked against this row: the network before anything fails.
    if let [first, ranked @ ..] = records
        && !has(first, "rank")
        && ranked.iter().all(|record| has(record, "rank"))
    {
        return html! {
            (table(&[*first], label))
            @if let Some(order) = first.text("ranked_by") { p .note { "In this order, " (order) "." } }
            (table(ranked, label))
        };
    }
    let unit = |key: &str| if key.ends_with("_B") { "bytes".to_owned() } else { String::new() };
    let wide = columns.parameters.len() + columns.numbers.len() + columns.texts.len() > PORTRAIT;
    html! {
        p .note { (shared(records)) }
        @if let Some(how) = method(records) { p .note { (how) } }
        div .scroll .wide[wide] tabindex="0" role="region" aria-label=(label) {
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

fn has(record: &Record, key: &str) -> bool {
    record.get(key).is_some_and(|value| !value.is_null())
}

/// How values were measured, in a sentence or two; `None` where they were not.
fn method(records: &[&Record]) -> Option<String> {
    let measured: Vec<&Record> = records.iter().copied().filter(|record| has(record, "n")).collect();
    let statistic = measured.first()?.statistic()?;
    let range = |key: &str| {
        let values: Vec<f64> = measured.iter().filter_map(|record| record.number(key)).collect();
        let (low, high) = (values.iter().copied().reduce(f64::min)?, values.iter().copied().reduce(f64::max)?);
        let said = |value: f64| scale::told(key, value);
        Some(if low < high { format!("{} to {}", said(low), said(high)) } else { said(low) })
    };
    let mut said = format!("Each {} is the median of {} samples", scale::name(statistic), range("n")?);
    let parts = [
        ("blocks", " in ", " blocks"),
        ("inner", " of ", " operations each"),
        ("warmup", ", after ", " warm-up samples"),
    ];
    for (key, before, after) in parts {
        if let Some(number) = range(key).filter(|number| key == "warmup" || number != "1") {
            said += &format!("{before}{number}{after}");
        }
    }
    said.push('.');
    if measured.iter().any(|record| has(record, "ci95_low")) {
        said += " The interval is the median's, at 95 %, by the medians of the blocks.";
    }
    let words = |key: &str| {
        let mut all: Vec<&str> = measured.iter().filter_map(|record| record.text(key)).collect();
        all.sort_unstable();
        all.dedup();
        all.join(" or ")
    };
    for (key, before, after) in [("ended_by", " A point ended by ", "."), ("buffers", " Buffers: ", ".")] {
        let word = words(key);
        if !word.is_empty() {
            said += &format!("{before}{word}{after}");
        }
    }
    Some(said)
}

/// A lone record, line by line.
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
        @if let Some(how) = method(&[record]) { p .note { (how) } }
    }
}

/// Values that all rows have in common, as one line.
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
        Value::Object(facts) => {
            let facts = facts.iter().map(|(key, value)| format!("{} {}", scale::name(key), text(key, value)));
            facts.collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

fn plain(record: &Record, key: &str) -> Markup {
    let value = record.get(key).filter(|value| !value.is_null());
    let sort = value.and_then(Value::as_f64).map(|number| number.to_string());
    let said = value.map_or_else(String::new, |value| text(key, value));
    let is_name = said.len() <= NAME;
    html! { td .name[is_name] .said[!is_name] data-sort=[sort] { (said) } }
}

fn number(record: &Record, key: &str) -> Markup {
    let Some(between) = between(record, key) else { return plain(record, key) };
    // Percentiles are of the quantity of the statistics.
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
                dl { @for (name, said) in machine::facts(facts, text) { dt { (name) } dd { (said) } } }
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
            div .scroll tabindex="0" role="region" aria-label="files of this page" {
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
    fn a_fact_of_several_parts_is_told_in_words() {
        let facts = serde_json::json!([
            {"level": 1, "size_B": 32768},
            {"name": "mlx5_0", "driver": "mlx5_core", "firmware": "28.43.1014", "driver_version": "24.10"}
        ]);
        let said = "level 1, size 32 KiB; name mlx5_0, driver mlx5_core, firmware 28.43.1014, driver version 24.10";
        assert_eq!(text("", &facts), said);
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
    fn the_network_before_failures_stands_apart_from_the_ranking() {
        let rows = r#"[{"benchmark": "failures", "part": "nothing", "all_to_all_share": 0.5, "unreachable_pairs": 0,
                "ranked_by": "the worst first: pairs"},
            {"benchmark": "failures", "rank": 1, "failed": "leaf1 port 6 -> spine0 port 4", "rerouted_share": 0.25},
            {"benchmark": "failures", "rank": 2, "failed": "spine0", "rerouted_share": 0.5}]"#;
        let page = report(rows, None).html();
        let table = &page[page.find("<table class=\"sortable\">").unwrap()..];
        assert!(!table.contains("all to all share"), "{table}");
        assert!(page.contains("In this order, the worst first: pairs."));
        assert!(page.contains("<dt>all to all share</dt>") && table.contains("rerouted share"));
        assert!(table.contains("<td class=\"name\">leaf1 port 6 -&gt; spine0 port 4</td>"), "{table}");
    }

    #[test]
    fn a_table_says_how_its_values_were_measured() {
        let row = |size: u64, n: u64| {
            format!(
                r#"{{"benchmark": "pingpong", "size_B": {size}, "latency_us": 0.5, "statistic_of": "latency_us", "n": {n},
                "blocks": 12, "inner": 1, "warmup": 7, "median": 0.5, "ci95_low": 0.4, "ci95_high": 0.6,
                "ended_by": "time", "buffers": "kept"}}"#
            )
        };
        let page = report(&format!("[{}, {}]", row(8, 500), row(64, 1872)), None).html();
        let how = "Each latency is the median of 500 to 1872 samples in 12 blocks, after 7 warm-up samples. The interval is the \
                   median's, at 95 %, by the medians of the blocks. A point ended by time. Buffers: kept.";
        assert!(page.contains(how), "{page}");
    }

    #[test]
    fn networks_to_buy_have_their_power_latency_parts_and_two_more_curves() {
        let row = |nodes: u64| {
            format!(
                r#"{{"kind": "fabric", "fabric": "tree", "nodes": {nodes}, "traffic": "all-to-all", "method": "load",
                "bandwidth_per_node_MBps": 5e4, "injection_per_node_MBps": 6e4, "idle_latency_us": 1.5, "power_kW": 11.5,
                "switches": 6, "switch_cables": 128, "currency": "USD", "cost_USD": 616000, "cost_per_node_USD": 4812.5,
                "cost_per_MBps_USD": 0.09686}}"#
            )
        };
        let page = report(&format!("[{}, {}, {}]", row(64), row(128), row(256)), None).html();
        for said in ["power", "idle latency", "switches", "switch cables", "cost per MBps"] {
            assert!(page.contains(&format!("{said}</th>")), "{said}: {page}");
        }
        for curve in ["Bandwidth per node by nodes", "Cost per node by nodes", "Idle latency by nodes"] {
            assert!(page.contains(curve), "{curve}");
        }
        assert!(page.contains("class=\"bound\"") && page.contains("<div class=\"scroll wide\""));
    }

    #[test]
    fn one_of_a_thing_is_told_as_one() {
        let required = "[[require]]\nlatency_us = { at_most = 1.0 }\n";
        let one = report(r#"[{"benchmark": "pingpong", "latency_us": 0.5}]"#, Some(required)).sentence();
        assert!(one.starts_with("1 required value of 1 result: "), "{one}");
        let row = r#"{"benchmark": "pingpong", "latency_us": 0.5}"#;
        let two = report(&format!("[{row}, {row}]"), Some(required)).sentence();
        assert!(two.starts_with("2 required values of 2 results: "), "{two}");
    }
}
