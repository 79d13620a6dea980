//! One channel of one rank: a row of operations, each after the one before.

use crate::draft::{Draft, Local};
use crate::protocol::Protocol;

/// What a GPU's own work takes. Free by default.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Costs {
    /// From the call to the kernel's start, in picoseconds.
    pub launch_ps: u64,
    /// A channel's time to combine a byte received with its own, in picoseconds.
    pub reduce_ps_per_byte: f64,
    /// A channel's time to move a byte on, in picoseconds.
    pub copy_ps_per_byte: f64,
    /// How messages mark their data as valid.
    pub protocol: Protocol,
    /// Bytes that rings and chains within a domain pass on at once: a line of each thread where lines have flags of their own.
    /// 0: whole chunks.
    pub line: u32,
    /// From a chunk's being ready to its leaving for a GPU of the same domain (fences, flags, polls), in picoseconds.
    /// Chunks pass this time together.
    pub near_ps: u64,
    /// The same for another domain: from a chunk's being ready to its being handed to the adapter by a proxy.
    pub proxy_ps: u64,
    /// What the proxy works for a chunk, one chunk after the other: a part of that time, in picoseconds.
    pub post_ps: u64,
    /// What it works besides for each byte of data, in picoseconds.
    pub post_ps_per_byte: f32,
    /// Whether one thread of a GPU does so for all its channels, one chunk after the other. It is so in NCCL (`src/proxy.cc`,
    /// `ncclProxyProgress`): with LL it reads every line for its flag (`src/transport/net.cc`).
    pub one_thread: bool,
    /// From the call to the kernel's start where the scale-up switch combines and copies, in picoseconds.
    pub switch_launch_ps: u64,
    /// What the switch's requests and acknowledgements take of the links for each byte of data, in bytes.
    pub switch_extra: f64,
    /// Largest piece that goes through the switch at once, in bytes; 0: as large as any other.
    pub switch_chunk: u32,
}

impl Costs {
    /// What software works on a chunk for a GPU of another domain (`far`) or the same one, and what passes after that
    /// until it leaves. `None`: it leaves at once.
    pub(crate) fn posting(&self, far: bool, bytes: u64) -> Option<[u64; 2]> {
        let [work, all] = if far { [self.post_ps, self.proxy_ps] } else { [0, self.near_ps] };
        let moving = if far { (f64::from(self.post_ps_per_byte) * bytes as f64).round() as u64 } else { 0 };
        (work.max(all).max(moving) > 0).then(|| [work + moving, all.saturating_sub(work)])
    }

    /// Whether kernels write into the next GPU's memory as they work, and post a flag at the end (NCCL's
    /// `src/device/prims_simple.h`, `postPeer`). So the slower of the work and the link's crossing takes its time, not both.
    pub(super) fn writes(&self) -> bool {
        self.protocol == Protocol::Simple && self.reduce_ps_per_byte.max(self.copy_ps_per_byte) > 0.0
    }

    /// What so many bytes take of the links to and from a switch that combines and copies.
    pub(super) fn by_switch(&self, bytes: u64) -> u64 {
        bytes + (self.switch_extra * bytes as f64).round() as u64
    }
}

/// A proxy's processor: beyond those of the channels. It delays what it passes on and takes no time of the channel.
pub(super) const PROXY: u8 = 128;
/// The adapter takes what a proxy posts at once, independently of the proxy's next work: no processor that works.
pub(super) const ADAPTER: u8 = 127;
/// The thread of all proxies of a GPU.
const THREAD: u8 = 125;
/// What the tag of a flag is more than that of its data.
const FLAG: u32 = 32;
/// The processor that takes what comes for a channel while the channel sends: beyond those of the channels.
const RECEIVING: u8 = 64;

/// What a processor of a collective's schedule is, in words.
pub fn processor(cpu: u32) -> String {
    if cpu == u32::from(THREAD) {
        return "thread of the proxies".to_owned();
    }
    let proxy = u32::from(PROXY);
    let (stage, channel) = (cpu & !proxy, cpu & !proxy & 31);
    let part = if stage == channel { String::new() } else { format!(", stage {}", stage / 32) };
    if cpu & proxy == 0 { format!("channel {channel}{part}") } else { format!("proxy of channel {channel}{part}") }
}

pub(super) struct Lane<'a> {
    pub draft: &'a mut Draft,
    pub rank: u32,
    pub tag: u32,
    cpu: u8,
    costs: Costs,
    /// The operation that the next one waits for.
    pub last: Option<Local>,
    /// The same where it is a kernel's work: that writes its result while it goes on.
    pub work: Option<Local>,
}

impl<'a> Lane<'a> {
    pub fn new(draft: &'a mut Draft, rank: u32, channel: u32, costs: Costs) -> Lane<'a> {
        Lane { draft, rank, tag: channel, cpu: channel as u8, costs, last: None, work: None }
    }

    /// The same channel's receives where they run at the same time as its sends.
    pub fn beside_to_receive(&mut self, last: Option<Local>) -> Lane<'_> {
        self.beside(RECEIVING + self.cpu, last)
    }

    /// The same channel's concurrent work: `last` is what it waits for first.
    pub fn beside(&mut self, cpu: u8, last: Option<Local>) -> Lane<'_> {
        Lane { draft: self.draft, rank: self.rank, tag: self.tag, cpu, costs: self.costs, last, work: None }
    }

    fn chain(&mut self, op: Local) -> Local {
        self.work = None;
        if let Some(last) = self.last.replace(op) {
            self.draft.requires(self.rank, op, last);
        }
        op
    }

    pub fn launch(&mut self) {
        self.start(self.costs.launch_ps);
    }

    pub fn launch_by_switch(&mut self) {
        self.start(self.costs.switch_launch_ps);
    }

    fn start(&mut self, ps: u64) {
        if ps > 0 {
            let op = self.draft.calc(self.rank, self.cpu, ps);
            self.chain(op);
        }
    }

    pub fn recv(&mut self, from: u32, bytes: u64) -> Local {
        let op = self.draft.recv(self.rank, from, self.costs.protocol.sent(bytes), self.tag, self.cpu);
        self.chain(op)
    }

    /// What another GPU gives: where its kernels write, data and then a flag.
    pub fn take(&mut self, from: u32, bytes: u64, far: bool) {
        self.recv(from, bytes);
        if self.is_written(bytes, far) {
            let op = self.draft.recv(self.rank, from, 0, self.tag + FLAG, self.cpu);
            self.chain(op);
        }
    }

    fn is_written(&self, bytes: u64, far: bool) -> bool {
        !far && bytes > 0 && self.costs.writes()
    }

    fn works(&mut self, ps: f64) {
        let ps = ps.round() as u64;
        if ps > 0 {
            let op = self.draft.calc(self.rank, self.cpu, ps);
            self.chain(op);
            self.work = Some(op);
        }
    }

    pub fn reduce(&mut self, bytes: u64) {
        self.works(self.costs.reduce_ps_per_byte * bytes as f64);
    }

    pub fn copy(&mut self, bytes: u64) {
        self.works(self.costs.copy_ps_per_byte * bytes as f64);
    }

    /// A send to the scale-up switch, whose own part the kernel's start has.
    pub fn send_at_once(&mut self, to: u32, bytes: u64) {
        let op = self.draft.send(self.rank, to, self.costs.protocol.sent(bytes), self.tag, self.cpu);
        self.chain(op);
    }

    /// A send over the scale-up network. What follows does not wait until it leaves.
    pub fn send(&mut self, to: u32, bytes: u64) {
        self.send_by(to, bytes, false);
    }

    /// A send that a proxy hands to the adapter: what follows does not wait for it.
    pub fn send_far(&mut self, to: u32, bytes: u64) {
        self.send_by(to, bytes, true);
    }

    pub fn send_by(&mut self, to: u32, bytes: u64, far: bool) {
        let Some(posting) = self.costs.posting(far, bytes) else {
            self.send_at_once(to, bytes);
            return;
        };
        // Within the domain nothing works on a chunk: it takes no processor's time.
        let cpu = match (far, self.costs.one_thread) {
            (true, true) => THREAD,
            (true, false) => PROXY | self.cpu,
            (false, _) => ADAPTER,
        };
        let proxy = self.draft.post(self.rank, cpu, posting);
        let op = self.draft.send(self.rank, to, self.costs.protocol.sent(bytes), self.tag, ADAPTER);
        self.draft.requires(self.rank, op, proxy);
        if let Some(last) = self.last {
            self.draft.requires(self.rank, proxy, last);
        }
    }

    /// What the lane worked on, for the next GPU, which must [`Lane::take`] it. Within the domain kernels write while they
    /// work: the data leave as the work begins, the flag as it ends.
    pub fn give(&mut self, to: u32, bytes: u64, far: bool) {
        if !self.is_written(bytes, far) {
            self.send_by(to, bytes, far);
            return;
        }
        for (bytes, tag, begins) in [(bytes, self.tag, self.work), (0, self.tag + FLAG, None)] {
            let posting = self.costs.posting(false, bytes);
            let post = posting.map(|posting| self.draft.post(self.rank, ADAPTER, posting));
            let send = self.draft.send(self.rank, to, self.costs.protocol.sent(bytes), tag, ADAPTER);
            post.into_iter().for_each(|post| self.draft.requires(self.rank, send, post));
            let first = post.unwrap_or(send);
            match (begins, self.last) {
                (Some(work), _) => self.draft.requires_start(self.rank, first, work),
                (None, Some(last)) => self.draft.requires(self.rank, first, last),
                (None, None) => {}
            }
        }
    }

    /// The next operation waits for `op`, too.
    pub fn also_after(&mut self, op: Local) {
        let join = self.draft.calc(self.rank, self.cpu, 0);
        self.chain(join);
        self.draft.requires(self.rank, join, op);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_have_names() {
        assert_eq!(
            [3, 35, 125, 129, 161].map(processor),
            [
                "channel 3",
                "channel 3, stage 1",
                "thread of the proxies",
                "proxy of channel 1",
                "proxy of channel 1, stage 1"
            ]
        );
    }
}
