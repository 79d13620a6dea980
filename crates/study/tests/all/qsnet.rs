//! QsNet's own collectives: their limits.

use hotlink_bench::{Record, Which};
use hotlink_bound::LATENCY;
use hotlink_sim::qsnet::{Algorithm, Collective, Elan};
use hotlink_study::bound::measured::Bounds;
use hotlink_study::cell::{self, Program, ProgramBench, What};
use hotlink_study::inputs::Vary;
use hotlink_study::simulate::qsnet::{Cell, Missing};
use hotlink_study::{Source, Unwatched};
use std::collections::BTreeSet;

/// The limiter follows the accounts: each end's work by hand, over the run.
#[test]
fn the_limiter_is_who_worked_longest() {
    let source = Source::open("qsnet").unwrap();
    let elan = Elan::of(source.spec()).unwrap();
    let record = |algorithm, bytes| {
        let what = Collective { algorithm, nodes: 16, bytes, samples: 3, limit: None, background: None };
        let missing = Missing::default();
        let cell = Cell { fabric: "qsnet".to_owned(), what, missing, seed: 1, raw: false, sensitivity: Vary::No };
        cell.run_from(&source, &Unwatched).unwrap().remove(0)
    };
    let us = |record: &Record| record.number("limiter_share").unwrap() * record.number("elapsed_us").unwrap();
    // One before and three samples: node 0's adapter asks and ends each, node 1's only answers.
    let hardware = record(Algorithm::Hardware, None);
    let [host, adapter] = [(elan.send + elan.receive).us(), 2.0 * elan.thread.us()].map(|each| 4.0 * each);
    let limiter = hardware.text("limiter").unwrap();
    let (name, most) = if host > adapter { ("processor of rank 0", host) } else { ("adapter of rank 0", adapter) };
    assert!(limiter.starts_with(name), "{limiter}: {host} {adapter}");
    assert!((us(&hardware) - most).abs() < 1e-3, "{} {most}", us(&hardware));
    // Each receives and sends one message in each of four rounds, three samples with none before; its carrier limits a
    // long broadcast.
    let nic = record(Algorithm::Nic, None);
    assert!(nic.text("limiter").unwrap().starts_with("adapter of rank"));
    assert!((us(&nic) - 3.0 * 8.0 * elan.thread.us()).abs() < 1e-3, "{}", us(&nic));
    let long = record(Algorithm::Hardware, Some(1 << 20));
    let limiter = long.text("limiter").unwrap();
    assert!(!limiter.contains("rank") && long.number("limiter_share").unwrap() > 0.5, "{limiter}");
}

/// Of an even number of samples the median is the mean of the middle two, under each of its names.
#[test]
fn the_latency_is_the_median_of_the_samples() {
    let source = Source::open("qsnet").unwrap();
    let background = Some("uniform:0.6".parse().unwrap());
    for (algorithm, bytes) in [(Algorithm::Tree, None), (Algorithm::Nic, None), (Algorithm::Tree, Some(4096))] {
        let what = Collective { algorithm, nodes: 16, bytes, samples: 6, limit: None, background };
        let missing = Missing::default();
        let cell = Cell { fabric: "qsnet".to_owned(), what, missing, seed: 1, raw: true, sensitivity: Vary::No };
        let record = cell.run_from(&source, &Unwatched).unwrap().remove(0);
        let samples = record.get("samples").and_then(|samples| samples.as_array()).unwrap();
        let mut samples: Vec<f64> = samples.iter().filter_map(|sample| sample.as_f64()).collect();
        samples.sort_by(f64::total_cmp);
        assert!(samples.len() == 6 && samples[2] < samples[3], "{samples:?}");
        let middle = Some(f64::midpoint(samples[2], samples[3]));
        assert_eq!((record.number("latency_us"), record.number("median")), (middle, middle), "{algorithm:?}");
        if let Some(bytes) = bytes {
            assert_eq!(record.number("bandwidth_MBps"), middle.map(|us| bytes as f64 / us));
        }
    }
}

/// One broadcast cannot beat the same bound by whatever algorithm: the bound names what sets it, whatever limits the run.
#[test]
fn the_bound_names_what_sets_it_whatever_limits_the_algorithm() {
    let source = Source::open("qsnet").unwrap();
    for (bytes, sets_it) in [(None, LATENCY), (Some(32 << 10), "QsNet link")] {
        let record = |algorithm| {
            let what = Collective { algorithm, nodes: 64, bytes, samples: 1, limit: None, background: None };
            let missing = Missing::default();
            let cell = Cell { fabric: "qsnet".to_owned(), what, missing, seed: 1, raw: false, sensitivity: Vary::No };
            cell.run_from(&source, &Unwatched).unwrap().remove(0)
        };
        let records = Algorithm::ALL.map(record);
        for one in &records {
            assert_eq!(one.text("bound_resource"), Some(sets_it), "{one:?}");
            assert_eq!(one.number("bound_latency_us"), records[0].number("bound_latency_us"));
        }
        assert_eq!(records.iter().filter_map(|one| one.text("limiting_resource")).collect::<BTreeSet<_>>().len(), 3);
    }
}

/// A log's bound leaves out what a simulation's counts, and says so.
#[test]
fn the_bound_of_a_log_says_that_it_leaves_software_out() {
    let cell =
        |which| cell::Cell::plain("gige", 16, 8, What::Program(Program::plain(ProgramBench::Collective(which))), 1);
    for which in [Which::Barrier, Which::Allgather, Which::Bcast] {
        let simulated = cell(which).run(&Unwatched).unwrap().remove(0);
        let row = Record::new().with("benchmark", which.name()).with("ranks", 16).with("size_B", 8);
        let logged = Bounds::open("gige", None).unwrap().add(row.with("latency_us", 500.0)).unwrap();
        let [simulated, logged] = [&simulated, &logged].map(|one| {
            let bound_us = one.number("bound_latency_us").unwrap();
            (bound_us, one.text("bound_is").unwrap().to_owned())
        });
        assert!(logged.0 < simulated.0, "{logged:?} {simulated:?}");
        assert!(logged.1.contains("without software") && logged.1.contains("least of all means"), "{logged:?}");
        assert!(simulated.1.contains("with processor overheads"), "{simulated:?}");
    }
}
