//! Parts of scripts with one outcome: every receive names its source. Steps are drawn in an order that works even if
//! every send waits for its receive. Without wildcards of source, every other order then ends as well.

use super::draw::{Draw, Open, What};
use super::script::{Collectively, Posting, Step};
use hotlink_message::{Mode, Tag};
use hotlink_port::Rank;

/// Messages without receives and receives without messages, at most, of a rank.
const UNMATCHED: usize = 8;

impl Draw<'_> {
    pub(super) fn deterministic(&mut self) {
        let steps = 10 + self.random.below(50);
        for _ in 0..steps {
            let rank = self.any_rank();
            match self.random.below(100) {
                0..=34 => self.any_send(rank),
                35..=69 => self.any_receive(rank),
                70..=84 => self.wait(rank, false),
                85..=97 => self.aside(rank),
                _ => {
                    let what = self.any_collective();
                    self.collective(what);
                }
            }
        }
        self.finish();
    }
    /// Every message gets a receive, every receive a message, and all are waited for.
    fn finish(&mut self) {
        for rank in 0..self.desks.len() {
            while let Some(&(_, from, tag)) = self.desks[rank].matcher.posted().first() {
                let tag = tag.unwrap_or_else(|| self.any_tag());
                self.send(from.unwrap_or(0) as usize, rank, tag);
            }
            while let Some(&message) = self.desks[rank].matcher.came().first() {
                self.receive(rank, message.from, Some(message.tag));
            }
        }
        for rank in 0..self.desks.len() {
            self.aside(rank);
            self.wait(rank, true);
        }
    }
    fn any_collective(&mut self) -> Collectively {
        let root = self.any_rank() as Rank;
        match self.random.below(4) {
            0 => Collectively::Barrier,
            1 => Collectively::Bcast(root, self.size()),
            2 => Collectively::Allreduce(1 + self.random.below(40)),
            _ => Collectively::Alltoall(1 + self.random.below(40)),
        }
    }
    fn any_send(&mut self, from: usize) {
        let to = self.any_rank();
        // Half of them for a receive that is there.
        let due = self.desks[to].matcher.posted().iter().find(|posted| posted.1 == Some(from as Rank)).copied();
        let tag = due.filter(|_| self.random.chance(50)).and_then(|due| due.2);
        let tag = tag.unwrap_or_else(|| self.any_tag());
        if self.desks[to].matcher.came().len() < UNMATCHED || due.is_some() {
            self.send(from, to, tag);
        }
    }
    fn send(&mut self, from: usize, to: usize, tag: Tag) {
        if self.random.chance(20) && self.send_again(from, to, tag) {
            return;
        }
        let met = self.desks[to].matcher.taker(from as Rank, tag);
        let room = met.map(|id| self.desks[to].rooms[id as usize]);
        let bytes = self.size_for(room);
        let (form, mode) = (self.form(from, bytes), self.mode());
        let what = What::Send(self.desks[from].sends);
        let blocking = (met.is_some() || mode == Mode::Postal) && self.random.chance(30);
        let how = self.posting(from, form.place, what, blocking);
        self.emit_send(from, Step::Send { to: to as Rank, tag, bytes, mode, form, how });
    }
    /// A size for a receive with this room.
    fn size_for(&mut self, room: Option<u64>) -> u64 {
        let size = self.size();
        match room {
            Some(room) if size > room && !(self.ground.truncates && room >= 8 && self.random.chance(20)) => room,
            _ => size,
        }
    }
    /// Starts a persistent send to this rank with this tag again, if there is one that may be.
    fn send_again(&mut self, from: usize, to: usize, tag: Tag) -> bool {
        let room = self.desks[to].matcher.taker(from as Rank, tag).map(|id| self.desks[to].rooms[id as usize]);
        let fits = |step: &Step| matches!(*step, Step::Send { to: rank, tag: t, bytes, .. } if (rank as usize, t) == (to, tag) && room.is_none_or(|room| bytes <= room));
        let Some(at) = self.desks[from].kept.iter().position(|(step, _)| fits(step)) else { return false };
        let (step, number) = self.desks[from].kept.swap_remove(at);
        let what = What::Send(self.desks[from].sends);
        self.again(from, step, number, what)
    }
    fn again(&mut self, rank: usize, mut step: Step, number: u32, what: What) -> bool {
        let request = self.request(rank);
        if let Step::Send { how, form, .. } | Step::Recv { how, form, .. } = &mut step {
            *how = Posting::Persistent(request, number);
            self.desks[rank].open.push(Open { request, place: form.place, what, persistent: Some(number) });
        }
        match step {
            Step::Send { .. } => self.emit_send(rank, step),
            _ => self.emit_receive(rank, step),
        }
        true
    }
    fn posting(&mut self, rank: usize, place: u32, what: What, blocking: bool) -> Posting {
        if blocking {
            self.desks[rank].free.push(place);
            return Posting::Blocking;
        }
        let request = self.request(rank);
        let persistent = self.random.chance(12).then(|| {
            self.desks[rank].persistents += 1;
            self.desks[rank].persistents - 1
        });
        self.desks[rank].open.push(Open { request, place, what, persistent });
        persistent.map_or(Posting::Request(request), |number| Posting::Persistent(request, number))
    }
    fn emit_send(&mut self, from: usize, step: Step) {
        let Step::Send { to, tag, bytes, mode, .. } = step else { return };
        let message = self.next_message(from, tag, bytes);
        if mode == Mode::Postal {
            self.desks[from].met.insert(What::Send(message.number));
        }
        if let Some(receive) = self.desks[to as usize].matcher.arrive(message) {
            self.meet(to as usize, receive, (from, message.number), bytes);
        }
        self.push(from, step);
    }
    fn meet(&mut self, to: usize, receive: u32, (from, send): (usize, u32), bytes: u64) {
        if bytes > self.desks[to].rooms[receive as usize] {
            self.desks[to].truncated.insert(receive);
        }
        self.desks[to].met.insert(What::Receive(receive));
        self.desks[from].met.insert(What::Send(send));
    }
    fn any_receive(&mut self, rank: usize) {
        let due = self.desks[rank].matcher.came().first().copied().filter(|_| self.random.chance(60));
        let from = due.map_or_else(|| self.any_rank() as Rank, |message| message.from);
        let tag = due.map_or_else(|| self.any_tag(), |message| message.tag);
        let tag = self.random.chance(70).then_some(tag);
        if self.desks[rank].matcher.posted().len() < UNMATCHED || due.is_some() {
            self.receive(rank, from, tag);
        }
    }
    fn receive(&mut self, rank: usize, from: Rank, tag: Option<Tag>) {
        if self.random.chance(20) && self.receive_again(rank, from, tag) {
            return;
        }
        let there = self.desks[rank].matcher.probe(Some(from), tag).map(|message| message.bytes);
        let room = match there {
            None => self.size(),
            Some(bytes) if self.ground.truncates && bytes > 8 && self.random.chance(5) => {
                8 + self.random.below(bytes - 8)
            }
            Some(bytes) => bytes + self.one_of(&[0, 0, 0, 1, 8, 100]),
        };
        let form = self.form(rank, room);
        let what = What::Receive(self.desks[rank].receives);
        let blocking = there.is_some() && self.random.chance(30);
        let how = self.posting(rank, form.place, what, blocking);
        let probe = blocking && self.random.chance(30);
        self.emit_receive(rank, Step::Recv { from: Some(from), tag, room, form, how, probe });
    }
    fn receive_again(&mut self, rank: usize, from: Rank, tag: Option<Tag>) -> bool {
        let there = self.desks[rank].matcher.probe(Some(from), tag).map(|message| message.bytes);
        let fits = |step: &Step| matches!(*step, Step::Recv { from: f, tag: t, room, .. } if (f, t) == (Some(from), tag) && there.is_none_or(|bytes| bytes <= room));
        let Some(at) = self.desks[rank].kept.iter().position(|(step, _)| fits(step)) else { return false };
        let (step, number) = self.desks[rank].kept.swap_remove(at);
        let what = What::Receive(self.desks[rank].receives);
        self.again(rank, step, number, what)
    }
    fn emit_receive(&mut self, rank: usize, step: Step) {
        let Step::Recv { from, tag, room, .. } = step else { return };
        let id = self.desks[rank].receives;
        self.desks[rank].receives += 1;
        self.desks[rank].rooms.push(room);
        if let Some(message) = self.desks[rank].matcher.post(id, from, tag) {
            self.meet(rank, id, (message.from as usize, message.number), message.bytes);
        }
        self.push(rank, step);
    }
}
