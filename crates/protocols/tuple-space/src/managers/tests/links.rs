//! What a router does where a link takes a frame later, or never.

use crate::codec::{DONE, ERROR, FENCE, ROUTES, Refusal, Routes};
use crate::managers::{Router, RouterConfig};
use crate::{LeaseId, Request};
use bytes::Bytes;
use quintet_contract::{
    Address, Disconnect, Effects, Frame, Incarnation, Input, Kind, LinkClass, LinkInfo, Outbox, OwnedFrame,
    PeerChange, Protocol, SendError, Time, Token,
};
use quintet_errors::Code;
use quintet_wire::{Decode, encode_to_vec};
use std::collections::VecDeque;

const CALLERS: Address = Address::new(9, 1);

/// Links to managers, which may refuse.
#[derive(Default)]
struct Links {
    sent: Effects,
    /// What is said of the next frames; the last of it of all behind.
    refuses: VecDeque<SendError>,
}

impl Links {
    fn refusal(&mut self, to: Address) -> Result<(), SendError> {
        let Some(next) = self.refuses.front().copied().filter(|_| to != CALLERS) else { return Ok(()) };
        if self.refuses.len() > 1 {
            self.refuses.pop_front();
        }
        Err(next)
    }
}

impl Outbox for Links {
    fn begin(&mut self, to: Address, kind: Kind, token: Token, most: usize) -> Result<&mut [u8], SendError> {
        self.refusal(to)?;
        self.sent.begin(to, kind, token, most)
    }

    fn commit(&mut self, len: usize) {
        self.sent.commit(len);
    }

    fn send_bulk(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        head: &[u8],
        bulk: Bytes,
    ) -> Result<(), SendError> {
        self.refusal(to)?;
        self.sent.send_bulk(to, kind, token, head, bulk)
    }

    fn disconnect(&mut self, peer: Address, how: Disconnect) {
        self.sent.disconnect(peer, how);
    }
}

fn give(router: &mut Router, links: &mut Links, input: Input<'_>) -> Vec<(Address, OwnedFrame)> {
    router.handle(Time(1), input, links);
    links.sent.frames()
}

#[test]
fn a_request_that_waited_for_a_link_which_never_takes_it_is_answered() {
    let managers: Vec<Address> = [1, 2].map(|node| Address::new(node, 16)).to_vec();
    let config = RouterConfig { callers: CALLERS, managers: managers.clone(), loss: |_| Code::PeerDied };
    let (mut router, mut links) = (Router::new(config), Links::default());
    let link = LinkInfo::new(LinkClass::Machine, 1 << 20);
    let up = PeerChange::Up { incarnation: Incarnation(1), link };
    let mut asked = Vec::new();
    for manager in &managers {
        asked.extend(give(&mut router, &mut links, Input::Peer(*manager, &up)));
    }
    let addresses = vec![String::new(); 2];
    let routes =
        encode_to_vec(&Routes { epoch: 0, seed: 1, addresses, are_beside: false, relocations: Vec::new() });
    for (manager, frame) in asked {
        let (kind, body) = if frame.kind == FENCE { (DONE, &[][..]) } else { (ROUTES, &routes[..]) };
        give(&mut router, &mut links, Input::Frame(manager, Frame::new(kind, frame.token, body)));
    }
    // Each manager is to return what it gave, and hears so when there is room.
    links.refuses = [SendError::Full].into();
    for token in [Token(5), Token(6)] {
        let mut abort = Effects::default();
        let request = Request::Abort { leases: &[LeaseId(1)] };
        request.send(&mut abort, managers[0], token, token).expect("it is small");
        let (_, abort) = abort.frames().remove(0);
        give(&mut router, &mut links, Input::Frame(CALLERS, abort.borrow()));
    }
    // One that the link never takes is answered, though there is no room for what is behind it.
    links.refuses = [SendError::TooLong { len: 37, limit: 8 }, SendError::Full].into();
    let told = give(&mut router, &mut links, Input::Writable(managers[1]));
    let [(CALLERS, frame)] = told.as_slice() else { panic!("its caller hears why: {told:?}") };
    assert_eq!((frame.kind, frame.token), (ERROR, Token(5)));
    assert_eq!(Refusal::decode_all(&frame.body).map(|refusal| refusal.code), Ok(Code::TooLarge));
}
