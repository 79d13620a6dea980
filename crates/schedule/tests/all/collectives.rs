//! Generated collectives: whole for every machine, and of as many bytes as their algorithms move.

use hotlink_schedule::collective::{Algorithm, Job, Machine, PeerChannels, RailSwitches, Which, Wiring};
use hotlink_schedule::{Costs, Kind, Protocol, Schedule, check, longest};

const COSTS: Costs = Costs {
    launch_ps: 5_000_000,
    reduce_ps_per_byte: 0.5,
    copy_ps_per_byte: 0.25,
    protocol: Protocol::Simple,
    line: 0,
    near_ps: 0,
    proxy_ps: 1_000_000,
    post_ps: 400_000,
    post_ps_per_byte: 0.0,
    one_thread: false,
    switch_launch_ps: 5_000_000,
    switch_extra: 0.0,
    switch_chunk: 0,
};

fn job(which: Which, algorithm: Algorithm, [ranks, domain, channels]: [u32; 3], bytes: u64, costs: Costs) -> Job {
    let leaves = (ranks / domain.max(1)).div_ceil(2);
    let spines = if leaves > 1 { 3 } else { 0 };
    // Many ranks share the spines, or cores above groups of three leaves.
    let groups = leaves.div_ceil(3);
    let (cores, joined) = (if groups > 1 { 2 } else { 0 }, ranks > 30);
    let switches = RailSwitches { held: 2, leaves, groups, spines, cores, joined, gate_ps: 400_000, ps_per_byte: 20.0 };
    // Switches that take part in nothing but some algorithms.
    let combine = algorithm == Algorithm::CollNet || algorithm == Algorithm::Nvls && ranks > domain;
    let rails = (combine || ranks == 24).then_some(switches);
    let wiring = Wiring::default();
    let peer = PeerChannels::default();
    let machine = Machine {
        ranks,
        domain,
        channels,
        peer,
        chunk: 4096,
        slices: 2,
        costs,
        wiring,
        switch: true,
        rails,
        uneven: None,
    };
    Job { which, algorithm, bytes, machine }
}

/// Bytes between ranks of one domain, and between domains; switches count as of their domain.
fn moved(schedule: &Schedule, ranks: u32, domain: u32) -> [u64; 2] {
    let home = |rank: u32| if rank < ranks { rank / domain } else { rank - ranks };
    let mut moved = [0; 2];
    for op in schedule.ops().filter(|op| op.kind == Kind::Send) {
        moved[usize::from(home(op.rank) != home(op.peer))] += op.size;
    }
    moved
}

#[test]
fn every_collective_of_every_machine_ends() {
    for which in Which::ALL {
        for &algorithm in Algorithm::of(which) {
            for [ranks, domain, channels] in [
                [2, 1, 1],
                [2, 2, 3],
                [5, 1, 2],
                [8, 8, 8],
                [12, 4, 8],
                [24, 8, 16],
                [9, 3, 32],
                [64, 8, 8],
                [15, 1, 4],
            ] {
                if [Algorithm::CollNet, Algorithm::NvlsTree].contains(&algorithm) && ranks == domain {
                    continue;
                }
                if algorithm.is_by_switch() && domain == 1 {
                    continue;
                }
                for bytes in [0, 1, 1000, 100_000] {
                    // Each step within a domain, too; lines with flags.
                    let near = Costs { near_ps: 2_000_000, protocol: Protocol::Ll, ..COSTS };
                    for costs in [Costs::default(), COSTS, near] {
                        if costs.protocol != Protocol::Simple && !algorithm.protocols().contains(&costs.protocol) {
                            continue;
                        }
                        let job = job(which, algorithm, [ranks, domain, channels], bytes, costs);
                        let schedule = job.schedule().unwrap();
                        assert_eq!(schedule.ranks(), job.ranks());
                        assert_eq!(check(&schedule), Ok(()), "{job:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn bytes_moved_are_those_of_the_algorithm() {
    let (ranks, domain, bytes) = (32u32, 8u32, 3_200_000u64);
    let (n, d, h) = (u64::from(ranks), u64::from(domain), u64::from(ranks / domain));
    let total = |which, algorithm| {
        let schedule = job(which, algorithm, [ranks, domain, 8], bytes, COSTS).schedule().unwrap();
        let [inside, between] = moved(&schedule, ranks, domain);
        (inside, between)
    };
    // On each link of a ring, one in eight leaves its domain.
    assert_eq!(total(Which::Allreduce, Algorithm::Ring), (2 * (n - 1) * bytes * 7 / 8, 2 * (n - 1) * bytes / 8));
    assert_eq!(total(Which::Allgather, Algorithm::Ring).1, (n - 1) * bytes / 8);
    // Each tree has one link less than nodes, both ways, and carries half.
    assert_eq!(total(Which::Allreduce, Algorithm::Tree), (2 * h * (d - 1) * bytes, 2 * (h - 1) * bytes));
    let rails = total(Which::Allreduce, Algorithm::Hierarchical);
    assert_eq!(rails, (2 * h * (d - 1) * bytes, 2 * (h - 1) * bytes));
    let nvls = total(Which::Allreduce, Algorithm::NvlsTree);
    // Up: all of each GPU, then each owner's block; down: each owner's block, then all to each.
    assert_eq!(nvls, (h * (d * bytes + bytes + bytes + d * bytes), 2 * (h - 1) * bytes));
    // Each domain's block of every rail goes to the rail's leaf and back, and so do those of two leaves to a spine.
    let collnet = |which| {
        let schedule = job(which, Algorithm::CollNet, [ranks, domain, 8], bytes, COSTS).schedule().unwrap();
        let far = |op: &hotlink_schedule::Op| op.kind == Kind::Send && op.rank.max(op.peer) >= ranks;
        schedule.ops().filter(far).map(|op| op.size).sum::<u64>()
    };
    assert_eq!(collnet(Which::Allreduce), 2 * h * bytes + 2 * 2 * bytes);
    assert_eq!(collnet(Which::ReduceScatter), h * bytes + bytes + 2 * bytes + bytes);
    assert_eq!(collnet(Which::Allgather), collnet(Which::ReduceScatter));
    // By both: within the domains as the scale-up switch has it, between them as the rails' switches do.
    let both = |which| {
        let rails = job(which, Algorithm::CollNet, [ranks, domain, 8], bytes, COSTS).machine.rails;
        let mut job = job(which, Algorithm::Nvls, [ranks, domain, 8], bytes, COSTS);
        job.machine.rails = rails;
        let schedule = job.schedule().unwrap();
        assert_eq!((check(&schedule), schedule.ranks()), (Ok(()), job.ranks()));
        let network = |rank: u32| rank >= ranks + ranks / domain;
        let far = |op: &hotlink_schedule::Op| network(op.rank) || network(op.peer);
        let sends = || schedule.ops().filter(|op| op.kind == Kind::Send);
        let [total, far] = [sends().map(|op| op.size).sum::<u64>(), sends().filter(far).map(|op| op.size).sum::<u64>()];
        (total - far, far)
    };
    assert_eq!(both(Which::Allreduce), (nvls.0, collnet(Which::Allreduce)));
    assert_eq!(both(Which::Allgather).1, collnet(Which::Allgather));
    // Eight domains a rail: four leaves in groups of two under spines, and a core above both spines of a channel.
    let in_groups = |which| {
        let mut job = job(which, Algorithm::CollNet, [64, domain, 8], bytes, COSTS);
        job.machine.rails = job.machine.rails.map(|rails| RailSwitches { groups: 2, cores: 2, ..rails });
        let schedule = job.schedule().unwrap();
        assert_eq!(check(&schedule), Ok(()), "{job:?}");
        let far = |op: &hotlink_schedule::Op| op.kind == Kind::Send && op.rank.max(op.peer) >= 64;
        schedule.ops().filter(far).map(|op| op.size).sum::<u64>()
    };
    assert_eq!(in_groups(Which::Allreduce), 2 * (8 + 4 + 2) * bytes);
    // Whole blocks up, shares down.
    assert_eq!(in_groups(Which::ReduceScatter), (8 + 4 + 2) * bytes + 3 * bytes);
    assert_eq!(in_groups(Which::Allgather), in_groups(Which::ReduceScatter));
    // A chain passes every GPU but one. On all channels but the first one it begins within a host, to which it returns.
    for which in [Which::Bcast, Which::Reduce] {
        let (inside, between) = total(which, Algorithm::Ring);
        assert_eq!((inside + between, between), ((n - 1) * bytes, h * bytes - bytes / d), "{which:?}");
    }
    for which in [Which::Gather, Which::Scatter] {
        assert_eq!(total(which, Algorithm::Pairwise), ((d - 1) * bytes / n, (n - d) * bytes / n), "{which:?}");
    }
    let pairwise = total(Which::Alltoall, Algorithm::Pairwise);
    assert_eq!(pairwise, (n * (d - 1) * bytes / n, n * (n - d) * bytes / n));
    let by_rail = total(Which::Alltoall, Algorithm::Hierarchical);
    assert_eq!(by_rail, (n * (d - 1) * h * bytes / n, n * (n - d) * bytes / n));
}

#[test]
fn every_rail_carries_its_share() {
    for algorithm in [Algorithm::Ring, Algorithm::Tree, Algorithm::Hierarchical, Algorithm::NvlsTree] {
        let schedule = job(Which::Allreduce, algorithm, [32, 8, 16], 3_200_000, COSTS).schedule().unwrap();
        let mut rails = [0u64; 8];
        for op in schedule.ops().filter(|op| op.kind == Kind::Send && op.rank.max(op.peer) < 32) {
            if op.rank / 8 != op.peer / 8 {
                // A message leaves by the rail of the GPU that takes it.
                rails[op.peer as usize % 8] += op.size;
            }
        }
        // Blocks are cut to whole bytes.
        let (least, most) = (rails.iter().min().unwrap(), rails.iter().max().unwrap());
        assert!(most - least <= most / 1000, "{}: {rails:?}", algorithm.name());
    }
}

#[test]
fn what_a_machine_cannot_run_is_an_error() {
    for (which, algorithm, shape, expected) in [
        (Which::Alltoall, Algorithm::Tree, [8, 8, 8], "must be one of pairwise, hierarchical"),
        (Which::Allreduce, Algorithm::Ring, [12, 8, 8], "must be whole domains"),
        (Which::Allreduce, Algorithm::Ring, [16, 8, 0], "must be 1 to 32"),
        (Which::Allreduce, Algorithm::CollNet, [8, 8, 8], "must be two domains or more"),
        (Which::Allreduce, Algorithm::NvlsTree, [8, 8, 8], "must be two domains or more"),
        (Which::Allreduce, Algorithm::NvlsTree, [8, 1, 8], "must be two or more of each domain"),
    ] {
        let told = job(which, algorithm, shape, 1000, COSTS).schedule().unwrap_err();
        assert!(told.contains(expected), "{told}");
    }
    let mut without = job(Which::Allreduce, Algorithm::CollNet, [16, 8, 8], 1000, COSTS);
    without.machine.rails = None;
    assert!(without.schedule().unwrap_err().contains("do not combine data"));
    for (which, other) in [(Which::Allreduce, "nvls-tree"), (Which::Allgather, "ring")] {
        let told = Job { which, algorithm: Algorithm::Nvls, ..without }.schedule().unwrap_err();
        assert!(told.ends_with(&format!("NCCL takes another there: {other}")), "{told}");
    }
    let huge = Job { bytes: 1 << 40, ..job(Which::Allreduce, Algorithm::Ring, [512, 8, 8], 0, COSTS) };
    assert!(huge.schedule().unwrap_err().contains("operations"));
}

/// Of short blocks a piece each: a proxy posts no more of them than there are steps.
#[test]
fn rings_of_short_blocks_post_once_a_step() {
    let posts = |bytes: u64| {
        let schedule = job(Which::Allreduce, Algorithm::Ring, [16, 8, 1], bytes, COSTS).schedule().unwrap();
        let of_the_last = schedule.ops().filter(|op| op.kind == Kind::Post && op.rank == 7);
        of_the_last.inspect(|op| assert_eq!((op.size, op.tag), (400_000, 600_000))).count()
    };
    // The least piece is an eighth of 1 KiB.
    assert_eq!([16, 16 * 128, 16 * 129].map(posts), [30, 30, 60]);
}

#[test]
fn messages_of_an_exchange_go_round_all_channels() {
    // (GPUs, of a domain, channels that a pair takes): as many as share no channel, two at most between domains.
    for (ranks, domain, each) in
        [(2, 2, 32), (3, 3, 16), (8, 8, 4), (9, 9, 4), (17, 17, 2), (72, 72, 1), (16, 8, 2), (64, 8, 1)]
    {
        let peer = PeerChannels { near: 32, far: 2 };
        let bytes = u64::from(ranks) * 32 * 1000;
        let alltoall = job(Which::Alltoall, Algorithm::Pairwise, [ranks, domain, 16], bytes, COSTS);
        let schedule = Job { machine: Machine { peer, ..alltoall.machine }, ..alltoall }.schedule().unwrap();
        check(&schedule).unwrap();
        let mut tags = std::collections::BTreeMap::new();
        let mut of_pairs = std::collections::BTreeMap::new();
        for op in schedule.ops().filter(|op| op.kind == Kind::Send && op.rank == 1) {
            tags.entry(op.peer).or_insert_with(std::collections::BTreeSet::new).insert(op.tag);
            *of_pairs.entry(op.peer).or_insert(0) += op.size;
        }
        let channels: std::collections::BTreeSet<u32> = tags.values().flatten().copied().collect();
        assert_eq!(channels.len() as u32, 32.min(each * (ranks - 1)), "{ranks} GPUs");
        assert!(tags.len() as u32 == ranks - 1 && tags.values().all(|tags| tags.len() as u32 == each), "{ranks} GPUs");
        assert!(of_pairs.values().all(|&size| size == 32_000), "{ranks} GPUs: {of_pairs:?}");
    }
}

/// The longest chain of a collective of 4,000 bytes on four GPUs of a host, by one channel. A byte takes `work` of a kernel
/// and `link` of a link, and a message 100 besides.
fn chain_of(which: Which, algorithm: Algorithm, [work, link]: [u64; 2]) -> u64 {
    let costs = Costs { reduce_ps_per_byte: work as f64, copy_ps_per_byte: work as f64, ..Costs::default() };
    let mut job = job(which, algorithm, [4, 4, 1], 4000, costs);
    job.machine.slices = 1;
    longest(&job.schedule().unwrap(), |op| 100 + link * op.size).unwrap().chain
}

/// A kernel writes into the next GPU's memory as it works: the slower of both takes its time, not their sum.
#[test]
fn within_a_host_the_work_is_the_crossing() {
    for [work, link] in [[10, 4], [10, 10], [10, 30], [10, 0]] {
        let slower = work.max(link);
        let hops = |many: u64, bytes: u64| many * (100 + bytes * slower);
        // The root's data cross; two GPUs copy and write on; the last one copies.
        let bcast = 100 + 4000 * link + hops(2, 4000) + 4000 * work;
        assert_eq!(chain_of(Which::Bcast, Algorithm::Ring, [work, link]), bcast, "{work} {link}");
        // Of six hops of a quarter, the first has no work before it.
        let ring = 100 + 1000 * link + hops(5, 1000) + 1000 * work;
        assert_eq!(chain_of(Which::Allreduce, Algorithm::Ring, [work, link]), ring, "{work} {link}");
        // Each of two trees has half: three hops up, three down, the root's among them.
        let tree = 100 + 2000 * link + hops(5, 2000) + 2000 * work;
        assert_eq!(chain_of(Which::Allreduce, Algorithm::Tree, [work, link]), tree, "{work} {link}");
    }
}

/// Lines of LL and messages between hosts wait for the work: there a proxy reads what a kernel wrote.
#[test]
fn other_messages_have_no_flags_of_their_own() {
    let sends = |[ranks, domain]: [u32; 2], protocol: Protocol| {
        let costs = Costs { protocol, ..COSTS };
        let job = job(Which::Bcast, Algorithm::Ring, [ranks, domain, 1], 4000, costs);
        let schedule = job.schedule().unwrap();
        let sends = schedule.ops().filter(|op| op.kind == Kind::Send).map(|op| op.size).collect::<Vec<_>>();
        (sends.len(), sends.iter().filter(|bytes| **bytes == 0).count())
    };
    assert_eq!(sends([4, 4], Protocol::Simple), (6, 3));
    assert_eq!(sends([4, 4], Protocol::Ll), (3, 0));
    assert_eq!(sends([4, 1], Protocol::Simple), (3, 0));
}

/// NCCL's proxies of a GPU are one thread (`src/proxy.cc`). What one channel does not use of it, the others do.
#[test]
fn proxies_of_a_gpu_share_a_thread() {
    let costs = Costs { one_thread: true, post_ps: 0, post_ps_per_byte: 3.0, protocol: Protocol::Ll, ..COSTS };
    let schedule = job(Which::Allreduce, Algorithm::Tree, [32, 8, 16], 320_000, costs).schedule().unwrap();
    let mut work = std::collections::BTreeMap::<_, u64>::new();
    for op in schedule.ops().filter(|op| op.kind == Kind::Post) {
        *work.entry((op.rank, op.cpu)).or_default() += op.size;
    }
    // An inner host of a tree sends three times, and once in the other: four parts of 20,000 B by each GPU's thread.
    let threads: std::collections::BTreeSet<_> = work.keys().map(|(_, cpu)| *cpu).collect();
    assert_eq!(threads.len(), 1, "{work:?}");
    assert_eq!(work.values().max(), Some(&(4 * 20_000 * 3)), "{work:?}");
}
