//! No number stands in for a value that a machine lacks: engines ask the ledger, and every name of the vocabulary is
//! read by an engine or says that it is for reports.

use hotlink_fabric::catalog::vocabulary::{PARAMETERS, PER_SIZE, REPORTED_ONLY};
use hotlink_fabric::spec::FabricSpec;
use hotlink_fabric::{Fabric, catalog};
use hotlink_sim::port::Adapter;
use hotlink_sim::{Plan, Settings};
use std::path::Path;

/// Every source file below `folder`, with its text.
fn sources(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).expect("a folder of the project").flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push((path.display().to_string(), std::fs::read_to_string(&path).expect("text")));
        }
    }
}

fn sources_of(crates: &[&str]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for name in crates {
        sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src"), &mut found);
    }
    found
}

/// Lines that give a number where a parameter is absent, and why each may.
const ALLOWED: &[(&str, &str)] = &[
    ("virtual_channels", "a link without virtual channels is one channel"),
    ("program_copy_time_per_byte", "a calibration without it charges no copies of a program"),
    ("collective_overhead", "a calibration without it charges no calls"),
    ("known(name).map_or(0, |value| value as u64)", "a calibration without them knows no own messages"),
    ("fn ps_if", "what a machine need not have takes no time"),
    ("self.0.stated(name).map_or(0,", "the same"),
    ("map_or(DMA_QUEUE", "a bound of the simulator, not a value of the machine"),
    ("of_segment.map_or(overhead.0 / 4", "worked out from the machine's own overhead"),
];

#[test]
fn no_engine_falls_back_to_a_number() {
    let asks = ["parameters.get(", "stated(", "known(", "known.value(", "require("];
    let mut wrong = Vec::new();
    for (file, text) in sources_of(&["sim"]) {
        for (line, code) in text.lines().enumerate() {
            let falls_back = ["unwrap_or(", "map_or("].iter().any(|call| {
                code.split(call)
                    .skip(1)
                    .any(|rest| rest.starts_with(|c: char| c.is_ascii_digit() || c.is_ascii_uppercase()))
            });
            let allowed = ALLOWED.iter().any(|(allowed, _)| code.contains(allowed));
            if falls_back && asks.iter().any(|ask| code.contains(ask)) && !allowed {
                wrong.push(format!("{file}:{}: {}", line + 1, code.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "a number stands in for a parameter:\n{}", wrong.join("\n"));
}

#[test]
fn every_parameter_is_read_by_an_engine_or_says_that_it_is_for_reports() {
    let texts: Vec<(String, String)> = sources_of(&["sim", "study", "seeds"]);
    for name in PARAMETERS.iter().chain(PER_SIZE).map(|parameter| parameter.name) {
        let quoted = [format!("\"{name}\""), format!("\"{name}{{")];
        let read = texts.iter().any(|(_, text)| quoted.iter().any(|quoted| text.contains(quoted)));
        assert_eq!(read, !REPORTED_ONLY.contains(&name), "{name}: read by an engine: {read}");
    }
}

fn adapter(spec: &FabricSpec) -> Result<Vec<String>, String> {
    let fabric = Fabric::build(spec, 8).expect("eight nodes");
    let plan = Plan::new(&fabric, &Settings::of(spec)).expect("plan");
    Adapter::new(&plan).map(|adapter| adapter.inputs.assumed()).map_err(|missing| missing.to_string())
}

#[test]
fn a_machine_without_a_copy_rate_is_an_error_that_says_how_to_give_it() {
    let mut spec = catalog::load("ib-ndr-fat-tree2").expect("of the catalog");
    spec.parameters.remove("copy_rate");
    let told = adapter(&spec).unwrap_err();
    for expected in ["ib-ndr-fat-tree2: parameter.copy_rate is missing", "[parameter]", "copy_rate = { value = ..."] {
        assert!(told.contains(expected), "{told}");
    }
}

#[test]
fn what_a_technology_assumes_is_named_and_what_a_part_states_is_not() {
    let assumed = adapter(&catalog::load("ib-ndr-fat-tree2").expect("of the catalog")).expect("complete");
    assert!(
        assumed.iter().any(|one| one.starts_with("host_overhead_send=0.1 us (0.05 to 1.2; infiniband: ")),
        "{assumed:?}"
    );
    let assumed = adapter(&catalog::load("ib-qdr").expect("of the catalog")).expect("complete");
    assert!(
        !assumed.iter().any(|one| one.starts_with("host_overhead") || one.starts_with("message_gap")),
        "{assumed:?}"
    );
}
