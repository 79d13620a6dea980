//! A strided block across a simulated SCI torus: `cargo run -p hotlink-sim --example strided_torus`. The same program runs
//! between two processes: `cargo run -p hotlink-real --example strided`.

#[path = "../../message/examples/strided/program.rs"]
mod program;

use hotlink_fabric::{Fabric, catalog};
use hotlink_port::Driver;
use hotlink_sim::port::VirtualTime;
use hotlink_sim::{Plan, Settings};

/// What the last of 16 nodes got, and after how many microseconds.
pub fn seen() -> Result<(Vec<u8>, f64), Box<dyn std::error::Error>> {
    let spec = catalog::load("sci-torus2d").map_err(|mistakes| format!("{mistakes:?}"))?;
    let fabric = Fabric::build(&spec, 16)?;
    let settings = Settings::of(&spec);
    let plan = Plan::new(&fabric, &settings)?;
    let mut torus = VirtualTime::new(&plan, &settings).unwrap();
    let mut told = torus.run(16, &program::program)?;
    let elapsed = torus.outcome().ok_or("the run did not end")?.run.elapsed.us();
    Ok((told.pop().ok_or("no rank")??, elapsed))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (seen, elapsed_us) = seen()?;
    println!("{} after {elapsed_us} us", String::from_utf8_lossy(&seen).replace('\0', "."));
    Ok(())
}
