//! One question, and every engine's answer to it.
//!
//! An engine [claims](Engine::claims) the questions that it can answer, and names what its model leaves out. An
//! omission can only make an answer better. So of two engines the one that leaves out more must not give the worse
//! answer. Where two answers differ, [`Answers`] says by how much and why. A difference against the claims has no such
//! reason, and is reported as a mistake of one of the engines.
//!
//! ```
//! use hotlink_study::ask::{Asked, Method, Question, ask};
//! use hotlink_study::{Source, Unwatched};
//! let question = Question { size: 65536, ..Question::new(Asked::Traffic("all-to-all".to_owned()), "sci-ring", 8) };
//! let source = Source::open(&question.machine).unwrap();
//! let answers = ask(&question, &source, &[Method::Formula, Method::Load], &Unwatched).unwrap();
//! assert_eq!(answers.given.len(), 2);
//! ```

mod counted;
mod difference;
mod loggp;
mod measured;
mod methods;
mod packet;
mod sizes;

pub use difference::{Difference, between};
pub use measured::Measured;
pub use methods::Methods;
pub use packet::Exactly;
pub use sizes::{AtSize, at_sizes};

use crate::inputs;
use crate::options::{Paths, Rates, Stack};
use crate::{Error, Source, Watch};
use hotlink_bench::{Record, Which};
use serde::{Deserialize, Serialize};

crate::words! {
    /// An engine.
    pub enum Method {
        /// Closed forms: M02's equations, and those of barrier and reduction networks.
        Formula = "formula",
        /// Flows counted over routes.
        Load = "load",
        /// LogGP, on a machine that was calibrated as one.
        Loggp = "loggp",
        /// The simulated network, packet by packet.
        Packet = "packet",
        /// Records of real ranks.
        Measured = "measured",
    }
}

/// A question to a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Asked {
    /// Bandwidth of each node under a pattern, as `permutation:random`.
    Traffic(String),
    /// Time of a message between two nodes.
    Pingpong,
    /// Time of a collective, by its name.
    Collective(String),
}

/// A question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// The question.
    pub what: Asked,
    /// A fabric's name, of the catalog or a file.
    pub machine: String,
    /// Nodes that take part.
    pub nodes: u32,
    /// Bytes of a message.
    pub size: u64,
    /// How a collective runs, by name; by default what the cost model picks.
    pub algorithm: Option<String>,
    /// The network alone, or a program on ranks; by default what suits the question.
    pub stack: Option<Stack>,
    /// Rates of the resources.
    pub capacities: Rates,
    /// How equal paths are chosen; by default as the fabric does.
    pub paths: Option<Paths>,
    /// Seed of every random choice.
    pub seed: u64,
    /// Draws of random traffic.
    pub samples: u64,
    /// Draws of the hash by which flows choose among equal paths; 0: the seed's alone.
    #[serde(default)]
    pub hash_seeds: u64,
    /// Shares of the load count's bound at which the mean latency is given.
    #[serde(default)]
    pub loads: Vec<f64>,
    /// Details in addition to the answer.
    #[serde(default)]
    pub detail: Detail,
}

/// Details in addition to an answer, at the cost of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Detail {
    /// Whether the routes can deadlock, and why.
    pub deadlock: bool,
    /// A record for every resource with load.
    pub links: bool,
    /// How the bound comes about.
    pub why: bool,
}

impl Question {
    /// With the usual choices: messages of 64 KiB, measured rates, seed 1.
    pub fn new(what: Asked, machine: &str, nodes: u32) -> Question {
        Question {
            what,
            machine: machine.to_owned(),
            nodes,
            size: 65536,
            algorithm: None,
            stack: None,
            capacities: Rates::Measured,
            paths: None,
            seed: 1,
            samples: 100,
            hash_seeds: 0,
            loads: Vec::new(),
            detail: Detail::default(),
        }
    }

    /// The collective that is asked for.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn collective(&self) -> Result<Option<Which>, Error> {
        let Asked::Collective(name) = &self.what else { return Ok(None) };
        let unknown = || {
            let all: Vec<&str> = Which::ALL.iter().map(|which| which.name()).collect();
            Error::Input(format!("`{name}` is no collective; allowed: {}", all.join(", ")))
        };
        Which::ALL.into_iter().find(|which| which.name() == name).map(Some).ok_or_else(unknown)
    }

    /// Whether it is the exchange of every node with every other, which is a pattern and a collective.
    fn is_exchange(&self) -> bool {
        match &self.what {
            Asked::Traffic(pattern) => pattern == "all-to-all",
            Asked::Collective(name) => name == "alltoall",
            Asked::Pingpong => false,
        }
    }

    /// Whether it is about a pattern of traffic, other than the exchange of every node with every other.
    fn is_pattern(&self) -> bool {
        matches!(self.what, Asked::Traffic(_)) && !self.is_exchange()
    }

    /// Bytes that a node sends, where the answer is a rate of each node.
    fn sent(&self) -> f64 {
        self.size as f64 * f64::from(self.nodes.max(2) - 1)
    }
}

crate::words! {
    /// An omission of a model, as the reason of a difference. Each can only make its answer better than the machine is.
    pub enum Omission {
        /// The shortest routes are not taken, since they could deadlock.
        Routes = "takes routes that could deadlock",
        /// One link of a kind is hotter than the average.
        HotLinks = "averages over links",
        /// Packets wait behind others and for full buffers.
        Blocking = "knows no head-of-line blocking",
        /// Latency, the first and the last packet.
        Ends = "leaves out beginning and end of messages",
        /// The additions of message passing: overheads, handshakes, copies.
        Protocol = "leaves out overheads and protocols of message passing",
        /// Links that several messages need at once.
        Sharing = "knows no messages that share links",
    }
}

/// An engine's statement about its answer before it gives it.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The omissions of its model.
    pub leaves_out: Vec<Omission>,
    /// Steps of its computation, about: packets on links for the simulator, 0 for what takes no time.
    pub steps: f64,
}

/// Why an engine has no answer, and what it could answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WhyNot(pub String);

/// The compared value of answers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// Microseconds; less is better.
    Us(f64),
    /// MB/s of each node; more is better.
    PerNodeMbps(f64),
}

/// One engine's answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The engine.
    pub method: Method,
    /// Its claim.
    pub claim: Claim,
    /// Its record.
    pub record: Record,
    /// The value to compare with the others'; `None` where there is none.
    pub value: Option<Value>,
    /// Records of parts, where [`Detail`] asks for them.
    pub more: Vec<Record>,
    /// How the bound comes about, a step a line, where [`Detail`] asks for it.
    pub why: Vec<String>,
}

impl Answer {
    /// The answer of the engine of this name, as far as it is compared with others; `None`: it claims none.
    pub(crate) fn claimed(method: &str, question: &Question, source: &Source, mbps: f64) -> Option<Answer> {
        let engine = ENGINES.into_iter().find(|engine| engine.method().name() == method)?;
        let (method, claim) = (engine.method(), engine.claims(question, &source.unasked()).ok()?);
        let value = Some(Value::PerNodeMbps(mbps));
        Some(Answer { method, claim, record: Record::new(), value, more: Vec::new(), why: Vec::new() })
    }
}

/// An engine's own parts of an [`Answer`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Given {
    /// The record.
    pub record: Record,
    /// The compared value.
    pub value: Option<Value>,
    /// Records of parts.
    pub more: Vec<Record>,
    /// How the bound comes about.
    pub why: Vec<String>,
}

impl Given {
    /// A record and its value, and no more.
    fn plain(record: Record, value: Option<Value>) -> Given {
        Given { record, value, ..Given::default() }
    }
}

/// The answers of all engines that were asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answers {
    /// Answers, in the order of [`Method`].
    pub given: Vec<Answer>,
    /// The methods without an answer, and why.
    pub withheld: Vec<(Method, WhyNot)>,
    /// Where answers differ.
    pub differences: Vec<Difference>,
}

impl Answers {
    /// The records; each says in `differs` how it differs from the engines before it.
    pub fn records(&self) -> Vec<Record> {
        let with = |answer: &Answer| {
            let told = self.differences.iter().filter(|difference| difference.of == answer.method);
            let told: Vec<String> = told.map(ToString::to_string).collect();
            match told.is_empty() {
                true => answer.record.clone(),
                false => answer.record.clone().with("differs", told.join("; ")),
            }
        };
        self.given.iter().map(with).collect()
    }

    /// The differences that the engines' claims do not explain.
    pub fn mistakes(&self) -> Vec<String> {
        let mistakes = self.differences.iter().filter(|difference| !difference.is_explained());
        mistakes.map(|difference| format!("{}: {difference}", difference.of)).collect()
    }

    /// Notes for people in addition to the records: methods without an answer, and differences of answers.
    pub fn notes(&self) -> Vec<String> {
        let withheld = self.withheld.iter().map(|(method, why)| format!("{method}: {}", why.0));
        withheld.chain(self.differences.iter().map(|difference| format!("{}: {difference}", difference.of))).collect()
    }
}

/// An engine that answers questions.
pub trait Engine: Sync {
    /// Its name.
    fn method(&self) -> Method;
    /// Whether it can answer, and what its model leaves out.
    ///
    /// # Errors
    /// Why it cannot.
    fn claims(&self, question: &Question, source: &Source) -> Result<Claim, WhyNot>;
    /// The answer to a question that it claims.
    ///
    /// # Errors
    /// The machine cannot be built so, or the answer does not exist.
    fn answer(&self, question: &Question, source: &Source, watch: &dyn Watch) -> Result<Given, Error>;
}

/// The engines that compute, each one line here and one file.
pub const ENGINES: [&dyn Engine; 4] = [&counted::Formula, &counted::Load, &loggp::Loggp, &packet::Packet];

/// Most steps of an engine that is one of several: minutes.
const MOST_STEPS: f64 = 3e8;

/// The answers of the engines of these methods. One that is asked alone may take as long as it needs.
///
/// # Errors
/// An engine failed at what it claims; none has an answer.
pub fn ask(question: &Question, source: &Source, methods: &[Method], watch: &dyn Watch) -> Result<Answers, Error> {
    let engines: Vec<&dyn Engine> = ENGINES.into_iter().filter(|engine| methods.contains(&engine.method())).collect();
    ask_engines(question, source, &engines, watch)
}

/// As [`ask`], of these engines: [`Measured`] holds records.
///
/// # Errors
/// As [`ask`].
pub fn ask_engines(
    question: &Question,
    source: &Source,
    engines: &[&dyn Engine],
    watch: &dyn Watch,
) -> Result<Answers, Error> {
    if !question.loads.is_empty() && engines.iter().all(|engine| engine.method() != Method::Load) {
        return Err(Error::Input(
            "load: the load count tells latency under load: --method load, both or all".to_owned(),
        ));
    }
    let mut answers = Answers::default();
    for engine in engines {
        let method = engine.method();
        let claim = engine.claims(question, source).and_then(|claim| match claim.steps > MOST_STEPS && engines.len() > 1 {
            true => Err(WhyNot(format!(
                "takes about {:.0e} steps, of several engines at most {MOST_STEPS:.0e}: ask it alone, of fewer nodes or bytes",
                claim.steps
            ))),
            false => Ok(claim),
        });
        match claim {
            Ok(claim) => {
                let asked = source.unasked();
                let Given { mut record, value, more, why } = engine.answer(question, &asked, watch)?;
                inputs::note(&mut record, &asked.spec().used());
                source.also_asked(&asked);
                answers.given.push(Answer { method, claim, record, value, more, why });
            }
            Err(why) => answers.withheld.push((method, why)),
        }
    }
    if answers.given.is_empty() {
        let why: Vec<String> = answers.withheld.iter().map(|(method, why)| format!("{method}: {}", why.0)).collect();
        return Err(Error::Input(format!("{} with {} nodes: {}", source.name(), question.nodes, why.join("; "))));
    }
    answers.differences = difference::between(&answers.given);
    Ok(answers)
}
