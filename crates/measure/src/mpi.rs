//! An MPI's job: this process is a rank of the user's own `mpirun` or `srun`. The library is loaded once, for all
//! benchmarks of the command; only rank 0 speaks; a failure of any rank ends the job.

use crate::environment::line;
use crate::face::Face;
use crate::native::Recipe;
use crate::request::Carrier;
use hotlink_bench::Bench;
use hotlink_message::Endpoint;
use hotlink_real::{Launcher, Library, Mpi};
use hotlink_study::Error;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use std::path::PathBuf;
use std::time::Duration;

/// The job that this process was launched in.
pub(crate) struct Joined {
    mpi: Mpi,
    launcher: Launcher,
}

/// Joins the job in which this process was launched, and describes its basis.
pub(crate) fn join(carrier: &Carrier, environment: &mut Map<String, Value>, face: &dyn Face) -> Result<Joined, Error> {
    let Some(launcher) = Launcher::of_this_process() else {
        let what = "--via mpi: this process was not started by an MPI launcher";
        return Err(Error::Input(format!("{what}; start it by mpirun or srun")));
    };
    let library = match &carrier.mpi {
        Some(name) => Library::named(name).map_err(Error::Input)?,
        None => launcher.library(),
    };
    let path = load(&library, &launcher, face)?;
    let mpi = Mpi::start(&path, &launcher).map_err(|what| Error::Check(format!("--via mpi: {what}")))?;
    environment.insert("mpi".to_owned(), mpi.version().into());
    environment.insert("mpi_library".to_owned(), path.display().to_string().into());
    environment.insert("mpi_settings".to_owned(), settings());
    Ok(Joined { mpi, launcher })
}

/// Whether another rank of an MPI's job speaks for it, as far as the launcher says.
pub(crate) fn is_other_speaker() -> bool {
    Launcher::of_this_process().is_some_and(|launcher| launcher.rank.is_some_and(|rank| rank != 0))
}

/// The library's path; the adapter is compiled if need be, by one rank of each machine at a time.
fn load(library: &Library, launcher: &Launcher, face: &dyn Face) -> Result<PathBuf, Error> {
    let compiler = match library {
        Library::Standard(path) => return Ok(path.clone()),
        Library::Compiler(compiler) => compiler,
    };
    let step = format!("{compiler} -std=gnu11 -O2 -fPIC -shared adapter.c -o libhotlink_adapter.so");
    let recipe = Recipe {
        name: "mpi-adapter",
        sources: vec![("adapter.c", hotlink_real::ADAPTER)],
        steps: vec![step.split(' ').map(str::to_owned).collect()],
        product: "libhotlink_adapter.so",
        tools: "the compiler of the MPI that launched it: apt-get install libopenmpi-dev or libmpich-dev, or name it by \
                --mpi or HOTLINK_MPICC; an MPI with libmpi_abi.so needs none",
    };
    if launcher.local_rank.is_some_and(|rank| rank > 0) {
        // The first rank of this machine makes it. A rank that waits in vain makes it, too, and the first to be done
        // wins.
        for _ in 0..200 {
            if let Some(made) = recipe.made()? {
                return Ok(made);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    recipe.make(face)
}

impl Joined {
    /// Ends MPI in good order, or the whole job with this rank's failure.
    pub(crate) fn leave(self, result: Result<(), Error>, face: &dyn Face) -> Result<(), Error> {
        if let Err(failure) = &result {
            let rank = self.mpi.endpoint().rank();
            if rank > 0 {
                // Rank 0 reports for all ranks.
                std::thread::sleep(Duration::from_millis(500));
            }
            face.say(&format!("rank {rank}: {failure}"));
            // MPICH's launcher drops what it has not yet passed on when the job is aborted.
            std::thread::sleep(Duration::from_millis(300));
            self.mpi.abort(failure.status().into());
        }
        self.mpi.finish();
        Ok(())
    }

    /// Runs a benchmark on all ranks; every rank's result, on every rank.
    pub(crate) fn run<B: Bench>(&self, ranks: u32, bench: &B) -> Result<Vec<B::Result>, Error>
    where
        B::Result: Serialize + DeserializeOwned,
    {
        let started = self.ranks();
        if ranks != started {
            let what = format!("this needs {ranks} ranks, and the launcher started {started}");
            return Err(Error::Input(what));
        }
        self.share(&self.mpi.run(bench.on(self.mpi.endpoint())).map_err(failed)?)
    }

    /// Every rank's value, on every rank.
    pub(crate) fn share<T: Serialize + DeserializeOwned>(&self, mine: &T) -> Result<Vec<T>, Error> {
        let text = serde_json::to_vec(mine).map_err(failed)?;
        let texts = self.mpi.share(&text).map_err(failed)?;
        texts.iter().map(|text| serde_json::from_slice(text).map_err(failed)).collect()
    }

    pub(crate) fn ranks(&self) -> u32 {
        self.mpi.endpoint().ranks()
    }
    /// The library's name and version.
    pub(crate) fn version(&self) -> &str {
        self.mpi.version()
    }
    pub(crate) fn is_speaker(&self) -> bool {
        self.mpi.endpoint().rank() == 0
    }
    /// Every rank's host.
    pub(crate) fn hosts(&self) -> Result<Vec<String>, Error> {
        self.share(&line("/proc/sys/kernel/hostname").unwrap_or_default())
    }
    /// Ranks on this machine, as far as the launcher says, and the machine's cores.
    pub(crate) fn local(&self, ranks: u32) -> (u32, u32) {
        (self.launcher.local.unwrap_or(ranks), hotlink_real::cores_of_machine())
    }
    /// The least time of a message between the first and the last rank; none where they share no memory.
    pub(crate) fn hand_off_us(&self) -> Result<Option<f64>, Error> {
        let mine = self.mpi.hand_off().map_err(failed)?;
        // Every rank needs the value: rank 0's.
        Ok(self.share(&mine)?.into_iter().next().flatten())
    }
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::Check(format!("measure: {error}"))
}

/// The user's settings for the MPI.
fn settings() -> Value {
    const PREFIXES: [&str; 8] =
        ["OMPI_MCA_", "PMIX_MCA_", "PRTE_MCA_", "MPICH_", "MPIR_CVAR_", "UCX_", "FI_", "I_MPI_"];
    let ours = std::env::vars().filter(|(name, _)| PREFIXES.iter().any(|prefix| name.starts_with(prefix)));
    let mut ours: Vec<(String, String)> = ours.collect();
    ours.sort();
    ours.into_iter().map(|(name, value)| (name, value.into())).collect::<Map<_, _>>().into()
}
