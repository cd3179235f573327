//! The keys of networks, their switches and their links.

use super::Preset::{Otherwise, Required, Value};
use super::Takes::{Count, Other, Quantity, Word};
use super::{Key, LARGEST_GROUP, LONGEST, MOST, Table, key};
use crate::dimension::Dimension;

/// Words of `when_full`, in the order of their numbers.
const WHEN_FULL: super::Takes = Word(&["drop", "pause"]);
const BUFFER: super::Takes = Quantity(Dimension::DATA, 1.0, 1e15);
const RATE: super::Takes = Quantity(Dimension::DATA_RATE, 1.0, 1.25e11);
const TIME: super::Takes = Quantity(Dimension::TIME, 0.0, LONGEST);
const BYTES: super::Takes = Quantity(Dimension::DATA, 0.0, 1e6);
/// What a link takes from its network.
const INHERITED: super::Preset = Otherwise("that of the network");

/// `[network.NAME]`.
pub static NETWORK: Table = Table {
    heading: "[network.NAME]",
    text: "Processors, switches and the links between them. A message goes over several links, from switch to switch, by the way of the \
           least cost. Its links and switches have tables of their own, see below; what is said of links here holds for those that say nothing.",
    keys: &[
        key(
            "packet",
            Quantity(Dimension::DATA, 1.0, 1e15),
            Otherwise("without limit: a message is one"),
            "The largest packet, without overhead. A longer message goes as several, each by itself.",
        ),
        key(
            "window",
            Count(1, MOST),
            Value("1024"),
            "The messages from one module to another that the network may have at once. The next one is *blocked*, as at a device.",
        ),
        key(
            "latency",
            TIME,
            Value("0 s"),
            "Of its switches: from when all of a packet is in to when it is in the queue of its output port.",
        ),
        key("rate", RATE, Otherwise("each link says its own"), "Bits a second on a link, in each direction."),
        key("delay", TIME, Value("0 s"), "How long a bit travels on a link."),
        key(
            "overhead",
            BYTES,
            Value("0 B"),
            "What is sent with each packet besides it: header, trailer, silence.",
        ),
        key("shortest", BYTES, Value("0 B"), "Packets that are shorter with their overhead are padded."),
        key(
            "buffer",
            BUFFER,
            Otherwise("without limit"),
            "What a switch's port to a link holds, overhead included. What a processor sends waits there without limit.",
        ),
        key(
            "when_full",
            WHEN_FULL,
            Value("drop"),
            "Whether a packet for which a port has no room is lost, and its message with it, or waits in the port before, and what is behind \
             it too.",
        ),
        SWITCHES,
        LINKS,
    ],
};

const SWITCHES: Key = key("switch", Other("tables"), Otherwise("none"), "Its switches, see below.");
const LINKS: Key = key("link", Other("tables"), Required, "Its links, see below.");

/// `[network.NAME.switch.NAME]`.
pub static NETWORK_SWITCH: Table = Table {
    heading: "[network.NAME.switch.NAME]",
    text: "A switch or a router: what forwards packets, each when all of it is in, to the port of its way's next link. Ports do not wait for each other.",
    keys: &[
        key(
            "count",
            Count(1, LARGEST_GROUP),
            Otherwise("one, of this name"),
            "So many of it, a group: `NAME-1` to `NAME-COUNT`.",
        ),
        key(
            "latency",
            TIME,
            INHERITED,
            "From when all of a packet is in to when it is in the queue of its output port.",
        ),
    ],
};

/// `[network.NAME.link.NAME]`.
pub static NETWORK_LINK: Table = Table {
    heading: "[network.NAME.link.NAME]",
    text: "A full duplex link. At each end is a port with a queue.",
    keys: &[
        key(
            "between",
            Other("a list of two processors or switches"),
            Required,
            "What it joins. A group makes it one too, a link each: of two groups, each of the smaller one has as many neighbours, in order; \
             `[\"NAME\", \"NAME.next\"]` joins those of a group in a circle.",
        ),
        key(
            "rate",
            RATE,
            Otherwise("that of the network, which is required then"),
            "Bits a second in each direction.",
        ),
        key("delay", TIME, INHERITED, "How long a bit travels."),
        key(
            "loss",
            Quantity(Dimension::NUMBER, 0.0, 1.0),
            Value("0"),
            "The share of packets that is lost, and their messages with them.",
        ),
        key("overhead", BYTES, INHERITED, "What is sent with each packet besides it."),
        key("shortest", BYTES, INHERITED, "Packets that are shorter with their overhead are padded."),
        key(
            "cost",
            Count(0, 1_000_000),
            Value("1"),
            "What it counts for in the cost of a way. Of ways of the same cost that with the fewest links is taken, of several of these that \
             whose last link's name comes first, looked at from the processor whose name comes first. Both directions take the same links.",
        ),
        key("buffer", BUFFER, INHERITED, "What a switch's port to it holds."),
        key("when_full", WHEN_FULL, INHERITED, "What becomes of a packet for which that has no room."),
    ],
};
