//! `simulate barrier` on barrier networks, in the process of the test.

use serde_json::Value;

fn hotlink(line: &str) -> Result<Vec<Value>, hotlink_cli::Failure> {
    let args = std::iter::once("hotlink").chain(line.split(' ')).chain(["--json"]);
    let result: Value = serde_json::from_str(&hotlink_cli::json(args.map(Into::into))?).unwrap();
    Ok(result["records"].as_array().unwrap().clone())
}

#[test]
fn h06s_prototype_gives_write_and_read_and_says_what_limits() {
    let record = &hotlink("simulate barrier --fabric hwbarr --nodes 4").unwrap()[0];
    assert_eq!((record["latency_us"].as_f64(), record["formula_us"].as_f64()), (Some(2.4), Some(2.44)));
    assert_eq!(record["efficiency"], 1.0);
    assert_eq!(record["limiting_resource"], "processor's access to the port");
    let why = record["differs"].as_str().unwrap();
    assert!(why.starts_with("1.7 % better than formula: the formula adds a whole read"), "{why}");
}

/// What a read can hide is its own time: with reads of 1 ps nodes leave at the formula's time.
#[test]
fn a_barrier_that_takes_the_formulas_time_has_no_difference_to_explain() {
    let record = &hotlink("simulate barrier --fabric hwbarr --nodes 64 --read-us 0.000001").unwrap()[0];
    assert_eq!((record["latency_us"].as_f64(), record["formula_us"].as_f64()), (Some(1.84), Some(1.840001)));
    assert!(record["differs"].is_null(), "{record}");
}

/// H06 s28: o_r and o_w shrink with registers mapped into memory; o_p, the network's part, stays.
#[test]
fn a_faster_port_gains_what_its_accesses_save() {
    let record = &hotlink("simulate barrier --fabric hwbarr --nodes 4 --write-us 0.3 --read-us 0.2").unwrap()[0];
    let number = |key: &str| record[key].as_f64().unwrap();
    // The write ends at 0.3 us, o_p at 0.34, the read that sees it at 0.5.
    assert_eq!((number("latency_us"), number("formula_us"), number("stated_latency_us")), (0.5, 0.54, 2.4));
    assert!((number("gain") - 4.8).abs() < 1e-9, "{record}");
    assert!(record["inputs"].to_string().contains("barrier.enter=0.3 us (estimated)"), "{record}");
    let plain = &hotlink("simulate barrier --fabric hwbarr --nodes 4").unwrap()[0];
    assert!(plain["gain"].is_null() && plain["stated_latency_us"].is_null(), "{plain}");
    let one = &hotlink("simulate barrier --fabric hwbarr --nodes 4 --read-us 0.2 --sensitivity").unwrap()[0];
    assert_eq!((one["latency_us"].as_f64(), one["stated_latency_us"].as_f64()), (Some(1.4), Some(2.4)));
}

#[test]
fn bluegene_is_flat_from_2_to_65536() {
    let records = hotlink("simulate barrier --fabric bluegene-l --nodes 2,512,65536").unwrap();
    let latencies: Vec<&Value> = records.iter().map(|record| &record["latency_us"]).collect();
    assert!(latencies.iter().all(|latency| *latency == latencies[0]), "{latencies:?}");
}

#[test]
fn skew_is_not_counted_as_latency_and_the_formula_is_its_upper_end() {
    let line = "simulate barrier --fabric hwbarr --nodes 4 --skew-us 7 --repetitions 200";
    let record = &hotlink(line).unwrap()[0];
    let (least, most) = (record["min"].as_f64().unwrap(), record["max"].as_f64().unwrap());
    assert!((2.4..=2.44).contains(&least) && (least..=2.44).contains(&most), "{least} to {most}");
    assert_eq!(hotlink(line).unwrap()[0]["trace_hash"], record["trace_hash"]);
}

/// Without `--algorithm` each fabric takes what it has, and the record names it.
#[test]
fn the_usual_barrier_is_one_that_the_fabric_has() {
    let algorithm = |line: &str| {
        let records = hotlink(line).unwrap();
        assert!(records.iter().all(|record| record["latency_us"].as_f64().is_some_and(|us| us > 0.0)), "{line}");
        records.iter().map(|record| record["algorithm"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(algorithm("simulate barrier --fabric hwbarr --nodes 4,8"), ["hardware", "hardware"]);
    assert_eq!(algorithm("simulate barrier --fabric qsnet --nodes 4"), ["hardware"]);
    for fabric in ["ib-ndr-fat-tree2", "gige"] {
        let usual = algorithm(&format!("simulate barrier --fabric {fabric} --nodes 16"));
        let same = algorithm(&format!("simulate barrier --fabric {fabric} --nodes 16 --algorithm {}", usual[0]));
        assert!(usual == same && usual[0] != "hardware", "{fabric}: {usual:?}");
    }
}

#[test]
fn what_cannot_be_is_told_with_what_can() {
    for (line, expected) in [
        (
            "simulate barrier --fabric gige --nodes 4 --algorithm hardware",
            "allowed: bluegene-l, cm5, earth-simulator, hwbarr",
        ),
        ("simulate barrier --fabric bluegene-l --nodes 65537", "65537 nodes (allowed: 2 to 65536)"),
        ("simulate barrier --fabric hwbarr --nodes 1", "1 nodes (allowed: 2 to"),
        ("simulate barrier --fabric hwbarr --nodes 4 --partition", "cannot be partitioned"),
        (
            "simulate barrier --fabric hwbarr --nodes 4 --algorithm tre",
            "`tre` is no algorithm of barrier; allowed: hardware",
        ),
        ("simulate barrier --fabric gige --nodes 4 --partition", "are for barrier networks (--algorithm hardware)"),
        ("simulate barrier --fabric qsnet --nodes 4 --algorithm hardware --skew-us 1", "only know barriers"),
        ("simulate barrier --fabric gige --nodes 4 --skew-us 1", "are for barrier networks (--algorithm hardware)"),
        ("simulate barrier --fabric gige --nodes 4 --write-us 1", "are for barrier networks (--algorithm hardware)"),
        (
            "simulate barrier --fabric hwbarr --nodes 4 --read-us 0",
            "--read-us: 0 is out of range; allowed: 0.000001 to",
        ),
        ("simulate barrier --fabric hwbarr --nodes 4 --skew-us 2e6", "2000000 is out of range; allowed: 0 to 1000000"),
    ] {
        let told = hotlink(line).unwrap_err().to_string();
        assert!(told.contains(expected), "{line}: {told}");
    }
}

/// A list of fabrics, and what is other in them, as for every benchmark.
#[test]
fn several_fabrics_and_variants_have_their_barriers() {
    let records = hotlink("simulate barrier --fabric gige,qsnet,bluegene-l --nodes 4").unwrap();
    let of = |key: &str| records.iter().map(|record| record[key].as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!(of("fabric"), ["gige", "qsnet", "bluegene-l"]);
    assert!(of("algorithm")[1..].iter().all(|algorithm| *algorithm == "hardware"), "{:?}", of("algorithm"));
    let line = "simulate barrier --fabric ib-ndr-fat-tree2 --nodes 64 --algorithm dissemination";
    let [plain, narrow] = ["", " --radix 16"].map(|other| hotlink(&format!("{line}{other}")).unwrap()[0].clone());
    assert!(plain["latency_us"].as_f64() < narrow["latency_us"].as_f64(), "leaves of eight: {plain} {narrow}");
}

/// Numbers are combined whole; of the other collectives any size may be asked for.
#[test]
fn a_byte_is_a_size_where_nothing_is_combined() {
    for what in ["bcast", "gather", "scatter", "allgather", "alltoall --algorithm pairwise"] {
        let records = hotlink(&format!("simulate {what} --fabric gige --nodes 4 --size 1,8")).unwrap();
        assert_eq!(records.len(), 2, "{what}");
        assert!(records[0]["latency_us"].as_f64() <= records[1]["latency_us"].as_f64(), "{what}");
    }
    for what in ["reduce", "allreduce", "reduce-scatter", "alltoallv"] {
        let why = hotlink(&format!("simulate {what} --fabric gige --nodes 4 --size 1")).unwrap_err().to_string();
        assert!(why.contains("--size 1: elements of") && why.contains("a multiple of 8"), "{what}: {why}");
    }
}

/// A described network has its own number of nodes.
#[test]
fn a_link_table_needs_no_number_of_nodes() {
    let table = concat!(env!("CARGO_MANIFEST_DIR"), "/../site/tests/data/outline/links.csv");
    let fabric = format!("{table}+technology:infiniband+latency:700ns");
    let own = &hotlink(&format!("analyze {fabric}")).unwrap()[0]["nodes"];
    let simulated = hotlink(&format!("simulate alltoall --fabric {fabric} --size 4KiB")).unwrap();
    assert_eq!(&simulated[0]["nodes"], own);
}
