//! The protocol.

use crate::above::Above;
use crate::codec::{HELLO, PONG};
use crate::config::SessionConfig;
use crate::context::{Context, Event};
use crate::counters::Counters;
use crate::departed::Departed;
use crate::handshake::Phase;
use crate::outbox::{Begun, Noted, SessionOutbox};
use crate::peer::Peer;
use crate::refusal::Refusal;
use crate::stream::{Arrival, PeerInfo, Stream, earlier};
use quintet_contract::{Address, Frame, Input, Meter, Outbox, PeerChange, PeerMap, Protocol, Random, Time};
use quintet_wire::registry::HOST_SERVICE_PORTS;

/// Sessions with all peers, under the protocol `P`.
///
/// `P` sees a peer as up between the end of its handshake and the end of its session. Between them it gets every frame that the
/// peer's protocol sent, once, in order. It may not send frames of the session's own kinds.
///
/// The host says that a link is up before it shows a frame from it, and shows the frames of one link at a time for each address. Where
/// frames are kept for the next link, one that is up while another was there has taken its place.
///
/// ```
/// use quintet_contract::{Address, Effects, Incarnation, Input, Outbox, Protocol, Time};
/// use quintet_session::{SessionConfig, Sessions};
///
/// struct Silent;
/// impl Protocol for Silent {
///     fn handle(&mut self, _now: Time, _input: Input<'_>, _out: &mut dyn Outbox) {}
///     fn deadline(&self) -> Option<Time> {
///         None
///     }
/// }
/// let config = SessionConfig::new(Address::new(1, 16), 7, Incarnation(1), 42);
/// let mut sessions = Sessions::new(config, Silent);
/// sessions.handle(Time::ZERO, Input::Started, &mut Effects::default());
/// assert_eq!(sessions.deadline(), None);
/// ```
#[derive(Debug)]
pub struct Sessions<P> {
    config: SessionConfig,
    inner: P,
    peers: PeerMap<Peer>,
    departed: Departed,
    random: Random,
    counters: Counters,
    /// No peer wants to be woken before. What comes earlier moves it at once; what moves later only at the next wake, so that a
    /// frame looks at one peer and not at all of them.
    alarm: Option<Time>,
    /// Empty between calls; kept for its room.
    events: Vec<Event>,
    /// Kept for its room.
    head: Vec<u8>,
    /// Empty between calls; kept for its room.
    noted: Vec<Noted>,
}

impl<P: Above> Sessions<P> {
    /// No peers yet.
    #[must_use]
    pub fn new(config: SessionConfig, inner: P) -> Self {
        // Two lives of one node draw different numbers from one seed.
        let stream = config.incarnation.0 ^ u64::from(config.me.to_bits()).rotate_left(32);
        let random = Random::new(config.seed, stream);
        Sessions {
            config,
            inner,
            peers: PeerMap::new(),
            departed: Departed::default(),
            random,
            counters: Counters::default(),
            alarm: None,
            events: Vec::new(),
            head: Vec::new(),
            noted: Vec::new(),
        }
    }

    /// The protocol above.
    pub fn inner(&self) -> &P {
        &self.inner
    }

    /// The protocol above. What it would send needs a `handle`.
    pub fn inner_mut(&mut self) -> &mut P {
        &mut self.inner
    }

    /// Frames so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// What the handshake told about a peer; `None` without a session.
    pub fn peer(&self, address: Address) -> Option<PeerInfo> {
        self.stream(address).map(|stream| stream.peer)
    }

    /// The number of the session with a peer, the same on both sides; `None` without one.
    pub fn session(&self, address: Address) -> Option<u64> {
        self.stream(address).map(|stream| stream.id)
    }

    /// When a peer was heard last, a sign of life included; `None` without a session that has a link.
    pub fn heard(&self, address: Address) -> Option<Time> {
        match &self.peers.get(address)?.phase {
            Phase::Live(live) => Some(live.heard()),
            _ => None,
        }
    }

    /// How many peers have a link or a session, or are said HELLO to by this side. Of those that left only the lives of their nodes are
    /// remembered.
    pub fn known_peers(&self) -> usize {
        self.peers.len()
    }

    /// Why the peer refused this side's last HELLO; `None` if it did not.
    pub fn refusal(&self, address: Address) -> Option<&Refusal> {
        self.peers.get(address)?.refusal.as_ref()
    }

    pub(crate) fn stream(&self, address: Address) -> Option<&Stream> {
        self.peers.get(address)?.phase.stream()
    }

    /// Whether every frame sent has been acknowledged: always, where nothing is kept. Where frames are kept for the next link, the
    /// last ones are acknowledged by the peer's next frame, or with keep-alive.
    pub fn is_idle(&self) -> bool {
        self.peers.values().filter_map(|peer| peer.phase.stream()).all(|stream| stream.is_idle())
    }

    /// Whether every frame sent to a peer has been acknowledged; see [`is_idle`](Sessions::is_idle). True without a session.
    pub fn is_idle_with(&self, address: Address) -> bool {
        self.stream(address).is_none_or(|stream| stream.is_idle())
    }

    /// Bytes of frames to a peer that are not acknowledged so far, and of frames from it that wait for an earlier one: none when all
    /// have arrived. Zero without a session.
    pub fn kept_bytes(&self, address: Address) -> u64 {
        self.stream(address).map_or(0, Stream::kept_bytes)
    }

    /// Says GOODBYE to all peers. The protocol above sees each go down. Frames not yet acknowledged may be lost: wait for
    /// [`is_idle`](Sessions::is_idle) where that matters.
    pub fn close(&mut self, now: Time, out: &mut dyn Outbox) {
        for address in self.peers.addresses().collect::<Vec<_>>() {
            self.with_peer(now, address, out, Peer::close);
        }
    }

    /// Lets one peer's machine act, then tells the protocol above what came of it.
    fn with_peer<R>(
        &mut self,
        now: Time,
        address: Address,
        out: &mut dyn Outbox,
        act: impl FnOnce(&mut Peer, &mut Context<'_>) -> R,
    ) -> Option<R> {
        let peer = self.peers.get_mut(address)?;
        let mut context = Context {
            now,
            config: &self.config,
            random: &mut self.random,
            counters: &mut self.counters,
            events: &mut self.events,
            out,
        };
        let result = act(peer, &mut context);
        if !self.events.is_empty() {
            self.pass_events(now, address, out);
        }
        Some(result)
    }

    /// Tells the protocol above what came of a peer.
    fn pass_events(&mut self, now: Time, address: Address, out: &mut dyn Outbox) {
        let mut events = core::mem::take(&mut self.events);
        for event in events.drain(..) {
            let input = match &event {
                Event::Peer(change) => Input::Peer(address, change),
                Event::Writable => Input::Writable(address),
            };
            self.tell(now, input, out);
        }
        self.events = events;
    }

    /// Gives the protocol above one input.
    fn tell(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        let over = match input {
            Input::Peer(address, PeerChange::Down(_)) => Some(address),
            _ => None,
        };
        let mut out = SessionOutbox {
            now,
            config: &self.config,
            peers: &mut self.peers,
            counters: &mut self.counters,
            alarm: &mut self.alarm,
            head: &mut self.head,
            out,
            over,
            begun: Begun::Untouched,
            port: None,
            services: &HOST_SERVICE_PORTS,
            noted: &mut self.noted,
        };
        self.inner.take(now, input, &mut out);
    }

    fn receive(&mut self, now: Time, from: Address, frame: Frame<'_>, out: &mut dyn Outbox) {
        let arrival = self.with_peer(now, from, out, |peer, context| peer.receive(frame, context));
        if let Some(Arrival::Deliver(prefix)) = arrival {
            self.deliver(now, from, Frame { body: &frame.body[prefix..], ..frame }, out);
            if self.peers.get(from).is_some_and(|peer| !peer.has_pending()) {
                // That the peer was heard puts every deadline off.
                return;
            }
            while let Some(held) = self.peers.get_mut(from).and_then(Peer::take_held) {
                self.deliver(now, from, held.borrow(), out);
            }
        }
        // What the protocol above sent in answer has carried the acknowledgement by now.
        if self.peers.get(from).is_some_and(Peer::has_pending) {
            self.with_peer(now, from, out, Peer::send_pending);
        }
        if frame.kind == PONG {
            // An idle node would be woken for the deadline that this answer has moved.
            self.alarm = self.first_deadline();
        } else {
            self.watch(from);
        }
    }

    fn deliver(&mut self, now: Time, from: Address, frame: Frame<'_>, out: &mut dyn Outbox) {
        self.counters.received += 1;
        self.tell(now, Input::Frame(from, frame), out);
    }

    fn peer_change(&mut self, now: Time, address: Address, change: &PeerChange, out: &mut dyn Outbox) {
        if !self.peers.contains(address) {
            let Some(settings) = self.config.peer(address) else { return };
            let lives = self.departed.lives(address.node);
            self.peers.insert(address, Peer::new(address, settings, lives));
        }
        self.with_peer(now, address, out, |peer, context| match *change {
            PeerChange::Up { link, .. } => peer.link_up(link, context),
            PeerChange::Down(cause) => peer.link_down(cause, context),
        });
        self.watch(address);
        self.forget_if_gone(address);
    }

    /// Of a peer that is gone, only its lives are remembered.
    fn forget_if_gone(&mut self, address: Address) {
        if let Some(peer) = self.peers.get(address)
            && peer.is_gone()
        {
            self.departed.remember(address.node, peer.lives);
            self.peers.remove(address);
        }
    }

    /// Sees to it that a peer that was given something is woken in time.
    fn watch(&mut self, address: Address) {
        let deadline = self.peers.get(address).and_then(|peer| peer.deadline(&self.config));
        self.alarm = earlier(self.alarm, deadline);
    }

    /// When the first peer wants to be woken. Looks at all of them.
    fn first_deadline(&self) -> Option<Time> {
        self.peers.values().filter_map(|peer| peer.deadline(&self.config)).min()
    }

    fn wake(&mut self, now: Time, out: &mut dyn Outbox) {
        if self.alarm.is_some_and(|at| at <= now) {
            let due = |peer: &Peer| peer.deadline(&self.config).is_some_and(|at| at <= now);
            let due: Vec<_> = self.peers.values().filter(|peer| due(peer)).map(|peer| peer.address).collect();
            for address in due {
                self.with_peer(now, address, out, Peer::wake);
                self.forget_if_gone(address);
            }
            self.alarm = self.first_deadline();
        }
        if self.inner.wakes_at().is_some_and(|at| at <= now) {
            self.tell(now, Input::Wake, out);
        }
    }
}

impl<P: Above> Protocol for Sessions<P> {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        let own = |address: Address| address.node == self.config.me.node;
        match input {
            Input::Started => self.tell(now, input, out),
            Input::Wake => self.wake(now, out),
            Input::Frame(address, _) | Input::Writable(address) | Input::Peer(address, _) if own(address) => {
                self.tell(now, input, out);
            }
            Input::Frame(from, frame) => self.receive(now, from, frame, out),
            Input::Writable(address) => {
                self.with_peer(now, address, out, Peer::writable);
                self.watch(address);
            }
            Input::Peer(address, change) => self.peer_change(now, address, change, out),
        }
    }

    fn deadline(&self) -> Option<Time> {
        debug_assert!(
            self.first_deadline().is_none_or(|first| self.alarm.is_some_and(|alarm| alarm <= first)),
            "a peer would be woken late"
        );
        earlier(self.alarm, self.inner.wakes_at())
    }

    fn is_resumed_by(&self, from: Address, frame: Frame<'_>) -> bool {
        let peer = (frame.kind == HELLO).then(|| self.peers.get(from)).flatten();
        peer.is_some_and(|peer| peer.is_resumed_by(frame.body, &self.config))
    }

    fn measure(&self, meter: &mut Meter<'_>) {
        let sessions = self.peers.values().filter(|peer| peer.phase.stream().is_some()).count();
        self.counters.measure(sessions as u64, meter);
        self.inner.tell_metrics(meter);
    }
}
