//! What modules tell each other, as frames.

use super::MessageType;
use super::uses::use_of;
use crate::device::Class;
use crate::picos::Picos;
use quintet_contract::{Address, Frame, Kind, NodeId, Port};
use quintet_wire::registry::MODELS;

/// A message of a modelled program. Token: its [`MessageType`](super::MessageType); body: its length in bytes, u64, and who asked.
const MESSAGE: Kind = MODELS.kind(0);
/// The same, of the synchronous class.
const SYNCHRONOUS_MESSAGE: Kind = MODELS.kind(3);
/// A predecessor is done. Token: which one; body: who asked.
pub(super) const SUCCEED: Kind = MODELS.kind(1);
/// To the host: here an activation is now. Token: the mark's number; body: when the activation was ready, [`Picos`], u64.
pub(super) const MARK: Kind = MODELS.kind(2);
/// An answer. Token: the activation that asked; body: its length in bytes, u64.
pub(super) const REPLY: Kind = MODELS.kind(4);
/// To the module itself, when what it did before is done. Token: the activation that goes on.
pub(super) const PROCEED: Kind = MODELS.kind(5);
/// Activations are to end. Body: on whose behalf.
pub(super) const CANCEL: Kind = MODELS.kind(6);
/// The same, of the synchronous class.
pub(super) const SYNCHRONOUS_REPLY: Kind = MODELS.kind(11);
/// Bytes of headers that a frame of the product's own protocols has besides body and bulk.
const FRAME_HEADER_BYTES: u64 = quintet_contract::limits::HEADER_BYTES as u64;

/// Which activation asked, and waits for the reply: what all that is done for it has in common.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Asker {
    pub(super) at: Address,
    pub(super) activation: u32,
}

/// Bytes of an asker.
const ASKER: usize = 8;

impl Asker {
    fn to_bytes(self) -> [u8; ASKER] {
        let mut bytes = [0; ASKER];
        bytes[..2].copy_from_slice(&self.at.node.0.to_le_bytes());
        bytes[2..4].copy_from_slice(&self.at.port.0.to_le_bytes());
        bytes[4..].copy_from_slice(&self.activation.to_le_bytes());
        bytes
    }

    fn of(bytes: [u8; ASKER]) -> Asker {
        let [n, o, p, q, activation @ ..] = bytes;
        let at = Address { node: NodeId(u16::from_le_bytes([n, o])), port: Port(u16::from_le_bytes([p, q])) };
        Asker { at, activation: u32::from_le_bytes(activation) }
    }
}

/// The body of a message of this length that belongs to what somebody asked for.
pub(super) fn message_body(bytes: u64, asker: Asker) -> [u8; 8 + ASKER] {
    let mut body = [0; 8 + ASKER];
    body[..8].copy_from_slice(&bytes.to_le_bytes());
    body[8..].copy_from_slice(&asker.to_bytes());
    body
}

/// The body that names an asker alone.
pub(super) fn asker_body(asker: Option<Asker>) -> ([u8; ASKER], usize) {
    asker.map_or(([0; ASKER], 0), |asker| (asker.to_bytes(), ASKER))
}

/// Who asked for what a frame belongs to.
pub(super) fn asker_of(frame: &Frame<'_>) -> Option<Asker> {
    let behind = if message_class(frame.kind).is_some() { frame.body.get(8..)? } else { frame.body };
    behind.as_array::<ASKER>().map(|bytes| Asker::of(*bytes))
}

/// The kind of a module's message of this class.
pub(crate) fn message_kind(class: Class) -> Kind {
    match class {
        Class::Asynchronous => MESSAGE,
        Class::Synchronous => SYNCHRONOUS_MESSAGE,
    }
}

/// The kind of a reply of this class.
pub(super) fn reply_kind(class: Class) -> Kind {
    match class {
        Class::Asynchronous => REPLY,
        Class::Synchronous => SYNCHRONOUS_REPLY,
    }
}

/// Which message of a module a frame is; none if it is something else, such as a reply.
pub(crate) fn message_of(frame: &Frame<'_>) -> Option<MessageType> {
    let is_message = matches!(frame.kind, MESSAGE | SYNCHRONOUS_MESSAGE);
    u32::try_from(frame.token.0).ok().filter(|_| is_message).map(MessageType)
}

/// The class of a module's message or reply; none if a frame of this kind is no such message.
pub(crate) fn message_class(kind: Kind) -> Option<Class> {
    match kind {
        MESSAGE | REPLY => Some(Class::Asynchronous),
        SYNCHRONOUS_MESSAGE | SYNCHRONOUS_REPLY => Some(Class::Synchronous),
        _ => None,
    }
}

/// Which mark a module made by this frame, and when the activation was ready; none if it is no mark.
pub(crate) fn mark_of(frame: &Frame<'_>) -> Option<(u32, Picos)> {
    let ready = frame.body.as_array::<8>().filter(|_| frame.kind == MARK)?;
    let number = u32::try_from(frame.token.0).unwrap_or(u32::MAX);
    Some((number, Picos(u64::from_le_bytes(*ready))))
}

/// Whether by this frame a module asks to go on when what it did before is done.
pub(crate) fn proceeds(kind: Kind) -> bool {
    kind == PROCEED
}

/// How many bytes a frame stands for: what a module's message says, or what it is.
pub(crate) fn modelled_bytes(frame: &Frame<'_>) -> u64 {
    if let Some(drawn) = use_of(frame) {
        return drawn.bytes;
    }
    if message_class(frame.kind).is_some()
        && let Some(bytes) = frame.body.first_chunk::<8>()
    {
        return u64::from_le_bytes(*bytes);
    }
    FRAME_HEADER_BYTES + frame.body.len() as u64 + frame.bulk.len() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_contract::Token;

    #[test]
    fn a_message_says_its_length_and_who_asked() {
        let asker = Asker { at: Address::new(0x1234, 0x5678), activation: 0x9abc_def0 };
        for kind in [MESSAGE, SYNCHRONOUS_MESSAGE] {
            let body = message_body(1_500, asker);
            let frame = Frame::new(kind, Token(3), &body);
            assert_eq!((modelled_bytes(&frame), asker_of(&frame)), (1_500, Some(asker)));
            let frame = Frame::new(kind, Token(3), &body[..8]);
            assert_eq!((modelled_bytes(&frame), asker_of(&frame)), (1_500, None));
        }
        for asker in [None, Some(asker)] {
            let (body, len) = asker_body(asker);
            let frame = Frame::new(SUCCEED, Token(3), &body[..len]);
            assert_eq!(asker_of(&frame), asker);
        }
    }
}
