//! Sensitivity: inputs move within their stated uncertainty, and the answer with them.

use hotlink_fabric::catalog::{self, Library};
use hotlink_fabric::spec::{FabricSpec, Role};
use hotlink_study::sensitivity::{inputs, unstated, vary};
use std::convert::Infallible;

fn qdr() -> FabricSpec {
    catalog::load("ib-qdr").expect("of the catalog")
}

fn nic_and_link(spec: &FabricSpec) -> Result<f64, Infallible> {
    let latency = |role| spec.resources[&role].latency.value.us();
    Ok(2.0 * latency(Role::Nic) + latency(Role::Link))
}

#[test]
fn an_estimate_moves_the_answer_within_its_range_and_a_published_value_does_not_move() {
    let spec = qdr();
    let found = vary(&spec, nic_and_link).unwrap();
    let keys: Vec<&str> = found.ranking.iter().map(|effect| effect.input.key.as_str()).collect();
    assert_eq!(keys, ["resource.nic.latency", "resource.link.latency"]);
    let [low, high] = found.interval;
    assert!(low < found.answer && found.answer < high, "{low} {} {high}", found.answer);
    assert!((high - low - 2.0 * (1.6 - 0.6) - (0.015 - 0.005)).abs() < 1e-9, "{low} to {high}");
    assert!(inputs(&spec).iter().all(|input| input.key != "parameter.host_overhead_send"), "published");
    // The technology's assumptions vary, too, where the machine states nothing.
    assert!(inputs(&spec).iter().any(|input| input.key == "parameter.register_time"));
    assert!(found.without_effect.contains(&"parameter.copy_rate".to_owned()));
}

#[test]
fn opposite_effects_do_not_cancel_in_the_interval() {
    let spec = qdr();
    let answer = |spec: &FabricSpec| {
        let copy = spec.parameters["copy_rate"].value / 1e9;
        Ok::<f64, Infallible>(10.0 + copy - spec.resources[&Role::Nic].latency.value.us())
    };
    let found = vary(&spec, answer).unwrap();
    assert_eq!(found.ranking.len(), 2);
    let [low, high] = found.interval;
    assert!((low - (10.0 + 2.0 - 1.6)).abs() < 1e-9 && (high - (10.0 + 8.0 - 0.6)).abs() < 1e-9, "{low} to {high}");
}

#[test]
fn uncertainty_is_a_share_or_two_ends_that_hold_the_value() {
    let file = |uncertainty: &str| {
        format!(
            "name = \"m\"\ntitle = \"m\"\ntechnology = \"infiniband\"\n[topology]\nkind = \"crossbar\"\nports = 8\n\
             source = \"me\"\nstatus = \"estimated\"\n[resource.link]\nname = \"l\"\n\
             gross = {{ value = 100, unit = \"MB/s\", source = \"me\", status = \"estimated\", uncertainty = {uncertainty} }}\n\
             latency = {{ value = 1, unit = \"us\", source = \"me\", status = \"estimated\" }}\n"
        )
    };
    let read = |uncertainty: &str| catalog::parse("m.toml", &file(uncertainty));
    assert_eq!(read("\"20 %\"").unwrap().ranges["resource.link.gross"], [80e6, 120e6]);
    assert_eq!(read("[90, 150]").unwrap().ranges["resource.link.gross"], [90e6, 150e6]);
    for wrong in ["\"20\"", "[110, 150]", "[1]", "5", "\"-5 %\""] {
        let told = read(wrong).expect_err(wrong);
        assert!(told[0].to_string().contains("uncertainty"), "{wrong}: {}", told[0]);
    }
    let spec = read("[90, 150]").unwrap();
    let back = catalog::parse("back.toml", &catalog::to_toml(&spec)).unwrap();
    assert_eq!(back.ranges, spec.ranges);
    let entries = Library::embedded().parse_fabric("m.toml", &file("[90, 150]")).unwrap().entries;
    assert!(
        unstated(&entries).contains(&"resource.link.latency") && !unstated(&entries).contains(&"resource.link.gross")
    );
    assert_eq!(
        spec.with_number("resource.link.gross", 5e6).resources[&Role::Link].gross.as_ref().unwrap().value.mbps(),
        5.0
    );
}
