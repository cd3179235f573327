//! Who a protocol talks to.

use core::fmt;

/// A process on a machine. 0 to 65,535; unique within a cluster at one time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub u16);

/// One protocol instance, or one service of the host, within a node. The well-known ports stand in `wire`'s registry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Port(pub u16);

/// Everything a protocol talks to: a peer, the local caller, a disk, a device.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Address {
    /// The process.
    pub node: NodeId,
    /// The instance in it.
    pub port: Port,
}

/// One life of a node: a node that restarts comes back under a larger incarnation, so that frames of its
/// earlier life are recognised and refused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Incarnation(pub u64);

impl Address {
    /// The address of `port` on `node`.
    #[must_use]
    pub const fn new(node: u16, port: u16) -> Self {
        Address { node: NodeId(node), port: Port(port) }
    }

    /// The address as it stands in a frame header: node in the upper half, port in the lower.
    #[must_use]
    pub const fn to_bits(self) -> u32 {
        (self.node.0 as u32) << 16 | self.port.0 as u32
    }

    /// The inverse of [`Address::to_bits`]; every value is an address.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "takes the two halves apart")]
    pub const fn from_bits(bits: u32) -> Self {
        Address::new((bits >> 16) as u16, bits as u16)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.node.0, self.port.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_its_node_above_its_port() {
        assert_eq!(Address::new(0x1234, 0x5678).to_bits(), 0x1234_5678);
        assert_eq!(Address::from_bits(0x1234_5678), Address::new(0x1234, 0x5678));
        assert_eq!(Address::from_bits(0xffff_0001).to_bits(), 0xffff_0001);
        assert_eq!(Address::new(3, 16).to_string(), "3:16");
    }
}
