//! The frames of a session.

use crate::codec::{
    ACKNOWLEDGE, Acknowledge, CHALLENGE, GOODBYE, HELLO, Named, PING, PONG, REFUSED, RESET, WELCOME,
};
use crate::codec::{Fence, Prefix};
use crate::context::Context;
use crate::handshake::Phase;
use crate::peer::Peer;
use crate::stream::Arrival;
use quintet_contract::{DownCause, Frame, Kind, OwnedFrame, Token};
use quintet_wire::registry::SESSION;
use quintet_wire::{Decode, send};

impl Peer {
    /// Takes a frame from the peer's link.
    pub(crate) fn receive(&mut self, frame: Frame<'_>, context: &mut Context<'_>) -> Arrival {
        match frame.kind {
            HELLO => self.hello(frame.body, context),
            WELCOME => self.welcomed(frame.body, context),
            REFUSED => self.refused(frame.body, context),
            ACKNOWLEDGE => match Acknowledge::decode_all(frame.body) {
                Ok(note) => self.acknowledged(note, context),
                Err(_) => self.unreadable(context),
            },
            PING | PONG | GOODBYE | RESET | CHALLENGE => match Named::decode_all(frame.body) {
                Ok(Named(session)) => self.named(frame.kind, session, context),
                Err(_) => self.unreadable(context),
            },
            kind if SESSION.contains(kind) => self.unreadable(context),
            _ => return self.receive_payload(frame, context),
        }
        Arrival::Absorbed
    }

    fn receive_payload(&mut self, frame: Frame<'_>, context: &mut Context<'_>) -> Arrival {
        let fenced = self.reliability.retransmits();
        if fenced && let Ok(Prefix { fence: Some(fence), .. }) = Prefix::read(frame.body, fenced) {
            self.adopt(fence.session, context);
        }
        let address = self.address;
        let Some(live) = self.live_mut() else {
            self.unknown(frame, context);
            return Arrival::Absorbed;
        };
        let arrival = live.stream.arrive(address, frame, context);
        match arrival {
            Arrival::Deliver(_) | Arrival::Absorbed => live.hear(context.now),
            Arrival::Foreign => context.counters.fenced += 1,
            Arrival::Broken => self.over(DownCause::Misbehaved, context),
        }
        arrival
    }

    /// A listener that kept a session and hears a frame of it goes on with it: the peer has not noticed the cut. Not where the
    /// link loses nothing: there the peer says HELLO over every link, and this frame is an earlier link's.
    fn adopt(&mut self, session: u64, context: &mut Context<'_>) {
        if !self.reliability.retransmits() {
            return;
        }
        let Phase::Listening(listening) = &mut self.phase else { return };
        let Some(kept) = listening.suspended.take_if(|kept| kept.stream.id == session) else { return };
        let first = kept.stream.first_kept();
        let address = self.address;
        self.live(kept.stream, true, context).stream.resume(first, address, context);
    }

    /// A frame of a session not known here. A peer that would wait for its acknowledgement for ever learns so. Not while this
    /// side has said HELLO: then it may be the first frame of the session whose WELCOME is still under way.
    fn unknown(&mut self, frame: Frame<'_>, context: &mut Context<'_>) {
        context.counters.fenced += 1;
        if !self.reliability.retransmits() {
            return;
        }
        if let (
            Phase::Listening(_) | Phase::Ended(_),
            Ok(Prefix { fence: Some(Fence { session, .. }), .. }),
        ) = (&self.phase, Prefix::read(frame.body, true))
        {
            self.reset(session, context);
        }
    }

    /// Says that a session is not known here. If there is no room, the peer's next frame brings it up again.
    fn reset(&mut self, session: u64, context: &mut Context<'_>) {
        let _ = send(context.out, self.address, RESET, Token(0), &Named(session));
    }

    fn acknowledged(&mut self, note: Acknowledge, context: &mut Context<'_>) {
        self.adopt(note.session, context);
        let address = self.address;
        let Some(live) = self.live_mut().filter(|live| live.stream.id == note.session) else {
            context.counters.fenced += 1;
            return;
        };
        live.hear(context.now);
        if !live.stream.acknowledged(note.acknowledged, note.echo, true, address, context) {
            self.over(DownCause::Misbehaved, context);
        }
    }

    fn named(&mut self, kind: Kind, session: u64, context: &mut Context<'_>) {
        if kind != RESET {
            self.adopt(session, context);
        }
        if self.live_mut().is_none_or(|live| live.stream.id != session) {
            return self.named_unknown(kind, session, context);
        }
        let Some(live) = self.live_mut() else { return };
        live.hear(context.now);
        match kind {
            PING | CHALLENGE => live.pinged(),
            GOODBYE => self.over(DownCause::Closed, context),
            RESET => self.over(DownCause::Died, context),
            _ => {}
        }
    }

    fn named_unknown(&mut self, kind: Kind, session: u64, context: &mut Context<'_>) {
        context.counters.fenced += 1;
        let linked = !matches!(self.phase, Phase::Unlinked(_));
        let kept = self.phase.stream().is_some_and(|stream| stream.id == session);
        let idle = matches!(self.phase, Phase::Listening(_) | Phase::Ended(_));
        if !kept && (kind == CHALLENGE && linked || kind == PING && idle) {
            self.reset(session, context);
        }
    }

    /// Bytes that no peer of this version sends. On a link that loses nothing they are the peer's own, with or without a session;
    /// on another they may be anyone's.
    pub(crate) fn unreadable(&mut self, context: &mut Context<'_>) {
        context.counters.fenced += 1;
        if !self.reliability.retransmits() {
            self.cut(context);
        }
    }

    /// The next frame, if it came before one that has come since.
    pub(crate) fn take_held(&mut self) -> Option<OwnedFrame> {
        self.live_mut()?.stream.take_held()
    }
}
