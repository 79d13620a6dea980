//! Networks that ibsim plays and OpenSM routes (`tools/site/dumps`). Their dumps are read as `ibdmchk` reads them, too.
//! Debian's ibsim-utils, opensm, infiniband-diags and ibutils; `make test` installs them and sets
//! `HOTLINK_TEST_IB=all`. Without it the test asks nothing of a machine that lacks them.

use hotlink_fabric::Fabric;
use hotlink_fabric::network::Channel;
use hotlink_fabric::routing::Routing;
use hotlink_load::deadlock;
use hotlink_site as site;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

const PROGRAMS: [&str; 4] = ["/usr/bin/ibsim", "/usr/sbin/opensm", "/usr/sbin/ibnetdiscover", "/usr/bin/ibdmchk"];

/// Networks for which tables are made anew: that OpenSM loads them, and has them then.
const REROUTED: [&str; 3] = [
    "tree2:hosts=4,leaves=3,spines=2,cables=2,slow=5",
    "tree3:hosts=3,leaves=3,middles=3,pods=2,tops=3,fail=7",
    "torus:x=3,y=3,z=3",
];

/// Networks and routing engines, with hosts, switches and cables between switches.
const RUNS: [(&str, &str, [usize; 3]); 12] = [
    ("tree2:hosts=4,leaves=3,spines=2,cables=2", "minhop", [12, 5, 12]),
    ("tree2:hosts=4,leaves=3,spines=2,cables=2", "updn", [12, 5, 12]),
    ("tree2:hosts=4,leaves=4,spines=4", "ftree", [16, 8, 16]),
    // Slimmed: a spine for four hosts.
    ("tree2:hosts=8,leaves=4,spines=2", "ftree", [32, 6, 8]),
    ("tree3:hosts=2,leaves=2,middles=2,pods=3,tops=2", "updn", [12, 16, 24]),
    ("tree3:hosts=2,leaves=2,middles=2,pods=3,tops=2", "ftree", [12, 16, 24]),
    // Faulty.
    ("tree3:hosts=3,leaves=3,middles=3,pods=2,tops=3,fail=7", "updn", [18, 21, 31]),
    ("tree3:hosts=3,leaves=3,middles=3,pods=2,tops=3,fail=7", "dfsssp", [18, 21, 31]),
    ("torus:x=3,y=3,z=3", "torus-2QoS", [27, 27, 81]),
    ("torus:x=5,y=5,hosts=2", "dor", [50, 25, 50]),
    ("torus:x=3,y=3,z=3", "minhop", [27, 27, 81]),
    ("dragonfly:groups=4,switches=3", "minhop", [12, 12, 18]),
];

/// Networks whose pairs are asked for their service levels.
const WITH_LANES: [(&str, &str); 5] = [
    ("torus:x=5,y=1", "dfsssp"),
    ("torus:x=5,y=1", "minhop"),
    ("torus:x=3,y=3", "lash"),
    ("torus:x=3,y=3", "torus-2QoS"),
    ("dragonfly:groups=4,switches=3", "dfsssp"),
];

fn tool() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/site/dumps")
}

/// The output of a program that does its work, or (`may_complain`) that may end with complaints about what it checks.
fn run(program: &Path, words: &[&str], may_complain: bool) -> String {
    let done = Command::new(program).args(words).output().unwrap_or_else(|error| panic!("{program:?}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        may_complain || done.status.success(),
        "{program:?} {words:?}: {}{}",
        text(&done.stdout),
        text(&done.stderr)
    );
    text(&done.stdout)
}

/// Rows of two numbers under a title.
fn histogram(report: &str, title: &str) -> BTreeMap<usize, usize> {
    let rows = report.lines().skip_while(|line| !line.starts_with(title)).skip(1);
    let pair = |line: &str| {
        let numbers: Vec<usize> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
        <[usize; 2]>::try_from(numbers).ok()
    };
    rows.map_while(pair).map(|[key, count]| (key, count)).collect()
}

/// Channels of each pair's way by their number of pairs; and destinations on each channel between switches by their number
/// of channels.
fn counted(fabric: &Fabric) -> (BTreeMap<usize, usize>, BTreeMap<usize, usize>) {
    let Routing::Tables(tables) = &fabric.routing else { panic!("no tables") };
    let (mut hops, mut on) = (BTreeMap::new(), vec![BTreeSet::new(); fabric.network.channels()]);
    for to in fabric.network.node_iter() {
        for from in fabric.network.node_iter().filter(|&from| from != to) {
            let mut path = 0;
            let arrives = tables.walk(&fabric.network, from, to, |channel| {
                path += 1;
                on[channel.0 as usize].insert(to);
            });
            assert!(arrives, "{from:?} {to:?}");
            *hops.entry(path).or_insert(0) += 1;
        }
    }
    let between = |&c: &u32| {
        let (from, to) = (fabric.network.from(Channel(c)), fabric.network.to(Channel(c)));
        !fabric.network.is_node(from) && !fabric.network.is_node(to)
    };
    let mut destinations = BTreeMap::new();
    for c in (0..fabric.network.channels() as u32).filter(between).filter(|&c| !on[c as usize].is_empty()) {
        *destinations.entry(on[c as usize].len()).or_insert(0) += 1;
    }
    (hops, destinations)
}

/// Whether the programs are there; where they must be they are.
fn is_possible() -> bool {
    let missing: Vec<&str> = PROGRAMS.into_iter().filter(|program| !Path::new(program).exists()).collect();
    assert!(missing.is_empty() || std::env::var_os("HOTLINK_TEST_IB").is_none(), "missing: {missing:?}");
    missing.is_empty()
}

#[test]
fn opensm_takes_the_tables_that_are_made() {
    if !is_possible() {
        return;
    }
    let folder = std::env::temp_dir().join(format!("hotlink-reroute-{}", std::process::id()));
    for network in REROUTED {
        let out = folder.join(network.replace([':', '=', ','], "-"));
        let own = out.to_str().unwrap();
        run(&tool(), &[network, "--engine", "minhop", "--out", own], false);
        let path = |name: &str| out.join(name).to_str().unwrap().to_owned();
        let (cables, tables) = (path("ibnetdiscover.txt"), path("opensm-lfts.dump"));
        let read = site::open(&[&cables, &tables]).unwrap();
        let proposal = site::propose(&read);
        let (mut text, file) = (Vec::new(), path("tables.out"));
        site::write_lfts(&read, &proposal.tables, &mut text).unwrap();
        std::fs::write(&file, text).unwrap();
        let loaded = folder.join("loaded");
        run(&tool(), &[network, "--engine", "file", "--lfts", &file, "--out", loaded.to_str().unwrap()], false);
        let log = std::fs::read_to_string(loaded.join("opensm.log")).unwrap();
        assert!(log.contains("file tables configured"), "{network}:\n{log}");
        let of = |file: &Path| {
            let text = std::fs::read(file).unwrap();
            let read = site::tables(site::kind(&text).unwrap(), "dumped", &text[..]).unwrap();
            let ports = |table: site::Table| (table.guid, (0..256u16).map(|lid| table.port(lid)).collect::<Vec<_>>());
            read.switches.into_iter().map(ports).collect::<BTreeMap<_, _>>()
        };
        assert_eq!(of(&loaded.join("opensm-lfts.dump")), of(Path::new(&file)), "{network}");
        // OpenSM's tables then lead all hosts to all, and have no loop.
        let dumped = loaded.join("opensm-lfts.dump");
        let read = site::open(&[&cables, dumped.to_str().unwrap()]).unwrap();
        let fabric = read.fabric(&read.spec).unwrap();
        counted(&fabric);
        assert_eq!(deadlock::check(&fabric).unwrap().cycle, None, "{network}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn loops_on_virtual_lanes_are_those_that_ibdmchk_finds() {
    if !is_possible() {
        return;
    }
    let folder = std::env::temp_dir().join(format!("hotlink-lanes-{}", std::process::id()));
    let mut loops = BTreeSet::new();
    for (network, engine) in WITH_LANES {
        let out = folder.join(format!("{network}-{engine}").replace([':', '=', ','], "-"));
        run(&tool(), &[network, "--engine", engine, "--out", out.to_str().unwrap(), "--levels"], false);
        let path = |name: &str| out.join(name).to_str().unwrap().to_owned();
        let (lanes, paths) = (path("opensm-sl2vl.dump"), path("paths.psl"));
        let words = ["-s", &path("opensm-subnet.lst"), "-f", &path("opensm.fdbs"), "-m", &path("opensm.mcfdbs")];
        let words = [&words[..], &["-c", &paths, "-d", &lanes]].concat();
        let report = run(Path::new("/usr/bin/ibdmchk"), &words, true);
        for levels in [&paths, &path("saquery.txt")] {
            let files = [&path("ibnetdiscover.txt"), &path("opensm-lfts.dump"), &lanes, levels];
            let read = site::open(&files.map(String::as_str)).unwrap_or_else(|error| panic!("{network}: {error}"));
            let found = deadlock::check(&read.fabric(&read.spec).unwrap()).unwrap();
            assert!(found.protection.is_none() && found.lanes > 1, "{network} by {engine}");
            assert_eq!(
                found.cycle.is_none(),
                report.contains("no credit loops found"),
                "{network} by {engine}\n{report}"
            );
            loops.insert(found.cycle.is_some());
        }
    }
    assert_eq!(loops.len(), 2, "some networks have credit loops and some have none");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn routes_are_those_that_ibdmchk_finds() {
    if !is_possible() {
        return;
    }
    let folder = std::env::temp_dir().join(format!("hotlink-site-{}", std::process::id()));
    let mut loops = BTreeSet::new();
    for (network, engine, [hosts, switches, between]) in RUNS {
        let out = folder.join(format!("{network}-{engine}").replace([':', '=', ','], "-"));
        run(&tool(), &[network, "--engine", engine, "--out", out.to_str().unwrap(), "--all"], false);
        let path = |name: &str| out.join(name).to_str().unwrap().to_owned();
        let log = std::fs::read_to_string(path("opensm.log")).unwrap();
        assert!(log.contains(&format!("{engine} tables configured")), "{network}: not routed by {engine}:\n{log}");
        let words = ["-s", &path("opensm-subnet.lst"), "-f", &path("opensm.fdbs"), "-m", &path("opensm.mcfdbs")];
        let report = run(Path::new("/usr/bin/ibdmchk"), &words, true);
        // The same histogram for the fewest possible hops comes before it.
        let hops = histogram(report.split("LFT ROUTE HOP").nth(1).unwrap_or_default(), "HOPS NUM-CA-CA-PAIRS");
        let mut destinations = histogram(&report, "NUM-DLIDS NUM-SWITCH-PORTS");
        // Of ports that nothing crosses it counts some only.
        destinations.remove(&0);
        assert!(!hops.is_empty() && !destinations.is_empty(), "{report}");
        for cables in ["ibnetdiscover.txt", "ibnetdiscover-p.txt", "iblinkinfo.txt", "opensm-subnet.lst"] {
            for tables in ["opensm-lfts.dump", "dump_fts.txt", "opensm.fdbs"] {
                let at = format!("{network} by {engine}, {cables}, {tables}");
                let read = site::open(&[&path(cables), &path(tables)]).unwrap_or_else(|error| panic!("{at}: {error}"));
                let fabric = read.fabric(&read.spec).unwrap();
                let found = [fabric.nodes() as usize, read.findings.switches, read.findings.cables[1]];
                assert_eq!(found, [hosts, switches, between], "{at}");
                assert_eq!(counted(&fabric), (hops.clone(), destinations.clone()), "{at}");
                let cycle = deadlock::check(&fabric).unwrap().cycle;
                assert_eq!(cycle.is_none(), report.contains("no credit loops found"), "{at}: {cycle:?}\n{report}");
                loops.insert(cycle.is_some());
            }
        }
    }
    assert_eq!(loops.len(), 2, "some networks have credit loops and some have none");
    std::fs::remove_dir_all(folder).unwrap();
}
