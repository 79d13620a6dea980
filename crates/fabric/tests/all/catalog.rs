//! The embedded catalog is whole. All mistakes of a file are reported, with their places.

use hotlink_fabric::catalog::{self, Library, Lines, Mistake, nearest};
use hotlink_fabric::flow_control::{FLOW_CONTROLS, FlowControl};
use hotlink_fabric::spec::{Role, Status};
use hotlink_fabric::technology::TECHNOLOGIES;
use proptest::prelude::*;

fn told(mistakes: &[Mistake]) -> String {
    mistakes.iter().map(|mistake| format!("{mistake}\n")).collect()
}

#[test]
fn every_embedded_fabric_loads_and_is_called_what_its_file_is_called() {
    let library = Library::embedded();
    for listed in library.list("fabrics") {
        let loaded = library.fabric(&listed.name).unwrap_or_else(|mistakes| panic!("{}", told(&mistakes)));
        assert_eq!(loaded.spec.name, listed.name);
    }
}

#[test]
fn every_embedded_part_loads_and_some_fabric_stands_on_it() {
    let library = Library::embedded();
    let fabrics = library.list("fabrics");
    let used: Vec<String> =
        fabrics.iter().flat_map(|listed| library.fabric(&listed.name).expect("tested above").parts).collect();
    for listed in library.list("parts") {
        library.describe(&listed.name).unwrap_or_else(|mistakes| panic!("{}", told(&mistakes)));
        assert!(used.contains(&listed.name), "no fabric stands on part {}", listed.name);
    }
}

/// Else `--sensitivity` could not vary it, and an interval would leave it out.
#[test]
fn every_estimate_states_how_far_it_may_be_off() {
    let library = Library::embedded();
    let folders = ["fabrics", "parts", "prices"].into_iter().flat_map(|folder| library.list(folder));
    let mut without = Vec::new();
    for listed in folders {
        let described = library.describe(&listed.name).unwrap_or_else(|mistakes| panic!("{}", told(&mistakes)));
        // How many of what is where, is no quantity that could be a little off: nothing varies a shape.
        let is_count = |key: &str| {
            key.starts_with("topology.")
                || ["barrier", "reduction"].iter().any(|tree| {
                    ["arity", "machine_nodes", "partition_nodes", "channels", "phases"]
                        .iter()
                        .any(|count| key == format!("{tree}.{count}"))
                })
        };
        // A price has its own keys for that, and so has a power.
        let prices = library.price_list(&listed.name).map(|list| list.items).unwrap_or_default();
        let is_between = |key: &str| {
            let (item, of) = key.strip_prefix("item.").and_then(|key| key.rsplit_once('.')).unwrap_or_default();
            prices.get(item).is_some_and(|item| match of {
                "price" => item.low.is_some() && item.high.is_some(),
                "power" => item.power.is_some_and(|[_, low, high]| low < high),
                "other_ports" => item.other_ports.is_some_and(|[_, low, high]| low < high),
                _ => false,
            })
        };
        let is_open = |entry: &&catalog::Entry| {
            let is_estimate = entry.status == Status::Estimated && entry.range.is_none();
            is_estimate && !is_count(&entry.key) && !is_between(&entry.key)
        };
        without.extend(described.entries.iter().filter(is_open).map(|entry| format!("{}: {}", listed.name, entry.key)));
    }
    assert!(without.is_empty(), "estimates without an uncertainty:\n{}", without.join("\n"));
    for technology in hotlink_fabric::technology::TECHNOLOGIES {
        for assumption in technology.assumptions {
            let [low, high] = assumption.range;
            assert!((low..=high).contains(&assumption.value), "{}: {}", technology.name, assumption.parameter);
        }
    }
}

#[test]
fn every_claim_of_the_five_studies_is_there_once() {
    let studies = ["k98", "w01", "p01", "h06", "m02"];
    let claims = studies
        .map(|study| Library::embedded().published(study).unwrap_or_else(|mistakes| panic!("{}", told(&mistakes))));
    let ids: Vec<String> = claims.into_iter().flatten().map(|claim| claim.id).collect();
    assert_eq!(ids, (1..=109).map(|number| format!("G{number:03}")).collect::<Vec<_>>());
}

#[test]
fn capacities_of_m02_are_those_of_its_tables() {
    let torus = catalog::load("sci-torus2d").unwrap();
    let link = &torus.resources[&Role::Link];
    assert_eq!(link.gross.as_ref().unwrap().value.mbps(), 667.0);
    assert_eq!(link.measured.as_ref().unwrap().value.mbps(), 390.0);
    assert_eq!(link.gross.as_ref().unwrap().status, Status::Published);
    assert_eq!(torus.packet.overhead_bytes.value, 64.0);
    assert_eq!(torus.packet.payload_max_bytes.as_ref().unwrap().value, 128);
}

const BROKEN: &str = r#"
name = "broken"
title = "A fabric with one mistake of each kind"
parts = ["pc-p3-1ghz", "myrinet-128O"]
routing = "dimension-ordr"
technology = "scy"
colour = "red"

[topology]
kind = "cube"
dimensions = 17
extents = "padded-cube"
source = "me"

[resource.link]
name = 7
groos = 5
gross = { value = 500, unit = "MB/sec", source = "me", status = "published" }
measured = { value = -1, unit = "MB/s", source = "me", status = "guessed" }
latency = 3

[resource.b-link]
name = "B-Link"

[packet]
overhead = { value = "64", unit = "B", source = "me", status = "published", sauce = "x" }

[parameter]
stream_bufers = { value = 8, unit = "buffers", source = "me", status = "published" }
att_entries = { value = 8, unit = "MB/s", source = "me", status = "published" }
"#;

#[test]
fn all_mistakes_of_a_file_are_told_in_one_pass_with_their_places() {
    let mistakes = catalog::parse("broken.toml", BROKEN).unwrap_err();
    let told = told(&mistakes);
    for expected in [
        "broken.toml:4:24: parts: part \"myrinet-128O\" is unknown; did you mean \"myrinet-1280\"? (allowed: ",
        "broken.toml:5:11: routing: \"dimension-ordr\" is unknown; did you mean \"dimension-order\"? (allowed: dimension-order, ",
        "broken.toml:6:14: technology: \"scy\" is unknown; did you mean \"sci\"? (allowed: barrier-network, ",
        "broken.toml:7:1: colour: unknown key (allowed: barrier, name, ",
        "broken.toml:9:1: topology.status: is missing (allowed: published, measured, fitted, estimated)",
        "broken.toml:11:14: topology.dimensions: 17 is out of range (allowed: a whole number 1 to 16)",
        "broken.toml:16:8: resource.link.name: is an integer (allowed: a text)",
        "broken.toml:17:1: resource.link.groos: unknown key; did you mean `gross`? (allowed: gross, half_duplex, latency, measured, name)",
        "broken.toml:18:31: resource.link.gross.unit: \"MB/sec\" is unknown; did you mean \"MB/s\"? (allowed: MB/s, GB/s, ",
        "broken.toml:19:22: resource.link.measured.value: -1 MB/s is out of range (allowed: 0.000001 to 1000000000 MB/s)",
        "broken.toml:19:65: resource.link.measured.status: \"guessed\" is unknown (allowed: published, measured, fitted, estimated)",
        "broken.toml:20:11: resource.link.latency: has no unit, source and status (allowed: { value",
        "broken.toml:22:1: resource.b-link.latency: is missing, here and in the parts",
        "broken.toml:26:22: packet.overhead.value: is no number (allowed: a number)",
        "broken.toml:26:77: packet.overhead.sauce: unknown key; did you mean `source`?",
        "broken.toml:29:1: parameter.stream_bufers: unknown key; did you mean `stream_buffers`?",
        "broken.toml:30:35: parameter.att_entries.unit: \"MB/s\" is unknown",
    ] {
        assert!(told.contains(expected), "missing: {expected}\nin:\n{told}");
    }
}

/// Rings without switches buy none, and a price list is no fabric.
#[test]
fn what_could_never_count_is_refused() {
    let library = Library::embedded();
    let (_, ring) = library.open("fabrics", "sci-ring").unwrap();
    let told = catalog::parse("x.toml", &ring.replace("nic = ", "switch = \"myrinet-switch-16\"\nnic = ")).unwrap_err();
    assert!(told[0].to_string().contains("prices.switch: the rings of a cube with b_link"), "{}", told[0]);
    let (file, list) = library.open("prices", "m02-2002").unwrap();
    let told = library.parse_fabric(&file, &list).unwrap_err();
    assert!(told.len() == 1 && told[0].to_string().contains("is a price list"), "{told:?}");
    let (file, part) = library.open("parts", "myrinet-1280").unwrap();
    assert!(library.parse_fabric(&file, &part).unwrap_err()[0].to_string().contains("is a part of fabrics"));
}

#[test]
fn what_is_no_toml_is_told_with_its_place_and_an_unknown_name_with_the_nearest() {
    let mistakes = catalog::parse("x.toml", "name = \"a\ntitle == 3\n").unwrap_err();
    assert_eq!((mistakes[0].line, mistakes[0].key.as_str()), (1, ""));
    let unknown = Library::embedded().fabric("sci-torus2").unwrap_err();
    assert!(unknown[0].to_string().contains("did you mean `sci-torus2d`?"), "{}", unknown[0]);
    let absent = Library::embedded().fabric("no/such/file.toml").unwrap_err();
    assert!(absent[0].to_string().starts_with("no/such/file.toml: cannot be read"), "{}", absent[0]);
}

#[test]
fn a_users_directory_comes_first_and_its_parts_replace_values_one_by_one() {
    let directory = std::env::temp_dir().join(format!("hotlink-catalog-{}", std::process::id()));
    for folder in ["fabrics", "parts"] {
        std::fs::create_dir_all(directory.join(folder)).unwrap();
    }
    let part = "kind = \"adapter\"\ntechnology = \"sci\"\ntitle = \"Faster\"\n[resource.link]\n\
                gross = { value = 1, unit = \"GB/s\", source = \"me\", status = \"estimated\" }\n";
    std::fs::write(directory.join("parts/faster.toml"), part).unwrap();
    let ring = ring_with_parts("sci-ring");
    std::fs::write(directory.join("fabrics/sci-ring.toml"), ring).unwrap();
    let library = Library::with_directories(vec![directory.clone()]);
    let loaded = library.fabric("sci-ring");
    let listed = library.list("fabrics");
    std::fs::remove_dir_all(&directory).unwrap();
    let loaded = loaded.unwrap_or_else(|mistakes| panic!("{}", told(&mistakes)));
    let link = &loaded.spec.resources[&Role::Link];
    assert_eq!(link.gross.as_ref().unwrap().value.mbps(), 1000.0, "from the user's part");
    assert_eq!(link.measured.as_ref().unwrap().value.mbps(), 390.0, "from the embedded part");
    let gross = loaded.entries.iter().find(|entry| entry.key == "resource.link.gross").unwrap();
    assert!(gross.place.ends_with("parts/faster.toml:5") && gross.status == Status::Estimated, "{gross:?}");
    assert!(listed.iter().any(|listed| listed.name == "sci-ring" && !listed.file.starts_with("built-in:")));
    assert!(listed.iter().any(|listed| listed.name == "qsnet" && listed.file.starts_with("built-in:")));
}

/// A ring on the embedded D335 with a part of the user's laid over it.
fn ring_with_parts(name: &str) -> String {
    format!(
        "name = \"{name}\"\ntitle = \"mine\"\nparts = [\"pc-p3-1ghz\", \"dolphin-d335\", \"faster\"]\n\
         routing = \"dimension-order\"\n[topology]\nkind = \"cube\"\ndimensions = 1\n\
         b_link = true\nextents = \"balanced\"\nsource = \"me\"\nstatus = \"estimated\"\n"
    )
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC{0,200}") {
        let _ = catalog::parse("fuzz.toml", &text);
    }

    /// Small damage to a good file reaches deeper than random text does.
    #[test]
    fn no_damage_to_a_good_file_makes_the_reader_panic(at in 0usize..900, cut in 0usize..40, put in "[\\[\\]{}=.\",\n0-9a-z_ -]{0,12}") {
        let good: Vec<char> = BROKEN.chars().collect();
        let at = at.min(good.len());
        let end = (at + cut).min(good.len());
        let text: String = good[..at].iter().copied().chain(put.chars()).chain(good[end..].iter().copied()).collect();
        if let Err(mistakes) = catalog::parse("fuzz.toml", &text) {
            prop_assert!(!mistakes.is_empty());
        }
    }
}

/// What the catalog's README shows works as shown.
#[test]
fn the_examples_of_the_readme_are_right() {
    let blocks: Vec<&str> = include_str!("../../../../catalog/README.md")
        .split("```toml\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap_or_default())
        .collect();
    let fabric = blocks.iter().find(|block| block.contains("[topology]")).expect("a fabric");
    let spec = catalog::parse("README.md", fabric).unwrap_or_else(|mistakes| panic!("{}", told(&mistakes)));
    assert_eq!(spec.resources[&Role::Link].measured.as_ref().unwrap().value.mbps(), 371.0);
    let prices = blocks.iter().find(|block| block.contains("currency")).expect("a price list");
    catalog::parse_price_list("README.md", prices).unwrap_or_else(|mistakes| panic!("{}", told(&mistakes)));
}

#[test]
fn what_an_engine_asks_for_is_noted_of_all_clones_whether_stated_or_not() {
    let spec = catalog::load("ib-qdr").expect("of the catalog");
    let clone = spec.clone();
    assert!(clone.parameters.get("copy_rate").is_some() && !clone.parameters.contains_key("tcp_overhead"));
    assert!(spec.parameters.values().count() > 2, "as a map it notes nothing");
    assert_eq!(spec.parameters.asked().into_iter().collect::<Vec<_>>(), ["copy_rate", "tcp_overhead"]);
    assert!(spec.parameters.unasked().asked().is_empty());
}

#[test]
fn what_is_no_text_says_why() {
    let path = std::env::temp_dir().join(format!("hotlink-input-{}", std::process::id()));
    let of = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        hotlink_fabric::input::text(&path.display().to_string()).map_err(|error| error.to_string())
    };
    assert_eq!(of("name = 'ü'".as_bytes()), Ok("name = 'ü'".to_owned()));
    assert!(of(b"\xFF\xFEn\0").unwrap_err().contains("byte order mark"));
    assert!(of(b"n\0a\0").unwrap_err().contains("zero bytes"));
    assert!(of(b"\xFFn").unwrap_err().contains("no UTF-8"));
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn each_is_there_once_and_some_technology_has_it() {
    for (index, one) in FLOW_CONTROLS.iter().enumerate() {
        assert!(FLOW_CONTROLS[..index].iter().all(|before| before.name != one.name), "{}", one.name);
        assert!(TECHNOLOGIES.iter().any(|technology| technology.flow_control.value == *one), "{}", one.name);
        let [buffer] = one.buffers else { panic!("{}", one.name) };
        let (value, [low, high]) = buffer.base();
        assert!(buffer.parameter.starts_with("switch_buffer") && low <= value && value <= high, "{buffer:?}");
    }
    let is_listed = |one: &FlowControl| FLOW_CONTROLS.contains(&one);
    assert!(TECHNOLOGIES.iter().all(|technology| is_listed(technology.flow_control.value)));
}

#[test]
fn a_place_counts_lines_and_characters_from_one() {
    let lines = Lines::new("a = 1\nµ = x\n");
    assert_eq!((lines.place(&(0..1)), lines.place(&(5..6))), ((1, 1), (1, 6)));
    assert_eq!((lines.place(&(6..6)), lines.place(&(11..12))), ((2, 1), (2, 5)));
    assert_eq!(lines.place(&(99..99)), (3, 1));
    assert_eq!(Lines::new("").place(&(9..9)), (1, 1));
}

#[test]
fn the_nearest_name_is_found_and_a_far_one_is_not_offered() {
    assert_eq!(nearest("groos", ["gross", "measured"]), Some("gross"));
    assert_eq!(nearest("sci-torus2", ["sci-ring", "sci-torus2d"]), Some("sci-torus2d"));
    assert_eq!(nearest("banana", ["gross", "measured"]), None);
}

/// A value that is one too large is refused at its place, with the range of the topology.
#[test]
fn a_range_that_is_told_is_the_one_that_holds() {
    for (kind, key, rest, most) in [
        ("switch-array", "ports", "links = 1", 4096),
        ("switch-ring", "ports", "links = 1", 4096),
        ("switch-array", "links", "ports = 16", 7),
        ("crossbar", "ports", "", 65_536),
        ("fat-tree", "radix", "", 4096),
        ("rail", "radix", "gpus_per_host = 4", 4096),
        ("fat-tree", "oversubscription", "radix = 4", 4),
        ("dragonfly", "nodes_per_router", "routers_per_group = 4\nglobal_per_router = 1", 1024),
        ("dragonfly", "routers_per_group", "nodes_per_router = 4\nglobal_per_router = 1", 1024),
        ("dragonfly", "global_per_router", "nodes_per_router = 4\nrouters_per_group = 4", 1024),
        ("slim-fly", "radix", "", 65_536),
        ("cube", "nodes_per_router", "dimensions = 1\nbidirectional = true\nextents = \"balanced\"", 65_536),
    ] {
        let with = |count: u32| {
            let topology = format!(
                "[topology]\n{key} = {count}\nkind = \"{kind}\"\n{rest}\nsource = \"s\"\nstatus = \"published\"\n"
            );
            catalog::parse("x.toml", &format!("name = \"x\"\ntitle = \"x\"\nparts = [\"infiniband-ndr\"]\n{topology}"))
        };
        let spec = with(most).unwrap_or_else(|mistakes| panic!("{kind}: {}", told(&mistakes)));
        assert!(spec.topology.build(4).is_ok(), "{kind}, {key}");
        let [wrong] = &with(most + 1).unwrap_err()[..] else { panic!("{kind}, {key}") };
        assert_eq!((wrong.line, wrong.key.as_str()), (5, format!("topology.{key}").as_str()));
        assert!(wrong.allowed.ends_with(&format!(" to {most}")), "{wrong}");
    }
    let small = "name = \"x\"\ntitle = \"x\"\nparts = [\"infiniband-ndr\"]\n[topology]\nkind = \"rail\"\ngpus_per_host = 4\n\
                 radix = 3\nrails = \"joined\"\nsource = \"s\"\nstatus = \"published\"\n";
    let mistakes = told(&catalog::parse("x.toml", small).unwrap_err());
    assert!(
        mistakes.starts_with("x.toml:7:9: topology.radix: 4 rails meet") && mistakes.contains("4 to 4096"),
        "{mistakes}"
    );
}

/// A list of one's own is named by its path from the fabric's file, and has names of its own.
#[test]
fn a_fabric_may_be_priced_by_a_list_of_ones_own() {
    let fabric = |list: &str, item: &str| {
        format!(
            "name = \"mine\"\ntitle = \"Mine\"\nparts = [\"infiniband-ndr\"]\n[topology]\nkind = \"crossbar\"\nports = 8\n\
             source = \"s\"\nstatus = \"published\"\n[prices]\nlist = \"{list}\"\nswitch = \"{item}\"\n"
        )
    };
    let list = "name = \"own\"\ntitle = \"Own\"\ncurrency = \"EUR\"\ndate = \"2026-01-31\"\n[item.big-box]\ntitle = \"Box\"\n\
                price = { value = 900, unit = \"EUR\", source = \"quotation\", status = \"published\" }\n";
    let directory = std::env::temp_dir().join(format!("hotlink-own-list-{}", std::process::id()));
    std::fs::create_dir_all(directory.join("lists")).unwrap();
    std::fs::write(directory.join("lists/own.toml"), list).unwrap();
    let of = |name: &str, text: String| {
        let file = directory.join(name).display().to_string();
        std::fs::write(&file, text).unwrap();
        catalog::load(&file)
    };
    let priced = of("mine.toml", fabric("lists/own.toml", "big-box"));
    let bought = priced.as_ref().ok().and_then(|spec| spec.prices.clone());
    let found = bought.map(|prices| Library::embedded().price_list(&prices.list));
    let absent = of("absent.toml", fabric("./other.toml", "big-box"));
    let [unnamed, other] =
        [("own", "big-box"), ("lists/own.toml", "bigbox")].map(|(list, item)| of("x.toml", fabric(list, item)));
    std::fs::remove_dir_all(&directory).unwrap();
    assert!(priced.is_ok(), "{}", told(&priced.unwrap_err()));
    assert_eq!(found.unwrap().unwrap().items["big-box"].price.value.units(), 900.0);
    let absent = told(&absent.unwrap_err());
    assert!(absent.contains("other.toml: cannot be read") && !absent.contains("big-box"), "{absent}");
    let unnamed = told(&unnamed.unwrap_err());
    assert!(unnamed.contains("\"own\" is unknown") && unnamed.contains("or a file of your own"), "{unnamed}");
    assert!(told(&other.unwrap_err()).contains("did you mean \"big-box\"?"));
}

#[test]
fn a_rate_may_be_told_in_terabits() {
    let rate = |rate: &str| {
        let link = format!("[resource.link]\ngross = {{ {rate}, source = \"s\", status = \"published\" }}\n");
        let topology = "[topology]\nkind = \"crossbar\"\nports = 8\nsource = \"s\"\nstatus = \"published\"\n";
        let head = "name = \"x\"\ntitle = \"x\"\nparts = [\"infiniband-ndr\"]\n";
        let spec = catalog::parse("x.toml", &format!("{head}{topology}{link}"));
        spec.unwrap_or_else(|mistakes| panic!("{}", told(&mistakes))).resources[&Role::Link]
            .gross
            .clone()
            .unwrap()
            .value
    };
    assert_eq!(rate("value = 1.6, unit = \"Tbit/s\""), rate("value = 1600, unit = \"Gbit/s\""));
}
