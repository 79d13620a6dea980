//! HyperX: its counts, its bisection, and its closed form against the counted load.

use hotlink_fabric::network::{Channel, Resource};
use hotlink_fabric::routing::Paths;
use hotlink_fabric::spec::{FabricSpec, Role, RoutingSpec, TopologySpec};
use hotlink_fabric::topology::hyperx::HyperX;
use hotlink_fabric::traffic::Traffic;
use hotlink_fabric::{Fabric, catalog};
use hotlink_load::deadlock;
use proptest::prelude::*;

fn build(shape: &HyperX, routing: RoutingSpec) -> Fabric {
    let topology = TopologySpec::new(shape.clone());
    let nodes = shape.switches() as u32 * shape.nodes_per_switch;
    Fabric::build(&FabricSpec::bare("hyperx", topology, routing), nodes).expect("a full HyperX")
}

fn any_shape() -> impl Strategy<Value = HyperX> {
    (proptest::collection::vec(2u32..=5, 1..=3), 1u32..=2, 1u32..=3)
        .prop_map(|(extents, links, nodes_per_switch)| HyperX { extents, links, nodes_per_switch })
}

fn between_switches(fabric: &Fabric) -> impl Iterator<Item = Channel> + '_ {
    let channels = (0..fabric.network.channels() as u32).map(Channel);
    channels.filter(|&channel| fabric.network.role(Resource::Channel(channel)) == Role::SwitchLink)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn counts_bisection_and_diameter_are_those_of_the_definition(shape in any_shape()) {
        let fabric = build(&shape, RoutingSpec::DimensionOrder);
        let network = &fabric.network;
        prop_assert_eq!(u64::from(network.vertices() as u32 - network.nodes), shape.switches());
        prop_assert_eq!(between_switches(&fabric).count() as u64, 2 * shape.switch_links());
        for (d, &extent) in shape.extents.iter().enumerate() {
            let stride: u32 = shape.extents[..d].iter().product();
            let low = |v: hotlink_fabric::network::Vertex| (v.0 - network.nodes) / stride % extent < extent / 2;
            let cut = between_switches(&fabric).filter(|&c| low(network.from(c)) != low(network.to(c))).count();
            prop_assert_eq!(cut as u64, 2 * shape.cut(d), "dimension {}", d);
        }
    }

    #[test]
    fn the_closed_form_is_the_counted_load_in_dimension_order(shape in any_shape()) {
        let fabric = build(&shape, RoutingSpec::DimensionOrder);
        let demand = Traffic::AllToAll.demand(fabric.nodes(), 1).expect("all-to-all");
        let counted = hotlink_load::count(&fabric, &demand).expect("routes");
        // Traffic that enters in the lower dimensions and leaves in the higher ones. It passes every switch of the
        // other dimensions once, for each pair of nodes of two switches.
        let pairs = f64::from(shape.nodes_per_switch).powi(2);
        let due = |d: usize| pairs * (shape.switches() / u64::from(shape.extents[d])) as f64 / f64::from(shape.links);
        for channel in between_switches(&fabric) {
            let d = usize::from(fabric.network.order[channel.0 as usize]);
            let load = counted.channel[channel.0 as usize];
            prop_assert!((load - due(d)).abs() < 1e-9, "dimension {}: {}", d, load);
        }
        prop_assert!(deadlock::check(&fabric).expect("small").is_free());
    }

    #[test]
    fn every_order_of_the_dimensions_is_as_short(shape in any_shape(), seed in 0u64..9) {
        let demand = |fabric: &Fabric| Traffic::Random.demand(fabric.nodes(), seed).expect("a permutation");
        let hops = |routing| {
            let fabric = build(&shape, routing);
            let load = hotlink_load::count_paths(&fabric, &demand(&fabric), Paths::Destination, 1).expect("routes");
            load.channel.iter().sum::<f64>()
        };
        prop_assert!((hops(RoutingSpec::DimensionOrder) - hops(RoutingSpec::ShortestEcmp)).abs() < 1e-6);
    }
}

#[test]
fn the_catalogs_hyperx_is_read_written_and_built() {
    let spec = catalog::load("ib-qdr-hyperx").expect("of the catalog");
    let fabric = Fabric::build(&spec, 672).expect("672 nodes");
    assert_eq!(fabric.network.vertices() - 672, 96);
    assert!(Fabric::build(&spec, 673).unwrap_err().to_string().contains("12 x 8 switches of 7 nodes hold 672"));
    let back = catalog::parse("written.toml", &catalog::to_toml(&spec)).expect("reads back");
    assert_eq!(back.topology, spec.topology);
    let bad = catalog::to_toml(&spec).replace("extents = [12, 8]", "extents = 12");
    let told = catalog::parse("bad.toml", &bad).unwrap_err();
    assert!(told.iter().any(|mistake| mistake.to_string().contains("topology.extents")), "{told:?}");
}
