//! State of the failure count from one to the next.

use super::{Failures, NONE};
use hotlink_fabric::network::Channel;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// One thread's state, kept from failure to failure. A mark is the epoch in which it was set.
pub(super) struct Scratch {
    pub load: Vec<f64>,
    pub touched: Vec<u32>,
    pub is_touched: Vec<bool>,
    pub epoch: u32,
    pub inside: Vec<u32>,
    pub subtree: Vec<u32>,
    pub flow: Vec<f64>,
    pub seen: Vec<u32>,
    /// Hops to the node in question, of switches that are inside or were seen.
    pub hops: Vec<u32>,
    pub trail: Vec<u32>,
    /// Hops before the failure, of those inside.
    pub before: Vec<u32>,
    /// New entries of those inside.
    pub next: Vec<Channel>,
    pub heap: BinaryHeap<Reverse<(u32, u32)>>,
    pub path: Vec<Channel>,
}

impl Scratch {
    pub fn new(of: &Failures<'_>) -> Scratch {
        let switches = of.routes.hosts.len();
        Scratch {
            load: of.load.clone(),
            touched: Vec::new(),
            is_touched: vec![false; of.load.len()],
            epoch: 0,
            inside: vec![0; switches],
            subtree: Vec::new(),
            flow: vec![0.0; switches],
            seen: vec![0; switches],
            hops: vec![NONE; switches],
            trail: Vec::new(),
            before: vec![NONE; switches],
            next: vec![Channel(NONE); switches],
            heap: BinaryHeap::new(),
            path: Vec::new(),
        }
    }

    pub fn enter(&mut self, switch: u32) {
        self.inside[switch as usize] = self.epoch;
        self.subtree.push(switch);
    }

    pub fn change(&mut self, channel: Channel, by: f64) {
        let c = channel.0 as usize;
        if !std::mem::replace(&mut self.is_touched[c], true) {
            self.touched.push(channel.0);
        }
        self.load[c] += by;
    }

    /// Seconds a byte of every pair that the fullest channel takes.
    pub fn full(&self, of: &Failures<'_>) -> f64 {
        let full = |c: u32| self.load[c as usize] * of.routes.inverse[c as usize];
        let untouched = of.fullest.iter().find(|&&c| !self.is_touched[c as usize]);
        self.touched.iter().chain(untouched).map(|&c| full(c)).fold(0.0, f64::max)
    }

    pub fn restore(&mut self, of: &Failures<'_>) {
        for c in self.touched.drain(..) {
            self.load[c as usize] = of.load[c as usize];
            self.is_touched[c as usize] = false;
        }
    }
}
