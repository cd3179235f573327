//! Several compute heads, and several application processors of the server: until when is the vector processor the
//! bottleneck of the batch job?

use super::compare::{Group, between, groups, is_vector_bound, of_model, with_both_factors};
use super::{Case, Experiment, Factor, Finding, Lan, Model, Question, Row, Setting, Transport, batch};

const HEADS: [u16; 5] = [1, 2, 4, 8, 16];
const PROCESSORS: [u16; 2] = [1, 4];
/// As many as the most heads, or they could not all work.
const CLIENTS: u16 = 16;
/// More of both: whether the server's processor is what 16 of them come near to.
const CROWDS: [u16; 2] = [32, 64];

pub(super) fn experiments() -> Vec<Experiment> {
    let mut experiments = Vec::new();
    for elements in [100, 1_000] {
        for model in [Model::Rexec, Model::Rpc] {
            let case = case(model, elements);
            for server_processors in PROCESSORS {
                let setting =
                    |heads| Setting { clients: CLIENTS, heads, server_processors, ..Setting::STUDY };
                experiments.extend(HEADS.map(|heads| Experiment::new(case, setting(heads))));
            }
        }
    }
    with_both_factors(&mut experiments, |experiment| {
        experiment.case.application == batch(1_000) && experiment.setting.server_processors == 1
    });
    let crowd = |count| Setting { clients: count, heads: count, ..Setting::STUDY };
    for model in [Model::Rexec, Model::Rpc] {
        experiments.extend(CROWDS.map(|count| Experiment::new(case(model, 1_000), crowd(count))));
    }
    experiments
}

const fn case(model: Model, elements: u32) -> Case {
    let (lan, transport) = (Lan::Ethernet, Transport::Tcp);
    Case { lan, server_mips: 16, model, transport, application: batch(elements) }
}

/// The rows of a model and a number of processors, from few heads to many; only those with as many clients.
fn series<'a>(group: &Group<'a>) -> Vec<(String, Vec<&'a Row>)> {
    let mut all = Vec::new();
    for model in ["rexec", "rpc"] {
        for processors in PROCESSORS {
            let mut rows = of_model(&group.rows, model);
            rows.retain(|row| {
                row.experiment.setting.server_processors == processors && row.clients() == CLIENTS
            });
            rows.sort_by_key(|row| row.experiment.setting.heads);
            all.push((format!("{}, {model}, {processors} server applic", group.case), rows));
        }
    }
    all
}

/// What is to be simulated yet to know the number of heads from which on the vector processor is no bottleneck.
pub(super) fn refinements(rows: &[Row]) -> Vec<Experiment> {
    let middle = |rows: &Vec<&Row>| {
        let from = rows.iter().position(|row| !is_vector_bound(row)).filter(|from| *from > 0)?;
        let heads = |place: usize| rows[place].experiment.setting.heads;
        let heads = between(heads(from - 1), heads(from))?;
        let experiment = rows[from].experiment;
        Some(Experiment { setting: Setting { heads, ..experiment.setting }, ..experiment })
    };
    let series = groups(rows).iter().flat_map(series).collect::<Vec<_>>();
    series.iter().filter_map(|(_, rows)| middle(rows)).collect()
}

pub(super) fn findings(rows: &[Row]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for group in groups(rows) {
        let series = series(&group);
        findings.extend(series.iter().filter_map(|(case, rows)| finding(case, group.factor, rows)));
        findings.extend(["rexec", "rpc"].into_iter().filter_map(|model| crowd(&group, model)));
    }
    findings
}

/// From rows of more and more heads.
fn finding(case: &str, factor: Factor, rows: &[&Row]) -> Option<Finding> {
    let (first, last) = (rows.first()?, rows.last()?);
    let relieved = rows.iter().find(|row| !is_vector_bound(row));
    let from = relieved.map(|row| row.experiment.setting.heads);
    let gain = last.mean() / first.mean();
    let verdict = match from {
        Some(heads) => format!("from {heads} heads on the vector processor is the bottleneck no more"),
        None => "the vector processor stays the bottleneck".to_owned(),
    };
    let then = relieved.map_or_else(String::new, |row| format!("bound then by {}; ", row.limit()));
    let numbers = format!(
        "{then}{} heads give {gain:.2} times the throughput of one, bound by {}; {}",
        last.experiment.setting.heads,
        last.limit(),
        ceiling(last),
    );
    Some(Finding {
        question: Question::Heads,
        case: case.to_owned(),
        factor,
        from,
        winner: None,
        verdict,
        numbers,
        sensitivity: None,
    })
}

/// What the server's application processor would allow if it were busy all the time: it does as much for each job,
/// however many there are.
fn ceiling(row: &Row) -> String {
    let busy = row.utilisation("server applic").unwrap_or_default();
    format!("server applic allows {:.0} {}", 100.0 * row.mean() / busy, row.unit())
}

/// As many clients as heads, and more and more of both.
fn crowd(group: &Group<'_>, model: &str) -> Option<Finding> {
    let mut rows = of_model(&group.rows, model);
    rows.retain(|row| {
        let setting = row.experiment.setting;
        setting.clients == setting.heads && setting.server_processors == 1
    });
    let last = rows.last().filter(|row| row.clients() > CLIENTS)?;
    let of = |row: &&Row| {
        format!("{} of both: {:.0} {}, bound by {}", row.clients(), row.mean(), row.unit(), row.limit())
    };
    let steps: Vec<String> = rows.iter().map(of).collect();
    let bound = rows.iter().find(|row| row.bound() != super::Bound::Latency);
    let verdict = match bound {
        Some(row) => format!("an element is the bottleneck from {} of both on", row.clients()),
        None => format!("no element is the bottleneck up to {} of both", last.clients()),
    };
    Some(Finding {
        question: Question::Heads,
        case: format!("{}, {model}, as many clients as heads", group.case),
        factor: group.factor,
        from: bound.map(|row| row.clients()),
        winner: None,
        numbers: format!("{}; {}", steps.join("; "), ceiling(last)),
        verdict,
        sensitivity: None,
    })
}
