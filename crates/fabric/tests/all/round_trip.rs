//! A fabric written as TOML reads back as the same fabric.

use hotlink_fabric::catalog::{Library, parse, to_toml, unit::Dimension, vocabulary::PARAMETERS};
use hotlink_fabric::spec::{FabricSpec, ResourceSpec, Role, RoutingSpec, Status, TopologySpec, Value};
use hotlink_fabric::technology::TECHNOLOGIES;
use hotlink_fabric::topology::Shared;
use hotlink_fabric::units::{Rate, Time};
use proptest::prelude::*;

fn told(mistakes: Vec<hotlink_fabric::catalog::Mistake>) -> String {
    mistakes.iter().map(|mistake| format!("{mistake}\n")).collect()
}

#[test]
fn every_embedded_fabric_reads_back_as_it_was_written() {
    let library = Library::embedded();
    for listed in library.list("fabrics") {
        let spec = library.fabric(&listed.name).expect("an embedded fabric").spec;
        let text = to_toml(&spec);
        let back = parse("written.toml", &text).unwrap_or_else(|mistakes| panic!("{}\n{text}", told(mistakes)));
        assert_eq!(back, spec, "{text}");
    }
}

fn value<T: Clone>(base: T, dimension: Dimension, unit: usize, source: &str) -> Value<T> {
    let units = dimension.units();
    let unit = units[unit % units.len()].0.to_owned();
    Value { value: base, unit, source: source.to_owned(), status: Status::Measured }
}

proptest! {
    /// What a calibration may find: any rate and time, in any unit, from any source text.
    #[test]
    fn any_calibrated_machine_reads_back(
        rate in 1u64..1_000_000_000_000_000,
        latency in 0u64..1_000_000_000_000_000,
        unit in 0usize..20,
        parameter in 0usize..PARAMETERS.len(),
        source in "[^\\s]\\PC{0,30}[\"\\\\'\\n\\t]{0,3}",
        half_duplex in any::<bool>(),
    ) {
        let spec = FabricSpec::bare("this-machine", TopologySpec::new(Shared), RoutingSpec::ShortestSingle);
        let mut spec = spec.of_technology(TECHNOLOGIES[unit % TECHNOLOGIES.len()]);
        spec.title = source.clone();
        let resource = ResourceSpec {
            name: source.clone(),
            gross: None,
            measured: Some(value(Rate(rate), Dimension::Rate, unit, &source)),
            latency: value(Time(latency), Dimension::Time, unit, &source),
            half_duplex,
        };
        spec.resources.insert(Role::Memory, resource);
        let declared = PARAMETERS[parameter];
        // Shares are above 0 and at most 1, channels 1 to 32, rates above 0.
        let is_share = declared.name.starts_with("ecn_")
            || declared.name.ends_with("_channels") && declared.name.starts_with("gpu_")
            || declared.name == "gpu_switch_share";
        let number = if is_share { 1.0 } else { 1000.0 * f64::from(1 + rate.trailing_zeros()) };
        let plain = value(number, declared.dimension, 0, &source);
        spec.parameters.insert(declared.name.to_owned(), plain);
        let text = to_toml(&spec);
        let back = parse("written.toml", &text).map_err(told);
        prop_assert_eq!(back, Ok(spec), "{}", text);
    }
}
