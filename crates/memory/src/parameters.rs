//! Catalog parameters, asked for by name.

use crate::WORD;
use hotlink_fabric::ledger::{Inputs, Unfit};
use hotlink_fabric::spec::{Asked, FabricSpec, Role};
use hotlink_fabric::units::{Rate, Time};
use std::ops::RangeInclusive;

/// 10 ms.
const MOST_TIME: u64 = 10_000_000_000;
/// Most bytes that move at a time.
const MOST_PIECE: u64 = 64 << 10;

/// Least bytes of a line: two words.
const LEAST: u64 = 16;
/// Most bytes of a cache.
const MOST_CACHE: u64 = 256 << 20;

/// The parameters of one fabric.
#[derive(Clone, Copy)]
pub struct Parameters<'a>(pub &'a FabricSpec);

impl<'a> Parameters<'a> {
    fn base(self, name: &str) -> Result<f64, Unfit> {
        let value = self.0.parameters.get(name).map(|value| value.value);
        value.ok_or_else(|| Inputs::new(self.0).missing(name))
    }

    fn without(self, key: &str, meaning: &'static str) -> Unfit {
        Unfit::Without { fabric: self.0.name.clone(), key: key.to_owned(), meaning }
    }

    /// Whether the fabric states it.
    pub fn has(self, name: &str) -> bool {
        self.0.parameters.contains_key(name)
    }

    /// Whether the fabric states one of these.
    pub(crate) fn any(self, names: &[&str]) -> bool {
        names.iter().any(|name| self.has(name))
    }

    /// The value, if it lies in `range`: what keeps every time of a run within 64 bits of picoseconds.
    fn within(self, key: &str, base: f64, range: RangeInclusive<u64>, unit: &str) -> Result<u64, Unfit> {
        let value = base.round() as u64;
        if range.contains(&value) {
            return Ok(value);
        }
        let (fabric, key) = (self.0.name.clone(), key.to_owned());
        let allowed = format!("{} to {} {unit}", range.start(), range.end());
        Err(Unfit::OutOfRange { fabric, key, value: format!("{value} {unit}"), allowed })
    }

    fn parameter(self, name: &str, range: RangeInclusive<u64>, unit: &str) -> Result<u64, Unfit> {
        self.within(&format!("parameter.{name}"), self.base(name)?, range, unit)
    }

    /// A time of at most 10 ms.
    ///
    /// # Errors
    /// It is missing or out of range.
    pub fn time(self, name: &str) -> Result<Time, Unfit> {
        self.parameter(name, 0..=MOST_TIME, "ps").map(Time)
    }

    /// A time of at most 10 ms, if the fabric states it.
    ///
    /// # Errors
    /// It is missing or out of range.
    pub fn time_if(self, name: &str) -> Result<Option<Time>, Unfit> {
        if self.has(name) { self.time(name).map(Some) } else { Ok(None) }
    }

    /// Bytes that move at a time: a burst, a buffer, a page, a line.
    ///
    /// # Errors
    /// It is missing or out of range.
    pub fn piece(self, name: &str) -> Result<u64, Unfit> {
        self.parameter(name, 1..=MOST_PIECE, "B")
    }

    /// Bytes of a line, a row or a page.
    ///
    /// # Errors
    /// It is missing or out of range.
    pub fn line(self, name: &str) -> Result<u64, Unfit> {
        self.parameter(name, LEAST..=MOST_PIECE, "B")
    }

    /// Bytes of a cache, whose lines are kept one by one.
    ///
    /// # Errors
    /// It is missing or out of range.
    pub fn cache(self, name: &str) -> Result<u64, Unfit> {
        self.parameter(name, 1..=MOST_CACHE, "B")
    }

    /// Bytes that a memory holds.
    ///
    /// # Errors
    /// It is missing or out of range.
    pub fn capacity(self, name: &str) -> Result<u64, Unfit> {
        self.parameter(name, 1..=1 << 50, "B")
    }

    /// A number of buffers, at least 1.
    ///
    /// # Errors
    /// It is missing or out of range.
    pub fn buffers(self, name: &str) -> Result<u64, Unfit> {
        self.parameter(name, 1..=1 << 20, "buffers")
    }

    /// A number, possibly none.
    ///
    /// # Errors
    /// It is missing or out of range.
    pub fn count(self, name: &str) -> Result<u64, Unfit> {
        self.parameter(name, 0..=1 << 20, "lines")
    }

    /// Operations that wait, as stated or as the technology assumes.
    ///
    /// # Errors
    /// It is missing or out of range.
    pub fn queue(self, name: &str) -> Result<u64, Unfit> {
        let base = Inputs::new(self.0).require(name)?;
        self.within(&format!("parameter.{name}"), base, 1..=1 << 20, "operations")
    }

    /// Clocks of a bus transaction, possibly none.
    ///
    /// # Errors
    /// It is missing or out of range.
    pub fn clocks(self, name: &str) -> Result<u64, Unfit> {
        self.parameter(name, 0..=1000, "clocks")
    }

    /// A frequency in Hz.
    ///
    /// # Errors
    /// It is missing or out of range.
    pub fn frequency(self, name: &str) -> Result<u64, Unfit> {
        self.parameter(name, 1_000_000..=1_000_000_000_000, "Hz")
    }

    /// Overhead bytes of a packet that passes `switches` switches.
    ///
    /// # Errors
    /// It is missing or out of range.
    pub fn overhead(self, switches: f64) -> Result<u64, Unfit> {
        let packet = self.0.packet();
        let bytes = packet.overhead_bytes.value + packet.overhead_per_hop_bytes.value * switches;
        self.within("packet.overhead", bytes, 0..=MOST_PIECE, "B")
    }

    /// Bytes of a response packet, possibly none.
    ///
    /// # Errors
    /// It is missing or out of range.
    pub fn response(self) -> Result<u64, Unfit> {
        self.parameter("response_size", 0..=MOST_PIECE, "B")
    }

    /// Payload of a full packet, a word where packets have no limit.
    ///
    /// # Errors
    /// It is missing or out of range.
    pub fn payload(self) -> Result<u64, Unfit> {
        let most = self.0.packet().payload_max_bytes.as_ref().map_or(WORD, |most| most.value);
        self.within("packet.payload_max", most as f64, 1..=MOST_PIECE, "B")
    }

    /// The latency of the resource of `role`.
    ///
    /// # Errors
    /// It is missing or out of range.
    pub fn latency(self, role: Role, key: &str) -> Result<Time, Unfit> {
        let latency = self.resource(role, key)?.latency().value.0 as f64;
        self.within(&format!("resource.{key}.latency"), latency, 0..=MOST_TIME, "ps").map(Time)
    }

    /// The resource of `role`.
    ///
    /// # Errors
    /// It is missing or out of range.
    pub fn resource(self, role: Role, key: &str) -> Result<Asked<'a>, Unfit> {
        self.0.own_resource(role).ok_or_else(|| self.without(&format!("resource.{key}"), "its rate and latency"))
    }

    /// The gross rate of the resource of `role`.
    ///
    /// # Errors
    /// It is missing or out of range.
    pub fn gross(self, role: Role, key: &str) -> Result<Rate, Unfit> {
        let gross = self.resource(role, key)?.gross().map(|gross| gross.value);
        let key = format!("resource.{key}.gross");
        let gross = gross.ok_or_else(|| self.without(&key, "its gross rate"))?;
        self.within(&key, gross.0 as f64, 1_000_000..=1 << 50, "B/s").map(Rate)
    }
}
