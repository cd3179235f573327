//! What a host's program does: sends messages or isochrons, gives them back, counts them.

use quintet_contract::limits::HEADER_BYTES;
use quintet_contract::{
    Address, Bytes, Frame, Input, Kind, NodeId, Outbox, Port, Protocol, Span, Time, Token,
};
use quintet_isotach::codec::{COMPLETED, DELIVERED, Delivered, PLAIN, Plain, REFUSED, Refusal, SENT, SUBMIT};
use quintet_isotach::{Operation, Variable};
use quintet_wire::registry::PORT_CALLERS;
use quintet_wire::{Decode, encode_to_vec};
use std::collections::VecDeque;

/// A message from program to program, below everything else: what Fast Messages are.
const RAW: Kind = Kind(0xf0);
/// So many of them have been taken.
const CREDIT: Kind = Kind(0xf1);
/// From who runs the simulation: begin.
pub(super) const BEGIN: Kind = Kind(0xf2);

/// Messages that may be under way to a receiver without its credit; half of them are given back at once.
const RAW_WINDOW: u32 = 32;

/// The port of a program.
pub(super) const PORT: Port = PORT_CALLERS;

/// How a message goes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Way {
    /// From program to program, with credits only: what the study calls FM.
    Raw,
    /// The node's plain message, whose arrival its sender is told.
    Plain,
    /// In an isochron with agreed delivery.
    Agreed,
    /// In an isochron with safe delivery.
    Safe,
}

impl Way {
    /// All, the fastest first.
    pub const ALL: [Way; 4] = [Way::Raw, Way::Plain, Way::Agreed, Way::Safe];
    /// Those with logical time.
    pub const ISOCHRONS: [Way; 2] = [Way::Agreed, Way::Safe];

    /// As in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Way::Raw => "fast messages",
            Way::Plain => "plain messages",
            Way::Agreed => "isochrons, agreed",
            Way::Safe => "isochrons, safe",
        }
    }
}

/// What a receiver does with a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Purpose {
    Count = 0,
    GiveBack = 1,
    GivenBack = 2,
}

/// What a program is to do when it begins.
#[derive(Clone, Debug)]
pub(super) enum Task {
    /// Sends one message after the other and waits for each to come back, so many times.
    RoundTrips { to: NodeId, left: u32 },
    /// Keeps so many messages or isochrons under way until `left` have been sent; each goes to the next of the sets of receivers.
    Stream { to: Vec<Vec<NodeId>>, window: usize, left: u32 },
    /// Reads a variable, waits for its value, so many times.
    Reads { variable: Variable, left: u32 },
}

/// A message that came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Arrival {
    pub(super) from: NodeId,
    /// When its sender gave it away.
    pub(super) sent: Time,
    /// How long it took from then.
    pub(super) latency: Span,
}

/// A host's program.
#[derive(Debug)]
pub(super) struct Program {
    /// Where its node is.
    node: Address,
    way: Way,
    /// Bytes of a message's data.
    data: usize,
    task: Option<Task>,
    /// What has been sent, by its token.
    tokens: u64,
    /// Messages or isochrons that nobody has acknowledged.
    under_way: usize,
    /// Of raw messages: those that have no credit, and those for which there is none to give yet.
    uncredited: u32,
    owed: Vec<(NodeId, u32)>,
    held: VecDeque<(NodeId, Purpose)>,
    /// Data that were received, in messages.
    pub(super) received: u64,
    /// Messages that were sent.
    pub(super) sent: u64,
    /// Messages that did not come back, in the order of arrival.
    pub(super) arrivals: Vec<Arrival>,
    /// When messages came back, or values came.
    pub(super) returns: Vec<Time>,
    /// When the first message was received, and the last.
    pub(super) span: Option<(Time, Time)>,
    /// What was refused, if something was: a defect of this model.
    pub(super) refused: Option<String>,
}

impl Program {
    pub(super) fn new(node: Address, way: Way, data: usize, task: Option<Task>) -> Program {
        Program {
            node,
            way,
            data,
            task,
            tokens: 0,
            under_way: 0,
            uncredited: 0,
            owed: Vec::new(),
            held: VecDeque::new(),
            received: 0,
            sent: 0,
            arrivals: Vec::new(),
            returns: Vec::new(),
            span: None,
            refused: None,
        }
    }

    /// Sends nothing any more but what comes back.
    pub(super) fn stop(&mut self) {
        self.task = None;
    }

    /// Does what there is to do next.
    fn go_on(&mut self, now: Time, out: &mut dyn Outbox) {
        match &mut self.task {
            Some(Task::RoundTrips { to, left }) if *left > 0 => {
                *left -= 1;
                let to = *to;
                self.send(now, &[to], Purpose::GiveBack, out);
            }
            Some(Task::Reads { variable, left }) if *left > 0 => {
                *left -= 1;
                let read = Operation::Read(*variable);
                self.submit(&[read], out);
            }
            _ => {}
        }
    }

    fn stream(&mut self, now: Time, out: &mut dyn Outbox) {
        while let Some(Task::Stream { to, window, left }) = &mut self.task
            && *left > 0
            && self.under_way < *window
            && self.held.is_empty()
        {
            *left -= 1;
            to.rotate_left(1);
            let receivers = to.last().cloned().unwrap_or_default();
            self.send(now, &receivers, Purpose::Count, out);
        }
    }

    fn send(&mut self, now: Time, receivers: &[NodeId], purpose: Purpose, out: &mut dyn Outbox) {
        self.sent += receivers.len() as u64;
        match self.way {
            Way::Raw => {
                self.held.extend(receivers.iter().map(|to| (*to, purpose)));
                self.send_held(now, out);
            }
            Way::Plain => receivers.iter().for_each(|to| self.send_plain(now, *to, purpose, out)),
            Way::Agreed | Way::Safe => {
                let bytes = Bytes::from(self.bytes_of(now, self.data));
                let send =
                    |to: &NodeId| Operation::Send { to: *to, handler: purpose as u32, bytes: bytes.clone() };
                let operations: Vec<Operation> = receivers.iter().map(send).collect();
                self.submit(&operations, out);
            }
        }
    }

    fn send_plain(&mut self, now: Time, node: NodeId, purpose: Purpose, out: &mut dyn Outbox) {
        let bytes = self.bytes_of(now, self.data);
        let body = encode_to_vec(&Plain { node, handler: purpose as u32, bytes: &bytes });
        self.ask(PLAIN, &body, out);
    }

    fn submit(&mut self, operations: &[Operation], out: &mut dyn Outbox) {
        let count = u16::try_from(operations.len()).expect("isochrons of a study are small");
        let mut body = count.to_le_bytes().to_vec();
        operations.iter().for_each(|operation| body.extend(encode_to_vec(operation)));
        self.ask(SUBMIT, &body, out);
    }

    fn ask(&mut self, kind: Kind, body: &[u8], out: &mut dyn Outbox) {
        self.tokens += 1;
        self.under_way += 1;
        if let Err(error) = out.send(self.node, kind, Token(self.tokens), body) {
            self.refused = Some(error.to_string());
        }
    }

    /// Sends raw messages for which there is credit. In a frame they are as long as the study's packets, of which 20 bytes are no data.
    fn send_held(&mut self, now: Time, out: &mut dyn Outbox) {
        while self.uncredited < RAW_WINDOW
            && let Some((to, purpose)) = self.held.pop_front()
        {
            let mut body =
                self.bytes_of(now, self.data + super::parameters::STUDY_HEADER_BYTES - HEADER_BYTES);
            body[8] = purpose as u8;
            self.uncredited += 1;
            self.under_way += 1;
            if let Err(error) = out.send(Address { node: to, port: PORT }, RAW, Token(0), &body) {
                self.refused = Some(error.to_string());
            }
        }
    }

    /// So many bytes, the first eight of which say when they were sent.
    fn bytes_of(&self, now: Time, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        bytes[..8].copy_from_slice(&now.0.to_le_bytes());
        bytes
    }

    /// A message came.
    fn take(&mut self, now: Time, from: NodeId, purpose: u32, bytes: &[u8], out: &mut dyn Outbox) {
        self.received += 1;
        let first = self.span.map_or(now, |(first, _)| first);
        self.span = Some((first, now));
        if purpose == Purpose::GiveBack as u32 {
            self.send(now, &[from], Purpose::GivenBack, out);
        } else if purpose == Purpose::GivenBack as u32 {
            self.returns.push(now);
            self.go_on(now, out);
        } else if let Some(sent) = bytes.first_chunk::<8>() {
            let sent = Time(u64::from_le_bytes(*sent));
            self.arrivals.push(Arrival { from, sent, latency: now.since(sent) });
        }
    }

    /// A raw message came: its sender gets credit for half a window at once.
    fn take_raw(&mut self, now: Time, from: NodeId, body: &[u8], out: &mut dyn Outbox) {
        let at = self.owed.iter().position(|(to, _)| *to == from);
        let at = at.unwrap_or_else(|| {
            self.owed.push((from, 0));
            self.owed.len() - 1
        });
        self.owed[at].1 += 1;
        if self.owed[at].1 == RAW_WINDOW / 2 {
            self.owed[at].1 = 0;
            if let Err(error) = out.send(Address { node: from, port: PORT }, CREDIT, Token(0), &[]) {
                self.refused = Some(error.to_string());
            }
        }
        self.take(now, from, body[8].into(), body, out);
    }

    fn credited(&mut self, now: Time, out: &mut dyn Outbox) {
        self.uncredited -= RAW_WINDOW / 2;
        self.under_way -= (RAW_WINDOW / 2) as usize;
        self.send_held(now, out);
    }

    /// An isochron was executed, or a plain message has arrived.
    fn acknowledged(&mut self, now: Time, out: &mut dyn Outbox) {
        self.under_way -= 1;
        if matches!(self.task, Some(Task::Reads { .. })) {
            self.returns.push(now);
            self.go_on(now, out);
        }
    }

    fn hear(&mut self, now: Time, from: Address, frame: Frame<'_>, out: &mut dyn Outbox) {
        match frame.kind {
            BEGIN => self.go_on(now, out),
            RAW => self.take_raw(now, from.node, frame.body, out),
            CREDIT => self.credited(now, out),
            COMPLETED | SENT => self.acknowledged(now, out),
            DELIVERED => match Delivered::of(frame) {
                Ok(came) => self.take(now, came.sender, came.handler, came.bytes, out),
                Err(error) => self.refused = Some(error.to_string()),
            },
            PLAIN => match Plain::of(frame) {
                Ok(came) => self.take(now, came.node, came.handler, came.bytes, out),
                Err(error) => self.refused = Some(error.to_string()),
            },
            REFUSED => {
                let why = Refusal::decode_all(frame.body);
                self.refused = Some(why.map_or_else(|error| error.to_string(), |why| why.to_string()));
            }
            other => self.refused = Some(format!("a program is not told kind {}", other.0)),
        }
    }
}

impl Protocol for Program {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        if let Input::Frame(from, frame) = input {
            self.hear(now, from, frame, out);
            self.stream(now, out);
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}
