//! Networks that tests make up, as `ibnetdiscover` would print them.

use hotlink_site::{Site, cabling, kind};
use std::fmt::Write as _;

/// An `ibnetdiscover` of switches with hosts, and cables between switches with their speeds.
pub fn network(hosts: &[usize], cables: &[(usize, usize, &str)]) -> Site {
    network_of(hosts, cables, |host| format!("host{host} HCA-1"))
}

/// The same with hosts' ports of other names.
pub fn network_of(hosts: &[usize], cables: &[(usize, usize, &str)], named: impl Fn(usize) -> String) -> Site {
    let mut ports: Vec<Vec<(String, usize, &str)>> = vec![Vec::new(); hosts.len()];
    let mut text = String::new();
    let mut host = 0;
    for (switch, &count) in hosts.iter().enumerate() {
        for _ in 0..count {
            let (lid, own) = (100 + host, named(host));
            let _ = writeln!(
                text,
                "caguid=0x{host:x}\nCa\t1 \"H-00000000000a{host:04x}\"\t\t# \"{own}\"\n\
                 [1](a{host:04x}) \t\"S-00000000000b{switch:04x}\"[{}]\t\t# lid {lid} lmc 0 \"sw{switch}\" lid {} 4xHDR\n",
                ports[switch].len() + 1,
                switch + 1
            );
            ports[switch].push((format!("\"H-00000000000a{host:04x}\"[1](a{host:04x})"), lid, "4xHDR"));
            host += 1;
        }
    }
    for &(a, b, speed) in cables {
        let (to_a, to_b) = (ports[a].len() + 1, ports[b].len() + 1 + usize::from(a == b));
        ports[a].push((format!("\"S-00000000000b{b:04x}\"[{to_b}]"), b + 1, speed));
        ports[b].push((format!("\"S-00000000000b{a:04x}\"[{to_a}]"), a + 1, speed));
    }
    for (switch, ports) in ports.iter().enumerate() {
        let _ = writeln!(
            text,
            "switchguid=0xb{switch:04x}(b{switch:04x})\nSwitch\t36 \"S-00000000000b{switch:04x}\"\t\t# \"sw{switch}\" base port 0 lid {} lmc 0",
            switch + 1
        );
        for (port, (far, lid, speed)) in ports.iter().enumerate() {
            let is_switch = far.starts_with("\"S");
            let name = if is_switch { format!("sw{}", lid - 1) } else { named(lid - 100) };
            let _ = writeln!(text, "[{}]\t{far}\t\t# \"{name}\" lid {lid} {speed}", port + 1);
        }
        text.push('\n');
    }
    let read =
        cabling(kind(text.as_bytes()).unwrap(), "made", text.as_bytes()).unwrap_or_else(|e| panic!("{e}\n{text}"));
    Site::new("made", ("made", read), None).unwrap()
}
