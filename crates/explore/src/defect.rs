//! The defects that can be switched on.

/// A defect built in on purpose, to show that it is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Defect {
    /// A tuple that returns to the space wakes nobody who waits for it.
    LostWakeUp,
    /// The tuples that a dead client held under a lease stay hidden for ever.
    LeaseNeverReturned,
    /// The quota that a taken tuple used is given back twice.
    QuotaCountedTwice,
    /// A tuple is removed before its answer is sent, and is lost when the link has no room for that.
    LostBetweenRemovalAndReply,
    /// Credit for messages that comes back is counted twice, so that the other side is overrun.
    CreditCountedTwice,
}

impl Defect {
    /// Every defect.
    pub const ALL: &[Defect] = &[
        Defect::LostWakeUp,
        Defect::LeaseNeverReturned,
        Defect::QuotaCountedTwice,
        Defect::LostBetweenRemovalAndReply,
        Defect::CreditCountedTwice,
    ];

    /// Its name, as a user writes it: `lost-wake-up`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Defect::LostWakeUp => "lost-wake-up",
            Defect::LeaseNeverReturned => "lease-never-returned",
            Defect::QuotaCountedTwice => "quota-counted-twice",
            Defect::LostBetweenRemovalAndReply => "lost-between-removal-and-reply",
            Defect::CreditCountedTwice => "credit-counted-twice",
        }
    }

    /// The defect of this name, if there is one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Defect> {
        Defect::ALL.iter().copied().find(|defect| defect.name() == name)
    }

    pub(crate) fn of_space(self) -> Option<quintet_tuple_space::Defect> {
        use quintet_tuple_space::Defect as OfSpace;
        match self {
            Defect::LostWakeUp => Some(OfSpace::LostWakeUp),
            Defect::LeaseNeverReturned => Some(OfSpace::LeaseNeverReturned),
            Defect::QuotaCountedTwice => Some(OfSpace::CreditCountedTwice),
            Defect::LostBetweenRemovalAndReply => Some(OfSpace::LostBetweenRemovalAndReply),
            Defect::CreditCountedTwice => None,
        }
    }

    pub(crate) fn of_messaging(self) -> Option<quintet_messaging::Defect> {
        (self == Defect::CreditCountedTwice).then_some(quintet_messaging::Defect::CreditCountedTwice)
    }
}
