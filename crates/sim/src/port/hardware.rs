//! The fabric's own barrier and reduction networks, entered through a rank's port.

use super::SimPort;
use super::flight::{Flight, Phase, What};
use super::seat::{Hardware, Part, Reducer};
use hotlink_fabric::units::Time;
use hotlink_port::{Operation, Posted, Refusal, Span, Token};

impl SimPort<'_> {
    /// Enters the fabric's own barrier; all leave it when its network says.
    pub(super) fn barrier(&self, token: Token) -> Result<Posted, Refusal> {
        let mut world = self.world.borrow_mut();
        let now = world.seat(self.rank).now;
        let ranks = world.seats.len();
        // That it is used: the network itself was made at the start.
        let _ = world.plan.fabric.spec.barrier();
        let Hardware { network, arrived } = world.hardware.as_mut().ok_or(Refusal::Unsupported)?;
        arrived.push((self.rank, token, now));
        if arrived.len() < ranks {
            return Ok(Posted::Accepted);
        }
        let arrived = std::mem::take(arrived);
        let mut arrivals = vec![Time::ZERO; ranks];
        arrived.iter().for_each(|&(rank, _, at)| arrivals[rank as usize] = Time(at));
        match network.barrier(0, &arrivals) {
            Ok(run) => {
                for (rank, token, _) in arrived {
                    let flight = Flight { phase: Phase::Local, ..Flight::new(What::Signal, rank, rank) };
                    let flight = Flight { head: [token, 0, 0, 0], ..flight };
                    world.tell(flight, run.leave[rank as usize].0);
                }
            }
            Err(fault) => world.failure = Some(fault.to_string()),
        }
        Ok(Posted::Accepted)
    }

    /// Enters the fabric's own reduction; all leave it with the result when its network says.
    pub(super) fn allreduce(
        &self,
        operation: Operation,
        from: Span,
        to: Span,
        token: Token,
    ) -> Result<Posted, Refusal> {
        operation.check(&from, &to)?;
        let world = &mut *self.world.borrow_mut();
        let ranks = world.seats.len();
        let _ = world.plan.fabric.spec.reduction();
        let seat = &mut world.seats[self.rank as usize];
        let Reducer { network, parts } = world.reducer.as_mut().ok_or(Refusal::Unsupported)?;
        seat.blocks.check(&to)?;
        let data = seat.blocks.pack(&from)?;
        parts.push(Part { rank: self.rank, token, now: seat.now, operation, to, data });
        if parts.len() < ranks {
            return Ok(Posted::Accepted);
        }
        let mut parts = std::mem::take(parts);
        // Combined in the ranks' order, whoever came first.
        parts.sort_unstable_by_key(|part| part.rank);
        if parts.iter().any(|part| part.operation != operation || part.to.bytes() != to.bytes()) {
            world.failure = Some("ranks disagree on what to combine".to_owned());
            return Ok(Posted::Accepted);
        }
        let arrivals: Vec<Time> = parts.iter().map(|part| Time(part.now)).collect();
        match network.reduce(&arrivals, to.bytes()) {
            Ok(run) => {
                let result = combined(operation, &mut parts);
                for Part { rank, token, to, .. } in parts {
                    world.seats[rank as usize].blocks.unpack(&to, result.as_deref())?;
                    let flight = Flight { phase: Phase::Local, ..Flight::new(What::Signal, rank, rank) };
                    world.tell(Flight { head: [token, 0, 0, 0], ..flight }, run.leave[rank as usize].0);
                }
            }
            Err(fault) => world.failure = Some(fault.to_string()),
        }
        Ok(Posted::Accepted)
    }
}

/// All parts as one; `None` if one of them is a ghost.
fn combined(operation: Operation, parts: &mut [Part]) -> Option<Vec<u8>> {
    let (first, others) = parts.split_first_mut()?;
    let mut result = first.data.take()?;
    for part in others {
        operation.combine(&mut result, part.data.as_deref()?);
    }
    Some(result)
}
