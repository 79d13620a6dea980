//! Threads that compute together with a rank's own, as W01's benchmark spins (slide 21).

use std::sync::mpsc::{Receiver, Sender, channel};

/// Multiply-adds over two vectors, from their start again and again.
pub(crate) fn daxpy(vectors: &mut Vec<f64>, elements: u64, turns: u64) {
    let elements = elements.max(1) as usize;
    if vectors.len() < 2 * elements {
        vectors.resize(2 * elements, 1.0);
    }
    let (x, y) = vectors.split_at_mut(elements);
    let mut left = turns as usize;
    while left > 0 {
        let part = left.min(elements);
        x[..part].iter().zip(&mut y[..part]).for_each(|(x, y)| *y += 0.5 * x);
        std::hint::black_box(&mut *y);
        left -= part;
    }
}

/// The other threads, which sleep until they are asked: they take no processor from what goes on between computations.
#[derive(Default)]
pub(crate) struct Threads(Vec<Thread>);

struct Thread {
    work: Sender<(u64, u64)>,
    done: Receiver<()>,
}

impl Thread {
    /// Ends with its `Sender`. `None` where the system starts no more threads.
    fn start() -> Option<Thread> {
        let (work, asked) = channel();
        let (tell, done) = channel();
        let run = move || {
            let mut vectors = Vec::new();
            while let Ok((elements, turns)) = asked.recv() {
                daxpy(&mut vectors, elements, turns);
                if tell.send(()).is_err() {
                    return;
                }
            }
        };
        std::thread::Builder::new().name("spin".to_owned()).spawn(run).ok()?;
        Some(Thread { work, done })
    }
}

impl Threads {
    /// The caller's thread and `threads - 1` others compute, each on vectors of its own; over when the last is done.
    /// The caller does the work of a thread that cannot be started: nothing is left out.
    pub(crate) fn daxpy(&mut self, own: &mut Vec<f64>, (elements, turns, threads): (u64, u64, u32)) {
        let others = threads.saturating_sub(1) as usize;
        while self.0.len() < others {
            match Thread::start() {
                Some(thread) => self.0.push(thread),
                None => break,
            }
        }
        let asked = self.0.iter().take(others).filter(|thread| thread.work.send((elements, turns)).is_ok());
        let asked: Vec<&Thread> = asked.collect();
        for _ in asked.len()..=others {
            daxpy(own, elements, turns);
        }
        for thread in asked {
            // It answers, or it has ended: either way nothing is to be waited for any longer.
            let _ = thread.done.recv();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All threads together do as often as many multiply-adds as one, on vectors of their own.
    #[test]
    fn each_thread_computes_and_the_callers_vectors_see_one_share() {
        let (mut threads, mut own) = (Threads::default(), Vec::new());
        for count in [1, 3, 2] {
            own.clear();
            threads.daxpy(&mut own, (4, 10, count));
            assert_eq!(own, [1.0, 1.0, 1.0, 1.0, 2.5, 2.5, 2.0, 2.0], "{count} threads");
        }
        assert_eq!(threads.0.len(), 2, "kept for the next computation");
    }
}
