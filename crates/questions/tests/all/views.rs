//! A page draws `analyze`'s answers, link by link.

use serde_json::{Value, json};

const TREE: &str = "ib-ndr-fat-tree2:oversubscription=3";

fn ask(question: Value) -> Value {
    serde_json::from_str(&hotlink_questions::ask(&question.to_string(), &|_, _| ()).unwrap()).unwrap()
}

/// A view of 256 hosts.
fn view(more: Value) -> Value {
    let mut question = json!({ "fabric": TREE, "nodes": 256 });
    question.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    ask(question)
}

/// MB/s of each node under all-to-all.
fn bandwidth(more: Value) -> f64 {
    let mut question = json!({ "verb": "analyze", "fabric": TREE, "nodes": 256, "method": "load" });
    question.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    ask(question)["records"][0]["bandwidth_per_node_MBps"].as_f64().unwrap()
}

/// The fullest link from a leaf to a spine.
fn uplink(fabric: &Value) -> Value {
    let hot = fabric["hot"].as_array().unwrap();
    let up = |link: &&Value| {
        link["from"].as_str().unwrap().contains("leaf") && link["to"].as_str().unwrap().contains("spine")
    };
    hot.iter().find(up).expect("uplinks limit a tree that is oversubscribed").clone()
}

#[test]
fn the_matrix_and_the_list_hold_the_hot_link() {
    let fabric = view(json!({ "view": "fabric" }));
    let (rows, load) = (fabric["matrix"]["rows"].as_u64().unwrap(), fabric["matrix"]["load"].as_array().unwrap());
    let groups = fabric["groups"].as_array().unwrap();
    assert_eq!((load.len() as u64, groups.len() as u64), (rows * rows, rows));
    let hosts: u64 = groups.iter().map(|group| group["hosts"].as_u64().unwrap()).sum();
    let switches: u64 = groups.iter().map(|group| group["switches"].as_u64().unwrap()).sum();
    assert_eq!((hosts, Some(switches)), (256, fabric["switches"].as_u64()));
    assert_eq!(fabric["levels"], 2);
    let most = load.iter().map(|share| share.as_f64().unwrap()).fold(-1.0, f64::max);
    let hottest = fabric["hot"][0]["share"].as_f64().unwrap();
    assert!(most == hottest && (hottest - 1.0).abs() < 1e-9, "{most} {hottest}");
}

#[test]
fn the_list_of_a_full_tree_has_links_between_switches() {
    let fabric = ask(json!({ "view": "fabric", "fabric": "ib-ndr-fat-tree2", "nodes": 512 }));
    let up = uplink(&fabric);
    assert!(fabric["hot"][0]["share"].as_f64() > up["share"].as_f64());
}

#[test]
fn the_users_of_a_link_make_up_its_load() {
    for paths in ["packet", "flow", "destination"] {
        let up = uplink(&view(json!({ "view": "fabric", "paths": paths })));
        let link = view(json!({ "view": "link", "link": up["link"], "paths": paths }));
        let share = link["users"][0]["share"].as_f64().unwrap();
        let pair = bandwidth(json!({ "paths": paths })) * 1e6 / 255.0;
        let load = link["users_total"].as_f64().unwrap() * share * pair;
        let told = link["load_Bps"].as_f64().unwrap();
        assert!((load / told - 1.0).abs() < 1e-9, "{paths}: {load} {told}");
        assert!(!link["alternatives"].as_array().unwrap().is_empty());
    }
}

/// On small networks all users of a link are named, so that its load can be added up from them. Every third link.
#[test]
fn all_users_of_a_small_network_s_links_make_up_their_loads() {
    let networks = [
        ("ib-ndr-fat-tree2:radix=8", 16),
        ("sci-torus2d", 16),
        ("k98-t3d", 16),
        ("slingshot-dragonfly", 16),
        ("myrinet-clos64", 20),
        ("ib-qdr-hyperx", 16),
        ("sci-ring", 8),
    ];
    for (fabric, nodes) in networks {
        for paths in ["packet", "flow", "destination"] {
            let seen = ask(json!({ "view": "fabric", "fabric": fabric, "nodes": nodes, "paths": paths }));
            let question =
                json!({ "verb": "analyze", "fabric": fabric, "nodes": nodes, "paths": paths, "method": "load" });
            let each = ask(question)["records"][0]["bandwidth_per_node_MBps"].as_f64().unwrap() * 1e6;
            for number in (0..seen["links"].as_u64().unwrap()).step_by(3) {
                let question =
                    json!({ "view": "link", "link": number, "fabric": fabric, "nodes": nodes, "paths": paths });
                let link = ask(question);
                let users = link["users"].as_array().unwrap();
                let all: f64 = users.iter().map(|user| user["share"].as_f64().unwrap()).sum();
                let (load, told) = (all * each / f64::from(nodes - 1), link["load_Bps"].as_f64().unwrap());
                assert!((load - told).abs() <= 1e-9 * each, "{fabric} {paths} {}: {load} {told}", link["from"]);
            }
        }
    }
}

#[test]
fn routes_lead_from_one_node_to_the_other() {
    let pair = view(json!({ "view": "pair", "from": 0, "to": 255, "paths": "packet" }));
    let routes = pair["routes"].as_array().unwrap();
    assert!(routes.len() > 1);
    for route in routes {
        let ends: Vec<[&str; 2]> = route.as_array().unwrap().iter().map(ends).collect();
        assert_eq!((ends[0][0], ends[ends.len() - 1][1]), ("node 0", "node 255"));
        assert!(ends.windows(2).all(|two| two[0][1].split(" #").next() == two[1][0].split(" #").next()), "{ends:?}");
    }
    let parts: f64 = pair["parts"].as_array().unwrap().iter().map(|part| part["latency_us"].as_f64().unwrap()).sum();
    assert!(parts > 0.0 && (parts - pair["latency_us"].as_f64().unwrap()).abs() < 1e-12);
}

/// The page and the command give one latency: of the host's parts, too, at both ends.
#[test]
fn a_pair_s_latency_is_the_command_s() {
    for (fabric, nodes) in [("ib-ndr-fat-tree2", 512), ("sci-ring", 2), ("gige", 2), ("qsnet", 16)] {
        let question = json!({
            "verb": "analyze", "fabric": fabric, "nodes": nodes, "method": "load",
            "traffic": format!("permutation:shift:{}", nodes / 2),
        });
        let told = ask(question)["records"][0]["idle_latency_us"].as_f64().unwrap();
        let pair = ask(json!({ "view": "pair", "fabric": fabric, "nodes": nodes, "from": 0, "to": nodes / 2 }));
        let shown = pair["latency_us"].as_f64().unwrap();
        assert!((shown / told - 1.0).abs() < 1e-9, "{fabric}: {shown} {told}: {}", pair["parts"]);
    }
}

fn ends(link: &Value) -> [&str; 2] {
    [link["from"].as_str().unwrap(), link["to"].as_str().unwrap()]
}

/// The failure by a click: the names of a view, taken as they are.
#[test]
fn a_failed_cable_leaves_less() {
    let up = uplink(&view(json!({ "view": "fabric" })));
    let [from, to] = ends(&up);
    let (whole, left) = (bandwidth(json!({})), bandwidth(json!({ "fail": [format!("{from} -> {to}")] })));
    assert!(left < whole && left > 0.0, "{whole} {left}");
}
