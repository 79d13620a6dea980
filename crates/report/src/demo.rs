//! The first ten seconds: this machine, three networks of today, one finding, and a page of it all. Every line comes
//! from a command, whose records are stored next to the page.

use crate::checks::NOISE;
use crate::{Asked, scale};
use hotlink_bench::Record;
use hotlink_bound::in_plain_words;
use hotlink_study::Error;
use maud::{Markup, html};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Networks of today, of three families.
const TODAY: [&str; 3] = ["ib-ndr-fat-tree2", "eth-400g-leaf-spine", "slingshot-dragonfly"];
/// Seconds after which no block of the measurement begins. A busy machine takes some for each.
const MEASURE_S: u32 = 3;
/// Blocks of samples, where there is time.
const BLOCKS: u64 = 12;
/// Commands that run: one for this machine, one comparison, a simulation of each network, one finding.
pub const COMMANDS: u64 = 3 + TODAY.len() as u64;

/// The results of the demo.
pub struct Shown {
    /// Lines for people.
    pub lines: Vec<String>,
    /// The results of each network.
    pub networks: Vec<Record>,
    /// The verdict on the page.
    pub judged: Result<(), Error>,
}

/// Runs the demo's commands by `run`, which gives the text of a result file, and writes their records and the page into
/// `folder`. `done` hears of each.
///
/// # Errors
/// A command's own; what cannot be written.
pub fn shown(folder: &Path, run: &dyn Fn(&[String]) -> Result<String, Error>, done: &dyn Fn()) -> Result<Shown, Error> {
    std::fs::create_dir_all(folder)
        .map_err(|error| Error::Input(format!("--out {}: cannot be made: {error}", folder.display())))?;
    let mut demo = Demo { folder, files: Vec::new(), lines: Vec::new(), lead: Vec::new(), run, done };
    // The networks come first: their time is known.
    let networks = demo.networks()?;
    demo.this_machine()?;
    demo.finding()?;
    let judged = demo.page();
    Ok(Shown { lines: demo.lines, networks, judged })
}

struct Demo<'a> {
    folder: &'a Path,
    files: Vec<PathBuf>,
    lines: Vec<String>,
    /// The beginning of the page: a sentence or a table each.
    lead: Vec<Markup>,
    run: &'a dyn Fn(&[String]) -> Result<String, Error>,
    done: &'a dyn Fn(),
}

impl Demo<'_> {
    /// The records of a command, which are kept as NAME.json.
    fn records(&mut self, name: &str, words: &str) -> Result<Vec<Value>, Error> {
        let arguments: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        let text = (self.run)(&arguments)?;
        let path = self.folder.join(format!("{name}.json"));
        hotlink_results::write_whole("--out", &path, &text)?;
        self.files.push(path);
        (self.done)();
        let document: Value = serde_json::from_str(&text).map_err(|error| Error::Check(format!("{name}: {error}")))?;
        Ok(document["records"].as_array().cloned().unwrap_or_default())
    }

    fn say(&mut self, line: String) {
        self.lines.push(line);
    }

    fn this_machine(&mut self) -> Result<(), Error> {
        let words = format!(
            "measure pingpong --via shm --ranks 2 --size 8,1MiB --spread 0 --blocks {BLOCKS} --limit {MEASURE_S}"
        );
        let rows = self.records("pingpong", &words)?;
        let mut said = Vec::new();
        self.say("\nThis machine: two ranks over shared memory (hotlink measure pingpong)".to_owned());
        for (row, key, what, scale) in
            [(0, "latency_us", "us for 8 B", 1.0), (1, "bandwidth_MBps", "GB/s for 1 MiB", 1e-3)]
        {
            let row = rows.get(row).unwrap_or(&Value::Null);
            let (value, bound) = (number(row, key)? * scale, number(row, &format!("bound_{key}"))? * scale);
            let limit = in_plain_words(text(row, "limiting_resource"));
            let (line, words) = match row["efficiency"].as_f64() {
                Some(efficiency) => {
                    let of = format!("{:.1} % of the bound", 100.0 * efficiency);
                    (format!("{of}, {bound:.3}: {limit}"), format!("{of}: {limit}"))
                }
                // The record gives the reason.
                None => {
                    let none = format!("no share: the bound, {bound:.3}, is of a faster moment of this machine");
                    (none.clone(), none)
                }
            };
            self.say(format!("  {value:8.3} {what:15} {line}"));
            said.push(format!("{value:.3} {what} ({words})"));
        }
        if let Some(blocks) = rows.first().and_then(|row| row["blocks"].as_u64()).filter(|blocks| *blocks < BLOCKS) {
            self.say(format!(
                "  cut after {MEASURE_S} s: {blocks} of {BLOCKS} blocks of samples; hotlink measure takes all"
            ));
        }
        let said = format!("Between two processes of this machine, shared memory takes {}.", said.join(" and gives "));
        self.lead.push(html! { p { (said) } });
        Ok(())
    }

    /// The results of each network for 512 nodes: a record each.
    fn networks(&mut self) -> Result<Vec<Record>, Error> {
        let rows =
            self.records("compare-512", &format!("compare {} --nodes 64..512..x2 --sensitivity", TODAY.join(" ")))?;
        self.say("Three networks of today for 512 nodes (hotlink compare, hotlink simulate)".to_owned());
        self.say(
            "  share: of what a node's own adapter allows; latency: mean over all pairs, without software".to_owned(),
        );
        let over = format!("{:>18} {:>11} {:>10}", "all send to all", "idle", "allreduce");
        self.say(format!("  {:20} {over}  cost", ""));
        let heads = format!("{:>11} {:>6} {:>11} {:>10}", "GB/s a node", "share", "latency, us", "64 KiB, us");
        self.say(format!("  {:20} {heads}  million USD", "network"));
        let (mut networks, mut limiters, mut costs) = (Vec::new(), Vec::new(), Vec::new());
        for fabric in TODAY {
            let here = |row: &&Value| row["fabric"] == fabric && row["nodes"] == 512;
            let row = rows.iter().find(here).unwrap_or(&Value::Null);
            let reduction = format!("simulate allreduce --fabric {fabric} --nodes 512 --size 64KiB");
            let reduction = self.records(&format!("allreduce-{fabric}"), &reduction)?;
            let reduction = reduction.first().unwrap_or(&Value::Null);
            let (idle, reduce) = (number(row, "idle_latency_us")?, number(reduction, "latency_us")?);
            let (rate, share) = (number(row, "bandwidth_per_node_MBps")?, number(row, "injection_share")?);
            let (limits, by) = (hot(row)?, busiest(reduction));
            let (low, high) = (number(row, "cost_USD_low")?, number(row, "cost_USD_high")?);
            let millions = format!("{:.2} to {:.2}", low / 1e6, high / 1e6);
            let rates = format!("{:11.1} {:4.0} %", rate / 1e3, 100.0 * share);
            self.say(format!(
                "  {fabric:20} {rates} {idle:11.2} {reduce:10.1}  {millions}, {}",
                text(row, "prices_status")
            ));
            limiters.push(format!("  {fabric:20} hot link: {limits}"));
            limiters.push(format!("    allreduce: {by}"));
            costs.push((number(row, "cost_USD")?, format!("{millions} million USD, {}", text(row, "prices_status"))));
            networks.push(
                Record::new()
                    .with("fabric", fabric)
                    .with("nodes", 512)
                    .with("bandwidth_per_node_MBps", rate)
                    .with("injection_share", share)
                    .with("idle_latency_us", idle)
                    .with("allreduce_us", reduce)
                    .with("limiter", by)
                    .with("cost_USD_low", low)
                    .with("cost_USD_high", high)
                    .with("hot_link", limits),
            );
        }
        self.lines.extend(limiters);
        let costs: Vec<(f64, &str)> = costs.iter().map(|(cost, told)| (*cost, told.as_str())).collect();
        self.lead.push(html! { p { (chosen(&networks, &costs)) } (side_by_side(&networks, &costs)) });
        Ok(networks)
    }

    fn finding(&mut self) -> Result<(), Error> {
        let rows = self.records("averages", "analyze myrinet-minimal --nodes 44")?;
        let by = |method: &str| rows.iter().find(|row| row["method"] == method).unwrap_or(&Value::Null);
        let (mean, all) = (by("formula"), by("load"));
        let (mean, all) = (number(mean, "bandwidth_per_node_MBps")?, number(all, "bandwidth_per_node_MBps")?);
        let near = number(by("load"), "same_switch_MBps")?;
        let far = number(by("load"), "switch_to_switch_MBps")?;
        self.say(
            "\nA finding: a mean over partners hides the slow ones (hotlink analyze myrinet-minimal --nodes 44)"
                .to_owned(),
        );
        self.say(format!(
            "  {mean:.1} MB/s a node is the study's formula, a mean: {near:.0} to nodes on its own switch, {far:.1} to all others."
        ));
        self.say(format!(
            "  An all-to-all ends with its slowest messages: {all:.1} MB/s, by the full links between switches."
        ));
        let said = format!(
            "A mean over partners hides the slow ones. On myrinet-minimal with 44 nodes, a node reaches nodes on its own switch \
             at {near:.0} MB/s and all others at {far:.1}. The study's formula takes the mean, {mean:.1}. An all-to-all ends \
             with its slowest messages: the full links between switches leave each node {all:.1}, {:.0} % less.",
            100.0 * (1.0 - all / mean)
        );
        self.lead.push(html! { p { (said) } });
        Ok(())
    }

    /// Everything on one page, for the browser.
    fn page(&mut self) -> Result<(), Error> {
        let out = self.folder.join("index.html");
        self.say(format!(
            "\n{} shows all of it as a page. The records behind each line lie in the same folder, as JSON.",
            out.display()
        ));
        let title = Some("This machine, three networks for 512 nodes, a finding".to_owned());
        let results = std::mem::take(&mut self.files);
        let asked = Asked { results, out, require: None, junit: None, title, anonymous: false };
        let lead = std::mem::take(&mut self.lead);
        // The page says more than its results do: only the demo writes it again.
        let command = format!("hotlink demo --out {}", self.folder.display());
        asked.verdict(&asked.write_as(Some(html! { @for part in lead { (part) } }), command)?)
    }
}

/// Which network leads in what, in a sentence; a cost is its middle and its range in words.
fn chosen(networks: &[Record], costs: &[(f64, &str)]) -> String {
    let value =
        |key: &str| networks.iter().map(|network| network.number(key).unwrap_or(f64::NAN)).collect::<Vec<f64>>();
    let least = |values: &[f64]| (0..values.len()).min_by(|a, b| values[*a].total_cmp(&values[*b])).unwrap_or(0);
    let name = |at: usize| networks[at].text("fabric").unwrap_or_default();
    let (rates, reductions) = (value("bandwidth_per_node_MBps"), value("allreduce_us"));
    let fast = least(&rates.iter().map(|rate| -rate).collect::<Vec<f64>>());
    let (cheap, soon) = (least(&costs.iter().map(|(cost, _)| *cost).collect::<Vec<f64>>()), least(&reductions));
    format!(
        "Of three networks for 512 nodes, {} gives each node the most when all send to all ({:.1} GB/s). {} reduces 64 KiB \
         over all nodes fastest ({:.1} us). {} costs the least ({}).",
        name(fast),
        rates[fast] / 1e3,
        name(soon),
        reductions[soon],
        name(cheap),
        costs[cheap].1
    )
}

fn side_by_side(networks: &[Record], costs: &[(f64, &str)]) -> Markup {
    let told =
        |network: &Record, key: &str| network.number(key).map_or_else(String::new, |value| scale::told(key, value));
    let heads = [
        ("bandwidth_per_node_MBps", "all to all"),
        ("injection_share", "share"),
        ("idle_latency_us", "idle latency"),
        ("allreduce_us", "allreduce of 64 KiB"),
    ];
    html! {
        div .scroll .wide tabindex="0" role="region" aria-label="three networks" {
            table {
                caption {
                    "Three networks of today for 512 nodes. All to all is of each node, the share of what its adapter allows. Idle "
                    "latency is the mean over all pairs, without software."
                }
                thead { tr { th { "network" } @for (_, head) in heads { th .number { (head) } } th { "cost" } th { "hot link" } } }
                tbody {
                    @for (network, (_, cost)) in networks.iter().zip(costs) {
                        tr {
                            td .name { (network.text("fabric").unwrap_or_default()) }
                            @for (key, _) in heads { td .number { (told(network, key)) } }
                            td { (cost) }
                            td { (network.text("hot_link").unwrap_or_default()) }
                        }
                    }
                }
            }
        }
        @for network in networks {
            p .note { "Allreduce on " (network.text("fabric").unwrap_or_default()) ": " (network.text("limiter").unwrap_or_default()) "." }
        }
    }
}

/// The link that is full before others. Where a node gets all that its adapter allows, all adapters are full, and none is.
fn hot(row: &Value) -> Result<String, Error> {
    let (name, equal) = (text(row, "hot_link"), number(row, "hot_links")?);
    Ok(match equal {
        _ if number(row, "injection_share")? > 1.0 - NOISE => {
            format!("none: all adapters are full ({}, {equal} of them)", text(row, "limiting_resource"))
        }
        1.0 => name.to_owned(),
        _ => format!("{name}, one of {equal} that are equally full"),
    })
}

/// A collective's algorithm, and the part that works most; whether its speed is an estimate.
fn busiest(row: &Value) -> String {
    let part = text(row, "limiter");
    let is_copy_rate = |name: &Value| name == "parameter.copy_rate";
    let is_estimated =
        part.ends_with("(copies)") && row["estimates"].as_array().is_some_and(|all| all.iter().any(is_copy_rate));
    let rate = if is_estimated { " at an estimated rate" } else { "" };
    format!("{}; busiest: {part}{rate}", text(row, "algorithm"))
}

fn number(row: &Value, key: &str) -> Result<f64, Error> {
    row[key].as_f64().ok_or_else(|| Error::Check(format!("demo: a result has no {key}: {row}")))
}

fn text<'a>(row: &'a Value, key: &str) -> &'a str {
    row[key].as_str().unwrap_or("unknown")
}
