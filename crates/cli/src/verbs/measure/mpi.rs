//! `--via mpi`: this process is a rank of the user's own `mpirun` or `srun`. The library is loaded once, for all
//! benchmarks of the command; only rank 0 prints; a failure of any rank ends the job.

use super::carrier::Carrier;
use crate::environment::line;
use crate::native::Recipe;
use crate::{
    Failure,
    output::{Format, Output},
};
use hotlink_bench::Bench;
use hotlink_message::Endpoint;
use hotlink_real::{Launcher, Library, Mpi};
use serde::{Serialize, de::DeserializeOwned};
use std::cell::RefCell;
use std::path::PathBuf;
use std::time::Duration;

thread_local! {
    static WORLD: RefCell<Option<(Mpi, Launcher)>> = const { RefCell::new(None) };
}

fn with<T>(what: impl FnOnce(&Mpi, &Launcher) -> T) -> Option<T> {
    WORLD.with_borrow(|world| world.as_ref().map(|(mpi, launcher)| what(mpi, launcher)))
}

/// Joins the job that this process was launched in; `false`: there is none, and what to do instead was printed.
pub(super) fn join(carrier: &Carrier, output: &mut Output) -> Result<bool, Failure> {
    if carrier.is_script_wanted() {
        output.only(script(output.command(), output.format()));
        return Ok(false);
    }
    let Some(launcher) = Launcher::of_this_process() else {
        let command = plain(output.command());
        let what = "--via mpi: this process was not started by an MPI launcher; start it as";
        return Err(Failure::Input(format!(
            "{what}\n  mpirun -n 2 {command}\nor under Slurm\n  srun -n 2 {command}\n(--slurm prints a script)"
        )));
    };
    if launcher.rank.is_some_and(|rank| rank != 0) {
        output.mute();
    }
    let library = match carrier.mpi() {
        Some(name) => Library::named(name).map_err(Failure::Input)?,
        None => launcher.library(),
    };
    let path = load(&library, &launcher)?;
    let mpi = Mpi::start(&path, &launcher).map_err(|what| Failure::Check(format!("--via mpi: {what}")))?;
    if mpi.endpoint().rank() != 0 {
        output.mute();
    }
    output.describe("mpi", mpi.version());
    output.describe("mpi_library", path.display().to_string());
    output.describe("mpi_settings", settings());
    WORLD.set(Some((mpi, launcher)));
    Ok(true)
}

/// The library's path; the adapter is compiled if need be, by one rank of each machine at a time.
fn load(library: &Library, launcher: &Launcher) -> Result<PathBuf, Failure> {
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
        // The first rank of this machine makes it; whoever waits in vain makes it, too, and the first to be done wins.
        for _ in 0..200 {
            if let Some(made) = recipe.made()? {
                return Ok(made);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    recipe.make()
}

/// Ends MPI in good order, or the whole job with this rank's failure.
pub(super) fn leave(result: Result<(), Failure>) -> Result<(), Failure> {
    let Some((mpi, _)) = WORLD.take() else { return result };
    if let Err(failure) = &result {
        let rank = mpi.endpoint().rank();
        if rank > 0 {
            // What all ranks find, rank 0 tells.
            std::thread::sleep(Duration::from_millis(500));
        }
        eprintln!("hotlink: rank {rank}: {failure}");
        // MPICH's launcher drops what it has not yet passed on when the job is aborted.
        std::thread::sleep(Duration::from_millis(300));
        mpi.abort(crate::status(failure).into());
    }
    mpi.finish();
    Ok(())
}

/// Runs a benchmark on all ranks; every rank's result, on every rank.
pub(super) fn run<B: Bench>(ranks: u32, bench: &B) -> Result<Vec<B::Result>, Failure>
where
    B::Result: Serialize + DeserializeOwned,
{
    let failed = |what: String| Failure::Check(format!("measure: {what}"));
    let mine = with(|mpi, _| {
        let started = mpi.endpoint().ranks();
        if ranks != started {
            let what = format!("this needs {ranks} ranks, and the launcher started {started}");
            return Err(Failure::Input(what));
        }
        mpi.run(bench.on(mpi.endpoint())).map_err(|error| failed(error.to_string()))
    });
    share(&mine.unwrap_or_else(|| Err(failed("no MPI job was joined".to_owned())))?)
}

/// What every rank tells, on every rank; nothing without a job.
pub(super) fn share<T: Serialize + DeserializeOwned>(mine: &T) -> Result<Vec<T>, Failure> {
    let failed = |what: String| Failure::Check(format!("measure: {what}"));
    let text = serde_json::to_vec(mine).map_err(|error| failed(error.to_string()))?;
    let texts = with(|mpi, _| mpi.share(&text)).transpose().map_err(|error| failed(error.to_string()))?;
    let texts = texts.unwrap_or_default();
    texts.iter().map(|text| serde_json::from_slice(text).map_err(|error| failed(error.to_string()))).collect()
}

/// Ranks of the job; `None` without one.
pub(super) fn ranks() -> Option<u32> {
    with(|mpi, _| mpi.endpoint().ranks())
}

/// The library's name and version.
pub(super) fn version() -> Option<String> {
    with(|mpi, _| mpi.version().to_owned())
}

/// Whether this process speaks for the job: any without a job does.
pub(super) fn is_speaker() -> bool {
    with(|mpi, _| mpi.endpoint().rank() == 0).unwrap_or(true)
}

/// Every rank's host; none without a job.
pub(super) fn hosts() -> Result<Vec<String>, Failure> {
    share(&line("/proc/sys/kernel/hostname").unwrap_or_default())
}

/// Ranks on this machine, as far as the launcher tells, and the machine's cores.
pub(super) fn local(ranks: u32) -> (u32, u32) {
    let told = with(|_, launcher| launcher.local).flatten();
    (told.unwrap_or(ranks), hotlink_real::cores_of_machine())
}

pub(super) fn hand_off_us() -> Result<Option<f64>, Failure> {
    let told = with(|mpi, _| mpi.hand_off()).transpose();
    // Every rank needs the value: rank 0's.
    let mine = told.map_err(|error| Failure::Check(format!("measure: {error}")))?.flatten();
    Ok(share(&mine)?.into_iter().next().flatten())
}

/// What the user set for the MPI.
fn settings() -> serde_json::Value {
    const PREFIXES: [&str; 8] =
        ["OMPI_MCA_", "PMIX_MCA_", "PRTE_MCA_", "MPICH_", "MPIR_CVAR_", "UCX_", "FI_", "I_MPI_"];
    let ours = std::env::vars().filter(|(name, _)| PREFIXES.iter().any(|prefix| name.starts_with(prefix)));
    let mut ours: Vec<(String, String)> = ours.collect();
    ours.sort();
    ours.into_iter().map(|(name, value)| (name, value.into())).collect::<serde_json::Map<_, _>>().into()
}

/// The command line as a shell takes it.
fn plain(command: &[String]) -> String {
    let harmless = |c: char| c.is_ascii_alphanumeric() || "-_./,=:+%@".contains(c);
    let quoted = |word: &String| {
        if !word.is_empty() && word.chars().all(harmless) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    };
    command.iter().filter(|word| *word != "--slurm").map(quoted).collect::<Vec<_>>().join(" ")
}

fn script(command: &[String], format: Format) -> String {
    let name = command.iter().skip_while(|word| *word != "measure").nth(1).map_or("measure", String::as_str);
    let ending = match format {
        Format::Json => "json",
        Format::Jsonl => "jsonl",
        Format::Csv => "csv",
        Format::Md => "md",
        Format::Table | Format::Osu => "txt",
    };
    format!(
        "#!/bin/sh
#SBATCH --job-name=hotlink-{name}
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --time=00:30:00
#SBATCH --output=hotlink-{name}-%j.{ending}
# Adapt nodes and tasks; --mpi=pmix or pmi2, or mpirun in place of srun, where the site's MPI wants it.
srun --cpu-bind=cores {}
",
        plain(command)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_runs_the_same_command() {
        let command = ["hotlink", "measure", "pingpong", "--via", "mpi", "--fabric", "it's", "--slurm"];
        let script = |format| script(&command.map(str::to_owned), format);
        assert!(script(Format::Json).contains("--output=hotlink-pingpong-%j.json"));
        let script = script(Format::Table);
        assert!(script.ends_with("srun --cpu-bind=cores hotlink measure pingpong --via mpi --fabric 'it'\\''s'\n"));
        assert!(script.contains("--output=hotlink-pingpong-%j.txt"));
    }
}
