//! `hotlink calibrate`: measured results become a fabric file, which `analyze` and `compare` take like any other.

mod here;

use crate::words::word;
use crate::{Failure, files, output::Output};
use hotlink_fabric::catalog::{self, Library};
use hotlink_study::calibrate::{Measured, Model, check_name, check_record, fabric, loggp, values};
use hotlink_study::results;
use serde_json::Value as Json;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink measure saturation --via shm --pairs 1..4 --json > m.json && hotlink calibrate m.json --name this-machine
  hotlink calibrate latency.json bandwidth.json --name lab --out lab.toml
  hotlink sweep plans/calibrate-mpi.toml --out c/ && hotlink sweep plans/check-mpi.toml --out k/
  hotlink calibrate c/ --model loggp --name this-mpi --check k/ && hotlink simulate is --class A --fabric this-mpi

What is taken: of saturation, the most bandwidth of one pair and of all pairs; of pingpong at up to 64 B, the latency;
of memory, the copy rates; the cores, beyond which the fabric is not built. Nothing is fitted: every value is one of the measured ones, and says which.

--model loggp fits L, o, g and G to ping-pong and stream (or one pair of saturation), with 95 % intervals by the bootstrap;
every third size is held out, and the error on it told. The piecewise form (time and gap at each size) and the costs of
copies stand beside, and of a sort on one rank the time of a scattered update. Results of this machine that hold no
copies or no such sort are completed on the spot, which is said: with sorts on as many processors at once as there are
ranks. --check FILE predicts is, alltoall, alltoallv and bcast by simulation and tells the error. Of what was measured several
times or in --rounds, the last of the quickest quarter counts: disturbances only lengthen.")]
pub(crate) struct Args {
    /// Results of `hotlink measure ... --json`; - is standard input.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Name of the fabric.
    #[arg(long, value_name = "NAME", default_value = "this-machine")]
    name: String,
    /// What to make: a fabric for analyze and compare, or also a LogGP machine for simulate goal, is and alltoallv.
    #[arg(long, value_parser = word::<Model>(), default_value_t = Model::Fabric)]
    model: Model,
    /// Results to predict and compare with (with --model loggp): what the calibration has not seen.
    #[arg(long, value_name = "FILE")]
    check: Vec<PathBuf>,
    /// Let it stand before the fabric of the same name in the catalog that comes with hotlink.
    #[arg(long)]
    force: bool,
    /// Where to write it, instead of the user's own catalog.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    check_name(&args.name)?;
    let shipped = Library::embedded().list("fabrics");
    if args.out.is_none() && !args.force && shipped.iter().any(|listed| listed.name == args.name) {
        return Err(Failure::Input(format!(
            "--name {0}: the catalog has a fabric of this name, which yours would replace; choose another name, or say \
             --force",
            args.name
        )));
    }
    if args.model == Model::Fabric && !args.check.is_empty() {
        return Err(Failure::Input("--check: needs --model loggp".to_owned()));
    }
    let path = match &args.out {
        Some(path) => path.clone(),
        None => Library::data_home()
            .ok_or_else(|| Failure::Input("calibrate: no home directory; say where with --out FILE".to_owned()))?
            .join("fabrics")
            .join(format!("{}.toml", args.name)),
    };
    let (mut measured, seen) = (read_all(&args.files)?, read_all(&args.check)?);
    if args.model == Model::Loggp {
        // What is wrong is told before anything is measured.
        files::can_write("--out", &path)?;
        loggp::can_fit(&measured)?;
        fabric(&args.name, &measured, args.model)?;
        here::complete(&mut measured, output)?;
    }
    let mut spec = fabric(&args.name, &measured, args.model)?;
    let mut told = Vec::new();
    if args.model == Model::Loggp {
        let fit = loggp::Fit::of(&measured);
        spec.parameters.extend(fit.parameters(&measured));
        let (records, notes) = fit.records(&args.name);
        told = records;
        notes.iter().for_each(|note| eprintln!("hotlink: {note}"));
        if !seen.is_empty() {
            told.extend(loggp::check(&spec, &seen)?);
        }
    }
    let text = catalog::to_toml(&spec);
    catalog::parse(&args.name, &text).map_err(|mistakes| {
        let told: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
        Failure::Check(format!("calibrate: these results do not make a sound fabric:\n{}", told.join("\n")))
    })?;
    files::write_whole("--out", &path, &text)?;
    eprintln!("hotlink: wrote {}", path.display());
    let values = values(&spec, &path.display().to_string()).into_iter();
    values.filter(|_| args.model == Model::Fabric).chain(told).for_each(|record| output.push(record));
    Ok(())
}

/// The measured records of all these.
fn read_all(files: &[PathBuf]) -> Result<Vec<Measured>, Failure> {
    let mut measured = Vec::new();
    for file in files {
        measured.extend(read(file)?);
    }
    Ok(measured)
}

/// The measured records of one result file, or of a sweep's folder.
fn read(path: &Path) -> Result<Vec<Measured>, Failure> {
    let mut found = Vec::new();
    for results in results::read(path)? {
        let host = results.environment.get("host").and_then(Json::as_str).map(|host| format!(" on {host}"));
        let source = format!("{}{}, {}", results.command, host.unwrap_or_default(), date(&results.file));
        let cores =
            ["cores", "cores_online"].map(|key| (key, results.environment.get(key).cloned().unwrap_or_default()));
        let is_here = here::made(&results.environment);
        for (index, mut record) in results.records.into_iter().enumerate() {
            if record.text("method") == Some("measured") {
                check_record(&record)
                    .map_err(|told| Failure::Input(format!("{}: records[{index}].{told}", results.file.display())))?;
                cores.iter().for_each(|(key, count)| record.set(key, count.clone()));
                found.push(Measured { record, source: source.clone(), is_here });
            }
        }
    }
    if found.is_empty() {
        return Err(Failure::Input(format!("{}: holds no record with method \"measured\"", path.display())));
    }
    Ok(found)
}

/// The day on which the results were written.
fn date(file: &Path) -> String {
    let written = std::fs::metadata(file).and_then(|metadata| metadata.modified());
    let since = written.ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    since.map_or_else(|| "undated".to_owned(), |since| civil(since.as_secs() / 86_400))
}

/// The date of a day since 1970-01-01 (H. Hinnant's `civil_from_days`).
fn civil(days: u64) -> String {
    let z = days + 719_468;
    let (era, day_of_era) = (z / 146_097, z % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, carry) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!("{:04}-{month:02}-{day:02}", year_of_era + era * 400 + carry)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        assert_eq!(
            (civil(0), civil(11_016), civil(20_513)),
            ("1970-01-01".into(), "2000-02-29".into(), "2026-03-01".into())
        );
    }
}
