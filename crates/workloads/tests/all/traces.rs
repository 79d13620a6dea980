//! Collectives of Chakra traces on GPU clusters take the time that the same collectives take by name.

use hotlink_bench::Record;
use hotlink_schedule::collective::{Algorithm, Which};
use hotlink_study::Unwatched;
use hotlink_study::inputs::Vary;
use hotlink_workloads::collective::Collective;
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
        // Traces take the first algorithm, by the protocol that it has at the size.
        let (algorithms, protocols) = (vec![Algorithm::of(which)[0]], Vec::new());
        let named = Collective { which, algorithms, protocols, nodes: vec![nodes], sizes, network, vary: Vary::No };
        let named = named.records(&[fabric.to_owned()], &Unwatched).unwrap().remove(0);
        // What happens at the same time may come in another order.
        let share = latency(&traced) / latency(&named);
        assert!((0.99..1.01).contains(&share), "{which:?} of {nodes} on {fabric}: {share}");
        assert_eq!(traced.number("channels"), named.number("channels"));
        assert!(traced.number("bound_latency_us").unwrap() <= latency(&named), "{traced:?}");
    }
}
