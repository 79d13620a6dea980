//! Why a question has no answer.

/// Why a question has no answer, or an answer does not hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A check or a reference did not hold. There may be results all the same.
    #[error("{0}")]
    Check(String),
    /// Bad input. The text names the place, what is wrong and what is allowed.
    #[error("{0}")]
    Input(String),
}
