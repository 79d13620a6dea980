//! Local memory and the clock.

use super::*;

/// Memory comes zeroed, keeps what is written, refuses what is outside, and is gone when freed.
pub(super) struct Memories;

impl<P: Port> Program<P, Vec<String>> for Memories {
    async fn run(&self, port: P) -> Vec<String> {
        let mut subject = Subject::new(port);
        for kind in subject.kinds() {
            for bytes in [1, 100, 4096, 100_000] {
                lives(&mut subject, bytes, kind);
            }
            copies(&mut subject, kind);
        }
        if subject.limits.ghosts {
            let ghost = subject.alloc(1 << 40, Kind::Ghost);
            let read = subject.port.read(ghost, 0, &mut [0]);
            subject.expect(read.is_err(), || "a ghost has no bytes to read".to_owned());
            let copied = subject.port.copy(Span::new(ghost, 0, 10), Span::new(ghost, 20, 10));
            subject.expect(copied.is_ok(), || format!("copy of a ghost: {copied:?}"));
        } else {
            let ghost = subject.port.alloc(8, Kind::Ghost, Align::None);
            subject.expect(ghost == Err(Refusal::Unsupported), || format!("ghost memory: {ghost:?}"));
        }
        subject.complaints
    }
}

fn lives<P: Port>(subject: &mut Subject<P>, bytes: u64, kind: Kind) {
    let memory = subject.alloc(bytes, kind);
    let seen = subject.bytes_of(memory, bytes);
    subject.expect(seen.iter().all(|&b| b == 0), || format!("{kind:?} memory does not come zeroed"));
    let told = (subject.port.size(memory), subject.port.kind(memory));
    subject.expect(told == (Ok(bytes), Ok(kind)), || format!("{bytes} B of {kind:?} say they are {told:?}"));
    let data = pattern(bytes, bytes);
    let written = subject.port.write(memory, 0, &data);
    let seen = subject.bytes_of(memory, bytes);
    subject.expect(written.is_ok() && seen == data, || format!("{kind:?} memory does not keep {bytes} B"));
    let past = subject.port.write(memory, bytes, &[1]);
    subject.expect(past == Err(Refusal::OutOfBounds), || format!("writing past the end: {past:?}"));
    let wrapped = subject.port.read(memory, u64::MAX, &mut [0; 2]);
    subject.expect(wrapped.is_err(), || "reading past the end of the address space".to_owned());
    let freed = (subject.port.free(memory), subject.port.free(memory));
    subject.expect(freed == (Ok(()), Err(Refusal::Gone)), || format!("freed twice: {freed:?}"));
    let gone = subject.port.read(memory, 0, &mut [0]);
    subject.expect(gone == Err(Refusal::Gone), || format!("freed memory can be read: {gone:?}"));
}

fn copies<P: Port>(subject: &mut Subject<P>, kind: Kind) {
    let (from, to) = (subject.alloc(4096, kind), subject.alloc(8192, kind));
    let data = pattern(5, 4096);
    let _ = subject.port.write(from, 0, &data);
    let layouts =
        [Layout::contiguous(96), Layout::strided(8, 12, 24), Layout::strided(1, 96, 3), Layout::strided(32, 3, 40)];
    for source in layouts {
        for target in layouts {
            let _ = subject.port.write(to, 0, &[SENTINEL; 8192]);
            let copied = subject.port.copy(
                Span { memory: from, offset: 3, layout: source },
                Span { memory: to, offset: MARGIN + 5, layout: target },
            );
            let stream: Vec<u8> = source
                .runs(0, 96)
                .flat_map(|(at, n)| data[(3 + at) as usize..(3 + at + n) as usize].to_vec())
                .collect();
            let wanted = expected(8192, MARGIN + 5, &target, &stream);
            let seen = subject.bytes_of(to, 8192);
            subject
                .expect(copied.is_ok() && seen == wanted, || format!("copy of {source:?} to {target:?}: {copied:?}"));
        }
    }
    let short = subject.port.copy(Span::new(from, 0, 8), Span::new(to, 0, 9));
    let beyond = subject.port.copy(Span::new(from, 4090, 8), Span::new(to, 0, 8));
    let over = subject.port.copy(Span::new(to, 0, 16), Span::new(to, 8, 16));
    for (what, result) in [("unequal", short), ("outside", beyond), ("overlapping", over)] {
        subject.expect(result == Err(Refusal::OutOfBounds), || format!("{what} copy: {result:?}"));
    }
    let _ = (subject.port.free(from), subject.port.free(to));
}

/// Time goes on, and computing takes what it says.
pub(super) struct Clock;

impl<P: Port> Program<P, Vec<String>> for Clock {
    async fn run(&self, port: P) -> Vec<String> {
        let mut subject = Subject::new(port);
        let mut last = subject.port.now();
        for _ in 0..100 {
            let now = subject.port.now();
            subject.expect(now >= last, || format!("the clock went back from {last:?} to {now:?}"));
            last = now;
        }
        subject.port.compute(Work::Fixed(Time::from_us(20.0)));
        let took = subject.port.now() - last;
        subject.expect(took >= Time::from_us(20.0), || format!("20 us of work took {took:?}"));
        let until = subject.port.now() + Time::from_us(30.0);
        while subject.port.now() < until {
            let event = subject.port.poll();
            subject.expect(event.is_none(), || format!("{event:?} from nowhere"));
            wait(&mut subject.port, until).await;
        }
        subject.complaints
    }
}
