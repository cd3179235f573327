//! The far end of a link, in the test's own hands.

use crate::{LIMIT, guard_at};
use quintet_contract::{Address, Kind, Port, Token};
use quintet_link::{End, LinkError, Route};
use std::time::Instant;

/// A frame's kind, token and body.
pub(crate) type Received = (Kind, Token, Vec<u8>);

pub(crate) struct FarEnd {
    pub(crate) at: Address,
    pub(crate) end: End,
}

impl FarEnd {
    pub(crate) fn new(node: u16, end: End) -> FarEnd {
        FarEnd { at: Address::new(node, 16), end }
    }

    /// Sends a frame if there is room, and says whether there was.
    pub(crate) fn send(&mut self, port: Port, kind: Kind, token: u64, body: &[u8]) -> bool {
        let route = Route { from: self.at, to: guard_at(port), kind, token: Token(token) };
        let Ok(room) = self.end.sender.begin(route, body.len()) else { return false };
        room.copy_from_slice(body);
        self.end.sender.commit(body.len());
        self.end.sender.flush().expect("the system does not refuse");
        true
    }

    /// Frames until there are `count` of them, or the link ends: how, if it does.
    pub(crate) fn receive(&mut self, count: usize) -> (Vec<Received>, Option<LinkError>) {
        let (mut frames, began) = (Vec::new(), Instant::now());
        while frames.len() < count {
            assert!(began.elapsed() < LIMIT, "{} of {count} frames came: {frames:?}", frames.len());
            let take = &mut |route: Route, frame: quintet_contract::Frame<'_>| {
                frames.push((route.kind, route.token, frame.body.to_vec()));
            };
            if let Err(error) = self.end.receiver.poll(64, take) {
                return (frames, Some(error));
            }
            self.end.receiver.wait(Some(std::time::Duration::from_millis(50)));
        }
        (frames, None)
    }
}
