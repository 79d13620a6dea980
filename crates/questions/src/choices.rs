//! A benchmark by its name and its choices by theirs, for faces without a type for each benchmark.

use hotlink_bench::{Calls, Direction, Pattern, Plan, Proportions, Which};
use hotlink_fabric::units::Time;
use hotlink_study::cell::Offered;
use hotlink_study::options::{Cache, ClassName, Order, SendMode, Side, Spin};
use hotlink_study::simulate::barrier::Barriers;
use hotlink_study::simulate::cache_study::{CacheStudy, pattern};
use hotlink_study::simulate::deposit::{Completion, Series, Transfers};
use hotlink_study::simulate::goal::{Goal, Scheduled};
use hotlink_study::simulate::request::{Benchmark, LOADS};
use hotlink_study::values::Numbers;
use hotlink_study::{Error, benchmarks, choices};
use std::fmt::Display;
use std::str::FromStr;

choices! {
    /// Choices of all benchmarks. A benchmark takes its own; one that it does not have is an error.
    pub struct Choices;
    /// How a collective or barrier runs.
    algorithm: Vec<String>,
    /// By which protocols GPUs' kernels run a collective.
    protocol: Vec<String>,
    /// Messages in all (`pingpong`), of each pair (`saturation`) or of an average node (`traffic`).
    messages: u64,
    /// The two nodes of `pingpong`.
    between: [u32; 2],
    /// Between whom `stream` sends.
    direction: Vec<Direction>,
    /// How the messages of a window of `stream` are called for.
    calls: Calls,
    /// Messages before an answer (`stream`, `rate`), or under way (`saturation`).
    window: u64,
    /// Pairs of `rate` and `saturation`.
    pairs: Vec<u32>,
    /// Senders of `saturation`.
    senders: Vec<u32>,
    /// Whether all nodes exchange in random pairs there.
    random_pairs: bool,
    /// How many times the median pair's time make a pair of `pairs` slow.
    slow: f64,
    /// Share of MPI in `kernel`'s application.
    mpi_share: f64,
    /// Share of barriers in that.
    barrier_share: f64,
    /// Time of a barrier there, in microseconds.
    barrier_us: f64,
    /// Most that a rank of `kernel` computes longer than the others, in microseconds.
    skew: f64,
    /// Barriers of a run of `kernel`.
    iterations: u64,
    /// Flavours of a send of `semantics`.
    semantics: Vec<SendMode>,
    /// In what order a node serves the others in `alltoall` of bare packets.
    schedule: Order,
    /// The computing side in `overlap`.
    side: Vec<Side>,
    /// How it computes.
    spin: Vec<Spin>,
    /// Threads of its multi-threaded form.
    threads: u32,
    /// For how long, as shares of the message's own time.
    compute: Vec<f64>,
    /// Problem classes of `is`.
    class: Vec<ClassName>,
    /// Pattern of `traffic`.
    traffic: String,
    /// Offered loads of `traffic`.
    load: Vec<f64>,
    /// Distributions of sizes in `traffic`.
    laws: Vec<String>,
    /// How narrow its intervals must be.
    precision: f64,
    /// The sampling interval of its servers, in microseconds.
    series_us: f64,
    /// Whether the nodes of `barrier` are a partition.
    partition: bool,
    /// Barriers in a row.
    repetitions: u32,
    /// Most delay of a node's arrival at `barrier`, in microseconds.
    skew_us: f64,
    /// Processor's time to signal its arrival (H06's o_w).
    write_us: f64,
    /// Its time for a polling read (H06's o_r).
    read_us: f64,
    /// Distances of stored words of `deposit`.
    strides: Vec<u64>,
    /// Intermediate copies of its series `copied`.
    copies: Vec<u32>,
    /// Bytes from a page's boundary.
    offset: u64,
    /// DMA operations in a row.
    operations: u64,
    /// How their end is seen.
    completion: Completion,
    /// How blocks of `deposit` get there.
    series: Vec<Series>,
    /// In what order `cache-study` uses buffers.
    pattern: Vec<String>,
    /// How many it has.
    buffers: u64,
    /// Their bytes, in turn.
    buffer_size: Vec<u64>,
    /// Messages of `cache-study`.
    uses: u64,
    /// Memory that each rank may have registered at a time.
    pinned: u64,
    /// Buffers of persistent operations.
    persistent: u64,
    /// Collectives of `goal`, recorded from the message stack.
    generate: Vec<String>,
    /// How often they are run.
    repeat: u32,
    /// File with a schedule of `goal`.
    file: String,
    /// The unit of `calc` in it.
    calc_unit: Time,
    /// The machine of `goal`.
    loggp: String,
}

/// Values that benchmarks with one size or policy take from the choices that all benchmarks share.
pub struct Shared<'a> {
    /// Bytes of a message.
    pub size: u64,
    /// Policies of the cache of registrations.
    pub cache: &'a [Cache],
    /// Seed of every random choice.
    pub seed: u64,
}

impl Choices {
    /// The benchmark called `name`, with these choices.
    ///
    /// # Errors
    /// There is none of that name, or it does not have one of the choices.
    pub fn benchmark(mut self, name: &str, shared: &Shared<'_>) -> Result<Benchmark, Error> {
        let made = self.made();
        let benchmark = self.taken(name, shared)?;
        choices::none_left(name, &made, &self.made())?;
        Ok(benchmark)
    }

    fn taken(&mut self, name: &str, shared: &Shared<'_>) -> Result<Benchmark, Error> {
        Ok(match name {
            "pingpong" => {
                let messages = self.messages.take().map(|asked| positive("--messages", Some(asked), 1)).transpose()?;
                Benchmark::PingPong { messages, between: self.between.take() }
            }
            "stream" => Benchmark::Stream {
                directions: self.direction.take().unwrap_or_else(|| vec![Direction::Uni, Direction::Bi]),
                calls: self.calls.take().unwrap_or(Calls::Windowed),
                window: self.window()?,
            },
            "rate" => Benchmark::Rate { pairs: self.pairs.take(), window: self.window()? },
            "pairs" => {
                let slow = self.slow.take().unwrap_or(1.25);
                if !(1.01..=1000.0).contains(&slow) {
                    return input(format!("--slow {slow}: must be a number from 1.01 to 1000"));
                }
                Benchmark::Pairs { slow }
            }
            "kernel" => {
                let abinit = Proportions::ABINIT;
                let of = Proportions {
                    mpi: self.mpi_share.take().unwrap_or(abinit.mpi),
                    barrier: self.barrier_share.take().unwrap_or(abinit.barrier),
                    barrier_us: self.barrier_us.take().unwrap_or(abinit.barrier_us),
                };
                let (skew, iterations) = (self.skew.take().unwrap_or(0.0), self.iterations.take().unwrap_or(200));
                Benchmark::Kernel(benchmarks::kernel(of, skew, iterations, shared.seed, Plan::once())?)
            }
            "semantics" => {
                let both = || vec![SendMode::Restricted, SendMode::Postal];
                Benchmark::Semantics(self.semantics.take().unwrap_or_else(both))
            }
            "saturation" => self.saturation()?,
            "overlap" => Benchmark::Overlap {
                sides: self.side.take().unwrap_or_else(|| vec![Side::Sender, Side::Receiver]),
                spins: self.spin.take().unwrap_or_else(|| vec![Spin::Fixed]),
                threads: self.threads.take(),
                shares: self.compute.take().unwrap_or_else(|| vec![0.25, 0.5, 1.0, 1.5, 2.0]),
            },
            "is" => Benchmark::Sort(self.class.take().unwrap_or_else(|| vec![ClassName::S])),
            "traffic" => {
                let pattern = self.traffic.take().unwrap_or_else(|| "uniform".to_owned());
                let messages = self.messages.take();
                let messages =
                    messages.map(|messages| narrow("--messages", positive("--messages", Some(messages), 1)?));
                let usual = Offered::plain(&pattern, 1.0);
                let loads = LOADS.parse::<Numbers>().map_err(|what| Error::Input(format!("--load {what}")))?;
                Benchmark::Traffic {
                    loads: self.load.take().unwrap_or(loads.to_vec()),
                    offered: Offered {
                        messages: messages.transpose()?,
                        precision: self.precision.take().unwrap_or(usual.precision),
                        series_us: self.series_us.take(),
                        ..usual
                    },
                    laws: self.laws.take().unwrap_or_default(),
                }
            }
            "barrier" => Benchmark::Barrier {
                algorithms: self.algorithm.take().unwrap_or_default(),
                own: Barriers {
                    partition: self.partition.take().unwrap_or(false),
                    repetitions: self.repetitions.take().unwrap_or(1),
                    skew_us: self.skew_us.take().unwrap_or(0.0),
                    write_us: self.write_us.take(),
                    read_us: self.read_us.take(),
                    ..Barriers::usual()
                },
            },
            "deposit" => {
                let usual = Transfers::usual();
                Benchmark::Deposit(Transfers {
                    strides: self.strides.take().unwrap_or(usual.strides),
                    copies: self.copies.take().unwrap_or(usual.copies),
                    offset: self.offset.take().unwrap_or(usual.offset),
                    operations: self.operations.take().unwrap_or(usual.operations),
                    completion: self.completion.take().unwrap_or(usual.completion),
                    series: self.series.take().unwrap_or(usual.series),
                    sizes: usual.sizes,
                })
            }
            "cache-study" => self.cache_study(shared)?,
            "goal" => Benchmark::Goal(Box::new(self.goal()?)),
            _ => match Which::ALL.into_iter().find(|which| which.name() == name) {
                Some(which) => {
                    let is_exchange = which == Which::Alltoall;
                    let order = self.schedule.take_if(|_| is_exchange).unwrap_or(Order::LinearShift);
                    let [algorithms, protocols] =
                        [&mut self.algorithm, &mut self.protocol].map(|names| names.take().unwrap_or_default());
                    Benchmark::Collective { which, algorithms, protocols, order }
                }
                None => return Err(unknown(name)),
            },
        })
    }

    fn window(&mut self) -> Result<Option<u64>, Error> {
        match self.window.take() {
            Some(window) if !(1..=1024).contains(&window) => input(format!("--window {window}: must be 1 to 1024")),
            window => Ok(window),
        }
    }

    fn saturation(&mut self) -> Result<Benchmark, Error> {
        let messages = positive("--messages", self.messages.take(), 200)?;
        if self.random_pairs.take() == Some(true) {
            if self.senders.is_some() || self.pairs.is_some() || self.window.is_some() {
                return input(
                    "--random-pairs: all nodes exchange, one message each way: no --senders, --pairs, --window",
                );
            }
            return Ok(Benchmark::Exchanges { times: messages });
        }
        let (turning, counts) = match (self.senders.take(), self.pairs.take()) {
            (Some(_), Some(_)) => {
                return input("--senders, --pairs: either of them; pairs turn at one node of a torus");
            }
            (Some(senders), None) => (false, senders),
            (None, pairs) => (true, pairs.unwrap_or_else(|| vec![1])),
        };
        let window = self.window.take().map(|window| positive("--window", Some(window), 1)).transpose()?;
        let window = window.map(|window| narrow("--window", window)).transpose()?;
        Ok(Benchmark::Saturation { turning, counts, messages, window })
    }

    fn cache_study(&mut self, shared: &Shared<'_>) -> Result<Benchmark, Error> {
        let usual = CacheStudy::usual();
        let named = |names: Vec<String>| -> Result<Vec<Pattern>, Error> {
            let named =
                |name: &String| pattern(name).map_err(|what| Error::Input(format!("--pattern: `{name}`: {what}")));
            names.iter().map(named).collect()
        };
        Ok(Benchmark::CacheStudy(CacheStudy {
            patterns: self.pattern.take().map(named).transpose()?.unwrap_or(usual.patterns),
            policies: if shared.cache.is_empty() { usual.policies } else { shared.cache.to_vec() },
            buffers: self.buffers.take().unwrap_or(usual.buffers),
            buffer_sizes: self.buffer_size.take().unwrap_or(usual.buffer_sizes),
            uses: self.uses.take().unwrap_or(usual.uses),
            message: shared.size,
            pinned: self.pinned.take().unwrap_or(usual.pinned),
            persistent: self.persistent.take().unwrap_or(usual.persistent),
            seed: shared.seed,
        }))
    }

    fn goal(&mut self) -> Result<Goal, Error> {
        let machine = self.loggp.take().map(|text| parsed("--loggp", &text)).transpose()?;
        let schedule = match (self.file.take(), self.generate.take()) {
            (Some(file), None) => {
                let calc_unit = self.calc_unit.take().unwrap_or(Time(1_000));
                Scheduled::File { file, calc_unit, options: Default::default() }
            }
            (None, Some(names)) => {
                let steps = names.iter().map(|name| parsed("--generate", name)).collect::<Result<_, _>>()?;
                let repeat = self.repeat.take().unwrap_or(1);
                if !(1..=1_000_000).contains(&repeat) {
                    return input(format!("--repeat {repeat}: must be 1 to 1000000"));
                }
                Scheduled::Generated { steps, repeat }
            }
            _ => return input("--file, --generate: say which schedule runs: either of them"),
        };
        Ok(Goal { schedule, machine })
    }
}

fn input<T>(what: impl Into<String>) -> Result<T, Error> {
    Err(Error::Input(what.into()))
}

fn parsed<T: FromStr<Err: Display>>(option: &str, text: &str) -> Result<T, Error> {
    text.parse().map_err(|what| Error::Input(format!("{option}: {what}")))
}

fn positive(option: &str, given: Option<u64>, usual: u64) -> Result<u64, Error> {
    match given.unwrap_or(usual) {
        0 => input(format!("{option} 0: must be 1 or more")),
        number => Ok(number),
    }
}

fn narrow(option: &str, number: u64) -> Result<u32, Error> {
    u32::try_from(number).map_err(|_| Error::Input(format!("{option} {number}: must be 1 to {}", u32::MAX)))
}

/// The error for a benchmark that cannot be simulated.
fn unknown(name: &str) -> Error {
    Error::Input(benchmarks::elsewhere(name, "simulate").unwrap_or_else(|| {
        let has = |of: &&benchmarks::Benchmark| of.packet || of.loggp;
        let known: Vec<&str> = benchmarks::BENCHMARKS.iter().filter(has).map(|of| of.name).collect();
        format!("benchmark `{name}`: must be one of {}", known.join(", "))
    }))
}

/// Bytes of a message where none are asked for.
pub fn usual_size(benchmark: &str) -> u64 {
    match benchmark {
        "deposit" => 512 << 10,
        "cache-study" => CacheStudy::usual().message,
        _ => 64 << 10,
    }
}
