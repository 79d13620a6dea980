//! The catalog: TOML files that describe parts, fabrics and prices, each number with unit, source and status.
//!
//! ```
//! let spec = hotlink_fabric::catalog::load("sci-torus2d").unwrap();
//! assert_eq!(spec.resources[&hotlink_fabric::spec::Role::Link].measured.as_ref().unwrap().value.mbps(), 390.0);
//! ```
//!
//! The files of `catalog/` are embedded. A user's own are found first: by path, or in the folders `fabrics/`, `parts/`
//! and `prices/` of three places. Those are each directory of `$HOTLINK_CATALOG` (separated by `:`), `./catalog`, and
//! `$XDG_DATA_HOME/hotlink` (or `~/.local/share/hotlink`). Every mistake of a file is reported at once, with its place.

mod barrier;
mod library;
mod other;
mod price_list;
mod published;
mod read;
mod topology;
pub mod variant;
pub mod vocabulary;
mod write;

pub use crate::sheet::{Entry, Lines, Mistake, MistakeKind, nearest, one_a_line, status_name, unit};
pub use library::{Described, Kind, Library, Listed, Loaded, parse_part};
pub use price_list::parse_price_list;
pub use published::{Asked, Claim, Origin, Published, UNITS, parse as parse_published};
pub use read::{Parts, item_key, role_key, role_named, routing_key};
pub use write::{host_to_toml, to_toml};

use crate::spec::FabricSpec;

/// The fabric `name_or_path` from the user's and the embedded catalog.
///
/// # Errors
/// Every mistake of the file and of the parts it names.
pub fn load(name_or_path: &str) -> Result<FabricSpec, Vec<Mistake>> {
    Library::user().fabric(name_or_path).map(|loaded| loaded.spec)
}

/// The fabric that `text` describes, called `file` in messages, with the parts of the embedded catalog.
///
/// # Errors
/// Every mistake of the text.
pub fn parse(file: &str, text: &str) -> Result<FabricSpec, Vec<Mistake>> {
    Library::embedded().parse_fabric(file, text).map(|loaded| loaded.spec)
}
