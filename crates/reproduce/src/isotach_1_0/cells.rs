//! What is printed, value by value, with what the simulation has for it.

use super::measure::Background;
use super::program::Way;
use super::published::{Measured, Published, value};
use super::study::{PRINTED, Runs};
use crate::cell::{Cell, Column, Role};

/// Where a quantity is printed, what it is, and what the simulation has for it.
struct Known {
    table: &'static str,
    row: &'static str,
    column: Column,
    ours: Result<f64, &'static str>,
    miss: Option<&'static str>,
}

const NO_MARKERS: &str = "a sender without a local part is told no markers here, so there is nothing to leave out; parameters come from it";
const NO_TOKENS: &str = "no token passes here without an isochron to order, and none at all with one switch";
const DERIVED: &str =
    "FM's round trip is derived from it and was fitted to: it would say what the round trip says";
const CAST: &str = "what another program adds to the measurement, no property of the network";
const OTHER_SEND: &str = "announces to the manager and takes an answer a part, in frames; sends no markers";
const OTHER_RECEIVER: &str =
    "answers each part, to its sender and to the manager, which the prototype does not";
const OTHER_ROUND_TRIP: &str = "waits for links where the prototype waits for tokens and polls";
const OTHER_SIZE: &str = "an isochron is one frame to a receiver here, and a packet a message there";
const OTHER_TOKENS: &str =
    "tokens pass between managers only; there each host's network interface answered one every 12 us";

fn data(packet: usize) -> f64 {
    (packet - super::parameters::STUDY_HEADER_BYTES) as f64
}

/// What the simulation has. `way` is how the messages of a cell go: what is printed of Isotach is held against isochrons with safe delivery.
fn known(published: &Published, way: Way, runs: &Runs) -> Known {
    let packet = published.packet;
    let known =
        |table, row, column, ours, miss| Known { table, row, column, ours: Ok(ours), miss: Some(miss) };
    let aside = |table, row, column, why| Known { table, row, column, ours: Err(why), miss: None };
    let time = Column::Time("us");
    let rate = Column::Time("Mb/s");
    let share = Column::Share("percent");
    let ratio = |of: &dyn Fn(Way) -> f64| of(way) / of(Way::Raw);
    let size = |size| runs.stream(way, packet, size).mbps;
    match published.quantity {
        "round_trip_1_switch" => {
            known("5.3", "round trip, 1 switch", time, runs.round_trip(way, 1, packet), OTHER_ROUND_TRIP)
        }
        "latency_ratio_to_fm" if packet == 1024 => {
            aside("5.3", "round trip, to FM's", Column::Time("ratio"), DERIVED)
        }
        "latency_ratio_to_fm" => {
            let ours = ratio(&|way| runs.round_trip(way, 1, packet));
            known("5.3", "round trip, to FM's", Column::Time("ratio"), ours, OTHER_ROUND_TRIP)
        }
        "bandwidth_fraction_of_fm" => {
            let ours = 100.0 * ratio(&|way| runs.stream(way, packet, 1).mbps);
            known("5.4", "stream, of FM's", share, ours, OTHER_SEND)
        }
        "send_cost" => known("5.7", "send", time, runs.stream(way, packet, 1).send_us, OTHER_SEND),
        "send_bound_bandwidth" => {
            let ours = data(packet) * 8.0 / runs.stream(way, packet, 1).send_us;
            known("5.7", "bound by the send", rate, ours, OTHER_SEND)
        }
        "throughput_1_switch" => known("5.4", "stream, 1 switch", rate, size(1), OTHER_SEND),
        "throughput_isochron_1" => known(figure_of_size(packet), "isochrons of 1", rate, size(1), OTHER_SEND),
        "throughput_isochron_4" => known(figure_of_size(packet), "isochrons of 4", rate, size(4), OTHER_SIZE),
        "receiver_under_contention" => {
            known("5.8", "receiver, 4 senders", rate, runs.contention(way, packet).mbps, OTHER_RECEIVER)
        }
        "fm_bandwidth_loss_from_tokens" => {
            let ours = runs.loss(Background::TokensBeside, packet);
            known("5.13", "FM's loss by tokens", share, ours, OTHER_TOKENS)
        }
        "shared_memory_remote_read" => {
            known("5.2.2", "read of another's variable", time, runs.reads[&way], OTHER_ROUND_TRIP)
        }
        "send_cost_without_markers" => aside("5.7", "send without markers", time, NO_MARKERS),
        "send_cost_without_markers_and_copy" => {
            aside("5.7", "send without markers and a copy", time, NO_MARKERS)
        }
        "gain_without_markers" => aside("5.2.2", "gain without markers", share, NO_MARKERS),
        "token_interarrival_1_switch" => aside("5.2.1", "token interval, 1 switch", time, NO_TOKENS),
        "token_interarrival_2_switches" => aside("5.2.1", "token interval, 2 switches", time, NO_TOKENS),
        "cast_overhead_on_round_trip" => aside("5.1.1", "CAST's round trip, more", share, CAST),
        other => panic!("published/isotach.csv has a quantity that is not known: {other}"),
    }
}

const fn figure_of_size(packet: usize) -> &'static str {
    if packet == 64 { "5.10" } else { "5.11" }
}

/// A printed value and ours. FM's costs, from which its parameters come, are fitted, and so is what follows from them.
pub(super) fn cell(published: &Published, runs: &Runs) -> Cell {
    let Published { quantity, packet, of, value: printed } = *published;
    let (way, whose) = match of {
        Measured::Isotach => (Way::Safe, "Isotach"),
        Measured::Fm => (Way::Raw, "FM"),
    };
    let Known { table, row, column, ours, miss } = known(published, way, runs);
    let role = match of {
        Measured::Fm if quantity != "fm_bandwidth_loss_from_tokens" => Role::Fitted,
        _ => Role::Predicted,
    };
    let of_fm = value(quantity, packet, Measured::Fm).filter(|_| of == Measured::Isotach);
    let mut cell = Cell {
        table,
        row: format!("{whose}, {row}, {packet} bytes"),
        column,
        published: printed,
        ours: ours.ok(),
        naive: of_fm.filter(|_| ours.is_ok()),
        role,
        set_aside: ours.err(),
        miss: None,
    };
    cell.miss = miss.filter(|_| cell.within() == Some(false));
    cell
}

/// What is printed, or was asked, and this model cannot say.
pub(super) const UNSAID: [&str; 4] = [
    "Figures 5.1 and 5.2 hold CAST against the study's own programs: what CAST adds is function calls and clock readings, which are not modelled; the other lines of these figures are in 5.3 and 5.4.",
    "Figures 5.5 and 5.6, call stacks of one poll and of two: hosts here look for frames whenever they do nothing else, and need no second poll.",
    "How much of a send is contention for the bus between programmed output and markers that come in (82% and 29% more data without those): a bus is not modelled, and ours has no such markers.",
    "Packets of one burst in one frame: the layer that does so on a live host (messaging) is not between these protocols; with it, frames of streams would be fewer.",
];

/// What was found on the study's machines.
pub(super) fn findings(runs: &Runs) -> Vec<String> {
    let mut found: Vec<String> = Way::ISOCHRONS.into_iter().flat_map(|way| goals(way, runs)).collect();
    found.push(runs.sends.finding());
    let lost: i64 = Way::ALL
        .into_iter()
        .flat_map(|way| runs.packets().iter().map(move |packet| (way, *packet)))
        .map(|(way, packet)| runs.contention(way, packet).lost)
        .sum();
    found.push(format!(
        "With 4 senders to one receiver {lost} messages were lost, in all ways and with all packets."
    ));
    let [beside, apart] =
        [Background::TokensBeside, Background::Tokens].map(|background| runs.loss(background, 64));
    found.push(format!(
        "Tokens that pass, one in {:.1} us at each switch, take {apart:.1}% from fast messages of 64 bytes if managers have processors of their own, and {beside:.1}% if one shares the receiver's; at rest none pass. Printed are 25%.",
        runs.interval(64)
    ));
    let [agreed, safe] = Way::ISOCHRONS.map(|way| runs.round_trip(way, 2, 64) - runs.round_trip(way, 1, 64));
    let fast = runs.round_trip(Way::Raw, 2, 64) - runs.round_trip(Way::Raw, 1, 64);
    found.push(format!(
        "A second switch adds {fast:.1} us to a round trip of fast messages with 64 bytes, {agreed:.1} to agreed isochrons and {safe:.1} to safe ones."
    ));
    found
}

/// Whether the study's goals are met: at most twice the time, at least half of the data.
fn goals(way: Way, runs: &Runs) -> [String; 2] {
    let time = |packet: &usize| runs.round_trip(way, 1, *packet) / runs.round_trip(Way::Raw, 1, *packet);
    let rate = |packet: &usize| runs.stream(way, *packet, 1).mbps / runs.stream(Way::Raw, *packet, 1).mbps;
    let met = |is_met: &dyn Fn(&usize) -> bool| {
        let missed = runs.packets().iter().rposition(|packet| !is_met(packet));
        match runs.packets().get(missed.map_or(0, |at| at + 1)) {
            Some(packet) if missed.is_some() => format!("met from {packet} bytes on"),
            Some(_) => "met with all packets".to_owned(),
            None => "not met".to_owned(),
        }
    };
    let name = way.name();
    let [small, large] = PRINTED;
    [
        format!(
            "Round trips, {name}: {:.2} times those of fast messages with 64 bytes, {:.2} with 1024; the prototype 3.5 and 1.5. The goal of 2 is {}.",
            time(&small),
            time(&large),
            met(&|packet| time(packet) <= 2.0)
        ),
        format!(
            "Streams, {name}: {:.0}% of the data of fast messages with 64 bytes, {:.0}% with 1024; the prototype 43% and 63%. The goal of 50% is {}.",
            100.0 * rate(&small),
            100.0 * rate(&large),
            met(&|packet| rate(packet) >= 0.5)
        ),
    ]
}
