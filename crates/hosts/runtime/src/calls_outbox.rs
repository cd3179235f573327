//! Where the frames of an embedded protocol go: to the callers' slots, or over the link.

use crate::slots::{Answer, Slots};
use bytes::Bytes;
use quintet_contract::{Address, Kind, Outbox, SendError, Token};
use quintet_link::{Route, Sender};
use quintet_messaging::relay;
use quintet_wire::registry::PORT_CALLERS;

/// The peer of an embedded protocol, and the link to it.
pub(crate) struct Remote {
    pub(crate) peer: Address,
    pub(crate) sender: Box<dyn Sender>,
    /// Whether the link has failed.
    pub(crate) down: bool,
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

    fn link(&mut self, to: Address) -> Result<&mut Remote, SendError> {
        let remote = self.remote.as_deref_mut().filter(|remote| remote.peer == to && !remote.down);
        remote.ok_or(SendError::Unreachable)
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
        let Remote { sender, refused, .. } = self.link(to)?;
        sender.begin(route, len).inspect_err(|error| *refused |= *error == SendError::Full)
    }

    fn commit(&mut self) {
        match self.begun.take() {
            Some(Begun::Caller { kind, token, len }) => {
                answer(self.slots, kind, token, &self.answer[..len], Bytes::new());
            }
            Some(Begun::Link) => {
                if let Some(remote) = &mut self.remote {
                    remote.sender.commit();
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
        let remote = self.link(to)?;
        let sent = remote.sender.send_bulk(route, head, bulk);
        remote.refused |= sent == Err(SendError::Full);
        sent
    }
}
