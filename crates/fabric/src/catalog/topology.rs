//! The `[topology]` table.

use crate::sheet::{STATUSES, Table};
use crate::spec::{Extents, Origin, RoutingSpec, TopologySpec};
use crate::topology::{REGISTRY, Registered};

/// Most ports, links or dimensions: enough for any device, small enough that products stay whole numbers.
const PORTS: std::ops::RangeInclusive<u32> = 1..=65_536;

/// Kinds of [`TopologySpec`] in files.
pub(super) const KINDS: &[(&str, Kind)] = &[
    ("cube", Kind::Cube),
    ("switch-array", Kind::SwitchArray),
    ("switch-ring", Kind::SwitchRing),
    ("clos64", Kind::Clos64),
    ("fat-tree", Kind::FatTree),
    ("dragonfly", Kind::Dragonfly),
    ("rail", Kind::Rail),
    ("crossbar", Kind::Crossbar),
    ("shared", Kind::Shared),
    ("graph", Kind::Graph),
];

/// The kinds above and those of the registry.
fn kinds() -> Vec<(&'static str, Kind)> {
    let registered = REGISTRY.iter().map(|entry| (entry.kind, Kind::Registered(entry)));
    KINDS.iter().copied().chain(registered).collect()
}

#[derive(Clone, Copy)]
pub(super) enum Kind {
    Cube,
    SwitchArray,
    SwitchRing,
    Clos64,
    FatTree,
    Dragonfly,
    Rail,
    Crossbar,
    Shared,
    Graph,
    Registered(&'static Registered),
}

/// Reads the table: a kind, its counts, and the one `source` and `status` of those counts.
pub(super) fn read_topology(table: Table<'_>) -> Option<(TopologySpec, Origin)> {
    let kind = table.choice("kind", &kinds());
    let source = table.text("source");
    let status = table.choice("status", STATUSES);
    let topology = kind.and_then(|kind| read_kind(&table, kind));
    if let (Some(source), Some(status)) = (&source, status) {
        table.record_counts(source, status);
    }
    if kind.is_some() {
        table.finish();
    }
    Some((topology?, Origin { source: source?, status: status? }))
}

fn read_kind(table: &Table<'_>, kind: Kind) -> Option<TopologySpec> {
    Some(match kind {
        Kind::Cube => return read_cube(table),
        Kind::SwitchArray => {
            let (ports, links) = read_switches(table)?;
            TopologySpec::SwitchArray { ports, links }
        }
        Kind::SwitchRing => {
            let links_per_switch = table.flag_opt("links_per_switch").unwrap_or(false);
            let (ports, links) = read_switches(table)?;
            if links_per_switch && links % 2 == 1 {
                table.wrong("links", "with links_per_switch, half go each way", "an even number");
            }
            TopologySpec::SwitchRing { ports, links, links_per_switch }
        }
        Kind::Clos64 => TopologySpec::Clos64,
        Kind::FatTree => return read_fat_tree(table),
        Kind::Dragonfly => {
            let nodes_per_router = table.count("nodes_per_router", PORTS);
            let routers_per_group = table.count("routers_per_group", PORTS);
            let global_per_router = table.count("global_per_router", PORTS);
            TopologySpec::Dragonfly {
                nodes_per_router: nodes_per_router?,
                routers_per_group: routers_per_group?,
                global_per_router: global_per_router?,
            }
        }
        Kind::Rail => {
            let (gpus_per_host, radix) = (table.count("gpus_per_host", 1..=256), table.count("radix", 2..=65_536));
            TopologySpec::Rail { gpus_per_host: gpus_per_host?, radix: radix? }
        }
        Kind::Crossbar => TopologySpec::Crossbar { ports: table.count("ports", PORTS)? },
        Kind::Shared => TopologySpec::Shared,
        Kind::Graph => TopologySpec::Graph,
        Kind::Registered(entry) => TopologySpec::Registered((entry.read)(table)?),
    })
}

fn read_cube(table: &Table<'_>) -> Option<TopologySpec> {
    let dimensions = table.count("dimensions", 1..=8);
    let bidirectional = table.flag_opt("bidirectional").unwrap_or(false);
    let b_link = table.flag_opt("b_link").unwrap_or(false);
    let nodes_per_router = table.count_opt("nodes_per_router", PORTS).unwrap_or(1);
    let extents = match table.counts_opt("extents", PORTS) {
        Some(extents) => {
            if dimensions.is_some_and(|dimensions| extents.len() != dimensions as usize) {
                table.wrong("extents", format!("{} numbers", extents.len()), "one number for each dimension");
            }
            Some(Extents::Fixed(extents))
        }
        None => table.choice("extents", &[("padded-cube", Extents::PaddedCube), ("balanced", Extents::Balanced)]),
    };
    if b_link && nodes_per_router != 1 {
        table.wrong("nodes_per_router", "a B-Link joins the rings of one node", "1");
    }
    Some(TopologySpec::Cube { dimensions: dimensions?, bidirectional, b_link, nodes_per_router, extents: extents? })
}

/// Ports and links of a switch that needs `links` ports on each side and one for a node.
fn read_switches(table: &Table<'_>) -> Option<(u32, u32)> {
    let (ports, links) = (table.count("ports", 3..=65_536), table.count("links", 1..=32_767));
    let (ports, links) = (ports?, links?);
    if 2 * links >= ports {
        let most = (ports - 1) / 2;
        table.wrong("links", format!("{links} links to each side leave no port for a node"), format!("1 to {most}"));
    }
    Some((ports, links))
}

fn read_fat_tree(table: &Table<'_>) -> Option<TopologySpec> {
    let radix = table.count("radix", 2..=65_536);
    if radix.is_some_and(|radix| radix % 2 == 1) {
        table.wrong("radix", "half of a switch's ports lead up", "an even number");
    }
    let levels = table.count_opt("levels", 1..=8);
    let oversubscription = table.number_opt("oversubscription", 0.01..=1000.0).unwrap_or(1.0);
    let top_all_down = table.flag_opt("top_all_down").unwrap_or(true);
    Some(TopologySpec::FatTree { radix: radix?, levels, oversubscription, top_all_down })
}

/// Whether packets can be routed so on such a network.
pub(super) fn routing_suits(topology: &TopologySpec, routing: RoutingSpec) -> bool {
    if let TopologySpec::Registered(registered) = topology {
        return registered.routings().contains(&routing);
    }
    match routing {
        RoutingSpec::DimensionOrder => matches!(topology, TopologySpec::Cube { .. }),
        RoutingSpec::DragonflyMinimal | RoutingSpec::DragonflyValiant => {
            matches!(topology, TopologySpec::Dragonfly { .. })
        }
        RoutingSpec::Source => matches!(topology, TopologySpec::Graph),
        RoutingSpec::UpDown => !one_way(topology),
        RoutingSpec::ShortestEcmp | RoutingSpec::ShortestSingle => true,
    }
}

/// Up*/down* needs every channel to have its reverse.
fn one_way(topology: &TopologySpec) -> bool {
    matches!(topology, TopologySpec::Cube { bidirectional: false, .. })
}
