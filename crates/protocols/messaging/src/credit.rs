//! The two books of one direction: what the sender may still send, and what the receiver still expects.
//!
//! ```text
//!   window = may be sent (sender) + under way + held or being handled + owed (receiver) + on its way back
//! ```

use crate::codec::Credit;
use crate::config::Limits;

/// The sender's book.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Allowance {
    pub(crate) slots: u32,
    pub(crate) bytes: u32,
}

impl Allowance {
    /// Whether there is credit for a frame of so many bytes, beside what is kept back.
    pub(crate) fn covers(&self, bytes: usize, kept_back: Credit) -> bool {
        self.slots > kept_back.slots && bytes.saturating_add(kept_back.bytes as usize) <= self.bytes as usize
    }

    /// A frame of so many bytes goes. [`covers`](Allowance::covers) was asked.
    pub(crate) fn spend(&mut self, bytes: u32) {
        self.slots -= 1;
        self.bytes -= bytes;
    }

    /// Credit came back, counted `factor` times. False if it is more than was ever spent.
    pub(crate) fn take_back(&mut self, credit: Credit, window: &Limits, factor: u32) -> bool {
        self.slots = self.slots.saturating_add(credit.slots.saturating_mul(factor));
        self.bytes = self.bytes.saturating_add(credit.bytes.saturating_mul(factor));
        factor > 1 || self.slots <= window.slots && self.bytes <= window.bytes
    }
}

/// The receiver's book.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ledger {
    window: Credit,
    /// What the peer may still send, as far as it knows.
    open: Credit,
    /// What was consumed and has not been returned.
    pub(crate) owed: Credit,
    /// What is owed may not wait for a frame to ride on.
    hurried: bool,
}

impl Ledger {
    pub(crate) fn new(limits: &Limits) -> Self {
        let window = Credit { slots: limits.slots, bytes: limits.bytes };
        Ledger { window, open: window, owed: Credit::default(), hurried: false }
    }

    /// A frame came. False if the peer had no credit for it.
    pub(crate) fn charge(&mut self, bytes: usize) -> bool {
        match (self.open.slots.checked_sub(1), u32::try_from(bytes)) {
            (Some(slots), Ok(bytes)) if bytes <= self.open.bytes => {
                self.open = Credit { slots, bytes: self.open.bytes - bytes };
                true
            }
            _ => false,
        }
    }

    /// A frame that was charged has been consumed.
    pub(crate) fn consumed(&mut self, bytes: u32) {
        self.owed.slots += 1;
        self.owed.bytes += bytes;
    }

    /// A frame is about to be consumed before others that hold the rest of the window: its credit has to go back at once.
    pub(crate) fn hurry(&mut self) {
        self.hurried = true;
    }

    /// Half of the window is owed, or credit was hurried, so that it has to go back even if no frame goes that way.
    pub(crate) fn is_due(&self) -> bool {
        self.hurried
            || self.owed.slots >= self.window.slots.div_ceil(2)
            || self.owed.bytes >= self.window.bytes.div_ceil(2)
    }

    /// Credit went back.
    pub(crate) fn returned(&mut self, credit: Credit) {
        self.owed = Credit { slots: self.owed.slots - credit.slots, bytes: self.owed.bytes - credit.bytes };
        self.open = Credit { slots: self.open.slots + credit.slots, bytes: self.open.bytes + credit.bytes };
        self.hurried &= self.owed.slots > 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { slots: 4, bytes: 100, requests: 1, bulk: 0, budget: 0, fragments: 1 };

    #[test]
    fn a_frame_without_credit_is_noticed() {
        let mut ledger = Ledger::new(&LIMITS);
        assert!(ledger.charge(90) && !ledger.charge(11) && ledger.charge(10));
        assert!(ledger.charge(0) && ledger.charge(0) && !ledger.charge(0), "four slots");
        assert!(!Ledger::new(&LIMITS).charge(usize::MAX));
    }

    #[test]
    fn credit_is_due_at_half_of_the_window_and_comes_back() {
        let mut ledger = Ledger::new(&LIMITS);
        assert!(ledger.charge(49));
        ledger.consumed(49);
        assert!(!ledger.is_due());
        assert!(ledger.charge(0));
        ledger.consumed(0);
        assert!(ledger.is_due(), "by slots");
        let owed = ledger.owed;
        ledger.returned(owed);
        assert_eq!(ledger, Ledger::new(&LIMITS));
    }

    #[test]
    fn what_is_kept_back_is_not_spent() {
        let kept_back = Credit { slots: 1, bytes: 16 };
        assert!(Allowance { slots: 2, bytes: 100 }.covers(84, kept_back));
        assert!(!Allowance { slots: 2, bytes: 100 }.covers(85, kept_back));
        assert!(!Allowance { slots: 1, bytes: 100 }.covers(0, kept_back));
    }

    #[test]
    fn hurried_credit_is_due_at_once() {
        let mut ledger = Ledger::new(&LIMITS);
        assert!(ledger.charge(0));
        ledger.hurry();
        ledger.consumed(0);
        assert!(ledger.is_due());
        ledger.returned(Credit { slots: 1, bytes: 0 });
        assert_eq!(ledger, Ledger::new(&LIMITS), "once");
    }

    #[test]
    fn more_credit_than_was_spent_is_noticed() {
        let mut allowance = Allowance { slots: 4, bytes: 100 };
        allowance.spend(60);
        let none = Credit::default();
        assert!(!allowance.covers(41, none) && allowance.covers(40, none));
        assert!(allowance.take_back(Credit { slots: 1, bytes: 60 }, &LIMITS, 1));
        assert!(!allowance.take_back(Credit { slots: 0, bytes: 1 }, &LIMITS, 1));
    }
}
