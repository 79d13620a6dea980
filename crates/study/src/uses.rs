//! Which questions use which numbers of a machine: small questions of every kind are asked, and what each asks of the
//! machine is noted. Nothing here is claimed: a number that no engine reads has no question.

use crate::ask::{Asked, Method, Question, ask};
use crate::cell::{Cell, Program, ProgramBench, Streamed, What};
use crate::inputs::Vary;
use crate::options::{Ethernet, Memory, Order, Rates, Spin, Via};
use crate::simulate::deposit::{self, Completion, Series, Transfers};
use crate::simulate::{barrier, qsnet};
use crate::words::Word;
use crate::{Error, Source, Unwatched};
use hotlink_bench::is::Class;
use hotlink_bench::{Calls, Direction, Record, Which};
use hotlink_fabric::ledger::Ledger;
use hotlink_message::{Algorithm, Way};
use hotlink_sim::qsnet::{Algorithm as Own, Collective};
use std::collections::BTreeMap;

/// The result of a question of this list: its records, and the numbers that it used.
pub struct Asking {
    /// The question in the command's words.
    pub question: &'static str,
    /// Its answers.
    pub records: Vec<Record>,
    /// The numbers of the machine that it used, by dotted key.
    pub used: Ledger,
}

/// Asks the machine every question of the list that it has an answer to.
pub fn ask_all(source: &Source) -> Vec<Asking> {
    let first = |sizes: &[u32]| sizes.iter().copied().find(|&nodes| source.build(nodes).is_ok()).unwrap_or(2);
    // All to all among a few; and two that every level of a network lies between.
    let sizes = [first(&[8, 9, 16, 4]), first(&[1024, 512, 128, 64, 48, 36, 16])];
    let one = |(question, form): &(&'static str, Form)| {
        let asked = source.unasked();
        let records = form.answer(&asked, sizes).ok()?;
        Some(Asking { question, used: asked.spec().used(), records })
    };
    crate::parallel::each(&questions(), one).into_iter().flatten().collect()
}

/// Questions by the dotted key of the number that they use.
pub type Uses = BTreeMap<String, Vec<&'static str>>;

/// The questions that use each number of the machine.
pub fn of(source: &Source) -> Uses {
    let mut uses = Uses::new();
    for asking in ask_all(source) {
        for key in asking.used.used.into_keys() {
            let questions = uses.entry(key).or_default();
            if !questions.contains(&asking.question) {
                questions.push(asking.question);
            }
        }
    }
    uses
}

/// How a question is asked.
#[derive(Clone)]
enum Form {
    /// By the engines without time.
    Counted(Rates),
    /// The same between the halves of a large network.
    Halves,
    /// A message through all of a large network.
    Across,
    /// In time.
    Timed {
        what: Box<What>,
        size: u64,
        capacities: Rates,
        ethernet: Ethernet,
    },
    Deposits,
    OwnBarrier,
    OwnOfQsnet(Own),
}

fn questions() -> Vec<(&'static str, Form)> {
    let timed =
        |what, size| Form::Timed { what: Box::new(what), size, capacities: Rates::Measured, ethernet: Ethernet::Pause };
    let mut all = vec![
        ("analyze", Form::Counted(Rates::Measured)),
        ("analyze --capacities theoretical", Form::Counted(Rates::Theoretical)),
        ("analyze", Form::Halves),
        ("simulate pingpong", Form::Across),
    ];
    for size in [8, 64 << 10] {
        let between = [0, 1];
        all.push(("simulate pingpong", timed(What::PingPong { between, messages: Some(2) }, size)));
        all.push(("simulate alltoall", timed(What::AllToAll { order: Order::LinearShift }, size.min(16 << 10))));
        let program = |bench| program(bench, Memory::Shared);
        all.push(("simulate pingpong --stack message", timed(program(ProgramBench::PingPong { between }), size)));
        let registered = self::program(ProgramBench::PingPong { between }, Memory::Private);
        all.push(("simulate pingpong --memory registered", timed(registered, size)));
        let What::Program(plain) = program(ProgramBench::PingPong { between }) else { continue };
        let tcp = What::Program(Program { via: Via::Tcp, ..plain });
        all.push(("simulate pingpong --via tcp", timed(tcp, size)));
        let streamed = Streamed {
            benchmark: "stream",
            pairs: 1,
            direction: Direction::Uni,
            calls: Calls::Windowed,
            window: Some(80),
        };
        all.push(("simulate stream", timed(program(ProgramBench::Stream(streamed)), size)));
    }
    let theoretical = What::AllToAll { order: Order::LinearShift };
    let theoretical = Form::Timed {
        what: Box::new(theoretical),
        size: 4096,
        capacities: Rates::Theoretical,
        ethernet: Ethernet::Drop,
    };
    all.push(("simulate alltoall --capacities theoretical --ethernet drop", theoretical));
    let saturation = What::Saturation { pairs: vec![(0, 1)], messages: 8, window: None, counted: "pairs" };
    all.push(("simulate saturation", timed(saturation, 8192)));
    for which in hotlink_bench::Which::ALL {
        let names: &[Option<Way>] = match which {
            Which::Allreduce => &[None, Some(Way::By(Algorithm::Hardware))],
            _ => &[None],
        };
        for algorithm in names {
            let What::Program(plain) = program(ProgramBench::Collective(which), Memory::Shared) else { continue };
            let what = What::Program(Program { algorithm: *algorithm, ..plain });
            all.push((collective(which), timed(what, 4096)));
        }
    }
    let overlap = |spin| ProgramBench::Overlap { sender: true, spin, threads: None, shares: vec![0.5, 1.0] };
    for &spin in Spin::ALL {
        all.push(("simulate overlap", timed(program(overlap(spin), Memory::Private), 64 << 10)));
    }
    all.push(("simulate is", timed(program(ProgramBench::IntegerSort(Class::S), Memory::Shared), 0)));
    all.push(("simulate deposit", Form::Deposits));
    all.push(("simulate barrier --algorithm hardware", Form::OwnBarrier));
    all.extend(Own::ALL.map(|own| ("simulate bcast, barrier of QsNet's own", Form::OwnOfQsnet(own))));
    all
}

fn collective(which: Which) -> &'static str {
    match which {
        Which::Barrier => "simulate barrier",
        Which::Bcast => "simulate bcast",
        Which::Reduce => "simulate reduce",
        Which::Allreduce => "simulate allreduce",
        Which::Allgather => "simulate allgather",
        Which::Alltoall => "simulate alltoall --stack message",
        Which::Alltoallv => "simulate alltoallv",
        Which::Gather => "simulate gather",
        Which::Scatter => "simulate scatter",
        Which::ReduceScatter => "simulate reduce-scatter",
    }
}

fn program(bench: ProgramBench, memory: Memory) -> What {
    // The first message pays for what later ones find set up.
    What::Program(Program { memory, ..Program::plain(bench) })
}

impl Form {
    fn answer(&self, source: &Source, [nodes, many]: [u32; 2]) -> Result<Vec<Record>, Error> {
        match self {
            Form::Halves => {
                let what = Asked::Traffic(format!("permutation:shift:{}", many / 2));
                let question = Question::new(what, source.name(), many);
                Ok(ask(&question, source, &[Method::Load], &Unwatched)?.records())
            }
            Form::Across => {
                let what = What::PingPong { between: [0, many - 1], messages: Some(2) };
                Cell::plain(source.name(), many, 4096, what, 1).run_from(source, &Unwatched).map_err(Error::Input)
            }
            Form::Counted(capacities) => {
                let what = Asked::Traffic("all-to-all".to_owned());
                let question = Question { capacities: *capacities, ..Question::new(what, source.name(), nodes) };
                Ok(ask(&question, source, &[Method::Formula, Method::Load], &Unwatched)?.records())
            }
            Form::Timed { what, size, capacities, ethernet } => {
                let nodes = match what.as_ref() {
                    What::AllToAll { .. } | What::Program(Program { bench: ProgramBench::Collective(_), .. }) => nodes,
                    _ => 2,
                };
                let cell = Cell::plain(source.name(), nodes, *size, (**what).clone(), 1);
                let cell = Cell { capacities: *capacities, ethernet: *ethernet, ..cell };
                cell.run_from(source, &Unwatched).map_err(Error::Input)
            }
            Form::Deposits => {
                let each = |series: Series, completion| Transfers {
                    sizes: vec![64, 64 << 10],
                    strides: vec![1, 8],
                    operations: 100,
                    completion,
                    series: vec![series],
                    ..Transfers::usual()
                };
                let all = Series::ALL.iter().copied();
                let all = all.flat_map(|series| [each(series, Completion::Poll), each(series, Completion::Interrupt)]);
                let given: Vec<_> =
                    all.filter_map(|what| deposit::of(source, &what, Vary::No, &Unwatched).ok()).collect();
                match given.is_empty() {
                    true => Err(Error::Input("no transfer".to_owned())),
                    false => Ok(given.concat()),
                }
            }
            Form::OwnBarrier => barrier::of(source, nodes, barrier::Barriers::usual(), Vary::No, &Unwatched),
            Form::OwnOfQsnet(algorithm) => {
                let one = |bytes| {
                    let what =
                        Collective { algorithm: *algorithm, nodes, bytes, samples: 1, limit: None, background: None };
                    let missing = qsnet::Missing::default();
                    let fabric = source.name().to_owned();
                    let cell = qsnet::Cell { fabric, what, missing, seed: 1, raw: false, sensitivity: Vary::No };
                    cell.run_from(source, &Unwatched)
                };
                Ok([one(None)?, one(Some(1 << 20))?].concat())
            }
        }
    }
}
