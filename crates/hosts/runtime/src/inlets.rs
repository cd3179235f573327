//! The receiving halves of a node's links, and how whoever drives the engine waits at them.
//!
//! ```text
//!               frames came                       nothing came for a while, or the driver sleeps
//!   active: looked at in every turn  ---------------->  resting: its descriptor tells
//!                                    <----------------
//!                                      its descriptor called
//! ```
//!
//! So a turn's work grows with the links that have something to say, and an idle link costs no system call. A link at which a look
//! costs a system call (a socket) rests as soon as it is empty.

mod naming;
mod refusing;
mod waiting;

use crate::dialling::{Dialling, Made};
use crate::engine::{Attached, Engine};
use crate::listening::Listening;
use crate::mailbox::Mailbox;
use crate::outlets::LinkId;
use crate::poller::{Poller, Source};
use naming::Rival;
use quintet_clock::LiveClock;
use quintet_contract::{Frame, NodeId, Port, Time};
use quintet_link::{Burst, End, Listener, Packets, Patience, Receiver, Route, Sender};
use refusing::Naming;
pub use refusing::NamingRule;
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

/// Turns in which a link brought nothing, after which it rests. A peer that wakes it pays a system call, and so does this side.
const IDLE_TURNS: u32 = 256;

/// Under constant load, resting links and listeners are looked at every so many turns.
const TURNS_BETWEEN_LOOKS: u32 = 32;

/// All receiving halves of an engine.
pub(crate) struct Inlets {
    inlets: Vec<Option<Inlet>>,
    free: Vec<u32>,
    /// Those that are looked at in every turn.
    active: Vec<u32>,
    /// Links that were accepted and whose peer was not known then, the oldest first, with the time by which it has to be.
    unnamed: VecDeque<(Time, u32)>,
    /// Links whose node has another one, the oldest first.
    rivals: VecDeque<Rival>,
    naming: Naming,
    listening: Listening,
    /// Peers whose links this side makes, each once.
    dialling: Vec<Dialling>,
    /// None: whoever drives the engine has only one link, and the system refused a descriptor.
    poller: Option<Poller>,
    mailbox: Option<Mailbox>,
    patience: Patience,
    spin: Duration,
    packets: Packets,
    /// The node's, by which links stamp frames.
    clock: LiveClock,
    /// Whether a socket has brought something since the last sleep, so that a wait looks at the descriptors before it sleeps.
    looks_at_sockets: bool,
    turns_until_look: u32,
}

/// The receiving half of a link.
struct Inlet {
    receiver: Box<dyn Receiver>,
    peer: Peer,
    idle_turns: u32,
    rests: bool,
    /// How many of its frames are handled before those of others.
    burst: Burst,
    /// This side made the link, and nothing has come over it.
    is_unheard_dial: bool,
}

/// Who is at the other end.
enum Peer {
    Known(NodeId, LinkId),
    /// It was accepted for the instance at this port, and nothing came yet.
    Unknown {
        sender: Box<dyn Sender>,
        port: Port,
    },
}

impl Inlets {
    /// For one link, without descriptors as long as it stays alone.
    pub(crate) fn new(clock: LiveClock) -> Inlets {
        Inlets {
            inlets: Vec::new(),
            free: Vec::new(),
            active: Vec::new(),
            unnamed: VecDeque::new(),
            rivals: VecDeque::new(),
            naming: Naming::default(),
            listening: Listening::default(),
            dialling: Vec::new(),
            poller: None,
            mailbox: None,
            patience: Patience::default(),
            spin: quintet_link::SPIN,
            packets: Packets::One,
            clock,
            looks_at_sockets: false,
            turns_until_look: 0,
        }
    }

    /// For any number of links and listeners, and a mailbox.
    ///
    /// # Errors
    /// The system refuses a descriptor.
    pub(crate) fn with_mailbox(clock: LiveClock, mailbox: Mailbox) -> io::Result<Inlets> {
        let poller = Poller::new()?;
        poller.add(mailbox.fd(), Source::Mailbox)?;
        Ok(Inlets { poller: Some(poller), mailbox: Some(mailbox), ..Inlets::new(clock) })
    }

    /// Has links send frames with so many writes.
    pub(crate) fn set_packets(&mut self, packets: Packets) {
        self.packets = packets;
    }

    /// Lets waits spin so long before they sleep.
    pub(crate) fn set_spin(&mut self, spin: Duration) {
        self.spin = spin;
        self.patience = Patience::new(spin);
    }

    pub(crate) fn mailbox(&self) -> Option<&Mailbox> {
        self.mailbox.as_ref()
    }

    /// Readable while a resting link, a listener or the mailbox calls.
    ///
    /// # Errors
    /// The system refuses a descriptor.
    pub(crate) fn fd(&mut self) -> io::Result<Arc<OwnedFd>> {
        self.provide_poller().map(Poller::fd)
    }

    fn provide_poller(&mut self) -> io::Result<&Poller> {
        if self.poller.is_none() {
            let poller = Poller::new()?;
            for (at, inlet) in (0..).zip(&self.inlets) {
                inlet.iter().try_for_each(|inlet| poller.add(inlet.receiver.fd(), Source::Link(at)))?;
            }
            self.poller = Some(poller);
        }
        Ok(self.poller.as_ref().expect("it was made above"))
    }

    /// From now on this rule says who may be heard under which number.
    pub(crate) fn set_naming(&mut self, rule: NamingRule) {
        self.naming.rule = Some(rule);
    }

    /// Takes links from `listener` for the instance at `port`.
    ///
    /// # Errors
    /// The system refuses to watch it.
    pub(crate) fn listen(&mut self, listener: Box<dyn Listener>, port: Port) -> io::Result<()> {
        self.provide_poller()?;
        let poller = self.poller.as_ref().expect("it was provided in the line before");
        self.listening.add(listener, port, poller)
    }

    /// Makes a link to a peer, as was said last.
    pub(crate) fn dial(&mut self, dialling: Dialling) {
        self.leave_alone(dialling.peer());
        self.dialling.push(dialling);
    }

    /// Makes no link to a peer any more.
    pub(crate) fn leave_alone(&mut self, peer: NodeId) {
        self.dialling.retain(|dialling| dialling.peer() != peer);
    }

    /// Joins a node by a link, and tells the instances it joins. Where its receiving half is.
    ///
    /// # Errors
    /// There is a link to that node, it is this one, or the system refuses to watch the link; then nothing was changed, and the
    /// link is closed.
    pub(crate) fn attach(
        &mut self,
        engine: &mut Engine,
        now: Time,
        peer: NodeId,
        joined: Vec<(Port, Port)>,
        mut end: End,
    ) -> io::Result<u32> {
        if !engine.may_link(peer) {
            let text = format!(
                "node {} cannot take a second link to node {}: it has one, or is that node itself; end the first link, or dial another number",
                engine.id().0,
                peer.0
            );
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
        }
        self.set_up(&mut *end.sender, &mut *end.receiver);
        let (link, waker) = (engine.new_link(), end.receiver.waker());
        let place = self.place(end.receiver, Peer::Known(peer, link))?;
        engine.attach(now, Attached { link, peer, joined, sender: end.sender, waker });
        Ok(place)
    }

    fn set_up(&self, sender: &mut dyn Sender, receiver: &mut dyn Receiver) {
        receiver.set_spin(self.spin);
        receiver.set_clock(self.clock);
        sender.set_clock(self.clock);
        sender.set_packets(self.packets);
    }

    /// Gives a receiving half its place. Where the system refuses, a peer that is not known may come again.
    fn place(&mut self, receiver: Box<dyn Receiver>, mut peer: Peer) -> io::Result<u32> {
        let next = u32::try_from(self.inlets.len()).expect("a process has fewer descriptors than that");
        let at = self.free.last().copied().unwrap_or(next);
        let watched =
            self.poller.as_ref().map_or(Ok(()), |poller| poller.add(receiver.fd(), Source::Link(at)));
        if let (Err(_), Peer::Unknown { sender, .. }) = (&watched, &mut peer) {
            sender.abandon();
        }
        watched?;
        let burst = Burst::default();
        let inlet =
            Some(Inlet { receiver, peer, idle_turns: 0, rests: false, burst, is_unheard_dial: false });
        if self.free.pop().is_some() {
            self.inlets[at as usize] = inlet;
        } else {
            self.inlets.push(inlet);
        }
        self.active.push(at);
        Ok(at)
    }

    /// How many links there are, whoever is at their other ends.
    #[cfg(test)]
    pub(crate) fn links(&self) -> usize {
        self.inlets.iter().flatten().count()
    }

    fn inlet(&mut self, at: u32) -> &mut Inlet {
        self.inlets[at as usize].as_mut().expect("a place in use")
    }

    /// Has the descriptor of a link tell nothing.
    fn unwatch(&mut self, at: u32) {
        if let (Some(poller), Some(Some(inlet))) = (&self.poller, self.inlets.get(at as usize)) {
            poller.forget(inlet.receiver.fd());
        }
    }

    /// Ends what [`Inlets::unwatch`] began. False if the system refuses.
    fn watch(&mut self, at: u32) -> bool {
        let (Some(poller), Some(Some(inlet))) = (&self.poller, self.inlets.get(at as usize)) else {
            return true;
        };
        poller.add(inlet.receiver.fd(), Source::Link(at)).is_ok()
    }

    /// Takes a receiving half out, which closes it.
    fn remove(&mut self, at: u32) -> Option<Inlet> {
        let inlet = self.inlets.get_mut(at as usize)?.take()?;
        if let Some(poller) = &self.poller {
            poller.forget(inlet.receiver.fd());
        }
        self.active.retain(|active| *active != at);
        self.free.push(at);
        Some(inlet)
    }

    /// When there is something to do although nothing calls.
    pub(crate) fn deadline(&self) -> Option<Time> {
        let dialling = self.dialling.iter().filter_map(Dialling::deadline);
        self.listening.deadline().into_iter().chain(self.naming_deadline()).chain(dialling).min()
    }

    /// Tries again to reach those for whom tries rest, though nobody waits.
    pub(crate) fn try_again(&mut self, now: Time) {
        self.dialling.iter_mut().for_each(|dialling| dialling.try_again(now));
    }

    /// How soon to look how it goes on with the links that are being made, where nobody waits at the descriptors; none: none is.
    pub(crate) fn next_look(&self, now: Time) -> Option<Duration> {
        self.dialling.iter().filter_map(|dialling| dialling.next_look(now)).min().map(Duration::from)
    }

    fn go_on_dialling(&mut self, engine: &mut Engine, now: Time) {
        if engine.is_closed() {
            self.dialling.clear();
        }
        for at in 0..self.dialling.len() {
            let Some(poller) = &self.poller else { return };
            let Some(made) = self.dialling[at].advance(engine, poller, now) else { continue };
            let Made { peer, joined, mut end, tries } = made;
            if self.naming.refuses(peer, &end.sender.info(), true, engine, now) {
                end.sender.refuse();
                self.dialling[at].failed(tries, now);
                continue;
            }
            match self.attach(engine, now, peer, joined, end) {
                Ok(place) => self.inlet(place).is_unheard_dial = true,
                Err(_) => self.dialling[at].failed(tries, now),
            }
        }
    }

    /// Takes a burst from each active link. False if there was nothing.
    pub(crate) fn receive(&mut self, engine: &mut Engine, now: Time) -> bool {
        self.drop_ended(engine, now);
        let mut worked = false;
        let mut next = 0;
        while let Some(at) = self.active.get(next).copied() {
            worked |= self.receive_from(at, engine, now);
            // Otherwise another one has taken its place.
            next += usize::from(self.active.get(next) == Some(&at));
        }
        self.drop_ended(engine, now);
        worked
    }

    fn drop_ended(&mut self, engine: &mut Engine, now: Time) {
        for ended in engine.ended_links() {
            let is_it = |inlet: &Inlet| matches!(inlet.peer, Peer::Known(_, there) if there == ended.link);
            let at = self.inlets.iter().position(|inlet| inlet.as_ref().is_some_and(is_it));
            let inlet = at.and_then(|at| u32::try_from(at).ok()).and_then(|at| self.remove(at));
            let is_unheard_dial = inlet.is_some_and(|inlet| inlet.is_unheard_dial);
            self.dialling.iter_mut().for_each(|dialling| dialling.ended(ended, is_unheard_dial, now));
        }
    }

    fn receive_from(&mut self, at: u32, engine: &mut Engine, now: Time) -> bool {
        match self.inlet(at).peer {
            Peer::Known(peer, link) => self.receive_burst(at, peer, link, engine, now),
            Peer::Unknown { .. } => self.receive_first(at, engine, now),
        }
    }

    fn receive_burst(&mut self, at: u32, peer: NodeId, link: LinkId, engine: &mut Engine, now: Time) -> bool {
        // A frame that names other nodes than the two: no honest peer sends it.
        let (mut stray, id) = (false, engine.id());
        let is_alone = self.active.len() == 1;
        let inlet = self.inlet(at);
        let frames = inlet.burst.frames();
        let polled = inlet.receiver.poll(frames, &mut |route: Route, frame: Frame<'_>| {
            stray |= route.from.node != peer || route.to.node != id;
            if !stray && !engine.is_over(link) {
                engine.give_frame(now, route.to.port, route.from, frame);
            }
        });
        // One peer is not to keep the loop from others, and where looking is free there is nothing to be saved.
        let may_grow = is_alone && !inlet.receiver.is_free_to_look_at();
        let goes_on = may_grow && polled == Ok(frames) && inlet.receiver.has_frames();
        inlet.burst.ended(goes_on);
        match polled {
            Ok(_) if stray => engine.cut(now, (peer, link)),
            Ok(0) => {
                self.brought_nothing(at);
                return false;
            }
            Ok(_) => self.brought_frames(at),
            Err(error) => engine.fail(now, (peer, link), &error),
        }
        true
    }

    #[inline]
    fn brought_frames(&mut self, at: u32) {
        let inlet = self.inlet(at);
        (inlet.idle_turns, inlet.is_unheard_dial) = (0, false);
        if !inlet.receiver.is_free_to_look_at() {
            let is_empty = !inlet.receiver.has_frames();
            self.looks_at_sockets = true;
            if is_empty && self.only_link().is_none() {
                self.rest(at);
            }
        }
    }

    #[inline]
    fn brought_nothing(&mut self, at: u32) {
        let inlet = self.inlet(at);
        inlet.idle_turns = inlet.idle_turns.saturating_add(1);
        let rests = inlet.idle_turns > IDLE_TURNS || !inlet.receiver.is_free_to_look_at();
        if rests && !inlet.receiver.awaits_bulk() && self.only_link().is_none() {
            self.rest(at);
        }
    }

    /// Lets a link's descriptor tell of its next frame. False if there is one already.
    fn rest(&mut self, at: u32) -> bool {
        if self.poller.is_none() {
            return true;
        }
        let inlet = self.inlet(at);
        if !inlet.receiver.arm() {
            inlet.receiver.disarm();
            return false;
        }
        inlet.rests = true;
        self.active.retain(|active| *active != at);
        true
    }

    /// Looks at a link in every turn from now on.
    fn activate(&mut self, at: u32) {
        let Some(inlet) = self.inlets.get_mut(at as usize).and_then(Option::as_mut) else { return };
        if core::mem::take(&mut inlet.rests) {
            inlet.idle_turns = 0;
            inlet.receiver.disarm();
            self.active.push(at);
        }
    }
}

#[cfg(test)]
mod tests;
