//! Dumps of InfiniBand's tools: real ones (`tests/data`, made by `tools/site/dumps`) in every format say the same,
//! and wrong ones are refused with their line.

use hotlink_bound::Limited;
use hotlink_fabric::Fabric;
use hotlink_fabric::network::{Node, Resource};
use hotlink_fabric::routing::Routing;
use hotlink_fabric::spec::Capacities;
use hotlink_fabric::traffic::Traffic;
use hotlink_site::{self as site, Kind, Site};
use proptest::prelude::*;
use std::path::Path;

/// `tools/site/dumps tree2:hosts=4,leaves=3,spines=2,cables=2,slow=5 --engine updn --all`
fn dump(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/tree2").join(name);
    std::fs::read_to_string(path).expect(name)
}

const CABLES: [(&str, Kind); 4] = [
    ("ibnetdiscover.txt", Kind::Discovered),
    ("ibnetdiscover-p.txt", Kind::Ports),
    ("iblinkinfo.txt", Kind::LinkInfo),
    ("opensm-subnet.lst", Kind::Subnet),
];
const TABLES: [(&str, Kind); 3] =
    [("opensm-lfts.dump", Kind::Lfts), ("dump_fts.txt", Kind::Lfts), ("opensm.fdbs", Kind::Fdbs)];

fn site(cables: &str, tables: Option<&str>) -> Site {
    let text = dump(cables);
    let cabling = site::cabling(site::kind(text.as_bytes()).unwrap(), cables, text.as_bytes()).unwrap();
    let tables = tables.map(|tables| {
        let text = dump(tables);
        (tables, site::tables(site::kind(text.as_bytes()).unwrap(), tables, text.as_bytes()).unwrap())
    });
    Site::new("test", (cables, cabling), tables).unwrap()
}

fn fabric(cables: &str, tables: Option<&str>) -> Fabric {
    let site = site(cables, tables);
    site.fabric(&site.spec).unwrap()
}

/// Every route by the names of its channels.
fn routes(fabric: &Fabric) -> Vec<Vec<String>> {
    let Routing::Tables(tables) = &fabric.routing else { panic!("no tables") };
    let nodes = || fabric.network.node_iter();
    let pairs = nodes().flat_map(|a| nodes().map(move |b| (a, b))).filter(|(a, b)| a != b);
    pairs
        .map(|(a, b)| {
            let mut path = Vec::new();
            let name = |channel| fabric.resource_name(Resource::Channel(channel));
            assert!(tables.walk(&fabric.network, a, b, |channel| path.push(name(channel))), "{a:?} {b:?}");
            path
        })
        .collect()
}

#[test]
fn files_are_told_apart_by_what_stands_in_them() {
    for (name, kind) in CABLES.into_iter().chain(TABLES) {
        assert_eq!(site::kind(dump(name).as_bytes()), Some(kind), "{name}");
        assert_eq!(kind.is_tables(), TABLES.iter().any(|(tables, _)| *tables == name));
    }
    assert_eq!(site::kind(b"[topology]\nkind = \"cube\"\n"), None);
    assert_eq!(site::kind(b"{\"nodes\": 4}"), None);
}

#[test]
fn every_format_gives_the_same_network_and_the_same_routes() {
    let first = fabric(CABLES[0].0, Some(TABLES[0].0));
    let names = |fabric: &Fabric| -> Vec<String> {
        (0..fabric.network.channels() as u32)
            .map(|c| {
                let resource = Resource::Channel(hotlink_fabric::network::Channel(c));
                format!("{} {:?}", fabric.resource_name(resource), fabric.gross(resource))
            })
            .collect()
    };
    assert_eq!((first.nodes(), first.network.vertices(), first.network.channels()), (12, 17, 2 * (12 + 12)));
    let all = routes(&first);
    assert_eq!(all[0], ["host0-0 port 1 -> leaf0 port 1", "leaf0 port 2 -> host0-1 port 1"]);
    for (cables, _) in CABLES {
        for (tables, _) in TABLES {
            let other = fabric(cables, Some(tables));
            assert_eq!(names(&other), names(&first), "{cables}");
            assert_eq!(routes(&other), all, "{cables} {tables}");
        }
    }
}

#[test]
fn links_trained_down_are_found_and_slow() {
    let site = site("ibnetdiscover.txt", None);
    let findings = &site.findings;
    assert_eq!((findings.cables, findings.slow.len(), findings.switches), ([12, 12], 2, 5));
    let (a, b, link) = &findings.slow[0];
    assert_eq!((a.name.as_str(), b.name.as_str(), link.name().as_str()), ("leaf1", "spine0", "1xSDR"));
}

/// Of the load of every channel, by walking every pair.
#[test]
fn load_by_tables_is_the_sum_over_the_routes() {
    let fabric = fabric("ibnetdiscover.txt", Some("opensm-lfts.dump"));
    let Routing::Tables(tables) = &fabric.routing else { panic!("no tables") };
    for traffic in ["all-to-all", "permutation:shift:5", "permutation:random", "hot-spot:20"] {
        let demand = traffic.parse::<Traffic>().unwrap().demand(12, 3).unwrap();
        let mut channel = vec![0.0; fabric.network.channels()];
        demand.pairs(|a, b, amount| {
            assert!(tables.walk(&fabric.network, a, b, |c| channel[c.0 as usize] += amount));
        });
        let load = hotlink_load::count(&fabric, &demand).unwrap();
        for (c, (&by_walk, &counted)) in channel.iter().zip(&load.channel).enumerate() {
            assert!((by_walk - counted).abs() < 1e-9, "{traffic}: channel {c}: {counted}, not {by_walk}");
        }
        assert!(load.bounds(&fabric, Capacities::Theoretical, 1 << 20).bandwidth_per_node_mbps > 0.0);
    }
}

#[test]
fn a_pair_without_a_route_is_named() {
    // leaf1's entry for host0-0 (LID 1) leads nowhere.
    let text = dump("opensm-lfts.dump");
    let at = text.find("('leaf1')").unwrap();
    let line = at + text[at..].find("0x0001 ").unwrap();
    let text = format!("{}0x0001 255{}", &text[..line], &text[line + 10..]);
    let tables = site::tables(Kind::Lfts, "t", text.as_bytes()).unwrap();
    let cables = dump("ibnetdiscover.txt");
    let cabling = site::cabling(Kind::Discovered, "c", cables.as_bytes()).unwrap();
    let site = Site::new("test", ("c", cabling), Some(("t", tables))).unwrap();
    let fabric = site.fabric(&site.spec).unwrap();
    let demand = Traffic::AllToAll.demand(12, 0).unwrap();
    let lost = hotlink_load::count(&fabric, &demand).unwrap_err();
    assert_eq!(lost, hotlink_load::LoadError::NoRoute { sender: Node(4), receiver: Node(0) });
    let (_, pairs) = hotlink_load::count_reachable(&fabric, &demand).unwrap();
    assert_eq!(pairs, 4);
}

fn refused(kind: Kind, text: &str) -> String {
    match kind.is_tables() {
        true => site::tables(kind, "f", text.as_bytes()).unwrap_err().to_string(),
        false => site::cabling(kind, "f", text.as_bytes()).unwrap_err().to_string(),
    }
}

#[test]
fn mistakes_are_named_with_their_line() {
    let lfts = dump("opensm-lfts.dump");
    let cut = &lfts[..lfts.len() - 40];
    assert!(refused(Kind::Lfts, cut).contains("cut short"), "{}", refused(Kind::Lfts, cut));
    let fts = dump("dump_fts.txt");
    let mut lines: Vec<&str> = fts.lines().collect();
    lines.remove(4);
    let missing = refused(Kind::Lfts, &lines.join("\n"));
    assert!(missing.starts_with("f:20: '17 valid lids dumped' after 16 entries"), "{missing}");
    let wrong = refused(Kind::Lfts, "Unicast lids [0-1] of switch Lid 1 guid 0x1 ('a'):\n0xfffff 001\n");
    assert!(wrong.starts_with("f:2: ") && wrong.contains("0xbfff"), "{wrong}");
    let text = dump("ibnetdiscover.txt");
    let cut = &text[..text.len() / 2];
    let cut = &cut[..cut.rfind('\n').unwrap()];
    assert!(refused(Kind::Discovered, cut).contains("cut short"), "{}", refused(Kind::Discovered, cut));
    let wrong = refused(Kind::Discovered, &text.replacen("[2]\t\"H", "[x]\t\"H", 1));
    assert!(wrong.starts_with("f:12: ") && wrong.contains("is no port"), "{wrong}");
}

/// Two files of different days: a LID that changed hands.
#[test]
fn files_of_different_days_are_refused() {
    let cables = dump("ibnetdiscover.txt");
    let cabling = site::cabling(Kind::Discovered, "c", cables.as_bytes()).unwrap();
    let text = dump("opensm-lfts.dump").replace("0x0000000000100003", "0x0000000000999999");
    let tables = site::tables(Kind::Lfts, "t", text.as_bytes()).unwrap();
    let error = Site::new("test", ("c", cabling), Some(("t", tables))).unwrap_err().to_string();
    assert!(error.starts_with("t: LID ") && error.contains("not of the same time"), "{error}");
}

/// Written from the formats' descriptions, with details of vendors' real dumps. These are an aggregation node inside a
/// switch, one description for all, no blank lines, outer port numbers, and LIDs beyond 63.
#[test]
fn traps_of_real_dumps_are_read_right() {
    let text = "vendid=0x2c9\ndevid=0xd2f0\nsysimgguid=0x1\nswitchguid=0x1(1)\n\
        Switch\t41 \"S-0000000000000001\"\t\t# \"MF0;q:MQM8700/U1\" enhanced port 0 lid 5 lmc 0\n\
        [1][ext 1]\t\"H-00000000000000a0\"[1](a1) \t\t# \"node HCA-1\" lid 64 4xHDR\n\
        [2]\t\"H-00000000000000b0\"[1](b1) \t\t# \"node HCA-1\" lid 3 2xHDR\n\
        [41]\t\"H-0000000000000009\"[1](9) \t\t# \"Mellanox Technologies Aggregation Node\" lid 6 4xHDR\n\
        caguid=0xa0\nCa\t1 \"H-00000000000000a0\"\t\t# \"node HCA-1\"\n\
        [1](a1) \t\"S-0000000000000001\"[1]\t\t# lid 64 lmc 0 \"MF0;q:MQM8700/U1\" lid 5 4xHDR\n\
        caguid=0xb0\nCa\t1 \"H-00000000000000b0\"\t\t# \"node HCA-1\"\n\
        [1](b1) \t\"S-0000000000000001\"[2]\t\t# lid 3 lmc 0 \"MF0;q:MQM8700/U1\" lid 5 2xHDR\n\
        caguid=0x9\nCa\t1 \"H-0000000000000009\"\t\t# \"Mellanox Technologies Aggregation Node\"\n\
        [1](9) \t\"S-0000000000000001\"[41]\t\t# lid 6 lmc 0 \"MF0;q:MQM8700/U1\" lid 5 4xHDR\n";
    assert_eq!(site::kind(text.as_bytes()), Some(Kind::Discovered));
    let cabling = || site::cabling(Kind::Discovered, "c", text.as_bytes()).unwrap();
    let site = Site::new("test", ("c", cabling()), None).unwrap();
    assert_eq!((site.nodes(), site.findings.aggregation_nodes, site.findings.cables), (2, 1, [2, 0]));
    let fabric = site.fabric(&site.spec).unwrap();
    let name = fabric.resource_name(Resource::Vertex(Node(0).vertex()));
    assert_eq!(name, "node HCA-1 (0x00000000000000a1)");
    assert_eq!(site.findings.slow.len(), 1);
    // dump_fts leaves out LID 64.
    let lfts = "Unicast lids [0x0-0x40] of switch DR path slid 0; dlid 0; 0 guid 0x0000000000000001 (x guid 0x7):\n  \
        Lid  Out   Destination\n       Port     Info \n0x0003 002 : (Channel Adapter portguid 0x00000000000000b1: 'n')\n\
        1 valid lids dumped \n";
    let tables = site::tables(Kind::Lfts, "t", lfts.as_bytes()).unwrap();
    let error = Site::new("test", ("c", cabling()), Some(("t", tables))).unwrap_err().to_string();
    assert!(error.contains("LID 0x40") && error.contains("dump_fts"), "{error}");
}

/// A change of a file: bytes replaced, removed, doubled or swapped.
fn change() -> impl Strategy<Value = Vec<(u8, prop::sample::Index, prop::sample::Index, u8)>> {
    prop::collection::vec((0u8..5, any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>()), 1..8)
}

fn changed(text: &[u8], changes: &[(u8, prop::sample::Index, prop::sample::Index, u8)]) -> Vec<u8> {
    let mut text = text.to_vec();
    for (how, a, b, byte) in changes {
        if text.is_empty() {
            break;
        }
        let (a, b) = (a.index(text.len()), b.index(text.len()));
        let (low, high) = (a.min(b), a.max(b).min(a.min(b) + 200));
        match how {
            0 => text[a] = *byte,
            1 => drop(text.drain(low..high)),
            2 => text.truncate(a),
            3 => {
                let copy = text[low..high].to_vec();
                text.splice(a..a, copy);
            }
            _ => text.swap(a, b),
        }
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Whatever a file holds, it is read or refused.
    #[test]
    fn changed_files_are_read_or_refused(which in 0usize..7, changes in change(), both in change()) {
        let all: Vec<(&str, Kind)> = CABLES.into_iter().chain(TABLES).collect();
        let (name, kind) = all[which];
        let text = changed(dump(name).as_bytes(), &changes);
        let _ = site::kind(&text);
        let (cables, tables) = match kind.is_tables() {
            true => (dump(CABLES[0].0).into_bytes(), text),
            false => (text, changed(dump(TABLES[0].0).as_bytes(), &both)),
        };
        let cable_kind = if kind.is_tables() { CABLES[0].1 } else { kind };
        let table_kind = if kind.is_tables() { kind } else { Kind::Lfts };
        let cabling = site::cabling(cable_kind, "c", &cables[..]);
        let tables = site::tables(table_kind, "t", &tables[..]);
        if let (Ok(cabling), Ok(tables)) = (cabling, tables)
            && let Ok(site) = Site::new("fuzz", ("c", cabling), Some(("t", tables)))
        {
            let fabric = site.fabric(&site.spec).unwrap();
            let demand = Traffic::AllToAll.demand(fabric.nodes(), 0).unwrap();
            let _ = hotlink_load::count_reachable(&fabric, &demand).unwrap();
        }
    }
}
