//! What a node is, written once: instances by port, links by node, the host's services, the callers' slots.
//!
//! ```text
//!   turn(now):   admit new links · mail from other threads · a burst of each link that has frames · tell who may send again
//!                · wake who is due · close what is to be closed · flush
//! ```
//!
//! It has two drivers. [`Calls`](crate::Calls): whoever calls takes the lock, hands the engine its request, and takes turns until
//! the answer is there. [`Node`](crate::Node): one thread takes turns for ever. The receiving halves of the links stand apart, in
//! [`Inlets`], so that one thread may wait at them while others use the engine.

mod closing;
mod ended;
mod link_news;

use crate::calls::CallError;
use crate::event::{Event, EventSink, log_link_made};
use crate::inlets::Inlets;
use crate::instance::Instance;
use crate::mailbox::{LocalFrame, Mailbox};
use crate::measuring::Counts;
use crate::outbox::{EngineOutbox, Ways};
use crate::outlets::{LinkId, Outlet, Outlets};
use crate::request::{Request, RequestBuffer};
use crate::services::RunningServices;
use crate::slots::Slots;
use link_news::LinkNewsDesk;
use quintet_clock::LiveClock;
use quintet_contract::{
    Address, Disconnect, DownCause, Frame, Incarnation, Input, NodeId, PeerChange, Port, Time, Token,
};
use quintet_errors::Code;
use quintet_link::Sender;
use quintet_wire::registry::PORT_CALLERS;
use std::collections::VecDeque;
use std::sync::Arc;

/// The host does not know which life of its node a link leads to; the session's handshake tells.
const UNTOLD: Incarnation = Incarnation(0);

/// The part of a node that its protocols see and use.
pub(crate) struct Engine {
    id: NodeId,
    instances: Vec<(Port, Instance)>,
    ways: Ways,
    /// Links that are over, while their receiving halves are still there.
    over: Vec<Ended>,
    links_made: u64,
    /// The time of the latest input.
    latest: Time,
    /// Where a caller's request is encoded.
    request: RequestBuffer,
    /// The node without which callers get no answers, if there is one.
    depends_on: Option<Dependence>,
    /// How a link failed, in words: the last that did.
    lost: Option<String>,
    /// Whether the program closed it. Nothing is asked any more.
    is_closed: bool,
    /// Who takes events; without, they go to `tracing`.
    events: Option<EventSink>,
    counts: Counts,
    link_news: LinkNewsDesk,
}

/// A link that is over.
#[derive(Clone, Copy)]
pub(crate) struct Ended {
    pub(crate) link: LinkId,
    pub(crate) peer: NodeId,
    pub(crate) cause: DownCause,
    /// Whether who dials the peer makes another one.
    pub(crate) comes_back: bool,
    /// Whether somebody has said over it that the calls go on.
    pub(crate) went_on: bool,
}

/// On whom the callers of a node depend.
#[derive(Clone, Copy)]
struct Dependence {
    peer: NodeId,
    /// Which links to it are made again.
    redials: Redials,
    /// How the last link to it ended.
    ended: Option<DownCause>,
}

/// Which links are made again to the peer on whom callers depend.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Redials {
    /// None, or none any more.
    Never,
    /// Those that ended while the calls of this node go on.
    WhereCallsGoOn,
    /// Those as well that were cut.
    WhenCut,
    /// Where another peer may take its place: all, while the calls of this node go on.
    ElsewhereToo,
}

/// A new link's sending half, and what it joins.
pub(crate) struct Attached {
    pub(crate) link: LinkId,
    pub(crate) peer: NodeId,
    /// Pairs of ports, this node's and the peer's.
    pub(crate) joined: Vec<(Port, Port)>,
    pub(crate) sender: Box<dyn Sender>,
    /// Ends the sleep of the thread that waits at the receiving half.
    pub(crate) waker: Arc<dyn Fn() + Send + Sync>,
}

impl Engine {
    /// A node without instances and links. `slots`: where the answers to this process's threads wait, if they call it.
    pub(crate) fn new(id: NodeId, slots: Option<Slots>, services: RunningServices) -> Self {
        let ways = Ways {
            outlets: Outlets::default(),
            closing: Vec::new(),
            services,
            local: VecDeque::new(),
            slots,
            calls_go_on: false,
            went_on: false,
            answer: Vec::new(),
        };
        Engine {
            id,
            instances: Vec::new(),
            ways,
            over: Vec::new(),
            links_made: 0,
            latest: Time::ZERO,
            request: RequestBuffer::default(),
            depends_on: None,
            lost: None,
            is_closed: false,
            events: None,
            counts: Counts::default(),
            link_news: LinkNewsDesk::default(),
        }
    }

    pub(crate) fn id(&self) -> NodeId {
        self.id
    }

    pub(crate) fn set_events(&mut self, sink: EventSink) {
        self.events = Some(sink);
    }

    pub(crate) fn tell(&mut self, event: &Event) {
        match event {
            Event::LinkFailed { .. } => self.counts.links_failed += 1,
            Event::NotConnected { before, .. }
            | Event::NameRefused { before, .. }
            | Event::RefusedByDialler { before } => self.counts.connections_failed += 1 + before,
            Event::TurnedAway { .. } => self.counts.connections_failed += 1,
            Event::NotReached { .. }
            | Event::NoNewLinks { .. }
            | Event::DiskFull { .. }
            | Event::DiskHasRoom { .. } => {}
        }
        match &self.events {
            Some(sink) => sink(event),
            None => event.log(self.id),
        }
    }

    pub(crate) fn outlets(&self) -> &Outlets {
        &self.ways.outlets
    }

    pub(crate) fn instances(&self) -> impl Iterator<Item = &Instance> {
        self.instances.iter().map(|(_, instance)| instance)
    }

    pub(crate) fn links_made(&self) -> u64 {
        self.links_made
    }

    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    /// Places a protocol and starts it.
    pub(crate) fn add(&mut self, now: Time, port: Port, instance: Instance) {
        self.instances.retain(|(at, _)| *at != port);
        self.instances.push((port, instance));
        self.give(now, port, Input::Started);
    }

    /// Does what is there to do. False if there was nothing.
    pub(crate) fn turn(&mut self, inlets: &mut Inlets, now: Time) -> bool {
        let mut worked = inlets.admit(self, now);
        worked |= self.take_mail(inlets.mailbox(), now);
        worked |= inlets.receive(self, now);
        worked |= self.report_room(now);
        worked |= self.wake(now);
        worked |= self.end_step(now);
        worked |= self.take_late_mail(inlets.mailbox(), now);
        self.flush(|| now);
        // What was lost in the flush may have had others closed: see to them before the next sleep.
        worked || !self.ways.closing.is_empty()
    }

    /// When an instance wants to be woken.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.instances.iter().filter_map(|(_, instance)| instance.deadline()).min()
    }

    /// Gives an instance one input.
    #[inline]
    pub(crate) fn give(&mut self, now: Time, port: Port, input: Input<'_>) {
        self.latest = now;
        let Some((_, instance)) = self.instances.iter_mut().find(|(at, _)| *at == port) else { return };
        let from = Address { node: self.id, port };
        instance.handle(now, input, &mut EngineOutbox { from, ways: &mut self.ways, begun: None });
    }

    /// Gives an instance a frame that came over a link.
    #[inline]
    pub(crate) fn give_frame(&mut self, now: Time, port: Port, from: Address, frame: Frame<'_>) {
        self.counts.received.add_frame(&frame);
        self.give(now, port, Input::Frame(from, frame));
    }

    fn take_mail(&mut self, mailbox: Option<&Mailbox>, now: Time) -> bool {
        if let Some(mailbox) = mailbox.filter(|mailbox| mailbox.has_frames()) {
            self.ways.local.append(&mut mailbox.take());
        }
        self.run_local(now)
    }

    /// What programs have left in the meantime, in what they were called for in this turn say: it goes with what the turn sends, as a peer that is woken for
    /// that would be woken once more for this. Once: what comes of it is for the next turn.
    fn take_late_mail(&mut self, mailbox: Option<&Mailbox>, now: Time) -> bool {
        let worked = self.take_mail(mailbox, now);
        if worked {
            self.wake(now);
            self.end_step(now);
        }
        worked
    }

    /// Hands on what instances of this node sent each other.
    fn run_local(&mut self, now: Time) -> bool {
        let mut worked = false;
        while let Some(LocalFrame { from, to, frame }) = self.ways.local.pop_front() {
            self.give(now, to.port, Input::Frame(from, frame.borrow()));
            worked = true;
        }
        worked
    }

    /// Wakes every instance that is due, once.
    pub(crate) fn wake(&mut self, now: Time) -> bool {
        let mut worked = false;
        for at in 0..self.instances.len() {
            let (port, instance) = &self.instances[at];
            if instance.deadline().is_some_and(|deadline| deadline <= now) {
                self.give(now, *port, Input::Wake);
                worked = true;
            }
        }
        worked
    }

    fn report_room(&mut self, now: Time) -> bool {
        if !self.ways.outlets.is_refusing() {
            return false;
        }
        let told = self.ways.outlets.with_room();
        for (here, there) in &told {
            self.give(now, *here, Input::Writable(*there));
        }
        !told.is_empty()
    }

    /// What instances asked for while they handled their inputs: frames among themselves, the end of a link.
    #[inline]
    pub(crate) fn end_step(&mut self, now: Time) -> bool {
        let mut worked = false;
        while !self.ways.local.is_empty() || !self.ways.closing.is_empty() {
            self.run_local(now);
            self.close_links(now);
            worked = true;
        }
        worked
    }

    /// Closes the links that instances had closed. What they sent before goes first.
    fn close_links(&mut self, now: Time) {
        while let Some((mut outlet, how)) = self.ways.closing.pop() {
            // Best effort: if it fails, the link is gone all the more.
            let _ = outlet.sender.flush();
            if how == Disconnect::UntilNextLink {
                outlet.sender.abandon();
            }
            self.end(now, outlet, how.cause());
        }
    }

    /// Shows the peers what was sent, and wakes those that sleep. What time it is, only a failure asks.
    #[inline]
    pub(crate) fn flush(&mut self, now: impl Fn() -> Time) {
        while let Some(outlet) = self.ways.outlets.next_dirty() {
            if let Err(error) = outlet.sender.flush() {
                let (peer, link) = (outlet.peer, outlet.link);
                self.fail(now(), (peer, link), &error);
            }
        }
    }

    /// The time of the burst that was not flushed yet: it has one only. Else what the clock says.
    #[inline]
    pub(crate) fn time_of_burst(&self, clock: LiveClock) -> Time {
        if self.has_to_flush() { self.latest } else { clock.now() }
    }

    /// Wakes who waits for the end of the burst, and flushes.
    #[inline]
    pub(crate) fn end_burst(&mut self, clock: LiveClock) {
        self.wake(self.latest);
        self.end_step(self.latest);
        self.flush(|| clock.now());
    }

    /// Whether [`Engine::flush`] would do anything.
    #[inline]
    pub(crate) fn has_to_flush(&self) -> bool {
        self.ways.outlets.is_dirty()
    }

    /// Whether the program closed it.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Whether there is a link to a node.
    pub(crate) fn is_linked(&self, peer: NodeId) -> bool {
        self.ways.outlets.contains(peer)
    }

    /// How fast the network is to the node without whose link no call is answered, as far as its link knows.
    pub(crate) fn delivery_rate(&mut self) -> Option<u64> {
        let on = self.depends_on?.peer;
        self.ways.outlets.get(on)?.sender.delivery_rate()
    }

    /// Whether a link may be made to a node that has none.
    pub(crate) fn may_link(&self, peer: NodeId) -> bool {
        peer != self.id && !self.is_linked(peer)
    }

    /// Whether there is a link to a node that may have been cut without this side having seen it yet.
    pub(crate) fn may_have_been_cut(&mut self, peer: NodeId) -> bool {
        self.ways.outlets.get(peer).is_some_and(|outlet| outlet.sender.info().may_be_cut)
    }

    /// Whether a new link's first frame, for the instance at `port`, goes on with what that has with a peer over another link.
    pub(crate) fn is_resumed_by(&self, port: Port, from: Address, frame: Frame<'_>) -> bool {
        let instance = self.instances.iter().find(|(at, _)| *at == port);
        instance.is_some_and(|(_, instance)| instance.is_resumed_by(from, frame))
    }

    /// Ends the link to a node as if it were cut: another one takes its place.
    pub(crate) fn give_way(&mut self, now: Time, peer: NodeId) {
        if let Some(mut outlet) = self.ways.outlets.remove(peer) {
            outlet.sender.abandon();
            self.end(now, outlet, DownCause::Died);
        }
    }

    /// A name for a new link.
    pub(crate) fn new_link(&mut self) -> LinkId {
        self.links_made += 1;
        LinkId(self.links_made)
    }

    /// Adds a link to a node that has none, and tells the instances it joins that the peer is up.
    pub(crate) fn attach(&mut self, now: Time, attached: Attached) {
        let Attached { link, peer, joined, sender, waker } = attached;
        let info = sender.info();
        log_link_made(self.id, peer, link.0);
        let (refused, is_dirty) = (Vec::new(), false);
        let outlet = Outlet { link, peer, sender, waker, joined: joined.clone(), refused, is_dirty };
        self.ways.outlets.insert(outlet);
        self.ways.went_on &= self.depends_on.is_none_or(|on| on.peer != peer);
        for (here, there) in joined {
            let up = PeerChange::Up { incarnation: UNTOLD, link: info };
            self.give(now, here, Input::Peer(Address { node: peer, port: there }, &up));
        }
        self.linked(peer);
    }

    /// Whether nothing is taken from a link any more, though its receiving half is still there.
    #[inline]
    pub(crate) fn is_over(&self, link: LinkId) -> bool {
        let (closing, over) = (&self.ways.closing, &self.over);
        !closing.is_empty() && closing.iter().any(|(outlet, _)| outlet.link == link)
            || !over.is_empty() && over.iter().any(|ended| ended.link == link)
    }

    /// The links that have ended since this was asked last.
    pub(crate) fn ended_links(&mut self) -> Vec<Ended> {
        core::mem::take(&mut self.over)
    }
}

/// What the callers of a node use.
impl Engine {
    /// Without a link to `peer` no call is answered.
    pub(crate) fn depend_on(&mut self, peer: NodeId, redials: Redials) {
        self.depends_on = Some(Dependence { peer, redials, ended: None });
    }

    /// Another peer is to take the place of the one without whose link no call is answered.
    pub(crate) fn depend_on_another(&mut self, peer: NodeId) {
        self.depends_on = self.depends_on.map(|on| Dependence { peer, ..on });
    }

    /// How the link ended without which no call is answered, if it has.
    pub(crate) fn how_ended(&self) -> Option<DownCause> {
        self.depends_on.filter(|dependence| !self.is_linked(dependence.peer))?.ended
    }

    /// The slots of this process's callers.
    #[inline]
    pub(crate) fn slots(&mut self) -> &mut Slots {
        self.ways.slots.as_mut().expect("an engine that callers drive is made with slots")
    }

    /// How the link failed, in words. None where it has not, and where the protocol had it closed.
    pub(crate) fn lost(&self) -> Option<String> {
        self.lost.clone()
    }

    /// Hands the request of a slot that was just opened to the protocol. Where nothing crosses the link any more, only the protocol may know
    /// why.
    pub(crate) fn submit(
        &mut self,
        now: Time,
        port: Port,
        token: Token,
        request: &dyn Request,
    ) -> Result<(), CallError> {
        let is_down = |on: Dependence| !self.may_come_back(on.peer) && !self.is_linked(on.peer);
        let was_down = self.depends_on.is_some_and(is_down);
        self.pass(now, port, token, request).inspect_err(|_| drop(self.slots().close(token)))?;
        if was_down {
            let told = self.slots().take(token).and_then(Result::err);
            drop(self.slots().close(token));
            return Err(CallError::Failed(told.unwrap_or(Code::PeerDied)));
        }
        Ok(())
    }

    /// Hands a caller's frame to the instance at `port`.
    pub(crate) fn pass(
        &mut self,
        now: Time,
        port: Port,
        token: Token,
        request: &dyn Request,
    ) -> Result<(), CallError> {
        if self.is_closed {
            return Err(CallError::Failed(Code::Closed));
        }
        self.latest = now;
        let settled = self.slots().oldest_open();
        let Engine { id, instances, ways, request: buffer, .. } = self;
        let at = Address { node: *id, port };
        let written = request.write(buffer, at, token, settled);
        if written.is_ok()
            && let Some(frame) = buffer.frame()
            && let Some((_, instance)) = instances.iter_mut().find(|(there, _)| *there == port)
        {
            let callers = Address { node: *id, port: PORT_CALLERS };
            let mut out = EngineOutbox { from: at, ways, begun: None };
            instance.handle(now, Input::Frame(callers, frame), &mut out);
        }
        buffer.clear();
        self.end_step(now);
        written.map_err(CallError::NotSent)
    }
}
