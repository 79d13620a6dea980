//! `--faults PLAN.toml`: parts that fail, come back or degrade, and when.
//!
//! ```toml
//! [[fault]]
//! at_us = 100
//! link = "NDR link leaf 0 -> spine 1"   # as reports print it; both directions change
//! state = "down"                        # or "up", or "degraded" with rate = 0.25, the share that is left
//!
//! [[fault]]
//! at_us = 250
//! switch = "spine 1"                    # all its links change
//! state = "down"
//! ```

use crate::failed::ends;
use hotlink_bench::Record;
use hotlink_fabric::Fabric;
use hotlink_fabric::catalog::{Lines, Mistake, MistakeKind, nearest, one_a_line};
use hotlink_fabric::network::{Channel, Resource, Vertex};
use hotlink_fabric::spec::Role;
use hotlink_fabric::units::Time;
use hotlink_sim::Plan;
use hotlink_sim::fault::{Condition, Fault, Lost};
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

const KEYS: [&str; 5] = ["at_us", "link", "rate", "state", "switch"];
/// Latest time in microseconds: a day.
const LATEST_US: f64 = 86_400e6;

/// The plan in `file` for `fabric`.
///
/// # Errors
/// Every mistake, one a line, as `file:line:column: key: what was wrong (allowed: ...)`.
pub fn read(file: &str, fabric: &Fabric) -> Result<Vec<Fault>, String> {
    let text = hotlink_fabric::input::text(file).map_err(|error| format!("--faults: {file}: {error}"))?;
    faults(parsed(file, &text, fabric, true))
}

/// The failures by the `[[fault]]` of a plan that holds other things, too, called `file`; it need not have any.
///
/// # Errors
/// As [`read`].
pub fn within(file: &str, text: &str, fabric: &Fabric) -> Result<Vec<Fault>, String> {
    faults(parsed(file, text, fabric, false))
}

/// Which messages failures took from ranks that wait for them, and which failure cut the ranks off. The failure is
/// named with its place in the files of failures, or in other plans, by the given names.
pub fn told(lost: &Lost, plan: &Plan<'_>, faults: &[Fault], files: &[&str], others: &[(&str, &str)]) -> String {
    let Some(((from, to), fault)) = lost.cut(plan, faults) else { return lost.to_string() };
    let read = |&file: &&str| hotlink_fabric::input::text(file).ok();
    let texts: Vec<Option<String>> = files.iter().map(read).collect();
    let own = files.iter().zip(&texts).filter_map(|(file, text)| Some((*file, text.as_deref()?)));
    let of = |(file, text)| {
        let all = parsed(file, text, plan.fabric, false).ok()?;
        all.into_iter().find(|(one, _)| *one == fault).map(|(_, place)| place)
    };
    let place = own.chain(others.iter().copied()).find_map(of).unwrap_or_default();
    let (name, at_us) = (plan.fabric.resource_name(fault.resource), fault.at.us());
    // Switches that combine data are nodes, too: their numbers say nothing to people.
    let [from, to] = [from, to].map(|node| plan.fabric.resource_name(Resource::Vertex(Vertex(node))));
    let many = format!("{} messages are lost for good", lost.messages);
    format!("{place}{name:?}, down from {at_us} us on, leaves no path from {from} to {to}: {many}")
}

/// The `faults` that happened until `end`, in words.
pub fn happened(faults: &[Fault], fabric: &Fabric, end: Time) -> Vec<String> {
    let words = |fault: &Fault| {
        let state = match fault.condition {
            Condition::Down => "down".to_owned(),
            Condition::Up => "up".to_owned(),
            Condition::Degraded(share) => format!("degraded to {share} of its rate"),
        };
        format!("{}: {state} from {} us on", fabric.resource_name(fault.resource), fault.at.us())
    };
    faults.iter().filter(|fault| fault.at <= end).map(words).collect()
}

/// The record with its time where nothing fails, and what the failures make of it.
pub fn with_cost(record: Record, healthy_us: f64) -> Record {
    let Some(us) = record.number("latency_us") else { return record };
    let record = record.with("healthy_us", healthy_us).with("fault_cost_us", us - healthy_us);
    if healthy_us > 0.0 { record.with("fault_slowdown", us / healthy_us) } else { record }
}

/// Faults, each with its place.
type Placed = Vec<(Fault, String)>;

fn faults(parsed: Result<Placed, Vec<Mistake>>) -> Result<Vec<Fault>, String> {
    let parsed = parsed.map_err(|mistakes| one_a_line(&mistakes))?;
    Ok(parsed.into_iter().map(|(fault, _)| fault).collect())
}

/// `alone`: the plan must hold failures and nothing else.
fn parsed(file: &str, text: &str, fabric: &Fabric, alone: bool) -> Result<Placed, Vec<Mistake>> {
    let mut reader = Reader { file, lines: Lines::new(text), names: names(fabric), mistakes: Vec::new() };
    let (document, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        reader.wrong(error.span().unwrap_or(0..0), "", error.message().replace('\n', ", "), "");
    }
    let mut faults = Vec::new();
    if errors.is_empty() {
        reader.plan(document.get_ref(), alone, &mut faults);
    }
    // Stable: changes of one time happen in the order of the file.
    faults.sort_by_key(|(fault, _)| fault.at);
    if reader.mistakes.is_empty() { Ok(faults) } else { Err(reader.mistakes) }
}

/// Links and switches by what reports call them.
fn names(fabric: &Fabric) -> [BTreeMap<String, Resource>; 2] {
    let network = &fabric.network;
    let named = |resource: Resource| (fabric.resource_name(resource), resource);
    let channels = || (0..network.channels() as u32).map(Channel);
    let by_ends = channels().map(|c| (ends(fabric, c), Resource::Channel(c)));
    let links = by_ends.chain(channels().map(|c| named(Resource::Channel(c)))).collect();
    // The memory of a GPU is a vertex, too.
    let is_switch = |&v: &u32| network.vertex_role[v as usize] != Role::Memory;
    let vertices = (network.nodes..network.vertices() as u32).filter(is_switch);
    let switches = vertices.map(|v| named(Resource::Vertex(Vertex(v)))).collect();
    [links, switches]
}

struct Reader<'a> {
    file: &'a str,
    lines: Lines<'a>,
    names: [BTreeMap<String, Resource>; 2],
    mistakes: Vec<Mistake>,
}

impl Reader<'_> {
    fn wrong(&mut self, span: Range<usize>, key: &str, what: impl Into<String>, allowed: impl Into<String>) {
        let (line, column) = self.lines.place(&span);
        let (file, key) = (self.file.to_owned(), key.to_owned());
        self.mistakes.push(Mistake {
            file,
            line,
            column,
            key,
            what: what.into(),
            allowed: allowed.into(),
            kind: MistakeKind::Other,
        });
    }

    fn plan(&mut self, root: &DeTable<'_>, alone: bool, faults: &mut Placed) {
        for (key, value) in root.iter() {
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("fault", DeValue::Array(all)) => {
                    for (index, one) in all.iter().enumerate() {
                        match one.get_ref() {
                            DeValue::Table(table) => faults.extend(self.fault(index, table, one.span())),
                            _ => self.wrong(one.span(), "fault", "is not a table", "[[fault]]"),
                        }
                    }
                }
                ("fault", _) => self.wrong(value.span(), "fault", "is not a list of tables", "[[fault]]"),
                (other, _) if alone => self.wrong(key.span(), other, "is unknown", "[[fault]]"),
                _ => {}
            }
        }
        if alone && faults.is_empty() && self.mistakes.is_empty() {
            self.wrong(0..0, "fault", "there is none", "[[fault]] with at_us, link or switch, and state");
        }
    }

    fn fault(&mut self, index: usize, table: &DeTable<'_>, span: Range<usize>) -> Option<(Fault, String)> {
        let path = |key: &str| format!("fault[{index}].{key}");
        for (key, _) in table.iter().filter(|(key, _)| !KEYS.contains(&key.get_ref().as_ref())) {
            let name = key.get_ref().as_ref();
            self.wrong(key.span(), &path(name), "is unknown", KEYS.join(", "));
        }
        let at = self.number(table, "at_us", &path("at_us"), &span, 0.0..=LATEST_US);
        let condition = self.condition(table, &path, &span);
        let named = [table.get("link"), table.get("switch")];
        let (line, column) = self.lines.place(&named.iter().flatten().next().map_or(span.clone(), |one| one.span()));
        let place = format!("{}:{line}:{column}: fault[{index}]: ", self.file);
        let resource = match named {
            [Some(name), None] => self.resource(0, name, &path("link")),
            [None, Some(name)] => self.resource(1, name, &path("switch")),
            _ => {
                self.wrong(span, &path("link"), "needs one of link and switch", "link, switch");
                None
            }
        };
        let fault = Fault { at: Time((at? * 1e6).round() as u64), resource: resource?, condition: condition? };
        Some((fault, place))
    }

    fn condition(
        &mut self,
        table: &DeTable<'_>,
        path: &dyn Fn(&str) -> String,
        span: &Range<usize>,
    ) -> Option<Condition> {
        let state = table.get("state");
        let at = state.map_or(span.clone(), Spanned::span);
        let found = match state.map(|state| state.get_ref()) {
            Some(DeValue::String(state)) => match state.as_ref() {
                "down" => Some(Condition::Down),
                "up" => Some(Condition::Up),
                "degraded" => {
                    let share = self.number(table, "rate", &path("rate"), span, 0.001..=0.999)?;
                    return Some(Condition::Degraded(share));
                }
                _ => None,
            },
            _ => None,
        };
        match (found, table.get("rate")) {
            (None, _) => self.wrong(at, &path("state"), "is missing or unknown", "down, up, degraded"),
            (Some(_), Some(rate)) => self.wrong(rate.span(), &path("rate"), "goes with state = \"degraded\"", ""),
            _ => {}
        }
        found
    }

    fn number(
        &mut self,
        table: &DeTable<'_>,
        key: &str,
        path: &str,
        span: &Range<usize>,
        range: std::ops::RangeInclusive<f64>,
    ) -> Option<f64> {
        let value = table.get(key);
        let number = match value.map(|value| value.get_ref()) {
            Some(DeValue::Integer(number)) => number.as_str().parse::<f64>().ok(),
            Some(DeValue::Float(number)) => number.as_str().parse::<f64>().ok(),
            _ => None,
        };
        let number = number.filter(|number| range.contains(number));
        if number.is_none() {
            let at = value.map_or(span.clone(), Spanned::span);
            self.wrong(at, path, "is missing or no such number", format!("{} to {}", range.start(), range.end()));
        }
        number
    }

    fn resource(&mut self, kind: usize, value: &Spanned<DeValue<'_>>, path: &str) -> Option<Resource> {
        let DeValue::String(name) = value.get_ref() else {
            self.wrong(value.span(), path, "is not a text", "a name as reports print it");
            return None;
        };
        let found = self.names[kind].get(name.as_ref()).copied();
        if found.is_none() {
            let names = &self.names[kind];
            let like =
                nearest(name, names.keys().map(String::as_str)).or_else(|| names.keys().next().map(String::as_str));
            let allowed = like.map_or("none of this fabric".to_owned(), |like| format!("for instance {like:?}"));
            self.wrong(value.span(), path, format!("{name:?} is not in this fabric"), allowed);
        }
        found
    }
}
