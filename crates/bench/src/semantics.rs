//! Restricted against full postal semantics, as K98 compares them (slides 24 to 27). A message whose receiver waits for
//! it can go straight to its place. One that may come at any time is kept until a receive asks for it. This project's
//! stack has both as modes of a send; a foreign MPI takes its own route.

use crate::plan::Repeater;
use crate::{Bench, Plan, Samples};
use hotlink_message::{Endpoint, Error, Mode, Tag};
use hotlink_port::{Kind, Span};
use serde::{Deserialize, Serialize};

const DATA: Tag = 0;
const WORD: Tag = 1;
const ANSWER: Tag = 2;

/// The benchmark between rank 0 and the last: MB/s (at rank 0) for each size. In both forms an empty message goes each
/// way together with the data, so that they differ only in which side comes first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Semantics {
    /// The receiver asks for the message only when it knows that it was sent; else it says first that it waits.
    pub postal: bool,
    /// Message sizes in bytes.
    pub sizes: Vec<u64>,
    /// Whether the messages lie in private memory.
    pub private: bool,
    /// Repetitions.
    pub plan: Plan,
}

impl Bench for Semantics {
    type Result = Vec<Samples>;
    async fn on<E: Endpoint>(&self, comm: &E) -> Result<Vec<Samples>, Error> {
        let repeater = Repeater::new(comm, &self.plan)?;
        repeater.each(&self.sizes, async |size| self.one(comm, &repeater, size).await).await
    }
}

impl Semantics {
    async fn one<E: Endpoint>(&self, comm: &E, repeater: &Repeater<'_, E>, size: u64) -> Result<Samples, Error> {
        let kind = if self.private { Kind::Private } else { Kind::Default };
        let block = comm.alloc(size, kind)?;
        comm.write(block, 0, &vec![1; size as usize])?;
        let block = Span::new(block, 0, size);
        let last = comm.ranks() - 1;
        let once = async || match (comm.rank(), self.postal) {
            (0, false) => {
                comm.recv(Some(last), Some(WORD), nothing(block)).await?;
                comm.send_as(Mode::Restricted, last, DATA, block).await?;
                comm.recv(Some(last), Some(ANSWER), nothing(block)).await
            }
            (0, true) => {
                let request = comm.isend_as(Mode::Postal, last, DATA, block)?;
                comm.send(last, WORD, nothing(block)).await?;
                comm.wait(request).await?;
                comm.recv(Some(last), Some(ANSWER), nothing(block)).await
            }
            (rank, false) if rank == last => {
                let request = comm.irecv(Some(0), Some(DATA), block)?;
                comm.send(0, WORD, nothing(block)).await?;
                comm.wait(request).await?;
                comm.send(0, ANSWER, nothing(block)).await
            }
            (rank, true) if rank == last => {
                comm.recv(Some(0), Some(WORD), nothing(block)).await?;
                comm.recv(Some(0), Some(DATA), block).await?;
                comm.send(0, ANSWER, nothing(block)).await
            }
            _ => Ok(()),
        };
        // Only the sender's block is a send buffer.
        let sent = if comm.rank() == 0 { block } else { nothing(block) };
        let sample = async |inner| {
            let time = repeater.time(inner, sent, None, &once).await?;
            Ok(((size * inner) as f64 / time.us().max(1e-6), time))
        };
        let samples = repeater.run(sample).await?;
        comm.free(block.memory)?;
        Ok(samples)
    }
}

fn nothing(span: Span) -> Span {
    Span::new(span.memory, 0, 0)
}
