//! Which launcher started this process, and which MPI library goes with it.

use std::env;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A family of MPIs, as far as launchers and compilers are named after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Open MPI.
    OpenMpi,
    /// MPICH and its many descendants.
    Mpich,
    /// This project's own library, started by `hotlink run`.
    Own,
    /// Started through PMIx by something else.
    Unknown,
}

/// The launcher that started this process as a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launcher {
    /// Its family.
    pub family: Family,
    /// This process's rank, if the launcher gives it.
    pub rank: Option<u32>,
    /// How many it started, if it gives that.
    pub ranks: Option<u32>,
    /// Ranks on this machine, if it gives that.
    pub local: Option<u32>,
    /// This process's place among them, if it gives that.
    pub local_rank: Option<u32>,
}

/// How to get at an MPI library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Library {
    /// It has MPI 5's standard interface: load it.
    Standard(PathBuf),
    /// Compile the adapter with this `mpicc`.
    Compiler(String),
}

impl Launcher {
    /// From the variables that launchers set for their ranks; `None` if none did.
    pub fn of_this_process() -> Option<Launcher> {
        Launcher::of(|name| env::var(name).ok())
    }
    fn of(variable: impl Fn(&str) -> Option<String>) -> Option<Launcher> {
        let number = |name: &str| variable(name)?.parse::<u32>().ok();
        if variable("OMPI_COMM_WORLD_SIZE").is_some() {
            let (rank, ranks) = (number("OMPI_COMM_WORLD_RANK"), number("OMPI_COMM_WORLD_SIZE"));
            let (local, local_rank) = (number("OMPI_COMM_WORLD_LOCAL_SIZE"), number("OMPI_COMM_WORLD_LOCAL_RANK"));
            return Some(Launcher { family: Family::OpenMpi, rank, ranks, local, local_rank });
        }
        if variable("PMI_RANK").is_some() {
            let (rank, ranks) = (number("PMI_RANK"), number("PMI_SIZE"));
            let (local, local_rank) = (number("MPI_LOCALNRANKS"), number("MPI_LOCALRANKID"));
            return Some(Launcher { family: Family::Mpich, rank, ranks, local, local_rank });
        }
        if variable("HOTLINK_RANK").is_some() {
            let (rank, ranks) = (number("HOTLINK_RANK"), number("HOTLINK_RANKS"));
            return Some(Launcher { family: Family::Own, rank, ranks, local: None, local_rank: rank });
        }
        let rank = number("PMIX_RANK");
        let (ranks, local_rank) = (number("SLURM_NTASKS"), number("SLURM_LOCALID"));
        rank.map(|_| Launcher { family: Family::Unknown, rank, ranks, local: None, local_rank })
    }
    /// The library of the launcher: next to it in the file system, else that of the `mpicc` on the path.
    pub fn library(&self) -> Library {
        for folder in ancestors().iter().filter_map(|program| program.parent()) {
            if let Some(library) = self.beside(folder) {
                return library;
            }
        }
        let names = self.compilers();
        let on_path = |name: &&&str| {
            env::var_os("PATH").is_some_and(|path| env::split_paths(&path).any(|folder| folder.join(name).is_file()))
        };
        let found = names.iter().find(on_path).copied();
        Library::Compiler(found.unwrap_or("mpicc").to_owned())
    }
    /// Names of compilers, the most telling first.
    fn compilers(&self) -> &'static [&'static str] {
        match self.family {
            Family::OpenMpi => &["mpicc.openmpi", "mpicc"],
            Family::Mpich => &["mpicc.mpich", "mpicc"],
            Family::Own | Family::Unknown => &["mpicc"],
        }
    }
    fn beside(&self, folder: &Path) -> Option<Library> {
        standard_library(folder)
            .map(Library::Standard)
            .or_else(|| compiler(folder, self.compilers()).map(Library::Compiler))
    }
}

impl Library {
    /// The library that `--mpi` names: `openmpi`, `mpich`, a compiler, a library, or a folder that has them.
    ///
    /// # Errors
    /// What is allowed.
    pub fn named(name: &str) -> Result<Library, String> {
        let path = Path::new(name);
        match name {
            "openmpi" => return Ok(Library::Compiler("mpicc.openmpi".to_owned())),
            "mpich" => return Ok(Library::Compiler("mpicc.mpich".to_owned())),
            _ if path.is_dir() => {
                let folder = path.join("bin");
                let found = standard_library(&folder).map(Library::Standard);
                if let Some(found) = found.or_else(|| compiler(&folder, &["mpicc"]).map(Library::Compiler)) {
                    return Ok(found);
                }
            }
            _ if path.is_file() && name.contains(".so") => return Ok(Library::Standard(path.to_owned())),
            _ if path.is_file() || !name.contains('/') => return Ok(Library::Compiler(name.to_owned())),
            _ => {}
        }
        let allowed = "openmpi, mpich, an mpicc, a libmpi_abi.so, or the folder of an MPI with bin/mpicc";
        Err(format!("--mpi {name}: not found; must be {allowed}"))
    }
    /// The file, if it is this project's own library, whose ranks `hotlink run` starts.
    pub fn own(&self) -> Option<&Path> {
        match self {
            Library::Standard(path) if super::version_of(path).ok()?.starts_with("hotlink ") => Some(path),
            _ => None,
        }
    }
}

fn standard_library(bin: &Path) -> Option<PathBuf> {
    let root = bin.parent()?;
    let names = ["lib/libmpi_abi.so", "lib64/libmpi_abi.so", "lib/libmpi_abi.so.1", "lib/libmpi_abi.so.0"];
    names.iter().map(|name| root.join(name)).find(|path| is_library(path))
}

/// PyPI's MPICH has a linker script under the plain name.
fn is_library(path: &Path) -> bool {
    let mut magic = [0; 4];
    std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok() && magic == *b"\x7fELF"
}

fn compiler(bin: &Path, names: &[&str]) -> Option<String> {
    let found = names.iter().map(|name| bin.join(name)).find(|path| path.is_file());
    found.map(|path| path.display().to_string())
}

/// The programs of the launchers among this process's ancestors.
fn ancestors() -> Vec<PathBuf> {
    const LAUNCHERS: [&str; 6] = ["mpirun", "mpiexec", "orte", "orted", "hydra", "prte"];
    let mut found = Vec::new();
    let mut process = std::os::unix::process::parent_id();
    for _ in 0..8 {
        if let Ok(program) = std::fs::read_link(format!("/proc/{process}/exe")) {
            let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if LAUNCHERS.iter().any(|launcher| name.starts_with(launcher)) {
                found.push(program);
            }
        }
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:")?.trim().parse().ok());
        match parent {
            Some(parent) if parent > 1 => process = parent,
            _ => break,
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_are_told_apart() {
        let of = |pairs: &'static [(&str, &str)]| {
            Launcher::of(|name| pairs.iter().find(|pair| pair.0 == name).map(|pair| pair.1.to_owned()))
        };
        let openmpi = of(&[("OMPI_COMM_WORLD_SIZE", "4"), ("OMPI_COMM_WORLD_RANK", "3"), ("PMIX_RANK", "3")]).unwrap();
        assert_eq!((openmpi.family, openmpi.rank, openmpi.ranks), (Family::OpenMpi, Some(3), Some(4)));
        let mpich = of(&[("PMI_RANK", "1"), ("PMI_SIZE", "2"), ("MPI_LOCALNRANKS", "2")]).unwrap();
        assert_eq!((mpich.family, mpich.local), (Family::Mpich, Some(2)));
        let own = of(&[("HOTLINK_RANK", "1"), ("HOTLINK_RANKS", "4")]).unwrap();
        assert_eq!((own.family, own.rank, own.ranks), (Family::Own, Some(1), Some(4)));
        assert_eq!(of(&[("PMIX_RANK", "0")]).unwrap().family, Family::Unknown);
        assert_eq!(of(&[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "8")]), None, "a batch step is no rank");
    }

    #[test]
    fn what_names_no_mpi_is_told() {
        assert!(Library::named("/no/such/mpicc").unwrap_err().contains("must be openmpi"));
        assert_eq!(Library::named("mpicc"), Ok(Library::Compiler("mpicc".to_owned())));
    }
}
