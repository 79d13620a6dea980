//! A blind test. A seed chooses a fabric, hosts, the pairs to measure, the program, noise and a fault. The simulator
//! measures, the results are written as the program writes them, and the diagnosis sees only the files.
//!
//! The simulator gives the network's time. Each case draws a software overhead for each message, the share of the rate
//! that a stack reaches, noise and hiccups.

mod fault;
mod machine;
mod print;

use fault::{Fault, KINDS};
use hotlink_diagnose::files::Evidence;
use hotlink_diagnose::signatures::Knowledge;
use hotlink_diagnose::{Diagnosis, of};
use hotlink_fabric::rng::SplitMix64;
use hotlink_study::Source;
use machine::Machine;
use std::collections::BTreeMap;

/// A case: what the diagnosis receives, and what it does not know.
struct Case {
    named: &'static str,
    files: Vec<(String, String)>,
    fault: Fault,
    words: String,
}

const FABRICS: [&str; 4] = ["ib-ndr-fat-tree2", "eth-400g-leaf-spine", "slingshot-dragonfly", "ib-ndr-fat-tree2-2to1"];

impl Case {
    fn of(seed: u64, kind: Option<&str>) -> Case {
        (0..50).find_map(|attempt| Case::try_of(seed, attempt, kind)).expect("one of fifty places shows the fault")
    }

    fn try_of(seed: u64, attempt: u64, kind: Option<&str>) -> Option<Case> {
        let mut rng = SplitMix64::stream(seed, 18 + attempt);
        let named = FABRICS[rng.below(FABRICS.len() as u64) as usize];
        let count = 6 + rng.below(7) as u32;
        let runs = print::Layout::draw(&mut rng).runs(count);
        let fault = Fault::draw(kind, named, count, &runs, &mut rng);
        let program = print::Program::draw(&mut rng, fault.needs_sizes());
        let mut machine = Machine::new(named, count, fault.clone(), &mut rng);
        if !machine.shows(&mut Machine::new(named, count, Fault::None, &mut rng.clone())) {
            return None;
        }
        let words = format!("{seed}: {named}, {count} hosts, {program:?}, {} runs, {fault:?}", runs.len());
        let files = runs.iter().flat_map(|run| program.files(&mut machine, *run, &mut rng)).collect();
        Some(Case { named, files, fault, words })
    }

    fn diagnosed(&self) -> Diagnosis {
        let mut evidence = Evidence::default();
        self.files.iter().for_each(|(name, text)| evidence.add(name, text));
        assert!(evidence.flags.is_empty(), "{}: {:?}", self.words, evidence.flags);
        of(&evidence, &Source::open(self.named).unwrap(), Some(machine::NODES), &Knowledge::embedded()).unwrap()
    }

    /// Rank of the true cause, from 1.
    fn rank(&self, diagnosis: &Diagnosis) -> Option<usize> {
        let is_true = |record: &hotlink_bench::Record| {
            let (id, subject) = (record.text("signature").unwrap(), record.text("subject").unwrap());
            self.fault.is_cause(id, subject)
        };
        diagnosis.explanations.iter().position(is_true).map(|at| at + 1)
    }
}

/// What came out, for people: `cargo test -p hotlink-diagnose --test blind -- --nocapture`.
fn judge(seeds: std::ops::Range<u64>) -> (usize, usize) {
    let mut by_kind: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    let (mut within, mut all) = (0, 0);
    for seed in seeds {
        let kind = KINDS[seed as usize % KINDS.len()];
        let case = Case::of(seed, Some(kind));
        let diagnosis = case.diagnosed();
        let rank = case.rank(&diagnosis);
        let entry = by_kind.entry(kind).or_default();
        entry[0] += 1;
        all += 1;
        if rank == Some(1) {
            entry[1] += 1;
        }
        if rank.is_some_and(|rank| rank <= 3) {
            entry[2] += 1;
            within += 1;
        } else {
            let shown = |record: &hotlink_bench::Record| {
                format!("{} {}", record.text("signature").unwrap(), record.text("subject").unwrap())
            };
            let explained: Vec<String> = diagnosis.explanations.iter().take(4).map(shown).collect();
            let found: Vec<String> = diagnosis
                .findings
                .iter()
                .map(|record| {
                    format!(
                        "{} of {}: {}",
                        record.text("finding").unwrap(),
                        record.text("subject").unwrap(),
                        record.text("what").unwrap()
                    )
                })
                .collect();
            println!("missed ({rank:?}) {}\n  {found:?}\n  {explained:?}", case.words);
        }
    }
    for (kind, [cases, first, within]) in by_kind {
        println!("{kind:<16} {cases:>3} cases, {first:>3} first, {within:>3} among the first three");
    }
    println!("{within} of {all} among the first three");
    (within, all)
}

/// Four in five of the true causes are among the first three explanations.
#[test]
fn true_causes_are_among_the_first_three() {
    let (within, all) = judge(0..2 * KINDS.len() as u64);
    assert!(10 * within >= 8 * all, "{within} of {all}");
}

/// The same over many seeds: run by hand, reported in docs/diagnose.md.
#[test]
#[ignore = "takes a minute"]
fn many_true_causes_are_among_the_first_three() {
    let (within, all) = judge(5000..5000 + 20 * KINDS.len() as u64);
    assert!(10 * within >= 8 * all, "{within} of {all}");
}

#[test]
fn fifty_sound_machines_give_no_finding() {
    for seed in 0..50 {
        let case = Case::of(seed, None);
        let diagnosis = case.diagnosed();
        let found: Vec<_> = diagnosis.findings.iter().map(|record| format!("{record:?}")).collect();
        assert!(found.is_empty(), "{}: {found:#?}", case.words);
        assert_eq!(diagnosis.verdict.text("what"), Some("nothing stands out"));
    }
}

/// On a site's own network the path of each pair is known: cables have names.
#[test]
fn cables_of_a_dump_are_named() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../site/tests/data/tree2");
    let file = |name: &str| folder.join(name).display().to_string();
    let mut evidence = Evidence::default();
    for name in ["ibnetdiscover.txt", "opensm-lfts.dump"] {
        evidence.add(&file(name), &std::fs::read_to_string(folder.join(name)).unwrap());
    }
    let source = Source::open(&evidence.network.join("+")).unwrap();
    let osu = |mbps: f64| format!("# OSU MPI Bandwidth Test v7.4\n# Size  Bandwidth (MB/s)\n1048576 {mbps}\n");
    // Hosts of three leaves; one pair is slow.
    for (a, b, mbps) in [
        ("host0-0", "host0-1", 960.0),
        ("host0-1", "host1-0", 955.0),
        ("host1-0", "host1-1", 950.0),
        ("host1-1", "host2-0", 90.0),
        ("host2-0", "host0-0", 958.0),
        ("host2-1", "host2-0", 957.0),
        ("host2-1", "host1-1", 957.0),
    ] {
        evidence.add(&format!("osu_bw.{a}.{b}.txt"), &osu(mbps));
    }
    assert!(evidence.flags.is_empty(), "{:?}", evidence.flags);
    let found = of(&evidence, &source, None, &Knowledge::embedded()).unwrap();
    let told = found
        .findings
        .iter()
        .map(|record| format!("{} {}", record.text("subject").unwrap(), record.text("what").unwrap()));
    let told = told.collect::<Vec<_>>().join("\n");
    assert!(told.contains("runs at 1xSDR"), "{told}");
    assert!(told.contains("host1-1 - host2-0") && told.contains("leaf1 port 5 -> spine0 port 3"), "{told}");
}

/// Over one bad cable lie four pairs, and two of them are all runs of a host one way.
#[test]
fn a_bad_cable_is_believed_before_a_host_and_some_pairs() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../site/tests/data/tree2");
    let mut evidence = Evidence::default();
    for name in ["ibnetdiscover.txt", "opensm-lfts.dump"] {
        let text = std::fs::read_to_string(folder.join(name)).unwrap();
        evidence.add(&folder.join(name).display().to_string(), &text);
    }
    let source = Source::open(&evidence.network.join("+")).unwrap();
    let osu = |mbps: f64| format!("# OSU MPI Bandwidth Test v7.4\n# Size  Bandwidth (MB/s)\n1048576 {mbps}\n");
    // From leaf1 to host0-0 and host2-0 lies the bad cable: host1-0 sends over nothing else.
    for (pair, mbps) in [
        ("host1-0.host0-0", 90.0),
        ("host1-0.host2-0", 91.0),
        ("host1-1.host2-0", 89.0),
        ("host1-2.host0-0", 90.0),
        ("host1-1.host0-1", 957.0),
        ("host1-2.host2-1", 955.0),
        ("host1-3.host0-2", 958.0),
        ("host0-0.host1-0", 957.0),
        ("host2-0.host1-1", 956.0),
        ("host0-1.host0-0", 960.0),
        ("host2-1.host2-0", 959.0),
        ("host2-2.host0-0", 956.0),
    ] {
        evidence.add(&format!("osu_bw.{pair}.txt"), &osu(mbps));
    }
    let found = of(&evidence, &source, None, &Knowledge::embedded()).unwrap();
    let of_hosts = found.findings.iter().filter(|record| record.text("finding") == Some("host-low")).count();
    let told = found.findings.iter().filter_map(|record| record.text("what")).collect::<Vec<_>>().join("\n");
    assert!(of_hosts == 0 && told.contains("no good pair crosses leaf1 port 5 -> spine0 port 3"), "{of_hosts}: {told}");
}
