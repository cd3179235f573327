//! Where the frames of an embedded protocol go: to the callers' slots, or over the link.

use crate::slots::{Answer, Slots};
use bytes::Bytes;
use quintet_contract::{Address, Kind, Outbox, SendError, Token};
use quintet_link::{Route, Sender};
use quintet_messaging::relay;
use quintet_wire::registry::PORT_CALLERS;
use std::sync::Arc;

/// The peer of an embedded protocol, and the link to it.
pub(crate) struct Remote {
    pub(crate) peer: Address,
    /// None once the link has failed or was closed.
    pub(crate) sender: Option<Box<dyn Sender>>,
    /// Ends the sleep of the thread that polls the link.
    pub(crate) waker: Arc<dyn Fn() + Send + Sync>,
    /// Whether the protocol has the link closed, after the `handle` that runs.
    pub(crate) closing: bool,
    /// Whether a frame found no room and the protocol waits to be told.
    pub(crate) refused: bool,
}

/// Lives for one `handle`.
pub(crate) struct CallsOutbox<'a> {
    pub(crate) at: Address,
    pub(crate) slots: &'a mut Slots,
    pub(crate) remote: Option<&'a mut Remote>,
    /// Where an answer is written, as long as the longest so far. Kept from call to call.
    pub(crate) answer: &'a mut Vec<u8>,
    pub(crate) begun: Option<Begun>,
}

/// Where the frame begun last goes.
pub(crate) enum Begun {
    Caller { kind: Kind, token: Token, len: usize },
    Link,
}

fn answer(slots: &mut Slots, kind: Kind, token: Token, body: &[u8], bulk: Bytes) {
    match relay::failure(kind, body) {
        Some(code) => slots.fill(token, Err(code)),
        None => slots.fill(token, Ok(Answer { kind, body: body.to_vec(), bulk })),
    }
}

impl CallsOutbox<'_> {
    fn is_caller(&self, to: Address) -> bool {
        to == Address { node: self.at.node, port: PORT_CALLERS }
    }

    /// The sending half of the link to an address, and where to note that it had no room.
    fn link(&mut self, to: Address) -> Result<(&mut dyn Sender, &mut bool), SendError> {
        let remote = self.remote.as_deref_mut().filter(|remote| remote.peer == to && !remote.closing);
        let Remote { sender, refused, .. } = remote.ok_or(SendError::Unreachable)?;
        let sender = sender.as_deref_mut().ok_or(SendError::Unreachable)?;
        Ok((sender, refused))
    }
}

impl Remote {
    /// Whether nothing crosses the link any more.
    pub(crate) fn is_down(&self) -> bool {
        self.sender.is_none()
    }
}

impl Outbox for CallsOutbox<'_> {
    fn begin(&mut self, to: Address, kind: Kind, token: Token, len: usize) -> Result<&mut [u8], SendError> {
        if self.is_caller(to) {
            self.begun = Some(Begun::Caller { kind, token, len });
            if self.answer.len() < len {
                self.answer.resize(len, 0);
            }
            return Ok(&mut self.answer[..len]);
        }
        self.begun = Some(Begun::Link);
        let route = Route { from: self.at, to, kind, token };
        let (sender, refused) = self.link(to)?;
        sender.begin(route, len).inspect_err(|error| *refused |= *error == SendError::Full)
    }

    fn commit(&mut self) {
        match self.begun.take() {
            Some(Begun::Caller { kind, token, len }) => {
                answer(self.slots, kind, token, &self.answer[..len], Bytes::new());
            }
            Some(Begun::Link) => {
                if let Some(sender) = self.remote.as_mut().and_then(|remote| remote.sender.as_mut()) {
                    sender.commit();
                }
            }
            None => panic!("commit follows begin"),
        }
    }

    fn send_bulk(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        head: &[u8],
        bulk: Bytes,
    ) -> Result<(), SendError> {
        if self.is_caller(to) {
            answer(self.slots, kind, token, head, bulk);
            return Ok(());
        }
        let route = Route { from: self.at, to, kind, token };
        let (sender, refused) = self.link(to)?;
        let sent = sender.send_bulk(route, head, bulk);
        *refused |= sent == Err(SendError::Full);
        sent
    }

    fn disconnect(&mut self, peer: Address) {
        self.begun = None;
        if let Some(remote) = self.remote.as_deref_mut().filter(|remote| remote.peer.node == peer.node) {
            remote.closing = true;
        }
    }
}
