//! The engine driven by a loop: a process that serves.

use crate::dialling::{Dialling, Redial};
use crate::engine::Engine;
use crate::event::EventSink;
use crate::inlets::{Inlets, NamingRule};
use crate::instance::Instance;
use crate::mailbox::{Mailbox, Order};
use crate::measuring::Measurement;
use crate::services::Services;
use quintet_clock::LiveClock;
use quintet_contract::{Address, Identity, NodeId, OwnedFrame, Port, Time};
use quintet_link::{End, Listener, Packets};
use std::io;
use std::sync::mpsc::channel;
use std::time::Duration;

/// A node that runs on the thread which calls [`Node::run`].
pub struct Node {
    engine: Engine,
    inlets: Inlets,
    mailbox: Mailbox,
    clock: LiveClock,
    /// Called after each turn that found something to do.
    after_turns: Option<AfterTurns>,
}

/// What a program does once what a turn has sent is on its way.
pub type AfterTurns = Box<dyn FnMut() + Send>;

/// Reaches a node from other threads.
#[derive(Clone)]
pub struct NodeHandle {
    node: NodeId,
    mailbox: Mailbox,
    clock: LiveClock,
}

impl Node {
    /// A node without instances.
    ///
    /// # Errors
    /// The system refuses a descriptor.
    pub fn new(id: NodeId, services: Services) -> io::Result<Self> {
        let mailbox = Mailbox::new()?;
        let clock = LiveClock::start();
        let inlets = Inlets::with_mailbox(clock, mailbox.clone())?;
        let engine = Engine::new(id, None, services.start(id, &mailbox));
        Ok(Node { engine, inlets, mailbox, clock, after_turns: None })
    }

    /// A way to reach the node while it runs.
    #[must_use]
    pub fn handle(&self) -> NodeHandle {
        NodeHandle { node: self.engine.id(), mailbox: self.mailbox.clone(), clock: self.clock }
    }

    /// Lets the node spin so long before it sleeps, instead of [`quintet_link::SPIN`].
    pub fn set_spin(&mut self, spin: Duration) {
        self.inlets.set_spin(spin);
    }

    /// Has frames sent with so many writes, over the links that are made from now on.
    pub fn set_packets(&mut self, packets: Packets) {
        self.inlets.set_packets(packets);
    }

    /// Has the host's own events told to `sink` instead of to `tracing`, on the thread that runs the node.
    pub fn set_events(&mut self, sink: EventSink) {
        self.engine.set_events(sink);
    }

    /// Has this rule say who may be heard under which number, over links that are accepted or dialled from now on: one that it refuses is ended
    /// at once, and both sides are told ([`Event::NameRefused`](crate::Event::NameRefused)). Without a rule each number is anybody's.
    pub fn set_naming(&mut self, rule: NamingRule) {
        self.inlets.set_naming(rule);
    }

    /// Has the instance at `port` told what is found where peers are dialled
    /// ([`LINK_NEWS`](quintet_wire::registry::LINK_NEWS)). Without it nobody is.
    pub fn tell_link_news(&mut self, port: Port) {
        self.engine.tell_link_news(port);
    }

    /// Has `call` called after each turn that found something to do, once what it sent is on its way: to wake, at once, those for whom several things have come.
    pub fn after_turns(&mut self, call: AfterTurns) {
        self.after_turns = Some(call);
    }

    /// Places a protocol and starts it.
    pub fn add(&mut self, port: Port, instance: Instance) {
        self.engine.add(self.clock.now(), port, instance);
    }

    /// Joins pairs of ports, this node's and the peer's, by a link, and tells this node's instances that the peer is up.
    ///
    /// # Errors
    /// There is a link to that node already, or it is this one; then that link stays, and this one is closed. Or the system refuses
    /// to watch the link.
    pub fn attach(&mut self, peer: NodeId, joined: &[(Port, Port)], end: End) -> io::Result<()> {
        let now = self.clock.now();
        self.inlets.attach(&mut self.engine, now, peer, joined.to_vec(), end).map(drop)
    }

    /// Dials `peer` while running, and again whenever its link was cut, each time for as long as `redial` says; a node may dial several. The
    /// link joins pairs of ports, this node's and the peer's. Over a Unix socket the end of the peer's process is no cut, and the peer is
    /// not dialled again. Said again of a peer, it takes the place of what was said before.
    ///
    /// Where the peer dials this node as well, they end with one link: of two that were made at once the one that the node with the
    /// lower number dialled stays. An instance of this node has to speak first over the link, so that the peer learns who
    /// dials it: sessions do with those that their instances ask, or that they are made to greet. A peer that is not reached in its time is an
    /// [`Event`](crate::Event).
    pub fn dial(&mut self, peer: NodeId, joined: &[(Port, Port)], redial: Redial) {
        self.inlets.dial(Dialling::begin(peer, joined.to_vec(), redial, self.clock.now()));
    }

    /// Makes the link to `peer` again whenever it was cut, as [`dial`](Node::dial) does, and leaves it to the peer to make the first one.
    pub fn redial(&mut self, peer: NodeId, joined: &[(Port, Port)], redial: Redial) {
        self.inlets.dial(Dialling::new(peer, joined.to_vec(), redial));
    }

    /// Does what other threads have left to be done.
    fn carry_out_orders(&mut self) {
        for order in self.mailbox.orders() {
            match order {
                Order::Dial(peer, joined, redial) => self.dial(peer, &joined, redial),
                Order::Redial(peer, joined, redial) => self.redial(peer, &joined, redial),
                Order::LeaveAlone(peer) => self.inlets.leave_alone(peer),
                Order::KeepLinksOf(rule) => self.engine.keep_links_of(self.clock.now(), &rule),
                // Who asked may have gone.
                Order::Measure(told) => drop(told.send(self.engine.measure())),
            }
        }
    }

    /// Takes links from `listener` while running; a node may have several. A link joins `port` with the address from which its
    /// first frame comes. A link whose node is linked already waits for a moment until that one has ended, where it may have been
    /// cut, and else is closed; so is one over which nothing comes for five seconds.
    /// When the system refuses what a new link needs, that is an [`Event`](crate::Event), once, and tried again.
    ///
    /// # Errors
    /// The system refuses to watch the listener.
    pub fn listen(&mut self, listener: Box<dyn Listener>, port: Port) -> io::Result<()> {
        self.inlets.listen(listener, port)
    }

    /// Runs until [`NodeHandle::stop`], and then tells the peers that their links are closed: one that reads nothing is waited for a
    /// second at most.
    ///
    /// # Errors
    /// The system refuses to wait on the links' descriptors.
    pub fn run(&mut self) -> io::Result<()> {
        while !self.mailbox.is_stopped() {
            self.carry_out_orders();
            let now = self.clock.now();
            if self.engine.turn(&mut self.inlets, now) {
                self.after_turns.iter_mut().for_each(|call| call());
            } else if !self.mailbox.is_called() {
                let limit = self.deadline().map(|deadline| deadline.since(now).into());
                self.inlets.wait(limit)?;
            }
        }
        self.engine.say_farewell(self.clock);
        Ok(())
    }

    /// When there is something to do although nothing comes.
    fn deadline(&self) -> Option<Time> {
        self.engine.deadline().into_iter().chain(self.inlets.deadline()).min()
    }
}

impl NodeHandle {
    /// Hands a frame to the instance at `port`, as if `from`, another port of the node, had sent it.
    pub fn send(&self, from: Port, port: Port, frame: OwnedFrame) {
        let at = |port| Address { node: self.node, port };
        self.mailbox.post(at(from), at(port), frame);
    }

    /// As [`Node::dial`], while the node runs.
    pub fn dial(&self, peer: NodeId, joined: &[(Port, Port)], redial: Redial) {
        self.mailbox.order(Order::Dial(peer, joined.to_vec(), redial));
    }

    /// As [`Node::redial`], while the node runs.
    pub fn redial(&self, peer: NodeId, joined: &[(Port, Port)], redial: Redial) {
        self.mailbox.order(Order::Redial(peer, joined.to_vec(), redial));
    }

    /// Has a peer dialled no more; the link that there is stays.
    pub fn leave_alone(&self, peer: NodeId) {
        self.mailbox.order(Order::LeaveAlone(peer));
    }

    /// Ends the links to peers that have proved to be somebody of whom this is not true, and their sessions with them. Links without such a
    /// proof stay, those of who holds a token only, and those over which nothing has come so far. Whether a peer may come again is for who listens to say.
    pub fn keep_links_of(&self, rule: impl Fn(&Identity) -> bool + Send + 'static) {
        self.mailbox.order(Order::KeepLinksOf(Box::new(rule)));
    }

    /// What the node tells of itself in numbers; none if it does not answer in that time, because it has ended or stands still.
    #[must_use]
    pub fn measure(&self, limit: Duration) -> Option<Vec<Measurement>> {
        let (told, measurements) = channel();
        self.mailbox.order(Order::Measure(told));
        measurements.recv_timeout(limit).ok()
    }

    /// The time as the node's instances are told it.
    #[must_use]
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// Ends [`Node::run`] after its current turn.
    pub fn stop(&self) {
        self.mailbox.stop();
    }
}
