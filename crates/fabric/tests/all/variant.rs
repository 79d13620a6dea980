//! Variants of a fabric by its name: what they change, and what is refused.

use hotlink_fabric::Fabric;
use hotlink_fabric::catalog::variant::{names, split};
use hotlink_fabric::catalog::{Library, load, parse_price_list};
use hotlink_fabric::inventory::Inventory;
use hotlink_fabric::price::{Bill, PriceError, PriceList};
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
    assert!(load("gige:oversubscription=2").unwrap().prices.is_none(), "a node's share of more switches costs more");
    assert!(Fabric::build(&small, 128).is_ok() && Fabric::build(&small, 129).is_err());
}

#[test]
fn a_ratio_is_written_as_the_field_does() {
    for (ratio, number) in [("2:1", "2"), ("3:2", "1.5")] {
        let of = |value: &str| load(&format!("ib-ndr-fat-tree2:oversubscription={value}")).unwrap().topology;
        assert_eq!(format!("{:?}", of(ratio)), format!("{:?}", of(number)));
    }
    assert_eq!(load("ib-ndr-fat-tree2:oversubscription=2:1").unwrap().name, "ib-ndr-fat-tree2:oversubscription=2");
    let both = load("ib-ndr-fat-tree2:oversubscription=3:2:levels=3").unwrap().name;
    assert_eq!(both, "ib-ndr-fat-tree2:oversubscription=1.5:levels=3", "one question has one name");
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
        let prices = load(name).unwrap().prices;
        assert_eq!(prices.is_some_and(|prices| prices.varied.is_none()), is_priced, "{name}");
    }
}

fn list(own: Option<PriceList>) -> PriceList {
    let list = Library::user().price_list("estimate-2025").unwrap();
    own.map_or(list.clone(), |own| list.overridden_by(own))
}

/// The bill of a variant for 512 nodes, by the catalog's list with items of one's own.
fn bill(name: &str, own: Option<PriceList>) -> Result<Bill, PriceError> {
    let mut spec = load(name).unwrap();
    let (list, prices) = list(own).fitted(spec.prices.as_ref().unwrap());
    spec.prices = Some(prices);
    list.bill(spec.prices.as_ref().unwrap(), &Inventory::of(&Fabric::build(&spec, 512).unwrap()))
}

/// A list of one's own: items with what they say beside their title and price.
fn own(items: &[(&str, &str, u32)]) -> PriceList {
    let item = |(name, more, price): &(&str, &str, u32)| {
        format!(
            "[item.{name}]\ntitle = \"own\"\n{more}\n\
             price = {{ value = {price}, unit = \"USD\", source = \"quotation\", status = \"published\" }}\n"
        )
    };
    let head = "name = \"own\"\ntitle = \"own\"\ncurrency = \"USD\"\ndate = \"2026-01-02\"\n";
    let text = format!("{head}{}", items.iter().map(item).collect::<String>());
    parse_price_list("own.toml", &text).unwrap()
}

/// What the catalog does not price is assumed by the port, with an interval; a price of one's own goes before.
#[test]
fn a_switch_of_other_ports_is_billed_by_the_port_and_says_so() {
    let bought = |bill: &Bill| {
        let line = bill.lines.iter().find(|line| line.kind == ItemKind::Switch).unwrap();
        (line.each.units(), line.count, line.range.map(|all| all.units() / line.count as f64))
    };
    let assumed = bill("ib-ndr-fat-tree2:radix=40", None).unwrap();
    let (each, count, [low, high]) = bought(&assumed);
    assert_eq!((each, count), (28_000.0 * 40.0 / 64.0, 26 + 20));
    assert!(low < 20_000.0 * 40.0 / 64.0 && high > 40_000.0 * 40.0 / 64.0, "{low} to {high}");
    assert!(assumed.assumed[0].contains("40 ports costs and draws 40/64 of ndr-switch"), "{:?}", assumed.assumed);
    assert!(assumed.power.is_some() && bill("ib-ndr-fat-tree2", None).unwrap().assumed.is_empty());
    let ours = own(&[("quote-40", "link = \"infiniband-ndr\"\npieces = [\"switch\"]\nports = 40", 9000)]);
    let exact = bill("ib-ndr-fat-tree2:radix=40", Some(ours)).unwrap();
    assert_eq!((bought(&exact).0, exact.assumed.len(), &*exact.list), (9000.0, 0, "own over estimate-2025"));
    // A price of one's own for the fabric's switch counts by the port, too.
    let ours = own(&[("ndr-switch", "", 64_000)]);
    assert_eq!(bought(&bill("ib-ndr-fat-tree2:radix=40", Some(ours)).unwrap()).0, 40_000.0);
}

#[test]
fn other_links_are_billed_with_their_own_pieces() {
    let ethernet = bill("ib-ndr-fat-tree2:link=ethernet-400g", None).unwrap();
    let other = load("eth-400g-leaf-spine").unwrap();
    let plain = list(None).bill(other.prices.as_ref().unwrap(), &Inventory::of(&Fabric::build(&other, 512).unwrap()));
    assert_eq!(ethernet.total, plain.unwrap().total);
    let global = bill("slingshot-dragonfly:link=infiniband-ndr", None).unwrap();
    assert!(global.lines.iter().any(|line| line.item == "ndr-optical-30m" && line.kind == ItemKind::CableSwitch));
    // No list has HDR: the pieces are named, and a list of one's own prices them.
    let told = bill("ib-ndr-fat-tree2:radix=40:link=infiniband-hdr", None).unwrap_err().to_string();
    assert!(told.contains("nic, switch of 40 ports, cable_node, cable_switch of infiniband-hdr"), "{told}");
    let link = "link = \"infiniband-hdr\"";
    let [nic, switch, cable] = ["\"nic\"", "\"switch\"", "\"cable_node\", \"cable_switch\""]
        .map(|pieces| format!("{link}\npieces = [{pieces}]"));
    let ours =
        [("hdr-nic", &*nic, 700), ("hdr-switch", &*format!("{switch}\nports = 40"), 9000), ("dac", &*cable, 100)];
    let hdr = bill("ib-ndr-fat-tree2:radix=40:link=infiniband-hdr", Some(own(&ours))).unwrap();
    assert_eq!((hdr.total.units(), &*hdr.list), ((512 * 700 + 46 * 9000 + (512 + 520) * 100).into(), "own"));
    // Without the radix, a switch of 64 ports would be needed.
    let told = bill("ib-ndr-fat-tree2:link=infiniband-hdr", Some(own(&ours))).unwrap_err().to_string();
    assert!(told.contains("no price of switch of 64 ports"), "{told}");
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

#[test]
fn another_link_keeps_the_radix_and_says_so() {
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

/// Among several fabrics: `levels?=3`.
#[test]
fn an_optional_change_is_left_out_where_there_is_no_such_key() {
    let plain = load("slingshot-dragonfly").unwrap();
    let same = load("slingshot-dragonfly:levels?=3:radix?=40").unwrap();
    assert_eq!((&same.name, &same.topology), (&plain.name, &plain.topology));
    assert_eq!(same.unchanged.keys().collect::<Vec<_>>(), ["levels", "radix"]);
    let both = load("slingshot-dragonfly:levels?=3:nodes_per_router?=8").unwrap();
    assert_eq!(both.name, "slingshot-dragonfly:nodes_per_router=8");
    assert_eq!(both.topology, load("slingshot-dragonfly:nodes_per_router=8").unwrap().topology);
    let tree = load("ib-ndr-fat-tree2:levels?=3").unwrap();
    assert_eq!((tree.name.as_str(), tree.unchanged.len()), ("ib-ndr-fat-tree2:levels=3", 0));
    // A value that it cannot have is a mistake all the same.
    let told = load("ib-ndr-fat-tree2:radix?=3").unwrap_err()[0].to_string();
    assert!(told.starts_with("ib-ndr-fat-tree2:radix=3: ") && told.contains("an even number"), "{told}");
}

#[test]
fn what_cannot_be_is_told_with_what_can() {
    let told = |name: &str| load(name).unwrap_err().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    assert!(told("ib-ndr-fat-tree2:radix=32:radix=64").contains("radix: is said twice"));
    assert!(told("ib-ndr-fat-tree2:radix=3").contains("an even number"), "{}", told("ib-ndr-fat-tree2:radix=3"));
    assert!(told("ib-ndr-fat-tree2:dims=3").contains("the topology fat-tree has no dims to change (allowed: "));
    let dragonfly = told("slingshot-dragonfly:oversubscription=2");
    assert!(
        dragonfly.contains("the topology dragonfly has no oversubscription (--oversubscription) to change")
            && dragonfly.contains("does the like: slingshot-dragonfly:global_per_router=8 ("),
        "{dragonfly}"
    );
    assert!(dragonfly.contains("nodes_per_router") && dragonfly.lines().count() == 1, "{dragonfly}");
    // Ports that are left out, not ports that its switches lack: as `design` has it.
    let plus = told("ib-ndr-dragonfly-plus:oversubscription=2:1");
    assert!(plus.contains("does the like: ib-ndr-dragonfly-plus:spines=16 ("), "{plus}");
    for (base, advice) in [("slingshot-dragonfly", "global_per_router=8"), ("ib-ndr-dragonfly-plus", "spines=16")] {
        let ports = |name: &str| load(name).unwrap().topology.ports();
        assert!(ports(&format!("{base}:{advice}")) <= ports(base), "{base}");
    }
    assert!(told("ib-ndr-fat-tree2:oversubscription=1:2").contains("such as 2:1"));
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

/// A switch that no list has is an assumption of each answer; one that a list has, or that is the fabric's own, is none.
#[test]
fn ports_that_no_switch_has_are_assumed() {
    let assumed = |name: &str| {
        let fabric = Fabric::build(&load(name).unwrap(), 64).unwrap();
        fabric.spec.used().assumed().into_iter().filter(|line| line.starts_with("switch_ports")).collect::<Vec<_>>()
    };
    let told = "switch_ports=128 ports (as asked: no price list has a switch of infiniband-ndr with as many; \
                ib-ndr-fat-tree2 has 64)";
    assert_eq!(assumed("ib-ndr-fat-tree2:radix=128"), [told]);
    assert_eq!(assumed("slingshot-dragonfly:nodes_per_router=40").len(), 1);
    for name in
        ["ib-ndr-fat-tree2", "ib-ndr-fat-tree2:radix=64", "slingshot-dragonfly:nodes_per_router=8", "sci-torus2d"]
    {
        assert_eq!(assumed(name), [""; 0], "{name}");
    }
}
