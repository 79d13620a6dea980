//! Collectives of Chakra traces on GPU clusters take the time that the same collectives take by name.

use hotlink_bench::Record;
use hotlink_schedule::collective::{Algorithm, Which};
use hotlink_schedule::{Options, Protocol};
use hotlink_study::inputs::Vary;
use hotlink_study::{Source, Unwatched};
use hotlink_workloads::collective::Collective;
use hotlink_workloads::jobs::{Jobs, NoPrograms, Plan};
use hotlink_workloads::replay::Network;
use hotlink_workloads::schedule::Scheduled;

/// A field of protobuf: a number, or bytes.
fn field(number: u64, value: Result<u64, &[u8]>) -> Vec<u8> {
    let varint = |mut word: u64| {
        let mut bytes = Vec::new();
        while word > 127 {
            bytes.push(word as u8 | 128);
            word >>= 7;
        }
        bytes.push(word as u8);
        bytes
    };
    match value {
        Ok(word) => [varint(number << 3), varint(word)].concat(),
        Err(bytes) => [varint(number << 3 | 2), varint(bytes.len() as u64), bytes.to_vec()].concat(),
    }
}

/// A trace of one collective: metadata, then a node, each with its length before it.
fn trace(comm_type: u64, bytes: u64) -> Vec<u8> {
    let attribute =
        |name: &str, value: u64| field(10, Err(&[field(1, Err(name.as_bytes())), field(9, Ok(value))].concat()));
    let node = [field(1, Ok(1)), field(3, Ok(7)), attribute("comm_type", comm_type), attribute("comm_size", bytes)];
    // A message's length is what follows the first byte of a field.
    [field(1, Err(b"0.0.4")), node.concat()].iter().flat_map(|message| field(1, Err(message)).split_off(1)).collect()
}

#[test]
fn a_trace_of_one_collective_takes_as_long_as_the_collective() {
    let latency = |record: &Record| record.number("latency_us").unwrap();
    for (comm_type, which, fabric, nodes, parts) in [
        (0, Which::Allreduce, "hgx-h100-rail", 8, 1),
        (0, Which::Allreduce, "hgx-h100-rail", 16, 1),
        (2, Which::Allgather, "hgx-h100-rail", 8, 8),
        (6, Which::Alltoall, "hgx-h100-pod", 16, 1),
        (7, Which::ReduceScatter, "mi300x-rail", 8, 1),
    ] {
        let folder = std::env::temp_dir().join(format!("hotlink-traces-{}-{comm_type}-{nodes}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for rank in 0..nodes {
            std::fs::write(folder.join(format!("t.{rank}.et")), trace(comm_type, 1 << 20)).unwrap();
        }
        let scheduled = Scheduled::of(&folder.display().to_string());
        let traced = scheduled.run(fabric, "schedule", &Unwatched).unwrap().remove(0);
        std::fs::remove_dir_all(&folder).unwrap();
        let (sizes, network) = (vec![parts << 20], Network::default());
        let (algorithms, protocols) = (Vec::new(), Vec::new());
        let named = Collective { which, algorithms, protocols, nodes: vec![nodes], sizes, network, vary: Vary::No };
        let named = named.records(&[fabric.to_owned()], &Unwatched).unwrap().remove(0);
        // What happens at the same time may come in another order.
        let share = latency(&traced) / latency(&named);
        assert!((0.99..1.01).contains(&share), "{which:?} of {nodes} on {fabric}: {share}");
        assert_eq!(traced.number("channels"), named.number("channels"));
        assert_eq!(traced.number("ranks"), Some(f64::from(nodes)));
        for key in ["algorithm", "algorithm_by", "protocol", "protocol_by"] {
            assert_eq!(traced.text(key), named.text(key), "{key}: {which:?} of {nodes} on {fabric}");
        }
        assert!(traced.number("bound_latency_us").unwrap() <= latency(&named), "{traced:?}");
    }
}

/// Traces of an allreduce of 64 MiB on so many ranks, which `ask` runs.
fn allreduces<T>(name: &str, nodes: u32, ask: impl Fn(Scheduled) -> T) -> T {
    let folder = std::env::temp_dir().join(format!("hotlink-traces-{name}-{}-{nodes}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for rank in 0..nodes {
        std::fs::write(folder.join(format!("t.{rank}.et")), trace(0, 64 << 20)).unwrap();
    }
    let found = ask(Scheduled::of(&folder.display().to_string()));
    std::fs::remove_dir_all(&folder).unwrap();
    found
}

fn asking(scheduled: &Scheduled, algorithm: Option<Algorithm>, protocol: Option<Protocol>) -> Scheduled {
    let options = Options { wanted: (algorithm, protocol), ..Options::default() };
    Scheduled { options, ..scheduled.clone() }
}

/// By switches of hosts, by those of rails, by both: what stands beyond the GPUs is in the right place.
#[test]
fn a_trace_may_ask_for_any_algorithm() {
    for (fabric, nodes, algorithm) in [
        ("hgx-h100-rail", 8, None),
        ("hgx-h100-rail", 4, Some(Algorithm::Nvls)),
        ("hgx-h100-rail", 8, Some(Algorithm::Ring)),
        ("hgx-h100-rail", 16, Some(Algorithm::NvlsTree)),
        ("hgx-h100-rail", 16, Some(Algorithm::Hierarchical)),
        ("hgx-h100-sharp", 16, Some(Algorithm::CollNet)),
        ("hgx-h100-sharp", 16, Some(Algorithm::Nvls)),
        ("hgx-h100-sharp", 16, None),
    ] {
        let traced =
            allreduces("asked", nodes, |one| asking(&one, algorithm, None).run(fabric, "schedule", &Unwatched));
        let traced = traced.unwrap().remove(0);
        let named = Collective {
            which: Which::Allreduce,
            algorithms: algorithm.into_iter().collect(),
            protocols: Vec::new(),
            nodes: vec![nodes],
            sizes: vec![64 << 20],
            network: Network::default(),
            vary: Vary::No,
        };
        let named = named.records(&[fabric.to_owned()], &Unwatched).unwrap().remove(0);
        let share = traced.number("latency_us").unwrap() / named.number("latency_us").unwrap();
        // What happens at the same time may come in another order.
        assert!((0.99..1.01).contains(&share), "{algorithm:?} of {nodes} on {fabric}: {share}");
        for key in ["algorithm", "algorithm_by", "protocol", "protocol_by"] {
            assert_eq!(traced.text(key), named.text(key), "{key}: {algorithm:?} of {nodes} on {fabric}");
        }
        assert_eq!(traced.number("n"), Some(f64::from(nodes)), "switches are no ranks of the trace");
    }
}

/// As a job of a plan, on hosts that are not the first ones: the switches are those of its hosts.
#[test]
fn a_trace_in_a_plan_of_jobs_runs_as_it_does_alone() {
    for (fabric, nodes, asked, due) in [
        ("hgx-h100-rail", 8, "", "nvls"),
        ("hgx-h100-rail", 8, "algorithm = \"ring\"\nprotocol = \"simple\"\n", "ring"),
        ("hgx-h100-sharp", 16, "", "nvls-tree"),
        ("hgx-h100-sharp", 16, "algorithm = \"collnet\"\n", "collnet"),
    ] {
        let (job, alone) = allreduces("job", nodes, |one| {
            let wanted =
                (Algorithm::named(due), if nodes == 8 && due == "ring" { Some(Protocol::Simple) } else { None });
            let alone = asking(&one, wanted.0, wanted.1).run(fabric, "schedule", &Unwatched).unwrap().remove(0);
            let listed = format!("nodes = \"16-{}\"\n", 15 + nodes);
            let text = format!("nodes = 32\n[[job]]\nname = \"t\"\nschedule = {:?}\n{listed}{asked}", one.path);
            let jobs = Jobs { nodes: None, placements: Vec::new(), network: Network::default(), vary: Vary::No };
            let plan = Plan::parse("/plan.toml", &text).unwrap();
            (jobs.run(&plan, fabric, &NoPrograms, &Unwatched).unwrap().remove(0), alone)
        });
        assert_eq!((job.text("algorithm"), job.number("ranks")), (Some(due), Some(f64::from(nodes))), "{job:?}");
        assert_eq!(job.text("algorithm_by"), Some(if asked.is_empty() { "NCCL's model" } else { "asked" }));
        assert_eq!(job.text("protocol"), alone.text("protocol"));
        let share = job.number("latency_us").unwrap() / alone.number("latency_us").unwrap();
        assert!((0.98..1.02).contains(&share), "{due} on {fabric}: {share}");
    }
}

#[test]
fn what_the_ranks_of_a_trace_cannot_run_is_an_error_with_its_place() {
    for (fabric, algorithm, protocol, due) in [
        (
            "hgx-h100-rail",
            Some(Algorithm::NvlsTree),
            None,
            "t.0.et: node 1: is Allreduce of 67108864 B on 8 ranks: nvls-tree: 8 GPUs are one domain",
        ),
        ("hgx-h100-rail", Some(Algorithm::CollNet), None, "node 1: is Allreduce of 67108864 B on 8 ranks: collnet: "),
        ("mi300x-rail", Some(Algorithm::Nvls), None, "its scale-up switches do not combine data"),
        ("mi300x-rail", None, Some(Protocol::Ll128), "its GPUs have ll, simple"),
        (
            "hgx-h100-rail",
            Some(Algorithm::Pairwise),
            None,
            "--algorithm pairwise: no collective of these traces has it",
        ),
        ("ib-qdr", Some(Algorithm::Ring), None, "only GPUs have them for a schedule"),
    ] {
        let told = allreduces("wrong", 8, |one| asking(&one, algorithm, protocol).run(fabric, "schedule", &Unwatched));
        let told = told.unwrap_err().to_string();
        assert!(told.contains(due), "{told}");
    }
    // A file has no switches: what is written for it takes none, and none can be asked for.
    let source = Source::open("hgx-h100-rail").unwrap();
    let (written, refused) = allreduces("written", 8, |one| {
        let written = one.written_on(&source).unwrap().read().unwrap();
        (written, asking(&one, Some(Algorithm::Nvls), None).written_on(&source).unwrap_err().to_string())
    });
    assert_eq!((written.schedule.ranks(), written.switches.len()), (8, 0));
    assert_ne!(written.runs[0].way.algorithm, Algorithm::Nvls);
    assert!(refused.contains("--algorithm nvls: the file of a schedule has no switches"), "{refused}");
}

/// A plan of MSCCL in which GPU 0 hands a few bytes to GPU 1, and that one to the last.
fn relay(protocol: &str) -> Scheduled {
    let step = |number: u32, kind: &str| {
        let buffers =
            "srcbuf=\"i\" srcoff=\"0\" dstbuf=\"o\" dstoff=\"0\" cnt=\"1\" depid=\"-1\" deps=\"-1\" hasdep=\"0\"";
        format!("<step s=\"{number}\" type=\"{kind}\" {buffers}/>")
    };
    let gpu = |id: u32, [to, from]: [i32; 2], kind: &str| {
        let block = format!("<tb id=\"0\" send=\"{to}\" recv=\"{from}\" chan=\"0\">{}</tb>", step(0, kind));
        format!("<gpu id=\"{id}\" i_chunks=\"1\" o_chunks=\"1\" s_chunks=\"0\">{block}</gpu>")
    };
    // The third one does nothing, so that the last is on the rail of the second.
    let idle = "<gpu id=\"2\" i_chunks=\"1\" o_chunks=\"1\" s_chunks=\"0\"/>".to_owned();
    let gpus = [gpu(0, [1, -1], "s"), gpu(1, [3, 0], "rcs"), idle, gpu(3, [-1, 1], "r")].concat();
    let head =
        format!("name=\"relay\" proto=\"{protocol}\" nchannels=\"1\" nchunksperloop=\"1\" ngpus=\"4\" coll=\"custom\"");
    let path = std::env::temp_dir().join(format!("hotlink-relay-{protocol}-{}.xml", std::process::id()));
    std::fs::write(&path, format!("<algo {head}>{gpus}</algo>")).unwrap();
    let options = Options { bytes: Some(8), ..Options::default() };
    Scheduled { options, ..Scheduled::of(&path.display().to_string()) }
}

/// Messages of a plan of MSCCL take the steps of its protocol: NCCL's table, by hand. A send over the network of so few
/// bytes takes a little more than its least latency, which is a part of the step.
#[test]
fn messages_of_a_plan_take_the_steps_of_its_protocol() {
    let took = |protocol: &str, fabric: &str| {
        let plan = relay(protocol);
        let ran = plan.run(fabric, "schedule", &Unwatched).map(|mut records| records.remove(0));
        std::fs::remove_file(&plan.path).unwrap();
        ran
    };
    for (protocol, launch, near, far) in [("LL", 6.6, 0.6, 2.7), ("LL128", 14.0, 1.9, 4.0), ("Simple", 8.4, 3.4, 14.0)]
    {
        let us = |fabric: &str| took(protocol, fabric).unwrap().number("latency_us").unwrap();
        let due = launch + 2.0 * near;
        // Another host's GPU takes the second step: hosts of two.
        let (inside, between) = (us("hgx-h100-rail"), us("hgx-h100-rail:gpus_per_host=2"));
        assert!((0.0..0.1).contains(&(inside - due)), "{protocol}: {inside} for {due}");
        let due = launch + near + far;
        assert!((0.0..0.1).contains(&(between - due)), "{protocol}: {between} for {due}");
        // Where no GPUs are described, the network is all that it waits for.
        assert!(us("ib-qdr") < 10.0, "{protocol}");
    }
    let told = took("LL128", "mi300x-rail").unwrap_err().to_string();
    assert!(told.contains(".xml:1: proto=\"ll128\": its GPUs have ll, simple"), "{told}");
}

/// Messages of a plan of MSCCL++ take the steps of Simple, whatever its protocol, and the record says that they are NCCL's.
#[test]
fn messages_of_a_plan_of_mscclpp_take_the_steps_of_simple() {
    let op = |name: &str, id: u32| {
        let buffer = r#""src_buff":[{"type":"i","index":0,"size":1}],"dst_buff":[{"buffer_id":0,"index":0,"size":1}]"#;
        format!(r#"{{"name":"{name}","channel_ids":[{id}],"channel_type":"memory",{buffer}}}"#)
    };
    let gpu = |id: u32, peers: &str, ops: &[String]| {
        let of = |key: &str, list: &str| format!(r#"[{{"channel_type":"memory","{key}":[{list}]}}]"#);
        let ids = ["", "0", "0,1"][peers.split(',').filter(|peer| !peer.is_empty()).count()];
        let block = format!(r#"{{"id":0,"ops":[{}],"channels":{}}}"#, ops.join(","), of("channel_ids", ids));
        let head = format!(r#""id":{id},"input_chunks":1,"output_chunks":1,"scratch_chunks":0"#);
        format!(r#"{{{head},"threadblocks":[{block}],"channels":{}}}"#, of("connected_to", peers))
    };
    let hands = |id: u32| [op("put", id), op("signal", id)];
    // The third one does nothing, so that the last is on the rail of the second.
    let second = [vec![op("wait", 0)], hands(1).to_vec()].concat();
    let gpus = [gpu(0, "1", &hands(0)), gpu(1, "0,3", &second), gpu(2, "", &[]), gpu(3, "1", &[op("wait", 0)])];
    let path = std::env::temp_dir().join(format!("hotlink-relay-{}.json", std::process::id()));
    for protocol in [r#""protocol":"Simple","#, r#""protocol":"LL","#, ""] {
        let text = format!(r#"{{"name":"relay","collective":"allgather",{protocol}"gpus":[{}]}}"#, gpus.join(","));
        std::fs::write(&path, text).unwrap();
        let options = Options { bytes: Some(8), ..Options::default() };
        let plan = Scheduled { options, ..Scheduled::of(&path.display().to_string()) };
        let ran = |fabric: &str| plan.run(fabric, "schedule", &Unwatched).unwrap().remove(0);
        for (fabric, second) in [("hgx-h100-rail", 3.4), ("hgx-h100-rail:gpus_per_host=2", 14.0)] {
            let record = ran(fabric);
            let (us, due) = (record.number("latency_us").unwrap(), 8.4 + 3.4 + second);
            // Between hosts the flag leaves after the data, by a post of its own.
            let posts = if second > 4.0 { 3.1 } else { 0.1 };
            assert!((0.0..posts).contains(&(us - due)), "{fabric} {protocol}: {us} for {due}");
            assert_eq!(record.text("protocol"), Some("simple"));
            let by = record.text("protocol_by").unwrap_or_default();
            assert!(by.starts_with("assumption: steps are NCCL's"), "{record:?}");
        }
        let plain = ran("ib-qdr");
        assert!(plain.number("latency_us").unwrap() < 10.0, "{plain:?}");
        assert_eq!(plain.text("protocol_by"), None);
    }
    std::fs::remove_file(&path).unwrap();
}
