//! Two binary trees between the domains, of which each carries half. Within each domain, the GPUs form a chain, which
//! turns in a mesh as rings do. (Sanders, Speck, Träff: Two-tree algorithms for full bandwidth broadcast, reduction and
//! scan, 2009.)

use std::collections::BTreeSet;

use super::lane::Lane;
use super::ring::step;
use super::{Home, Machine, chunks, pipelined, share};
use crate::draft::Draft;

/// A domain's place in a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub parent: Option<u32>,
    pub children: Vec<u32>,
}

/// The first tree: node i hangs below the nearest node with one more low zero bit; node 0 is the root.
fn first(domains: u32, index: u32) -> Option<u32> {
    if index == 0 {
        return None;
    }
    let bit = 1 << index.trailing_zeros();
    let parent = (index ^ bit) | (bit << 1);
    Some(if parent < domains { parent } else { index ^ bit })
}

/// Tree 0, or tree 1, in which what were leaves are inner nodes: mirrored, or with an odd number moved by one.
fn parent(domains: u32, tree: u32, index: u32) -> Option<u32> {
    if tree == 0 {
        return first(domains, index);
    }
    match domains.is_multiple_of(2) {
        true => first(domains, domains - 1 - index).map(|up| domains - 1 - up),
        false => first(domains, (index + domains - 1) % domains).map(|up| (up + 1) % domains),
    }
}

pub(super) fn place(domains: u32, tree: u32, index: u32) -> Place {
    // A power of two lies between a domain and its parent, around the end where the second tree is moved by one.
    let powers = (0..u32::BITS).map(|bit| 1 << bit).take_while(|&power| power < domains);
    let near = powers.flat_map(|power| [(index + power) % domains, (index + domains - power) % domains]);
    let children: BTreeSet<u32> = near.filter(|&below| parent(domains, tree, below) == Some(index)).collect();
    Place { parent: parent(domains, tree, index), children: children.into_iter().collect() }
}

/// Halves of the data that the busiest domain sends to others, both trees together.
pub fn halves(domains: u32) -> u32 {
    let of = |index: u32, tree: u32| {
        let place = place(domains, tree, index);
        u32::from(place.parent.is_some()) + place.children.len() as u32
    };
    (0..domains).map(|index| of(index, 0) + of(index, 1)).max().unwrap_or(0)
}

/// The processors of the path down: beyond those of the path up, below the proxies'.
const DOWN: u8 = 64;

/// The GPUs of each host: its first one, and how many. They stand host by host, as a domain or each as one of its own.
fn hosts_of(machine: &Machine, homes: &[Home]) -> Vec<[u32; 2]> {
    let mut hosts: Vec<[u32; 2]> = Vec::new();
    for rank in 0..machine.ranks {
        let is_next = |[first, _]: &[u32; 2]| homes[*first as usize].host == homes[rank as usize].host;
        match hosts.last_mut().filter(|host| is_next(host)) {
            Some(host) => host[1] += 1,
            None => hosts.push([rank, 1]),
        }
    }
    hosts
}

/// The trees of all channels; the GPUs are at `homes`, host by host.
pub(super) fn all(draft: &mut Draft, machine: &Machine, homes: &[Home], bytes: u64) {
    let Machine { channels, chunk, costs, .. } = *machine;
    let hosts = hosts_of(machine, homes);
    let domains = hosts.len() as u32;
    let domain = hosts.iter().map(|host| host[1]).max().unwrap_or(1);
    // Channels come in pairs, one a tree: a rail's first and second.
    let lanes = if channels < 2 * domain { 2 * channels } else { channels };
    let ranks =
        (0..).zip(&hosts).flat_map(|(host, &[base, own])| (base..base + own).map(move |rank| (host, base, own, rank)));
    for (host, base, own, rank) in ranks {
        for channel in 0..lanes {
            let (pair, tree) =
                if lanes > channels { (channel / 2, channel % 2) } else { (channel % domain, channel / domain % 2) };
            // A host without a GPU for the channel's rail begins anew.
            let rail = |own: u32| pair % domain % own;
            let part = share(bytes, channel.into(), lanes.into());
            let chunk = pipelined(part, chunk, u64::from(domain + domains.ilog2()));
            let place = place(domains, tree, host);
            let chain = Machine { domain: own, ..*machine };
            let neighbour = |position: u32| base + (rail(own) + step(&chain, position)) % own;
            let position = (0..own).find(|&position| neighbour(position) == rank).unwrap_or(0);
            let head_of = |of: u32| {
                let [base, own] = hosts[of as usize];
                base + rail(own)
            };
            let mut lane = Lane::new(draft, rank, channel, costs);
            lane.launch();
            let mut down = lane.last;
            for bytes in chunks(part, chunk) {
                if position + 1 < own {
                    lane.take(neighbour(position + 1), bytes, false);
                    lane.reduce(bytes);
                }
                let far: Vec<u32> =
                    place.children.iter().map(|&child| head_of(child)).filter(|_| position == 0).collect();
                for &child in &far {
                    lane.recv(child, bytes);
                    lane.reduce(bytes);
                }
                let (up, up_far) = match (position, place.parent) {
                    (0, parent) => (parent.map(head_of), true),
                    _ => (Some(neighbour(position - 1)), false),
                };
                if let Some(up) = up {
                    lane.give(up, bytes, up_far);
                }
                let (whole, work) = (lane.last, lane.work);
                let mut below = lane.beside(DOWN | channel as u8, down);
                match up {
                    Some(up) => {
                        below.take(up, bytes, up_far);
                        below.copy(bytes);
                    }
                    None => {
                        if let Some(whole) = whole {
                            below.also_after(whole);
                        }
                        // The root's kernel hands down what it combines.
                        below.work = work;
                    }
                }
                far.iter().for_each(|&child| below.send_far(child, bytes));
                if position + 1 < own {
                    below.give(neighbour(position + 1), bytes, false);
                }
                down = below.last;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tree_spans_all_domains_in_few_levels_and_the_inner_nodes_of_one_are_leaves_of_the_other() {
        for domains in 1..=130u32 {
            for tree in 0..2 {
                let children = (0..domains).map(|index| place(domains, tree, index).children.len()).sum::<usize>();
                assert_eq!(children as u32, domains - 1, "{domains} domains, tree {tree}");
                let roots = (0..domains).filter(|&index| parent(domains, tree, index).is_none()).count();
                assert_eq!(roots, 1, "{domains} domains, tree {tree}");
                for index in 0..domains {
                    let mut levels = 0;
                    let mut at = index;
                    while let Some(up) = parent(domains, tree, at) {
                        (at, levels) = (up, levels + 1);
                        assert!(levels <= domains.next_power_of_two().ilog2() + 1, "{domains}, {tree}, {index}");
                    }
                    assert!(place(domains, tree, index).children.len() <= 2);
                }
            }
            let inner = |tree: u32, index: u32| place(domains, tree, index).children.len() == 2;
            let both = (0..domains).filter(|&index| inner(0, index) && inner(1, index)).count();
            assert_eq!(both, 0, "{domains} domains");
        }
    }
}
