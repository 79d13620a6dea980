//! Requests of one rank for another's window, their messages, and the task that does them.

use crate::abi::Status;
use crate::failure::Done;
use crate::memory::Everything;
use crate::process::buffer::Staged;
use crate::process::window::{ASKS, Blocks, Window};
use hotlink_message::Request;
use hotlink_port::yield_once;
use hotlink_standard::constants as c;
use hotlink_standard::{Basic, Builtin, Datatype, LockQueue};
use std::collections::BTreeMap;

/// The kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Put,
    Get,
    Accumulate,
    /// The same, and what was there before.
    Fetch,
    Swap,
    /// Whether all before it is done.
    Flush,
    Lock,
    /// A flush and the end of a lock.
    Unlock,
    /// An access between start and complete is over.
    Complete,
}

impl Kind {
    const ALL: [Kind; 9] = {
        use Kind::*;
        [Put, Get, Accumulate, Fetch, Swap, Flush, Lock, Unlock, Complete]
    };
}

/// See [`Kind`].
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) kind: Kind,
    /// The tag of the answer.
    pub(crate) answer: u32,
    /// An operator's number, or a kind of lock.
    pub(crate) how: u64,
    /// A number of each basic type of an element: one, or a value and its index.
    pub(crate) element: [u64; 2],
    pub(crate) blocks: Blocks,
    pub(crate) data: Vec<u8>,
}

/// Of a second basic type that is none.
const NONE: u64 = u64::MAX;
/// Words before the blocks.
const HEAD: usize = 6;

impl Ask {
    pub(crate) fn of(kind: Kind) -> Ask {
        Ask { kind, answer: 0, how: 0, element: [0, NONE], blocks: Blocks::Many(Vec::new()), data: Vec::new() }
    }
    /// The same for an operator on elements that are of one basic type, or pairs for those that find a place.
    pub(crate) fn by(self, builtin: Builtin, datatype: &Datatype) -> Option<Ask> {
        let number = |basic| Basic::ALL.iter().position(|&other| other == basic).map(|place| place as u64);
        let element = match builtin {
            // Any bytes do.
            Builtin::Replace | Builtin::Nothing => [number(Basic::Byte)?, NONE],
            Builtin::MinLoc | Builtin::MaxLoc => {
                let (value, index) = datatype.paired()?;
                [number(value)?, number(index)?]
            }
            _ => [number(datatype.uniform()?)?, NONE],
        };
        let how = Builtin::ALL.iter().position(|&other| other == builtin)? as u64;
        let ask = Ask { how, element, ..self };
        let (builtin, element) = ask.operator()?;
        builtin.takes(&element).then_some(ask)
    }
    pub(crate) fn operator(&self) -> Option<(Builtin, Datatype)> {
        let basic = |number: u64| Basic::ALL.get(number as usize).copied();
        let element = match (basic(self.element[0])?, basic(self.element[1])) {
            (value, Some(index)) => Datatype::pair(value, index),
            (basic, None) => Datatype::named(basic),
        };
        Some((*Builtin::ALL.get(self.how as usize)?, element))
    }
    pub(crate) fn written(&self, all: &Everything) -> Staged {
        let [value, index] = self.element;
        let head = [self.kind as u64, self.answer.into(), self.how, value, index, self.blocks.len() as u64];
        let blocks = self.blocks.iter().flat_map(|&(at, bytes)| [at as u64, bytes]);
        let front: Vec<u8> = head.into_iter().chain(blocks).flat_map(u64::to_ne_bytes).collect();
        Staged::filled(all, (front.len() + self.data.len()) as u64, |own| {
            own[..front.len()].copy_from_slice(&front);
            own[front.len()..].copy_from_slice(&self.data);
        })
    }
    pub(crate) fn read(bytes: &[u8]) -> Option<Ask> {
        let word = |place: usize| Some(u64::from_ne_bytes(bytes.get(8 * place..8 * place + 8)?.try_into().ok()?));
        let count = word(5)? as usize;
        let block = |i: usize| Some((word(HEAD + 2 * i)? as i64, word(HEAD + 2 * i + 1)?));
        Some(Ask {
            kind: *Kind::ALL.get(word(0)? as usize)?,
            answer: word(1)? as u32,
            how: word(2)?,
            element: [word(3)?, word(4)?],
            blocks: Blocks::Many((0..count).map(block).collect::<Option<_>>()?),
            data: bytes.get(8 * (HEAD + 2 * count)..)?.to_vec(),
        })
    }
}

/// The data of a rank that waits for the lock: the tag of the answer, and its next asks. They may arrive before it has
/// the lock.
struct Waits {
    answer: u32,
    asks: Vec<Ask>,
}

/// The answer for which no call waits.
pub(crate) const UNHEARD: u32 = 0;

/// The state of a rank's service.
#[derive(Default)]
pub(crate) struct Service {
    /// The holders of the lock and those that wait for it.
    lock: LockQueue<Waits>,
    /// Accesses that ranks have completed and this one has not waited for.
    pub(crate) completes: BTreeMap<u32, u32>,
    /// An ask went beyond the window since the last report.
    pub(crate) failed: bool,
    /// The same by rank.
    beyond: BTreeMap<u32, bool>,
    /// Answers on their way.
    answers: Vec<(Request, Staged)>,
}

impl Window {
    fn reply(&self, to: u32, tag: u32, data: &[u8]) -> Done {
        let staged = Staged::of(&self.all, data);
        let request = self.comm.view.isend(to, tag, staged.span)?;
        self.service.borrow_mut().answers.push((request, staged));
        Ok(())
    }
    /// Gives the lock to those who can have it, and serves their asks since.
    fn grant(&self) -> Done {
        loop {
            let Some((rank, waits)) = self.service.borrow_mut().lock.grant() else { return Ok(()) };
            if waits.answer != UNHEARD {
                self.reply(rank, waits.answer, &0u64.to_ne_bytes())?;
            }
            for ask in waits.asks {
                self.serve_one(rank, ask)?;
            }
        }
    }
    fn serve_one(&self, from: u32, ask: Ask) -> Done {
        if let Some(waits) = self.service.borrow_mut().lock.waiting(from) {
            waits.asks.push(ask);
            return Ok(());
        }
        match ask.kind {
            Kind::Put | Kind::Accumulate => {
                if self.perform(self.comm.rank, &ask).is_none() {
                    self.service.borrow_mut().beyond.insert(from, true);
                }
                Ok(())
            }
            // An answer of no bytes says that there is no such memory.
            Kind::Get | Kind::Fetch | Kind::Swap => {
                self.reply(from, ask.answer, &self.perform(self.comm.rank, &ask).unwrap_or_default())
            }
            Kind::Flush | Kind::Unlock => {
                let beyond = self.service.borrow_mut().beyond.remove(&from).is_some();
                if ask.kind == Kind::Unlock {
                    self.service.borrow_mut().lock.leave(from);
                }
                self.reply(from, ask.answer, &u64::from(beyond).to_ne_bytes())?;
                self.grant()
            }
            Kind::Lock => {
                let alone = ask.how == c::MPI_LOCK_EXCLUSIVE as u64;
                let waits = Waits { answer: ask.answer, asks: Vec::new() };
                self.service.borrow_mut().lock.wait(from, alone, waits);
                self.grant()
            }
            Kind::Complete => {
                *self.service.borrow_mut().completes.entry(from).or_default() += 1;
                Ok(())
            }
        }
    }
    /// Lets go of answers that have arrived; whether there are none left.
    fn reap(&self) -> bool {
        let mut answers = std::mem::take(&mut self.service.borrow_mut().answers);
        let over = answers.extract_if(.., |(request, _)| self.comm.view.is_ended(request)).collect::<Vec<_>>();
        over.into_iter().for_each(|(request, _)| drop(self.comm.view.test(request)));
        let mut service = self.service.borrow_mut();
        service.answers.append(&mut answers);
        service.answers.is_empty()
    }
}

/// Does what ranks have asked, and ends when all answers have gone.
pub(crate) async fn serve(window: &Window) -> Done<Status> {
    let view = window.comm.view.clone();
    loop {
        let idle = window.reap();
        let Some((matched, status)) = view.improbe_here(None, Some(ASKS)) else {
            if idle {
                return Ok(Status::EMPTY);
            }
            yield_once().await;
            continue;
        };
        let room = Staged::room(&window.all, status.bytes);
        let request = view.imrecv(matched, room.span)?;
        view.wait(request).await?;
        if let (Some(from), Some(ask)) = (view.rank_of(status.from), Ask::read(room.own())) {
            window.serve_one(from, ask)?;
        }
    }
}
