//! Examples are written from the formats' documentation, but for those in `lldpd` (lldpd 1.0.16 on three machines) and
//! `topology-shown.txt` (Slurm 22.05.8), which these programs printed.

use hotlink_fabric::import::graph;
use hotlink_site::outline::{self, Form, GpuHost, Outline, rate_mbps};
use serde_json::Value;

macro_rules! sample {
    ($name:literal) => {
        ($name, include_str!(concat!("../data/outline/", $name)))
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
fn a_switch_that_lost_a_cable_is_no_host() {
    let head = "StartDevice,StartPort,EndDevice,EndPort\n";
    let hosts = "h1,eth0,leaf1,Ethernet1\nh2,eth0,leaf1,Ethernet2\nh3,eth0,leaf2,Ethernet1\nh4,eth0,leaf2,Ethernet2\n";
    let rest =
        "leaf1,Ethernet49,spine2,Ethernet1\nleaf2,Ethernet48,spine1,Ethernet2\nleaf2,Ethernet49,spine2,Ethernet2\n";
    let outline = read(("links.csv", &format!("{head}{hosts}{rest}")));
    assert_eq!(outline.nodes, ["h1", "h2", "h3", "h4"]);
    assert_eq!(outline.switches, ["leaf1", "leaf2", "spine1", "spine2"]);
    // A table without names of ports says it for all switches, too.
    let bare = format!("{head}{hosts}{rest}").replace("Ethernet", "").replace(",1\n", ",\n").replace(",2\n", ",\n");
    assert_eq!(read(("links.csv", &bare)).nodes.len(), 4);
    let unlike = format!("{head}{hosts}{rest}filer,e0a,leaf1,Ethernet3\n");
    assert!(refused(Form::Csv, &unlike).contains("'filer' has one link"), "{}", refused(Form::Csv, &unlike));
    // Where no port is an adapter's, a device with one link is a host.
    let plain = format!("{head}{hosts}{rest}").replace("eth0", "1");
    assert_eq!(read(("links.csv", &plain)).nodes.len(), 5);
}

#[test]
fn a_cable_may_be_listed_from_both_ends() {
    let head = "StartDevice,StartPort,EndDevice,EndPort,BandWidth\n";
    let once = "a,eth0,s,1,400G\nb,eth0,s,2,400G\n";
    let links = |text: &str| read(("links.csv", &format!("{head}{text}"))).links.len();
    assert_eq!(links(&format!("{once}s,1,a,eth0,400G\ns,2,b,eth0,\n")), 2);
    assert_eq!(links(&format!("{once}{once}")), 2);
    let slower = format!("{head}{once}s,1,a,eth0,200G\n");
    assert!(refused(Form::Csv, &slower).contains("the cable of line 2 has another rate"));
    // Without ports, each row is a cable.
    assert_eq!(links("a,,s,,\nb,,s,,\nb,,s,,\nc,,s,,\n"), 4);
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
fn a_cable_that_both_ends_name_is_one() {
    let sample = |name: &'static str, text: &'static str| (name, text);
    let [a, b, leaf] = [
        sample("lldp.node01.json", include_str!("../../tests/data/lldpd/lldp.node01.json")),
        sample("lldp.node02.json", include_str!("../../tests/data/lldpd/lldp.node02.json")),
        sample("lldp.leaf.json", include_str!("../../tests/data/lldpd/lldp.leaf.json")),
    ];
    // Two cables of node01, one of node02; the switch is known by what it can, or by being named by hosts.
    for files in [&[a, b][..], &[a, b, leaf], &[leaf, b, a]] {
        let outline = Outline::of_neighbours(files).unwrap();
        assert_eq!((outline.nodes.len(), &outline.switches[..], outline.links.len()), (2, &["leaf".to_owned()][..], 3));
        assert_eq!(rates(&outline), [Some(1_250.0); 3]);
    }
    let outline = Outline::of_neighbours(&[leaf]).unwrap();
    assert_eq!((outline.nodes, outline.switches), (vec!["node01".into(), "node02".into()], vec!["leaf".to_owned()]));
    assert_eq!(outline.links.len(), 3);
}

#[test]
fn topologies_of_slurm_are_read() {
    let shown = read(sample!("topology-shown.txt"));
    let outline = read(sample!("topology.conf"));
    assert_eq!((shown.nodes, shown.switches), (outline.nodes.clone(), outline.switches.clone()));
    assert_eq!(shown.links.len(), outline.links.len());
    assert_eq!((outline.nodes.len(), outline.switches.len(), outline.links.len()), (18, 4, 21));
    assert_eq!(nodes(&outline, Some(50_000.0)), 18);
    let outline = read(sample!("topology.yaml"));
    assert_eq!((outline.nodes.len(), outline.links.len()), (4, 6));
    // Hosts of a switch that has switches below it, too: its own, or with all below, as `scontrol` prints them.
    for own in ["n8", "n[0-8]"] {
        let text = format!(
            "SwitchName=s0 Nodes=n[0-3]\nSwitchName=s1 Nodes=n[4-7]\nSwitchName=t Nodes={own} Switches=s[0-1]\n"
        );
        let outline = read(("topology.conf", &text));
        assert_eq!((outline.nodes.len(), outline.links.len()), (9, 11), "{own}");
    }
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
    // Twelve of them are the NVLinks between the two GPUs.
    assert_eq!(outline.links.len(), 17);
    assert_eq!(nodes(&outline, Some(1e5)), 3);
    let (_, text) = sample!("nccl.xml");
    let switched = text.replace(
        "target=\"0000:83:00.0\" count=\"12\" tclass=\"0x030200\"",
        "target=\"x\" count=\"6\" tclass=\"0x068000\"",
    );
    let outline = Outline::read(Form::Nccl, "f", &switched).unwrap();
    assert_eq!(outline.links.iter().filter(|link| link.is_nvlink && link.ends[1] == "nvlink switch").count(), 6);
    assert!(refused(Form::Nccl, &text.replace("count=\"12\"", "count=\"no\"")).contains("count: a number of NVLinks"));
}

#[test]
fn a_matrix_of_gpus_and_adapters_is_read() {
    let outline = read(sample!("topo.txt"));
    assert_eq!(outline.nodes, ["GPU0", "GPU1", "GPU2", "GPU3", "mlx5_0", "mlx5_1"]);
    assert_eq!(outline.switches, ["pci switch 0", "pci switches 0", "cpu 0", "host 0"]);
    let ends = |of: &Outline| -> Vec<String> {
        of.links.iter().filter(|link| !link.is_nvlink).map(|link| link.ends.join(" - ")).collect()
    };
    let own = [
        "GPU2 - pci switch 0",
        "mlx5_1 - pci switch 0",
        "GPU0 - pci switches 0",
        "GPU1 - pci switches 0",
        "mlx5_0 - pci switches 0",
        "GPU3 - cpu 0",
        "pci switch 0 - cpu 0",
        "cpu 0 - host 0",
        "pci switches 0 - host 0",
    ];
    assert_eq!(ends(&outline), own);
    assert_eq!(outline.links.iter().filter(|link| link.is_nvlink).count(), 24);
    assert_eq!(nodes(&outline, Some(1e5)), 6);
    let (_, text) = sample!("topo.txt");
    // Three GPUs at 12 links each are more than a GPU has: there is a switch.
    let many = text.replace("SYS", "NV12").replace("NODE", "NV12").replace("PXB", "SYS").replace("PIX", "SYS");
    assert!(Outline::read(Form::Nvidia, "f", &many).unwrap().switches.contains(&"nvlink switch".to_owned()));
    assert!(refused(Form::Nvidia, &text.replace("\tPIX", "\tPIY")).starts_with("f:4: 'PIY' between GPU2 and NIC1"));
    assert!(refused(Form::Nvidia, &text.replacen("\tPIX", "\tPXB", 1)).contains("not the same in both directions"));
    assert!(refused(Form::Nvidia, text.split("NIC1\tSYS").next().unwrap()).contains("has no row of NIC1"));
    let coloured = text.replacen("\tGPU0\tGPU1", "\t\u{1b}[4mGPU0\tGPU1\u{1b}[0m", 1);
    assert_eq!(Outline::read(Form::of(&coloured).unwrap(), "f", &coloured).unwrap(), outline);
}

/// A link without a rate among links with one counted as unlimited.
#[test]
fn links_partly_without_a_rate_are_refused() {
    let csv = "StartDevice,StartPort,EndDevice,EndPort,BandWidth\na,eth0,s,1,400G\nb,eth0,s,2,\n";
    let xml = "<graphml><key id='w' attr.name='bandwidth'/><graph edgedefault='undirected'><node id='a'/><node id='b'/>\
               <node id='c'/>\n<edge source='a' target='b'><data key='w'>1GB/s</data></edge>\n\
               <edge source='b' target='c'/></graph></graphml>";
    let lldp = |name: &str, medium: &str| {
        format!(
            r#""{name}": {{"chassis": {{"s-{name}": {{"id": 1, "capability": {{"type": "Bridge", "enabled": true}}}}}},
                 "port": {{"auto-negotiation": {{"current": "{medium}"}}}}}}"#
        )
    };
    let lldp =
        format!(r#"{{"lldp": {{"interface": {{{}, {}}}}}}}"#, lldp("eth0", "100GbaseCR4"), lldp("eth1", "unknown"));
    let (_, nccl) = sample!("nccl.xml");
    for (form, text, place, ends) in [
        (Form::Csv, csv, "f:3: ", "'b' to 's'"),
        (Form::GraphMl, xml, "f:3: ", "'b' to 'c'"),
        (Form::Lldp, lldp.as_str(), "f: ", "'f' to 's-eth1'"),
        (Form::Nccl, nccl, "f:", "to 'cpu"),
    ] {
        let outline = Outline::read(form, "f", text).unwrap();
        let told = outline.all_rated("f").unwrap_err().to_string();
        assert!(told.starts_with(place) && told.contains(ends), "{told}");
        assert!(told.contains("has no rate, and others have one") && told.contains("+rate:400Gbit/s"), "{told}");
    }
    // None has one, all have one, or the platform says that a link never limits.
    let (_, slurm) = sample!("topology.conf");
    Outline::read(Form::SlurmConf, "f", slurm).unwrap().all_rated("f").unwrap();
    let (_, platform) = sample!("platform.xml");
    let outline = Outline::read(Form::SimGrid, "f", platform).unwrap();
    outline.all_rated("f").unwrap();
    assert!(outline.links.iter().any(|link| link.is_unlimited));
    // A rate for links without one is not given to links that never limit.
    assert_eq!(outline.graph(Some(9.0), Some("roce")), outline.graph(None, Some("roce")));
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

/// Editors put a byte order mark before texts; an empty file is reported as such.
#[test]
fn marks_before_texts_are_none_of_them_and_empty_files_are_told() {
    let folder = std::env::temp_dir().join(format!("hotlink-{}-marks", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let at = |name: &str| folder.join(name).display().to_string();
    let dump = "#\nvendid=0x2c9\ndevid=0x1\nswitchguid=0x1(1)\nSwitch\t2 \"S-1\"\t\t# \"s1\" enhanced port 0 lid 1 lmc 0\n\
                [1]\t\"H-2\"[1](3)\t\t# \"h1\" lid 2 4xNDR\n\nvendid=0x2c9\nCa\t1 \"H-2\"\t\t# \"h1\"\n\
                [1](3)\t\"S-1\"[1]\t\t# lid 2 lmc 0 \"s1\" lid 1 4xNDR\n";
    std::fs::write(at("plain"), dump).unwrap();
    std::fs::write(at("marked"), format!("\u{feff}{dump}")).unwrap();
    for name in ["plain", "marked"] {
        hotlink_site::open(&[&at(name)]).unwrap();
    }
    std::fs::write(at("empty"), "").unwrap();
    let why = outline::open(&format!("{}+technology:roce", at("empty"))).unwrap_err().to_string();
    assert!(why.ends_with("empty: it is empty"), "{why}");
    assert_eq!(outline::open(&at("empty")).unwrap(), None);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// The bound of a collective needs what one host offers: two GPUs with twelve NVLinks, one adapter of 200 Gbit/s.
#[test]
fn an_nccl_topology_says_what_a_host_offers_its_gpus() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/outline/nccl.xml");
    let host = outline::gpu_host(&format!("{file}+nvlink:25GB/s")).unwrap().unwrap();
    assert_eq!((host.gpus, host.nvlinks, host.nics), (2, Some(300e3), Some(25_000.0)));
    assert_eq!(host.pcie.map(f64::round), Some(31_508.0));
    assert!(!host.switch_reduces && !host.network_reduces);
    let why = outline::gpu_host(file).unwrap_err().to_string();
    assert!(why.contains("nccl.xml:5: NVLinks have no rate") && why.contains("+nvlink:25GB/s"), "{why}");
    assert_eq!(outline::gpu_host("ib-qdr").unwrap(), None);
    // The form that describes a network, too, is of the same host.
    let all = outline::gpu_host(&format!("{file}+rate:31GB/s+nvlink:25GB/s+technology:nvlink")).unwrap().unwrap();
    assert_eq!(all, host);
    let other = outline::gpu_host(&format!("{file}+nvlink:25GB/s+fail:x")).unwrap_err().to_string();
    assert!(other.contains("fail:x: behind a topology file of NCCL"), "{other}");
}

/// A host of GPUs by NCCL's file, each with these links, on PCIe of 63 GB/s; the lines in `more` follow them.
fn gpus(links: &[&str], more: &str) -> String {
    let gpu = |(at, links): (usize, &&str)| {
        let pci = format!("<pci busid=\"0000:{at}8:00.0\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\">");
        format!("{pci}<gpu dev=\"{at}\" sm=\"90\" rank=\"{at}\">{links}</gpu></pci>\n")
    };
    let gpus: String = links.iter().enumerate().map(gpu).collect();
    format!("<system version=\"1\">\n<cpu numaid=\"0\">\n{gpus}</cpu>\n{more}</system>\n")
}

fn host(name: &str, text: &str, options: &str) -> Result<GpuHost, String> {
    let file = std::env::temp_dir().join(format!("hotlink-{}-{name}.xml", std::process::id()));
    std::fs::write(&file, text).unwrap();
    let read = outline::gpu_host(&format!("{}{options}", file.display()));
    std::fs::remove_file(&file).unwrap();
    read.map(Option::unwrap).map_err(|error| error.to_string())
}

/// A full mesh as RCCL writes it: `count` links of each pair, no switch, and a rate by a name of its own.
#[test]
fn xgmi_of_rccl_joins_gpus_as_nvlinks_do() {
    let link = |to: u32| format!("<xgmi target=\"0000:{to}8:00.0\" count=\"1\" tclass=\"0x038000\"/>");
    let links: Vec<String> = (0..4).map(|own| (0..4).filter(|to| *to != own).map(link).collect()).collect();
    let links: Vec<&str> = links.iter().map(String::as_str).collect();
    let text = gpus(&links, "");
    let found = host("xgmi", &text, "+xgmi:64GB/s").unwrap();
    assert_eq!((found.nvlinks, found.apart, found.switch_reduces), (Some(192e3), None, false));
    let wrong = host("xgmi-rate", &text, "+nvlink:64GB/s").unwrap_err();
    assert!(wrong.contains(".xml:3: xGMI links have no rate") && wrong.contains("topo.xml+xgmi:64GB/s"), "{wrong}");
    let outline = Outline::read(Form::Nccl, "f", &text).unwrap();
    assert_eq!(outline.links.iter().filter(|link| link.is_nvlink).count(), 6);
    let why = outline.all_rated("f").unwrap_err().to_string();
    assert!(why.contains("+xgmi:64GB/s"), "{why}");
}

/// Links that lead nowhere in the host join nothing: pairs, and a GPU without any link among others.
#[test]
fn gpus_that_links_do_not_join_are_told() {
    let to = |to: u32| format!("<nvlink target=\"0000:{to}8:00.0\" count=\"12\" tclass=\"0x030200\"/>");
    let [to0, to1, to2, to3] = [0, 1, 2, 3].map(to);
    let pairs = host("pairs", &gpus(&[&to1, &to0, &to3, &to2], ""), "+nvlink:25GB/s").unwrap();
    let apart = pairs.apart.unwrap();
    assert_eq!((apart.gpus, apart.largest, apart.pcie.round()), (2, 2, 126_031.0));
    assert!(apart.who.contains("gpu0 (") && apart.who.contains(".xml:3), gpu1"), "{}", apart.who);
    let switch = "<nvlink target=\"0000:c0:00.0\" count=\"18\" tclass=\"0x068000\"/>";
    let all = host("switch", &gpus(&[switch; 4], ""), "+nvlink:25GB/s").unwrap();
    assert_eq!((all.apart, all.nvlinks, all.switch_reduces), (None, Some(450e3), true));
    let bad = host("bad", &gpus(&[switch, switch, "", switch], ""), "+nvlink:25GB/s").unwrap();
    let apart = bad.apart.unwrap();
    assert_eq!((apart.gpus, apart.largest, bad.switch_reduces), (1, 3, false));
    assert!(apart.who.starts_with("gpu2 (") && apart.who.ends_with(".xml:5)"), "{}", apart.who);
}

#[test]
fn numbers_of_an_nccl_topology_that_cannot_be_are_errors_by_line() {
    let link = |count: &str| format!("<nvlink target=\"0000:18:00.0\" count=\"{count}\" tclass=\"0x030200\"/>");
    for count in ["0", "65", "4000000000", "-1", "x"] {
        let why = host("count", &gpus(&[&link(count), ""], ""), "+nvlink:25GB/s").unwrap_err();
        assert!(why.contains(".xml:3: count: a number of NVLinks from 1 to 64"), "{count}: {why}");
    }
    for speed in ["nan", "inf", "-32.0 GT/s", "1e400", "fast"] {
        let why = host("speed", &gpus(&["", ""], "").replacen("32.0 GT/s PCIe", speed, 1), "").unwrap_err();
        assert!(why.contains(".xml:3: '") && why.contains("no link: write 16.0 GT/s"), "{speed}: {why}");
    }
    // A virtual machine does not know: the other GPU's counts.
    for (speed, width) in [("Unknown", "0"), ("Unknown", "255"), ("", ""), ("32.0 GT/s PCIe", "255")] {
        let text =
            gpus(&["", ""], "").replacen("32.0 GT/s PCIe", speed, 1).replacen("\"16\"", &format!("{width:?}"), 1);
        assert_eq!(host("unknown", &text, "").unwrap().pcie.map(f64::round), Some(63_015.0), "{speed} {width}");
        let all = text.replace("32.0 GT/s PCIe", "Unknown");
        assert_eq!(host("told", &all, "+rate:31GB/s").unwrap().pcie, Some(31e3));
    }
    let net = |speed: &str| {
        let nic = format!("<nic><net name=\"eth0\" dev=\"0\" speed={speed:?} port=\"0\" guid=\"0x0\"/></nic>\n");
        host("net", &gpus(&["", ""], &format!("<cpu numaid=\"1\">\n{nic}{nic}</cpu>\n")), "")
    };
    // A socket is below both processors, and is one.
    assert_eq!(net("100000").unwrap().nics, Some(12_500.0));
    let why = net("4294967295").unwrap_err();
    assert!(why.contains(".xml:7: speed: '4294967295' is no speed"), "{why}");
}

#[test]
fn a_latency_behind_the_name_is_that_of_links_without_one() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/outline/topology.conf");
    let links = |name: &str| {
        let (_, graph) = outline::open(name).unwrap().unwrap();
        serde_json::from_str::<Value>(&graph).unwrap()["links"].as_array().unwrap().clone()
    };
    assert!(links(file).iter().all(|link| link.get("latency_us").is_none()));
    let all = links(&format!("{file}+latency:700ns"));
    assert!(all.iter().all(|link| (link["latency_us"].as_f64().unwrap() - 0.7).abs() < 1e-9));
    let why = outline::open(&format!("{file}+latency:fast")).unwrap_err().to_string();
    assert!(why.contains("latency:fast") && why.contains("write latency:700ns"), "{why}");
}
