//! A rank's memory grows with operations in flight and with ranks with which it communicates, not with all ranks.
#![allow(unsafe_code)]

use hotlink_message::{Comm, Error};
use hotlink_port::{Driver, Kind, Span};
use hotlink_real::{Options, Shm, ShmPort};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::Duration;

struct Counting;
static LIVE: AtomicI64 = AtomicI64::new(0);

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size() as i64, Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size() as i64, Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(start, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes of the job's shared block that this process has touched: of its mappings, the longest.
fn touched() -> i64 {
    let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let number = |line: &str, name: &str| {
        line.strip_prefix(name).and_then(|rest| rest.trim().strip_suffix(" kB")).and_then(|kib| kib.parse::<i64>().ok())
    };
    let (mut longest, mut size, mut touched) = (0, 0, 0);
    for line in maps.lines() {
        size = number(line, "Size:").unwrap_or(size);
        if let Some(resident) = number(line, "Rss:")
            && size > longest
        {
            (longest, touched) = (size, resident);
        }
    }
    touched * 1024
}

/// What rank 0 has on the heap and in the shared block: at its start, after messages with rank 1, and during so many
/// receives.
async fn grow(port: ShmPort, before: i64, receives: u64) -> Result<[i64; 3], Error> {
    let comm = Comm::new(port);
    let memory = comm.alloc(8, Kind::Private)?;
    let span = Span::new(memory, 0, 8);
    let now = || LIVE.load(Relaxed) - before;
    let start = now() + touched();
    if comm.rank() < 2 {
        for _ in 0..1000 {
            comm.send(1 - comm.rank(), 0, span).await?;
            comm.recv(Some(1 - comm.rank()), Some(0), span).await?;
        }
    }
    let talked = now() + touched();
    let mut requests = Vec::with_capacity(receives as usize);
    if comm.rank() == 0 {
        for _ in 0..receives {
            requests.push(comm.irecv(Some(1), Some(1), span)?);
        }
    }
    let waiting = now() + touched();
    comm.barrier().await?;
    if comm.rank() == 1 {
        for _ in 0..receives {
            comm.send(0, 1, span).await?;
        }
    }
    for request in requests {
        comm.wait(request).await?;
    }
    comm.barrier().await?;
    Ok([start, talked, waiting])
}

fn grown(ranks: u32, receives: u64) -> [i64; 3] {
    let before = LIVE.load(Relaxed);
    let program = move |port: ShmPort| grow(port, before, receives);
    let options = Options { limit: Some(Duration::from_secs(60)), pin: false, ..Options::default() };
    Shm::new(options).run(ranks, &program).unwrap().swap_remove(0).unwrap()
}

#[test]
fn memory_grows_with_operations_in_flight_and_partners_not_with_peers() {
    const PAGE: i64 = 4096;
    const PEERS: i64 = 6;
    let (few, many) = (grown(2, 100), grown(2 + PEERS as u32, 100));
    // A rank that one never talks to: its place in tables of counters, and no ring.
    let of_peers = many[0] - few[0];
    assert!(of_peers < PEERS * 256 + PAGE, "{of_peers} B for {PEERS} more peers");
    // Talking to one of them costs the same among many as among few, a page more or less at the tables' edges.
    let (alone, crowd) = (few[1] - few[0], many[1] - many[0]);
    assert!((alone - crowd).abs() <= PAGE, "talking to a rank: {alone} B of 2, {crowd} B of {}", 2 + PEERS);
    // Each operation has its price, whatever the number of ranks.
    let more = grown(2, 10_100);
    let each = ((more[2] - more[1]) - (few[2] - few[1])) / 10_000;
    assert!((50..600).contains(&each), "{each} B for a receive under way");
    println!("{of_peers} B for {PEERS} peers, {alone} B for a partner, {each} B for a receive under way");
}
