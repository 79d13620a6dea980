//! A strided block from one process to another: `cargo run -p hotlink-real --example strided`.

use hotlink_message::{Comm, Error};
use hotlink_port::{Driver, Kind, Layout, Port, Span};
use hotlink_real::{Options, Shm};

/// Rank 0 sends a row; rank 1 receives it as every third word, and tells what it got.
async fn program(port: impl Port) -> Result<Vec<u8>, Error> {
    let comm = Comm::new(port);
    let memory = comm.alloc(96, Kind::Default)?;
    if comm.rank() == 0 {
        comm.write(memory, 0, b"a strided block of four words---")?;
        comm.send(1, 0, Span::new(memory, 0, 32)).await?;
        return Ok(Vec::new());
    }
    comm.recv(Some(0), Some(0), Span { memory, offset: 0, layout: Layout::strided(8, 4, 24) }).await?;
    let mut seen = vec![0; 96];
    comm.read(memory, 0, &mut seen)?;
    Ok(seen)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for seen in Shm::new(Options::default()).run(2, &program)? {
        println!("{}", String::from_utf8_lossy(&seen?).replace('\0', "."));
    }
    Ok(())
}
