//! Every key of the two files once: what it takes, its default, its range.

use quintet_model::Dimension;
use quintet_model::keys::Preset::{Otherwise, Required, Value};
use quintet_model::keys::Takes::{Count, Draw, Other, Quantity, Word};
use quintet_model::keys::{Key, Preset, Table, Takes};
use std::ops::RangeInclusive;

/// The longest time: a day.
const LONGEST: f64 = 86_400.0;
/// The shortest time slice: below it a run takes for ever.
const SHORTEST_SLICE: f64 = 1e-6;
/// A lease shorter than this is lost to any pause.
const SHORTEST_LEASE: f64 = 1e-3;
/// Bytes of a task or a result at most.
const MOST_BYTES: f64 = 256.0 * 1024.0 * 1024.0;
/// A size that copying has a rate for, in bytes.
pub(crate) const COPIED: RangeInclusive<f64> = 1.0..=MOST_BYTES;
/// Such a rate, in bytes a second.
pub(crate) const COPY_RATE: RangeInclusive<f64> = 1e3..=1e15;

const fn key(name: &'static str, takes: Takes, default: Preset, text: &'static str) -> Key {
    Key { name, takes, default, text }
}

const fn time(name: &'static str, default: &'static str, text: &'static str) -> Key {
    key(name, Quantity(Dimension::TIME, 0.0, LONGEST), Value(default), text)
}

/// The tables of a file of machines.
pub const CLUSTER: [&Table; 4] = [&MACHINE, &NETWORK, &MEMORY, &COSTS];
/// The tables of a job.
pub const JOB: [&Table; 3] = [&FARM, &PLACE, &KILL];

/// `[machine.NAME]`.
pub static MACHINE: Table = Table {
    heading: "[machine.NAME]",
    text: "Machines that are alike.",
    keys: &[
        key("count", Count(1, 1_000), Value("1"), "How many there are."),
        key("cores", Count(1, 1_024), Required, "The processors of each."),
        key(
            "speed",
            Quantity(Dimension::NUMBER, 0.001, 1_000.0),
            Value("1"),
            "How fast they are, relative to the machine on which the costs were measured.",
        ),
        key(
            "time_slice",
            Quantity(Dimension::TIME, SHORTEST_SLICE, LONGEST),
            Value("20 us"),
            "How long a process runs while others on its core are ready.",
        ),
    ],
};

/// `[network]`.
pub static NETWORK: Table = Table {
    heading: "[network]",
    text: "What joins the machines: one line to each. Nothing is lost on it.",
    keys: &[
        key(
            "kind",
            Word(&["switch", "bus"]),
            Value("switch"),
            "Full duplex lines, or one medium that all share.",
        ),
        key("rate", Quantity(Dimension::DATA_RATE, 1.0, 125e9), Required, "Of a line, or of the medium."),
        time("latency", "5 us", "From a packet's last bit in to when it may leave; switches only."),
        key("packet", Quantity(Dimension::DATA, 64.0, 1e6), Value("1460 B"), "The most data of a packet."),
        key(
            "header",
            Quantity(Dimension::DATA, 0.0, 1e4),
            Value("78 B"),
            "What each packet carries besides: Ethernet with preamble and gap, IP and TCP.",
        ),
        time("send", "2 us", "What the system needs to send a frame, at speed 1."),
        time("receive", "2 us", "What the system needs to receive a frame, at speed 1."),
    ],
};

/// `[memory]`.
pub static MEMORY: Table = Table {
    heading: "[memory]",
    text: "Between processes of one machine.",
    keys: &[time("latency", "280 ns", "From when a frame is in memory until its receiver sees it.")],
};

/// `[costs]`.
pub static COSTS: Table = Table {
    heading: "[costs]",
    text: "What work takes at speed 1.",
    keys: &[
        time("call", "180 ns", "One operation in a program's interface."),
        time("match", "180 ns", "The space compares one tuple, or looks one up."),
        time("store", "180 ns", "The space stores one tuple."),
        time("send", "140 ns", "A frame is sent, layers included."),
        time("receive", "140 ns", "A frame is received, layers included."),
        key(
            "copy",
            Other(
                "a data rate from 1e3 to 1e15 B/s, or a list of sizes with theirs: `[[\"4 KiB\", \"20 GB/s\"], ...]`",
            ),
            Value("7 GB/s"),
            "How fast frames are copied, once at each end, at the size of the largest data of the job. Sizes ascend, and none \
             takes less time than the one before; between two the time is a straight line, beyond the first and the last the \
             rate is theirs.",
        ),
        key(
            "lend",
            Other("as `copy`"),
            Value("20 GB/s"),
            "How fast data of 4 KiB to 64 MiB are copied into memory that is lent, between processes of one machine: in place of \
             `copy`, once, by who puts them. Longer data are copied so at each end.",
        ),
        time("patience", "8 us", "How long a process that waits looks for frames before it sleeps."),
        time("wake_up", "4 us", "Waking a process that sleeps."),
        time("deep_wake_up", "60 us", "Waking it on a core that did nothing for 100 us."),
    ],
};

/// `[job]`.
pub static FARM: Table = Table {
    heading: "[job]",
    text: "A master puts every task, then takes as many results; workers take a task, compute, put its result.",
    keys: &[
        key("tasks", Count(1, 10_000_000), Required, "How many tasks."),
        key("task", Quantity(Dimension::DATA, 0.0, MOST_BYTES), Value("64 B"), "The data of a task."),
        key("result", Quantity(Dimension::DATA, 0.0, MOST_BYTES), Value("64 B"), "The data of a result."),
        key("compute", Draw(Dimension::TIME), Required, "What a task takes, at speed 1."),
        key("workers", Count(1, 30_000), Value("1"), "How many workers."),
        key(
            "take",
            Word(&["lease", "plain"]),
            Value("lease"),
            "A plain take loses the task of a worker that dies.",
        ),
        key(
            "lease",
            Quantity(Dimension::TIME, SHORTEST_LEASE, LONGEST),
            Value("10 s"),
            "How long a lease lives unless renewed; it is renewed three times in that.",
        ),
    ],
};

/// `[place]`.
pub static PLACE: Table = Table {
    heading: "[place]",
    text: "On which machines the processes are: names of [machine.NAME].",
    keys: &[
        key(
            "space",
            Other("the name of a machine"),
            Required,
            "The space; on the first machine of that name.",
        ),
        key("master", Other("the name of a machine"), Otherwise("where the space is"), "The master."),
        key(
            "workers",
            Other("a list of names of machines"),
            Otherwise("where the space is"),
            "The workers: one on each machine in turn.",
        ),
    ],
};

/// `[kill]`.
pub static KILL: Table = Table {
    heading: "[kill]",
    text: "A worker dies. Without this table, none does.",
    keys: &[
        key("worker", Count(0, 29_999), Value("0"), "Which one, counted from 0."),
        key("at", Quantity(Dimension::TIME, 0.0, LONGEST), Required, "When, from the first task put."),
        time("noticed_after", "1 ms", "After how long the space is told."),
    ],
};
