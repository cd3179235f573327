//! What happened, in numbers.

use quintet_contract::{Meter, Metric, Span, Time, tell_all};

/// Since the start, over all peers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Messages that the protocol above sent.
    pub sent: u64,
    /// Those among them that gathered with others in one frame.
    pub packed: u64,
    /// Messages given to the protocol above.
    pub received: u64,
    /// Messages that waited for the fragments of an earlier one.
    pub held: u64,
    /// Fragments sent.
    pub fragments_sent: u64,
    /// Fragments received.
    pub fragments_received: u64,
    /// Credit frames that found no other frame to ride on.
    pub credits_alone: u64,
    /// Answers that waited for room in the link.
    pub answers_delayed: u64,
    /// Channels cut here because the peer broke the protocol.
    pub cut: u64,
}

/// How long the protocol above had to wait for one peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stall {
    /// Times it was refused after it could send.
    pub times: u64,
    /// The time until it was told that it can again, summed over the waits that ended.
    pub total: Span,
    /// Since when it waits now.
    pub since: Option<Time>,
}

/// The state of the credit between this side and one peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CreditState {
    /// Frames that this side may send.
    pub slots: u32,
    /// Bytes that this side may send.
    pub bytes: u32,
    /// Frames that this side will let the peer send, and has not told.
    pub owed_slots: u32,
    /// Bytes that this side will let the peer send, and has not told.
    pub owed_bytes: u32,
    /// Requests sent and not answered.
    pub awaiting: u32,
    /// Requests received and not answered.
    pub unanswered: u32,
    /// Bytes of large data that the peer was granted and that were not delivered.
    pub reserved_bytes: u64,
    /// Bytes of large data that this side announced and that did not go.
    pub leaving_bytes: u64,
    /// Fragments that this side may send.
    pub fragments: u32,
    /// Fragments that this side will let the peer send, and has not told.
    pub owed_fragments: u32,
    /// Answers that wait for room in the link.
    pub delayed: u32,
}

impl Stall {
    pub(crate) fn begin(&mut self, now: Time) {
        if self.since.is_none() {
            self.since = Some(now);
            self.times += 1;
        }
    }

    pub(crate) fn end(&mut self, now: Time) {
        if let Some(since) = self.since.take() {
            self.total = Span(self.total.0.saturating_add(now.since(since).0));
        }
    }
}

/// As they are called from outside, in the order of their fields; then the peers for whom the protocol above waits.
static METRICS: [Metric; 10] = [
    Metric::counter("quintet_messages_sent", "Messages sent, above sessions"),
    Metric::counter("quintet_messages_packed", "Messages sent that gathered with others in one frame"),
    Metric::counter("quintet_messages_received", "Messages received, above sessions"),
    Metric::counter("quintet_messages_held", "Messages that waited for the fragments of an earlier one"),
    Metric::counter("quintet_message_fragments_sent", "Fragments of large data sent"),
    Metric::counter("quintet_message_fragments_received", "Fragments of large data received"),
    Metric::counter("quintet_message_credits_alone", "Credit frames that found no other frame to ride on"),
    Metric::counter("quintet_message_answers_delayed", "Answers that waited for room in the link"),
    Metric::counter("quintet_message_channels_cut", "Channels cut here because the peer broke the protocol"),
    Metric::gauge(
        "quintet_message_channels_stalled",
        "Peers that are up, and for whose credit or link somebody waits",
    ),
];

impl Counters {
    pub(crate) fn measure(self, stalled: u64, meter: &mut Meter<'_>) {
        let Counters {
            sent,
            packed,
            received,
            held,
            fragments_sent,
            fragments_received,
            credits_alone,
            answers_delayed,
            cut,
        } = self;
        let values = [
            sent,
            packed,
            received,
            held,
            fragments_sent,
            fragments_received,
            credits_alone,
            answers_delayed,
            cut,
            stalled,
        ];
        tell_all(&METRICS, values, meter);
    }
}
