//! The states of a peer, one type each. The session itself is [`Live`].
//!
//! ```text
//!                 link up, initiator             WELCOME, HELLO
//!            +----------------------> HelloSent ----------------+
//!            |                            | REFUSED             |
//!  Unlinked -+                            +-----------> Ended   +--> Live
//!            |       link up, else                        ^     |      |
//!            +----------------------> Listening ----------|-----+      |
//!                                                  HELLO  +------------+
//!                                                           GOODBYE, broken
//!  link down: to Unlinked, from everywhere
//! ```
//!
//! The first three may hold a session whose link was cut ([`Suspended`]), until its window is over. Every transition:
//!
//! | from | when | to |
//! | --- | --- | --- |
//! | Unlinked | the link is up | HelloSent if this side initiates, else Listening |
//! | HelloSent | WELCOME answers this HELLO | Live: the session kept, or another |
//! | | HELLO of a peer with the smaller address | as from Listening |
//! | | REFUSED | Ended; HelloSent still, where the peer may yet find that it holds a session in vain |
//! | | no answer | HelloSent, where frames may be lost. Else the link is closed: Unlinked with a session kept; without one HelloSent until the link is down |
//! | Listening | HELLO that fits; of the life and session kept, it resumes | Live |
//! | | HELLO that does not fit | Listening, with REFUSED, where frames may be lost. Else the link is closed: Unlinked, with the session kept |
//! | | a frame of the session kept, where frames may be lost | Live |
//! | these three | the window of the session kept is over | the same without it; HelloSent says HELLO anew |
//! | Live | HELLO that resumes it, over a link whose cut was not noticed | Live |
//! | | HELLO of a later life; of another session, where frames are kept for the next link | Live: another session |
//! | | the link is cut | Unlinked, with the session kept if there is a window |
//! | | another link takes its place, where frames are kept for it | HelloSent or Listening, with the session kept |
//! | | silence | HelloSent or Listening, where frames may be lost. Else the link is closed: Unlinked with the session kept, where there is a window for it; Ended without |
//! | | RESET | HelloSent or Listening |
//! | | GOODBYE | Ended if this side initiates, else Listening |
//! | | the peer broke the protocol, or this side closes | Ended |
//! | Ended | HELLO of a later life, unless a side has closed | Live |
//! | | another HELLO | Ended, with REFUSED, where frames may be lost. Else the link is closed: Unlinked |
//! | all others | the link is down | Unlinked, with what session was kept |

use crate::codec::{Attempt, HELLO, Hello};
use crate::config::{Reliability, SessionConfig};
use crate::context::Context;
use crate::estimator::LONGEST;
use crate::live::Live;
use crate::refusal::RefusalCode;
use crate::sequence::Sequence;
use crate::stream::{Stream, earlier};
use quintet_contract::{Address, DownCause, Span, Time, Token};
use quintet_wire::send;

/// Where a peer stands.
#[derive(Debug)]
pub(crate) enum Phase {
    Unlinked(Unlinked),
    HelloSent(HelloSent),
    Listening(Listening),
    Live(Box<Live>),
    Ended(Ended),
}

/// A session whose link was cut, kept for a while.
#[derive(Debug)]
pub(crate) struct Suspended {
    pub(crate) stream: Stream,
    pub(crate) until: Time,
    /// What the protocol above learns if it is not resumed.
    pub(crate) cause: DownCause,
}

/// There is no link.
#[derive(Debug, Default)]
pub(crate) struct Unlinked {
    pub(crate) suspended: Option<Suspended>,
}

/// There is a link; the peer has to say HELLO.
#[derive(Debug, Default)]
pub(crate) struct Listening {
    pub(crate) suspended: Option<Suspended>,
}

/// HELLO was said, or is to be said as soon as the link has room.
#[derive(Debug)]
pub(crate) struct HelloSent {
    pub(crate) attempt: Attempt,
    pub(crate) suspended: Option<Suspended>,
    reliability: Reliability,
    /// When to say it again; where nothing is lost, when to take the peer for silent.
    timer: Option<Time>,
    interval: Span,
    /// The link had no room.
    unsent: bool,
}

/// Nothing more is wanted of this peer on this link.
#[derive(Debug)]
pub(crate) struct Ended {
    /// What its HELLO is answered with.
    pub(crate) code: RefusalCode,
}

impl HelloSent {
    pub(crate) fn new(attempt: Attempt, reliability: Reliability, suspended: Option<Suspended>) -> Self {
        let interval = match reliability {
            Reliability::ByLink | Reliability::Link | Reliability::Retain { .. } => Span::ZERO,
            Reliability::Retransmit { initial_timeout, .. } => initial_timeout.max(Span(1)),
        };
        HelloSent { attempt, suspended, reliability, timer: None, interval, unsent: false }
    }

    /// Says HELLO; on a link that may lose it, again after a while that doubles. On one that loses nothing the peer has as long
    /// for its answer as for any sign of life later.
    pub(crate) fn say_hello(&mut self, to: Address, context: &mut Context<'_>) {
        let hello = self.hello(context.config);
        self.unsent = send(context.out, to, HELLO, Token(0), &hello).is_err();
        if self.interval > Span::ZERO {
            self.timer = Some(context.now + self.interval);
            self.interval = Span(self.interval.0.saturating_mul(2)).min(LONGEST);
        } else if context.config.silence_limit > Span::ZERO {
            self.timer.get_or_insert(context.now + context.config.silence_limit);
        }
    }

    /// The peer has said HELLO too, and this side's counts. Another one from it has to come after, to count later.
    pub(crate) fn hear_in_passing(&mut self, hello: &Hello) {
        let kept = self.suspended.as_mut().filter(|kept| kept.stream.id == hello.resume);
        if let Some(kept) = kept.filter(|kept| kept.stream.is_later(hello)) {
            kept.stream.heard = hello.attempt;
        }
    }

    /// The link has room.
    pub(crate) fn writable(&mut self, to: Address, context: &mut Context<'_>) {
        if self.unsent {
            self.say_hello(to, context);
        }
    }

    /// Says HELLO again where it may have been lost. True if the peer has had its time and did not answer.
    pub(crate) fn wake(&mut self, to: Address, context: &mut Context<'_>) -> bool {
        if self.timer.is_none_or(|timer| timer > context.now) {
            return false;
        }
        if self.interval > Span::ZERO {
            self.say_hello(to, context);
            return false;
        }
        // Of two sides that slept together the one that wakes first must not blame the other.
        let slept = self.timer.is_some_and(|timer| context.config.overslept(timer, context.now));
        self.timer = slept.then(|| context.now + context.config.silence_limit);
        !slept
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        earlier(self.timer, self.suspended.as_ref().map(|suspended| suspended.until))
    }

    fn hello(&self, config: &SessionConfig) -> Hello {
        let stream = self.suspended.as_ref().map(|suspended| &suspended.stream);
        Hello {
            versions: config.versions,
            attempt: self.attempt,
            cluster: config.cluster,
            node: config.me.node,
            role: config.role,
            reliability: self.reliability.number(),
            incarnation: config.incarnation,
            features: config.features,
            resume: stream.map_or(0, |stream| stream.id),
            received: stream.map_or(Sequence::default(), |stream| stream.arrived(config)),
            window: self.reliability.window(),
        }
    }
}

impl Phase {
    /// Takes the session kept from an earlier link.
    pub(crate) fn take_suspended(&mut self) -> Option<Suspended> {
        self.suspended_mut().and_then(Option::take)
    }

    pub(crate) fn suspended_mut(&mut self) -> Option<&mut Option<Suspended>> {
        match self {
            Phase::Unlinked(state) => Some(&mut state.suspended),
            Phase::HelloSent(state) => Some(&mut state.suspended),
            Phase::Listening(state) => Some(&mut state.suspended),
            Phase::Live(_) | Phase::Ended(_) => None,
        }
    }

    pub(crate) fn suspended(&self) -> Option<&Suspended> {
        match self {
            Phase::Unlinked(state) => state.suspended.as_ref(),
            Phase::HelloSent(state) => state.suspended.as_ref(),
            Phase::Listening(state) => state.suspended.as_ref(),
            Phase::Live(_) | Phase::Ended(_) => None,
        }
    }

    /// The session, with or without a link.
    pub(crate) fn stream_mut(&mut self) -> Option<&mut Stream> {
        match self {
            Phase::Live(live) => Some(&mut live.stream),
            other => other.suspended_mut()?.as_mut().map(|suspended| &mut suspended.stream),
        }
    }

    /// See [`Phase::stream_mut`].
    pub(crate) fn stream(&self) -> Option<&Stream> {
        match self {
            Phase::Live(live) => Some(&live.stream),
            other => other.suspended().map(|suspended| &suspended.stream),
        }
    }
}
