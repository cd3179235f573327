//! A case in a setting, and what its runs give.

use super::Question;
use crate::thomas_1991::element::Element;
use crate::thomas_1991::running::Running;
use crate::thomas_1991::simulate::plant;
use crate::thomas_1991::{Application, Case, Encoding, Inferred, Machines, Setting};
use core::fmt;
use quintet_simulate::statistics::Replications;

/// How sure the intervals are.
const CONFIDENCE: f64 = 0.95;

/// What is simulated.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Experiment {
    /// The case.
    pub case: Case,
    /// What surrounds it.
    pub setting: Setting,
    /// For how long.
    pub span: Span,
}

/// For how long is simulated, in seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Span {
    /// What comes before is not counted.
    pub warm_up: f64,
    /// What is counted.
    pub window: f64,
}

/// A mean over seeds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// The true mean is so near to it with 95% confidence; unknown from one seed.
    pub half_width: Option<f64>,
}

/// The elements whose utilisations are in a row, in its order.
pub const ELEMENTS: [&str; 7] = [
    "client applic",
    "client xport",
    "server applic",
    "server xport",
    "vector processor",
    "server bus",
    "lan",
];

/// What an experiment gives.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// For which question it was made.
    pub question: Question,
    /// What was simulated.
    pub experiment: Experiment,
    /// Bytes of buffers, or elements added, in a second: all clients together.
    pub throughput: Estimate,
    /// Seconds a read, or a job, of one client.
    pub seconds: Estimate,
    /// Utilisations in percent, in the order of [`ELEMENTS`]; of several of a kind the mean.
    pub utilisations: [f64; ELEMENTS.len()],
    /// Messages that the LAN gave up, in all runs.
    pub lost: u64,
    /// Sums up the runs.
    pub digest: u64,
}

impl Experiment {
    /// A case in a setting, for as long as its reads or jobs ask for.
    #[must_use]
    pub fn new(case: Case, setting: Setting) -> Experiment {
        let (warm_up, window) = match (setting.machines, case.application) {
            (Machines::Today, Application::Realtime { .. }) => (0.1, 0.4),
            (Machines::Today, Application::Batch { .. }) => (0.3, 1.2),
            (Machines::Of1991, Application::Realtime { words: 1 }) => (2.0, 15.0),
            (Machines::Of1991, Application::Realtime { .. }) => (30.0, 150.0),
            (Machines::Of1991, Application::Batch { .. }) => (60.0, 300.0),
        };
        Experiment { case, setting, span: Span { warm_up, window } }
    }

    /// The study's own run of the case: one client, from a cold start, as long as the paper's.
    #[must_use]
    pub fn as_published(case: Case) -> Experiment {
        let span = Span { warm_up: 0.0, window: case.application.seconds() };
        Experiment { case, setting: Setting::STUDY, span }
    }

    /// The model, and what is special about it.
    #[must_use]
    pub fn model(&self) -> String {
        let name = self.case.model.name();
        match (self.case.model, self.setting) {
            (crate::thomas_1991::Model::Driver, Setting { commands, .. }) => format!("{name}-{commands}"),
            (_, Setting { encoding: Encoding::Binary, .. }) => format!("{name}-binary"),
            _ => name.to_owned(),
        }
    }

    /// All but the model and the numbers of things, in words.
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

impl Row {
    /// The element that is busy most, and its utilisation in percent.
    #[must_use]
    pub fn bottleneck(&self) -> (&'static str, f64) {
        let pairs = ELEMENTS.into_iter().zip(self.utilisations);
        pairs.max_by(|one, other| one.1.total_cmp(&other.1)).unwrap_or_default()
    }

    /// The utilisation of one of [`ELEMENTS`], in percent.
    #[must_use]
    pub fn utilisation(&self, element: &str) -> Option<f64> {
        ELEMENTS.iter().position(|name| *name == element).map(|index| self.utilisations[index])
    }

    /// The unit of the throughput.
    #[must_use]
    pub const fn unit(&self) -> &'static str {
        match self.experiment.case.application {
            Application::Realtime { .. } => "bytes/s",
            Application::Batch { .. } => "operations/s",
        }
    }

    /// Clients.
    #[must_use]
    pub const fn clients(&self) -> u16 {
        self.experiment.setting.clients
    }
}

impl Estimate {
    fn of(runs: &Replications) -> Estimate {
        let half_width = runs.interval(CONFIDENCE).ok().map(|interval| interval.half_width);
        Estimate { mean: runs.tally().mean().unwrap_or_default(), half_width }
    }

    /// The least and the largest mean that is likely.
    #[must_use]
    pub fn range(self) -> (f64, f64) {
        let half_width = self.half_width.unwrap_or(0.0);
        (self.mean - half_width, self.mean + half_width)
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = match self.mean.abs() {
            100.0.. => 0,
            1.0..100.0 => 3,
            _ => 6,
        };
        write!(f, "{:.digits$}", self.mean)?;
        match self.half_width {
            Some(half_width) => write!(f, " +-{half_width:.digits$}"),
            None => Ok(()),
        }
    }
}

/// Simulates an experiment with so many seeds, from 0 on.
#[must_use]
pub fn measure(question: Question, experiment: &Experiment, seeds: u64) -> Row {
    let (mut throughput, mut seconds) = (Replications::new(), Replications::new());
    let mut utilisations = [0.0; ELEMENTS.len()];
    let (mut lost, mut digest) = (0, 0_u64);
    let clients = f64::from(experiment.setting.clients);
    for seed in 0..seeds {
        let mut running = plant(&experiment.case, experiment.setting, &Inferred::FITTED, seed).build();
        let rate = rate(&mut running, experiment);
        throughput.add(rate * f64::from(experiment.case.application.size()));
        seconds.add(clients / rate);
        for (sum, value) in utilisations.iter_mut().zip(shares(&running)) {
            *sum += value / seeds as f64;
        }
        lost += running.lost();
        digest = digest.rotate_left(7) ^ running.digest();
    }
    let (throughput, seconds) = (Estimate::of(&throughput), Estimate::of(&seconds));
    Row { question, experiment: *experiment, throughput, seconds, utilisations, lost, digest }
}

/// Reads or jobs in a second. Each client is counted from the last that it ended in the warm-up to the last in the
/// window: what the ends cut off does not count.
fn rate(running: &mut Running, experiment: &Experiment) -> f64 {
    let clients = usize::from(experiment.setting.clients);
    running.run_for(experiment.span.warm_up);
    let mut first = vec![0.0; clients];
    for (client, at) in running.take_ended() {
        first[usize::from(client)] = at.as_seconds();
    }
    running.reset_statistics();
    running.run_for(experiment.span.window);
    let mut counted = vec![(0_u32, 0.0); clients];
    for (client, at) in running.take_ended() {
        let (count, last) = &mut counted[usize::from(client)];
        (*count, *last) = (*count + 1, at.as_seconds());
    }
    let rates = counted.iter().zip(first).filter(|((count, _), _)| *count > 0);
    rates.map(|((count, last), first)| f64::from(*count) / (last - first)).sum()
}

fn shares(running: &Running) -> [f64; ELEMENTS.len()] {
    let of = |element| running.utilisation(element);
    [
        of(Element::ClientApplic),
        of(Element::ClientXport),
        of(Element::ServerApplic),
        of(Element::ServerXport),
        of(Element::VectorProcessor),
        running.vmebus_utilisation(),
        running.lan_utilisation(),
    ]
}
