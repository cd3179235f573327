//! The protocol.

use crate::config::SessionConfig;
use crate::counters::Counters;
use crate::outbox::{Begun, SessionOutbox};
use crate::peer::Peer;
use crate::refusal::Refusal;
use crate::stream::{Arrival, PeerInfo, Stream, earlier};
use crate::turn::{Notice, Turn};
use quintet_contract::{Address, Frame, Input, Outbox, PeerChange, Protocol, Random, Time};
use std::collections::BTreeMap;

/// Sessions with all peers, under the protocol `P`.
///
/// `P` sees a peer as up between the end of its handshake and the end of its session. Between them it gets every frame that the
/// peer's protocol sent, once, in order. It may not send frames of the session's own kinds.
///
/// The host says that a link is up before it shows a frame from it, and shows the frames of one link at a time for each address.
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
    peers: BTreeMap<Address, Peer>,
    random: Random,
    counters: Counters,
    /// Kept between calls for its room.
    notices: Vec<Notice>,
}

impl<P: Protocol> Sessions<P> {
    /// No peers yet.
    #[must_use]
    pub fn new(config: SessionConfig, inner: P) -> Self {
        // Two lives of one node draw different numbers from one seed.
        let stream = config.incarnation.0 ^ u64::from(config.me.to_bits()).rotate_left(32);
        let random = Random::new(config.seed, stream);
        let (peers, counters, notices) = (BTreeMap::new(), Counters::default(), Vec::new());
        Sessions { config, inner, peers, random, counters, notices }
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

    /// Why the peer refused this side's last HELLO; `None` if it did not.
    pub fn refusal(&self, address: Address) -> Option<&Refusal> {
        self.peers.get(&address)?.refusal.as_ref()
    }

    pub(crate) fn stream(&self, address: Address) -> Option<&Stream> {
        self.peers.get(&address)?.phase.stream()
    }

    /// Whether every frame sent has been acknowledged (always, where the link loses nothing).
    pub fn is_idle(&self) -> bool {
        self.peers.values().filter_map(|peer| peer.phase.stream()).all(|stream| stream.is_idle())
    }

    /// Says GOODBYE to all peers. The protocol above sees each go down. Frames not yet acknowledged may be lost: wait for
    /// [`is_idle`](Sessions::is_idle) where that matters.
    pub fn close(&mut self, now: Time, out: &mut dyn Outbox) {
        for address in self.peers.keys().copied().collect::<Vec<_>>() {
            self.with_peer(now, address, out, Peer::close);
        }
    }

    /// Lets one peer's machine act, then tells the protocol above what came of it.
    fn with_peer<R>(
        &mut self,
        now: Time,
        address: Address,
        out: &mut dyn Outbox,
        act: impl FnOnce(&mut Peer, &mut Turn<'_>) -> R,
    ) -> Option<R> {
        let peer = self.peers.get_mut(&address)?;
        let mut notices = core::mem::take(&mut self.notices);
        let mut turn = Turn {
            now,
            config: &self.config,
            random: &mut self.random,
            counters: &mut self.counters,
            notices: &mut notices,
            out,
        };
        let result = act(peer, &mut turn);
        for notice in notices.drain(..) {
            let input = match notice {
                Notice::Up { incarnation, max_bulk_bytes } => {
                    Input::Peer(address, PeerChange::Up { incarnation, max_bulk_bytes })
                }
                Notice::Down(cause) => Input::Peer(address, PeerChange::Down(cause)),
                Notice::Writable => Input::Writable(address),
            };
            self.tell(now, input, out);
        }
        self.notices = notices;
        Some(result)
    }

    /// Gives the protocol above one input.
    fn tell(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        let mut out = SessionOutbox {
            now,
            config: &self.config,
            peers: &mut self.peers,
            counters: &mut self.counters,
            out,
            begun: Begun::Untouched,
        };
        self.inner.handle(now, input, &mut out);
    }

    fn receive(&mut self, now: Time, from: Address, frame: Frame<'_>, out: &mut dyn Outbox) {
        let arrival = self.with_peer(now, from, out, |peer, turn| peer.receive(frame, turn));
        if let Some(Arrival::Deliver(prefix)) = arrival {
            self.deliver(now, from, Frame { body: &frame.body[prefix..], ..frame }, out);
            while let Some(held) = self.peers.get_mut(&from).and_then(Peer::take_held) {
                self.deliver(now, from, held.borrow(), out);
            }
        }
        // What the protocol above sent in answer has carried the acknowledgement by now.
        self.with_peer(now, from, out, Peer::settle);
    }

    fn deliver(&mut self, now: Time, from: Address, frame: Frame<'_>, out: &mut dyn Outbox) {
        self.counters.received += 1;
        self.tell(now, Input::Frame(from, frame), out);
    }

    fn peer_change(&mut self, now: Time, address: Address, change: PeerChange, out: &mut dyn Outbox) {
        if !self.peers.contains_key(&address) {
            let Some(settings) = self.config.peer(address) else { return };
            self.peers.insert(address, Peer::new(address, settings));
        }
        self.with_peer(now, address, out, |peer, turn| match change {
            PeerChange::Up { max_bulk_bytes, .. } => peer.link_up(max_bulk_bytes, turn),
            PeerChange::Down(cause) => peer.link_down(cause, turn),
        });
    }

    fn wake(&mut self, now: Time, out: &mut dyn Outbox) {
        let due = |peer: &Peer| peer.deadline(&self.config).is_some_and(|at| at <= now);
        let due: Vec<_> = self.peers.values().filter(|peer| due(peer)).map(|peer| peer.address).collect();
        for address in due {
            self.with_peer(now, address, out, Peer::wake);
        }
        if self.inner.deadline().is_some_and(|at| at <= now) {
            self.tell(now, Input::Wake, out);
        }
    }
}

impl<P: Protocol> Protocol for Sessions<P> {
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
            }
            Input::Peer(address, change) => self.peer_change(now, address, change, out),
        }
    }

    fn deadline(&self) -> Option<Time> {
        let peers = self.peers.values().filter_map(|peer| peer.deadline(&self.config)).min();
        earlier(peers, self.inner.deadline())
    }
}
