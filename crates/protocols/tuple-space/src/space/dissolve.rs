//! The end of a named space, whose server lives on.

use super::Space;
use super::sender::Reply;
use crate::codec::{ERROR, Refusal};
use quintet_contract::{Address, Outbox, SendError};
use quintet_wire::encode_to_vec;

/// What a space that was removed still owes.
pub(crate) struct Owed(Vec<(Address, Reply)>);

impl Space {
    /// Ends it: each request that waits is answered with this refusal, and answers that wait for a link stay owed. Tuples are gone.
    pub(crate) fn dissolve(self, refusal: &Refusal) -> Owed {
        let mut addresses: Vec<Address> = self.senders.addressed().map(|(address, _)| address).collect();
        // The same in every run.
        addresses.sort_unstable();
        let (mut owed, mut senders) = (Vec::new(), self.senders);
        for address in addresses {
            let Some(sender) = senders.remove(address) else { continue };
            let refused = sender.unanswered.into_keys();
            let refused = refused.map(|token| Reply { kind: ERROR, token, body: encode_to_vec(refusal) });
            owed.extend(sender.replies.into_iter().chain(refused).map(|reply| (address, reply)));
        }
        Owed(owed)
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
