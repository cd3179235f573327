//! What the names of [`RunResult::quantities`](crate::RunResult::quantities) stand for, and in which unit they are.

use crate::group::numbered;
use crate::model::{Measure, Model};
use crate::pool::PoolResult;
use crate::port::PortResult;

/// The kinds of elements that have results, in the order in which they are shown.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ElementKind {
    /// A processing element.
    Processor,
    /// A transfer device, or a network.
    Device,
    /// One end of a link of a network, where it sends; the port of a switch to a station.
    Port,
    /// Servers that are no processors.
    Pool,
    /// A modelled program.
    Module,
    /// What a `[measure.NAME]` asks for.
    Measure,
}

impl ElementKind {
    /// All, in order.
    pub const ALL: [ElementKind; 6] = [
        ElementKind::Processor,
        ElementKind::Device,
        ElementKind::Port,
        ElementKind::Pool,
        ElementKind::Module,
        ElementKind::Measure,
    ];

    /// Its word, as in model files.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            ElementKind::Processor => "processor",
            ElementKind::Device => "device",
            ElementKind::Port => "port",
            ElementKind::Pool => "pool",
            ElementKind::Module => "module",
            ElementKind::Measure => "measure",
        }
    }
}

/// A quantity, taken apart: `module.serve.waiting` is the `waiting` of the module `serve`, in seconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Subject<'a> {
    /// What kind of element it belongs to.
    pub kind: ElementKind,
    /// The element's name.
    pub element: &'a str,
    /// What of it; of a measure `rate`, `mean` or a quantile.
    pub what: &'a str,
    /// `s`, `B`, `B/s`, `1/s`, `share` (from 0 to 1), or what is counted.
    pub unit: &'static str,
}

impl<'a> Subject<'a> {
    /// Sorts as results are shown: by kind, then by name, the elements of a group by their numbers.
    #[must_use]
    pub fn order(&self) -> (ElementKind, &'a str, Option<u64>, &'a str) {
        let numbered = numbered(self.element);
        let (name, number) = numbered.map_or((self.element, None), |(group, number)| (group, Some(number)));
        (self.kind, name, number, self.what)
    }
}

impl Model {
    /// What a quantity of a result of this model stands for; none if the model can have no such quantity.
    #[must_use]
    pub fn subject<'a>(&self, quantity: &'a str) -> Option<Subject<'a>> {
        let (word, rest) = quantity.split_once('.')?;
        let kind = ElementKind::ALL.into_iter().find(|kind| kind.word() == word)?;
        if kind == ElementKind::Measure {
            return self.measured(rest);
        }
        let (element, what) = rest.rsplit_once('.')?;
        Some(Subject { kind, element, what, unit: unit(kind, what)? })
    }

    fn measured<'a>(&self, name: &'a str) -> Option<Subject<'a>> {
        let kind = ElementKind::Measure;
        match self.measure_named(name) {
            Some(Measure::Throughput { bytes, .. }) => {
                let unit = if bytes.is_some() { "B/s" } else { "1/s" };
                Some(Subject { kind, element: name, what: "rate", unit })
            }
            Some(_) => Some(Subject { kind, element: name, what: "mean", unit: "s" }),
            None => match name.rsplit_once('.') {
                Some((element, what @ ("median" | "p90" | "p99"))) => {
                    self.measure_named(element).map(|_| Subject { kind, element, what, unit: "s" })
                }
                Some((element, what @ ("count" | "late"))) => {
                    self.measure_named(element).map(|_| Subject { kind, element, what, unit: "requests" })
                }
                _ => None,
            },
        }
    }
}

fn unit(kind: ElementKind, what: &str) -> Option<&'static str> {
    match kind {
        ElementKind::Port => return PortResult::unit(what),
        ElementKind::Pool => return PoolResult::unit(what),
        _ => {}
    }
    Some(match (kind, what) {
        (ElementKind::Processor | ElementKind::Device, "utilisation")
        | (ElementKind::Device, "collision_share") => "share",
        (ElementKind::Device | ElementKind::Module, "waiting")
        | (ElementKind::Module, "response" | "interval") => "s",
        (ElementKind::Device, "bytes") => "B",
        (ElementKind::Device, "blocks") => "blocks",
        (ElementKind::Device, "collisions") => "collisions",
        (ElementKind::Module, "activations" | "queue") => "activations",
        (ElementKind::Processor, "lost")
        | (ElementKind::Device, "requested" | "delivered" | "dropped" | "blocked" | "queue") => "messages",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Module, Processor};

    fn model() -> Model {
        let of = || "step".to_owned();
        Model::new("subjects")
            .with("end", "1 s")
            .processor("a.b", Processor::new().instruction("work", "1 ms"))
            .module("step", Module::on("a.b").every("10 ms").execute("work"))
            .measure("steps", Measure::Throughput { of: of(), bytes: None })
            .measure("bytes", Measure::Throughput { of: of(), bytes: Some("8 B".into()) })
            .measure("gap", Measure::Interval { of: of() })
    }

    #[test]
    fn every_quantity_of_a_result_has_a_subject_and_a_unit() {
        let model = model();
        let result = model.run(1).unwrap_or_else(|error| panic!("{error}"));
        for name in result.quantities().keys() {
            assert!(model.subject(name).is_some(), "{name}");
        }
        let subject = |name| model.subject(name).map(|subject| (subject.element, subject.what, subject.unit));
        assert_eq!(subject("processor.a.b.utilisation"), Some(("a.b", "utilisation", "share")));
        assert_eq!(subject("measure.bytes"), Some(("bytes", "rate", "B/s")));
        assert_eq!(subject("measure.gap.p99"), Some(("gap", "p99", "s")));
        assert_eq!(subject("measure.steps"), Some(("steps", "rate", "1/s")));
        assert_eq!((subject("measure.none"), subject("module.step.colour")), (None, None));
    }
}
