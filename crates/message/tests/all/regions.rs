//! Regions: every type, every way of setup, transfers, allocation, state, and the end of one.

use hotlink_message::{Comm, Error, Region, RegionSource, RegionType};
use hotlink_port::loopback::{Loopback, LoopbackPort};
use hotlink_port::middleware::{Fault, Layered};
use hotlink_port::{Align, Driver, Kind, Layout, Port, Program, Refusal, Span};
use std::cell::RefCell;
use std::rc::Rc;

fn filled<P: Port>(comm: &Comm<P>, bytes: u64, fill: u8) -> Result<Span, Error> {
    let memory = comm.alloc(bytes, Kind::Default)?;
    comm.write(memory, 0, &vec![fill; bytes as usize])?;
    Ok(Span::new(memory, 0, bytes))
}

fn read<P: Port>(comm: &Comm<P>, span: Span) -> Result<Vec<u8>, Error> {
    let mut bytes = vec![0; span.bytes() as usize];
    comm.read(span.memory, span.offset, &mut bytes)?;
    Ok(bytes)
}

/// Every rank puts its number at a stride into rank 1's region and gets its right neighbour's.
struct Collective(RegionType, bool);
impl<P: Port> Program<P, Result<(), Error>> for Collective {
    async fn run(&self, port: P) -> Result<(), Error> {
        let comm = Comm::new(port);
        let (rank, ranks) = (u64::from(comm.rank()), u64::from(comm.ranks()));
        let source = match self.1 {
            true => RegionSource::New(64 * ranks),
            false => RegionSource::Existing(comm.alloc(64 * ranks, Kind::Private)?),
        };
        let region = comm.region(1, self.0, source).await?;
        assert_eq!((region.owner(), region.bytes(), region.memory().is_some()), (1, 64 * ranks, rank == 1));
        let layout = Layout::strided(8, 8, 8 * ranks);
        let mine = filled(&comm, 64, rank as u8 + 1)?;
        let request = region.iput(mine, 8 * rank, layout).await?;
        comm.wait(request).await?;
        region.put(mine, 8 * rank, layout).await?;
        comm.barrier().await?;
        let right = (rank + 1) % ranks;
        let seen = filled(&comm, 64, 0)?;
        let request = region.iget(8 * right, layout, seen).await?;
        comm.wait(request).await?;
        assert_eq!(read(&comm, seen)?, vec![right as u8 + 1; 64]);
        region.get(8 * rank, layout, seen).await?;
        assert_eq!(read(&comm, seen)?, vec![rank as u8 + 1; 64]);
        let state = region.state(0, 64 * ranks)?;
        assert!(state.registered && state.connected && !state.gone && state.owner == 1, "{state:?}");
        assert_eq!(state.mapped, rank == 1 || self.0 != RegionType::Rdma);
        assert_eq!(region.state(1, 64 * ranks), Err(Refusal::OutOfBounds.into()));
        region.close().await
    }
}

#[test]
fn collective_regions_of_every_type() {
    for seed in 0..10 {
        for (region_type, new) in [
            (RegionType::Shared, true),
            (RegionType::Remote, true),
            (RegionType::Rdma, true),
            (RegionType::Rdma, false),
        ] {
            let ranks = Loopback { seed, ..Loopback::default() }.run(4, &Collective(region_type, new));
            assert_eq!(ranks.unwrap(), vec![Ok(()); 4]);
        }
    }
}

#[test]
fn user_memory_that_cannot_be_mapped_is_refused_on_every_rank() {
    let ranks = Loopback::default().run(3, &Collective(RegionType::Remote, false)).unwrap();
    assert_eq!(ranks, vec![Err(Refusal::Unsupported.into()); 3]);
}

/// Want of resources on any rank makes all fail alike, and leaves nothing behind that would keep a retry from success.
#[test]
fn a_collective_region_is_set_up_by_all_or_none() {
    struct Retry;
    impl<P: Port> Program<P, Result<u32, Error>> for Retry {
        async fn run(&self, port: P) -> Result<u32, Error> {
            let comm = Comm::new(port);
            let mut tries = 0;
            loop {
                tries += 1;
                match comm.region(0, RegionType::Shared, RegionSource::New(64)).await {
                    Ok(region) => return region.close().await.map(|()| tries),
                    Err(Error::Refused(_)) => {}
                    Err(error) => return Err(error),
                }
            }
        }
    }
    let mut most = 0;
    for seed in 0..10 {
        let layer = |rank: u32| Fault::new(seed * 100 + u64::from(rank), 10, 10, 40);
        let results = Layered::new(Loopback::default(), layer).run(3, &Retry).unwrap();
        let tries: Vec<u32> = results.into_iter().map(Result::unwrap).collect();
        assert!(tries.iter().all(|&n| n == tries[0]), "{tries:?}");
        most = most.max(tries[0]);
    }
    assert!(most > 1, "nothing ever failed");
}

#[test]
fn a_region_between_two_ranks_and_one_told_by_hand() {
    async fn program(port: LoopbackPort) -> Result<(), Error> {
        let comm = Comm::new(port);
        if comm.rank() == 2 {
            return Ok(());
        }
        let region = comm.region_between(0, 1, RegionType::Shared, RegionSource::New(256)).await?;
        let first = region.alloc(100, Align::Default)?;
        let second = region.alloc(100, Align::None)?;
        assert_eq!((first, region.state(0, 256)?.allocated), (0, 200));
        assert_eq!(region.alloc(100, Align::None), Err(Refusal::NoMemory.into()));
        if comm.rank() == 1 {
            region.put(filled(&comm, 100, 5)?, second, Layout::contiguous(100)).await?;
            comm.send(0, 0, filled(&comm, 0, 0)?).await?;
        } else {
            comm.recv(Some(1), Some(0), filled(&comm, 0, 0)?).await?;
            assert_eq!(read(&comm, Span::new(region.memory().unwrap(), second, 100))?, vec![5; 100]);
        }
        region.free(first)?;
        assert_eq!(region.free(first), Err(Refusal::Gone.into()));
        individual(&comm).await
    }
    /// Rank 0 takes its region away: rank 1 is called back, sees it gone, and its put fails.
    async fn individual(comm: &Comm<LoopbackPort>) -> Result<(), Error> {
        let board = filled(comm, 24, 0)?;
        if comm.rank() == 0 {
            let region = comm.region_export(RegionType::Rdma, RegionSource::New(64))?;
            let key = region.key();
            comm.write(board.memory, 0, [u64::from(key.rank), key.id, key.bytes].map(u64::to_le_bytes).as_flattened())?;
            comm.send(1, 1, board).await?;
            comm.recv(Some(1), Some(2), board).await?;
            region.release()?;
            return comm.send(1, 3, board).await;
        }
        comm.recv(Some(0), Some(1), board).await?;
        let bytes = read(comm, board)?;
        let word = |i: usize| u64::from_le_bytes(std::array::from_fn(|k| bytes[i * 8 + k]));
        let key = hotlink_port::Key { rank: word(0) as u32, id: word(1), bytes: word(2) };
        let region: Region<_> = comm.region_import(RegionType::Rdma, key)?;
        let told = Rc::new(RefCell::new(Vec::new()));
        let (sink, again) = (told.clone(), comm.clone());
        comm.on_revoked(move |key| {
            // The communicator may be used from within.
            again.iprobe(None, None);
            sink.borrow_mut().push((key.rank, key.id));
        });
        region.put(filled(comm, 8, 1)?, 0, Layout::contiguous(8)).await?;
        comm.send(0, 2, board).await?;
        comm.recv(Some(0), Some(3), board).await?;
        comm.iprobe(None, None);
        assert_eq!(*told.borrow(), [(key.rank, key.id)]);
        assert!(region.state(0, 8)?.gone);
        let late = region.put(filled(comm, 8, 1)?, 0, Layout::contiguous(8)).await;
        assert_eq!(late, Err(Refusal::Gone.into()));
        region.release()
    }
    assert_eq!(Loopback::default().run(3, &program).unwrap(), vec![Ok(()); 3]);
}
