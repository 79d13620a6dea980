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

/// Every rank gets all ranks' elements combined, whoever is late and however many there are.
pub(super) struct Reductions;

impl<P: Port> Program<P, Vec<String>> for Reductions {
    async fn run(&self, port: P) -> Vec<String> {
        let mut subject = Subject::new(port);
        if subject.limits.reduction.is_none() {
            return subject.complaints;
        }
        let (rank, ranks) = (i64::from(subject.port.rank()), i64::from(subject.port.ranks()));
        for (round, words) in [0_i64, 1, 3, 40, 700].into_iter().enumerate() {
            let (round, late) = (round as u64, if round as i64 % ranks == rank { 40.0 } else { 1.0 });
            let (bytes, apart) = (8 * words as u64, 8 * words as u64 * (round % 2));
            let memory = subject.alloc(2 * bytes + 8, Kind::Private);
            let mine: Vec<u8> = (0..words).flat_map(|i| (1000 * rank + i).to_ne_bytes()).collect();
            let written = subject.port.write(memory, 8, &mine);
            subject.expect(written.is_ok(), || format!("write: {written:?}"));
            subject.port.compute(Work::Fixed(Time::from_us(late)));
            let operation = Operation { combine: Combine::Sum, element: Element::I64 };
            // In place and not, in turn.
            let (from, to) = (Span::new(memory, 8, bytes), Span::new(memory, 8 + apart, bytes));
            let posted = subject.post(&Op::Allreduce { operation, from, to, token: round }).await;
            subject.expect(posted.is_ok(), || format!("reduction {round}: {posted:?}"));
            let ended = subject.done(round).await;
            subject.expect(ended.is_ok(), || format!("reduction {round}: {ended:?}"));
            let mut seen = vec![0; mine.len()];
            let read = subject.port.read(memory, 8 + apart, &mut seen);
            let due: Vec<u8> =
                (0..words).flat_map(|i| (1000 * ranks * (ranks - 1) / 2 + ranks * i).to_ne_bytes()).collect();
            subject.expect(read.is_ok() && seen == due, || format!("reduction {round} of {words} words: wrong sums"));
            let freed = subject.port.free(memory);
            subject.expect(freed.is_ok(), || format!("free: {freed:?}"));
        }
        subject.complaints
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
