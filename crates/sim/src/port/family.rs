//! Families of adapters, and what is usual in each where the catalog says nothing.

use hotlink_fabric::spec::{FabricSpec, FlowControl, Role};

/// Families of adapters, by what they let a program do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// Dolphin's PCI-SCI: remote memory mapped for stores through stream buffers, and DMA (K98 s14-15, W01).
    Sci,
    /// Myrinet: a processor on the adapter and DMA from pinned memory; no remote stores (K98 s12).
    Myrinet,
    /// QsNet's Elan: DMA from and to user virtual memory, translated by the adapter (P01).
    Elan,
    /// Cray T3D: stores and loads of remote memory, put there by a deposit engine (K98 s16).
    T3d,
    /// Remote DMA on registered memory: InfiniBand, RoCE, Slingshot.
    Rdma,
    /// Kernel sockets: the processor copies, and works for every segment.
    Tcp,
}

impl Family {
    /// The family of a fabric's adapters, from its flow control, topology and speed.
    pub fn of(spec: &FabricSpec) -> Family {
        let on_a_bus = spec.resources.contains_key(&Role::HostBus);
        let slow =
            spec.resource(Role::Link).and_then(|link| link.gross.as_ref()).is_some_and(|g| g.value.0 < 1_250_000_000);
        match spec.flow_control {
            FlowControl::SciRing => Family::Sci,
            FlowControl::Wormhole if spec.packet.payload_max_bytes.is_none() => Family::Myrinet,
            FlowControl::Wormhole if on_a_bus => Family::Elan,
            FlowControl::Wormhole => Family::T3d,
            FlowControl::Ethernet if slow => Family::Tcp,
            _ => Family::Rdma,
        }
    }
    /// Its name in records.
    pub fn name(self) -> &'static str {
        match self {
            Family::Sci => "sci",
            Family::Myrinet => "myrinet",
            Family::Elan => "elan",
            Family::T3d => "t3d",
            Family::Rdma => "rdma",
            Family::Tcp => "tcp",
        }
    }
}

/// Who moves the payload of a control message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Carrier {
    /// The processor stores it straight into the receiver's buffer.
    Stores,
    /// The processor copies it into a buffer that the adapter reads.
    Copy,
    /// The adapter reads it where it is.
    Direct,
}

/// What stands in where the catalog says nothing, in microseconds.
pub(super) struct Usual {
    pub send: f64,
    pub receive: f64,
    /// Through both adapters, beyond the network's own latency.
    pub latency: f64,
    pub gap: f64,
    pub dma_setup: f64,
    /// Registering: fixed, and for each page of 4 KiB.
    pub register: (f64, f64),
    pub map: (f64, f64),
    pub connect: f64,
    pub control_bytes_max: u64,
    pub carrier: Carrier,
}

/// The usual values of a family: estimates, by analogy with the generation of its fabrics in the catalog.
pub(super) fn usual(family: Family) -> Usual {
    let base = Usual {
        send: 0.3,
        receive: 0.3,
        latency: 0.5,
        gap: 0.0,
        dma_setup: 1.0,
        register: (0.0, 0.0),
        map: (0.0, 0.0),
        connect: 0.0,
        control_bytes_max: 16 << 10,
        carrier: Carrier::Copy,
    };
    match family {
        // Eager buffers of 16 KiB: SCI-MPICH (parameters P012).
        Family::Sci => Usual {
            dma_setup: 15.0,
            register: (20.0, 1.0),
            map: (50.0, 2.0),
            connect: 30.0,
            carrier: Carrier::Stores,
            ..base
        },
        Family::Myrinet => Usual { send: 0.8, receive: 0.8, latency: 3.0, gap: 2.0, register: (15.0, 0.8), ..base },
        Family::Elan => Usual { send: 0.5, receive: 0.5, latency: 0.8, carrier: Carrier::Direct, ..base },
        Family::T3d => Usual { latency: 0.2, dma_setup: 0.0, carrier: Carrier::Stores, ..base },
        Family::Rdma => Usual { send: 0.1, receive: 0.1, latency: 0.1, dma_setup: 0.1, register: (5.0, 0.1), ..base },
        Family::Tcp => Usual { send: 10.0, receive: 10.0, latency: 0.0, control_bytes_max: 64 << 10, ..base },
    }
}
