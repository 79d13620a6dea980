//! A calibration as every face asks for it: result files in, a fabric's text and records about it out.

use super::{Measured, Model, check_name, check_record, fabric, loggp, memory, parameter_record, values};
use crate::anonymous::without_places;
use crate::{can_write, files, is_no_input};
use hotlink_bench::Record;
use hotlink_fabric::catalog::{self, Library, Mistake};
use hotlink_fabric::spec::Value;
use hotlink_study::Error;
use serde_json::{Map, Value as Json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The calibration.
#[derive(Clone, Debug)]
pub struct Calibration {
    /// Results; `-` is standard input.
    pub files: Vec<PathBuf>,
    /// Name of the fabric.
    pub name: String,
    /// The model to make of them.
    pub model: Model,
    /// Results to predict and compare with, of a LogGP machine.
    pub check: Vec<PathBuf>,
    /// Whether it may precede a fabric of this name that comes with hotlink.
    pub force: bool,
    /// Where the fabric is to be written; by default in the user's own catalog.
    pub out: Option<PathBuf>,
    /// Whether sources leave out the machine's name, folders and addresses.
    pub is_anonymous: bool,
}

/// The machine that calibrates. A face fills it in: this library starts no process and reads no clock.
pub trait Site {
    /// Whether results with this environment were made on this machine.
    fn made(&self, environment: &Map<String, Json>) -> bool;
    /// Measures what results of this machine lack.
    ///
    /// # Errors
    /// A measurement that failed.
    fn complete(&self, measured: &mut Vec<Measured>) -> Result<(), Error>;
    /// Shows people a note.
    fn note(&self, text: &str);
}

/// A calibrated fabric.
pub struct Calibrated {
    /// Where it belongs.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
    /// The records about it.
    pub records: Vec<Record>,
}

impl Calibration {
    /// Reads the results and makes the fabric.
    ///
    /// # Errors
    /// What is missing, or does not belong together.
    pub fn make(&self, site: &dyn Site) -> Result<Calibrated, Error> {
        let path = self.path()?;
        is_no_input("--out", &path, self.files.iter().chain(&self.check))?;
        let (mut measured, seen) = (self.read_all(&self.files, site)?, self.read_all(&self.check, site)?);
        self.is_of_one_host(&measured)?;
        if self.model == Model::Memory {
            return self.memory(path, &measured, &seen, site);
        }
        if self.model == Model::Loggp {
            // Mistakes are reported before anything is measured.
            can_write("--out", &path)?;
            loggp::can_fit(&measured)?;
            fabric(&self.name, &measured, self.model)?;
            site.complete(&mut measured)?;
        }
        let mut spec = fabric(&self.name, &measured, self.model)?;
        let mut told = Vec::new();
        if self.model == Model::Loggp {
            let fit = loggp::Fit::of(&measured);
            spec.parameters.extend(fit.parameters(&measured));
            spec.ranges.extend(fit.ranges());
            let (records, notes) = fit.records(&self.name);
            told = records;
            notes.iter().for_each(|note| site.note(note));
            if !seen.is_empty() {
                told.extend(loggp::check(&spec, &seen)?);
            }
        }
        let text = catalog::to_toml(&spec);
        catalog::parse(&self.name, &text).map_err(|mistakes| unsound("fabric", &mistakes))?;
        let values = values(&spec, &path.display().to_string()).into_iter();
        let records = values.filter(|_| self.model == Model::Fabric).chain(told).collect();
        Ok(Calibrated { path, text, records })
    }

    /// Refuses results of several machines: the times of one would count as repetitions of the other's. Messages
    /// between machines are of the network, whichever machine started them.
    fn is_of_one_host(&self, measured: &[Measured]) -> Result<(), Error> {
        let own = measured.iter().filter(|m| m.record.number("machines").is_none_or(|machines| machines < 2.0));
        let hosts: BTreeSet<&str> = own.filter_map(|m| m.host.as_deref()).collect();
        if hosts.len() < 2 {
            return Ok(());
        }
        let hosts = match self.is_anonymous {
            true => format!("{} hosts", hosts.len()),
            false => hosts.into_iter().collect::<Vec<_>>().join(" and "),
        };
        let what = "are of different machines: calibrate each by itself, with a --name of its own";
        Err(Error::Input(format!("calibrate: results of {hosts} {what}")))
    }

    /// The measured records of all these.
    fn read_all(&self, files: &[PathBuf], site: &dyn Site) -> Result<Vec<Measured>, Error> {
        let mut measured = Vec::new();
        for file in files {
            measured.extend(self.read(file, site)?);
        }
        Ok(measured)
    }

    /// The measured records of one result file, or of a sweep's folder.
    fn read(&self, path: &Path, site: &dyn Site) -> Result<Vec<Measured>, Error> {
        let mut found = Vec::new();
        for results in files::read(path)? {
            let results = results.whole()?;
            let host = results.host().map(str::to_owned);
            let on = host.as_ref().filter(|_| !self.is_anonymous).map(|host| format!(" on {host}")).unwrap_or_default();
            let mut words: Vec<String> = results.command.split(' ').map(str::to_owned).collect();
            if self.is_anonymous {
                without_places(&mut words);
            }
            let source = format!("{}{on}, {}", words.join(" "), date(&results.file));
            // Facts about the machine that a record lacks.
            let facts = ["cores", "cores_online", "caches", "page_B"]
                .map(|key| (key, results.environment.get(key).filter(|_| !results.is_imported()).cloned()));
            let is_here = !results.is_imported() && site.made(&results.environment);
            for (index, mut record) in results.records.into_iter().enumerate() {
                if record.text("method") == Some("measured") {
                    check_record(&record)
                        .map_err(|told| Error::Input(format!("{}: records[{index}].{told}", results.file.display())))?;
                    // A record that passed through a form without a command still names its program.
                    let is_imported = record.text("program").is_some();
                    if !is_imported {
                        facts.iter().for_each(|(key, fact)| record.set(key, fact.clone().unwrap_or_default()));
                    }
                    let host = host.clone().filter(|_| !is_imported);
                    found.push(Measured { record, source: source.clone(), is_here: is_here && !is_imported, host });
                }
            }
        }
        if found.is_empty() {
            return Err(Error::Input(format!("{}: holds no record with method \"measured\"", path.display())));
        }
        Ok(found)
    }

    /// Reads the results and makes a part: the memory system of a node.
    fn memory(
        &self,
        path: PathBuf,
        measured: &[Measured],
        seen: &[Measured],
        site: &dyn Site,
    ) -> Result<Calibrated, Error> {
        can_write("--out", &path)?;
        site.note("the copies are simulated word by word: with caches of 32 MiB that takes a minute");
        let fit = memory::Fit::of(measured)?;
        let (parameters, ranges) = fit.parameters(measured);
        let file = path.display().to_string();
        let record = |(key, value): (&String, &Value<f64>)| parameter_record(&self.name, key, value, &file);
        let mut records: Vec<Record> = parameters.iter().map(record).collect();
        let (beside, notes) = fit.records(&self.name);
        notes.iter().for_each(|note| site.note(note));
        records.extend(beside);
        if !seen.is_empty() {
            let (checked, notes) = fit.check(&self.name, seen)?;
            records.extend(checked);
            notes.iter().for_each(|note| site.note(note));
        }
        let text = catalog::host_to_toml("a node's memory, as copies measured on it tell", &parameters, &ranges);
        catalog::parse_part(&self.name, &text).map_err(|mistakes| unsound("part", &mistakes))?;
        Ok(Calibrated { path, text, records })
    }

    /// Where the fabric or part belongs, if it may have its name.
    fn path(&self) -> Result<PathBuf, Error> {
        let name = &self.name;
        check_name(name)?;
        let folder = if self.model == Model::Memory { "parts" } else { "fabrics" };
        let shipped = Library::embedded().list(folder);
        if self.out.is_none() && !self.force && shipped.iter().any(|listed| listed.name == *name) {
            let what = "the catalog has one of this name, which yours would replace; choose another name, or say";
            return Err(Error::Input(format!("--name {name}: {what} --force")));
        }
        if self.model == Model::Fabric && !self.check.is_empty() {
            return Err(Error::Input("--check: needs --model loggp or memory".to_owned()));
        }
        match &self.out {
            Some(path) => Ok(path.clone()),
            None => {
                let home = Library::data_home();
                let no_home = || Error::Input("calibrate: no home directory; say where with --out FILE".to_owned());
                let folder = home.ok_or_else(no_home)?.join(folder);
                // The catalog's own place cannot be misspelt.
                std::fs::create_dir_all(&folder)
                    .map_err(|error| Error::Input(format!("{}: cannot make it: {error}", folder.display())))?;
                Ok(folder.join(format!("{name}.toml")))
            }
        }
    }
}

/// The error of a product that cannot be read again.
fn unsound(what: &str, mistakes: &[Mistake]) -> Error {
    Error::Check(format!("calibrate: these results do not make a sound {what}:\n{}", catalog::one_a_line(mistakes)))
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
