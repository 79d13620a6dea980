//! Bills of materials, price lists with mistakes, and steps.

use hotlink_fabric::Fabric;
use hotlink_fabric::catalog::{self, Library};
use hotlink_fabric::inventory::Inventory;
use hotlink_fabric::price::PriceError;
use hotlink_fabric::spec::{ItemKind, Status};
use hotlink_fabric::units::Money;
use proptest::prelude::*;

fn inventory(nodes: u64, pieces: &[(ItemKind, u64)]) -> Inventory {
    Inventory { nodes, pieces: pieces.iter().copied().collect() }
}

fn myrinet(nodes: u64, switches: u64) -> Inventory {
    inventory(nodes, &[(ItemKind::Nic, nodes), (ItemKind::Switch, switches), (ItemKind::CableNode, nodes)])
}

#[test]
fn every_price_list_loads_and_has_every_item_that_fabrics_name() {
    let library = Library::embedded();
    for listed in library.list("prices") {
        assert_eq!(library.price_list(&listed.name).expect("an embedded list").name, listed.name);
    }
    for listed in library.list("fabrics") {
        let spec = library.fabric(&listed.name).expect("an embedded fabric").spec;
        let Some(prices) = spec.prices else { continue };
        let list = library.price_list(&prices.list).expect("checked when the fabric was read");
        let one_of_each = inventory(1, &prices.items.keys().map(|kind| (*kind, 1)).collect::<Vec<_>>());
        assert_eq!(list.bill(&prices, &one_of_each).expect(&listed.name).lines.len(), prices.items.len());
    }
}

#[test]
fn a_bill_adds_up_and_calls_fitted_prices_fitted() {
    let prices = catalog::load("myrinet-minimal").unwrap().prices.unwrap();
    let list = Library::embedded().price_list(&prices.list).unwrap();
    let bill = list.bill(&prices, &myrinet(30, 2)).unwrap();
    assert_eq!(bill.total, Money(30 * 130_000 + 2 * 500_000));
    assert_eq!((bill.status, bill.currency.as_str()), (Status::Fitted, "USD"));
    assert_eq!(bill.included[&ItemKind::CableNode], 30);
    assert!((bill.per_node() - 49_000.0 / 30.0).abs() < 1e-9);
    assert!((bill.per_mbps_per_node(144.0) - 49_000.0 / 30.0 / 144.0).abs() < 1e-12);
}

#[test]
fn networks_of_today_hold_65536_hosts_and_their_pieces_are_counted() {
    let count = |name: &str| {
        let fabric = Fabric::build(&catalog::load(name).unwrap(), 65_536).unwrap();
        let pieces = Inventory::of(&fabric).pieces;
        let of = |kind| pieces.get(&kind).copied().unwrap_or(0);
        [ItemKind::Nic, ItemKind::Switch, ItemKind::CableSwitch, ItemKind::CableGlobal].map(of)
    };
    // A full tree of three levels of switches of k = 64 ports: k^3/4 hosts, 5k^2/4 switches.
    let (k, hosts) = (64, 65_536);
    let tree = [k * k * k / 4, 5 * k * k / 4, 2 * hosts, 0];
    assert_eq!(count("ib-ndr-fat-tree3"), tree);
    assert_eq!(count("eth-400g-leaf-spine"), tree);
    // 128 groups of 32 routers with 16 hosts each; 4 links join each two groups, for a group has 32 x 17 ports for 127.
    let groups = hosts / 16 / 32;
    let dragonfly = [hosts, groups * 32, groups * (32 * 31 / 2), groups * (groups - 1) / 2 * (32 * 17 / (groups - 1))];
    assert_eq!(count("slingshot-dragonfly"), dragonfly);
}

#[test]
fn power_is_summed_where_every_piece_states_it() {
    let prices = catalog::load("myrinet-minimal").unwrap().prices.unwrap();
    let power = |nic: &str| {
        let item = |name: &str, power: &str| {
            format!(
                "[item.{name}]\ntitle = \"x\"\nprice = {{ value = 1, unit = \"USD\", source = \"s\", status = \"published\" }}\n{power}"
            )
        };
        let switch = "power = { value = 100, unit = \"W\", source = \"s\", status = \"published\" }\n";
        let head = "name = \"mine\"\ntitle = \"Mine\"\ncurrency = \"USD\"\ndate = \"2026-01-31\"\n";
        let text = format!("{head}{}{}", item("myrinet-nic", nic), item("myrinet-switch-16", switch));
        catalog::parse_price_list("mine.toml", &text).map(|list| list.bill(&prices, &myrinet(30, 2)).unwrap().power)
    };
    let nic = |range: &str| {
        format!("power = {{ value = 10, unit = \"W\", source = \"s\", status = \"estimated\", {range} }}\n")
    };
    assert_eq!(power(&nic("low = 8, high = 13")).unwrap(), Some([500.0, 440.0, 590.0]));
    assert_eq!(power("").unwrap(), None);
    let told = format!("{:?}", power(&nic("low = 11, high = 13")).unwrap_err());
    assert!(told.contains("outside its own range"), "{told}");
}

#[test]
fn a_users_prices_replace_those_of_the_list_and_a_missing_item_is_told() {
    let prices = catalog::load("myrinet-minimal").unwrap().prices.unwrap();
    let own = |currency: &str| {
        let text = format!(
            "name = \"mine\"\ntitle = \"Mine\"\ncurrency = \"{currency}\"\ndate = \"2026-01-31\"\n[item.myrinet-nic]\n\
             title = \"NIC\"\nprice = {{ value = 99.99, unit = \"{currency}\", source = \"quotation\", status = \"published\" }}\n"
        );
        catalog::parse_price_list("mine.toml", &text).unwrap()
    };
    let list = || Library::embedded().price_list(&prices.list).unwrap();
    let bill = list().overridden_by(own("USD")).bill(&prices, &myrinet(2, 1)).unwrap();
    assert_eq!((bill.total, bill.date), (Money(2 * 9_999 + 500_000), format!("2026-01-31 over {}", list().date)));
    assert_eq!(bill.list, format!("mine over {}", prices.list));
    // Where only one of the two has prices in a bill, it is that one's.
    let of =
        |pieces: &[(ItemKind, u64)]| list().overridden_by(own("USD")).bill(&prices, &inventory(2, pieces)).unwrap();
    let [nics, switches] = [ItemKind::Nic, ItemKind::Switch].map(|kind| of(&[(kind, 2)]));
    assert_eq!([&nics.list, &nics.year], ["mine", "2026"]);
    assert_eq!([&switches.list, &switches.date], [&prices.list, &list().date]);
    let error = list().overridden_by(own("EUR")).bill(&prices, &myrinet(2, 1)).unwrap_err();
    assert!(matches!(&error, PriceError::NoItem { item, .. } if item == "myrinet-switch-16"), "{error}");
    let huge = list().bill(&prices, &myrinet(u64::MAX, 1)).unwrap_err();
    assert!(matches!(huge, PriceError::TooLarge { .. }));
}

#[test]
fn prices_of_ones_own_keep_the_power_and_length_that_they_do_not_state() {
    let list = Library::embedded().price_list("estimate-2025").unwrap();
    let text = "name = \"mine\"\ntitle = \"Mine\"\ncurrency = \"USD\"\ndate = \"2026-01-31\"\n[item.ndr-copper-2m]\n\
                title = \"Cable\"\nprice = { value = 99, unit = \"USD\", source = \"quotation\", status = \"published\" }\n";
    let own = catalog::parse_price_list("mine.toml", text).unwrap();
    let (before, merged) = (list.clone(), list.overridden_by(own));
    let [old, new] = [&before, &merged].map(|list| &list.items["ndr-copper-2m"]);
    assert_eq!(new.price.value, Money(9_900));
    assert!(new.power.is_some() && new.power == old.power && new.length.is_some() && new.length == old.length);
}

#[test]
fn short_cables_are_another_item_of_the_list() {
    let whole = catalog::to_toml(&catalog::load("ib-ndr-fat-tree2").unwrap());
    let with = |item: &str| {
        catalog::parse("f.toml", &format!("{whole}\n[prices.short]\nitem = \"{item}\"\ncable_switch = 5\n"))
    };
    let spec = with("ndr-copper-2m").unwrap();
    assert_eq!(catalog::parse("f.toml", &catalog::to_toml(&spec)).unwrap().prices, spec.prices);
    let list = Library::embedded().price_list("estimate-2025").unwrap();
    let cables = |count: u64| {
        let bill = list.bill(spec.prices.as_ref().unwrap(), &inventory(1, &[(ItemKind::CableSwitch, count)])).unwrap();
        bill.lines.iter().map(|line| (line.item.clone(), line.count, line.total)).collect::<Vec<_>>()
    };
    let (copper, optics) = ("ndr-copper-2m".to_owned(), "ndr-optical-30m".to_owned());
    assert_eq!(cables(7), [(copper.clone(), 5, Money(5 * 20_000)), (optics, 2, Money(2 * 160_000))]);
    assert_eq!(cables(3), [(copper, 3, Money(3 * 20_000))], "of fewer all are short");
    let told = format!("{:?}", with("ndr-coper-2m").unwrap_err());
    assert!(told.contains("prices.short.item") && told.contains("did you mean"), "{told}");
}

#[test]
fn mistakes_of_a_price_list_have_their_places() {
    let text = "name = \"x\"\ntitle = \"x\"\ncurrency = \"USD\"\ndate = \"June\"\n[item.a]\ntitle = \"A\"\n\
                price = { value = 5, unit = \"EUR\", source = \"s\", status = \"fitted\" }\n[item.b]\ntitle = \"B\"\n\
                price = { value = 5, unit = \"USD\", source = \"s\", status = \"fitted\", low = 6 }\n[item.c]\n";
    let mistakes = catalog::parse_price_list("p.toml", text).unwrap_err();
    let told: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
    assert_eq!(told[0], "p.toml:4:8: date: \"June\" is no date (allowed: YYYY-MM-DD)");
    assert_eq!(told[1], "p.toml:7:29: item.a.price.unit: \"EUR\" is unknown (allowed: USD)");
    assert!(told[2].starts_with("p.toml:10:9: item.b.price: the value is outside its own range"), "{}", told[2]);
    assert!(told[3..].iter().any(|text| text.starts_with("p.toml:11:1: item.c.price: is missing")), "{told:?}");
}

/// Money is counted in whole cents: what is finer would be rounded, a cheap piece to nothing.
#[test]
fn parts_of_a_cent_are_mistakes() {
    let list = |price: &str| {
        let head = "name = \"x\"\ntitle = \"x\"\ncurrency = \"EUR\"\ndate = \"2026-01-31\"\n[item.a]\ntitle = \"A\"\n";
        let price = format!("price = {{ {price}, unit = \"EUR\", source = \"s\", status = \"estimated\" }}\n");
        catalog::parse_price_list("p.toml", &format!("{head}{price}"))
    };
    for price in ["0.01", "0.29", "1.1", "123456.78", "9999999999.99", "1e10"] {
        let found = list(&format!("value = {price}")).unwrap();
        assert_eq!(found.items["a"].price.value.units(), price.parse::<f64>().unwrap());
    }
    for (price, key) in [
        ("value = 0.004", "price.value"),
        ("value = 1, low = 0.999", "price.low"),
        ("value = 1, high = 1.0001", "price.high"),
        ("value = 9999999999.999", "price.value"),
    ] {
        let told = list(price).unwrap_err().iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(told.len(), 1, "{told:?}");
        let place = told[0].starts_with("p.toml:7:") && told[0].contains(&format!("item.a.{key}: "));
        assert!(place && told[0].contains("parts of a cent (allowed: at most two decimals"), "{told:?}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC{0,200}", date in "\\PC{0,12}") {
        let _ = catalog::parse_price_list("fuzz.toml", &text);
        let _ = catalog::parse_price_list("fuzz.toml", &format!("date = '{date}'"));
    }

    #[test]
    fn a_bill_is_linear_in_its_pieces(nodes in 1u64..10_000, switches in 0u64..1000) {
        let prices = catalog::load("myrinet-minimal").unwrap().prices.unwrap();
        let list = Library::embedded().price_list(&prices.list).unwrap();
        let once = list.bill(&prices, &myrinet(nodes, switches)).unwrap().total;
        let twice = list.bill(&prices, &myrinet(2 * nodes, 2 * switches)).unwrap().total;
        prop_assert_eq!(2 * once.0, twice.0);
    }
}
