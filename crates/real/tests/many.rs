//! Many ranks on one machine: barrier, neighbours, allreduce; what each takes of address space and memory.

use hotlink_message::{Combine, Comm, Element, Error, Operation};
use hotlink_port::{Driver, Kind, Port, Program, RunError, Span};
use hotlink_real::{Mixed, Options, Shm};
use std::time::{Duration, Instant};

/// What a rank saw: whether all values were right, and how much address space and memory it took, in KiB.
type Seen = (bool, u64, u64);

/// With what the process that forks the ranks takes before.
#[derive(Clone, Copy)]
struct Round {
    space: u64,
    memory: u64,
}

impl Round {
    fn here() -> Round {
        Round { space: shared(), memory: held() }
    }
}

fn held() -> u64 {
    taken("RssShmem:") + taken("RssAnon:")
}

impl<P: Port> Program<P, Result<Seen, Error>> for Round {
    async fn run(&self, port: P) -> Result<Seen, Error> {
        let comm = Comm::new(port);
        let (rank, ranks) = (comm.rank(), comm.ranks());
        comm.barrier().await?;
        const BYTES: u64 = 10_000;
        let (out, into) = (comm.alloc(BYTES, Kind::Private)?, comm.alloc(BYTES, Kind::Private)?);
        comm.write(out, 0, &[rank as u8; BYTES as usize])?;
        let (right, left) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
        comm.sendrecv((right, 1, Span::new(out, 0, BYTES)), (left, 1, Span::new(into, 0, BYTES))).await?;
        let mut seen = vec![0; BYTES as usize];
        comm.read(into, 0, &mut seen)?;
        let sum = comm.alloc(16, Kind::Default)?;
        comm.write(sum, 0, &i64::from(rank).to_le_bytes())?;
        let add = Operation { combine: Combine::Sum, element: Element::I64 };
        comm.allreduce(add, Span::new(sum, 0, 8), Span::new(sum, 8, 8)).await?;
        let mut total = [0; 8];
        comm.read(sum, 8, &mut total)?;
        comm.barrier().await?;
        let n = i64::from(ranks);
        let right = seen.iter().all(|&byte| byte == left as u8) && i64::from_le_bytes(total) == n * (n - 1) / 2;
        let (space, memory) = (shared(), held());
        Ok((right, space.saturating_sub(self.space), memory.saturating_sub(self.memory)))
    }
}

/// KiB of address space that is mapped shared: the port's reservation. The C library reserves 64 MiB for a thread's
/// heap at moments of its own choice, which is not the port's.
fn shared() -> u64 {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let bytes = |line: &str| {
        let mut words = line.split_whitespace();
        let (from, to) = words.next()?.split_once('-')?;
        let ends = [from, to].map(|end| u64::from_str_radix(end, 16).unwrap());
        words.next()?.ends_with('s').then_some(ends[1] - ends[0])
    };
    maps.lines().filter_map(bytes).sum::<u64>() >> 10
}

/// KiB that the system says of this process.
fn taken(what: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(what)).unwrap_or("0");
    line.split_whitespace().next().unwrap().parse().unwrap()
}

fn options(limit_s: u64) -> Options {
    Options { limit: Some(Duration::from_secs(limit_s)), pin: false, ..Options::default() }
}

fn run(what: &str, driver: &mut impl Runs, ranks: u32) {
    let start = Instant::now();
    let results = match driver.run_round(ranks) {
        Ok(results) => results,
        Err(RunError::Ranks { why, .. }) => {
            return eprintln!("LEFT OUT: this system lets us not start {ranks} ranks: {why}");
        }
        Err(error) => panic!("{what}, {ranks} ranks: {error}"),
    };
    let seen: Vec<Seen> = results.into_iter().map(Result::unwrap).collect();
    assert!(seen.iter().all(|&(right, ..)| right), "{what}: wrong values");
    let most = |part: fn(&Seen) -> u64| seen.iter().map(part).max().unwrap();
    let (space, memory) = (most(|seen| seen.1), most(|seen| seen.2));
    let took_s = start.elapsed().as_secs_f64();
    println!(
        "{what}, {ranks} ranks: {took_s:.2} s; each took at most {memory} KiB of memory, {space} KiB of address space"
    );
    assert!(space <= 2 * memory + (64 << 10), "{what}: {space} KiB of address space for {memory} KiB of memory");
}

/// A driver as something to run the round on.
trait Runs {
    fn run_round(&mut self, ranks: u32) -> Result<Vec<Result<Seen, Error>>, RunError>;
}

impl<D: Driver> Runs for D
where
    Round: Program<D::Port, Result<Seen, Error>>,
{
    fn run_round(&mut self, ranks: u32) -> Result<Vec<Result<Seen, Error>>, RunError> {
        self.run(ranks, &Round::here())
    }
}

#[test]
fn hundreds_of_ranks() {
    run("shared memory", &mut Shm::new(options(120)), 256);
    run("four hosts", &mut Mixed::new(options(120)).playing(4), 96);
}

#[test]
#[ignore = "make bench-ranks: it takes a minute"]
fn a_thousand_ranks() {
    run("shared memory", &mut Shm::new(options(280)), 1024);
}

#[test]
#[ignore = "make bench-ranks: it takes two minutes"]
fn a_thousand_ranks_on_sixteen_hosts() {
    run("sixteen hosts", &mut Mixed::new(options(580)).playing(16), 1024);
}

#[test]
fn more_ranks_than_that_are_refused() {
    let refused = Shm::new(options(1)).run_round(1025);
    assert!(matches!(&refused, Err(RunError::Ranks { why, .. }) if why.contains("1 to 1024")), "{refused:?}");
}
