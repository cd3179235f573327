//! The end of a named space, whose server lives on, and of what is asked of one that is not whole any more.

use super::Space;
use super::sender::Reply;
use crate::codec::{ERROR, Refusal};
use quintet_contract::{Address, Outbox, SendError, Time};
use quintet_wire::encode_to_vec;

/// What a space that was removed still owes.
pub(crate) struct Owed(Vec<(Address, Reply)>);

impl Space {
    /// Ends it: each request that waits is answered with this refusal, and answers that wait for a link stay owed. Tuples are gone.
    pub(crate) fn dissolve(self, refusal: &Refusal) -> Owed {
        let addresses = self.addresses_in_order();
        let (mut owed, mut senders) = (Vec::new(), self.senders);
        for address in addresses {
            let Some(sender) = senders.remove(address) else { continue };
            let refused = sender.unanswered.into_keys();
            let refused = refused.map(|token| Reply {
                kind: ERROR,
                token,
                body: encode_to_vec(refusal),
                bulk: bytes::Bytes::new(),
            });
            owed.extend(sender.replies.into_iter().chain(refused).map(|reply| (address, reply)));
        }
        Owed(owed)
    }

    /// Answers each request that waits with this refusal.
    pub(crate) fn refuse_unanswered(&mut self, now: Time, refusal: &Refusal, out: &mut dyn Outbox) {
        for address in self.addresses_in_order() {
            self.refuse_unanswered_of(now, address, refusal, out);
        }
    }

    /// The same of those that one address has asked.
    pub(crate) fn refuse_unanswered_of(
        &mut self,
        now: Time,
        address: Address,
        refusal: &Refusal,
        out: &mut dyn Outbox,
    ) {
        let unanswered = self.senders.get(address).map(|sender| sender.unanswered.clone());
        for (token, unanswered) in unanswered.unwrap_or_default() {
            let was_answered = self.was_answered(unanswered);
            self.drop_unanswered(now, unanswered);
            if !was_answered {
                self.refuse(address, token, refusal.code, &*refusal.text, out);
            }
        }
    }

    /// Whoever has asked: the same in every run.
    fn addresses_in_order(&self) -> Vec<Address> {
        let mut addresses: Vec<Address> = self.senders.addressed().map(|(address, _)| address).collect();
        addresses.sort_unstable();
        addresses
    }

    /// Sends what another space owed, or keeps it until there is room: those who wait for it had it promised.
    pub(crate) fn take_over(&mut self, owed: Owed, out: &mut dyn Outbox) {
        for (to, reply) in owed.0 {
            let mut waits = self.senders.get(to).is_some_and(|sender| !sender.replies.is_empty());
            waits = waits || out.send(to, reply.kind, reply.token, &reply.body) == Err(SendError::Full);
            if waits {
                self.senders.get_or_add(to).replies.push_back(reply);
            }
        }
    }
}
