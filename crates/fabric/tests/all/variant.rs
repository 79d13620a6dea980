//! Variants of a fabric by its name: what they change, and what is refused.

use hotlink_fabric::Fabric;
use hotlink_fabric::catalog::variant::{names, prices, split};
use hotlink_fabric::catalog::{Library, load};
use hotlink_fabric::inventory::Inventory;
use hotlink_fabric::spec::{ItemKind, Role};

#[test]
fn names_are_split_into_fabric_and_settings() {
    assert_eq!(split("a:radix=32:levels=2"), ("a", vec![("radix", "32"), ("levels", "2")]));
    assert_eq!(split("a:oversubscription=2:1"), ("a", vec![("oversubscription", "2:1")]));
    assert_eq!(split("a:oversubscription=3:2:levels=3"), ("a", vec![("oversubscription", "3:2"), ("levels", "3")]));
    for name in ["a", "a:b", "C:/x.toml", "a:=2", "a.txt+b.dump", "a:radix=2:x"] {
        assert_eq!(split(name), (name, Vec::new()));
    }
}

#[test]
fn a_variant_has_other_counts_and_says_so() {
    let spec = load("ib-ndr-fat-tree2:oversubscription=3").unwrap();
    assert_eq!(spec.name, "ib-ndr-fat-tree2:oversubscription=3");
    assert!(spec.title.ends_with("with oversubscription 3") && spec.prices.is_some());
    // 48 of 64 ports lead down: 480 nodes on ten leaves with 16 ports up each.
    let fabric = Fabric::build(&spec, 480).unwrap();
    assert_eq!(Inventory::of(&fabric).count(ItemKind::CableSwitch), 10 * 16);
    let small = load("ib-ndr-fat-tree2:radix=8:levels=3").unwrap();
    assert!(small.prices.is_none(), "a switch of 8 ports has another price");
    assert!(load("gige:oversubscription=2").unwrap().prices.is_none(), "a node's share of more switches costs more");
    assert!(Fabric::build(&small, 128).is_ok() && Fabric::build(&small, 129).is_err());
}

#[test]
fn a_ratio_is_written_as_the_field_does() {
    for (ratio, number) in [("2:1", "2"), ("3:2", "1.5")] {
        let of = |value: &str| load(&format!("ib-ndr-fat-tree2:oversubscription={value}")).unwrap().topology;
        assert_eq!(format!("{:?}", of(ratio)), format!("{:?}", of(number)));
    }
    for (ratio, told) in [("1:2", "come first, as in 2:1"), ("2:0", "is no ratio"), ("x:1", "such as 2:1")] {
        let wrong = load(&format!("ib-ndr-fat-tree2:oversubscription={ratio}")).unwrap_err();
        assert!(format!("{wrong:?}").contains(told), "{wrong:?}");
    }
}

/// A switch may have ports left over, but none that it lacks; a card for more rings is another card.
#[test]
fn a_variant_keeps_prices_while_its_switches_do() {
    for (name, is_priced) in [
        ("myrinet-ring4:ports=64", false),
        ("myrinet-ring4:ports=12", false),
        ("myrinet-ring4:ports=16:links=2", true),
        ("ib-ndr-fat-tree2:radix=64:levels=3", true),
        ("slingshot-dragonfly:nodes_per_router=512", false),
        ("slingshot-dragonfly:routers_per_group=33", false),
        ("slingshot-dragonfly:nodes_per_router=8", true),
        ("slingshot-dragonfly:nodes_per_router=20:global_per_router=13", true),
        ("ib-ndr-dragonfly-plus:nodes_per_leaf=512", false),
        ("ib-ndr-dragonfly-plus:spines=512", false),
        ("myrinet-torus3d:nodes_per_router=60", false),
        ("myrinet-torus3d:nodes_per_router=5", true),
        ("sci-ring:dimensions=2", false),
        ("gpu-rail:gpus_per_host=4", true),
    ] {
        assert_eq!(load(name).unwrap().prices.is_some(), is_priced, "{name}");
    }
}

#[test]
fn a_variant_may_state_the_nodes_of_each_switch() {
    let spec = load("myrinet-ring4:groups=[2,8,3]").unwrap();
    let fabric = Fabric::build(&spec, 12).unwrap();
    let held = |group: usize| fabric.attachment.nodes_of(group).len();
    assert_eq!([0, 1, 2].map(held), [2, 8, 2]);
    assert_eq!(Inventory::of(&fabric).count(ItemKind::Switch), 3);
    let refused = |name: &str, nodes: u32| Fabric::build(&load(name).unwrap(), nodes).unwrap_err().to_string();
    assert!(refused("myrinet-ring4:groups=[2,8,3]", 14).contains("hold 13"));
    assert!(refused("myrinet-ring4:groups=[2,9,3]", 14).contains("switch 1 has 8 ports for nodes"));
    assert!(load("myrinet-ring4:groups=[2,0,3]").is_err() && load("myrinet-clos64:groups=[2]").is_err());
    let told = load("myrinet-ring4:groups=5").unwrap_err()[0].to_string();
    assert!(told.contains("is no list") && told.contains("[12, 4, 8]"), "{told}");
}

#[test]
fn a_list_of_fabrics_keeps_the_lists_of_variants_whole() {
    for (list, wanted) in [
        ("a", &["a"][..]),
        ("a,b,", &["a", "b", ""]),
        ("a:groups=[8,3,6],b:radix=4,c:groups=[1]", &["a:groups=[8,3,6]", "b:radix=4", "c:groups=[1]"]),
        ("a:groups=[8,3", &["a:groups=[8,3"]),
    ] {
        assert_eq!(names(list), wanted);
    }
}

#[test]
fn a_variant_may_have_other_links() {
    let rate = |name: &str| load(name).unwrap().resources[&Role::Link].gross.as_ref().unwrap().value;
    assert_eq!(rate("ib-ndr-fat-tree2:link=infiniband-qdr"), rate("ib-qdr"));
    assert_ne!(rate("ib-ndr-fat-tree2:link=infiniband-qdr"), rate("ib-ndr-fat-tree2"));
    // All links change, or none.
    let between = load("ib-qdr-hyperx:link=ethernet-400g").unwrap();
    assert_eq!(between.resources[&Role::SwitchLink].gross.as_ref().unwrap().value, rate("eth-400g-leaf-spine"));
    let told = load("ib-ndr-dragonfly-plus:link=infiniband-qdr").unwrap_err()[0].to_string();
    assert!(told.contains("the rate of its global-link itself"), "{told}");
}

/// A list that prices each item of NDR prices no HDR.
#[test]
fn another_link_is_billed_by_no_list_of_the_fabrics_items() {
    let library = Library::user();
    let list = library.price_list(&load("ib-ndr-fat-tree2").unwrap().prices.unwrap().list).unwrap();
    assert!(prices(&library, "ib-ndr-fat-tree2:radix=40", &list).is_some());
    for name in ["ib-ndr-fat-tree2:link=infiniband-hdr", "ib-ndr-fat-tree2:radix=40:link=infiniband-hdr"] {
        assert!(prices(&library, name, &list).is_none(), "{name}");
    }
    assert!(load("ib-ndr-fat-tree2:link=infiniband-hdr").unwrap().title.ends_with(", its radix as it was"));
    assert!(load("ib-ndr-fat-tree2:radix=40:link=infiniband-hdr").unwrap().title.ends_with("link infiniband-hdr"));
}

#[test]
fn no_leaf_is_oversubscribed_more_than_was_asked() {
    for tenths in 10..60 {
        let spec = load(&format!("ib-ndr-fat-tree2:oversubscription={}", f64::from(tenths) / 10.0)).unwrap();
        let fabric = Fabric::build(&spec, 512).unwrap();
        let down = fabric.attachment.nodes_of(0).len() as u32;
        assert!(10 * down <= tenths * (64 - down), "{tenths} tenths: {down} of 64 ports lead down");
        assert!(10 * (down + 1) > tenths * (63 - down), "{tenths} tenths: {down} of 64 ports, and one more might");
    }
}

#[test]
fn what_cannot_be_is_told_with_what_can() {
    let told = |name: &str| load(name).unwrap_err().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    assert!(told("ib-ndr-fat-tree2:radix=32:radix=64").contains("radix: is said twice"));
    assert!(told("ib-ndr-fat-tree2:radix=3").contains("an even number"), "{}", told("ib-ndr-fat-tree2:radix=3"));
    assert!(told("ib-ndr-fat-tree2:dims=3").contains("the topology fat-tree has no dims to change (allowed: "));
    let dragonfly = told("slingshot-dragonfly:oversubscription=2");
    assert!(
        dragonfly.contains("oversubscription=2: the topology dragonfly has no oversubscription to change"),
        "{dragonfly}"
    );
    assert!(dragonfly.contains("nodes_per_router") && dragonfly.lines().count() == 1, "{dragonfly}");
    assert!(told("ib-ndr-fat-tree2:oversubscription=1:2").contains("a ratio such as 2:1"));
    assert!(told("ib-ndr-fat-tree2,gige").contains("is a list, where one name is due"));
    let begun = told("ib-ndr");
    assert!(
        begun.contains("did you mean `ib-ndr-") && begun.contains("`, `ib-ndr-") && !begun.contains("qdr"),
        "{begun}"
    );
    assert!(told("ib-ndr-fat-tree2:radix=many").contains("is no number"));
    assert!(told("ib-ndr-fat-tree2:kind=torus").contains("its fabric's own"));
    assert!(told("ib-ndr-fat-tree2:link=copper").contains("infiniband-qdr"));
    assert!(told("ib-ndr-fat-tre2:radix=32").contains("did you mean"));
}
