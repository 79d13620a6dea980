//! Prices for a variant of a fabric: items of its own link, and switches with as many ports as it needs.

use crate::catalog::item_key;
use crate::inventory::Inventory;
use crate::price::{PriceError, PriceItem, PriceList};
use crate::spec::{ItemKind, PriceRef, Status, Varied};
use crate::units::Money;

/// What links are made of. Enclosures are no pieces of a link.
const PIECES: [ItemKind; 5] =
    [ItemKind::Nic, ItemKind::Switch, ItemKind::CableNode, ItemKind::CableSwitch, ItemKind::CableGlobal];

impl PriceList {
    /// The list and its items for what `prices` buys. A variant of another link buys the items that are pieces of that link.
    /// Of switches with other ports it buys the item with as many. Where the list has none, it buys one at another item's
    /// price per port, if that item says how far such prices may differ.
    pub fn fitted(&self, prices: &PriceRef) -> (PriceList, PriceRef) {
        let (mut list, mut prices) = (self.clone(), prices.clone());
        let Some(varied) = prices.varied.clone() else { return (list, prices) };
        if varied.is_relinked {
            let first = |kind| Some((kind, self.pieces(&varied, kind).first().map(|(name, _)| (*name).clone())?));
            prices.items = PIECES.into_iter().filter(|kind| *kind != ItemKind::Switch).filter_map(first).collect();
            prices.short = None;
        }
        let own = prices.items.remove(&ItemKind::Switch);
        let switch = varied.ports.and_then(|ports| {
            let known = self.pieces(&varied, ItemKind::Switch);
            if let Some((name, _)) = known.iter().find(|(_, item)| item.ports == Some(ports)) {
                return Some((*name).clone());
            }
            let own = own.and_then(|own| self.items.get_key_value(&own));
            let (name, item) = own.or_else(|| {
                known.into_iter().min_by_key(|(_, item)| item.ports.map_or(u32::MAX, |own| own.abs_diff(ports)))
            })?;
            let has = item.ports.or(varied.had.filter(|_| !varied.is_relinked))?;
            let (key, assumed) = (format!("{name} ({ports} ports)"), at_ports(name, item, [has, ports])?);
            list.beneath.iter_mut().filter(|beneath| beneath.items.contains(name)).for_each(|beneath| {
                beneath.items.insert(key.clone());
            });
            list.items.insert(key.clone(), assumed);
            Some(key)
        });
        prices.items.extend(switch.map(|switch| (ItemKind::Switch, switch)));
        (list, prices)
    }

    /// Items that are such pieces of the variant's link, those of a list of one's own first.
    fn pieces(&self, varied: &Varied, kind: ItemKind) -> Vec<(&String, &PriceItem)> {
        let is_of = |item: &PriceItem| item.link.is_some() && item.link == varied.link && item.pieces.contains(&kind);
        let mut found: Vec<_> = self.items.iter().filter(|(_, item)| is_of(item)).collect();
        found.sort_by_key(|(name, _)| self.beneath.as_ref().is_some_and(|beneath| beneath.items.contains(*name)));
        found
    }

    /// Refuses pieces of a variant that have no item: they would cost nothing.
    pub(crate) fn check_priced(&self, prices: &PriceRef, inventory: &Inventory) -> Result<(), PriceError> {
        let Some(varied) = &prices.varied else { return Ok(()) };
        let is_due = |kind: &ItemKind| varied.is_relinked || *kind == ItemKind::Switch;
        let kinds = inventory.pieces.iter().filter(|(_, count)| **count > 0).map(|(kind, _)| *kind);
        let missing: Vec<ItemKind> = kinds.filter(|kind| is_due(kind) && !prices.items.contains_key(kind)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let said = |kind: &ItemKind| match (kind, varied.ports) {
            (ItemKind::Switch, Some(ports)) => format!("switch of {ports} ports"),
            _ => item_key(*kind).to_owned(),
        };
        let said: Vec<String> = missing.iter().map(said).collect();
        let link = varied.link.as_deref().unwrap_or("its links");
        let ports = varied.ports.filter(|_| missing.contains(&ItemKind::Switch));
        let ports = ports.map_or_else(String::new, |ports| format!(", of the switch ports = {ports}"));
        let what = format!(
            "no price of {} of {link}; price them in a file for --prices, with link = \"{link}\" and pieces = [...]{ports} \
             (hotlink new prices prints one)",
            said.join(", ")
        );
        Err(PriceError::Unpriced { what })
    }
}

/// A switch with `ports` at the price per port of `item`, which has `has`: an assumption, with the interval of both.
fn at_ports(name: &str, item: &PriceItem, [has, ports]: [u32; 2]) -> Option<PriceItem> {
    let [ratio, least, most] = item.other_ports?;
    let share = f64::from(ports) / f64::from(has);
    let money = |of: Money, ratio: f64| Money((of.0 as f64 * share * ratio).round() as i64);
    let each = item.price.value;
    let mut price = item.price.clone();
    (price.value, price.status) = (money(each, ratio), Status::Estimated);
    let power =
        item.power.map(|[watts, low, high]| [watts * ratio, low * least, high * most].map(|watts| watts * share));
    let times = if ratio == 1.0 { String::new() } else { format!(" times {ratio}") };
    Some(PriceItem {
        title: format!("{}, with {ports} ports", item.title),
        price,
        low: Some(money(item.low.unwrap_or(each), least)),
        high: Some(money(item.high.unwrap_or(each), most)),
        power,
        ports: Some(ports),
        assumed: Some(format!(
            "a switch of {ports} ports costs and draws {ports}/{has} of {name}{times}, with {least} to {most} times the \
             price per port"
        )),
        ..item.clone()
    })
}
