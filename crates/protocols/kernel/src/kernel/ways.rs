//! Which port of the kernel's node stands for which client's pair of ports.
//!
//! ```text
//!   free ---- the client's first frame ----> open ---- the client has gone, or the server has ended it ----> left
//!    ^                                                                                                        |
//!    +------------------------------ the server has heard that it is left -------------------------------------+
//! ```
//!
//! A port that is left is nobody's until the server has said that it heard of it: what it sent before is for who has gone. Ports are given in turn.

use quintet_contract::{Address, Port};
use quintet_session::PortPair;
use std::collections::{BTreeMap, BTreeSet};

/// All that are open, and all that are left.
#[derive(Debug, Default)]
pub(super) struct Ways {
    /// By the client's sessions and its pair as its frames name it.
    ports: BTreeMap<(Address, PortPair), Port>,
    /// The same by the port.
    open: BTreeMap<Port, (Address, PortPair)>,
    left: BTreeSet<Port>,
    last: u16,
}

impl Ways {
    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    /// The port that stands for a client's pair.
    pub(super) fn port(&self, client: Address, pair: PortPair) -> Option<Port> {
        self.ports.get(&(client, pair)).copied()
    }

    /// Whose a port is.
    pub(super) fn client(&self, port: Port) -> Option<(Address, PortPair)> {
        self.open.get(&port).copied()
    }

    /// A port for a pair that has none. None: there are `max` already, or all others are left and not free.
    pub(super) fn open(&mut self, client: Address, pair: PortPair, max: usize) -> Option<Port> {
        if self.open.len() >= max {
            return None;
        }
        let mut turns = 0..=u16::MAX;
        let port = turns.find_map(|_| {
            self.last = self.last.wrapping_add(1);
            let port = Port(self.last);
            let is_free = self.last != 0 && !self.open.contains_key(&port) && !self.left.contains(&port);
            is_free.then_some(port)
        })?;
        self.ports.insert((client, pair), port);
        self.open.insert(port, (client, pair));
        Some(port)
    }

    /// Leaves a port. The pair for which it stood, as the client's frames name it.
    pub(super) fn leave(&mut self, port: Port) -> Option<PortPair> {
        let (client, pair) = self.open.remove(&port)?;
        self.ports.remove(&(client, pair));
        self.left.insert(port);
        Some(pair)
    }

    /// The server has heard that a port is left. False if it is not.
    pub(super) fn heard(&mut self, port: Port) -> bool {
        self.left.remove(&port)
    }

    /// A client's ports, in the order of its pairs.
    pub(super) fn of(&self, client: Address) -> Vec<Port> {
        let first = PortPair { from: Port(0), to: Port(0) };
        let pairs = self.ports.range((client, first)..).take_while(|((of, _), _)| *of == client);
        pairs.map(|(_, port)| *port).collect()
    }

    /// For a built-in defect: the port is free at once, and the next that is given.
    pub(super) fn reuse(&mut self, port: Port) {
        self.left.remove(&port);
        self.last = port.0.wrapping_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: Address = Address::new(7, 5);
    const PAIR: PortPair = PortPair { from: Port(16), to: Port(17) };

    #[test]
    fn a_port_is_given_again_when_the_server_has_heard_and_in_turn() {
        let mut ways = Ways::default();
        let first = ways.open(CLIENT, PAIR, 2).expect("there is room");
        assert_eq!((ways.port(CLIENT, PAIR), ways.client(first)), (Some(first), Some((CLIENT, PAIR))));
        assert_eq!(ways.leave(first), Some(PAIR));
        assert_eq!((ways.leave(first), ways.port(CLIENT, PAIR), ways.client(first)), (None, None, None));
        for _ in 0..u16::MAX - 1 {
            let port = ways.open(CLIENT, PAIR, 2).expect("others are free");
            assert_ne!(port, first);
            ways.leave(port);
        }
        assert_eq!(ways.open(CLIENT, PAIR, 2), None, "all are left");
        assert!(ways.heard(first) && !ways.heard(first));
        assert_eq!(ways.open(CLIENT, PAIR, 2), Some(first));
    }

    #[test]
    fn there_are_no_more_than_may_be_and_each_client_has_its_own() {
        let mut ways = Ways::default();
        let other = PortPair { to: Port(25), ..PAIR };
        let ports = [(CLIENT, PAIR), (CLIENT, other), (Address::new(8, 5), PAIR)]
            .map(|(client, pair)| ways.open(client, pair, 3).expect("there is room"));
        assert_eq!(ways.open(CLIENT, PortPair { from: Port(1), to: Port(1) }, 3), None);
        assert_eq!(ways.of(CLIENT), ports[..2]);
        assert_eq!(ways.of(Address::new(8, 5)), ports[2..]);
        assert_eq!((ways.of(Address::new(9, 5)), ways.len()), (vec![], 3));
    }
}
