//! The commands that W01's rows and figures are read from: the message stack on the simulated fabric.

use crate::Commands;
use crate::run::Run;
use hotlink_study::Error;

const PINGPONG: &str =
    "simulate pingpong --fabric w01-sci-d330 --size 1KiB..4MiB --memory regular,registered --cache lru,immediate";
const COPYING: &str = "simulate pingpong --fabric w01-sci-d330 --size 1KiB..4MiB --memory registered --zero-copy off";
/// Ordinary memory that begins at a page, and that does not.
const ALIGNMENT: &str = "simulate pingpong --fabric w01-sci-d330 --size 8KiB..4MiB --memory registered --align default,none --cache lru,immediate";
const OVERLAP: &str = "simulate overlap --fabric w01-sci-d330 --size 64KiB,256KiB --side sender --spin fixed,daxpy --memory regular,registered --zero-copy on,off --compute 0.1,0.25,0.5,0.75,1,1.25,1.5,2,3";
const ALLTOALLV: &str = "simulate alltoallv --fabric w01-sci-d330 --nodes 8 --size 4KiB,64KiB,128KiB --memory regular,registered --zero-copy on,off";
const SORT: &str =
    "simulate is --class W --fabric w01-sci-d330 --ranks 8 --memory regular,registered --zero-copy on,off";
const STUDY: &str = "simulate cache-study --pattern phases --cache lru,lfu,best-fit,random,immediate";
/// Buffers that may not be pinned.
const REFUSED: &str = "simulate cache-study --buffers 4 --uses 8 --buffer-size 64KiB --size 64KiB --pinned 16KiB";
/// This machine's shared memory, beside the simulated SCI.
const MEASURED: [&str; 2] = [
    "measure pingpong --via shm --ranks 2 --size 1KiB..4MiB",
    "measure overlap --via shm --size 64KiB,256KiB --side sender --spin fixed,daxpy",
];

/// All of them.
pub(super) struct Runs {
    pub(super) pingpong: Run,
    pub(super) copying: Run,
    pub(super) alignment: Run,
    pub(super) overlap: Run,
    pub(super) alltoallv: Run,
    pub(super) sort: Run,
    pub(super) study: Run,
    pub(super) refused: Run,
    pub(super) measured: Vec<Run>,
}

impl Runs {
    /// Simulates, and measures on this machine where asked to.
    pub(super) fn new(commands: &dyn Commands, measure: bool) -> Result<Runs, Error> {
        let measured: &[&str] = if measure { &MEASURED } else { &[] };
        Ok(Runs {
            pingpong: Run::new(PINGPONG, commands)?,
            copying: Run::new(COPYING, commands)?,
            alignment: Run::new(ALIGNMENT, commands)?,
            overlap: Run::new(OVERLAP, commands)?,
            alltoallv: Run::new(ALLTOALLV, commands)?,
            sort: Run::new(SORT, commands)?,
            study: Run::new(STUDY, commands)?,
            refused: Run::new(REFUSED, commands)?,
            measured: measured.iter().map(|command| Run::new(command, commands)).collect::<Result<_, _>>()?,
        })
    }
}
