//! The defects that can be switched on.

use quintet_isotach::Defect as Kind;

/// A defect built in on purpose, to show that it is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Defect(&'static (&'static str, Kind));

static ROWS: [(&str, Kind); 22] = [
    ("token-lost", Kind::TokenLost),
    ("token-doubled", Kind::TokenDoubled),
    ("credit-doubled", Kind::CreditDoubled),
    ("stale-view", Kind::StaleView),
    ("isochron-split", Kind::IsochronSplit),
    ("drained-early", Kind::DrainedEarly),
    ("marker-lost", Kind::MarkerLost),
    ("runs-ahead", Kind::RunsAhead),
    ("reads-before", Kind::ReadsBefore),
    ("entry-left-out", Kind::EntryLeftOut),
    ("begun-before-held", Kind::BegunBeforeHeld),
    ("minority-begins", Kind::MinorityBegins),
    ("stamped-ahead", Kind::StampedAhead),
    ("farewell-left-out", Kind::FarewellLeftOut),
    ("farewell-at-home", Kind::FarewellAtHome),
    ("state-of-later", Kind::StateOfLater),
    ("state-not-awaited", Kind::StateNotAwaited),
    ("farewell-forgets-told", Kind::FarewellForgetsTold),
    ("farewell-lost-inside", Kind::FarewellLostInside),
    ("refusal-forgotten", Kind::RefusalForgotten),
    ("pulse-not-kept", Kind::PulseNotKept),
    ("one-decides", Kind::OneDecides),
];

impl Defect {
    /// Every defect.
    pub fn all() -> impl Iterator<Item = Defect> {
        ROWS.iter().map(Defect)
    }

    /// Its name, as a user writes it: `token-lost`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.0.0
    }

    /// The defect of this name, if there is one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Defect> {
        Defect::all().find(|defect| defect.name() == name)
    }

    pub(super) fn kind(self) -> Kind {
        self.0.1
    }
}
