//! What a host says of its own adapters: `lspci -vv` and `ibstat`.

use hotlink_fabric::units::Rate;

/// An adapter behind fewer lanes, or a slower generation, than it could use.
#[derive(Clone, Debug, PartialEq)]
pub struct Narrow {
    /// Line of the file.
    pub line: usize,
    /// Address of the device, with its name.
    pub device: String,
    /// What it could use and has: `32GT/s x16, has 16GT/s x16`.
    pub what: String,
}

/// A port of an adapter.
#[derive(Clone, Debug, PartialEq)]
pub struct Port {
    /// Line of the file.
    pub line: usize,
    /// Adapter and port: `mlx5_0 port 1`.
    pub name: String,
    /// Whether it is up.
    pub is_up: bool,
    /// Its rate.
    pub rate: Option<Rate>,
}

/// Whether a text is of `lspci -vv`.
pub fn is_lspci(text: &str) -> bool {
    text.contains("LnkSta:") && text.contains("LnkCap:")
}

/// Whether it is of one who may not read the links.
pub fn is_lspci_denied(text: &str) -> bool {
    text.contains("Capabilities: <access denied>")
}

/// Whether a text is of `ibstat`.
pub fn is_ibstat(text: &str) -> bool {
    let begins = |line: &str| line.starts_with("CA '") || line.starts_with("CA: '");
    text.lines().any(begins) && text.contains("Physical state:")
}

/// Network adapters of `lspci -vv` whose PCI Express link is below what they can.
pub fn narrow(text: &str) -> Vec<Narrow> {
    let (mut found, mut device, mut capable) = (Vec::new(), None, None);
    for (index, line) in text.lines().enumerate() {
        if line.starts_with(|c: char| c.is_ascii_hexdigit()) {
            let kinds = ["Infiniband controller", "InfiniBand controller", "Ethernet controller", "Network controller"];
            let is_network = kinds.iter().any(|kind| line.contains(kind));
            device = is_network.then(|| line.trim().chars().take(70).collect::<String>());
            capable = None;
        } else if let Some((_, rest)) = line.split_once("LnkCap:") {
            capable = lane(rest);
        } else if let (Some((_, rest)), Some(device)) = (line.split_once("LnkSta:"), &device)
            && let (Some((speed, width)), Some((most, lanes))) = (lane(rest), capable)
            && (speed < most || width < lanes)
        {
            let what = format!("can use {most}GT/s x{lanes}, has {speed}GT/s x{width}");
            found.push(Narrow { line: index + 1, device: device.clone(), what });
        }
    }
    found
}

/// Speed in GT/s and width of `Port #0, Speed 32GT/s, Width x16`.
fn lane(text: &str) -> Option<(f64, u32)> {
    let (_, speed) = text.split_once("Speed ")?;
    let (_, width) = text.split_once("Width x")?;
    let digits = |text: &str| text.chars().take_while(char::is_ascii_digit).collect::<String>().parse().ok();
    Some((speed.split("GT/s").next()?.parse().ok()?, digits(width)?))
}

/// Ports of `ibstat`.
pub fn ports(text: &str) -> Vec<Port> {
    let (mut found, mut adapter) = (Vec::<Port>::new(), String::new());
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(name) = line.strip_prefix("CA '").or_else(|| line.strip_prefix("CA: '")) {
            name.trim_end_matches(':').trim_end_matches('\'').clone_into(&mut adapter);
        } else if let Some(port) = line.strip_prefix("Port ").and_then(|rest| rest.strip_suffix(':')) {
            found.push(Port { line: index + 1, name: format!("{adapter} port {port}"), is_up: true, rate: None });
        } else if let Some(port) = found.last_mut() {
            if let Some(state) = line.strip_prefix("State:") {
                port.is_up = state.trim() == "Active";
            } else if let Some(rate) = line.strip_prefix("Rate:") {
                let gbits = rate.split_whitespace().next().and_then(|word| word.parse::<f64>().ok());
                port.rate = gbits.filter(|rate| (0.0..1e6).contains(rate)).map(|rate| Rate((rate * 1e9 / 8.0) as u64));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written from the form of pciutils' output.
    const LSPCI: &str = "17:00.0 Infiniband controller: Mellanox Technologies MT2910 Family [ConnectX-7]
\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported
\t\tLnkSta:\tSpeed 32GT/s, Width x8 (downgraded)
31:00.0 Infiniband controller: Mellanox Technologies MT2910 Family [ConnectX-7]
\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported
\t\tLnkSta:\tSpeed 32GT/s, Width x16
32:00.0 Non-Volatile memory controller: Some
\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x4, ASPM not supported
\t\tLnkSta:\tSpeed 8GT/s (downgraded), Width x4
";

    #[test]
    fn a_narrow_slot_of_a_network_adapter_is_found() {
        let found = narrow(LSPCI);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].line, found[0].what.as_str()), (3, "can use 32GT/s x16, has 32GT/s x8"));
    }

    #[test]
    fn ports_of_ibstat_have_a_state_and_a_rate() {
        let text = "CA 'mlx5_0'\n\tCA type: MT4129\n\tPort 1:\n\t\tState: Active\n\t\tPhysical state: LinkUp\n\t\tRate: 400\n\
                    CA 'mlx5_1'\n\tPort 1:\n\t\tState: Down\n\t\tPhysical state: Polling\n\t\tRate: 10\n";
        assert!(is_ibstat(text));
        let found = ports(text);
        assert_eq!((found[0].name.as_str(), found[0].is_up), ("mlx5_0 port 1", true));
        assert_eq!(found[0].rate, Some(Rate(50_000_000_000)));
        assert!(!found[1].is_up);
    }
}
