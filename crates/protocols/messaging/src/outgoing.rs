//! Large data on its way out, in fragments.

use crate::codec::FRAGMENT;
use quintet_contract::limits::{FRAGMENT_BYTES, MAX_PAYLOAD_BYTES};
use quintet_contract::{Address, Bytes, Outbox, SendError, Token};
use std::collections::VecDeque;

/// Fragments sent in one `handle` at most, so that frames to others, and answers, get between them.
pub(crate) const FRAGMENTS_PER_HANDLE: u32 = 4;
/// A fragment where the link takes no bulk: half of a body, so that two fit beside other frames.
const BODY_FRAGMENT_BYTES: usize = MAX_PAYLOAD_BYTES / 2;

#[derive(Debug)]
struct Leaving {
    token: Token,
    bulk: Bytes,
    sent: usize,
}

impl Leaving {
    /// Sends the next fragment: all of it, if the link takes that.
    fn send_piece(&mut self, to: Address, link: usize, out: &mut dyn Outbox) -> Result<(), SendError> {
        let whole = if self.sent == 0 { fragment_bytes(self.bulk.len(), link) } else { cut_bytes(link) };
        match self.send(whole, to, link, out) {
            // What it takes when it can lend it, it may have no way to lend now.
            Err(SendError::TooLong { limit, .. }) if limit > 0 && whole > FRAGMENT_BYTES => {
                self.send(cut_bytes(limit), to, link, out)
            }
            sent => sent,
        }
    }

    fn send(&mut self, len: usize, to: Address, link: usize, out: &mut dyn Outbox) -> Result<(), SendError> {
        let end = self.bulk.len().min(self.sent + len);
        let piece = self.bulk.slice(self.sent..end);
        match link {
            0 => out.send(to, FRAGMENT, self.token, &piece)?,
            _ => out.send_bulk(to, FRAGMENT, self.token, &[], piece)?,
        }
        self.sent = end;
        Ok(())
    }
}

/// The announced messages of one direction, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    queue: VecDeque<Leaving>,
    /// How many of the oldest were granted.
    granted: usize,
    /// Fragments that may go.
    credit: u32,
    /// Bytes in the queue.
    bytes: u64,
}

impl Outgoing {
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Bytes announced and not gone.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Fragments that may go.
    pub(crate) fn credit(&self) -> u32 {
        self.credit
    }

    pub(crate) fn announced(&mut self, token: Token, bulk: Bytes) {
        self.bytes += bulk.len() as u64;
        self.queue.push_back(Leaving { token, bulk, sent: 0 });
    }

    /// The oldest message without a grant may go. False if there is none.
    pub(crate) fn grant(&mut self) -> bool {
        let waits = self.granted < self.queue.len();
        self.granted += usize::from(waits);
        waits
    }

    /// So many more fragments may go. False if that is more than `window`.
    pub(crate) fn proceed(&mut self, fragments: u32, window: u32) -> bool {
        self.credit = self.credit.saturating_add(fragments);
        self.credit <= window
    }

    /// Whether a fragment can go, as far as the peer is concerned.
    pub(crate) fn is_ready(&self) -> bool {
        self.granted > 0 && self.credit > 0
    }

    /// Sends fragments, [`FRAGMENTS_PER_HANDLE`] at most. `link`: the largest bulk that the link takes. How many went.
    ///
    /// # Errors
    /// Why it stopped early.
    pub(crate) fn send_some(
        &mut self,
        to: Address,
        link: usize,
        out: &mut dyn Outbox,
    ) -> Result<u64, (u64, SendError)> {
        let mut count = 0;
        while self.is_ready() && count < u64::from(FRAGMENTS_PER_HANDLE) {
            let Some(message) = self.queue.front_mut() else { break };
            message.send_piece(to, link, out).map_err(|error| (count, error))?;
            self.credit -= 1;
            count += 1;
            if message.sent == message.bulk.len() {
                self.bytes -= message.bulk.len() as u64;
                self.granted -= 1;
                self.queue.pop_front();
            }
        }
        Ok(count)
    }
}

/// The length of a message's fragments.
fn fragment_bytes(total: usize, link: usize) -> usize {
    match link {
        // The link takes it whole: no need to cut what it may share without a copy.
        1.. if total <= link => total,
        _ => cut_bytes(link),
    }
}

/// The length of the fragments of a message that is cut.
fn cut_bytes(link: usize) -> usize {
    if link == 0 { BODY_FRAGMENT_BYTES } else { link.min(FRAGMENT_BYTES) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_contract::Effects;

    const TO: Address = Address::new(2, 16);

    fn lengths(outgoing: &mut Outgoing, link: usize) -> Vec<usize> {
        let mut out = Effects::default();
        outgoing.send_some(TO, link, &mut out).expect("the outbox refuses nothing");
        out.frames().iter().map(|(_, frame)| frame.body.len() + frame.bulk.len()).collect()
    }

    #[test]
    fn fragments_are_cut_to_the_link_and_share_the_data() {
        let bulk = Bytes::from(vec![1; 150_000]);
        for (link, expected) in [
            (0, vec![BODY_FRAGMENT_BYTES; 4]),
            (60_000, vec![60_000, 60_000, 30_000]),
            (100_000, vec![65_536, 65_536, 18_928]),
            (1 << 20, vec![150_000]),
        ] {
            let mut outgoing = Outgoing { credit: 100, ..Outgoing::default() };
            outgoing.announced(Token(1), bulk.clone());
            assert!(lengths(&mut outgoing, link).is_empty(), "not granted");
            assert!(outgoing.grant() && !outgoing.grant());
            assert_eq!(lengths(&mut outgoing, link), expected);
        }
    }

    #[test]
    fn a_link_that_cannot_lend_now_gets_fragments_and_is_asked_again_for_the_next() {
        let bulk = Bytes::from(vec![1; 3 * FRAGMENT_BYTES]);
        let mut outgoing = Outgoing { credit: 100, ..Outgoing::default() };
        for token in [1, 2] {
            outgoing.announced(Token(token), bulk.clone());
            outgoing.grant();
        }
        let mut link = Lends(Effects::default(), false);
        assert_eq!(outgoing.send_some(TO, 1 << 30, &mut link), Ok(4));
        link.1 = true;
        assert_eq!(outgoing.send_some(TO, 1 << 30, &mut link), Ok(2), "what was cut stays cut");
        outgoing.announced(Token(3), bulk);
        outgoing.grant();
        assert_eq!(outgoing.send_some(TO, 1 << 30, &mut link), Ok(1));
        let lengths: Vec<_> =
            link.0.frames().iter().map(|(_, frame)| frame.bulk.len() / FRAGMENT_BYTES).collect();
        assert_eq!(lengths, [1, 1, 1, 1, 1, 1, 3]);
        assert!(outgoing.is_empty());
    }

    /// A link that takes long bulk only if it can lend.
    struct Lends(Effects, bool);

    impl Outbox for Lends {
        fn begin(
            &mut self,
            to: Address,
            kind: quintet_contract::Kind,
            token: Token,
            at_most: usize,
        ) -> Result<&mut [u8], SendError> {
            self.0.begin(to, kind, token, at_most)
        }

        fn commit(&mut self, len: usize) {
            self.0.commit(len);
        }

        fn send_bulk(
            &mut self,
            to: Address,
            kind: quintet_contract::Kind,
            token: Token,
            head: &[u8],
            bulk: Bytes,
        ) -> Result<(), SendError> {
            if bulk.len() > 2 * FRAGMENT_BYTES && !self.1 {
                return Err(SendError::TooLong { len: bulk.len(), limit: 2 * FRAGMENT_BYTES });
            }
            self.0.send_bulk(to, kind, token, head, bulk)
        }

        fn disconnect(&mut self, peer: Address, cause: quintet_contract::Disconnect) {
            self.0.disconnect(peer, cause);
        }
    }

    #[test]
    fn a_handle_sends_a_few_and_credit_paces_them() {
        let mut outgoing = Outgoing::default();
        outgoing.announced(Token(1), Bytes::from(vec![1; 100 * FRAGMENT_BYTES]));
        assert!(outgoing.grant() && outgoing.proceed(6, 6) && outgoing.is_ready());
        assert_eq!(lengths(&mut outgoing, FRAGMENT_BYTES).len(), 4);
        assert_eq!(lengths(&mut outgoing, FRAGMENT_BYTES).len(), 2);
        assert!(!outgoing.is_ready() && !outgoing.proceed(7, 6));
    }
}
