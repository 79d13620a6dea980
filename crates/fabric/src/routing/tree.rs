//! Distances in a folded tree without a search.
//!
//! In a complete fat tree, or k-ary n-tree, the homes below a device are a range of neighbours. All devices above it
//! have one and the same range below them. Devices of one level and range form a block, and the blocks form a tree. The
//! distance between a device and a home is that in the tree of blocks. A search for each home would take time and
//! memory that grow with the square of the nodes. A quaternary tree of 65,536 nodes has 16,384 homes.

use crate::attachment::Attachment;
use crate::network::{Channel, Network, Vertex};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// No block.
const NONE: u32 = u32::MAX;

/// Devices of one level above the same homes.
#[derive(Clone, Debug)]
struct Block {
    /// Links between its devices and their homes.
    level: u32,
    /// Homes below, by place in [`Attachment::homes`].
    homes: Range<u32>,
    /// The block above; [`NONE`] at the root.
    above: u32,
}

/// The blocks of a network that is a complete folded tree.
#[derive(Debug)]
pub struct Tree {
    blocks: Vec<Block>,
    /// Block of each device.
    block: Vec<u32>,
    /// The first device: nodes have lower numbers.
    first: u32,
    ways: Ways,
}

/// The channels between devices, so ordered that those of a path lie together. Each device has those up by number, then
/// those down by the homes that they lead to.
#[derive(Debug, Default)]
struct Ways {
    channels: Vec<Channel>,
    /// For each of `channels` that leads down, the first home that it leads to.
    home: Vec<u32>,
    /// Where those of each device begin, and those of them that lead down.
    start: Vec<[u32; 2]>,
}

impl Tree {
    /// The blocks; `None` where the network is no complete folded tree. A node may not have several links, nor a link
    /// lie within a level. All devices above a device must lead to the same homes (a broken link may prevent it).
    pub fn find(network: &Network, at: &Attachment) -> Option<Tree> {
        if !network.node_iter().all(|node| at.has_home(node)) {
            return None;
        }
        let first = network.nodes;
        let level = levels(network, at)?;
        let mut tree = Tree { blocks: Vec::new(), block: vec![NONE; level.len()], first, ways: Ways::default() };
        for (group, home) in (0..).zip(&at.homes) {
            tree.block[(home.0 - first) as usize] = group;
            tree.blocks.push(Block { level: 0, homes: group..group + 1, above: NONE });
        }
        let mut upward: Vec<Vertex> = (first..network.vertices() as u32).map(Vertex).collect();
        upward.sort_by_key(|v| level[(v.0 - first) as usize]);
        let mut known = BTreeMap::new();
        for &v in upward.iter().filter(|v| level[(v.0 - first) as usize] > 0) {
            let level = level[(v.0 - first) as usize];
            let homes = tree.below(network, v, level)?;
            let next = tree.blocks.len() as u32;
            let block = *known.entry((level, homes.start)).or_insert(next);
            if block == next {
                tree.blocks.push(Block { level, homes: homes.clone(), above: NONE });
            }
            if tree.blocks[block as usize].homes != homes {
                return None;
            }
            tree.block[(v.0 - first) as usize] = block;
        }
        tree.join(network, &upward)?;
        tree.ways = tree.sorted(network);
        Some(tree)
    }

    /// The homes below a device: its children's, if they are neighbours and none is in two of them.
    fn below(&self, network: &Network, v: Vertex, level: u32) -> Option<Range<u32>> {
        let mut below: Vec<u32> = self.around(network, v).filter(|&b| self.is_below(b, level)).collect();
        below.sort_by_key(|&b| (self.blocks[b as usize].homes.start, b));
        below.dedup();
        let ranges = || below.iter().map(|&b| &self.blocks[b as usize].homes);
        let neighbours = ranges().zip(ranges().skip(1)).all(|(a, b)| a.end == b.start);
        neighbours.then_some(ranges().next()?.start..ranges().next_back()?.end)
    }

    /// Blocks known so far of the devices that a device leads to.
    fn around(&self, network: &Network, v: Vertex) -> impl Iterator<Item = u32> {
        let devices = network.out(v).map(|channel| network.to(channel)).filter(|to| to.0 >= self.first);
        devices.map(|to| self.block[(to.0 - self.first) as usize])
    }

    fn is_below(&self, block: u32, level: u32) -> bool {
        block != NONE && self.blocks[block as usize].level + 1 == level
    }

    /// Names the block above each block. `None` if its devices differ, a block does not lead back, or homes lie
    /// elsewhere.
    fn join(&mut self, network: &Network, upward: &[Vertex]) -> Option<()> {
        let mut seen = vec![false; self.blocks.len()];
        for &v in upward {
            let own = self.block[(v.0 - self.first) as usize];
            let level = self.blocks[own as usize].level;
            let above = self.around(network, v).filter(|&b| self.blocks[b as usize].level > level);
            let mut above: Vec<u32> = above.collect();
            above.dedup();
            let one = above.first().copied().unwrap_or(NONE);
            if above.len() > 1 || seen[own as usize] && self.blocks[own as usize].above != one {
                return None;
            }
            seen[own as usize] = true;
            self.blocks[own as usize].above = one;
        }
        let leads_back = |&v: &Vertex| {
            let own = self.block[(v.0 - self.first) as usize];
            let level = self.blocks[own as usize].level;
            self.around(network, v).filter(|&b| self.is_below(b, level)).all(|b| self.blocks[b as usize].above == own)
        };
        // Where every path up ends above all homes, every home can be reached.
        let all = self.blocks.iter().filter(|block| block.level == 0).count() as u32;
        let leads_on = |block: &Block| match self.blocks.get(block.above as usize) {
            Some(above) => above.homes.start <= block.homes.start && block.homes.end <= above.homes.end,
            None => block.homes == (0..all),
        };
        (upward.iter().all(leads_back) && self.blocks.iter().all(leads_on)).then_some(())
    }

    fn of(&self, device: Vertex) -> &Block {
        &self.blocks[self.block_of(device)]
    }

    /// How many blocks there are.
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// The block of a device.
    pub fn block_of(&self, device: Vertex) -> usize {
        self.block[(device.0 - self.first) as usize] as usize
    }

    /// Links between the devices of a block and their homes.
    pub fn level(&self, block: usize) -> u32 {
        self.blocks[block].level
    }

    /// The homes below a block, by place in [`Attachment::homes`].
    pub fn homes(&self, block: usize) -> Range<usize> {
        let Range { start, end } = self.blocks[block].homes;
        start as usize..end as usize
    }

    /// The block above; `None` at the root. The block of home `group` is number `group`.
    pub fn above(&self, block: usize) -> Option<usize> {
        Some(self.blocks[block].above).filter(|&above| above != NONE).map(|above| above as usize)
    }

    /// Hops from a device to home `group`.
    pub fn distance(&self, from: Vertex, group: u32) -> Option<u32> {
        let own = self.of(from);
        let mut top = own;
        while !top.homes.contains(&group) {
            top = self.blocks.get(top.above as usize)?;
        }
        Some(2 * top.level - own.level)
    }

    fn sorted(&self, network: &Network) -> Ways {
        let (mut ways, mut down) = (Ways::default(), Vec::new());
        for from in (self.first..network.vertices() as u32).map(Vertex) {
            let (start, level) = (ways.channels.len() as u32, self.of(from).level);
            for channel in network.out(from).filter(|&channel| network.to(channel).0 >= self.first) {
                let to = self.of(network.to(channel));
                if to.level > level { ways.channels.push(channel) } else { down.push((to.homes.start, channel)) }
            }
            ways.start.push([start, ways.channels.len() as u32]);
            down.sort_unstable_by_key(|&(home, channel)| (home, channel.0));
            ways.home.resize(ways.channels.len(), 0);
            for (home, channel) in down.drain(..) {
                ways.home.push(home);
                ways.channels.push(channel);
            }
        }
        ways.start.push([ways.channels.len() as u32; 2]);
        ways
    }

    /// All that [`Tree::ways`] may give, one after the other.
    pub fn sets(&self) -> impl Iterator<Item = &[Channel]> {
        let Ways { channels, home, start } = &self.ways;
        start.windows(2).flat_map(move |pair| {
            let ([first, down], [end, _]) = (pair[0], pair[1]);
            let (up, mut below) = channels[first as usize..end as usize].split_at((down - first) as usize);
            let same = home[down as usize..end as usize].chunk_by(|a, b| a == b);
            std::iter::once(up).chain(same.map(move |homes| below.split_off(..homes.len()).unwrap_or_default()))
        })
    }

    /// The channels from a device that are on a shortest path to home `group`, by number.
    pub fn ways(&self, from: Vertex, group: u32) -> &[Channel] {
        let at = (from.0 - self.first) as usize;
        let Ways { channels, home, start } = &self.ways;
        let ([first, down], [end, _]) = (start[at], start[at + 1]);
        if !self.of(from).homes.contains(&group) {
            return &channels[first as usize..down as usize];
        }
        // The homes below a device are those of its children, without a gap: the last that begins early enough has it.
        let homes = &home[down as usize..end as usize];
        let after = homes.partition_point(|&home| home <= group);
        let before = after - homes[..after].iter().rev().take_while(|&&home| home == homes[after - 1]).count();
        &channels[down as usize + before..down as usize + after]
    }
}

/// Links between each device and the nearest home. `None` if one has no path or a link lies within a level.
fn levels(network: &Network, at: &Attachment) -> Option<Vec<u32>> {
    let first = network.nodes;
    let mut level = vec![u32::MAX; network.vertices() - first as usize];
    at.homes.iter().for_each(|home| level[(home.0 - first) as usize] = 0);
    let mut queue: VecDeque<Vertex> = at.homes.iter().copied().collect();
    while let Some(v) = queue.pop_front() {
        let next = level[(v.0 - first) as usize] + 1;
        for to in network.out(v).map(|channel| network.to(channel)).filter(|to| to.0 >= first) {
            let level = &mut level[(to.0 - first) as usize];
            if *level == u32::MAX {
                *level = next;
                queue.push_back(to);
            }
        }
    }
    let of = |v: Vertex| v.0.checked_sub(first).map(|device| level[device as usize]);
    let apart = |(from, to): (&Vertex, &Vertex)| match (of(*from), of(*to)) {
        (Some(from), Some(to)) => from.abs_diff(to) == 1,
        _ => true,
    };
    let all_reached = level.iter().all(|&level| level != u32::MAX);
    (all_reached && network.from.iter().zip(&network.to).all(apart)).then_some(level)
}
