//! A strided block from one process to another: `cargo run -p hotlink-real --example strided`. The same program runs on
//! a simulated torus: `cargo run -p hotlink-sim --example strided_torus`.

#[path = "../../message/examples/strided/program.rs"]
mod program;

use hotlink_port::Driver;
use hotlink_real::{Options, Shm};

/// The bytes that the last of two processes got.
pub fn seen() -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let mut told = Shm::new(Options::default()).run(2, &program::program)?;
    Ok(told.pop().ok_or("no rank")??)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("{}", String::from_utf8_lossy(&seen()?).replace('\0', "."));
    Ok(())
}
