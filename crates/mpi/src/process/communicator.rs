//! Communicators: groups with messages of their own, and what a program attaches to them.

use crate::abi::Handle;
use crate::failure::{Done, check, fail, unknown};
use crate::process::Process;
use crate::process::attribute::Attributes;
use crate::process::check::{agree, different};
use crate::process::gate;
use hotlink_message::words::{gathered, largest};
use hotlink_message::{Comm, Error, INTERNAL};
use hotlink_port::Rank;
use hotlink_real::Seat;
use hotlink_standard::constants as c;
use hotlink_standard::{Alike, Cart, Given, Graph, Group, Neighbors};
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
    /// A view for the next collective that runs at the same time as others.
    pub(crate) fn beside(&self) -> Comm<Seat> {
        self.calls.set(self.calls.get() % (GROUP_CALLS - 1) + 1);
        self.view.beside(self.calls.get())
    }
    /// A view of the same ranks whose messages meet none of the program's own.
    pub(crate) fn apart(&self, all: &Comm<Seat>) -> Result<Comm<Seat>, Error> {
        let ranks: Vec<Rank> = (0..self.view.ranks()).map(|rank| self.view.port_rank(rank)).collect();
        all.view(&ranks, self.number | INTERNAL)
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

/// Numbers of communicators that this process has given out, and how it agrees on more.
#[derive(Debug)]
pub(crate) struct Numbers {
    next: Cell<u32>,
    /// The number of agreements under way.
    pending: Cell<u32>,
    /// Those of them that every rank has begun to agree on, by the communicators they are made of.
    begun: RefCell<Vec<(u32, u32)>>,
    /// Ranks first exchange the collective that they are in.
    check: bool,
}

impl Numbers {
    pub(crate) fn from(first: u32, check: bool) -> Numbers {
        Numbers { next: Cell::new(first), pending: Cell::new(0), begun: RefCell::default(), check }
    }
    /// All below were given out.
    pub(crate) fn next(&self) -> u32 {
        self.next.get()
    }
    /// Takes one, if it is free here still.
    pub(crate) fn take(&self, number: u32) -> bool {
        let free = number >= self.next.get();
        if free {
            self.next.set(number + 1);
        }
        free
    }
}

/// The largest of every rank's words; fails unless all ranks give the same.
pub(crate) async fn same(view: &Comm<Seat>, given: &Given, words: &[i64]) -> Done<Vec<i64>> {
    let mut told = largest(view, &[words, &given.bounds()].concat()).await?;
    let bounds = told.split_off(words.len());
    match Given::is_alike([bounds[0], bounds[1]]) {
        true => Ok(told),
        false => different(given.difference(&gathered(view, &given.row()).await?)),
    }
}

/// Fails for a number beyond those of communicators: it would have the mark of the library's own messages.
pub(crate) fn is_left(number: u32) -> Done<u32> {
    check(number < INTERNAL, c::MPI_ERR_OTHER, || format!("all {INTERNAL} numbers of communicators were given out"))?;
    Ok(number)
}

/// A number for a new communicator that none of `view` has used; where ranks are of several groups, each may take it.
/// The message also says whether the rank agrees on another number at the same time, by another thread or another call.
/// If so, each rank says afterwards whether the number was still free, and they try again if it was not. Ranks see
/// several agreements in different orders: without a first among those, each could take the others' numbers at every
/// try.
///
/// All ranks must give alike what is `given`.
pub(crate) async fn numbered(numbers: Rc<Numbers>, view: &Comm<Seat>, beside: bool, given: Given) -> Done<u32> {
    if numbers.check {
        agree(view.clone(), given.name(), Alike::default()).await?;
    }
    let alone = !beside && numbers.pending.get() == 0 && !gate::is_crowded();
    numbers.pending.set(numbers.pending.get() + 1);
    let own = view.label();
    let agreed = async {
        let mut vain = false;
        loop {
            let told = same(view, &given, &[i64::from(numbers.next()), i64::from(!alone)]).await?;
            let number = is_left(told[0] as u32)?;
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
            // The first rank goes on meanwhile: it does not wait alone. All ranks have begun the collectives noted
            // here.
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
    /// A number for what is made of a communicator by all its ranks.
    pub(crate) fn new_number(&self, view: &Comm<Seat>, given: Given) -> Done<u32> {
        let world = self.world()?;
        world.block_on(numbered(world.numbers.clone(), view, false, given))
    }
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
