//! From options to a question, and from its answers to results and a table.

use super::options::PacketArgs;
use crate::Failure;
use crate::verbs::watching::WatchOptions;
use hotlink_paper::{Output, Table, columns};
use hotlink_results::timeline::{self, Recorder};
use hotlink_study::Within;
use hotlink_study::ask::{Method, Methods};
use hotlink_study::cell::Cell;
use hotlink_study::simulate::request::{Part, Request};
use hotlink_workloads::collective::{Asked, Collective};

/// Options that ask for a simulation.
pub(crate) trait Ask {
    /// The question.
    fn request(&self) -> Result<Request, Failure>;
    /// Options of every packet simulation, where it has them.
    fn packet(&self) -> Option<&PacketArgs> {
        None
    }
    /// Options of observers, where it has them.
    fn watching(&self) -> Option<&WatchOptions> {
        self.packet().map(|packet| &packet.watching)
    }
    /// The keys of the table for people; the other formats have every key.
    fn shown(&self) -> &'static [&'static str] {
        columns::PACKETS
    }
}

/// Runs what `ask` asks: by the simulator, or by every engine of `--method`.
pub(crate) fn run(ask: &dyn Ask, output: &mut Output) -> Result<(), Failure> {
    let (mut runs, request) = (Vec::new(), ask.request()?);
    if !ask.watching().is_some_and(WatchOptions::writes) {
        output.end_with_reader();
    }
    if let Some(packet) = ask.packet() {
        packet.fits()?;
    }
    let method = ask.packet().and_then(|packet| packet.method);
    // All is checked before anything runs.
    let mut asked = Vec::new();
    for one in Asked::of(request)? {
        let parts = match &one {
            Asked::Gpus(..) if method.is_some_and(|method| method != Methods::One(Method::Packet)) => {
                return Err(Failure::Input("--method: only packets answer collectives of GPUs".to_owned()));
            }
            Asked::Gpus(..) => Vec::new(),
            Asked::Others(request) => request.parts()?,
        };
        asked.push((one, parts));
    }
    for (one, parts) in asked {
        if let Asked::Gpus(collective, fabrics) = one {
            on_gpus(&collective, &fabrics, columns::PACKETS, output)?;
        }
        for part in parts {
            match (&part, ask.packet(), method) {
                (Part::Cells(cells), Some(packet), Some(methods)) if methods.answer(cells) => {
                    runs.extend(by_methods(packet, methods, cells, output)?);
                }
                _ => runs.extend(simulate(part, ask.shown(), output)?),
            }
        }
    }
    ask.watching().map_or(Ok(()), |watching| watching.write(&runs, output))
}

/// A collective as the kernels of GPU clusters run it.
fn on_gpus(
    collective: &Collective,
    fabrics: &[String],
    shown: &[&'static str],
    output: &mut Output,
) -> Result<(), Failure> {
    let progress = output.ticking("simulate", collective.steps() * fabrics.len() as u64);
    let mut records = Vec::new();
    for fabric in fabrics {
        collective.each(fabric, &*progress, &mut |record| {
            records.push(record.clone());
            output.push(record);
            !output.is_closed()
        })?;
    }
    output.table(Table::of_keys(&records, shown));
    Ok(())
}

/// By every engine of `methods` that answers.
fn by_methods(
    packet: &PacketArgs,
    methods: Methods,
    cells: &[Cell],
    output: &mut Output,
) -> Result<Vec<timeline::Run>, Failure> {
    let measured = hotlink_results::measured(&packet.measured, Some(methods))?;
    let progress = output.ticking("simulate", cells.len() as u64);
    // An engine's steps are not the points of the study.
    let within = Within(&*progress);
    let recorder = Recorder::new(&within);
    let mut records = Vec::new();
    let notes = methods.each(cells, &measured, &recorder, &mut |given| {
        progress.step();
        records.extend(given.clone());
        output.push_all(given);
        !output.is_closed()
    })?;
    let keys: Vec<&str> =
        ["fabric", "benchmark", "method"].into_iter().chain(columns::PACKETS.iter().skip(2).copied()).collect();
    output.table(Table { notes, ..Table::with_choices(&records, &keys, columns::CHOICES) });
    Ok(recorder.runs())
}

/// By the simulator: records in order, as they come.
fn simulate(part: Part, shown: &[&str], output: &mut Output) -> Result<Vec<timeline::Run>, Failure> {
    // The inputs of one answer are always varied, for the line under the table.
    let part = part.first_varied(output.vary(false));
    let progress = output.ticking("simulate", part.steps());
    let recorder = Recorder::new(&*progress);
    let mut records = Vec::new();
    part.run(&recorder, &mut |given| {
        records.extend(given.clone());
        output.push_all(given);
        !output.is_closed()
    })?;
    // A barrier network's few keys are all shown.
    if !matches!(part, Part::Barrier { .. }) {
        output.table(Table::with_choices(&records, shown, columns::CHOICES));
    }
    Ok(recorder.runs())
}
