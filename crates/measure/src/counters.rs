//! Counters of errors and congestion of this host's ports, read before and after a measurement. A port that had to
//! repeat packets meanwhile explains a slow result. Counters that stood still make a result more credible.

use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// InfiniBand's and RoCE's, of a port: errors of the link, discarded and repeated packets, signs of congestion.
const PORT: &[&str] = &[
    "VL15_dropped",
    "duplicate_request",
    "excessive_buffer_overrun_errors",
    "implied_nak_seq_err",
    "link_downed",
    "link_error_recovery",
    "local_ack_timeout_err",
    "local_link_integrity_errors",
    "np_cnp_sent",
    "np_ecn_marked_roce_packets",
    "out_of_sequence",
    "packet_seq_err",
    "port_rcv_errors",
    "port_rcv_remote_physical_errors",
    "port_rcv_switch_relay_errors",
    "port_xmit_discards",
    "port_xmit_wait",
    "rnr_nak_retry_err",
    "roce_adp_retrans",
    "rp_cnp_handled",
    "symbol_error",
];

/// Ethernet's, of an interface.
const INTERFACE: &[&str] =
    &["rx_crc_errors", "rx_dropped", "rx_errors", "rx_missed_errors", "tx_carrier_errors", "tx_dropped", "tx_errors"];

/// Values of the counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters(BTreeMap<String, u64>);

impl Counters {
    /// Reads this host's.
    pub fn read() -> Counters {
        Counters::below(Path::new("/sys/class"))
    }

    /// Reads those of a tree like `/sys/class`. One that cannot be read is not among them.
    fn below(root: &Path) -> Counters {
        let mut found = BTreeMap::new();
        for (adapter, folder) in entries(&root.join("infiniband")) {
            for (port, folder) in entries(&folder.join("ports")) {
                for kind in ["counters", "hw_counters"] {
                    add(&mut found, &format!("{adapter} port {port}"), &folder.join(kind), PORT);
                }
            }
        }
        for (interface, folder) in entries(&root.join("net")) {
            add(&mut found, &interface, &folder.join("statistics"), INTERFACE);
        }
        Counters(found)
    }

    /// Adds to an environment how many counters were read both before and now (`counters_read`), and those that grew
    /// (`counters_grown`: name, before, now).
    pub fn tell(&self, before: &Counters, environment: &mut Map<String, Value>) {
        let both = || self.0.iter().filter_map(|(name, &now)| Some((name, *before.0.get(name)?, now)));
        let grown = both().filter(|(_, before, now)| now > before);
        let grown: Vec<Value> = grown.map(|(name, before, now)| format!("{name}: {before} -> {now}").into()).collect();
        environment.insert("counters_read".to_owned(), both().count().into());
        environment.insert("counters_grown".to_owned(), grown.into());
    }
}

/// The entries of a folder by name; none where it cannot be read.
pub(crate) fn entries(folder: &Path) -> BTreeMap<String, PathBuf> {
    let all = std::fs::read_dir(folder).into_iter().flatten().flatten();
    all.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path())).collect()
}

fn add(found: &mut BTreeMap<String, u64>, owner: &str, folder: &Path, names: &[&str]) {
    for name in names {
        let value = std::fs::read_to_string(folder.join(name)).ok().and_then(|text| text.trim().parse().ok());
        found.extend(value.map(|value| (format!("{owner} {name}"), value)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_that_grew_are_named_with_both_values() {
        let root = std::env::temp_dir().join(format!("hotlink-counters-{}", std::process::id()));
        let write = |name: &str, text: &str| {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("infiniband/mlx5_0/ports/1/counters/symbol_error", "17\n");
        write("infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence", "4\n");
        write("infiniband/mlx5_0/ports/1/counters/link_downed", "N/A\n");
        write("net/eth0/statistics/rx_dropped", "0\n");
        write("net/eth0/statistics/rx_bytes", "1000\n");
        let before = Counters::below(&root);
        write("infiniband/mlx5_0/ports/1/counters/symbol_error", "20\n");
        write("net/eth1/statistics/rx_dropped", "9\n");
        let mut environment = Map::new();
        Counters::below(&root).tell(&before, &mut environment);
        std::fs::remove_dir_all(&root).unwrap();
        assert_eq!(environment["counters_read"], 3);
        assert_eq!(environment["counters_grown"], serde_json::json!(["mlx5_0 port 1 symbol_error: 17 -> 20"]));
    }
}
