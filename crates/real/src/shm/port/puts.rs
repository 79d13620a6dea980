//! Puts of small blocks into ordinary memory, which their targets help with: see [`crate::shm::scatter`].

use super::{ANSWER, LAST_PIECE, PIECE, ShmPort};
use crate::shm::scatter::Put;
use crate::store::checked_extent;
use hotlink_port::{Event, Posted, Rank, Refusal, RemoteSpan, Span, Token};
use std::collections::VecDeque;

impl ShmPort {
    /// The deposit as a put with which its target helps, if it is a sound one of small blocks into private memory. If
    /// not, the ordinary route does it or reports what is wrong.
    pub(super) fn scatter(&self, local: Span, remote: RemoteSpan, token: Token) -> Option<Put> {
        if remote.layout.is_contiguous() {
            return None;
        }
        let key = self.exports.far_private(remote.attachment)?;
        self.store.address(local).ok()?;
        let end = remote.offset.checked_add(checked_extent(&remote.layout).ok()?)?;
        let sound = local.bytes() == remote.layout.bytes() && end <= key.bytes && !self.gone[key.rank as usize];
        let short = self.limits.registration.private_block_min;
        sound.then(|| Put::new(key, local, remote.offset, remote.layout, token, short))?
    }
    /// Sends pieces while there is room; whether all puts (to `only`) are sent whole.
    #[cold]
    pub(super) fn send_puts(&mut self, only: Option<Rank>) -> bool {
        let mut kept = VecDeque::new();
        let mut blocked: Vec<Rank> = Vec::new();
        while let Some(mut put) = self.scatters.puts.pop_front() {
            let to = put.key.rank;
            if blocked.contains(&to) || !self.send_pieces(&mut put) {
                blocked.push(to);
                kept.push_back(put);
            }
        }
        self.scatters.puts = kept;
        only.map_or(blocked.is_empty(), |to| !blocked.contains(&to))
    }
    /// Whether the put was sent whole (or has failed).
    fn send_pieces(&mut self, put: &mut Put) -> bool {
        let Self { store, senders, scatters, events, .. } = self;
        loop {
            let Some(piece) = put.piece() else {
                events.push_back(Event::Failed(put.token, Refusal::OutOfBounds));
                return true;
            };
            let kind = if piece.last { LAST_PIECE } else { PIECE };
            let sender = &mut senders[put.key.rank as usize];
            match sender.send((kind, false), &piece.head, piece.from.bytes(), |_, into| store.pack(piece.from, into)) {
                Posted::Accepted => put.advance(&piece),
                Posted::Busy => return false,
                Posted::Refused(refusal) => {
                    events.push_back(Event::Failed(put.token, refusal));
                    return true;
                }
            }
            if piece.last {
                scatters.sent_whole(put);
                return true;
            }
        }
    }
    /// Goes on with puts; what of them, or of other operations, is over.
    #[cold]
    pub(super) fn tend(&mut self) -> Option<Event> {
        self.tend_scatters();
        self.events.pop_front()
    }
    pub(super) fn tend_scatters(&mut self) {
        self.send_puts(None);
        while let Some(&(to, placed)) = self.scatters.answers.front() {
            let head = [u64::from(placed), 0, 0, 0];
            if self.senders[to as usize].send((ANSWER, false), &head, 0, |_, _| Ok(())) == Posted::Busy {
                return;
            }
            self.scatters.answers.pop_front();
        }
    }
}
