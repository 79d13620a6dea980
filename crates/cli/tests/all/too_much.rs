//! Questions of absurd size: each ends at once with an error that names the limit.

use crate::common::{hotlink, place};
use std::time::{Duration, Instant};

/// Longer than any refusal takes on a busy machine, shorter than any of these answers.
const PATIENCE: Duration = Duration::from_secs(120);

#[test]
fn what_would_take_days_or_all_memory_is_refused_with_the_limit() {
    let folder = place("too-much");
    for (line, told) in [
        ("simulate bcast --fabric qsnet --nodes 1000000", "hops of packets, and at most 2e9 are allowed"),
        ("simulate barrier --fabric qsnet --nodes 1000000", "are allowed: ask for fewer nodes"),
        ("simulate alltoall --fabric sci-torus2d --nodes 1000000", "hops of packets, and at most 2e9 are allowed"),
        ("simulate allgather --fabric ib-ndr-fat-tree3 --nodes 65536", "ask for about"),
        ("simulate pingpong --fabric ib-ndr-fat-tree2 --nodes 2 --size 64TiB", "smaller or fewer messages"),
        ("simulate alltoall --fabric ib-ndr-fat-tree3 --nodes 8192 --stack message --size 8", "--algorithm pairwise"),
        (
            "simulate barrier --fabric bluegene-l --nodes 65536 --repetitions 1000000",
            "about 30000 --repetitions or fewer",
        ),
        ("analyze qsnet --nodes 1000000", "steps to count the load of the links, and at most 1e11 are allowed"),
        ("analyze myrinet-ring4 --nodes 1000000", "nodes or fewer"),
        ("analyze ib-ndr-fat-tree3 --nodes 1000000", "65536"),
        ("simulate bcast --fabric sci-ring --nodes 4294967295", "must be 1 to 4194304"),
        ("simulate bcast --fabric ib-ndr-fat-tree2 --nodes 4 --size 1EiB", "--size"),
    ] {
        let start = Instant::now();
        let output = hotlink(line, &folder);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{line}: {said}");
        assert!(said.contains(told), "{line}: {said}");
        assert!(start.elapsed() < PATIENCE, "{line} took {:?}", start.elapsed());
    }
}
