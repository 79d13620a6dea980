//! Examples are written from the formats' documentation; none was printed by the program itself.

use super::*;
use hotlink_fabric::import::graph;

macro_rules! sample {
    ($name:literal) => {
        ($name, include_str!(concat!("../../tests/data/outline/", $name)))
    };
}

fn read((file, text): (&str, &str)) -> Outline {
    let form = Form::of(text).unwrap_or_else(|| panic!("{file} is not recognised"));
    Outline::read(form, file, text).unwrap()
}

fn rates(outline: &Outline) -> Vec<Option<f64>> {
    outline.links.iter().map(|link| link.rate_mbps).collect()
}

/// The graph file of the outline is a fabric.
fn nodes(outline: &Outline, rate: Option<f64>) -> u32 {
    graph("x.json", &outline.graph(rate, Some("roce")), None).unwrap().nodes()
}

fn refused(form: Form, text: &str) -> String {
    Outline::read(form, "f", text).unwrap_err().to_string()
}

#[test]
fn tables_of_links_are_read() {
    let outline = read(sample!("links.csv"));
    assert_eq!(outline.nodes, ["server-1", "server-2", "server-3"]);
    assert_eq!(outline.switches, ["leaf-1", "leaf-2", "spine-1"]);
    assert_eq!(rates(&outline)[..4], [Some(12_500.0), Some(12_500.0), Some(12_500.0), Some(50_000.0)]);
    assert_eq!(nodes(&outline, None), 3);
    let outline = read(sample!("netbox.csv"));
    assert_eq!((outline.nodes.len(), outline.switches.len(), rates(&outline)), (2, 1, vec![None, None]));
    let head = "StartDevice,StartPort,EndDevice,EndPort,BandWidth\n";
    assert!(refused(Form::Csv, &format!("{head}a,eth0,s,1,fast\n")).starts_with("f:2: 'fast' is no rate"));
    assert!(refused(Form::Csv, &format!("{head}a,eth0,s,1,\nb,eth0,s,1,\n")).contains("another link on line 2"));
    assert!(refused(Form::Csv, &format!("{head}a,eth0,,1,\n")).contains("f:2: has no device"));
}

#[test]
fn neighbours_of_a_host_are_read() {
    let outline = read(sample!("lldp.node01.json"));
    assert_eq!((outline.nodes, outline.switches), (vec!["node01".to_owned()], vec!["leaf-1".into(), "leaf-2".into()]));
    let outline = read(sample!("lldp.node01.json"));
    assert_eq!(rates(&outline), [Some(12_500.0), Some(1_250.0)]);
    let (_, text) = sample!("lldp.node01.json");
    let both = Outline::of_neighbours(&[("lldp.a.json", text), ("lldp.b.json", text)]).unwrap();
    assert_eq!((both.nodes.len(), both.links.len()), (2, 4));
    assert!(refused(Form::Lldp, "{\n\"lldp\" 1}").starts_with("f:2: is not JSON"));
}

#[test]
fn topologies_of_slurm_are_read() {
    let outline = read(sample!("topology.conf"));
    assert_eq!((outline.nodes.len(), outline.switches.len(), outline.links.len()), (18, 4, 21));
    assert_eq!(nodes(&outline, Some(50_000.0)), 18);
    let outline = read(sample!("topology.yaml"));
    assert_eq!((outline.nodes.len(), outline.links.len()), (4, 6));
    assert!(refused(Form::SlurmConf, "SwitchName=a Nodes=n[1-").starts_with("f:1: 'n[1-' has a bracket"));
    assert!(refused(Form::SlurmConf, "SwitchName=a\nSwitchName=b Switches=c").starts_with("f:2: 'c' is no switch"));
    assert!(refused(Form::SlurmConf, "BlockName=b Nodes=n1").contains("blocks"));
    assert!(refused(Form::SlurmYaml, "- topology: a\n  flat: true\n").contains("holds no tree"));
}

#[test]
fn platforms_of_simgrid_are_read() {
    let outline = read(sample!("platform.xml"));
    assert_eq!(outline.nodes, ["Alice", "Bob", "Carol"]);
    let own: Vec<Option<f64>> = rates(&outline)[..4].to_vec();
    assert_eq!(own, [Some(125.0), Some(125.0), Some(125.0), None]);
    assert_eq!(outline.links[2].latency_us, Some(50.0));
    assert_eq!(nodes(&outline, None), 3);
    let outline = read(sample!("cluster.xml"));
    assert_eq!((outline.nodes.len(), outline.switches.len(), outline.links.len()), (4, 2, 9));
    assert_eq!(nodes(&outline, None), 4);
    assert!(
        refused(Form::SimGrid, "<platform>\n<link id='a' bandwidth='x'/></platform>")
            .starts_with("f:2: 'x' is no bandwidth")
    );
    assert!(refused(Form::SimGrid, "<platform>\n<link>").contains("is not XML"));
}

#[test]
fn graphml_is_read() {
    let outline = read(sample!("graph.graphml"));
    assert_eq!((outline.nodes.len(), outline.switches.len()), (2, 1));
    assert_eq!(rates(&outline), [Some(12_500.0), Some(12_500.0)]);
    let unknown = "<graphml><graph><node id='a'/>\n<edge source='a' target='b'/></graph></graphml>";
    assert!(refused(Form::GraphMl, unknown).starts_with("f:2: 'b' is no node"));
}

#[test]
fn the_inside_of_a_host_is_read() {
    let outline = read(sample!("nccl.xml"));
    assert_eq!(outline.nodes, ["gpu0", "mlx5_0", "gpu1"]);
    assert_eq!(outline.switches, ["cpu0", "pci 0000:01:00.0", "cpu1"]);
    // 16 lanes of 16 GT/s: 31.5 GB/s; processors and NVLink state no rate.
    let rate = outline.links[0].rate_mbps.unwrap();
    assert!((rate - 31_507.7).abs() < 0.1, "{rate}");
    assert_eq!(outline.links.len(), 6);
    assert_eq!(nodes(&outline, Some(1e5)), 3);
}

#[test]
fn rates_have_units() {
    assert_eq!(rate_mbps("400Gbit/s", false), Some(50_000.0));
    assert_eq!(rate_mbps("100G", false), Some(12_500.0));
    assert_eq!((rate_mbps("1000", true), rate_mbps("1000", false)), (Some(125.0), None));
    assert_eq!(
        (rate_mbps("50GB/s", false), rate_mbps("-1G", false), rate_mbps("", true)),
        (Some(50_000.0), None, None)
    );
}
