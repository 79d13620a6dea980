//! The front, the limits, and what is reported about them.

use hotlink_bench::Record;
use hotlink_design::{Design, Limit, Request, design};
use hotlink_study::Unwatched;

fn request() -> Request {
    Request {
        hosts: vec![128],
        technologies: vec!["infiniband".to_owned(), "slingshot".to_owned()],
        oversubscriptions: vec![1.0, 2.0, 4.0],
        samples: 3,
        ..Request::default()
    }
}

fn of(request: &Request) -> Design {
    design(request, &Unwatched).unwrap()
}

fn kind<'d>(found: &'d Design, kind: &str) -> Vec<&'d Record> {
    found.records.iter().filter(|record| record.text("kind") == Some(kind)).collect()
}

fn is(record: &Record, key: &str) -> bool {
    record.get(key).is_some_and(|value| value == true)
}

/// Written again, from what the documents say: as good in all, better in one.
fn dominates(a: &Record, b: &Record) -> bool {
    let of = |record: &Record| {
        let number = |key: &str| record.number(key).unwrap();
        [-number("cost_USD"), -number("power_kW"), number("all_to_all_MBps"), number("permutation_MBps")]
    };
    let (a, b) = (of(a), of(b));
    let near = |x: f64, y: f64| (x - y).abs() <= 1e-9 * x.abs().max(y.abs());
    let better = |x: f64, y: f64| x > y && !near(x, y);
    a.iter().zip(&b).all(|(x, y)| x >= y || near(*x, *y)) && a.iter().zip(&b).any(|(x, y)| better(*x, *y))
}

#[test]
fn the_front_has_no_dominated_variant_and_all_others_are_beaten_by_one() {
    let found = of(&request());
    let variants = kind(&found, "variant");
    let front: Vec<&&Record> = variants.iter().filter(|variant| is(variant, "front")).collect();
    assert!(front.len() > 1 && front.len() < variants.len(), "{} of {}", front.len(), variants.len());
    for variant in &variants {
        let beaten = variants.iter().any(|other| dominates(other, variant));
        assert_eq!(is(variant, "front"), !beaten, "{:?}", variant.text("fabric"));
        if let Some(name) = variant.text("beaten_by") {
            let other = variants.iter().find(|other| other.text("fabric") == Some(name)).unwrap();
            assert!(dominates(other, variant));
        }
        assert_eq!(variant.get("beaten_by").is_some(), beaten);
    }
}

#[test]
fn the_same_question_has_the_same_answer() {
    let (first, second) = (of(&request()), of(&request()));
    assert_eq!(first.records, second.records);
    assert_eq!(first.files, second.files);
}

#[test]
fn limits_leave_out_what_misses_them() {
    let free = of(&request());
    let costs: Vec<f64> = kind(&free, "variant").iter().map(|one| one.number("cost_USD").unwrap()).collect();
    let middle = costs.iter().sum::<f64>() / costs.len() as f64;
    let found =
        of(&Request { limits: vec![Limit::Cost(middle), Limit::share("all-to-all=0.9").unwrap()], ..request() });
    assert!(found.impossible.is_empty(), "{:?}", found.impossible);
    for variant in kind(&found, "variant") {
        let keeps = variant.number("cost_USD").unwrap() <= middle && variant.number("all_to_all_share").unwrap() >= 0.9;
        assert_eq!(is(variant, "meets"), keeps, "{:?}", variant.text("fabric"));
        assert!(!is(variant, "front") || keeps);
    }
    let rows = kind(&found, "constraint");
    assert_eq!(rows.len(), 2);
    assert!(rows.iter().all(|row| !is(row, "binds")));
}

#[test]
fn of_impossible_limits_the_one_that_binds_is_told() {
    let limits = vec![Limit::Racks(1.0), Limit::Power(1e6), Limit::share("all-to-all=0.5").unwrap()];
    let found = of(&Request { limits, ..request() });
    let [told] = &found.impossible[..] else { panic!("{:?}", found.impossible) };
    assert!(told.contains("128 hosts") && told.contains("racks at most 1"), "{told}");
    assert!(!told.contains("power") && !told.contains("all-to-all"), "{told}");
    let binds: Vec<bool> = kind(&found, "constraint").iter().map(|row| is(row, "binds")).collect();
    assert_eq!(binds, [true, false, false]);
    assert!(kind(&found, "variant").iter().all(|variant| !is(variant, "front")));
}

#[test]
fn why_says_what_beat_a_variant() {
    let found = of(&request());
    let variants = kind(&found, "variant");
    let beaten = variants.iter().find(|variant| variant.get("beaten_by").is_some()).unwrap();
    let name = beaten.text("fabric").unwrap().to_owned();
    let lines = of(&Request { why: Some(format!("{name}.toml")), ..request() }).why;
    let by = beaten.text("beaten_by").unwrap();
    assert!(lines[0].starts_with(&format!("{by} beats {name}: cost_USD ")), "{lines:?}");
    let front = variants.iter().find(|variant| is(variant, "front")).and_then(|one| one.text("fabric")).unwrap();
    let lines = of(&Request { why: Some(front.to_owned()), ..request() }).why;
    assert!(lines[0].contains("is on the front"), "{lines:?}");
}

#[test]
fn more_limits_than_can_be_judged_are_an_error() {
    let told = |many: usize| {
        let request = Request { limits: vec![Limit::Racks(1.0); many], hosts: vec![4], ..request() };
        design(&request, &Unwatched).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(told(16), Ok(()));
    assert_eq!(told(17), Err("17 limits: must be at most 16".to_owned()));
}

#[test]
fn what_cannot_be_is_told_with_what_can() {
    let told = |request: Request| design(&request, &Unwatched).map(|_| ()).unwrap_err().to_string();
    assert!(told(Request { hosts: vec![1], ..request() }).contains("2 hosts to 65536"));
    assert!(told(Request { hosts: vec![64, 64], ..request() }).contains("64: named twice"));
    assert!(told(Request { hosts: Vec::new(), ..request() }).contains("at least one value"));
    assert!(told(Request { oversubscriptions: vec![99.0], ..request() }).contains("0.25 to 16"));
    let told_of = |name: &str| told(Request { technologies: vec![name.to_owned()], ..request() });
    assert!(told_of("infinibandd").contains("infiniband, "), "{}", told_of("infinibandd"));
    assert!(told_of("sci").contains("hotlink new fabric"), "{}", told_of("sci"));
    assert!(told_of("sci-ring").contains("says not how many ports"), "{}", told_of("sci-ring"));
    let none = told(Request { why: Some("infiniband-128-fat-tree2-1to2".to_owned()), ..request() });
    assert!(none.contains("did you mean `infiniband-128-fat-tree2-1to1`?"), "{none}");
    let floor = hotlink_design::Floor { hosts_per_rack: 0, ..hotlink_design::Floor::default() };
    assert!(told(Request { floor, ..request() }).contains("hosts per rack: 0: must be 1 to 10000"));
    for text in ["all-to-all", "all-to-all=2", "nonsense=0.5"] {
        assert!(Limit::share(text).is_err(), "{text}");
    }
    assert!(Limit::survive("rack=0.5").unwrap_err().contains("cable=SHARE or switch=SHARE"));
}
