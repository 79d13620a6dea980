//! A port of this machine for a test that listens or meets there.

use std::sync::atomic::{AtomicU32, Ordering};

/// Picks ports below those that a system gives out on its own, lest another test gets one in between. Each call gets
/// another one, here and in other test programs.
pub fn free_port() -> u16 {
    static ASKED: AtomicU32 = AtomicU32::new(0);
    loop {
        let nth = std::process::id().wrapping_mul(31) + ASKED.fetch_add(1, Ordering::Relaxed);
        let port = 10_000 + (nth % 20_000) as u16;
        if std::net::TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}
