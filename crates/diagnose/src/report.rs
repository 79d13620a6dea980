//! Findings with their explanations, ranked; the next command; and what the files cannot show.

use crate::files::{Evidence, Flag};
use crate::findings::Finding;
use crate::predict::Seen;
use crate::series::{Numbers, Series};
use crate::signatures::{Facts, Knowledge, Signature};
use hotlink_bench::Record;
use hotlink_fabric::catalog::Library;
use hotlink_fabric::maths;
use hotlink_fabric::spec::Role;
use hotlink_site::hostlist;
use hotlink_study::Source;
use std::collections::BTreeSet;

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Diagnosis {
    /// Whether anything stands out, in one record.
    pub verdict: Record,
    /// What stands out, each a record.
    pub findings: Vec<Record>,
    /// Explanations, the most likely first.
    pub explanations: Vec<Record>,
    /// What the files cannot show, each with the command that would.
    pub unknown: Vec<Record>,
    /// Files and numbers that do not count.
    pub flags: Vec<Record>,
    /// Every number with its bound.
    pub numbers: Vec<Record>,
}

impl Diagnosis {
    /// Everything, in that order.
    pub fn records(&self) -> Vec<Record> {
        let lists = [&self.findings, &self.explanations, &self.unknown, &self.flags, &self.numbers];
        std::iter::once(&self.verdict).chain(lists.into_iter().flatten()).cloned().collect()
    }
}

/// An explanation before it is ranked.
struct Explained {
    belief: f64,
    record: Record,
}

/// A cause that explains several findings of one subject once: the more it explains, the more it is believed.
fn merged(all: impl Iterator<Item = Explained>) -> Vec<Explained> {
    let mut merged: Vec<Explained> = Vec::new();
    for next in all {
        let is_same = |one: &&mut Explained| {
            ["signature", "subject"].iter().all(|key| one.record.get(key) == next.record.get(key))
        };
        match merged.iter_mut().find(is_same) {
            Some(one) => {
                let finding = [&one.record, &next.record].map(|record| record.text("finding").unwrap_or_default());
                let finding = finding.join(", ");
                one.belief += next.belief;
                one.record.set("finding", finding);
                one.record.set("belief", one.belief);
            }
            None => merged.push(next),
        }
    }
    merged
}

/// Impossible numbers and files that one list shows.
const SHOWN: usize = 8;

/// What a report stands on.
pub struct Reporter<'a> {
    /// What the files say.
    pub evidence: &'a Evidence,
    /// The fabric.
    pub source: &'a Source,
    /// Its nodes, where they are stated.
    pub nodes: Option<u32>,
    /// The signatures.
    pub known: &'a Knowledge,
}

impl Reporter<'_> {
    /// The whole.
    pub fn report(&self, numbers: Numbers, mut found: Vec<Finding>) -> Diagnosis {
        self.with_hardware(&mut found);
        let record = || self.head();
        let mut all = merged(found.iter().flat_map(|finding| self.explain(finding)));
        all.sort_by(|a, b| b.belief.total_cmp(&a.belief));
        // Two faults with one kind of cause are no two causes of one.
        let is_other = |next: &Explained| next.record.get("signature") != all[0].record.get("signature");
        let is_near = |next: &Explained| next.belief > self.known.threshold.alike * all[0].belief;
        let near = all.get(1).is_some_and(|next| is_other(next) && is_near(next));
        let ranked = all.into_iter().enumerate().map(|(at, one)| one.record.with("rank", at + 1)).collect::<Vec<_>>();
        let hosts: BTreeSet<&String> = numbers.series.iter().flat_map(|one| &one.hosts).collect();
        let findings = found.iter().map(|finding| self.finding(finding)).collect::<Vec<_>>();
        let verdict = record()
            .with("kind", "verdict")
            .with("findings", findings.len())
            .with("runs", numbers.series.len())
            .with("hosts", hostlist::fold(&hosts.into_iter().collect::<Vec<_>>()))
            .with("what", if findings.is_empty() { "nothing stands out" } else { "something stands out" });
        let unknown = self.unknown(&numbers.series, near.then_some(&ranked[..]));
        let flags = self.flags(&numbers);
        let number = |number: Record| record().with("kind", "number").followed_by(number);
        let numbers = numbers.records.into_iter().map(number).collect();
        Diagnosis { verdict, findings, explanations: ranked, unknown, flags, numbers }
    }

    fn head(&self) -> Record {
        Record::new().with("fabric", self.source.name()).with("benchmark", "diagnose")
    }

    fn finding(&self, finding: &Finding) -> Record {
        let mut record = self
            .head()
            .with("kind", "finding")
            .with("finding", finding.kind)
            .with("subject", finding.subject.as_str())
            .with("what", finding.what.as_str());
        for (fact, value) in &finding.facts {
            record.set(&format!("fact_{fact}"), *value);
        }
        record.with("file", finding.files.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(" "))
    }

    /// What other files report about the hosts that stand out. A report about a host that no run shows is a finding,
    /// too.
    fn with_hardware(&self, found: &mut Vec<Finding>) {
        for (fact, host, what, place) in self.hardware() {
            let is_of = |finding: &Finding| {
                finding.hosts.contains(&host) || (finding.kind == "low" && finding.hosts.is_empty())
            };
            let mut is_told = false;
            for finding in found.iter_mut().filter(|finding| is_of(finding)) {
                finding.facts.insert(fact, 1.0);
                finding.what += &format!("; {what} ({place})");
                is_told = true;
            }
            // That GPUs are far is the build of many machines: it explains, and is no finding.
            if !is_told && fact != "gpu_far" {
                // A cable between switches has its ends for a name.
                let kind = if host.contains(" - ") { "pair-low" } else { "host-low" };
                found.push(Finding {
                    kind,
                    subject: host.clone(),
                    path: host.clone(),
                    hosts: vec![host],
                    pairs: Vec::new(),
                    what,
                    facts: Facts::from([(fact, 1.0)]),
                    files: vec![place],
                    largest: None,
                });
            }
        }
    }

    /// Fact, host, words and place of what is below its rate.
    fn hardware(&self) -> Vec<(&'static str, String, String, String)> {
        let mut all = Vec::new();
        for (host, place, narrow) in &self.evidence.narrow {
            all.push(("pcie_narrow", host.clone(), format!("{}: {}", narrow.device, narrow.what), place.clone()));
        }
        for (host, place, gpus) in &self.evidence.far {
            let what = format!("no adapter is near {}", gpus.join(", "));
            all.push(("gpu_far", host.clone(), what, place.clone()));
        }
        let nominal =
            self.source.spec().own_resource(Role::Link).and_then(|link| link.gross().map(|gross| gross.value));
        for (host, place, port) in &self.evidence.ports {
            let (name, gbits) = (&port.name, |rate: hotlink_fabric::units::Rate| rate.0 as f64 * 8.0 / 1e9);
            // The rates of tools are nominal, those of the catalog those of the wire: 2 % distinguish generations.
            match (port.rate, nominal) {
                (Some(rate), Some(nominal)) if port.is_up && (rate.0 as f64) < 0.98 * nominal.0 as f64 => {
                    let what =
                        format!("{name} runs at {} Gbit/s, the fabric's links at {}", gbits(rate), gbits(nominal));
                    all.push(("link_slow", host.clone(), what, place.clone()));
                }
                _ => {}
            }
        }
        let network = if self.source.own_site().is_some() { None } else { self.network() };
        let site = self.source.own_site().or(network.as_ref().and_then(Source::own_site));
        let Some(site) = site else { return all };
        let is_host = |name: &str| site.cabling.devices.iter().any(|device| device.name == name && device.is_host());
        for (a, b, link) in &site.findings.slow {
            let cable = format!("{} port {} - {} port {}", a.name, a.port, b.name, b.port);
            let host = [a, b].into_iter().find(|end| is_host(&end.name));
            let host = host.map(|end| end.name.split_whitespace().next().unwrap_or_default().to_owned());
            let what = format!("the cable {cable} runs at {}", link.name());
            all.push(("link_slow", host.unwrap_or(cable), what, self.evidence.network.join("+")));
        }
        all
    }

    fn network(&self) -> Option<Source> {
        (!self.evidence.network.is_empty()).then(|| Source::open(&self.evidence.network.join("+")).ok()).flatten()
    }

    /// The causes that may explain a finding, with their shares of the belief.
    fn explain(&self, finding: &Finding) -> Vec<Explained> {
        let weighed: Vec<(f64, Record)> =
            self.known.signature.iter().filter_map(|one| self.weigh(one, finding)).collect();
        let whole: f64 = weighed.iter().map(|(score, _)| maths::exp(*score)).sum();
        let shares = weighed.into_iter().map(|(score, record)| (maths::exp(score) / whole, record));
        let shown = shares.filter(|(belief, _)| *belief >= self.known.threshold.shown);
        shown.map(|(belief, record)| Explained { belief, record: record.with("belief", belief) }).collect()
    }

    fn weigh(&self, signature: &Signature, finding: &Finding) -> Option<(f64, Record)> {
        if !signature.finding.iter().any(|kind| kind == finding.kind) {
            return None;
        }
        let mut facts = finding.facts.clone();
        let seen = finding.largest.as_ref().zip(facts.get("large").copied()).map(|(largest, level)| Seen {
            source: self.source,
            nodes: self.nodes,
            largest,
            level,
            is_of_bound: finding.hosts.is_empty(),
        });
        let prediction = seen.and_then(|seen| seen.best(&signature.what_if, &self.known.threshold));
        facts.extend(prediction.as_ref().map(|prediction| ("predicted", prediction.closeness)));
        let weighed = signature.weigh(&facts)?;
        let subject = if signature.is_of_path { &finding.path } else { &finding.subject };
        let said = |text: &str| text.replace("{subject}", subject);
        let mut record = self
            .head()
            .with("kind", "explanation")
            .with("finding", finding.kind)
            .with("signature", signature.id.as_str())
            .with("subject", subject.as_str())
            .with("what", said(&signature.cause))
            .with("score", weighed.score);
        if let Some(prediction) = prediction.filter(|prediction| prediction.closeness > 0.0) {
            let (share, level) = (prediction.share, facts["large"]);
            let figure = hotlink_study::text::figure;
            record.set("predicted", format!("{}: {} expected, {} seen", prediction.what, figure(share), figure(level)));
        }
        for (key, list) in [("for", &weighed.for_it), ("against", &weighed.against), ("not_known", &weighed.unknown)] {
            if !list.is_empty() {
                record.set(key, list.join(", "));
            }
        }
        Some((weighed.score, record.with("next_command", said(&signature.command))))
    }

    fn unknown(&self, series: &[Series], alike: Option<&[Record]>) -> Vec<Record> {
        let mut all = Vec::new();
        let mut say = |what: String, command: &str| {
            all.push(self.head().with("kind", "unknown").with("what", what).with("next_command", command));
        };
        let limits = &self.known.threshold;
        let has = |is: &dyn Fn(&Series) -> bool| series.iter().any(is);
        let pairs: BTreeSet<&Vec<String>> = series.iter().map(|one| &one.hosts).collect();
        if let Some([first, second, ..]) = alike {
            let of = |record: &Record| record.text("signature").unwrap_or_default().to_owned();
            let what = format!("the files hardly tell {} from {}", of(first), of(second));
            say(what, first.text("next_command").unwrap_or_default());
        }
        if series.is_empty() {
            say("no number of the files has a bound: nothing was measured".to_owned(), "osu_bw and osu_latency");
            return all;
        }
        if pairs.len() < 2 {
            let what =
                "all runs are of the same hosts: one bad host cannot be distinguished from a bad network".to_owned();
            say(what, "osu_bw between several pairs, one file each: osu_bw.HOST1.HOST2.txt");
        }
        if !has(&|one| one.small(limits).is_some()) {
            let what =
                "no time of short messages: a slow host or library cannot be distinguished from a slow link".to_owned();
            say(what, "osu_latency, ib_write_lat");
        }
        if !has(&|one| one.large(limits).is_some()) {
            let what = format!("no message of {} B or more: rates of links were not tested", limits.large_least_B);
            say(what, "osu_bw -m 4194304, ib_write_bw -a");
        }
        if self.evidence.network.is_empty() {
            let what = "no dump of the network: cables between switches cannot be named".to_owned();
            say(what, "ibnetdiscover > ibnetdiscover.txt; dump_fts > dump_fts.txt");
        }
        all
    }

    fn flags(&self, numbers: &Numbers) -> Vec<Record> {
        let flag = |place: &str, what: &str| self.head().with("kind", "flag").with("file", place).with("what", what);
        let files = self.evidence.flags.iter().map(|Flag { place, what }| flag(place, what));
        let impossible = numbers.impossible.iter().take(SHOWN).map(|(file, what)| flag(file, what));
        let more = numbers.impossible.len().saturating_sub(SHOWN);
        let rest = (more > 0).then(|| flag("", &format!("{more} more numbers beyond the bound")));
        let short = cut_short(&numbers.series).into_iter().map(|(file, what)| flag(&file, &what));
        files.chain(impossible).chain(rest).chain(short).collect()
    }
}

/// Runs whose sizes end before those of the others.
fn cut_short(series: &[Series]) -> Vec<(String, String)> {
    let most = |one: &Series| one.curve.iter().filter_map(|point| point.size).max();
    let mut found = Vec::new();
    for one in series {
        let others = series.iter().filter(|other| other.key == one.key && other.file != one.file);
        let sizes: Vec<f64> = others.filter_map(most).map(|size| size as f64).collect();
        if let (Some(own), Some(usual)) = (most(one), crate::robust::median(&sizes))
            && sizes.len() >= 2
            && (own as f64) < usual
        {
            found.push((one.file.clone(), format!("ends at {own} B where most runs go to {usual} B: cut short?")));
        }
    }
    found
}

/// The question which fabric was measured, with those that fit what the files say.
pub fn which_fabric(evidence: &Evidence) -> String {
    let rates: BTreeSet<u64> = evidence.ports.iter().filter_map(|(_, _, port)| port.rate.map(|rate| rate.0)).collect();
    let mut lines = vec!["say which fabric was measured: --fabric NAME (or give ibnetdiscover's output)".to_owned()];
    let (mut fit, mut others) = (Vec::new(), Vec::new());
    for listed in Library::user().list("fabrics") {
        let Ok(source) = Source::open(&listed.name) else { continue };
        let rate = source.spec().own_resource(Role::Link).and_then(|link| link.gross().map(|gross| gross.value.0));
        let is_fit = rate.is_some_and(|rate| rates.contains(&rate));
        let line = format!("  {:<24} {}", listed.name, source.title());
        if is_fit { fit.push(line) } else { others.push(line) }
    }
    if !fit.is_empty() {
        lines.push("ibstat's rates fit:".to_owned());
        lines.extend(fit);
        lines.push("others:".to_owned());
    }
    lines.extend(others);
    lines.join("\n")
}
