//! The inferred parameters by name: what the fit varies, and how much rests on each. What the paper gives stands in `given.rs`.

use super::inferred::Inferred;
use super::reproduce_with;
use crate::cell::{Cell, Role};
use crate::report::Report;
use crate::sensitivity::{Off, Sensitivity};

/// One of the inferred parameters.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// As in reports.
    pub name: &'static str,
    /// What it is counted in.
    pub unit: &'static str,
    /// Which printed values it follows from.
    pub source: &'static str,
    /// Where it stands.
    pub of: fn(&mut Inferred) -> &mut f64,
}

const fn parameter(
    name: &'static str,
    unit: &'static str,
    source: &'static str,
    of: fn(&mut Inferred) -> &mut f64,
) -> Parameter {
    Parameter { name, unit, source, of }
}

/// All of them.
pub const PARAMETERS: [Parameter; 13] = [
    parameter("load", "share of Ethernet", "the text: 3 to 5 percent", |inferred| &mut inferred.load),
    parameter(
        "contention_unit_us",
        "us",
        "server xport with one word; the appendix has 0 to 1024 and no unit",
        |inferred| &mut inferred.contention_unit_us,
    ),
    parameter("expansion", "bytes on the LAN a byte", "LAN and server xport of large buffers", |inferred| {
        &mut inferred.expansion
    }),
    parameter("ask", "cycles", "server applic with one word", |inferred| &mut inferred.ask),
    parameter("turn", "cycles", "REXEC's server and RPC's client with one word", |inferred| {
        &mut inferred.turn
    }),
    parameter("convert_word", "cycles a word", "RPC's client applic", |inferred| &mut inferred.convert_word),
    parameter("read_word", "cycles a word", "REXEC's client applic", |inferred| &mut inferred.read_word),
    parameter("call", "cycles", "server applic in batch, at two lengths", |inferred| &mut inferred.call),
    parameter("result", "cycles an element", "REXEC's applics in batch, at two lengths", |inferred| {
        &mut inferred.result
    }),
    parameter("vector_once", "s", "the vector processor's utilisation", |inferred| &mut inferred.vector[0]),
    parameter("vector_each", "s an element", "the vector processor's utilisation", |inferred| {
        &mut inferred.vector[1]
    }),
    parameter("simulator_once", "s", "simulated times without vector processor", |inferred| {
        &mut inferred.simulator[0]
    }),
    parameter("simulator_each", "s an element", "simulated times without vector processor", |inferred| {
        &mut inferred.simulator[1]
    }),
];

/// By how many tolerances a cell moves that rests on a parameter.
const RESTS: f64 = 0.05;
/// By how much a parameter is off.
const SHARE: f64 = 0.1;

/// How much rests on each parameter, all others as they are; `report` is what the study finds with none off.
#[must_use]
pub fn sensitivities(report: &Report) -> Vec<Sensitivity> {
    PARAMETERS.iter().map(|parameter| sensitivity(parameter, report)).collect()
}

fn sensitivity(parameter: &Parameter, report: &Report) -> Sensitivity {
    let mut inferred = Inferred::FITTED;
    let value = *(parameter.of)(&mut inferred);
    let reports = [-SHARE, SHARE].map(|share| {
        *(parameter.of)(&mut inferred) = value * (1.0 + share);
        reproduce_with(&inferred, report.seeds, |_| true)
    });
    let moves = |index: usize| {
        let off = |cell: &Cell| cell.ours.map(|ours| cell.off(ours));
        let here = off(&report.cells[index]);
        let moved = |other: &Report| Some((off(&other.cells[index])? - here?).abs() > RESTS);
        reports.iter().any(|other| moved(other) == Some(true))
    };
    let compared = |index: &usize| report.cells[*index].set_aside.is_none();
    let cells = (0..report.cells.len()).filter(compared).filter(|index| moves(*index)).count();
    let off = reports.map(|report| Off {
        within: Role::ALL.map(|role| report.count(role)),
        error: Role::ALL.map(|role| report.mean_error(role)),
    });
    let Parameter { name, unit, source, .. } = *parameter;
    Sensitivity { name, unit, source, value, cells, off }
}
