//! Several fabrics at several sizes: their bandwidth, cost, and the best at each size.

use crate::Error;
use crate::ask::Answer;
use crate::inputs::{self, Vary};
use crate::model::{Method, PatternQuestion};
use crate::ranking::{Crossover, Eras, Grid, Quantity};
use crate::{Source, Unwatched, Watch, explain};
use hotlink_bench::Record;
use hotlink_fabric::catalog::{Library, nearest, status_name, variant};
use hotlink_fabric::inventory::Inventory;
use hotlink_fabric::price::{Bill, PriceError, PriceList};
use hotlink_fabric::spec::{FabricSpec, ItemKind};
use hotlink_fabric::{Fabric, input};
use std::cell::OnceCell;
use std::path::Path;

/// Bytes of a message where packets are compared and no size is given: they are simulated one by one.
pub const PACKETS_SIZE: u64 = 64 << 10;

/// A fabric with the price list that it is bought from.
pub struct Priced {
    /// The fabric.
    pub source: Source,
    list: Option<PriceList>,
}

impl Priced {
    /// With the catalog's prices, overridden by those of `own`; of a variant, those of what it buys.
    ///
    /// # Errors
    /// A list is not sound, or does not fit the fabric.
    pub fn new(source: Source, own: Option<&Path>) -> Result<Priced, Error> {
        let open =
            |name: &str| Library::user().price_list(name).map_err(|mistakes| Error::Input(explain(name, &mistakes)));
        let own = own.map(|path| open(&as_path(&path.to_string_lossy()))).transpose()?;
        let Some(prices) = source.spec().prices.as_ref() else { return Ok(Priced { source, list: None }) };
        let list = match (prices.list.is_empty(), own) {
            // No list of the catalog has pieces of a variant's link.
            (true, None) => return Ok(Priced { source, list: None }),
            (true, Some(own)) => own,
            (false, None) => open(&prices.list)?,
            (false, Some(own)) => {
                let list = open(&prices.list)?;
                check_own(&list, &own, source.spec())?;
                list.overridden_by(own)
            }
        };
        let (list, prices) = list.fitted(prices);
        let source = source.varied(FabricSpec { prices: Some(prices), ..source.spec().clone() });
        Ok(Priced { source, list: Some(list) })
    }

    /// The same prices for another fabric.
    #[must_use]
    pub fn of(&self, source: Source) -> Priced {
        Priced { source, list: self.list.clone() }
    }

    /// The price list, if the fabric has one.
    pub fn list(&self) -> Option<&PriceList> {
        self.list.as_ref()
    }

    /// What `inventory` costs; `None`: the fabric has no prices, or pieces that no list prices.
    ///
    /// # Errors
    /// The list lacks an item that the fabric names, or the sum is too large.
    pub fn bill(&self, inventory: &Inventory) -> Result<Option<Bill>, String> {
        match self.billed(inventory) {
            Some(Err(PriceError::Unpriced { .. })) | None => Ok(None),
            Some(bill) => bill.map(Some).map_err(|error| error.to_string()),
        }
    }

    fn billed(&self, inventory: &Inventory) -> Option<Result<Bill, PriceError>> {
        Some(self.list.as_ref()?.bill(self.source.spec().prices.as_ref()?, inventory))
    }

    /// Why a variant has no bill, with what would give it one; `None`: its fabric has no prices itself.
    fn unpriced(&self, inventory: &Inventory) -> Option<String> {
        const REST: &str = "pieces that the fabric itself does not buy have no price; a fabric file of your own names \
                            them (hotlink new fabric)";
        match (self.source.spec().prices.as_ref(), &self.list) {
            (Some(prices), None) => {
                // As a list without items tells it.
                let empty = PriceList::default();
                Some(empty.bill(prices, inventory).err()?.to_string())
            }
            (Some(_), Some(_)) => Some(self.billed(inventory)?.err()?.to_string()),
            (None, _) => {
                let (base, settings) = variant::split(self.source.name());
                let has = || Library::user().fabric(base).is_ok_and(|base| base.spec.prices.is_some());
                (!settings.is_empty() && has()).then(|| REST.to_owned())
            }
        }
    }

    /// Adds what `fabric` consists of, and what that costs.
    ///
    /// # Errors
    /// As [`Priced::bill`].
    pub fn price(&self, fabric: &Fabric, record: &mut Record) -> Result<(), String> {
        let inventory = Inventory::of(fabric);
        for (kind, key) in PIECES {
            if let Some(count) = inventory.pieces.get(&kind) {
                record.set(key, *count);
            }
        }
        let Some(bill) = self.bill(&inventory)? else {
            self.unpriced(&inventory).into_iter().for_each(|why| record.set("unpriced", why));
            return Ok(());
        };
        let currency = &bill.currency;
        record.set(&format!("cost_{currency}"), bill.total.units());
        for (key, watts) in
            ["power_kW", "power_kW_low", "power_kW_high"].into_iter().zip(bill.power.into_iter().flatten())
        {
            record.set(key, watts / 1e3);
        }
        record.set(&format!("cost_per_node_{currency}"), bill.per_node());
        let bandwidth = record.number("bandwidth_per_node_MBps");
        if let Some(bandwidth) = bandwidth {
            record.set(&format!("cost_per_MBps_{currency}"), bill.per_mbps_per_node(bandwidth));
        }
        // Of the bandwidth as it is: `--sensitivity` has its interval.
        for (key, end) in ["low", "high"].into_iter().zip(bill.range) {
            record.set(&format!("cost_{currency}_{key}"), end.units());
            let per_node = end.units() / bill.nodes as f64;
            record.set(&format!("cost_per_node_{currency}_{key}"), per_node);
            if let Some(bandwidth) = bandwidth {
                record.set(&format!("cost_per_MBps_{currency}_{key}"), per_node / bandwidth);
            }
        }
        record.set("currency", currency.as_str());
        record.set("prices", bill.list.as_str());
        record.set("prices_date", bill.date.as_str());
        record.set("prices_year", bill.year.as_str());
        record.set("prices_status", status_name(bill.status));
        if !bill.assumed.is_empty() {
            record.set("prices_assumed", bill.assumed.join("; "));
        }
        Ok(())
    }
}

/// Refuses the user's own list if some of its prices would not be used. Such prices are items that nothing buys. A list
/// in another currency must also hold everything that `spec` buys.
fn check_own(list: &PriceList, own: &PriceList, spec: &FabricSpec) -> Result<(), Error> {
    // Of a variant, whose pieces have other items, a bill says what is missing.
    let whole = spec.prices.iter().filter(|prices| prices.varied.is_none());
    let bought: Vec<&String> = whole.flat_map(|prices| prices.bought()).collect();
    let missing: Vec<&str> =
        bought.iter().filter(|item| !own.items.contains_key(**item)).map(|item| item.as_str()).collect();
    if own.currency != list.currency && !missing.is_empty() {
        return Err(Error::Input(format!(
            "price list {}: prices are in {}, those of the catalog's list {} in {}, so the list must hold all that {} \
             buys. It lacks {}",
            own.name,
            own.currency,
            list.name,
            list.currency,
            spec.name,
            missing.join(", ")
        )));
    }
    let library = Library::user();
    let lists = library.list("prices").into_iter().filter_map(|listed| library.price_list(&listed.name).ok());
    let mut known: Vec<String> = lists.flat_map(|list| list.items.into_keys()).collect();
    known.extend(list.items.keys().cloned());
    known.extend(bought.into_iter().cloned());
    // An item that says what it is of is bought by variants.
    let is_known = |item: &String| known.contains(item) || own.items[item].link.is_some();
    if let Some(item) = own.items.keys().find(|item| !is_known(item)) {
        let near = nearest(item, known.iter().map(String::as_str));
        let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        let what = format!("price list {}: item.{item}: no fabric buys it{near}", own.name);
        return Err(Error::Input(format!("{what} (see `hotlink catalog show {}`)", list.name)));
    }
    Ok(())
}

/// Keys of a record for what is bought.
const PIECES: [(ItemKind, &str); 6] = [
    (ItemKind::Nic, "nics"),
    (ItemKind::Switch, "switches"),
    (ItemKind::Enclosure, "enclosures"),
    (ItemKind::CableNode, "node_cables"),
    (ItemKind::CableSwitch, "switch_cables"),
    (ItemKind::CableGlobal, "global_cables"),
];

/// The purchases of a priced record.
pub fn bought(cell: &Record) -> Option<Inventory> {
    let whole = |key: &str| cell.number(key).map(|count| count as u64);
    let pieces = PIECES.iter().filter_map(|(kind, key)| Some((*kind, whole(key)?)));
    cell.get("prices")?;
    Some(Inventory { nodes: whole("nodes")?, pieces: pieces.collect() })
}

/// A file that is there is meant before the catalog's list of that name.
fn as_path(name_or_path: &str) -> String {
    let is_named = input::is_path(name_or_path) || !input::is_file(name_or_path);
    if is_named { name_or_path.to_owned() } else { format!("./{name_or_path}") }
}

/// The whole comparison.
pub struct Comparison {
    /// The method of the answer.
    pub method: Method,
    /// Names and titles of the fabrics.
    pub titles: Vec<(String, String)>,
    /// The sizes.
    pub nodes: Vec<u32>,
    /// A record for every fabric and size, by fabric.
    pub cells: Vec<Record>,
    /// Every quantity that is ranked.
    pub quantities: Vec<(Quantity, Grid)>,
    /// The answer of each cell that is held against those of other engines.
    pub(crate) answers: Vec<Option<Answer>>,
}

impl Comparison {
    /// Every fabric at every size. A fabric that cannot be built at some size becomes a row with a note.
    pub fn make(
        sources: &[Priced],
        sizes: &[u32],
        question: &PatternQuestion,
        method: Method,
        eras: Eras,
        vary: Vary,
        watch: &dyn Watch,
    ) -> Result<Comparison, Error> {
        let (mut cells, mut answers, mut sizes) = (Vec::new(), Vec::new(), sizes.to_vec());
        // Crossovers need ascending sizes.
        sizes.sort_unstable();
        sizes.dedup();
        for priced in sources {
            for (index, &nodes) in sizes.iter().enumerate() {
                let first = OnceCell::new();
                let one = |source: &Source, _: &dyn Watch| {
                    let (record, mbps) = cell(priced, source, nodes, question, method, watch).map_err(Error::Input)?;
                    // Questions that are asked again with other inputs are no answers of their own.
                    let _ = first.set((record.text("method").unwrap_or_default().to_owned(), mbps));
                    Ok(vec![record])
                };
                let cell = inputs::told(&priced.source, vary.at(index), &Unwatched, &one);
                cells.extend(cell.unwrap_or_else(|why| {
                    (0..question.draws()).for_each(|_| watch.step());
                    vec![question.unanswered(priced.source.name(), nodes, &why.to_string())]
                }));
                answers.push(first.into_inner().and_then(|(by, mbps)| {
                    Answer::claimed(&by, &question.asked(priced.source.name(), nodes), &priced.source, mbps?)
                }));
            }
        }
        if let (Some(first), true) = (cells.first(), cells.iter().all(|cell| cell.get("note").is_some())) {
            let why = first.text("note").unwrap_or_default();
            return Err(Error::Input(format!("no fabric has an answer at any of these sizes; the first: {why}")));
        }
        let titles = sources.iter().map(|priced| (priced.source.name().to_owned(), priced.source.title()));
        let titles: Vec<_> = titles.collect();
        let fabrics: Vec<String> = titles.iter().map(|(name, _)| name.clone()).collect();
        let with_grid = |quantity: Quantity| {
            let grid = Grid::new(&cells, &fabrics, &sizes, &quantity);
            (quantity, grid)
        };
        let quantities = Quantity::all(&cells, eras).into_iter().map(with_grid).collect();
        Ok(Comparison { method, titles, nodes: sizes, cells, quantities, answers })
    }

    /// A record for every fabric and size (`kind` = `fabric`, with a mark where it is best), then the crossovers
    /// (`kind` = `crossover`).
    pub fn records(&self) -> Vec<Record> {
        self.marked_cells().into_iter().chain(self.crossovers()).collect()
    }

    /// Where one fabric overtakes another for good: a record each.
    pub fn crossovers(&self) -> Vec<Record> {
        let of = |(quantity, grid): &(Quantity, Grid)| {
            let told = |crossover: Crossover| {
                Record::new()
                    .with("kind", "crossover")
                    .with("method", self.method.name())
                    .with("quantity", quantity.key.as_str())
                    .with("nodes", crossover.nodes)
                    .with("ahead_before", crossover.before)
                    .with("ahead_after", crossover.after)
                    .with("lead_changes", crossover.changes)
            };
            grid.crossovers().into_iter().map(told).collect::<Vec<_>>()
        };
        self.quantities.iter().flat_map(of).collect()
    }

    /// The cells, each marked where it is best.
    pub fn marked_cells(&self) -> Vec<Record> {
        let mut cells = self.cells.clone();
        for (quantity, grid) in &self.quantities {
            for size in 0..self.nodes.len() {
                for best in grid.best(size) {
                    let cell = &mut cells[best * self.nodes.len() + size];
                    cell.set(&format!("best_{}", quantity.key), true);
                }
            }
        }
        cells
    }
}

/// One fabric at one size, and MB/s of each node that are held against other engines' answers.
fn cell(
    priced: &Priced,
    source: &Source,
    nodes: u32,
    question: &PatternQuestion,
    method: Method,
    watch: &dyn Watch,
) -> Result<(Record, Option<f64>), String> {
    let fabric = source.build(nodes)?;
    let other = match method {
        Method::Formula if source.is_damaged() => None,
        Method::Formula => question.by_formula(source.spec(), nodes),
        Method::Packet => Some(question.by_packets(source, nodes, watch)?),
        Method::Load => None,
    };
    let (mut record, fabric, mbps) = match other {
        Some(record) => {
            (0..question.draws()).for_each(|_| watch.step());
            let mbps = record.number("bandwidth_per_node_MBps");
            (record, fabric, mbps)
        }
        None => {
            let (record, counted) = question.by_load(fabric, watch)?;
            // Of the first draw, as the simulator's.
            (record, counted.fabric, Some(counted.first_mbps))
        }
    };
    priced.price(&fabric, &mut record)?;
    // A simulation's record has a kind of its own.
    Ok((Record::new().with("kind", "fabric").followed_by(record.without("kind")), mbps))
}
