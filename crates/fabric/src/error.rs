//! Why a fabric cannot be built.

/// Most nodes that a fabric is built with: a limit on memory, far above any machine.
pub const MAX_NODES: u32 = 1 << 22;

/// Why a fabric cannot be built: what was wrong and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BuildError(pub String);

/// A build error with a message.
pub(crate) fn invalid(message: impl Into<String>) -> BuildError {
    BuildError(message.into())
}
