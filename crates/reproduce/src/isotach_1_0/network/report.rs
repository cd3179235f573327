//! What was found on a network, as text and objects.

use super::super::measure::micros;
use super::{Load, Network, Outcome};
use core::fmt;
use serde_json::{Value, json};
use std::collections::BTreeSet;

impl Network {
    /// One object a way and distance, one a way, and one that says what was simulated.
    #[must_use]
    pub fn objects(&self) -> Vec<Value> {
        let mut objects: Vec<Value> = self.outcomes.iter().flat_map(|one| one.objects(self)).collect();
        let (least, most) = self.distances.unzip();
        objects.push(json!({
            "nodes": self.nodes, "switches": self.switches, "smallest_distance": least, "largest_distance": most,
            "senders": self.load.senders.unwrap_or(self.nodes), "receivers": self.load.receivers,
            "isochrons_each": self.load.isochrons, "data_bytes": self.load.data, "seed": self.load.seed,
            "wire_us": micros(self.wires.shortest.0), "wire_longest_us": micros(self.wires.longest.0),
            "lost_per_million": self.wires.loss_per_million.unwrap_or(0),
        }));
        objects
    }

    /// Wires between switches.
    fn wires_between(&self) -> usize {
        self.switches - 1
    }

    fn line(&self, f: &mut fmt::Formatter<'_>, name: &str, of: impl Fn(&Outcome) -> String) -> fmt::Result {
        write!(f, "  {name:24}")?;
        self.outcomes.iter().try_for_each(|one| write!(f, " {:>26}", of(one)))?;
        writeln!(f)
    }

    fn row(
        &self,
        f: &mut fmt::Formatter<'_>,
        name: &str,
        of: impl Fn(&Outcome) -> Option<(f64, f64)>,
    ) -> fmt::Result {
        write!(f, "  {name:24}")?;
        for one in &self.outcomes {
            match of(one) {
                Some((median, p99)) => write!(f, " {median:>15.1} {p99:>10.1}")?,
                None => write!(f, " {:>26}", "")?,
            }
        }
        writeln!(f)
    }
}

impl Outcome {
    fn isochrons_a_second(&self) -> f64 {
        self.all.count as f64 / self.seconds
    }

    fn tokens_a_second(&self) -> f64 {
        self.tokens as f64 / self.seconds
    }

    /// Tokens a second that pass each wire between switches one way.
    fn tokens_a_wire(&self, network: &Network) -> f64 {
        self.tokens_a_second() / (2 * network.wires_between()).max(1) as f64
    }

    fn objects(&self, network: &Network) -> Vec<Value> {
        let way = self.way.name();
        let mut objects: Vec<Value> = self
            .by_distance
            .iter()
            .map(|(distance, found)| {
                json!({"way": way, "distance": distance, "isochrons": found.count, "median_us": found.median, "p99_us": found.p99})
            })
            .collect();
        objects.push(json!({
            "way": way, "isochrons": self.all.count, "median_us": self.all.median, "p99_us": self.all.p99,
            "messages": self.messages, "isochrons_a_second": self.isochrons_a_second(), "tokens": self.tokens,
            "tokens_a_second": self.tokens_a_second(), "tokens_a_second_and_wire": self.tokens_a_wire(network),
            "seconds": self.seconds,
        }));
        objects
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Load { senders, receivers, isochrons, data, .. } = self.load;
        write!(f, "{}, {}", counted(self.nodes, "node", "s"), counted(self.switches, "switch", "es"))?;
        match self.distances {
            Some((least, most)) if least < most => writeln!(f, ", logical distances {least} to {most}")?,
            Some((distance, _)) => writeln!(f, ", logical distance {distance}")?,
            None => writeln!(f)?,
        }
        writeln!(
            f,
            "{} send{} {} each to {}, {data} bytes to each",
            counted(senders.unwrap_or(self.nodes), "node", "s"),
            if senders.unwrap_or(self.nodes) == 1 { "s" } else { "" },
            counted(isochrons as usize, "isochron", "s"),
            counted(receivers, "other", "s"),
        )?;
        write!(f, "\n  {:24}", "us, to the last receiver")?;
        self.outcomes.iter().try_for_each(|one| write!(f, " {:>26}", one.way.name()))?;
        write!(f, "\n  {:24}", "distance")?;
        self.outcomes.iter().try_for_each(|_| write!(f, " {:>15} {:>10}", "median", "99 of 100"))?;
        writeln!(f)?;
        let places: BTreeSet<u32> =
            self.outcomes.iter().flat_map(|one| one.by_distance.keys().copied()).collect();
        for distance in places {
            let of = |one: &Outcome| one.by_distance.get(&distance).cloned();
            self.row(f, &distance.to_string(), |one| of(one).map(|found| (found.median, found.p99)))?;
        }
        self.row(f, "all", |one| Some((one.all.median, one.all.p99)))?;
        writeln!(f)?;
        self.line(f, "messages", |one| one.messages.to_string())?;
        self.line(f, "isochrons a second", |one| rate(one.isochrons_a_second()))?;
        self.line(f, "tokens an isochron", |one| {
            format!("{:.2}", one.tokens as f64 / one.all.count.max(1) as f64)
        })?;
        self.line(f, "tokens a second", |one| rate(one.tokens_a_second()))?;
        self.line(f, "of them a wire, one way", |one| rate(one.tokens_a_wire(self)))
    }
}

/// Something a second: whole, where it is much.
fn rate(each_second: f64) -> String {
    if each_second < 100.0 { format!("{each_second:.2}") } else { format!("{each_second:.0}") }
}

fn counted(count: usize, what: &str, ending: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { ending })
}
