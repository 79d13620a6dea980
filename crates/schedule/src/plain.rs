//! A schedule as JSON that people write.
//!
//! ```json
//! {
//!   "hotlink_schedule": 1,
//!   "ranks": [
//!     [{"send": 65536, "to": 1}],
//!     [{"recv": 65536, "from": 0, "id": "got"}, {"calc_ns": 1000, "after": ["got"]}]
//!   ]
//! }
//! ```
//!
//! Each rank is a list of operations. An operation is `{"send": BYTES, "to": RANK}`, `{"recv": BYTES, "from": RANK}`
//! (`"any"`: of any rank) or `{"calc_ns": TIME}`. Each may have `"cpu"` (the processor, 0 to 255) and `"id"` (a name of
//! the rank's own). `"after"` lists names whose ends it waits for, `"after_start"` names whose starts it waits for.
//! Messages may have `"tag"` (a receive: or `"any"`) and `"nic"`.

use crate::draft::Draft;
use crate::form::{ANY, Builder, Kind, LATEST, MOST_BYTES, MOST_RANKS, Op, Place, Schedule};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The version that is read and written.
pub const VERSION: u64 = 1;

/// What is wrong, and where: `ranks[0][3].to`.
pub(crate) type Wrong = (String, String);

/// Whether a document is of this form.
pub(crate) fn recognises(document: &Value) -> bool {
    document.get("hotlink_schedule").is_some()
}

/// All operations, in picoseconds.
pub(crate) fn builder(document: &Value, watched: u32) -> Result<Builder, Wrong> {
    let version = &document["hotlink_schedule"];
    if version.as_u64() != Some(VERSION) {
        return Err(("hotlink_schedule".to_owned(), format!("version {version} (allowed: {VERSION})")));
    }
    let mut keys = document.as_object().into_iter().flat_map(|document| document.keys());
    if let Some(key) = keys.find(|key| !["hotlink_schedule", "ranks"].contains(&key.as_str())) {
        return Err((key.clone(), "is unknown (allowed: hotlink_schedule, ranks)".to_owned()));
    }
    let ranks = document["ranks"].as_array().filter(|ranks| !ranks.is_empty() && ranks.len() <= MOST_RANKS as usize);
    let ranks = ranks.ok_or(("ranks".to_owned(), "must be a list of ranks, each a list of operations".to_owned()))?;
    let mut draft = Draft::new(ranks.len() as u32);
    for (rank, list) in ranks.iter().enumerate() {
        let place = || format!("ranks[{rank}]");
        let list = list.as_array().ok_or_else(|| (place(), "must be a list of operations".to_owned()))?;
        let mut names = BTreeMap::new();
        for (number, item) in list.iter().enumerate() {
            draft.stands(Place { file: 0, at: [rank as u64, number as u64] });
            let item = Item { rank, number, item };
            item.add(&mut draft, ranks.len() as u64)?;
            if let Some(name) = item.item.get("id") {
                let name = name.as_str().ok_or_else(|| item.wrong("id", "must be a name, a string"))?;
                if names.insert(name, number as u32).is_some() {
                    return Err(item.wrong("id", &format!("`{name}` occurs twice on this rank")));
                }
            }
        }
        for (number, item) in list.iter().enumerate() {
            Item { rank, number, item }.wait(&mut draft, &names)?;
        }
    }
    Ok(draft.builder(watched))
}

struct Item<'a> {
    rank: usize,
    number: usize,
    item: &'a Value,
}

/// The keys of every operation.
const COMMON: [&str; 4] = ["cpu", "id", "after", "after_start"];
/// Each kind of operation by its own key, and the keys that it has besides.
const KINDS: [(&str, &[&str]); 3] =
    [("send", &["to", "tag", "nic"]), ("recv", &["from", "tag", "nic"]), ("calc_ns", &["then_ns"])];

impl Item<'_> {
    fn wrong(&self, key: &str, what: &str) -> Wrong {
        let dot = if key.is_empty() { "" } else { "." };
        (format!("ranks[{}][{}]{dot}{key}", self.rank, self.number), what.to_owned())
    }

    /// A whole number, or what stands for "any".
    fn whole(&self, key: &str, most: u64, any: Option<u64>) -> Result<Option<u64>, Wrong> {
        match self.item.get(key) {
            None => Ok(None),
            Some(Value::String(word)) if word == "any" && any.is_some() => Ok(any),
            Some(value) => match value.as_u64().filter(|&number| number <= most) {
                Some(number) => Ok(Some(number)),
                None => Err(self.wrong(key, &format!("{value} (allowed: whole numbers, 0 to {most})"))),
            },
        }
    }

    fn add(&self, draft: &mut Draft, ranks: u64) -> Result<(), Wrong> {
        let item = self.item.as_object().ok_or_else(|| self.wrong("", "must be an operation: {...}"))?;
        let own: Vec<_> = KINDS.iter().filter(|(kind, _)| item.contains_key(*kind)).collect();
        let [(kind, others)] = own[..] else {
            return Err(self.wrong("", "must have one of send, recv, calc_ns"));
        };
        let is_known = |key: &&str| key == kind || others.contains(key) || COMMON.contains(key);
        if let Some(key) = item.keys().map(String::as_str).find(|key| !is_known(key)) {
            let allowed = [*others, &COMMON[..]].concat().join(", ");
            return Err(self.wrong(key, &format!("is no key of {kind} (allowed: {allowed})")));
        }
        let rank = self.rank as u32;
        let cpu = self.whole("cpu", 255, None)?.unwrap_or(0) as u8;
        let op = match *kind {
            "calc_ns" => {
                let ps = |key: &str, most: u64| -> Result<u64, Wrong> {
                    let most = most as f64 / 1e3;
                    let ns = item[key].as_f64().filter(|ns| (0.0..=most).contains(ns));
                    let ns = ns.ok_or_else(|| self.wrong(key, &format!("must be 0 to {most:.4e} ns")))?;
                    Ok((ns * 1e3).round() as u64)
                };
                let size = ps("calc_ns", LATEST)?;
                let (kind, tag) = match item.contains_key("then_ns") {
                    true => (Kind::Post, ps("then_ns", u32::MAX.into())? as u32),
                    false => (Kind::Calc, 0),
                };
                Op { kind, cpu, nic: 0, rank, peer: 0, tag, size }
            }
            _ => {
                let sends = *kind == "send";
                let (kind, key, other) = if sends { (Kind::Send, "send", "to") } else { (Kind::Recv, "recv", "from") };
                let any = (!sends).then_some(u64::from(ANY));
                let peer = self.whole(other, ranks - 1, any)?.ok_or_else(|| self.wrong(other, "is missing"))?;
                let size = self.whole(key, MOST_BYTES, None)?.unwrap_or(0);
                let tag = self.whole("tag", u64::from(ANY) - 1, any)?.unwrap_or(0) as u32;
                let nic = self.whole("nic", 255, None)?.unwrap_or(0) as u8;
                Op { kind, cpu, nic, rank, peer: peer as u32, tag, size }
            }
        };
        draft.put(op);
        Ok(())
    }

    fn wait(&self, draft: &mut Draft, names: &BTreeMap<&str, u32>) -> Result<(), Wrong> {
        for (key, start_only) in [("after", false), ("after_start", true)] {
            let Some(list) = self.item.get(key) else { continue };
            let list = list.as_array().ok_or_else(|| self.wrong(key, "must be a list of names"))?;
            for name in list {
                let known = name.as_str().and_then(|name| names.get(name));
                let before =
                    *known.ok_or_else(|| self.wrong(key, &format!("{name} names no operation of this rank")))?;
                match start_only {
                    true => draft.requires_start(self.rank as u32, self.number as u32, before),
                    false => draft.requires(self.rank as u32, self.number as u32, before),
                }
            }
        }
        Ok(())
    }
}

impl Schedule {
    /// The same as JSON for people; `unit_ps`: picoseconds that a unit of computation stands for.
    pub fn to_json(&self, unit_ps: u64) -> Value {
        let or_any = |number: u32| if number == ANY { json!("any") } else { json!(number) };
        let ranks = (0..self.ranks()).map(|rank| {
            let block = self.of_rank(rank);
            let mut items: Vec<Map<String, Value>> = Vec::with_capacity(block.len());
            for id in block.clone() {
                let op = self.op(id);
                let mut item = Map::new();
                let ns = |units: u64| json!(units as f64 * unit_ps as f64 / 1e3);
                match op.kind {
                    Kind::Calc => _ = item.insert("calc_ns".to_owned(), ns(op.size)),
                    Kind::Post => {
                        item.insert("calc_ns".to_owned(), ns(op.size));
                        item.insert("then_ns".to_owned(), ns(op.tag.into()));
                    }
                    Kind::Send => {
                        item.insert("send".to_owned(), json!(op.size));
                        item.insert("to".to_owned(), json!(op.peer));
                    }
                    Kind::Recv => {
                        item.insert("recv".to_owned(), json!(op.size));
                        item.insert("from".to_owned(), or_any(op.peer));
                    }
                }
                for (key, number) in [("cpu", op.cpu), ("nic", op.nic)] {
                    if number != 0 {
                        item.insert(key.to_owned(), json!(number));
                    }
                }
                if op.tag != 0 && op.kind.is_of_message() {
                    item.insert("tag".to_owned(), or_any(op.tag));
                }
                items.push(item);
            }
            for id in block.clone() {
                let name = || json!(format!("l{}", id - block.start));
                for (after, start_only) in self.successors(id) {
                    let key = if start_only { "after_start" } else { "after" };
                    items[(id - block.start) as usize].insert("id".to_owned(), name());
                    let list = items[(after - block.start) as usize].entry(key).or_insert_with(|| json!([]));
                    if let Some(list) = list.as_array_mut() {
                        list.push(name());
                    }
                }
            }
            Value::Array(items.into_iter().map(Value::Object).collect())
        });
        json!({"hotlink_schedule": VERSION, "ranks": ranks.collect::<Vec<_>>()})
    }
}
