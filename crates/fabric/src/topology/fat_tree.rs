//! Folded Clos networks: leaf-spine, three-level and deeper fat trees, k-ary n-trees; with oversubscribed leaves and
//! partial populations.
//!
//! A block of level 0 is a leaf. A block of a higher level joins up to k = radix / 2 blocks below by switches with k
//! ports down and k up. It has one switch for every up port of a lower block, and each lower block has one link to each
//! switch. The top level needs no up ports. Where a vendor turns them down, it joins up to `radix` blocks.
//!
//! Where there are fewer blocks, the top has fewer switches with parallel links: the fewest whose ports suffice. Some may
//! have one link to each block less than others. Then fewer packets take them, for packets spread over links.
//!
//! The last block below the spines, where it is not full, has fewer switches with parallel links, too. Each of them
//! stands for several of a full block and has their links. Up it has those that what is below it needs, in whole links to
//! each spine. In deeper trees, blocks further down are built whole: each switch above has a link to each of them.
//!
//! Nodes fill leaves in order, leaves fill blocks in order. Where an oversubscription does not divide a leaf's ports,
//! the leaf has the next port up, not one less.

use super::switches::{MAX_PORTS, RADIX, check_ratio, leaf_ports, ratios};
use super::{Registered, Shape, Topology, TopologySpec, add_tier, check_channels, check_range, fewest, invalid};
use crate::error::BuildError;
use crate::network::{Builder, Network, Vertex};
use crate::sheet::Table;
use crate::terms::Role;

/// The registry's entry.
pub(crate) const ENTRY: Registered =
    Registered { kind: "fat-tree", meaning: "folded Clos in any number of levels; k-ary n-tree", read };

/// Folded Clos of switches with `radix` ports in `levels` levels, as small as the number of nodes allows. Also the
/// k-ary n-tree (`top_all_down = false`, k = radix / 2).
#[derive(Clone, Debug, PartialEq)]
pub struct FatTree {
    /// Ports of a switch.
    pub radix: u32,
    /// Most levels of switches (fewer are built where they suffice); `None`: as many as needed.
    pub levels: Option<u32>,
    /// Node ports over up ports of a leaf: 1 is full bisection.
    pub oversubscription: f64,
    /// The top level turns all its ports down (a vendor's fat tree) or leaves the up ports unused (k-ary n-tree).
    pub top_all_down: bool,
}

impl FatTree {
    /// Nodes that so many levels hold: a leaf's, times k for each level between, times the ports of the top that lead
    /// down.
    pub fn most(&self, levels: u32) -> u64 {
        let top = u64::from(self.top_down());
        match levels {
            0 | 1 => top,
            _ => (2..levels).fold(u64::from(leaf_ports(self.radix, self.oversubscription)[0]) * top, |all, _| {
                all.saturating_mul((self.radix / 2).into())
            }),
        }
    }
    /// Ports of a switch of the top that lead down.
    fn top_down(&self) -> u32 {
        if self.top_all_down { self.radix } else { self.radix / 2 }
    }
}

fn read(table: &Table<'_>) -> Option<TopologySpec> {
    let radix = table.count("radix", RADIX);
    if radix.is_some_and(|radix| radix % 2 == 1) {
        table.wrong("radix", "half of a switch's ports lead up", "an even number");
    }
    let levels = table.count_opt("levels", 1..=8);
    let oversubscription = table.number_opt("oversubscription", ratios(radix.unwrap_or(MAX_PORTS))).unwrap_or(1.0);
    let top_all_down = table.flag_opt("top_all_down").unwrap_or(true);
    Some(TopologySpec::new(FatTree { radix: radix?, levels, oversubscription, top_all_down }))
}

impl Topology for FatTree {
    fn kind(&self) -> &'static str {
        ENTRY.kind
    }
    fn build(&self, nodes: u32) -> Result<(Network, Shape), BuildError> {
        build(nodes, self)
    }
    fn fields(&self) -> Vec<(&'static str, String)> {
        let mut fields = vec![("radix", self.radix.to_string())];
        fields.extend(self.levels.map(|levels| ("levels", levels.to_string())));
        fields.push(("oversubscription", toml::Value::Float(self.oversubscription).to_string()));
        fields.push(("top_all_down", self.top_all_down.to_string()));
        fields
    }
}

/// Most levels; with radix 4 they hold more nodes than a fabric may have.
const MAX_LEVELS: u32 = 24;

/// Sizes that follow from the parameters and the number of nodes.
#[derive(Debug, PartialEq)]
struct Plan {
    levels: u32,
    /// Ports of a leaf to nodes, and up.
    leaf_down: u32,
    leaf_up: u32,
    leaves: u32,
    /// Half the radix.
    k: u32,
    /// Switches of the top level that share the links of one switch below.
    top_per_plane: u32,
    /// The last block below the spines, where it is not full.
    last: Option<Last>,
}

/// A block that is not full.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Last {
    /// Switches at its top.
    middles: u32,
    /// Links up in each plane, which are those above one switch of a full block.
    ups: u32,
}

impl Last {
    /// For so many blocks below it, of the `k` of a full one, which has `tops` switches at its top. Its links to each spine
    /// are the same share of a full block's, rounded up. So each spine leads to each block.
    fn of(below: u32, tops: u32, k: u32, per_plane: u32) -> Last {
        let full = |spine: u32| k / per_plane + u32::from(spine < k % per_plane);
        let ups = (0..per_plane).map(|spine| (full(spine) * below).div_ceil(k)).sum::<u32>();
        Last { middles: tops.div_ceil(k / ups), ups }
    }
}

/// Builds the smallest tree of at most `levels` levels that holds the nodes.
fn build(nodes: u32, tree: &FatTree) -> Result<(Network, Shape), BuildError> {
    let plan = plan(nodes, tree)?;
    let mut b = Builder::new(nodes);
    let mut tiers = Vec::new();
    let leaf =
        add_tier(&mut b, &mut tiers, if plan.levels == 1 { "switch" } else { "leaf" }, plan.leaves, 0, Role::Switch);
    for node in 0..nodes {
        b.link(Vertex(node), Vertex(leaf.0 + node / plan.leaf_down), Role::Link);
    }
    // For the level below: first switch, blocks, switches at the top of each block, up ports of each switch.
    let (mut below, mut blocks, mut tops, mut ups) = (leaf, plan.leaves, 1, plan.leaf_up);
    for level in 1..plan.levels {
        let is_top = level + 1 == plan.levels;
        let (joined, name) = if is_top { (blocks, "spine") } else { (plan.k, "middle") };
        let per_plane = if is_top { plan.top_per_plane } else { ups };
        let here = blocks.div_ceil(joined);
        // Switches of the level's last block.
        let ends = plan.last.filter(|_| level + 2 == plan.levels).map_or(tops * per_plane, |last| last.middles);
        let first = add_tier(&mut b, &mut tiers, name, (here - 1) * tops * per_plane + ends, level, Role::Switch);
        let last = plan.last.filter(|_| is_top);
        let whole = (blocks - u32::from(last.is_some())) * tops;
        for lower in 0..whole {
            let (block, top) = (lower / tops / joined, lower % tops);
            for port in 0..ups {
                let plane = top * per_plane + port % per_plane;
                let own = if block + 1 == here { plane % ends } else { plane };
                let upper = block * tops * per_plane + own;
                b.link(Vertex(below.0 + lower), Vertex(first.0 + upper), Role::SwitchLink);
            }
        }
        // A switch of the last block has the links of every so many switches of a full one, in turn.
        let own = last.iter().flat_map(|last| (0..last.ups * tops).map(move |link| (last, link / tops, link % tops)));
        for (last, port, top) in own {
            let (lower, upper) = (whole + top % last.middles, top * per_plane + port % per_plane);
            b.link(Vertex(below.0 + lower), Vertex(first.0 + upper), Role::SwitchLink);
        }
        (below, blocks, tops, ups) = (first, here, tops * per_plane, plan.k);
    }
    Ok((b.build(), Shape::Tiers(tiers)))
}

fn plan(n: u32, tree: &FatTree) -> Result<Plan, BuildError> {
    let &FatTree { radix, levels, oversubscription, top_all_down } = tree;
    check_range("radix", radix, RADIX)?;
    check_range("levels", levels.unwrap_or(1), 1..=MAX_LEVELS)?;
    if !radix.is_multiple_of(2) {
        return Err(invalid(format!("radix = {radix}: an even number")));
    }
    check_ratio(oversubscription, radix)?;
    let k = radix / 2;
    let alone = tree.top_down();
    if n <= alone {
        return Ok(Plan { levels: 1, leaf_down: alone, leaf_up: 0, leaves: 1, k, top_per_plane: 0, last: None });
    }
    let [leaf_down, leaf_up] = leaf_ports(radix, oversubscription);
    let leaves = n.div_ceil(leaf_down);
    let mut blocks = leaves;
    let mut needed = 2;
    while blocks > alone && needed < MAX_LEVELS && k > 1 {
        blocks = blocks.div_ceil(k);
        needed += 1;
    }
    let allowed = levels.unwrap_or(MAX_LEVELS);
    if needed > allowed || blocks > alone {
        let most = tree.most(allowed);
        let levels = if allowed == 1 { "1 level".to_owned() } else { format!("{allowed} levels") };
        return Err(invalid(format!("{n} nodes do not fit: {levels} of switches with {radix} ports can hold {most}")));
    }
    let ups = if needed == 2 { leaf_up } else { k };
    check_channels(2 * (u64::from(n) + u64::from(needed) * u64::from(leaves) * u64::from(leaf_up)))?;
    let top_per_plane = if top_all_down { fewest(blocks, ups, radix) } else { ups };
    // Below the spines, a block joins k blocks of the level under it.
    let (under, tops) = (leaves.div_ceil(k.pow(needed.saturating_sub(3))), leaf_up * k.pow(needed.saturating_sub(3)));
    let last = (needed >= 3 && !under.is_multiple_of(k)).then(|| Last::of(under % k, tops, k, top_per_plane));
    Ok(Plan { levels: needed, leaf_down, leaf_up, leaves, k, top_per_plane, last })
}
