//! The times that NCCL's tables predict, from which the library chooses an algorithm and a protocol.

use hotlink_schedule::Protocol::{Ll, Ll128, Simple};
use hotlink_schedule::collective::Algorithm::{CollNet, Nvls, NvlsTree, Ring, Tree};
use hotlink_schedule::collective::{Machine, Uneven, Which};
use hotlink_workloads::gpu::Gpus;

/// Sums of NCCL's table, worked out by hand: `2 (n - 1)` steps of a ring of which `2 (h - 1)` leave a host, and so on.
#[test]
fn the_model_adds_up_nccls_table() {
    let spec = hotlink_fabric::catalog::load("hgx-h100-rail").unwrap();
    let gpus = Gpus::of(&spec).unwrap();
    let us =
        |which, way, ranks, bytes| gpus.kernels.predicted_ps(&gpus.machine(ranks), which, way, bytes).unwrap() / 1e6;
    for (ranks, way, due) in [
        (8, (Ring, Ll), 6.6 + 14.0 * 0.6),
        // A post takes longer than a step of LL.
        (16, (Ring, Ll), 6.6 + 28.0 * 1.0 + 2.0 * 2.7),
        (16, (Ring, Ll128), 14.0 + 28.0 * 1.9 + 2.0 * 4.0),
        (16, (Ring, Simple), 8.4 + 28.0 * 3.4 + 2.0 * 14.0),
        (16, (Tree, Ll), 6.8 + 2.0 * (7.0 * 0.6 + 5.0)),
        (64, (Tree, Simple), 8.4 + 2.0 * (7.0 * 4.0 + 3.0 * 14.0)),
        (64, (NvlsTree, Simple), 25.0 + 6.0 * 20.9),
        (8, (Nvls, Simple), 25.0),
        (64, (CollNet, Simple), 2.0 * (3.7 + 7.0 * 0.4) + 31.0),
    ] {
        assert!((us(Which::Allreduce, way, ranks, 0) - due).abs() < 1e-6, "{way:?} of {ranks}");
    }
    assert!((us(Which::Bcast, (Ring, Simple), 16, 0) - (8.4 + 16.0 * 14.0)).abs() < 1e-6);
    // A ring with Simple that carries data between hosts has NCCL's plateau, and the links' rate.
    let long = us(Which::Allreduce, (Ring, Simple), 16, 1 << 30) - 1.4 * 131.6;
    let rate = gpus.kernels.scale_up.min(8.0 * gpus.kernels.adapter);
    assert!((long / (2.0 * 15.0 / 16.0 * f64::from(1 << 30) / rate * 1e6) - 1.0).abs() < 1e-9);
    // Trees have half of 92 %, and of that 60 % from 1 MiB on with LL128... up to 2 MiB: 7/9 is of one host.
    let tree = us(Which::Allreduce, (Tree, Ll128), 64, 1 << 20) - (14.0 + 2.0 * (7.0 * 1.25 + 3.0 * 8.5));
    let bus = (rate * 0.92).min(16.0 * 36e9) * 0.9375;
    assert!((tree / (f64::from(1 << 20) / (bus.min(16.0 * 29e9) * 0.6 / 2.0) * 1e6) - 1.0).abs() < 1e-9, "{tree}");
}

/// Hosts of two, two, one and one GPU: 1.5 to a host are more than one, and NCCL's rings take a ring's step between them.
/// Of one GPU to a host they take a tree's.
#[test]
fn uneven_hosts_take_a_rings_steps() {
    let spec = hotlink_fabric::catalog::load("hgx-h100-rail").unwrap();
    let gpus = Gpus::of(&spec).unwrap();
    let us = |ranks: u32, uneven: Option<Uneven>, way| {
        let machine = Machine { domain: 1, uneven, ..gpus.machine(ranks) };
        gpus.kernels.predicted_ps(&machine, Which::Allreduce, way, 0).unwrap() / 1e6
    };
    let uneven = Some(Uneven { hosts: 4, least: 1 });
    for (found, due) in [
        (us(6, uneven, (Ring, Ll)), 6.6 + 4.0 * 1.0 + 6.0 * 2.7),
        (us(4, None, (Ring, Ll)), 6.6 + 6.0 * 5.0),
        // The tree's quotient is of whole numbers: no step within a host.
        (us(6, uneven, (Tree, Ll)), 6.8 + 2.0 * 2.0 * 5.0),
    ] {
        assert!((found - due).abs() < 1e-6, "{found} {due}");
    }
}

/// MI300X has no LL128, and says which it has.
#[test]
fn a_protocol_that_the_file_does_not_state_is_not_there() {
    let spec = hotlink_fabric::catalog::load("mi300x-rail").unwrap();
    let gpus = Gpus::of(&spec).unwrap();
    assert!(gpus.kernels.of(Ll128).is_none() && gpus.kernels.of(Ll).is_some());
    assert!(!gpus.kernels.has(Ring, Ll128) && gpus.kernels.has(Ring, Simple) && !gpus.kernels.has(Nvls, Ll));
}
