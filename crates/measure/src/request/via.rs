//! Carriers of messages: this project's ports, which `hotlink_real` lists, and foreign MPIs.

use hotlink_real::Via as Port;
use hotlink_study::words::Word;
use std::fmt;
use std::str::FromStr;

/// A carrier of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// This project's message stack over a port.
    Own(Port),
    /// The MPI under whose mpirun or srun this runs.
    Mpi,
}

const COUNT: usize = Port::ALL.len() + 1;
const ALL: [Via; COUNT] = {
    let mut all = [Via::Mpi; COUNT];
    let mut index = 0;
    while index < Port::ALL.len() {
        all[index] = Via::Own(Port::ALL[index]);
        index += 1;
    }
    all
};

impl Via {
    /// Its word.
    pub fn name(self) -> &'static str {
        match self {
            Via::Own(port) => port.name(),
            Via::Mpi => "mpi",
        }
    }
    /// Whether its ranks must be on one machine.
    pub fn is_one_machine(self) -> bool {
        matches!(self, Via::Own(port) if port.is_one_machine())
    }
    /// Whether long messages move through a machine's memory by a route of this project's.
    pub fn shares_memory(self) -> bool {
        matches!(self, Via::Own(port) if port.shares_memory())
    }
}

impl Word for Via {
    const ALL: &'static [Via] = &ALL;
    fn word(self) -> &'static str {
        self.name()
    }
    fn meaning(self) -> &'static str {
        match self {
            Via::Own(port) => port.meaning(),
            Via::Mpi => "The MPI under whose mpirun or srun this runs",
        }
    }
}

impl fmt::Display for Via {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Via {
    type Err = String;
    fn from_str(text: &str) -> Result<Via, String> {
        Via::of(text).ok_or_else(|| Via::unknown(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_port_has_a_word_and_mpi_is_the_last() {
        let words: Vec<&str> = Via::ALL.iter().map(|via| via.name()).collect();
        assert_eq!(words, ["shm", "tcp", "mixed", "mpi"]);
        assert!("ferry".parse::<Via>().unwrap_err().contains("shm, tcp, mixed, mpi"));
        assert!("shm".parse::<Via>().unwrap().is_one_machine());
    }
}
