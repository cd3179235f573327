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
use quintet_contract::{DownCause, NodeId, Port, Random, Span, Time};
use quintet_link::{Dialer, End, LinkAddress, dial};
use std::time::Duration;

/// The pause after the first try that came to nothing: it failed, or its link was cut soon. Each is twice as long as the one before.
const FIRST_PAUSE: Span = Span::from_millis(5);
/// The longest pause.
const LONGEST_PAUSE: Span = Span::from_millis(500);
/// A link that lasts so long was worth its try, and the next one is made at once.
const LASTING: Span = Span::from_secs(1);

/// Where a peer is reached again when its link was cut, and for how long that is tried.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Redial {
    /// Where.
    pub address: LinkAddress,
    /// How long.
    pub window: Duration,
    /// Spreads the tries of many who were cut at once.
    pub seed: u64,
}

/// One peer whose link is made again.
pub(crate) struct Dialling {
    peer: NodeId,
    /// Pairs of ports, this node's and the peer's.
    joined: Vec<(Port, Port)>,
    redial: Redial,
    state: State,
    /// Before the next try.
    pause: Span,
    /// When a link was made again last.
    made: Option<Time>,
    random: Random,
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
    until: Time,
    /// How the link ended.
    cause: DownCause,
}

impl Dialling {
    pub(crate) fn new(peer: NodeId, joined: Vec<(Port, Port)>, redial: Redial) -> Self {
        let random = Random::new(redial.seed, 0);
        Dialling { peer, joined, redial, state: State::Idle, pause: Span::ZERO, made: None, random }
    }

    /// A link is over: makes it again if it was this one, and was cut.
    pub(crate) fn ended(&mut self, ended: Ended, now: Time) {
        if ended.peer == self.peer && is_cut(ended.cause) {
            self.cut(ended.cause, now);
        }
    }

    /// The link was cut: at once if it lasted, later if links are cut as soon as they are made.
    pub(crate) fn cut(&mut self, cause: DownCause, now: Time) {
        if self.made.is_none_or(|made| now.since(made) >= LASTING) {
            self.pause = Span::ZERO;
        }
        let until = now + self.redial.window.into();
        self.wait(Tries { until, cause }, now);
    }

    /// Waits for the next try: between half of the pause and all of it.
    fn wait(&mut self, tries: Tries, now: Time) {
        let half = self.pause.0 / 2;
        let pause = Span(half + self.random.below(half + 1));
        self.pause = Span(self.pause.0 * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE);
        self.state = State::Waiting { at: (now + pause).min(tries.until), tries };
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
                self.made = Some(now);
                return Some(Made { peer: self.peer, joined: self.joined.clone(), end });
            }
            Ok(Tried::UnderWay(dialer)) => self.state = State::Dialling { dialer, tries },
            // Whatever was wrong may be over at the next try.
            Err(_) => self.wait(tries, now),
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
        self.wait(Tries { until, cause: DownCause::Died }, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::services::RunningServices;
    use crate::slots::Slots;

    const WINDOW: Duration = Duration::from_secs(30);

    fn dialling(seed: u64) -> Dialling {
        let redial = Redial { address: LinkAddress::Unix("/nowhere".into()), window: WINDOW, seed };
        Dialling::new(NodeId(1), Vec::new(), redial)
    }

    /// How long it waits after each of so many cuts of links that lasted so long.
    fn pauses(dialling: &mut Dialling, cuts: usize, lasted: Span) -> Vec<Span> {
        let mut now = Time::ZERO;
        (0..cuts)
            .map(|_| {
                dialling.made = Some(now);
                let cut = now + lasted;
                dialling.cut(DownCause::Died, cut);
                now = dialling.deadline().expect("it is tried again");
                now.since(cut)
            })
            .collect()
    }

    #[test]
    fn links_that_are_cut_at_once_are_made_again_ever_later_and_one_that_lasted_at_once() {
        let mut tried = dialling(7);
        let seen = pauses(&mut tried, 12, Span::ZERO);
        assert_eq!(seen[0], Span::ZERO, "the first one goes at once");
        for (doublings, pause) in seen[1..].iter().enumerate() {
            let whole = Span(FIRST_PAUSE.0 << doublings).min(LONGEST_PAUSE);
            assert!(*pause >= Span(whole.0 / 2) && *pause <= whole, "{seen:?}");
        }
        assert_eq!(pauses(&mut tried, 3, LASTING), [Span::ZERO; 3]);
    }

    #[test]
    fn who_were_cut_together_do_not_come_together() {
        let seen = |seed| pauses(&mut dialling(seed), 8, Span::ZERO);
        assert_eq!(seen(1), seen(1), "from the seed");
        assert_ne!(seen(1)[2..], seen(2)[2..]);
    }

    /// The session and its numbers are the parent's: what a child said over a link of its own would be taken for the parent's words.
    #[test]
    fn a_forked_process_makes_no_link_again() {
        let folder = quintet_testbed::TempDir::new().expect("a temporary directory");
        let address = LinkAddress::Unix(folder.join("socket"));
        let mut listener = quintet_link::listen(&address).expect("the folder is there");
        let mut engine = Engine::new(NodeId(2), Some(Slots::default()), RunningServices::default());
        engine.depend_on(NodeId(1), true);
        let redial = Redial { address, window: WINDOW, seed: 1 };
        let (parents, own) = (Poller::inherited(), Poller::new().expect("an epoll descriptor is there"));
        for (poller, dials) in [(&parents, false), (&own, true)] {
            let mut dialling = Dialling::new(NodeId(1), Vec::new(), redial.clone());
            dialling.cut(DownCause::Died, Time::ZERO);
            assert!(dialling.advance(&mut engine, poller, Time::ZERO).is_none(), "nobody has answered");
            assert_eq!(dialling.is_under_way(), dials);
            assert_eq!(listener.accept().expect("nothing is wrong").is_some(), dials);
        }
    }

    #[test]
    fn no_pause_is_longer_than_the_window() {
        let mut tried = dialling(1);
        tried.redial.window = Duration::from_millis(20);
        assert!(pauses(&mut tried, 12, Span::ZERO).into_iter().all(|pause| pause <= Span::from_millis(20)));
    }
}
