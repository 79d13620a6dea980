//! The library for a browser: [`ask`] behind a raw interface of texts in the module's memory (`door.rs`, compiled for wasm
//! alone). There are no files: a question brings their texts in `files`. Natively it is an ordinary library, so that tests
//! can put the same questions to both.

#[cfg(target_arch = "wasm32")]
mod door;

pub use hotlink_questions::ask;
