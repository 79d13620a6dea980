//! Questions as a page asks them: one binary.

mod lent;
mod values;
mod views;
mod words;
