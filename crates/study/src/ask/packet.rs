//! The engine in time: the simulated network, bare or under the message stack.

use super::{Asked, Claim, Engine, Given, Method, Omission, Question, Value, WhyNot};
use crate::cell::{Cell, Offered, Program, ProgramBench, What};
use crate::effort;
use crate::model::traffic;
use crate::options::{Ethernet, Order, Stack};
use crate::simulate::loggp::is_calibrated;
use crate::{Error, Source, Watch};
use hotlink_bench::Which;
use hotlink_fabric::traffic::sample_seed;
use hotlink_message::Way;

/// The simulated network.
pub(super) struct Packet;

/// Messages that an average node offers in an open loop.
const MESSAGES: u32 = 200;

impl Question {
    /// Whether the network alone answers.
    fn is_bare(&self) -> bool {
        let usual = match &self.what {
            Asked::Traffic(_) => Stack::Packet,
            Asked::Pingpong => Stack::Packet,
            Asked::Collective(name) if name == "alltoall" && self.algorithm.is_none() => Stack::Packet,
            Asked::Collective(_) => Stack::Message,
        };
        self.stack.unwrap_or(usual) == Stack::Packet
    }

    /// The cell that answers in time.
    pub(crate) fn cell(&self) -> Result<Cell, String> {
        let what = match &self.what {
            Asked::Pingpong if self.is_bare() => What::PingPong { between: [0, self.nodes - 1], messages: Some(1) },
            Asked::Pingpong => self.program(ProgramBench::PingPong { between: [0, self.nodes - 1] }, None),
            _ if self.is_exchange() && self.is_bare() => What::AllToAll { order: Order::LinearShift },
            Asked::Traffic(pattern) => {
                What::Traffic(Offered { messages: Some(MESSAGES), ..Offered::plain(pattern, 1.0) })
            }
            Asked::Collective(_) => {
                let which = self.collective().map_err(|error| error.to_string())?.expect("a collective");
                let name = self.algorithm.as_deref();
                let algorithm = name.map(|name| Way::named(which.collective(), name)).transpose();
                self.program(ProgramBench::Collective(which), algorithm.map_err(|what| format!("--algorithm: {what}"))?)
            }
        };
        // The simulator takes a seed as it is: the first draw of the load count has this one.
        let seed = if matches!(what, What::Traffic(_)) { sample_seed(self.seed, 0) } else { self.seed };
        let Question { nodes, size, capacities, paths, .. } = *self;
        let ethernet = Ethernet::Pause;
        Ok(Cell { capacities, paths, ethernet, ..Cell::plain(&self.machine, nodes, size, what, seed) })
    }

    fn program(&self, bench: ProgramBench, algorithm: Option<Way>) -> What {
        What::Program(Program { algorithm, warmup: u64::from(self.nodes <= 4096), ..Program::plain(bench) })
    }
}

impl Engine for Packet {
    fn method(&self) -> Method {
        Method::Packet
    }

    fn claims(&self, question: &Question, source: &Source) -> Result<Claim, WhyNot> {
        if is_calibrated(source.spec()) {
            return Err(WhyNot(format!("{} is calibrated as LogGP, which has no network", source.name())));
        }
        if let Asked::Traffic(pattern) = &question.what {
            traffic(pattern).map_err(WhyNot)?;
        }
        let which = question.collective().map_err(|error| WhyNot(error.to_string()))?;
        if which == Some(Which::Barrier) && question.algorithm.as_deref() == Some("hardware") {
            return Err(WhyNot(
                "a barrier network has no packets: `hotlink simulate barrier` runs its events".to_owned(),
            ));
        }
        if question.nodes < 2 {
            return Err(WhyNot("a network is simulated between 2 nodes or more".to_owned()));
        }
        let cell = question.cell().map_err(WhyNot)?;
        // An open loop has no ends: its answer is of the measured middle.
        let leaves_out = match &question.what {
            Asked::Traffic(_) if !question.is_exchange() => vec![Omission::Ends, Omission::Protocol],
            _ if question.is_bare() => vec![Omission::Protocol],
            _ => Vec::new(),
        };
        Ok(Claim { leaves_out, steps: effort::packet_hops(&cell, source.spec()) })
    }

    fn answer(&self, question: &Question, source: &Source, watch: &dyn Watch) -> Result<Given, Error> {
        given(question, source, &question.cell().map_err(Error::Input)?, watch)
    }
}

/// The engine in time with this very cell, whatever options made it: LogGP where the machine is calibrated as one, else the
/// simulated network.
pub struct Exactly(Cell, Method);

impl Exactly {
    /// The cell on its fabric.
    pub fn new(cell: Cell, source: &Source) -> Exactly {
        Exactly(cell, if is_calibrated(source.spec()) { Method::Loggp } else { Method::Packet })
    }

    /// The question that the cell answers; `None`: other engines know nothing of the kind.
    pub fn question(&self) -> Option<Question> {
        let cell = &self.0;
        let (what, algorithm, stack) = match &cell.what {
            What::PingPong { .. } => (Asked::Pingpong, None, Stack::Packet),
            What::AllToAll { .. } => (Asked::Collective("alltoall".to_owned()), None, Stack::Packet),
            What::Traffic(offered) => (Asked::Traffic(offered.pattern.clone()), None, Stack::Packet),
            What::Program(program) => match &program.bench {
                ProgramBench::PingPong { .. } => (Asked::Pingpong, None, Stack::Message),
                ProgramBench::Collective(which) => {
                    let algorithm = program.algorithm.map(|algorithm| algorithm.name().to_owned());
                    (Asked::Collective(which.name().to_owned()), algorithm, Stack::Message)
                }
                _ => return None,
            },
            What::Saturation { .. } | What::Exchanges { .. } => return None,
        };
        let Cell { nodes, size, capacities, paths, seed, .. } = *cell;
        let question = Question::new(what, &cell.fabric, nodes);
        Some(Question { size, capacities, paths, seed, algorithm, stack: Some(stack), ..question })
    }
}

impl Engine for Exactly {
    fn method(&self) -> Method {
        self.1
    }

    fn claims(&self, question: &Question, source: &Source) -> Result<Claim, WhyNot> {
        // Asked for itself, it takes as long as it needs.
        let claim = match self.1 {
            Method::Loggp => super::loggp::Loggp.claims(question, source)?,
            _ => Packet.claims(question, source)?,
        };
        Ok(Claim { steps: 0.0, ..claim })
    }

    fn answer(&self, question: &Question, source: &Source, watch: &dyn Watch) -> Result<Given, Error> {
        let answer = given(question, source, &self.0, watch)?;
        let is_partial = matches!(&self.0.what, What::Traffic(offered) if offered.load < 1.0);
        // Less was offered than the network could take: that is no answer to what it can take.
        Ok(Given { value: answer.value.filter(|_| !is_partial), ..answer })
    }
}

pub(super) fn given(question: &Question, source: &Source, cell: &Cell, watch: &dyn Watch) -> Result<Given, Error> {
    let mut records = cell.run_from(source, watch).map_err(Error::Input)?.into_iter();
    let record = records.next().ok_or_else(|| Error::Input("the simulation gave no record".to_owned()))?;
    let value = match &question.what {
        _ if question.is_exchange() => {
            let per_node = record.number("bandwidth_per_node_MBps");
            let by_time = record.number("latency_us").map(|us| question.sent() / us);
            per_node.or(by_time).map(Value::PerNodeMbps)
        }
        Asked::Traffic(_) => record.number("bandwidth_per_node_MBps").map(Value::PerNodeMbps),
        _ => record.number("latency_us").map(Value::Us),
    };
    Ok(Given { record, value, more: records.collect(), why: Vec::new() })
}
