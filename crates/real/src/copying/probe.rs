//! Measures each route of a long message on this machine: ping-pongs of ordinary memory between two ranks.

use super::Sample;
use crate::ranks::{self, Options};
use crate::route::CopyWay;
use crate::shm::{ShmPort, World};
use crate::sys;
use hotlink_message::{Comm, Error};
use hotlink_port::{Kind, Span};
use std::time::{Duration, Instant};

/// Lengths that are measured.
pub(super) const SIZES: [u64; 4] = [64 << 10, 256 << 10, 1 << 20, 4 << 20];
/// What all of it may take, when the machine has nothing else to do.
const BUDGET: Duration = Duration::from_millis(50);
/// A machine that is so busy that it takes longer than this is not measured.
const LIMIT: Duration = Duration::from_secs(5);
/// Most round trips of a point, and fewest.
const TRIPS: (u32, u32) = (12, 2);

/// Half round trips by every route that the system allows, and how long it took to measure them.
///
/// # Errors
/// Why there are none.
pub(super) fn run() -> Result<(Vec<Sample>, Duration), String> {
    if sys::allowed_cores().len() < 2 {
        return Err("two ranks need two cores".to_owned());
    }
    let start = Instant::now();
    let copies = sys::can_copy_between_processes();
    let ways: Vec<CopyWay> =
        CopyWay::ALL.into_iter().filter(|way| copies || !matches!(way, CopyWay::System | CopyWay::Halves)).collect();
    let share = BUDGET / ways.len() as u32 / SIZES.len() as u32;
    let mut samples = Vec::new();
    for way in ways {
        let program = |port: ShmPort| async move { points(port, way, share).await };
        let world = World::with(2, way.copying()).map_err(|error| error.to_string())?;
        let options = Options { limit: Some(LIMIT), pin: true, stall: None };
        let told: Vec<Result<Vec<f64>, Error>> =
            ranks::run(2, &options, &world, &program).map_err(|error| error.to_string())?;
        let times = told.into_iter().next().ok_or("no rank")?.map_err(|error| error.to_string())?;
        samples.extend(SIZES.into_iter().zip(times).map(|(size, us)| Sample { way, size, us }));
    }
    Ok((samples, start.elapsed()))
}

/// The least half round trip of every size, in microseconds, as rank 0 sees it.
async fn points(port: ShmPort, way: CopyWay, share: Duration) -> Result<Vec<f64>, Error> {
    let comm = Comm::new(port);
    let most = SIZES[SIZES.len() - 1];
    let (out, into) = (comm.alloc(most, Kind::Private)?, comm.alloc(most, Kind::Private)?);
    // Every page is there before the first message.
    for memory in [out, into] {
        (0..most).step_by(4096).try_for_each(|at| comm.write(memory, at, &[1]))?;
    }
    // And every page of the ring between the two.
    let long = [Span::new(out, 0, most), Span::new(into, 0, most)];
    if comm.rank() == 0 {
        comm.send(1, 2, long[0]).await?;
        comm.recv(Some(1), Some(2), long[1]).await?;
    } else {
        comm.recv(Some(0), Some(2), long[1]).await?;
        comm.send(0, 2, long[0]).await?;
    }
    let mut all = Vec::new();
    for size in SIZES {
        let (out, into) = (Span::new(out, 0, size), Span::new(into, 0, size));
        let (start, mut least, mut trips) = (Instant::now(), f64::INFINITY, 0);
        if way == CopyWay::Stream {
            comm.with_port(|port| port.stream_after(size / 2));
        }
        comm.barrier().await?;
        loop {
            // Rank 0 says whether there is another.
            let more = trips < TRIPS.1 || (trips < TRIPS.0 && start.elapsed() < share);
            if comm.rank() == 0 {
                comm.send(1, u32::from(more), Span::new(out.memory, 0, 0)).await?;
            } else {
                let said = comm.recv(Some(0), None, Span::new(out.memory, 0, 0)).await?;
                if said.tag == 0 {
                    break;
                }
            }
            if comm.rank() == 0 && !more {
                break;
            }
            trips += 1;
            let start = Instant::now();
            if comm.rank() == 0 {
                comm.send(1, 2, out).await?;
                comm.recv(Some(1), Some(2), into).await?;
            } else {
                comm.recv(Some(0), Some(2), into).await?;
                comm.send(0, 2, out).await?;
            }
            least = least.min(start.elapsed().as_secs_f64() * 1e6 / 2.0);
        }
        all.push(least);
    }
    comm.barrier().await?;
    Ok(all)
}
