//! The tree of ways to each address of a node, as the tables have it.

use super::NOWHERE;
use crate::routes::{Address, Routes};

/// The switches in order of each address's tree.
pub(super) struct Trees {
    pub order: Vec<u16>,
    pub place: Vec<u16>,
    pub size: Vec<u16>,
    /// Of each switch, those that send to it: the first, and of each the next.
    pub first: Vec<u16>,
    pub next: Vec<u16>,
}

impl Trees {
    pub fn new(routes: &Routes<'_>) -> Trees {
        let switches = routes.hosts.len();
        let all = switches * routes.addresses().count();
        let (first, next) = (vec![NOWHERE; switches], vec![NOWHERE; switches]);
        Trees { order: Vec::with_capacity(all), place: vec![NOWHERE; all], size: vec![0; all], first, next }
    }

    /// The tree of the next address.
    pub fn add(&mut self, routes: &Routes<'_>, to: Address) {
        let (row, switches) = (routes.row(to), routes.hosts.len());
        let start = to.0 as usize * switches;
        let (node, home) = (routes.node(to), routes.home(to));
        self.first.fill(NOWHERE);
        for s in (0..switches as u32).rev().filter(|&s| s != home) {
            let to = routes.next(row, s).and_then(|channel| routes.switch_at(channel));
            if let Some(to) = to {
                self.next[s as usize] = std::mem::replace(&mut self.first[to as usize], s as u16);
            }
        }
        // The last switch's own entry must lead to the node.
        let is_home = routes.next(row, home).is_some_and(|channel| routes.network.to(channel) == node.vertex());
        let mut open: Vec<u16> = if is_home { vec![home as u16] } else { Vec::new() };
        while let Some(s) = open.pop() {
            self.place[start + usize::from(s)] = (self.order.len() - start) as u16;
            self.order.push(s);
            let mut child = self.first[usize::from(s)];
            while child != NOWHERE {
                open.push(child);
                child = self.next[usize::from(child)];
            }
        }
        for place in (start..self.order.len()).rev() {
            let s = usize::from(self.order[place]);
            self.size[start + s] += 1;
            let to = routes.next(row, s as u32).and_then(|channel| routes.switch_at(channel));
            if let Some(to) = to {
                self.size[start + to as usize] += self.size[start + s];
            }
        }
        self.order.resize(start + switches, NOWHERE);
    }
}
