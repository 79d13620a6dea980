//! Times of a program's collectives on a simulated fabric, with their bounds: a record for each function, number of
//! ranks and range of sizes.

use hotlink_bench::Record;
use hotlink_bound::Bound;
use hotlink_seats::Called;
use hotlink_workloads::called::{Call, Ground};
use std::collections::BTreeMap;

/// Calls that differ in ranks, root or size, of which bounds are computed: those with the most time.
const MOST: usize = 2000;

/// Calls that share a record: name, ranks, the power of two of their bytes, and why no bound is known.
type Key = (String, usize, Option<u32>, Option<String>);

/// Sums of a record's calls.
#[derive(Default)]
struct Row {
    calls: u64,
    whole_us: f64,
    spread_us: f64,
    inside_us: f64,
    sizes: Option<(u64, u64)>,
    bound_us: f64,
    /// Resources that set bounds, with the time of each.
    resources: BTreeMap<String, f64>,
    last: Option<Bound>,
}

/// Records of these collectives, those that ranks spent the most time in first.
pub(crate) fn records(called: &[Called], ground: &Ground<'_, '_>) -> Vec<Record> {
    let mut longest: Vec<&Called> = called.iter().collect();
    longest.sort_by_key(|called| std::cmp::Reverse(called.sums.inside));
    let mut rows = BTreeMap::<Key, Row>::new();
    for (place, called) in longest.into_iter().enumerate() {
        let least = match place < MOST {
            true => ground.least(&call(called)),
            false => Err(format!("not computed: more than {MOST} kinds of calls took longer")),
        };
        let key =
            (called.name.clone(), called.ranks.len(), size(called).map(u64::ilog2), least.as_ref().err().cloned());
        rows.entry(key).or_default().add(called, least.ok());
    }
    let mut rows: Vec<(Key, Row)> = rows.into_iter().collect();
    rows.sort_by(|a, b| b.1.inside_us.total_cmp(&a.1.inside_us));
    rows.into_iter().map(|(key, row)| row.record(key, ground)).collect()
}

fn call(called: &Called) -> Call<'_> {
    let calls = called.sums.calls.max(1) as f64;
    Call {
        name: &called.name,
        ranks: &called.ranks,
        root: called.root,
        bytes: called.bytes,
        moved: called.sums.moved.map(|moved| moved as f64 / calls),
        by_hardware: called.by_hardware,
    }
}

/// Bytes by which calls are distinguished.
fn size(called: &Called) -> Option<u64> {
    call(called).part().filter(|&bytes| bytes > 0)
}

impl Row {
    fn add(&mut self, called: &Called, least: Option<Bound>) {
        let sums = called.sums;
        self.calls += sums.calls;
        self.whole_us += sums.whole.us();
        self.spread_us += sums.spread.us();
        self.inside_us += sums.inside.us();
        self.sizes = match (self.sizes, call(called).part()) {
            (None, bytes) => bytes.map(|bytes| (bytes, bytes)),
            (Some((low, high)), Some(bytes)) => Some((low.min(bytes), high.max(bytes))),
            (sizes, None) => sizes,
        };
        if let Some(least) = least {
            let us = sums.calls as f64 * least.latency_us;
            self.bound_us += us;
            *self.resources.entry(least.resource.clone()).or_default() += us;
            self.last = Some(least);
        }
    }
    fn record(self, (name, ranks, _, why): Key, ground: &Ground<'_, '_>) -> Record {
        let calls = self.calls as f64;
        let latency_us = self.whole_us / calls;
        let mut record = Record::new()
            .with("fabric", ground.plan.fabric.spec.name.as_str())
            .with("benchmark", "run")
            .with("collective", name)
            .with("ranks", ranks as u64)
            .with("collective_calls", self.calls);
        if let Some((low, high)) = self.sizes {
            record.set("size_B", low);
            if high > low {
                record.set("size_max_B", high);
            }
        }
        let record = record
            .with("latency_us", latency_us)
            .with("entry_spread_us", self.spread_us / calls)
            .with("rank_time_us", self.inside_us / ranks as f64);
        let most = self.resources.into_iter().reduce(|most, one| if one.1 > most.1 { one } else { most });
        match (self.last, most) {
            (Some(last), Some((resource, _))) => {
                record.beside_time(&Bound { latency_us: self.bound_us / calls, resource, ..last }, latency_us)
            }
            _ => record.unbounded(&why.unwrap_or_default()),
        }
    }
}
