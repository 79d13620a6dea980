//! Which engines are asked, and the points of a simulated study put to several of them.

use super::{ENGINES, Engine, Exactly, Measured, Method, ask_engines};
use crate::cell::Cell;
use crate::simulate::loggp::is_calibrated;
use crate::simulate::request::{Part, Request};
use crate::words::Word;
use crate::{Error, Source, Watch};
use hotlink_bench::Record;
use std::fmt::{Display, Formatter};

/// Which engines are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Methods {
    /// One engine.
    One(Method),
    /// Closed form and load count.
    Both,
    /// Every engine that can answer, and how their answers differ.
    All,
}

impl Word for Methods {
    const ALL: &'static [Methods] = &[
        Methods::One(Method::Formula),
        Methods::One(Method::Load),
        Methods::One(Method::Loggp),
        Methods::One(Method::Packet),
        Methods::One(Method::Measured),
        Methods::Both,
        Methods::All,
    ];
    fn word(self) -> &'static str {
        match self {
            Methods::One(method) => method.name(),
            Methods::Both => "both",
            Methods::All => "all",
        }
    }
    fn meaning(self) -> &'static str {
        match self {
            Methods::One(method) => method.meaning(),
            Methods::Both => "Closed form and load count",
            Methods::All => "Every engine that can answer, and how their answers differ",
        }
    }
}

impl Display for Methods {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.word())
    }
}

impl Methods {
    /// Whether the engine of this method is asked.
    pub fn asks(self, method: Method) -> bool {
        match self {
            Methods::All => true,
            Methods::Both => matches!(method, Method::Formula | Method::Load),
            Methods::One(one) => one == method,
        }
    }

    /// The engines of these methods; `measured` holds what real ranks answered.
    pub fn engines(self, measured: &Measured) -> Vec<&dyn Engine> {
        let all = ENGINES.into_iter().map(|engine| engine as &dyn Engine).chain([measured as &dyn Engine]);
        all.filter(|engine| self.asks(engine.method())).collect()
    }

    /// Whether engines of theirs answer these points. The simulator alone answers every benchmark, but nothing on a machine
    /// without a network.
    pub fn answer(self, cells: &[Cell]) -> bool {
        // One that cannot be opened says so when it runs.
        let is_loggp = |cell: &Cell| Source::open(&cell.fabric).is_ok_and(|source| is_calibrated(source.spec()));
        self != Methods::One(Method::Packet) || cells.iter().any(is_loggp)
    }

    /// Asks the engines of these methods every point, in order, until `give` says false. Returns notes for people in
    /// addition to the records.
    ///
    /// # Errors
    /// Only the simulator answers the benchmark; as [`ask_engines`].
    pub fn each(
        self,
        cells: &[Cell],
        measured: &Measured,
        watch: &dyn Watch,
        give: &mut dyn FnMut(Vec<Record>) -> bool,
    ) -> Result<Vec<String>, Error> {
        let mut notes = Vec::new();
        for cell in cells {
            if cell.faults.is_some() && self != Methods::One(Method::Packet) {
                let why = "only the simulator takes --faults (--method packet); other methods know the fabric whole";
                return Err(Error::Input(format!("--method {self}: {why}")));
            }
            let source = Source::open(&cell.fabric)?;
            let exactly = Exactly::new(cell.clone(), &source);
            let question = exactly.question().ok_or_else(|| {
                Error::Input(format!("--method {self}: only the simulator answers this benchmark: --method packet"))
            })?;
            let others = ENGINES.into_iter().filter(|engine| engine.method() != exactly.method());
            let all = others.chain([&exactly as &dyn Engine, measured]);
            let engines: Vec<&dyn Engine> = all.filter(|engine| self.asks(engine.method())).collect();
            let answers = ask_engines(&question, &source, &engines, watch)?;
            let more = answers.given.iter().flat_map(|answer| answer.more.clone());
            let given = answers.records().into_iter().chain(more).collect();
            notes.extend(answers.notes().iter().map(|note| format!("{} nodes, {} B: {note}", cell.nodes, cell.size)));
            if !give(given) {
                break;
            }
        }
        Ok(notes)
    }

    /// The records of a request, where it is put to the engines of these methods; `measured` as of [`Methods::engines`].
    ///
    /// # Errors
    /// As [`Methods::each`]; of the simulator.
    pub fn records(self, request: &Request, measured: &Measured, watch: &dyn Watch) -> Result<Vec<Record>, Error> {
        let mut records = Vec::new();
        let mut give = |given: Vec<Record>| {
            records.extend(given);
            true
        };
        for part in request.parts()? {
            match &part {
                Part::Cells(cells) if self.answer(cells) => {
                    self.each(cells, measured, watch, &mut give)?;
                }
                part => part.run(watch, &mut give)?,
            }
        }
        Ok(records)
    }
}
