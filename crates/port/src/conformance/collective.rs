//! Barriers, reductions and broadcasts by the fabric itself, where a port claims them.

use super::*;

/// Nobody leaves before all have entered, however late some are; several in a row, with messages between.
pub(super) struct Barriers;

impl<P: Port> Program<P, Vec<String>> for Barriers {
    async fn run(&self, port: P) -> Vec<String> {
        let mut subject = Subject::new(port);
        if !subject.limits.barrier {
            return subject.complaints;
        }
        let (rank, ranks) = (subject.port.rank(), subject.port.ranks());
        for round in 0..6 {
            // Each rank is the last one in its turn.
            let late = if round % u64::from(ranks) == u64::from(rank) { 40.0 } else { 1.0 };
            subject.port.compute(Work::Fixed(Time::from_us(late)));
            let entered = subject.port.now();
            let posted = subject.post(&Op::Barrier { token: round }).await;
            subject.expect(posted.is_ok(), || format!("barrier {round}: {posted:?}"));
            let ended = subject.done(round).await;
            subject.expect(ended.is_ok(), || format!("barrier {round}: {ended:?}"));
            let left = subject.port.now();
            if rank > 0 {
                subject.send(0, [round, entered.0, left.0, 0], Payload::None).await;
                continue;
            }
            let (mut last_in, mut first_out) = (entered, left);
            for _ in 1..ranks {
                let (_, head, _) = subject.receive().await;
                subject.expect(head[0] == round, || format!("news of barrier {} after barrier {round}", head[0]));
                (last_in, first_out) = (last_in.max(Time(head[1])), first_out.min(Time(head[2])));
            }
            // Clocks of different machines cannot be compared; virtual ones can.
            let safe = subject.limits.real_time || last_in <= first_out;
            subject
                .expect(safe, || format!("barrier {round} left at {first_out:?}, entered by the last at {last_in:?}"));
        }
        subject.complaints
    }
}

/// The receivers get all ranks' elements combined, however many there are and whoever is late. Receivers are all ranks,
/// one rank, or each for a part, in ordinary memory and in segments.
pub(super) struct Reductions;

/// Elements of each rank's part, around the sizes at which a port may take another way.
const WORDS: [u64; 9] = [0, 1, 3, 40, 700, 1500, 9000, 40_000, 0];

impl<P: Port> Program<P, Vec<String>> for Reductions {
    async fn run(&self, port: P) -> Vec<String> {
        let mut subject = Subject::new(port);
        let Some(claim) = subject.limits.reduction else { return subject.complaints };
        let ranks = subject.port.ranks();
        let shares = if claim.shares {
            vec![Share::All, Share::Root(0), Share::Root(ranks - 1), Share::Parts]
        } else {
            vec![Share::All]
        };
        let mut round = 0;
        for kind in subject.kinds() {
            for &share in &shares {
                for words in WORDS {
                    subject.reduces(kind, share, words, round).await;
                    round += 1;
                }
            }
        }
        let odd = subject.alloc(12, Kind::Private);
        let span = Span::new(odd, 0, 12);
        let posted =
            subject.post(&Op::Reduce { operation: SUM, share: Share::All, from: span, to: span, token: 1 }).await;
        subject.expect(posted == Err(Refusal::OutOfBounds), || format!("one and a half elements: {posted:?}"));
        if !claim.shares {
            let span = Span::new(odd, 0, 8);
            let op = Op::Reduce { operation: SUM, share: Share::Root(0), from: span, to: span, token: 1 };
            let posted = subject.post(&op).await;
            subject.expect(posted == Err(Refusal::Unsupported), || format!("unclaimed share: {posted:?}"));
        }
        subject.complaints
    }
}

const SUM: Operation = Operation { combine: Combine::Sum, element: Element::I64 };

impl<P: Port> Subject<P> {
    /// One reduction of `words` elements a part.
    async fn reduces(&mut self, kind: Kind, share: Share, words: u64, round: u64) {
        let (rank, ranks) = (u64::from(self.port.rank()), u64::from(self.port.ranks()));
        let late = if round % ranks == rank { 40.0 } else { 1.0 };
        let (all, first, due) = match share {
            Share::All => (words, 0, words),
            Share::Root(root) => (words, 0, if u64::from(root) == rank { words } else { 0 }),
            Share::Parts => (words * ranks, words * rank, words),
        };
        // In place and not, in turn; a word before and one behind are nobody's.
        let in_place = round.is_multiple_of(2) && share != Share::Parts;
        let (from, to) = (self.alloc(8 * all + 16, kind), self.alloc(8 * words + 16, kind));
        let to = if in_place { from } else { to };
        let mine: Vec<u8> = (0..all).flat_map(|i| (1000 * rank + i).to_ne_bytes()).collect();
        for (memory, bytes) in [(from, 8 * all + 16), (to, 8 * words + 16)] {
            let written = self.port.write(memory, 0, &vec![SENTINEL; bytes as usize]);
            self.expect(written.is_ok(), || format!("write: {written:?}"));
        }
        let written = self.port.write(from, 8, &mine);
        self.expect(written.is_ok(), || format!("write: {written:?}"));
        self.port.compute(Work::Fixed(Time::from_us(late)));
        let (source, target) = (Span::new(from, 8, 8 * all), Span::new(to, 8, 8 * words));
        let op = Op::Reduce { operation: SUM, share, from: source, to: target, token: round };
        let posted = self.post(&op).await;
        let ended = if posted.is_ok() { self.done(round).await } else { posted };
        self.expect(ended.is_ok(), || format!("reduction {round}, {share:?}: {ended:?}"));
        let sum = |i: u64| 1000 * ranks * (ranks - 1) / 2 + ranks * i;
        let mut wanted = vec![SENTINEL; 8];
        wanted.extend((first..first + due).flat_map(|i| sum(i).to_ne_bytes()));
        let seen = self.bytes_of(to, wanted.len() as u64);
        self.expect(seen == wanted, || {
            format!("reduction {round} of {words} words of {kind:?} memory, {share:?}: wrong sums")
        });
        let behind = self.bytes_of(to, 8 * words + 16).split_off(8 * words as usize + 8);
        self.expect(behind == [SENTINEL; 8], || format!("reduction {round}, {share:?}, wrote behind its target"));
        if !in_place {
            let kept = self.bytes_of(from, 8 * all + 8).split_off(8);
            self.expect(kept == mine, || format!("reduction {round}, {share:?}, changed its source"));
            let freed = self.port.free(from);
            self.expect(freed.is_ok(), || format!("free: {freed:?}"));
        }
        let freed = self.port.free(to);
        self.expect(freed.is_ok(), || format!("free: {freed:?}"));
    }
}

/// A broadcast reaches every other rank once and whole, from every root.
pub(super) struct Broadcasts;

impl<P: Port> Program<P, Vec<String>> for Broadcasts {
    async fn run(&self, port: P) -> Vec<String> {
        let mut subject = Subject::new(port);
        if !subject.limits.broadcast {
            return subject.complaints;
        }
        let (rank, ranks) = (subject.port.rank(), subject.port.ranks());
        let sizes = sizes_around(&subject.limits, subject.limits.control_bytes_max.min(4096));
        for (number, &size) in sizes.iter().enumerate() {
            let (number, root) = (number as u64, number as Rank % ranks);
            let data = pattern(number, size);
            if rank == root {
                let op = Op::Broadcast { head: [number, 1, 2, 3], payload: Payload::Bytes(&data), token: number };
                let posted = subject.post(&op).await;
                subject.expect(posted.is_ok(), || format!("broadcast {number}: {posted:?}"));
                let ended = subject.done(number).await;
                subject.expect(ended.is_ok(), || format!("broadcast {number}: {ended:?}"));
                // All have it: nobody starts the next before.
                for to in (0..ranks).filter(|&to| to != root) {
                    subject.send(to, [number; 4], Payload::None).await;
                }
                continue;
            }
            let (from, head, payload) = subject.receive().await;
            let same = from == root && head == [number, 1, 2, 3] && payload == data;
            subject.expect(same, || format!("broadcast {number} of {size} B from {root}: {head:?} from {from}"));
            let (_, head, _) = subject.receive().await;
            subject.expect(head == [number; 4], || format!("{head:?} after broadcast {number}"));
        }
        let long = vec![0; subject.limits.control_bytes_max as usize + 1];
        let op = Op::Broadcast { head: [0; 4], payload: Payload::Bytes(&long), token: 1 };
        let posted = subject.post(&op).await;
        let most = subject.limits.control_bytes_max;
        subject.expect(posted == Err(Refusal::TooLong(most)), || format!("{} B broadcast: {posted:?}", long.len()));
        subject.complaints
    }
}
