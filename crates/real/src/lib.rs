//! Real ports: shared memory and TCP between processes, both in one job, and the driver that runs ranks as processes.
//! Also foreign MPIs, as endpoints.
//!
//! ```
//! use hotlink_port::{Driver, Port};
//! use hotlink_real::{Options, Shm};
//!
//! async fn program(port: impl Port) -> u32 {
//!     port.rank() * 10
//! }
//! assert_eq!(Shm::new(Options::default()).run(3, &program).unwrap(), [0, 10, 20]);
//! ```
//!
//! Ranks are forked by the process that calls [`hotlink_port::Driver::run`]; they die with it, and it notices within
//! milliseconds when one of them dies. All shared state is in memory files without a name, so nothing is left behind
//! however a job ends.

mod board;
mod clock;
mod combine;
mod copy;
mod copying;
mod crew;
mod doors;
mod drivers;
mod idle;
mod latch;
mod loaded;
mod mixed;
mod mpi;
pub mod passage;
mod pool;
mod proof;
mod ranks;
mod registration;
mod route;
mod seat;
mod shm;
mod sockets;
mod store;
mod tcp;
mod threads;
mod transport;
mod via;

use hotlink_seats::sys;

pub use copy::STREAM_BYTES;
pub use copying::{COPY_VARIABLE, Chosen, Sample, copy_named, copying, use_copy};
pub use crew::{join, listening, stuck};
pub use doors::{BarrierDevice, NoDoors};
pub use drivers::{
    Mixed, Shm, Tcp, cores, cores_of_machine, hand_off, is_one_machine, is_oversubscribed, launched, stay_on,
};
pub use hotlink_job::{
    Errand, Exchange, Job, JobEnd, Launched, Spread, end_if_interrupted, is_here, machine, path_word,
};
pub use hotlink_seats::sys::full_fence;
pub use hotlink_seats::{Assists, Combine, How, Neighbor};
pub use hotlink_seats::{Door, Entry, Idle, Lends, Want, goes_into, is_simulated, take_turns, within};
pub use hotlink_seats::{Waits, Watch, function, keep_quiet, quietly, waits_in};
pub use hotlink_seats::{clock as virtual_clock, look as look_at_virtual_clock};
pub use latch::{Latch, Latches, Wish, Word, has_steps, looked};
pub use mixed::{Gathering, MixedPort};
pub use mpi::{ADAPTER, Family, Launcher, Library, Mpi, MpiEndpoint, MpiRequest, MpiWindow};
pub use proof::{fresh_secret, use_secret_file};
pub use ranks::{Doors, Options, die_with};
pub use registration::{Reach, Registration};
pub use route::{CopyWay, Copying};
pub use seat::{Seat, Seated};
pub use shm::{ShmPort, World};
pub use sockets::{
    DATAGRAM_MAX, DATAGRAM_MIN, Flood, Pings, SocketBuffers, SocketOptions, Sockets, WARMUP, interface_of, serve,
};
pub use store::Lend;
pub use tcp::{Meeting, TcpPort};
pub use transport::{Transport, With};
pub use via::Via;
