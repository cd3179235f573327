//! One peer: its links, its timers, the end of its sessions. The handshake's frames are in `greeting.rs`, those of a session in
//! `conversation.rs`.

use crate::codec::{Attempt, GOODBYE};
use crate::config::{PeerConfig, Reliability, SessionConfig};
use crate::context::{Context, Event};
use crate::departed::Lives;
use crate::handshake::{Ended, HelloSent, Listening, Phase, Suspended, Unlinked};
use crate::live::Live;
use crate::refusal::{Refusal, RefusalCode};
use crate::stream::Stream;
use quintet_contract::{
    Address, Disconnect, DownCause, Incarnation, LinkClass, LinkInfo, Outbox, PeerChange, Span, Time,
};
use quintet_errors::Code;

/// A remote address.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) address: Address,
    settings: PeerConfig,
    /// What its link leaves to the session.
    pub(crate) reliability: Reliability,
    pub(crate) phase: Phase,
    /// Its lives seen.
    pub(crate) lives: Lives,
    /// The peer's last refusal of this side.
    pub(crate) refusal: Option<Refusal>,
    /// What the link is; the last one, while there is none.
    pub(crate) link: LinkInfo,
    attempts: u32,
}

impl Peer {
    pub(crate) fn new(address: Address, settings: PeerConfig, lives: Lives) -> Self {
        let phase = Phase::Unlinked(Unlinked::default());
        Peer {
            address,
            settings,
            reliability: Reliability::Link,
            phase,
            lives,
            refusal: None,
            link: LinkInfo::new(LinkClass::Process, 0),
            attempts: 0,
        }
    }

    /// The link is there.
    pub(crate) fn link_up(&mut self, link: LinkInfo, context: &mut Context<'_>) {
        if !matches!(self.phase, Phase::Unlinked(_)) {
            if !self.reliability.retains() {
                // Another one changes nothing: the HELLO that comes over it decides.
                return;
            }
            // The host has put it in the place of one whose cut this side had not noticed.
            self.link_down(DownCause::Died, context);
        }
        self.link = link;
        self.reliability = self.settings.reliability.over(link);
        let unfit = |stream: &Stream| !stream.fits(self.reliability, link);
        if self.phase.stream().is_some_and(unfit) && !self.is_anothers(link) {
            self.forget(context);
        }
        let suspended = self.phase.take_suspended();
        self.begin(suspended, context);
    }

    /// Whether the session that is kept belongs to somebody else than who says HELLO over this link: that one may still come back to it, and
    /// keeps its number for as long. Where this side says HELLO it has asked for whoever is there now.
    pub(crate) fn is_anothers(&self, link: LinkInfo) -> bool {
        let kept = self.phase.suspended().map(|suspended| suspended.stream.link.identity);
        !self.settings.initiate && kept.is_some_and(|identity| identity != link.identity)
    }

    /// The link is gone. (If this side had put its session aside before, that stays as it is.)
    pub(crate) fn link_down(&mut self, cause: DownCause, context: &mut Context<'_>) {
        if matches!(self.phase, Phase::Unlinked(_)) {
            return;
        }
        let was_begun = !matches!(self.phase, Phase::HelloSent(_)) || self.phase.suspended().is_some();
        self.suspend(cause, context.resumed_by());
        if !self.outlives_its_link(cause, context.config) {
            self.forget_for(cause, context);
        }
        // A session that never began ends by a refusal, whoever refused it.
        if !was_begun && matches!(cause, DownCause::Refused(_)) {
            context.notify(Event::Peer(PeerChange::Down(cause)));
        }
    }

    /// Whether a session is kept when its link ends like this. A link that the other side closed in order, or refuses, was no cut: nobody
    /// comes back.
    fn outlives_its_link(&self, cause: DownCause, config: &SessionConfig) -> bool {
        let keeps_frames = match self.reliability {
            Reliability::ByLink | Reliability::Link => false,
            Reliability::Retain { .. } | Reliability::Retransmit { .. } => true,
        };
        let is_cut = matches!(cause, DownCause::Died | DownCause::Silent);
        keeps_frames && is_cut && config.resume_window > Span::ZERO
    }

    /// Puts the session aside, if there is one: until its link is there again, or until then.
    fn suspend(&mut self, cause: DownCause, until: Time) {
        let mut suspended = self.phase.take_suspended();
        if let Phase::Live(live) = core::mem::replace(&mut self.phase, Phase::Unlinked(Unlinked::default())) {
            suspended = Some(Suspended { stream: live.stream, until, cause });
        }
        self.phase = Phase::Unlinked(Unlinked { suspended });
    }

    /// Starts a handshake over the link.
    pub(crate) fn begin(&mut self, suspended: Option<Suspended>, context: &mut Context<'_>) {
        if !self.settings.initiate {
            self.phase = Phase::Listening(Listening { suspended });
            return;
        }
        self.attempts = self.attempts.wrapping_add(1);
        let attempt = Attempt { number: self.attempts, nonce: context.number() };
        let mut hello_sent = HelloSent::new(attempt, self.reliability, suspended);
        hello_sent.say_hello(self.address, context);
        self.phase = Phase::HelloSent(hello_sent);
    }

    /// Drops the session kept from an earlier link, if there is one.
    pub(crate) fn forget(&mut self, context: &mut Context<'_>) {
        if let Some(suspended) = self.phase.take_suspended() {
            context.notify(Event::Peer(PeerChange::Down(suspended.cause)));
        }
    }

    /// As [`forget`](Peer::forget); the protocol above learns this cause.
    fn forget_for(&mut self, cause: DownCause, context: &mut Context<'_>) {
        if self.phase.take_suspended().is_some() {
            context.notify(Event::Peer(PeerChange::Down(cause)));
        }
    }

    /// The session lives from now on.
    pub(crate) fn live(&mut self, stream: Stream, resumed: bool, context: &mut Context<'_>) -> &mut Live {
        self.lives.latest = Some(stream.peer.incarnation);
        self.refusal = None;
        if !resumed {
            let incarnation = stream.peer.incarnation;
            context.notify(Event::Peer(PeerChange::Up { incarnation, link: stream.link_above() }));
        }
        self.phase = Phase::Live(Box::new(Live::new(
            stream,
            self.reliability,
            context.now,
            resumed,
            self.settings.initiate,
        )));
        self.live_mut().expect("it was made live in the line before")
    }

    pub(crate) fn live_mut(&mut self) -> Option<&mut Live> {
        match &mut self.phase {
            Phase::Live(live) => Some(live),
            _ => None,
        }
    }

    /// Ends the session that lives, if one does. Its link stays, unless the peer broke the protocol, or is silent on a link that
    /// loses nothing: then it stands still, and can learn of the end by the link's end only.
    pub(crate) fn over(&mut self, cause: DownCause, context: &mut Context<'_>) {
        if !matches!(self.phase, Phase::Live(_)) {
            return;
        }
        context.notify(Event::Peer(PeerChange::Down(cause)));
        match cause {
            DownCause::Misbehaved => {
                self.disconnect(context.out);
                self.phase = Phase::Ended(Ended { code: RefusalCode::Malformed });
            }
            DownCause::Silent if !self.reliability.retransmits() => {
                context.out.disconnect(self.address, Disconnect::ForGood);
                self.phase = Phase::Ended(Ended { code: RefusalCode::Closed });
            }
            DownCause::Closed if self.settings.initiate => {
                self.phase = Phase::Ended(Ended { code: RefusalCode::Closed });
            }
            DownCause::Closed | DownCause::Died | DownCause::Silent | DownCause::Refused(_) => {
                self.begin(None, context);
            }
        }
    }

    /// Has the link closed, for this life of the peer broke the protocol.
    pub(crate) fn disconnect(&mut self, out: &mut dyn Outbox) {
        if let Phase::Live(live) = &self.phase {
            // Best effort: a peer that does not hear it learns of the link's end.
            let _ = live.name(self.address, GOODBYE, out);
            self.lives.cut_off = self.lives.latest;
        }
        out.disconnect(self.address, Disconnect::ForGood);
    }

    /// Has the link closed, and ends the session with the next wake, whether it lives or is kept for resuming: this life of the peer may come back over another
    /// link, with another session. False if there is none.
    ///
    /// Nothing is said: the peer sees a cut, and no farewell.
    pub(crate) fn let_go(&mut self, now: Time, out: &mut dyn Outbox) -> bool {
        out.disconnect(self.address, Disconnect::UntilNextLink);
        self.suspend(DownCause::Died, now);
        let Some(suspended) = self.phase.suspended_mut().and_then(Option::as_mut) else { return false };
        (suspended.until, suspended.cause) = (now, DownCause::Died);
        true
    }

    /// Has the link closed over which the peer was refused. A session kept from an earlier link stays, for whose it is.
    pub(crate) fn dismiss(&mut self, code: RefusalCode, context: &mut Context<'_>) {
        context.out.disconnect(self.address, Disconnect::ForGood);
        let suspended = self.phase.take_suspended();
        if suspended.is_none() && matches!(self.phase, Phase::HelloSent(_)) {
            context.notify(Event::Peer(PeerChange::Down(DownCause::Refused(code.error() as u16))));
        }
        self.phase = Phase::Unlinked(Unlinked { suspended });
    }

    /// Lets a session that is kept for resuming end with the next wake, for this life of the peer broke the protocol. False if
    /// none is kept.
    pub(crate) fn expire(&mut self, now: Time) -> bool {
        let Some(suspended) = self.phase.suspended_mut().and_then(Option::as_mut) else { return false };
        (suspended.until, suspended.cause) = (now, DownCause::Misbehaved);
        self.lives.cut_off = self.lives.latest;
        true
    }

    /// Whether a life of the peer was cut off for breaking the protocol, or comes before one that was.
    pub(crate) fn is_cut_off(&self, life: Incarnation) -> bool {
        self.lives.cut_off.is_some_and(|last| life <= last)
    }

    /// The peer broke the protocol on a link that is there, with or without a session.
    pub(crate) fn cut(&mut self, context: &mut Context<'_>) {
        match self.phase {
            Phase::Unlinked(_) => {}
            Phase::Live(_) => self.over(DownCause::Misbehaved, context),
            Phase::HelloSent(_) | Phase::Listening(_) | Phase::Ended(_) => self.disconnect(context.out),
        }
    }

    /// This side ends the session for good.
    pub(crate) fn close(&mut self, context: &mut Context<'_>) {
        if self.phase.stream().is_some() {
            context.notify(Event::Peer(PeerChange::Down(DownCause::Closed)));
        }
        if let Phase::Live(live) = &mut self.phase {
            // Best effort: a peer that does not hear it is answered with RESET when it speaks.
            let _ = live.name(self.address, GOODBYE, context.out);
        }
        self.phase = match self.phase {
            Phase::Unlinked(_) => Phase::Unlinked(Unlinked::default()),
            _ => Phase::Ended(Ended { code: RefusalCode::Closed }),
        };
    }

    /// The link has room.
    pub(crate) fn writable(&mut self, context: &mut Context<'_>) {
        match &mut self.phase {
            Phase::HelloSent(hello_sent) => hello_sent.writable(self.address, context),
            Phase::Live(live) => {
                live.send_pending(self.address, context);
                // Where frames are kept the window decides who waits, not the link.
                if !live.stream.keeps() {
                    context.notify(Event::Writable);
                }
            }
            Phase::Unlinked(_) | Phase::Listening(_) | Phase::Ended(_) => {}
        }
    }

    pub(crate) fn wake(&mut self, context: &mut Context<'_>) {
        if self.phase.suspended().is_some_and(|suspended| suspended.until <= context.now) {
            self.forget(context);
            if matches!(self.phase, Phase::HelloSent(_)) {
                // The HELLO under way asks to resume; say another.
                self.begin(None, context);
            }
        }
        match &mut self.phase {
            Phase::HelloSent(hello_sent) => {
                if hello_sent.wake(self.address, context) {
                    self.unanswered(context);
                }
            }
            Phase::Live(live) => {
                live.restart_silence(context.now, context.config);
                if live.silent_at(context.config).is_some_and(|at| at <= context.now) {
                    self.silent(context);
                } else {
                    live.wake(self.address, context);
                }
            }
            Phase::Unlinked(_) | Phase::Listening(_) | Phase::Ended(_) => {}
        }
    }

    /// The peer was silent for too long. Where frames are kept for the next link, this one may be broken without a sign, and goes.
    fn silent(&mut self, context: &mut Context<'_>) {
        if !self.reliability.retains() || !self.outlives_its_link(DownCause::Silent, context.config) {
            return self.over(DownCause::Silent, context);
        }
        context.out.disconnect(self.address, Disconnect::UntilNextLink);
        let until = if context.config.resumes_silent { context.resumed_by() } else { context.now };
        self.suspend(DownCause::Silent, until);
    }

    /// HELLO was not answered on a link that loses nothing. The peer may have heard it, and go on with a session that is to be resumed.
    fn unanswered(&mut self, context: &mut Context<'_>) {
        if self.phase.suspended().is_some() {
            context.out.disconnect(self.address, Disconnect::UntilNextLink);
            self.suspend(DownCause::Silent, context.now);
        } else {
            context.out.disconnect(self.address, Disconnect::ForGood);
            // A session that never began ends by a refusal, whoever refused it.
            context.notify(Event::Peer(PeerChange::Down(DownCause::Refused(Code::PeerSilent as u16))));
        }
    }

    /// Whether there may be something to send that nobody asked for. Never where nothing is kept, once the peer has been greeted.
    pub(crate) fn has_pending(&self) -> bool {
        match &self.phase {
            Phase::Live(live) => live.stream.has_to_send() || !live.owed.is_empty(),
            _ => false,
        }
    }

    /// Whether there is no link and no session to go on with. Never true of a peer to which this side says HELLO: these are this
    /// side's choice, and their tries have to be counted on.
    pub(crate) fn is_gone(&self) -> bool {
        !self.settings.initiate && matches!(&self.phase, Phase::Unlinked(Unlinked { suspended: None }))
    }

    /// Sends what can go.
    pub(crate) fn send_pending(&mut self, context: &mut Context<'_>) {
        let address = self.address;
        if let Some(live) = self.live_mut() {
            live.send_pending(address, context);
        }
    }

    pub(crate) fn deadline(&self, config: &SessionConfig) -> Option<Time> {
        match &self.phase {
            Phase::HelloSent(hello_sent) => hello_sent.deadline(),
            Phase::Live(live) => live.deadline(config),
            other => other.suspended().map(|suspended| suspended.until),
        }
    }
}
