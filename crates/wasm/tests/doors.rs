//! The same question gives the same bytes natively and in the compiled engine. Some hundred questions, failures and
//! errors among them, are asked here and under Node. `HOTLINK_TEST_WASM` names the engine (`make test` builds it with
//! `.ci/wasm`).

use serde_json::{Value, json};
use std::io::Write;
use std::process::{Command, Stdio};

const FABRICS: [&str; 16] = [
    "ai-pod-torus3d",
    "bluegene-l",
    "cm5",
    "eth-400g-leaf-spine",
    "gb200-nvl72",
    "gige",
    "gpu-rail",
    "hgx-h100-rail",
    "ib-ndr-fat-tree2",
    "ib-ndr-fat-tree3",
    "ib-qdr-hyperx",
    "myrinet-clos64",
    "qsnet",
    "sci-ring",
    "sci-torus2d",
    "slingshot-dragonfly",
];

/// The files of a site's small tree, as a page lends them.
fn site() -> Value {
    let text = |name: &str| {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../site/tests/data/tree2/");
        std::fs::read_to_string(format!("{folder}{name}")).unwrap()
    };
    json!({ "ibnetdiscover.txt": text("ibnetdiscover.txt"), "opensm-lfts.dump": text("opensm-lfts.dump") })
}

/// Asked of every fabric.
fn of_fabrics() -> Vec<Value> {
    let each = |fabric: &str| {
        [
            json!({ "verb": "analyze", "fabric": fabric, "nodes": [16, 64], "links": true }),
            json!({ "verb": "analyze", "fabric": fabric, "nodes": 64, "traffic": "permutation:random", "samples": 5 }),
            json!({ "verb": "analyze", "fabric": fabric, "nodes": 36, "sensitivity": true, "why": true, "size": "4KiB" }),
            json!({ "verb": "simulate", "benchmark": "pingpong", "fabric": fabric, "nodes": 16, "size": [8, "64KiB"] }),
            json!({ "verb": "simulate", "benchmark": "alltoall", "fabric": fabric, "nodes": 8, "size": "4KiB" }),
            json!({ "verb": "simulate", "benchmark": "barrier", "fabric": fabric, "nodes": 9, "samples": 3 }),
        ]
    };
    FABRICS.iter().flat_map(|fabric| each(fabric)).collect()
}

/// Of a site's own network, whole and damaged.
fn of_a_site() -> Vec<Value> {
    let with = |mut question: Value| {
        question["files"] = site();
        question["fabric"] = "ibnetdiscover.txt".into();
        question["routes"] = "opensm-lfts.dump".into();
        question
    };
    let damaged = |question: Value| {
        let mut fails = vec![json!([])];
        fails.extend([json!(["spine0"]), json!(["random:1:3"]), json!(["no such switch"])]);
        fails.into_iter().map(move |fail| {
            let mut question = question.clone();
            question["fail"] = fail;
            with(question)
        })
    };
    let asked = [
        json!({ "verb": "analyze", "links": true }),
        json!({ "verb": "analyze", "traffic": "permutation:random", "samples": 20, "method": "load" }),
        json!({ "verb": "simulate", "benchmark": "alltoall", "size": 4096 }),
        json!({ "verb": "inspect", "samples": 20 }),
        json!({ "verb": "failures" }),
        json!({ "verb": "groups" }),
    ];
    let all = asked.into_iter().flat_map(damaged);
    all.chain([json!({ "verb": "diagnose", "files": site() })]).collect()
}

/// Comparisons, several engines, the basis of statistics and random numbers, and a purchase.
fn of_several() -> Vec<Value> {
    let today = ["ib-ndr-fat-tree2", "eth-400g-leaf-spine", "slingshot-dragonfly"];
    vec![
        json!({ "verb": "compare", "fabrics": today, "nodes": "64..512" }),
        json!({ "verb": "compare", "fabrics": ["sci-ring", "sci-torus2d"], "nodes": "2..64" }),
        json!({ "verb": "compare", "fabrics": ["gige", "sci-torus2d"], "nodes": [8, 16], "across_eras": true, "method": "load,packet", "size": "16KiB" }),
        json!({ "verb": "analyze", "fabric": "sci-torus2d", "nodes": 16, "method": "all", "size": "16KiB" }),
        json!({ "verb": "analyze", "fabric": "ib-ndr-fat-tree2", "nodes": 512, "hash_seeds": 4, "paths": "flow" }),
        json!({ "verb": "analyze", "fabric": "ib-ndr-fat-tree2:oversubscription=4", "nodes": 512, "traffic": "bisection" }),
        json!({ "verb": "simulate", "benchmark": "traffic", "fabric": "gige", "nodes": 8, "load": [0.3, 0.6], "size": "16KiB" }),
        json!({ "verb": "simulate", "benchmark": "traffic", "fabric": "ib-ndr-fat-tree2", "nodes": 16, "size": "websearch", "load": [0.4] }),
        json!({ "verb": "simulate", "benchmark": "allreduce", "fabric": "ib-ndr-fat-tree2", "nodes": 16, "size": "64KiB" }),
        json!({ "verb": "simulate", "benchmark": "bcast", "fabric": "sci-torus2d", "nodes": 16, "size": 1024, "samples": 5 }),
        json!({ "verb": "simulate", "benchmark": "saturation", "fabric": "myrinet-clos64", "nodes": 8 }),
        json!({ "verb": "design", "hosts": 128, "technology": ["infiniband"], "samples": 2 }),
    ]
}

/// An answer, and what a page draws of it: the compiled engine keeps the load that it counted, the other counts each time.
fn of_views() -> Vec<Value> {
    let asked = |mut question: Value, more: Value| {
        question.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        question
    };
    let drawn = |about: Value| {
        let mut all = vec![asked(about.clone(), json!({ "verb": "analyze", "method": "load" }))];
        all.push(asked(about.clone(), json!({ "view": "fabric" })));
        all.extend([0, 70, 100].map(|link| asked(about.clone(), json!({ "view": "link", "link": link }))));
        all.push(asked(about.clone(), json!({ "view": "pair", "from": 1, "to": 40 })));
        // Another question in between, and the same again.
        all.push(asked(about.clone(), json!({ "view": "fabric", "traffic": "permutation:shift:3" })));
        all.push(asked(about, json!({ "view": "fabric", "method": null })));
        all
    };
    let fabrics = ["ib-ndr-fat-tree2", "eth-400g-leaf-spine:oversubscription=2", "slingshot-dragonfly", "sci-torus2d"];
    let mut all: Vec<Value> =
        fabrics.iter().flat_map(|fabric| drawn(json!({ "fabric": fabric, "nodes": 64 }))).collect();
    all.extend(drawn(
        json!({ "fabric": "ib-ndr-fat-tree2", "nodes": 96, "traffic": "permutation:random", "samples": 4 }),
    ));
    all.extend(drawn(json!({ "fabric": "ib-ndr-fat-tree2", "nodes": 96, "fail": ["leaf 0 -> spine 0 #1"] })));
    all
}

/// Questions without an answer, refused alike.
fn errors() -> Vec<Value> {
    vec![
        json!({ "verb": "guess" }),
        json!({ "verb": "analyze", "fabric": "no-such-fabric", "nodes": 4 }),
        json!({ "verb": "analyze", "fabric": "gige", "nodes": 0 }),
        json!({ "verb": "analyze", "fabric": "gige", "nodes": true }),
        json!({ "verb": "analyze", "fabric": "gige", "nodes": 4, "trafic": "ring" }),
        json!({ "verb": "analyze", "fabric": "gige", "nodes": 4, "traffic": "permutation:nowhere" }),
        json!({ "verb": "analyze", "fabric": "gige", "nodes": 4, "size": "many" }),
        json!({ "verb": "analyze", "fabric": "mine.toml", "nodes": 4, "files": { "mine.toml": "name = 7" } }),
        json!({ "verb": "inspect", "fabric": "dump.txt", "files": { "dump.txt": "Switch 36 \"S-1" } }),
        json!({ "verb": "simulate", "benchmark": "pingpong", "fabric": "gige", "window": 2 }),
        json!({ "verb": "simulate", "benchmark": "alltoall" }),
        json!({ "verb": "compare", "fabrics": ["gige", "gige"] }),
    ]
}

fn questions() -> Vec<Value> {
    [of_fabrics(), of_a_site(), of_several(), of_views(), errors()].concat()
}

/// The compiled engine's answer to each.
fn compiled(engine: &str, questions: &[Value]) -> Vec<(bool, String)> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/ask.mjs");
    let mut node =
        Command::new("node").args([script, engine]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let lines: String = questions.iter().map(|question| format!("{question}\n")).collect();
    node.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = node.wait_with_output().unwrap();
    assert!(output.status.success(), "node ended with {}", output.status);
    let told = |line: &str| {
        let told: Value = serde_json::from_str(line).unwrap();
        (told["failed"] == true, told["text"].as_str().unwrap().to_owned())
    };
    String::from_utf8(output.stdout).unwrap().lines().map(told).collect()
}

fn native(question: &Value) -> (bool, String) {
    match hotlink_questions::ask(&question.to_string(), &|_, _| ()) {
        Ok(text) => (false, text),
        Err(error) => (true, error.to_string()),
    }
}

/// Most questions have answers: a change of an argument's name must not turn this into a comparison of errors.
#[test]
fn questions_have_answers_and_errors_have_none() {
    let failed = |question: &Value| native(question).0;
    // A part that is not there; packets of pairs that the damaged network's tables leave without a route.
    let should_fail = |question: &Value| {
        let fail = question["fail"].as_array();
        fail.is_some_and(|fail| !fail.is_empty() && (fail[0] == "no such switch" || question["verb"] == "simulate"))
    };
    let questions = [of_several(), of_a_site(), of_views()].concat();
    questions.iter().for_each(|question| assert_eq!(failed(question), should_fail(question), "{question}"));
    errors().iter().for_each(|question| assert!(failed(question), "{question}"));
}

#[test]
fn both_doors_give_the_same_bytes() {
    let Ok(engine) = std::env::var("HOTLINK_TEST_WASM") else { return };
    let questions = questions();
    let said = compiled(&engine, &questions);
    assert_eq!(said.len(), questions.len());
    let mut answered = 0;
    for (question, told) in questions.iter().zip(&said) {
        let own = native(question);
        answered += usize::from(!own.0);
        assert_eq!((own.0, own.1.as_str()), (told.0, told.1.as_str()), "{question}");
    }
    assert!(answered > 100, "only {answered} of {} questions have answers", questions.len());
}
