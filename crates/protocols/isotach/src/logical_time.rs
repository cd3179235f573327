//! Logical time: pulses, ranks, and the stamps that order everything.

use core::fmt;
use quintet_contract::NodeId;
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

/// Which agreed membership a frame belongs to. Pulses and ranks are counted anew in each.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct View(pub u32);

/// A step of logical time. A token manager's pulse ends when it sends its next token.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Pulse(pub u64);

/// An isochron's number among those of its sender, in the order in which they were ended. Grows; some numbers are not used.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Rank(pub u64);

/// When an isochron is executed, at each of its receivers: the order of stamps is the one total order. (Williams, Reynolds, de Supinski:
/// the lexicographic triple of pulse, sender and rank; here within a view.)
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Stamp {
    /// The view.
    pub view: View,
    /// The pulse, the same for all parts of the isochron.
    pub pulse: Pulse,
    /// Who sent it.
    pub sender: NodeId,
    /// Which of the sender's it is.
    pub rank: Rank,
}

/// Where a node executed an isochron: at its stamp; or, if it was purely local and ran ahead, behind the isochron with that stamp.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Place {
    /// Its own stamp, or that of the isochron which this node executed last. None has been executed: rank 0 of node 0 in pulse 0.
    pub stamp: Stamp,
    /// 0, or which of the purely local isochrons behind `stamp` it is, from 1.
    pub behind: u32,
}

impl Place {
    /// Before anything that the view executes.
    #[must_use]
    pub const fn start_of(view: View) -> Place {
        let stamp = Stamp { view, pulse: Pulse(0), sender: NodeId(0), rank: Rank(0) };
        Place { stamp, behind: 0 }
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Stamp { view, pulse, sender, rank } = self;
        write!(f, "pulse {} of view {}, rank {} of node {}", pulse.0, view.0, rank.0, sender.0)
    }
}

impl Encode for Stamp {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u32(self.view.0);
        sink.u64(self.pulse.0);
        sink.u16(self.sender.0);
        sink.u64(self.rank.0);
    }
}

impl Decode<'_> for Stamp {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Stamp {
            view: View(reader.u32()?),
            pulse: Pulse(reader.u64()?),
            sender: NodeId(reader.u16()?),
            rank: Rank(reader.u64()?),
        })
    }
}

impl Encode for Place {
    fn encode(&self, sink: &mut impl Sink) {
        self.stamp.encode(sink);
        sink.u32(self.behind);
    }
}

impl Decode<'_> for Place {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Place { stamp: Stamp::decode(reader)?, behind: reader.u32()? })
    }
}
