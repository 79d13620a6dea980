//! A measurement as words for others: a Slurm script, a line to be started under a launcher, the ranks of one block.

use crate::environment::program;
use std::ffi::OsString;

/// Options of the whole measurement, which a block's ranks do not get: with a value, and without one.
const VALUED: [&str; 7] = ["--launcher", "--rounds", "--blocks", "--spread", "--time", "--format", "--progress"];
const PLAIN: [&str; 2] = ["--json", "--raw"];

/// The program of a block's ranks, for the command line `command` (the program's name first) of a process that was called
/// by `words`.
pub fn of_a_block(command: &[String], words: impl Iterator<Item = OsString>) -> Vec<String> {
    let mut words = called(words);
    words
        .extend(without_options(command.get(1..).unwrap_or_default()).into_iter().skip_while(|word| word != "measure"));
    words
}

/// The words by which this program was called, up to the verb.
pub fn called(words: impl Iterator<Item = OsString>) -> Vec<String> {
    let called = program("measure", words).into_iter().map(|word| word.to_string_lossy().into_owned());
    let mut words = without_options(&called.collect::<Vec<_>>());
    if words.is_empty() {
        words.push("hotlink".to_owned());
    }
    words
}

fn without_options(words: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if VALUED.contains(&word.as_str()) {
            words.next();
        } else if !PLAIN.contains(&word.as_str())
            && !VALUED.iter().any(|option| word.starts_with(&format!("{option}=")))
        {
            kept.push(word.clone());
        }
    }
    kept
}

/// The command line as a shell takes it.
pub fn plain(command: &[String]) -> String {
    hotlink_results::as_typed(command.iter().filter(|word| *word != "--slurm"))
}

/// A script that Slurm runs; results go to a file with this ending.
pub fn script(command: &[String], ending: &str) -> String {
    let name = command.iter().skip_while(|word| *word != "measure").nth(1).map_or("measure", String::as_str);
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
        let script = |ending| script(&command.map(str::to_owned), ending);
        assert!(script("json").contains("--output=hotlink-pingpong-%j.json"));
        let script = script("txt");
        assert!(script.ends_with("srun --cpu-bind=cores hotlink measure pingpong --via mpi --fabric 'it'\\''s'\n"));
        assert!(script.contains("--output=hotlink-pingpong-%j.txt"));
    }

    #[test]
    fn a_block_gets_the_measurement_without_its_repetition() {
        let line =
            "hotlink --json measure pingpong --via mpi --launcher L --size 8 --time=0.5 --blocks 12 --rounds=2 --raw";
        let command: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let called = |line: &str| line.split(' ').map(std::ffi::OsString::from).collect::<Vec<_>>();
        let words = of_a_block(&command, called("own-tests").into_iter()).join(" ");
        assert_eq!(words, "hotlink measure pingpong --via mpi --size 8");
        let words = of_a_block(&command, called("python3 /bin/hotlink --json measure").into_iter()).join(" ");
        assert_eq!(words, "python3 /bin/hotlink measure pingpong --via mpi --size 8");
    }
}
