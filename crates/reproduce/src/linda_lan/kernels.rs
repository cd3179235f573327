//! Kernels against direct connections, measured: the paper's open question, with our kernels; and through kernels one packet against two, which is what the paper's
//! own system did.

use super::measured::Place;
use super::{Drawing, DrawnLine, Packets, Quartiles, Usage};
use crate::page;
use core::fmt;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write;

/// How processes ask the manager.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Way {
    /// Each over a connection of its own.
    Direct,
    /// Through the kernel of their machine, over a connection of the same kind.
    Kernels,
}

impl Way {
    /// Both, in the order of a turn.
    pub const BOTH: [Way; 2] = [Way::Direct, Way::Kernels];

    fn name(self) -> &'static str {
        match self {
            Way::Direct => "direct",
            Way::Kernels => "kernels",
        }
    }
}

/// The runs of a turn, in their order: both ways with one packet a message, and through kernels with two.
pub const KERNEL_RUNS: [(Way, Packets); 3] =
    [(Way::Direct, Packets::One), (Way::Kernels, Packets::One), (Way::Kernels, Packets::Two)];

/// One run of jmatrix.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct KernelSample {
    /// How its processes asked.
    pub way: Way,
    /// How each message went.
    pub packets: Packets,
    /// On how many machines.
    pub machines: u8,
    /// Processes that multiply.
    pub processes: u32,
    /// Which turn it was of, from 0.
    pub turn: u32,
    /// What its own timer measured.
    pub seconds: f64,
    /// Operations on the space meanwhile, those of all processes.
    pub operations: u64,
    /// What all processes used meanwhile, with the manager and the kernels.
    pub usage: Usage,
    /// What the manager used of that.
    pub manager: Usage,
}

/// All runs, and where they were made.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct KernelStudy {
    /// In the order in which they were made.
    pub samples: Vec<KernelSample>,
    /// Where.
    pub place: Place,
}

/// What is compared at one number of processes, within each turn: kernels by direct, one packet by two.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct KernelRow {
    /// On how many machines.
    pub machines: u8,
    /// Processes that multiply.
    pub processes: u32,
    /// Seconds: direct, with kernels.
    pub seconds: [Quartiles; 2],
    /// Time with kernels by time without.
    pub time: Quartiles,
    /// The same of the time on processors, of all processes together.
    pub processor: Quartiles,
    /// The same of the manager alone.
    pub manager: Quartiles,
    /// Through kernels, the time with one packet a message by that with two.
    pub packet: Quartiles,
    /// The same of the time on processors.
    pub packet_processor: Quartiles,
}

impl KernelStudy {
    /// One row for each number of processes on each number of machines.
    #[must_use]
    pub fn rows(&self) -> Vec<KernelRow> {
        let places: BTreeSet<(u8, u32)> =
            self.samples.iter().map(|sample| (sample.machines, sample.processes)).collect();
        places.into_iter().map(|(machines, processes)| self.row(machines, processes)).collect()
    }

    fn row(&self, machines: u8, processes: u32) -> KernelRow {
        let of = |(way, packets): (Way, Packets)| {
            let is_meant = move |sample: &&KernelSample| {
                let one = (sample.machines, sample.processes, sample.way, sample.packets);
                one == (machines, processes, way, packets)
            };
            self.samples.iter().filter(is_meant)
        };
        let by = |[one, other]: [(Way, Packets); 2], value: fn(&KernelSample) -> f64| {
            let pairs = of(one).filter_map(|one| {
                let other = of(other).find(|other| other.turn == one.turn)?;
                Some(value(one) / value(other).max(f64::MIN_POSITIVE))
            });
            Quartiles::of(pairs)
        };
        let [direct, kernels, in_two] = KERNEL_RUNS;
        let (ways, packets) = ([kernels, direct], [kernels, in_two]);
        KernelRow {
            machines,
            processes,
            seconds: [direct, kernels].map(|run| Quartiles::of(of(run).map(|sample| sample.seconds))),
            time: by(ways, |sample| sample.seconds),
            processor: by(ways, |sample| sample.usage.processor_ns as f64),
            manager: by(ways, |sample| sample.manager.processor_ns as f64),
            packet: by(packets, |sample| sample.seconds),
            packet_processor: by(packets, |sample| sample.usage.processor_ns as f64),
        }
    }

    /// From how many processes on kernels take less time on so many machines: the upper quartile of their ratio is below 1 there and with every larger number that was
    /// run. None: never.
    #[must_use]
    pub fn crossing(&self, machines: u8) -> Option<u32> {
        let rows = self.rows().into_iter().filter(|row| row.machines == machines);
        let mut from = None;
        for row in rows {
            from = if row.time.high < 1.0 { from.or(Some(row.processes)) } else { None };
        }
        from
    }

    /// What was found, as sentences.
    #[must_use]
    pub fn findings(&self) -> Vec<String> {
        let machines: BTreeSet<u8> = self.samples.iter().map(|sample| sample.machines).collect();
        let sentence = |machines: u8| {
            let place = super::explanation::machines_in_words(machines);
            match self.crossing(machines) {
                Some(processes) => format!("On {place} kernels are faster from {processes} processes on."),
                None => {
                    format!("On {place} there is no number of processes from which on kernels are faster.")
                }
            }
        };
        machines.into_iter().map(sentence).collect()
    }

    /// An object a run, one a row, and one with the findings.
    #[must_use]
    pub fn objects(&self) -> Vec<Value> {
        let run = |sample: &KernelSample| {
            json!({
                "study": "linda-lan", "run": "kernels", "way": sample.way.name(), "packets": sample.packets.count(), "machines": sample.machines,
                "processes": sample.processes, "turn": sample.turn, "seconds": sample.seconds, "operations": sample.operations, "usage": sample.usage.as_json(),
                "manager": sample.manager.as_json(),
            })
        };
        let three = |of: Quartiles| json!([of.low, of.median, of.high]);
        let row = |row: &KernelRow| {
            let [direct, kernels] = row.seconds.map(three);
            json!({
                "machines": row.machines, "processes": row.processes, "direct_s": direct, "kernels_s": kernels, "time": three(row.time),
                "processor": three(row.processor), "manager_processor": three(row.manager), "one_packet": three(row.packet),
                "one_packet_processor": three(row.packet_processor),
            })
        };
        let last = json!({
            "findings": self.findings(), "processors": self.place.processors, "one_processor": self.place.is_one_each, "load_before": self.place.load_before,
            "load_after": self.place.load_after, "no_second": self.place.no_second,
        });
        self.samples.iter().map(run).chain(self.rows().iter().map(row)).chain([last]).collect()
    }

    /// The whole page; `draw` makes lines an SVG element.
    #[must_use]
    pub fn html(&self, draw: Drawing<'_>) -> String {
        let mut all = page::head("Kernels against direct connections");
        all.push_str("<h1>linda-lan: kernels against direct connections</h1>\n");
        let _ = writeln!(all, "<pre>{}</pre>", page::escape(&self.to_string()));
        for machines in [1, 2] {
            let rows: Vec<_> = self.rows().into_iter().filter(|row| row.machines == machines).collect();
            if rows.is_empty() {
                continue;
            }
            let line = |(at, way): (usize, Way)| -> DrawnLine {
                let point = |row: &KernelRow| {
                    (f64::from(row.processes), row.seconds[at].median, row.seconds[at].half_width())
                };
                (way.name().to_owned(), rows.iter().map(point).collect())
            };
            let lines: Vec<_> = Way::BOTH.into_iter().enumerate().map(line).collect();
            let title = format!("jmatrix, {}", super::explanation::machines_in_words(machines));
            all.push_str(&draw(&title, "processes that multiply", "seconds", &lines));
        }
        all + page::END
    }
}

impl fmt::Display for KernelStudy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = &self.place;
        writeln!(
            f,
            "linda-lan: jmatrix through kernels and by direct connections; medians, quartiles in parentheses"
        )?;
        writeln!(
            f,
            "{} processors{}, load {:.1} before and {:.1} after\n",
            place.processors,
            if place.is_one_each { ", one for each machine" } else { "" },
            place.load_before,
            place.load_after
        )?;
        place.no_second.iter().try_for_each(|why| writeln!(f, "not on two machines: {why}\n"))?;
        writeln!(
            f,
            "  machines processes           direct [s]          kernels [s]          kernels by direct    processors' time   the manager's"
        )?;
        for row in self.rows() {
            let [direct, kernels] = row.seconds.map(spread);
            let [time, processor, manager] = [row.time, row.processor, row.manager].map(spread);
            let KernelRow { machines, processes, .. } = row;
            writeln!(
                f,
                "  {machines:>8} {processes:>9} {direct:>20} {kernels:>20} {time:>26} {processor:>19} {manager}"
            )?;
        }
        self.write_packets(f)?;
        writeln!(f)?;
        self.findings().iter().try_for_each(|sentence| writeln!(f, "{sentence}"))
    }
}

impl KernelStudy {
    /// What one packet takes instead of two, as a table of its own.
    fn write_packets(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n  through kernels, one packet a message by two:")?;
        writeln!(f, "  machines processes                 time      processors' time")?;
        for KernelRow { machines, processes, packet, packet_processor, .. } in self.rows() {
            let [time, processor] = [packet, packet_processor].map(spread);
            writeln!(f, "  {machines:>8} {processes:>9} {time:>20} {processor:>21}")?;
        }
        Ok(())
    }
}

fn spread(of: Quartiles) -> String {
    format!("{:.3} ({:.3} to {:.3})", of.median, of.low, of.high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn study(ratios: &[(u32, f64)]) -> KernelStudy {
        let run = |(way, packets), processes, turn, seconds| {
            let usage = Usage { processor_ns: (seconds * 1e9) as u64, ..Usage::default() };
            let (machines, operations, manager) = (1, 10, usage);
            KernelSample { way, packets, machines, processes, turn, seconds, operations, usage, manager }
        };
        let pair = |(processes, ratio): &(u32, f64)| {
            (0..4)
                .flat_map(|turn| {
                    let seconds = 1.0 + f64::from(turn);
                    let [direct, kernels, in_two] = KERNEL_RUNS;
                    [
                        run(direct, *processes, turn, seconds),
                        run(kernels, *processes, turn, seconds * ratio),
                        run(in_two, *processes, turn, seconds * ratio * 2.0),
                    ]
                })
                .collect::<Vec<_>>()
        };
        KernelStudy { samples: ratios.iter().flat_map(pair).collect(), place: Place::default() }
    }

    #[test]
    fn runs_are_compared_within_their_turn() {
        let rows = study(&[(4, 1.5)]).rows();
        assert_eq!((rows.len(), rows[0].processes), (1, 4));
        let [direct, kernels] = rows[0].seconds;
        assert_eq!((direct.median, kernels.median), (2.5, 3.75));
        assert!((rows[0].time.low - 1.5).abs() < 1e-9 && (rows[0].manager.high - 1.5).abs() < 1e-6);
        assert!((rows[0].packet.median - 0.5).abs() < 1e-9, "{rows:?}");
    }

    #[test]
    fn a_crossing_is_where_kernels_are_faster_from_then_on() {
        assert_eq!(study(&[(1, 2.0), (8, 0.9), (16, 0.8)]).crossing(1), Some(8));
        assert_eq!(study(&[(1, 0.5), (8, 1.1), (16, 0.8)]).crossing(1), Some(16));
        assert_eq!(study(&[(1, 0.5), (8, 1.1)]).crossing(1), None);
        let text = study(&[(1, 2.0), (8, 0.9)]).to_string();
        assert!(text.contains("from 8 processes on"), "{text}");
    }
}
