//! What an instance adds to its process's part of a trace: a slice for each input and what was done about it, with the frames that came and went as
//! flows; and one for each operation of the process's callers, from the request to its answer.
//!
//! The two sides of a link name a frame alike without a byte more on the wire: by the first frame that went over the link in that direction, which is a
//! handshake and like no other, and by how many have gone since. Links deliver in order, so both count the same.

use crate::tracer::{Group, Place, Tracer};
use crate::watching::{OwnedCall, WatchingOutbox};
use quintet_clock::monotonic;
use quintet_contract::{Address, Frame, Input, Kind, NodeId, Outbox, PeerChange, Token};
use quintet_perfetto::{CAME_FROM, Detail, Flow, Track};
use quintet_wire::registry::PORT_CALLERS;
use std::collections::HashMap;
use std::fmt::Write;

/// Frames that one slice lists as sent.
const LISTED: usize = 8;

/// What kinds of frames are called, and which of them callers wait for.
#[derive(Clone, Copy)]
pub struct KindNames {
    /// A word for a kind.
    pub name: fn(Kind) -> &'static str,
    /// Whether it is answered.
    pub is_answered: fn(Kind) -> bool,
}

pub(crate) struct Traced {
    tracer: Tracer,
    at: Address,
    names: KindNames,
    /// Once there is something to show.
    track: Option<Track>,
    /// Links as they are now, by the peer.
    links: HashMap<NodeId, Link>,
    /// Operations of callers that have no answer so far.
    open: HashMap<Token, Place>,
}

/// Both directions of a link.
#[derive(Default)]
struct Link {
    out: Way,
    inward: Way,
}

/// One direction.
#[derive(Default)]
struct Way {
    /// What stands for its first frame.
    first: Option<u64>,
    count: u64,
}

impl Way {
    /// The flow of the next frame.
    fn next(&mut self, from: NodeId, to: NodeId, kind: Kind, body: &[u8]) -> Flow {
        let first = *self.first.get_or_insert_with(|| {
            let ends = [from.0.to_le_bytes(), to.0.to_le_bytes()].concat();
            [&ends[..], &[kind.0], body].iter().fold(FNV_OFFSET, |digest, bytes| fnv(digest, bytes))
        });
        self.count += 1;
        Flow(fnv(first, &self.count.to_le_bytes()))
    }
}

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a, 64 bits: the same in every program, whatever it was built with.
fn fnv(digest: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(digest, |digest, byte| (digest ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

impl Traced {
    pub(crate) fn new(tracer: Tracer, at: Address, names: KindNames) -> Traced {
        Traced { tracer, at, names, track: None, links: HashMap::new(), open: HashMap::new() }
    }

    /// Lets the instance handle an input.
    pub(crate) fn handle(
        &mut self,
        input: Input<'_>,
        out: &mut dyn Outbox,
        handle: impl FnOnce(&mut dyn Outbox),
    ) {
        let begun = monotonic();
        let mut watching = WatchingOutbox::new(out);
        handle(&mut watching);
        let calls = watching.calls();
        self.tell((begun, monotonic()), input, &calls);
    }

    fn tell(&mut self, times: (u64, u64), input: Input<'_>, calls: &[OwnedCall]) {
        let tracer = self.tracer.clone();
        let mut part = tracer.lock();
        let mut flows = Vec::new();
        let mut came = None;
        match input {
            Input::Frame(from, frame) if from.node != self.at.node => {
                flows.push(self.received(from.node, &frame));
                came = Some((from.node, frame));
            }
            Input::Frame(from, frame) if self.is_begun_by(from, &frame) => {
                let name = (self.names.name)(frame.kind);
                let place = part.begin(times.0, Group::Operations, name, &[]);
                self.open.insert(frame.token, place);
            }
            Input::Peer(peer, PeerChange::Up { .. }) => drop(self.links.insert(peer.node, Link::default())),
            _ => {}
        }
        let mut sent = Sent::default();
        for call in calls {
            let OwnedCall::Sent(to, frame) = call else { continue };
            let bytes = frame.body.len() + frame.bulk.len();
            if to.node != self.at.node {
                let way = &mut self.links.entry(to.node).or_default().out;
                flows.push(way.next(self.at.node, to.node, frame.kind, &frame.body));
                sent.add((self.names.name)(frame.kind), *to, bytes);
            } else if to.port == PORT_CALLERS
                && let Some(place) = self.open.remove(&frame.token)
            {
                part.end(times.1, place);
            }
        }
        // What neither came from elsewhere nor goes there is no news.
        if let Some(name) = came.map(|(_, frame)| (self.names.name)(frame.kind)).or(sent.first()) {
            let mut details = Vec::new();
            if let Some((from, frame)) = came {
                let bytes = (frame.body.len() + frame.bulk.len()) as u64;
                details.push((CAME_FROM, Detail::Number(from.0.into())));
                details.push(("bytes", Detail::Number(bytes)));
            }
            if !sent.text.is_empty() {
                details.push(("sent", Detail::Text(&sent.text)));
            }
            let track = *self.track.get_or_insert_with(|| part.track("frames"));
            part.step(track, times, name, &details, &flows);
        }
        part.write();
    }

    fn received(&mut self, from: NodeId, frame: &Frame<'_>) -> Flow {
        self.links.entry(from).or_default().inward.next(from, self.at.node, frame.kind, frame.body)
    }

    fn is_begun_by(&self, from: Address, frame: &Frame<'_>) -> bool {
        from.port == PORT_CALLERS && (self.names.is_answered)(frame.kind)
    }
}

/// Frames that went, in words.
#[derive(Default)]
struct Sent {
    text: String,
    count: usize,
    first: Option<&'static str>,
}

impl Sent {
    fn add(&mut self, name: &'static str, to: Address, bytes: usize) {
        self.first.get_or_insert(name);
        self.count += 1;
        let separator = if self.text.is_empty() { "" } else { "; " };
        // Writing to text does not fail.
        let _ = match self.count {
            ..=LISTED => write!(self.text, "{separator}{name} to node {}, {bytes} bytes", to.node.0),
            count if count == LISTED + 1 => write!(self.text, "{separator}and more"),
            _ => Ok(()),
        };
    }

    fn first(&self) -> Option<&'static str> {
        self.first
    }
}
