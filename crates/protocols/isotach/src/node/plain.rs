//! Plain messages: without logical time, delayed by nothing that has it.

use super::{Broken, Node};
use crate::codec::{Plain, Refusal, SENT};
use crate::fence::Passage;
use crate::frames::EMPTY;
use crate::limits::MAX_UNEXECUTED;
use quintet_contract::{Address, Frame, NodeId, Time, Token};
use quintet_wire::registry::PORT_ISOTACH;

/// Tokens of plain messages are none of parts, which are ranks.
const PLAIN_TOKENS: u64 = 1 << 63;

/// A plain message of this node that has not arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlainSent {
    pub(super) to: NodeId,
    /// By which the program knows it.
    asked: Token,
    pub(super) began: Time,
}

impl Node {
    /// The program's plain message.
    pub(super) fn send_plain(&mut self, asked: Frame<'_>) {
        let Plain { node, handler, bytes } = match Plain::of(asked) {
            Ok(plain) => plain,
            Err(error) => return self.refuse(asked.token, &Refusal::Misuse(error.to_string())),
        };
        if self.joins.outside.is_some() {
            let problem = format!("node {} is in no view so far", self.config.me.0);
            return self.refuse(asked.token, &Refusal::Misuse(problem));
        }
        if self.config.isonet.topology().switch_of(node).is_none() {
            let misuse = crate::Misuse::UnknownNode { node };
            return self.refuse(asked.token, &Refusal::of_misuse(&misuse));
        }
        if self.plain.len() >= MAX_UNEXECUTED {
            return self.refuse(asked.token, &Refusal::Busy);
        }
        let plain = Plain { node: self.config.me, handler, bytes };
        if node == self.config.me {
            self.outgoing.deliver_plain(plain, asked.bulk, None);
            return self.outgoing.tell(SENT, asked.token, &EMPTY);
        }
        self.plain_sent += 1;
        let token = Token(PLAIN_TOKENS | self.plain_sent);
        self.plain.insert(token, PlainSent { to: node, asked: asked.token, began: self.now });
        self.outgoing.push_plain(Address { node, port: PORT_ISOTACH }, token, plain, asked.bulk);
    }

    /// One of another node: for the program at once. Its sender learns when the program has it.
    pub(super) fn plain_came(&mut self, from: Address, came: Frame<'_>) -> Result<(), Broken> {
        let plain = Plain::of(came).map_err(|_| Broken)?;
        if from.port != PORT_ISOTACH || plain.node != from.node {
            return Err(Broken);
        }
        if self.config.isonet.topology().switch_of(from.node).is_none() {
            if self.expects(from.node) {
                // It has joined with a view that has not begun here.
                return if self.fence.keep(from, came) == Passage::Flood { Err(Broken) } else { Ok(()) };
            }
            self.fence.fenced += 1;
            return Ok(());
        }
        self.outgoing.deliver_plain(plain, came.bulk, Some((from, came.token)));
        Ok(())
    }

    /// Those to some nodes arrive no more, or nobody learns that they did.
    pub(super) fn refuse_plain(&mut self, is_gone: impl Fn(NodeId) -> bool, refusal: &Refusal) {
        let gone = self.plain.iter().filter(|(_, sent)| is_gone(sent.to)).map(|(token, _)| *token);
        for token in gone.collect::<Vec<_>>() {
            if let Some(sent) = self.plain.remove(&token) {
                self.refuse(sent.asked, refusal);
            }
        }
    }

    /// One of this node has arrived.
    pub(super) fn plain_arrived(&mut self, from: Address, came: Frame<'_>) -> Result<(), Broken> {
        if from.port != PORT_ISOTACH || !came.body.is_empty() || came.token.0 > PLAIN_TOKENS | self.plain_sent
        {
            return Err(Broken);
        }
        // Of one that was refused when its receiver seemed to be gone nothing is known any more.
        let Some(sent) = self.plain.get(&came.token).copied() else { return Ok(()) };
        if sent.to != from.node {
            return Err(Broken);
        }
        self.plain.remove(&came.token);
        self.outgoing.tell(SENT, sent.asked, &EMPTY);
        Ok(())
    }
}
