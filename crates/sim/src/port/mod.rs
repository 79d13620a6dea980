//! Ports on a simulated fabric, and the driver that runs rank programs in virtual time.
//!
//! [`VirtualTime`] gives rank `i` the adapter of node `i`. Every program is an asynchronous task over the event core.
//! It runs until it waits, and charges its local work to its own clock. What it posts crosses the packet network
//! together with all other traffic. The same programs run on real ports; nothing in them knows the difference.
//!
//! ```
//! use hotlink_port::{Driver, Event, Op, Payload, Port, Posted, wait};
//! use hotlink_fabric::{Fabric, catalog, units::Time};
//! use hotlink_sim::{Plan, Settings, port::VirtualTime};
//!
//! async fn hello(mut port: impl Port) -> f64 {
//!     if port.rank() == 0 {
//!         let _ = port.post(&Op::Control { to: 1, head: [7, 0, 0, 0], payload: Payload::Bytes(b"hello") });
//!         return 0.0;
//!     }
//!     while port.poll().is_none() {
//!         wait(&mut port, Time::MAX).await;
//!     }
//!     port.now().us()
//! }
//! let spec = catalog::load("ib-ndr-fat-tree2").unwrap();
//! let fabric = Fabric::build(&spec, 2).unwrap();
//! let settings = Settings::of(&spec);
//! let plan = Plan::new(&fabric, &settings).unwrap();
//! let times = VirtualTime::new(&plan, &settings).unwrap().run(2, &hello).unwrap();
//! assert!(times[1] > 0.5 && times[1] < 5.0, "microseconds");
//! ```

mod adapter;
mod choice;
mod door;
mod driver;
mod family;
mod flight;
mod hardware;
mod kernel;
mod local;
mod pace;
mod seat;
mod setups;
mod together;
mod world;

pub use adapter::{Adapter, Split};
pub use door::SimPort;
pub use driver::{Outcome, VirtualTime};
pub use family::Family;
pub use together::RANKS_COUNTED;
