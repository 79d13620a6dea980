//! New tables, compared with those of the site and with what the cables allow.

use super::{Question, STEPS, View, fabric_of, permutations, routes_of, shifts, site_of};
use hotlink_bench::Record;
use hotlink_fabric::traffic::Traffic;
use hotlink_load::deadlock;
use hotlink_site::concurrent;
use hotlink_site::{Proposal, Site, Tables, propose, write_lfts};
use hotlink_study::{Error, Source, Watch};
use std::io;
use std::sync::Arc;

/// Tables that were made.
pub struct Rerouted<'a> {
    site: &'a Site,
    tables: Arc<Tables>,
}

impl Rerouted<'_> {
    /// Writes them as OpenSM's `file` routing engine loads them.
    ///
    /// # Errors
    /// The writer's.
    pub fn write(&self, out: impl io::Write) -> io::Result<()> {
        write_lfts(self.site, &self.tables, out)
    }
}

/// Proposes tables: a record of what the site's own give, one of what these give, and the tables.
///
/// # Errors
/// As [`super::inspect`]; the files state no LIDs.
pub fn reroute<'a>(
    source: &'a Source,
    question: Question,
    watch: &dyn Watch,
) -> Result<(Vec<Record>, Rerouted<'a>), Error> {
    let site = site_of(source)?;
    if !site.states_lids() {
        let what = "the files do not state the LID of every host and the GUID of every switch, which tables need";
        return Err(Error::Input(format!("{}: {what}", source.name())));
    }
    let mut records = vec![number(source, site, question, routes_of(site), site)?];
    watch.step();
    let Proposal { tables, order, .. } = propose(site);
    let tables = Arc::new(tables);
    watch.step();
    let made = site.with_tables(Arc::clone(&tables)).map_err(|error| Error::Input(error.to_string()))?;
    let new = number(source, site, question, "proposed: balanced up*/down* tables", &made)?;
    records.push(new.with("order", order));
    watch.step();
    Ok((records, Rerouted { site, tables }))
}

/// What tables give, and what the cables allow.
fn number(source: &Source, site: &Site, question: Question, routes: &str, of: &Site) -> Result<Record, Error> {
    let fabric = fabric_of(of)?;
    let view = View::new(&fabric)?;
    let mut record = Record::new()
        .with("fabric", source.name())
        .with("benchmark", "reroute")
        .with("method", "load")
        .with("nodes", site.nodes())
        .with("routes", routes);
    let demand = Traffic::AllToAll.demand(fabric.nodes(), 0).map_err(|error| Error::Input(error.to_string()))?;
    let (load, lost) =
        hotlink_load::count_reachable(&fabric, &demand).map_err(|error| Error::Input(error.to_string()))?;
    record.set("unreachable_pairs", lost);
    record.set("all_to_all_share", view.share(&load));
    if let Some(bound) = concurrent::all_to_all(&fabric, question.gap, STEPS) {
        let share = bound.upper * f64::from(fabric.nodes() - 1) / (view.usual_mbps * 1e6);
        record.set("cable_bound_share", share);
    }
    permutations(&view, question, &mut record)?;
    shifts(&view, &mut record)?;
    let cycle = deadlock::check(&fabric).map(|report| report.cycle.is_some());
    record.set("credit_loop", cycle.ok());
    Ok(record)
}
