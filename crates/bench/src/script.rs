//! Collectives one after the other and nothing else, which `simulate goal --generate` records.

use crate::collective::Collective as Timed;
use crate::{Plan, Start, Which};
use hotlink_message::{Algorithm, Collective, Comm, Error};
use hotlink_port::{Port, Program};
use std::fmt;
use std::str::FromStr;

/// A collective by one of its algorithms, as text `OPERATION:ALGORITHM[:SIZE[:SEGMENT]]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Which.
    pub which: Which,
    /// How.
    pub algorithm: Algorithm,
    /// Bytes, see [`Which`].
    pub size: u64,
    /// Bytes of a segment of a pipeline; `None`: the cost model's choice.
    pub segment: Option<u64>,
}

/// Largest vector or block.
const MOST_BYTES: u64 = 1 << 36;
/// Most segments of a pipeline.
const MOST_SEGMENTS: u64 = 1 << 16;

impl Step {
    /// All operations and algorithms, as [`FromStr`] reads them.
    pub fn names() -> impl Iterator<Item = String> {
        let by_messages = |collective: Collective| {
            let own = collective.algorithms().iter().filter(|&&algorithm| algorithm != Algorithm::Hardware);
            own.map(move |algorithm| format!("{}:{}", collective.name(), algorithm.name()))
        };
        Collective::ALL.into_iter().flat_map(by_messages)
    }

    /// About how many operations it is on `ranks` ranks, never far too few.
    pub fn operations(&self, ranks: u32) -> u64 {
        use Algorithm::{Binomial, Bruck, Central, Dissemination, Linear, NWay, Pipelined, RecursiveDoubling};
        use Algorithm::{Rabenseifner, ScatterDoubling, SegmentedRing, Tournament, Tree};
        let (ranks, rounds) = (u64::from(ranks), u64::from(ranks.max(1).ilog2()) + 1);
        let is_everybody =
            matches!(self.which.collective(), Collective::Allgather | Collective::Alltoall | Collective::ReduceScatter);
        let each = match self.algorithm {
            Linear if is_everybody => 2 * ranks,
            Central | Tree | Tournament | Linear => 10,
            Binomial => 6,
            Dissemination | NWay => 6 * rounds + 2,
            Bruck | RecursiveDoubling | Rabenseifner => 4 * rounds + 4,
            Pipelined if self.which == Which::Bcast => 2 * self.size.div_ceil(self.segment.unwrap_or(1024)).max(1),
            SegmentedRing => (4 * ranks + 2) * (self.size / ranks).div_ceil(self.segment.unwrap_or(1 << 20)).max(1),
            ScatterDoubling if ranks.is_power_of_two() => 4 * rounds + 4,
            by_tree if by_tree.is_segmented() => 4 + 6 * self.size.div_ceil(self.segment.unwrap_or(self.size)).max(1),
            _ => 4 * ranks + 2,
        };
        ranks * each
    }

    fn named(text: &str) -> Result<(Which, Algorithm), String> {
        let (operation, algorithm) = text.split_once(':').unwrap_or((text, ""));
        let found = Collective::ALL.into_iter().find(|collective| collective.name() == operation);
        let named = found.and_then(|found| Some((found, Algorithm::named(found, algorithm).ok()?)));
        let (collective, algorithm) =
            named.filter(|(_, algorithm)| *algorithm != Algorithm::Hardware).ok_or_else(|| {
                let names: Vec<String> = Step::names().collect();
                let allowed = format!("must be OPERATION:ALGORITHM[:SIZE[:SEGMENT]] with {}", names.join(", "));
                format!("`{text}` is no collective; {allowed}")
            })?;
        let which = match collective {
            Collective::Barrier => Which::Barrier,
            Collective::Bcast => Which::Bcast,
            Collective::Reduce => Which::Reduce,
            Collective::Allreduce => Which::Allreduce,
            Collective::Gather => Which::Gather,
            Collective::Scatter => Which::Scatter,
            Collective::Allgather => Which::Allgather,
            Collective::Alltoall => Which::Alltoall,
            Collective::ReduceScatter => Which::ReduceScatter,
        };
        Ok((which, algorithm))
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.which.name(), self.algorithm.name(), self.size)?;
        self.segment.map_or(Ok(()), |segment| write!(f, ":{segment}"))
    }
}

impl FromStr for Step {
    type Err = String;

    fn from_str(text: &str) -> Result<Step, String> {
        let mut parts = text.splitn(3, ':');
        let name = format!("{}:{}", parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let (which, algorithm) = Step::named(&name).map_err(|what| what.replacen(&name, text, 1))?;
        let mut sizes = parts.next().into_iter().flat_map(|rest| rest.split(':')).map(|part| {
            let size = part.parse::<hotlink_fabric::units::Bytes>().map(|bytes| bytes.0).ok();
            size.filter(|size| (1..=MOST_BYTES).contains(size))
                .ok_or_else(|| format!("`{text}`: `{part}` is no size: must be 1 to {MOST_BYTES} bytes"))
        });
        let size = sizes.next().transpose()?.unwrap_or(which.element_bytes());
        let segment = sizes.next().transpose()?;
        if sizes.next().is_some() || (segment.is_some() && !algorithm.is_segmented()) {
            let segmented = which.collective().algorithms().iter().filter(|algorithm| algorithm.is_segmented());
            let names: Vec<&str> = segmented.map(|algorithm| algorithm.name()).collect();
            let taken =
                if names.is_empty() { "none takes".to_owned() } else { format!("only {} take", names.join(", ")) };
            return Err(format!("`{text}` has too many sizes: of {}'s algorithms {taken} a segment", which.name()));
        }
        if segment.is_some_and(|segment| size.div_ceil(segment) > MOST_SEGMENTS) {
            return Err(format!("`{text}` has more than {MOST_SEGMENTS} segments"));
        }
        which.check_size(size).map_err(|what| format!("`{text}`: {what}"))?;
        Ok(Step { which, algorithm, size, segment })
    }
}

/// Steps, one after the other, repeated, from a common start: each rank goes on as soon as it can.
#[derive(Clone, Copy, Debug)]
pub struct Script<'a> {
    /// The collectives.
    pub steps: &'a [Step],
    /// How often all of them are done.
    pub repeat: u32,
}

impl<P: Port> Program<P, Result<(), Error>> for Script<'_> {
    async fn run(&self, port: P) -> Result<(), Error> {
        let comm = Comm::new(port);
        let timed = |step: &Step| Timed {
            which: step.which,
            size: step.size,
            private: false,
            start: Start::Barrier,
            background: None,
            plan: Plan::once(),
        };
        let prepared = self.steps.iter().map(|step| Ok((step, timed(step), timed(step).places(&comm)?)));
        let prepared: Vec<_> = prepared.collect::<Result<_, Error>>()?;
        for _ in 0..self.repeat {
            for (step, timed, places) in &prepared {
                comm.force(step.which.collective(), Some(step.algorithm))?;
                comm.set_segment(step.segment);
                timed.once(&comm, places).await?;
            }
        }
        Ok(())
    }
}
