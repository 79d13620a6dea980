//! Every kind of real port by its word, for faces that choose one at run time.
//!
//! To add a port: a file with its driver, which implements [`Transport`], and a line in the list below. `measure --via`,
//! Python's `via` and their help have it from then on.

use crate::drivers::{Mixed, Shm, Tcp};
use crate::ranks::Options;
use crate::transport::{Transport, With};

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
            /// What it is, as half a sentence.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranks::Doors;
    use hotlink_port::{Port, Program, RunError};

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
