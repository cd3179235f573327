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

use crate::dialling::{Dialling, Redial};
use crate::engine::{Attached, Engine};
use crate::listening::Listening;
use crate::mailbox::Mailbox;
use crate::outlets::LinkId;
use crate::poller::{Poller, Source};
use quintet_clock::LiveClock;
use quintet_contract::{Frame, Input, NodeId, OwnedFrame, Port, Span, Time};
use quintet_link::{End, Listener, Patience, Receiver, Route, Sender, Waiting};
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

/// Frames taken from one link in a burst, so that one peer cannot keep the loop from the others.
const BURST: usize = 64;

/// Turns in which a link brought nothing, after which it rests. A peer that wakes it pays a system call, and so does this side.
const IDLE_TURNS: u32 = 256;

/// Under constant load, resting links and listeners are looked at every so many turns.
const TURNS_BETWEEN_LOOKS: u32 = 32;

/// Links that may wait for their first frame. Further ones wait in the system's queues.
const MAX_UNNAMED: usize = 1024;

/// How long a new link may take to bring its first frame, which names the peer.
const FIRST_FRAME_LIMIT: Span = Span::from_secs(5);

/// All receiving halves of an engine.
pub(crate) struct Inlets {
    inlets: Vec<Option<Inlet>>,
    free: Vec<u32>,
    /// Those that are looked at in every turn.
    active: Vec<u32>,
    /// Links that were accepted and whose peer was not known then, the oldest first, with the time by which it has to be.
    unnamed: VecDeque<(Time, u32)>,
    listening: Listening,
    /// A link that is made again when it was cut.
    dialling: Option<Dialling>,
    /// None: whoever drives the engine has only one link, and the system refused a descriptor.
    poller: Option<Poller>,
    mailbox: Option<Mailbox>,
    patience: Patience,
    spin: Duration,
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

/// The first frame of a link, which names its peer.
type First = (Route, OwnedFrame);

impl Inlets {
    /// For one link, without descriptors as long as it stays alone.
    pub(crate) fn new(clock: LiveClock) -> Inlets {
        Inlets {
            inlets: Vec::new(),
            free: Vec::new(),
            active: Vec::new(),
            unnamed: VecDeque::new(),
            listening: Listening::default(),
            dialling: None,
            poller: None,
            mailbox: None,
            patience: Patience::default(),
            spin: quintet_link::SPIN,
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

    /// Takes links from `listener` for the instance at `port`.
    ///
    /// # Errors
    /// The system refuses to watch it.
    pub(crate) fn listen(&mut self, listener: Box<dyn Listener>, port: Port) -> io::Result<()> {
        self.provide_poller()?;
        let poller = self.poller.as_ref().expect("it was provided in the line before");
        self.listening.add(listener, port, poller)
    }

    /// Makes the link to `peer` again when it was cut. There is at most one such peer.
    pub(crate) fn redial(&mut self, peer: NodeId, joined: Vec<(Port, Port)>, redial: Redial) {
        self.dialling = Some(Dialling::new(peer, joined, redial));
    }

    /// Joins a node by a link, and tells the instances it joins.
    ///
    /// # Errors
    /// The system refuses to watch it; then nothing was changed, and the link is closed.
    pub(crate) fn attach(
        &mut self,
        engine: &mut Engine,
        now: Time,
        peer: NodeId,
        joined: Vec<(Port, Port)>,
        mut end: End,
    ) -> io::Result<()> {
        self.set_up(&mut *end.sender, &mut *end.receiver);
        let (link, waker) = (engine.new_link(), end.receiver.waker());
        self.place(end.receiver, Peer::Known(peer, link))?;
        engine.attach(now, Attached { link, peer, joined, sender: end.sender, waker });
        Ok(())
    }

    fn set_up(&self, sender: &mut dyn Sender, receiver: &mut dyn Receiver) {
        receiver.set_spin(self.spin);
        receiver.set_clock(self.clock);
        sender.set_clock(self.clock);
    }

    /// Gives a receiving half its place.
    fn place(&mut self, receiver: Box<dyn Receiver>, peer: Peer) -> io::Result<u32> {
        let next = u32::try_from(self.inlets.len()).expect("a process has fewer descriptors than that");
        let at = self.free.last().copied().unwrap_or(next);
        if let Some(poller) = &self.poller {
            poller.add(receiver.fd(), Source::Link(at))?;
        }
        let inlet = Some(Inlet { receiver, peer, idle_turns: 0, rests: false });
        if self.free.pop().is_some() {
            self.inlets[at as usize] = inlet;
        } else {
            self.inlets.push(inlet);
        }
        self.active.push(at);
        Ok(at)
    }

    fn inlet(&mut self, at: u32) -> &mut Inlet {
        self.inlets[at as usize].as_mut().expect("a place in use")
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

    /// Takes new links, and lets those go that have said nothing for too long. False if there was nothing.
    pub(crate) fn admit(&mut self, engine: &mut Engine, now: Time) -> bool {
        self.look_if_due();
        if self.dialling.is_some() {
            self.dial(engine, now);
        }
        if self.listening.is_empty() {
            return false;
        }
        self.drop_silent(now);
        if let Some(poller) = &self.poller {
            self.listening.end_rests(now, poller);
        }
        let mut worked = false;
        while self.listening.is_called() {
            let Some(poller) = &self.poller else { break };
            if self.unnamed.len() >= MAX_UNNAMED {
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

    fn dial(&mut self, engine: &mut Engine, now: Time) {
        let (Some(dialling), Some(poller)) = (&mut self.dialling, &self.poller) else { return };
        let Some((peer, joined, end)) = dialling.advance(engine, poller, now) else { return };
        let attached = self.attach(engine, now, peer, joined, end);
        if let (Err(_), Some(dialling)) = (attached, &mut self.dialling) {
            dialling.failed(now);
        }
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
            self.remove(at);
        }
    }

    /// When there is something to do although nothing calls.
    pub(crate) fn deadline(&self) -> Option<Time> {
        let unnamed = self.unnamed.front().map(|(until, ..)| *until);
        let dialling = self.dialling.as_ref().and_then(Dialling::deadline);
        self.listening.deadline().into_iter().chain(unnamed).chain(dialling).min()
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
            if let Some(dialling) = &mut self.dialling {
                dialling.ended(ended, now);
            }
            let is_it = |inlet: &Inlet| matches!(inlet.peer, Peer::Known(_, there) if there == ended.link);
            let at = self.inlets.iter().position(|inlet| inlet.as_ref().is_some_and(is_it));
            at.and_then(|at| u32::try_from(at).ok()).and_then(|at| self.remove(at));
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
        let inlet = self.inlet(at);
        let polled = inlet.receiver.poll(BURST, &mut |route: Route, frame: Frame<'_>| {
            stray |= route.from.node != peer || route.to.node != id;
            if !stray && !engine.is_over(link) {
                engine.give(now, route.to.port, Input::Frame(route.from, frame));
            }
        });
        match polled {
            Ok(_) if stray => engine.cut(now, peer),
            Ok(0) => {
                self.brought_nothing(at);
                return false;
            }
            Ok(_) => self.brought_frames(at),
            Err(error) => engine.fail(now, peer, &error),
        }
        true
    }

    /// Looks for the frame that names the peer. A link to a node that is linked already is closed.
    fn receive_first(&mut self, at: u32, engine: &mut Engine, now: Time) -> bool {
        let mut first: Option<First> = None;
        let polled =
            self.inlet(at).receiver.poll(1, &mut |route, frame| first = Some((route, frame.to_owned())));
        match (polled, first) {
            (Ok(_), None) => {
                self.brought_nothing(at);
                return false;
            }
            (Ok(_), Some((route, frame))) if engine.may_link(route) => {
                self.name(at, route, &frame, engine, now)
            }
            _ => {
                self.unnamed.retain(|(_, unnamed)| *unnamed != at);
                self.remove(at);
            }
        }
        true
    }

    fn name(&mut self, at: u32, route: Route, frame: &OwnedFrame, engine: &mut Engine, now: Time) {
        self.unnamed.retain(|(_, unnamed)| *unnamed != at);
        let inlet = self.inlet(at);
        let (peer, link, waker) = (route.from.node, engine.new_link(), inlet.receiver.waker());
        if let Peer::Unknown { sender, port } = core::mem::replace(&mut inlet.peer, Peer::Known(peer, link)) {
            let joined = vec![(port, route.from.port)];
            engine.attach(now, Attached { link, peer, joined, sender, waker });
            engine.give(now, port, Input::Frame(route.from, frame.borrow()));
        }
    }

    #[inline]
    fn brought_frames(&mut self, at: u32) {
        let inlet = self.inlet(at);
        inlet.idle_turns = 0;
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

/// Waiting.
impl Inlets {
    /// The only link, where there is nothing else to wait for.
    fn only_link(&self) -> Option<u32> {
        let dials = self.dialling.as_ref().is_some_and(Dialling::is_under_way);
        let alone = self.inlets.len() == 1 && self.mailbox.is_none() && self.listening.is_empty() && !dials;
        (alone && self.inlets[0].is_some()).then_some(0)
    }

    /// Waits, adaptively, until something is to be done or `limit` has passed (`None`: no limit).
    ///
    /// # Errors
    /// The system refuses to wait.
    pub(crate) fn wait(&mut self, limit: Option<Duration>) -> io::Result<()> {
        if let Some(at) = self.only_link() {
            self.activate(at);
            self.inlet(at).receiver.wait(limit);
            return Ok(());
        }
        let mut patience = core::mem::take(&mut self.patience);
        let mut idle = Idle { inlets: self, woken: false, failed: None };
        patience.wait(&mut idle, limit);
        let failed = idle.failed;
        self.patience = patience;
        failed.map_or(Ok(()), Err)
    }

    /// Takes note of what calls, without waiting.
    pub(crate) fn attend(&mut self) {
        if let Some(at) = self.only_link() {
            return self.activate(at);
        }
        // It fails only where there is no such descriptor.
        let _ = self.look(Some(Duration::ZERO));
    }

    /// Lets the descriptors tell of everything that comes. False if something has come already.
    pub(crate) fn rest_all(&mut self) -> bool {
        let active = self.active.clone();
        // Every one, also after one has refused.
        active.into_iter().map(|at| self.rest(at)).fold(true, |all, rests| all & rests)
    }

    /// Whether a turn would find a frame.
    pub(crate) fn has_frames(&self) -> bool {
        self.active().any(|receiver| receiver.has_frames())
    }

    fn active(&self) -> impl Iterator<Item = &dyn Receiver> {
        let inlets = self.active.iter().filter_map(|at| self.inlets[*at as usize].as_ref());
        inlets.map(|inlet| &*inlet.receiver)
    }

    /// Under load the descriptors are looked at now and then, and in every turn while sockets are busy.
    #[inline]
    fn look_if_due(&mut self) {
        if let Some(at) = self.only_link() {
            return self.activate(at);
        }
        match self.turns_until_look.checked_sub(1) {
            Some(left) if !self.looks_at_sockets => self.turns_until_look = left,
            _ => self.attend(),
        }
    }

    fn look(&mut self, limit: Option<Duration>) -> io::Result<()> {
        self.turns_until_look = TURNS_BETWEEN_LOOKS;
        let Some(poller) = &self.poller else { return Ok(()) };
        let mut links = Vec::new();
        poller.wait(limit, |source| match source {
            Source::Link(at) => links.push(at),
            Source::Listener(at) => self.listening.called(at),
            // A turn looks into it without being told.
            Source::Mailbox | Source::Dialer => {}
        })?;
        links.into_iter().for_each(|at| self.activate(at));
        Ok(())
    }
}

/// Inlets at which there is nothing to do.
struct Idle<'a> {
    inlets: &'a mut Inlets,
    /// Whether a sleep has ended: somebody called, and only a turn shows why. A link's end is no frame.
    woken: bool,
    failed: Option<io::Error>,
}

impl Waiting for Idle<'_> {
    fn ready(&self) -> bool {
        let Inlets { mailbox, poller, looks_at_sockets, .. } = &*self.inlets;
        self.woken
            || self.failed.is_some()
            || mailbox.as_ref().is_some_and(|mailbox| mailbox.is_stopped() || mailbox.has_frames())
            || self.inlets.has_frames()
            || *looks_at_sockets && poller.as_ref().is_some_and(Poller::is_called)
    }

    fn is_near(&self) -> bool {
        self.inlets.active().any(|receiver| receiver.awaits_bulk())
    }

    /// Sleeps until a link, the mailbox, a listener or a deadline calls.
    fn sleep(&mut self, limit: Option<Duration>) {
        self.inlets.looks_at_sockets = false;
        if self.inlets.rest_all() {
            self.failed = self.inlets.look(limit).err();
        }
        self.woken = true;
    }
}

#[cfg(test)]
mod tests;
