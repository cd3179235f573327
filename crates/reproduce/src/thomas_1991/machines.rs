//! What hosts and vector processor are made of: those of the study, or today's.
//!
//! Programs are the same on both, cycle for cycle: the cycles that appendix A gives and those that were inferred. The
//! server's application processor is the case's own (`Case::server_mips`).

use super::given;
use super::inferred::Inferred;
use quintet_simulate::Picos;
use quintet_simulate::device::Framing;

/// What hosts and vector processor are made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Machines {
    /// Appendix A: 12.5 and 16 MIPS, SBus and VMEbus, 1.5 ms of set-up a packet.
    Of1991,
    /// Today's: 5000 MIPS, PCIe 4.0 x16, 3 us of set-up a packet, an accelerator.
    Today,
}

/// Assumed: one instruction a cycle, as for the machines of 1991, 5000 million in a second.
pub(super) const TODAY_MIPS: u32 = 5_000;
const TODAY_CYCLE: Picos = Picos(1_000_000 / TODAY_MIPS as u64);
/// Assumed: what a kernel does for a packet besides *build xport pkt*.
const TODAY_IO_SETUP: Picos = Picos(3_000_000);
/// Assumed: a scheduler's usual slice.
const TODAY_TIME_SLICE: Picos = Picos(3_000_000_000);
/// PCI Express 4.0 (base specification): 16 GT/s a lane, 128b/130b. 16 lanes: 256 bits in 256 / (16 * 16e9 * 128 / 130) s.
const PCIE_4_X16: Framing = Framing {
    cycle_time: Picos(1_016),
    bits_per_cycle: 256,
    cycles_per_word: 1,
    word_overhead: Picos::ZERO,
    words_per_block: 0,
    // Assumed: 0.5 us for a transfer to begin.
    block_overhead: Picos(500_000),
};
/// Assumed: 10 us for each of the 13 calls of a vector addition to start and end on an accelerator; three words of 4
/// bytes an element at 1 TB/s of its memory.
const TODAY_VECTOR: [f64; 2] = [130e-6, 12e-12];

impl Machines {
    pub(super) const fn client_cycle(self) -> Picos {
        match self {
            Machines::Of1991 => given::CLIENT_CYCLE,
            Machines::Today => TODAY_CYCLE,
        }
    }

    /// That of the server's transport processor.
    pub(super) const fn server_cycle(self) -> Picos {
        match self {
            Machines::Of1991 => given::SERVER_CYCLE,
            Machines::Today => TODAY_CYCLE,
        }
    }

    pub(super) const fn io_setup(self) -> Picos {
        match self {
            Machines::Of1991 => given::IO_SETUP,
            Machines::Today => TODAY_IO_SETUP,
        }
    }

    pub(super) const fn time_slice(self) -> Picos {
        match self {
            Machines::Of1991 => given::TIME_SLICE,
            Machines::Today => TODAY_TIME_SLICE,
        }
    }

    /// The client's bus.
    pub(super) const fn client_bus(self) -> Framing {
        match self {
            Machines::Of1991 => bus_of_1991(given::SBUS_CYCLE),
            Machines::Today => PCIE_4_X16,
        }
    }

    /// The server's, on which the vector processor is, too.
    pub(super) const fn server_bus(self) -> Framing {
        match self {
            Machines::Of1991 => bus_of_1991(given::VMEBUS_CYCLE),
            Machines::Today => PCIE_4_X16,
        }
    }

    /// A head's seconds for a vector addition, and for each element of it.
    pub(super) const fn vector(self, inferred: &Inferred) -> [f64; 2] {
        match self {
            Machines::Of1991 => inferred.vector,
            Machines::Today => TODAY_VECTOR,
        }
    }
}

const fn bus_of_1991(cycle_time: Picos) -> Framing {
    Framing {
        cycle_time,
        bits_per_cycle: 32,
        cycles_per_word: 1,
        word_overhead: Picos::ZERO,
        words_per_block: 0,
        block_overhead: Picos::ZERO,
    }
}
