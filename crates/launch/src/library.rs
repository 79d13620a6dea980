//! The MPI library's file: where it may be, and how a program finds it.

use hotlink_real::Job;
use hotlink_study::Error;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Names the library's file, for those who do not want to say it each time.
const OWN: &str = "HOTLINK_LIBRARY";
/// The name by which programs ask for the library.
const LIBRARY: &str = "libmpi_abi.so.1";

/// The place of the running command: the library is next to it.
#[derive(Clone, Debug, Default)]
pub struct Commands(pub Vec<PathBuf>);

impl Commands {
    /// Default places of the library: next to the command, or in `lib/hotlink` of the folder that it is installed in.
    fn places(&self) -> Vec<PathBuf> {
        let folders = self.0.iter().filter_map(|command| command.parent());
        let places =
            folders.flat_map(|folder| [Some(folder.to_owned()), folder.parent().map(|at| at.join("lib/hotlink"))]);
        let mut places: Vec<PathBuf> = places.flatten().map(|folder| folder.join(LIBRARY)).collect();
        places.dedup();
        places
    }
}

/// A job whose output goes to the standard error output, because the standard output has an answer, and the library
/// that it finds.
///
/// # Errors
/// As [`library`].
pub(crate) fn unheard(
    command: Vec<OsString>,
    ranks: u32,
    given: Option<&Path>,
    commands: &Commands,
) -> Result<(Job, PathBuf), Error> {
    let variables = with_library(given, commands)?;
    let job = Job {
        command,
        ranks,
        variables,
        tags: false,
        errors_alone: true,
        forks: Some(|_| ()),
        stall: None,
        limit: None,
    };
    Ok((job, library(given, commands)?))
}

/// Variables by which the program finds the library.
///
/// # Errors
/// As [`library`].
pub fn with_library(given: Option<&Path>, commands: &Commands) -> Result<Vec<(String, OsString)>, Error> {
    let mut path = library(given, commands)?.parent().unwrap_or(Path::new("/")).as_os_str().to_owned();
    if let Some(others) = std::env::var_os("LD_LIBRARY_PATH").filter(|others| !others.is_empty()) {
        path.push(":");
        path.push(others);
    }
    Ok(vec![("LD_LIBRARY_PATH".to_owned(), path)])
}

/// The library's file, which must have the name that programs ask for.
///
/// # Errors
/// It is not there, or has another name.
pub fn library(given: Option<&Path>, commands: &Commands) -> Result<PathBuf, Error> {
    let asked = given.map(Path::to_owned).or_else(|| std::env::var_os(OWN).map(PathBuf::from));
    let file = match asked {
        Some(file) if file.is_file() => file,
        Some(file) => {
            let who = if given.is_some() { "--library" } else { OWN };
            return Err(Error::Input(format!("{who} {}: there is no such file", file.display())));
        }
        None => commands.places().into_iter().find(|file| file.is_file()).ok_or_else(|| {
            let tried: Vec<String> = commands.places().iter().map(|place| place.display().to_string()).collect();
            let how = format!(
                "`pip install` from sources does not bring it. `make build` in a checkout leaves \
                target/release/{LIBRARY}: give its place with --library or {OWN}"
            );
            Error::Input(format!("{LIBRARY} is none of {}: {how}", tried.join(", ")))
        })?,
    };
    if file.file_name().is_none_or(|name| name != LIBRARY) {
        return Err(Error::Input(format!("{}: it must be named {LIBRARY}, as programs ask for it", file.display())));
    }
    // A link is followed by the loader, not here: the name is what counts.
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let whole = folder.canonicalize().map(|folder| folder.join(LIBRARY));
    whole.map_err(|error| Error::Input(format!("{}: {error}", file.display())))
}
