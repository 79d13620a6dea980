//! The benchmarks between real ranks, one file each: points, records and bounds.

mod barrier;
mod collective;
mod deposit;
mod is;
mod kernel;
mod memory;
mod overlap;
pub(crate) mod pairs;
mod pingpong;
mod region;
mod registration;
mod saturation;
mod semantics;
mod sockets;
mod stream;

use crate::pass::Pass;
use crate::request::Benchmark;
use hotlink_study::Error;

/// Takes one pass over all points.
pub(crate) fn run(pass: &mut Pass<'_>) -> Result<(), Error> {
    match &pass.session.request.benchmark {
        Benchmark::PingPong(asked) => pingpong::run(asked, pass),
        Benchmark::Stream(asked) => stream::run(asked, pass),
        Benchmark::Rate(asked) => stream::run_rate(asked, pass),
        Benchmark::Pairs(asked) => pairs::run(asked, pass),
        Benchmark::Semantics(asked) => semantics::run(asked, pass),
        Benchmark::Saturation(asked) => saturation::run(asked, pass),
        Benchmark::Deposit(asked) => deposit::run(asked, pass),
        Benchmark::Overlap(asked) => overlap::run(asked, pass),
        Benchmark::Sockets(asked) => sockets::run(asked, pass),
        Benchmark::Memory(asked) => memory::run(asked, pass),
        Benchmark::Registration(asked) => registration::run(asked, pass),
        Benchmark::Region(asked) => region::run(asked, pass),
        Benchmark::Barrier(asked) => barrier::run(asked, pass),
        Benchmark::Collective(which, asked) => collective::run(*which, asked, pass),
        Benchmark::Kernel(asked) => kernel::run(asked, pass),
        Benchmark::Sort(asked) => is::run(asked, pass),
    }
}
