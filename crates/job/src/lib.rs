//! How ranks become processes: a job on this machine ([`Job`]) or on several hosts ([`Spread`]). A process knows who
//! started it ([`Launched`]): this command, or another launcher that carries a word between its ranks ([`Exchange`]).
//!
//! ```
//! let alone = hotlink_job::Launched::from_environment()?;
//! assert_eq!(alone, None);
//! # Ok::<(), String>(())
//! ```

mod exchange;
mod family;
mod job;
mod launched;
mod pmi;
mod pmix;
mod spread;
mod zygote;

pub use exchange::Exchange;
pub use job::{Job, JobEnd, end_if_interrupted};
pub use launched::{Launched, machine};
pub use spread::{Errand, Spread, is_here, path_word};
