//! The path of short messages, for counts. A rank sends itself a number of messages of 8 B, by blocking calls or in
//! windows of 64. The instructions of one message are the difference to twice as many, and callgrind shows the lines:
//! `valgrind --tool=callgrind target/release/examples/short_path 20000 blocking`, then `callgrind_annotate`.

use hotlink_message::{Comm, Error};
use hotlink_port::{Driver, Kind, Span};
use hotlink_real::{Options, Shm, ShmPort};

/// Messages of a window.
const WINDOW: u64 = 64;

async fn blocking(comm: &Comm<ShmPort>, count: u64, (out, into): (Span, Span)) -> Result<(), Error> {
    for _ in 0..count {
        comm.send(0, 0, out).await?;
        comm.recv(Some(0), Some(0), into).await?;
    }
    Ok(())
}

async fn windows(comm: &Comm<ShmPort>, count: u64, (out, into): (Span, Span)) -> Result<(), Error> {
    let mut requests = Vec::with_capacity(2 * WINDOW as usize);
    for _ in 0..count / WINDOW {
        for _ in 0..WINDOW {
            requests.push(comm.irecv(Some(0), Some(0), into)?);
        }
        for _ in 0..WINDOW {
            requests.push(comm.isend(0, 0, out)?);
        }
        for request in requests.drain(..) {
            comm.wait(request).await?;
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, count, how] = arguments.as_slice() else { return Err("usage: short_path COUNT blocking|windows".into()) };
    let (count, in_windows): (u64, bool) = (count.parse()?, how == "windows");
    let program = move |port: ShmPort| async move {
        let comm = Comm::new(port);
        let spans = (Span::new(comm.alloc(8, Kind::Private)?, 0, 8), Span::new(comm.alloc(8, Kind::Private)?, 0, 8));
        let begin = comm.now();
        if in_windows { windows(&comm, count, spans).await } else { blocking(&comm, count, spans).await }?;
        Ok::<f64, Error>((comm.now() - begin).us() / count as f64)
    };
    let us = Shm::new(Options::default()).run(1, &program)?.remove(0)?;
    println!("{:.1} ns each", us * 1e3);
    Ok(())
}
