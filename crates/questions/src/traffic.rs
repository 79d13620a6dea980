//! Questions about traffic on fabrics: `analyze` and `compare`.

use crate::values::{Numbers, Shares, Size, technology, word, wrong};
use crate::{Answered, Heard, Steps, seen};
use hotlink_fabric::technology::Technology;
use hotlink_study::ask::{Asked, Detail, ENGINES, Engine, Method, Question, at_sizes};
use hotlink_study::comparison::{Comparison, PACKETS_SIZE, Priced};
use hotlink_study::inputs::Vary;
use hotlink_study::judged::Judged;
use hotlink_study::model::{self, PatternQuestion, traffic};
use hotlink_study::ranking::Eras;
use hotlink_study::{Error, Source};
use serde::Deserialize;
use std::path::PathBuf;

/// Arguments of all questions about traffic.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    pub(crate) traffic: String,
    pub(crate) capacities: String,
    pub(crate) size: Size,
    pub(crate) samples: u64,
    pub(crate) hash_seeds: u64,
    pub(crate) seed: u64,
    pub(crate) paths: Option<String>,
    pub(crate) technology: Option<String>,
}

impl Pattern {
    /// Of these fields, the usual ones where there are none.
    pub(crate) fn question(&self, machine: &str, nodes: u32) -> Result<Question, Error> {
        traffic(&self.traffic).map_err(|what| wrong("traffic", &what))?;
        let what = Asked::Traffic(self.traffic.clone());
        let paths = self.paths.as_ref().map(|paths| word("paths", paths)).transpose()?;
        let (size, capacities) = (self.size.bytes("size")?, word("capacities", &self.capacities)?);
        if !(1..=100_000).contains(&self.samples) {
            return Err(wrong("samples", "must be 1 to 100000"));
        }
        if self.hash_seeds > 100_000 {
            return Err(wrong("hash_seeds", "must be 0 to 100000"));
        }
        let Pattern { seed, samples, hash_seeds, .. } = *self;
        Ok(Question { size, capacities, paths, seed, samples, hash_seeds, ..Question::new(what, machine, nodes) })
    }

    /// As closed form and load count take it.
    pub(crate) fn pattern(&self) -> Result<PatternQuestion, Error> {
        let Question { capacities, size, seed, samples, hash_seeds, paths, .. } = self.question("", 2)?;
        let traffic = traffic(&self.traffic).map_err(|what| wrong("traffic", &what))?;
        Ok(PatternQuestion { traffic, capacities, size, seed, samples, hash_seeds, paths })
    }

    fn technology(&self) -> Result<Option<&'static Technology>, Error> {
        technology(self.technology.as_ref())
    }

    /// The fabric of that name.
    pub(crate) fn open(&self, fabric: &str) -> Result<Source, Error> {
        Source::open_as(fabric, self.technology()?)
    }
}

/// A question's struct: the fields of [`Pattern`] and its own, all of which JSON may leave out but those with `!`. (Serde's
/// `flatten` would let unknown arguments pass.)
macro_rules! about_traffic {
    ($(#[$meta:meta])* $name:ident { $($field:ident: $kind:ty = $usual:expr,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct $name {
            traffic: String,
            capacities: String,
            size: Option<Size>,
            samples: u64,
            hash_seeds: u64,
            seed: u64,
            paths: Option<String>,
            technology: Option<String>,
            $($field: $kind,)*
        }
        impl Default for $name {
            fn default() -> $name {
                $name {
                    traffic: "all-to-all".to_owned(),
                    capacities: "measured".to_owned(),
                    size: None,
                    samples: 100,
                    hash_seeds: 0,
                    seed: 1,
                    paths: None,
                    technology: None,
                    $($field: $usual,)*
                }
            }
        }
        impl $name {
            fn pattern(&self) -> Pattern {
                Pattern {
                    traffic: self.traffic.clone(),
                    capacities: self.capacities.clone(),
                    size: self.size.clone().unwrap_or(Size::Bytes(1 << 20)),
                    samples: self.samples,
                    hash_seeds: self.hash_seeds,
                    seed: self.seed,
                    paths: self.paths.clone(),
                    technology: self.technology.clone(),
                }
            }
        }
    };
}

pub(crate) use about_traffic;

about_traffic! {
    /// Every engine of `method` that answers, for each number of nodes.
    Analyze {
        fabric: String = String::new(),
        nodes: Option<Numbers> = None,
        method: String = "both".to_owned(),
        links: bool = false,
        load: Option<Shares> = None,
        why: bool = false,
        sensitivity: bool = false,
    }
}

/// Refuses draws of the hash where no load is counted.
fn need_counts(hash_seeds: u64, are_there: bool) -> Result<(), Error> {
    match are_there || hash_seeds == 0 {
        true => Ok(()),
        false => Err(wrong("hash_seeds", "only the load count draws hashes: method load")),
    }
}

impl Analyze {
    fn methods(&self) -> Result<Vec<Method>, Error> {
        let names = match self.method.as_str() {
            "both" => "formula,load",
            "all" => "formula,load,loggp,packet",
            own => own,
        };
        names.split(',').map(|name| word("method", name)).collect()
    }

    /// The answers: their records, those of links behind them, and how they come about.
    ///
    /// # Errors
    /// Of the fabric's files, of arguments.
    pub fn answered(&self, heard: &Heard) -> Result<Answered, Error> {
        let (pattern, methods) = (self.pattern(), self.methods()?);
        need_counts(self.hash_seeds, methods.contains(&Method::Load))?;
        let source = pattern.open(&self.fabric)?;
        let sizes = match &self.nodes {
            Some(nodes) => nodes.list()?,
            None => source.sizes(None)?,
        };
        let keeps = seen::REMEMBERS && sizes.len() == 1;
        let steps = Steps::of(heard, sizes.len() as u64 * pattern.pattern()?.draws()).keeping(keeps);
        let vary = if self.sensitivity { Vary::Yes } else { Vary::No };
        let detail = Detail { deadlock: true, links: self.links, why: self.why };
        let loads = self.load.as_ref().map_or(Ok(Vec::new()), |shares| shares.list("load"))?;
        let question = Question { detail, loads, ..pattern.question(&self.fabric, 2)? };
        let engines: Vec<&dyn Engine> =
            ENGINES.into_iter().filter(|engine| methods.contains(&engine.method())).collect();
        let (mut records, mut resources, mut notes) = (Vec::new(), Vec::new(), Vec::new());
        let (asked, of) = ((&question, &sizes[..]), (&engines[..], self.method == "all"));
        at_sizes(asked, &source, of, vary, &steps, &mut |given| {
            records.extend(given.records);
            resources.extend(given.more);
            notes.extend(given.notes);
            true
        })?;
        records.extend(resources);
        if let Some(counted) = steps.kept() {
            seen::remember(pattern.pattern()?, counted);
        }
        Ok(Answered { records, notes })
    }
}

about_traffic! {
    /// Several fabrics at each size, and where the lead changes.
    Compare {
        fabrics: Vec<String> = Vec::new(),
        changes: Vec<(String, String)> = Vec::new(),
        nodes: Numbers = Numbers::Text("2..128".to_owned()),
        method: String = "load".to_owned(),
        prices: Option<PathBuf> = None,
        across_eras: bool = false,
        sensitivity: bool = false,
    }
}

impl Compare {
    fn sources(&self) -> Result<Vec<Priced>, Error> {
        let technology = self.pattern().technology()?;
        let mut sources: Vec<Priced> = Vec::new();
        for (name, changed) in self.fabrics.iter().zip(Source::changed(&self.fabrics, &self.changes)?) {
            let source = Source::open_as(&changed, technology.filter(|_| name.ends_with(".json")))?;
            if sources.iter().any(|known| known.source.name() == source.name()) {
                return Err(wrong("fabrics", &format!("{} is named twice; name each fabric once", source.name())));
            }
            sources.push(Priced::new(source, self.prices.as_deref())?);
        }
        Ok(sources)
    }

    /// The comparison.
    ///
    /// # Errors
    /// Of the fabrics' files, of arguments.
    pub fn judged(&self, heard: &Heard) -> Result<Judged, Error> {
        let (sources, mut question) = (self.sources()?, self.pattern().pattern()?);
        let methods: Vec<model::Method> =
            self.method.split(',').map(|name| word("method", name)).collect::<Result<_, _>>()?;
        need_counts(self.hash_seeds, methods.contains(&model::Method::Load))?;
        if self.size.is_none() && methods.contains(&model::Method::Packet) {
            question.size = PACKETS_SIZE;
        }
        let eras = if self.across_eras { Eras::Together } else { Eras::Apart };
        let sizes = self.nodes.list()?;
        let steps = Steps::of(heard, (sizes.len() * sources.len() * methods.len()) as u64);
        let vary = if self.sensitivity { Vary::Yes } else { Vary::No };
        let make = |method| Comparison::make(&sources, &sizes, &question, method, eras, vary, &steps);
        Ok(Judged::new(methods.into_iter().map(make).collect::<Result<_, _>>()?))
    }
}
