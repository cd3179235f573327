//! The numbers of one session: what survives a cut of its link.

use crate::arrivals::{Arrivals, Place};
use crate::codec::{Attempt, FENCED_PREFIX_BYTES, Fence, PREFIX_BYTES, Prefix};
use crate::config::{Features, PeerConfig, Reliability, Role};
use crate::sequence::Sequence;
use crate::stamp::Stamp;
use crate::turn::{Notice, Turn};
use crate::window::{Departure, Kept, Progress, Window};
use quintet_contract::{Address, Frame, Incarnation, LinkInfo, OwnedFrame, Time};

/// What the handshake told about a peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PeerInfo {
    /// Which of its lives this is.
    pub incarnation: Incarnation,
    /// What it is.
    pub role: Role,
    /// What both sides can do.
    pub features: Features,
    /// The layout in use.
    pub version: u16,
}

/// One session.
#[derive(Debug)]
pub(crate) struct Stream {
    /// Names the session in control frames, fences frames of earlier ones, and is the token to resume with.
    pub(crate) id: u64,
    /// The try it came from.
    pub(crate) attempt: Attempt,
    pub(crate) peer: PeerInfo,
    /// What the protocol above was told.
    pub(crate) max_bulk_bytes: usize,
    /// The number of the next frame to send.
    pub(crate) next: Sequence,
    /// The number of the next frame to arrive.
    pub(crate) expected: Sequence,
    /// On a link that may lose frames.
    pub(crate) lossy: Option<Box<Lossy>>,
}

/// Both halves of retransmission.
#[derive(Debug)]
pub(crate) struct Lossy {
    pub(crate) window: Window,
    pub(crate) arrivals: Arrivals,
}

/// What became of a frame that arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arrival {
    /// It is the next one; its body begins after so many bytes.
    Deliver(usize),
    /// Nothing is to be delivered.
    Absorbed,
    /// It belongs to another session.
    Foreign,
    /// The peer broke the protocol.
    Broken,
}

impl Stream {
    pub(crate) fn new(
        id: u64,
        attempt: Attempt,
        peer: PeerInfo,
        peer_window: u32,
        settings: PeerConfig,
        max_bulk_bytes: usize,
    ) -> Self {
        let mut stream = Stream {
            id,
            attempt,
            peer,
            max_bulk_bytes,
            next: Sequence::default(),
            expected: Sequence::default(),
            lossy: None,
        };
        if let Reliability::Retransmit { initial_timeout, window_frames, window_bytes } = settings.reliability
        {
            stream.max_bulk_bytes = max_bulk_bytes.min(window_bytes);
            stream.lossy = Some(Box::new(Lossy {
                window: Window::new(initial_timeout, window_frames, peer_window, window_bytes),
                arrivals: Arrivals::new(window_frames.max(1), window_bytes),
            }));
        }
        stream
    }

    /// Bytes in front of a body.
    pub(crate) fn prefix_bytes(&self) -> usize {
        if self.lossy.is_some() { FENCED_PREFIX_BYTES } else { PREFIX_BYTES }
    }

    /// What the link is to the protocol above.
    pub(crate) fn link_above(&self, link: LinkInfo) -> LinkInfo {
        LinkInfo {
            loses_frames: link.loses_frames && self.lossy.is_none(),
            max_bulk_bytes: self.max_bulk_bytes,
            ..link.behind(self.prefix_bytes())
        }
    }

    /// What stands in front of the next body on a link that loses nothing.
    pub(crate) fn prefix(&self) -> Prefix {
        Prefix { sequence: self.next, acknowledged: self.expected, fence: None }
    }

    /// Keeps a frame until it is acknowledged.
    pub(crate) fn keep(&mut self, frame: Kept) {
        self.next = self.next.next();
        if let Some(lossy) = &mut self.lossy {
            lossy.window.keep(frame);
        }
    }

    /// Takes a frame from above the peer.
    pub(crate) fn arrive(&mut self, to: Address, frame: Frame<'_>, turn: &mut Turn<'_>) -> Arrival {
        let prefix = match Prefix::read(frame.body, self.lossy.is_some()) {
            Ok(prefix) => prefix,
            Err(_) if self.lossy.is_some() => return Arrival::Foreign,
            Err(_) => return Arrival::Broken,
        };
        match prefix.fence {
            None => self.arrive_in_order(prefix),
            Some(fence) if fence.session != self.id => Arrival::Foreign,
            Some(fence) => self.arrive_in_any_order(prefix, fence, to, frame, turn),
        }
    }

    fn arrive_in_order(&mut self, prefix: Prefix) -> Arrival {
        if prefix.sequence != self.expected || prefix.acknowledged.ahead_of(self.next) > 0 {
            return Arrival::Broken;
        }
        self.expected = self.expected.next();
        Arrival::Deliver(PREFIX_BYTES)
    }

    fn arrive_in_any_order(
        &mut self,
        prefix: Prefix,
        fence: Fence,
        to: Address,
        frame: Frame<'_>,
        turn: &mut Turn<'_>,
    ) -> Arrival {
        if !self.acknowledged(prefix.acknowledged, fence.echo, false, to, turn) {
            return Arrival::Broken;
        }
        let Some(lossy) = &mut self.lossy else { return Arrival::Broken };
        let place =
            lossy.arrivals.place(prefix.sequence, self.expected, frame, FENCED_PREFIX_BYTES, turn.now);
        if prefix.sequence.ahead_of(self.expected) <= 0 {
            lossy.arrivals.answer(fence.departed);
        }
        match place {
            Place::Next => {
                self.expected = self.expected.next();
                return Arrival::Deliver(FENCED_PREFIX_BYTES);
            }
            Place::Held => turn.counters.reordered += 1,
            Place::Duplicate => turn.counters.duplicates += 1,
            Place::Beyond => {}
        }
        Arrival::Absorbed
    }

    /// The next frame, if it came early.
    pub(crate) fn take_held(&mut self) -> Option<OwnedFrame> {
        let frame = self.lossy.as_mut()?.arrivals.take(self.expected)?;
        self.expected = self.expected.next();
        Some(frame)
    }

    /// The peer has everything before `acknowledged`. False if that cannot be.
    pub(crate) fn acknowledged(
        &mut self,
        acknowledged: Sequence,
        echo: Stamp,
        alone: bool,
        to: Address,
        turn: &mut Turn<'_>,
    ) -> bool {
        let Some(lossy) = &mut self.lossy else { return acknowledged.ahead_of(self.next) <= 0 };
        let progress = lossy.window.acknowledge(acknowledged, echo, alone, turn.now);
        match progress {
            Progress::Impossible => return false,
            Progress::None => return true,
            Progress::Released => {}
            Progress::Lost => self.depart(to, turn, |window, departure| window.resend(departure)),
        }
        if let Some(lossy) = &mut self.lossy
            && lossy.window.take_blocked()
        {
            turn.notice(Notice::Writable);
        }
        true
    }

    /// Sends what waits for the link.
    pub(crate) fn send_waiting(&mut self, to: Address, turn: &mut Turn<'_>) {
        self.depart(to, turn, |window, departure| window.send_waiting(departure));
    }

    /// Sends again what is not acknowledged and due.
    pub(crate) fn resend_due(&mut self, to: Address, turn: &mut Turn<'_>) {
        let due = self.lossy.as_ref().and_then(|lossy| lossy.window.deadline());
        if due.is_some_and(|due| due <= turn.now) {
            self.depart(to, turn, |window, departure| window.time_out(departure));
        }
    }

    fn depart(
        &mut self,
        to: Address,
        turn: &mut Turn<'_>,
        act: impl FnOnce(&mut Window, &mut Departure<'_>) -> bool,
    ) {
        let Some(lossy) = &mut self.lossy else { return };
        let mut departure = Departure {
            to,
            now: turn.now,
            session: self.id,
            expected: self.expected,
            echo: lossy.arrivals.echo(),
            counters: turn.counters,
            out: turn.out,
        };
        if act(&mut lossy.window, &mut departure) {
            // Every frame carries the acknowledgement.
            lossy.arrivals.acknowledged();
        }
    }

    /// The link is new. False if what the peer says it has cannot be.
    pub(crate) fn resume(&mut self, received: Sequence, to: Address, turn: &mut Turn<'_>) -> bool {
        if let Some(lossy) = &mut self.lossy {
            lossy.window.rewind();
            lossy.arrivals.acknowledge_at(turn.now);
        }
        self.acknowledged(received, Stamp::NONE, true, to, turn)
    }

    /// The number of the oldest frame that the peer is not known to have.
    pub(crate) fn first_kept(&self) -> Sequence {
        self.lossy.as_ref().map_or(self.next, |lossy| lossy.window.first())
    }

    /// Whether every frame sent was acknowledged, as far as this side keeps account.
    pub(crate) fn is_idle(&self) -> bool {
        self.lossy.as_ref().is_none_or(|lossy| lossy.window.is_empty())
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        let lossy = self.lossy.as_ref()?;
        earlier(lossy.window.deadline(), lossy.arrivals.deadline())
    }
}

/// The earlier of two deadlines.
pub(crate) fn earlier(a: Option<Time>, b: Option<Time>) -> Option<Time> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
