//! From a new link to the peer that it leads to.
//!
//! ```text
//!   accepted ---> unnamed ---- first frame: its node has no link ------------------------> joined
//!                    |                                                                       ^
//!                    |  first frame: it resumes a session over a link that may have been cut: that link ends        |
//!                    +-----------------------------------------------------------------------+
//!                    |  first frame: its node has a link that may have been cut              | that link has ended
//!                    +---------------------------------------------------------> rival ------+
//!                    |                                                             |
//!                    v  nothing said for too long                                  v  that link lives: ended as if it were cut
//!                       the rule of names refuses it (`refusing.rs`): ended, and told so
//! ```
//!
//! A peer whose link was cut may be back before this side has seen the cut, which it may never see. Who shows that it goes on with
//! the session of the old link takes its place at once. Any other new link waits until the old one has ended: but for the case below
//! nobody is put out for it, for a node's number proves nothing.
//!
//! # Two nodes that dial each other at once
//!
//! Each then has a link of its own making, over which nothing has come, when the first frame over the other's names the peer. **The
//! link that the node with the lower number dialled stays**: the higher one ends its own and takes the other in its place; the
//! lower one lets what it accepted wait, as above, until the peer closes it. Once something has come over a link the peer uses it, and the
//! rule is that of cuts. Both sides see the same sooner or later, whichever frame comes first: a node uses a link that it accepted only
//! where it has none, or by this rule. For it the lower node has to speak first over what it dials, as who says HELLO does.
//! A session that is kept from an earlier link goes on over the one that stays.

use super::{Inlet, Inlets, Peer};
use crate::engine::{Attached, Engine};
use quintet_contract::{Address, NodeId, OwnedFrame, Port, Span, Time};
use quintet_link::{End, Route};

/// Links that may wait for their first frame. Further ones wait in the system's queues.
const MAX_UNNAMED: usize = 1024;

/// How long a new link may take to bring its first frame, which names the peer.
const FIRST_FRAME_LIMIT: Span = Span::from_secs(5);

/// How long a link waits for the end of another one that its node has. Who was cut and is still thought to live tries again.
const RIVAL_LIMIT: Span = Span::from_secs(1);

/// The first frame of a link, which names its peer.
pub(super) type First = (Route, OwnedFrame);

/// A link whose node has another one.
pub(super) struct Rival {
    pub(super) until: Time,
    pub(super) at: u32,
    first: First,
}

impl Inlets {
    /// Takes new links, and lets those go that have said nothing for too long. False if there was nothing.
    pub(crate) fn admit(&mut self, engine: &mut Engine, now: Time) -> bool {
        self.look_if_due();
        if !self.dialling.is_empty() {
            self.go_on_dialling(engine, now);
        }
        if self.listening.is_empty() {
            return false;
        }
        self.drop_silent(now);
        self.settle_rivals(engine, now);
        if let Some(poller) = &self.poller {
            self.listening.end_rests(now, poller);
        }
        self.accept(engine, now)
    }

    fn accept(&mut self, engine: &mut Engine, now: Time) -> bool {
        let mut worked = false;
        while self.listening.is_called() {
            let Some(poller) = &self.poller else { break };
            if self.unnamed.len() + self.rivals.len() >= MAX_UNNAMED {
                self.listening.rest(now, poller);
                break;
            }
            let Some((end, port)) = self.listening.accept(now, poller, &mut |event| engine.tell(event))
            else {
                break;
            };
            self.wait_for_name(end, port, now);
            worked = true;
        }
        worked
    }

    fn wait_for_name(&mut self, mut end: End, port: Port, now: Time) {
        self.set_up(&mut *end.sender, &mut *end.receiver);
        // Where the system refuses to watch it, the peer learns of the end and tries again.
        if let Ok(at) = self.place(end.receiver, Peer::Unknown { sender: end.sender, port }) {
            self.unnamed.push_back((now + FIRST_FRAME_LIMIT, at));
        }
    }

    /// Lets those links go whose peer has not named itself in time.
    fn drop_silent(&mut self, now: Time) {
        while let Some((_, at)) = self.unnamed.front().copied().filter(|(until, _)| *until <= now) {
            self.unnamed.pop_front();
            self.cut(at);
        }
    }

    /// Ends a link as if it were cut: nobody has broken with who is at its other end, and it may come again.
    fn cut(&mut self, at: u32) {
        if let Some(Peer::Unknown { mut sender, .. }) = self.remove(at).map(|inlet| inlet.peer) {
            sender.abandon();
        }
    }

    /// When a link is to be let go although nothing calls.
    pub(super) fn naming_deadline(&self) -> Option<Time> {
        let unnamed = self.unnamed.front().map(|(until, _)| *until);
        self.rivals.front().map(|rival| rival.until).into_iter().chain(unnamed).min()
    }

    /// Looks for the frame that names the peer.
    pub(super) fn receive_first(&mut self, at: u32, engine: &mut Engine, now: Time) -> bool {
        let mut first: Option<First> = None;
        let deliver =
            &mut |route, frame: quintet_contract::Frame<'_>| first = Some((route, frame.to_owned()));
        match (self.inlet(at).receiver.poll(1, deliver), first) {
            (Ok(_), None) => {
                self.brought_nothing(at);
                return false;
            }
            (Ok(_), Some(first)) => self.consider(at, first, engine, now),
            (Err(why), _) => {
                self.naming.ended_unnamed(&why, engine, now);
                self.turn_away(at);
            }
        }
        true
    }

    /// Joins the link with its node; or lets it wait, or closes it, where that has another one.
    fn consider(&mut self, at: u32, first: First, engine: &mut Engine, now: Time) {
        let peer = first.0.from.node;
        if !self.is_first_word(at, &first, engine) {
            return self.turn_away(at);
        }
        if self.is_misnamed(at, peer, engine, now) {
            return self.refuse(at);
        }
        if self.resumes(at, &first, engine) || self.gives_way(peer, engine) {
            engine.give_way(now, peer);
        }
        if engine.may_link(peer) {
            self.name(at, &first, engine, now);
        } else if engine.may_have_been_cut(peer) {
            self.unnamed.retain(|(_, unnamed)| *unnamed != at);
            // Not looked at, and not listened to: what it says next is for the session that may go on over it.
            self.active.retain(|active| *active != at);
            self.unwatch(at);
            self.rivals.push_back(Rival { until: now + RIVAL_LIMIT, at, first });
        } else {
            self.turn_away(at);
        }
    }

    /// Whether a link's first frame is for the instance that it was accepted for, and a word without large data. No honest peer says
    /// anything else; and a frame that waits is kept.
    fn is_first_word(&mut self, at: u32, (route, frame): &First, engine: &Engine) -> bool {
        let Peer::Unknown { port, .. } = self.inlet(at).peer else { return false };
        route.to == Address { node: engine.id(), port } && frame.bulk.is_empty()
    }

    /// Whether the program's rule says that who is at the other end of a link may not be heard as that node.
    fn is_misnamed(&mut self, at: u32, peer: NodeId, engine: &mut Engine, now: Time) -> bool {
        let Peer::Unknown { sender, .. } = &self.inlet(at).peer else { return false };
        let link = sender.info();
        self.naming.refuses(peer, &link, false, engine, now)
    }

    /// Ends a link, and tells the peer that it is not let in.
    fn refuse(&mut self, at: u32) {
        self.unnamed.retain(|(_, unnamed)| *unnamed != at);
        if let Some(Peer::Unknown { mut sender, .. }) = self.remove(at).map(|inlet| inlet.peer) {
            sender.refuse();
        }
    }

    /// Whether the link's first frame goes on with the session of another link, which may have been cut.
    fn resumes(&mut self, at: u32, first: &First, engine: &mut Engine) -> bool {
        let (Route { from, .. }, frame) = first;
        let Peer::Unknown { port, .. } = self.inlet(at).peer else { return false };
        engine.may_have_been_cut(from.node) && engine.is_resumed_by(port, *from, frame.borrow())
    }

    /// Whether this side's link to a node gives way to the one that it has dialled at the same time.
    fn gives_way(&self, peer: NodeId, engine: &Engine) -> bool {
        let is_unheard = |inlet: &Inlet| {
            let lives = matches!(inlet.peer, Peer::Known(to, link) if to == peer && !engine.is_over(link));
            lives && inlet.is_unheard_dial
        };
        peer < engine.id() && self.inlets.iter().flatten().any(is_unheard)
    }

    fn turn_away(&mut self, at: u32) {
        self.unnamed.retain(|(_, unnamed)| *unnamed != at);
        self.remove(at);
    }

    /// Joins the rivals of links that have ended; ends those that have waited for too long.
    fn settle_rivals(&mut self, engine: &mut Engine, now: Time) {
        for _ in 0..self.rivals.len() {
            let Some(rival) = self.rivals.pop_front() else { return };
            if engine.may_link(rival.first.0.from.node) && self.watch(rival.at) {
                self.active.push(rival.at);
                self.name(rival.at, &rival.first, engine, now);
            } else if rival.until > now {
                self.rivals.push_back(rival);
            } else {
                self.cut(rival.at);
            }
        }
    }

    fn name(&mut self, at: u32, first: &First, engine: &mut Engine, now: Time) {
        let (route, frame) = first;
        self.unnamed.retain(|(_, unnamed)| *unnamed != at);
        let inlet = self.inlet(at);
        let (peer, link, waker) = (route.from.node, engine.new_link(), inlet.receiver.waker());
        if let Peer::Unknown { sender, port } = core::mem::replace(&mut inlet.peer, Peer::Known(peer, link)) {
            let joined = vec![(port, route.from.port)];
            engine.attach(now, Attached { link, peer, joined, sender, waker });
            engine.give_frame(now, port, route.from, frame.borrow());
        }
    }
}
