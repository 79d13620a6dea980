//! What the MPI standard adds to tagged messages, without any library's interface. That is datatypes, operators,
//! groups, topologies, lock holders, what ranks must give alike, and the words for errors. Nothing here communicates,
//! and nothing knows an address: a datatype names bytes relative to a buffer that its caller has.
//!
//! ```
//! use hotlink_standard::{Basic, Datatype};
//! use std::rc::Rc;
//!
//! let column = Datatype::vector(3, 1, 4, &Rc::new(Datatype::named(Basic::F64))).unwrap();
//! assert_eq!((column.size(), column.extent()), (24, 72));
//! ```

/// The header of C and C++ programs for the standard ABI; the generator of `hotlink-mpi` writes it.
pub static HEADER: &str = include_str!("mpi.h");

mod alike;
mod basic;
mod build;
#[allow(missing_docs)]
pub mod constants;
mod datatype;
mod distribution;
mod errors;
mod extended;
mod group;
mod handles;
mod names;
mod operator;
mod parts;
mod queue;
mod topology;
mod view;

pub use alike::{Alike, Difference, Given, OperatorKind, difference};
pub use basic::{Basic, Class};
pub use build::Order;
pub use datatype::{Combiner, Contents, Datatype, Run};
pub use distribution::{Distribution, Share};
pub use errors::{error_class, error_said, error_text, say_error};
pub use group::{Compared, Group};
pub use handles::{is_for_every_level, null_name};
pub use names::{Name, names};
pub use operator::{Builtin, operation_of};
pub use parts::Parts;
pub use queue::LockQueue;
pub use topology::{Cart, Graph, Neighbors, balanced};
pub use view::{Piece, View};
