//! The keys of devices, by kind.

use super::Preset::{Otherwise, Required, Value};
use super::Takes::{Count, List, Other, Quantity, Switch, Word};
use super::{Key, LONGEST, MOST, SHORTEST, Table, key};
use crate::dimension::Dimension;

/// A kind of device and its table, in the order of the documentation.
pub const DEVICES: [(&str, &Table); 7] = [
    ("bus", &BUS),
    ("csma-cd", &COLLISION),
    ("ethernet", &ETHERNET),
    ("slotted", &SLOTTED),
    ("token-ring", &RING),
    ("switch", &SWITCH),
    ("link", &LINK),
];

const MAX_U32: u64 = u32::MAX as u64;

const KIND: Key = key("kind", Other("a kind of device"), Required, "As in this heading.");
const STATIONS: Key = key(
    "stations",
    Other("a list of processors"),
    Required,
    "Who is connected, in order. The name of a group stands for all of it.",
);
const WINDOW: Key = key(
    "window",
    Count(1, MOST),
    Value("1024"),
    "The messages from one module to another that the device may have at once. The next one is *blocked*: it waits in its module, \
     and what that module would do after it waits, too.",
);
const CYCLE: Key = key(
    "cycle",
    Quantity(Dimension::TIME, SHORTEST, LONGEST),
    Otherwise("`rate`; one of the two is required"),
    "The time of one cycle.",
);
const RATE: Key = key(
    "rate",
    Quantity(Dimension::DATA_RATE, 1.0, 1.25e11),
    Otherwise("`cycle`"),
    "Bits a second, in place of `cycle`.",
);
const BITS: Key = key("bits_per_cycle", Count(1, MAX_U32), Value("1"), "The bits carried side by side.");
const CYCLES: Key = key("cycles_per_word", Count(1, MAX_U32), Value("8"), "The cycles of one word.");
const WORD: Key =
    key("word_overhead", Quantity(Dimension::TIME, 0.0, LONGEST), Value("0 s"), "Added to every word.");
const BLOCK: Key = key(
    "block_overhead",
    Quantity(Dimension::TIME, 0.0, LONGEST),
    Value("0 s"),
    "Added to every block: header and trailer.",
);
const WORDS: Key =
    key("words_per_block", Count(0, MAX_U32), Value("0"), "The largest block; 0: a message is one block.");
const SLOT: Key = key(
    "slot_time",
    Quantity(Dimension::TIME, SHORTEST, LONGEST),
    Value("51.2 us"),
    "The unit of the back-off.",
);
const RETRIES: Key = key(
    "retry_limit",
    Count(1, MAX_U32),
    Value("16"),
    "How often a block is tried; then its message is dropped.",
);
const JAM: Key = key(
    "jam_time",
    Quantity(Dimension::TIME, 0.0, LONGEST),
    Value("3.2 us"),
    "How long those in a collision keep the medium once it is noticed.",
);

static BUS: Table = Table {
    heading: "[device.NAME] kind = \"bus\"",
    text: "First come, first served, block by block.",
    keys: &[KIND, STATIONS, WINDOW, CYCLE, RATE, BITS, CYCLES, WORD, WORDS, BLOCK],
};

static COLLISION: Table = Table {
    heading: "[device.NAME] kind = \"csma-cd\"",
    text: "CSMA/CD without a cable: requests within a window of another's start collide.",
    keys: &[
        KIND,
        STATIONS,
        WINDOW,
        CYCLE,
        RATE,
        BITS,
        CYCLES,
        WORD,
        WORDS,
        BLOCK,
        key(
            "collision_window",
            Quantity(Dimension::TIME, 0.0, LONGEST),
            Value("9.6 us"),
            "A request within this time of another's start collides with it.",
        ),
        key(
            "contention_unit",
            Quantity(Dimension::TIME, SHORTEST, LONGEST),
            Otherwise("it sends as soon as the medium is free"),
            "A station that finds the medium busy comes back after a whole number of these.",
        ),
        key("contention_low", Count(0, MAX_U32), Value("0"), "The least such number."),
        key(
            "contention_high",
            Count(2, MAX_U32),
            Value("1024"),
            "The number below which all such numbers are.",
        ),
        SLOT,
        RETRIES,
        JAM,
    ],
};

static ETHERNET: Table = Table {
    heading: "[device.NAME] kind = \"ethernet\"",
    text: "CSMA/CD on a cable with positions (IEEE 802.3; the defaults are those of 10 Mb/s on thick coaxial cable).",
    keys: &[
        KIND,
        STATIONS,
        WINDOW,
        key("rate", Quantity(Dimension::DATA_RATE, 1.0, 1.25e11), Value("10 Mb/s"), "Bits a second."),
        key("preamble_bits", Count(0, MAX_U32), Value("64"), "Bits before a frame."),
        key("overhead_bytes", Count(0, MAX_U32), Value("18"), "Header and trailer of a frame."),
        key("shortest_bytes", Count(0, MAX_U32), Value("64"), "The shortest frame; shorter ones are padded."),
        key("longest_bytes", Count(1, MAX_U32), Value("1518"), "The longest frame."),
        key(
            "interframe_gap",
            Quantity(Dimension::TIME, 0.0, LONGEST),
            Value("9.6 us"),
            "The silence a station keeps before it sends.",
        ),
        key(
            "gap_first_part",
            Quantity(Dimension::TIME, 0.0, LONGEST),
            Value("6.4 us"),
            "The part of the gap in which a carrier starts the wait again.",
        ),
        JAM,
        SLOT,
        RETRIES,
        key(
            "positions",
            List(Dimension::LENGTH),
            Otherwise("`spacing` apart, the first at 0"),
            "Where each station is on the cable.",
        ),
        key(
            "spacing",
            Quantity(Dimension::LENGTH, 0.0, 1e6),
            Value("2.5 m"),
            "From each station to the next.",
        ),
        key(
            "signal_speed",
            Quantity(Dimension::SPEED, 1.0, 3e8),
            Value("2.31e8 m/s"),
            "How fast the signal travels.",
        ),
    ],
};

static SLOTTED: Table = Table {
    heading: "[device.NAME] kind = \"slotted\"",
    text: "CSMA/CD in slots under the optimal policy of Metcalfe and Boggs (1976): each of Q waiting stations sends in a slot \
           with probability 1/Q.",
    keys: &[
        KIND,
        STATIONS,
        WINDOW,
        CYCLE,
        RATE,
        BITS,
        CYCLES,
        WORD,
        WORDS,
        BLOCK,
        key(
            "slot_time",
            Quantity(Dimension::TIME, SHORTEST, LONGEST),
            Value("16 us"),
            "The time in which a collision is noticed and cleared.",
        ),
    ],
};

static RING: Table = Table {
    heading: "[device.NAME] kind = \"token-ring\"",
    text: "The timed token (FDDI); the token goes round in the order of the stations. Synchronous messages go within \
           their station's allocation at each visit of the token, asynchronous ones for as long as the token is early. The target \
           must have room for the token's walk, the largest block and all allocations; synchronous traffic then waits for two \
           targets at most, if no station has more of it than its allocation for each. A synchronous block longer than the \
           allocation is dropped.",
    keys: &[
        KIND,
        STATIONS,
        WINDOW,
        key(
            "cycle",
            Quantity(Dimension::TIME, SHORTEST, LONGEST),
            Otherwise("`rate`"),
            "The time of one cycle.",
        ),
        key(
            "rate",
            Quantity(Dimension::DATA_RATE, 1.0, 1.25e11),
            Value("100 Mb/s"),
            "Bits a second, in place of `cycle`.",
        ),
        BITS,
        CYCLES,
        WORD,
        key("words_per_block", Count(1, MAX_U32), Value("4500"), "The largest block."),
        key(
            "block_overhead",
            Quantity(Dimension::TIME, 0.0, LONGEST),
            Value("2.24 us"),
            "Added to every block: header and trailer.",
        ),
        key(
            "token_passing_time",
            Quantity(Dimension::TIME, SHORTEST, LONGEST),
            Value("0.88 us"),
            "From one station to the next.",
        ),
        key(
            "target_rotation_time",
            Quantity(Dimension::TIME, SHORTEST, LONGEST),
            Value("8 ms"),
            "The target token rotation time (TTRT).",
        ),
        key(
            "synchronous_allocation",
            Quantity(Dimension::TIME, 0.0, LONGEST),
            Value("0 s"),
            "How long each station may send synchronous messages at each visit of the token.",
        ),
        key(
            "synchronous_allocations",
            List(Dimension::TIME),
            Otherwise("`synchronous_allocation` for each"),
            "The same station by station.",
        ),
    ],
};

static SWITCH: Table = Table {
    heading: "[device.NAME] kind = \"switch\"",
    text: "Full duplex ports, one for each station; a message waits for its output port alone. With two stations, a full duplex link.",
    keys: &[
        KIND,
        STATIONS,
        WINDOW,
        CYCLE,
        RATE,
        BITS,
        CYCLES,
        WORD,
        WORDS,
        BLOCK,
        key(
            "latency",
            Quantity(Dimension::TIME, 0.0, LONGEST),
            Value("0 s"),
            "From when a block is in far enough to when it may leave.",
        ),
        key(
            "forwarding",
            Word(&["store-and-forward", "cut-through"]),
            Value("store-and-forward"),
            "Whether a block leaves when all of it is in, or when its header is.",
        ),
        key("header_bytes", Count(0, MOST), Value("0"), "What a switch that cuts through must see."),
        key(
            "buffer",
            Quantity(Dimension::DATA, 1.0, 1e15),
            Otherwise("without limit"),
            "What each output port holds.",
        ),
        key(
            "when_full",
            Word(&["pause", "drop"]),
            Value("pause"),
            "Whether a block for which there is no room waits at its sender, or is lost with its message.",
        ),
    ],
};

static LINK: Table = Table {
    heading: "[device.NAME] kind = \"link\"",
    text: "Delay and loss, without rate and queue: every message travels by itself, whatever its length. Processors take its \
           messages as those of their own modules: controllers, set-up, interrupts and queue limits are for the other kinds.",
    keys: &[
        KIND,
        STATIONS,
        key(
            "delay",
            Quantity(Dimension::TIME, 0.0, LONGEST),
            Value("0 s"),
            "The least delay; to the nanosecond.",
        ),
        key(
            "delay_max",
            Quantity(Dimension::TIME, 0.0, LONGEST),
            Otherwise("`delay`"),
            "The largest; each message draws evenly between the two.",
        ),
        key("in_order", Switch, Value("true"), "Whether messages between two modules keep their order."),
        key("loss", Quantity(Dimension::NUMBER, 0.0, 1.0), Value("0"), "The share of messages that is lost."),
        key("duplicates", Quantity(Dimension::NUMBER, 0.0, 1.0), Value("0"), "The share that arrives twice."),
    ],
};
