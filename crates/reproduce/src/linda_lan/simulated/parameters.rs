//! What the model is made with, and where each number is from.

use crate::parameter::{Origin, Parameter, parameter};

/// Microseconds of a processor that a message costs beside its packets, at both ends together.
pub(super) const MESSAGE_US: f64 = 1_060.0;
/// Microseconds of a packet at both ends together.
pub(super) const PACKET_US: f64 = 555.0;
/// Microseconds that a packet to the other machine costs more, at both ends together.
pub(super) const REMOTE_US: f64 = 1_000.0;
/// Microseconds of a byte at both ends together.
pub(super) const BYTE_US: f64 = 0.026;
/// Microseconds of a multiplication with its addition.
pub(super) const MULTIPLICATION_US: f64 = 1.0;
/// Microseconds for each connection that a process has, each time it looks which of them has something.
pub(super) const CONNECTION_US: u32 = 10;
/// How long a process runs while others want to.
pub(super) const TIME_SLICE_US: f64 = 3_906.0;
/// Bytes of a header.
pub(super) const HEADER_BYTES: usize = 40;
/// Bytes of a field, and of a tuple's beginning.
pub(super) const FIELD_BYTES: usize = 8;

/// All of them.
pub const PARAMETERS: [Parameter; 13] = [
    parameter("machines", (2.0, ""), Origin::Given, "one and two DEC 5000, with one processor each"),
    parameter(
        "operations a task",
        (5.0, ""),
        Origin::Given,
        "the listing: inp, two rd and an out by a worker, an in by the program; the text counts one",
    ),
    parameter(
        "messages a task",
        (18.0, ""),
        Origin::Inferred,
        "through an L-Kernel, in, rd and inp take four messages, and an out two: nothing says that it is answered",
    ),
    parameter(
        "time slice",
        (TIME_SLICE_US, "us"),
        Origin::Inferred,
        "the quantum of time that the text names",
    ),
    parameter(
        "Ethernet",
        (10.0, "Mb/s"),
        Origin::Inferred,
        "CSMA/CD of IEEE 802.3, as workstations of 1997 had it",
    ),
    parameter(
        "message and packet",
        (MESSAGE_US + PACKET_US, "us"),
        Origin::Fitted,
        "12 s for 20 by 20 and 27 s for 30 by 30 are 30 ms a task both, by 18 messages",
    ),
    parameter(
        "packet",
        (PACKET_US, "us"),
        Origin::Fitted,
        "one packet takes 25% less than two in figure 5.1",
    ),
    parameter(
        "packet to the other machine",
        (REMOTE_US, "us more"),
        Origin::Fitted,
        "18 s for 30 by 30 on two machines; that it follows by packets is assumed",
    ),
    parameter(
        "byte",
        (BYTE_US, "us"),
        Origin::Fitted,
        "one packet takes 11% less in figure 5.5. That is 38 MB/s, more than such a machine copies: if a byte costs more, the second packet of a long message has to cost more than that of a short one",
    ),
    parameter(
        "multiplication",
        (MULTIPLICATION_US, "us"),
        Origin::Assumed,
        "25 MHz, some 25 cycles in a loop in C",
    ),
    parameter("header", (HEADER_BYTES as f64, "bytes"), Origin::Assumed, "fixed, the text says"),
    parameter("field", (FIELD_BYTES as f64, "bytes"), Origin::Assumed, "with its type"),
    parameter(
        "connection",
        (CONNECTION_US as f64, "us"),
        Origin::Assumed,
        "what select costs for each, every time; it decides whether L-Kernels are faster, so that ten times as much is simulated, too",
    ),
];
