//! Virtual lanes decide whether routes can deadlock: real dumps of a ring of five switches under OpenSM's dfsssp
//! (`tools/site/dumps torus:x=5,y=1 --engine dfsssp --levels`), and what is refused.

use hotlink_fabric::routing::{Routing, State, Trip};
use hotlink_load::deadlock::{self, Report};
use hotlink_site as site;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/ring5").join(name)
}

fn checked(files: &[&str]) -> (String, Report) {
    let paths: Vec<String> = files.iter().map(|name| path(name).to_str().unwrap().to_owned()).collect();
    let site = site::open(&paths.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
    let fabric = site.fabric(&site.spec).unwrap();
    (site.findings.lanes.clone(), deadlock::check(&fabric).unwrap())
}

const TABLES: [&str; 2] = ["ibnetdiscover.txt", "opensm-lfts.dump"];

#[test]
fn lanes_break_the_loop_of_a_ring() {
    let with = |more: &[&'static str]| checked(&[&TABLES[..], more].concat());
    for more in [&[][..], &["opensm-sl2vl.dump"], &["paths.psl"]] {
        let (lanes, report) = with(more);
        assert!(lanes.starts_with("unknown"), "{lanes}");
        assert_eq!((report.known_free(), report.lanes), (None, 1), "{more:?}");
    }
    for levels in ["saquery.txt", "paths.psl"] {
        let (lanes, report) = with(&["opensm-sl2vl.dump", levels]);
        assert_eq!(lanes, "known: 8 lanes by service level");
        assert_eq!((report.known_free(), report.lanes), (Some(true), 8), "{levels}");
    }
}

/// Simulated packets take the lanes that the tables state: those of the deadlock check, and others than the first.
#[test]
fn trips_take_the_lanes_of_the_tables() {
    for (more, is_known) in [(&["opensm-sl2vl.dump", "saquery.txt"][..], true), (&[], false)] {
        let files: Vec<String> =
            [&TABLES[..], more].concat().iter().map(|name| path(name).to_str().unwrap().to_owned()).collect();
        let site = site::open(&files.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
        let fabric = site.fabric(&site.spec).unwrap();
        let Routing::Tables(tables) = &fabric.routing else { panic!("no tables") };
        let network = &fabric.network;
        let (mut used, mut hops) = (BTreeSet::new(), Vec::new());
        for (from, to) in network.node_iter().flat_map(|a| network.node_iter().map(move |b| (a, b))) {
            if from == to {
                continue;
            }
            let (ways, mut state, mut came) = (fabric.ways(Trip::new(from, to)), State::start(from), None);
            while state.at != to.vertex() {
                ways.hops(state, &mut hops);
                let [hop] = hops[..] else { panic!("{hops:?}") };
                let lane = tables
                    .lanes()
                    .zip(came)
                    .map(|(lanes, came)| lanes.lane(network, came, hop.channel, lanes.level(from, to).unwrap()));
                assert_eq!(hop.vc, lane.unwrap_or(0), "{from:?} {to:?}");
                assert!(hop.vc < fabric.routing.virtual_channels());
                used.insert(hop.vc);
                (came, state) = (Some(hop.channel), State { at: network.to(hop.channel), phase: hop.phase });
            }
        }
        assert_eq!(used.len() > 1, is_known, "{used:?}");
    }
}

/// The files with another text of one of them.
fn told(change: &str, by: impl Fn(&str) -> String) -> Result<Report, String> {
    let text = |name: &str| {
        let text = std::fs::read_to_string(path(name)).unwrap();
        if name == change { by(&text) } else { text }
    };
    let read = |name: &str| {
        let text = text(name);
        let kind = site::kind(text.as_bytes()).unwrap();
        (text, kind)
    };
    let [(cables, of_cables), (tables, of_tables)] = TABLES.map(read);
    let cabling = site::cabling(of_cables, "c", cables.as_bytes()).unwrap();
    let tables = site::tables(of_tables, "t", tables.as_bytes()).unwrap();
    let lanes = site::lane_tables("lanes", text("opensm-sl2vl.dump").as_bytes()).map_err(|e| e.to_string())?;
    let levels = site::levels("levels", text("saquery.txt").as_bytes()).map_err(|e| e.to_string())?;
    let site = site::Site::new("ring", ("c", cabling), Some(("t", tables))).unwrap();
    let site = site.with_lanes(Some(lanes), Some(levels)).map_err(|e| e.to_string())?;
    Ok(deadlock::check(&site.fabric(&site.spec).unwrap()).unwrap())
}

#[test]
fn one_level_for_all_leaves_the_loop() {
    let one = |text: &str| {
        let level =
            |line: &str| if line.trim().starts_with("sl.") { "sl......................0x0" } else { line }.to_owned();
        text.lines().map(level).collect::<Vec<_>>().join("\n")
    };
    let report = told("saquery.txt", one).unwrap();
    assert_eq!(report.known_free(), Some(false));
    let cycle = report.cycle.unwrap();
    assert!(cycle.len() == 5 && cycle.iter().all(|channel| channel.vc == 0), "{cycle:?}");
    // No packet waits for a switch that discards a level.
    let discards = |text: &str| text.replace(": 0  1  2  3  4  5  6  7  0", ": 15 15 15 15 15 15 15 15 0");
    assert_eq!(told("opensm-sl2vl.dump", discards).unwrap().dependencies, 0);
}

#[test]
fn what_lacks_or_contradicts_is_refused() {
    let wrong = |file: &str, by: &dyn Fn(&str) -> String| told(file, by).expect_err(file);
    let last = |text: &str| text[..text.rfind("PathRecord").unwrap()].to_owned();
    assert!(wrong("saquery.txt", &last).contains("no file states the service level from 'host"));
    let half = |text: &str| text[..text.rfind("dlid").unwrap()].to_owned();
    assert!(wrong("saquery.txt", &half).contains("without slid, dlid (1 to 0xbfff) and sl (0 to 15): it is cut short"));
    let other = |text: &str| text.replace("sl......................0x", "sl......................0x7");
    assert!(wrong("saquery.txt", &other).contains("without slid, dlid"));
    let first = |text: &str| text.split("\nSwitch").next().unwrap().to_owned();
    assert!(wrong("opensm-sl2vl.dump", &first).contains("no file states the lanes of 'switch"));
    let seventeen = |text: &str| text.replacen("   : 0  1", "   : 0  0  1", 1);
    let error = wrong("opensm-sl2vl.dump", &seventeen);
    assert!(error.starts_with("lanes:4: '0") && error.contains("is no row of lanes"), "{error}");
    let wide = |text: &str| text.replacen("   : 0  1", "   : 16 1", 1);
    assert!(wrong("opensm-sl2vl.dump", &wide).contains("is no row of lanes"));
    let again = |text: &str| format!("{text}\n{}", text.replace("   : 0  1", "   : 1  1"));
    assert!(wrong("opensm-sl2vl.dump", &again).contains("stand above"));
}

#[test]
fn packed_lanes_are_read() {
    let line = "0x0000000000200000 1 2 0x01 0x23 0x45 0x67 0x01 0x23 0x45 0x67\n";
    assert_eq!(site::kind(line.as_bytes()), Some(site::Kind::Lanes));
    let spelled =
        "Switch 0x0000000000200000, base LID 2, \"s\"\n#in out : 0 1\n1 2 : 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 \n";
    assert_eq!(site::lane_tables("a", line.as_bytes()).unwrap(), site::lane_tables("b", spelled.as_bytes()).unwrap());
    assert!(site::lane_tables("a", &b"0x1 1 2 0x01\n"[..]).unwrap_err().to_string().starts_with("a:1: '0x1 1 2 0x01'"));
}
