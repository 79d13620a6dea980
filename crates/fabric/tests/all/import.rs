//! Graphs from files: what they become, and that no text makes the reader panic.

use hotlink_bound::Limited;
use hotlink_fabric::Fabric;
use hotlink_fabric::import::{self, ImportError};
use hotlink_fabric::network::Resource;
use hotlink_fabric::spec::Capacities;
use hotlink_fabric::technology;
use hotlink_fabric::traffic::Traffic;
use hotlink_load::count;
use proptest::prelude::*;

/// A graph whose technology is of no matter here.
fn graph(file: &str, text: &str) -> Result<Fabric, ImportError> {
    import::graph(file, text, Some(technology::named("ideal").unwrap()))
}

#[test]
fn a_graph_says_what_its_network_is() {
    let plain = r#"{"nodes": 2, "switches": 1, "links": [["n0", "s0"], ["n1", "s0"]], "rate_MBps": 100}"#;
    let missing = import::graph("g.json", plain, None).unwrap_err().to_string();
    assert!(missing.starts_with("g.json: technology: is missing"), "{missing}");
    assert!(missing.contains("--technology") && missing.contains("roce") && missing.contains("slingshot"), "{missing}");
    let stated = plain.replacen('{', r#"{"technology": "roce", "#, 1);
    assert_eq!(import::graph("g.json", &stated, None).unwrap().spec.technology.name, "roce");
    let option = technology::named("infiniband").ok();
    assert_eq!(import::graph("g.json", &stated, option).unwrap().spec.technology.name, "infiniband");
    let wrong = plain.replacen('{', r#"{"technology": "rocy", "#, 1);
    let wrong = import::graph("g.json", &wrong, None).unwrap_err().to_string();
    assert!(wrong.contains("did you mean `roce`?"), "{wrong}");
    // The record's packet format stands in where the graph states none.
    assert_eq!(import::graph("g.json", &stated, None).unwrap().spec.packet.overhead_bytes.value, 82.0);
}

#[test]
fn a_packet_s_overhead_is_stated_or_known_and_never_none() {
    let of = |technology: &str, packet: &str| {
        let head = format!(r#"{{"technology": "{technology}", "packet": {packet}, "rate_MBps": 100, "#);
        let text = head + r#""nodes": 2, "switches": 1, "links": [["n0", "s0"], ["n1", "s0"]]}"#;
        import::graph("g.json", &text, None).map(|fabric| fabric.spec.packet.overhead_bytes.value)
    };
    assert_eq!(of("roce", r#"{"payload_max_B": 1024, "overhead_B": 40}"#).unwrap(), 40.0);
    // The technology's record says it.
    assert_eq!(of("roce", r#"{"payload_max_B": 1024}"#).unwrap(), 82.0);
    let bare = technology::TECHNOLOGIES.iter().find(|one| one.packet.is_none()).unwrap().name;
    let refused = of(bare, r#"{"payload_max_B": 1024}"#).unwrap_err().to_string();
    assert!(refused.starts_with("g.json: packet: overhead_B is missing"), "{refused}");
    assert_eq!(of(bare, r#"{"payload_max_B": 1024, "overhead_B": 0}"#).unwrap(), 0.0);
}

/// Two switches with two nodes each; the link between them is the narrow place.
const DUMBBELL: &str = r#"{
  "nodes": ["a", "b", "c", "d"], "switches": ["left", "right"], "rate_MBps": 100, "latency_us": 1,
  "links": [
    {"from": "a", "to": "left"}, {"from": "b", "to": "left"},
    {"from": "c", "to": "right"}, {"from": "d", "to": "right"},
    {"from": "left", "to": "right", "rate_MBps": 40, "latency_us": 2, "parallel": 2}
  ]
}"#;

#[test]
fn the_narrow_link_of_a_dumbbell_limits_and_is_named() {
    let fabric = graph("dir/dumbbell.json", DUMBBELL).unwrap();
    assert_eq!((fabric.spec.name.as_str(), fabric.nodes(), fabric.network.channels()), ("dumbbell", 4, 12));
    let load = count(&fabric, &Traffic::AllToAll.demand(4, 0).unwrap()).unwrap();
    let bounds = load.bounds(&fabric, Capacities::Theoretical, 1024);
    // Four packets each way over two links: 3 x 40 / 2.
    assert_eq!(bounds.bandwidth_per_node_mbps, 60.0);
    let limit = bounds.limiting().unwrap();
    assert_eq!((fabric.resource_name(limit.hottest).as_str(), limit.sharing), ("switch link left -> right #1", 4));
    assert_eq!(fabric.latency(limit.hottest).us(), 2.0);
    assert_eq!(fabric.latency(Resource::Channel(fabric.network.port(hotlink_fabric::network::Vertex(0), 0))).us(), 1.0);
}

#[test]
fn explicit_routes_are_taken_and_the_hottest_is_told_by_its_own_rate() {
    let text = r#"{
      "nodes": 3, "switches": 3,
      "links": [
        {"from": "n0", "to": "s0", "unlimited": true}, {"from": "n1", "to": "s1", "unlimited": true},
        {"from": "n2", "to": "s2", "unlimited": true}, {"from": "s0", "to": "s1", "rate_MBps": 10}, {"from": "s1", "to": "s2", "rate_MBps": 90},
        {"from": "s2", "to": "s0", "rate_MBps": 90}
      ],
      "routes": [{"from": "n0", "to": "n1", "via": ["s0", "s2", "s1"]}]
    }"#;
    let fabric = graph("triangle.json", text).unwrap();
    let load = count(&fabric, &Traffic::AllToAll.demand(3, 0).unwrap()).unwrap();
    let of = |from: u32, to: u32| {
        let channel = (0..fabric.network.channels())
            .find(|&c| (fabric.network.from[c].0, fabric.network.to[c].0) == (from + 3, to + 3));
        load.channel[channel.unwrap()]
    };
    assert_eq!([of(0, 1), of(0, 2), of(2, 1), of(1, 0)], [0.0, 2.0, 2.0, 1.0]);
    let bounds = load.bounds(&fabric, Capacities::Theoretical, 1024);
    assert_eq!(fabric.resource_name(bounds.limiting().unwrap().hottest), "switch link s1 -> s0");
    assert_eq!(bounds.bandwidth_per_node_mbps, 20.0);
}

#[test]
fn routes_over_parallel_links_say_which_they_take() {
    let text = r#"{
      "nodes": 4, "switches": 2, "rate_MBps": 10,
      "links": [
        {"from": "n0", "to": "s0"}, {"from": "n1", "to": "s0"}, {"from": "n2", "to": "s1"}, {"from": "n3", "to": "s1"},
        {"from": "s0", "to": "s1", "parallel": 2}
      ],
      "routes": [
        {"from": "n0", "to": "n2", "via": ["s0", "s1"], "cables": [0, 0, 0]},
        {"from": "n1", "to": "n3", "via": ["s0", "s1"], "cables": [0, 1, 0]}
      ]
    }"#;
    let pairs = Traffic::Shift(2);
    let bandwidth = |text: &str| {
        let fabric = graph("two-cables.json", text).unwrap();
        let load = count(&fabric, &pairs.demand(4, 0).unwrap()).unwrap();
        load.bounds(&fabric, Capacities::Theoretical, 1024).bandwidth_per_node_mbps
    };
    assert_eq!(bandwidth(text), 10.0);
    assert_eq!(bandwidth(&text.replace("[0, 1, 0]", "[0, 0, 0]")), 5.0, "both over the first cable");
    for (cables, place, what) in [
        ("", "routes[1]", "2 parallel links from 's0' to 's1'"),
        (", \"cables\": [0, 2, 0]", "routes[1].cables", "2 from 's0' to 's1': must be 0 to 1"),
        (", \"cables\": [0, 1]", "routes[1].cables", "2 numbers for 3 hops"),
    ] {
        let wrong = graph("two-cables.json", &text.replace(", \"cables\": [0, 1, 0]", cables)).unwrap_err();
        assert!(wrong.place.ends_with(place) && wrong.what.contains(what), "{wrong}");
    }
}

#[test]
fn a_graph_without_switches_is_a_direct_network_whose_nodes_forward() {
    let text = r#"{
      "nodes": 4, "rate_MBps": 100,
      "links": [[0, 1], [1, 2], ["n2", "n3"], {"from": "n3", "to": 0}],
      "routes": [{"from": "n0", "to": "n2", "via": ["n1"]}]
    }"#;
    let fabric = graph("ring.json", text).unwrap();
    let load = count(&fabric, &Traffic::AllToAll.demand(4, 0).unwrap()).unwrap();
    let bounds = load.bounds(&fabric, Capacities::Theoretical, 1024);
    let hottest = bounds.limiting().unwrap().hottest;
    // Half of each half-way pair goes each way, but all of n0's to n2 over n1: 1 + 0.5 x 1 + 1 on the first link.
    assert_eq!(fabric.resource_name(hottest), "link n0 -> n1");
    // Three messages from each node; the link carries 2.5.
    assert_eq!(bounds.bandwidth_per_node_mbps, 3.0 * 100.0 / 2.5);
}

#[test]
fn the_node_link_form_of_graph_libraries_is_read() {
    let text = r#"{
      "directed": false, "multigraph": true, "graph": {"made": "elsewhere"},
      "nodes": [{"id": 0}, {"id": 1}, {"id": "s", "kind": "switch"}],
      "edges": [{"source": 0, "target": "s", "key": 0, "bandwidth_MBps": 10},
                {"source": 1, "target": "s", "key": 0, "bandwidth_MBps": 10}]
    }"#;
    let fabric = graph("node-link.json", text).unwrap();
    assert_eq!((fabric.nodes(), fabric.network.channels()), (2, 4));
    let directed = text.replace("false", "true");
    let one_way = graph("node-link.json", &directed).map(|fabric| fabric.network.channels());
    assert_eq!(one_way, Ok(2));
}

/// A link that never limits says so; all links of one rate need none of their own.
#[test]
fn a_link_may_be_unlimited_by_its_own_word() {
    let links = r#"[{"from": 0, "to": "s0", "rate_MBps": 9}, {"from": 1, "to": "s0", "unlimited": true}]"#;
    let text = format!(r#"{{"technology": "myrinet", "nodes": 2, "switches": 1, "links": {links}}}"#);
    let fabric = hotlink_fabric::import::graph("g.json", &text, None).unwrap();
    assert_eq!(fabric.network.overrides.values().filter(|link| link.rate.is_some()).count(), 2);
}

#[test]
fn mistakes_are_told_with_their_place() {
    let cases = [
        ("{", "g.json:1:1", "EOF"),
        (r#"{"nodes": 2, "links": [], "extra": 1}"#, "g.json:1:", "unknown field `extra`"),
        (r#"{"nodes": 0, "links": []}"#, "nodes", "1 to"),
        (r#"{"nodes": 4000000000, "links": []}"#, "nodes", "at most"),
        (r#"{"nodes": ["a", "a"], "links": []}"#, "nodes[1]", "twice"),
        (r#"{"nodes": ["left", "b"], "links": [{"from": "lef", "to": "b"}]}"#, "links[0].from", "did you mean 'left'"),
        (r#"{"nodes": 2, "links": [{"from": "n0", "to": "n0"}]}"#, "links[0]", "itself"),
        (r#"{"nodes": 2, "links": [{"from": "n0", "to": "n1", "rate_MBps": -1}]}"#, "links[0].rate_MBps", "must be"),
        (r#"{"nodes": 2, "links": [{"from": "n0", "to": "n1", "parallel": 0}]}"#, "links[0].parallel", "at least 1"),
        (
            r#"{"nodes": 3, "links": [{"from": 0, "to": 1, "rate_MBps": 9}, [1, 2]]}"#,
            "links[1]",
            "from '1' to '2' has no rate, and others have one",
        ),
        (
            r#"{"nodes": 3, "links": [{"from": 0, "to": 1, "rate_MBps": null}, {"from": 1, "to": 2, "rate_MBps": 9}]}"#,
            "links[0]",
            "state rate_MBps there or at the top, or \"unlimited\": true",
        ),
        (
            r#"{"nodes": 2, "rate_MBps": 5, "links": [{"from": 0, "to": 1, "unlimited": true}]}"#,
            "links[0]",
            "a rate is stated for it, too",
        ),
        (r#"{"nodes": 2, "links": [{"from": 0, "to": 1, "rate": 3}]}"#, "g.json:1:", "unknown field `rate`"),
        (r#"{"nodes": 2, "links": [[0, 1, 2]]}"#, "g.json:1:", "invalid length 3, expected [from, to]"),
        (r#"{"nodes": 2, "links": [[0, 2]]}"#, "links[0].to", "neither a node nor a switch"),
        (r#"{"nodes": [{"id": 1, "kind": "swich"}], "links": []}"#, "g.json:1:", "unknown variant `swich`"),
        (r#"{"nodes": 2, "links": [], "routing": "magic"}"#, "routing", "shortest-ecmp"),
        (r#"{"nodes": 2, "links": [], "routes": [{"from": "n0", "to": "n1", "via": []}]}"#, "routes[0]", "no link"),
        (r#"{"nodes": 2, "links": [{"from": "n0", "to": "n1", "one_way": true}], "routing": "up-down"}"#, "", ""),
    ];
    for (text, place, what) in cases {
        match graph("g.json", text) {
            Err(error) => assert!(error.place.contains(place) && error.what.contains(what), "{text}: {error}"),
            Ok(_) => assert_eq!(place, "", "{text} is refused"),
        }
    }
}

#[test]
fn nodes_without_a_route_are_named() {
    let fabric = graph("g.json", r#"{"nodes": 3, "links": [{"from": "n0", "to": "n1"}]}"#).unwrap();
    let error = count(&fabric, &Traffic::AllToAll.demand(3, 0).unwrap()).unwrap_err();
    assert!(error.to_string().starts_with("no route from node"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_the_reader_panic(text in ".{0,200}") {
        let _ = graph("x.json", &text);
    }

    #[test]
    fn no_damaged_graph_makes_the_reader_panic(at in 0usize..DUMBBELL.len(), with in "[-0-9a-z\"{}\\[\\]:,.]{0,3}", cut in 0usize..6) {
        let end = (at + cut).min(DUMBBELL.len());
        let text = format!("{}{with}{}", &DUMBBELL[..at], &DUMBBELL[end..]);
        if let Ok(fabric) = graph("x.json", &text) {
            let demand = Traffic::AllToAll.demand(fabric.nodes(), 0).unwrap();
            if let Ok(load) = count(&fabric, &demand) {
                let _ = load.bounds(&fabric, Capacities::Measured, 64);
            }
        }
    }

    #[test]
    fn any_small_graph_is_counted_or_refused(
        nodes in 1u32..6,
        switches in 0u32..4,
        links in proptest::collection::vec((0u32..10, 0u32..10, 1u32..3, any::<bool>()), 0..12),
        routing in prop_oneof![Just("shortest-ecmp"), Just("shortest-single"), Just("up-down"), Just("source")],
    ) {
        let name = |v: u32| {
            let v = v % (nodes + switches);
            if v < nodes { format!("n{v}") } else { format!("s{}", v - nodes) }
        };
        let links: Vec<String> = links
            .iter()
            .map(|(a, b, parallel, one_way)| {
                format!(r#"{{"from":"{}","to":"{}","parallel":{parallel},"one_way":{one_way}}}"#, name(*a), name(*b))
            })
            .collect();
        let text = format!(
            r#"{{"nodes":{nodes},"switches":{switches},"routing":"{routing}","links":[{}]}}"#,
            links.join(",")
        );
        if let Ok(fabric) = graph("x.json", &text)
            && let Ok(load) = count(&fabric, &Traffic::AllToAll.demand(nodes, 0).unwrap())
        {
            let arrived: f64 = (0..fabric.network.channels())
                .filter(|&c| fabric.network.to[c].0 < nodes)
                .map(|c| load.channel[c])
                .sum();
            prop_assert!((arrived - f64::from(nodes * (nodes - 1))).abs() < 1e-9, "all that is sent arrives");
            let _ = hotlink_load::deadlock::check(&fabric).unwrap();
        }
    }
}
