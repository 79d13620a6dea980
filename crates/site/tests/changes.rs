//! Failures, new tables and placements, each held to the same thing counted another way.

mod made;

use hotlink_fabric::Fabric;
use hotlink_fabric::network::{Channel, Node, Resource};
use hotlink_fabric::rng::SplitMix64;
use hotlink_fabric::routing::Routing;
use hotlink_fabric::traffic::Traffic;
use hotlink_load::{Load, count_reachable, deadlock};
use hotlink_site::concurrent;
use hotlink_site::{Failures, Job, Part, Site, kind, tables, write_lfts};
use made::network;

/// A full tree of two levels.
fn tree2(leaves: usize, hosts: usize) -> Site {
    let per_switch: Vec<usize> = (0..leaves + hosts).map(|s| if s < leaves { hosts } else { 0 }).collect();
    let cables: Vec<_> =
        (0..leaves).flat_map(|leaf| (0..hosts).map(move |spine| (leaf, leaves + spine, "4xHDR"))).collect();
    network(&per_switch, &cables)
}

/// A connected network of no pattern, with cables of two speeds.
fn random(seed: u64) -> Site {
    let mut random = SplitMix64::new(seed);
    let switches = 4 + random.below(7) as usize;
    let hosts: Vec<usize> = (0..switches).map(|s| if s == 0 { 2 } else { random.below(4) as usize }).collect();
    let mut cables = Vec::new();
    for b in 1..switches {
        cables.push((random.below(b as u64) as usize, b));
    }
    for _ in 0..switches {
        let (a, b) = (random.below(switches as u64) as usize, random.below(switches as u64) as usize);
        if a != b {
            cables.push((a, b));
        }
    }
    let speeds = ["4xHDR", "4xHDR", "2xHDR"];
    let cables: Vec<_> = cables.into_iter().map(|(a, b)| (a, b, speeds[random.below(3) as usize])).collect();
    network(&hosts, &cables)
}

fn built(site: &Site) -> Fabric {
    site.fabric(&site.spec).unwrap()
}

/// Bytes per second of each pair, and pairs without a path, counted from nothing. A host's own link counts as if no
/// pair had lost its path.
fn counted(fabric: &Fabric) -> (f64, u64) {
    let demand = Traffic::AllToAll.demand(fabric.nodes(), 0).unwrap();
    let (mut load, lost) = count_reachable(fabric, &demand).unwrap();
    let network = &fabric.network;
    let is_own = |&c: &Channel| network.is_node(network.from(c)) || network.is_node(network.to(c));
    let own = (0..network.channels() as u32).map(Channel).filter(is_own);
    own.for_each(|c| load.channel[c.0 as usize] = f64::from(fabric.nodes() - 1));
    (pair_rate(fabric, &load), lost)
}

fn pair_rate(fabric: &Fabric, load: &Load) -> f64 {
    let full = |c: usize| {
        let rate = fabric.gross(Resource::Channel(Channel(c as u32))).unwrap();
        load.channel[c] / rate.0 as f64
    };
    1.0 / (0..load.channel.len()).map(full).fold(0.0, f64::max)
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs()) || a == b
}

#[test]
fn new_tables_reach_all_and_cannot_deadlock() {
    for seed in 0..40 {
        let site = random(seed).rerouted().unwrap();
        let fabric = built(&site);
        let (rate, lost) = counted(&fabric);
        assert_eq!(lost, 0, "seed {seed}");
        assert_eq!(deadlock::check(&fabric).unwrap().cycle, None, "seed {seed}");
        if let Some(bound) = concurrent::all_to_all(&fabric, 0.05, 1 << 18) {
            assert!(rate <= bound.upper * (1.0 + 1e-9), "seed {seed}: {rate} > {}", bound.upper);
        }
    }
}

#[test]
fn new_tables_of_whole_trees_carry_all_to_all_at_full_rate() {
    let fabric = built(&tree2(4, 4).rerouted().unwrap());
    let (rate, _) = counted(&fabric);
    assert!(near(rate * 15.0, 25e9), "{rate}");
    // Three levels: pods of 2 leaves and 2 middles, 4 tops.
    let hosts: Vec<usize> = (0..20).map(|s| if s < 8 { 2 } else { 0 }).collect();
    let mut cables = Vec::new();
    for pod in 0..4 {
        for (leaf, middle) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            cables.push((2 * pod + leaf, 8 + 2 * pod + middle, "4xHDR"));
        }
        for (middle, top) in [(0, 0), (0, 1), (1, 2), (1, 3)] {
            cables.push((8 + 2 * pod + middle, 16 + top, "4xHDR"));
        }
    }
    let fabric = built(&network(&hosts, &cables).rerouted().unwrap());
    assert!(near(counted(&fabric).0 * 15.0, 25e9), "{:?}", counted(&fabric));
}

/// Tables that are written are read again as they were, and lead along the same paths.
#[test]
fn written_tables_are_read_again() {
    let site = random(7);
    let proposal = hotlink_site::propose(&site);
    let mut text = Vec::new();
    write_lfts(&site, &proposal.tables, &mut text).unwrap();
    let read = tables(kind(&text).unwrap(), "written", &text[..]).unwrap();
    assert_eq!(read.switches, proposal.tables.switches);
    let same = Site::new("made", ("made", site.cabling.clone()), Some(("written", read))).unwrap();
    let (a_fabric, b_fabric) = (built(&same), built(&site.rerouted().unwrap()));
    let (Routing::Tables(a), Routing::Tables(b)) = (&a_fabric.routing, &b_fabric.routing) else { panic!("no tables") };
    (0..site.nodes()).for_each(|node| assert_eq!(a.row(Node(node)), b.row(Node(node))));
    // Switches have LIDs, too; between those with hosts there are ways.
    let homes = || a_fabric.attachment.homes.iter().map(|v| v.0 - site.nodes());
    for switch in homes() {
        let table = &proposal.tables.switches[switch as usize];
        homes().for_each(|home| assert!(table.port(home as u16 + 1).is_some(), "{switch} to {home}"));
    }
}

/// Each failure, counted by what it takes away, and by counting the rest of the network whole.
#[test]
fn failures_are_as_if_the_rest_were_counted_whole() {
    let (mut costly, mut mended) = (0, 0);
    for seed in 0..12 {
        let site = if seed == 0 { tree2(4, 4) } else { random(seed) }.rerouted().unwrap();
        let fabric = built(&site);
        let failures = Failures::new(&fabric).unwrap();
        assert!(near(failures.intact().pair_rate, counted(&fabric).0));
        let parts = failures.parts();
        for failure in failures.all(&parts, &|| {}) {
            let (name, switch) = match failure.part {
                Part::Cable(channel) => (fabric.resource_name(Resource::Channel(channel)), None),
                Part::Switch(vertex) => (fabric.resource_name(Resource::Vertex(vertex)), Some(vertex)),
            };
            let gone = switch.map_or(0, |v| fabric.attachment.home.iter().filter(|home| **home == v).count() as u32);
            assert_eq!(failure.hosts_lost, gone, "{name}");
            let Ok(rest) = site.without(&[&name]) else { continue };
            let rest = built(&rest);
            let at = format!("seed {seed}, {name}: {failure:?}");
            let (rate, lost) = counted(&rest);
            assert_eq!(failure.kept.lost, lost, "{at}");
            assert!(near(failure.kept.pair_rate, rate), "{at}: {rate}");
            // Every reachable host is reached again; and no routing beats the cables.
            assert_eq!(failure.rerouted.lost, apart(&rest), "{at}");
            if let Some(bound) = concurrent::all_to_all(&rest, 0.05, 1 << 18) {
                assert!(failure.rerouted.pair_rate <= bound.upper * (1.0 + 1e-9), "{at}: {}", bound.upper);
            }
            costly += u32::from(failure.kept.lost > 0);
            mended += u32::from(failure.rerouted.lost < failure.kept.lost);
        }
    }
    assert!(costly > 40 && mended > 40, "{costly} {mended}");
}

/// Ordered pairs of hosts that no cables join.
fn apart(fabric: &Fabric) -> u64 {
    let network = &fabric.network;
    let mut part = vec![u32::MAX; network.vertices()];
    for first in network.node_iter() {
        let mut open = vec![first.vertex()];
        while let Some(v) = open.pop() {
            if part[v.0 as usize] == u32::MAX {
                part[v.0 as usize] = first.0;
                open.extend(network.out(v).map(|c| network.to(c)));
            }
        }
    }
    let of = |node: Node| part[node.0 as usize];
    network.node_iter().map(|a| network.node_iter().filter(|&b| of(a) != of(b)).count() as u64).sum()
}

/// Two LIDs a port, of which senders use one each: cables that fail, and jobs.
#[test]
fn senders_of_several_lids_are_counted_each_on_its_own() {
    let data = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/lmc");
    let file = |name: &str| data.join(name).to_str().unwrap().to_owned();
    let (cables, tables) = (file("ibnetdiscover.txt"), file("opensm-lfts.dump"));
    let site = hotlink_site::open(&[&cables, &tables, "lids:all"]).unwrap();
    let fabric = built(&site);
    let failures = Failures::new(&fabric).unwrap();
    assert!(near(failures.intact().pair_rate, counted(&fabric).0));
    let cables: Vec<Part> = failures.parts().into_iter().filter(|part| matches!(part, Part::Cable(_))).collect();
    for failure in failures.all(&cables, &|| {}) {
        let Part::Cable(channel) = failure.part else { continue };
        let name = fabric.resource_name(Resource::Channel(channel));
        let (rate, lost) = counted(&built(&site.without(&[&name]).unwrap()));
        assert!(lost > 0 && failure.kept.lost == lost && near(failure.kept.pair_rate, rate), "{name}: {failure:?}");
        assert_eq!(failure.rerouted.lost, 0, "{name}");
    }
    let job = Job::new(&fabric).unwrap();
    let all: Vec<Node> = fabric.network.node_iter().collect();
    let whole = job.placed(all.clone());
    assert!(near(whole.all_to_all, counted(&fabric).0 * f64::from(fabric.nodes() - 1)), "{whole:?}");
    // Pair by pair, of some hosts.
    let Routing::Tables(routes) = &fabric.routing else { panic!("no tables") };
    let some: Vec<Node> = all.into_iter().step_by(2).collect();
    let mut load = vec![0.0; fabric.network.channels()];
    for (&from, &to) in some.iter().flat_map(|a| some.iter().map(move |b| (a, b))).filter(|(a, b)| a != b) {
        assert!(routes.walk(&fabric.network, from, to, |channel| load[channel.0 as usize] += 1.0));
    }
    let rate = pair_rate(
        &fabric,
        &Load {
            channel: load,
            ..count_reachable(&fabric, &Traffic::AllToAll.demand(fabric.nodes(), 0).unwrap()).unwrap().0
        },
    );
    assert!(near(job.placed(some.clone()).all_to_all, rate * (some.len() - 1) as f64));
}

/// Two networks that nothing joins, in one file: each carries what it does alone.
#[test]
fn pairs_without_a_route_cross_no_link() {
    let counted = |site: Site| {
        let fabric = built(&site.rerouted().unwrap());
        let demand = Traffic::AllToAll.demand(fabric.nodes(), 0).unwrap();
        let (load, lost) = count_reachable(&fabric, &demand).unwrap();
        let shifted = count_reachable(&fabric, &Traffic::Shift(2).demand(fabric.nodes(), 0).unwrap()).unwrap();
        (load, lost, shifted)
    };
    let (one, none, _) = counted(network(&[2, 2], &[(0, 1, "4xHDR")]));
    let (two, lost, shifted) = counted(network(&[2, 2, 2, 2], &[(0, 1, "4xHDR"), (2, 3, "4xHDR")]));
    assert_eq!((none, lost), (0, 2 * 4 * 4));
    assert_eq!((two.sent, two.received), (vec![3.0; 8], vec![3.0; 8]));
    assert_eq!((one.channel[0], two.channel[0]), (3.0, 3.0));
    // The cable carries four flows each way: more than a host's link.
    let hottest = |channel: &[f64]| channel.iter().copied().fold(0.0, f64::max);
    assert_eq!((hottest(&one.channel), hottest(&two.channel)), (4.0, 4.0));
    // A shift by two: the second half of each network's hosts sends into the other.
    assert_eq!((shifted.1, shifted.0.sent), (4, vec![1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0]));
}

/// By hand: a leaf of four hosts keeps three of four cables. 48 pairs go over them, 16 each, where 15 go over a host's
/// link.
#[test]
fn a_cable_of_a_tree_costs_a_sixteenth() {
    let site = tree2(4, 4).rerouted().unwrap();
    let fabric = built(&site);
    let failures = Failures::new(&fabric).unwrap();
    let parts = failures.parts();
    for failure in failures.all(&parts, &|| {}).iter().filter(|failure| matches!(failure.part, Part::Cable(_))) {
        // Three destinations of four hosts each up, one of twelve down.
        assert_eq!((failure.kept.lost, failure.rerouted.lost), (24, 0));
        assert!(near(failure.rerouted.pair_rate, 25e9 / 16.0), "{failure:?}");
    }
}

#[test]
fn parts_are_named_as_reports_print_them() {
    let site = tree2(3, 2);
    let fails = |part: &str| site.without(&[part]);
    for part in ["sw0 port 3", "sw3 port 1 -> sw0 port 3", "sw0 port 3 - sw3 port 1", "random:1:9"] {
        assert_eq!(fails(part).unwrap().findings.cables, [6, 5], "{part}");
    }
    assert_eq!(fails("sw3").unwrap().findings.cables, [6, 3]);
    assert_eq!(fails("host0 HCA-1").unwrap().nodes(), 5);
    assert_eq!(fails("random:6").unwrap().findings.cables, [6, 0]);
    assert_ne!(fails("random:2:1").unwrap().cabling.cables, fails("random:2:2").unwrap().cabling.cables);
    for (part, wanted) in [
        ("sw9", "fail:sw9: is no switch or host"),
        ("sw0 port 9", "port 9 of 'sw0' has no cable"),
        ("sw7 port 1", "'sw7 port 1' is no port of this network"),
        ("sw0 port 3 -> sw1 port 3", "different cables"),
        ("random:0", "K from 1 to 6"),
        ("random:7", "K from 1 to 6"),
    ] {
        let error = fails(part).unwrap_err().to_string();
        assert!(error.contains(wanted), "{part}: {error}");
    }
}

#[test]
fn a_job_gets_what_its_hosts_alone_would_get() {
    for seed in 0..20 {
        let site = random(seed).rerouted().unwrap();
        let fabric = built(&site);
        let job = Job::new(&fabric).unwrap();
        let count = (fabric.nodes() as usize / 2).max(2);
        let placed = job.random(count, seed);
        let mut vertices: Vec<_> = placed.hosts.iter().map(|host| host.vertex()).collect();
        vertices.sort_unstable();
        let alone = built(&site.only(&vertices).unwrap());
        let (rate, lost) = counted(&alone);
        assert_eq!(placed.lost, lost);
        assert!(near(placed.all_to_all, rate * (count - 1) as f64), "seed {seed}: {placed:?} {rate}");
        let best = job.best(count, 1);
        assert!((best.lost, -best.all_to_all) <= (placed.lost, -placed.all_to_all), "seed {seed}");
        assert_eq!(job.placed(best.hosts.clone()), best);
        let ordered = job.ring_order(&placed.hosts, 1);
        assert!(ordered.ring >= placed.ring);
        let mut same = [ordered.hosts.clone(), placed.hosts.clone()];
        same.iter_mut().for_each(|hosts| hosts.sort_unstable());
        assert_eq!(same[0], same[1]);
        assert!(near(job.placed(ordered.hosts).ring, ordered.ring));
    }
}

/// Ranks that hop from leaf to leaf use every cable up; in order of the leaves one host of each leaf does.
#[test]
fn a_ring_finds_its_order_on_a_slim_tree() {
    let hosts = [4, 4, 4, 4, 0];
    let cables: Vec<_> = (0..4).map(|leaf| (leaf, 4, "4xHDR")).collect();
    let site = network(&hosts, &cables).rerouted().unwrap();
    let fabric = built(&site);
    let job = Job::new(&fabric).unwrap();
    let hopping: Vec<Node> = (0..16).map(|rank| Node(rank % 4 * 4 + rank / 4)).collect();
    let given = job.placed(hopping.clone());
    assert!(near(given.ring, 25e9 / 4.0), "{given:?}");
    assert!(near(job.ring_order(&hopping, 1).ring, 25e9));
    // Four hosts have a leaf for themselves.
    let best = job.best(4, 1);
    assert!(near(best.all_to_all, 25e9) && near(best.ring, 25e9), "{best:?}");
}

#[test]
fn hosts_are_found_by_their_first_word_and_without_domain() {
    let site = tree2(2, 2);
    let named = |list: &[&str]| site.named(&list.iter().map(|&host| host.to_owned()).collect::<Vec<_>>());
    assert_eq!(named(&["host0", "host3 HCA-1", "host1.cluster"]).unwrap().len(), 3);
    let error = named(&["host9"]).unwrap_err().to_string();
    assert!(error.contains("host 'host9': no host of this network has this name; there is 'host"), "{error}");
    assert!(named(&["host1", "host1"]).unwrap_err().to_string().contains("twice"));
}
