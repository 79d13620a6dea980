//! Brings clocks of different ranks together: offsets to rank 0's clock come from the fastest of some round trips.
//! After Hunold and Carpen-Amarie ("Reproducible MPI benchmarking is still not as easy as you think", TPDS 2016).

use hotlink_fabric::units::Time;
use hotlink_message::{Endpoint, Error, Tag};
use hotlink_port::{Kind, Span, Work};

const ROUNDS: u32 = 30;
const ASK: Tag = 31_990;

/// This rank's clock against rank 0's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Clocks {
    /// This rank's clock less rank 0's, in picoseconds.
    ahead_ps: i64,
    /// Most that this can be wrong: half the fastest round trip.
    pub(crate) error_us: f64,
}

impl Clocks {
    /// Compares the clocks of all ranks with rank 0's, one after the other. Clocks of virtual time are one.
    pub(crate) async fn compare<E: Endpoint>(comm: &E) -> Result<Clocks, Error> {
        let mut mine = Clocks { ahead_ps: 0, error_us: 0.0 };
        if !comm.limits().real_time {
            return Ok(mine);
        }
        let memory = comm.alloc(16, Kind::Private)?;
        let span = Span::new(memory, 0, 16);
        for rank in 1..comm.ranks() {
            if comm.rank() == 0 {
                let mut best = (i64::MAX, 0);
                for _ in 0..ROUNDS {
                    let start = comm.now().0 as i64;
                    comm.send(rank, ASK, span).await?;
                    comm.recv(Some(rank), Some(ASK), span).await?;
                    let end = comm.now().0 as i64;
                    let theirs = read(comm, span)?.0;
                    best = best.min((end - start, theirs - i64::midpoint(start, end)));
                }
                write(comm, span, (best.1, best.0))?;
                comm.send(rank, ASK, span).await?;
            } else if comm.rank() == rank {
                for _ in 0..ROUNDS {
                    comm.recv(Some(0), Some(ASK), span).await?;
                    write(comm, span, (comm.now().0 as i64, 0))?;
                    comm.send(0, ASK, span).await?;
                }
                comm.recv(Some(0), Some(ASK), span).await?;
                let (ahead_ps, round_ps) = read(comm, span)?;
                mine = Clocks { ahead_ps, error_us: round_ps as f64 * 0.5e-6 };
            }
        }
        comm.free(memory)?;
        Ok(mine)
    }
    /// This rank's time as rank 0's clock shows it.
    pub(crate) fn common(&self, local: Time) -> Time {
        Time(local.0.saturating_add_signed(-self.ahead_ps))
    }
    /// Rank 0's time as this rank's clock shows it.
    pub(crate) fn local(&self, common: Time) -> Time {
        Time(common.0.saturating_add_signed(self.ahead_ps))
    }
    /// Rank 0 names a moment `ahead` from now; all learn it and get it in their own time.
    pub(crate) async fn agree<E: Endpoint>(&self, comm: &E, word: Span, ahead: Time) -> Result<Time, Error> {
        if comm.rank() == 0 {
            write(comm, word, ((comm.now() + ahead).0 as i64, 0))?;
        }
        comm.bcast(0, word).await?;
        Ok(self.local(Time(read(comm, word)?.0 as u64)))
    }
}

/// Waits, busy, until the clock shows `moment`; whether it was still to come.
pub(crate) fn wait_for<E: Endpoint>(comm: &E, moment: Time) -> bool {
    let now = comm.now();
    if moment > now {
        comm.compute(Work::Rest(moment - now));
    }
    moment > now
}

fn read<E: Endpoint>(comm: &E, span: Span) -> Result<(i64, i64), Error> {
    let mut bytes = [0; 16];
    comm.read(span.memory, span.offset, &mut bytes)?;
    let word = |at: usize| i64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
    Ok((word(0), word(8)))
}

fn write<E: Endpoint>(comm: &E, span: Span, words: (i64, i64)) -> Result<(), Error> {
    comm.write(span.memory, span.offset, [words.0, words.1].map(i64::to_le_bytes).as_flattened())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back_is_the_same_time() {
        let clocks = Clocks { ahead_ps: -5_000, error_us: 0.1 };
        assert_eq!(clocks.local(Time(12_000)), Time(7_000));
        assert_eq!(clocks.common(clocks.local(Time(12_000))), Time(12_000));
    }
}
