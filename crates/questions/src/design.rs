//! Which network to buy.

use crate::values::{Numbers, Size, word, wrong};
use hotlink_design::{Floor, Limit, Request, collective_named};
use hotlink_study::values::Ratios;
use serde::Deserialize;
use std::path::PathBuf;

/// Ports towards hosts over ports towards other switches: 2, or "2:1".
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "must be a number above 0, or a text such as 2:1")]
enum Ratio {
    Number(f64),
    Text(String),
}

/// Variants for a number of hosts, and the front that no other beats.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Design {
    hosts: Numbers,
    technology: Vec<String>,
    oversubscription: Vec<Ratio>,
    gpus_per_host: Option<u32>,
    links_per_host: u32,
    prices: Option<PathBuf>,
    max_cost: Option<f64>,
    max_power: Option<f64>,
    max_racks: Option<f64>,
    max_cable: Option<f64>,
    min_share: Vec<(String, f64)>,
    survive: Vec<(String, f64)>,
    hosts_per_rack: Option<u32>,
    switches_per_rack: Option<u32>,
    racks_per_row: Option<u32>,
    rack_width: Option<f64>,
    row_pitch: Option<f64>,
    slack: Option<f64>,
    copper_reach: Option<f64>,
    collective: Vec<String>,
    size: Size,
    samples: u64,
    seed: u64,
    simulate: bool,
    why: Option<String>,
}

impl Default for Design {
    fn default() -> Design {
        Design {
            hosts: Numbers::Many(Vec::new()),
            technology: ["infiniband", "roce", "slingshot"].map(str::to_owned).into(),
            oversubscription: vec![Ratio::Number(1.0)],
            gpus_per_host: None,
            links_per_host: 1,
            prices: None,
            max_cost: None,
            max_power: None,
            max_racks: None,
            max_cable: None,
            min_share: Vec::new(),
            survive: Vec::new(),
            hosts_per_rack: None,
            switches_per_rack: None,
            racks_per_row: None,
            rack_width: None,
            row_pitch: None,
            slack: None,
            copper_reach: None,
            collective: ["allreduce", "alltoall"].map(str::to_owned).into(),
            size: Size::Bytes(1 << 20),
            samples: 5,
            seed: 1,
            simulate: false,
            why: None,
        }
    }
}

impl Design {
    fn limits(&self) -> Result<Vec<Limit>, hotlink_study::Error> {
        let most = |name: &str, value: Option<f64>, limit: fn(f64) -> Limit| {
            let checked = |value: f64| Limit::most(&value.to_string()).map(limit).map_err(|what| wrong(name, &what));
            value.map(checked).transpose()
        };
        let most = [
            most("max_cost", self.max_cost, Limit::Cost)?,
            most("max_power", self.max_power, Limit::Power)?,
            most("max_racks", self.max_racks, Limit::Racks)?,
            most("max_cable", self.max_cable, Limit::Cable)?,
        ];
        let mut limits: Vec<Limit> = most.into_iter().flatten().collect();
        for (pattern, share) in &self.min_share {
            limits.push(Limit::share(&format!("{pattern}={share}")).map_err(|what| wrong("min_share", &what))?);
        }
        for (part, share) in &self.survive {
            limits.push(Limit::survive(&format!("{part}={share}")).map_err(|what| wrong("survive", &what))?);
        }
        Ok(limits)
    }

    fn oversubscriptions(&self) -> Result<Vec<f64>, hotlink_study::Error> {
        let list = |ratio: &Ratio| match ratio {
            Ratio::Number(one) => Ok(vec![*one]),
            Ratio::Text(text) => word::<Ratios>("oversubscription", text).map(|list| list.to_vec()),
        };
        let lists: Vec<Vec<f64>> = self.oversubscription.iter().map(list).collect::<Result<_, _>>()?;
        Ok(lists.concat())
    }

    /// As the library takes it.
    ///
    /// # Errors
    /// Of arguments.
    pub fn request(&self) -> Result<Request, hotlink_study::Error> {
        let usual = Floor::default();
        let which = |name: &String| collective_named(name).map_err(|what| wrong("collective", &what));
        Ok(Request {
            hosts: self.hosts.list_of("hosts")?,
            gpus_per_host: self.gpus_per_host,
            links_per_host: self.links_per_host,
            technologies: self.technology.clone(),
            oversubscriptions: self.oversubscriptions()?,
            prices: self.prices.clone(),
            floor: Floor {
                hosts_per_rack: self.hosts_per_rack.unwrap_or(usual.hosts_per_rack),
                switches_per_rack: self.switches_per_rack.unwrap_or(usual.switches_per_rack),
                racks_per_row: self.racks_per_row.unwrap_or(usual.racks_per_row),
                rack_width_m: self.rack_width.unwrap_or(usual.rack_width_m),
                row_pitch_m: self.row_pitch.unwrap_or(usual.row_pitch_m),
                slack_m: self.slack.unwrap_or(usual.slack_m),
                copper_m: self.copper_reach.unwrap_or(usual.copper_m),
            },
            limits: self.limits()?,
            collectives: self.collective.iter().map(which).collect::<Result<_, _>>()?,
            size: self.size.bytes("size")?,
            samples: self.samples,
            seed: self.seed,
            simulate: self.simulate,
            why: self.why.clone(),
        })
    }
}
