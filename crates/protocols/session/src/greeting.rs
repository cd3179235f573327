//! The frames of the handshake.

use crate::codec::{Attempt, GOODBYE, Hello, Named, REFUSED, Refused, Welcome};
use crate::config::{Features, Reliability, SessionConfig};
use crate::context::{Context, Event};
use crate::defect::seeded;
use crate::handshake::{Ended, Phase, Suspended};
use crate::live::Live;
use crate::peer::Peer;
use crate::refusal::{Refusal, RefusalCode};
use crate::stream::{PeerInfo, Stream};
use quintet_contract::{DownCause, PeerChange, Token};
use quintet_wire::{Decode, send};

impl Peer {
    /// A HELLO came.
    pub(crate) fn hello(&mut self, body: &[u8], context: &mut Context<'_>) {
        let hello = match Hello::decode_all(body) {
            Ok(hello) => hello,
            Err(error) => {
                // A try without a number: the initiator takes it for its latest.
                return self.refuse(Attempt::default(), RefusalCode::Malformed, &error.to_string(), context);
            }
        };
        match self.examine(&hello, context.config) {
            Ok(info) => self.greet(&hello, info, context),
            Err((code, text)) => self.refuse(hello.attempt, code, &text, context),
        }
    }

    /// Whether the two sides fit.
    fn examine(&self, hello: &Hello, config: &SessionConfig) -> Result<PeerInfo, (RefusalCode, String)> {
        let (mine, theirs) = (config.versions, hello.versions);
        let Some(version) = mine.common(theirs) else {
            let text = format!(
                "this side speaks versions {} to {}, the other {} to {}",
                mine.oldest, mine.newest, theirs.oldest, theirs.newest
            );
            return Err((RefusalCode::VersionMismatch, text));
        };
        if hello.cluster != config.cluster {
            // Not which: over TCP whoever asks might learn what it takes to be let in.
            return Err((RefusalCode::WrongCluster, "the two sides name different clusters".to_owned()));
        }
        if hello.node != self.address.node {
            let text = format!("node {} speaks from {}", hello.node.0, self.address);
            return Err((RefusalCode::Malformed, text));
        }
        if hello.reliability != self.reliability.number() {
            return Err((RefusalCode::VersionMismatch, self.reliability.mismatch().to_owned()));
        }
        if let Some(latest) = self.lives.latest.filter(|latest| hello.incarnation < *latest) {
            let text = format!("incarnation {} comes after {}", hello.incarnation.0, latest.0);
            return Err((RefusalCode::DuplicateNode, text));
        }
        if self.is_anothers(self.link) {
            let text =
                format!("the session of node {} is kept for who has proved to be another", hello.node.0);
            return Err((RefusalCode::DuplicateNode, text));
        }
        if self.is_cut_off(hello.incarnation) {
            let text = format!("incarnation {} was cut off for breaking the protocol", hello.incarnation.0);
            return Err((RefusalCode::Malformed, text));
        }
        let features = Features(hello.features.0 & config.features.0);
        let (incarnation, role, identity) = (hello.incarnation, hello.role, self.link.identity);
        Ok(PeerInfo { incarnation, identity, role, features, version })
    }

    /// Whether a HELLO of another link asks for the session that lives over this one, which may be cut.
    pub(crate) fn is_resumed_by(&self, body: &[u8], config: &SessionConfig) -> bool {
        let (Phase::Live(live), Ok(hello)) = (&self.phase, Hello::decode_all(body)) else { return false };
        let is_of_this_life =
            self.examine(&hello, config).is_ok_and(|info| info.incarnation == live.stream.peer.incarnation);
        is_of_this_life && self.reliability.retains() && live.is_resumed_by(&hello)
    }

    fn greet(&mut self, hello: &Hello, info: PeerInfo, context: &mut Context<'_>) {
        let newer = self.lives.latest.is_some_and(|latest| info.incarnation > latest);
        match &mut self.phase {
            Phase::Unlinked(_) => {}
            Phase::Ended(Ended { code }) if *code == RefusalCode::Closed || !newer => {
                let code = *code;
                self.refuse(hello.attempt, code, "the session has ended on this side", context);
            }
            // Both say HELLO: the smaller address's counts.
            Phase::HelloSent(hello_sent) if context.config.me < self.address => {
                hello_sent.hear_in_passing(hello);
            }
            Phase::Live(live) if newer || live.was_given_up(hello) => {
                context.notify(Event::Peer(PeerChange::Down(DownCause::Died)));
                self.accept(hello, info, context);
            }
            Phase::Live(_) => self.greet_again(hello, context),
            Phase::Ended(_) | Phase::HelloSent(_) | Phase::Listening(_) => self.accept(hello, info, context),
        }
    }

    /// A HELLO of the life whose session lives: it was repeated, its link was cut unseen by this side, it has forgotten the
    /// session, or it is another node's.
    fn greet_again(&mut self, hello: &Hello, context: &mut Context<'_>) {
        let address = self.address;
        let Phase::Live(live) = &mut self.phase else { return };
        let stream = &mut live.stream;
        let later = stream.is_later(hello);
        if hello.attempt == stream.heard {
            live.owed.welcome = true;
        } else if later && stream.keeps() && hello.resume == stream.id {
            stream.heard = hello.attempt;
            if !stream.resume(hello.received, address, context) {
                return self.over(DownCause::Misbehaved, context);
            }
            context.counters.resumed += 1;
            (live.owed.welcome, live.resumed) = (true, true);
            live.hear(context.now);
        } else {
            // If it is the same node, it no longer knows the session and says so: the next HELLO finds the place free.
            live.owed.challenge |= later && stream.retransmits();
            let text = format!("incarnation {} of node {} lives", hello.incarnation.0, hello.node.0);
            self.refuse(hello.attempt, RefusalCode::DuplicateNode, &text, context);
        }
        self.send_pending(context);
    }

    /// Continues the session asked for, or opens one.
    fn accept(&mut self, hello: &Hello, info: PeerInfo, context: &mut Context<'_>) {
        let address = self.address;
        let kept = self.phase.suspended().is_some_and(|suspended| {
            suspended.stream.id == hello.resume && suspended.stream.peer.incarnation == info.incarnation
        });
        if kept && let Some(mut suspended) = self.phase.take_suspended() {
            suspended.stream.heard = hello.attempt;
            self.continue_session(suspended.stream, hello.received, context);
        } else {
            self.forget(context);
            let id = context.number();
            let stream = Stream::new(id, hello.attempt, info, hello.window, self.reliability, self.link);
            self.live(stream, false, context);
        }
        if let Some(live) = self.live_mut() {
            live.owed.welcome = true;
            live.send_pending(address, context);
        }
    }

    /// The session goes on over the new link; the peer has every frame before `received`.
    fn continue_session(
        &mut self,
        stream: Stream,
        received: crate::sequence::Sequence,
        context: &mut Context<'_>,
    ) {
        let address = self.address;
        context.counters.resumed += 1;
        if !self.live(stream, true, context).stream.resume(received, address, context) {
            self.over(DownCause::Misbehaved, context);
        }
    }

    /// A WELCOME came. One that answers no HELLO under way is an old one, or repeated; one of a life that was cut off has the
    /// link closed.
    pub(crate) fn welcomed(&mut self, body: &[u8], context: &mut Context<'_>) {
        let Phase::HelloSent(hello_sent) = &self.phase else { return };
        let Ok(welcome) = Welcome::decode_all(body) else { return self.unreadable(context) };
        let known = self.lives.latest.is_some_and(|latest| welcome.incarnation < latest);
        let versions = context.config.versions;
        let spoken = (versions.oldest..=versions.newest).contains(&welcome.version);
        if welcome.attempt != hello_sent.attempt || known || !spoken {
            context.counters.fenced += 1;
            return;
        }
        if self.is_cut_off(welcome.incarnation) {
            context.counters.refused += 1;
            // Best effort, as ever: without it a peer that keeps frames for the next link would wait for it.
            let _ = send(context.out, self.address, GOODBYE, Token(0), &Named(welcome.session));
            return self.cut(context);
        }
        let resumed = |kept: &mut Suspended| {
            let same =
                kept.stream.id == welcome.session && kept.stream.peer.incarnation == welcome.incarnation;
            welcome.resumed && same
        };
        let kept = self.phase.suspended_mut().and_then(|suspended| suspended.take_if(resumed));
        if let Some(kept) = kept {
            self.continue_session(kept.stream, welcome.received, context);
        } else {
            self.forget(context);
            let info = PeerInfo {
                incarnation: welcome.incarnation,
                identity: self.link.identity,
                role: welcome.role,
                features: Features(welcome.features.0 & context.config.features.0),
                version: welcome.version,
            };
            let Welcome { session, window, .. } = welcome;
            let stream = Stream::new(session, Attempt::default(), info, window, self.reliability, self.link);
            self.live(stream, false, context);
        }
        if seeded!(context.config, TriesCountedTogether)
            && let Some(live) = self.live_mut()
        {
            live.stream.heard = welcome.attempt;
        }
        self.send_pending(context);
    }

    /// A REFUSED came.
    pub(crate) fn refused(&mut self, body: &[u8], context: &mut Context<'_>) {
        let Phase::HelloSent(hello_sent) = &self.phase else { return };
        let Ok(refused) = Refused::decode_all(body) else { return self.unreadable(context) };
        if refused.attempt != hello_sent.attempt && refused.attempt != Attempt::default() {
            context.counters.fenced += 1;
            return;
        }
        self.refusal = Some(Refusal { code: refused.code, text: refused.text.to_owned() });
        // The peer may still hold a session that this side has lost; it is asking. HELLO is said again.
        if refused.code == RefusalCode::DuplicateNode && self.reliability.retransmits() {
            return;
        }
        self.forget(context);
        context.notify(Event::Peer(PeerChange::Down(DownCause::Refused(refused.code.error() as u16))));
        self.phase = Phase::Ended(Ended { code: refused.code });
    }

    fn refuse(&mut self, attempt: Attempt, code: RefusalCode, text: &str, context: &mut Context<'_>) {
        if matches!(self.phase, Phase::Unlinked(_)) {
            return;
        }
        context.counters.refused += 1;
        // If the link has no room, the initiator asks again or gives up: nothing here depends on it.
        let _ = send(context.out, self.address, REFUSED, Token(0), &Refused { code, attempt, text });
        // Where frames are lost the word may be too: the link stays for the next HELLO. One over which a session lives is that session's.
        if self.reliability.retransmits() {
            return;
        }
        if code == RefusalCode::Malformed {
            self.cut(context);
        } else if !matches!(self.phase, Phase::Live(_)) {
            self.dismiss(code, context);
        }
    }
}

impl Live {
    /// Whether a later HELLO asks for this session.
    fn is_resumed_by(&self, hello: &Hello) -> bool {
        self.stream.is_later(hello) && hello.resume == self.stream.id
    }

    /// Whether a HELLO of the same life says that the peer has ended the session: it came over the one link that there is, on which
    /// nothing is lost or overtaken, and asks for another session. Elsewhere it may be an old one, and the peer is asked.
    fn was_given_up(&self, hello: &Hello) -> bool {
        self.reliability.retains() && self.stream.is_later(hello) && hello.resume != self.stream.id
    }
}

impl Reliability {
    /// What a peer is told that does not do the same.
    fn mismatch(self) -> &'static str {
        match self {
            Reliability::ByLink | Reliability::Link => {
                "this side leaves everything to the link, the other does not"
            }
            Reliability::Retain { .. } => "this side keeps frames for the next link, the other does not",
            Reliability::Retransmit { .. } => "this side retransmits, the other does not",
        }
    }
}
