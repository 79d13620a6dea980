//! The levels of a cluster.

use hotlink_fabric::Fabric;
use hotlink_fabric::spec::{Capacities, FabricSpec};
use hotlink_workloads::cluster::of;

/// A switch that combines at an unknown rate is an error, and no switch that combines at all of its links'.
#[test]
fn a_combining_switch_has_a_share() {
    let mut spec = hotlink_fabric::catalog::load("hgx-h100-rail").unwrap();
    let share = |spec: &FabricSpec| {
        let fabric = Fabric::build(spec, 16).unwrap();
        of(&fabric, 16, None, Capacities::Theoretical, 1 << 20).map(|cluster| cluster.switch_share)
    };
    assert_eq!(share(&spec), Ok(Some(0.85)));
    spec.parameters.remove("gpu_switch_share");
    assert!(share(&spec).unwrap_err().contains("gpu_switch_share"));
    spec.parameters.remove("gpu_switch_reduces");
    assert_eq!(share(&spec), Ok(None));
}
