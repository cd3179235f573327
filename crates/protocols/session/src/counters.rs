//! What happened, in numbers.

use quintet_contract::{Meter, Metric, tell_all};

/// Frames since the start, over all peers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Frames that the protocol above sent, each once, however often it was retransmitted.
    pub sent: u64,
    /// Frames given to the protocol above.
    pub received: u64,
    /// Frames that had come before.
    pub duplicates: u64,
    /// Frames that came before one sent earlier, and waited for it.
    pub reordered: u64,
    /// Transmissions beyond the first of a frame.
    pub retransmitted: u64,
    /// Sessions that went on over another link.
    pub resumed: u64,
    /// Handshakes refused here.
    pub refused: u64,
    /// Frames ignored because they belong to no session here: an earlier life's, a forgotten session's, or not decodable.
    pub fenced: u64,
}

/// As they are called from outside, in the order of their fields; and the sessions that there are.
static METRICS: [Metric; 9] = [
    Metric::counter(
        "quintet_session_frames_sent",
        "Frames handed to sessions, each once, however often it was retransmitted",
    ),
    Metric::counter("quintet_session_frames_received", "Frames that sessions handed on"),
    Metric::counter("quintet_session_frames_duplicate", "Frames that had come before"),
    Metric::counter(
        "quintet_session_frames_reordered",
        "Frames that came before one sent earlier, and waited for it",
    ),
    Metric::counter("quintet_session_frames_retransmitted", "Transmissions beyond the first of a frame"),
    Metric::counter("quintet_sessions_resumed", "Sessions that went on over another link"),
    Metric::counter("quintet_session_handshakes_refused", "Handshakes refused here"),
    Metric::counter(
        "quintet_session_frames_fenced",
        "Frames ignored because they belong to no session here, or cannot be decoded",
    ),
    Metric::gauge("quintet_sessions", "Sessions with peers, cut ones that may go on included"),
];

impl Counters {
    pub(crate) fn measure(self, sessions: u64, meter: &mut Meter<'_>) {
        let Counters { sent, received, duplicates, reordered, retransmitted, resumed, refused, fenced } =
            self;
        let values =
            [sent, received, duplicates, reordered, retransmitted, resumed, refused, fenced, sessions];
        tell_all(&METRICS, values, meter);
    }
}
