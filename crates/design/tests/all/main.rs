//! Designs against published architectures, properties, and one small design as a golden table.

mod front;
mod published;
mod steps;
mod whole;
