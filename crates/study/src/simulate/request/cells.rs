//! The cells of a request: one for each fabric, number of nodes, size and choice.

use super::super::loggp::is_calibrated;
use super::{Benchmark, Request, input};
use crate::cell::{Cell, Offered, ProgramBench, Streamed, What};
use crate::options::{SendMode, Side, Stack, Ways};
use crate::sizes::Law;
use crate::{Error, benchmarks, sort};
use hotlink_bench::is::Class;
use hotlink_bench::{Calls, Direction, Which};
use hotlink_load::sharing::{Sharing, random_pairs};

impl Request {
    /// Cells of a benchmark that has them; `bcast` with the algorithms that run over messages.
    pub(super) fn cells(&self, algorithms: &[String]) -> Result<Vec<Cell>, Error> {
        self.check(algorithms)?;
        let cells = self.of_benchmark(algorithms)?;
        if self.network.links && cells.iter().any(|cell| matches!(cell.what, What::Program(_))) {
            let bare = if self.has_bare() { "--stack packet, or " } else { "" };
            return input(format!("--links: the message stack keeps no record of links: {bare}`simulate traffic`"));
        }
        Ok(cells)
    }

    /// Whether bare packets have the benchmark, too.
    fn has_bare(&self) -> bool {
        matches!(self.benchmark, Benchmark::PingPong { .. } | Benchmark::Collective { which: Which::Alltoall, .. })
    }

    fn of_benchmark(&self, algorithms: &[String]) -> Result<Vec<Cell>, Error> {
        let message =
            |bench: &ProgramBench, nodes| -> Result<Vec<What>, Error> { Ok(self.programs.of(nodes, bench, &[None])) };
        match &self.benchmark {
            Benchmark::PingPong { messages, between } => self.each(|_, nodes| {
                let between = match *between {
                    None => [0, nodes - 1],
                    Some([a, b]) if a != b => [a, b],
                    Some(_) => return input("--between: two different nodes, such as 0,5"),
                };
                match self.stack_of(false)? {
                    Stack::Packet => Ok(vec![What::PingPong { between, messages: *messages }]),
                    Stack::Message if between[0] != 0 || between[1] != nodes - 1 => {
                        input("--between: the message stack plays between the first and the last node")
                    }
                    Stack::Message => message(&ProgramBench::PingPong { between }, nodes),
                }
            }),
            Benchmark::Stream { directions, calls, window } => self.each(|_, nodes| {
                let one = |&direction: &Direction| {
                    let streamed =
                        Streamed { benchmark: "stream", pairs: 1, direction, calls: *calls, window: *window };
                    self.programs.of(nodes, &ProgramBench::Stream(streamed), &[None])
                };
                Ok(directions.iter().flat_map(one).collect())
            }),
            Benchmark::Rate { pairs, window } => self.each(|fabric, nodes| self.rate(fabric, nodes, pairs, *window)),
            Benchmark::Pairs { slow } => self.each(|_, nodes| {
                benchmarks::check_pairs(nodes)?;
                message(&ProgramBench::Pairs { slow: *slow }, nodes)
            }),
            Benchmark::Kernel(kernel) => {
                self.plain(0, |nodes| self.programs.of(nodes, &ProgramBench::Kernel(kernel.clone()), &[None]))
            }
            Benchmark::Semantics(modes) => self.each(|_, nodes| {
                let of = |&mode: &SendMode| {
                    let bench = ProgramBench::Semantics { postal: mode == SendMode::Postal };
                    self.programs.of(nodes, &bench, &[None])
                };
                Ok(modes.iter().flat_map(of).collect())
            }),
            Benchmark::Saturation { turning, counts, messages, window } => {
                let counted = if *turning { "pairs" } else { "senders" };
                // The link that pairs share, and the number of nodes for it, are each fabric's own.
                let of = |fabric: &String| {
                    let source = self.open(fabric)?;
                    let sharing = Sharing::of(&source.spec().topology, *turning);
                    let one = Request { fabrics: vec![fabric.clone()], ..self.clone() };
                    one.each(|_, nodes| {
                        let built = source.build(nodes).map_err(|what| Error::Input(format!("{fabric}: {what}")))?;
                        let one = |&count: &u32| match sharing.pairs(&built, nodes, count) {
                            Ok(pairs) => Ok(What::Saturation { pairs, messages: *messages, window: *window, counted }),
                            Err(what) => input(format!("{fabric}: {count} {counted} {what}")),
                        };
                        counts.iter().map(one).collect()
                    })
                };
                Ok(self.fabrics.iter().map(of).collect::<Result<Vec<_>, _>>()?.concat())
            }
            Benchmark::Exchanges { times } => {
                self.each(|_, nodes| Ok(vec![What::Exchanges { pairs: random_pairs(nodes, self.seed), times: *times }]))
            }
            Benchmark::Collective { which, order, .. } => {
                self.each(|fabric, nodes| match self.stack_of(is_asked(&self.benchmark, algorithms))? {
                    Stack::Packet => Ok(vec![What::AllToAll { order: *order }]),
                    Stack::Message => self.programs.by(fabric, nodes, *which, algorithms),
                })
            }
            Benchmark::Overlap { sides, spins, threads, shares } => self.each(|_, nodes| {
                let ways = sides.iter().flat_map(|&side| spins.iter().map(move |&spin| (side, spin)));
                let bench = |(side, spin)| {
                    let (sender, threads, shares) = (side == Side::Sender, *threads, shares.clone());
                    ProgramBench::Overlap { sender, spin, threads, shares }
                };
                Ok(ways.flat_map(|way| self.programs.of(nodes, &bench(way), &[None])).collect())
            }),
            Benchmark::Sort(classes) => {
                let mut cells = Vec::new();
                for &class in classes {
                    let class: Class = class.into();
                    let bench = ProgramBench::IntegerSort(class);
                    for fabric in &self.fabrics {
                        for nodes in sort::allowed(self.nodes.clone().unwrap_or_else(|| vec![2]))? {
                            // The reported size is that of a rank's keys.
                            let size = class.keys() * size_of::<u32>() as u64 / u64::from(nodes);
                            let programs = self.programs.of(nodes, &bench, &[None]);
                            cells.extend(programs.into_iter().flat_map(|what| self.by_ways(fabric, nodes, size, what)));
                        }
                    }
                }
                Ok(cells)
            }
            Benchmark::Traffic { offered, loads, laws } => {
                let what = |&load: &f64| What::Traffic(Offered { load, ..offered.clone() });
                let mut cells = self.each(|_, _| Ok(loads.iter().map(what).collect()))?;
                for law in laws {
                    // The reported size is the mean.
                    let mean = Law::named(law).map_err(|what| Error::Input(format!("--size {what}")))?.law.mean();
                    let what =
                        |&load: &f64| What::Traffic(Offered { load, sizes: Some(law.clone()), ..offered.clone() });
                    let sizes = vec![mean.round() as u64];
                    let one = Request { sizes, ..self.clone() };
                    cells.extend(one.each(|_, _| Ok(loads.iter().map(what).collect()))?);
                }
                Ok(cells)
            }
            Benchmark::Barrier { .. } => {
                let by = |nodes| self.programs.by(&self.fabrics.join(", "), nodes, Which::Barrier, algorithms);
                by(2)?;
                self.nodes_or(None)?;
                self.plain(0, |nodes| by(nodes).unwrap_or_default())
            }
            Benchmark::Deposit(_) | Benchmark::CacheStudy(_) | Benchmark::Goal(_) => Ok(Vec::new()),
        }
    }

    /// Refuses what a benchmark does not have.
    fn check(&self, algorithms: &[String]) -> Result<(), Error> {
        let name = self.benchmark.name();
        match &self.benchmark {
            Benchmark::Stream { .. } | Benchmark::Rate { .. } | Benchmark::Semantics(_) => {
                benchmarks::check_sizes(&self.sizes)?;
            }
            Benchmark::Overlap { spins, threads, shares, .. } => {
                benchmarks::check_overlap(&self.sizes, shares, (spins, *threads))?;
            }
            Benchmark::Collective { which, .. }
                if self.stack_of(*which != Which::Alltoall || !algorithms.is_empty())? == Stack::Message =>
            {
                self.sizes
                    .iter()
                    .try_for_each(|&size| which.check_size(size))
                    .map_err(|what| Error::Input(format!("--size {what}")))?;
            }
            Benchmark::Traffic { loads, offered, .. } => {
                if !(0.001..=1.0).contains(&offered.precision) {
                    return input(format!("--precision {}: must be a share from 0.001 to 1", offered.precision));
                }
                if let Some(us) = offered.series_us.filter(|us| !(0.001..=1e6).contains(us)) {
                    return input(format!("--series {us} us: must be a time from 1 ns to 1 s"));
                }
                if let Some(load) = loads.iter().find(|load| !(**load > 0.0 && **load <= 10.0)) {
                    return input(format!("--load: {load}: must be above 0 and at most 10 (share of the bound)"));
                }
            }
            Benchmark::Sort(_) if self.programs.repeats() => {
                return input(
                    "--warmup, --samples, --raw: the sort repeats itself, ten times after one untimed, as published",
                );
            }
            Benchmark::Kernel(_) if self.programs.repeats() => {
                return input("--warmup, --samples, --raw: the samples of a kernel are its --iterations");
            }
            _ => {}
        }
        let is_bare = matches!(
            &self.benchmark,
            Benchmark::Saturation { .. } | Benchmark::Exchanges { .. } | Benchmark::Traffic { .. }
        );
        let is_collective = matches!(&self.benchmark, Benchmark::Collective { .. } | Benchmark::Barrier { .. });
        if self.programs.raw && !(is_bare || is_collective || self.has_bare()) {
            return input(format!("--raw: {name} gives medians; pingpong, collectives and barriers give every sample"));
        }
        if is_bare && (self.stack == Some(Stack::Message) || self.programs.is_asked_for() || self.programs.repeats()) {
            return input(format!("{name} sends bare packets, which have no ranks and no ports: {ONLY_WITH_MESSAGES}"));
        }
        if !is_bare && !self.has_bare() && self.stack == Some(Stack::Packet) {
            return input(format!("--stack=packet: {name} runs on ranks; bare packets have pingpong and alltoall"));
        }
        let can_fail = is_collective || matches!(&self.benchmark, Benchmark::Traffic { .. });
        if can_fail && self.without.is_empty() { Ok(()) } else { self.missing().refuse() }
    }

    /// The engine: the message stack where `asked`, or a choice, asks for it.
    fn stack_of(&self, asked: bool) -> Result<Stack, Error> {
        let asked = asked || self.programs.is_asked_for() || self.programs.repeats();
        match self.stack.unwrap_or(if asked { Stack::Message } else { Stack::Packet }) {
            Stack::Packet if asked => input(ONLY_WITH_MESSAGES),
            stack => Ok(stack),
        }
    }

    /// Pairs that send short messages.
    fn rate(
        &self,
        fabric: &str,
        nodes: u32,
        pairs: &Option<Vec<u32>>,
        window: Option<u64>,
    ) -> Result<Vec<What>, Error> {
        let mut all = Vec::new();
        for pairs in pairs.clone().unwrap_or_else(|| vec![nodes / 2]) {
            if 2 * pairs > nodes {
                return input(format!("{fabric}: {pairs} pairs need {} nodes, not {nodes}", 2 * pairs));
            }
            let (direction, calls) = (Direction::Uni, Calls::Windowed);
            let streamed = Streamed { benchmark: "rate", pairs, direction, calls, window };
            all.extend(self.programs.of(nodes, &ProgramBench::Stream(streamed), &[None]));
        }
        Ok(all)
    }

    /// Nodes where none are asked for: a graph's and a dumped network's own number, else what suits the benchmark.
    fn usual_nodes(&self) -> Result<Option<u32>, Error> {
        if let Some(first) = self.fabrics.first()
            && let Some(own) = self.open(first)?.own_nodes()
        {
            return Ok(Some(own));
        }
        let most = |counts: &[u32]| counts.iter().copied().max().unwrap_or(1);
        Ok(match &self.benchmark {
            Benchmark::Rate { pairs, .. } => Some(2 * pairs.as_deref().map_or(1, most)),
            Benchmark::Pairs { .. } => Some(4),
            Benchmark::Saturation { turning, counts, .. } => match self.fabrics.first() {
                Some(first) => {
                    let source = self.open(first)?;
                    let sharing = Sharing::of(&source.spec().topology, *turning);
                    Some(sharing.usual_nodes(source.spec(), most(counts)))
                }
                None => None,
            },
            Benchmark::Exchanges { .. } | Benchmark::Traffic { .. } => None,
            // The two of a ping-pong, if every fabric is a machine that was calibrated with one.
            Benchmark::Collective { .. } | Benchmark::Barrier { .. } => {
                for fabric in &self.fabrics {
                    if !is_calibrated(self.open(fabric)?.spec()) {
                        return Ok(None);
                    }
                }
                Some(2)
            }
            _ => Some(2),
        })
    }

    /// The numbers of nodes asked for, or what suits the benchmark, or `or`.
    pub(super) fn nodes_or(&self, or: Option<u32>) -> Result<Vec<u32>, Error> {
        let nodes = match (&self.nodes, or) {
            (Some(nodes), _) => nodes.clone(),
            (None, Some(or)) => vec![or],
            (None, None) => match self.usual_nodes()? {
                Some(usual) => vec![usual],
                None => return input("say how many nodes: --nodes 64, --nodes 2..128"),
            },
        };
        match nodes.iter().any(|&nodes| nodes < 2) {
            true => input("--nodes: must be 2 or more"),
            false => Ok(nodes),
        }
    }

    /// One cell for each fabric, number of nodes and size.
    fn each(&self, mut what: impl FnMut(&str, u32) -> Result<Vec<What>, Error>) -> Result<Vec<Cell>, Error> {
        let nodes = self.nodes_or(None)?;
        let mut cells = Vec::new();
        for fabric in &self.fabrics {
            for &nodes in &nodes {
                for &size in &self.sizes {
                    let what = what(fabric, nodes)?;
                    cells.extend(what.into_iter().flat_map(|what| self.by_ways(fabric, nodes, size, what)));
                }
            }
        }
        self.packet_size()?;
        Ok(cells)
    }

    /// One cell for each fabric and number of nodes, of a benchmark without sizes.
    fn plain(&self, size: u64, what: impl Fn(u32) -> Vec<What>) -> Result<Vec<Cell>, Error> {
        let nodes = match &self.nodes {
            Some(nodes) => nodes.clone(),
            None => vec![self.usual_nodes()?.unwrap_or(2)],
        };
        let of = |fabric| nodes.iter().map(move |&nodes| (fabric, nodes));
        let pairs = self.fabrics.iter().flat_map(of);
        let cells = pairs
            .flat_map(|(fabric, nodes)| what(nodes).into_iter().map(move |what| (fabric, nodes, what)))
            .flat_map(|(fabric, nodes, what)| self.by_ways(fabric, nodes, size, what));
        self.packet_size()?;
        Ok(cells.collect())
    }

    fn packet_size(&self) -> Result<Option<u32>, Error> {
        let Some(bytes) = self.network.packet_size else { return Ok(None) };
        match u32::try_from(bytes) {
            Ok(bytes) if bytes > 0 => Ok(Some(bytes)),
            _ => input("--packet-size: must be 1 B to 4 GiB"),
        }
    }

    /// A cell for each of the requested routes.
    fn by_ways(&self, fabric: &str, nodes: u32, size: u64, what: What) -> Vec<Cell> {
        let ways: Vec<Option<Ways>> = self.network.paths.iter().copied().map(Some).collect();
        let ways = if ways.is_empty() { vec![None] } else { ways };
        let controls = self.network.controls.iter();
        let both = controls.flat_map(|control| ways.iter().map(move |ways| (*control, *ways)));
        both.map(|(control, ways)| Cell { control, ..self.cell(fabric, nodes, size, what.clone(), ways) }).collect()
    }

    fn cell(&self, fabric: &str, nodes: u32, size: u64, what: What, ways: Option<Ways>) -> Cell {
        let (paths, routes) = match ways {
            None => (None, None),
            Some(Ways::Equal(paths)) => (Some(paths), None),
            Some(Ways::Routed(routes)) => (None, Some(routes)),
        };
        let network = &self.network;
        Cell {
            capacities: network.capacities,
            packet_size: self.packet_size().ok().flatten(),
            streams: network.streams,
            paths,
            routes,
            technology: self.technology(fabric),
            ethernet: network.ethernet,
            links: network.links,
            faults: self.faults.clone(),
            sensitivity: self.sensitivity,
            ..Cell::plain(fabric, nodes, size, what, self.seed)
        }
    }
}

/// Whether a benchmark's own choices ask for the message stack.
fn is_asked(benchmark: &Benchmark, algorithms: &[String]) -> bool {
    matches!(benchmark, Benchmark::Collective { which, .. } if *which != Which::Alltoall || !algorithms.is_empty())
}

const ONLY_WITH_MESSAGES: &str = "--memory, --cache, --zero-copy, --via, --warmup, --background, --samples, --raw, --trace, --count, --inject and --algorithm are the message stack's: --stack message";
