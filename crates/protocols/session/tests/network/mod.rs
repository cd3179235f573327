//! A network of a few nodes in one thread: seeded loss, duplication, reordering, delay, and links that are full now and then.
//! Shared by the tests of the layers above (they include this folder by path).

pub(crate) mod talker;

use quintet_contract::limits::MAX_BODY_BYTES;
use quintet_contract::{
    Address, Bytes, Disconnect, DownCause, Incarnation, Input, Kind, LinkClass, LinkInfo, Outbox, OwnedFrame,
    PeerChange, Protocol, Random, SendError, Span, Time, Token,
};
use std::collections::{BTreeMap, BTreeSet};

/// How links behave.
#[derive(Clone, Debug)]
pub(crate) struct Conditions {
    /// Frames lost in a million.
    pub(crate) loss: u32,
    /// Frames doubled in a million.
    pub(crate) duplication: u32,
    /// The least and the most delay. If they differ and the link is not ordered, frames overtake each other.
    pub(crate) delay: (Span, Span),
    /// Whether frames keep their order.
    pub(crate) ordered: bool,
    /// Sends refused in a million.
    pub(crate) full: u32,
    /// The largest bulk in one frame.
    pub(crate) max_bulk_bytes: usize,
}

impl Conditions {
    /// Like TCP.
    pub(crate) fn reliable() -> Self {
        let delay = (Span::from_micros(5), Span::from_micros(50));
        Conditions { loss: 0, duplication: 0, delay, ordered: true, full: 0, max_bulk_bytes: 64_000 }
    }

    /// Like a bad datagram network.
    pub(crate) fn lossy(loss: u32) -> Self {
        let delay = (Span::from_micros(5), Span::from_micros(500));
        Conditions { loss, duplication: loss, delay, ordered: false, ..Conditions::reliable() }
    }
}

enum Event {
    Arrive { from: Address, to: Address, frame: OwnedFrame },
    Writable { at: Address, about: Address },
    Ended { at: Address, about: Address, cause: DownCause },
}

pub(crate) struct Network<P> {
    pub(crate) now: Time,
    pub(crate) conditions: Conditions,
    pub(crate) nodes: BTreeMap<Address, P>,
    /// Frames that nodes sent to their own node.
    pub(crate) local: Vec<(Address, OwnedFrame)>,
    /// Kinds that are lost, whatever the conditions.
    pub(crate) swallow: BTreeSet<Kind>,
    /// Every frame that was sent to another node: from, to, frame.
    pub(crate) trace: Vec<(Address, Address, OwnedFrame)>,
    random: Random,
    events: BTreeMap<(Time, u64), Event>,
    order: u64,
    linked: BTreeSet<(Address, Address)>,
    last: BTreeMap<(Address, Address), Time>,
}

impl<P: Protocol> Network<P> {
    pub(crate) fn new(seed: u64, conditions: Conditions) -> Self {
        Network {
            now: Time::ZERO,
            conditions,
            nodes: BTreeMap::new(),
            local: Vec::new(),
            swallow: BTreeSet::new(),
            trace: Vec::new(),
            random: Random::new(seed, 0),
            events: BTreeMap::new(),
            order: 0,
            linked: BTreeSet::new(),
            last: BTreeMap::new(),
        }
    }

    pub(crate) fn add(&mut self, at: Address, protocol: P) {
        self.nodes.insert(at, protocol);
        self.input(at, Input::Started);
    }

    /// Both sides learn of the link between them.
    pub(crate) fn link(&mut self, a: Address, b: Address) {
        self.linked.extend([(a, b), (b, a)]);
        self.half_link(a, b);
        self.half_link(b, a);
    }

    pub(crate) fn half_link(&mut self, at: Address, about: Address) {
        let max_bulk_bytes = self.conditions.max_bulk_bytes;
        let up = PeerChange::Up {
            incarnation: Incarnation(0),
            link: LinkInfo::new(LinkClass::Machine, max_bulk_bytes),
        };
        self.input(at, Input::Peer(about, &up));
    }

    /// Whether a node has a link to another.
    #[allow(dead_code, reason = "the tests of messaging use this network, too")]
    pub(crate) fn is_linked(&self, at: Address, about: Address) -> bool {
        self.linked.contains(&(at, about))
    }

    /// Nothing passes between them any more; nobody is told.
    pub(crate) fn part(&mut self, a: Address, b: Address) {
        self.linked.remove(&(a, b));
        self.linked.remove(&(b, a));
    }

    /// Frames pass again; nobody is told.
    pub(crate) fn heal(&mut self, a: Address, b: Address) {
        self.linked.extend([(a, b), (b, a)]);
    }

    /// The link is cut and both sides learn it. What was under way arrives late if the link is not ordered.
    pub(crate) fn cut(&mut self, a: Address, b: Address, cause: DownCause) {
        self.part(a, b);
        if self.conditions.ordered {
            self.lose_in_flight(a, b);
        }
        self.input(a, Input::Peer(b, &PeerChange::Down(cause)));
        self.input(b, Input::Peer(a, &PeerChange::Down(cause)));
    }

    /// What is under way between them is lost.
    pub(crate) fn lose_in_flight(&mut self, a: Address, b: Address) {
        let between = |from, to| (from, to) == (a, b) || (from, to) == (b, a);
        self.events.retain(|_, event| match event {
            Event::Arrive { from, to, .. } => !between(*from, *to),
            Event::Writable { .. } | Event::Ended { .. } => true,
        });
    }

    /// A node has its link closed: it hears nothing more, and the peer learns of it after what was sent before.
    fn disconnect(&mut self, at: Address, peer: Address, how: Disconnect) {
        if !self.linked.contains(&(at, peer)) {
            return;
        }
        self.part(at, peer);
        self.events.retain(|_, event| match event {
            Event::Arrive { from, to, .. } => (*from, *to) != (peer, at),
            Event::Writable { at: to, about } | Event::Ended { at: to, about, .. } => {
                (*to, *about) != (at, peer)
            }
        });
        let last = self.last.get(&(at, peer)).copied().unwrap_or_default();
        let after = last.max(self.now + self.conditions.delay.1);
        let cause = match how {
            Disconnect::ForGood => DownCause::Closed,
            Disconnect::UntilNextLink => DownCause::Died,
        };
        self.schedule(after, Event::Ended { at: peer, about: at, cause });
        self.input(at, Input::Peer(peer, &PeerChange::Down(how.cause())));
    }

    /// One input to one node, now.
    pub(crate) fn input(&mut self, at: Address, input: Input<'_>) {
        let mut wire = Wire {
            random: &mut self.random,
            full: self.conditions.full,
            sent: vec![],
            refused: vec![],
            disconnected: BTreeMap::new(),
            begun: None,
        };
        let now = self.now;
        self.nodes.get_mut(&at).expect("the node exists").handle(now, input, &mut wire);
        let Wire { sent, refused, disconnected, .. } = wire;
        for about in refused {
            let after = self.now + Span(1 + self.random.below(50_000));
            self.schedule(after, Event::Writable { at, about });
        }
        for (to, frame) in sent {
            self.depart(at, to, frame);
        }
        for (peer, how) in disconnected {
            self.disconnect(at, peer, how);
        }
    }

    /// One frame to one node, now, from wherever the caller says.
    pub(crate) fn inject(&mut self, from: Address, to: Address, frame: &OwnedFrame) {
        self.input(to, Input::Frame(from, frame.borrow()));
    }

    /// Runs until nothing is left to do, or until `limit`.
    pub(crate) fn run(&mut self, limit: Span) {
        let end = self.now + limit;
        while self.step(end) {}
        self.now = self.now.max(end);
    }

    /// Runs until `done` or `limit`. Whether it was done.
    pub(crate) fn run_until(&mut self, limit: Span, mut done: impl FnMut(&Self) -> bool) -> bool {
        let end = self.now + limit;
        while !done(self) {
            if !self.step(end) {
                return false;
            }
        }
        true
    }

    fn step(&mut self, end: Time) -> bool {
        let wake = self.nodes.iter().filter_map(|(at, node)| Some((node.deadline()?, *at))).min();
        let event = self.events.first_key_value().map(|((at, _), _)| *at);
        let next = match (event, wake) {
            (None, None) => return false,
            (Some(at), None) => at,
            (event, Some((deadline, _))) => event.map_or(deadline, |at| at.min(deadline)),
        };
        if next > end {
            return false;
        }
        self.now = self.now.max(next);
        match wake {
            Some((deadline, at)) if event.is_none_or(|event| deadline < event) => self.input(at, Input::Wake),
            _ => self.happen(),
        }
        true
    }

    fn happen(&mut self) {
        match self.events.pop_first() {
            Some((_, Event::Arrive { from, to, frame })) if self.nodes.contains_key(&to) => {
                self.inject(from, to, &frame);
            }
            Some((_, Event::Writable { at, about })) if self.nodes.contains_key(&at) => {
                self.input(at, Input::Writable(about));
            }
            Some((_, Event::Ended { at, about, cause })) if self.nodes.contains_key(&at) => {
                self.input(at, Input::Peer(about, &PeerChange::Down(cause)));
            }
            _ => {}
        }
    }

    fn depart(&mut self, from: Address, to: Address, frame: OwnedFrame) {
        if to.node == from.node {
            self.local.push((to, frame));
            return;
        }
        self.trace.push((from, to, frame.clone()));
        if !self.linked.contains(&(from, to)) || self.swallow.contains(&frame.kind) {
            return;
        }
        let copies = 1 + usize::from(self.random.chance(self.conditions.duplication));
        for _ in 0..copies {
            if self.random.chance(self.conditions.loss) {
                continue;
            }
            let (least, most) = self.conditions.delay;
            let mut at = self.now + Span(least.0 + self.random.below(most.0 - least.0 + 1));
            if self.conditions.ordered {
                let last = self.last.entry((from, to)).or_default();
                at = at.max(*last);
                *last = at;
            }
            self.schedule(at, Event::Arrive { from, to, frame: frame.clone() });
        }
    }

    fn schedule(&mut self, at: Time, event: Event) {
        self.order += 1;
        self.events.insert((at, self.order), event);
    }
}

/// The outbox of one `handle`.
struct Wire<'a> {
    random: &'a mut Random,
    full: u32,
    sent: Vec<(Address, OwnedFrame)>,
    refused: Vec<Address>,
    disconnected: BTreeMap<Address, Disconnect>,
    begun: Option<(Address, Kind, Token, Vec<u8>)>,
}

impl Wire<'_> {
    fn room(&mut self, to: Address, body: usize) -> Result<(), SendError> {
        if body > MAX_BODY_BYTES {
            return Err(SendError::TooLong { len: body, limit: MAX_BODY_BYTES });
        }
        // Full once, full for the rest of this `handle`, as a real ring would be.
        if self.refused.contains(&to) || self.random.chance(self.full) {
            self.refused.push(to);
            self.refused.dedup();
            return Err(SendError::Full);
        }
        Ok(())
    }
}

impl Outbox for Wire<'_> {
    fn begin(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        at_most: usize,
    ) -> Result<&mut [u8], SendError> {
        self.room(to, at_most)?;
        Ok(&mut self.begun.insert((to, kind, token, vec![0; at_most])).3)
    }

    fn commit(&mut self, len: usize) {
        let (to, kind, token, mut body) = self.begun.take().expect("commit follows begin");
        body.truncate(len);
        self.sent.push((to, OwnedFrame { kind, token, body: body.into(), bulk: Bytes::new() }));
    }

    fn send_bulk(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        head: &[u8],
        bulk: Bytes,
    ) -> Result<(), SendError> {
        self.room(to, head.len())?;
        self.sent.push((to, OwnedFrame { kind, token, body: Bytes::copy_from_slice(head), bulk }));
        Ok(())
    }
    fn disconnect(&mut self, peer: Address, how: Disconnect) {
        self.begun = None;
        self.disconnected.insert(peer, how);
    }
}
