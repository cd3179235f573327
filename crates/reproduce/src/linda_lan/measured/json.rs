//! For a program: an object a line.

use super::super::sample::Subject;
use super::{Figure, Measured, Packets, Quartiles};
use serde_json::{Value, json};

impl Measured {
    /// An object for each run, one for each figure, and one that sums up.
    #[must_use]
    pub fn objects(&self) -> Vec<Value> {
        let runs = self.samples.iter().map(|sample| {
            let mut object = json!({
                "run": sample.subject.to_string(), "machines": sample.machines, "packets": sample.packets.count(), "turn": sample.turn,
                "seconds": sample.seconds, "operations": sample.operations, "usage": sample.usage.as_json(),
            });
            match sample.subject {
                Subject::Jmatrix { dimension, workers } => {
                    object["dimension"] = json!(dimension);
                    object["workers"] = json!(workers);
                }
                Subject::Jblock { blocks, step } => {
                    object["blocks"] = json!(blocks);
                    object["step"] = json!(step);
                }
            }
            object
        });
        let figures = self.figures();
        let sum = json!({
            "study": "linda-lan", "way": "live", "runs": self.samples.len(), "figures": figures.len(), "processors": self.place.processors, "one_processor": self.place.is_one_each,
            "load_before": self.place.load_before, "load_after": self.place.load_after, "no_second": self.place.no_second,
            "explanation": self.explanation(),
        });
        runs.chain(figures.iter().map(figure)).chain([sum]).collect()
    }
}

fn figure(figure: &Figure) -> Value {
    let curve = |packets: Packets| {
        let found = figure.curves.iter().find(|curve| curve.packets == packets)?;
        let point = |(at, times): &(f64, Quartiles)| json!({"at": at, "median_s": times.median, "low_s": times.low, "high_s": times.high});
        let line = found.line.map(|line| {
            json!({"intercept_s": line.intercept, "slope_s": line.slope, "determination": line.determination})
        });
        Some(json!({"points": found.points.iter().map(point).collect::<Vec<Value>>(), "line": line}))
    };
    let ours = &figure.decrease_percent;
    json!({
        "figure": figure.published.figure, "program": figure.published.program, "machines": figure.published.machines,
        "across": figure.published.across.name(), "published_percent": figure.published.decrease_percent,
        "percent": ours.median, "percent_low": ours.low, "percent_high": ours.high, "turns": figure.turns, "processor_percent": figure.processor_percent.median,
        "processor_low": figure.processor_percent.low, "processor_high": figure.processor_percent.high,
        "one": curve(Packets::One), "two": curve(Packets::Two),
    })
}
