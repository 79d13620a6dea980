//! The sort itself, as in NPB's message-passing version. Keys go to buckets by their leading bits; the ranks share out
//! the buckets evenly, exchange keys and count.

use super::keys::{Class, ITERATIONS, TESTS};
use super::share::{KEY, Order, Share};
use crate::Bench;
use hotlink_fabric::units::Time;
use hotlink_message::{Combine, Element, Endpoint, Error, Operation};
use hotlink_port::{Kind, Memory, Span};
use serde::{Deserialize, Serialize};

const COUNT: u64 = size_of::<u64>() as u64;
const TAG: u32 = 1;

/// The benchmark on any number of ranks that is a power of two.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IntegerSort {
    /// Problem size.
    pub class: Class,
}

/// The result of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sorted {
    /// Time of the ten iterations.
    pub time_us: f64,
    /// Its part spent in communication, waiting included.
    pub communication_us: f64,
    /// The published ranks of the test keys that fell to this rank were right in every iteration.
    pub partially_verified: bool,
    /// Test keys seen, over all iterations.
    pub tests: u64,
    /// Keys in order, here and towards the next rank.
    pub fully_verified: bool,
    /// Keys that this rank holds at the end.
    pub keys: u64,
}

impl IntegerSort {
    /// The whole run's result from the ranks'.
    pub fn verified(&self, ranks: &[Sorted]) -> bool {
        let all = |right: fn(&Sorted) -> bool| ranks.iter().all(right);
        let tests: u64 = ranks.iter().map(|rank| rank.tests).sum();
        let keys: u64 = ranks.iter().map(|rank| rank.keys).sum();
        all(|rank| rank.partially_verified)
            && all(|rank| rank.fully_verified)
            && tests == (TESTS * ITERATIONS) as u64
            && keys == self.class.keys()
    }
    /// Buckets: NPB has 2^10, and 2^9 for class S.
    fn buckets(&self) -> usize {
        if self.class == Class::S { 1 << 9 } else { 1 << 10 }
    }
}

impl Bench for IntegerSort {
    type Result = Sorted;
    async fn on<E: Endpoint>(&self, comm: &E) -> Result<Sorted, Error> {
        let mut sort = Sort::new(comm, self.class, self.buckets())?;
        sort.iterate(1).await?; // untimed, for caches and page tables
        sort.keys.result = Sorted { partially_verified: true, tests: 0, ..sort.keys.result };
        sort.talking = Time::ZERO;
        sort.comm.barrier().await?;
        let start = sort.comm.now();
        for iteration in 1..=ITERATIONS {
            sort.iterate(iteration).await?;
        }
        sort.keys.result.time_us = (sort.comm.now() - start).us();
        sort.keys.result.communication_us = sort.talking.us();
        sort.verify_order().await?;
        sort.comm.barrier().await?;
        Ok(sort.keys.result)
    }
}

/// A rank's keys and buffers.
struct Sort<'a, E: Endpoint> {
    comm: &'a E,
    keys: Share,
    memory: Buffers,
    talking: Time,
}

struct Buffers {
    sums_in: Span,
    sums_out: Span,
    counts_in: Span,
    counts_out: Span,
    keys_in: Memory,
    keys_in_bytes: u64,
    keys_out: Memory,
}

impl<'a, E: Endpoint> Sort<'a, E> {
    fn new(comm: &'a E, class: Class, buckets: usize) -> Result<Sort<'a, E>, Error> {
        let ranks = u64::from(comm.ranks());
        let share = class.keys() / ranks;
        let span = |bytes| Ok::<_, Error>(Span::new(comm.alloc(bytes, Kind::Default)?, 0, bytes));
        let sums = COUNT * (buckets + TESTS) as u64;
        let keys_in_bytes = KEY * (share + share / 4);
        let memory = Buffers {
            sums_in: span(sums)?,
            sums_out: span(sums)?,
            counts_in: span(COUNT * ranks)?,
            counts_out: span(COUNT * ranks)?,
            keys_in: comm.alloc(keys_in_bytes, Kind::Default)?,
            keys_in_bytes,
            keys_out: comm.alloc(KEY * share, Kind::Default)?,
        };
        let keys = Share::new(class, buckets, comm.rank(), comm.ranks());
        Ok(Sort { comm, keys, memory, talking: Time::ZERO })
    }

    async fn iterate(&mut self, iteration: usize) -> Result<(), Error> {
        self.keys.begin(iteration);
        self.comm.compute(self.keys.fill_buckets());
        self.sum_buckets().await?;
        let ends = self.keys.share_out();
        self.exchange(&ends).await?;
        self.comm.compute(self.keys.count(&ends));
        self.keys.check_tests(iteration);
        Ok(())
    }

    /// Bucket sizes and test keys of all ranks together.
    async fn sum_buckets(&mut self) -> Result<(), Error> {
        let start = self.comm.now();
        let Buffers { sums_in, sums_out, .. } = self.memory;
        self.write(sums_out, &self.keys.mine)?;
        let sum = Operation { combine: Combine::Sum, element: Element::I64 };
        self.comm.allreduce(sum, sums_out, sums_in).await?;
        self.keys.all = self.read(sums_in, self.keys.all.len())?;
        self.talking += self.comm.now() - start;
        Ok(())
    }

    /// Every rank gets the keys of its buckets.
    async fn exchange(&mut self, ends: &[usize]) -> Result<(), Error> {
        let start = self.comm.now();
        let mut first = 0;
        let mut outgoing = Vec::with_capacity(ends.len());
        for &end in ends {
            outgoing.push(self.keys.mine[first..end].iter().sum());
            first = end;
        }
        let Buffers { counts_in, counts_out, keys_out, .. } = self.memory;
        self.write(counts_out, &outgoing)?;
        self.comm.alltoall(counts_out, counts_in).await?;
        let incoming = self.read(counts_in, ends.len())?;
        let bytes = KEY * incoming.iter().sum::<u64>();
        if bytes > self.memory.keys_in_bytes {
            self.comm.free(self.memory.keys_in)?;
            (self.memory.keys_in, self.memory.keys_in_bytes) = (self.comm.alloc(bytes, Kind::Default)?, bytes);
        }
        self.comm.write(keys_out, 0, self.keys.bucketed.as_flattened())?;
        let (send, recv) = (spans(keys_out, &outgoing), spans(self.memory.keys_in, &incoming));
        self.comm.alltoallv(&send, &recv).await?;
        self.keys.received.resize((bytes / KEY) as usize, [0; KEY as usize]);
        self.comm.read(self.memory.keys_in, 0, self.keys.received.as_flattened_mut())?;
        self.talking += self.comm.now() - start;
        Ok(())
    }

    /// NPB's full verification: the sorted keys of this rank are in order and not below the last one of the rank before.
    async fn verify_order(&mut self) -> Result<(), Error> {
        let Order { holds, lowest, highest } = self.keys.order();
        let (rank, ranks) = (self.comm.rank(), self.comm.ranks());
        let (out, into) =
            (Span::new(self.memory.counts_out.memory, 0, COUNT), Span::new(self.memory.counts_in.memory, 0, COUNT));
        let receive = if rank > 0 { Some(self.comm.irecv(Some(rank - 1), Some(TAG), into)?) } else { None };
        if rank + 1 < ranks {
            self.write(out, &[highest])?;
            self.comm.send(rank + 1, TAG, out).await?;
        }
        let mut before = 0;
        if let Some(receive) = receive {
            self.comm.wait(receive).await?;
            before = self.read(into, 1)?[0];
        }
        self.keys.result.fully_verified = holds && before <= lowest;
        Ok(())
    }

    fn write(&self, to: Span, words: &[u64]) -> Result<(), Error> {
        let bytes: Vec<[u8; COUNT as usize]> = words.iter().map(|word| word.to_le_bytes()).collect();
        self.comm.write(to.memory, to.offset, bytes.as_flattened())
    }
    fn read(&self, from: Span, words: usize) -> Result<Vec<u64>, Error> {
        let mut bytes = vec![[0; COUNT as usize]; words];
        self.comm.read(from.memory, from.offset, bytes.as_flattened_mut())?;
        Ok(bytes.into_iter().map(u64::from_le_bytes).collect())
    }
}

/// Parts of `counts` keys, one after the other.
fn spans(memory: Memory, counts: &[u64]) -> Vec<Span> {
    let mut at = 0;
    let span = |&count: &u64| {
        let span = Span::new(memory, at, KEY * count);
        at += KEY * count;
        span
    };
    counts.iter().map(span).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OnPort;
    use hotlink_message::Comm;
    use hotlink_port::Driver;
    use hotlink_port::loopback::{Loopback, LoopbackPort};

    #[test]
    fn any_power_of_two_of_ranks_sorts() {
        let sort = IntegerSort { class: Class::S };
        for ranks in [1, 2, 4, 8] {
            let results: Vec<Result<Sorted, Error>> = Loopback::default().run(ranks, &OnPort(&sort)).expect("runs");
            let results: Vec<Sorted> = results.into_iter().collect::<Result<_, _>>().expect("no refusal");
            assert!(sort.verified(&results), "{ranks} ranks: {results:?}");
            assert!(results.iter().all(|rank| rank.communication_us < rank.time_us));
        }
    }

    /// The result of each rank when a fault happens between the exchange and the count of the last iteration.
    fn with_fault(fault: fn(&mut Sort<'_, Comm<LoopbackPort>>)) -> Vec<Sorted> {
        let program = async |port: LoopbackPort| -> Result<Sorted, Error> {
            let comm = Comm::new(port);
            let mut sort = Sort::new(&comm, Class::S, 1 << 9)?;
            for iteration in 1..=ITERATIONS {
                sort.iterate(iteration).await?;
            }
            let ends = sort.keys.share_out();
            if sort.comm.rank() == 0 {
                fault(&mut sort);
            }
            _ = sort.keys.count(&ends);
            sort.keys.result.tests = 0;
            (1..=ITERATIONS).for_each(|_| sort.keys.check_tests(ITERATIONS));
            sort.verify_order().await?;
            sort.comm.barrier().await?;
            Ok(sort.keys.result)
        };
        let results: Vec<Result<Sorted, Error>> = Loopback::default().run(2, &program).expect("runs");
        results.into_iter().collect::<Result<_, _>>().expect("no refusal")
    }

    #[test]
    fn faults_of_the_transport_are_found() {
        let sort = IntegerSort { class: Class::S };
        assert!(sort.verified(&with_fault(|_| ())));
        let lost: fn(&mut Sort<'_, Comm<LoopbackPort>>) = |sort| _ = sort.keys.received.pop();
        let doubled: fn(&mut Sort<'_, Comm<LoopbackPort>>) = |sort| sort.keys.received.push(sort.keys.received[0]);
        let elsewhere: fn(&mut Sort<'_, Comm<LoopbackPort>>) = |sort| sort.keys.received[3] = [255, 255, 0, 0];
        let replaced: fn(&mut Sort<'_, Comm<LoopbackPort>>) = |sort| sort.keys.received.fill([1, 0, 0, 0]);
        for (name, fault) in [("lost", lost), ("doubled", doubled), ("elsewhere", elsewhere), ("replaced", replaced)] {
            assert!(!sort.verified(&with_fault(fault)), "{name}");
        }
    }
}
