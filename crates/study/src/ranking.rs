//! Which fabric is best at which size, and where one overtakes another.

use hotlink_bench::Record;
use hotlink_fabric::price::below;
use std::cmp::Ordering;

/// Two values closer than this (relative) are the same.
const SAME: f64 = 1e-9;

/// Whether prices of several years are ranked together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eras {
    /// Prices of each year by themselves.
    Apart,
    /// All together: nominal amounts, not converted.
    Together,
}

/// A ranked quantity: the key of a record and the better direction.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    /// The key.
    pub key: String,
    /// Title of its table.
    pub title: String,
    /// `most bandwidth`.
    pub superlative: String,
    /// Whether less is better.
    pub lower_is_better: bool,
    /// The year of the prices that are ranked; `None`: prices of all years, or no prices.
    pub year: Option<String>,
}

/// One quantity of several fabrics at several sizes.
pub struct Grid {
    /// The fabrics.
    pub fabrics: Vec<String>,
    /// The sizes.
    pub nodes: Vec<u32>,
    /// By fabric, then size; `None` where there is no value.
    pub values: Vec<Vec<Option<f64>>>,
    /// The better direction.
    pub lower_is_better: bool,
}

/// One fabric overtakes another for good.
#[derive(Clone, Debug, PartialEq)]
pub struct Crossover {
    /// The first of the sizes from which on `after` stays ahead.
    pub nodes: u32,
    /// The fabric that was ahead.
    pub before: String,
    /// The fabric that stays ahead.
    pub after: String,
    /// How often the lead changes in all.
    pub changes: u32,
}

/// Sizes in a row with the same best.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// The first size.
    pub first: u32,
    /// The last size.
    pub last: u32,
    /// Indices of the fabrics; several where they are equal.
    pub best: Vec<usize>,
}

/// The year of a record's prices. If the user's own list overrides another, it is the year of that other list.
fn base_year(record: &Record) -> Option<&str> {
    record.text("prices_year").map(below)
}

impl Quantity {
    /// Bandwidth, then the costs in every currency that occurs, of every year by itself unless asked otherwise; latency and power last.
    pub fn all(records: &[Record], eras: Eras) -> Vec<Quantity> {
        let quantity = |key: String, title: String, superlative: &str, lower_is_better| Quantity {
            key,
            title,
            superlative: superlative.to_owned(),
            lower_is_better,
            year: None,
        };
        let mut all = vec![quantity(
            "bandwidth_per_node_MBps".to_owned(),
            "Bandwidth per node (MB/s)".to_owned(),
            "most bandwidth",
            false,
        )];
        let money = |record: &Record| Some((record.text("currency")?.to_owned(), base_year(record)?.to_owned()));
        let mut money: Vec<(String, String)> = records.iter().filter_map(money).collect();
        money.sort_unstable();
        money.dedup();
        for of_currency in money.chunk_by(|a, b| a.0 == b.0) {
            let currency = &of_currency[0].0;
            let years: Vec<&str> = of_currency.iter().map(|(_, year)| year.as_str()).collect();
            let groups: Vec<(Option<&str>, String)> = match (eras, &years[..]) {
                (_, [_]) => vec![(None, currency.clone())],
                (Eras::Apart, _) => years.iter().map(|year| (Some(*year), format!("{currency} of {year}"))).collect(),
                (Eras::Together, _) => {
                    vec![(None, format!("{currency} of {} as they are, not converted", years.join(" and ")))]
                }
            };
            for (year, unit) in groups {
                let costs = [
                    ("cost", format!("Total cost ({unit})"), "lowest cost"),
                    ("cost_per_MBps", format!("Cost of one MB/s per node ({unit})"), "lowest cost per MB/s"),
                ];
                for (key, title, superlative) in costs {
                    let cost = quantity(format!("{key}_{currency}"), title, superlative, true);
                    all.push(Quantity { year: year.map(str::to_owned), ..cost });
                }
            }
        }
        if records.iter().any(|record| record.get("idle_latency_us").is_some()) {
            let title = "Latency of the idle network, without software (us)";
            all.push(quantity("idle_latency_us".to_owned(), title.to_owned(), "lowest latency", true));
        }
        if records.iter().any(|record| record.get("power_kW").is_some()) {
            all.push(quantity("power_kW".to_owned(), "Power of the network (kW)".to_owned(), "least power", true));
        }
        all
    }
}

impl Grid {
    /// From the records of a comparison.
    pub fn new(records: &[Record], fabrics: &[String], nodes: &[u32], quantity: &Quantity) -> Grid {
        let mut values = vec![vec![None; nodes.len()]; fabrics.len()];
        let of_year = |record: &&Record| quantity.year.is_none() || base_year(record) == quantity.year.as_deref();
        for record in records.iter().filter(of_year) {
            let row = record.text("fabric").and_then(|name| fabrics.iter().position(|fabric| fabric == name));
            let size = record.number("nodes");
            let column = nodes.iter().position(|&n| Some(f64::from(n)) == size);
            if let (Some(row), Some(column)) = (row, column) {
                values[row][column] = record.number(&quantity.key);
            }
        }
        let lower_is_better = quantity.lower_is_better;
        Grid { fabrics: fabrics.to_vec(), nodes: nodes.to_vec(), values, lower_is_better }
    }

    /// How `a` compares with `b`: `Greater` is ahead.
    fn standing(&self, a: f64, b: f64) -> Ordering {
        if (a - b).abs() <= SAME * a.abs().max(b.abs()) {
            return Ordering::Equal;
        }
        if self.lower_is_better { b.total_cmp(&a) } else { a.total_cmp(&b) }
    }

    /// The best fabrics at the size of this index; several where they are equal.
    pub fn best(&self, size: usize) -> Vec<usize> {
        let known = || self.values.iter().enumerate().filter_map(|(row, values)| Some((row, values[size]?)));
        let Some((_, best)) = known().max_by(|a, b| self.standing(a.1, b.1)) else { return Vec::new() };
        known().filter(|&(_, value)| self.standing(value, best) == Ordering::Equal).map(|(row, _)| row).collect()
    }

    /// The best at all sizes, neighbours with the same best joined.
    pub fn spans(&self) -> Vec<Span> {
        let mut spans: Vec<Span> = Vec::new();
        for (size, &nodes) in self.nodes.iter().enumerate() {
            let best = self.best(size);
            match spans.last_mut() {
                Some(span) if span.best == best => span.last = nodes,
                _ => spans.push(Span { first: nodes, last: nodes, best }),
            }
        }
        spans.retain(|span| !span.best.is_empty());
        spans
    }

    /// Where one of each pair overtakes the other for good, by size.
    pub fn crossovers(&self) -> Vec<Crossover> {
        let rows = 0..self.fabrics.len();
        let pairs = rows.clone().flat_map(|a| rows.clone().skip(a + 1).map(move |b| (a, b)));
        let mut found: Vec<Crossover> = pairs.filter_map(|(a, b)| self.crossover(a, b)).collect();
        found.sort_by_key(|crossover| crossover.nodes);
        found
    }

    fn crossover(&self, a: usize, b: usize) -> Option<Crossover> {
        let mut changes = 0;
        let mut ahead: Option<Ordering> = None;
        let mut last = None;
        for (size, &nodes) in self.nodes.iter().enumerate() {
            let (Some(x), Some(y)) = (self.values[a][size], self.values[b][size]) else { continue };
            let standing = self.standing(x, y);
            if standing == Ordering::Equal || ahead == Some(standing) {
                continue;
            }
            if ahead.is_some() {
                changes += 1;
                last = Some((nodes, standing));
            }
            ahead = Some(standing);
        }
        let (nodes, standing) = last?;
        let (after, before) = if standing == Ordering::Greater { (a, b) } else { (b, a) };
        let name = |row: usize| self.fabrics[row].clone();
        Some(Crossover { nodes, before: name(before), after: name(after), changes })
    }
}
