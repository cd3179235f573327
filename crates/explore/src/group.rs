//! What a client does with groups: it gathers what it takes and reads for its next one, and ends it after a while.

use quintet_contract::{Span, Time};
use quintet_simulate::Chooser;
use quintet_tuple_space::{LeaseId, Witness};

/// What the next group has used so far, and groups that were refused, to be aborted.
#[derive(Default, Debug)]
pub(crate) struct Group {
    leases: Vec<LeaseId>,
    witnesses: Vec<Witness>,
    /// When it ends: some time after the first tuple came.
    due: Option<Time>,
    refused: Vec<Vec<LeaseId>>,
}

/// How a group ends.
#[derive(Clone, Copy)]
pub(crate) enum End {
    Commit,
    Abort,
    /// By nobody: its leases end with their time.
    None,
}

pub(crate) fn draw_end(uses: &mut Chooser) -> End {
    *uses.weighted(&[(7, End::Commit), (2, End::Abort), (1, End::None)])
}

impl Group {
    pub(crate) fn is_empty(&self) -> bool {
        self.due.is_none()
    }

    pub(crate) fn has_leases(&self) -> bool {
        !self.leases.is_empty()
    }

    pub(crate) fn take(&mut self, now: Time, lease: LeaseId, uses: &mut Chooser) {
        self.begin(now, uses);
        let at = self.leases.partition_point(|other| *other < lease);
        self.leases.insert(at, lease);
    }

    pub(crate) fn read(&mut self, now: Time, witness: Witness, uses: &mut Chooser) {
        self.begin(now, uses);
        self.witnesses.push(witness);
    }

    fn begin(&mut self, now: Time, uses: &mut Chooser) {
        if self.due.is_none() {
            uses.begin();
            self.due = Some(now + Span::from_micros(500 + uses.below(20_000)));
        }
    }

    /// The end of a group was refused: what it took is still held.
    pub(crate) fn refused(&mut self, leases: &[LeaseId]) {
        self.refused.push(leases.to_vec());
    }

    pub(crate) fn take_refused(&mut self) -> Vec<Vec<LeaseId>> {
        std::mem::take(&mut self.refused)
    }

    /// When there is something to do.
    pub(crate) fn due(&self) -> Option<Time> {
        if self.refused.is_empty() { self.due } else { Some(Time::ZERO) }
    }

    /// The group that is to end now, if it is.
    pub(crate) fn take_due(&mut self, now: Time) -> Option<Group> {
        self.due.filter(|due| *due <= now)?;
        let refused = std::mem::take(&mut self.refused);
        Some(std::mem::replace(self, Group { refused, ..Group::default() }))
    }

    /// What it took and what it read.
    pub(crate) fn into_uses(self) -> (Vec<LeaseId>, Vec<Witness>) {
        (self.leases, self.witnesses)
    }
}
