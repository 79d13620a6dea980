//! Messages at random times as a schedule: clocks that wait, and messages that set out when they strike.

use super::Setting;
use super::plan::Repeat;
use hotlink_event::random::Random;
use hotlink_event::sizes::SizeLaw;
use hotlink_fabric::Fabric;
use hotlink_fabric::network::Node;
use hotlink_fabric::traffic::{Demand, Flow, Traffic};
use hotlink_schedule::{Draft, NONE, Schedule};
use hotlink_study::bound::pattern::Pattern;
use std::collections::BTreeMap;

/// What is offered.
pub(super) struct Offered<'a> {
    pub(super) traffic: &'a Traffic,
    pub(super) law: &'a SizeLaw,
    /// Share of what the pattern would get alone.
    pub(super) load: f64,
    pub(super) until: Repeat,
    pub(super) seed: u64,
}

/// The processor of a rank's clock.
const TICKING: u8 = 0;
/// That of its sends.
const SENDS: u8 = 1;
/// That of its receives.
const RECEIVES: u8 = 2;
/// Most messages: some gigabytes of memory.
const MOST_MESSAGES: u64 = 20_000_000;

/// The schedule of traffic among some nodes; a key and what is wrong with it otherwise.
pub(super) fn schedule(
    offered: &Offered<'_>,
    nodes: &[u32],
    fabric: &Fabric,
    setting: &Setting<'_>,
) -> Result<Schedule, (&'static str, String)> {
    let ranks = nodes.len() as u32;
    let demand = offered.traffic.demand(ranks, offered.seed).map_err(|error| ("traffic", error.to_string()))?;
    let (sent, _) = demand.per_node();
    let senders = sent.iter().filter(|&&sent| sent > 0.0).count();
    if senders == 0 {
        return Err(("traffic", format!("no node sends among {ranks} nodes")));
    }
    let bytes = offered.law.mean();
    let alone = alone(&demand, nodes, bytes.round() as u64, fabric, setting).map_err(|what| ("traffic", what))?;
    let mbps = offered.load * alone;
    // As `simulate traffic`: an average sender offers that; the others in proportion. MB/s is bytes per microsecond.
    let mean = sent.iter().sum::<f64>() / senders as f64;
    let gap_ps = bytes.max(1.0) / mbps * 1e6;
    let most = match offered.until {
        Repeat::Times(messages) => u64::from(messages) * senders as u64,
        Repeat::For(time) => (time.0 as f64 / gap_ps * senders as f64) as u64,
    };
    if most > MOST_MESSAGES {
        return Err(("messages", format!("about {most} messages: at most {MOST_MESSAGES}")));
    }
    let mut draft = Draft::new(ranks);
    let mut pairs = BTreeMap::<(u32, u32), Vec<u64>>::new();
    let targets = targets(&demand);
    for rank in 0..ranks {
        let own = &targets[rank as usize];
        let Some(&(_, total)) = own.last() else { continue };
        let mut random = Random::new(offered.seed ^ u64::from(rank) << 32);
        let gap = gap_ps * mean / sent[rank as usize];
        let (mut now, mut count, mut clock) = (0u64, 0u32, None);
        loop {
            let wait = random.exponential_ps(gap);
            now += wait;
            let is_over = match offered.until {
                Repeat::Times(messages) => count >= messages,
                Repeat::For(time) => now > time.0,
            };
            if is_over {
                break;
            }
            let point = random.unit() * total;
            let to = own[own.partition_point(|(_, upto)| *upto <= point).min(own.len() - 1)].0;
            let struck = draft.calc(rank, TICKING, wait);
            clock.into_iter().for_each(|before| draft.requires(rank, struck, before));
            // Each has a tag of its own: they share their sender, as in `simulate traffic`.
            let sizes = pairs.entry((to, rank)).or_default();
            let bytes = offered.law.draw(&mut random);
            let send = draft.send(rank, to, bytes, sizes.len() as u32, SENDS);
            draft.requires(rank, send, struck);
            (clock, count) = (Some(struck), count + 1);
            sizes.push(bytes);
        }
    }
    for ((to, from), sizes) in pairs {
        (0..).zip(sizes).for_each(|(number, bytes)| _ = draft.recv(to, from, bytes, number, RECEIVES));
    }
    if draft.is_empty() {
        return Err(("for_us", "no message sets out in that time".to_owned()));
    }
    Ok(draft.builder(NONE).build())
}

/// MB/s that each sender gets where nobody else is.
fn alone(demand: &Demand, nodes: &[u32], bytes: u64, fabric: &Fabric, setting: &Setting<'_>) -> Result<f64, String> {
    let mut flows = Vec::new();
    demand.pairs(|from, to, amount| {
        let [source, destination] = [from, to].map(|rank| Node(nodes[rank.0 as usize]));
        flows.push(Flow { source, destination, amount });
    });
    let demand = Demand { nodes: fabric.nodes(), all_pairs: 0.0, flows };
    let pattern = Pattern::of_paths(fabric, &demand, setting.capacities, bytes, setting.routes)?;
    let mbps = pattern.bounds.bandwidth_per_node_mbps;
    if mbps.is_finite() {
        Ok(mbps)
    } else {
        Err("nothing limits the pattern here, so that a load means nothing".to_owned())
    }
}

/// By rank: whom it sends to, with amounts added up.
fn targets(demand: &Demand) -> Vec<Vec<(u32, f64)>> {
    let mut all: Vec<Vec<(u32, f64)>> = vec![Vec::new(); demand.nodes as usize];
    demand.pairs(|from, to, amount| {
        let own = &mut all[from.0 as usize];
        let before = own.last().map_or(0.0, |last| last.1);
        if amount > 0.0 {
            own.push((to.0, before + amount));
        }
    });
    all
}
