//! The contract can be implemented by wrapping, used through `dyn`, and programs can be structs generic over ports.

use hotlink_port::{Port, Program};

struct Ranks;
impl<P: Port> Program<P, u32> for Ranks {
    async fn run(&self, port: P) -> u32 {
        port.ranks()
    }
}

#[test]
fn port_is_object_safe() {
    fn _takes(_: &mut dyn Port) {}
    fn _is_program<P: Port>() -> impl Program<P, u32> {
        Ranks
    }
}
