//! What the runs of an experiment give.

use super::{Experiment, Question};
use crate::thomas_1991::Application;
use core::fmt;
use quintet_simulate::statistics::Replications;

/// How sure the intervals are.
const CONFIDENCE: f64 = 0.95;
/// From so much on, in percent, an element is what limits a row.
const SATURATED: f64 = 95.0;

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

/// A mean over seeds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// The true mean is so near to it with 95% confidence; unknown from one seed.
    pub half_width: Option<f64>,
}

/// What an experiment gives.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// For which question it was made.
    pub question: Question,
    /// What was simulated.
    pub experiment: Experiment,
    /// Bytes of buffers, or elements added, in a second: all clients together. `None` if in some run none ended.
    pub throughput: Option<Estimate>,
    /// Seconds a read, or a job, of one client that ended one. `None` if in some run none ended.
    pub seconds: Option<Estimate>,
    /// The throughput of each run, by seed; 0 where none ended.
    pub runs: Vec<f64>,
    /// Clients that ended no read or job while others did, in all runs.
    pub idle_clients: u64,
    /// Utilisations in percent, in the order of [`ELEMENTS`]; of several of a kind the mean.
    pub utilisations: [f64; ELEMENTS.len()],
    /// Messages that the LAN gave up, in all runs.
    pub lost: u64,
    /// Sums up the runs.
    pub digest: u64,
}

/// Why a row has the throughput that it has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// An element is busy nearly all the time.
    Element(&'static str),
    /// None is: the throughput is the number of clients by the time of a read or job (Little's law), and what shortens
    /// that raises it.
    Latency,
}

impl Bound {
    /// As in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Bound::Element(_) => "element",
            Bound::Latency => "latency",
        }
    }
}

impl Row {
    /// Why the throughput is missing, if it is.
    #[must_use]
    pub fn missing(&self) -> Option<&'static str> {
        self.throughput.is_none().then_some("none ended")
    }

    /// The mean throughput; of a row in which none ended, 0.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.throughput.map_or(0.0, |throughput| throughput.mean)
    }

    /// The element that is busy most, and its utilisation in percent.
    #[must_use]
    pub fn bottleneck(&self) -> (&'static str, f64) {
        let pairs = ELEMENTS.into_iter().zip(self.utilisations);
        pairs.max_by(|one, other| one.1.total_cmp(&other.1)).unwrap_or_default()
    }

    /// Whether an element limits the throughput, and which; else the time of a read or job does.
    #[must_use]
    pub fn bound(&self) -> Bound {
        match self.bottleneck() {
            (element, share) if share >= SATURATED => Bound::Element(element),
            _ => Bound::Latency,
        }
    }

    /// The share of a read's or job's time, in percent, in which it waits for an element, or for its turn: what is left
    /// when the time that each element works for it is taken off. At least so much: by REXEC some work at once, as the
    /// client on a buffer while the server sends the next.
    #[must_use]
    pub fn waiting(&self) -> f64 {
        let setting = self.experiment.setting;
        let [client_applic, client_xport, server_applic, server_xport, vector_processor, ..] =
            self.utilisations;
        let clients = f64::from(setting.clients);
        let working = clients * (client_applic + client_xport)
            + f64::from(setting.server_processors) * server_applic
            + server_xport
            + f64::from(setting.heads) * vector_processor;
        (100.0 - working / clients).max(0.0)
    }

    /// What limits it, in words.
    #[must_use]
    pub fn limit(&self) -> String {
        let (element, share) = self.bottleneck();
        match self.bound() {
            Bound::Element(_) => format!("{element} {share:.1}%"),
            Bound::Latency => {
                format!("latency, {:.0}% of it waiting; busiest {element} {share:.1}%", self.waiting())
            }
        }
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

    /// An estimate of it in words.
    pub(super) fn words(&self, estimate: Option<Estimate>) -> String {
        estimate
            .map_or_else(|| self.missing().unwrap_or_default().to_owned(), |estimate| estimate.to_string())
    }

    /// What is strange about its runs.
    pub(super) fn notes(&self) -> String {
        let mut notes = String::new();
        if self.lost > 0 {
            notes += &format!("  ({} messages lost)", self.lost);
        }
        if self.idle_clients > 0 {
            notes += &format!("  ({} clients ended none)", self.idle_clients);
        }
        notes
    }
}

impl Estimate {
    /// Of values by seed.
    pub(super) fn of(values: impl IntoIterator<Item = f64>) -> Estimate {
        let mut runs = Replications::new();
        values.into_iter().for_each(|value| runs.add(value));
        let half_width = runs.interval(CONFIDENCE).ok().map(|interval| interval.half_width);
        Estimate { mean: runs.tally().mean().unwrap_or_default(), half_width }
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
