//! A transfer as a pipeline: items (bursts, packets, words) pass through servers one after another. Each server takes
//! one item at a time. Windows bound how many items may be between two steps (stream buffers, staging memory).
//!
//! It runs on the event core, so two steps that share a server (a half-duplex bus) compete for it. What limits the
//! transfer shows as busy time of a server, or as time that a server waited for a window.

use crate::{Event, Queue, RadixHeap, TraceHash};
use hotlink_fabric::units::Time;
use std::collections::VecDeque;

/// One step of every item.
#[derive(Clone, Debug)]
pub struct Step {
    /// Index into [`Pipeline::servers`].
    pub server: usize,
    /// Time that the server is occupied by the first item, those between, and the last.
    pub service: [Time; 3],
    /// Time from the end of service to the next step, during which the server is free.
    pub latency: Time,
}

/// At most `size` items between the start of step `from` and the end (latency included) of step `to`.
#[derive(Clone, Debug)]
pub struct Window {
    /// Name, as `limiting_resource` prints it.
    pub name: &'static str,
    /// The step at whose start an item enters.
    pub from: usize,
    /// The step at whose end it leaves.
    pub to: usize,
    /// Items within it at most.
    pub size: u64,
}

/// How bytes fall into items of `unit` bytes: the first and the last may be short.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pieces {
    /// How many.
    pub items: u32,
    /// Bytes of the first item, those between, and the last.
    pub bytes: [u64; 3],
}

impl Pieces {
    /// `bytes` that start `offset` bytes after a multiple of `unit`.
    ///
    /// # Panics
    /// More than 2^32 items.
    pub fn new(bytes: u64, unit: u64, offset: u64) -> Pieces {
        let first = bytes.min(unit - offset % unit);
        let rest = bytes - first;
        let items = 1 + rest.div_ceil(unit);
        let last = if rest == 0 { first } else { rest - (items - 2) * unit };
        let items = u32::try_from(items).expect("no transfer has so many items");
        Pieces { items, bytes: [first, unit, last] }
    }
}

/// A transfer.
#[derive(Clone, Debug, Default)]
pub struct Pipeline {
    /// Names of the servers.
    pub servers: Vec<String>,
    /// What each item passes through.
    pub steps: Vec<Step>,
    /// What bounds the items between two steps.
    pub windows: Vec<Window>,
    /// The items.
    pub pieces: Pieces,
    /// The step at whose end the data have arrived; steps after it (responses) only free windows.
    pub arrival: usize,
    /// Time before the first item starts (setup).
    pub start: Time,
}

/// What came out of one or more pipelines run one after another.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// When the data had arrived.
    pub time: Time,
    /// Busy time of each server and waiting time of each window, by name.
    pub load: Vec<(String, Time)>,
    /// Events of the simulation.
    pub events: u64,
    /// Steps done: items through servers.
    pub hops: u64,
    /// Hash of the course of events.
    pub trace: TraceHash,
}

impl Outcome {
    /// Adds time on a resource.
    pub fn charge(&mut self, name: &str, time: Time) {
        match self.load.iter_mut().find(|(known, _)| known == name) {
            Some((_, sum)) => *sum += time,
            None => self.load.push((name.to_owned(), time)),
        }
    }

    /// The resource with the most time, and that time; of equals the first.
    pub fn limiting(&self) -> Option<(&str, Time)> {
        let mut most: Option<&(String, Time)> = None;
        for entry in &self.load {
            if most.is_none_or(|most| entry.1 > most.1) {
                most = Some(entry);
            }
        }
        most.map(|(name, time)| (name.as_str(), *time))
    }

    /// Work of one resource alone after all that was before.
    pub fn then(&mut self, name: &str, time: Time) {
        self.time += time;
        self.charge(name, time);
        self.trace.add(self.time.0, Event::new(DONE, 0, 0));
        self.events += 1;
        self.hops += 1;
    }
}

const ARRIVE: u8 = 1;
const DONE: u8 = 2;

/// A server at run time.
#[derive(Default)]
struct Server {
    /// For each of its steps the items that wait, with the event at which they came. A window keeps out all items of a
    /// step or none, so only the first of each needs a check.
    waiting: Vec<(usize, VecDeque<(u64, u32)>)>,
    busy: bool,
    work: Time,
    /// Since when it stands idle with items that a window keeps out, and which window.
    kept_out: Option<(u64, usize)>,
}

struct Run<'a> {
    pipeline: &'a Pipeline,
    queue: RadixHeap,
    servers: Vec<Server>,
    /// Items within each window.
    within: Vec<u64>,
    waited: Vec<Time>,
    outcome: Outcome,
}

impl Pipeline {
    /// Adds a server.
    pub fn server(&mut self, name: &str) -> usize {
        self.servers.push(name.to_owned());
        self.servers.len() - 1
    }

    /// A transfer without steps.
    pub fn new(pieces: Pieces) -> Pipeline {
        Pipeline { pieces, ..Pipeline::default() }
    }

    /// Adds a step that occupies `server` for what `service` says of an item's bytes.
    pub fn step(&mut self, server: usize, service: impl Fn(u64) -> Time, latency: Time) -> usize {
        self.steps.push(Step { server, service: self.pieces.bytes.map(service), latency });
        self.steps.len() - 1
    }

    /// Items between the first and the last take at least `least` of the step: what is behind it cannot take more.
    pub fn no_faster(&mut self, step: usize, least: Time) {
        let [_, between, _] = &mut self.steps[step].service;
        *between = (*between).max(least);
    }

    /// The same transfer while the receiver sends as much back. Each node's devices do the sender's part of one
    /// transfer and the receiver's of the other. One channel carries the requests of one direction and the responses to
    /// the other. By symmetry one transfer is simulated, on servers that do both.
    #[must_use]
    pub fn both_ways(mut self) -> Pipeline {
        let whole = |name: &str| name.split(" (").next().unwrap_or(name).to_owned();
        let device: Vec<String> = self.servers.iter().map(|name| whole(name)).collect();
        let first = |name: &String| device.iter().position(|known| known == name).expect("itself at the latest");
        for step in &mut self.steps {
            step.server = first(&device[step.server]);
        }
        self.servers = device;
        self
    }

    /// Runs it.
    #[must_use]
    pub fn run(&self) -> Outcome {
        let mut servers: Vec<Server> = self.servers.iter().map(|_| Server::default()).collect();
        for (index, step) in self.steps.iter().enumerate() {
            servers[step.server].waiting.push((index, VecDeque::new()));
        }
        let waited = vec![Time::ZERO; self.windows.len()];
        let within = vec![0; self.windows.len()];
        let (queue, outcome) = (RadixHeap::default(), Outcome::default());
        let mut run = Run { pipeline: self, queue, servers, within, waited, outcome };
        if self.pieces.items > 0 {
            run.queue.push(self.start.0, Event::new(ARRIVE, 0, 0));
        }
        while let Some((now, event)) = run.queue.pop() {
            run.outcome.events += 1;
            run.outcome.trace.add(now, event);
            match event.kind() {
                ARRIVE => run.arrive(now, event.extra() as usize, event.id()),
                _ => run.done(now, event.extra() as usize, event.id()),
            }
        }
        run.finish()
    }
}

impl Run<'_> {
    /// `item` arrives at `step`, or has passed the last one.
    fn arrive(&mut self, now: u64, step: usize, item: u32) {
        if step > 0 {
            self.leave(now, step - 1, item);
        }
        if let Some(next) = self.pipeline.steps.get(step) {
            let queues = &mut self.servers[next.server].waiting;
            let queue = queues.iter_mut().find(|(of, _)| *of == step).expect("one for each step of the server");
            queue.1.push_back((self.outcome.events, item));
            self.start(now, next.server);
        }
    }

    /// `item` has ended `step`: windows that end here have room again.
    fn leave(&mut self, now: u64, step: usize, item: u32) {
        if step == self.pipeline.arrival && item + 1 == self.pipeline.pieces.items {
            self.outcome.time = Time(now);
        }
        for (index, window) in self.pipeline.windows.iter().enumerate() {
            if window.to == step {
                self.within[index] -= 1;
                self.start(now, self.pipeline.steps[window.from].server);
            }
        }
    }

    fn done(&mut self, now: u64, step: usize, item: u32) {
        let at = &self.pipeline.steps[step];
        self.servers[at.server].busy = false;
        self.outcome.hops += 1;
        self.queue.push(now + at.latency.0, Event::new(ARRIVE, item, step as u32 + 1));
        if step == 0 && item + 1 < self.pipeline.pieces.items {
            self.arrive(now, 0, item + 1);
        }
        self.start(now, at.server);
    }

    /// The window that keeps items out of `step`, if one does.
    fn full(&self, step: usize) -> Option<usize> {
        let windows = &self.pipeline.windows;
        (0..windows.len()).find(|&index| windows[index].from == step && self.within[index] >= windows[index].size)
    }

    /// Starts the first waiting item that no window keeps out, if the server is free.
    fn start(&mut self, now: u64, index: usize) {
        let server = &self.servers[index];
        if server.busy {
            return;
        }
        let heads = server.waiting.iter().enumerate();
        let heads = heads.filter_map(|(queue, (step, items))| Some((items.front()?.0, queue, *step)));
        let Some((_, queue, step)) = heads.clone().filter(|&(_, _, step)| self.full(step).is_none()).min() else {
            let kept_out = heads.min().and_then(|(_, _, step)| self.full(step));
            if let Some(window) = kept_out {
                self.servers[index].kept_out.get_or_insert((now, window));
            }
            return;
        };
        self.serve(now, index, queue, step);
    }

    /// The server takes the first item of `queue`.
    fn serve(&mut self, now: u64, index: usize, queue: usize, step: usize) {
        let server = &mut self.servers[index];
        if let Some((since, window)) = server.kept_out.take() {
            self.waited[window] += Time(now - since);
        }
        let (_, item) = server.waiting[queue].1.pop_front().expect("its head was seen");
        let [first, between, last] = self.pipeline.steps[step].service;
        let service = match item {
            0 => first,
            item if item + 1 == self.pipeline.pieces.items => last,
            _ => between,
        };
        server.busy = true;
        server.work += service;
        for (within, window) in self.within.iter_mut().zip(&self.pipeline.windows) {
            *within += u64::from(window.from == step);
        }
        self.queue.push(now + service.0, Event::new(DONE, item, step as u32));
    }

    fn finish(mut self) -> Outcome {
        debug_assert!(self.within.iter().all(|&within| within == 0), "every item left its windows");
        for (name, server) in self.pipeline.servers.iter().zip(&self.servers) {
            self.outcome.charge(name, server.work);
        }
        for (window, waited) in self.pipeline.windows.iter().zip(&self.waited) {
            self.outcome.charge(window.name, *waited);
        }
        self.outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line(services: &[u64], items: u32) -> Pipeline {
        let mut pipeline = Pipeline::new(Pieces { items, bytes: [1; 3] });
        pipeline.arrival = services.len() - 1;
        for (index, &service) in services.iter().enumerate() {
            let server = pipeline.server(&format!("s{index}"));
            pipeline.step(server, |_| Time(service), Time::ZERO);
        }
        pipeline
    }

    proptest! {
        /// The closed form of a tandem queue: the first item's path, then one item each slowest service.
        #[test]
        fn a_tandem_takes_its_closed_form(services in proptest::collection::vec(1u64..1000, 1..6), items in 1u32..50) {
            let sum: u64 = services.iter().sum();
            let most = *services.iter().max().unwrap();
            let outcome = line(&services, items).run();
            prop_assert_eq!(outcome.time, Time(sum + u64::from(items - 1) * most));
            prop_assert_eq!(outcome.hops, u64::from(items) * services.len() as u64);
        }

        /// A window of `size` over all steps: never more than `size` items in one round trip.
        #[test]
        fn a_window_bounds_the_rate(service in 1u64..100, latency in 0u64..5000, size in 1u64..9, items in 1u32..50) {
            let mut pipeline = line(&[service, service], items);
            pipeline.steps[1].latency = Time(latency);
            pipeline.windows.push(Window { name: "window", from: 0, to: 1, size });
            let round = 2 * service + latency;
            let least = u64::from(items - 1) / size * round;
            let time = pipeline.run().time.0;
            prop_assert!(time >= least + round, "{time} < {least} + {round}");
            pipeline.windows.clear();
            prop_assert!(pipeline.run().time.0 <= time);
        }
    }

    proptest! {
        #[test]
        fn pieces_are_all_the_bytes_and_end_at_multiples(bytes in 1u64..10_000, unit in 1u64..300, offset in 0u64..1000) {
            let Pieces { items, bytes: [first, between, last] } = Pieces::new(bytes, unit, offset);
            prop_assert!(between == unit && first >= 1 && last >= 1 && first.max(last) <= unit);
            match u64::from(items) {
                1 => prop_assert_eq!((first, last), (bytes, bytes)),
                items => {
                    prop_assert_eq!(first + (items - 2) * unit + last, bytes);
                    prop_assert_eq!((offset + first) % unit, 0);
                }
            }
        }
    }

    #[test]
    fn two_steps_on_one_server_share_it() {
        let mut pipeline = line(&[10, 1], 100);
        pipeline.step(0, |_| Time(10), Time::ZERO);
        pipeline.arrival = 2;
        let outcome = pipeline.run();
        assert!(outcome.time.0 >= 2000 && outcome.time.0 <= 2020, "{:?}", outcome.time);
        assert_eq!(outcome.limiting().map(|(name, _)| name), Some("s0"));
    }

    #[test]
    fn a_window_that_holds_the_transfer_back_is_what_limits() {
        let mut pipeline = line(&[10, 10], 100);
        pipeline.steps[1].latency = Time(1000);
        pipeline.windows.push(Window { name: "buffers", from: 0, to: 1, size: 2 });
        assert_eq!(pipeline.run().limiting().map(|(name, _)| name), Some("buffers"));
    }
}
