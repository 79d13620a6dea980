//! The protocols under any interleaving, back-pressure, delay and want of resources. No message is lost, doubled,
//! reordered or damaged, whatever its size, its layout and the way it is received.

use hotlink_message::{Comm, Error, Mode, Options, Policy, Request, Status};
use hotlink_port::loopback::{Loopback, Random};
use hotlink_port::middleware::{Fault, Layered};
use hotlink_port::{Align, Driver, Kind, Layout, Port, Program, Rank, Span, yield_once};
use proptest::prelude::*;

const RANKS: u32 = 3;
const LONGEST: u64 = 9000;

/// The run as all ranks know it: everything is drawn from the seed.
#[derive(Clone, Debug)]
struct Job {
    seed: u64,
    messages: u64,
    policy: Policy,
    zero_copy_bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    number: u64,
    tag: u32,
    bytes: u64,
    mode: Mode,
}

impl Job {
    /// The messages from one rank to another, in order.
    fn messages(&self, from: Rank, to: Rank) -> Vec<Sent> {
        let mut random = Random::new(self.seed ^ u64::from(from * 7 + to + 1));
        // The longest is one that both ranks move, half each, where they do that.
        let sizes = [0, 8, 100, 256, 257, 300, 1000, 2000, LONGEST];
        let message = |number| {
            let bytes = sizes[random.below(9) as usize] / 8 * 8;
            let mode = [Mode::Standard, Mode::Standard, Mode::Restricted, Mode::Postal][random.below(4) as usize];
            Sent { number, tag: random.below(5) as u32, bytes, mode }
        };
        (0..self.messages).map(message).collect()
    }
    /// How `to` receives: from any rank, anything from a given rank, or by tag.
    fn way(&self, to: Rank) -> u64 {
        Random::new(self.seed ^ u64::from(to) << 20).below(3)
    }
}

fn contents(from: Rank, message: &Sent) -> Vec<u8> {
    (0..message.bytes).map(|i| (u64::from(from) * 101 + message.number * 17 + i * 3) as u8).collect()
}

fn span<P: Port>(comm: &Comm<P>, random: &mut Random, bytes: u64) -> Result<Span, Error> {
    let kind = if random.chance(50) { Kind::Private } else { Kind::Shared };
    let memory = comm.alloc(3 * bytes + 16, kind)?;
    let layout = match random.below(3) {
        0 => Layout::strided(8, bytes / 8, 24),
        1 => Layout::strided(4, bytes / 4, 8),
        _ => Layout::contiguous(bytes),
    };
    Ok(Span { memory, offset: 8, layout })
}

fn write<P: Port>(comm: &Comm<P>, span: &Span, data: &[u8]) -> Result<(), Error> {
    let mut at = 0;
    for (offset, run) in span.layout.runs(0, span.bytes()) {
        comm.write(span.memory, span.offset + offset, &data[at..at + run as usize])?;
        at += run as usize;
    }
    Ok(())
}

fn read<P: Port>(comm: &Comm<P>, span: &Span) -> Result<Vec<u8>, Error> {
    let mut data = Vec::new();
    for (offset, run) in span.layout.runs(0, span.bytes()) {
        let mut part = vec![0; run as usize];
        comm.read(span.memory, span.offset + offset, &mut part)?;
        data.extend(part);
    }
    Ok(data)
}

/// Sends and receives everything; the number of wrong messages.
impl<P: Port> Program<P, Result<Vec<String>, Error>> for Job {
    async fn run(&self, port: P) -> Result<Vec<String>, Error> {
        let options = Options {
            memory: Kind::Default,
            align: Align::Default,
            eager_bytes: 256,
            piece_bytes: 128,
            zero_copy_bytes: self.zero_copy_bytes,
            halves_bytes: if self.seed.is_multiple_of(3) { u64::MAX } else { 1000 },
            policy: self.policy,
            kept_bytes: 0,
        };
        let comm = Comm::with_options(port, options);
        let mut random = Random::new(self.seed ^ u64::from(comm.rank()) << 40);
        let mut receives: Vec<(Option<Rank>, Option<u32>, u64)> = Vec::new();
        let way = self.way(comm.rank());
        for from in 0..RANKS {
            for message in self.messages(from, comm.rank()) {
                let pattern = match way {
                    0 => (None, None),
                    1 => (Some(from), None),
                    _ => (Some(from), Some(message.tag)),
                };
                receives.push((pattern.0, pattern.1, if way == 2 { message.bytes } else { LONGEST }));
            }
        }
        // Sizes are those of the messages only where the order of posting is the order of sending.
        if way != 2 {
            for i in (1..receives.len()).rev() {
                receives.swap(i, random.below(i as u64 + 1) as usize);
            }
        }
        let mut pending: Vec<(usize, Request, Span)> = Vec::new();
        let mut statuses: Vec<Option<(Status, Vec<u8>)>> = vec![None; receives.len()];
        let mut sends = Vec::new();
        let mut queues: Vec<_> = (0..RANKS).map(|to| self.messages(comm.rank(), to).into_iter()).collect();
        let mut next = 0;
        // Half of the jobs send everything first, and then wait for each receive.
        let waits = self.seed % 2 == 1;
        while next < receives.len() || queues.iter().any(|queue| queue.len() > 0) {
            let to = random.below(RANKS.into()) as usize;
            let more = queues.iter().any(|queue| queue.len() > 0);
            if (random.chance(50) || waits)
                && let Some(message) = queues[to].next()
            {
                let span = span(&comm, &mut random, message.bytes)?;
                write(&comm, &span, &contents(comm.rank(), &message))?;
                sends.push((comm.isend_as(message.mode, to as u32, message.tag, span)?, span));
            } else if next < receives.len() {
                let (from, tag, room) = receives[next];
                let span = span(&comm, &mut random, room)?;
                if !waits {
                    pending.push((next, comm.irecv(from, tag, span)?, span));
                } else if !more {
                    statuses[next] = Some((comm.recv(from, tag, span).await?, read(&comm, &span)?));
                } else {
                    continue;
                }
                next += 1;
            }
            while random.chance(50) {
                yield_once().await;
                comm.iprobe(None, Some(u32::MAX));
            }
            if random.chance(60) && !pending.is_empty() {
                let (index, request, span) = pending.swap_remove(random.below(pending.len() as u64) as usize);
                match comm.test(request) {
                    Ok(status) => statuses[index] = Some((status?, read(&comm, &span)?)),
                    Err(request) => pending.push((index, request, span)),
                }
            }
        }
        for (index, request, span) in pending {
            statuses[index] = Some((comm.wait(request).await?, read(&comm, &span)?));
        }
        for (request, span) in sends {
            comm.wait(request).await?;
            comm.free(span.memory)?;
        }
        comm.flush().await;
        comm.barrier().await?;
        Ok(self.wrong(comm.rank(), &receives, &statuses))
    }
}

impl Job {
    /// The complaint about the messages that a rank received, in the order in which it posted its receives.
    fn wrong(
        &self,
        to: Rank,
        receives: &[(Option<Rank>, Option<u32>, u64)],
        statuses: &[Option<(Status, Vec<u8>)>],
    ) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut left: Vec<Vec<Sent>> = (0..RANKS).map(|from| self.messages(from, to)).collect();
        for (receive, status) in receives.iter().zip(statuses) {
            let Some((status, data)) = status else {
                wrong.push(format!("{receive:?} got nothing"));
                continue;
            };
            let queue = &mut left[status.from as usize];
            let due = queue.iter().position(|message| receive.1.is_none_or(|tag| tag == message.tag));
            let message = match due {
                Some(index) => queue.remove(index),
                None => {
                    wrong.push(format!("{receive:?} got a message too many: {status:?}"));
                    continue;
                }
            };
            let same = status.tag == message.tag && status.bytes == message.bytes;
            if !same || data[..message.bytes as usize] != contents(status.from, &message)[..] {
                wrong.push(format!("{receive:?} got {status:?} where {message:?} is due"));
            }
        }
        wrong
    }
}

/// Long messages between segments, whose sender does nothing else: both ranks move them, half each, or as it then goes.
struct Halves(Policy);

impl<P: Port> Program<P, Result<u64, Error>> for Halves {
    async fn run(&self, port: P) -> Result<u64, Error> {
        let options = Options { halves_bytes: 4097, policy: self.0, ..Options::of(port.limits()) };
        let comm = Comm::with_options(port, options);
        for (number, bytes) in [4100, 9000, 8193, 20_000, 9000].into_iter().enumerate() {
            let span = Span::new(comm.alloc(bytes, Kind::Shared)?, 0, bytes);
            let sent = Sent { number: number as u64, tag: 0, bytes, mode: Mode::Standard };
            if comm.rank() == 0 {
                write(&comm, &span, &contents(0, &sent))?;
                comm.send(1, 0, span).await.expect("sent");
            } else {
                let status = comm.recv(Some(0), Some(0), span).await.expect("received");
                assert_eq!((status.bytes, read(&comm, &span)?), (bytes, contents(0, &sent)), "message {number}");
            }
            comm.free(span.memory)?;
        }
        comm.flush().await;
        comm.barrier().await?;
        Ok(comm.counters().halved)
    }
}

#[test]
fn messages_that_both_ranks_move_arrive_whole_in_halves() {
    let halved = Loopback::default().run(2, &Halves(Policy::Lru)).unwrap();
    assert_eq!(halved, [Ok(0), Ok(5)]);
}

fn policy() -> impl Strategy<Value = Policy> {
    prop_oneof![
        Just(Policy::Lru),
        Just(Policy::Lfu),
        Just(Policy::BestFit),
        any::<u64>().prop_map(Policy::Random),
        Just(Policy::Immediate)
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]
    #[test]
    fn no_message_is_lost_doubled_reordered_or_damaged(
        seed in any::<u64>(),
        messages in 1u64..40,
        policy in policy(),
        faults in (0u64..60, 0u64..60, 0u64..60),
        shape in (1usize..20, 0usize..12, any::<bool>()),
        pieces in any::<bool>(),
    ) {
        let job = Job { seed, messages, policy, zero_copy_bytes: if pieces { u64::MAX } else { 0 } };
        let (inbox, entries, deposits) = shape;
        let loopback = Loopback { seed, inbox, entries, deposits };
        let layer = |rank: Rank| Fault::new(seed ^ u64::from(rank), faults.0, faults.1, faults.2);
        let results = Layered::new(loopback, layer).run(RANKS, &job);
        prop_assert_eq!(results, Ok(vec![Ok(Vec::new()); RANKS as usize]));
    }

    #[test]
    fn messages_that_both_ranks_move_arrive_whole_whatever_fails(
        seed in any::<u64>(),
        policy in policy(),
        faults in (0u64..60, 0u64..60),
        shape in (1usize..20, 0usize..6),
    ) {
        let loopback = Loopback { seed, inbox: shape.0, entries: shape.1, deposits: true };
        let layer = |rank: Rank| Fault::new(seed ^ u64::from(rank), 0, faults.0, faults.1);
        let results = Layered::new(loopback, layer).run(2, &Halves(policy)).unwrap();
        prop_assert!(results.iter().all(Result::is_ok), "{results:?}");
    }
}
