//! Wires that lose frames, which the session layer sends again.

use super::super::bed::{Machines, Wires};
use super::super::figure::Figure;
use super::super::measure::row;
use super::super::program::Way;
use super::{Beyond, Outcome, Plan, WAYS, one_by_one, plan, run_plan};
use quintet_contract::{NodeId, Span};

/// Frames of a million that each wire loses: none, 0.1% and 1%.
const LOST: [usize; 3] = [0, 1_000, 10_000];
/// Switches of the row whose ends tell each other something.
const SWITCHES: [u16; 2] = [1, 8];
/// Messages of a run: enough for some of them to be lost.
const MESSAGES: u32 = 2_000;
const MESSAGES_QUICK: u32 = 200;
/// Longer than a run takes in which several frames are lost one after the other.
const LIMIT: Span = Span::from_secs(600);

/// Messages from one end of a row to the other, one after the other.
fn across(switches: u16, way: Way, lost: usize, messages: u32, seeds: u64) -> Outcome {
    let of_seed = |seed| {
        let topology = row(switches, 2).expect("it is small");
        let loss_per_million = Some(u32::try_from(lost).expect("a share of a million"));
        let machines = Machines::Today(Wires { loss_per_million, ..Wires::STEADY });
        let mut plan = Plan { seed, machines, limit: LIMIT, ..plan(topology, way) };
        plan.tasks.insert(NodeId(1), one_by_one(vec![vec![NodeId(2 * switches)]], messages));
        run_plan(plan, |_| true)
    };
    let mut runs = (0..seeds).map(of_seed);
    let first = runs.next().expect("there is a seed");
    runs.fold(first, Outcome::with)
}

/// Latencies where frames are lost.
pub(super) fn run(is_quick: bool, seeds: u64, beyond: &mut Beyond) {
    let messages = if is_quick { MESSAGES_QUICK } else { MESSAGES };
    let lost = "frames of a million that each wire loses";
    let mut mean = Figure::beyond("M", "wires that lose, at one switch and across 8", lost, "us, mean");
    let mut slowest =
        Figure::beyond("N", "wires that lose, at one switch and across 8", lost, "us, 99 of 100");
    for switches in SWITCHES {
        for way in WAYS {
            let plural = if switches == 1 { "" } else { "es" };
            let name = format!("{}, {switches} switch{plural}", way.name());
            let found = LOST.map(|lost| across(switches, way, lost, messages, seeds));
            let mut means = found.iter().map(Outcome::mean);
            mean = mean.simulated(name.as_str(), &LOST, |_| means.next().unwrap_or_default());
            let mut shares = found.iter().map(|outcome| outcome.quantile(0.99));
            slowest = slowest.simulated(name, &LOST, |_| shares.next().unwrap_or_default());
        }
    }
    let of = |figure: &Figure, lost| figure.value("isochrons, safe, 8 switches", lost).unwrap_or_default();
    beyond.findings.push(format!(
        "Where each wire loses one frame of a hundred, a safe isochron across 8 switches takes {:.0} us in the mean and {:.0} at most in 99 of 100, where it took {:.0}: who waits for one frame alone waits for the time after which it is sent again.",
        of(&mean, 10_000.0),
        of(&slowest, 10_000.0),
        of(&mean, 0.0)
    ));
    beyond.figures.extend([mean, slowest]);
}
