//! A LogGP machine as a port: programs on ranks, and the message stack below them. Below that a machine takes each
//! message whole, at the cost of its size.
//!
//! A calibration of an MPI holds that MPI's protocol, so the port claims [`whole_messages`](hotlink_port::Limits): the
//! stack adds no handshake of its own. The costs of a message:
//! - o of the sender's processor, which stalls until the adapter may send again (g, or the occupancy of the last message);
//! - L, and the time from the head to the last byte (G, or the transit by size); the receiving adapter serves one after the
//!   other;
//! - o of the receiver's processor when the program takes it.
//!
//! On a machine whose processors move messages themselves ([`Machine::is_carried`]), a message first costs the sender's
//! processor the time to move it. Only its notice goes through the network. The time depends on what the others do
//! meanwhile, so it is settled while the sender waits: see `work`.
//!
//! ```
//! use hotlink_fabric::units::Time;
//! use hotlink_port::{Driver, Op, Payload, Port, Posted, wait};
//! use hotlink_loggp::{LogGops, LogGp, Machine};
//!
//! async fn hello(mut port: impl Port) -> Time {
//!     if port.rank() == 0 {
//!         let _ = port.post(&Op::Control { to: 1, head: [0; 4], payload: Payload::Bytes(b"hello") });
//!         return port.now();
//!     }
//!     while port.poll().is_none() {
//!         wait(&mut port, Time::MAX).await;
//!     }
//!     port.now()
//! }
//! let messages: LogGops = "L=2us,o=0.5us,g=50ns,G=1ns".parse().unwrap();
//! let mut driver = LogGp::new(Machine::of_messages("mine", messages));
//! // o at the sender; o + L + 4 G + o at the receiver.
//! assert_eq!(driver.run(2, &hello).unwrap(), [Time(500_000), Time(3_004_000)]);
//! ```

mod door;
mod driver;
mod seat;
mod work;
mod world;

pub use door::LogGpPort;
pub use driver::{LogGp, Ran};
