//! The tests of the simulator: one program, because each would compile the message engine over the simulated port anew.

mod adaptive;
mod background;
mod buses;
mod conformance;
mod deposit;
mod efficiency;
mod ethernet;
mod express;
mod faults;
mod feeding;
mod host;
mod inputs;
mod kernel;
mod messages;
mod network;
mod paths;
mod promises;
mod qsnet;
mod random;
mod rates;
mod replay;
mod saturation;
mod sharing;
mod strided;
mod transports;
mod ugal;
