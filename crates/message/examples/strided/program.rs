//! The program of `hotlink-real`'s and `hotlink-sim`'s example `strided`: it never learns which port carries it.

use hotlink_message::{Comm, Error};
use hotlink_port::{Kind, Layout, Port, Span};

/// Rank 0 sends a row to the last rank, which receives it as every third word and reports it.
pub async fn program(port: impl Port) -> Result<Vec<u8>, Error> {
    let comm = Comm::new(port);
    let (memory, last) = (comm.alloc(96, Kind::Default)?, comm.ranks() - 1);
    if comm.rank() == 0 {
        comm.write(memory, 0, b"a strided block of four words---")?;
        comm.send(last, 0, Span::new(memory, 0, 32)).await?;
    } else if comm.rank() == last {
        comm.recv(Some(0), Some(0), Span { memory, offset: 0, layout: Layout::strided(8, 4, 24) }).await?;
        let mut seen = vec![0; 96];
        comm.read(memory, 0, &mut seen)?;
        return Ok(seen);
    }
    Ok(Vec::new())
}
