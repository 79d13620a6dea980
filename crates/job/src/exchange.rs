//! What a launcher itself carries between its ranks, so that they find each other on several machines.

use crate::pmi::{Named, Pmi};
use crate::pmix::Pmix;
use std::io;
use std::time::Duration;

/// The name under which rank 0 publishes its address.
const KEY: &str = "hotlink-place";

/// By which words a launcher talks with its ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exchange {
    /// PMI over this descriptor: PMI-2 where the launcher names the process for that, else PMI-1.
    Pmi(i32, Option<Named>),
    /// PMIx, by the library that the launcher uses.
    Pmix,
}

impl Exchange {
    /// What the launcher's variables offer.
    pub(crate) fn of(variable: &dyn Fn(&str) -> Option<String>) -> Option<Exchange> {
        if let Some(descriptor) = variable("PMI_FD").and_then(|text| text.trim().parse().ok()) {
            let named = variable("PMI_JOBID").zip(variable("PMI_RANK")).map(|(job, rank)| Named { job, rank });
            return Some(Exchange::Pmi(descriptor, named));
        }
        (variable("PMIX_NAMESPACE").is_some() && variable("PMIX_RANK").is_some()).then_some(Exchange::Pmix)
    }
    /// Gives every rank the text of rank 0, which has neither spaces nor semicolons. All ranks of the job call this, once:
    /// afterwards the launcher only watches how they end.
    ///
    /// # Errors
    /// What the launcher answered, or that it did not within `limit`.
    pub fn hand_out(self, text: Option<&str>, limit: Duration) -> io::Result<String> {
        match self {
            Exchange::Pmi(descriptor, named) => {
                let mut pmi = Pmi::open(descriptor, named.as_ref(), limit)?;
                text.map_or(Ok(()), |text| pmi.put(KEY, text))?;
                pmi.fence()?;
                let got = text.map_or_else(|| pmi.get(KEY), |text| Ok(text.to_owned()))?;
                pmi.end()?;
                Ok(got)
            }
            Exchange::Pmix => {
                let mut pmix = Pmix::open()?;
                text.map_or(Ok(()), |text| pmix.put(KEY, text))?;
                pmix.fence()?;
                let got = text.map_or_else(|| pmix.get(KEY), |text| Ok(text.to_owned()))?;
                // Rank 0 itself is asked for its value: it must not end before.
                pmix.fence()?;
                pmix.end()?;
                Ok(got)
            }
        }
    }
}
