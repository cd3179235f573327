//! What a program takes, and what it looks at then.

use crate::isonet::quintet_isonet_kind::{
    QUINTET_ISONET_MESSAGE, QUINTET_ISONET_PLAIN, QUINTET_ISONET_STATE, QUINTET_ISONET_STATE_WANTED,
    QUINTET_ISONET_VALUE, QUINTET_ISONET_VIEW,
};
use crate::isonet::quintet_isonet_message;
use quintet::isotach::{Operation, Performed, View};
use quintet::{Bytes, Place, PlainReceived, Received};

/// One of them: all but plain messages in the one order.
pub(in crate::isonet) enum Item {
    Message {
        sender: u16,
        handler: u32,
        place: Place,
        bytes: Bytes,
    },
    Plain {
        sender: u16,
        handler: u32,
        bytes: Bytes,
    },
    /// A variable has a new value.
    Value {
        sender: u16,
        variable: u32,
        place: Place,
        bytes: Bytes,
    },
    /// A view begins.
    View {
        view: View,
        members: Vec<u16>,
    },
    /// Another one's, for who has come back.
    State(Bytes),
    /// This one's, for who comes back.
    StateWanted,
}

/// What the program has taken last.
#[derive(Default)]
pub(in crate::isonet) struct Lent {
    bytes: Bytes,
    members: Vec<u16>,
    place: Option<Place>,
}

impl Lent {
    /// Where it stands in the one order, if it does.
    pub(in crate::isonet) fn place(&self) -> Option<Place> {
        self.place
    }
}

impl Item {
    pub(in crate::isonet) fn of(handler: u32, received: &Received<'_>) -> Item {
        let (sender, place, bytes) = (received.sender, received.place, received.bytes.to_vec().into());
        Item::Message { sender, handler, place, bytes }
    }

    pub(in crate::isonet) fn of_plain(handler: u32, received: &PlainReceived<'_>) -> Item {
        Item::Plain { sender: received.sender, handler, bytes: received.bytes.to_vec().into() }
    }

    /// What a program is told of that is performed here; none: nothing.
    pub(in crate::isonet) fn performed(performed: &Performed, handlers: &[u32]) -> Option<Item> {
        let (sender, place) = (performed.sender.0, performed.place);
        match &performed.operation {
            // Its member ends by one for another handler.
            Operation::Send { handler, bytes, .. } => {
                let (handler, bytes) = (*handler, bytes.clone());
                handlers.contains(&handler).then_some(Item::Message { sender, handler, place, bytes })
            }
            Operation::Write(variable, bytes) | Operation::Assign(variable, bytes) => {
                Some(Item::Value { sender, variable: variable.0, place, bytes: bytes.clone() })
            }
            Operation::Read(_) | Operation::Sched(_) => None,
        }
    }

    /// What it takes of the room for messages.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Item::Message { bytes, .. } | Item::Plain { bytes, .. } | Item::Value { bytes, .. } => {
                bytes.len()
            }
            Item::View { .. } | Item::State(_) | Item::StateWanted => 0,
        }
    }

    /// What the program sees of it, and what that looks at.
    pub(in crate::isonet) fn given(self) -> (quintet_isonet_message, Lent) {
        let (kind, sender, handler, lent) = match self {
            Item::Message { sender, handler, place, bytes } => (
                QUINTET_ISONET_MESSAGE,
                sender,
                handler,
                Lent { bytes, place: Some(place), ..Lent::default() },
            ),
            Item::Plain { sender, handler, bytes } => {
                (QUINTET_ISONET_PLAIN, sender, handler, Lent { bytes, ..Lent::default() })
            }
            Item::Value { sender, variable, place, bytes } => (
                QUINTET_ISONET_VALUE,
                sender,
                variable,
                Lent { bytes, place: Some(place), ..Lent::default() },
            ),
            Item::View { view, members } => {
                let place = Some(Place::start_of(view));
                (QUINTET_ISONET_VIEW, 0, 0, Lent { members, place, ..Lent::default() })
            }
            Item::State(bytes) => (QUINTET_ISONET_STATE, 0, 0, Lent { bytes, ..Lent::default() }),
            Item::StateWanted => (QUINTET_ISONET_STATE_WANTED, 0, 0, Lent::default()),
        };
        let (data, length) = match kind {
            QUINTET_ISONET_VIEW => (lent.members.as_ptr().cast(), size_of_val(&lent.members[..])),
            _ => (lent.bytes.as_ptr().cast(), lent.bytes.len()),
        };
        (quintet_isonet_message { kind, sender, handler, data, length }, lent)
    }
}
