//! Ethernet with marks (ECN) above pause: sources slow down before buffers fill, so that pauses stay rare.
//!
//! This is a coarse model in the manner of DCTCP (Alizadeh et al. 2010) and DCQCN (Zhu et al. 2015), not a model of
//! either. Marks follow the time in the queue (Bai et al. 2016). A packet is marked when it has waited for a server as
//! long as a share of a buffer takes to drain. Its delivery reports the mark to the source at once.
//!
//! A message pauses between its packets. A mark cuts its rate, once for all packets that were under way then; a packet
//! without a mark shortens the pause. Every message begins at full rate, so a short one ends before it learns anything.
//! A machine states shares and cuts (`ecn_*`), or its technology's record assumes them.

use super::pool::{AGAIN, Packet};
use super::{Net, kind};
use crate::plan::{Class, Plan};
use hotlink_event::{Event, Queue};
use hotlink_fabric::ledger::Inputs;
use hotlink_fabric::spec::FabricSpec;

/// One, as shares are counted: whole numbers keep the arithmetic the same on every machine.
const ONE: f64 = 65536.0;
const SHIFT: u32 = 16;

/// How sources heed marks, in shares of [`ONE`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Heeding {
    /// Time between two packets after a mark over that before.
    slower: u64,
    /// Share of its pause that a packet without a mark removes, and of a packet's time.
    recovery: u64,
    least: u64,
    /// Longest pause, in packet times.
    longest: u64,
}

impl Heeding {
    pub(super) fn of(spec: &FabricSpec) -> Heeding {
        let value = |name: &str| Inputs::new(spec).require(name).expect("an assumption of any technology");
        let share = |value: f64| (value * ONE).round() as u64;
        let least = value("ecn_least_rate");
        Heeding {
            slower: share(1.0 / value("ecn_rate_cut")),
            recovery: share(value("ecn_recovery")),
            least: share(least),
            longest: (1.0 / least).round() as u64 - 1,
        }
    }
}

impl Net<'_> {
    /// How long a packet waits for a server of each class before it is marked; empty where nothing is marked.
    pub(super) fn patience(plan: &Plan<'_>, on: bool) -> Vec<u64> {
        if !on {
            return Vec::new();
        }
        let inputs = Inputs::new(&plan.fabric.spec);
        let share = inputs.require("ecn_mark_share").expect("an assumption of any technology");
        let part = |class: &Class| class.rate.time_for((f64::from(class.buffer) * share) as u64).0.max(1);
        plan.classes.iter().map(part).collect()
    }

    /// Marks a packet that starts on a server if it has waited there too long.
    pub(super) fn mark(&mut self, packet: u32, server: u32) {
        let class = self.plan.server_class[server as usize];
        let p = &mut self.packets.items[packet as usize];
        // Whole nanoseconds, which wrap after four seconds.
        let waited = ((self.now / 1000) as u32).wrapping_sub(p.since_ns);
        if p.stage > 0 && u64::from(waited) * 1000 > self.patience[class as usize] && !p.marked {
            self.stats.marks += 1;
            p.marked = true;
        }
    }

    /// The source of a delivered packet hears whether it was marked.
    pub(super) fn heed(&mut self, packet: u32, p: &Packet) {
        let first = self.server_of(self.routes.stage(packet, 0).lane);
        let class = self.servers[first as usize].class;
        let (base, heeding) = (self.paces[class as usize].packet_time(p), self.heeding);
        let m = &mut self.messages.items[p.message as usize];
        let aside = &mut self.asides[p.message as usize];
        let pause = u64::from(m.pause_ps);
        let index = p.index & !AGAIN;
        let next = match p.marked {
            true if index < aside.heed_from => return,
            true => (((base + pause) * heeding.slower) >> SHIFT) - base,
            false => pause.saturating_sub(((pause * heeding.recovery) >> SHIFT) + ((base * heeding.least) >> SHIFT)),
        };
        if p.marked {
            aside.heed_from = m.made;
        }
        m.pause_ps = next.min(base * heeding.longest).min(u64::from(u32::MAX)) as u32;
    }

    /// Lets the next packet of a message wait for its pause, if it has one; `took`: serialisation of the one before.
    pub(super) fn pause(&mut self, message: u32, took: u64) -> bool {
        if !self.watches {
            return false;
        }
        let m = &self.messages.items[message as usize];
        if m.made == m.packets {
            return false;
        }
        if m.pause_ps == 0 {
            return self.holds_back(message);
        }
        let at = self.now + took + u64::from(m.pause_ps);
        self.queue.push(at, Event::new(kind::RESUME, message, 0));
        true
    }
}
