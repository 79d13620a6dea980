//! The busiest resource of a run, from the time that each was accounted as busy: host processor, adapter or link. The bound
//! names the resource that nothing can beat; where another was busier, the answer was held back by that.

use hotlink_bench::{Record, Which};
use hotlink_bound::network::PORT;
use hotlink_fabric::barrier::BarrierSpec;
use hotlink_fabric::units::Time;
use hotlink_loggp::{Outcome, Ran};
use hotlink_port::{Busy, Task};
use hotlink_sim::Plan;
use hotlink_sim::host::DepositTime;
use hotlink_sim::port::Outcome as PortOutcome;
use hotlink_sim::workload::Run;

/// A resource and the share of the run that it was busy.
struct Busiest {
    name: String,
    share: f64,
}

/// The record with the busiest resource (`limiter`) and the share of the run that it was busy (`limiter_share`).
fn with(record: Record, found: impl IntoIterator<Item = Busiest>) -> Record {
    // Of equals the first, so that the same run names the same one.
    let busiest = found.into_iter().reduce(|most, one| if one.share > most.share { one } else { most });
    match busiest.filter(|busiest| busiest.share > 0.0) {
        Some(busiest) => record.with("limiter", busiest.name).with("limiter_share", busiest.share.min(1.0)),
        None => record,
    }
}

/// Of bare packets: links, buses and adapters.
pub fn of_packets(record: Record, plan: &Plan<'_>, run: &Run) -> Record {
    with(record, server(plan, run))
}

/// The busiest server of the network.
fn server(plan: &Plan<'_>, run: &Run) -> Option<Busiest> {
    let servers = run.busy.iter().enumerate();
    let most = servers.reduce(|most, one| if one.1 > most.1 { one } else { most })?;
    Some(Busiest { name: plan.server_name(most.0 as u32), share: *most.1 })
}

/// Of programs on a network: its servers, and each rank's processor and adapter.
pub fn of_ranks(record: Record, plan: &Plan<'_>, run: &Run, busy: &[Busy], which: Option<Which>) -> Record {
    let worked = worked(busy, run.elapsed);
    let of_worked = |share: f64| share * run.elapsed.0 as f64 / worked.0.max(1) as f64;
    let server = server(plan, run).map(|server| Busiest { share: of_worked(server.share), ..server });
    with(record, devices(busy, worked, which).into_iter().chain(server))
}

/// Of a benchmark on a network: of the part that it counts, where it names it.
pub fn of_benchmark(record: Record, plan: &Plan<'_>, outcome: &PortOutcome, which: Option<Which>) -> Record {
    let Some(part) = &outcome.counted else {
        return of_ranks(record, plan, &outcome.run, &outcome.busy, which);
    };
    let worked = worked(&part.busy, part.elapsed);
    let servers = part.servers.iter().enumerate();
    let server = servers.reduce(|most, one| if one.1 > most.1 { one } else { most }).map(|(server, busy)| Busiest {
        name: plan.server_name(server as u32),
        share: *busy as f64 / worked.0.max(1) as f64,
    });
    with(record, devices(&part.busy, worked, which).into_iter().chain(server))
}

/// Of a benchmark on a machine without network.
pub fn of_machine(record: Record, ran: &Ran, which: Option<Which>) -> Record {
    match &ran.counted {
        Some(part) => of_devices(record, &part.busy, part.elapsed, which),
        None => of_devices(record, &ran.busy, ran.elapsed, which),
    }
}

/// Of the work of ranks' processors and adapters in a time, of a collective where it is one.
pub fn of_devices(record: Record, busy: &[Busy], elapsed: Time, which: Option<Which>) -> Record {
    with(record, devices(busy, worked(busy, elapsed), which))
}

/// Of a schedule on a LogGP machine.
pub fn of_schedule(record: Record, outcome: &Outcome, processor: impl Fn(u32, u32) -> String) -> Record {
    let share = |time: Time| time.0 as f64 / outcome.latency().0.max(1) as f64;
    with(record, outcome.busiest.map(|(what, time)| Busiest { name: what.named(processor), share: share(time) }))
}

/// Of barriers that took `whole` in all, for `network` of which the network had them.
pub fn of_barriers(record: Record, spec: &BarrierSpec, whole: Time, network: Time) -> Record {
    let share = |time: u64| time as f64 / whole.0.max(1) as f64;
    let port = Busiest { name: PORT.to_owned(), share: share(whole.0.saturating_sub(network.0)) };
    with(record, [port, Busiest { name: spec.name.clone(), share: share(network.0) }])
}

/// Of one transfer between two hosts: its busiest server, or window.
pub fn of_transfer(record: Record, time: &DepositTime) -> Record {
    let share = time.busy.0 as f64 / time.time.0.max(1) as f64;
    with(record, [Busiest { name: time.limiting.clone(), share }])
}

/// The run without what all ranks waited for their common starts.
fn worked(busy: &[Busy], elapsed: Time) -> Time {
    let rested = busy.iter().map(|rank| rank.processor(Task::Rest).0).min().unwrap_or(0);
    Time(elapsed.0.saturating_sub(rested))
}

/// Each rank's processor, named with what it did most, and adapter.
fn devices(busy: &[Busy], elapsed: Time, which: Option<Which>) -> Vec<Busiest> {
    let share = |time: u64| time as f64 / elapsed.0.max(1) as f64;
    let reduces = matches!(which, Some(Which::Reduce | Which::Allreduce | Which::ReduceScatter));
    let mut found = Vec::new();
    for (rank, busy) in busy.iter().enumerate() {
        // Computing for as long as a benchmark says is not what holds it back.
        let tasks = Task::ALL.into_iter().filter(|task| !matches!(task, Task::Compute | Task::Rest));
        let times: Vec<(Task, u64)> = tasks.map(|task| (task, busy.processor(task).0)).collect();
        let most = times.iter().copied().reduce(|most, one| if one.1 > most.1 { one } else { most });
        let does = match most.map_or(Task::Software, |(task, _)| task) {
            Task::Work if reduces => "reduction",
            task => task.name(),
        };
        let all: u64 = times.iter().map(|(_, ps)| ps).sum();
        found.push(Busiest { name: format!("processor of rank {rank} ({does})"), share: share(all) });
        found.push(Busiest { name: format!("adapter of rank {rank}"), share: share(busy.engine().0) });
    }
    found
}
