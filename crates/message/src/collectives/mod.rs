//! Collectives on point-to-point messages. Every rank of the communicator calls them, in the same order and with the
//! same sizes.
//!
//! | collective | algorithms | only if forced: what foreign MPIs do |
//! |---|---|---|
//! | barrier | the fabric's own, central, tree, dissemination, n-way dissemination, tournament | recursive doubling, double ring |
//! | bcast | the fabric's own, linear, binomial, pipelined chain, scatter and allgather | chain, binary, split binary, k-nomial; binomial scatter with doubling or ring |
//! | reduce | the fabric's own, binomial, Rabenseifner, ring, linear | pipelined, chain, binary, k-nomial |
//! | allreduce | the fabric's own, binomial (reduce and bcast), recursive doubling, Rabenseifner, ring | linear, segmented ring, allgather and reduce |
//! | reduce-scatter | the fabric's own, binomial (reduce and scatter), ring, recursive halving | pairwise |
//! | gather, scatter | linear, binomial; gatherv and scatterv linear | |
//! | allgather | linear, recursive doubling, Bruck, ring; allgatherv ring | neighbour exchange |
//! | alltoall | linear, pairwise; of equal parts also Bruck, ring | alltoallv by Bruck, ring; basic linear, scattered |
//!
//! Which of them Open MPI and MPICH take at which size is in `docs/collectives.md`. Those of Open MPI that move segments
//! move whole messages unless a segment is set, as Open MPI 5 does by default.
//!
//! One cost model picks by size and count (`costs`); [`Comm::force`] overrides it. The v-variants take one
//! [`Span`] per rank; the plain ones cut a span into equal parts.

pub mod algorithm;
mod allgather;
mod alltoall;
mod barrier;
mod bcast;
pub(crate) mod costs;
mod gather;
mod ordered;
mod reduce;
pub mod rules;
pub(crate) mod spare;
pub(crate) mod tags;
mod tree;

use crate::comm::{Comm, Side};
use crate::{Combine, Element, Error, Operation, Tag};
use algorithm::{Algorithm, Collective};
use costs::{Costs, Crowd};
use hotlink_fabric::units::Time;
use hotlink_port::{Kind, Memory, Note, Port, Rank, Refusal, Span};

/// Where the bytes of an empty message are.
const NOWHERE: Memory = Memory(u64::MAX);

impl<P: Port> Comm<P> {
    /// From now on `collective` is done by `algorithm` (`None`: the cost model's choice). All ranks must agree. A
    /// v-variant that cannot be done so keeps its own algorithm.
    ///
    /// # Errors
    /// The collective has no such algorithm, or the port not the hardware for it.
    pub fn force(&self, collective: Collective, algorithm: Option<Algorithm>) -> Result<(), Error> {
        let known = |algorithm| {
            collective.algorithms().contains(&algorithm) && algorithm.is_possible(collective, self.limits())
        };
        if !algorithm.is_none_or(known) {
            return Err(Refusal::Unsupported.into());
        }
        self.set_forced(collective, algorithm);
        Ok(())
    }
    /// How a message is sent that meets one of each other rank in a processor: copies would take its time.
    fn among(&self, crowd: Crowd, bytes: u64) -> Side {
        // Most ports have one way, for which nothing is worked out.
        if !costs::is_fetched(self.limits()) || !self.moves_directly() {
            return Side::Send;
        }
        let costs = Costs::of(self.limits());
        let [usual, direct] = costs.ways(crowd, f64::from(self.ranks()) - 1.0, bytes as f64);
        if direct < usual { Side::Direct } else { Side::Send }
    }
    /// The algorithm for a call: the forced one if it can do it (`possible`), else the cheapest that can.
    fn algorithm(
        &self,
        collective: Collective,
        bytes: u64,
        possible: impl Fn(Algorithm) -> bool,
    ) -> Result<Algorithm, Error> {
        self.with_port(|port| port.note(Note::Calls));
        let forced = self.forced(collective).filter(|&forced| possible(forced));
        let pick = || Costs::of(self.limits()).pick(collective, self.ranks(), bytes, self.limits(), possible);
        let algorithm = forced.unwrap_or_else(pick);
        self.note_algorithm(collective, algorithm);
        Ok(algorithm)
    }
    async fn out(&self, to: Rank, tag: Tag, span: Span) -> Result<(), Error> {
        let request = self.start(Side::Send, to, tag, span)?;
        self.wait(request).await.map(|_| ())
    }
    /// Receives as many bytes as the span has. Fewer are a mistake as more are: the ranks were to give the same count.
    async fn into(&self, from: Rank, tag: Tag, span: Span) -> Result<(), Error> {
        let (sent, room) = (self.receive_for(from, tag, span).await?.bytes, span.bytes());
        if sent == room { Ok(()) } else { Err(Error::Truncated { sent, room, from, tag }) }
    }
    async fn exchange(&self, tag: Tag, to: (Rank, Span), from: (Rank, Span)) -> Result<(), Error> {
        let receive = self.start(Side::Recv, from.0, tag, from.1)?;
        self.out(to.0, tag, to.1).await?;
        self.wait(receive).await.map(|_| ())
    }
    /// This rank's own part; in place if both are the same.
    fn keep(&self, from: Span, to: Span) -> Result<(), Error> {
        if from == to || from.bytes() == 0 {
            return Ok(());
        }
        Ok(self.with_port(|port| port.copy(from, to))?)
    }
    fn one_each(&self, spans: &[Span]) -> Result<(), Error> {
        if spans.len() == self.ranks() as usize { Ok(()) } else { Err(Refusal::OutOfBounds.into()) }
    }
    /// `span` in as many equal parts as there are ranks, one for each.
    ///
    /// # Errors
    /// If its bytes cannot be divided so.
    pub fn parts(&self, span: Span) -> Result<Vec<Span>, Error> {
        let (bytes, ranks) = (span.bytes(), u64::from(self.ranks()));
        if !bytes.is_multiple_of(ranks) {
            return Err(Refusal::OutOfBounds.into());
        }
        let part = bytes / ranks;
        let parts: Option<Vec<Span>> = (0..ranks).map(|i| span.part(i * part, part)).collect();
        Ok(parts.ok_or(Refusal::OutOfBounds)?)
    }
    /// A contiguous span in as many parts as there are ranks, as equal as whole elements allow.
    fn cut(&self, span: Span, element: u64) -> Vec<Span> {
        reduce::cut(span, self.ranks(), element)
    }
    /// Ranks counted from `root`, and back.
    fn relative(&self, root: Rank) -> u32 {
        (self.rank() + self.ranks() - root) % self.ranks()
    }
    fn absolute(&self, root: Rank, relative: u32) -> Rank {
        (relative + root) % self.ranks()
    }
    fn check_root(&self, root: Rank) -> Result<(), Error> {
        if root < self.ranks() { Ok(()) } else { Err(Refusal::NoRank.into()) }
    }
    /// The latest of the ranks' times: by binomial trees, whatever algorithm was asked for.
    pub async fn latest(&self, mine: Time) -> Result<Time, Error> {
        let memory = self.alloc(8, Kind::Private)?;
        let word = Span::new(memory, 0, 8);
        // Times of simulations and of machines since their start are far below 2^63 ps.
        self.write(memory, 0, &(mine.0 as i64).to_ne_bytes())?;
        let operation = Operation { combine: Combine::Max, element: Element::I64 };
        self.reduce_binomial(0, operation, word).await?;
        self.bcast_binomial(0, word).await?;
        let mut bytes = [0; 8];
        self.read(memory, 0, &mut bytes)?;
        self.free(memory)?;
        Ok(Time(i64::from_ne_bytes(bytes) as u64))
    }
    /// Memory of the caller's kind for the time of a call, which gives it back ([`Comm::give_back`]). Its contents are
    /// undefined.
    fn scratch(&self, like: Span, bytes: u64) -> Result<Span, Error> {
        let ghost = bytes > 0 && self.with_port(|port| port.kind(like.memory)) == Ok(Kind::Ghost);
        let kept = self.spare.borrow_mut().take(bytes, ghost);
        let memory = match kept {
            Some(memory) => memory,
            None => {
                let memory = self.alloc(bytes, if ghost { Kind::Ghost } else { Kind::Default })?;
                self.spare.borrow_mut().lend(memory, bytes, ghost);
                memory
            }
        };
        Ok(Span::new(memory, 0, bytes))
    }
    /// Takes back what [`Comm::scratch`] lent.
    fn give_back(&self, memory: Memory) -> Result<(), Error> {
        let surplus = self.spare.borrow_mut().give_back(memory);
        surplus.into_iter().try_for_each(|memory| self.free(memory))
    }
}
