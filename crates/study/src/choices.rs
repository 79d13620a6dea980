//! Choices by their names, for faces without a type for each benchmark: one struct of all that some benchmark has.

use crate::Error;
use std::collections::BTreeSet;

/// A struct of choices, each of which may be made or not.
#[macro_export]
macro_rules! choices {
    ($(#[$of:meta])* $vis:vis struct $choices:ident; $($(#[doc = $doc:literal])+ $name:ident: $type:ty,)+) => {
        $(#[$of])*
        #[derive(Clone, Debug, Default)]
        $vis struct $choices {
            $($(#[doc = $doc])+ pub $name: Option<$type>,)+
        }

        impl $choices {
            /// Names of those that are made.
            fn made(&self) -> std::collections::BTreeSet<&'static str> {
                let all = [$((stringify!($name), self.$name.is_some())),+];
                all.into_iter().filter(|(_, is)| *is).map(|(name, _)| name).collect()
            }
        }
    };
}

/// Refuses the choices that a benchmark has `left` of those `made`.
///
/// # Errors
/// The first that it does not have, and those that it took.
pub fn none_left(benchmark: &str, made: &BTreeSet<&str>, left: &BTreeSet<&str>) -> Result<(), Error> {
    let Some(first) = left.first() else { return Ok(()) };
    let option = first.replace('_', "-");
    let own: Vec<&str> = made.difference(left).copied().collect();
    let takes = if own.is_empty() { String::new() } else { format!(" (it takes {})", own.join(", ")) };
    Err(Error::Input(format!("--{option}: is no choice of {benchmark}{takes}")))
}
