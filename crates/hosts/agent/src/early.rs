//! Requests that came before this machine knew a view as new as the one that it remembers: they wait for that.

use quintet_contract::{Identity, OwnedFrame};
use quintet_messaging::upcall::{MAX_OPEN, MAX_OPEN_OF_PEER, split};

/// The requests that wait. Of a peer that went away they stay: so they are bounded by who has asked, and not by its link.
#[derive(Default)]
pub(crate) struct Early(Vec<OwnedFrame>);

impl Early {
    /// Keeps one request of who has proved to be that. False if as many wait as may, of that one or in all.
    pub(crate) fn keep(&mut self, frame: &OwnedFrame, proved: Identity) -> bool {
        let is_of_it = |frame: &&OwnedFrame| split(&frame.body).is_some_and(|(who, _)| who == Some(proved));
        let has_room = self.0.len() < MAX_OPEN && self.0.iter().filter(is_of_it).count() < MAX_OPEN_OF_PEER;
        if has_room {
            self.0.push(frame.clone());
        }
        has_room
    }

    /// How many wait.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Takes all of them, in the order in which they came.
    pub(crate) fn take(&mut self) -> Vec<OwnedFrame> {
        core::mem::take(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use quintet_contract::Token;
    use quintet_stack::enrolment::ENROL;

    fn asked(who: u16) -> (OwnedFrame, Identity) {
        let mut identity = [0; 32];
        identity[..2].copy_from_slice(&who.to_le_bytes());
        let body = Bytes::from([&[1][..], &identity, b"please"].concat());
        (OwnedFrame { kind: ENROL, token: Token(who.into()), body, bulk: Bytes::new() }, Identity(identity))
    }

    #[test]
    fn one_that_asks_again_and_again_keeps_nobody_else_out_and_all_together_take_little() {
        let mut early = Early::default();
        let (frame, greedy) = asked(0);
        let kept = (0..1000).filter(|_| early.keep(&frame, greedy)).count();
        assert_eq!(kept, MAX_OPEN_OF_PEER);
        let others = (1..1000).map(asked).filter(|(frame, who)| early.keep(frame, *who)).count();
        assert_eq!(others, MAX_OPEN - MAX_OPEN_OF_PEER);
        assert_eq!(early.take().len(), MAX_OPEN);
        assert!(early.keep(&frame, greedy) && early.take().len() == 1);
    }
}
