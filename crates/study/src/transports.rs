//! Transports by name, with their numbers from the catalog (`catalog/transports/`), and the switches' buffers and thresholds
//! that go with them.
//!
//! A transport's numbers become parameters of the machine that is asked ([`Control::equipped`]). So answers name the
//! numbers that they used, and uncertain ones are varied like any other.

use crate::Source;
use crate::options::{Connections, Ethernet, Transport};
use hotlink_bench::Record;
use hotlink_fabric::Fabric;
use hotlink_fabric::catalog::Library;
use hotlink_fabric::ledger::Inputs;
use hotlink_fabric::network::{Channel, Node, Resource};
use hotlink_fabric::routing::Routing;
use hotlink_fabric::spec::{FabricSpec, Status, Value};
use hotlink_sim::Settings;
use hotlink_transport::{Config, Control as Kind, Marks, Threshold};
use std::collections::{BTreeMap, BTreeSet};

/// Which transport controls flows, and what is other in the switches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Control {
    /// The transport.
    pub transport: Transport,
    /// Whether it was asked for by its name: records then name [`Transport::None`], too.
    pub named: bool,
    /// Its kind of flow; by default messages where their sizes are those of flows (a distribution), else queue pairs.
    pub connections: Option<Connections>,
    /// Input buffer of a switch port, in bytes; by default the machine's.
    pub buffer: Option<u64>,
    /// Bytes in it from which on the port pauses its link (PFC), and down to which it goes on; by default the machine's shares.
    pub pause: Option<u64>,
    /// See [`Control::pause`].
    pub resume: Option<u64>,
    /// Virtual lanes of a link; by default the machine's.
    pub lanes: Option<u32>,
    /// Bytes of packets that came early which a node can hold; by default any.
    pub reorder: Option<u64>,
    /// Queue from which on switches mark packets, in bytes; by default the transport's.
    pub ecn_low: Option<u64>,
    /// Queue from which on they mark every packet.
    pub ecn_high: Option<u64>,
}

/// Largest buffer that may be asked for, in bytes.
const MOST_BUFFER: u64 = 1 << 30;
/// Units of a transport's numbers, in picoseconds and bytes.
const UNITS: &[(&str, f64)] = &[("us", 1e6), ("ns", 1e3), ("ratio", 1.0), ("B", 1.0), ("count", 1.0), ("packets", 1.0)];

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "name")]
    _name: String,
    #[serde(rename = "title")]
    _title: String,
    parameter: BTreeMap<String, Number>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Number {
    value: f64,
    unit: String,
    source: String,
    status: Status,
    uncertainty: Option<[f64; 2]>,
}

impl Control {
    /// No transport, and nothing other in the switches.
    pub const fn usual() -> Control {
        Control {
            transport: Transport::None,
            named: false,
            connections: None,
            buffer: None,
            pause: None,
            resume: None,
            lanes: None,
            reorder: None,
            ecn_low: None,
            ecn_high: None,
        }
    }

    /// Whether nothing was asked for but, at most, no transport.
    pub fn is_usual(&self) -> bool {
        Control { named: false, ..*self } == Control::usual()
    }

    /// One for each of some transports (none: no transport); thresholds go to those that heed marks.
    ///
    /// # Errors
    /// An impossible buffer or threshold, thresholds where no transport heeds marks, or a transport together with the
    /// model of `--ethernet ecn`.
    pub fn each(transports: &[Transport], ethernet: Ethernet, of: Control) -> Result<Vec<Control>, String> {
        let of = Control { named: !transports.is_empty(), ..of };
        let transports = if of.named { transports } else { &[Transport::None][..] };
        let is_real = |transport: &Transport| !matches!(transport, Transport::None | Transport::Ecn);
        if ethernet == Ethernet::Ecn && transports.iter().any(is_real) {
            return Err(
                "--ethernet ecn: is a transport of its own; with --transport it must be pause or drop".to_owned()
            );
        }
        if of.connections.is_some() && !transports.iter().any(is_real) {
            return Err("--connections: goes with --transport dcqcn, dctcp, swift, nscc, hpcc or credits".to_owned());
        }
        if (of.pause.is_some() || of.resume.is_some()) && ethernet == Ethernet::Drop {
            return Err("--pfc-pause, --pfc-resume: ports that drop packets do not pause (--ethernet drop)".to_owned());
        }
        if let Some(bytes) = of.buffer.filter(|bytes| !(1..=MOST_BUFFER).contains(bytes)) {
            return Err(format!("--buffer {bytes}: must be 1 B to 1 GiB"));
        }
        let thresholds = of.ecn_low.is_some() || of.ecn_high.is_some();
        if thresholds && !transports.iter().any(|transport| transport.heeds_marks()) {
            return Err("--ecn-low, --ecn-high: go with --transport dcqcn, dctcp or nscc, which heed marks".to_owned());
        }
        let one = |&transport: &Transport| match transport.heeds_marks() {
            true => Control { transport, ..of },
            false => Control { transport, ecn_low: None, ecn_high: None, ..of },
        };
        let one = |transport| match (is_real(transport), one(transport)) {
            (true, control) => control,
            (false, control) => Control { connections: None, ..control },
        };
        Ok(transports.iter().map(one).collect())
    }

    /// The same for messages whose sizes are those of flows, each of which opens a connection.
    pub fn of_flows(self) -> Control {
        Control { connections: self.connections.or(Some(Connections::Message)), ..self }
    }

    /// Ethernet's action when a buffer fills, where `asked` is the request.
    pub fn ethernet(&self, asked: Ethernet) -> Ethernet {
        if self.transport == Transport::Ecn { Ethernet::Ecn } else { asked }
    }

    /// The fabric with the transport's numbers among its parameters.
    ///
    /// # Errors
    /// It is no Ethernet, and that was asked for with the transport or as `ethernet`; or the transport's file is wrong.
    pub fn equipped(&self, source: &Source, ethernet: Ethernet) -> Result<Source, String> {
        if ethernet != Ethernet::Pause && source.spec().flow_control.dropping.is_none() {
            let (name, flow) = (source.name(), source.spec().flow_control.name);
            return Err(format!("--ethernet {}: {name} is no Ethernet: it has {flow}", ethernet.name()));
        }
        if self.transport == Transport::None {
            return Ok(source.clone());
        }
        let (name, mut spec) = (self.transport.name(), source.spec().clone());
        if spec.flow_control.dropping.is_none() {
            let what = "its network must be an Ethernet, whose ports pause or drop";
            return Err(format!("--transport {name}: {} has {}; {what}", source.name(), spec.flow_control.name));
        }
        if self.transport != Transport::Ecn {
            let (file, text) = Library::user().open("transports", name).map_err(|mistake| mistake.to_string())?;
            let File { parameter, .. } = toml::from_str(&text).map_err(|error| format!("{file}: {error}"))?;
            for (key, number) in parameter {
                let factor = UNITS.iter().find(|(unit, _)| *unit == number.unit).map(|(_, factor)| factor);
                let units = || UNITS.iter().map(|(unit, _)| *unit).collect::<Vec<_>>().join(", ");
                let factor = factor
                    .ok_or_else(|| format!("{file}: {key}: unit `{}`: must be one of {}", number.unit, units()))?;
                hotlink_transport::check(&key, number.value)
                    .map_err(|what| format!("{file}: {key}: {}: {what}", number.value))?;
                if let Some(range) = number.uncertainty {
                    spec.ranges.insert(format!("parameter.{key}"), range.map(|end| end * factor));
                }
                let Number { value, unit, source, status, .. } = number;
                let value = Value { value: value * factor, unit, source, status };
                spec.parameters.insert(key, value);
            }
        }
        Ok(source.varied(spec))
    }

    /// Settings with the transport, in a network of that machine ([`Control::equipped`]).
    ///
    /// # Errors
    /// A number of the transport is missing, or cannot be.
    pub fn applied(&self, spec: &FabricSpec, fabric: &Fabric, settings: Settings) -> Result<Settings, String> {
        if settings.paths != fabric.spec.paths && matches!(fabric.routing, Routing::Tables(_)) {
            return Err("--paths: forwarding tables say which way packets take".to_owned());
        }
        let least = settings.least_buffer(spec);
        if let Some(bytes) = self.buffer.filter(|&bytes| bytes < u64::from(least)) {
            let what = format!("must hold two packets of {} B on the wire, for a steady stream", least / 2);
            return Err(format!("--buffer {bytes}: {what}: {least} B to 1 GiB on {}; see --packet-size", spec.name));
        }
        let switch_buffer_bytes = self.buffer.map_or(settings.switch_buffer_bytes, |bytes| bytes as u32);
        let transport = self.config(spec, fabric).map_err(|what| format!("--transport {}: {what}", self.transport))?;
        let [pause_share, resume_share] = self.pauses(spec, u64::from(switch_buffer_bytes))?;
        let lanes = self.lanes.or(settings.lanes);
        if self.reorder.is_some() && spec.flow_control.dropping.is_none() {
            return Err(format!("--reorder: {} is no Ethernet, whose adapters repeat packets", spec.name));
        }
        let reorder_bytes = self.reorder;
        Ok(Settings { reorder_bytes, switch_buffer_bytes, transport, pause_share, resume_share, lanes, ..settings })
    }

    /// The shares of a buffer of `buffer` bytes from which on it pauses its link, and at which it goes on.
    fn pauses(&self, spec: &FabricSpec, buffer: u64) -> Result<[Option<f64>; 2], String> {
        if self.pause.is_some() || self.resume.is_some() {
            let name = &spec.name;
            let flow = spec.flow_control;
            if flow.dropping.is_none() {
                let what = "its network must be an Ethernet, whose ports pause";
                return Err(format!("--pfc-pause, --pfc-resume: {name} has {}; {what}", flow.name));
            }
        }
        let share = |option, asked: Option<u64>, most: u64, of: &str| match asked {
            Some(bytes) if !(1..=most).contains(&bytes) => {
                Err(format!("{option} {bytes}: must be 1 B to {most} B, {of}"))
            }
            asked => Ok(asked.map(|bytes| bytes as f64 / buffer as f64)),
        };
        let pause = share("--pfc-pause", self.pause, buffer, "the port's buffer")?;
        let resume = share("--pfc-resume", self.resume, self.pause.unwrap_or(buffer), "where it pauses")?;
        Ok([pause, resume])
    }

    fn config(&self, spec: &FabricSpec, fabric: &Fabric) -> Result<Option<Config>, String> {
        let inputs = Inputs::new(spec);
        let name = self.transport.name();
        let number = |key: &str| -> Result<f64, String> {
            let missing = || format!("catalog/transports/{name}.toml states no {name}_{key}");
            inputs.stated(&format!("{name}_{key}")).ok_or_else(missing)
        };
        if matches!(self.transport, Transport::None | Transport::Ecn) {
            return Ok(None);
        }
        let control = Kind::stated(name, number, || port_rate(fabric))?;
        let ecn = match self.transport.heeds_marks() {
            true => {
                // In bytes, or as time of the port.
                let is_bytes = |key: &str| spec.parameters.get(&format!("{name}_{key}")).is_some_and(|v| v.unit == "B");
                let threshold = |asked: Option<u64>, key| match asked {
                    Some(asked) => Ok::<Threshold, String>(Threshold::Bytes(asked as f64)),
                    None if is_bytes(key) => number(key).map(Threshold::Bytes),
                    None => number(key).map(Threshold::Time),
                };
                // DCTCP has one threshold.
                let other = |asked: Option<u64>| asked.filter(|_| self.transport == Transport::Dctcp);
                let marks = Marks {
                    low: threshold(self.ecn_low.or(other(self.ecn_high)), "ecn_low")?,
                    high: threshold(self.ecn_high.or(other(self.ecn_low)), "ecn_high")?,
                    most: number("ecn_most")?,
                };
                let ports = marking_rates(fabric)?;
                let mut each = ports.iter().map(|&rate| marks.at(rate));
                if let Some(ecn) = each.find(|ecn| ecn.low_bytes > ecn.high_bytes) {
                    let (low, high) = (ecn.low_bytes, ecn.high_bytes);
                    return Err(format!("marks from {low} B to {high} B: --ecn-low is above --ecn-high"));
                }
                Some(match ports[..] {
                    [rate] => marks.at(rate).into(),
                    _ => marks,
                })
            }
            false => None,
        };
        let connections = self.connections.unwrap_or(Connections::Pair).into();
        Ok(Some(Config { control, connections, ecn }))
    }

    /// The record with the transport, the buffers and the thresholds, where any was asked for.
    pub fn told(&self, mut record: Record, ethernet: Ethernet, settings: &Settings) -> Record {
        if self.named || self.transport != Transport::None {
            record.set("transport", self.transport.name());
        }
        if self.transport != Transport::None || ethernet != Ethernet::Pause {
            record.set("ethernet", self.ethernet(ethernet).name());
        }
        if let Some(transport) = settings.transport {
            let is_pair = transport.connections == Connections::Pair.into();
            record.set("connections", if is_pair { Connections::Pair } else { Connections::Message }.name());
        }
        if self.transport != Transport::None || self.buffer.is_some() {
            record.set("buffer_B", settings.switch_buffer_bytes);
        }
        for (key, asked) in [("pfc_pause_B", self.pause), ("pfc_resume_B", self.resume), ("reorder_B", self.reorder)] {
            asked.iter().for_each(|&bytes| record.set(key, bytes));
        }
        self.lanes.iter().for_each(|&lanes| record.set("virtual_lanes", lanes));
        if let Some(ecn) = settings.transport.and_then(|transport| transport.ecn) {
            for (threshold, bytes, time) in
                [(ecn.low, "ecn_low_B", "ecn_low_us"), (ecn.high, "ecn_high_B", "ecn_high_us")]
            {
                match threshold {
                    Threshold::Bytes(own) => record.set(bytes, own),
                    Threshold::Time(ps) => record.set(time, ps / 1e6),
                }
            }
        }
        record
    }
}

/// Rate of a node's link in bytes per second; of a GPU's links the slowest, which leads into the network. Where a node's
/// own ports have none, as those to its adapters, it is that of the ports behind them.
fn port_rate(fabric: &Fabric) -> Result<f64, String> {
    let mut reached = vec![Node(0).vertex()];
    for _ in 0..2 {
        let ports: Vec<Channel> = reached.iter().flat_map(|&at| fabric.network.out(at)).collect();
        let rates = ports.iter().filter_map(|&port| fabric.gross(Resource::Channel(port)));
        if let Some(least) = rates.map(|rate| rate.0).min() {
            return Ok(least as f64);
        }
        reached = ports.into_iter().map(|port| fabric.network.to(port)).collect();
    }
    Err(format!("{}: the links of nodes have no rate", fabric.spec.name))
}

/// The rates of the ports that mark packets, those of switches, in bytes per second: each once.
fn marking_rates(fabric: &Fabric) -> Result<Vec<f64>, String> {
    let network = &fabric.network;
    let ports = (0..network.channels() as u32).map(Channel).filter(|&port| !network.is_node(network.from(port)));
    let rates: BTreeSet<_> =
        ports.filter_map(|port| fabric.gross(Resource::Channel(port))).map(|rate| rate.0).collect();
    match rates.is_empty() {
        true => port_rate(fabric).map(|rate| vec![rate]),
        false => Ok(rates.into_iter().map(|rate| rate as f64).collect()),
    }
}
