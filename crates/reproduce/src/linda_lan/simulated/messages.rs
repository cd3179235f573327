//! What processes tell each other, in one packet or in two.

use super::parameters::{FIELD_BYTES, HEADER_BYTES};
use crate::linda_lan::Packets;
use quintet_contract::{Address, Bytes, Frame, Kind, NodeId, Outbox, OwnedFrame, Port, Stage, Token};
use std::collections::VecDeque;

/// The header of a message in two packets.
const HEADER: Kind = Kind(0xf0);
/// A message, or the second packet of one.
const MESSAGE: Kind = Kind(0xf1);
/// From who runs the simulation: begin.
pub(super) const BEGIN: Kind = Kind(0xf2);

/// Half of what a message costs.
pub(super) const HANDLE: Stage = Stage(0);
/// A connection that is looked at.
pub(super) const LOOK: Stage = Stage(1);
/// A multiplication.
pub(super) const MULTIPLY: Stage = Stage(2);

/// The one port of each process.
const PORT: Port = Port(1024);

pub(super) const fn at(node: NodeId) -> Address {
    Address { node, port: PORT }
}

/// Kinds of tuples.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Class {
    Dimension,
    Task,
    Row,
    Column,
    Result,
    Block,
}

/// What a message is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum What {
    Out,
    In,
    Rd,
    Inp,
    Found,
    None,
}

const CLASSES: [Class; 6] =
    [Class::Dimension, Class::Task, Class::Row, Class::Column, Class::Result, Class::Block];
const WHATS: [What; 6] = [What::Out, What::In, What::Rd, What::Inp, What::Found, What::None];

/// A message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Message {
    pub(super) what: What,
    pub(super) class: Class,
    /// Who asks, or asked.
    pub(super) asker: NodeId,
    /// Bytes of its fields.
    pub(super) bytes: usize,
}

impl Message {
    /// With so many scalar fields.
    pub(super) fn new(what: What, class: Class, asker: NodeId, fields: usize) -> Message {
        Message { what, class, asker, bytes: FIELD_BYTES * (fields + 1) }
    }

    /// With so many bytes more.
    pub(super) fn with(self, bytes: usize) -> Message {
        Message { bytes: self.bytes + bytes, ..self }
    }

    /// Whether a manager has said it.
    pub(super) fn is_answer(&self) -> bool {
        matches!(self.what, What::Found | What::None)
    }

    fn read(frame: &OwnedFrame) -> Option<Message> {
        let [what, class] = *frame.body.first_chunk::<2>()?;
        let what = *WHATS.get(usize::from(what))?;
        let class = *CLASSES.get(usize::from(class))?;
        let asker = NodeId(u16::try_from(frame.token.0).ok()?);
        Some(Message { what, class, asker, bytes: frame.bulk.len() })
    }
}

/// How a process sends and receives.
#[derive(Debug)]
pub(super) struct Mail {
    packets: Packets,
    /// What came and was not handled, oldest first.
    came: VecDeque<(Address, OwnedFrame)>,
    /// Whose header has been read: until its data come nothing else is.
    awaited: Option<Address>,
}

impl Mail {
    pub(super) fn new(packets: Packets) -> Mail {
        Mail { packets, came: VecDeque::new(), awaited: None }
    }

    pub(super) fn send(&self, to: NodeId, message: &Message, out: &mut dyn Outbox) {
        out.work(HANDLE, 1);
        let token = Token(message.asker.0.into());
        let head = [message.what as u8, message.class as u8];
        let mut header = vec![0; HEADER_BYTES];
        // Links of the model have room for what a process has under way: it waits for each answer.
        if self.packets == Packets::Two {
            let _ = out.send(at(to), HEADER, token, &header);
            let _ = out.send_bulk(at(to), MESSAGE, token, &head, data(message.bytes));
        } else {
            header[..head.len()].copy_from_slice(&head);
            let _ = out.send_bulk(at(to), MESSAGE, token, &header, data(message.bytes));
        }
    }

    pub(super) fn take(&mut self, from: Address, frame: Frame<'_>) {
        self.came.push_back((from, frame.to_owned()));
    }

    /// The next message that is there as a whole, unless another one's data is waited for.
    pub(super) fn next(&mut self, out: &mut dyn Outbox) -> Option<Message> {
        loop {
            let place = match self.awaited {
                Some(from) => self.came.iter().position(|(other, _)| *other == from)?,
                None => 0,
            };
            let (from, frame) = self.came.remove(place)?;
            self.awaited = (frame.kind == HEADER).then_some(from);
            if frame.kind == MESSAGE {
                out.work(HANDLE, 1);
                return Message::read(&frame);
            }
        }
    }
}

fn data(bytes: usize) -> Bytes {
    Bytes::from(vec![0; bytes])
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_contract::Effects;

    const HERE: NodeId = NodeId(3);

    fn sent(packets: Packets, message: &Message) -> Vec<OwnedFrame> {
        let mut out = Effects::default();
        Mail::new(packets).send(NodeId(9), message, &mut out);
        out.frames().into_iter().map(|(_, frame)| frame).collect()
    }

    #[test]
    fn a_message_is_read_as_it_was_sent_and_has_as_many_packets_as_it_shall() {
        let message = Message::new(What::Found, Class::Row, NodeId(7), 2).with(120);
        for packets in Packets::BOTH {
            let frames = sent(packets, &message);
            assert_eq!(frames.len(), usize::from(packets.count()));
            let mut mail = Mail::new(packets);
            let mut out = Effects::default();
            frames.iter().for_each(|frame| mail.take(at(HERE), frame.borrow()));
            assert_eq!(mail.next(&mut out), Some(message));
            assert_eq!(mail.next(&mut out), None);
        }
    }

    #[test]
    fn behind_a_header_nothing_is_read_but_its_data() {
        let (first, second) = (
            Message::new(What::In, Class::Task, NodeId(1), 1),
            Message::new(What::Inp, Class::Task, NodeId(2), 1),
        );
        let (one, other) = (sent(Packets::Two, &first), sent(Packets::Two, &second));
        let mut mail = Mail::new(Packets::Two);
        let mut out = Effects::default();
        mail.take(at(NodeId(1)), one[0].borrow());
        other.iter().for_each(|frame| mail.take(at(NodeId(2)), frame.borrow()));
        assert_eq!(mail.next(&mut out), None, "the data of the first has not come");
        mail.take(at(NodeId(1)), one[1].borrow());
        assert_eq!((mail.next(&mut out), mail.next(&mut out)), (Some(first), Some(second)));
    }
}
