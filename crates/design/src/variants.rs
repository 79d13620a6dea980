//! From a technology and a number of hosts to fabrics: which trees, dragonflies, Dragonfly+, HyperX and rails its
//! switches allow.
//!
//! A catalog fabric stands for the technology: its links, packets, prices and the ports of its switch. The shapes are
//! computed here from those ports, and built by the topologies of `fabric`.

use crate::Request;
use hotlink_bench::Record;
use hotlink_fabric::catalog::Library;
use hotlink_fabric::spec::{FabricSpec, Origin, RoutingSpec, Status, TopologySpec};
use hotlink_fabric::technology;
use hotlink_fabric::topology::hyperx::HyperX;
use hotlink_fabric::topology::{DragonflyPlus, DragonflySpec, FatTree, Rail, Shape};
use hotlink_study::{Error, Source};

/// A fabric that stands for a technology.
pub struct Base {
    /// The name in files: the technology's, or the fabric's.
    pub label: String,
    /// The fabric.
    pub source: Source,
    /// Ports of its switch.
    pub ports: u32,
}

/// One network that could be bought.
pub struct Variant {
    /// `TECHNOLOGY-HOSTS-VARIANT`.
    pub name: String,
    /// The first part of the name.
    pub label: String,
    /// What it is: `fat-tree3`, `dragonfly`.
    pub shape: String,
    /// Hosts.
    pub hosts: u32,
    /// Nodes: hosts, or GPUs, or their ports.
    pub nodes: u32,
    /// Nodes of a host; 1: a host is a node.
    pub ports_per_host: u32,
    /// As asked for; `None` where the shape has none.
    pub oversubscription: Option<f64>,
    /// Most nodes that the same file holds.
    pub most: u64,
    /// The fabric.
    pub source: Source,
}

impl Variant {
    /// The row of a variant without an answer.
    pub fn left_out(&self, why: &str) -> Record {
        left_out(&self.name, &self.label, self.hosts, why)
    }
}

fn left_out(name: &str, label: &str, hosts: u32, why: &str) -> Record {
    Record::new()
        .with("benchmark", "design")
        .with("kind", "left-out")
        .with("fabric", name)
        .with("technology", label)
        .with("hosts", hosts)
        .with("note", why)
}

/// The fabrics that stand for `name`: a technology, or a fabric of the catalog or a file. With GPUs, a second one may
/// follow whose hosts hold them.
///
/// # Errors
/// There is no such technology or fabric, or none that says how many ports its switch has.
pub fn bases(name: &str, gpus: Option<u32>) -> Result<Vec<Base>, Error> {
    if technology::named(name).is_err() {
        let source = Source::open(name).map_err(|error| {
            let technologies = technology::names();
            Error::Input(format!("technology {name}: is neither a technology ({technologies}) nor a fabric: {error}"))
        })?;
        return Ok(vec![base(label(source.name()), source)?]);
    }
    let library = Library::user();
    let listed = library.list("fabrics").into_iter().map(|listed| listed.name);
    let mut known: Vec<(String, FabricSpec)> =
        listed.filter_map(|listed| Some((listed.clone(), library.fabric(&listed).ok()?.spec))).collect();
    known.retain(|(_, spec)| spec.technology.name == name && spec.prices.is_some());
    let first = |fits: &dyn Fn(&TopologySpec) -> bool| known.iter().find(|(_, spec)| fits(&spec.topology));
    let plain = |topology: &TopologySpec| !topology.is::<Rail>() && ports(topology).is_some();
    // A tree's file says what switches and cables are, too, and has no other kind of link that the variants lack.
    let plain = first(&|topology| plain(topology) && !topology.is::<DragonflyPlus>()).or_else(|| first(&plain));
    // Hosts of as many GPUs as asked for are nearest to what is meant; of equals the first.
    let rails = |(_, spec): &&(String, FabricSpec)| Some(spec.topology.get::<Rail>()?.gpus_per_host.abs_diff(gpus?));
    let rails = known.iter().filter(|one| rails(one).is_some()).min_by_key(rails);
    let found: Vec<&(String, FabricSpec)> = plain.into_iter().chain(rails).collect();
    if found.is_empty() {
        return Err(Error::Input(format!(
            "technology {name}: no fabric of the catalog with switches and prices stands for it; name one of yours \
             (hotlink new fabric begins one)"
        )));
    }
    found.into_iter().map(|(fabric, _)| base(name.to_owned(), Source::open(fabric)?)).collect()
}

fn base(label: String, source: Source) -> Result<Base, Error> {
    let topology = &source.spec().topology;
    let ports = ports(topology).ok_or_else(|| {
        Error::Input(format!(
            "{}: topology {}: says not how many ports a switch has; {} do",
            source.name(),
            topology.kind(),
            WITH_SWITCHES.join(", ")
        ))
    })?;
    Ok(Base { label, source, ports })
}

/// As a part of a file's name.
fn label(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect()
}

/// Topologies whose switches are those of every variant.
const WITH_SWITCHES: [&str; 5] = ["fat-tree", "dragonfly", "dragonfly-plus", "hyperx", "rail"];

/// Ports of a switch of this topology.
pub fn ports(topology: &TopologySpec) -> Option<u32> {
    topology.ports().filter(|_| WITH_SWITCHES.contains(&topology.kind()))
}

/// A shape, the ratio that it was made for, and the most nodes that it holds.
struct Shaped {
    name: String,
    topology: TopologySpec,
    ratio: Option<f64>,
    most: u64,
    why: String,
}

/// Every variant of a base for this many hosts, and a row for each that cannot be.
pub fn of(base: &Base, hosts: u32, request: &Request) -> (Vec<Variant>, Vec<Record>) {
    let (nodes, ratios, gpus) = (request.nodes(hosts), &request.oversubscriptions, request.gpus_per_host);
    let (mut built, mut refused): (Vec<Variant>, Vec<Record>) = (Vec::new(), Vec::new());
    let shapes: Vec<Result<Shaped, (String, String)>> = match base.source.spec().topology.get::<Rail>() {
        Some(_) if request.links_per_host > 1 => {
            vec![Err(("rail".to_owned(), "a rail has one link for each GPU; leave out links per host".to_owned()))]
        }
        Some(rail) => {
            // A switch for each rail has nothing to oversubscribe.
            let own: &[f64] = if hosts <= rail.radix { &[1.0] } else { ratios };
            own.iter().map(|&ratio| Ok(rails(rail, gpus.unwrap_or(rail.gpus_per_host), ratio))).collect()
        }
        None => ratios.iter().flat_map(|&ratio| shapes(nodes, base.ports, ratio)).collect(),
    };
    for shaped in shapes {
        let named = |shape: &str, ratio: Option<f64>| {
            let ratio = ratio.map_or_else(String::new, |ratio| format!("-{ratio}to1"));
            format!("{}-{hosts}-{shape}{ratio}", base.label)
        };
        match shaped {
            Ok(Shaped { name, topology, ratio, most, why }) => {
                let full = named(&name, ratio);
                if built.iter().any(|variant| variant.name == full) {
                    continue;
                }
                match spec(base, &full, topology, &why) {
                    Ok(spec) => built.push(Variant {
                        name: full,
                        label: base.label.clone(),
                        shape: name,
                        hosts,
                        nodes,
                        ports_per_host: nodes / hosts.max(1),
                        oversubscription: ratio,
                        most,
                        source: base.source.varied(spec),
                    }),
                    Err(why) => refused.push(left_out(&full, &base.label, hosts, &why)),
                }
            }
            Err((shape, why)) => refused.push(left_out(&named(&shape, None), &base.label, hosts, &why)),
        }
    }
    (built, refused)
}

/// The base with another topology, and the routing that its technology has for it.
fn spec(base: &Base, name: &str, topology: TopologySpec, why: &str) -> Result<FabricSpec, String> {
    let own = base.source.spec();
    let suits = |routing: &&RoutingSpec| topology.routings().contains(routing);
    let usual = own.technology.routing.value;
    let routing = usual.iter().find(suits).copied();
    let routing = routing
        .ok_or_else(|| format!("none of the routings of {} suits topology {}", own.technology.name, topology.kind()))?;
    let source = format!("hotlink design: {why}; switches of {} ports as in {}", base.ports, base.source.name());
    Ok(FabricSpec {
        name: name.to_owned(),
        title: format!("{} ({why})", own.technology.title),
        topology_origin: Origin { source, status: Status::Estimated },
        topology,
        routing,
        ..own.clone()
    })
}

/// The shapes for this many nodes; of those that cannot be, what they are and why.
fn shapes(nodes: u32, ports: u32, ratio: f64) -> Vec<Result<Shaped, (String, String)>> {
    let mut all = trees(nodes, ports, ratio);
    all.push(match dragonfly(ports, ratio) {
        Some(fly) => {
            let DragonflySpec { nodes_per_router: p, routers_per_group: a, global_per_router: h } = fly;
            let most = most_of_dragonfly(&fly);
            let why = format!("dragonfly of p = {p}, a = {a}, h = {h}");
            let name = "dragonfly".to_owned();
            match most >= u64::from(nodes) {
                true if nodes <= ports => Err((name, format!("{nodes} nodes: one switch of {ports} ports holds them"))),
                true if nodes <= p * a => {
                    let alone = "holds them; its routers are all joined, as a HyperX of one dimension";
                    Err((name, format!("{nodes} nodes: one group of a {why} {alone}")))
                }
                true => Ok(Shaped { name, topology: TopologySpec::new(fly), ratio: Some(ratio), most, why }),
                false => Err((name, format!("{nodes} nodes: a {why} holds {most}"))),
            }
        }
        None => Err(("dragonfly".to_owned(), format!("switches of {ports} ports are too small"))),
    });
    all.push(groups_of_trees(nodes, ports, ratio));
    all.push(match hyperx(nodes, ports, ratio) {
        Some(grid) => {
            let extents: Vec<String> = grid.extents.iter().map(u32::to_string).collect();
            let (t, k) = (grid.nodes_per_switch, grid.links);
            Ok(Shaped {
                name: format!("hyperx{}", grid.extents.len()),
                most: grid.switches() * u64::from(t),
                why: format!("HyperX of {} switches with {t} nodes, links {k}-fold", extents.join(" x ")),
                topology: TopologySpec::new(grid),
                ratio: Some(ratio),
            })
        }
        None => {
            let why = format!("{nodes} nodes: no HyperX of up to three dimensions with {ports} ports holds them");
            Err(("hyperx".to_owned(), why))
        }
    });
    // Each refusal is of one ratio, too.
    all.into_iter().map(|one| one.map_err(|(name, why)| (format!("{name}-{ratio}to1"), why))).collect()
}

/// The Dragonfly+ for this many nodes, where one group is too small.
fn groups_of_trees(nodes: u32, ports: u32, ratio: f64) -> Result<Shaped, (String, String)> {
    let name = "dragonfly-plus".to_owned();
    let Some(whole) = dragonfly_plus(u32::MAX, ports, ratio) else {
        return Err((name, format!("switches of {ports} ports are too small")));
    };
    let told = |plus: &DragonflyPlus| {
        let DragonflyPlus { nodes_per_leaf: p, leaves: l, spines: s, global_per_spine: g } = plus;
        format!("Dragonfly+ of {l} leaves with {p} nodes and {s} spines with {g} global links a group")
    };
    let (group, most) = (whole.nodes_per_leaf * whole.leaves, most_of_dragonfly_plus(&whole));
    if nodes <= group {
        // A group is a tree of two levels: the fat tree, which has the spines that are needed.
        let alone =
            if nodes <= ports { format!("switch of {ports} ports") } else { format!("group of a {}", told(&whole)) };
        let tree = if nodes <= ports { "" } else { "; it is a fat tree of two levels" };
        return Err((name, format!("{nodes} nodes: one {alone} holds them{tree}")));
    }
    let plus = dragonfly_plus(nodes, ports, ratio).filter(|plus| most_of_dragonfly_plus(plus) >= u64::from(nodes));
    let plus = plus.ok_or_else(|| (name.clone(), format!("{nodes} nodes: a {} holds {most}", told(&whole))))?;
    let (most, why) = (most_of_dragonfly_plus(&plus), told(&plus));
    Ok(Shaped { name, topology: TopologySpec::new(plus), ratio: Some(ratio), most, why })
}

/// Trees of two and three levels; one switch where that suffices.
fn trees(nodes: u32, ports: u32, ratio: f64) -> Vec<Result<Shaped, (String, String)>> {
    if nodes <= ports {
        let tree = FatTree { radix: ports, levels: Some(1), oversubscription: 1.0, top_all_down: true };
        let (why, most) = ("one switch".to_owned(), u64::from(ports));
        let topology = TopologySpec::new(tree);
        return vec![Ok(Shaped { name: "switch".to_owned(), topology, ratio: None, most, why })];
    }
    let tree = |levels: u32| {
        let name = format!("fat-tree{levels}");
        let tree = FatTree { radix: ports, levels: Some(levels), oversubscription: ratio, top_all_down: true };
        let most = tree.most(levels);
        let built = levels_of(&tree, nodes);
        match built {
            // A tree is built with as few levels as suffice: it is that of fewer levels then.
            Ok(built) if built < levels => None,
            Ok(_) => {
                let why = format!("fat tree of {levels} levels");
                Some(Ok(Shaped { name, topology: TopologySpec::new(tree), ratio: Some(ratio), most, why }))
            }
            Err(why) => Some(Err((name, why))),
        }
    };
    [2, 3].into_iter().filter_map(tree).collect()
}

/// The levels of switches that a tree is built with.
fn levels_of(tree: &FatTree, nodes: u32) -> Result<u32, String> {
    let (_, shape) = TopologySpec::new(tree.clone()).build(nodes).map_err(|error| error.to_string())?;
    match shape {
        Shape::Tiers(tiers) => Ok(tiers.len() as u32),
        _ => Err("a tree has tiers".to_owned()),
    }
}

/// Nodes of a full dragonfly: groups of a x p nodes, each joined to each of its a x h others.
pub fn most_of_dragonfly(fly: &DragonflySpec) -> u64 {
    let [p, a, h] = [fly.nodes_per_router, fly.routers_per_group, fly.global_per_router].map(u64::from);
    p * a * (a * h + 1)
}

/// The largest dragonfly of such switches with a = 2p routers in a group (Kim, Dally, Scott, Abts 2008). A router has p
/// global ports, or fewer by the oversubscription.
pub fn dragonfly(ports: u32, ratio: f64) -> Option<DragonflySpec> {
    let of = |p: u32| {
        let global_per_router = DragonflySpec::global_for(p, ratio);
        DragonflySpec { nodes_per_router: p, routers_per_group: 2 * p, global_per_router }
    };
    (1..=ports / 3).rev().map(of).find(|fly| 3 * fly.nodes_per_router - 1 + fly.global_per_router <= ports)
}

/// Nodes of a full Dragonfly+: groups of p x l nodes, each joined to each of its s x g others.
pub fn most_of_dragonfly_plus(plus: &DragonflyPlus) -> u64 {
    let DragonflyPlus { nodes_per_leaf, leaves, spines, global_per_spine } = plus;
    let [p, l, s, g] = [nodes_per_leaf, leaves, spines, global_per_spine].map(|count| u64::from(*count));
    p * l * (s * g + 1)
}

/// The balanced Dragonfly+ of such switches, with more nodes on a leaf by the oversubscription. Half of a leaf's ports
/// lead to nodes, half of a spine's to other groups (Shpiner et al., HiPINEB 2017). It has the fewest groups that hold
/// the nodes. Where they need fewer leaves, spines have as many global links as leaves.
pub fn dragonfly_plus(nodes: u32, ports: u32, ratio: f64) -> Option<DragonflyPlus> {
    let nodes_per_leaf = (f64::from(ports) * ratio / (1.0 + ratio)).round() as u32;
    let (spines, half) = (ports.checked_sub(nodes_per_leaf)?, ports / 2);
    if nodes_per_leaf == 0 || spines == 0 || half == 0 {
        return None;
    }
    let groups = nodes.div_ceil(nodes_per_leaf * half);
    let leaves = nodes.div_ceil(nodes_per_leaf).div_ceil(groups).min(half);
    Some(DragonflyPlus { nodes_per_leaf, leaves, spines, global_per_spine: leaves })
}

/// The HyperX of the fewest switches, then the fewest links, in up to three dimensions. Its relative bisection K x S /
/// 2T (Ahn et al., SC 2009) is at least that of the ratio in every dimension.
pub fn hyperx(nodes: u32, ports: u32, ratio: f64) -> Option<HyperX> {
    let mut best: Option<HyperX> = None;
    for dimensions in 1..=3_usize {
        for links in 1..ports {
            let mut extents = vec![2; dimensions];
            grow(&mut extents, 0, &mut |extents| {
                let used = links * extents.iter().map(|extent| extent - 1).sum::<u32>();
                let switches: u64 = extents.iter().map(|&extent| u64::from(extent)).product();
                let too_many = best.as_ref().map_or(u64::from(nodes), HyperX::switches);
                if used >= ports || switches > too_many {
                    return false;
                }
                let least = f64::from(*extents.iter().min().unwrap_or(&2));
                let allowed = (f64::from(links) * least * ratio / 2.0 + 1e-9) as u32;
                let needed = u64::from(nodes).div_ceil(switches);
                if needed <= u64::from(allowed.min(ports - used)) {
                    let grid = HyperX { extents: extents.to_vec(), links, nodes_per_switch: needed as u32 };
                    let key = |grid: &HyperX| (grid.switches(), grid.switch_links());
                    if best.as_ref().is_none_or(|best| key(&grid) < key(best)) {
                        best = Some(grid);
                    }
                }
                true
            });
        }
    }
    best
}

/// Calls `each` for extents that do not rise, each from 2 on; where it says no, greater ones are not tried.
fn grow(extents: &mut Vec<u32>, at: usize, each: &mut dyn FnMut(&[u32]) -> bool) -> bool {
    let first = if at == 0 { u32::MAX } else { extents[at - 1] };
    for extent in 2..=first {
        extents[at] = extent;
        let goes_on = if at + 1 == extents.len() {
            each(extents)
        } else {
            extents[at + 1..].fill(2);
            grow(extents, at + 1, each)
        };
        if !goes_on {
            return extent > 2;
        }
    }
    true
}

fn rails(rail: &Rail, gpus: u32, ratio: f64) -> Shaped {
    let rail = Rail { oversubscription: ratio, ..Rail::apart(gpus, rail.radix) };
    Shaped {
        name: "rail".to_owned(),
        most: rail.most(),
        topology: TopologySpec::new(rail),
        ratio: (ratio != 1.0).then_some(ratio),
        why: format!("{gpus} rails of leaves, spines and cores"),
    }
}
