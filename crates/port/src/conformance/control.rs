//! Control messages.

use super::*;

/// Longest message that is tried with all its bytes, where a port takes longer ones.
const TRIED_MAX: u64 = 1 << 20;

/// Every size around the limits, as bytes and as a span, comes whole and in order, head and all.
pub(super) struct Sizes;

impl<P: Port> Program<P, Vec<String>> for Sizes {
    async fn run(&self, port: P) -> Vec<String> {
        let mut subject = Subject::new(port);
        let most = subject.limits.control_bytes_max.min(TRIED_MAX);
        let sizes = sizes_around(&subject.limits, most);
        let memory = subject.alloc(most.max(1), Kind::Private);
        for (number, &size) in sizes.iter().cycle().take(3 * sizes.len()).enumerate() {
            let number = number as u64;
            let data = pattern(number, size);
            let head = [number, u64::MAX - number, size, 0x0123_4567_89AB_CDEF];
            if subject.port.rank() == 1 {
                let came = subject.receive().await;
                subject.expect(came.0 == 0 && came.1 == head, || format!("head of message {number}: {:?}", came.1));
                subject.expect(came.2 == data, || format!("message {number} of {size} B differs"));
            } else if number.is_multiple_of(2) {
                subject.send(1, head, Payload::Bytes(&data)).await;
            } else {
                let _ = subject.port.write(memory, 0, &data);
                subject.send(1, head, Payload::Span(Span::new(memory, 0, size))).await;
                // What was posted has been copied.
                let _ = subject.port.write(memory, 0, &vec![SENTINEL; size as usize]);
            }
        }
        subject.complaints
    }
}

/// What is never possible is refused at once.
pub(super) struct Refusals;

impl<P: Port> Program<P, Vec<String>> for Refusals {
    async fn run(&self, port: P) -> Vec<String> {
        let mut subject = Subject::new(port);
        let (ranks, most) = (subject.port.ranks(), subject.limits.control_bytes_max);
        let memory = subject.alloc(64, Kind::Private);
        let own = subject.port.rank();
        let mut cases = vec![
            (ranks, Payload::None, Refusal::NoRank),
            (own, Payload::Span(Span::new(memory, 60, 8)), Refusal::OutOfBounds),
            (own, Payload::Span(Span::new(Memory(u64::MAX - 1), 0, 8)), Refusal::Gone),
        ];
        // Nobody has the bytes of a message that is longer than the longest of some ports: a ghost stands for them.
        let long = vec![0; most.min(TRIED_MAX) as usize + 1];
        if most <= TRIED_MAX {
            cases.push((own, Payload::Bytes(&long), Refusal::TooLong(most)));
        } else if subject.limits.ghosts && most < u64::MAX {
            let ghost = subject.alloc(most + 1, Kind::Ghost);
            cases.push((own, Payload::Span(Span::new(ghost, 0, most + 1)), Refusal::TooLong(most)));
        }
        for (to, payload, refusal) in cases {
            let posted = subject.post(&Op::Control { to, head: [0; 4], payload }).await;
            subject.expect(posted == Err(refusal), || format!("{posted:?} instead of {refusal:?}"));
        }
        subject.complaints
    }
}

/// Payloads gather from and scatter to any layout, in parts too, and nothing else is touched.
pub(super) struct Layouts;

impl<P: Port> Program<P, Vec<String>> for Layouts {
    async fn run(&self, port: P) -> Vec<String> {
        let mut subject = Subject::new(port);
        let layouts =
            [Layout::contiguous(96), Layout::strided(8, 12, 16), Layout::strided(1, 96, 2), Layout::strided(24, 4, 56)];
        for kind in subject.kinds() {
            let size = 512 + 2 * MARGIN;
            let memory = subject.alloc(size, kind);
            for layout in layouts {
                let span = Span { memory, offset: MARGIN, layout };
                if subject.port.rank() == 0 {
                    let stream = pattern(layout.stride, 96);
                    let _ = subject.port.write(memory, 0, &expected(size, MARGIN, &layout, &stream));
                    subject.send(1, [0; 4], Payload::Span(span)).await;
                    continue;
                }
                let _ = subject.port.write(memory, 0, &vec![SENTINEL; size as usize]);
                take(&mut subject, span, size).await;
            }
        }
        subject.complaints
    }
}

async fn take<P: Port>(subject: &mut Subject<P>, span: Span, size: u64) {
    let Span { memory, offset, layout } = span;
    let stream = pattern(layout.stride, 96);
    subject.receive().await;
    let delivered = subject.port.deliver(0, span);
    let wanted = expected(size, offset, &layout, &stream);
    let seen = subject.bytes_of(memory, size);
    subject.expect(delivered.is_ok() && seen == wanted, || format!("delivery to {layout:?}: {delivered:?}"));
    let part = subject.port.deliver(40, Span::new(memory, 0, 8));
    let seen = subject.bytes_of(memory, 8);
    subject.expect(part.is_ok() && seen == stream[40..48], || format!("delivery of a part: {part:?}"));
    let beyond = subject.port.deliver(90, Span::new(memory, 0, 8));
    subject.expect(beyond == Err(Refusal::OutOfBounds), || format!("delivery past the payload's end: {beyond:?}"));
    let peeked = subject.port.peek(92, &mut [0; 8]);
    subject.expect(peeked == 4, || format!("peeked {peeked} B where 4 are left"));
}

/// Two ranks flood a third that does not poll at first: nothing is lost, doubled or out of order, and nobody hangs.
pub(super) struct Flood;

impl<P: Port> Program<P, Vec<String>> for Flood {
    async fn run(&self, port: P) -> Vec<String> {
        const N: u64 = 2000;
        let mut subject = Subject::new(port);
        let most = subject.limits.control_bytes_max.min(4096);
        if subject.port.rank() > 0 {
            for number in 0..N {
                let data = pattern(number, number * 13 % (most + 1));
                subject.send(0, [number, 0, 0, 0], Payload::Bytes(&data)).await;
            }
            return subject.complaints;
        }
        subject.port.compute(Work::Fixed(Time::from_us(500.0)));
        let mut next = [0; 3];
        for _ in 0..2 * N {
            let (from, head, payload) = subject.receive().await;
            let number = next[from as usize];
            next[from as usize] += 1;
            subject.expect(head[0] == number, || format!("message {} of rank {from} where {number} is due", head[0]));
            let data = pattern(head[0], head[0] * 13 % (most + 1));
            subject.expect(payload == data, || format!("message {number} of rank {from} differs"));
        }
        subject.complaints
    }
}

/// A rank can send to itself.
pub(super) struct Itself;

impl<P: Port> Program<P, Vec<String>> for Itself {
    async fn run(&self, port: P) -> Vec<String> {
        let mut subject = Subject::new(port);
        for number in 0..50 {
            let data = pattern(number, number);
            subject.send(0, [number, 0, 0, 0], Payload::Bytes(&data)).await;
            let (from, head, payload) = subject.receive().await;
            let same = from == 0 && head[0] == number && payload == data;
            subject.expect(same, || format!("message {number} to itself differs"));
        }
        subject.complaints
    }
}

/// A rank that closes its port has still sent what it posted; its silence is no death, and the others go on.
pub(super) struct Stops;

impl<P: Port> Program<P, Vec<String>> for Stops {
    async fn run(&self, port: P) -> Vec<String> {
        let mut subject = Subject::new(port);
        let rank = subject.port.rank();
        if rank == 2 {
            subject.send(0, [22, 0, 0, 0], Payload::Bytes(&pattern(2, 100))).await;
            subject.port.close();
            return subject.complaints;
        }
        let peer = 1 - rank;
        if rank == 0 {
            let (from, head, payload) = subject.receive().await;
            let same = from == 2 && head[0] == 22 && payload == pattern(2, 100);
            subject.expect(same, || "the last message of a rank that stopped differs".to_owned());
        }
        for number in 0..200 {
            if rank == 0 {
                subject.send(peer, [number, 0, 0, 0], Payload::None).await;
            }
            let (from, head, _) = subject.receive().await;
            subject.expect(from == peer && head[0] == number, || format!("message {number} of rank {from}"));
            if rank == 1 {
                subject.send(peer, [number, 0, 0, 0], Payload::None).await;
            }
        }
        subject.complaints
    }
}
