//! Every simulated port conforms: a fabric's port passes by being listed.

use hotlink_fabric::{Fabric, catalog};
use hotlink_port::conformance::check;
use hotlink_port::middleware::{Count, Fault, Layered};
use hotlink_sim::port::{Family, VirtualTime};
use hotlink_sim::{Plan, Settings};

/// One fabric or more of every family, with and without a host model, with and without a barrier network.
const FABRICS: [(&str, Family); 19] = [
    ("w01-sci-d330", Family::Sci),
    ("k98-sci", Family::Sci),
    ("k98-clustar", Family::Sci),
    ("sci-torus2d", Family::Sci),
    ("k98-myrinet", Family::Myrinet),
    ("myrinet-clos64", Family::Myrinet),
    ("qsnet", Family::Elan),
    ("k98-t3d", Family::T3d),
    ("ib-qdr", Family::Rdma),
    ("ib-ndr-fat-tree2", Family::Rdma),
    ("slingshot-dragonfly", Family::Rdma),
    ("eth-400g-leaf-spine", Family::Rdma),
    ("ai-pod-torus3d", Family::Rdma),
    ("bluegene-l", Family::Rdma),
    ("sharp", Family::Rdma),
    ("ib-hdr-sharp", Family::Rdma),
    ("gige", Family::Tcp),
    ("hwbarr", Family::Tcp),
    ("hwbarr-hx8k", Family::Tcp),
];

fn with(name: &str, test: impl FnOnce(VirtualTime<'_>)) {
    let spec = catalog::load(name).expect(name);
    let fabric = Fabric::build(&spec, 4).expect(name);
    let settings = Settings::of(&spec);
    let plan = Plan::new(&fabric, &settings).expect(name);
    test(VirtualTime::new(&plan, &settings).unwrap());
}

#[test]
fn every_family_conforms() {
    for (name, family) in FABRICS {
        with(name, |mut driver| {
            assert_eq!(driver.adapter().family, family, "{name}");
            assert_eq!(check(&mut driver), [""; 0], "{name}");
        });
    }
}

#[test]
fn a_fabric_can_be_tried_with_adapters_of_another_family() {
    for family in [Family::Sci, Family::Myrinet, Family::Elan, Family::T3d, Family::Rdma, Family::Tcp] {
        with("ib-ndr-fat-tree2", |driver| {
            assert_eq!(check(&mut driver.with_family(family).unwrap()), [""; 0], "{family:?}");
        });
    }
}

#[test]
fn under_middleware() {
    for (name, _) in FABRICS {
        with(name, |driver| {
            assert_eq!(check(&mut Layered::new(driver, |_| Count::default())), [""; 0], "{name}");
        });
        with(name, |driver| {
            let layer = |rank| Fault::new(u64::from(rank), 20, 30, 20);
            assert_eq!(check(&mut Layered::new(driver, layer)), [""; 0], "{name}");
        });
    }
}
