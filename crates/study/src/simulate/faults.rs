//! `--faults PLAN.toml`: what fails, comes back or degrades, and when.
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

use hotlink_fabric::Fabric;
use hotlink_fabric::catalog::{Lines, Mistake, nearest, one_a_line};
use hotlink_fabric::network::{Channel, Resource, Vertex};
use hotlink_fabric::units::Time;
use hotlink_sim::fault::{Condition, Fault};
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
    parse(file, &text, fabric).map_err(|mistakes| one_a_line(&mistakes))
}

/// What fails by the `[[fault]]` of a plan that holds other things, too, called `file`; it need not have any.
///
/// # Errors
/// As [`read`].
pub fn within(file: &str, text: &str, fabric: &Fabric) -> Result<Vec<Fault>, String> {
    parsed(file, text, fabric, false).map_err(|mistakes| one_a_line(&mistakes))
}

fn parse(file: &str, text: &str, fabric: &Fabric) -> Result<Vec<Fault>, Vec<Mistake>> {
    parsed(file, text, fabric, true)
}

/// `alone`: nothing else may stand there, and something must.
fn parsed(file: &str, text: &str, fabric: &Fabric, alone: bool) -> Result<Vec<Fault>, Vec<Mistake>> {
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
    faults.sort_by_key(|fault| fault.at);
    if reader.mistakes.is_empty() { Ok(faults) } else { Err(reader.mistakes) }
}

/// Links and switches by what reports call them.
fn names(fabric: &Fabric) -> [BTreeMap<String, Resource>; 2] {
    let network = &fabric.network;
    let named = |resource: Resource| (fabric.resource_name(resource), resource);
    let links = (0..network.channels() as u32).map(|c| named(Resource::Channel(Channel(c)))).collect();
    let switches = (network.nodes..network.vertices() as u32).map(|v| named(Resource::Vertex(Vertex(v)))).collect();
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
        self.mistakes.push(Mistake { file, line, column, key, what: what.into(), allowed: allowed.into() });
    }

    fn plan(&mut self, root: &DeTable<'_>, alone: bool, faults: &mut Vec<Fault>) {
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

    fn fault(&mut self, index: usize, table: &DeTable<'_>, span: Range<usize>) -> Option<Fault> {
        let path = |key: &str| format!("fault[{index}].{key}");
        for (key, _) in table.iter().filter(|(key, _)| !KEYS.contains(&key.get_ref().as_ref())) {
            let name = key.get_ref().as_ref();
            self.wrong(key.span(), &path(name), "is unknown", KEYS.join(", "));
        }
        let at = self.number(table, "at_us", &path("at_us"), &span, 0.0..=LATEST_US);
        let condition = self.condition(table, &path, &span);
        let resource = match (table.get("link"), table.get("switch")) {
            (Some(name), None) => self.resource(0, name, &path("link")),
            (None, Some(name)) => self.resource(1, name, &path("switch")),
            _ => {
                self.wrong(span, &path("link"), "needs one of link and switch", "link, switch");
                None
            }
        };
        Some(Fault { at: Time((at? * 1e6).round() as u64), resource: resource?, condition: condition? })
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

#[cfg(test)]
mod tests {
    use super::*;
    use hotlink_fabric::catalog;
    use proptest::prelude::*;

    fn fabric() -> Fabric {
        Fabric::build(&catalog::load("ib-ndr-fat-tree2").expect("in the catalog"), 80).expect("80 nodes")
    }

    #[test]
    fn a_plan_names_links_and_switches_as_reports_do() {
        let fabric = fabric();
        let link = fabric.resource_name(Resource::Channel(Channel(200)));
        let switch = fabric.resource_name(Resource::Vertex(Vertex(81)));
        let text = format!(
            "[[fault]]\nat_us = 2.5\nlink = {link:?}\nstate = \"degraded\"\nrate = 0.5\n\
             [[fault]]\nat_us = 1\nswitch = {switch:?}\nstate = \"down\"\n"
        );
        let faults = parse("plan.toml", &text, &fabric).expect("a valid plan");
        let switch = Fault { at: Time(1_000_000), resource: Resource::Vertex(Vertex(81)), condition: Condition::Down };
        assert_eq!(faults[0], switch);
        assert_eq!(faults[1].condition, Condition::Degraded(0.5));
        assert_eq!(faults[1].resource, Resource::Channel(Channel(200)));
    }

    #[test]
    fn a_mistake_names_file_line_key_and_what_is_allowed() {
        let fabric = fabric();
        let cases = [
            ("[[fault]]\nat_us = 1\nlink = \"nowhere\"\nstate = \"up\"", "p.toml:3:8: fault[0].link:"),
            ("[[fault]]\nat_us = -1\nswitch = \"x\"\nstate = \"up\"", "p.toml:2:9: fault[0].at_us:"),
            ("[[fault]]\nat_us = 1\nlink = \"x\"\nstate = \"broken\"", "(allowed: down, up, degraded)"),
            ("[[fault]]\nat_us = 1\nlimk = \"x\"\nstate = \"up\"", "p.toml:3:1: fault[0].limk: is unknown"),
            ("[[fault]]\nat_us = 1\nstate = \"degraded\"", "fault[0].rate:"),
            ("fault = 3", "p.toml:1:9: fault: is not a list of tables"),
            ("", "there is none"),
            ("[[fault", "p.toml:1:"),
        ];
        for (text, wanted) in cases {
            let mistakes = parse("p.toml", text, &fabric).expect_err(text);
            let all = one_a_line(&mistakes);
            assert!(all.contains(wanted), "{text}: {all}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn no_text_makes_the_reader_panic(text in "(\\[\\[fault\\]\\]\n)?((at_us|link|state|rate) = (\"down\"|[0-9.e]{1,4}|\\[|x)\n){0,5}.{0,20}") {
            let _ = parse("p.toml", &text, &fabric());
        }
    }
}
