//! Processing elements, and which nodes are on them.

use super::given;
use super::machines::Machines;
use quintet_contract::NodeId;
use quintet_simulate::{Picos, ProcessorModel};

/// A processing element. Its modules for one client are one process: they run in turn, each to its end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Element {
    ClientApplic,
    ClientXport,
    ServerApplic,
    ServerXport,
    VectorProcessor,
    LoadSender,
    LoadReceiver,
    /// What a transport processor tells its application past the bus, by an interrupt: it takes no time.
    Interrupt,
}

impl Element {
    pub(super) const COUNT: u16 = 8;

    pub(super) const ALL: [Element; Element::COUNT as usize] = [
        Element::ClientApplic,
        Element::ClientXport,
        Element::ServerApplic,
        Element::ServerXport,
        Element::VectorProcessor,
        Element::LoadSender,
        Element::LoadReceiver,
        Element::Interrupt,
    ];

    /// The process on this element that works for a client, by the client's number.
    pub(super) const fn node(self, client: u16) -> NodeId {
        NodeId(client * Element::COUNT + self as u16 + 1)
    }

    pub(super) fn of(node: NodeId) -> Element {
        Element::ALL[usize::from((node.0 - 1) % Element::COUNT)]
    }

    /// Whether each client has one of its own.
    pub(super) const fn is_clients_own(self) -> bool {
        matches!(self, Element::ClientApplic | Element::ClientXport)
    }

    /// Whether nodes on it work for a client; the stations of background load do not.
    pub(super) const fn is_for_clients(self) -> bool {
        !matches!(self, Element::LoadSender | Element::LoadReceiver)
    }

    pub(super) fn model(self, machines: Machines, server_mips: u32) -> ProcessorModel {
        let host = |cycle| ProcessorModel {
            cycle,
            time_slice: Some(machines.time_slice()),
            output_controller: false,
            ..ProcessorModel::default()
        };
        let applic = |cycle| ProcessorModel { input_controller: false, ..host(cycle) };
        let xport = |cycle| ProcessorModel { io_setup: machines.io_setup(), ..host(cycle) };
        match self {
            Element::ClientApplic => applic(machines.client_cycle()),
            Element::ClientXport => xport(machines.client_cycle()),
            Element::ServerApplic => applic(Picos(1_000_000 / u64::from(server_mips))),
            Element::ServerXport => xport(machines.server_cycle()),
            Element::VectorProcessor => {
                ProcessorModel { cycle: given::VECTOR_CYCLE, time_slice: None, ..host(Picos::ZERO) }
            }
            Element::LoadSender | Element::LoadReceiver | Element::Interrupt => ProcessorModel::default(),
        }
    }
}

/// For which client a node works, by the client's number.
pub(super) const fn client_of(node: NodeId) -> u16 {
    (node.0 - 1) / Element::COUNT
}
