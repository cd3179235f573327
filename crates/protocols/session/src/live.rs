//! The state after the handshake.

use crate::codec::{ACKNOWLEDGE, CHALLENGE, Named, PING, PONG, WELCOME, Welcome};
use crate::config::{Reliability, SessionConfig};
use crate::context::Context;
use crate::retention::{Exit, Kept};
use crate::stream::{Stream, earlier};
use quintet_contract::{Address, Kind, Outbox, SendError, Span, Time, Token};
use quintet_wire::send;

/// A session with a link under it.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) stream: Stream,
    pub(crate) reliability: Reliability,
    /// When the peer was last heard, or, without pings, this side noticed that it had slept.
    heard: Time,
    /// When it was last pinged.
    pinged: Time,
    /// When it was first pinged without having been heard since.
    unanswered_since: Option<Time>,
    /// What the link had no room for; goes before anything else.
    pub(crate) owed: Owed,
    /// Whether the handshake continued an earlier link's session.
    pub(crate) resumed: bool,
    /// Whether this side says HELLO.
    is_asked: bool,
}

/// Control frames that have to go.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Owed {
    pub(crate) welcome: bool,
    pub(crate) challenge: bool,
    pub(crate) pong: bool,
}

impl Owed {
    pub(crate) fn is_empty(self) -> bool {
        !(self.welcome | self.challenge | self.pong)
    }
}

impl Live {
    pub(crate) fn new(
        stream: Stream,
        reliability: Reliability,
        now: Time,
        resumed: bool,
        is_asked: bool,
    ) -> Self {
        let (heard, pinged, owed) = (now, now, Owed::default());
        Live { stream, reliability, heard, pinged, unanswered_since: None, owed, resumed, is_asked }
    }

    /// Whether the peer's silence is watched for.
    fn is_watched(&self, config: &SessionConfig) -> bool {
        self.is_asked || !config.watches_asked_only
    }

    /// Sends the control frames owed.
    ///
    /// # Errors
    /// As [`Outbox::begin`]; what did not go stays owed.
    pub(crate) fn send_owed(
        &mut self,
        to: Address,
        config: &SessionConfig,
        out: &mut dyn Outbox,
    ) -> Result<(), SendError> {
        if self.owed.welcome {
            send(out, to, WELCOME, Token(0), &self.welcome(config))?;
            self.owed.welcome = false;
        }
        if self.owed.challenge {
            self.name(to, CHALLENGE, out)?;
            self.owed.challenge = false;
        }
        if self.owed.pong {
            self.name(to, PONG, out)?;
            self.owed.pong = false;
        }
        Ok(())
    }

    fn welcome(&self, config: &SessionConfig) -> Welcome {
        Welcome {
            version: self.stream.peer.version,
            role: config.role,
            resumed: self.resumed,
            attempt: self.stream.heard,
            session: self.stream.id,
            incarnation: config.incarnation,
            features: config.features,
            received: self.stream.arrived(config),
            window: self.reliability.window(),
        }
    }

    /// Sends a frame that only names this session.
    ///
    /// # Errors
    /// As [`Outbox::begin`].
    pub(crate) fn name(&self, to: Address, kind: Kind, out: &mut dyn Outbox) -> Result<(), SendError> {
        send(out, to, kind, Token(0), &Named(self.stream.id))
    }

    /// Sends what can go: control frames, waiting frames, an acknowledgement that is due.
    pub(crate) fn send_pending(&mut self, to: Address, context: &mut Context<'_>) {
        let owes_control = self.send_owed(to, context.config, context.out).is_err();
        if !owes_control {
            self.stream.send_waiting(&mut context.exit(to));
        }
        if let Some(note) = self.stream.due_acknowledgement(context.now) {
            let sent = !owes_control && send(context.out, to, ACKNOWLEDGE, Token(0), &note).is_ok();
            self.stream.acknowledgement_sent(sent, context.now);
        }
    }

    /// Keeps a frame and sends it, if the link has room: after the control frames that come first.
    pub(crate) fn send_kept(&mut self, frame: Kept, config: &SessionConfig, exit: &mut Exit<'_>) {
        self.stream.keep(frame);
        // On a link that loses nothing no frame may come before the WELCOME that the peer waits for: it would be dropped there.
        if self.stream.retransmits() || self.send_owed(exit.to, config, exit.out).is_ok() {
            self.stream.send_waiting(exit);
        }
    }

    /// Begins another round of silence, if this side slept: of two that slept together the one that wakes first must not blame the
    /// other.
    pub(crate) fn restart_silence(&mut self, now: Time, config: &SessionConfig) {
        let due = earlier(self.ping_at(config), self.silent_at(config));
        if due.is_some_and(|due| config.overslept(due, now)) {
            self.unanswered_since = self.unanswered_since.map(|_| now);
            if config.keep_alive == Span::ZERO {
                self.heard = now;
            }
        }
    }

    /// Pings a silent peer; sends again what is due.
    pub(crate) fn wake(&mut self, to: Address, context: &mut Context<'_>) {
        self.stream.resend_due(&mut context.exit(to));
        if self.ping_at(context.config).is_some_and(|at| at <= context.now) {
            self.pinged = context.now;
            self.unanswered_since.get_or_insert(context.now);
            // A full link needs no ping: the peer's silence is counted all the same.
            let _ = self.name(to, PING, context.out);
            self.stream.ask_acknowledgement();
        }
        self.send_pending(to, context);
    }

    /// The peer asks for a sign of life.
    pub(crate) fn pinged(&mut self) {
        self.owed.pong = true;
        self.stream.ask_acknowledgement();
    }

    /// The peer was heard.
    pub(crate) fn hear(&mut self, now: Time) {
        self.heard = now;
        self.unanswered_since = None;
    }

    /// When the peer was last heard, a sign of life included.
    pub(crate) fn heard(&self) -> Time {
        self.heard
    }

    /// When the peer has been silent for too long. With pings, silence counts from the first that was not answered: a host
    /// that did not run for a while has heard nobody and must not blame the peer for it. See also [`Live::restart_silence`].
    pub(crate) fn silent_at(&self, config: &SessionConfig) -> Option<Time> {
        let pings = config.keep_alive > Span::ZERO;
        let since = if pings { self.unanswered_since } else { Some(self.heard) };
        let watches = config.silence_limit > Span::ZERO && self.is_watched(config);
        since.filter(|_| watches).map(|since| since + config.silence_limit)
    }

    fn ping_at(&self, config: &SessionConfig) -> Option<Time> {
        (config.keep_alive > Span::ZERO && self.is_watched(config))
            .then(|| self.heard.max(self.pinged) + config.keep_alive)
    }

    pub(crate) fn deadline(&self, config: &SessionConfig) -> Option<Time> {
        earlier(self.stream.deadline(), earlier(self.silent_at(config), self.ping_at(config)))
    }
}
