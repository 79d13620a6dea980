//! The sort itself, as in NPB's message-passing version. Keys go to buckets by their leading bits; the ranks share out
//! the buckets evenly, exchange keys and count.

use super::keys::{Class, ITERATIONS, TESTS, bucket_work, count_work, keys};
use crate::Bench;
use hotlink_fabric::units::Time;
use hotlink_message::{Combine, Element, Endpoint, Error, Operation};
use hotlink_port::{Kind, Memory, Span, Work};
use serde::{Deserialize, Serialize};

const KEY: u64 = size_of::<u32>() as u64;
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
        sort.result = Sorted { partially_verified: true, tests: 0, ..sort.result };
        sort.talking = Time::ZERO;
        sort.comm.barrier().await?;
        let start = sort.comm.now();
        for iteration in 1..=ITERATIONS {
            sort.iterate(iteration).await?;
        }
        sort.result.time_us = (sort.comm.now() - start).us();
        sort.result.communication_us = sort.talking.us();
        sort.verify_order().await?;
        sort.comm.barrier().await?;
        Ok(sort.result)
    }
}

/// A rank's keys and buffers.
struct Sort<'a, E: Endpoint> {
    comm: &'a E,
    class: Class,
    /// Its part of the sequence.
    sequence: Vec<u32>,
    /// The same in buckets, as it is sent; then what came.
    bucketed: Vec<[u8; KEY as usize]>,
    received: Vec<[u8; KEY as usize]>,
    /// Bits to shift a key by for its bucket.
    shift: u32,
    /// Of each bucket, here: keys; and of all ranks together, with the test keys behind.
    mine: Vec<u64>,
    all: Vec<u64>,
    /// Of each key in this rank's range: how many there are.
    counts: Vec<u32>,
    /// First key of the range, and the number of keys on lower ranks.
    first_key: u32,
    below: u64,
    memory: Buffers,
    talking: Time,
    result: Sorted,
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
        let start = share * u64::from(comm.rank());
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
        Ok(Sort {
            class,
            sequence: keys(class, start..start + share),
            bucketed: vec![[0; KEY as usize]; share as usize],
            received: Vec::new(),
            shift: class.key_limit().trailing_zeros() - buckets.trailing_zeros(),
            mine: vec![0; buckets + TESTS],
            all: vec![0; buckets + TESTS],
            counts: Vec::new(),
            first_key: 0,
            below: 0,
            memory,
            talking: Time::ZERO,
            result: Sorted {
                time_us: 0.0,
                communication_us: 0.0,
                partially_verified: true,
                tests: 0,
                fully_verified: false,
                keys: 0,
            },
            comm,
        })
    }

    async fn iterate(&mut self, iteration: usize) -> Result<(), Error> {
        if self.comm.rank() == 0 {
            self.sequence[iteration] = iteration as u32;
            self.sequence[iteration + ITERATIONS] = self.class.key_limit() - iteration as u32;
        }
        self.fill_buckets();
        self.sum_buckets().await?;
        let ends = self.share_out();
        self.exchange(&ends).await?;
        self.count(&ends);
        self.check_tests(iteration);
        Ok(())
    }

    /// Counts this rank's keys by bucket and puts them in order of buckets; notes the test keys that it has.
    fn fill_buckets(&mut self) {
        let buckets = self.mine.len() - TESTS;
        self.mine.fill(0);
        for &key in &self.sequence {
            self.mine[(key >> self.shift) as usize] += 1;
        }
        let mut next = Vec::with_capacity(buckets);
        let mut sum = 0;
        for &count in &self.mine[..buckets] {
            next.push(sum);
            sum += count as usize;
        }
        for &key in &self.sequence {
            let place = &mut next[(key >> self.shift) as usize];
            self.bucketed[*place] = key.to_le_bytes();
            *place += 1;
        }
        let share = self.sequence.len() as u64;
        let start = share * u64::from(self.comm.rank());
        for (test, position) in self.class.test_positions().into_iter().enumerate() {
            if let Some(offset) = position.checked_sub(start).filter(|&offset| offset < share) {
                self.mine[buckets + test] = u64::from(self.sequence[offset as usize]);
            }
        }
        let (streamed, scattered) = bucket_work(share);
        self.comm.compute(Work::Own { streamed, scattered });
    }

    /// Bucket sizes and test keys of all ranks together.
    async fn sum_buckets(&mut self) -> Result<(), Error> {
        let start = self.comm.now();
        let Buffers { sums_in, sums_out, .. } = self.memory;
        self.write(sums_out, &self.mine)?;
        let sum = Operation { combine: Combine::Sum, element: Element::I64 };
        self.comm.allreduce(sum, sums_out, sums_in).await?;
        self.all = self.read(sums_in, self.all.len())?;
        self.talking += self.comm.now() - start;
        Ok(())
    }

    /// For each rank the bucket after its last one: as even as whole buckets allow.
    fn share_out(&self) -> Vec<usize> {
        let buckets = self.all.len() - TESTS;
        let ranks = self.comm.ranks() as usize;
        let (mut ends, mut sum) = (Vec::with_capacity(ranks), 0);
        for (bucket, &count) in self.all[..buckets].iter().enumerate() {
            sum += count;
            while ends.len() + 1 < ranks && sum >= (ends.len() as u64 + 1) * self.class.keys() / ranks as u64 {
                ends.push(bucket + 1);
            }
        }
        ends.resize(ranks, buckets);
        ends
    }

    /// Every rank gets the keys of its buckets.
    async fn exchange(&mut self, ends: &[usize]) -> Result<(), Error> {
        let start = self.comm.now();
        let mut first = 0;
        let mut outgoing = Vec::with_capacity(ends.len());
        for &end in ends {
            outgoing.push(self.mine[first..end].iter().sum());
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
        self.comm.write(keys_out, 0, self.bucketed.as_flattened())?;
        let (send, recv) = (spans(keys_out, &outgoing), spans(self.memory.keys_in, &incoming));
        self.comm.alltoallv(&send, &recv).await?;
        self.received.resize((bytes / KEY) as usize, [0; KEY as usize]);
        self.comm.read(self.memory.keys_in, 0, self.received.as_flattened_mut())?;
        self.talking += self.comm.now() - start;
        Ok(())
    }

    /// Counts how often each key of this rank's range came, and keys on lower ranks.
    fn count(&mut self, ends: &[usize]) {
        let rank = self.comm.rank() as usize;
        let first = if rank == 0 { 0 } else { ends[rank - 1] };
        self.first_key = (first as u32) << self.shift;
        self.below = self.all[..first].iter().sum();
        let range = (ends[rank] - first) << self.shift;
        self.counts.clear();
        self.counts.resize(range, 0);
        for &key in &self.received {
            // A key out of range is a fault of the transport, for the verification to find.
            if let Some(count) = self.counts.get_mut(u32::from_le_bytes(key).wrapping_sub(self.first_key) as usize) {
                *count += 1;
            }
        }
        // NPB ranks by summing the counts; here as there once for each iteration.
        let mut sum = 0;
        for count in &mut self.counts {
            sum += *count;
            *count = sum;
        }
        let received = self.received.len() as u64;
        self.result.keys = received;
        let (streamed, scattered) = count_work(received, range as u64);
        self.comm.compute(Work::Own { streamed, scattered });
    }

    /// The published ranks of those test keys that lie in this rank's range.
    fn check_tests(&mut self, iteration: usize) {
        let buckets = self.all.len() - TESTS;
        for test in 0..TESTS {
            let key = self.all[buckets + test];
            let Some(offset) = key.checked_sub(u64::from(self.first_key)) else { continue };
            if offset >= self.counts.len() as u64 {
                continue;
            }
            let smaller = if offset == 0 { 0 } else { self.counts[offset as usize - 1] };
            let rank = (self.below + u64::from(smaller)) as i64;
            self.result.tests += 1;
            self.result.partially_verified &= rank == self.class.test_rank(test, iteration);
        }
    }

    /// NPB's full verification: the sorted keys of this rank are in order and not below the last one of the rank before.
    async fn verify_order(&mut self) -> Result<(), Error> {
        let limit = u64::from(self.first_key) + self.counts.len() as u64;
        let of = |key: &[u8; KEY as usize]| u64::from(u32::from_le_bytes(*key));
        let inside = |key| (u64::from(self.first_key)..limit).contains(&of(key));
        let counted = self.counts.last().copied().unwrap_or(0) as usize == self.received.len();
        let highest = self.received.iter().map(of).max().unwrap_or(u64::from(self.first_key));
        let lowest = self.received.iter().map(of).min().unwrap_or(limit);
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
        self.result.fully_verified = counted && self.received.iter().all(inside) && before <= lowest;
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
            let ends = sort.share_out();
            if sort.comm.rank() == 0 {
                fault(&mut sort);
            }
            sort.count(&ends);
            sort.result.tests = 0;
            (1..=ITERATIONS).for_each(|_| sort.check_tests(ITERATIONS));
            sort.verify_order().await?;
            sort.comm.barrier().await?;
            Ok(sort.result)
        };
        let results: Vec<Result<Sorted, Error>> = Loopback::default().run(2, &program).expect("runs");
        results.into_iter().collect::<Result<_, _>>().expect("no refusal")
    }

    #[test]
    fn faults_of_the_transport_are_found() {
        let sort = IntegerSort { class: Class::S };
        assert!(sort.verified(&with_fault(|_| ())));
        let lost: fn(&mut Sort<'_, Comm<LoopbackPort>>) = |sort| _ = sort.received.pop();
        let doubled: fn(&mut Sort<'_, Comm<LoopbackPort>>) = |sort| sort.received.push(sort.received[0]);
        let elsewhere: fn(&mut Sort<'_, Comm<LoopbackPort>>) = |sort| sort.received[3] = [255, 255, 0, 0];
        let replaced: fn(&mut Sort<'_, Comm<LoopbackPort>>) = |sort| sort.received.fill([1, 0, 0, 0]);
        for (name, fault) in [("lost", lost), ("doubled", doubled), ("elsewhere", elsewhere), ("replaced", replaced)] {
            assert!(!sort.verified(&with_fault(fault)), "{name}");
        }
    }
}
