//! What a fabric costs: an inventory of pieces against a price list.
//!
//! Money is in whole cents. A price list has one currency and one date. Each price has its own source and status, and a
//! bill is never called better than its weakest price.

use crate::inventory::Inventory;
use crate::spec::{ItemKind, PriceRef, Status, Value};
use crate::units::Money;
use std::collections::{BTreeMap, BTreeSet};

/// Prices of one time and currency.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PriceList {
    /// Key.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// Currency code: `USD`.
    pub currency: String,
    /// Date of the prices, `YYYY-MM-DD`.
    pub date: String,
    /// Items by key.
    pub items: BTreeMap<String, PriceItem>,
    /// The list that this one of one's own stands over, if it does.
    pub beneath: Option<Beneath>,
}

/// What is left of a list that another stands over.
#[derive(Clone, Debug, PartialEq)]
pub struct Beneath {
    /// Its key.
    pub name: String,
    /// Date of its prices.
    pub date: String,
    /// Keys of the items whose prices are its own still.
    pub items: BTreeSet<String>,
}

/// One item of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct PriceItem {
    /// One line for people.
    pub title: String,
    /// Price of one piece.
    pub price: Value<Money>,
    /// Least price that is plausible.
    pub low: Option<Money>,
    /// Greatest price that is plausible.
    pub high: Option<Money>,
    /// A cable's length in metres.
    pub length: Option<Value<f64>>,
    /// Watts of one piece, and the least and greatest that are plausible.
    pub power: Option<[f64; 3]>,
    /// The part whose links it is a piece of, for variants that have such links.
    pub link: Option<String>,
    /// Which of their pieces it is.
    pub pieces: Vec<ItemKind>,
    /// Ports of a switch.
    pub ports: Option<u32>,
    /// Cost and power of a port of a switch with another number of ports, relative to a port of this one. The value comes
    /// first, then the least and greatest that are plausible.
    pub other_ports: Option<[f64; 3]>,
    /// What was assumed to come by the price of such a switch.
    pub assumed: Option<String>,
}

/// An inventory could not be priced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PriceError {
    /// The list has no such item.
    #[error("price list {list}: no item {item} (allowed: {allowed})")]
    NoItem {
        /// Name of the list.
        list: String,
        /// Item that the fabric names.
        item: String,
        /// Items of the list.
        allowed: String,
    },
    /// Pieces of a variant that no list prices.
    #[error("{what}")]
    Unpriced {
        /// Which pieces, and what would give them prices.
        what: String,
    },
    /// The sum does not fit.
    #[error("price list {list}: the sum is too large")]
    TooLarge {
        /// Name of the list.
        list: String,
    },
}

/// One line of a bill of materials.
#[derive(Clone, Debug, PartialEq)]
pub struct BillLine {
    /// Kind of piece.
    pub kind: ItemKind,
    /// Item of the price list.
    pub item: String,
    /// Its title.
    pub title: String,
    /// Pieces.
    pub count: u64,
    /// Price of one.
    pub each: Money,
    /// Price of all.
    pub total: Money,
    /// Least and greatest plausible price of all; the price itself where the list gives no range.
    pub range: [Money; 2],
    /// How the price was come by.
    pub status: Status,
}

/// A bill of materials.
#[derive(Clone, Debug, PartialEq)]
pub struct Bill {
    /// Lines in order of [`ItemKind`].
    pub lines: Vec<BillLine>,
    /// Pieces that cost nothing of their own in this list (a NIC's price may hold its cable).
    pub included: BTreeMap<ItemKind, u64>,
    /// Sum.
    pub total: Money,
    /// Sum of the least and of the greatest plausible prices.
    pub range: [Money; 2],
    /// Watts of all pieces, with the least and greatest; none where an item that is bought states no power.
    pub power: Option<[f64; 3]>,
    /// Nodes that it serves.
    pub nodes: u64,
    /// Currency code.
    pub currency: String,
    /// Name of the list; of a list of one's own over another, where both have prices in it, both: `own over other`.
    pub list: String,
    /// Its date.
    pub date: String,
    /// The year of that.
    pub year: String,
    /// The weakest status of any price used.
    pub status: Status,
    /// What was assumed to come by prices.
    pub assumed: Vec<String>,
}

/// Between two names, dates or years where a list stands over another and both have prices in a bill.
pub const OVER: &str = " over ";

/// For a bill's year (or date, or name) over another list, the part of the list below; else the whole.
pub fn below(of: &str) -> &str {
    of.rsplit(OVER).next().unwrap_or(of)
}

impl PriceList {
    /// This list with the items of `own` in place of its items of the same name. Name, title and date become those of
    /// `own`, and a bill says which list each price comes from. In another currency no price of this list can stay.
    /// Where an item states no power, length or ports, this list's values stay: they are no prices.
    pub fn overridden_by(self, own: PriceList) -> PriceList {
        let with_rest = |(name, item): (String, PriceItem)| {
            let known = self.items.get(&name);
            let power = item.power.or_else(|| known.and_then(|known| known.power));
            let length = item.length.clone().or_else(|| known.and_then(|known| known.length.clone()));
            let link = item.link.clone().or_else(|| known.and_then(|known| known.link.clone()));
            let pieces = if item.pieces.is_empty() { known.map(|known| known.pieces.clone()) } else { None };
            let pieces = pieces.unwrap_or_else(|| item.pieces.clone());
            let ports = item.ports.or_else(|| known.and_then(|known| known.ports));
            let other_ports = item.other_ports.or_else(|| known.and_then(|known| known.other_ports));
            (name, PriceItem { power, length, link, pieces, ports, other_ports, ..item })
        };
        let replaced: Vec<(String, PriceItem)> = own.items.into_iter().map(with_rest).collect();
        let mut items = if self.currency == own.currency { self.items } else { BTreeMap::new() };
        let names = items.keys().filter(|name| replaced.iter().all(|(own, _)| own != *name)).cloned().collect();
        items.extend(replaced);
        PriceList { items, beneath: Some(Beneath { name: self.name, date: self.date, items: names }), ..own }
    }

    /// Name, date and year of the prices of these items: of one list, or of both, `own over other`.
    fn named<'a>(&self, mut bought: impl Iterator<Item = &'a String> + Clone) -> [String; 3] {
        let year = |date: &str| date.get(..4).unwrap_or(date).to_owned();
        let of = |name: &str, date: &str| [name.to_owned(), date.to_owned(), year(date)];
        let own = of(&self.name, &self.date);
        let Some(beneath) = &self.beneath else { return own };
        let other = of(&beneath.name, &beneath.date);
        let is_beneath = |name: &String| beneath.items.contains(name);
        match (bought.clone().all(is_beneath), bought.any(is_beneath)) {
            (true, _) => other,
            (false, false) => own,
            _ => std::array::from_fn(|at| match own[at] == other[at] {
                true => own[at].clone(),
                false => format!("{}{OVER}{}", own[at], other[at]),
            }),
        }
    }

    /// The bill for `inventory`, whose pieces are the items that `prices` names.
    ///
    /// # Errors
    /// A named item is not in the list, or the sum overflows.
    pub fn bill(&self, prices: &PriceRef, inventory: &Inventory) -> Result<Bill, PriceError> {
        self.check_priced(prices, inventory)?;
        let too_large = || PriceError::TooLarge { list: self.name.clone() };
        let (mut lines, mut included) = (Vec::new(), BTreeMap::new());
        let (mut sums, mut power, mut assumed) = ([Money(0); 3], Some([0.0; 3]), Vec::new());
        for (&kind, &count) in inventory.pieces.iter().filter(|(_, count)| **count > 0) {
            let bought = prices.of(kind, count);
            if bought.is_empty() {
                included.insert(kind, count);
            }
            for (name, count) in bought {
                let item = self.items.get(name).ok_or_else(|| self.no_item(name))?;
                assumed.extend(item.assumed.clone());
                let each = item.price.value;
                let watts = power.zip(item.power);
                power = watts.map(|(sum, one)| std::array::from_fn(|k| sum[k] + count as f64 * one[k]));
                let of_all = |one: Money| {
                    let cents = i64::try_from(count).ok().and_then(|count| one.0.checked_mul(count));
                    cents.map(Money).ok_or_else(too_large)
                };
                let all = [of_all(each)?, of_all(item.low.unwrap_or(each))?, of_all(item.high.unwrap_or(each))?];
                for (sum, part) in sums.iter_mut().zip(all) {
                    *sum = Money(sum.0.checked_add(part.0).ok_or_else(too_large)?);
                }
                let [total, low, high] = all;
                let (item, title, status) = (name.clone(), item.title.clone(), item.price.status);
                lines.push(BillLine { kind, item, title, count, each, total, range: [low, high], status });
            }
        }
        let weakest = lines.iter().map(|line| line.status).max();
        let [list, date, year] = self.named(lines.iter().map(|line| &line.item));
        Ok(Bill {
            lines,
            included,
            total: sums[0],
            range: [sums[1], sums[2]],
            power,
            nodes: inventory.nodes,
            currency: self.currency.clone(),
            list,
            date,
            year,
            status: weakest.unwrap_or(Status::Estimated),
            assumed,
        })
    }

    fn no_item(&self, item: &str) -> PriceError {
        let allowed = self.items.keys().cloned().collect::<Vec<_>>().join(", ");
        PriceError::NoItem { list: self.name.clone(), item: item.to_owned(), allowed }
    }
}

impl Bill {
    /// Cost per node in units of the currency.
    pub fn per_node(&self) -> f64 {
        self.total.units() / self.nodes as f64
    }

    /// What a MB/s of each node's bandwidth costs (M02 Fig. 15): the cost per node over the bandwidth per node.
    pub fn per_mbps_per_node(&self, bandwidth_per_node_mbps: f64) -> f64 {
        self.per_node() / bandwidth_per_node_mbps
    }

    /// Pieces of `kind`, whether they have a price of their own or not.
    pub fn count(&self, kind: ItemKind) -> u64 {
        let priced = self.lines.iter().filter(|line| line.kind == kind).map(|line| line.count).sum::<u64>();
        priced + self.included.get(&kind).copied().unwrap_or(0)
    }
}
