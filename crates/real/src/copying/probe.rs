//! Measures each route of a long message on this machine: ping-pongs of ordinary memory between two ranks.

use super::Sample;
use super::kept::State;
use crate::ranks::{self, Options};
use crate::route::CopyWay;
use crate::shm::{ShmPort, World};
use crate::sys;
use hotlink_message::{Comm, Error};
use hotlink_port::{Kind, Span};
use std::time::{Duration, Instant};

/// Lengths that are measured, from the shortest on that takes any route but the ring.
pub(super) const SIZES: [u64; 5] = [32 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20];
/// The time of a pass through all points on an idle machine.
const PASS: Duration = Duration::from_millis(50);
/// Passes go on until one betters no point by more than this share, within the bounds of `PASSES`. Other programs on
/// the machine make points slower, never faster.
const BETTER: f64 = 0.05;
const PASSES: std::ops::RangeInclusive<u32> = 2..=6;
/// A machine that is so busy that a pass takes longer than this is not measured.
const LIMIT: Duration = Duration::from_secs(5);
/// Most round trips of a point in a pass, and fewest: the point's time is their median. The minimum would be luck:
/// through the ring between far cores, one in a hundred of 64 KiB takes a third of the usual time.
const TRIPS: (usize, usize) = (99, 3);

/// The least time in which a line goes from one core to the other, in microseconds: it shows their distance.
///
/// # Errors
/// Why it cannot be measured.
pub(super) fn hand_off() -> Result<f64, String> {
    if sys::allowed_cores().len() < 2 {
        return Err("two ranks need two cores".to_owned());
    }
    let samples = crate::drivers::hand_off_here(&options()).map_err(|error| error.to_string())?;
    Ok(samples.into_iter().fold(f64::INFINITY, f64::min))
}

fn options() -> Options {
    Options { limit: Some(LIMIT), pin: true, ..Options::default() }
}

/// Half round trips by every route that the system allows, between cores that are `hand_off_us` apart.
///
/// # Errors
/// Why there are none.
pub(super) fn run(hand_off_us: f64) -> Result<State, String> {
    let copies = sys::can_copy_between_processes();
    let ways: Vec<CopyWay> =
        CopyWay::ALL.into_iter().filter(|way| copies || !matches!(way, CopyWay::System | CopyWay::Halves)).collect();
    let mut state = State { hand_off_us, samples: Vec::new() };
    for made in 1..=*PASSES.end() {
        let next = pass(&ways)?;
        if !state.is_now(hand_off()?) {
            return Err("its cores moved during the measurement".to_owned());
        }
        let bettered = made == 1 || lower(&mut state.samples, &next);
        if made == 1 {
            state.samples = next;
        }
        if made >= *PASSES.start() && !bettered {
            break;
        }
    }
    Ok(state)
}

/// Takes the lesser of each point; whether one got less by more than [`BETTER`].
fn lower(samples: &mut [Sample], next: &[Sample]) -> bool {
    let mut bettered = false;
    for (sample, next) in samples.iter_mut().zip(next) {
        bettered |= next.us < (1.0 - BETTER) * sample.us;
        sample.us = sample.us.min(next.us);
    }
    bettered
}

/// Every point once.
fn pass(ways: &[CopyWay]) -> Result<Vec<Sample>, String> {
    let share = PASS / ways.len() as u32 / SIZES.len() as u32;
    let mut samples = Vec::new();
    for &way in ways {
        let program = |port: ShmPort| async move { points(port, way, share).await };
        let world = World::with(2, way.copying()).map_err(|error| error.to_string())?;
        let told: Vec<Result<Vec<f64>, Error>> =
            ranks::run(2, &options(), &world, &program).map_err(|error| error.to_string())?;
        let times = told.into_iter().next().ok_or("no rank")?.map_err(|error| error.to_string())?;
        samples.extend(SIZES.into_iter().zip(times).map(|(size, us)| Sample { way, size, us }));
    }
    Ok(samples)
}

/// The median half round trip of every size, in microseconds, as rank 0 sees it.
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
        let (start, mut trips) = (Instant::now(), Vec::with_capacity(TRIPS.0));
        if way == CopyWay::Stream {
            comm.with_port(|port| port.stream_after(size / 2));
        }
        comm.barrier().await?;
        loop {
            // Rank 0 says whether there is another.
            let more = trips.len() < TRIPS.1 || (trips.len() < TRIPS.0 && start.elapsed() < share);
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
            let start = Instant::now();
            if comm.rank() == 0 {
                comm.send(1, 2, out).await?;
                comm.recv(Some(1), Some(2), into).await?;
            } else {
                comm.recv(Some(0), Some(2), into).await?;
                comm.send(0, 2, out).await?;
            }
            trips.push(start.elapsed().as_secs_f64() * 1e6 / 2.0);
        }
        trips.sort_by(f64::total_cmp);
        all.push(trips.get(trips.len() / 2).copied().unwrap_or(f64::INFINITY));
    }
    comm.barrier().await?;
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_betters_points_or_ends_the_measurement() {
        let of = |us: [f64; 2]| us.map(|us| Sample { way: CopyWay::Ring, size: SIZES[0], us }).to_vec();
        let mut samples = of([100.0, 10.0]);
        assert!(lower(&mut samples, &of([50.0, 11.0])), "the first was disturbed");
        assert_eq!(samples, of([50.0, 10.0]));
        assert!(!lower(&mut samples, &of([49.0, 12.0])));
        assert_eq!(samples, of([49.0, 10.0]), "what little is gained counts too");
    }
}
