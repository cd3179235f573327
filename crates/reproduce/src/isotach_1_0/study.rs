//! Every figure and cell of the study.

use super::figure::Figure;
use super::measure::{Background, Contention, Length, Stream};
use super::measure::{contention, remote_read, round_trip, stream, watched};
use super::program::Way;
use super::published::{Measured, Published, all, value};
use super::send::Sends;
use super::{beyond, cells};
use crate::report::Report;
use quintet_contract::Span;
use std::collections::BTreeMap;

/// Bytes of the packets for which most is printed.
pub(super) const PRINTED: [usize; 2] = [64, 1024];
const PACKETS: [usize; 6] = [64, 128, 256, 512, 768, 1024];
const PACKETS_QUICK: [usize; 3] = [64, 256, 1024];
/// Messages of an isochron.
const SIZES: [usize; 5] = [1, 2, 4, 8, 16];

/// All of it.
#[derive(Clone, PartialEq, Debug)]
pub struct Simulated {
    /// What is printed, cell by cell.
    pub report: Report,
    /// The study's figures, then those beyond it.
    pub figures: Vec<Figure>,
    /// What was found, as sentences.
    pub findings: Vec<String>,
    /// What is printed, or was asked, and cannot be said, and why.
    pub unsaid: Vec<String>,
}

/// What the figures and cells are made of, each simulated once.
pub(super) struct Runs {
    packets: Vec<usize>,
    round_trips: BTreeMap<(Way, u16, usize), f64>,
    streams: BTreeMap<(Way, u16, usize, usize), Stream>,
    contentions: BTreeMap<(Way, usize), Contention>,
    backgrounds: BTreeMap<(&'static str, usize), [f64; 3]>,
    pub(super) reads: BTreeMap<Way, f64>,
    pub(super) sends: Sends,
}

impl Runs {
    fn new(is_quick: bool) -> Runs {
        let packets = if is_quick { PACKETS_QUICK.to_vec() } else { PACKETS.to_vec() };
        let length = match is_quick {
            true => Length { messages: 320, span: Span::from_millis(40) },
            false => Length { messages: 3_200, span: Span::from_millis(400) },
        };
        let (mut round_trips, mut streams) = (BTreeMap::new(), BTreeMap::new());
        let (mut contentions, mut backgrounds) = (BTreeMap::new(), BTreeMap::new());
        for packet in packets.iter().copied() {
            for way in Way::ALL {
                for switches in [1, 2] {
                    round_trips.insert((way, switches, packet), round_trip(switches, way, packet));
                    let found = stream(switches, way, packet, 1, length);
                    streams.insert((way, switches, packet, 1), found);
                }
                contentions.insert((way, packet), contention(way, packet, length));
            }
            for background in Background::ALL {
                backgrounds.insert((background.name(), packet), watched(background, packet, length));
            }
        }
        for packet in PRINTED {
            for way in Way::ALL {
                let longer = SIZES.into_iter().filter(|size| *size > 1);
                streams.extend(
                    longer.map(|size| ((way, 1, packet, size), stream(1, way, packet, size, length))),
                );
            }
        }
        let reads = Way::ISOCHRONS.map(|way| (way, remote_read(way))).into();
        let sends = Sends::run(&packets, length);
        Runs { packets, round_trips, streams, contentions, backgrounds, reads, sends }
    }

    pub(super) fn round_trip(&self, way: Way, switches: u16, packet: usize) -> f64 {
        self.round_trips[&(way, switches, packet)]
    }

    pub(super) fn stream(&self, way: Way, packet: usize, size: usize) -> Stream {
        self.streams[&(way, 1, packet, size)]
    }

    pub(super) fn contention(&self, way: Way, packet: usize) -> Contention {
        self.contentions[&(way, packet)]
    }

    /// By how many percent less data fast messages carry while tokens pass.
    pub(super) fn loss(&self, background: Background, packet: usize) -> f64 {
        let rate = |background: Background| self.backgrounds[&(background.name(), packet)][1];
        100.0 * (1.0 - rate(background) / rate(Background::Rest))
    }

    /// Microseconds between two tokens of a switch while two others send isochrons.
    pub(super) fn interval(&self, packet: usize) -> f64 {
        self.backgrounds[&(Background::Tokens.name(), packet)][2]
    }

    /// The packets that were simulated.
    pub(super) fn packets(&self) -> &[usize] {
        &self.packets
    }

    fn by_switches(&self, figure: Figure, of: impl Fn(Way, u16, usize) -> f64) -> Figure {
        let all = Way::ALL.into_iter().flat_map(|way| [1, 2].map(|switches| (way, switches)));
        all.fold(figure, |figure, (way, switches)| {
            let name = format!("{}, {switches} switch{}", way.name(), if switches == 1 { "" } else { "es" });
            figure.simulated(name, &self.packets, |packet| of(way, switches, packet))
        })
    }

    fn by_way(&self, figure: Figure, places: &[usize], of: impl Fn(Way, usize) -> f64) -> Figure {
        let with = |figure: Figure, way: Way| figure.simulated(way.name(), places, |place| of(way, place));
        Way::ALL.into_iter().fold(figure, with)
    }

    fn by_background(&self, figure: Figure, index: usize) -> Figure {
        let with = |figure: Figure, background: Background| {
            let of = |packet| self.backgrounds[&(background.name(), packet)][index];
            figure.simulated(background.name(), &self.packets, of)
        };
        Background::ALL.into_iter().fold(figure, with)
    }

    fn by_size(&self, figure: Figure, packet: usize) -> Figure {
        let printed = [("throughput_isochron_1", 1), ("throughput_isochron_4", 4)];
        let printed = printed.map(|(quantity, size)| (size, value(quantity, packet, Measured::Isotach)));
        self.by_way(figure, &SIZES, |way, size| self.stream(way, packet, size).mbps)
            .printed("Isotach 1.0, printed", &printed)
    }

    fn figures(&self) -> Vec<Figure> {
        let (bytes, us, mbps) = ("bytes of a packet", "us", "Mb/s of data");
        let printed = |quantity: &str, of| PRINTED.map(|packet| (packet, value(quantity, packet, of)));
        let isotach = "Isotach 1.0, printed";
        let fm = "FM 1.1, printed";
        let round_trips = Figure::study("5.3", "round trips, 1 and 2 switches", bytes, us);
        let rates = Figure::study("5.4", "streams, 1 and 2 switches", bytes, mbps);
        let costs = Figure::study("5.7", "cost of a send", bytes, "us of the sender");
        let received = Figure::study("5.8", "receiver with 4 senders", bytes, mbps);
        let turns = Figure::study("5.9", "round trips under contention", bytes, us);
        let size = "messages of an isochron";
        let [frames, bytes_sent] = self.sends.figures(&self.packets);
        vec![
            self.by_switches(round_trips, |way, switches, packet| self.round_trip(way, switches, packet))
                .printed("Isotach 1.0, 1 switch, printed", &printed("round_trip_1_switch", Measured::Isotach))
                .printed("FM 1.1, 1 switch, printed", &printed("round_trip_1_switch", Measured::Fm)),
            self.by_switches(rates, |way, switches, packet| self.streams[&(way, switches, packet, 1)].mbps)
                .printed(
                    "Isotach 1.0, 1 switch, printed",
                    &printed("throughput_isochron_1", Measured::Isotach),
                )
                .printed(
                    "FM 1.1, bound by its send, printed",
                    &printed("send_bound_bandwidth", Measured::Fm),
                ),
            self.sends
                .costs(
                    self.by_way(costs, &self.packets, |way, packet| self.stream(way, packet, 1).send_us),
                    &self.packets,
                )
                .printed(isotach, &printed("send_cost", Measured::Isotach))
                .printed(
                    "Isotach 1.0 without markers, printed",
                    &printed("send_cost_without_markers", Measured::Isotach),
                )
                .printed(
                    "and without a copy, printed",
                    &printed("send_cost_without_markers_and_copy", Measured::Isotach),
                )
                .printed(fm, &printed("send_cost", Measured::Fm)),
            frames,
            bytes_sent,
            self.by_way(received, &self.packets, |way, packet| self.contention(way, packet).mbps)
                .printed(isotach, &printed("receiver_under_contention", Measured::Isotach)),
            self.by_way(turns, &self.packets, |way, packet| self.contention(way, packet).round_trip_us),
            self.by_size(Figure::study("5.10", "isochrons of 64 byte packets", size, mbps), 64),
            self.by_size(Figure::study("5.11", "isochrons of 1024 byte packets", size, mbps), 1024),
            self.by_background(
                Figure::study("5.12", "round trips of fast messages beside tokens", bytes, us),
                0,
            ),
            self.by_background(Figure::study("5.13", "fast messages beside tokens", bytes, mbps), 1),
        ]
    }
}

impl Simulated {
    /// Simulates everything: `is_quick` with fewer packets and fewer nodes, in some seconds. What is random beyond the study (links that vary or lose)
    /// is a mean over so many seeds.
    #[must_use]
    pub fn run(is_quick: bool, seeds: u64) -> Simulated {
        let runs = Runs::new(is_quick);
        let beyond = beyond::run(is_quick, seeds.max(1));
        let mut report = Report::new("isotach-1.0", seeds.max(1));
        report.cells = all().iter().map(|published: &Published| cells::cell(published, &runs)).collect();
        let mut findings = cells::findings(&runs);
        findings.extend(beyond.findings);
        let mut figures = runs.figures();
        figures.extend(beyond.figures);
        report.digest = digest(&figures, &runs);
        let unsaid = cells::UNSAID.map(str::to_owned).to_vec();
        Simulated { report, figures, findings, unsaid }
    }

    /// A figure by its number.
    #[must_use]
    pub fn figure(&self, number: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.number == number)
    }
}

/// Sums up what was simulated.
fn digest(figures: &[Figure], runs: &Runs) -> u64 {
    let drawn = figures.iter().flat_map(|figure| &figure.lines).flat_map(|line| &line.points);
    let values = drawn.map(|(_, value)| *value).chain(runs.reads.values().copied());
    let mix =
        |sum: u64, value: f64| (sum.rotate_left(5) ^ value.to_bits()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    values.fold(0, mix)
}
