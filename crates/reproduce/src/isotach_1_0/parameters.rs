//! What the model is made with, and where each number is from.

use crate::parameter::{Origin, Parameter, parameter};

/// Bytes of a packet that are no data.
pub(super) const STUDY_HEADER_BYTES: usize = 20;
/// Microseconds of a host that a frame costs its sender, and for each byte.
pub(super) const SEND_US: f64 = 1.02;
pub(super) const SEND_BYTE_US: f64 = 0.035_625;
/// The same of its receiver.
pub(super) const RECEIVE_US: f64 = 1.02;
pub(super) const RECEIVE_BYTE_US: f64 = 0.021_44;
/// Microseconds of a host that a frame between the program and its node costs, and for each byte.
pub(super) const CALL_US: f64 = 1.0;
pub(super) const COPY_BYTE_US: f64 = 0.002_917;
/// Microseconds that a token manager takes for a frame that comes, or goes.
pub(super) const MANAGER_US: f64 = 2.63;
/// Microseconds that a frame takes through a host's network interface.
pub(super) const INTERFACE_US: f64 = 3.53;
/// Bits a second of a link.
pub(super) const LINK_BITS: f64 = 1.28e9;
/// Microseconds from an input of a switch to its output.
pub(super) const SWITCH_US: f64 = 0.5;
/// Bytes that a switch waits for before it passes them on.
pub(super) const PIECE_BYTES: u64 = 128;
/// Messages or isochrons of a sender under way at once.
pub(super) const WINDOW: usize = 32;

/// Of today's network, behind the paper: microseconds that a host takes for a frame, at either end; for each byte; that a frame travels to a switch or from one.
pub(super) const TODAY_FRAME_US: f64 = 1.0;
pub(super) const TODAY_BYTE_US: f64 = 0.000_1;
pub(super) const TODAY_HOP_NS: u64 = 2_000;

/// All of them.
pub const PARAMETERS: [Parameter; 20] = [
    parameter(
        "data in a packet",
        (STUDY_HEADER_BYTES as f64, "bytes less"),
        Origin::Given,
        "section 4.1; frames of ours are as long as they are, with what is in front of the data",
    ),
    parameter("link", (LINK_BITS / 1e6, "Mb/s"), Origin::Given, "Myrinet, section 2.3, full duplex"),
    parameter(
        "frame, at the sender",
        (SEND_US, "us"),
        Origin::Fitted,
        "FM_send takes 3.3 us with 64 bytes and 37.5 us with 1024 (figure 5.7)",
    ),
    parameter(
        "byte, at the sender",
        (SEND_BYTE_US, "us"),
        Origin::Fitted,
        "the same two: programmed input and output",
    ),
    parameter(
        "byte, at the receiver",
        (RECEIVE_BYTE_US, "us"),
        Origin::Fitted,
        "round trips of FM with 64 bytes (28.1 us) and 1024 (225.7 us by 1.5)",
    ),
    parameter("network interface", (INTERFACE_US, "us a frame"), Origin::Fitted, "the same two"),
    parameter(
        "frame, at the receiver",
        (RECEIVE_US, "us"),
        Origin::Inferred,
        "as much as at the sender: only the sum of this and of the interfaces is in the round trip",
    ),
    parameter(
        "byte, copied",
        (COPY_BYTE_US, "us"),
        Origin::Inferred,
        "a copy less makes a send 0.9 us shorter with 64 bytes and 3.7 us with 1024 (figure 5.7)",
    ),
    parameter(
        "call between program and node",
        (CALL_US, "us"),
        Origin::Inferred,
        "without markers and copy, sending an isochron of 64 bytes takes 1.0 us more than FM_send (figure 5.7)",
    ),
    parameter(
        "frame, at a token manager",
        (MANAGER_US, "us"),
        Origin::Inferred,
        "a token goes round in 11.64 us: two hops of a sending and a receiving interface, less the wire",
    ),
    parameter("switch", (SWITCH_US, "us"), Origin::Assumed, "cut through, as Myrinet's"),
    parameter(
        "piece",
        (PIECE_BYTES as f64, "bytes"),
        Origin::Assumed,
        "packets follow each other through a switch in pieces, as if it cut through",
    ),
    parameter(
        "window",
        (WINDOW as f64, "under way"),
        Origin::Assumed,
        "of messages without an answer, or of isochrons; credits of FM are not told",
    ),
    parameter(
        "memory and input/output bus",
        (0.0, "us of contention"),
        Origin::Assumed,
        "not modelled: the study finds most of its sender's cost there, in markers that ours do not send",
    ),
    parameter(
        "beyond: frame, at either end",
        (TODAY_FRAME_US, "us"),
        Origin::Assumed,
        "a host of today, beyond the paper only",
    ),
    parameter("beyond: byte, at either end", (TODAY_BYTE_US, "us"), Origin::Assumed, "10 GB/s"),
    parameter(
        "beyond: host to switch, switch to switch",
        (TODAY_HOP_NS as f64 / 1e3, "us"),
        Origin::Assumed,
        "a frame of a message crosses all switches between its two hosts at that much each",
    ),
    parameter(
        "beyond: frames that a wire loses",
        (1.0, "of 1000 or of 100"),
        Origin::Assumed,
        "each by chance and by itself; figures M and N only, where every link has the session layer above it",
    ),
    parameter(
        "beyond: until it is sent again, at first",
        (100_000.0, "us"),
        Origin::Assumed,
        "what the session layer ships with, until a round trip was measured",
    ),
    parameter(
        "beyond: and at least",
        (1_000.0, "us"),
        Origin::Assumed,
        "the same: sooner only where later frames of the link tell that one is missing",
    ),
];
