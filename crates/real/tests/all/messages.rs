//! Messages between real processes, over every real port: whole, in order, with wildcards, whatever the size.

use hotlink_message::{Comm, Error};
use hotlink_port::{Driver, Kind, Layout, Port, Program, RunError, Span};
use hotlink_real::{Mixed, Options, Shm, Tcp};
use std::io::{PipeWriter, Read, Write};
use std::time::Duration;

fn options() -> Options {
    Options { limit: Some(Duration::from_secs(20)), pin: false, ..Options::default() }
}

fn on_every_port<T, R>(ranks: u32, program: R) -> Vec<Vec<T>>
where
    T: serde::Serialize + serde::de::DeserializeOwned,
    R: Program<hotlink_real::ShmPort, T> + Program<hotlink_real::Seat, T>,
{
    let shm = Shm::new(options()).run(ranks, &program).unwrap();
    let tcp = Tcp::new(options()).run(ranks, &program).unwrap();
    let mixed = Mixed::new(options()).playing(2).run(ranks, &program).unwrap();
    vec![shm, tcp, mixed]
}

fn bytes(seed: u64, len: u64) -> Vec<u8> {
    (0..len).map(|i| (seed.wrapping_mul(31).wrapping_add(i * 7) % 251) as u8).collect()
}

const SIZES: [u64; 12] = [0, 1, 8, 24, 25, 4096, 16384, 16385, 65536, 65537, 200_001, 3 << 20];

/// Every size there and back, contiguous and strided, in private and shared memory.
struct Echo;
impl<P: Port> Program<P, Result<u64, Error>> for Echo {
    async fn run(&self, port: P) -> Result<u64, Error> {
        let comm = Comm::new(port);
        let mut wrong = 0;
        for (tag, &size) in SIZES.iter().enumerate() {
            for kind in [Kind::Private, Kind::Default] {
                wrong += echo(&comm, tag as u32, size, kind).await?;
            }
        }
        Ok(wrong)
    }
}

async fn echo<P: Port>(comm: &Comm<P>, tag: u32, size: u64, kind: Kind) -> Result<u64, Error> {
    let memory = comm.alloc(4 * size + 64, kind)?;
    let flat = Span::new(memory, 0, size);
    let gaps = Span { memory, offset: size, layout: Layout::strided(8, size / 8, 24) };
    let peer = 1 - comm.rank();
    let mut seen = vec![0; size as usize];
    if comm.rank() == 1 {
        comm.recv(Some(peer), Some(tag), flat).await?;
        comm.send(peer, tag, flat).await?;
        comm.recv(Some(peer), Some(tag), gaps).await?;
        comm.send(peer, tag, gaps).await?;
        comm.free(memory)?;
        return Ok(0);
    }
    comm.write(memory, 0, &bytes(size, size))?;
    comm.send(peer, tag, flat).await?;
    comm.write(memory, 0, &vec![0; size as usize])?;
    let status = comm.recv(None, None, flat).await?;
    comm.read(memory, 0, &mut seen)?;
    let mut wrong = u64::from(seen != bytes(size, size)) + u64::from(status.bytes != size);
    let part = Span::new(memory, 0, gaps.bytes());
    comm.send(peer, tag, part).await?;
    comm.write(memory, 0, &vec![0; size as usize])?;
    comm.recv(Some(peer), Some(tag), part).await?;
    comm.read(memory, 0, &mut seen)?;
    let whole = gaps.bytes() as usize;
    wrong += u64::from(seen[..whole] != bytes(size, size)[..whole]);
    comm.free(memory)?;
    Ok(wrong)
}

#[test]
fn every_size_and_layout_arrives_whole() {
    for results in on_every_port(2, Echo) {
        assert_eq!(results, [Ok(0), Ok(0)]);
    }
}

/// A segment that is sent again and again is set up once on each side, and both cores move it.
#[test]
fn long_messages_are_set_up_once_and_moved_by_both() {
    let program = |port: hotlink_real::ShmPort| async move {
        const MESSAGES: u64 = 50;
        let comm = Comm::new(port);
        let bytes = 1 << 20;
        let span = Span::new(comm.alloc(bytes, Kind::Shared)?, 0, bytes);
        for number in 0..MESSAGES {
            if comm.rank() == 0 {
                comm.write(span.memory, 0, &vec![number as u8; bytes as usize])?;
                comm.send(1, 0, span).await?;
            } else {
                comm.recv(Some(0), Some(0), span).await?;
                let mut seen = vec![0; bytes as usize];
                comm.read(span.memory, 0, &mut seen)?;
                assert!(seen.iter().all(|&byte| byte == number as u8), "message {number}");
            }
        }
        comm.barrier().await?;
        let (setups, counters) = (comm.setup_stats(), comm.counters());
        let made = (setups.registrations.misses, setups.attachments.misses);
        Ok::<_, Error>((made, setups.registrations.hits, counters.halved))
    };
    let results: Vec<_> = Shm::new(options()).run(2, &program).unwrap().into_iter().map(Result::unwrap).collect();
    assert_eq!(results, [((1, 1), 49, 0), ((1, 1), 49, 50)]);
}

/// All send to all at once, more than any ring holds, before any rank receives. Then each receives in its own order.
struct Crowd;
impl<P: Port> Program<P, Result<u64, Error>> for Crowd {
    async fn run(&self, port: P) -> Result<u64, Error> {
        let comm = Comm::new(port);
        let (rank, ranks) = (comm.rank(), comm.ranks());
        const N: u64 = 700;
        let out = comm.alloc(8 * N, Kind::Private)?;
        let words: Vec<u8> = (0..N).flat_map(|i| (u64::from(rank) << 32 | i).to_le_bytes()).collect();
        comm.write(out, 0, &words)?;
        let mut sends = Vec::new();
        for i in 0..N {
            for to in 0..ranks {
                sends.push(comm.isend(to, (i % 3) as u32, Span::new(out, 8 * i, 8))?);
            }
        }
        let into = comm.alloc(8, Kind::Private)?;
        let mut wrong = 0;
        for tag in [2, 0, 1] {
            for from in (0..ranks).rev() {
                for i in (tag..N).step_by(3) {
                    comm.recv(Some(from), Some(tag as u32), Span::new(into, 0, 8)).await?;
                    let mut word = [0; 8];
                    comm.read(into, 0, &mut word)?;
                    wrong += u64::from(u64::from_le_bytes(word) != (u64::from(from) << 32 | i));
                }
            }
        }
        comm.wait_all(sends).await?;
        comm.barrier().await?;
        Ok(wrong)
    }
}

#[test]
fn a_crowd_keeps_order_and_loses_nothing() {
    for results in on_every_port(3, Crowd) {
        assert_eq!(results, [Ok(0), Ok(0), Ok(0)]);
    }
}

/// Rank 1 dies while the others wait for it; those that notice say so.
struct Death<'a> {
    noticed: &'a PipeWriter,
}

impl<P: Port> Program<P, ()> for Death<'_> {
    async fn run(&self, port: P) {
        let comm = Comm::new(port);
        if comm.rank() == 1 {
            std::process::abort();
        }
        let flags = comm.limits().barrier;
        if flags && comm.rank() == 2 {
            assert_eq!(comm.barrier().await, Err(Error::PeerGone(1)));
        }
        let into = comm.alloc(8, Kind::Private).unwrap();
        let from = if comm.rank() == 0 { Some(1) } else { None };
        let received = comm.recv(from, None, Span::new(into, 0, 8)).await;
        assert_eq!(received, Err(Error::PeerGone(1)));
        // Nor is it waited for afterwards.
        assert_eq!(comm.recv(Some(1), None, Span::new(into, 0, 8)).await, Err(Error::PeerGone(1)));
        assert_eq!(comm.probe(Some(1), None).await, Err(Error::PeerGone(1)));
        if flags {
            assert_eq!(comm.barrier().await, Err(Error::PeerGone(1)));
        }
        let mut noticed = self.noticed;
        noticed.write_all(&[comm.rank() as u8]).unwrap();
    }
}

/// Survivors have a second before they are killed: a rank that reports the death has noticed it in time.
#[test]
fn a_death_is_noticed_by_the_others_and_reported() {
    let died = || Err(RunError::RankDied { rank: 1, how: "was killed by signal 6".to_owned() });
    let survivors = |run: &dyn Fn(&Death) -> Result<Vec<()>, RunError>| {
        let (mut reader, noticed) = std::io::pipe().unwrap();
        assert_eq!(run(&Death { noticed: &noticed }), died());
        drop(noticed);
        let mut ranks = Vec::new();
        reader.read_to_end(&mut ranks).unwrap();
        ranks.sort_unstable();
        ranks
    };
    assert_eq!(survivors(&|death| Shm::new(options()).run(3, death)), [0, 2]);
    assert_eq!(survivors(&|death| Tcp::new(options()).run(3, death)), [0, 2]);
    assert_eq!(survivors(&|death| Mixed::new(options()).playing(2).run(3, death)), [0, 2]);
}

#[test]
fn a_job_that_never_ends_is_ended() {
    struct Forever;
    impl<P: Port> Program<P, ()> for Forever {
        async fn run(&self, port: P) {
            let comm = Comm::new(port);
            let _ = comm.probe(None, None).await;
        }
    }
    let options = Options { limit: Some(Duration::from_millis(300)), pin: false, ..Options::default() };
    let stuck = |result: Result<Vec<()>, RunError>| assert!(matches!(result, Err(RunError::Stuck(_))));
    stuck(Shm::new(options.clone()).run(2, &Forever));
    stuck(Tcp::new(options).run(2, &Forever));
}
