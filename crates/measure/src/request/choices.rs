//! A benchmark by its name and its choices by theirs, for faces without a type for each benchmark.

use super::*;
use hotlink_bench::{Plan, Proportions};
use hotlink_study::benchmarks;
use hotlink_study::choices::none_left;
use hotlink_study::values::{Counts, Numbers, Sizes};
use hotlink_study::words::Word;

hotlink_study::choices! {
    /// Choices of all benchmarks. A benchmark takes its own; one that it does not have is an error.
    pub struct Choices;
    /// Numbers of ranks; one of those benchmarks in which two play.
    ranks: Vec<u32>,
    /// Bytes of a message, part or block.
    size: Vec<u64>,
    /// Memory of messages; several of `deposit`.
    memory: Vec<Memory>,
    /// Whether `pingpong` writes each message anew.
    rewrite: bool,
    /// Between whom `stream` sends.
    direction: Vec<Direction>,
    /// How the messages of a window of `stream` are called for.
    calls: Calls,
    /// Messages before an answer (`stream`, `rate`).
    window: u64,
    /// Pairs of ranks of `rate` and `saturation`.
    pairs: Vec<u32>,
    /// How many times the median pair's time make a pair of `pairs` slow.
    slow: f64,
    /// Distances of stored words (`deposit`, `memory`).
    strides: Vec<u64>,
    /// Bytes of a word of `deposit`.
    word: u64,
    /// The computing side in `overlap`.
    side: Vec<Side>,
    /// How it computes.
    spin: Vec<Spin>,
    /// Threads of its multi-threaded form.
    threads: u32,
    /// For how long, as shares of the message's own time.
    compute: Vec<f64>,
    /// How a `region` is reached.
    kind: Vec<RegionKind>,
    /// The ranks that set it up.
    setup: Vec<RegionSetup>,
    /// Resources kept between accesses to it.
    hold: Vec<Hold>,
    /// Streams or datagrams of `sockets`.
    protocol: Vec<Protocol>,
    /// The test of them.
    test: Vec<Test>,
    /// Nagle's algorithm in streams.
    nagle: Vec<Nagle>,
    /// Bytes of the system's buffers.
    socket_buffer: Vec<u64>,
    /// Calls in which a message of a stream is written.
    writes: u64,
    /// MB/s at which datagrams are sent.
    pace: f64,
    /// The line's rate in MB/s.
    line_rate: f64,
    /// How a collective or barrier runs.
    algorithm: Vec<String>,
    /// How its ranks begin together.
    start: Beginning,
    /// Other messages under way.
    background: BackgroundSpec,
    /// Devices of `barrier`.
    device: Vec<Device>,
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
    /// Of `kernel`'s skew.
    seed: u64,
    /// Problem classes of `is`.
    class: Vec<ClassName>,
}

impl Benchmark {
    /// The benchmark called `name` with its usual choices.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn named(name: &str) -> Result<Benchmark, Error> {
        Choices::default().benchmark(name)
    }
}

impl Choices {
    /// The benchmark called `name`, with these choices.
    ///
    /// # Errors
    /// There is none of that name, or it does not have one of the choices.
    pub fn benchmark(mut self, name: &str) -> Result<Benchmark, Error> {
        let made = self.made();
        let benchmark = self.taken(name)?;
        none_left(name, &made, &self.made())?;
        Ok(benchmark)
    }

    fn taken(&mut self, name: &str) -> Result<Benchmark, Error> {
        Ok(match name {
            "pingpong" => Benchmark::PingPong(PingPong {
                ranks: self.one_rank()?,
                sizes: self.sizes(usual::PINGPONG_SIZES)?,
                memory: self.memory()?,
                rewrite: self.rewrite.take().unwrap_or(false),
            }),
            "stream" => Benchmark::Stream(Stream {
                ranks: self.one_rank()?,
                sizes: self.sizes(usual::STREAM_SIZES)?,
                directions: self.direction.take().unwrap_or_else(|| vec![Direction::Uni, Direction::Bi]),
                calls: self.calls.take().unwrap_or(Calls::Windowed),
                window: self.window()?,
                memory: self.memory()?,
            }),
            "rate" => Benchmark::Rate(Rate {
                pairs: self.pairs.take(),
                sizes: self.sizes(usual::RATE_SIZES)?,
                window: self.window()?,
                memory: self.memory()?,
            }),
            "pairs" => {
                let slow = self.slow.take().unwrap_or(usual::SLOW);
                if !(1.01..=1000.0).contains(&slow) {
                    return input(format!("--slow {slow}: must be a number from 1.01 to 1000"));
                }
                let (ranks, sizes) = (self.one_rank()?, self.sizes(usual::PAIRS_SIZES)?);
                Benchmark::Pairs(Pairs { ranks, sizes, slow, memory: self.memory()? })
            }
            "semantics" => {
                let sizes = self.sizes(usual::SEMANTICS_SIZES)?;
                Benchmark::Semantics(Semantics { sizes, memory: self.memory()? })
            }
            "saturation" => {
                let (pairs, sizes) = (self.pairs.take(), self.sizes(usual::SATURATION_SIZES)?);
                Benchmark::Saturation(Saturation { pairs, sizes, memory: self.memory()? })
            }
            "deposit" => Benchmark::Deposit(Deposit {
                strides: self.strides(usual::DEPOSIT_STRIDES)?,
                word: self.word.take().unwrap_or(usual::WORD),
                sizes: self.sizes(usual::DEPOSIT_SIZES)?,
                memory: self.memory.take().unwrap_or_else(|| vec![Memory::Private, Memory::Shared]),
            }),
            "overlap" => Benchmark::Overlap(Overlap {
                sizes: self.sizes(usual::OVERLAP_SIZES)?,
                sides: self.side.take().unwrap_or_else(|| vec![Side::Sender, Side::Receiver]),
                spins: self.spin.take().unwrap_or_else(|| vec![Spin::Fixed]),
                threads: self.threads.take(),
                shares: match self.compute.take() {
                    Some(shares) => shares,
                    None => read::<Numbers>(usual::SHARES)?.to_vec(),
                },
                memory: self.memory()?,
            }),
            "sockets" => self.sockets()?,
            "memory" => Benchmark::Memory(Copying {
                sizes: self.sizes(usual::MEMORY_SIZES)?,
                strides: self.strides(usual::MEMORY_STRIDES)?,
                memory: self.memory()?,
            }),
            "registration" => Benchmark::Registration(Registration { sizes: self.sizes(usual::REGISTRATION_SIZES)? }),
            "region" => Benchmark::Region(Region {
                ranks: self.one_rank()?.unwrap_or(2),
                sizes: self.sizes(usual::REGION_SIZES)?,
                kinds: self.kind.take().unwrap_or_else(|| RegionKind::ALL.to_vec()),
                setups: self.setup.take().unwrap_or_else(|| vec![RegionSetup::Individual]),
                holds: self.hold.take().unwrap_or_else(|| Hold::ALL.to_vec()),
                memory: self.memory.take().unwrap_or_else(|| vec![Memory::Shared]),
            }),
            "barrier" => Benchmark::Barrier(Barrier {
                collective: Collective { sizes: Vec::new(), ..self.collective(Vec::new())? },
                devices: self.device.take().unwrap_or_default(),
            }),
            "kernel" => Benchmark::Kernel(Application { ranks: self.ranks.take(), kernel: self.kernel()? }),
            "is" => Benchmark::Sort(Sort {
                ranks: self.ranks.take(),
                classes: self.class.take().unwrap_or_else(|| vec![ClassName::S]),
            }),
            _ => match hotlink_bench::Which::ALL.into_iter().find(|which| which.name() == name) {
                Some(which) => {
                    let sizes = self.sizes(usual::COLLECTIVE_SIZES)?;
                    Benchmark::Collective(which, self.collective(sizes)?)
                }
                None => return Err(unknown(name)),
            },
        })
    }

    fn sizes(&mut self, usual: &str) -> Result<Vec<u64>, Error> {
        self.size.take().map_or_else(|| Ok(read::<Sizes>(usual)?.to_vec()), Ok)
    }
    fn strides(&mut self, usual: &str) -> Result<Vec<u64>, Error> {
        self.strides.take().map_or_else(|| Ok(read::<Counts>(usual)?.to_vec()), Ok)
    }
    /// The one kind of memory.
    fn memory(&mut self) -> Result<Memory, Error> {
        Ok(self.one_memory()?.unwrap_or(Memory::Private))
    }
    fn one_memory(&mut self) -> Result<Option<Memory>, Error> {
        match self.memory.take().as_deref() {
            None => Ok(None),
            Some([memory]) => Ok(Some(*memory)),
            Some(_) => input("--memory: must be one kind; only deposit and region take several"),
        }
    }
    fn one_rank(&mut self) -> Result<Option<u32>, Error> {
        match self.ranks.take().as_deref() {
            None => Ok(None),
            Some([ranks]) => Ok(Some(*ranks)),
            Some(_) => input("--ranks: must be one number here"),
        }
    }
    fn window(&mut self) -> Result<Option<u64>, Error> {
        match self.window.take() {
            Some(window) if !(1..=1024).contains(&window) => input(format!("--window {window}: must be 1 to 1024")),
            window => Ok(window),
        }
    }
    fn collective(&mut self, sizes: Vec<u64>) -> Result<Collective, Error> {
        Ok(Collective {
            ranks: self.ranks.take(),
            sizes,
            algorithms: self.algorithm.take().unwrap_or_default(),
            start: self.start.take().map_or(Start::Barrier, Start::from),
            memory: self.one_memory()?,
            background: self.background.take(),
        })
    }
    fn kernel(&mut self) -> Result<Kernel, Error> {
        let abinit = Proportions::ABINIT;
        let of = Proportions {
            mpi: self.mpi_share.take().unwrap_or(abinit.mpi),
            barrier: self.barrier_share.take().unwrap_or(abinit.barrier),
            barrier_us: self.barrier_us.take().unwrap_or(abinit.barrier_us),
        };
        let (skew, iterations) = (self.skew.take().unwrap_or(0.0), self.iterations.take().unwrap_or(usual::ITERATIONS));
        benchmarks::kernel(of, skew, iterations, self.seed.take().unwrap_or(1), Plan::once())
    }
    fn sockets(&mut self) -> Result<Benchmark, Error> {
        let rate = |option: &str, rate: Option<f64>| match rate {
            Some(mbps) if !(0.001..=1e6).contains(&mbps) => {
                input(format!("{option} {mbps}: must be MB/s from 0.001 to 1000000"))
            }
            rate => Ok(rate),
        };
        let writes = self.writes.take().unwrap_or(1);
        if !(1..=1000).contains(&writes) {
            return input(format!("--writes {writes}: must be 1 to 1000"));
        }
        Ok(Benchmark::Sockets(Sockets {
            protocols: self.protocol.take().unwrap_or_else(|| vec![Protocol::Stream, Protocol::Datagram]),
            tests: self.test.take().unwrap_or_else(|| vec![Test::Latency, Test::Bandwidth]),
            sizes: self.sizes(usual::SOCKETS_SIZES)?,
            nagle: self.nagle.take().unwrap_or_else(|| vec![Nagle::Off]),
            buffers: self.socket_buffer.take().unwrap_or_else(|| vec![0]),
            writes,
            pace: rate("--pace", self.pace.take())?,
            line_rate: rate("--line-rate", self.line_rate.take())?,
        }))
    }
}

/// Reads a default choice.
fn read<T: std::str::FromStr<Err = String>>(text: &str) -> Result<T, Error> {
    text.parse().map_err(|what| Error::Input(format!("`{text}`: {what}")))
}

/// The error for a benchmark that cannot be measured.
fn unknown(name: &str) -> Error {
    Error::Input(benchmarks::elsewhere(name, "measure").unwrap_or_else(|| {
        let known = benchmarks::BENCHMARKS.iter().filter(|of| of.measured).map(|of| of.name);
        format!("benchmark `{name}`: must be one of {}", known.collect::<Vec<_>>().join(", "))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_benchmark_of_the_table_has_usual_choices() {
        for benchmark in benchmarks::BENCHMARKS {
            match Benchmark::named(benchmark.name) {
                Ok(found) => assert_eq!((found.name(), benchmark.measured), (benchmark.name, true)),
                Err(error) => assert!(!benchmark.measured && error.to_string().contains("simulate"), "{error}"),
            }
        }
    }

    #[test]
    fn a_choice_of_another_benchmark_is_refused() {
        let refused = |choices: Choices, name: &str| choices.benchmark(name).unwrap_err().to_string();
        let told = refused(Choices { rewrite: Some(true), size: Some(vec![8]), ..Choices::default() }, "stream");
        assert_eq!(told, "--rewrite: is no choice of stream (it takes size)");
        assert!(refused(Choices { ranks: Some(vec![2, 4]), ..Choices::default() }, "pairs").contains("one number"));
        assert!(refused(Choices { size: Some(vec![8]), ..Choices::default() }, "barrier").contains("--size"));
        assert!(refused(Choices { window: Some(0), ..Choices::default() }, "rate").contains("1 to 1024"));
        assert!(
            refused(Choices { memory: Some(vec![Memory::Shared; 2]), ..Choices::default() }, "memory").contains("one")
        );
    }

    #[test]
    fn what_cannot_be_is_refused_before_a_rank_is_started() {
        let usual = || Request::new(Benchmark::named("pingpong").unwrap());
        let told = |request: Request| request.check().unwrap_err().to_string();
        assert!(usual().check().is_ok());
        let via = |via| Carrier { via, ..Carrier::default() };
        assert!(told(Request { stall_s: Some(1.0), carrier: via(Via::Mpi), ..usual() }).starts_with("--stall"));
        assert!(told(Request { poll_s: Some(0.0), carrier: via(Via::Mpi), ..usual() }).starts_with("--poll"));
        assert!(told(Request { poll_s: Some(-1.0), ..usual() }).contains("must be 0 to 3600"));
        let once = Repetition { time_s: 0.0, ..Repetition::default() };
        assert!(told(Request { repetition: once, ..usual() }).contains("--time 0: must be 0.001 to 3600"));
        let hosts = Hosts { connect: Some("a:1".to_owned()), ..Hosts::default() };
        assert!(told(Request { hosts: hosts.clone(), ..usual() }).contains("--via tcp or mixed"));
        assert!(Request { hosts, carrier: via("tcp".parse().unwrap()), ..usual() }.check().is_ok());
    }
}
