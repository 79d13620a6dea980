//! Patterns are inferred from cables alone, and what is missing from them is named.

mod made;

use hotlink_fabric::rng::SplitMix64;
use hotlink_site::Pattern;
use made::{network, network_of};

type Cables = Vec<(usize, usize)>;

/// The pattern of cables among switches with one host each, whose order says nothing.
fn pattern(switches: usize, cables: &[(usize, usize)], seed: u64) -> Pattern {
    let mut order: Vec<usize> = (0..switches).collect();
    SplitMix64::new(seed).shuffle(&mut order);
    let cables: Vec<_> = cables.iter().map(|&(a, b)| (order[a], order[b], "4xHDR")).collect();
    of(&vec![1; switches], &cables)
}

fn of(hosts: &[usize], cables: &[(usize, usize, &str)]) -> Pattern {
    let site = network(hosts, cables);
    Pattern::of(&site.fabric(&site.spec).unwrap(), site.names())
}

/// A torus, or a mesh, of these extents.
fn grid(extents: &[usize], is_torus: bool) -> (usize, Cables) {
    let (all, mut stride, mut cables) = (extents.iter().product(), 1, Vec::new());
    for &extent in extents {
        for at in 0..all {
            let x = at / stride % extent;
            let next = at - x * stride + (x + 1) % extent * stride;
            if x + 1 < extent || (is_torus && extent > 2) {
                cables.push((at, next));
            }
        }
        stride *= extent;
    }
    (all, cables)
}

/// Groups of all joined switches, one cable between every two groups.
fn dragonfly(groups: usize, size: usize) -> (usize, Cables) {
    let (mut cables, mut used) = (Vec::new(), vec![0; groups]);
    for a in 0..groups {
        cables.extend((0..size).flat_map(|x| (x + 1..size).map(move |y| (a * size + x, a * size + y))));
    }
    for a in 0..groups {
        for b in a + 1..groups {
            cables.push((a * size + used[a] % size, b * size + used[b] % size));
            (used[a], used[b]) = (used[a] + 1, used[b] + 1);
        }
    }
    (groups * size, cables)
}

#[test]
fn tori_and_meshes_are_told_with_their_extents() {
    for (extents, is_torus, name) in [
        (&[3, 3, 3][..], true, "torus 3x3x3"),
        (&[5, 6], true, "torus 5x6"),
        (&[4, 4, 4], true, "torus 4x4x4"),
        (&[3, 4, 5], true, "torus 3x4x5"),
        (&[2, 5, 7], true, "torus 2x5x7"),
        (&[8], true, "ring of 8 switches"),
        (&[5, 6], false, "mesh 5x6"),
        (&[3, 3, 4], false, "mesh 3x3x4"),
    ] {
        let (switches, cables) = grid(extents, is_torus);
        for seed in 0..3 {
            let whole = pattern(switches, &cables, seed);
            assert_eq!((whole.name.as_str(), &whole.missing[..]), (name, &[][..]));
        }
    }
}

/// Any one cable that is taken out of a torus is named by its ends.
#[test]
fn a_missing_cable_of_a_torus_is_named() {
    for extents in [&[5, 6][..], &[3, 3, 3], &[5, 3, 6]] {
        let (switches, cables) = grid(extents, true);
        for place in 0..cables.len() {
            let mut left = cables.clone();
            let (a, b) = left.remove(place);
            let all: Vec<_> = left.iter().map(|&(a, b)| (a, b, "4xHDR")).collect();
            let found = of(&vec![1; switches], &all);
            let named = [format!("sw{a} - sw{b}"), format!("sw{b} - sw{a}")];
            assert!(found.name.starts_with("torus"), "{extents:?} without {a}-{b}: {found:?}");
            assert!(found.missing.len() == 1 && named.contains(&found.missing[0]), "{a}-{b}: {:?}", found.missing);
        }
    }
}

#[test]
fn dragonflies_are_told_with_their_groups() {
    let (switches, cables) = dragonfly(9, 4);
    let whole = pattern(switches, &cables, 5);
    assert_eq!((whole.name.as_str(), whole.missing.len()), ("dragonfly of 9 groups of 4 switches", 0));
    // Within the first group, and between the first two.
    for (lost, named) in [((0, 1), "sw0 - sw1 (within a group)"), ((0, 4), "the groups of sw0 and sw4: 0 of 1 cables")]
    {
        let left: Vec<_> = cables.iter().filter(|cable| **cable != lost).map(|&(a, b)| (a, b, "4xHDR")).collect();
        assert_eq!(left.len() + 1, cables.len());
        let found = of(&vec![1; switches], &left);
        assert_eq!(found.missing, [named], "{}", found.name);
    }
}

#[test]
fn a_full_mesh_and_what_is_none_of_these() {
    let all: Cables = (0..6).flat_map(|a| (a + 1..6).map(move |b| (a, b))).collect();
    assert_eq!(pattern(6, &all, 1).name, "full mesh of 6 switches");
    assert_eq!(of(&[1; 6], &all[1..].iter().map(|&(a, b)| (a, b, "4xHDR")).collect::<Vec<_>>()).missing, ["sw0 - sw1"]);
    let star = [(0, 1), (0, 2), (0, 3), (0, 4), (4, 5)];
    assert_eq!(pattern(6, &star, 1).name, "direct (every switch has hosts)");
    assert_eq!(of(&[3], &[]).name, "single switch");
}

/// Two leaves, of which each takes one port of every host, and what hosts lack.
#[test]
fn rails_are_told_by_the_ports_that_leaves_take() {
    let cables = [(0, 2, "4xHDR"), (1, 2, "4xHDR")];
    let rails = |hosts: &[usize], names: &'static [&str]| {
        let site = network_of(hosts, &cables, |host| names[host].to_owned());
        Pattern::of(&site.fabric(&site.spec).unwrap(), site.names())
    };
    let whole = rails(&[3, 3, 0], &["a mlx0", "b mlx0", "c mlx0", "a mlx1", "b mlx1", "c mlx1"]);
    assert_eq!((whole.name.as_str(), whole.missing.len()), ("tree, 2 rails", 0));
    let lacking = rails(&[3, 2, 0], &["a mlx0", "b mlx0", "c mlx0", "a mlx1", "b mlx1"]);
    assert_eq!(lacking.missing, ["c: 1 of 2 rails"]);
    // Both ports of a host on one leaf are no rails.
    let none = rails(&[4, 4, 0], &["a 0", "a 1", "b 0", "b 1", "c 0", "c 1", "d 0", "d 1"]);
    assert_eq!(none.name, "tree");
}

/// Four leaves with four hosts each, three spines, `parallel` cables between every two.
fn tree(parallel: usize) -> (Vec<usize>, Vec<(usize, usize, &'static str)>) {
    let joined = (0..4).flat_map(|leaf| (4..7).map(move |spine| (leaf, spine, "4xHDR")));
    let cables = joined.flat_map(|cable| std::iter::repeat_n(cable, parallel)).collect();
    (vec![4, 4, 4, 4, 0, 0, 0], cables)
}

#[test]
fn a_wrongly_plugged_cable_of_a_tree_is_named() {
    let (hosts, whole) = tree(1);
    assert_eq!(of(&hosts, &whole).odd, [""; 0]);
    // From leaf to leaf in place of leaf to spine.
    let mut cables = whole.clone();
    *cables.iter_mut().find(|cable| (cable.0, cable.1) == (1, 6)).unwrap() = (1, 2, "4xHDR");
    let found = of(&hosts, &cables);
    assert_eq!((found.name.as_str(), found.odd.len()), ("tree", 1));
    assert!(found.odd[0].starts_with("sw1 port ") && found.odd[0].ends_with("(both of level 1)"), "{:?}", found.odd);
    assert_eq!(found.missing, ["sw1: 2 of 3 cables up", "sw6: 3 of 4 cables down"]);
    // From a switch to itself.
    let found = of(&hosts, &[&whole[..], &[(1, 1, "4xHDR")]].concat());
    assert_eq!((found.name.as_str(), found.odd.len(), found.missing.len()), ("tree", 1, 0), "{:?}", found.odd);
    // A second cable between the same two.
    let found = of(&hosts, &[&whole[..], &[(1, 6, "4xHDR")]].concat());
    assert_eq!((found.odd, found.missing.len()), (vec!["sw1 - sw6: 2 cables, most have 1".to_owned()], 0));
}

#[test]
fn a_host_on_a_spine_hides_no_tree() {
    let (mut hosts, cables) = tree(1);
    (hosts[1], hosts[6]) = (3, 1);
    let found = of(&hosts, &cables);
    assert_eq!((found.name.as_str(), found.odd.len(), found.missing.len()), ("tree", 1, 0));
    assert!(found.odd[0].ends_with("on sw6, a switch of level 2"), "{:?}", found.odd);
    assert_eq!(found.level[16 + 6], 2);
}

/// The spine that got the cable has one more, the one that lacks it one less, and the third as many as it should.
#[test]
fn a_cable_on_the_wrong_spine_sets_no_norm() {
    let (hosts, mut cables) = tree(2);
    *cables.iter_mut().find(|cable| (cable.0, cable.1) == (0, 5)).unwrap() = (0, 4, "4xHDR");
    let found = of(&hosts, &cables);
    assert_eq!(found.missing, ["sw5: 7 of 8 cables down"]);
    assert_eq!(found.odd, ["sw0 - sw4: 3 cables, most have 2"]);
}

#[test]
fn crossed_cables_of_a_torus_are_named() {
    let (switches, cables) = grid(&[5, 6], true);
    let at = |x: usize, y: usize| x + 5 * y;
    // Two parallel cables, and two that lie far apart.
    for (one, other) in [((0, 0), (0, 1)), ((0, 0), (2, 3))] {
        let [(a, b), (c, d)] = [one, other].map(|(x, y)| (at(x, y), at(x + 1, y)));
        let kept = cables.iter().copied().filter(|cable| ![(a, b), (c, d)].contains(cable));
        let crossed: Vec<_> = kept.chain([(a, d), (c, b)]).map(|(a, b)| (a, b, "4xHDR")).collect();
        let found = of(&vec![1; switches], &crossed);
        assert_eq!((found.name.as_str(), found.odd.len(), found.missing.len()), ("torus 5x6", 2, 2), "{found:?}");
    }
}
