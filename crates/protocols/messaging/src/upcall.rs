//! The serving side of a service that the node's own callers answer: what cannot be a protocol, as it signs, or reads files.
//!
//! [`Upcalls`] hands each request of a peer up to the callers, with who the peer has proved to be in front of its body, and their answer
//! down to the peer. It is to a program that serves what [`Relay`](crate::relay::Relay) is to one that asks. How many requests may be unanswered
//! is the messages' own limit.

use crate::config::Class;
use quintet_contract::{
    Address, Disconnect, Frame, Identity, Input, Kind, Outbox, PeerChange, Protocol, Time, Token,
};
use std::collections::BTreeMap;

/// Bytes in front of a request's body: whether the peer has proved who it is u8, and its identity, or zeros.
pub const PROOF_BYTES: usize = 33;

/// Hands requests of peers up to the callers of their node.
#[derive(Debug)]
pub struct Upcalls {
    callers: Address,
    class: fn(Kind) -> Class,
    /// Peers that have proved who they are.
    proofs: BTreeMap<Address, Identity>,
    /// Requests that were handed up, by the tokens under which they were: who asked, and its token.
    open: BTreeMap<u64, (Address, Token)>,
    /// Names what is handed up.
    next: u64,
}

impl Upcalls {
    /// For `callers` of its own node. `class` tells which kinds are requests.
    #[must_use]
    pub fn new(callers: Address, class: fn(Kind) -> Class) -> Self {
        Upcalls { callers, class, proofs: BTreeMap::new(), open: BTreeMap::new(), next: 0 }
    }

    fn hand_up(&mut self, from: Address, frame: Frame<'_>, out: &mut dyn Outbox) {
        if (self.class)(frame.kind) != Class::Request {
            return;
        }
        self.next += 1;
        let body = with_proof(self.proofs.get(&from).copied(), frame.body);
        match out.send(self.callers, frame.kind, Token(self.next), &body) {
            Ok(()) => _ = self.open.insert(self.next, (from, frame.token)),
            // No service of this kind has requests that long.
            Err(_) => out.disconnect(from, Disconnect::ForGood),
        }
    }

    /// Room for the answer was reserved with the request; where its link is gone, so is who asked.
    fn hand_down(&mut self, frame: Frame<'_>, out: &mut dyn Outbox) {
        if let Some((to, token)) = self.open.remove(&frame.token.0) {
            let _ = out.send(to, frame.kind, token, frame.body);
        }
    }

    fn take_change(&mut self, peer: Address, change: &PeerChange) {
        match change {
            PeerChange::Up { link, .. } => match link.identity {
                Some(identity) => _ = self.proofs.insert(peer, identity),
                None => _ = self.proofs.remove(&peer),
            },
            PeerChange::Down(_) => {
                self.proofs.remove(&peer);
                self.open.retain(|_, (from, _)| *from != peer);
            }
        }
    }
}

fn with_proof(identity: Option<Identity>, body: &[u8]) -> Vec<u8> {
    let proved = identity.unwrap_or(Identity([0; 32])).0;
    [&[u8::from(identity.is_some())][..], &proved, body].concat()
}

/// Who has asked, if that is proved, and the body of the request that was handed up; none where it was not.
#[must_use]
pub fn split(body: &[u8]) -> Option<(Option<Identity>, &[u8])> {
    let (proof, body) = body.split_first_chunk::<PROOF_BYTES>()?;
    let [is_proved, identity @ ..] = *proof;
    Some(((is_proved != 0).then_some(Identity(identity)), body))
}

impl Protocol for Upcalls {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        match input {
            Input::Frame(from, frame) if from == self.callers => self.hand_down(frame, out),
            Input::Frame(from, frame) => self.hand_up(from, frame, out),
            Input::Peer(peer, change) => self.take_change(peer, change),
            Input::Started | Input::Wake | Input::Writable(_) => {}
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_contract::{DownCause, Effects, Incarnation, LinkClass, LinkInfo, OwnedFrame};
    use quintet_wire::registry::{PORT_CALLERS, USER};

    const CALLERS: Address = Address { node: quintet_contract::NodeId(0), port: PORT_CALLERS };
    const PEER: Address = Address::new(4, 24);
    const OTHER: Address = Address::new(5, 24);
    const ASK: Kind = USER.kind(0);
    const TELL: Kind = USER.kind(1);

    fn class(kind: Kind) -> Class {
        if kind == ASK { Class::Request } else { Class::Answer }
    }

    fn give(upcalls: &mut Upcalls, input: Input<'_>) -> Vec<(Address, OwnedFrame)> {
        let mut out = Effects::default();
        upcalls.handle(Time::ZERO, input, &mut out);
        out.frames()
    }

    fn up(upcalls: &mut Upcalls, peer: Address, identity: Option<Identity>) {
        let link = LinkInfo { identity, ..LinkInfo::new(LinkClass::Network, 0) };
        give(upcalls, Input::Peer(peer, &PeerChange::Up { incarnation: Incarnation(1), link }));
    }

    fn ask(upcalls: &mut Upcalls, from: Address, token: u64) -> OwnedFrame {
        let sent = give(upcalls, Input::Frame(from, Frame::new(ASK, Token(token), b"what")));
        let [(CALLERS, frame)] = &sent[..] else { panic!("{sent:?}") };
        frame.clone()
    }

    #[test]
    fn callers_see_who_asks_and_each_answer_goes_to_who_asked() {
        let mut upcalls = Upcalls::new(CALLERS, class);
        up(&mut upcalls, PEER, Some(Identity([7; 32])));
        up(&mut upcalls, OTHER, None);
        let (first, second) = (ask(&mut upcalls, PEER, 9), ask(&mut upcalls, OTHER, 9));
        assert_eq!(split(&first.body), Some((Some(Identity([7; 32])), &b"what"[..])));
        assert_eq!(split(&second.body), Some((None, &b"what"[..])));
        for (handed_up, asker) in [(second, OTHER), (first, PEER)] {
            let answer = Frame::new(TELL, handed_up.token, b"that");
            let sent = give(&mut upcalls, Input::Frame(CALLERS, answer));
            assert!(matches!(&sent[..], [(to, frame)] if (*to, frame.token) == (asker, Token(9))));
            assert!(give(&mut upcalls, Input::Frame(CALLERS, answer)).is_empty(), "once");
        }
    }

    #[test]
    fn what_is_no_request_is_not_handed_up_and_who_has_gone_is_not_answered() {
        let mut upcalls = Upcalls::new(CALLERS, class);
        up(&mut upcalls, PEER, Some(Identity([7; 32])));
        assert!(give(&mut upcalls, Input::Frame(PEER, Frame::new(TELL, Token(1), b"x"))).is_empty());
        let handed_up = ask(&mut upcalls, PEER, 1);
        give(&mut upcalls, Input::Peer(PEER, &PeerChange::Down(DownCause::Died)));
        let answer = Frame::new(TELL, handed_up.token, b"late");
        assert!(give(&mut upcalls, Input::Frame(CALLERS, answer)).is_empty());
        up(&mut upcalls, PEER, None);
        assert_eq!(split(&ask(&mut upcalls, PEER, 1).body), Some((None, &b"what"[..])), "of its own link");
        assert_eq!(split(&[1; PROOF_BYTES - 1]), None);
    }
}
