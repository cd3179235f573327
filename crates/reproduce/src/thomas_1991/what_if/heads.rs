//! Several compute heads, and several application processors of the server: until when is the vector processor the
//! bottleneck of the batch job?

use super::compare::{by_label, limit, of_model, saturated};
use super::{Case, Experiment, Finding, Lan, Model, Question, Row, Setting, Transport, batch};

const HEADS: [u16; 5] = [1, 2, 4, 8, 16];
const PROCESSORS: [u16; 2] = [1, 4];
/// As many as the most heads, or they could not all work.
const CLIENTS: u16 = 16;

pub(super) fn experiments() -> Vec<Experiment> {
    let mut experiments = Vec::new();
    for elements in [100, 1_000] {
        for model in [Model::Rexec, Model::Rpc] {
            let application = batch(elements);
            let (lan, transport) = (Lan::Ethernet, Transport::Tcp);
            let case = Case { lan, server_mips: 16, model, transport, application };
            for server_processors in PROCESSORS {
                let setting =
                    |heads| Setting { clients: CLIENTS, heads, server_processors, ..Setting::STUDY };
                experiments.extend(HEADS.map(|heads| Experiment::new(case, setting(heads))));
            }
        }
    }
    experiments
}

pub(super) fn findings(rows: &[Row]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (label, rows) in by_label(rows) {
        for model in ["rexec", "rpc"] {
            let rows = of_model(&rows, model);
            for processors in PROCESSORS {
                let rows: Vec<&Row> = rows
                    .iter()
                    .copied()
                    .filter(|row| row.experiment.setting.server_processors == processors)
                    .collect();
                findings.extend(finding(&format!("{label}, {model}, {processors} server applic"), &rows));
            }
        }
    }
    findings
}

/// From rows of more and more heads.
fn finding(case: &str, rows: &[&Row]) -> Option<Finding> {
    let (first, last) = (rows.first()?, rows.last()?);
    let relieved = rows.iter().find(|row| saturated(row) != Some("vector processor"));
    let from = relieved.map(|row| row.experiment.setting.heads);
    let gain = last.throughput.mean / first.throughput.mean;
    let verdict = match (relieved, from) {
        (Some(row), Some(heads)) => format!(
            "with {heads} heads the vector processor is the bottleneck no more (busiest: {})",
            limit(row)
        ),
        _ => "the vector processor stays the bottleneck".to_owned(),
    };
    let heads = last.experiment.setting.heads;
    let text = format!(
        "{verdict}; {heads} heads give {gain:.2} times the throughput of one (busiest: {})",
        limit(last)
    );
    Some(Finding { question: Question::Heads, case: case.to_owned(), from, winner: None, text })
}
