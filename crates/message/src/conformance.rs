//! Every collective by every algorithm against its definition, as a program for any port: a driver passes by being
//! handed to [`check`].

use crate::{Algorithm, Collective, Combine, Comm, Element, Error, Operation};
use hotlink_port::{Driver, Kind, Layout, Port, Program, Rank, RunError, Span};

/// Runs all collectives by all algorithms that the port can do on so many ranks. Each of `cases` is a number of 8-byte
/// words and a root. Returns the complaints, each with its rank; none if all is well.
pub fn check<D: Driver>(driver: &mut D, ranks: u32, cases: &[(u64, Rank)]) -> Vec<String> {
    let results: Result<Vec<Result<Vec<String>, Error>>, RunError> = driver.run(ranks, &All { cases });
    match results {
        Err(error) => vec![error.to_string()],
        Ok(all) => {
            let told = |(rank, result): (usize, Result<Vec<String>, Error>)| match result {
                Ok(complaints) => complaints.into_iter().map(|what| format!("rank {rank}: {what}")).collect(),
                Err(error) => vec![format!("rank {rank}: {error}")],
            };
            all.into_iter().enumerate().flat_map(told).collect()
        }
    }
}

struct All<'a> {
    cases: &'a [(u64, Rank)],
}

impl<P: Port> Program<P, Result<Vec<String>, Error>> for All<'_> {
    async fn run(&self, port: P) -> Result<Vec<String>, Error> {
        let comm = Comm::new(port);
        let mut complaints = Vec::new();
        for &(words, root) in self.cases {
            for collective in Collective::ALL {
                for &algorithm in collective.algorithms() {
                    if !algorithm.is_possible(collective, comm.limits()) {
                        continue;
                    }
                    comm.force(collective, Some(algorithm))?;
                    let case = Case { comm: &comm, words, root };
                    if let Err(what) = case.run(collective).await {
                        let what = what.unwrap_or_else(|error| error.to_string());
                        let of = format!("{} by {}, {words} words", collective.name(), algorithm.name());
                        complaints.push(format!("{of}, root {root}: {what}"));
                    }
                    comm.force(collective, None)?;
                }
            }
        }
        for collective in Collective::ALL {
            let (words, root) = self.cases.first().copied().unwrap_or((1, 0));
            if let Err(what) = (Case { comm: &comm, words, root }).run(collective).await {
                complaints.push(format!("{} as picked: {what:?}", collective.name()));
            }
        }
        let wrong = refusals(&comm);
        complaints.extend(wrong.then(|| "an algorithm of another collective can be forced".to_owned()));
        comm.barrier().await?;
        Ok(complaints)
    }
}

fn refusals<P: Port>(comm: &Comm<P>) -> bool {
    let known = |collective: Collective, algorithm| collective.algorithms().contains(&algorithm);
    [Algorithm::Bruck, Algorithm::Tree, Algorithm::Rabenseifner, Algorithm::Linear].into_iter().any(|algorithm| {
        Collective::ALL.iter().any(|&c| !known(c, algorithm) && comm.force(c, Some(algorithm)).is_ok())
    })
}

/// The complaint (or the error on the way).
type Wrong = Result<String, Error>;

/// The word that `from` has for `to`.
fn word(from: Rank, to: Rank, i: u64) -> i64 {
    i64::from(from) * 1_000_000 + i64::from(to) * 1000 + i as i64 % 997
}

/// Words of the part of rank `from` for rank `to` where parts differ.
fn uneven(words: u64, from: Rank, to: Rank) -> u64 {
    words * u64::from((from + 2 * to) % 3) / 2
}

struct Case<'a, P: Port> {
    comm: &'a Comm<P>,
    words: u64,
    root: Rank,
}

impl<P: Port> Case<'_, P> {
    fn buffer(&self, words: u64) -> Result<Span, Wrong> {
        Ok(Span::new(self.comm.alloc(8 * words, Kind::Default).map_err(Err)?, 0, 8 * words))
    }
    fn set(&self, span: Span, words: impl Iterator<Item = i64>) -> Result<(), Wrong> {
        let bytes: Vec<u8> = words.flat_map(i64::to_ne_bytes).collect();
        let mut taken = 0;
        for (at, run) in span.layout.runs(0, span.bytes()) {
            let piece = &bytes[taken..taken + run as usize];
            self.comm.write(span.memory, span.offset + at, piece).map_err(Err)?;
            taken += run as usize;
        }
        Ok(())
    }
    /// Compares and frees.
    fn expect(&self, span: Span, wanted: impl Iterator<Item = i64>) -> Result<(), Wrong> {
        let mut bytes = Vec::new();
        for (at, run) in span.layout.runs(0, span.bytes()) {
            let mut piece = vec![0; run as usize];
            self.comm.read(span.memory, span.offset + at, &mut piece).map_err(Err)?;
            bytes.extend(piece);
        }
        self.comm.free(span.memory).map_err(Err)?;
        let seen = bytes.as_chunks().0.iter().map(|word| i64::from_ne_bytes(*word));
        let differs = seen.zip(wanted).enumerate().find(|(_, (seen, wanted))| seen != wanted);
        differs.map_or(Ok(()), |(i, (seen, wanted))| Err(Ok(format!("word {i} is {seen} where {wanted} is due"))))
    }
    fn mine(&self, to: Rank) -> impl Iterator<Item = i64> {
        let (me, words) = (self.comm.rank(), self.words);
        (0..words).map(move |i| word(me, to, i))
    }
    fn due_from_all(&self, to: Rank) -> impl Iterator<Item = i64> {
        let words = self.words;
        (0..self.comm.ranks()).flat_map(move |from| (0..words).map(move |i| word(from, to, i)))
    }
    fn sums(&self) -> impl Iterator<Item = i64> {
        let ranks = self.comm.ranks();
        (0..self.words).map(move |i| (0..ranks).map(|from| word(from, 0, i)).sum())
    }

    async fn run(&self, collective: Collective) -> Result<(), Wrong> {
        match collective {
            Collective::Barrier => self.comm.barrier().await.map_err(Err),
            Collective::Bcast => self.bcast().await,
            Collective::Reduce | Collective::Allreduce => self.reduce(collective == Collective::Allreduce).await,
            Collective::Gather => self.gather().await,
            Collective::Scatter => self.scatter().await,
            Collective::Allgather => self.allgather().await,
            Collective::Alltoall => self.alltoall().await,
            Collective::ReduceScatter => self.reduce_scatter().await,
        }
    }
    async fn bcast(&self) -> Result<(), Wrong> {
        let (me, root, words) = (self.comm.rank(), self.root, self.words);
        // Every third rank's span has gaps.
        let mut span = self.buffer(2 * words)?;
        span.layout = if me % 3 == 1 { Layout::strided(8, words, 16) } else { Layout::contiguous(8 * words) };
        self.set(span, self.mine(0))?;
        self.comm.bcast(root, span).await.map_err(Err)?;
        self.expect(span, (0..words).map(|i| word(root, 0, i)))
    }
    async fn reduce(&self, all: bool) -> Result<(), Wrong> {
        let (comm, root) = (self.comm, self.root);
        let (send, recv) = (self.buffer(self.words)?, self.buffer(self.words)?);
        self.set(send, self.mine(0))?;
        for combine in [Combine::Sum, Combine::Max] {
            let operation = Operation { combine, element: Element::I64 };
            match all {
                true => comm.allreduce(operation, send, recv).await.map_err(Err)?,
                false => comm.reduce(root, operation, send, recv).await.map_err(Err)?,
            }
            if combine == Combine::Sum && (all || comm.rank() == root) {
                let copy = self.buffer(self.words)?;
                comm.with_port(|port| port.copy(recv, copy)).map_err(|refusal| Err(refusal.into()))?;
                self.expect(copy, self.sums())?;
            }
        }
        let last = comm.ranks() - 1;
        let due: Vec<i64> = (0..self.words).map(|i| word(last, 0, i)).collect();
        let due = if all || comm.rank() == root { due } else { Vec::new() };
        self.expect(send, self.mine(0))?;
        self.expect(recv, due.into_iter())
    }
    async fn reduce_scatter(&self) -> Result<(), Wrong> {
        let (comm, words) = (self.comm, self.words);
        let (me, ranks) = (comm.rank(), comm.ranks());
        let (send, recv) = (self.buffer(words * u64::from(ranks))?, self.buffer(words)?);
        self.set(send, (0..ranks).flat_map(|to| self.mine(to)))?;
        let operation = Operation { combine: Combine::Sum, element: Element::I64 };
        comm.reduce_scatter(operation, send, recv).await.map_err(Err)?;
        self.expect(recv, (0..words).map(|i| (0..ranks).map(|from| word(from, me, i)).sum()))?;
        self.expect(send, (0..ranks).flat_map(|to| self.mine(to)))
    }
    async fn gather(&self) -> Result<(), Wrong> {
        let (comm, root, words) = (self.comm, self.root, self.words);
        let (me, ranks) = (comm.rank(), comm.ranks());
        let (one, all) = (self.buffer(words)?, self.buffer(words * u64::from(ranks))?);
        self.set(one, self.mine(0))?;
        comm.gather(root, one, all).await.map_err(Err)?;
        let due: Vec<i64> = if me == root { self.due_from_all(0).collect() } else { Vec::new() };
        self.expect(all, due.into_iter())?;
        let all = self.buffer(words * u64::from(ranks))?;
        let (parts, part) = (parts_of(all, |from| uneven(words, from, root), ranks), uneven(words, me, root));
        comm.gatherv(root, Span::new(one.memory, 0, 8 * part), &parts).await.map_err(Err)?;
        let due = (0..ranks).flat_map(|from| (0..uneven(words, from, root)).map(move |i| word(from, 0, i)));
        let due: Vec<i64> = if me == root { due.collect() } else { Vec::new() };
        self.expect(all, due.into_iter())?;
        comm.free(one.memory).map_err(Err)
    }
    async fn scatter(&self) -> Result<(), Wrong> {
        let (comm, root, words) = (self.comm, self.root, self.words);
        let (me, ranks) = (comm.rank(), comm.ranks());
        let (one, all) = (self.buffer(words)?, self.buffer(words * u64::from(ranks))?);
        self.set(all, (0..ranks).flat_map(|to| self.mine(to)))?;
        comm.scatter(root, all, one).await.map_err(Err)?;
        self.expect(one, (0..words).map(|i| word(root, me, i)))?;
        let parts = parts_of(all, |to| uneven(words, root, to), ranks);
        let mine = self.buffer(uneven(words, root, me))?;
        comm.scatterv(root, &parts, mine).await.map_err(Err)?;
        let before: u64 = (0..me).map(|to| uneven(words, root, to)).sum();
        let sent: Vec<i64> = (0..ranks).flat_map(|to| (0..words).map(move |i| word(root, to, i))).collect();
        self.expect(mine, sent[before as usize..].iter().copied())?;
        comm.free(all.memory).map_err(Err)
    }
    async fn allgather(&self) -> Result<(), Wrong> {
        let (comm, words) = (self.comm, self.words);
        let (me, ranks) = (comm.rank(), comm.ranks());
        let one = self.buffer(words)?;
        self.set(one, self.mine(0))?;
        let mut all = self.buffer(2 * words * u64::from(ranks))?;
        let count = words * u64::from(ranks);
        all.layout = if me % 3 == 1 { Layout::strided(8, count, 16) } else { Layout::contiguous(8 * count) };
        comm.allgather(one, all).await.map_err(Err)?;
        self.expect(all, self.due_from_all(0))?;
        let all = self.buffer(count)?;
        let parts = parts_of(all, |from| uneven(words, from, 0), ranks);
        let part = Span::new(one.memory, 0, 8 * uneven(words, me, 0));
        comm.allgatherv(part, &parts).await.map_err(Err)?;
        self.expect(all, (0..ranks).flat_map(|from| (0..uneven(words, from, 0)).map(move |i| word(from, 0, i))))?;
        comm.free(one.memory).map_err(Err)
    }
    async fn alltoall(&self) -> Result<(), Wrong> {
        let (comm, words) = (self.comm, self.words);
        let (me, ranks) = (comm.rank(), comm.ranks());
        let (send, recv) = (self.buffer(words * u64::from(ranks))?, self.buffer(words * u64::from(ranks))?);
        self.set(send, (0..ranks).flat_map(|to| self.mine(to)))?;
        comm.alltoall(send, recv).await.map_err(Err)?;
        self.expect(recv, self.due_from_all(me))?;
        let recv = self.buffer(words * u64::from(ranks))?;
        let there: Vec<Span> = comm.parts(send).map_err(Err)?;
        let there: Vec<Span> = (0..ranks).map(|to| short(there[to as usize], uneven(words, me, to))).collect();
        let here = parts_of(recv, |from| uneven(words, from, me), ranks);
        comm.alltoallv(&there, &here).await.map_err(Err)?;
        self.expect(recv, (0..ranks).flat_map(|from| (0..uneven(words, from, me)).map(move |i| word(from, me, i))))?;
        comm.free(send.memory).map_err(Err)
    }
}

/// Parts of that many words each, in a row.
fn parts_of(all: Span, words: impl Fn(Rank) -> u64, ranks: u32) -> Vec<Span> {
    let mut at = 0;
    (0..ranks)
        .map(|rank| {
            let part = Span::new(all.memory, at, 8 * words(rank));
            at += part.bytes();
            part
        })
        .collect()
}

fn short(span: Span, words: u64) -> Span {
    Span::new(span.memory, span.offset, 8 * words)
}
