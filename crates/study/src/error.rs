//! Why a question has no answer.

use hotlink_fabric::catalog::{Mistake, one_a_line};

/// Why a question has no answer, or an answer does not hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A check or a reference did not hold. There may be results all the same.
    #[error("{0}")]
    Check(String),
    /// Bad input. The text names the place, the mistake and the allowed values.
    #[error("{0}")]
    Input(String),
}

impl Error {
    /// The exit status of a program that ends with it.
    pub fn status(&self) -> u8 {
        match self {
            Error::Check(_) => 1,
            Error::Input(_) => 2,
        }
    }
}

/// Of files of the catalog: all mistakes, one a line.
impl From<Vec<Mistake>> for Error {
    fn from(mistakes: Vec<Mistake>) -> Error {
        Error::Input(one_a_line(&mistakes))
    }
}
