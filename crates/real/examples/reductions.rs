//! Measures reductions over shared memory, for tuning: microseconds of one in a row of them, the median of rows, at the
//! slowest rank. It measures segments and ordinary memory. `reductions RANKS SIZE...`, sizes in bytes.

use hotlink_message::{Combine, Comm, Element, Error, Operation};
use hotlink_port::{Driver, Kind, Span};
use hotlink_real::{Options, Shm, ShmPort};

const ROWS: usize = 31;

async fn time(comm: &Comm<ShmPort>, what: usize, kind: Kind, bytes: u64) -> Result<f64, Error> {
    let sum = Operation { combine: Combine::Sum, element: Element::F64 };
    let all = bytes * if what == 2 { u64::from(comm.ranks()) } else { 1 };
    let (send, recv) = (Span::new(comm.alloc(all, kind)?, 0, all), Span::new(comm.alloc(bytes, kind)?, 0, bytes));
    comm.write(send.memory, 0, &vec![0; all as usize])?;
    comm.write(recv.memory, 0, &vec![0; bytes as usize])?;
    let inner = (4_000_000 / bytes).clamp(1, 500);
    let mut rows = Vec::new();
    for _ in 0..ROWS {
        comm.barrier().await?;
        let start = comm.now();
        for _ in 0..inner {
            match what {
                0 => comm.reduce(0, sum, send, recv).await?,
                1 => comm.allreduce(sum, send, recv).await?,
                _ => comm.reduce_scatter(sum, send, recv).await?,
            }
        }
        rows.push(comm.latest(comm.now() - start).await?.us() / inner as f64);
    }
    comm.free(send.memory)?;
    comm.free(recv.memory)?;
    rows.sort_by(f64::total_cmp);
    Ok(rows[ROWS / 2])
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let numbers: Result<Vec<u64>, _> = std::env::args().skip(1).map(|text| text.parse()).collect();
    let numbers = numbers?;
    let [ranks, sizes @ ..] = numbers.as_slice() else { return Err("usage: reductions RANKS SIZE...".into()) };
    let program = move |port: ShmPort| async move {
        let comm = Comm::new(port);
        let mut lines = Vec::new();
        for &bytes in sizes {
            for kind in [Kind::Shared, Kind::Private] {
                for (what, name) in ["reduce", "allreduce", "reduce-scatter"].into_iter().enumerate() {
                    lines.push(format!(
                        "{name:<15}{bytes:>9} {kind:<8?}{:>11.3}",
                        time(&comm, what, kind, bytes).await?
                    ));
                }
            }
        }
        Ok::<_, Error>(lines)
    };
    let lines = Shm::new(Options::default()).run(*ranks as u32, &program)?.remove(0)?;
    lines.iter().for_each(|line| println!("{line}"));
    Ok(())
}
