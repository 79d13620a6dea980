//! No number stands in for a value that a machine lacks. Engines ask the ledger. An engine reads every name of the
//! vocabulary, or the name says that it is for reports.

use hotlink_fabric::catalog::vocabulary::{PARAMETERS, PER_SIZE, REPORTED_ONLY};
use hotlink_fabric::spec::{FabricSpec, Role};
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

/// The crates whose answers rest on the catalog.
const ENGINES: &[&str] = &[
    "fabric",
    "load",
    "bound",
    "memory",
    "barrier",
    "transport",
    "sim",
    "loggp",
    "study",
    "results",
    "workloads",
    "seeds",
];

/// What may stand for a number where a machine states none, and why.
const ALLOWED: &[(&str, &str)] = &[
    ("\"virtual_channels\").map_or(1,", "a link without virtual channels is one channel"),
    ("payload_max_bytes.as_ref().map_or(0,", "0 stands for no limit, and is asked for"),
    ("payload_max_bytes.as_ref().map_or(MOST_PACKET_BYTES,", "no limit but the simulator's own"),
    ("payload_max_bytes.as_ref().map_or(WORD,", "the processor's stores, where packets have no limit, are words"),
    ("count_opt(\"", "a count of a topology that the guide gives a default: one link, one channel, one phase"),
    ("number_opt(\"oversubscription\"", "a fat tree is full unless its file says otherwise"),
    ("value.as_ref().map_or(Time::ZERO, |value|", "a barrier network's times that need not be there"),
    ("self.processing.range(nodes..)", "where no whole network was synthesised, `gate` holds its devices' time"),
    ("role.latency().value)).unwrap_or(Time::ZERO)", "what a description leaves out is no part of the model"),
    ("fabric.gross(resource).map_or(0.0, |rate| load", "what has no rate is under no pressure"),
    ("self.messages.transit.at(1).unwrap_or(0)", "a machine without curves has LogGP's L alone for its news"),
];

/// A source's statements: lines of one chain of calls joined, comments and tests left out, with the number of the first.
fn statements(text: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    for (number, line) in code.lines().enumerate() {
        let line = line.trim();
        if line.starts_with("//") {
            continue;
        }
        match found.last_mut() {
            Some((_, statement)) if line.starts_with('.') => statement.push_str(line),
            _ => found.push((number + 1, line.to_owned())),
        }
    }
    found
}

/// What follows each of `calls` in a statement.
fn behind<'s>(statement: &'s str, calls: &'s [&str]) -> impl Iterator<Item = &'s str> {
    calls.iter().flat_map(move |call| statement.split(*call).skip(1))
}

#[test]
fn no_engine_falls_back_to_a_number() {
    let asks = [
        "parameters.get(",
        "stated(",
        "known(",
        "require(",
        "payload_max_bytes",
        "packet.overhead",
        ".gross",
        ".measured",
        ".latency",
        ".barrier",
        ".reduction",
        "_opt(\"",
        "value.value",
    ];
    let is_number = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit() || c.is_ascii_uppercase());
    let (mut wrong, mut unused) = (Vec::new(), ALLOWED.to_vec());
    for (file, text) in sources_of(ENGINES) {
        for (line, code) in statements(&text) {
            let falls_back = behind(&code, &["unwrap_or(", "map_or("]).any(is_number)
                || (code.contains("unwrap_or_default()") && !code.contains("as_array()"));
            if !falls_back || !asks.iter().any(|ask| code.contains(ask)) {
                continue;
            }
            match ALLOWED.iter().find(|(allowed, _)| code.contains(allowed)) {
                Some(known) => unused.retain(|one| one != known),
                None => wrong.push(format!("{file}:{line}: {code}")),
            }
        }
    }
    assert!(wrong.is_empty(), "a number stands in for a value of the machine:\n{}", wrong.join("\n"));
    assert!(unused.is_empty(), "allowed, but nowhere to be found: {unused:?}");
}

/// Constants with the name of a quantity of hardware, and why they are none.
const CONSTANTS: &[(&str, &str)] = &[
    ("HEAD_BYTES", "four words of our own protocol before a message"),
    ("GAP_PS", "pause between the samples of a study"),
    ("DEVICE_CLOCKS", "of our own RTL, proved in rtl/barrier/formal/f_latency.v"),
    ("REFERENCE_", "NSCC's specification scales its numbers from this network"),
    ("STUCK_PER_BYTE_PS", "after which a simulation counts as stuck"),
    ("STEP_PS", "the least that a program's turn takes, so that time goes on"),
    ("REAL_PS", "tells a clock of real time from a simulated one"),
    ("GIGE_BARRIER_US", "H06 s26 prints it: an input of that study"),
    ("MOST_", "a limit of the program"),
    ("UNBUFFERED", "from which size on curves of a calibration have no more steps of protocols"),
    ("BASE_NS", "H06's application: the unit of its computation"),
    ("MESSAGE_BYTES", "size of the messages that a capacity is told for; memory of a message in the simulator"),
    ("RANK_BYTES", "memory of a rank in the simulator"),
    ("LINK_BYTES", "memory of a link in the simulator"),
    ("PAGE", "page of a host's memory: what the model of the adapters counts in"),
    ("LATEST_US", "a limit of the program"),
    ("SHORT_US", "from which on a latency counts as short in a distribution"),
    ("BESIDE_REST_US", "how long ranks of a benchmark wait for a common start"),
];

#[test]
fn no_constant_is_a_quantity_of_hardware() {
    let quantities = [
        "_PS", "_NS", "_US", "_BYTES", "QUEUE", "BUFFER", "LINE", "PAGE", "CLOCK", "RATE", "GAP", "LATENCY", "OVERHEAD",
    ];
    let mut wrong = Vec::new();
    for (file, text) in sources_of(ENGINES) {
        for (line, code) in statements(&text) {
            let Some((_, rest)) = code.split_once("const ") else { continue };
            let Some((name, rest)) = rest.split_once(": ") else { continue };
            let is_plain =
                rest.split_once("= ").is_some_and(|(_, value)| value.starts_with(|c: char| c.is_ascii_digit()));
            let is_one = quantities.iter().any(|quantity| name.contains(quantity));
            if is_plain && is_one && !CONSTANTS.iter().any(|(known, _)| name.starts_with(known)) {
                wrong.push(format!("{file}:{line}: {code}"));
            }
        }
    }
    assert!(wrong.is_empty(), "a quantity of hardware in code:\n{}", wrong.join("\n"));
}

#[test]
fn every_parameter_is_read_by_an_engine_or_says_that_it_is_for_reports() {
    let texts: Vec<(String, String)> = sources_of(&["memory", "sim", "loggp", "study", "workloads", "seeds"]);
    let ledger = sources_of(&["fabric"]).into_iter().filter(|(file, _)| file.ends_with("/ledger.rs"));
    let texts: Vec<(String, String)> = texts.into_iter().chain(ledger).collect();
    for name in PARAMETERS.iter().chain(PER_SIZE).map(|parameter| parameter.name) {
        let quoted = [format!("\"{name}\""), format!("\"{name}{{")];
        let read = texts.iter().any(|(_, text)| quoted.iter().any(|quoted| text.contains(quoted)));
        assert_eq!(read, !REPORTED_ONLY.contains(&name), "{name}: read by an engine: {read}");
    }
}

fn adapter(spec: &FabricSpec) -> Result<Vec<String>, String> {
    let fabric = Fabric::build(spec, 8).expect("eight nodes");
    let plan = Plan::new(&fabric, &Settings::of(spec)).expect("plan");
    Adapter::new(&plan).map(|_| spec.used().assumed()).map_err(|missing| missing.to_string())
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

/// The path between neighbours in a GPU host is NVLink. Neither the NICs' cables nor PCIe are on it, so long messages
/// travel there without buffers.
#[test]
fn an_adapter_s_rate_is_that_of_the_way_to_its_neighbour() {
    let spec = catalog::load("hgx-h100-rail").unwrap();
    let fabric = Fabric::build(&spec, 16).unwrap();
    let plan = Plan::new(&fabric, &Settings::of(&spec)).unwrap();
    let limits = Adapter::new(&plan).unwrap().limits;
    let [local, link] = [Role::LocalLink, Role::Link].map(|role| spec.resource(role).unwrap().gross().unwrap().value.0);
    assert!(limits.rate.0 > 3 * link && limits.rate.0 <= local, "{} B/s", limits.rate.0);
    assert!(limits.registration.private_zero_copy_min < 1 << 20, "{}", limits.registration.private_zero_copy_min);
}
