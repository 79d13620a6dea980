//! The sources of the barrier's native parts, from `rtl/barrier` and `plugins`, and how each is compiled.

use super::{Recipe, Source};
use crate::face::Face;
use hotlink_study::Error as Failure;
use std::path::PathBuf;

/// Most nodes of the compiled RTL.
pub const MOST_PORTS: u32 = 32;
/// Groups of nodes that it holds at once.
const GROUPS: u32 = 8;

macro_rules! source {
    ($name:literal, $path:literal) => {
        ($name, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../", $path)))
    };
}

const RTL: [Source; 9] = [
    source!("hb_arm.v", "rtl/barrier/src/hb_arm.v"),
    source!("hb_celement.v", "rtl/barrier/src/hb_celement.v"),
    source!("hb_device.v", "rtl/barrier/src/hb_device.v"),
    source!("hb_filter.v", "rtl/barrier/src/hb_filter.v"),
    source!("hb_irq.v", "rtl/barrier/src/hb_irq.v"),
    source!("hb_link.v", "rtl/barrier/src/hb_link.v"),
    source!("hb_node.v", "rtl/barrier/src/hb_node.v"),
    source!("hb_regs.v", "rtl/barrier/src/hb_regs.v"),
    source!("hb_sync.v", "rtl/barrier/src/hb_sync.v"),
];
const HEADER: Source = source!("barrier/hotlink_barrier.h", "plugins/barrier/hotlink_barrier.h");
const WIRES: Source = source!("barrier/hotlink_wires.h", "plugins/barrier/hotlink_wires.h");
const DEVICE: Source = source!("barrier/hotlink_device.h", "plugins/barrier/hotlink_device.h");
const DAEMON: Source = source!("barrier/daemon.hpp", "plugins/barrier/daemon.hpp");
const SERVER: Source = source!("barrier/serve.cpp", "plugins/barrier/serve.cpp");
/// The plug-in's parts, which include the header by its place next to them.
pub(super) const PLUGIN: [Source; 7] = [
    HEADER,
    WIRES,
    DEVICE,
    source!("mpi/plugin.h", "plugins/mpi/plugin.h"),
    source!("mpi/setup.h", "plugins/mpi/setup.h"),
    source!("mpi/front.c", "plugins/mpi/front.c"),
    source!("mpi/takeover.c", "plugins/mpi/takeover.c"),
];

pub(super) fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

/// The RTL (hb_device) translated by Verilator, as a daemon for at least `nodes` nodes.
///
/// # Errors
/// What cannot be compiled, and what it needs.
pub fn server(nodes: u32, face: &dyn Face) -> Result<PathBuf, Failure> {
    let ports = nodes.next_power_of_two().clamp(4, MOST_PORTS);
    let translate = format!(
        "verilator --cc --exe -O3 --Mdir translated --top-module hb_device -GP={ports} -GB={GROUPS} -o ../barrier-serve -CFLAGS -O2 \
         -CFLAGS -D_GNU_SOURCE -CFLAGS -I../barrier -CFLAGS -DHB_PORTS={ports}"
    );
    let mut translate = words(&translate);
    translate.extend(RTL.iter().map(|(name, _)| (*name).to_owned()));
    translate.push("../barrier/serve.cpp".to_owned());
    let recipe = Recipe {
        name: "barrier-serve",
        sources: RTL.into_iter().chain([HEADER, WIRES, DEVICE, DAEMON, SERVER]).collect(),
        steps: vec![translate, words("make -s -C translated -f Vhb_device.mk")],
        product: "barrier-serve",
        tools: "verilator, make and g++ (apt-get install verilator make g++)",
    };
    recipe.make(face)
}

/// A program or library that one compiler's call makes.
pub struct Part {
    name: &'static str,
    /// Sources of its own, after the headers of all.
    own: &'static [Source],
    compile: &'static str,
    product: &'static str,
    tools: &'static str,
}

impl Part {
    /// Its path; it is compiled where it is not yet.
    ///
    /// # Errors
    /// What cannot be compiled, and what it needs.
    pub fn make(&self, face: &dyn Face) -> Result<PathBuf, Failure> {
        let Part { name, own, compile, product, tools } = *self;
        let sources = [HEADER, WIRES, DEVICE].into_iter().chain(own.iter().copied()).collect();
        Recipe { name, sources, steps: vec![words(compile)], product, tools }.make(face)
    }
}

const CPP: &str = "a C++ compiler (apt-get install g++)";
const C: &str = "a C compiler (apt-get install gcc libc6-dev)";

/// The daemon for a board whose registers are reached over SPI, or a card whose are memory-mapped.
pub const BOARD_SERVER: Part = Part {
    name: "barrier-serve-board",
    own: &[DAEMON, source!("barrier/serve_board.cpp", "plugins/barrier/serve_board.cpp")],
    compile: "c++ -std=c++17 -O2 -D_GNU_SOURCE barrier/serve_board.cpp -o barrier-serve-board -pthread",
    product: "barrier-serve-board",
    tools: CPP,
};
/// The daemon whose device is a barrier network's closed form.
pub const MODEL_SERVER: Part = Part {
    name: "barrier-serve-model",
    own: &[DAEMON, source!("barrier/serve_model.cpp", "plugins/barrier/serve_model.cpp")],
    compile: "c++ -std=c++17 -O2 -D_GNU_SOURCE barrier/serve_model.cpp -o barrier-serve-model -pthread",
    product: "barrier-serve-model",
    tools: CPP,
};
/// The benchmark of a device against the bare limit.
pub(crate) const BENCH: Part = Part {
    name: "barrier-bench",
    own: &[source!("barrier/bench_device.c", "plugins/barrier/bench_device.c")],
    compile: "cc -std=gnu11 -O2 -Ibarrier barrier/bench_device.c -o barrier-bench -pthread -lrt",
    product: "barrier-bench",
    tools: C,
};
/// The self-test over a node's wires.
pub const CHECK: Part = Part {
    name: "barrier-check",
    own: &[source!("barrier/check.c", "plugins/barrier/check.c")],
    compile: "cc -std=gnu11 -O2 -Ibarrier barrier/check.c -o barrier-check -pthread",
    product: "barrier-check",
    tools: C,
};
/// The contract of a device as a library, for this project's own messages.
pub(crate) const DOORS: Part = Part {
    name: "barrier-doors",
    own: &[source!("barrier/doors.c", "plugins/barrier/doors.c")],
    compile: "cc -std=gnu11 -O2 -fPIC -shared -fvisibility=hidden -Ibarrier barrier/doors.c -o libbarrier-doors.so -pthread",
    product: "libbarrier-doors.so",
    tools: C,
};
