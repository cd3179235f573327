//! What the host decides.

use crate::codec::Credit;
use quintet_contract::limits::{BULK_RING_BYTES, MAX_BODY_BYTES, MAX_BULK_BYTES};
use quintet_contract::{Address, Kind};

/// The settings of all channels of one instance. The windows are this side's, told to each peer: what it may send.
#[derive(Clone, Debug)]
pub struct MessagingConfig {
    /// This instance. Frames from and to other addresses of its node pass through untouched.
    pub me: Address,
    /// Tells requests, answers and the rest apart. Must be the same on both sides.
    pub class: fn(Kind) -> Class,
    /// Frames of one peer that may be under way or held back here; 2 at least.
    pub window_slots: u32,
    /// Their bytes; a single frame may take half of them, but for a few that are kept for urgent messages. 4 at least.
    pub window_bytes: u32,
    /// Requests of one peer that may be unanswered here; 1 at least. One more waits at the peer, and whatever it asks waits behind it: so
    /// this is more than the protocol above lets wait, which then can refuse it and answer others.
    pub requests: u32,
    /// Large data accepted in one message; [`MAX_BULK_BYTES`] at most.
    pub max_bulk_bytes: usize,
    /// Large data of one peer that may be arriving at one time; never less than one message's.
    pub bulk_budget_bytes: usize,
    /// Large data of all peers together that may be arriving at one time, but for a window of fragments of each: what is announced beyond
    /// it waits. One message may in any case, when no other long one is arriving.
    pub total_budget_bytes: usize,
    /// Fragments of one peer that may be under way; 1 at least.
    pub window_fragments: u32,
    /// A defect to have, in tests that show that it is found.
    #[cfg(feature = "seeded-defects")]
    pub defect: Option<Defect>,
}

/// What a peer may have under way to this side, or held back here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// See [`MessagingConfig::window_slots`].
    pub slots: u32,
    /// See [`MessagingConfig::window_bytes`].
    pub bytes: u32,
}

impl Default for Window {
    /// 256 frames and 1 MiB.
    fn default() -> Self {
        Window { slots: 256, bytes: 1024 * 1024 }
    }
}

/// What a kind of frame means for flow control.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// Answered exactly once. Waits for room here, and reserves room for its answer.
    Request,
    /// Answers a request. Never waits: it travels in the room that its request reserved.
    Answer,
    /// Neither. Waits for room.
    OneWay,
    /// Neither. Passes all others that wait, except the request with its own token. A frame of a few bytes, without large data.
    Urgent,
}

/// A defect that can be chosen.
#[cfg(feature = "seeded-defects")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Defect {
    /// Credit that comes back is counted twice, so that the peer is overrun.
    CreditCountedTwice,
    /// The credit of messages that waited for the fragments of an earlier one is never returned.
    HeldCreditLost,
    /// A message that goes alone passes those that gather.
    PackOvertaken,
    /// Messages that gathered are dropped if the link has no room for them.
    RefusedPackDropped,
}

impl MessagingConfig {
    /// The default [`Window`], 65,536 requests, 16 fragments; 64 MiB of large data arriving from one peer, or one message, whatever its
    /// length; 2 GiB from all, an eighth more of messages of at most 64 MiB, and 1 MiB of each peer.
    #[must_use]
    pub fn new(me: Address, class: fn(Kind) -> Class) -> Self {
        let Window { slots, bytes } = Window::default();
        MessagingConfig {
            me,
            class,
            window_slots: slots,
            window_bytes: bytes,
            requests: 65_536,
            max_bulk_bytes: MAX_BULK_BYTES,
            bulk_budget_bytes: 64 * 1024 * 1024,
            total_budget_bytes: MAX_BULK_BYTES,
            window_fragments: 16,
            #[cfg(feature = "seeded-defects")]
            defect: None,
        }
    }

    /// The same with another window.
    #[must_use]
    pub fn with_window(self, window: Window) -> Self {
        MessagingConfig { window_slots: window.slots, window_bytes: window.bytes, ..self }
    }

    /// The same for a protocol above that lets so many requests of a peer wait for long. As many as a usual window are taken beyond
    /// them, which it answers at once.
    #[must_use]
    pub fn with_waiting_requests(self, waiting: usize) -> Self {
        let beyond = Window::default().slots;
        let requests = u32::try_from(waiting).unwrap_or(u32::MAX).saturating_add(beyond).min(MAX_REQUESTS);
        MessagingConfig { requests, ..self }
    }

    /// What peers are told.
    pub(crate) fn limits(&self) -> Limits {
        let bulk = self.max_bulk_bytes.min(MAX_BULK_BYTES);
        Limits {
            slots: self.window_slots.max(2),
            bytes: self.window_bytes.max(4),
            requests: self.requests.clamp(1, MAX_REQUESTS),
            bulk: u32::try_from(bulk).expect("MAX_BULK_BYTES fits 32 bits"),
            budget: u64::try_from(self.bulk_budget_bytes.max(bulk)).expect("a length fits 64 bits"),
            fragments: self.window_fragments.max(1),
        }
    }

    /// Whether the credit of a message that waited goes back.
    #[cfg_attr(not(feature = "seeded-defects"), expect(clippy::unused_self, reason = "there is no defect"))]
    pub(crate) fn returns_held_credit(&self) -> bool {
        #[cfg(feature = "seeded-defects")]
        let returns = self.defect != Some(Defect::HeldCreditLost);
        #[cfg(not(feature = "seeded-defects"))]
        let returns = true;
        returns
    }

    /// Whether messages that gather go before one that goes alone.
    #[cfg_attr(not(feature = "seeded-defects"), expect(clippy::unused_self, reason = "there is no defect"))]
    pub(crate) fn keeps_packs_in_order(&self) -> bool {
        #[cfg(feature = "seeded-defects")]
        let keeps = self.defect != Some(Defect::PackOvertaken);
        #[cfg(not(feature = "seeded-defects"))]
        let keeps = true;
        keeps
    }

    /// Whether messages that gathered wait for room in the link.
    #[cfg_attr(not(feature = "seeded-defects"), expect(clippy::unused_self, reason = "there is no defect"))]
    pub(crate) fn keeps_refused_packs(&self) -> bool {
        #[cfg(feature = "seeded-defects")]
        let keeps = self.defect != Some(Defect::RefusedPackDropped);
        #[cfg(not(feature = "seeded-defects"))]
        let keeps = true;
        keeps
    }

    /// How often returned credit counts.
    pub(crate) fn credit_factor(&self) -> u32 {
        #[cfg(feature = "seeded-defects")]
        if self.defect == Some(Defect::CreditCountedTwice) {
            return 2;
        }
        1
    }
}

/// What one side takes from the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Limits {
    pub(crate) slots: u32,
    pub(crate) bytes: u32,
    pub(crate) requests: u32,
    pub(crate) bulk: u32,
    pub(crate) budget: u64,
    pub(crate) fragments: u32,
}

impl Limits {
    /// The most that one frame may cost. With half of the window or more owed, credit is returned at once; so with nothing under
    /// way more than half is there, and a frame of half, with what is kept back, never waits for ever.
    pub(crate) fn frame_bytes(&self) -> usize {
        (self.bytes / 2 - self.kept_back().bytes) as usize
    }

    /// The credit that a sender keeps for urgent messages, so that they find room when all else waits: one frame of a few bytes.
    pub(crate) fn kept_back(&self) -> Credit {
        Credit { slots: 1, bytes: URGENT_BYTES.min(self.bytes / 4) }
    }

    /// Large data up to this size goes in the frame itself, if the link takes it; a quarter of the window, so that small frames
    /// find room beside it, and no more than links take whether they can lend or not.
    pub(crate) fn direct_bytes(&self) -> usize {
        (self.bytes as usize / 4).min(BULK_RING_BYTES / 4)
    }
}

/// Unanswered requests are counted in 32 bits, with one more than there may be.
const MAX_REQUESTS: u32 = u32::MAX - 1;

/// The bytes of an urgent message.
const URGENT_BYTES: u32 = 16;

/// Large data with an answer goes in the frame itself up to this size; the requester reserved no more.
pub(crate) const ANSWER_DIRECT_BYTES: usize = MAX_BODY_BYTES;
