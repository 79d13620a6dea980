//! Parts of scripts with wildcards of source. Between two barriers, each rank starts all its sends before it waits.
//! Every matching of its receives that MPI allows gives each of them a message.

use super::draw::{Draw, Open, What};
use super::model::takes;
use super::script::{Collectively, Message, Posting, Step};
use hotlink_message::Tag;
use hotlink_port::Rank;

type Pattern = (Option<Rank>, Option<Tag>);

/// Messages to a rank, at most: all their orders are tried.
const MOST: u64 = 6;

impl Draw<'_> {
    pub(super) fn wild(&mut self) {
        self.collective(Collectively::Barrier);
        let ranks = self.desks.len();
        let mut sends: Vec<Vec<(usize, Step)>> = vec![Vec::new(); ranks];
        let mut messages: Vec<Vec<Message>> = vec![Vec::new(); ranks];
        for to in 0..ranks {
            for _ in 0..self.random.below(MOST + 1) {
                let (from, tag, bytes) = (self.any_rank(), self.any_tag(), self.size());
                let (form, mode) = (self.form(from, bytes), self.mode());
                // Numbered when they are posted.
                let how = Posting::Blocking;
                sends[from].push((to, Step::Send { to: to as Rank, tag, bytes, mode, form, how }));
            }
        }
        for (from, sends) in sends.iter_mut().enumerate() {
            for i in (1..sends.len()).rev() {
                sends.swap(i, self.random.below(i as u64 + 1) as usize);
            }
            for (to, step) in sends.iter() {
                if let Step::Send { tag, bytes, .. } = *step {
                    messages[*to].push(self.next_message(from, tag, bytes));
                }
            }
        }
        for rank in 0..ranks {
            let sent = sends[rank].iter().map(|(_, step)| step.clone()).collect();
            self.wild_rank(rank, sent, &messages[rank]);
        }
        self.collective(Collectively::Barrier);
    }
    fn wild_rank(&mut self, rank: usize, sends: Vec<Step>, messages: &[Message]) {
        let patterns = self.patterns(messages);
        let room = messages.iter().map(|message| message.bytes).max().unwrap_or(0);
        let ahead = self.random.below(patterns.len() as u64 + 1) as usize;
        let (mut sends, mut receives) = (sends.into_iter(), patterns.into_iter().enumerate());
        let (mut sends_left, mut ahead_left) = (sends.len(), ahead);
        while sends_left + ahead_left > 0 {
            if self.random.below((sends_left + ahead_left) as u64) < sends_left as u64 {
                sends_left -= 1;
                let first = self.desks[rank].sends - sends_left as u32 - 1;
                if let Some(step) = sends.next() {
                    self.wild_send(rank, step, first);
                }
            } else {
                ahead_left -= 1;
                if let Some((_, pattern)) = receives.next() {
                    self.wild_receive(rank, pattern, room, false);
                }
            }
            self.aside(rank);
        }
        for (_, pattern) in receives {
            self.wild_receive(rank, pattern, room, true);
            self.aside(rank);
        }
        let open: Vec<What> = self.desks[rank].open.iter().map(|one| one.what).collect();
        self.desks[rank].met.extend(open);
        self.wait(rank, true);
    }
    fn wild_send(&mut self, rank: usize, mut step: Step, number: u32) {
        let request = self.request(rank);
        if let Step::Send { how, form, .. } = &mut step {
            *how = Posting::Request(request);
            let what = What::Send(number);
            self.desks[rank].open.push(Open { request, place: form.place, what, persistent: None });
        }
        self.push(rank, step);
    }
    fn wild_receive(&mut self, rank: usize, (from, tag): Pattern, room: u64, blocking: bool) {
        let form = self.form(rank, room);
        let number = self.desks[rank].receives;
        self.desks[rank].receives += 1;
        self.desks[rank].rooms.push(room);
        let probe = blocking && self.random.chance(40);
        let how = if blocking {
            self.desks[rank].free.push(form.place);
            Posting::Blocking
        } else {
            let request = self.request(rank);
            let what = What::Receive(number);
            self.desks[rank].open.push(Open { request, place: form.place, what, persistent: None });
            Posting::Request(request)
        };
        self.push(rank, Step::Recv { from, tag, room, form, how, probe });
    }
    /// As many receives as messages; all of them get one in every case.
    fn patterns(&mut self, messages: &[Message]) -> Vec<Pattern> {
        let mut patterns: Vec<Pattern> = Vec::new();
        for message in messages {
            let (from, tag) = (self.random.chance(40), self.random.chance(50));
            patterns.push((from.then_some(message.from), tag.then_some(message.tag)));
        }
        for i in (1..patterns.len()).rev() {
            patterns.swap(i, self.random.below(i as u64 + 1) as usize);
        }
        if !always_ends(&patterns, messages) {
            // Those that take least first.
            patterns.sort_by_key(|(from, tag)| (from.is_none(), tag.is_none()));
        }
        if !always_ends(&patterns, messages) {
            patterns.iter_mut().filter(|(from, _)| from.is_none()).for_each(|(_, tag)| *tag = None);
            patterns.sort_by_key(|(from, tag)| (from.is_none(), tag.is_none()));
        }
        if !always_ends(&patterns, messages) {
            patterns = vec![(None, None); messages.len()];
        }
        patterns
    }
}

/// Whether each receive finds a message for any choices of the ones before it. Of each sender's messages, the first
/// counts.
fn always_ends(patterns: &[Pattern], left: &[Message]) -> bool {
    let Some((&(from, tag), later)) = patterns.split_first() else { return true };
    let mut sources: Vec<Rank> = left.iter().map(|message| message.from).collect();
    sources.sort_unstable();
    sources.dedup();
    let first = |source: Rank| left.iter().position(|m| m.from == source && takes(from, tag, m));
    let choices: Vec<usize> = sources.into_iter().filter_map(first).collect();
    !choices.is_empty()
        && choices.into_iter().all(|at| {
            let mut rest = left.to_vec();
            rest.remove(at);
            always_ends(later, &rest)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(from: Rank, number: u32, tag: Tag) -> Message {
        Message { from, number, tag, bytes: 8, key: 0 }
    }

    #[test]
    fn a_wildcard_may_take_what_another_receive_needs() {
        let messages = [message(0, 0, 1), message(1, 0, 1)];
        assert!(!always_ends(&[(None, None), (Some(0), None)], &messages));
        assert!(always_ends(&[(Some(0), None), (None, None)], &messages));
        assert!(!always_ends(&[(Some(0), Some(2))], &messages));
    }
}
