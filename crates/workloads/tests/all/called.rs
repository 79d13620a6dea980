//! Bounds of collectives of all ranks and of some: no call on any fabric beats its own.

use hotlink_fabric::catalog::Library;
use hotlink_fabric::units::Time;
use hotlink_message::{Combine, Comm, Element, Error, Operation};
use hotlink_port::{Driver, Kind, Port, Program, Span};
use hotlink_sim::port::VirtualTime;
use hotlink_sim::{Plan, Settings};
use hotlink_study::{Source, parallel};
use hotlink_workloads::called::{Call, Ground};

const RANKS: u32 = 8;
const SUM: Operation = Operation { combine: Combine::Sum, element: Element::F64 };
/// What rounding of times to picoseconds may add.
const ALLOWED: f64 = 1.000_001;

const NAMES: [&str; 9] = [
    "MPI_Barrier",
    "MPI_Ibcast",
    "MPI_Reduce_c",
    "MPI_Allreduce",
    "MPI_Allgather_init",
    "MPI_Alltoall",
    "MPI_Gather",
    "MPI_Scatter",
    "MPI_Reduce_scatter_block",
];

/// One collective of some ranks: when each entered and left.
struct Once<'a> {
    name: &'a str,
    members: &'a [u32],
    /// Each rank's part.
    size: u64,
}

impl Once<'_> {
    async fn call<P: Port>(&self, comm: &Comm<P>) -> Result<(u64, u64), Error> {
        let view = comm.view(self.members, 7)?;
        let (size, all) = (self.size, self.size * self.members.len() as u64);
        let whole = |bytes: u64| Ok::<_, Error>(Span::new(view.alloc(bytes, Kind::Default)?, 0, bytes));
        let [part, other, row, column] = [whole(size)?, whole(size)?, whole(all)?, whole(all)?];
        let since = view.now();
        match self.name {
            "MPI_Barrier" => view.barrier().await?,
            "MPI_Ibcast" => view.bcast(0, part).await?,
            "MPI_Reduce_c" => view.reduce(0, SUM, part, other).await?,
            "MPI_Allreduce" => view.allreduce(SUM, part, other).await?,
            "MPI_Allgather_init" => view.allgather(part, row).await?,
            "MPI_Alltoall" => view.alltoall(row, column).await?,
            "MPI_Gather" => view.gather(0, part, row).await?,
            "MPI_Scatter" => view.scatter(0, row, part).await?,
            _ => view.reduce_scatter(SUM, row, part).await?,
        }
        Ok((since.0, view.now().0))
    }
}

impl<P: Port> Program<P, Result<(u64, u64), Error>> for Once<'_> {
    async fn run(&self, port: P) -> Result<(u64, u64), Error> {
        let comm = Comm::new(port);
        let is_in = self.members.contains(&comm.rank());
        let times = if is_in { self.call(&comm).await } else { Ok((u64::MAX, 0)) };
        comm.with_port(Port::close);
        times
    }
}

/// From the first entry to the last leave, and the bound or why there is none.
fn once(plan: &Plan<'_>, settings: &Settings, places: &[u32], once: &Once<'_>) -> (f64, Result<f64, String>) {
    let mut driver = VirtualTime::new(plan, settings).unwrap().placed(places.to_vec());
    let times: Vec<(u64, u64)> = driver.run(RANKS, once).unwrap().into_iter().collect::<Result<_, Error>>().unwrap();
    let (first, last) = times.iter().fold((u64::MAX, 0), |(from, to), one| (from.min(one.0), to.max(one.1)));
    let bytes = match once.name {
        "MPI_Barrier" => None,
        "MPI_Allgather_init" | "MPI_Reduce_scatter_block" => Some(once.size * once.members.len() as u64),
        _ => Some(once.size),
    };
    let called = Call { name: once.name, ranks: once.members, root: Some(0), bytes, moved: None, by_hardware: false };
    let ground = Ground { plan, adapter: driver.adapter(), places };
    (Time(last - first).us(), ground.least(&called).map(|least| least.latency_us))
}

#[test]
fn no_collective_of_a_program_beats_its_bound() {
    let fabrics: Vec<String> = Library::embedded().list("fabrics").into_iter().map(|listed| listed.name).collect();
    let told = parallel::each(&fabrics, |name| on(name));
    let held: usize = told.iter().map(|told| told.0).sum();
    let wrong: Vec<&String> = told.iter().flat_map(|told| &told.1).collect();
    assert!(held > 1000, "only {held} calls have a bound");
    assert!(wrong.is_empty(), "{} of {}:\n{wrong:#?}", wrong.len(), wrong.len() + held);
}

/// How many calls on a fabric keep their bounds, and what is wrong with others.
fn on(name: &str) -> (usize, Vec<String>) {
    let some: [&[u32]; 3] = [&[0, 1, 2, 3, 4, 5, 6, 7], &[1, 3, 5, 7], &[6, 0, 3]];
    let pairs: Vec<u32> = (0..RANKS).map(|rank| rank / 2).collect();
    let (mut wrong, mut held) = (Vec::new(), 0);
    if let Ok(fabric) = Source::open(name).unwrap().build(RANKS) {
        let settings = Settings::of(&fabric.spec);
        let plan = Plan::new(&fabric, &settings).unwrap();
        let may_share = fabric.spec.barrier().is_none() && fabric.spec.reduction().is_none();
        for (places, size) in [(&[][..], 8), (&[], 24 << 10), (&pairs, 12 << 10)] {
            for members in some.into_iter().filter(|_| places.is_empty() || may_share) {
                for call in NAMES {
                    let (us, bound) = once(&plan, &settings, places, &Once { name: call, members, size });
                    let about = || format!("{name} {call} of {members:?}, {size} B, {places:?}");
                    match bound {
                        Ok(bound) if bound > 0.0 && bound <= us * ALLOWED => held += 1,
                        other => wrong.push(format!("{}: {us} us, bound {other:?}", about())),
                    }
                }
            }
        }
    }
    (held, wrong)
}

/// What is not known is said, and why.
/// MPI states of some collectives what all ranks give together.
#[test]
fn a_part_is_that_of_one_rank() {
    for (name, bytes, part) in [
        ("MPI_Allgather", 8192, 1024),
        ("MPI_Ireduce_scatter_block", 8192, 1024),
        ("MPI_Alltoall", 1024, 1024),
        ("MPI_Gather", 1024, 1024),
    ] {
        let ranks: Vec<u32> = (0..RANKS).collect();
        let called = Call { name, ranks: &ranks, root: None, bytes: Some(bytes), moved: None, by_hardware: false };
        assert_eq!(called.part(), Some(part), "{name}");
    }
}

#[test]
fn a_bound_that_nobody_knows_is_none() {
    let fabric = Source::open("gige").unwrap().build(4).unwrap();
    let settings = Settings::of(&fabric.spec);
    let plan = Plan::new(&fabric, &settings).unwrap();
    let driver = VirtualTime::new(&plan, &settings).unwrap();
    let of = |places: &[u32], name: &str, ranks: &[u32], bytes: Option<u64>, moved: Option<f64>| {
        let called = Call { name, ranks, root: None, bytes, moved, by_hardware: false };
        let ground = Ground { plan: &plan, adapter: driver.adapter(), places };
        ground.least(&called).map(|least| least.latency_us).map_err(|why| why.to_string())
    };
    let all = [0, 1, 2, 3];
    for (name, ranks, bytes, moved, why) in [
        ("MPI_Scan", &all[..], Some(8), None, "no bound is known for this collective"),
        ("MPI_Neighbor_alltoall", &all, None, None, "no bound is known for this collective"),
        ("MPI_Allreduce", &all, None, None, "between two groups, or of lengths that differ"),
        ("MPI_Bcast", &all, Some(0), None, "nothing is moved"),
        ("MPI_Allgatherv", &all, Some(0), Some(0.0), "nothing is moved"),
        ("MPI_Barrier", &all[..1], None, None, "a single rank"),
    ] {
        assert_eq!(of(&[], name, ranks, bytes, moved).unwrap_err(), why, "{name}");
    }
    let shared = [0, 0, 1, 1];
    assert_eq!(of(&shared, "MPI_Allreduce", &[0, 1], Some(8), None).unwrap_err(), "all its ranks are on one node");
    let why = of(&shared, "MPI_Alltoallv", &all, None, Some(8.0)).unwrap_err();
    assert_eq!(why, "lengths may differ, and ranks share nodes");
    // With lengths that differ, the bytes of the busiest rank count, for any bytes of the others.
    let [once, twice] = [1e6, 2e6].map(|moved| of(&[], "MPI_Ialltoallv", &all, None, Some(moved)).unwrap());
    assert!((twice / once - 2.0).abs() < 1e-12 && once > 1e6 / 125.0, "{once} {twice}");
}
