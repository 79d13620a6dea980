//! Every kind of real port by its word, for faces that choose one at run time.
//!
//! To add a port: a file with its driver, which implements [`Transport`], and a line in the list below. `measure --via`,
//! Python's `via` and their help have it from then on.

use crate::crew::{self, Crew};
use crate::drivers::{Mixed, Shm, Tcp};
use crate::mixed::Gathering;
use crate::ranks::{Doors, Options};
use crate::seat::Seat;
use crate::shm::World;
use crate::tcp::Meeting;
use crate::transport::{Transport, With};
use hotlink_port::RunError;
use hotlink_seats::Door;
use std::io;

macro_rules! transports {
    ($($(#[doc = $doc:literal])+ $name:ident = $word:literal,)+) => {
        /// A kind of real port.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Via {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Via {
            /// All of them.
            pub const ALL: &'static [Via] = &[$(Via::$name),+];

            /// The word that names it.
            pub fn name(self) -> &'static str {
                match self {
                    $(Via::$name => $word,)+
                }
            }
            /// Its meaning, as half a sentence.
            pub fn meaning(self) -> &'static str {
                let text = match self {
                    $(Via::$name => concat!($($doc),+),)+
                };
                text.trim().trim_end_matches('.')
            }
            /// See [`Transport::IS_ONE_MACHINE`].
            pub fn is_one_machine(self) -> bool {
                match self {
                    $(Via::$name => <$name as Transport>::IS_ONE_MACHINE,)+
                }
            }
            /// See [`Transport::SHARES_MEMORY`].
            pub fn shares_memory(self) -> bool {
                match self {
                    $(Via::$name => <$name as Transport>::SHARES_MEMORY,)+
                }
            }
            /// Does `what` with its driver.
            pub fn with<W: With>(self, options: Options, what: W) -> W::Output {
                match self {
                    $(Via::$name => what.on(<$name as Transport>::with(options)),)+
                }
            }
        }
    };
}

transports! {
    /// Shared memory between processes.
    Shm = "shm",
    /// TCP over the loopback, or between the machines of a launched job.
    Tcp = "tcp",
    /// Shared memory within a machine, TCP between machines, in one job.
    Mixed = "mixed",
}

impl Seat {
    /// This process's seat in the job that a launcher started, or as the only rank of its own. Without a word, ranks of one
    /// machine share memory, and others have connections as well.
    ///
    /// # Errors
    /// The ranks did not find each other; the system's.
    pub fn take(via: Option<Via>) -> Result<Seat, RunError> {
        let start = |error: io::Error| RunError::Start(error.to_string());
        if hotlink_seats::is_simulated() {
            return Door::open().map(Seat::Fabric);
        }
        match crew::crew()? {
            None => World::new(1).and_then(|world| world.open(0)).map(Seat::Shm).map_err(start),
            Some(mut crew) => Seat::in_crew(&mut crew, via).map_err(start),
        }
    }
    fn in_crew(crew: &mut Crew, via: Option<Via>) -> io::Result<Seat> {
        let (rank, ranks) = (crew.rank, crew.ranks);
        let chosen = via.unwrap_or(if crew.is_local() { Via::Shm } else { Via::Mixed });
        match chosen {
            Via::Shm if !crew.is_local() => {
                let why = "shared memory is one machine's, and the ranks are on several; use mixed or tcp";
                Err(io::Error::other(why))
            }
            Via::Shm => World::of_crew(crew, ranks)?.open(rank).map(Seat::Shm),
            Via::Tcp => Meeting::of_crew(crew, ranks)?.open(rank).map(Seat::Tcp),
            Via::Mixed => Gathering::of_crew(crew, ranks)?.open(rank).map(Seat::Mixed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hotlink_port::{Port, Program};

    struct Ranks;

    impl<P: Port> Program<P, u32> for Ranks {
        async fn run(&self, port: P) -> u32 {
            port.rank() + port.ranks()
        }
    }

    impl With for Ranks {
        type Output = Result<Vec<u32>, RunError>;
        fn on<D: Transport>(self, mut driver: D) -> Self::Output {
            driver.run(2, &self)
        }
    }

    #[test]
    fn every_word_runs_ranks_and_shares_what_they_need() {
        struct Opened;
        impl With for Opened {
            type Output = u32;
            fn on<D: Transport>(self, driver: D) -> u32 {
                driver.share(1).unwrap().open(0).unwrap().ranks()
            }
        }
        for via in Via::ALL {
            assert_eq!(via.with(Options::default(), Ranks).unwrap(), [2, 3], "{}", via.name());
            assert_eq!(via.with(Options::default(), Opened), 1, "{}", via.name());
        }
    }
}
