//! A network that is kept in one file is the same when it is read back; ports with several LIDs.

use hotlink_fabric::routing::Routing;
use hotlink_fabric::traffic::Traffic;
use hotlink_site::{self as site, Kind, Site, propose};
use std::path::Path;

fn opened(folder: &str, files: &[&str]) -> Site {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(folder);
    let path = |name: &&str| {
        if name.contains(':') { (*name).to_owned() } else { data.join(name).to_str().unwrap().to_owned() }
    };
    let paths: Vec<String> = files.iter().map(path).collect();
    site::open(&paths.iter().map(String::as_str).collect::<Vec<_>>()).unwrap()
}

fn bytes(site: &Site) -> Vec<u8> {
    let mut out = Vec::new();
    site.keep(&mut out).unwrap();
    out
}

const RING: [&str; 4] = ["ibnetdiscover.txt", "opensm-lfts.dump", "opensm-sl2vl.dump", "saquery.txt"];

#[test]
fn a_kept_network_is_read_back() {
    let networks = [
        opened("ring5", &RING),
        opened("ring5", &["ibnetdiscover.txt", "opensm-lfts.dump", "opensm-sl2vl.dump", "paths.psl"]),
        opened("tree2", &["iblinkinfo.txt", "opensm.fdbs"]),
        opened("tree2", &["ibnetdiscover.txt", "dump_fts.txt", "fail:spine0"]),
        opened("lmc", &["ibnetdiscover.txt"]),
    ];
    for network in networks {
        let kept = bytes(&network);
        assert_eq!(site::kind(&kept), Some(Kind::Kept));
        let again = site::kept("k", &kept[..]).unwrap();
        assert_eq!(bytes(&again), kept);
        assert_eq!((&again.findings, &again.cabling), (&network.findings, &network.cabling));
        assert_eq!(again.spec.name, network.spec.name);
        let [own, read] = [&network, &again].map(|site| site.fabric(&site.spec).unwrap());
        let count = |fabric: &hotlink_fabric::Fabric| {
            hotlink_load::count_reachable(fabric, &Traffic::AllToAll.demand(fabric.nodes(), 0).unwrap()).unwrap()
        };
        assert_eq!(count(&own), count(&read));
    }
}

#[test]
fn a_kept_network_that_was_cut_or_damaged_is_refused() {
    let whole = bytes(&opened("ring5", &RING));
    for length in 0..whole.len() {
        let error = site::kept("k", &whole[..length]).unwrap_err().to_string();
        assert!(
            error.starts_with("k: byte ") && error.ends_with("write the file anew with --keep"),
            "{length}: {error}"
        );
    }
    let older = b"hotlink-site 1\n\x02\0\0\0";
    assert_eq!(site::kind(older), Some(Kind::Kept));
    let error = site::kept("k", &older[..]).expect_err("another version").to_string();
    assert!(error.contains("this version of hotlink") && error.ends_with("write the file anew with --keep"), "{error}");
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x11;
        let error = site::kept("k", &damaged[..]).expect_err("a damaged file").to_string();
        assert!(error.starts_with("k: byte "), "{at}: {error}");
    }
    let folder = std::env::temp_dir().join(format!("hotlink-kept-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("site.hotlink");
    std::fs::write(&file, &whole).unwrap();
    let file = file.to_str().unwrap();
    assert_eq!(bytes(&site::open(&[file]).unwrap()), whole);
    assert_eq!(site::open(&[file, "fail:switch0-0-0"]).unwrap().nodes(), 4);
    assert!(site::open(&[file, file]).unwrap_err().to_string().contains("is a whole network"));
    std::fs::remove_dir_all(folder).unwrap();
}

/// `tools/site/dumps tree2:hosts=2,leaves=3,spines=2 --engine updn --lmc 1`: two LIDs a port.
const LMC: [&str; 2] = ["ibnetdiscover.txt", "opensm-lfts.dump"];

#[test]
fn senders_use_the_lids_of_a_port_in_turn() {
    let first = opened("lmc", &LMC);
    let all = opened("lmc", &[&LMC[..], &["lids:all"]].concat());
    assert_eq!((first.findings.lids_per_port, all.findings.lids_per_port), (2, 2));
    // Without the number in the cables' file the tables give it.
    assert_eq!(opened("lmc", &["opensm-subnet.lst", LMC[1]]).findings.lids_per_port, 2);
    let text = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/lmc").join(LMC[1])).unwrap();
    let tables = site::tables(Kind::Lfts, "t", &text[..]).unwrap();
    let mut differ = 0;
    for (network, addresses) in [(&first, 1), (&all, 2)] {
        let fabric = network.fabric(&network.spec).unwrap();
        let Routing::Tables(routes) = &fabric.routing else { panic!("no tables") };
        assert_eq!(routes.addresses(), addresses);
        let device = |vertex: u32| {
            network.cabling.devices.iter().find(|device| device.name == network.names()[vertex as usize]).unwrap()
        };
        let mut sums = vec![0.0; fabric.network.channels()];
        for (from, to) in fabric.network.node_iter().flat_map(|a| fabric.network.node_iter().map(move |b| (a, b))) {
            if from == to {
                continue;
            }
            let lid = device(to.0).lid + (from.0 % addresses) as u16;
            let mut path = Vec::new();
            assert!(routes.walk(&fabric.network, from, to, |channel| path.push(channel)));
            path.iter().for_each(|channel| sums[channel.0 as usize] += 1.0);
            for channel in &path[1..] {
                let switch = device(fabric.network.from(*channel).0);
                let table = tables.switches.iter().find(|table| table.guid == switch.guid).unwrap();
                let hotlink_fabric::topology::Shape::Cabled(cabled) = &fabric.shape else { panic!("no cables") };
                assert_eq!(table.port(lid), Some(cabled.ports[channel.0 as usize][0]), "{from:?} {to:?}");
                differ += u32::from(table.port(lid) != table.port(device(to.0).lid));
            }
        }
        let demand = Traffic::AllToAll.demand(fabric.nodes(), 0).unwrap();
        assert_eq!(hotlink_load::count(&fabric, &demand).unwrap().channel, sums);
    }
    assert!(differ > 0, "the LIDs of a port lead different ways");
}

#[test]
fn new_tables_have_all_lids_of_a_port() {
    let network = opened("lmc", &LMC);
    let proposal = propose(&network);
    for device in network.cabling.devices.iter().filter(|device| device.is_host()) {
        for table in &proposal.tables.switches {
            assert_eq!(table.port(device.lid + 1), table.port(device.lid));
            assert!(table.port(device.lid).is_some());
        }
    }
}
