//! Native parts that hotlink carries as source and compiles at first use with the tools of the machine. They must be
//! linked with the machine's own MPI, or be translated by Verilator. Each is kept under `$XDG_CACHE_HOME/hotlink`
//! (`~/.cache/hotlink`), in a folder named by a hash of its sources, commands and compilers. So a new version, a new
//! compiler or a new MPI makes a new folder.

pub mod device;
pub mod plugin;
mod served;

use crate::face::Face;
use hotlink_study::Error as Failure;
pub use served::Served;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// A source file: its name and text.
pub(crate) type Source = (&'static str, &'static str);

/// A program or library to be made of sources.
pub(crate) struct Recipe {
    /// Its name, in a file name's characters.
    pub(crate) name: &'static str,
    /// Files that are laid into the folder where the steps run.
    pub(crate) sources: Vec<Source>,
    /// Command lines, run one after the other.
    pub(crate) steps: Vec<Vec<String>>,
    /// The file that they make.
    pub(crate) product: &'static str,
    /// How to get the tools.
    pub(crate) tools: &'static str,
}

impl Recipe {
    /// The path of the product, which is made if it was not yet.
    ///
    /// # Errors
    /// A tool is missing, with the way to get it; a step fails, with its message; or there is no place for the
    /// product.
    pub(crate) fn make(&self, face: &dyn Face) -> Result<PathBuf, Failure> {
        let cache = cache()?;
        let name = format!("{}-{:016x}", self.name, self.hash()?);
        let (folder, staging) = (cache.join(&name), cache.join(format!(".{name}-{}", std::process::id())));
        if !folder.join(self.product).is_file() {
            face.say(&format!("compiling {} (once; kept in {})", self.name, folder.display()));
            let made = self.make_in(&staging).and_then(|()| move_in(&staging, &folder, self.product));
            let _ = fs::remove_dir_all(&staging);
            made?;
        }
        Ok(folder.join(self.product))
    }

    /// The path of the product, if it is there.
    pub(crate) fn made(&self) -> Result<Option<PathBuf>, Failure> {
        let product = cache()?.join(format!("{}-{:016x}", self.name, self.hash()?)).join(self.product);
        Ok(product.is_file().then_some(product))
    }

    fn make_in(&self, folder: &Path) -> Result<(), Failure> {
        for (name, text) in &self.sources {
            let path = folder.join(name);
            let parent = path.parent().unwrap_or(folder);
            fs::create_dir_all(parent).map_err(|error| cannot(parent, &error))?;
            fs::write(&path, text).map_err(|error| cannot(&path, &error))?;
        }
        for step in &self.steps {
            let done = Command::new(&step[0]).args(&step[1..]).current_dir(folder).output();
            let done = done.map_err(|error| self.no_tool(&step[0], &error))?;
            if !done.status.success() {
                let told = [done.stderr, done.stdout].concat();
                let told = String::from_utf8_lossy(&told);
                let last: Vec<&str> = told.lines().take(20).collect();
                return Err(Failure::Check(format!(
                    "{}: `{}` failed:\n{}",
                    self.name,
                    step.join(" "),
                    last.join("\n")
                )));
            }
        }
        Ok(())
    }

    /// FNV-1a over all that the product depends on.
    fn hash(&self) -> Result<u64, Failure> {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let mut add = |text: &str| {
            for byte in text.bytes().chain([0]) {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        };
        for (name, text) in &self.sources {
            add(name);
            add(text);
        }
        let mut last = "";
        for step in &self.steps {
            step.iter().for_each(|word| add(word));
            if step[0] != last {
                add(&version(&step[0]).map_err(|error| self.no_tool(&step[0], &error))?);
            }
            last = &step[0];
        }
        Ok(hash)
    }

    fn no_tool(&self, tool: &str, error: &std::io::Error) -> Failure {
        let why = if error.kind() == ErrorKind::NotFound { "is not on this machine".into() } else { error.to_string() };
        Failure::Input(format!("{}: {tool}: {why}; it is compiled at first use and needs {}", self.name, self.tools))
    }
}

/// The version that a compiler reports. MPI's wrappers pass the question on and hide which MPI they are, so their path
/// and their command line are added.
fn version(tool: &str) -> std::io::Result<String> {
    let told = |argument: &str| {
        Command::new(tool).arg(argument).output().map(|done| String::from_utf8_lossy(&done.stdout).into_owned())
    };
    let mut text = told("--version")?;
    if tool.contains("mpicc") {
        text += &told("-show")?;
    }
    Ok(text)
}

/// Another process may have been faster: then its product serves.
fn move_in(staging: &Path, folder: &Path, product: &str) -> Result<(), Failure> {
    match fs::rename(staging, folder) {
        Err(error) if !folder.join(product).is_file() => Err(cannot(folder, &error)),
        _ => Ok(()),
    }
}

fn cache() -> Result<PathBuf, Failure> {
    let xdg = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let root = xdg.or_else(home).ok_or_else(|| {
        Failure::Input("no home directory to keep what is compiled in; name a folder by XDG_CACHE_HOME".to_owned())
    })?;
    Ok(root.join("hotlink"))
}

fn cannot(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Input(format!("{}: cannot write it: {error}", path.display()))
}
