//! `hotlink design`: which network to buy for so many hosts, and why not another.

use crate::table::{Table, figure};
use crate::values::{Counts, Numbers, Size};
use crate::{Failure, output::Output};
use hotlink_bench::{Record, Which};
use hotlink_design::{Design, Floor, Limit, Request, collective_named, design};
use hotlink_report::Report;
use hotlink_results::Batch;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink design --hosts 512 --technology infiniband,roce --oversubscription 1,2
  hotlink design --hosts 512,4096 --technology infiniband,roce,slingshot --oversubscription 1,2,4 --prices my-prices.toml --out design/
  hotlink design --hosts 1024 --max-cost 5e6 --max-racks 40 --min-share all-to-all=0.5 --survive switch=0.8
  hotlink design --hosts 512 --why infiniband-512-hyperx2-1to1
  hotlink design --hosts 128 --gpus-per-host 8 --technology infiniband

With --out: a fabric file for each variant, TECHNOLOGY-HOSTS-VARIANT.toml, which every verb takes, design.json, and the front as a
page, front.html; the installed command (pip install .) adds it as a picture, PNG and SVG. A fabric file names its price list: give --prices to
`compare` again for prices of your own. Several numbers of hosts: what each step from one to the next adds and moves. Exit status 1: at some number of hosts no variant keeps to all limits; the binding ones are named.")]
pub(crate) struct Args {
    /// Numbers of hosts: a list or range.
    #[arg(long, value_name = "LIST")]
    hosts: Counts,
    /// GPUs of a host, each with a port of its own: nodes are GPUs then, and rails are among the variants.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    gpus_per_host: Option<u32>,
    /// Cables of a host, or of each of its GPUs, each to a port of its own in the same network: nodes are these ports then.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=16))]
    links_per_host: u32,
    /// Technologies, or fabrics of the catalog or files whose links, switches and prices to take.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "infiniband,roce,slingshot")]
    technology: Vec<String>,
    /// Ports of a switch towards hosts over those towards other switches: 1 is full bandwidth.
    #[arg(long, value_name = "LIST", default_value = "1")]
    oversubscription: Numbers,
    /// Prices that override the catalog's: a file, or a list of the catalog.
    #[arg(long, value_name = "NAME|FILE")]
    prices: Option<PathBuf>,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    floor: FloorArgs,
    /// Collectives whose times are told by the load that their bytes put on the hottest link.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = collective_named, default_values = ["allreduce", "alltoall"])]
    collective: Vec<Which>,
    /// Bytes of a message and of a collective.
    #[arg(long, value_name = "SIZE", default_value = "1MiB")]
    size: Size,
    /// Draws of random permutations; their median counts.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    samples: u64,
    /// Seed of the draws.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Simulate a random permutation packet by packet on each variant of the front. Takes long for many hosts or bytes.
    #[arg(long)]
    simulate: bool,
    /// Say what beat this variant, or which limit it misses.
    #[arg(long, value_name = "VARIANT")]
    why: Option<String>,
    /// Folder for the variants' fabric files and the data.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Limits")]
struct LimitArgs {
    /// Most that may be paid in all, in the price list's currency.
    #[arg(long, value_name = "AMOUNT", value_parser = Limit::most)]
    max_cost: Option<f64>,
    /// Most power of the network, in kilowatts.
    #[arg(long, value_name = "KW", value_parser = Limit::most)]
    max_power: Option<f64>,
    /// Most racks of hosts and switches.
    #[arg(long, value_name = "N", value_parser = Limit::most)]
    max_racks: Option<f64>,
    /// Longest cable, in metres.
    #[arg(long, value_name = "M", value_parser = Limit::most)]
    max_cable: Option<f64>,
    /// Least share of its injection that a node gets under a pattern, such as all-to-all=0.5; repeatable.
    #[arg(long, value_name = "PATTERN=SHARE", value_parser = Limit::share)]
    min_share: Vec<Limit>,
    /// Least share of the bandwidth that is left after one failed cable or switch, such as switch=0.9; repeatable.
    #[arg(long, value_name = "PART=SHARE", value_parser = Limit::survive)]
    survive: Vec<Limit>,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Floor")]
struct FloorArgs {
    /// Hosts of a rack.
    #[arg(long, value_name = "N", default_value_t = Floor::default().hosts_per_rack)]
    hosts_per_rack: u32,
    /// Switches of a rack that holds no hosts.
    #[arg(long, value_name = "N", default_value_t = Floor::default().switches_per_rack)]
    switches_per_rack: u32,
    /// Racks of a row.
    #[arg(long, value_name = "N", default_value_t = Floor::default().racks_per_row)]
    racks_per_row: u32,
    /// From a rack to the next of its row, in metres.
    #[arg(long, value_name = "M", default_value_t = Floor::default().rack_width_m)]
    rack_width: f64,
    /// From a row of racks to the next, in metres.
    #[arg(long, value_name = "M", default_value_t = Floor::default().row_pitch_m)]
    row_pitch: f64,
    /// What a cable has more at each end, in metres.
    #[arg(long, value_name = "M", default_value_t = Floor::default().slack_m)]
    slack: f64,
    /// Longest cable of copper, in metres; longer ones are optical.
    #[arg(long, value_name = "M", default_value_t = Floor::default().copper_m)]
    copper_reach: f64,
}

impl Args {
    fn request(&self) -> Result<Request, Failure> {
        let LimitArgs { max_cost, max_power, max_racks, max_cable, min_share, survive } = &self.limits;
        let most = [
            max_cost.map(Limit::Cost),
            max_power.map(Limit::Power),
            max_racks.map(Limit::Racks),
            max_cable.map(Limit::Cable),
        ];
        let floor = &self.floor;
        Ok(Request {
            hosts: self.hosts.to_u32().map_err(|what| Failure::Input(format!("--hosts: {what}")))?,
            gpus_per_host: self.gpus_per_host,
            links_per_host: self.links_per_host,
            technologies: self.technology.clone(),
            oversubscriptions: self.oversubscription.to_vec(),
            prices: self.prices.clone(),
            floor: Floor {
                hosts_per_rack: floor.hosts_per_rack,
                switches_per_rack: floor.switches_per_rack,
                racks_per_row: floor.racks_per_row,
                rack_width_m: floor.rack_width,
                row_pitch_m: floor.row_pitch,
                slack_m: floor.slack,
                copper_m: floor.copper_reach,
            },
            limits: most.into_iter().flatten().chain(min_share.iter().chain(survive).cloned()).collect(),
            collectives: self.collective.clone(),
            size: self.size.0,
            samples: self.samples,
            seed: self.seed,
            simulate: self.simulate,
            why: self.why.clone(),
        })
    }
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    let request = args.request()?;
    let progress = output.progress("design", 0);
    let found = design(&request, &progress);
    drop(progress);
    let found = found?;
    for record in &found.records {
        output.push(record.clone());
    }
    tables(&found, &request).into_iter().for_each(|table| output.table(table));
    if let Some(folder) = &args.out {
        write(&found, folder, output)?;
    }
    match found.impossible.is_empty() {
        true => Ok(()),
        false => Err(Failure::Check(found.impossible.join("\n"))),
    }
}

/// Writes the variants as fabric files, and the records, all or nothing.
///
/// # Errors
/// A file cannot be written.
pub fn write_design(found: &Design, folder: &Path) -> Result<(), Failure> {
    let mut output = Output::silent();
    found.records.iter().for_each(|record| output.push(record.clone()));
    write(found, folder, &output)
}

fn write(found: &Design, folder: &Path, output: &Output) -> Result<(), Failure> {
    let batch = Batch::new(folder)?;
    for (name, text) in &found.files {
        batch.write(name, text)?;
    }
    let text = output.json();
    let data = batch.write("design.json", &text)?;
    batch.write("front.html", &page(found, folder, &text)?)?;
    // Without the installed command, `hotlink.design(...).plot()` draws it.
    if let Some(Err(why)) = output.plotter().map(|plot| plot(&data)) {
        eprintln!("hotlink: no picture: {why}");
    }
    batch.commit()?;
    eprintln!("hotlink: wrote {} fabric files, design.json and front.html to {}", found.files.len(), folder.display());
    Ok(())
}

/// The front as a page, which `hotlink report design.json` makes, too.
fn page(found: &Design, folder: &Path, text: &str) -> Result<String, Failure> {
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

/// What people read: the front and the others at each number of hosts, the limits, what was left out.
fn tables(found: &Design, request: &Request) -> Vec<Table> {
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
        let columns = [
            ("hosts", "hosts"),
            ("constraint", "limit"),
            ("met_by", "kept by"),
            ("met_by_without", "kept without it"),
            ("of", "of"),
            ("best", "best without it"),
            ("binds", "binds"),
        ];
        tables.push(Table::of_columns(&rows, &columns));
    }
    let steps: Vec<Record> = of("step").into_iter().cloned().collect();
    if let Some(currency) = steps.iter().find_map(|step| step.text("currency")).map(str::to_owned) {
        let cost = format!("cost_{currency}");
        let head = format!("cost {currency}");
        let columns = [
            ("grows_from", "from"),
            ("fabric", "to"),
            ("added_switches", "switches more"),
            ("added_cables", "cables more"),
            ("cables_stay", "cables stay"),
            ("cables_move", "cables move"),
            (cost.as_str(), head.as_str()),
        ];
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
            .push("shares are of a node's own injection; failures of the exchange of all with all before".to_owned());
    }
    tables
}

fn table(title: &str, rows: &[&Record], is_beaten: bool) -> Table {
    let currency = rows.iter().find_map(|row| row.text("currency")).unwrap_or_default();
    let heads =
        ["variant", "switches", "cables", "optics", "racks", "cost", "from..to", "kW", "all-to-all", "bisection"];
    let more = ["permutation", "cable fails", "switch fails", "hosts lost"];
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
