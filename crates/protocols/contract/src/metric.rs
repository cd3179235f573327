//! What a protocol tells of itself in numbers, for whoever looks at its host from outside.
//!
//! A host asks when it is asked, and never else: a protocol keeps what it counts as plain numbers, and nothing here is on the way of a frame.

/// One number that a protocol tells of itself. Several protocols of a node may tell the same one: then it is their sum.
#[derive(PartialEq, Eq, Debug)]
pub struct Metric {
    /// Words in lower case with `_` between them, `quintet` and the protocol's name first, the unit last. No `total` at the end: who writes counters
    /// down adds it.
    pub name: &'static str,
    /// What tells several numbers of one name apart: a label's name and its value.
    pub label: Option<(&'static str, &'static str)>,
    /// How it changes.
    pub kind: MetricKind,
    /// What it counts: a sentence without a full stop. The same for one name.
    pub text: &'static str,
}

/// How a metric changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MetricKind {
    /// Grows, from 0 when the protocol starts.
    Counter,
    /// What it is now.
    Gauge,
}

/// Takes a metric's value.
pub type Meter<'a> = dyn FnMut(&'static Metric, u64) + 'a;

impl Metric {
    /// A number that grows.
    #[must_use]
    pub const fn counter(name: &'static str, text: &'static str) -> Metric {
        Metric { name, label: None, kind: MetricKind::Counter, text }
    }

    /// What is now.
    #[must_use]
    pub const fn gauge(name: &'static str, text: &'static str) -> Metric {
        Metric { name, label: None, kind: MetricKind::Gauge, text }
    }

    /// The same, of which this is one of several.
    #[must_use]
    pub const fn of(self, label: &'static str, value: &'static str) -> Metric {
        Metric { label: Some((label, value)), ..self }
    }
}

/// Tells the values of metrics, each in its place.
pub fn tell_all<const N: usize>(metrics: &'static [Metric; N], values: [u64; N], meter: &mut Meter<'_>) {
    metrics.iter().zip(values).for_each(|(metric, value)| meter(metric, value));
}
