//! [`Office`]: the simulator's side of a job.

use crate::calls::{Called, Calls};
use crate::desk::{Desk, Then, Traffic};
use crate::door::SEAT;
use crate::mailbox::{Mailbox, Mailboxes};
use crate::steps::{Step, Steps};
use crate::talk::Reader;
use hotlink_fabric::units::Time;
use hotlink_port::{Lodge, Program, Rank, yield_once};
use std::cell::RefCell;
use std::ffi::OsString;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Between checks whether a process is still there.
const LOOK: Duration = Duration::from_millis(20);

/// How a rank spent the virtual time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// When it left.
    pub end: Time,
    /// Waiting for others, in the library.
    pub waited: Time,
    /// Computing, as far as that was charged.
    pub computed: Time,
    /// Times that its process and the simulator handed over to each other.
    pub turns: u64,
}

/// What starts the processes.
type Start = Box<dyn FnOnce()>;

/// A program of a simulation whose ranks are processes; see the crate.
pub struct Office {
    boxes: Mailboxes,
    ranks: u32,
    /// Whose process has ended.
    ended: Arc<[AtomicBool]>,
    start: RefCell<Option<Start>>,
    failure: RefCell<Option<String>>,
    absent: RefCell<Vec<Rank>>,
    spent: RefCell<Vec<Spent>>,
    traffic: RefCell<Traffic>,
    steps: Option<Rc<RefCell<Steps>>>,
    calls: Rc<RefCell<Calls>>,
}

/// What a desk waits for.
enum Heard {
    Words(i32),
    /// The process has ended, and whether it had taken its seat.
    Ended(bool),
    Halted,
}

impl Office {
    /// Seats for this many processes.
    ///
    /// # Errors
    /// The system has no memory that processes share.
    pub fn new(ranks: u32) -> io::Result<Office> {
        let boxes = Mailboxes::new(ranks)?;
        boxes.path()?;
        Ok(Office::with(boxes, ranks, (0..ranks).map(|_| AtomicBool::new(false)).collect()))
    }
    fn with(boxes: Mailboxes, ranks: u32, ended: Arc<[AtomicBool]>) -> Office {
        Office {
            boxes,
            ranks,
            ended,
            start: RefCell::default(),
            failure: RefCell::default(),
            absent: RefCell::default(),
            spent: RefCell::new(vec![Spent::default(); ranks as usize]),
            traffic: RefCell::default(),
            steps: None,
            calls: Rc::default(),
        }
    }
    /// Makes an office of the same seats on a thread of this process. That office simulates while this one reports
    /// which processes have ended, and may halt it. This one must stay until that is over.
    ///
    /// # Errors
    /// As [`Office::new`].
    pub fn elsewhere(&self) -> io::Result<impl FnOnce() -> io::Result<Office> + Send + 'static> {
        let (path, ranks, ended) = (self.boxes.path()?, self.ranks, self.ended.clone());
        Ok(move || Ok(Office::with(Mailboxes::open(&path, ranks)?, ranks, ended)))
    }
    /// Where the mailboxes are, for [`Door::at`](crate::Door::at) in processes that this one forks.
    ///
    /// # Errors
    /// As [`Office::new`].
    pub fn path(&self) -> io::Result<String> {
        self.boxes.path()
    }
    /// The same, and what ranks do is kept for [`Office::take_steps`].
    #[must_use]
    pub fn keeping_steps(mut self) -> Office {
        self.steps = Some(Rc::new(RefCell::new(Steps::of(self.ranks))));
        self
    }
    /// Variables by which processes find their seats.
    ///
    /// # Errors
    /// As [`Office::new`].
    pub fn variables(&self) -> io::Result<Vec<(String, OsString)>> {
        Ok(vec![(SEAT.to_owned(), self.boxes.path()?.into())])
    }
    /// Has the processes started once the simulation begins.
    pub fn starting_with(&self, start: impl FnOnce() + 'static) {
        *self.start.borrow_mut() = Some(Box::new(start));
    }
    /// Must be called for each process that ends.
    pub fn on_end(&self) -> impl Fn(Rank) + Send + 'static {
        let ended = self.ended.clone();
        move |rank| ended[rank as usize].store(true, Ordering::Release)
    }
    /// Ends the simulation for every process that is still in it.
    pub fn halt(&self) {
        self.halt_by(None);
    }
    /// The same because a rank has failed. Processes that may outlive the simulation learn which
    /// ([`Halted`](crate::Halted)).
    pub fn halt_by(&self, rank: Option<Rank>) {
        (0..self.ranks).for_each(|each| self.boxes.of(each).halt(rank));
    }
    /// Why the simulation was halted.
    pub fn failure(&self) -> Option<String> {
        self.failure.borrow().clone()
    }
    /// Ranks whose processes never took their seats.
    pub fn absent(&self) -> Vec<Rank> {
        self.absent.borrow().clone()
    }
    /// The function of the library in which each rank waited last.
    pub fn within(&self) -> Vec<Option<String>> {
        (0..self.ranks).map(|rank| self.boxes.of(rank).within()).collect()
    }
    /// How each rank spent its time.
    pub fn spent(&self) -> Vec<Spent> {
        self.spent.borrow().clone()
    }

    /// Messages and bytes of the library by who sends and who receives, once the simulation is over.
    pub fn traffic(&self) -> Vec<((Rank, Rank), (u64, u64))> {
        self.traffic.borrow().iter().map(|(pair, sums)| (*pair, *sums)).collect()
    }

    /// The collectives that all ranks of a communicator were through with, once the simulation is over.
    pub fn called(&self) -> Vec<Called> {
        self.calls.borrow().called()
    }

    /// Takes what each rank did, if that was kept, once the simulation is over.
    pub fn take_steps(&self) -> Option<Vec<Vec<Step>>> {
        self.steps.as_ref().map(|steps| steps.replace(Steps::of(0)).whole())
    }

    fn fail(&self, why: String) {
        self.failure.borrow_mut().get_or_insert(why);
        self.halt();
    }
    fn begin(&self) {
        let start = self.start.borrow_mut().take();
        if let Some(start) = start {
            start();
        }
    }
    /// Waits for what a process says.
    fn hear(&self, rank: Rank, mailbox: &Mailbox, words: &mut Vec<u64>) -> Heard {
        loop {
            // Whether it has ended is read first: what it said before that is heard.
            let ended = self.ended[rank as usize].load(Ordering::Acquire);
            if mailbox.asked_within(if ended { Duration::ZERO } else { LOOK }, words) {
                return Heard::Words(mailbox.process().unwrap_or(0));
            }
            if mailbox.halted().is_some() {
                return Heard::Halted;
            }
            if ended {
                return Heard::Ended(mailbox.process().is_some());
            }
        }
    }
}

impl<P: Lodge> Program<P, ()> for Office {
    async fn run(&self, port: P) {
        let limits = port.limits();
        if self.steps.is_some() && (limits.barrier || limits.broadcast || limits.reduction.is_some()) {
            let what =
                "this fabric has a network of its own for barriers or collectives, and a schedule has messages alone";
            return self.fail(format!("{what}: record it on another fabric"));
        }
        self.begin();
        let rank = port.rank();
        let mailbox = self.boxes.of(rank);
        let (mut words, mut answer) = (Vec::new(), Vec::new());
        let mut desk = Desk::new(port, 0, self.steps.clone(), self.calls.clone());
        let mut spent = Spent::default();
        loop {
            match self.hear(rank, &mailbox, &mut words) {
                Heard::Words(process) => desk.is_for(process),
                Heard::Ended(false) => {
                    desk.port.close();
                    return self.absent.borrow_mut().push(rank);
                }
                Heard::Ended(true) => return self.fail(format!("rank {rank} ended without MPI_Finalize")),
                Heard::Halted => return,
            }
            spent.turns += 1;
            let mut reader = Reader::new(&words);
            let mut end = false;
            while !reader.is_over() {
                match desk.serve(&mut reader, &mut answer) {
                    None => return self.fail(format!("rank {rank} says what no library of this version says")),
                    Some(Then::GoOn) => {}
                    Some(Then::Suspend) => {
                        let before = desk.port.now();
                        yield_once().await;
                        spent.waited += desk.port.now() - before;
                    }
                    Some(Then::End) => end = true,
                }
            }
            (spent.end, spent.computed) = (desk.port.now(), desk.computed);
            self.spent.borrow_mut()[rank as usize] = spent;
            mailbox.answer(desk.port.now().0, &answer);
            if end {
                for (pair, (messages, bytes)) in std::mem::take(&mut desk.traffic) {
                    let mut traffic = self.traffic.borrow_mut();
                    let sum = traffic.entry(pair).or_default();
                    *sum = (sum.0 + messages, sum.1 + bytes);
                }
                return;
            }
        }
    }
}
