//! The variants of a design: cost against bandwidth with the front named, and a table of all that sorts. Each variant
//! on the front has its bill and its cables.

use crate::{chart, scale};
use hotlink_bench::Record;
use hotlink_chart::{Mark, Scatter, scattered};
use hotlink_study::text::figure;
use maud::{Markup, html};
use serde_json::Value;

/// The records of `hotlink design` as a page shows them; `None` if the records are none.
pub(crate) fn front(records: &[&Record]) -> Option<Markup> {
    if records.iter().any(|record| record.text("benchmark") != Some("design")) {
        return None;
    }
    let of = |kind: &str| of_kind(records, kind);
    let variants = of("variant");
    let mut sizes: Vec<f64> = Vec::new();
    for hosts in variants.iter().filter_map(|variant| variant.number("hosts")) {
        if !sizes.contains(&hosts) {
            sizes.push(hosts);
        }
    }
    let rows = |kind: &str, columns: &[(&str, &str)], caption: &str| rows(&of(kind), columns, caption);
    Some(html! {
        @for hosts in sizes {
            @let here: Vec<&Record> = variants.iter().copied().filter(|one| one.number("hosts") == Some(hosts)).collect();
            (of_hosts(hosts, &here, records))
        }
        (rows("constraint", &LIMITS, "Limits: how many variants keep to each, and which of them bind"))
        (rows("step", &STEPS, "Growth from one number of hosts to the next"))
        (rows("simulated", &SIMULATED, "The front, packet by packet"))
        (rows("left-out", &[("fabric", "variant"), ("note", "why it is left out")], "Left out"))
        @if let Some(first) = variants.first() {
            p .note {
                "Shares are of what a node can inject by itself, by load count on the routes that the technology takes. Shares after "
                "a failure are of what all-to-all gave before it. Transceivers are two for each optical cable. Floor: " (text(first, "floor")) ". Prices: " (text(first, "prices")) " of "
                (text(first, "prices_date")) ", " (text(first, "prices_status")) "."
            }
        }
    })
}

/// Keys and heads of a design's limits, on the page and in the command's table.
pub const LIMITS: [(&str, &str); 7] = [
    ("hosts", "hosts"),
    ("constraint", "limit"),
    ("met_by", "kept by"),
    ("met_by_without", "kept without it"),
    ("of", "of"),
    ("best", "best without it"),
    ("binds", "binds"),
];
/// The same of the steps by which it grows.
pub const STEPS: [(&str, &str); 6] = [
    ("grows_from", "from"),
    ("fabric", "to"),
    ("added_switches", "switches more"),
    ("added_cables", "cables more"),
    ("cables_stay", "cables stay"),
    ("cables_move", "cables move"),
];
const SIMULATED: [(&str, &str); 5] = [
    ("fabric", "variant"),
    ("traffic", "traffic"),
    ("bandwidth_per_node_MBps", "bandwidth per node"),
    ("efficiency", "efficiency"),
    ("note", "note"),
];

fn of_kind<'r>(records: &[&'r Record], kind: &str) -> Vec<&'r Record> {
    records.iter().copied().filter(|record| record.text("kind") == Some(kind)).collect()
}

fn is(record: &Record, key: &str) -> bool {
    record.get(key).and_then(Value::as_bool) == Some(true)
}

fn text<'r>(record: &'r Record, key: &str) -> &'r str {
    record.text(key).unwrap_or_default()
}

/// The key of a variant's cost, in its own currency.
fn cost_key(record: &Record) -> String {
    format!("cost_{}", text(record, "currency"))
}

fn cost(record: &Record) -> Option<[f64; 3]> {
    let key = cost_key(record);
    let end = |which: &str| record.number(&format!("{key}{which}"));
    Some([end("_low").or(end(""))?, end("")?, end("_high").or(end(""))?])
}

/// A variant without its technology and number of hosts.
fn shape(record: &Record, hosts: f64) -> &str {
    let name = text(record, "fabric");
    name.strip_prefix(&format!("{}-{hosts}-", text(record, "technology"))).unwrap_or(name)
}

fn of_hosts(hosts: f64, variants: &[&Record], records: &[&Record]) -> Markup {
    let chosen: Vec<&Record> = variants.iter().copied().filter(|one| is(one, "front")).collect();
    html! {
        h5 { (figure(hosts)) " hosts: nothing beats " (chosen.len()) " of " (variants.len()) " variants" }
        @if let Some(scatter) = scatter(hosts, variants) {
            figure {
                figcaption { "What each node gets when all send to all, by cost with its range; rings are beaten" }
                (scattered(&scatter))
            }
        }
        (table(hosts, variants))
        @for variant in &chosen { (bill(variant, hosts, records)) }
    }
}

fn scatter(hosts: f64, variants: &[&Record]) -> Option<Scatter> {
    let mut colours: Vec<String> = Vec::new();
    let mut marks = Vec::new();
    for variant in variants {
        let technology = text(variant, "technology");
        let colour = colours.iter().position(|known| known == technology).unwrap_or_else(|| {
            colours.push(technology.to_owned());
            colours.len() - 1
        });
        let (Some([low, middle, high]), Some(rate)) = (cost(variant), variant.number("all_to_all_MBps")) else {
            continue;
        };
        let told = |value: f64| scale::told(&cost_key(variant), value);
        marks.push(Mark {
            x: middle,
            y: rate,
            interval: (low < high).then_some([low, high]),
            colour,
            name: is(variant, "front").then(|| shape(variant, hosts).to_owned()),
            told: format!(
                "{}: {}, {} to {}; each node {}",
                text(variant, "fabric"),
                told(middle),
                told(low),
                told(high),
                scale::told("all_to_all_MBps", rate)
            ),
        });
    }
    let first = variants.iter().find(|variant| cost(variant).is_some())?;
    let ends: Vec<f64> = marks.iter().map(|mark| mark.interval.map_or(mark.x, |[_, high]| high)).collect();
    let rates: Vec<f64> = marks.iter().map(|mark| mark.y).collect();
    let named: Vec<&str> = marks.iter().filter_map(|mark| mark.name.as_deref()).collect();
    Some(Scatter {
        x: chart::axis(&cost_key(first), &ends),
        y: chart::axis("bandwidth_per_node_MBps", &rates),
        colours,
        label: format!(
            "Cost and bandwidth of {} variants for {} hosts; on the front: {}. The table below holds the numbers.",
            marks.len(),
            figure(hosts),
            named.join(", ")
        ),
        marks,
    })
}

/// The numbers of a variant that the table shows, as they are called there.
const NUMBERS: [(&str, &str); 12] = [
    ("power_kW", "power (kW)"),
    ("switches", "switches"),
    ("optics", "transceivers"),
    ("racks", "racks"),
    ("longest_cable_m", "longest cable (m)"),
    ("all_to_all_share", "all-to-all"),
    ("bisection_share", "pairs across the middle"),
    ("permutation_share", "permutation"),
    ("failed_cable_share", "cable fails"),
    ("failed_switch_share", "switch fails"),
    ("failed_switch_hosts", "hosts lost"),
    ("holds_nodes", "holds nodes"),
];

fn table(hosts: f64, variants: &[&Record]) -> Markup {
    let misses = |record: &Record| {
        let missed = record.get("misses").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        let missed = missed.map(|what| format!("misses {what}"));
        missed.chain(record.text("beaten_by").map(str::to_owned)).collect::<Vec<_>>().join("; ")
    };
    html! {
        div .scroll tabindex="0" role="region" aria-label=(format!("variants for {} hosts", figure(hosts))) {
            table .sortable {
                caption { "All variants; one that is on the front is beaten by nothing in cost, power, all-to-all and permutation together" }
                thead {
                    tr {
                        th { "variant" } th { "front" } th .number { "cost" }
                        @for (_, head) in NUMBERS { th .number { (head) } }
                        th { "beaten by" }
                    }
                }
                tbody {
                    @for variant in variants {
                        tr {
                            td .whole { (text(variant, "fabric")) }
                            td { (if is(variant, "front") { "yes" } else { "no" }) }
                            (money(variant))
                            @for (key, _) in NUMBERS { (number(variant, key)) }
                            td .said { (misses(variant)) }
                        }
                    }
                }
            }
        }
    }
}

fn money(record: &Record) -> Markup {
    let key = cost_key(record);
    html! {
        @match cost(record) {
            Some([low, middle, high]) => td .number data-sort=(middle) {
                (scale::told(&key, middle)) " " span .interval { (scale::told(&key, low)) " to " (scale::told(&key, high)) }
            },
            None => td .number { "–" },
        }
    }
}

fn number(record: &Record, key: &str) -> Markup {
    html! {
        @match record.number(key) {
            Some(value) if key.ends_with("_share") => td .number data-sort=(value) { (format!("{:.0} %", 100.0 * value)) },
            Some(value) => td .number data-sort=(value) { (figure(value)) },
            None => td .number { "–" },
        }
    }
}

/// The purchases for a variant, and its cables by length.
fn bill(variant: &Record, hosts: f64, records: &[&Record]) -> Markup {
    let own = |kind: &str| -> Vec<&Record> {
        of_kind(records, kind).into_iter().filter(|one| one.text("fabric") == variant.text("fabric")).collect()
    };
    let (items, cables) = (own("item"), own("cables"));
    let key = cost_key(variant);
    let each = key.replacen("cost_", "each_", 1);
    html! {
        @if !items.is_empty() {
            details {
                summary { (text(variant, "technology")) ", " (shape(variant, hosts)) ": bill of materials" }
                table {
                    thead { tr { th { "item" } th { "what it is" } th .number { "count" } th .number { "each" } th .number { "cost" } } }
                    tbody {
                        @for item in &items {
                            tr {
                                td .name { (text(item, "item")) }
                                td { (text(item, "title")) }
                                (number(item, "count"))
                                td .number { (item.number(&each).map_or_else(String::new, |price| scale::told(&key, price))) }
                                @match item.number(&key) {
                                    Some(sum) => td .number { (scale::told(&key, sum)) },
                                    None => td .number { "–" },
                                }
                            }
                        }
                    }
                }
                table {
                    caption { "Cables by length" }
                    thead { tr { th { "cables" } th { "length" } th .number { "count" } } }
                    tbody {
                        @for row in &cables {
                            tr { td { (text(row, "cable")) } td { (class(row)) } (number(row, "count")) }
                        }
                    }
                }
            }
        }
    }
}

/// A length class in words.
fn class(row: &Record) -> String {
    let metres = |key: &str| row.number(key).map(figure);
    match (metres("from_m"), metres("to_m")) {
        (Some(from), Some(to)) => format!("{from} to {to} m"),
        (Some(from), None) => format!("over {from} m"),
        _ => String::new(),
    }
}

/// Rows of a kind under heads; nothing where there are none.
fn rows(records: &[&Record], columns: &[(&str, &str)], caption: &str) -> Markup {
    let said = |record: &Record, key: &str| match record.get(key) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Bool(yes)) => if *yes { "yes" } else { "no" }.to_owned(),
        Some(_) => record.number(key).map_or_else(String::new, |number| scale::told(key, number)),
        None => String::new(),
    };
    html! {
        @if !records.is_empty() {
            div .scroll tabindex="0" role="region" aria-label=(caption) {
                table {
                    caption { (caption) }
                    thead { tr { @for (_, head) in columns { th { (head) } } } }
                    tbody {
                        @for record in records {
                            tr { @for (key, _) in columns { td { (said(record, key)) } } }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variant(name: &str, cost: f64, rate: f64, is_front: bool) -> Record {
        Record::new()
            .with("benchmark", "design")
            .with("kind", "variant")
            .with("fabric", format!("roce-64-{name}"))
            .with("technology", "roce")
            .with("hosts", 64)
            .with("currency", "USD")
            .with("cost_USD", cost)
            .with("cost_USD_low", 0.5 * cost)
            .with("cost_USD_high", 2.0 * cost)
            .with("all_to_all_MBps", rate)
            .with("front", is_front)
    }

    #[test]
    fn the_front_is_named_drawn_and_billed() {
        let beaten = variant("tree<", 3e6, 4e4, false).with("beaten_by", "roce-64-switch");
        let item = Record::new()
            .with("benchmark", "design")
            .with("kind", "item")
            .with("fabric", "roce-64-switch")
            .with("item", "a-switch")
            .with("count", 2)
            .with("cost_USD", 5e4);
        let all = [variant("switch", 2e6, 5e4, true), beaten, item];
        let page = front(&all.iter().collect::<Vec<_>>()).unwrap().into_string();
        for held in [
            "64 hosts: nothing beats 1 of 2 variants",
            "2,000,000 USD",
            "1,000,000 USD to 4,000,000 USD",
            "a-switch",
            "50,000 USD",
            "tree&lt;",
        ] {
            assert!(page.contains(held), "{held} is not in {page}");
        }
        assert_eq!(page.matches("<circle").count(), 3, "two marks, one colour");
        assert_eq!(page.matches("class=\"name c0\"").count(), 2, "the variant on the front, and the technology");
        assert!(page.contains("<td class=\"said\">roce-64-switch</td>"));
        assert!(front(&[&Record::new().with("benchmark", "pingpong")]).is_none());
    }

    #[test]
    fn variants_without_prices_have_no_picture_and_keep_their_table() {
        let plain =
            Record::new().with("benchmark", "design").with("kind", "variant").with("fabric", "x").with("hosts", 8);
        let page = front(&[&plain]).unwrap().into_string();
        assert!(!page.contains("<svg") && page.contains("<td class=\"whole\">x</td>"), "{page}");
    }
}
