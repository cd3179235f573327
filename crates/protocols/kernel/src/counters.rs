//! What happened, in numbers.

use quintet_contract::{Meter, Metric, tell_all};

/// Frames since the start, over all clients.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Passed on to the server.
    pub to_server: u64,
    /// Passed on to clients.
    pub to_clients: u64,
    /// Those of both that had to wait for room.
    pub held: u64,
    /// Answers to who has gone, which were dropped.
    pub late: u64,
    /// Clients cut off: they broke the protocol, or more waited for them than is held.
    pub cut_off: u64,
}

/// As they are called from outside, in the order of their fields; and what there is now.
static METRICS: [Metric; 8] = [
    Metric::counter(
        "quintet_kernel_frames_to_server",
        "Frames of clients that the kernel passed on to the server",
    ),
    Metric::counter(
        "quintet_kernel_frames_to_clients",
        "Frames of the server that the kernel passed on to clients",
    ),
    Metric::counter("quintet_kernel_frames_held", "Frames that had to wait in the kernel for room in a link"),
    Metric::counter("quintet_kernel_frames_late", "Frames of the server for clients that had gone"),
    Metric::counter(
        "quintet_kernel_clients_cut_off",
        "Clients cut off: they broke the protocol, or took no answers for too long",
    ),
    Metric::gauge("quintet_kernel_clients", "Clients of the kernel"),
    Metric::gauge("quintet_kernel_pairs", "Pairs of ports that its clients have with the server"),
    Metric::gauge("quintet_kernel_held_bytes", "Bytes that wait in the kernel for room in a link"),
];

impl Counters {
    pub(crate) fn measure(self, [clients, pairs, bytes]: [u64; 3], meter: &mut Meter<'_>) {
        let Counters { to_server, to_clients, held, late, cut_off } = self;
        tell_all(&METRICS, [to_server, to_clients, held, late, cut_off, clients, pairs, bytes], meter);
    }
}
