//! Defects built in on purpose.
//!
//! Each is a mistake that tuple spaces really have. A test switches one on to show that the explorer, or the model,
//! finds it; without the feature `seeded-defects` none of this is compiled.

/// A defect built in on purpose.
#[cfg(feature = "seeded-defects")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Defect {
    /// A tuple that returns to the space wakes nobody who waits for it.
    LostWakeUp,
    /// The tuples that a dead peer held under a lease stay hidden for ever.
    LeaseNeverReturned,
    /// The quota that a taken tuple used is given back at its delivery, and once more when that is settled.
    CreditCountedTwice,
    /// A tuple is removed before its answer is sent, and is lost when the link has no room for that.
    LostBetweenRemovalAndReply,
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
    /// A select waits for its first template alone.
    SelectWaitsForFirst,
    /// Who has waited as long as he wanted to is told so, and waits on.
    WaitsBeyondItsTime,
    /// What a replacement puts wakes nobody who waits for it.
    ReplacementNotOffered,
    /// A replacement leaves what it has taken in the space as well.
    ReplacedStays,
    /// Of a page that is collected the oldest tuple stays in the space as well; of what is moved to another space all of it.
    CollectedStays,
    /// Where a page that was collected is undone, its oldest tuple alone comes back.
    PageReturnsInPart,
    /// That a tuple has returned is no event.
    ReturnNotWatched,
    /// Who watches too late is not told what he has missed.
    MissedEventsNotTold,
    /// A tuple that has expired stays where it is.
    ExpiredStays,
    /// A tuple that has expired under a lease or in delivery returns.
    ExpiredReturns,
    /// A tuple expires after half of its time.
    ExpiresEarly,
    /// Requests to named spaces are done in the unnamed one.
    NumberOfSpaceIgnored,
    /// A signature that is moved to another manager leaves its youngest tuple behind.
    TupleLeftBehind,
    /// Those who wait for a signature that is moved go on waiting where it was.
    WaiterLeftBehind,
    /// A manager answers requests for a signature before all its tuples have come.
    AnsweredDuringMigration,
    /// A manager answers requests for what it does not have any more.
    AnsweredInOldEpoch,
    /// Whoever put what belongs to another manager is answered before it has come there.
    AnsweredBeforeItCame,
    /// A tuple that is put for another manager takes its age with it, which may be older than what is there.
    AgeKeptByNewTuple,
    /// A manager gives ages that are older than those that came from another.
    AgesNotPassed,
    /// Who watches a signature that is moved to another manager goes on watching it where it was.
    WatcherLeftBehind,
    /// A signature that is moved leaves what has happened to its tuples behind.
    EventsLeftBehind,
    /// What becomes of a tuple that was leased when its signature was moved is told nobody.
    EndToldNowhere,
    /// A manager gives events numbers that are below those that came from another.
    NumbersNotPassed,
    /// A manager goes on serving a key that was moved away from it.
    KeyServedAtOldPlace,
    /// A router lets a request overtake a put at another manager.
    PutNotFenced,
    /// A manager that is to stand still for what several do goes on.
    LockNotHeld,
    /// A manager does its part of what several do as soon as it is to stand still for it.
    PartDoneAtLock,
    /// What a group has read at several managers is looked for when they prepare, and no more at its end.
    WitnessGoneAtLock,
    /// A part that is prepared at one manager stays there where another one cannot do its own.
    PartNotGivenUp,
    /// A router lets a request overtake what several managers do.
    PartsNotFenced,
    /// A select at several managers goes by what each of them had when it was asked, and not by what they have at one instant.
    SoughtBeforeStill,
    /// A select at several managers takes what each of them has.
    SelectTakesAll,
    /// A manager that gets something for which a select at several waits tells nobody.
    RingNotHeard,
    /// The first manager goes on while what it collects from another one is on its way.
    PagesNotAwaited,
}

/// Whether this defect is switched on. Always false without the feature.
macro_rules! seeded {
    ($config:expr, $defect:ident) => {{
        #[cfg(feature = "seeded-defects")]
        let on = $config.defect == Some($crate::space::Defect::$defect);
        #[cfg(not(feature = "seeded-defects"))]
        let on = false;
        on
    }};
}
pub(crate) use seeded;
