//! What a fabric is built of, as one would buy it.

use ItemKind::{CableGlobal, CableNode, CableSwitch, Enclosure, Nic, Switch};
use hotlink_fabric::Fabric;
use hotlink_fabric::catalog;
use hotlink_fabric::inventory::Inventory;
use hotlink_fabric::spec::ItemKind;

fn pieces(name: &str, nodes: u32) -> Vec<(ItemKind, u64)> {
    let fabric = Fabric::build(&catalog::load(name).unwrap(), nodes).unwrap();
    Inventory::of(&fabric).pieces.into_iter().collect()
}

#[test]
fn pieces_are_what_one_would_buy() {
    assert_eq!(pieces("sci-torus2d", 20), [(Nic, 20), (CableNode, 40)], "padded to 25, bought for 20");
    assert_eq!(pieces("myrinet-minimal", 16), [(Nic, 16), (Switch, 1), (CableNode, 16)]);
    assert_eq!(pieces("myrinet-minimal", 31), [(Nic, 31), (Switch, 3), (CableNode, 31), (CableSwitch, 2)]);
    assert_eq!(pieces("myrinet-clos64", 64), [(Nic, 64), (Enclosure, 1), (CableNode, 64)]);
    assert_eq!(pieces("myrinet-clos64", 65), [(Nic, 65), (Enclosure, 2), (CableNode, 65), (CableGlobal, 64)]);
    // Hosts are cabled to their switch, and switches of a ring of two to each other twice.
    assert_eq!(pieces("myrinet-torus3d", 8), [(Nic, 8), (Switch, 1), (CableNode, 8)]);
    assert_eq!(pieces("myrinet-torus3d", 80), [(Nic, 80), (Switch, 8), (CableNode, 80), (CableSwitch, 24)]);
    assert_eq!(
        pieces("gpu-rail", 520),
        [(Nic, 520), (Switch, 8 * (3 + 2)), (CableNode, 520), (CableSwitch, 8 * 3 * 32)]
    );
}

/// A ring of six switches with four nodes each, bought as one under any name in the file.
#[test]
fn routers_that_are_switches_are_bought() {
    let text = |topology: &str, switch: &str| {
        format!(
            "name = \"x\"\ntitle = \"x\"\nparts = [\"server-pcie5\", \"infiniband-ndr\"]\n[topology]\n{topology}\nsource = \"s\"\n\
             status = \"published\"\n[prices]\nlist = \"estimate-2025\"\nnic = \"ndr-nic\"\n{switch}"
        )
    };
    let bought = |topology: &str, switch: &str| {
        let spec = catalog::parse("x.toml", &text(topology, switch)).unwrap();
        Inventory::of(&Fabric::build(&spec, 24).unwrap()).pieces
    };
    let cube = "kind = \"cube\"\ndimensions = 1\nbidirectional = true\nnodes_per_router = 4\nextents = [6]";
    let ring = "kind = \"switch-ring\"\nports = 6\nlinks = 1";
    let switch = "switch = \"ndr-switch\"\n";
    assert_eq!(bought(cube, switch), bought(ring, switch));
    assert_eq!(
        bought(cube, switch).into_iter().collect::<Vec<_>>(),
        [(Nic, 24), (Switch, 6), (CableNode, 24), (CableSwitch, 6)]
    );
    // Without a switch to buy they are parts of the nodes.
    assert!(!bought(cube, "").contains_key(&Switch));
    let torus = pieces("myrinet-torus3d", 64);
    assert_eq!(torus, [(Nic, 64), (Switch, 7), (CableNode, 64), (CableSwitch, 7)]);
}
