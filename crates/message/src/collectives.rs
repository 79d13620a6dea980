//! Collectives on point-to-point messages.

use crate::comm::{Comm, Side};
use crate::{Error, Tag};
use hotlink_port::{Memory, Port, Span};

/// Tags of the collectives' messages. Messages between two ranks keep their order, so rounds need no numbers.
const BARRIER: Tag = 0;
/// Where the bytes of an empty message are.
const NOWHERE: Memory = Memory(u64::MAX);

impl<P: Port> Comm<P> {
    /// Returns when every rank has called it. Dissemination: ceil(log2 n) rounds; in round k, a rank hears of the
    /// 2^k ranks before it.
    pub async fn barrier(&self) -> Result<(), Error> {
        let (rank, ranks) = (self.rank(), self.ranks());
        let empty = Span::new(NOWHERE, 0, 0);
        let mut step = 1;
        while step < ranks {
            let receive = self.start(Side::Recv, (rank + ranks - step) % ranks, BARRIER, empty)?;
            let send = self.start(Side::Send, (rank + step) % ranks, BARRIER, empty)?;
            self.wait(send).await?;
            self.wait(receive).await?;
            step *= 2;
        }
        Ok(())
    }
}
