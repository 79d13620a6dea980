//! Features that met in a run: one bit for each feature of the protocols, and a table of pairs.

use crate::wire::Kind;

pub(super) const EAGER: u32 = 1;
pub(super) const RENDEZVOUS: u32 = 1 << 1;
pub(super) const EARLY: u32 = 1 << 2;
pub(super) const HALVES: u32 = 1 << 3;
pub(super) const CLAIM: u32 = 1 << 4;
pub(super) const FETCH: u32 = 1 << 5;
pub(super) const DEPOSIT: u32 = 1 << 6;
pub(super) const WILDCARD: u32 = 1 << 7;
pub(super) const PROBE: u32 = 1 << 8;
pub(super) const MODES: u32 = 1 << 9;
pub(super) const BUSY: u32 = 1 << 10;
pub(super) const DEATH: u32 = 1 << 11;

/// Their names, by bit.
pub const NAMES: [&str; 12] = [
    "eager",
    "rendezvous",
    "early",
    "halves",
    "claim",
    "fetch",
    "deposit",
    "wildcard",
    "probe",
    "modes",
    "Busy",
    "death",
];

/// The feature that a control message of a kind belongs to.
pub(super) fn of_kind(kind: u8) -> u32 {
    match kind {
        k if k == Kind::Eager as u8 => EAGER,
        k if k == Kind::Rts as u8 => RENDEZVOUS,
        k if k == Kind::Ready as u8 => EARLY,
        k if k == Kind::Half as u8 => HALVES,
        k if k == Kind::Claim as u8 => CLAIM,
        _ => 0,
    }
}

/// How often each two features met in one run; on the diagonal: how often a feature occurred.
#[derive(Clone, Debug, Default)]
pub struct Pairs([[u64; NAMES.len()]; NAMES.len()]);

impl Pairs {
    /// A run in which all of `met` occurred.
    pub(super) fn add(&mut self, met: u32) {
        for (a, row) in self.0.iter_mut().enumerate().filter(|(a, _)| met >> a & 1 == 1) {
            for (_, cell) in row.iter_mut().enumerate().filter(|(b, _)| *b <= a && met >> b & 1 == 1) {
                *cell += 1;
            }
        }
    }
    /// Adds what another search saw.
    pub fn merge(&mut self, other: &Pairs) {
        self.0.as_flattened_mut().iter_mut().zip(other.0.as_flattened()).for_each(|(a, b)| *a += b);
    }
    /// Pairs that never met.
    pub fn missing(&self) -> Vec<(&'static str, &'static str)> {
        let pairs = (0..NAMES.len()).flat_map(|a| (0..=a).map(move |b| (a, b)));
        pairs.filter(|&(a, b)| self.0[a][b] == 0).map(|(a, b)| (NAMES[a], NAMES[b])).collect()
    }
    /// The table, one row a feature.
    pub fn table(&self) -> String {
        let mut text = format!("{:11}", "");
        NAMES.iter().for_each(|name| text += &format!("{name:>11}"));
        for (a, name) in NAMES.iter().enumerate() {
            text += &format!("\n{name:11}");
            self.0[a][..=a].iter().for_each(|count| text += &format!("{count:>11}"));
        }
        text
    }
}
