//! A caller's own program on the ranks of a simulated fabric.

use crate::{Error, Source};
use hotlink_port::{Driver, Program, RunError};
use hotlink_sim::port::{SimPort, VirtualTime};
use hotlink_sim::{Plan, Settings};
use serde::{Serialize, de::DeserializeOwned};

/// Runs `program` on the first `ranks` nodes of the fabric `name` (of the catalog, or a file), built for as many, with
/// the settings that its description asks for. Gives the ranks' results.
///
/// # Errors
/// [`Error::Input`]: no such fabric, or not of this size. [`Error::Check`]: no rank can ever go on, and who waits
/// for what.
pub fn on_fabric<T, R>(name: &str, ranks: u32, program: &R) -> Result<Vec<T>, Error>
where
    T: Serialize + DeserializeOwned,
    R: for<'a> Program<SimPort<'a>, T>,
{
    let input = |what: String| Error::Input(format!("{name} with {ranks} ranks: {what}"));
    let fabric = Source::open(name)?.build(ranks).map_err(input)?;
    let settings = Settings::of(&fabric.spec);
    let plan = Plan::new(&fabric, &settings).map_err(|error| input(error.to_string()))?;
    let mut driver = VirtualTime::new(&plan, &settings).map_err(|missing| input(missing.to_string()))?;
    driver.run(ranks, program).map_err(|error| match error {
        RunError::Ranks { .. } => input(error.to_string()),
        other => Error::Check(other.to_string()),
    })
}
