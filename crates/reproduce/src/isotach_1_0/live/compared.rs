//! Each printed value, and what was measured for it.

use super::super::Way;
use super::super::published::{Measured, Published, all, value};
use super::super::study::PRINTED;
use super::{Experiment, Live, Others, Run};
use crate::linda_lan::Quartiles;

const ROUND_TRIP: &str = "a processor of today, but who waits may have to be woken by the system: there each program polled a network interface on a machine of its own";
const TO_PLAIN: &str = "the token manager is in the node of one of the two, so that an isochron crosses no more links than a plain message; there it was a network interface that both asked";
const READ: &str = "a call that waits, so that the system wakes its thread as well; there the program polled";
const STREAM: &str =
    "memory of today in place of a bus of 1999; all that send and receive share this machine's processors";
const SHARE: &str = "an isochron's announcement and answers are work of the processors that send and receive; there tokens were answered by the network interfaces";
const SEND: &str = "the call only hands the message over in memory, and the rest is done outside it; there it wrote the message to the network interface over a bus";
const SIZE: &str = "an isochron is one frame to a receiver here, and a packet a message there";
const CONTENTION: &str = "four senders and a receiver, which keeps the pulse as well, share this machine's processors; there each had its own, and the link was what was short";
const TOKENS: &str = "no token asks anything of the two that are measured, which have a processor to themselves; there each host's network interface answered tokens";

/// What is printed and has no counterpart here.
pub(super) const UNSAID: [&str; 4] = [
    "A second switch, and a network: all members are on this machine, behind one token manager.",
    "Sends without a copy of the data (5.7): no way to send does without one here.",
    "The time between tokens: none pass here unless there is an isochron to order.",
    "CAST and calls of polls (5.1, 5.2, 5.5, 5.6): of these no number is printed but what CAST adds.",
];

/// A printed value, and ours.
#[derive(Clone, PartialEq, Debug)]
pub struct Compared {
    /// The study's figure.
    pub figure: &'static str,
    /// What it is of, in words.
    pub name: String,
    /// Of both values.
    pub unit: &'static str,
    /// What is printed.
    pub published: f64,
    /// Measured here, over shared memory.
    pub ours: Quartiles,
    /// Why they differ.
    pub because: &'static str,
}

/// How a value is made of runs.
struct Known {
    figure: &'static str,
    name: &'static str,
    unit: &'static str,
    ours: Vec<f64>,
    because: &'static str,
}

impl Live {
    /// What is printed and was measured here, in the order of the study's table.
    #[must_use]
    pub fn compared(&self) -> Vec<Compared> {
        all().iter().filter_map(|published| self.compare(published)).collect()
    }

    fn compare(&self, published: &Published) -> Option<Compared> {
        let (way, whose) = match published.of {
            Measured::Isotach => (Way::Safe, "isochrons (Isotach 1.0)"),
            Measured::Fm => (Way::Plain, "plain messages (FM 1.1)"),
        };
        let Known { figure, name, unit, ours, because } = self.known(published, way)?;
        let name = format!("{whose}: {name}, {} bytes", published.packet);
        Some(Compared { figure, name, unit, published: published.value, ours: Quartiles::of(ours), because })
    }

    /// What was measured for a printed value; none where there is nothing.
    fn known(&self, published: &Published, way: Way) -> Option<Known> {
        let packet = published.packet;
        let run = |experiment| Run::of(experiment, packet, way);
        let values = |run: Run| self.values(&run).to_vec();
        let of_size = |size| values(Run { size, ..run(Experiment::Stream) });
        let known = |figure, name, unit, ours, because| Some(Known { figure, name, unit, ours, because });
        let of_packet = if packet == PRINTED[0] { "5.10" } else { "5.11" };
        match published.quantity {
            "round_trip_1_switch" => {
                known("5.3", "round trip", "us", values(run(Experiment::RoundTrip)), ROUND_TRIP)
            }
            "latency_ratio_to_fm" => {
                let ours = self.to_plain(&run(Experiment::RoundTrip));
                known("5.3", "round trip, to plain", "times", ours, TO_PLAIN)
            }
            "bandwidth_fraction_of_fm" => {
                let ours = percent(self.to_plain(&run(Experiment::Stream)));
                known("5.4", "stream, of plain", "%", ours, SHARE)
            }
            "throughput_1_switch" => known("5.4", "stream", "Mb/s", of_size(1), STREAM),
            "send_cost" => known("5.7", "send", "us", values(run(Experiment::Send)), SEND),
            "send_bound_bandwidth" => {
                let bits = run(Experiment::Send).data() as f64 * 8.0;
                let ours = values(run(Experiment::Send)).iter().map(|micros| bits / micros).collect();
                known("5.7", "bound by the send", "Mb/s", ours, SEND)
            }
            "receiver_under_contention" => {
                known("5.8", "receiver, 4 senders", "Mb/s", values(run(Experiment::Contention)), CONTENTION)
            }
            "throughput_isochron_1" => known(of_packet, "isochrons of 1", "Mb/s", of_size(1), STREAM),
            "throughput_isochron_4" => known(of_packet, "isochrons of 4", "Mb/s", of_size(4), SIZE),
            "fm_bandwidth_loss_from_tokens" => {
                let ours = self.loss(packet, Others::Isochrons);
                known("5.13", "loss beside tokens", "%", ours, TOKENS)
            }
            "shared_memory_remote_read" => {
                known("5.2.2", "read of another's variable", "us", values(run(Experiment::Read)), READ)
            }
            _ => None,
        }
    }

    /// By how many percent plain messages carry less while others do that.
    fn loss(&self, packet: usize, others: Others) -> Vec<f64> {
        let of = |others| Run::of(Experiment::Beside(others), packet, Way::Plain);
        let left = percent(self.ratios(&of(others), &of(Others::Rest)));
        left.into_iter().map(|percent| 100.0 - percent).collect()
    }

    /// What they carry then, in percent of what they do while others are at rest.
    fn left(&self, packet: usize, others: Others) -> f64 {
        100.0 - Quartiles::of(self.loss(packet, others)).median
    }

    /// What was found, as sentences.
    #[must_use]
    pub fn findings(&self) -> Vec<String> {
        let [small, large] = PRINTED;
        let to_plain =
            |experiment, packet| Quartiles::of(self.to_plain(&Run::of(experiment, packet, Way::Safe))).median;
        let times = |packet| to_plain(Experiment::RoundTrip, packet);
        let share = |packet| 100.0 * to_plain(Experiment::Stream, packet);
        let of = |quantity, packet, of| value(quantity, packet, of).unwrap_or(f64::NAN);
        let printed = |quantity, packet| of(quantity, packet, Measured::Isotach);
        let printed_left = |packet| 100.0 - of("fm_bandwidth_loss_from_tokens", packet, Measured::Fm);
        let (time, part) = ("latency_ratio_to_fm", "bandwidth_fraction_of_fm");
        let is_met = |is_met: bool| if is_met { "met" } else { "missed" };
        vec![
            format!(
                "Round trips of isochrons take {:.2} times as long as plain ones with {small} bytes and {:.2} with {large}; printed are {} and {}. The goal of 2 is {} and {}.",
                times(small),
                times(large),
                printed(time, small),
                printed(time, large),
                is_met(times(small) <= 2.0),
                is_met(times(large) <= 2.0)
            ),
            format!(
                "Streams of isochrons carry {:.0}% of the data of plain ones with {small} bytes and {:.0}% with {large}; printed are {}% and {}%. The goal of 50% is {} and {}.",
                share(small),
                share(large),
                printed(part, small),
                printed(part, large),
                is_met(share(small) >= 50.0),
                is_met(share(large) >= 50.0)
            ),
            format!(
                "While others send isochrons plain messages carry {:.0}% with {small} bytes and {:.0}% with {large} of what they do beside others at rest (printed are {}% and {}%), and {:.0}% and {:.0}% while these send plain messages instead, without any token.",
                self.left(small, Others::Isochrons),
                self.left(large, Others::Isochrons),
                printed_left(small),
                printed_left(large),
                self.left(small, Others::Plain),
                self.left(large, Others::Plain)
            ),
        ]
    }
}

fn percent(shares: Vec<f64>) -> Vec<f64> {
    shares.into_iter().map(|share| 100.0 * share).collect()
}
