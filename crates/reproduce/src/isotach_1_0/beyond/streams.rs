//! Streams across a row of switches: the study's comparison of one switch and two, taken on.

use super::super::bed::Bed;
use super::super::figure::Figure;
use super::super::measure::{row, watch};
use super::super::program::{Task, Way};
use super::{Beyond, DATA, WAYS, plan};
use quintet_contract::NodeId;
use quintet_isotach::limits::{KEPT_FOR_VALUES, MAX_UNEXECUTED};

/// As many isochrons as one member may have under way, and as many plain messages: across many switches it is the way there and back that bounds a stream with fewer.
const WINDOW: usize = MAX_UNEXECUTED - KEPT_FOR_VALUES;
const MESSAGES: u32 = 4_000;
const MESSAGES_QUICK: u32 = 1_000;

/// What the last host of a row of so many switches receives of the first, in megabits of data a second.
fn across(switches: usize, way: Way, messages: u32) -> f64 {
    let switches = u16::try_from(switches).expect("few");
    let (from, to) = (NodeId(1), NodeId(2 * switches));
    let mut plan = plan(row(switches, 2).expect("there may be as many switches"), way);
    plan.tasks.insert(from, Task::Stream { to: vec![vec![to]], window: WINDOW, left: messages });
    watch(Bed::new(plan), from, to, DATA).mbps
}

/// Streams against the length of the row.
pub(super) fn run(is_quick: bool, switches: &[usize], beyond: &mut Beyond) {
    let messages = if is_quick { MESSAGES_QUICK } else { MESSAGES };
    let title = "a stream across a row of switches, as many under way as may be";
    let figure = Figure::beyond("O", title, "switches", "Mb/s of data");
    let figure = WAYS.into_iter().fold(figure, |figure, way| {
        figure.simulated(way.name(), switches, |count| across(count, way, messages))
    });
    let ends = (1.0, *switches.last().expect("there are some") as f64);
    let kept = |way: Way| {
        let [one, all] = [ends.0, ends.1].map(|count| figure.value(way.name(), count).unwrap_or_default());
        format!("{one:.0} and {all:.0}")
    };
    beyond.findings.push(format!(
        "A stream at one switch and across {} in a row carries, with {WINDOW} under way, {} Mb/s of plain messages, {} of agreed isochrons and {} of safe ones.",
        ends.1,
        kept(Way::Plain),
        kept(Way::Agreed),
        kept(Way::Safe)
    ));
    beyond.figures.push(figure);
}
