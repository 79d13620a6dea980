//! Row by row: what H06 prints, and what the models give.

use super::abinit::Kernel;
use super::machine::{Machines, Software, hardware_us, network, software_us};
use crate::Row;
use crate::evidence::{Evidence, unasked};
use hotlink_barrier::BarrierNetwork;
use hotlink_fabric::catalog::Claim;
use hotlink_fabric::spec::{FabricSpec, Value};
use hotlink_fabric::units::Time;
use hotlink_study::ask::Method;

/// The rows of one claim; none where it is not known.
pub(super) fn rows(machines: &Machines, kernel: &Kernel, claim: &Claim) -> Vec<Row> {
    match claim.id.as_str() {
        "G049" => earth_simulator(machines, claim),
        "G050" => bluegene(machines, claim),
        "G051" => vec![input(claim, &network(machines.fabric("hwbarr")).enter)],
        "G052" => vec![input(claim, &network(machines.fabric("hwbarr")).read)],
        "G053" => vec![per_node(machines, claim)],
        "G054" => vec![model(machines, claim)],
        "G055" => vec![in_mpi(machines, claim)],
        "G056" => {
            vec![input_us(claim, network(machines.fabric("hwbarr")).software().us()).under("fitted: G055 less G054")]
        }
        "G057" => vec![software(machines, claim, Software::Gige, 80.0)],
        "G058" => vec![software(machines, claim, Software::Infiniband, 14.0)],
        "G059" => vec![stated(claim).reproduced(8.0).under("input of the kernel")],
        "G060" => vec![stated(claim).reproduced(65.0).under("input of the kernel")],
        "G061" => {
            vec![stated(claim).published(274.0, "s").reproduced(274.0).under("input of the kernel")]
        }
        "G062" => vec![run_time(kernel, claim)],
        "G063" => vec![mpi_reduction(kernel, claim)],
        "G064" => halved(kernel, claim),
        "G065" => vec![gates(claim)],
        "G066" => vec![wires(claim)],
        "G067" => vec![accesses(machines, claim)],
        "G068" => vec![stated(claim).gap("an address of the PC, nothing that a model gives")],
        _ => Vec::new(),
    }
}

fn input(claim: &Claim, value: &Value<Time>) -> Row {
    input_us(claim, value.value.us()).under("input of the model")
}

fn input_us(claim: &Claim, us: f64) -> Row {
    stated(claim).reproduced(us)
}

/// A value as H06 or the catalog states it.
fn stated(claim: &Claim) -> Row {
    Row::new(claim, Evidence::stated())
}

/// A barrier of this many nodes that arrive together.
fn by_hardware(machines: &Machines, claim: &Claim, name: &str, nodes: u32) -> Row {
    let found = machines.found(Method::Packet, name, |machine| hardware_us(machine, nodes));
    found.row(claim).reading(&format!("{nodes} nodes")).also("nodes", nodes)
}

/// The wires' time is fitted at 512 nodes, and that decrements do not queue is fitted to the absence of growth.
fn earth_simulator(machines: &Machines, claim: &Claim) -> Vec<Row> {
    let why = "hop fitted at 512 nodes by the closed form, serial time to no growth; a read under way saves 0.1 us";
    [2, 16, 128, 512].map(|nodes| by_hardware(machines, claim, "earth-simulator", nodes).under(why)).into()
}

/// The wires' time is fitted at 65,536 nodes; that fewer nodes take as long follows from the tree's full height.
fn bluegene(machines: &Machines, claim: &Claim) -> Vec<Row> {
    let why = "hop and gate fitted at 65536 nodes by the closed form; a read under way saves 0.05 us";
    [2, 512, 8192, 65_536].map(|nodes| by_hardware(machines, claim, "bluegene-l", nodes).under(why)).into()
}

fn per_node(machines: &Machines, claim: &Claim) -> Row {
    let each_us = network(machines.fabric("hwbarr")).gate_per_input().us();
    stated(claim).published(0.01, "us per node").reproduced(each_us).under("input of the model")
}

/// H06's equation for four nodes.
fn equation_us(machine: &FabricSpec) -> f64 {
    network(machine).latency(4, false).map_or(f64::NAN, Time::us)
}

/// The closed form of printed parts. What a simulation of wires and polls gives rests on the same parts, and is no more
/// evidence than their sum.
fn model(machines: &Machines, claim: &Claim) -> Row {
    let formula = machines.found(Method::Formula, "hwbarr", equation_us);
    let simulated = hardware_us(machines.fabric("hwbarr"), 4);
    let why = "simulated_us: the read that sees the change is under way when it comes";
    formula.row(claim).reading("closed form").under(why).also("simulated_us", simulated)
}

fn in_mpi(machines: &Machines, claim: &Claim) -> Row {
    let software = |machine: &FabricSpec| network(machine).software().us();
    machines
        .found(Method::Formula, "hwbarr", |machine| equation_us(machine) + software(machine))
        .row(claim)
        .under("the closed form and the framework's overhead")
        .also("barrier_us", equation_us(machines.fabric("hwbarr")))
        .also("framework_us", software(machines.fabric("hwbarr")))
        .also("simulated_period_us", period_us(machines))
}

/// Mean period of a thousand barriers in a row through the library, as PMB counts.
fn period_us(machines: &Machines) -> f64 {
    let spec = network(machines.fabric("hwbarr"));
    let mut network = BarrierNetwork::new(spec, 4, false).expect("four nodes");
    let mut at = vec![Time::ZERO; 4];
    for _ in 0..1000 {
        let arrivals: Vec<Time> = at.iter().map(|&at| at + spec.software()).collect();
        at = network.barrier(0, &arrivals).expect("a safe barrier").leave;
    }
    at.iter().map(|at| at.us()).sum::<f64>() / 4.0 / 1000.0
}

fn software(machines: &Machines, claim: &Claim, software: Software, printed_us: f64) -> Row {
    let found = machines.found(Method::Loggp, software.fabric(), |machine| software_us(machine, 4));
    found
        .row(claim)
        .published(printed_us, "us")
        .known_not_to_hold()
        .under("dissemination, two rounds of half a round trip that others measured on other machines (2007, QDR)")
        .also("fabric", software.fabric())
}

/// Run times are printed to the second.
fn run_time(kernel: &Kernel, claim: &Claim) -> Row {
    Row::new(claim, Kernel::evidence())
        .published(267.0, "s")
        .reproduced(kernel.hardware_run_s())
        .under(format!(
            "kernel fitted to G064: skew {:.1} us, {:.0} barriers of {:.1} us; near 274 s less half of 14.25 s at any",
            kernel.skew_us,
            kernel.barriers,
            kernel.gige_barrier_us()
        ))
        .also("saved_s", kernel.saved_s())
        .also("barriers", kernel.barriers)
        .also("skew_us", kernel.skew_us)
}

fn mpi_reduction(kernel: &Kernel, claim: &Claim) -> Row {
    Row::new(claim, Kernel::evidence())
        .published(32.0, "%")
        .reproduced(kernel.saved_s() / Kernel::mpi_s() * 100.0)
        .under("kernel; arithmetic of G059, G060 and G064")
}

/// The fit, with skew separated.
fn halved(kernel: &Kernel, claim: &Claim) -> Vec<Row> {
    let (before, after, skew) = (Kernel::barrier_s(), kernel.hardware_barrier_s(), kernel.skew_s());
    let hardware = Row::new(claim, Kernel::evidence())
        .published(50.0, "% left")
        .reproduced(after / before * 100.0)
        .reading("with the hardware barrier")
        .under("fitted: skew and number of barriers")
        .also("barrier_gige_s", before)
        .also("barrier_hardware_s", after)
        .also("skew_s", skew)
        .also("skew_share_of_gige_barrier", skew / before)
        .also("removable_s", before - skew)
        .also("removed_s", before - after);
    let share = skew / before * 100.0;
    let skew = Row::point(&claim.id, "Abinit: MPI_Barrier overhead", Kernel::evidence(), share, "% left")
        .reading("skew: with a barrier that costs nothing")
        .under("the part that no barrier can remove, as the fitted kernel has it; H06 prints no number")
        .also("source", claim.source.as_str());
    vec![hardware, skew]
}

/// Where the record of gates stands in the project.
const GATES: &str = "rtl/barrier/synth/gates.csv";

/// What yosys counts in the two-state machine of `rtl/barrier`: one of AND and OR per level, one multiplexer between
/// them.
fn gates(claim: &Claim) -> Row {
    let table = include_str!("../../../../rtl/barrier/synth/gates.csv");
    let rows =
        table.lines().skip(1).map(|line| line.split(',').filter_map(|cell| cell.parse().ok()).collect::<Vec<u32>>());
    let counted: Vec<[u32; 6]> = rows.filter_map(|row| row.try_into().ok()).collect();
    let is_h06s = |&[ranks, ffs, .., levels]: &[u32; 6]| ffs <= 2 && levels == ranks.next_power_of_two().ilog2() + 1;
    let [_, ffs, ands, ors, _, levels] = counted.iter().copied().find(|row| row[0] == 4).unwrap_or_default();
    Row::new(claim, Evidence::of_inputs(Method::Measured, [GATES]))
        .reproduced(format!("{ffs} FF; {levels} levels with {ands} ANDs, {ors} ORs (P=4)"))
        .holds(!counted.is_empty() && counted.iter().all(is_h06s))
        .under("at most 2 FFs, and ceil(log2 P) levels of AND/OR and one multiplexer, at all P of the record")
        .also("record", GATES)
        .also("command", "make -C rtl/barrier synth")
}

/// Twelve outputs: one signals, eleven choose the barrier.
fn wires(claim: &Claim) -> Row {
    let (outputs, signal) = (12u32, 1u32);
    stated(claim)
        .published(2048.0, "barriers")
        .reproduced(1u64 << (outputs - signal))
        .under("twelve outputs, one of which signals")
}

fn accesses(machines: &Machines, claim: &Claim) -> Row {
    let machine = unasked(machines.fabric("hwbarr"));
    let mut network = BarrierNetwork::new(network(&machine), 4, false).expect("four nodes");
    let together = network.barrier(0, &[Time::ZERO; 4]).expect("a safe barrier").reads as f64 / 4.0;
    let late = [Time::ZERO, Time::ZERO, Time::ZERO, Time::from_us(12.0)];
    let waiting = network.barrier(0, &late).expect("a safe barrier").reads as f64 / 4.0;
    let noun = if together == 1.0 { "read" } else { "reads" };
    Row::new(claim, Evidence::of(Method::Packet, &machine))
        .reproduced(format!("1 write; {together} {noun} arriving together, {waiting} on average with one 12 us late"))
        .holds(together == 1.0 && waiting > 1.0)
        .under("event by event")
}
