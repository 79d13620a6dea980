//! The explorer's page: the files that `make explorer` builds as one page ([`Page`]), and a server of it on loopback
//! ([`serve()`]). The page computes by itself.

mod page;
mod serve;

pub use page::Page;
pub use serve::serve;
