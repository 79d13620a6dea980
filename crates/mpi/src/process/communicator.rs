//! Communicators: groups with messages of their own, and what a program attaches to them.

use crate::abi::Handle;
use crate::failure::{Done, check, fail, unknown};
use crate::process::Process;
use crate::process::attribute::Attributes;
use crate::process::gate;
use hotlink_message::{Combine, Comm, Element, Error, Operation};
use hotlink_port::{Kind, Rank, Span};
use hotlink_real::Seat;
use hotlink_standard::constants as c;
use hotlink_standard::{Cart, Graph, Group, Neighbors};
use std::cell::{Cell, RefCell};
use std::ffi::c_int;
use std::rc::Rc;

/// The other side of an intercommunicator. Its messages go through a view of both groups, one after the other.
pub(crate) struct Remote {
    pub(crate) group: Rc<Group>,
    /// Places in the view of this side's and the other side's first rank.
    pub(crate) here: u32,
    pub(crate) there: u32,
}

/// Calls from this number on are of groups that make a communicator without the others, by their tags.
pub(crate) const GROUP_CALLS: u32 = 1 << 23;

/// A virtual topology.
#[derive(Clone)]
pub(crate) enum Topology {
    Cart(Cart),
    Graph(Graph),
    Distributed(Neighbors),
}

/// See the module.
pub(crate) struct Communicator {
    /// Its messages' ranks: its own group, or both of an intercommunicator.
    pub(crate) view: Comm<Seat>,
    pub(crate) group: Rc<Group>,
    /// This rank's place in its group.
    pub(crate) rank: u32,
    pub(crate) remote: Option<Remote>,
    pub(crate) name: RefCell<String>,
    pub(crate) attributes: Attributes,
    pub(crate) handler: Cell<Handle>,
    pub(crate) topology: Option<Topology>,
    pub(crate) info: RefCell<Vec<(String, String)>>,
    /// The program's buffer for buffered sends here: where and how long.
    pub(crate) attached: Cell<Option<(usize, u64)>>,
    /// The view's number.
    pub(crate) number: u32,
    /// Collectives that were started and not waited for, counted alike on all ranks.
    pub(crate) calls: Cell<u32>,
}

impl Communicator {
    pub(crate) fn new(
        view: Comm<Seat>,
        number: u32,
        group: Rc<Group>,
        topology: Option<Topology>,
        handler: Handle,
    ) -> Communicator {
        Communicator {
            rank: view.rank(),
            view,
            group,
            remote: None,
            name: RefCell::default(),
            attributes: Attributes::default(),
            handler: Cell::new(handler),
            topology,
            info: RefCell::default(),
            attached: Cell::new(None),
            number,
            calls: Cell::new(0),
        }
    }
    pub(crate) fn size(&self) -> u32 {
        self.group.size() as u32
    }
    /// Ranks that a message may go to.
    pub(crate) fn peers(&self) -> u32 {
        self.remote.as_ref().map_or(self.size(), |remote| remote.group.size() as u32)
    }
    /// The view's name of a peer.
    #[inline(always)]
    pub(crate) fn peer(&self, rank: u32) -> Rank {
        match &self.remote {
            None => rank,
            Some(remote) => remote.there + rank,
        }
    }
    /// The peer that the port's `rank` is.
    #[inline(always)]
    pub(crate) fn peer_of(&self, rank: Rank) -> c_int {
        let place = self.view.rank_of(rank).unwrap_or(0);
        match &self.remote {
            None => place as c_int,
            Some(remote) => place.wrapping_sub(remote.there) as c_int,
        }
    }
    /// A view for the next collective that goes on beside others.
    pub(crate) fn beside(&self) -> Comm<Seat> {
        self.calls.set(self.calls.get() % (GROUP_CALLS - 1) + 1);
        self.view.beside(self.calls.get())
    }
    /// A view of the same ranks whose messages meet none of the program's own.
    pub(crate) fn apart(&self, all: &Comm<Seat>) -> Result<Comm<Seat>, Error> {
        let ranks: Vec<Rank> = (0..self.view.ranks()).map(|rank| self.view.port_rank(rank)).collect();
        all.view(&ranks, self.number + 1)
    }
    /// A rank of this side's group.
    pub(crate) fn ranked(&self, rank: c_int) -> Done<u32> {
        let known = rank >= 0 && (rank as u32) < self.size();
        check(known, c::MPI_ERR_RANK, || format!("rank {rank}: it must be 0 to {}", self.size() - 1))?;
        Ok(rank as u32)
    }
    /// Fails for an intercommunicator.
    pub(crate) fn intra(&self) -> Done {
        check(self.remote.is_none(), c::MPI_ERR_COMM, || "an intercommunicator cannot be used here".to_owned())
    }
}

/// The largest of every rank's words, at every rank.
pub(crate) async fn largest(view: &Comm<Seat>, words: &[i64]) -> Result<Vec<i64>, Error> {
    let bytes = 8 * words.len() as u64;
    let memory = view.alloc(2 * bytes.max(8), Kind::Private)?;
    let (mine, all) = (Span::new(memory, 0, bytes), Span::new(memory, bytes, bytes));
    view.write(memory, 0, words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>().as_slice())?;
    view.allreduce(Operation { combine: Combine::Max, element: Element::I64 }, mine, all).await?;
    let result = words_at(view, all)?;
    view.free(memory)?;
    Ok(result)
}

fn words_at(view: &Comm<Seat>, span: Span) -> Result<Vec<i64>, Error> {
    let mut bytes = vec![0; span.bytes() as usize];
    view.read(span.memory, span.offset, &mut bytes)?;
    Ok(bytes.as_chunks::<8>().0.iter().map(|word| i64::from_ne_bytes(*word)).collect())
}

/// Every rank's words, rank by rank.
pub(crate) async fn gathered(view: &Comm<Seat>, words: &[i64]) -> Result<Vec<Vec<i64>>, Error> {
    let (bytes, ranks) = (8 * words.len() as u64, u64::from(view.ranks()));
    let memory = view.alloc(bytes * (ranks + 1), Kind::Private)?;
    let (mine, all) = (Span::new(memory, 0, bytes), Span::new(memory, bytes, bytes * ranks));
    view.write(memory, 0, words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>().as_slice())?;
    view.allgather(mine, all).await?;
    let result = words_at(view, all)?;
    view.free(memory)?;
    Ok(result.chunks(words.len()).map(<[i64]>::to_vec).collect())
}

/// Words of `root`, at every rank, which all know how many.
pub(crate) async fn told(view: &Comm<Seat>, root: Rank, words: &[i64]) -> Result<Vec<i64>, Error> {
    let bytes = 8 * words.len() as u64;
    let memory = view.alloc(bytes.max(8), Kind::Private)?;
    let span = Span::new(memory, 0, bytes);
    view.write(memory, 0, words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>().as_slice())?;
    view.bcast(root, span).await?;
    let result = words_at(view, span)?;
    view.free(memory)?;
    Ok(result)
}

/// Numbers of communicators that this process has given out, and how it agrees on more.
#[derive(Debug)]
pub(crate) struct Numbers {
    next: Cell<u32>,
    /// So many are being agreed on now.
    pending: Cell<u32>,
    /// Those of them that every rank has begun to agree on, by the communicators they are made of.
    begun: RefCell<Vec<(u32, u32)>>,
}

impl Numbers {
    pub(crate) fn from(first: u32) -> Numbers {
        Numbers { next: Cell::new(first), pending: Cell::new(0), begun: RefCell::default() }
    }
    /// All below were given out.
    pub(crate) fn next(&self) -> u32 {
        self.next.get()
    }
    /// Takes one and the next, if it is free here still: the next is that of messages apart from the program's own.
    pub(crate) fn take(&self, number: u32) -> bool {
        let free = number >= self.next.get();
        if free {
            self.next.set(number + 2);
        }
        free
    }
}

/// A number for a new communicator that none of `view` has used: where ranks are of several groups, each may take it.
/// Whether another is agreed on at the same time, by another thread or beside the call, is told with it; then each rank
/// says afterwards whether the number was free still, and they try again if it was not. Ranks hear of several in orders that
/// differ: without a first among those, each could take the others' numbers at every try.
pub(crate) async fn numbered(numbers: Rc<Numbers>, view: &Comm<Seat>, beside: bool) -> Result<u32, Error> {
    let alone = !beside && numbers.pending.get() == 0 && !gate::is_crowded();
    numbers.pending.set(numbers.pending.get() + 1);
    let own = view.label();
    let agreed = async {
        let mut vain = false;
        loop {
            let told = largest(view, &[i64::from(numbers.next()), i64::from(!alone)]).await?;
            let number = told[0] as u32;
            let is_first = told[1] == 0 || numbers.begun.borrow().iter().all(|other| own <= *other);
            let free = is_first && numbers.take(number);
            if told[1] == 0 {
                return Ok(number);
            }
            if !numbers.begun.borrow().contains(&own) {
                numbers.begun.borrow_mut().push(own);
            }
            if largest(view, &[i64::from(!free)]).await?[0] == 0 {
                return Ok(number);
            }
            // Whoever is first goes on meanwhile: one rank alone waits for nobody. All ranks have begun what is noted here.
            view.step_aside(&mut vain).await;
            while numbers.begun.borrow().iter().any(|other| *other < own) {
                view.step_aside(&mut vain).await;
            }
        }
    };
    let agreed = agreed.await;
    numbers.begun.borrow_mut().retain(|other| *other != own);
    numbers.pending.set(numbers.pending.get() - 1);
    agreed
}

impl Process {
    #[inline(always)]
    pub(crate) fn comm(&self, handle: Handle) -> Done<Rc<Communicator>> {
        let world = self.world()?;
        match handle {
            c::MPI_COMM_WORLD => Ok(world.world.clone()),
            c::MPI_COMM_SELF => Ok(world.own.clone()),
            _ => self.comms.get(handle).ok_or_else(|| unknown(c::MPI_ERR_COMM, "communicator", handle)),
        }
    }
    /// The same where intercommunicators cannot be used.
    pub(crate) fn intracomm(&self, handle: Handle) -> Done<Rc<Communicator>> {
        let comm = self.comm(handle)?;
        comm.intra()?;
        Ok(comm)
    }
    /// A communicator of these ranks of the job, this one among them.
    pub(crate) fn made(
        &self,
        group: Group,
        number: u32,
        topology: Option<Topology>,
        handler: Handle,
    ) -> Done<Communicator> {
        let view = self.world()?.comm.view(group.ranks(), number)?;
        Ok(Communicator::new(view, number, Rc::new(group), topology, handler))
    }
    /// An intercommunicator; `first`: this side's ranks are the view's first.
    pub(crate) fn made_between(
        &self,
        local: &Rc<Group>,
        remote: &Rc<Group>,
        first: bool,
        number: u32,
        handler: Handle,
    ) -> Done<Communicator> {
        let world = self.world()?;
        let both = if first { [local.ranks(), remote.ranks()] } else { [remote.ranks(), local.ranks()] };
        let view = world.comm.view(&both.concat(), number)?;
        let (here, there) = if first { (0, local.size() as u32) } else { (remote.size() as u32, 0) };
        let mut comm = Communicator::new(view, number, local.clone(), None, handler);
        comm.rank -= here;
        comm.remote = Some(Remote { group: remote.clone(), here, there });
        Ok(comm)
    }
    /// A root of a collective among this communicator's own ranks.
    pub(crate) fn root(comm: &Communicator, root: c_int) -> Done<Rank> {
        match u32::try_from(root) {
            Ok(root) if root < comm.size() => Ok(root),
            _ => fail(c::MPI_ERR_ROOT, format!("root {root}: it must be 0 to {}", comm.size() - 1)),
        }
    }
}
