//! Counts of the generated variants against architectures that others published. The generator was written from the
//! topologies' definitions, not from these tables.

use hotlink_bench::Record;
use hotlink_design::variants::{
    bases, dragonfly, dragonfly_plus, hyperx, most_of_dragonfly, most_of_dragonfly_plus, ports,
};
use hotlink_design::{Request, design};
use hotlink_fabric::Fabric;
use hotlink_fabric::catalog::{self, load};
use hotlink_fabric::inventory::Inventory;
use hotlink_fabric::spec::{ItemKind, TopologySpec};
use hotlink_fabric::topology::hyperx::HyperX;
use hotlink_fabric::topology::{DragonflyPlus, DragonflySpec, FatTree, Rail, Shape};
use hotlink_study::Unwatched;

fn variant(hosts: u32, name: &str) -> (Record, Fabric) {
    let request = Request {
        hosts: vec![hosts],
        technologies: vec!["infiniband".to_owned()],
        collectives: Vec::new(),
        samples: 1,
        ..Request::default()
    };
    let found = design(&request, &Unwatched).unwrap();
    let record = found.records.iter().find(|record| record.text("fabric") == Some(name)).unwrap().clone();
    let (file, text) = found.files.iter().find(|(file, _)| *file == format!("{name}.toml")).unwrap();
    let fabric = Fabric::build(&catalog::parse(file, text).unwrap(), hosts).unwrap();
    (record, fabric)
}

fn tiers(fabric: &Fabric) -> Vec<u32> {
    match &fabric.shape {
        Shape::Tiers(tiers) => tiers.iter().map(|tier| tier.count).collect(),
        _ => Vec::new(),
    }
}

/// NVIDIA DGX SuperPOD reference architecture with DGX B200, "DGX SuperPOD Architecture", table of the compute fabric.
/// By scalable units: leaf, spine and core switches of 64 ports, cables node to leaf, leaf to spine and spine to core.
#[test]
fn trees_have_the_switches_and_cables_of_nvidias_superpods() {
    for (gpus, switches, between) in [
        (512, vec![16, 8], 512),
        (1024, vec![32, 16], 1024),
        (2048, vec![64, 32], 2048),
        (4096, vec![128, 128, 64], 2 * 4096),
    ] {
        let levels = switches.len();
        let (record, fabric) = variant(gpus, &format!("infiniband-{gpus}-fat-tree{levels}-1to1"));
        assert_eq!(tiers(&fabric), switches, "{gpus} GPUs");
        assert_eq!(record.number("node_cables"), Some(f64::from(gpus)));
        assert_eq!(record.number("switch_cables"), Some(f64::from(between)));
        assert_eq!(record.number("all_to_all_share"), Some(1.0), "{gpus} GPUs at full bisection");
    }
    // Larger ones are built, not evaluated: that takes no test's time.
    for (gpus, switches) in [(8192, [256, 256, 128]), (16_384, [512, 512, 256])] {
        let spec = load("ib-ndr-fat-tree3").unwrap();
        assert_eq!(tiers(&Fabric::build(&spec, gpus).unwrap()), switches);
    }
}

/// The same table: hosts of eight GPUs whose rails are trees of their own have as many leaves and spines in all.
#[test]
fn rails_have_the_switches_of_nvidias_superpods() {
    for (hosts, leaves, spines) in [(128, 32, 16), (256, 64, 32)] {
        let (network, shape) = TopologySpec::new(Rail::apart(8, 64)).build(8 * hosts).unwrap();
        let Shape::Tiers(tiers) = shape else { panic!("rails have tiers") };
        let count = |name: &str| tiers.iter().find(|tier| tier.name == name).map(|tier| tier.count);
        assert_eq!((count("rail leaf"), count("rail spine")), (Some(leaves), Some(spines)));
        assert_eq!(network.nodes, 8 * hosts);
    }
    // Beyond common spines, rails meet in cores: 4,096 GPUs as in the table. With fewer leaves under a rail's spines than
    // these have ports for, neither spines nor cores are those of a full group.
    for (gpus, switches) in
        [(2048, [64, 32, 0]), (2056, [72, 128, 48]), (4096, [128, 128, 64]), (8192, [256, 256, 128])]
    {
        let joined = TopologySpec::new(Rail { joined: true, ..Rail::apart(8, 64) });
        let (network, shape) = joined.build(gpus).unwrap();
        let Shape::Tiers(tiers) = shape else { panic!("rails have tiers") };
        let count = |name: &str| tiers.iter().find(|tier| tier.name == name).map_or(0, |tier| tier.count);
        assert_eq!(["rail leaf", "rail spine", "core"].map(count), switches, "{gpus} GPUs");
        assert_eq!(network.nodes, gpus);
    }
}

/// Al-Fares, Loukissas, Vahdat, "A scalable, commodity data center network architecture", SIGCOMM 2008. Switches of k
/// ports in three levels hold k^3/4 hosts with 5k^2/4 switches. With k = 48 there are 27,648 hosts and 2,880 switches.
#[test]
fn full_trees_of_three_levels_have_5k2_4_switches_and_k3_4_hosts() {
    for k in [4, 8, 16, 48] {
        let tree = FatTree { radix: k, levels: Some(3), oversubscription: 1.0, top_all_down: true };
        let hosts = k * k * k / 4;
        assert_eq!(tree.most(3), u64::from(hosts));
        let topology = TopologySpec::new(tree);
        let (_, shape) = topology.build(hosts).unwrap();
        let Shape::Tiers(tiers) = shape else { panic!("trees have tiers") };
        assert_eq!(tiers.iter().map(|tier| tier.count).sum::<u32>(), 5 * k * k / 4);
        assert!(topology.build(hosts + 1).is_err());
    }
}

/// Kim, Dally, Scott, Abts, "Technology-driven, highly-scalable dragonfly topology", ISCA 2008. It is balanced at a =
/// 2p = 2h. With `p = h = 2, a = 4` it has 9 groups and 72 nodes; routers of radix 64 reach over 256K nodes.
#[test]
fn dragonflies_are_balanced_and_reach_what_kim_et_al_say() {
    let of = |p, a, h| DragonflySpec { nodes_per_router: p, routers_per_group: a, global_per_router: h };
    assert_eq!(dragonfly(7, 1.0), Some(of(2, 4, 2)));
    assert_eq!(most_of_dragonfly(&of(2, 4, 2)), 72);
    let largest = dragonfly(64, 1.0).unwrap();
    assert_eq!(largest, of(16, 32, 16));
    assert!(most_of_dragonfly(&largest) > 256 * 1024);
    assert!(TopologySpec::new(of(2, 4, 2)).build(72).is_ok() && TopologySpec::new(of(2, 4, 2)).build(73).is_err());
}

/// De Sensi, Di Girolamo, McMahon, Roweth, Hoefler, "An in-depth analysis of the Slingshot interconnect", SC 2020.
/// Switches of 64 ports, 16 of them to nodes, in groups of 32, give 545 groups and 279,040 endpoints.
#[test]
fn slingshots_largest_network_is_that_of_de_sensi_et_al() {
    let base = &bases("slingshot", None).unwrap()[0];
    assert_eq!(base.ports, 64);
    let fly = base.source.spec().topology.get::<DragonflySpec>().unwrap().clone();
    assert_eq!(most_of_dragonfly(&fly), 279_040);
    assert_eq!(most_of_dragonfly(&fly) / u64::from(fly.nodes_per_router * fly.routers_per_group), 545);
}

/// Domke et al., "HyperX topology: first at-scale implementation and comparison to the fat-tree", SC 2019. It has 12 x
/// 8 switches with seven nodes each, 672 nodes, 57.1 % of bisection. So many nodes at that bisection need no more
/// switches here.
#[test]
fn hyperx_needs_no_more_switches_than_that_of_domke_et_al() {
    let theirs = HyperX { extents: vec![12, 8], links: 1, nodes_per_switch: 7 };
    let bisection = 8.0 / (2.0 * 7.0);
    assert!((bisection - 0.571_f64).abs() < 1e-3);
    let radix = ports(&TopologySpec::new(theirs.clone())).unwrap();
    assert_eq!((theirs.switches(), radix), (96, 25));
    let ours = hyperx(672, radix, 1.0 / bisection).unwrap();
    assert!(ours.switches() <= theirs.switches(), "{ours:?}");
    let least = f64::from(*ours.extents.iter().min().unwrap());
    assert!(f64::from(ours.links) * least / (2.0 * f64::from(ours.nodes_per_switch)) >= bisection - 1e-9);
    assert!(ports(&TopologySpec::new(ours.clone())).unwrap() <= radix);
    let mut spec = load("ib-qdr-hyperx").unwrap();
    spec.topology = TopologySpec::new(theirs.clone());
    let pieces = Inventory::of(&Fabric::build(&spec, 672).unwrap());
    assert_eq!(pieces.count(ItemKind::CableSwitch), theirs.switch_links());
}

/// Shpiner, Haramaty, Eliad, Zdornov, Gafni, Zahavi, "Dragonfly+: low cost topology for scaling datacenters", HiPINEB
/// 2017. Switches of k ports with p = l = s = h = k/2 give a group of k^2/4 hosts. Each of its k^2/4 global links leads
/// to another group.
#[test]
fn dragonfly_plus_is_that_of_shpiner_et_al() {
    for k in [4, 36, 40, 64] {
        let plus = dragonfly_plus(u32::MAX, k, 1.0).unwrap();
        let half = k / 2;
        let theirs = DragonflyPlus { nodes_per_leaf: half, leaves: half, spines: half, global_per_spine: half };
        assert_eq!(plus, theirs);
        let group = u64::from(k * k / 4);
        assert_eq!(most_of_dragonfly_plus(&plus), group * (group + 1));
        assert_eq!(ports(&TopologySpec::new(plus)), Some(k));
    }
}

/// JUPITER (Juelich Supercomputing Centre, "JUPITER configuration"): Dragonfly+ of InfiniBand NDR. Its booster has 25
/// groups of 240 nodes with four links of 200 Gb/s, two to a port of a switch. A group has 15 lower and 16 upper
/// switches of 64 ports.
#[test]
fn dragonfly_plus_needs_no_more_switches_than_jupiters() {
    let ports_of_nodes = 25 * 240 * 4 / 2;
    let ours = dragonfly_plus(ports_of_nodes, 64, 1.0).unwrap();
    let groups = ports_of_nodes.div_ceil(ours.nodes_per_leaf * ours.leaves);
    assert!(groups * (ours.leaves + ours.spines) <= 25 * (15 + 16), "{groups} groups: {ours:?}");
    // Theirs has as many ports up as down on a lower switch, and 32 of each upper switch's to other groups.
    assert_eq!((ours.nodes_per_leaf, ours.spines), (240 * 4 / 2 / 15, 64 - 240 * 4 / 2 / 15));
    assert!(ours.global_per_spine >= 64 - 2 * 15 - 2);
}

/// Two groups: each leaf joined to each spine of its group, and every global port in use.
#[test]
fn a_dragonfly_plus_of_two_groups_joins_them_by_all_of_its_global_ports() {
    let (record, fabric) = variant(1440, "infiniband-1440-dragonfly-plus-1to1");
    assert_eq!(tiers(&fabric), [2 * 23, 2 * 32]);
    assert_eq!(record.number("switch_cables"), Some(f64::from(2 * 23 * 32)));
    assert_eq!(record.number("global_cables"), Some(f64::from(23 * 32)));
    assert_eq!(record.number("all_to_all_share"), Some(1.0));
}
