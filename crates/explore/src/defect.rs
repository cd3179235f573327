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
    /// A renewal leaves out the leases that were put off because the manager was late.
    RenewalSkipsPutOff,
    /// The memory of a request that waited is never given back.
    WaitingBytesKept,
    /// A put passes acknowledgements that wait for room.
    PutPassesAcknowledgement,
    /// Any client may acknowledge any lease.
    AcknowledgedByAnyone,
    /// A tuple whose lease failed comes back behind all others.
    FailedLeaseGoesToTheEnd,
    /// A lease without an end outlives its holder.
    EndlessLeaseKept,
    /// A group happens although what it has read is gone.
    WitnessNotChecked,
    /// Of what a group has taken only the first is removed at its end, and the rest returns later.
    GroupEndsHalf,
    /// A tuple that has expired under a lease or in delivery returns.
    ExpiredReturns,
    /// A tuple expires after half of its time.
    ExpiresEarly,
    /// Requests to named spaces are done in the unnamed one.
    NumberOfSpaceIgnored,
    /// The credit of messages that waited for the fragments of an earlier one is never returned.
    HeldCreditLost,
    /// A message that goes alone passes those that gather in a pack.
    PackOvertaken,
    /// A pack is dropped if the link has no room for it.
    RefusedPackDropped,
    /// What an earlier link was given is not sent again over the next one.
    NotRewound,
    /// The last frame that came over an earlier link is asked for, and delivered, once more.
    DeliveredAgain,
    /// An acknowledgement releases one frame more than it covers.
    OneTooManyReleased,
    /// A resumed session does not tell what has arrived.
    ArrivedNotTold,
    /// A session whose link was cut is given up when half of its time to resume has passed.
    GivenUpEarly,
    /// A session whose link was cut is never given up.
    NeverGivenUp,
    /// Of two sides that dial each other, one counts the other's tries from its own.
    TriesCountedTogether,
}

impl Defect {
    /// Every defect.
    pub const ALL: &[Defect] = &[
        Defect::LostWakeUp,
        Defect::LeaseNeverReturned,
        Defect::QuotaCountedTwice,
        Defect::LostBetweenRemovalAndReply,
        Defect::CreditCountedTwice,
        Defect::RenewalSkipsPutOff,
        Defect::WaitingBytesKept,
        Defect::PutPassesAcknowledgement,
        Defect::AcknowledgedByAnyone,
        Defect::FailedLeaseGoesToTheEnd,
        Defect::EndlessLeaseKept,
        Defect::WitnessNotChecked,
        Defect::GroupEndsHalf,
        Defect::ExpiredReturns,
        Defect::ExpiresEarly,
        Defect::NumberOfSpaceIgnored,
        Defect::HeldCreditLost,
        Defect::PackOvertaken,
        Defect::RefusedPackDropped,
        Defect::NotRewound,
        Defect::DeliveredAgain,
        Defect::OneTooManyReleased,
        Defect::ArrivedNotTold,
        Defect::GivenUpEarly,
        Defect::NeverGivenUp,
        Defect::TriesCountedTogether,
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
            Defect::RenewalSkipsPutOff => "renewal-skips-put-off",
            Defect::WaitingBytesKept => "waiting-bytes-kept",
            Defect::PutPassesAcknowledgement => "put-passes-acknowledgement",
            Defect::AcknowledgedByAnyone => "acknowledged-by-anyone",
            Defect::FailedLeaseGoesToTheEnd => "failed-lease-goes-to-the-end",
            Defect::EndlessLeaseKept => "endless-lease-kept",
            Defect::WitnessNotChecked => "witness-not-checked",
            Defect::GroupEndsHalf => "group-ends-half",
            Defect::ExpiredReturns => "expired-returns",
            Defect::ExpiresEarly => "expires-early",
            Defect::NumberOfSpaceIgnored => "number-of-space-ignored",
            Defect::HeldCreditLost => "held-credit-lost",
            Defect::PackOvertaken => "pack-overtaken",
            Defect::RefusedPackDropped => "refused-pack-dropped",
            Defect::NotRewound => "not-rewound",
            Defect::DeliveredAgain => "delivered-again",
            Defect::OneTooManyReleased => "one-too-many-released",
            Defect::ArrivedNotTold => "arrived-not-told",
            Defect::GivenUpEarly => "given-up-early",
            Defect::NeverGivenUp => "never-given-up",
            Defect::TriesCountedTogether => "tries-counted-together",
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
            Defect::RenewalSkipsPutOff => Some(OfSpace::RenewalSkipsPutOff),
            Defect::WaitingBytesKept => Some(OfSpace::WaitingBytesKept),
            Defect::PutPassesAcknowledgement => Some(OfSpace::PutPassesAcknowledgement),
            Defect::AcknowledgedByAnyone => Some(OfSpace::AcknowledgedByAnyone),
            Defect::FailedLeaseGoesToTheEnd => Some(OfSpace::FailedLeaseGoesToTheEnd),
            Defect::EndlessLeaseKept => Some(OfSpace::EndlessLeaseKept),
            Defect::WitnessNotChecked => Some(OfSpace::WitnessNotChecked),
            Defect::GroupEndsHalf => Some(OfSpace::GroupEndsHalf),
            Defect::ExpiredReturns => Some(OfSpace::ExpiredReturns),
            Defect::ExpiresEarly => Some(OfSpace::ExpiresEarly),
            Defect::NumberOfSpaceIgnored => Some(OfSpace::NumberOfSpaceIgnored),
            Defect::CreditCountedTwice
            | Defect::HeldCreditLost
            | Defect::PackOvertaken
            | Defect::RefusedPackDropped
            | Defect::NotRewound
            | Defect::DeliveredAgain
            | Defect::OneTooManyReleased
            | Defect::ArrivedNotTold
            | Defect::GivenUpEarly
            | Defect::NeverGivenUp
            | Defect::TriesCountedTogether => None,
        }
    }

    pub(crate) fn of_messaging(self) -> Option<quintet_messaging::Defect> {
        use quintet_messaging::Defect as OfMessaging;
        match self {
            Defect::CreditCountedTwice => Some(OfMessaging::CreditCountedTwice),
            Defect::HeldCreditLost => Some(OfMessaging::HeldCreditLost),
            Defect::PackOvertaken => Some(OfMessaging::PackOvertaken),
            Defect::RefusedPackDropped => Some(OfMessaging::RefusedPackDropped),
            _ => None,
        }
    }

    pub(crate) fn of_session(self) -> Option<quintet_session::Defect> {
        use quintet_session::Defect as OfSession;
        match self {
            Defect::NotRewound => Some(OfSession::NotRewound),
            Defect::DeliveredAgain => Some(OfSession::DeliveredAgain),
            Defect::OneTooManyReleased => Some(OfSession::OneTooManyReleased),
            Defect::ArrivedNotTold => Some(OfSession::ArrivedNotTold),
            Defect::GivenUpEarly => Some(OfSession::GivenUpEarly),
            Defect::NeverGivenUp => Some(OfSession::NeverGivenUp),
            Defect::TriesCountedTogether => Some(OfSession::TriesCountedTogether),
            _ => None,
        }
    }
}
