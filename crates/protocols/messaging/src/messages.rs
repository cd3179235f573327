//! The protocol.

use crate::arrival::{Arrival, Broken};
use crate::budget::{Budget, Reserved};
use crate::channel::Channel;
use crate::codec::{PREFIX_BYTES, REFUSED, Refused};
use crate::config::MessagingConfig;
use crate::counters::{Counters, CreditState, Stall};
use crate::outbox::{Begun, MessagingOutbox};
use crate::pack::{Pack, Unpacked};
use quintet_contract::{
    Address, Disconnect, DownCause, Frame, Incarnation, Input, LinkInfo, Meter, Outbox, OwnedFrame,
    PeerChange, PeerMap, Protocol, Time, Token,
};
use quintet_errors::Code;
use quintet_wire::send;

/// Messages with flow control, under the protocol `P` and over sessions: compose as `Sessions<Ports<Messages<P>>>`.
///
/// `P` sees a peer as up when both know each other's windows; [`PeerChange::Up`] then tells the largest bulk that the peer takes
/// in one message. It may not send frames of the session's or this layer's own kinds.
///
/// ```
/// use quintet_contract::{Address, Incarnation, Input, Kind, Outbox, Protocol, Time};
/// use quintet_messaging::{Class, Messages, MessagingConfig};
/// use quintet_session::{SessionConfig, Sessions};
///
/// struct Silent;
/// impl Protocol for Silent {
///     fn handle(&mut self, _now: Time, _input: Input<'_>, _out: &mut dyn Outbox) {}
///     fn deadline(&self) -> Option<Time> {
///         None
///     }
/// }
/// fn class(kind: Kind) -> Class {
///     if kind == Kind(0xf0) { Class::Request } else { Class::Answer }
/// }
/// let me = Address::new(1, 16);
/// let messages = Messages::new(MessagingConfig::new(me, class), Silent);
/// let node = Sessions::new(SessionConfig::new(me, 7, Incarnation(1), 42), messages);
/// assert_eq!(node.inner().credit(Address::new(2, 16)), None);
/// ```
#[derive(Debug)]
pub struct Messages<P> {
    config: MessagingConfig,
    inner: P,
    /// Those that the layer below says are up.
    peers: PeerMap<Peer>,
    counters: Counters,
    /// For the large data of all peers.
    budget: Budget,
    /// When `handle` was last called.
    now: Time,
    /// Some channel may have fragments, or a grant, that can go in another `handle`.
    more: bool,
    /// Who has messages that gathered, perhaps more than once.
    gathering: Vec<Address>,
    /// Kept for its room.
    head: Vec<u8>,
}

/// A peer that the layer below says is up.
#[derive(Debug, Default)]
pub(crate) struct Peer {
    /// While it is up and was not cut.
    pub(crate) channel: Option<Box<Channel>>,
    pub(crate) stall: Stall,
    /// Why the peer cut it.
    refused: Option<Code>,
}

impl Peer {
    /// The channel, unless the protocol above has it closed: then it is shown nothing more that came.
    fn open_channel(&mut self) -> Option<&mut Channel> {
        self.channel.as_deref_mut().filter(|channel| !channel.is_closing)
    }

    /// The protocol above was refused: it waits until something changes from now on.
    pub(crate) fn wait(&mut self, now: Time) {
        self.stall.begin(now);
        if let Some(channel) = &mut self.channel {
            channel.eased = false;
        }
    }
}

impl<P: Protocol> Messages<P> {
    /// No peers yet.
    #[must_use]
    pub fn new(config: MessagingConfig, inner: P) -> Self {
        let (peers, counters, now) = (PeerMap::new(), Counters::default(), Time::ZERO);
        let budget = Budget::new(config.total_budget_bytes as u64);
        let (gathering, head) = (Vec::new(), Vec::new());
        Messages { config, inner, peers, counters, budget, now, more: false, gathering, head }
    }

    /// The protocol above.
    pub fn inner(&self) -> &P {
        &self.inner
    }

    /// The protocol above. What it would send needs a `handle`.
    pub fn inner_mut(&mut self) -> &mut P {
        &mut self.inner
    }

    /// Messages so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// How long the protocol above had to wait for each peer that the layer below says is up, in the order of their addresses:
    /// the stalled one can be named.
    pub fn stalls(&self) -> impl Iterator<Item = (Address, Stall)> + '_ {
        self.peers.iter().map(|(address, peer)| (address, peer.stall))
    }

    /// The credit between this side and a peer; `None` if it is not up.
    pub fn credit(&self, address: Address) -> Option<CreditState> {
        Some(self.peers.get(address)?.channel.as_ref()?.credit())
    }

    /// Bytes of large data of all peers for which there is room in the budget of all, and that were not delivered.
    pub fn reserved_bytes(&self) -> u64 {
        self.budget.reserved()
    }

    /// Why a peer cut the channel, if it did; until the layer below says that it is down.
    pub fn refusal(&self, address: Address) -> Option<Code> {
        self.peers.get(address)?.refused
    }

    /// Gives the protocol above one input.
    fn tell(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        let mut out = MessagingOutbox {
            now,
            config: &self.config,
            peers: &mut self.peers,
            counters: &mut self.counters,
            head: &mut self.head,
            out,
            gathering: &mut self.gathering,
            begun: Begun::Untouched,
        };
        self.inner.handle(now, input, &mut out);
    }

    fn channel(&mut self, address: Address) -> Option<&mut Channel> {
        self.peers.get_mut(address)?.channel.as_deref_mut()
    }

    fn receive(&mut self, now: Time, from: Address, frame: Frame<'_>, out: &mut dyn Outbox) {
        let Some(channel) = self.peers.get_mut(from).and_then(|peer| peer.channel.as_mut()) else { return };
        let incarnation = channel.incarnation;
        match channel.arrive(frame, &self.config, &mut self.counters) {
            Ok(Arrival::Deliver(cost)) => {
                channel.consumed(cost);
                self.deliver(now, from, Frame { body: &frame.body[PREFIX_BYTES..], ..frame }, out);
            }
            Ok(Arrival::Unpack) => self.unpack(now, from, frame, out),
            Ok(Arrival::Absorbed) => {}
            Ok(Arrival::Opened) => self.opened(now, from, incarnation, out),
            Ok(Arrival::Refused(code)) => self.refused(now, from, code, out),
            Err(Broken(code)) => self.cut(now, from, code, out),
        }
        while let Some(frame) = self.take_held(from) {
            self.deliver(now, from, frame.borrow(), out);
        }
        self.settle(now, from, out);
    }

    /// The messages of one frame, each as if it had come alone.
    fn unpack(&mut self, now: Time, from: Address, pack: Frame<'_>, out: &mut dyn Outbox) {
        let mut messages = Unpacked::new(&pack.body[PREFIX_BYTES..]);
        while let Some(channel) = self.peers.get_mut(from).and_then(Peer::open_channel) {
            let arrived = match messages.next() {
                Ok(None) => return,
                Ok(Some((item, body))) => {
                    let message = Frame { kind: item.kind, token: item.token, body, ..pack };
                    channel
                        .enter(item.answer, message, &self.config, &mut self.counters)
                        .map(|arrival| (arrival, message))
                }
                Err(error) => Err(error.into()),
            };
            match arrived {
                Ok((Arrival::Deliver(cost), message)) => {
                    channel.consumed(cost);
                    self.deliver(now, from, message, out);
                }
                Ok(_) => {}
                Err(Broken(code)) => return self.cut(now, from, code, out),
            }
        }
    }

    /// The next message of a peer that had to wait, if it need not any more.
    fn take_held(&mut self, from: Address) -> Option<OwnedFrame> {
        let channel = self.peers.get_mut(from)?.open_channel()?;
        let before = channel.incoming.shared();
        let taken = channel.take(&self.config)?;
        let arrived = before.without(channel.incoming.shared());
        // One that came whole before it had room needs none.
        self.budget.forget(from);
        self.release(arrived);
        Some(taken)
    }

    /// Gives room back to the budget of all, and lets those go on that found none.
    fn release(&mut self, bytes: Reserved) {
        self.budget.release(bytes);
        self.more |= self.budget.take_moved();
    }

    fn deliver(&mut self, now: Time, from: Address, frame: Frame<'_>, out: &mut dyn Outbox) {
        self.counters.received += 1;
        self.tell(now, Input::Frame(from, frame), out);
    }

    fn opened(&mut self, now: Time, from: Address, incarnation: Incarnation, out: &mut dyn Outbox) {
        let Some(channel) = self.channel(from) else { return };
        let Some(limits) = channel.peer else { return };
        let link = LinkInfo { max_bulk_bytes: limits.bulk as usize, ..channel.link.behind(PREFIX_BYTES) };
        let up = PeerChange::Up { incarnation, link };
        self.tell(now, Input::Peer(from, &up), out);
    }

    /// The peer broke the protocol: it is told why, nothing more is taken from it, and its link is closed.
    fn cut(&mut self, now: Time, from: Address, code: Code, out: &mut dyn Outbox) {
        self.counters.cut += 1;
        // Best effort, as what follows: answers to what came before.
        let _ = self.channel(from).map(|channel| channel.send_pack(out));
        // Best effort: a peer that does not hear it learns of the link's end.
        let _ = send(out, from, REFUSED, Token(0), &Refused(code));
        self.down(now, from, DownCause::Misbehaved, out);
        out.disconnect(from, Disconnect::ForGood);
    }

    /// The peer has cut this side off. One of the two is broken, and neither will say more.
    fn refused(&mut self, now: Time, from: Address, code: Code, out: &mut dyn Outbox) {
        if let Some(peer) = self.peers.get_mut(from) {
            peer.refused = Some(code);
        }
        self.down(now, from, DownCause::Misbehaved, out);
        out.disconnect(from, Disconnect::ForGood);
    }

    /// Ends the channel and tells the protocol above, if it knew the peer.
    fn down(&mut self, now: Time, address: Address, cause: DownCause, out: &mut dyn Outbox) {
        let Some(peer) = self.peers.get_mut(address) else { return };
        peer.stall.end(now);
        let Some(channel) = peer.channel.take() else { return };
        self.budget.forget(address);
        self.release(channel.incoming.shared());
        if channel.peer.is_some() {
            self.tell(now, Input::Peer(address, &PeerChange::Down(cause)), out);
        }
    }

    fn peer_change(&mut self, now: Time, address: Address, change: &PeerChange, out: &mut dyn Outbox) {
        match *change {
            PeerChange::Up { incarnation, link } => {
                self.down(now, address, DownCause::Died, out);
                let channel = Channel::new(address, incarnation, link, self.config.limits());
                self.peers.insert(address, Peer { channel: Some(Box::new(channel)), ..Peer::default() });
                self.settle(now, address, out);
            }
            PeerChange::Down(cause) => {
                self.down(now, address, cause, out);
                self.peers.remove(address);
                // A refusal ends what never began: the protocol above learns why nobody answers.
                if matches!(cause, DownCause::Refused(_)) {
                    self.tell(now, Input::Peer(address, &PeerChange::Down(cause)), out);
                }
            }
        }
    }

    /// Sends what can go to a peer; tells the protocol above if it waited and may send again.
    fn settle(&mut self, now: Time, address: Address, out: &mut dyn Outbox) {
        let Some(peer) = self.peers.get_mut(address) else { return };
        let Some(channel) = &mut peer.channel else { return };
        if !channel.is_settled() {
            channel.settle(out, &mut self.counters, &mut self.budget);
            self.more |= channel.more | self.budget.take_moved();
        }
        let waited = peer.stall.since.is_some();
        if waited && channel.eased && !channel.is_refused() {
            peer.stall.end(now);
            channel.eased = false;
            self.tell(now, Input::Writable(address), out);
        }
    }

    /// Sends what gathered in a burst, and what else can go in another `handle`.
    fn end_burst(&mut self, now: Time, address: Address, out: &mut dyn Outbox) {
        if let Some(channel) = self.peers.get_mut(address).and_then(|peer| peer.channel.as_mut()) {
            // The link says when there is room, or that it is gone.
            let sent = channel.send_pack(out);
            if sent.is_err() && !self.config.keeps_refused_packs() {
                channel.pack = Pack::new(channel.link.max_body_bytes);
            }
        }
        self.settle(now, address, out);
    }

    fn writable(&mut self, now: Time, address: Address, out: &mut dyn Outbox) {
        if let Some(channel) = self.channel(address) {
            channel.eased = true;
        }
        self.settle(now, address, out);
    }

    /// Ends the burst with everybody for whom something waits for that, in the order of their addresses. Who has nothing is not looked at.
    fn end_bursts(&mut self, now: Time, out: &mut dyn Outbox) {
        let mut due = core::mem::take(&mut self.gathering);
        if core::mem::take(&mut self.more) {
            let more = |peer: &Peer| peer.channel.as_ref().is_some_and(|channel| channel.has_more());
            due.extend(self.peers.iter().filter(|(_, peer)| more(peer)).map(|(at, _)| at));
        }
        due.sort_unstable();
        due.dedup();
        for address in due.drain(..) {
            self.end_burst(now, address, out);
        }
        if self.gathering.is_empty() {
            // Its room serves the next burst.
            self.gathering = due;
        }
    }

    fn wake(&mut self, now: Time, out: &mut dyn Outbox) {
        if self.inner.deadline().is_some_and(|at| at <= now) {
            self.tell(now, Input::Wake, out);
        }
        // What it said then goes in this burst as well.
        self.end_bursts(now, out);
    }
}

impl<P: Protocol> Protocol for Messages<P> {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        self.now = now;
        let own = |address: Address| address.node == self.config.me.node;
        match input {
            Input::Started => self.tell(now, input, out),
            Input::Wake => self.wake(now, out),
            Input::Frame(address, _) | Input::Writable(address) | Input::Peer(address, _) if own(address) => {
                self.tell(now, input, out);
            }
            Input::Frame(from, frame) => self.receive(now, from, frame, out),
            Input::Writable(address) => self.writable(now, address, out),
            Input::Peer(address, change) => self.peer_change(now, address, change, out),
        }
    }

    fn deadline(&self) -> Option<Time> {
        let more = (self.more || !self.gathering.is_empty()).then_some(self.now);
        match (more, self.inner.deadline()) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    fn measure(&self, meter: &mut Meter<'_>) {
        let stalled = self.stalls().filter(|(_, stall)| stall.since.is_some()).count();
        self.counters.measure(stalled as u64, meter);
        self.inner.measure(meter);
    }
}
