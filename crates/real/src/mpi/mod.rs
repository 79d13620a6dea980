//! Foreign MPIs: a rank under the user's own `mpirun` or `srun` as an endpoint.
//!
//! The library is loaded at run time. It is the standard one of MPI 5 (`libmpi_abi.so`), whose interface is the same
//! for all MPIs. Or it is hotlink's [`ADAPTER`] compiled with the site's `mpicc`.
#![allow(unsafe_code)]

mod api;
mod endpoint;
mod hand_off;
mod launcher;

pub use endpoint::{MpiEndpoint, MpiRequest, MpiWindow};
pub use launcher::{Family, Launcher, Library};

use crate::ranks::block_on;
use api::Api;
use hotlink_fabric::units::Time;
use hotlink_message::{Endpoint, Error};
use hotlink_port::{Kind, Refusal, Span};
use std::ffi::c_char;
use std::future::Future;
use std::path::Path;
use std::ptr::null_mut;

/// The adapter's source, in C.
pub const ADAPTER: &str = include_str!("adapter.c");

/// A process of an MPI job, from its initialisation on.
pub struct Mpi {
    endpoint: MpiEndpoint,
    version: String,
}

impl Mpi {
    /// Loads `library` and initialises MPI.
    ///
    /// # Errors
    /// What keeps the library from being loaded, or a job that it takes no part in.
    pub fn start(library: &Path, launcher: &Launcher) -> Result<Mpi, String> {
        let at = |what: String| format!("{}: {what}", library.display());
        let api = Api::load(library).map_err(at)?;
        // SAFETY: called once in this process, before all else.
        if unsafe { (api.init)(null_mut(), null_mut()) } != 0 {
            return Err(at("MPI_Init failed".to_owned()));
        }
        let version = version(&api);
        let endpoint = MpiEndpoint::new(api, &version).map_err(|error| at(error.to_string()))?;
        let mpi = Mpi { endpoint, version };
        let ranks = mpi.endpoint.ranks();
        if launcher.ranks.is_some_and(|started| started != ranks) {
            let started = launcher.ranks.unwrap_or_default();
            let what = format!("{} sees {ranks} rank where the launcher started {started}: another MPI's", mpi.version);
            return Err(at(what + "; name the launcher's own by --mpi or HOTLINK_MPICC"));
        }
        Ok(mpi)
    }
    /// The name and version that the library reports: the first line.
    pub fn version(&self) -> &str {
        &self.version
    }
    /// This rank.
    pub fn endpoint(&self) -> &MpiEndpoint {
        &self.endpoint
    }
    /// Runs this rank's program to its end.
    pub fn run<T>(&self, program: impl Future<Output = T>) -> T {
        block_on(program)
    }
    /// Every rank's `text`, on every rank.
    ///
    /// # Errors
    /// No memory.
    pub fn share(&self, text: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        block_on(share(&self.endpoint, text))
    }
    /// Half the round trip of a word between the first and the last rank over two cache lines, in microseconds: the
    /// least of 50 samples. `None` if they are on different machines.
    pub fn hand_off(&self) -> Result<Option<f64>, Error> {
        block_on(hand_off::hand_off(&self.endpoint))
    }
    /// Ends MPI in good order: every rank must call it.
    pub fn finish(self) {
        self.endpoint.forget_types();
        // SAFETY: the last call of this process's MPI.
        unsafe { (self.endpoint.api().finalize)() };
    }
    /// Ends the whole job at once.
    pub fn abort(&self, status: i32) -> ! {
        let api = self.endpoint.api();
        // SAFETY: allowed at any time between initialisation and end.
        unsafe { (api.abort)(api.constants.world, status) };
        crate::sys::exit_now(status)
    }
}

/// The version that a library reports; MPI allows the question before MPI is initialised.
fn version_of(library: &Path) -> Result<String, String> {
    Api::load(library).map(|api| version(&api))
}

fn version(api: &Api) -> String {
    let (mut text, mut bytes) = ([0 as c_char; 8192], 0);
    // SAFETY: room for the longest version string of any MPI.
    unsafe { (api.library_version)(text.as_mut_ptr(), &mut bytes) };
    let text: Vec<u8> = text.iter().map(|&byte| byte as u8).take_while(|&byte| byte != 0).collect();
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().next().unwrap_or_default();
    // Open MPI goes on with who built it, MPICH has tabs.
    line.split(", package").next().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}

async fn share(endpoint: &MpiEndpoint, text: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
    let most = endpoint.latest(Time(text.len() as u64)).await?.0;
    let (room, ranks) = (most + 8, u64::from(endpoint.ranks()));
    let total = room.checked_mul(ranks).ok_or(Refusal::NoMemory)?;
    let (mine, all) = (endpoint.alloc(room, Kind::Private)?, endpoint.alloc(total, Kind::Private)?);
    endpoint.write(mine, 0, &(text.len() as u64).to_le_bytes())?;
    endpoint.write(mine, 8, text)?;
    endpoint.allgather(Span::new(mine, 0, room), Span::new(all, 0, total)).await?;
    let mut texts = Vec::new();
    for rank in 0..ranks {
        let mut bytes = [0; 8];
        endpoint.read(all, rank * room, &mut bytes)?;
        let mut text = vec![0; u64::from_le_bytes(bytes).min(most) as usize];
        endpoint.read(all, rank * room + 8, &mut text)?;
        texts.push(text);
    }
    endpoint.free(mine)?;
    endpoint.free(all)?;
    Ok(texts)
}
