//! Plans of MSCCL (XML) and of MSCCL++ (JSON): what every thread block of every GPU does, one step after the other.
//!
//! A plan holds for any size: say how many bytes the collective is of ([`crate::Options::bytes`], the larger of its input
//! and output). Thread blocks are processors; reductions and copies take what [`crate::Costs`] says.

pub(crate) mod plus;
pub(crate) mod xml;

/// What is wrong, and where.
pub(crate) type Wrong = (String, String);

/// The size of a plan's collective.
fn size(options: &crate::Options) -> Result<u64, Wrong> {
    options.bytes.ok_or_else(|| (String::new(), "is a plan for any size: say how many bytes (--size)".to_owned()))
}
