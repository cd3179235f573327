//! The numbers of one session: what survives a cut of its link.

use crate::arrivals::{ACKNOWLEDGE_DELAY, Arrivals, Place};
use crate::codec::{Acknowledge, Attempt, FENCED_PREFIX_BYTES, Fence, Hello, PREFIX_BYTES, Prefix};
use crate::config::{Features, Reliability, Role, SessionConfig, WindowLimits};
use crate::context::{Context, Event};
use crate::defect::seeded;
use crate::retained::Retained;
use crate::retention::{Departure, Exit, Kept, Retention};
use crate::sequence::Sequence;
use crate::stamp::Stamp;
use crate::window::{Progress, Window};
use quintet_contract::limits::FRAGMENT_BYTES;
use quintet_contract::{Address, Frame, Identity, Incarnation, LinkInfo, OwnedFrame, Time};

/// What the handshake told about a peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PeerInfo {
    /// Which of its lives this is.
    pub incarnation: Incarnation,
    /// Who it has proved to be, if its link asks for a proof.
    pub identity: Option<Identity>,
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
    /// The peer's latest try, counted among its own: this side's count differs. None (0) before its first.
    pub(crate) heard: Attempt,
    pub(crate) peer: PeerInfo,
    /// The link it began on, with no more bulk than is kept: what the protocol above was told.
    pub(crate) link: LinkInfo,
    /// The number of the next frame to send.
    pub(crate) next: Sequence,
    /// The number of the next frame to arrive.
    pub(crate) expected: Sequence,
    pub(crate) keeping: Keeping,
}

/// What a session keeps beside its numbers, by what its link leaves to it ([`Reliability`]).
#[derive(Debug)]
pub(crate) enum Keeping {
    /// Nothing.
    Nothing,
    /// Frames, for the next link.
    Retained(Box<Retained>),
    /// Frames and timers, for a link that may lose them.
    Retransmitted(Box<Lossy>),
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
        heard: Attempt,
        peer: PeerInfo,
        peer_window: WindowLimits,
        reliability: Reliability,
        link: LinkInfo,
    ) -> Self {
        let own = reliability.window();
        let limits = own.common(peer_window);
        let keeping = match reliability {
            Reliability::ByLink | Reliability::Link => Keeping::Nothing,
            Reliability::Retain { .. } => Keeping::Retained(Box::new(Retained::new(limits))),
            Reliability::Retransmit { initial_timeout, .. } => Keeping::Retransmitted(Box::new(Lossy {
                window: Window::new(initial_timeout, limits),
                arrivals: Arrivals::new(own),
            })),
        };
        let kept = usize::try_from(limits.bytes).unwrap_or(usize::MAX);
        let bulk = match keeping {
            Keeping::Nothing => link.max_bulk_bytes,
            Keeping::Retained(_) | Keeping::Retransmitted(_) => link.max_bulk_bytes.min(kept),
        };
        let is_relayed = peer.role == Role::KERNEL;
        let bulk = if is_relayed { bulk.min(FRAGMENT_BYTES) } else { bulk };
        let link = LinkInfo { max_bulk_bytes: bulk, is_relayed, ..link };
        let (next, expected) = (Sequence::default(), Sequence::default());
        Stream { id, heard, peer, link, next, expected, keeping }
    }

    /// Whether the peer said this HELLO after all that it said before.
    pub(crate) fn is_later(&self, hello: &Hello) -> bool {
        hello.attempt.number > self.heard.number
    }

    /// Bytes in front of a body.
    pub(crate) fn prefix_bytes(&self) -> usize {
        if self.retransmits() { FENCED_PREFIX_BYTES } else { PREFIX_BYTES }
    }

    /// What the link is to the protocol above.
    pub(crate) fn link_above(&self) -> LinkInfo {
        let keeps = self.keeps();
        LinkInfo {
            loses_frames: self.link.loses_frames && !self.retransmits(),
            may_be_cut: self.link.may_be_cut && !keeps,
            ..self.link.behind(self.prefix_bytes())
        }
    }

    pub(crate) fn retransmits(&self) -> bool {
        matches!(self.keeping, Keeping::Retransmitted(_))
    }

    /// Whether frames are kept, so that the session can go on over another link.
    pub(crate) fn keeps(&self) -> bool {
        !matches!(self.keeping, Keeping::Nothing)
    }

    /// Whether the session can go on over a link like this, with a peer that has proved to be the same.
    pub(crate) fn fits(&self, reliability: Reliability, link: LinkInfo) -> bool {
        // A smaller limit would strand what was accepted under the larger one.
        let wide = link.max_body_bytes >= self.link.max_body_bytes
            && link.max_bulk_bytes >= self.link.max_bulk_bytes;
        let same = match self.keeping {
            Keeping::Nothing => false,
            Keeping::Retained(_) => reliability.retains(),
            Keeping::Retransmitted(_) => reliability.retransmits(),
        };
        wide && same && link.identity == self.link.identity
    }

    /// What stands in front of the next body where nothing is kept.
    pub(crate) fn prefix(&self) -> Prefix {
        Prefix { sequence: self.next, acknowledged: self.expected, fence: None }
    }

    fn frames(&self) -> Option<&Retention> {
        match &self.keeping {
            Keeping::Nothing => None,
            Keeping::Retained(retained) => Some(&retained.frames),
            Keeping::Retransmitted(lossy) => Some(lossy.window.frames()),
        }
    }

    fn frames_mut(&mut self) -> Option<&mut Retention> {
        match &mut self.keeping {
            Keeping::Nothing => None,
            Keeping::Retained(retained) => Some(&mut retained.frames),
            Keeping::Retransmitted(lossy) => Some(lossy.window.frames_mut()),
        }
    }

    /// Whether a frame of so many bytes may be kept; a refusal is remembered.
    pub(crate) fn has_room(&mut self, bytes: usize) -> bool {
        match &mut self.keeping {
            Keeping::Nothing => true,
            Keeping::Retained(retained) => retained.has_room(bytes),
            Keeping::Retransmitted(lossy) => lossy.window.has_room(bytes),
        }
    }

    /// Room for so many bytes, or more.
    pub(crate) fn room(&mut self, len: usize) -> Vec<u8> {
        self.frames_mut().map_or_else(|| vec![0; len], |frames| frames.room(len))
    }

    /// Keeps a frame until it is acknowledged.
    pub(crate) fn keep(&mut self, frame: Kept) {
        self.next = self.next.next();
        if let Some(frames) = self.frames_mut() {
            frames.keep(frame);
        }
    }

    /// Takes a frame from above the peer.
    pub(crate) fn arrive(&mut self, to: Address, frame: Frame<'_>, context: &mut Context<'_>) -> Arrival {
        let prefix = match Prefix::read(frame.body, self.retransmits()) {
            Ok(prefix) => prefix,
            Err(_) if self.retransmits() => return Arrival::Foreign,
            Err(_) => return Arrival::Broken,
        };
        match prefix.fence {
            None => self.arrive_in_order(prefix, frame, to, context),
            Some(fence) if fence.session != self.id => Arrival::Foreign,
            Some(fence) => self.arrive_in_any_order(prefix, fence, to, frame, context),
        }
    }

    fn arrive_in_order(
        &mut self,
        prefix: Prefix,
        frame: Frame<'_>,
        to: Address,
        context: &mut Context<'_>,
    ) -> Arrival {
        let again = seeded!(context.config, DeliveredAgain) && prefix.sequence.next() == self.expected;
        if again && self.keeps() {
            return Arrival::Deliver(PREFIX_BYTES);
        }
        if prefix.sequence != self.expected
            || !self.acknowledged(prefix.acknowledged, Stamp::NONE, false, to, context)
        {
            return Arrival::Broken;
        }
        self.expected = self.expected.next();
        if let Keeping::Retained(retained) = &mut self.keeping {
            retained.arrived(frame.body.len() + frame.bulk.len());
        }
        Arrival::Deliver(PREFIX_BYTES)
    }

    fn arrive_in_any_order(
        &mut self,
        prefix: Prefix,
        fence: Fence,
        to: Address,
        frame: Frame<'_>,
        context: &mut Context<'_>,
    ) -> Arrival {
        if !self.acknowledged(prefix.acknowledged, fence.echo, false, to, context) {
            return Arrival::Broken;
        }
        let Keeping::Retransmitted(lossy) = &mut self.keeping else { return Arrival::Broken };
        let place =
            lossy.arrivals.place(prefix.sequence, self.expected, frame, FENCED_PREFIX_BYTES, context.now);
        if prefix.sequence.ahead_of(self.expected) <= 0 {
            lossy.arrivals.answer(fence.departed);
        }
        match place {
            Place::Next => {
                self.expected = self.expected.next();
                return Arrival::Deliver(FENCED_PREFIX_BYTES);
            }
            Place::Held => context.counters.reordered += 1,
            Place::Duplicate => context.counters.duplicates += 1,
            Place::Beyond => {}
        }
        Arrival::Absorbed
    }

    /// The next frame, if it came early.
    pub(crate) fn take_held(&mut self) -> Option<OwnedFrame> {
        let Keeping::Retransmitted(lossy) = &mut self.keeping else { return None };
        let frame = lossy.arrivals.take(self.expected)?;
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
        context: &mut Context<'_>,
    ) -> bool {
        let progress = match &mut self.keeping {
            Keeping::Nothing => return acknowledged.ahead_of(self.next) <= 0,
            Keeping::Retained(retained) => {
                let progress = retained.acknowledge(acknowledged);
                if progress == Progress::Released && seeded!(context.config, OneTooManyReleased) {
                    retained.acknowledge(acknowledged.next());
                }
                progress
            }
            Keeping::Retransmitted(lossy) => lossy.window.acknowledge(acknowledged, echo, alone, context.now),
        };
        match progress {
            Progress::Impossible => return false,
            Progress::None => return true,
            Progress::Released => {}
            Progress::Lost => {
                self.depart(&mut context.exit(to), |window, departure| window.resend(departure))
            }
        }
        if self.frames_mut().is_some_and(Retention::take_blocked) {
            context.notify(Event::Writable);
        }
        true
    }

    /// Sends what waits for the link.
    pub(crate) fn send_waiting(&mut self, exit: &mut Exit<'_>) {
        match &mut self.keeping {
            Keeping::Nothing => {}
            Keeping::Retained(retained) => {
                let (expected, fence) = (self.expected, None);
                if retained.frames.send_waiting(&mut exit.departure(expected, fence)) {
                    retained.acknowledged();
                }
            }
            Keeping::Retransmitted(_) => {
                self.depart(exit, |window, departure| window.send_waiting(departure));
            }
        }
    }

    /// Whether something can go that nobody asks for.
    pub(crate) fn has_to_send(&self) -> bool {
        match &self.keeping {
            Keeping::Nothing => false,
            Keeping::Retained(retained) => retained.is_due(),
            Keeping::Retransmitted(_) => true,
        }
    }

    /// Sends again what is not acknowledged and due.
    pub(crate) fn resend_due(&mut self, exit: &mut Exit<'_>) {
        let Keeping::Retransmitted(lossy) = &self.keeping else { return };
        if lossy.window.deadline().is_some_and(|due| due <= exit.now) {
            self.depart(exit, |window, departure| window.time_out(departure));
        }
    }

    fn depart(&mut self, exit: &mut Exit<'_>, act: impl FnOnce(&mut Window, &mut Departure<'_>) -> bool) {
        let Keeping::Retransmitted(lossy) = &mut self.keeping else { return };
        let fence = Fence { session: self.id, departed: Stamp::of(exit.now), echo: lossy.arrivals.echo() };
        if act(&mut lossy.window, &mut exit.departure(self.expected, Some(fence))) {
            // Every frame carries the acknowledgement.
            lossy.arrivals.acknowledged();
        }
    }

    /// The acknowledgement that has to go alone now, if one has.
    pub(crate) fn due_acknowledgement(&self, now: Time) -> Option<Acknowledge> {
        let (due, echo) = match &self.keeping {
            Keeping::Nothing => return None,
            Keeping::Retained(retained) => (retained.is_due(), Stamp::NONE),
            Keeping::Retransmitted(lossy) => {
                (lossy.arrivals.deadline().is_some_and(|due| due <= now), lossy.arrivals.echo())
            }
        };
        due.then_some(Acknowledge { session: self.id, acknowledged: self.expected, echo })
    }

    /// It went, or the link had no room for it.
    pub(crate) fn acknowledgement_sent(&mut self, sent: bool, now: Time) {
        match &mut self.keeping {
            Keeping::Retained(retained) if sent => retained.acknowledged(),
            Keeping::Retransmitted(lossy) if sent => lossy.arrivals.acknowledged(),
            // Again with the next frame, or when there is room, or then. It may not stay due: the host would wake this
            // side again at once, and never stop before the link has room.
            Keeping::Retransmitted(lossy) => lossy.arrivals.acknowledge_at(now + ACKNOWLEDGE_DELAY),
            // Again with the next frame, or when there is room.
            Keeping::Nothing | Keeping::Retained(_) => {}
        }
    }

    /// A ping goes or came: what has arrived is acknowledged with it.
    pub(crate) fn ask_acknowledgement(&mut self) {
        if let Keeping::Retained(retained) = &mut self.keeping {
            retained.ask();
        }
    }

    /// The link is new. False if what the peer says it has cannot be.
    pub(crate) fn resume(&mut self, received: Sequence, to: Address, context: &mut Context<'_>) -> bool {
        match &mut self.keeping {
            Keeping::Nothing => {}
            Keeping::Retained(retained) => {
                if !seeded!(context.config, NotRewound) {
                    retained.frames.rewind();
                }
                // The handshake tells what has arrived.
                retained.acknowledged();
            }
            Keeping::Retransmitted(lossy) => {
                lossy.window.rewind();
                lossy.arrivals.acknowledge_at(context.now);
            }
        }
        self.acknowledged(received, Stamp::NONE, true, to, context)
    }

    /// What a peer is told has arrived, when the link is new.
    pub(crate) fn arrived(&self, config: &SessionConfig) -> Sequence {
        let retains = matches!(self.keeping, Keeping::Retained(_));
        if retains && seeded!(config, ArrivedNotTold) {
            return Sequence::default();
        }
        if retains && seeded!(config, DeliveredAgain) && self.expected != Sequence::default() {
            return Sequence(self.expected.0.wrapping_sub(1));
        }
        self.expected
    }

    /// The number of the oldest frame that the peer is not known to have.
    pub(crate) fn first_kept(&self) -> Sequence {
        self.frames().map_or(self.next, Retention::first)
    }

    /// Whether every frame sent was acknowledged, as far as this side keeps account.
    pub(crate) fn is_idle(&self) -> bool {
        self.frames().is_none_or(Retention::is_empty)
    }

    /// Bytes of frames that wait to be acknowledged, and of those that wait for an earlier one.
    pub(crate) fn kept_bytes(&self) -> u64 {
        let held = match &self.keeping {
            Keeping::Nothing | Keeping::Retained(_) => 0,
            Keeping::Retransmitted(lossy) => lossy.arrivals.bytes(),
        };
        held + self.frames().map_or(0, Retention::bytes)
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        let Keeping::Retransmitted(lossy) = &self.keeping else { return None };
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
