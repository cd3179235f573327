//! Clients that crash, with leases, groups, and requests under way.
//!
//! What such a client had asked and was not told may have happened or not, and which tuple it got nobody knows. What it had under leases returns, sooner or
//! later; what it took is gone with it. (docs/guarantees.md)

use super::asking::MOST_OF_A_PAGE;
use super::ledger::{Asked, Ledger, What};
use quintet_contract::{NodeId, Token};
use quintet_linearizability::{Act, Event, Purpose};

/// In histories: what others see of a client's end, whose own requests are the client's.
const GONE: u32 = 1 << 31;

impl Ledger {
    /// A client has crashed.
    pub(super) fn lose(&mut self, node: NodeId) {
        self.clock += 1;
        let holder = self.client(node);
        let own = |asked: &Asked| asked.node == node;
        let lost: Vec<Token> =
            self.open.iter().filter(|(_, (_, asked))| own(asked)).map(|(token, _)| *token).collect();
        let mut leased = self.leased_by(node);
        for token in lost {
            let Some((asked_at, asked)) = self.open.remove(&token) else { continue };
            if let Some(group) = self.ending.remove(&token) {
                leased.extend(group.leased.into_iter().map(|(_, number)| number));
            }
            if let What::Act(act) = asked.what {
                self.leave_open((holder, token), asked_at, act, &mut leased);
            }
        }
        leased.sort_unstable();
        leased.dedup();
        // One after the other, as who waits is given each.
        for number in leased {
            self.happens(holder | GONE, self.clock, Act::End { holder: 0, leased: vec![number] });
        }
        self.connected.remove(&node);
        *self.lives.entry(node).or_default() += 1;
    }

    /// What a client has, which it forgets.
    fn leased_by(&mut self, node: NodeId) -> Vec<u32> {
        let group = self.groups.remove(&node).unwrap_or_default();
        let mut leased: Vec<u32> = group.leased.into_iter().map(|(_, number)| number).collect();
        leased.extend(self.leases.extract_if(.., |(whose, ..)| *whose == node).map(|(_, number, _)| number));
        leased
    }

    /// A request of a client that will not be told what has come of it.
    fn leave_open(&mut self, (client, token): (u32, Token), asked: u64, act: Act, leased: &mut Vec<u32>) {
        let holder = u32::try_from(token.0).expect("calls of a run are few");
        if let Act::Query { purpose: Purpose::Lease, .. } = act {
            self.happens(client | GONE, self.clock, Act::End { holder, leased: Vec::new() });
        }
        let mut may_happen = |act| self.history.push(Event { client, act, asked, answered: None });
        let untold = |of, purpose, puts| Act::Untold { of, purpose, holder, puts };
        match act {
            Act::Query { purpose: Purpose::Read, .. }
            | Act::Count(..)
            | Act::Collect { takes: false, .. } => {}
            Act::Query { of, purpose, .. } => may_happen(untold(of, purpose, Vec::new())),
            Act::Replace { of, puts, .. } => may_happen(untold(vec![of], Purpose::Take, puts)),
            Act::Collect { of, .. } => {
                (0..MOST_OF_A_PAGE).for_each(|_| may_happen(untold(vec![of], Purpose::Take, Vec::new())));
            }
            // Whether by this or by the client's end: they return once.
            Act::Return(numbers) => {
                self.happens(client | GONE, asked, Act::Return(numbers));
            }
            Act::Commit { leased: ref numbers, .. } => {
                leased.extend(numbers);
                may_happen(act);
            }
            act => may_happen(act),
        }
    }

    /// Something happens from then on, before everybody knows that the client is gone.
    fn happens(&mut self, client: u32, asked: u64, act: Act) {
        self.until_known.push(self.history.len());
        self.history.push(Event { client, act, asked, answered: None });
    }

    /// Everybody knows who is gone.
    pub(super) fn know(&mut self) {
        self.clock += 1;
        for at in self.until_known.drain(..) {
            self.history[at].answered = Some(self.clock);
        }
        self.expiring.end(self.clock);
    }
}
