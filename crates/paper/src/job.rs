//! What a program did on a simulated fabric, in a few lines, or on several as a table.

use crate::columns::PROGRAM;
use crate::rests;
use crate::table::{Table, figure};
use hotlink_bench::Record;
use hotlink_launch::Clocks;

/// The report for people, of the run and of its collectives.
pub fn report(record: &Record, called: &[Record]) -> String {
    let text = |key: &str| record.text(key).unwrap_or_default().to_owned();
    let number = |key: &str| record.number(key).map_or_else(|| "-".to_owned(), figure);
    let percent = |share: f64| format!("{} %", figure((share * 1000.0).round() / 10.0));
    let share = |key: &str| record.number(key).map_or_else(|| "-".to_owned(), percent);
    let mut lines = vec![format!(
        "hotlink: {} on {}, {} ranks: {} us of virtual time; {} of the ranks' time is communication",
        text("program"),
        text("fabric"),
        number("ranks"),
        number("elapsed_us"),
        share("communication_share")
    )];
    if text("compute_time") == "none" {
        lines.push("  computing: takes no time (--compute-time none)".to_owned());
    }
    if text("clocks") == Clocks::System.name() {
        lines.push("  clocks: the system's own, but MPI_Wtime's (--clocks)".to_owned());
    }
    let waiting = record.numbers("rank_waiting_us");
    // The first of equals.
    let most = waiting.iter().enumerate().reduce(|most, one| if one.1 > most.1 { one } else { most });
    let least = waiting.iter().enumerate().reduce(|least, one| if one.1 < least.1 { one } else { least });
    if let (Some(least), Some(most)) = (least, most) {
        let (from, to) = (figure(*least.1), figure(*most.1));
        let (share, least, most) = (share("waiting_share"), least.0, most.0);
        lines.push(format!("  waiting: {share} of the ranks' time, {from} us (rank {least}) to {to} us (rank {most})"));
    }
    let names = record.get("hot_links").and_then(|names| names.as_array()).cloned().unwrap_or_default();
    let shares = record.numbers("hot_links_share");
    let hot: Vec<String> = names
        .iter()
        .zip(shares)
        .map(|(name, share)| format!("{} {}", name.as_str().unwrap_or("-"), percent(share)))
        .collect();
    if !hot.is_empty() {
        lines.push(format!("  hot links: {} (share of the time that each is busy)", hot.join(", ")));
    }
    if record.number("bound_elapsed_us").is_some() {
        let (bound, limit) = (number("bound_elapsed_us"), text("limiting_resource"));
        lines.push(format!(
            "  bound: {bound} us, which {limit} is busy in any order of these messages; efficiency {}",
            number("efficiency")
        ));
    }
    lines.extend(collectives(called));
    lines.extend(rests::of_run(record).into_iter().map(|line| format!("  {line}")));
    lines.join("\n") + "\n"
}

/// Lines of collectives that a report has.
const SHOWN: usize = 12;

/// What collectives took, a line each: those with the most time.
fn collectives(called: &[Record]) -> Vec<String> {
    let mut lines = Vec::new();
    if !called.is_empty() {
        lines.push(
            "  collectives, from the first rank that enters to the last that leaves, a call in the mean:".to_owned(),
        );
    }
    for record in called.iter().take(SHOWN) {
        let text = |key: &str| record.text(key).unwrap_or_default();
        let number = |key: &str| record.number(key).map_or_else(|| "-".to_owned(), figure);
        let size = match (record.number("size_B"), record.number("size_max_B")) {
            (None, _) => String::new(),
            (Some(low), None) => format!(" of {} B", figure(low)),
            (Some(low), Some(high)) => format!(" of {} to {} B", figure(low), figure(high)),
        };
        let bound = match record.number("bound_latency_us") {
            None => format!("no bound ({})", text("bound_is").trim_start_matches("none: ")),
            Some(bound) => {
                let (bound, efficiency, limit) = (figure(bound), number("efficiency"), text("limiting_resource"));
                format!("bound {bound} us, efficiency {efficiency}, set by {limit}")
            }
        };
        let (calls, name, ranks) = (number("collective_calls"), text("collective"), number("ranks"));
        let (us, spread) = (number("latency_us"), number("entry_spread_us"));
        lines.push(format!(
            "    {calls} x {name}{size}, {ranks} ranks: {us} us, of which {spread} until all had entered; {bound}"
        ));
    }
    if called.len() > SHOWN {
        lines.push(format!("    and {} more (--json)", called.len() - SHOWN));
    }
    lines
}

/// A program on several fabrics, with what they cost.
pub fn table(records: &[Record]) -> Table {
    let currencies: std::collections::BTreeSet<&str> =
        records.iter().filter_map(|record| record.text("currency")).collect();
    let costs: Vec<String> = currencies.iter().map(|currency| format!("cost_{currency}")).collect();
    let keys: Vec<&str> = PROGRAM.iter().copied().chain(costs.iter().map(String::as_str)).chain(["note"]).collect();
    Table::of_keys(records, &keys)
}
