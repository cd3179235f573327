//! How a link is made, and made again when it was cut.
//!
//! ```text
//!            asked for, cut           a pause is over              it is there
//!   idle   ----------------> waiting ----------------> dialling ----------------> idle
//!                               ^                          |
//!                               +--------------------------+
//!                                 nobody there, no answer in time, or of no use: a longer pause; at the end of the window it is given up
//! ```
//!
//! A window is there for those who wait. Where nobody does, and whoever asks later finds all as it was, it begins when somebody asks; at its end the tries rest until then.
//!
//! Where one service is at several places (replicas of which one leads), a try that comes to nothing is followed by one at the next place, and so is a link that ended before
//! anybody said that the calls go on over it. Their window is one, from the cut until the calls go on.
//!
//! A try ends as well when the peer has made a link in the meantime. What becomes of two links that two nodes have made at once stands in
//! `inlets/naming.rs`.

use crate::engine::{Ended, Engine};
use crate::event::Event;
use crate::poller::{Poller, Source};
use core::error::Error;
use quintet_contract::{DownCause, NodeId, Port, Random, Span, Time};
use quintet_errors::Code;
use quintet_link::{BootstrapError, Dialer, End, LinkAddress, dial};
use std::sync::Arc;
use std::time::Duration;

/// The pause after the first try that came to nothing: it failed, or its link was cut soon. Each is twice as long as the one before.
const FIRST_PAUSE: Span = Span::from_millis(5);
/// The longest pause.
const LONGEST_PAUSE: Span = Span::from_millis(500);
/// How long one try may take: somebody who takes connections and says nothing, or a machine that lets packets vanish, is tried anew.
const LONGEST_TRY: Span = Span::from_secs(10);
/// The same where there is another place to be tried.
const LONGEST_TRY_OF_SEVERAL: Span = Span::from_secs(1);
/// A link that lasts so long was worth its try, and the next one is made at once: whether its peer has ended is known by that.
const LASTING: Span = Span::from_millis(100);

/// Where a peer is reached, and for how long that is tried: at first, and again whenever its link was cut.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Redial {
    /// Where.
    pub address: LinkAddress,
    /// How long.
    pub window: Duration,
    /// Spreads the tries of many who were cut at once.
    pub seed: u64,
}

/// Says where the nodes are by now that may take each other's place; nothing, if that is not known. Asked on the thread that makes links: it must not wait for long.
pub type PlacesNow = Arc<dyn Fn() -> Vec<(NodeId, LinkAddress)> + Send + Sync>;

/// Nodes that may take a peer's place: replicas of which one leads.
#[derive(Clone, Default)]
pub struct Elsewhere {
    /// Where they are: none, if the peer is the only one.
    pub others: Vec<(NodeId, LinkAddress)>,
    /// Says after each round of tries in which none was of use where all of them are by then, if they may move.
    pub now: Option<PlacesNow>,
}

/// One peer whose link this side makes.
pub(crate) struct Dialling {
    /// Where it is tried: one, or all that may have taken its place.
    places: Vec<(NodeId, LinkAddress)>,
    /// Says after a round of tries where these are by then.
    places_now: Option<PlacesNow>,
    /// Which of them is tried, or was last.
    at: usize,
    /// Pairs of ports, this node's and the peer's.
    joined: Vec<(Port, Port)>,
    window: Duration,
    state: State,
    /// Before the next try.
    pause: Span,
    /// When a link was made again last, and how it is tried again if nothing comes over it.
    made: Option<(Time, Tries)>,
    /// Whether the peer does not let this node in, and that was told.
    is_turned_away: bool,
    random: Random,
}

enum State {
    /// There is a link, or it is not made again.
    Idle,
    /// Nobody waits for a link, and tries enough were in vain. How the last one ended.
    Resting(DownCause),
    /// Until the next try.
    Waiting { at: Time, tries: Tries },
    Dialling {
        dialer: Box<dyn Dialer>,
        /// Until when.
        until: Time,
        tries: Tries,
    },
}

/// A link that was made: with whom, and what it joins.
pub(crate) struct Made {
    pub(crate) peer: NodeId,
    pub(crate) joined: Vec<(Port, Port)>,
    pub(crate) end: End,
    /// How it is tried again if it is of no use.
    pub(crate) tries: Tries,
}

/// What a look at a try came to.
enum Tried {
    Linked(End),
    UnderWay(Box<dyn Dialer>),
}

/// How the tries since a cut go on.
#[derive(Clone, Copy)]
pub(crate) struct Tries {
    until: Time,
    /// How the link ended.
    cause: DownCause,
    /// Nobody waited so far: the window begins when somebody does.
    is_unasked: bool,
}

impl Dialling {
    /// For a peer whose link is there.
    pub(crate) fn new(peer: NodeId, joined: Vec<(Port, Port)>, redial: Redial) -> Self {
        let Redial { address, window, seed } = redial;
        let random = Random::new(seed, 0);
        let (state, pause, made, is_turned_away) = (State::Idle, Span::ZERO, None, false);
        let (places, at, places_now) = (vec![(peer, address)], 0, None);
        Dialling { places, places_now, at, joined, window, state, pause, made, is_turned_away, random }
    }

    /// The same, where other peers may take that one's place.
    pub(crate) fn among(mut self, Elsewhere { others, now }: Elsewhere) -> Self {
        self.places.extend(others);
        self.places_now = now;
        self
    }

    /// For a peer without a link.
    pub(crate) fn begin(peer: NodeId, joined: Vec<(Port, Port)>, redial: Redial, now: Time) -> Self {
        let mut dialling = Dialling::new(peer, joined, redial);
        dialling.cut(DownCause::Died, now);
        dialling
    }

    /// With whom.
    pub(crate) fn peer(&self) -> NodeId {
        self.places[self.at].0
    }

    fn is_of_several(&self) -> bool {
        self.places.len() > 1
    }

    /// A link is over: makes one again if it was to this peer, and was cut. One that this side made and over which nothing came was a try that came
    /// to nothing, however it ended: no session has told anybody of it.
    pub(crate) fn ended(&mut self, ended: Ended, is_unheard_dial: bool, now: Time) {
        if ended.peer != self.peer() {
            return;
        }
        match self.made {
            Some((_, tries)) if is_unheard_dial => self.wait_for_next(tries, now),
            // Who answered there does not lead, or did not come to serve anybody.
            Some((_, tries)) if self.is_of_several() && ended.comes_back && !ended.went_on => {
                self.wait_for_next(tries, now);
            }
            _ if ended.comes_back => {
                // What stands still takes connections, and answers nobody.
                if ended.cause == DownCause::Silent {
                    self.at = (self.at + 1) % self.places.len();
                }
                self.cut(ended.cause, now);
            }
            _ => {}
        }
    }

    /// The link was cut: at once if it lasted, later if links are cut as soon as they are made.
    pub(crate) fn cut(&mut self, cause: DownCause, now: Time) {
        if self.made.is_none_or(|(made, _)| now.since(made) >= LASTING) {
            self.pause = Span::ZERO;
        }
        let until = now + self.window.into();
        self.wait(Tries { until, cause, is_unasked: false }, now);
    }

    /// Tries again, though nobody waits, if tries rest.
    pub(crate) fn try_again(&mut self, now: Time) {
        if let State::Resting(cause) = self.state {
            self.cut(cause, now);
        }
    }

    /// Waits for the next try, at the next place. The pause is a round's: it grows when the first place is tried again.
    fn wait_for_next(&mut self, tries: Tries, now: Time) {
        self.at = (self.at + 1) % self.places.len();
        if self.at == 0 {
            let places = self.places_now.as_ref().map(|places| places()).unwrap_or_default();
            if !places.is_empty() {
                self.places = places;
            }
        }
        self.wait(tries, now);
    }

    /// Waits for the next try: between half of the pause and all of it.
    fn wait(&mut self, tries: Tries, now: Time) {
        let half = self.pause.0 / 2;
        let pause = Span(half + self.random.below(half + 1));
        if self.at == 0 {
            self.pause = Span(self.pause.0 * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE);
        }
        self.state = State::Waiting { at: (now + pause).min(tries.until), tries };
    }

    /// Whether a link is being made.
    pub(crate) fn is_under_way(&self) -> bool {
        !matches!(self.state, State::Idle | State::Resting(_))
    }

    /// When there is something to do although nothing calls.
    pub(crate) fn deadline(&self) -> Option<Time> {
        match &self.state {
            State::Idle | State::Resting(_) => None,
            State::Waiting { at, .. } => Some(*at),
            State::Dialling { until, .. } => Some(*until),
        }
    }

    /// How soon to look how it goes on, where nobody waits at the descriptors; none: nothing is tried.
    pub(crate) fn next_look(&self, now: Time) -> Option<Span> {
        match &self.state {
            State::Idle | State::Resting(_) => None,
            State::Waiting { at, .. } => Some(at.since(now)),
            State::Dialling { until, .. } => Some(until.since(now).min(FIRST_PAUSE)),
        }
    }

    /// How the tries go on, if there are any: from now on for as long as whoever waits by now may.
    fn tries(&mut self, engine: &mut Engine, now: Time) -> Option<Tries> {
        if matches!(self.state, State::Idle) {
            return None;
        }
        if self.is_of_several() {
            engine.depend_on_another(self.peer());
        }
        let is_unasked = engine.is_missed_by_nobody(self.peer());
        if !is_unasked {
            self.try_again(now);
        }
        let until = now + self.window.into();
        let (State::Waiting { tries, .. } | State::Dialling { tries, .. }) = &mut self.state else {
            return None;
        };
        if tries.is_unasked && !is_unasked {
            tries.until = until;
        }
        tries.is_unasked = is_unasked;
        Some(*tries)
    }

    /// Goes on. The link if it is there.
    pub(crate) fn advance(&mut self, engine: &mut Engine, poller: &Poller, now: Time) -> Option<Made> {
        let tries = self.tries(engine, now)?;
        if matches!(self.state, State::Waiting { at, .. } if at > now) {
            return None;
        }
        if engine.is_linked(self.peer()) {
            self.give_way(poller);
            return None;
        }
        // What a forked process says would be taken for its parent's words.
        if now >= tries.until || poller.is_inherited() {
            self.give_up(tries, engine, poller);
            return None;
        }
        if matches!(self.state, State::Dialling { until, .. } if until <= now) {
            self.give_way(poller);
            self.wait_for_next(tries, now);
            return None;
        }
        let until = match &self.state {
            State::Dialling { until, .. } => *until,
            _ if self.is_of_several() => (now + LONGEST_TRY_OF_SEVERAL).min(tries.until),
            _ => (now + LONGEST_TRY).min(tries.until),
        };
        match self.try_on(poller) {
            Ok(Tried::Linked(end)) => {
                (self.made, self.is_turned_away) = (Some((now, tries)), false);
                return Some(Made { peer: self.peer(), joined: self.joined.clone(), end, tries });
            }
            Ok(Tried::UnderWay(dialer)) => self.state = State::Dialling { dialer, until, tries },
            // Whatever was wrong may be over at the next try.
            Err(why) => {
                self.tell_why(why, engine);
                self.wait_for_next(tries, now);
            }
        }
        None
    }

    /// The window is over.
    fn give_up(&mut self, tries: Tries, engine: &mut Engine, poller: &Poller) {
        self.give_way(poller);
        match tries.is_unasked {
            true => self.state = State::Resting(tries.cause),
            false => engine.give_up(self.peer(), tries.cause),
        }
    }

    /// Tells what the try shows of the peer: once that it does not let this node in, and that nobody listens there.
    fn tell_why(&mut self, why: Box<dyn Error>, engine: &mut Engine) {
        let Ok(why) = why.downcast::<BootstrapError>() else { return };
        if let BootstrapError::NobodyListens { .. } = *why {
            engine.refused(self.peer());
        }
        let is_refusal = matches!(why.code(), Code::NotAllowed | Code::WrongCluster);
        if is_refusal && !std::mem::replace(&mut self.is_turned_away, true) {
            engine.tell(&Event::TurnedAway { peer: self.peer(), why: *why });
        }
    }

    /// Gives up the try that is under way: the peer has made a link itself, or it takes too long.
    fn give_way(&mut self, poller: &Poller) {
        if let State::Dialling { dialer, .. } = core::mem::replace(&mut self.state, State::Idle) {
            poller.forget(dialer.fd());
        }
    }

    /// Begins a try, or looks how the one under way goes on.
    fn try_on(&mut self, poller: &Poller) -> Result<Tried, Box<dyn Error>> {
        let mut dialer = match core::mem::replace(&mut self.state, State::Idle) {
            State::Dialling { dialer, .. } => {
                // The link may go on with the same descriptor.
                poller.forget(dialer.fd());
                dialer
            }
            State::Idle | State::Resting(_) | State::Waiting { .. } => dial(&self.places[self.at].1)?,
        };
        if let Some(end) = dialer.finish()? {
            return Ok(Tried::Linked(end));
        }
        poller.add(dialer.fd(), Source::Dialer)?;
        Ok(Tried::UnderWay(dialer))
    }

    /// The link that was made could not be used: tries again, within the same window.
    pub(crate) fn failed(&mut self, tries: Tries, now: Time) {
        self.wait_for_next(tries, now);
    }
}

#[cfg(test)]
mod tests;
