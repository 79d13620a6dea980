//! How much work and memory an answer takes, estimated before it begins. Too much is refused with the limit and with what
//! would fit, so that no question runs for days or ends for want of memory.
//!
//! The limits are of work, not of this machine's speed: the same question is refused everywhere.

use crate::cell::{Cell, Offered, Program, ProgramBench, What};
use hotlink_bench::Which;
use hotlink_fabric::Fabric;
use hotlink_fabric::maths;
use hotlink_fabric::routing::Routing;
use hotlink_fabric::spec::FabricSpec;
use hotlink_fabric::topology::Shape;
use hotlink_fabric::traffic::Demand;
use hotlink_message::{Algorithm, Way};
use hotlink_sim::Settings;

/// Most steps of a load count, about half an hour of one core: destinations' switches times links.
const MOST_STEPS: f64 = 1e11;
/// Most hops of packets in one simulation, about an hour of one core.
const MOST_HOPS: f64 = 2e9;
/// Most bytes of memory.
const MOST_BYTES: f64 = 1e10;

/// Hops of an average packet where the fabric is not built yet.
const USUAL_HOPS: f64 = 6.0;
/// Bytes of a rank with its program, of a message under way and of a link with its queues, as they were measured.
const RANK_BYTES: f64 = 16e3;
const MESSAGE_BYTES: f64 = 1e3;
const LINK_BYTES: f64 = 256.0;

/// Refuses a load count that would take too long.
///
/// # Errors
/// The estimate, the limit and about how many nodes keep to it.
pub fn check_count(fabric: &Fabric, demand: &Demand) -> Result<(), String> {
    let homes = fabric.attachment.homes.len();
    // All rows of a full torus are alike: one is counted.
    let is_alike = matches!((&fabric.routing, &fabric.shape), (Routing::Cube(_), Shape::Cube(cube)) if cube.is_full());
    let counted = match demand.all_pairs > 0.0 {
        true if is_alike && demand.flows.is_empty() => 1,
        true => homes,
        false => homes.min(demand.flows.len()),
    };
    let each = match &fabric.shape {
        // A flow touches the links of its own route alone.
        Shape::Cube(cube) if demand.all_pairs == 0.0 => cube.extents.iter().map(|&extent| f64::from(extent)).sum(),
        _ => fabric.network.channels() as f64,
    };
    let steps = counted as f64 * each;
    // Destinations and links both grow with the nodes.
    let fits = f64::from(fabric.nodes()) * (MOST_STEPS / steps).sqrt();
    refuse(steps, MOST_STEPS, "steps to count the load of the links", || {
        format!("ask for about {} nodes or fewer, or for a pattern with fewer destinations", rounded(fits))
    })
}

/// Refuses a simulation that would take too long or too much memory.
///
/// # Errors
/// The estimate, the limit and about what keeps to it.
pub fn check_cell(cell: &Cell, fabric: &Fabric) -> Result<(), String> {
    let messages = messages(cell, fabric.nodes());
    let hops = messages * packets(&fabric.spec, cell.size) * hops_of(fabric);
    refuse(hops, MOST_HOPS, "hops of packets", || fewer(cell, MOST_HOPS / hops))?;
    let (ranks, at_once) = match &cell.what {
        What::Program(program) => (f64::from(cell.nodes), at_once(program, cell)),
        _ => (0.0, 0.0),
    };
    refuse(
        ranks * RANK_BYTES + at_once * MESSAGE_BYTES + memory(fabric, destinations(&cell.what, fabric)),
        MOST_BYTES,
        "bytes of memory",
        || match at_once * MESSAGE_BYTES > MOST_BYTES / 2.0 {
            true => "an algorithm with fewer messages at once (--algorithm pairwise), or fewer nodes".to_owned(),
            false => "ask for fewer nodes".to_owned(),
        },
    )
}

/// Refuses a collective of QsNet's adapters that would take too long or too much memory.
///
/// # Errors
/// As [`check_cell`].
pub fn check_own(fabric: &Fabric, bytes: u64, samples: u32) -> Result<(), String> {
    let nodes = f64::from(fabric.nodes());
    let hops = nodes * (1.0 + f64::from(samples)) * packets(&fabric.spec, bytes) * hops_of(fabric);
    refuse(hops, MOST_HOPS, "hops of packets", || "ask for fewer nodes, bytes or samples".to_owned())?;
    let needed = nodes * MESSAGE_BYTES + memory(fabric, fabric.attachment.homes.len());
    refuse(needed, MOST_BYTES, "bytes of memory", || "ask for fewer nodes".to_owned())
}

/// Refuses barriers on a network of their own that would take too long.
///
/// # Errors
/// As [`check_cell`].
pub fn check_barriers(nodes: u32, repetitions: u32) -> Result<(), String> {
    let events = f64::from(nodes) * f64::from(repetitions);
    let fits = rounded((MOST_HOPS / f64::from(nodes)).floor());
    refuse(events, MOST_HOPS, "events of nodes", || format!("ask for about {fits} --repetitions or fewer"))
}

/// Refuses a program on a LogGP machine with too many messages.
///
/// # Errors
/// As [`check_cell`].
pub fn check_loggp(cell: &Cell) -> Result<(), String> {
    let messages = messages(cell, cell.nodes);
    let most = MOST_HOPS / USUAL_HOPS;
    refuse(messages, most, "messages", || fewer(cell, most / messages))?;
    let at_once = if let What::Program(program) = &cell.what { at_once(program, cell) } else { 0.0 };
    let needed = f64::from(cell.nodes) * RANK_BYTES + at_once * MESSAGE_BYTES;
    refuse(needed, MOST_BYTES, "bytes of memory", || "ask for fewer nodes".to_owned())
}

/// Packets on links, about, where nothing is built yet.
pub(crate) fn packet_hops(cell: &Cell, spec: &FabricSpec) -> f64 {
    USUAL_HOPS * messages(cell, cell.nodes) * packets(spec, cell.size)
}

fn refuse(estimate: f64, most: f64, of: &str, allowed: impl FnOnce() -> String) -> Result<(), String> {
    match estimate <= most {
        true => Ok(()),
        false => Err(format!("needs about {estimate:.1e} {of}, and at most {most:.0e} are allowed: {}", allowed())),
    }
}

/// The sizes that would fit, where this share of the work is allowed.
fn fewer(cell: &Cell, share: f64) -> String {
    // Of an exchange of all with all the work grows with the square of the nodes.
    let nodes = f64::from(cell.nodes);
    let fits = match messages(cell, cell.nodes) >= nodes * (nodes - 1.0) {
        true => nodes * share.sqrt(),
        false => nodes * share,
    };
    match &cell.what {
        What::PingPong { .. } | What::Saturation { .. } | What::Exchanges { .. } => {
            "ask for smaller or fewer messages".to_owned()
        }
        _ if fits < 2.0 => format!("ask for fewer nodes, and for smaller messages than {} B", cell.size),
        _ => format!("ask for about {} nodes or fewer, for smaller messages or fewer samples", rounded(fits)),
    }
}

/// A number of nodes for people: its first two digits.
fn rounded(nodes: f64) -> u64 {
    let mut unit = 1;
    while nodes / unit as f64 >= 100.0 {
        unit *= 10;
    }
    (nodes / unit as f64) as u64 * unit
}

/// Packets of a message.
fn packets(spec: &FabricSpec, size: u64) -> f64 {
    // A guess at the work is no use of the machine's values.
    let settings = Settings::of(&FabricSpec { parameters: spec.parameters.unasked(), ..spec.clone() });
    let payload = settings.packet_bytes.map_or(f64::INFINITY, f64::from);
    (size as f64 / payload).ceil().max(1.0)
}

/// Hops of an average packet: of a torus a quarter or half of each ring, of anything else as in a tree.
fn hops_of(fabric: &Fabric) -> f64 {
    match &fabric.shape {
        Shape::Cube(cube) => {
            let share = if cube.bidirectional { 4.0 } else { 2.0 };
            USUAL_HOPS.max(cube.extents.iter().map(|&extent| f64::from(extent) / share).sum())
        }
        _ => USUAL_HOPS,
    }
}

/// Messages of a whole run, about.
fn messages(cell: &Cell, nodes: u32) -> f64 {
    let nodes = f64::from(nodes);
    match &cell.what {
        What::PingPong { messages, .. } => messages.unwrap_or_else(|| What::usual_messages(cell.size)) as f64,
        What::Saturation { pairs, messages, .. } => 2.0 * pairs.len() as f64 * *messages as f64,
        What::Exchanges { pairs, times } => 2.0 * pairs.len() as f64 * *times as f64,
        What::AllToAll { .. } => nodes * (nodes - 1.0),
        What::Traffic(Offered { messages, .. }) => 1.5 * nodes * f64::from(messages.unwrap_or(32)),
        What::Program(program) => {
            let runs = program.warmup as f64 + f64::from(program.samples);
            runs * of_program(&program.bench, nodes)
        }
    }
}

/// Messages of one run of a program.
fn of_program(bench: &ProgramBench, nodes: f64) -> f64 {
    match bench {
        ProgramBench::Collective(which) if is_from_all_to_all(*which) => nodes * (nodes - 1.0),
        ProgramBench::Collective(_) => 2.0 * nodes * maths::log2(nodes).max(1.0),
        ProgramBench::IntegerSort(_) | ProgramBench::Pairs { .. } => nodes * (nodes - 1.0),
        ProgramBench::Kernel(_) => nodes * maths::log2(nodes).max(1.0),
        ProgramBench::Stream(streamed) => 2.0 * f64::from(streamed.pairs) * streamed.window.unwrap_or(64) as f64,
        ProgramBench::PingPong { .. } | ProgramBench::Semantics { .. } | ProgramBench::Overlap { .. } => 2.0,
    }
}

/// Bytes that the messages of a program carry, about: of a collective those that an algorithm sends that sends none twice.
pub(crate) fn payload(program: &Program, cell: &Cell) -> u64 {
    let nodes = f64::from(cell.nodes);
    let sizes = match &program.bench {
        ProgramBench::Collective(which) if is_from_all_to_all(*which) => nodes * (nodes - 1.0),
        ProgramBench::Collective(Which::Allreduce) => 2.0 * (nodes - 1.0),
        ProgramBench::Collective(_) => nodes - 1.0,
        other => of_program(other, nodes),
    };
    let runs = program.warmup as f64 + f64::from(program.samples);
    (runs * sizes * cell.size as f64) as u64
}

/// Whether the bytes of every rank reach every other rank.
fn is_from_all_to_all(which: Which) -> bool {
    matches!(which, Which::Alltoall | Which::Alltoallv | Which::Allgather | Which::ReduceScatter)
}

/// Messages that are under way at once, where each rank posts all of its own.
fn at_once(program: &Program, cell: &Cell) -> f64 {
    let nodes = f64::from(cell.nodes);
    let in_turn = [Algorithm::Pairwise, Algorithm::Bruck, Algorithm::Ring];
    let is_in_turn = matches!(program.algorithm, Some(Way::By(own)) if in_turn.contains(&own));
    match program.bench {
        ProgramBench::Collective(Which::Alltoall | Which::Alltoallv) if !is_in_turn => nodes * (nodes - 1.0),
        _ => nodes,
    }
}

/// Switches that packets may be for.
fn destinations(what: &What, fabric: &Fabric) -> usize {
    let homes = fabric.attachment.homes.len();
    match what {
        What::PingPong { .. } => 2.min(homes),
        What::Saturation { pairs, .. } | What::Exchanges { pairs, .. } => (2 * pairs.len()).min(homes),
        _ => homes,
    }
}

/// Bytes of the network: its links, and the distances to that many switches that routing keeps.
fn memory(fabric: &Fabric, destinations: usize) -> f64 {
    let states = fabric.network.vertices() as f64 * f64::from(fabric.routing.phases());
    let kept = match &fabric.routing {
        Routing::Paths(_) | Routing::Valiant(_) | Routing::Source { .. } => 2.0 * states * destinations as f64,
        _ => 0.0,
    };
    kept + LINK_BYTES * fabric.network.channels() as f64
}
