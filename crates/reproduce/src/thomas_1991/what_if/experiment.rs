//! A case in a setting.

use crate::thomas_1991::{Application, Case, Encoding, Inferred, Machines, Model, Setting};

/// What is simulated.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Experiment {
    /// The case.
    pub case: Case,
    /// What surrounds it.
    pub setting: Setting,
    /// Bytes on the LAN for a byte of data.
    pub factor: Factor,
    /// For how long.
    pub span: Span,
}

/// Bytes on the LAN for a byte of an application's data. The fitted number is not understood, so that what is found with
/// it is tried without it, too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Factor {
    /// As fitted: `Inferred::expansion`.
    Fitted,
    /// 1.0; all else stays as it was fitted with the other.
    One,
}

/// For how long is simulated, in seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Span {
    /// What comes before is not counted.
    pub warm_up: f64,
    /// What is counted.
    pub window: f64,
}

impl Experiment {
    /// A case in a setting, for as long as its reads or jobs ask for: with 16 clients each of them ends one in the warm-up.
    #[must_use]
    pub fn new(case: Case, setting: Setting) -> Experiment {
        let (warm_up, window) = match (setting.machines, case.application) {
            (Machines::Today, Application::Realtime { .. }) => (0.1, 0.4),
            (Machines::Today, Application::Batch { .. }) => (0.3, 1.2),
            (Machines::Of1991, Application::Realtime { words: 1 }) => (2.0, 15.0),
            (Machines::Of1991, Application::Realtime { .. }) => (45.0, 150.0),
            (Machines::Of1991, Application::Batch { .. }) => (75.0, 300.0),
        };
        Experiment { case, setting, factor: Factor::Fitted, span: Span { warm_up, window } }
    }

    /// The study's own run of the case: one client, from a cold start, as long as the paper's.
    #[must_use]
    pub fn as_published(case: Case) -> Experiment {
        let span = Span { warm_up: 0.0, window: case.application.seconds() };
        Experiment { span, ..Experiment::new(case, Setting::STUDY) }
    }

    /// The same with another number of bytes on the LAN.
    #[must_use]
    pub fn with_factor(self, factor: Factor) -> Experiment {
        Experiment { factor, ..self }
    }

    /// The same, for a share of the time.
    #[must_use]
    pub fn shortened(self, share: f64) -> Experiment {
        let Span { warm_up, window } = self.span;
        Experiment { span: Span { warm_up: warm_up * share, window: window * share }, ..self }
    }

    /// The model, and what is special about it.
    #[must_use]
    pub fn model(&self) -> String {
        let name = self.case.model.name();
        match (self.case.model, self.setting) {
            (Model::Driver, Setting { commands, .. }) => format!("{name}-{commands}"),
            (_, Setting { encoding: Encoding::Binary, .. }) => format!("{name}-binary"),
            _ => name.to_owned(),
        }
    }

    /// All but the model, the factor and the numbers of things, in words.
    #[must_use]
    pub fn label(&self) -> String {
        let Case { lan, transport, application, .. } = self.case;
        let machines = match self.setting.machines {
            Machines::Of1991 => "",
            Machines::Today => "today's machines, ",
        };
        let simulator = match application {
            Application::Batch { vector_processor: false, .. } => ", AP Simulator",
            _ => "",
        };
        format!("{machines}{lan}, {}, {application}{simulator}", transport.name())
    }
}

impl Factor {
    /// The number.
    #[must_use]
    pub const fn value(self) -> f64 {
        self.inferred().expansion
    }

    /// What follows a case in a report.
    #[must_use]
    pub const fn suffix(self) -> &'static str {
        match self {
            Factor::Fitted => "",
            Factor::One => ", LAN factor 1.0",
        }
    }

    pub(super) const fn inferred(self) -> Inferred {
        match self {
            Factor::Fitted => Inferred::FITTED,
            Factor::One => Inferred { expansion: 1.0, ..Inferred::FITTED },
        }
    }
}
