//! The defects that can be switched on.

use super::Placement;
use quintet_durable::Defect as OfLog;
use quintet_replicated::Defect as OfReplicas;
use quintet_resume::Defect as OfClients;
use quintet_tuple_space::Defect as OfSpace;

/// A defect built in on purpose, to show that it is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Defect(&'static Row);

/// Its name, the placement that has it, and where it is.
#[derive(PartialEq, Eq, Debug)]
struct Row(&'static str, Placement, Place);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Log(OfLog),
    Clients(OfClients),
    Replicas(OfReplicas),
    Space(OfSpace),
}

static ROWS: [Row; 43] = [
    Row("answered-before-sync", Placement::Logged, Place::Log(OfLog::AnsweredBeforeSync)),
    Row("lost-while-written-anew", Placement::Logged, Place::Log(OfLog::LostWhileWrittenAnew)),
    Row("answers-forgotten", Placement::Logged, Place::Clients(OfClients::AnswersForgotten)),
    Row("applied-twice", Placement::Logged, Place::Clients(OfClients::AppliedTwice)),
    Row("lost-wake-up", Placement::Logged, Place::Space(OfSpace::LostWakeUp)),
    Row("witness-not-checked", Placement::Logged, Place::Space(OfSpace::WitnessNotChecked)),
    Row("replaced-stays", Placement::Logged, Place::Space(OfSpace::ReplacedStays)),
    Row("select-waits-for-first", Placement::Logged, Place::Space(OfSpace::SelectWaitsForFirst)),
    Row("replacement-not-offered", Placement::Logged, Place::Space(OfSpace::ReplacementNotOffered)),
    Row("group-ends-half", Placement::Logged, Place::Space(OfSpace::GroupEndsHalf)),
    Row("lease-never-returned", Placement::Logged, Place::Space(OfSpace::LeaseNeverReturned)),
    Row("waits-beyond-its-time", Placement::Logged, Place::Space(OfSpace::WaitsBeyondItsTime)),
    Row("return-not-watched", Placement::Logged, Place::Space(OfSpace::ReturnNotWatched)),
    Row("said-before-sync", Placement::Replicated, Place::Replicas(OfReplicas::SaidBeforeSync)),
    Row("leader-answers-alone", Placement::Replicated, Place::Replicas(OfReplicas::LeaderAnswersAlone)),
    Row(
        "installed-without-clients",
        Placement::Replicated,
        Place::Replicas(OfReplicas::InstalledWithoutClients),
    ),
    Row("lost-log-votes", Placement::Replicated, Place::Replicas(OfReplicas::LostLogVotes)),
    Row("forgotten-by-replicas", Placement::Replicated, Place::Clients(OfClients::AnswersForgotten)),
    Row("missed-events-not-told", Placement::Replicated, Place::Space(OfSpace::MissedEventsNotTold)),
    Row("collected-stays", Placement::Replicated, Place::Space(OfSpace::CollectedStays)),
    Row("tuple-left-behind", Placement::Managers, Place::Space(OfSpace::TupleLeftBehind)),
    Row("waiter-left-behind", Placement::Managers, Place::Space(OfSpace::WaiterLeftBehind)),
    Row("answered-in-old-epoch", Placement::Managers, Place::Space(OfSpace::AnsweredInOldEpoch)),
    Row("lease-of-the-dead-kept", Placement::Managers, Place::Space(OfSpace::LeaseNeverReturned)),
    Row("put-not-fenced", Placement::Managers, Place::Space(OfSpace::PutNotFenced)),
    Row("ages-not-passed", Placement::Managers, Place::Space(OfSpace::AgesNotPassed)),
    Row("key-served-at-old-place", Placement::Managers, Place::Space(OfSpace::KeyServedAtOldPlace)),
    Row("answered-before-it-came", Placement::Managers, Place::Space(OfSpace::AnsweredBeforeItCame)),
    Row("lock-not-held", Placement::Managers, Place::Space(OfSpace::LockNotHeld)),
    Row("part-done-at-lock", Placement::Managers, Place::Space(OfSpace::PartDoneAtLock)),
    Row("part-not-given-up", Placement::Managers, Place::Space(OfSpace::PartNotGivenUp)),
    Row("parts-not-fenced", Placement::Managers, Place::Space(OfSpace::PartsNotFenced)),
    Row("sought-before-still", Placement::Managers, Place::Space(OfSpace::SoughtBeforeStill)),
    Row("select-takes-all", Placement::Managers, Place::Space(OfSpace::SelectTakesAll)),
    Row("ring-not-heard", Placement::Managers, Place::Space(OfSpace::RingNotHeard)),
    Row("pages-not-awaited", Placement::Managers, Place::Space(OfSpace::PagesNotAwaited)),
    Row("watcher-left-behind", Placement::Managers, Place::Space(OfSpace::WatcherLeftBehind)),
    Row("events-left-behind", Placement::Managers, Place::Space(OfSpace::EventsLeftBehind)),
    Row("end-told-nowhere", Placement::Managers, Place::Space(OfSpace::EndToldNowhere)),
    Row("numbers-not-passed", Placement::Managers, Place::Space(OfSpace::NumbersNotPassed)),
    Row("expired-stays", Placement::Managers, Place::Space(OfSpace::ExpiredStays)),
    Row("expired-returns", Placement::Managers, Place::Space(OfSpace::ExpiredReturns)),
    Row("expires-early", Placement::Managers, Place::Space(OfSpace::ExpiresEarly)),
];

impl Defect {
    /// Every defect.
    pub fn all() -> impl Iterator<Item = Defect> {
        ROWS.iter().map(Defect)
    }

    /// Its name, as a user writes it: `answered-before-sync`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.0.0
    }

    /// The placement that has it.
    #[must_use]
    pub fn placement(self) -> Placement {
        self.0.1
    }

    /// The defect of this name, if there is one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Defect> {
        Defect::all().find(|defect| defect.name() == name)
    }

    pub(super) fn of_log(self) -> Option<OfLog> {
        if let Place::Log(defect) = self.0.2 { Some(defect) } else { None }
    }

    pub(super) fn of_clients(self) -> Option<OfClients> {
        if let Place::Clients(defect) = self.0.2 { Some(defect) } else { None }
    }

    pub(super) fn of_replicas(self) -> Option<OfReplicas> {
        if let Place::Replicas(defect) = self.0.2 { Some(defect) } else { None }
    }

    pub(super) fn of_space(self) -> Option<OfSpace> {
        if let Place::Space(defect) = self.0.2 { Some(defect) } else { None }
    }
}
