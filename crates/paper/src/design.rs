//! A design on paper: the front and the others at each number of hosts, limits, steps, and the folder of files.

use crate::output::Output;
use crate::table::{Table, figure};
use hotlink_bench::Record;
use hotlink_design::{Design, Request};
use hotlink_report::{LIMITS, Report, STEPS};
use hotlink_results::Batch;
use hotlink_study::Error;
use std::path::Path;

/// Writes the variants as fabric files, and the records, all or nothing; the picture, where a face can draw.
///
/// # Errors
/// A file cannot be written.
pub fn write(found: &Design, folder: &Path, output: &Output) -> Result<(), Error> {
    let batch = Batch::new(folder)?;
    for (name, text) in &found.files {
        batch.write(name, text)?;
    }
    let text = output.json();
    let data = batch.write("design.json", &text)?;
    batch.write("front.html", &page(found, folder, &text)?)?;
    // Without the installed command, `hotlink.design(...).plot()` draws it.
    if let Some(Err(why)) = output.plotter().map(|plot| plot(&data)) {
        crate::tell!("hotlink: no picture: {why}");
    }
    batch.commit()?;
    crate::tell!(
        "hotlink: wrote {} fabric files, design.json and front.html to {}",
        found.files.len(),
        folder.display()
    );
    Ok(())
}

/// The front as a page, which `hotlink report design.json` makes, too.
fn page(found: &Design, folder: &Path, text: &str) -> Result<String, Error> {
    let data = folder.join("design.json");
    let mut hosts: Vec<String> = Vec::new();
    for record in &found.records {
        let told = record.number("hosts").map(figure).filter(|told| !hosts.contains(told));
        hosts.extend(told);
    }
    let title = format!("Networks for {} hosts", hosts.join(", "));
    let command =
        format!("hotlink report {} --out {} --title '{title}'", data.display(), folder.join("front.html").display());
    Ok(Report::new(vec![hotlink_results::parse(&data, text)?], None, Some(title), command).html())
}

/// As [`write()`], by values: no face draws. `call` is what asked for it.
///
/// # Errors
/// A file cannot be written.
pub fn write_alone(found: &Design, folder: &Path, call: &str) -> Result<(), Error> {
    let mut output = Output::by_values(call);
    output.push_all(found.records.iter().cloned());
    write(found, folder, &output)
}

/// What people read: the front and the others at each number of hosts, the limits, what was left out.
pub fn tables(found: &Design, request: &Request) -> Vec<Table> {
    let of = |kind: &str| -> Vec<&Record> {
        found.records.iter().filter(|record| record.text("kind") == Some(kind)).collect()
    };
    let variants = of("variant");
    let is_front = |record: &&&Record| record.get("front").is_some_and(|front| front == true);
    let mut tables = Vec::new();
    for &hosts in &request.hosts {
        let here: Vec<&Record> =
            variants.iter().copied().filter(|one| one.number("hosts") == Some(f64::from(hosts))).collect();
        let (front, others): (Vec<&Record>, Vec<&Record>) = here.iter().partition(|one| is_front(one));
        let title = format!("{hosts} hosts: nothing beats these {} of {}", front.len(), here.len());
        tables.push(table(&title, &front, false));
        if !others.is_empty() {
            tables.push(table(&format!("{hosts} hosts: the others"), &others, true));
        }
    }
    let rows = of("constraint");
    if !rows.is_empty() {
        let rows: Vec<Record> = rows.into_iter().cloned().collect();
        tables.push(Table::of_columns(&rows, &LIMITS));
    }
    let steps: Vec<Record> = of("step").into_iter().cloned().collect();
    if let Some(currency) = steps.iter().find_map(|step| step.text("currency")).map(str::to_owned) {
        let cost = format!("cost_{currency}");
        let head = format!("cost {currency}");
        let columns = [&STEPS[..], &[(cost.as_str(), head.as_str())]].concat();
        tables.push(Table::of_columns(&steps, &columns));
    }
    let simulated: Vec<Record> = of("simulated").into_iter().cloned().collect();
    if !simulated.is_empty() {
        let columns = [
            ("fabric", "variant"),
            ("traffic", "traffic"),
            ("bandwidth_per_node_MBps", "simulated MB/s"),
            ("injection_share", "of injection"),
            ("efficiency", "efficiency"),
            ("note", "note"),
        ];
        tables.push(Table::of_columns(&simulated, &columns));
    }
    if let Some(last) = tables.last_mut() {
        let text = |record: &Record, key: &str| record.text(key).unwrap_or_default().to_owned();
        last.notes.extend(found.why.iter().cloned());
        last.notes
            .extend(of("left-out").iter().map(|one| format!("no {}: {}", text(one, "fabric"), text(one, "note"))));
        if let Some(first) = variants.first() {
            let compared = first.get("compared").and_then(|list| list.as_array()).into_iter().flatten();
            let compared: Vec<&str> = compared.filter_map(|key| key.as_str()).collect();
            last.notes.push(format!("compared: {}", compared.join(", ")));
            last.notes.push(format!("floor: {}", text(first, "floor")));
            last.notes.push(format!(
                "prices: {} of {}, {}",
                text(first, "prices"),
                text(first, "prices_date"),
                text(first, "prices_status")
            ));
        }
        last.notes
            .push("transceivers: two for each optical cable. Shares are of what a node can inject by itself; those after a failure are \
             of what all-to-all gave before it."
                .to_owned());
    }
    tables
}

fn table(title: &str, rows: &[&Record], is_beaten: bool) -> Table {
    let currency = rows.iter().find_map(|row| row.text("currency")).unwrap_or_default();
    let heads = ["variant", "switches", "cables", "transceivers", "racks", "cost", "from..to", "kW", "all-to-all"];
    let more = ["pairs across the middle", "permutation", "cable fails", "switch fails", "hosts lost"];
    let mut columns: Vec<String> = heads.iter().chain(&more).map(|head| (*head).to_owned()).collect();
    columns[5] = format!("cost {currency}");
    if is_beaten {
        columns.push("beaten by".to_owned());
    }
    let row = |record: &&Record| {
        let number = |key: &str| record.number(key).map_or_else(|| "-".to_owned(), figure);
        let share = |key: &str| record.number(key).map_or_else(|| "-".to_owned(), |x| format!("{:.0}%", 100.0 * x));
        let cables: f64 =
            ["node_cables", "switch_cables", "global_cables"].iter().filter_map(|key| record.number(key)).sum();
        let cost = |end: &str| number(&format!("cost_{currency}{end}"));
        let mut cells = vec![
            record.text("fabric").unwrap_or_default().to_owned(),
            number("switches"),
            cables.to_string(),
            number("optics"),
            number("racks"),
            cost(""),
            format!("{}..{}", cost("_low"), cost("_high")),
            number("power_kW"),
        ];
        let shares =
            ["all_to_all_share", "bisection_share", "permutation_share", "failed_cable_share", "failed_switch_share"];
        cells.extend(shares.map(share));
        cells.push(number("failed_switch_hosts"));
        if is_beaten {
            let missed = record.get("misses").and_then(|list| list.as_array()).into_iter().flatten();
            let missed: Vec<String> = missed.filter_map(|text| Some(format!("misses {}", text.as_str()?))).collect();
            let by = record.text("beaten_by").map(str::to_owned);
            cells.push(missed.into_iter().chain(by).collect::<Vec<_>>().join("; "));
        }
        cells
    };
    Table { title: title.to_owned(), columns, rows: rows.iter().map(row).collect(), notes: Vec::new() }
}
