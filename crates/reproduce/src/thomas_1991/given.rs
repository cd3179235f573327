//! What the paper gives: appendix A, tables 5.1 and 5.2, section 6.2. Cycles are of the processor that executes.

use super::case::{Lan, Transport};
use quintet_simulate::Picos;

/// The client's processors, 12.5 MIPS (table A.1).
pub(super) const CLIENT_CYCLE: Picos = Picos(80_000);
/// The server's transport processor, and its application processor of 16 MIPS.
pub(super) const SERVER_CYCLE: Picos = Picos(62_500);
/// The vector processor, 50 megaflops.
pub(super) const VECTOR_CYCLE: Picos = Picos(20_000);
/// BSD 4.3's, of the hosts' processors.
pub(super) const TIME_SLICE: Picos = Picos(100_000_000_000);
/// Of the transport processors: the data link's work for a packet.
pub(super) const IO_SETUP: Picos = Picos(1_500_000_000);

/// Table A.2.
pub(super) const SOCKET: f64 = 94_900.0;
pub(super) const CONNECT: f64 = 21_250.0;
pub(super) const SEND: f64 = 112_000.0;
/// The least that marshalling takes.
pub(super) const MARSHALL_LEAST: f64 = 1_000.0;
/// The most, which is for the largest buffer of a real-time application: 361.4 a word.
pub(super) const MARSHALL_WORD: f64 = 23_500_000.0 / 65_024.0;
/// One call of `sprintf` (appendix A), which converts one element.
pub(super) const SPRINTF: f64 = 3_300.0;
/// One call of `sscanf`: 26.52% of the client's 8.37 s over 10,020 calls (table 5.3), at 12.5 MIPS.
pub(super) const SSCANF: f64 = 2_769.0;

/// SBus: 32 bits in 0.06 us. VMEbus: 32 bits in 0.0625 us (table A.3).
pub(super) const SBUS_CYCLE: Picos = Picos(60_000);
pub(super) const VMEBUS_CYCLE: Picos = Picos(62_500);

/// ASCII bytes of an element or word, by tables 5.1 and 5.2.
pub(super) const ASCII_BYTES: f64 = 8.0;
/// Bytes of an element on the VMEbus: a word of main memory (section 6.3).
pub(super) const WORD_BYTES: f64 = 4.0;
/// Bytes of a message on the VMEbus that asks the vector processor for something.
pub(super) const CONTROL_BYTES: f64 = 16.0;

/// A buffer read by RPC (table 5.2): 16 bytes and 8 of the stub's ask for it; 4 of status and 4 of the stub's come
/// with the data.
pub(super) const READ_REQUEST_BYTES: f64 = 24.0;
pub(super) const READ_REPLY_BYTES: f64 = 8.0;
/// A buffer read by REXEC: its length, 4 bytes, comes with the data.
pub(super) const READ_LENGTH_BYTES: f64 = 4.0;
/// Library calls of the vector addition, the two writes of a vector and the read of one among them.
pub(super) const CALLS: usize = 13;
/// One call by RPC without vectors (table 5.1): (211 + 112) / 13 and (80 + 32) / 13 bytes.
pub(super) const CALL_REQUEST_BYTES: f64 = 323.0 / 13.0;
pub(super) const CALL_REPLY_BYTES: f64 = 112.0 / 13.0;
/// A job by REXEC: the program's name, and 6 bytes of the protocol's.
pub(super) const JOB_REQUEST_BYTES: f64 = 12.0;

/// The largest part of a message that goes over the LAN by itself: UDP's, and what fits Ethernet's frame.
pub(super) const PACKET_BYTES: f64 = 1_472.0;
/// IP's and the transport protocol's headers of each: 46 bytes with Ethernet's 18 (section 4.2.2), which are part of the LAN's block
/// overhead (appendix A).
pub(super) const HEADER_BYTES: f64 = 28.0;
/// An acknowledgement's, without them.
pub(super) const ACKNOWLEDGEMENT_BYTES: f64 = 4.0;

impl Transport {
    /// What an application hands down at once (section 6.2).
    pub(super) const fn buffer_bytes(self) -> f64 {
        match self {
            Transport::Tcp => 4_096.0,
            Transport::Udp => PACKET_BYTES,
        }
    }

    /// Cycles of *build xport pkt* for one buffer (table A.2).
    pub(super) const fn build(self) -> f64 {
        match self {
            Transport::Tcp => 5_460.0,
            Transport::Udp => 2_443.0,
        }
    }
}

impl Lan {
    /// Microseconds that the longest Ethernet frame takes on it, overhead included.
    #[cfg(test)]
    pub(super) const fn longest_frame_us(self) -> f64 {
        match self {
            Lan::Ethernet => 1518.0 * 0.8 + 16.0,
            Lan::Fddi => 1518.0 * 0.08 + 2.24,
            Lan::Switched { gigabits } => 1538.0 * 0.008 / gigabits as f64,
        }
    }
}

/// Seconds simulated (appendix A), from a cold start.
pub(super) const REALTIME_SECONDS: f64 = 20.0;
pub(super) const BATCH_SECONDS: f64 = 30.0;
