//! How a link is made again that was cut.
//!
//! ```text
//!                cut                  a pause is over              it is there
//!   linked ----------------> waiting ----------------> dialling ----------------> linked
//!                               ^                          |
//!                               +--------------------------+
//!                                 nobody there: a longer pause; at the end of the window it is given up
//! ```

use crate::engine::{Ended, Engine};
use crate::failure::is_cut;
use crate::poller::{Poller, Source};
use core::error::Error;
use quintet_contract::{DownCause, NodeId, Port, Span, Time};
use quintet_link::{Dialer, End, LinkAddress, dial};
use std::time::Duration;

/// The pause after the first try that failed. Each is twice as long as the one before.
const FIRST_PAUSE: Span = Span::from_millis(5);
/// The longest pause.
const LONGEST_PAUSE: Span = Span::from_millis(500);

/// Where a peer is reached again when its link was cut, and for how long that is tried.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Redial {
    /// Where.
    pub address: LinkAddress,
    /// How long.
    pub window: Duration,
}

/// One peer whose link is made again.
pub(crate) struct Dialling {
    peer: NodeId,
    /// Pairs of ports, this node's and the peer's.
    joined: Vec<(Port, Port)>,
    redial: Redial,
    state: State,
}

enum State {
    /// There is a link, or it is not made again.
    Idle,
    /// Until the next try.
    Waiting {
        at: Time,
        tries: Tries,
    },
    Dialling {
        dialer: Box<dyn Dialer>,
        tries: Tries,
    },
}

/// A link that was made again: with whom, and what it joins.
pub(crate) struct Made {
    pub(crate) peer: NodeId,
    pub(crate) joined: Vec<(Port, Port)>,
    pub(crate) end: End,
}

/// What a look at a try came to.
enum Tried {
    Linked(End),
    UnderWay(Box<dyn Dialer>),
}

/// How the tries since a cut go on.
#[derive(Clone, Copy)]
struct Tries {
    pause: Span,
    until: Time,
    /// How the link ended.
    cause: DownCause,
}

impl Dialling {
    pub(crate) fn new(peer: NodeId, joined: Vec<(Port, Port)>, redial: Redial) -> Self {
        Dialling { peer, joined, redial, state: State::Idle }
    }

    /// A link is over: makes it again if it was this one, and was cut.
    pub(crate) fn ended(&mut self, ended: Ended, now: Time) {
        if ended.peer == self.peer && is_cut(ended.cause) {
            let until = now + self.redial.window.into();
            let tries = Tries { pause: FIRST_PAUSE, until, cause: ended.cause };
            self.state = State::Waiting { at: now, tries };
        }
    }

    /// Whether a link is being made.
    pub(crate) fn is_under_way(&self) -> bool {
        !matches!(self.state, State::Idle)
    }

    /// When there is something to do although nothing calls.
    pub(crate) fn deadline(&self) -> Option<Time> {
        match &self.state {
            State::Idle => None,
            State::Waiting { at, .. } => Some(*at),
            State::Dialling { tries, .. } => Some(tries.until),
        }
    }

    /// Goes on. The link if it is there.
    pub(crate) fn advance(&mut self, engine: &mut Engine, poller: &Poller, now: Time) -> Option<Made> {
        let tries = match &self.state {
            State::Idle => return None,
            State::Waiting { at, .. } if *at > now => return None,
            State::Waiting { tries, .. } | State::Dialling { tries, .. } => *tries,
        };
        // What a forked process says would be taken for its parent's words.
        if now >= tries.until || poller.is_inherited() {
            self.state = State::Idle;
            engine.give_up(self.peer, tries.cause);
            return None;
        }
        match self.try_on(poller) {
            Ok(Tried::Linked(end)) => {
                return Some(Made { peer: self.peer, joined: self.joined.clone(), end });
            }
            Ok(Tried::UnderWay(dialer)) => self.state = State::Dialling { dialer, tries },
            // Whatever was wrong may be over at the next try.
            Err(_) => self.state = pause(now, tries),
        }
        None
    }

    /// Begins a try, or looks how the one under way goes on.
    fn try_on(&mut self, poller: &Poller) -> Result<Tried, Box<dyn Error>> {
        let mut dialer = match core::mem::replace(&mut self.state, State::Idle) {
            State::Dialling { dialer, .. } => {
                // The link may go on with the same descriptor.
                poller.forget(dialer.fd());
                dialer
            }
            State::Idle | State::Waiting { .. } => dial(&self.redial.address)?,
        };
        if let Some(end) = dialer.finish()? {
            return Ok(Tried::Linked(end));
        }
        poller.add(dialer.fd(), Source::Dialer)?;
        Ok(Tried::UnderWay(dialer))
    }

    /// The link could not be used: tries again.
    pub(crate) fn failed(&mut self, now: Time) {
        let until = now + self.redial.window.into();
        self.state = pause(now, Tries { pause: FIRST_PAUSE, until, cause: DownCause::Died });
    }
}

fn pause(now: Time, tries: Tries) -> State {
    let next = Tries { pause: Span(tries.pause.0 * 2).min(LONGEST_PAUSE), ..tries };
    State::Waiting { at: (now + tries.pause).min(tries.until), tries: next }
}
