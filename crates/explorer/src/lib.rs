//! The explorer's page: the files that `make explorer` builds as one page ([`Page`]), its beginning ([`Asked`]), and a
//! server of it on loopback ([`serve()`]). The page computes by itself.

mod page;
mod serve;
mod state;

pub use page::Page;
pub use serve::serve;
pub use state::Asked;
