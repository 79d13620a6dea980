//! A page as it is asked for: results in, files out, and the verdict.

use crate::{Acceptance, Report, Verdict, possible};
use hotlink_fabric::input;
use hotlink_results::anonymous::without_folder;
use hotlink_results::{Results, are_apart, can_write, is_no_input, read, write_whole};
use hotlink_study::Error;
use maud::Markup;
use std::path::PathBuf;

/// The request.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Results: files that `--json` printed, or folders of a sweep.
    pub results: Vec<PathBuf>,
    /// The page to write.
    pub out: PathBuf,
    /// The requirements, as TOML.
    pub require: Option<PathBuf>,
    /// Where checks and findings go as JUnit, too.
    pub junit: Option<PathBuf>,
    /// The page's title.
    pub title: Option<String>,
    /// Whether hosts, folders and addresses are left out of the files.
    pub anonymous: bool,
}

impl Asked {
    /// Judges the results and writes their page.
    ///
    /// # Errors
    /// What is no result or no requirement, by its place; what cannot be written.
    pub fn write(&self) -> Result<Report, Error> {
        self.write_as(None, self.command())
    }

    /// The same, with what the page says first, and the command that makes it again.
    pub(crate) fn write_as(&self, lead: Option<Markup>, command: String) -> Result<Report, Error> {
        let outputs = [("--out", Some(&self.out)), ("--junit", self.junit.as_ref())];
        are_apart(outputs)?;
        for (option, path) in outputs {
            if let Some(path) = path {
                is_no_input(option, path, self.results.iter().chain(&self.require))?;
                can_write(option, path)?;
            }
        }
        let acceptance = self.require.as_ref().map(|path| {
            let text = input::text(&path.to_string_lossy());
            let text = text.map_err(|error| Error::Input(format!("{}: cannot be read: {error}", path.display())))?;
            Acceptance::parse(path, &text)
        });
        let mut acceptance = acceptance.transpose()?;
        let inputs: Result<Vec<_>, Error> = self.results.iter().map(|path| read(path)).collect();
        let mut inputs: Vec<_> = inputs?.into_iter().flatten().collect();
        possible::check(&inputs)?;
        if self.anonymous {
            inputs.iter_mut().for_each(Results::make_anonymous);
            acceptance.iter_mut().for_each(|acceptance| acceptance.file = without_folder(&acceptance.file));
        }
        let report = Report { lead, ..Report::new(inputs, acceptance, self.title.clone(), command) };
        write_whole("--out", &self.out, &report.html())?;
        self.junit.as_ref().map_or(Ok(()), |path| write_whole("--junit", path, &report.junit()))?;
        Ok(report)
    }

    /// Whether the results pass. A suspicious result fails where something is required.
    ///
    /// # Errors
    /// They do not, in a sentence.
    pub fn verdict(&self, report: &Report) -> Result<(), Error> {
        match report.verdict() {
            Verdict::Fail => Err(Error::Check(format!("fail: {}", report.sentence()))),
            Verdict::Suspicious if self.require.is_some() => {
                Err(Error::Check(format!("suspicious: {}", report.sentence())))
            }
            _ => Ok(()),
        }
    }

    /// The command that makes the page of these results alone.
    fn command(&self) -> String {
        let told =
            |path: &PathBuf| if self.anonymous { without_folder(path) } else { path.clone() }.display().to_string();
        let mut words = vec!["hotlink report".to_owned()];
        words.extend(self.results.iter().map(told));
        words.push(format!("--out {}", told(&self.out)));
        words.extend(self.require.iter().map(|path| format!("--require {}", told(path))));
        words.extend(self.title.iter().map(|title| format!("--title '{title}'")));
        words.join(" ")
    }
}
