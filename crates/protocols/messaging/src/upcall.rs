//! The serving side of a service that the node's own callers answer: what cannot be a protocol, as it signs, or reads files.
//!
//! [`Upcalls`] hands each request of a peer up to the callers, with who the peer has proved to be in front of its body, and their answer
//! down to the peer. It is to a program that serves what [`Relay`](crate::relay::Relay) is to one that asks.
//!
//! What is handed up waits in the memory of callers that are busy signing, or for others to agree. So how much of it may be unanswered is
//! bounded, of each peer and in all, and so is each of them: what is beyond that is refused at once, and the peer asks again later.

use crate::config::Class;
use quintet_contract::limits::MAX_PAYLOAD_BYTES;
use quintet_contract::{Address, Frame, Identity, Input, Kind, Outbox, PeerChange, Protocol, Time, Token};
use quintet_errors::Code;
use std::collections::BTreeMap;

/// Bytes in front of a request's body: whether the peer has proved who it is u8, and its identity, or zeros.
pub const PROOF_BYTES: usize = 33;

/// Requests of one peer that may be unanswered.
pub const MAX_OPEN_OF_PEER: usize = 16;
/// Requests of all peers together that may be unanswered.
pub const MAX_OPEN: usize = 256;
/// Bytes of a request's body.
pub const MAX_REQUEST_BYTES: usize = 10 * 1024;

const _: () = {
    assert!(PROOF_BYTES + MAX_REQUEST_BYTES <= MAX_PAYLOAD_BYTES, "what is handed up is a frame");
    assert!(MAX_OPEN_OF_PEER * 4 <= MAX_OPEN, "a few peers leave room for others");
    assert!(MAX_OPEN * (PROOF_BYTES + MAX_REQUEST_BYTES) <= 4 * 1024 * 1024, "all that waits is small");
};

/// How a service says that it does not hand a request up: the kind of that answer, and its body for a code.
#[derive(Clone, Copy, Debug)]
pub struct Refusing {
    /// The kind, of the service's own range.
    pub kind: Kind,
    /// Its body: of [`Code::Resource`] where too many requests wait, of [`Code::TooLarge`] for one that is too long.
    pub body: fn(Code) -> Vec<u8>,
}

/// Hands requests of peers up to the callers of their node.
#[derive(Debug)]
pub struct Upcalls {
    callers: Address,
    class: fn(Kind) -> Class,
    refusing: Refusing,
    /// Peers that have proved who they are.
    proofs: BTreeMap<Address, Identity>,
    /// Requests that were handed up, by the tokens under which they were: who asked, and its token.
    open: BTreeMap<u64, (Address, Token)>,
    /// Names what is handed up.
    next: u64,
}

impl Upcalls {
    /// For `callers` of its own node. `class` tells which kinds are requests, `refusing` how one is refused that is too many or too long.
    #[must_use]
    pub fn new(callers: Address, class: fn(Kind) -> Class, refusing: Refusing) -> Self {
        Upcalls { callers, class, refusing, proofs: BTreeMap::new(), open: BTreeMap::new(), next: 0 }
    }

    /// Requests that were handed up and are not answered.
    #[must_use]
    pub fn unanswered(&self) -> usize {
        self.open.len()
    }

    /// Why a request is not handed up, if it is not.
    fn refusal(&self, from: Address, frame: Frame<'_>) -> Option<Code> {
        if frame.body.len() > MAX_REQUEST_BYTES || !frame.bulk.is_empty() {
            return Some(Code::TooLarge);
        }
        let of_peer = || self.open.values().filter(|(peer, _)| *peer == from).count();
        (self.open.len() >= MAX_OPEN || of_peer() >= MAX_OPEN_OF_PEER).then_some(Code::Resource)
    }

    fn hand_up(&mut self, from: Address, frame: Frame<'_>, out: &mut dyn Outbox) {
        if (self.class)(frame.kind) != Class::Request {
            return;
        }
        if let Some(code) = self.refusal(from, frame) {
            return self.refuse(from, frame.token, code, out);
        }
        self.next += 1;
        let body = with_proof(self.proofs.get(&from).copied(), frame.body);
        match out.send(self.callers, frame.kind, Token(self.next), &body) {
            Ok(()) => _ = self.open.insert(self.next, (from, frame.token)),
            Err(_) => self.refuse(from, frame.token, Code::Resource, out),
        }
    }

    /// Room for the answer was reserved with the request.
    fn refuse(&self, from: Address, token: Token, code: Code, out: &mut dyn Outbox) {
        let _ = out.send(from, self.refusing.kind, token, &(self.refusing.body)(code));
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
    use proptest::prelude::*;
    use quintet_contract::{Bytes, DownCause, Effects, Incarnation, LinkClass, LinkInfo, OwnedFrame};
    use quintet_wire::registry::{PORT_CALLERS, USER};

    const CALLERS: Address = Address { node: quintet_contract::NodeId(0), port: PORT_CALLERS };
    const PEER: Address = Address::new(4, 24);
    const OTHER: Address = Address::new(5, 24);
    const ASK: Kind = USER.kind(0);
    const TELL: Kind = USER.kind(1);

    const BUSY: Kind = USER.kind(2);
    const REFUSING: Refusing = Refusing { kind: BUSY, body: |code| (code as u16).to_le_bytes().to_vec() };

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
        let mut upcalls = Upcalls::new(CALLERS, class, REFUSING);
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
        let mut upcalls = Upcalls::new(CALLERS, class, REFUSING);
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

    #[test]
    fn what_is_too_long_is_refused_and_not_handed_up() {
        let mut upcalls = Upcalls::new(CALLERS, class, REFUSING);
        up(&mut upcalls, PEER, None);
        for (len, bulk) in [(MAX_REQUEST_BYTES + 1, 0), (1, 1), (MAX_PAYLOAD_BYTES, 0)] {
            let (body, bulk) = (vec![7; len], Bytes::from(vec![7; bulk]));
            let frame = Frame { bulk: &bulk, ..Frame::new(ASK, Token(1), &body) };
            let sent = give(&mut upcalls, Input::Frame(PEER, frame));
            let [(PEER, refusal)] = &sent[..] else { panic!("{sent:?}") };
            let told = (refusal.kind, refusal.token, &refusal.body[..]);
            assert_eq!(told, (BUSY, Token(1), &(Code::TooLarge as u16).to_le_bytes()[..]));
        }
        let body = vec![7; MAX_REQUEST_BYTES];
        let sent = give(&mut upcalls, Input::Frame(PEER, Frame::new(ASK, Token(1), &body)));
        assert!(
            matches!(&sent[..], [(CALLERS, frame)] if frame.body.len() == PROOF_BYTES + MAX_REQUEST_BYTES)
        );
    }

    /// What happens to upcalls.
    #[derive(Clone, Copy, Debug)]
    enum Step {
        Ask(u16),
        /// The callers answer what was handed up so long ago.
        Answer(usize),
        Gone(u16),
    }

    fn step() -> impl Strategy<Value = Step> {
        // A few peers ask for most.
        let peer = || prop_oneof![4 => 0..4u16, 1 => 0..40u16];
        prop_oneof![
            20 => peer().prop_map(Step::Ask),
            2 => (0..300usize).prop_map(Step::Answer),
            1 => peer().prop_map(Step::Gone),
        ]
    }

    proptest! {
        /// Each request is handed up or refused as busy, once, and that exactly where as many are unanswered as may be.
        #[test]
        fn what_waits_is_bounded_of_each_peer_and_in_all(steps in proptest::collection::vec(step(), 1..1500)) {
            let mut upcalls = Upcalls::new(CALLERS, class, REFUSING);
            // The tokens of what was handed up, and who asked.
            let mut open: Vec<(Token, u16)> = Vec::new();
            for (at, step) in (1..).zip(steps) {
                match step {
                    Step::Ask(peer) => {
                        let of_peer = open.iter().filter(|(_, other)| *other == peer).count();
                        let is_full = of_peer == MAX_OPEN_OF_PEER || open.len() == MAX_OPEN;
                        let from = Address::new(peer, 24);
                        let sent = give(&mut upcalls, Input::Frame(from, Frame::new(ASK, Token(at), b"what")));
                        prop_assert_eq!(sent.len(), 1);
                        let (to, frame) = &sent[0];
                        if is_full {
                            prop_assert_eq!((*to, frame.kind, frame.token), (from, BUSY, Token(at)));
                        } else {
                            prop_assert_eq!((*to, frame.kind), (CALLERS, ASK));
                            open.push((frame.token, peer));
                        }
                    }
                    Step::Answer(_) if open.is_empty() => {}
                    Step::Answer(back) => {
                        let (token, peer) = open.remove(back % open.len());
                        let sent = give(&mut upcalls, Input::Frame(CALLERS, Frame::new(TELL, token, b"that")));
                        prop_assert!(matches!(&sent[..], [(to, _)] if *to == Address::new(peer, 24)));
                    }
                    Step::Gone(peer) => {
                        let gone = PeerChange::Down(DownCause::Died);
                        give(&mut upcalls, Input::Peer(Address::new(peer, 24), &gone));
                        open.retain(|(_, other)| *other != peer);
                    }
                }
                prop_assert_eq!(upcalls.unanswered(), open.len());
                prop_assert!(open.len() <= MAX_OPEN);
            }
        }
    }
}
