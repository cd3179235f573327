//! The DRIVER model beside REXEC and RPC, also with these two sending values as they lie in memory: DRIVER's saving of
//! conversions is told apart from its placement. What is assumed stands in `thomas_1991/driver.rs`.

use super::compare::{Group, best, difference, groups, is_above, with_both_factors, words};
use super::{
    Application, Case, Encoding, Experiment, Finding, Lan, Model, Question, Row, Setting, Transport,
};
use super::{batch, realtime};

const CLIENTS: [u16; 2] = [1, 16];

/// Models, how values travel, and commands a library call.
const VARIANTS: [(Model, Encoding, u16); 6] = [
    (Model::Rexec, Encoding::Text, 2),
    (Model::Rpc, Encoding::Text, 2),
    (Model::Rexec, Encoding::Binary, 2),
    (Model::Rpc, Encoding::Binary, 2),
    (Model::Driver, Encoding::Binary, 1),
    (Model::Driver, Encoding::Binary, 2),
];

pub(super) fn experiments() -> Vec<Experiment> {
    let mut experiments = Vec::new();
    let tables: [(Lan, Transport, Application, u16); 5] = [
        (Lan::Ethernet, Transport::Tcp, realtime(1), 1),
        (Lan::Ethernet, Transport::Tcp, realtime(65_024), 1),
        (Lan::Fddi, Transport::Udp, realtime(65_024), 1),
        (Lan::Ethernet, Transport::Tcp, batch(1_000), 1),
        (Lan::Ethernet, Transport::Tcp, batch(1_000), 16),
    ];
    for (lan, transport, application, heads) in tables {
        for (model, encoding, commands) in VARIANTS {
            let case = Case { lan, server_mips: 16, model, transport, application };
            let setting = |clients| Setting { clients, heads, encoding, commands, ..Setting::STUDY };
            experiments.extend(CLIENTS.map(|clients| Experiment::new(case, setting(clients))));
        }
    }
    with_both_factors(&mut experiments, |experiment| experiment.setting.clients > 1);
    experiments
}

pub(super) fn findings(rows: &[Row]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for group in groups(rows) {
        let numbers = |row: &Row| (row.experiment.setting.heads, row.clients());
        let mut settings: Vec<(u16, u16)> = group.rows.iter().map(|row| numbers(row)).collect();
        settings.sort_unstable();
        settings.dedup();
        for (heads, clients) in settings {
            let mut rows = group.rows.clone();
            rows.retain(|row| numbers(row) == (heads, clients));
            let case = format!("{}, {heads} heads, {clients} clients", group.case);
            findings.extend(winner(Question::Driver, &Group { case, rows, ..group }));
        }
    }
    findings
}

/// Which of the rows has the most throughput.
pub(super) fn winner(question: Question, group: &Group<'_>) -> Option<Finding> {
    let (best, second) = best(&group.rows)?;
    let is_alone = group.rows.iter().all(|row| row.experiment == best.experiment || is_above(best, row));
    let model = best.experiment.model();
    let verdict = match is_alone {
        true => format!("{model} is ahead"),
        false => {
            let level = group.rows.iter().filter(|row| !is_above(best, row));
            let level: Vec<String> = level.map(|row| row.experiment.model()).collect();
            format!("level: {}", level.join(", "))
        }
    };
    let margin = second.map_or_else(String::new, |second| {
        format!(" against {}: {};", second.experiment.model(), words(difference(best, second)))
    });
    let share = |row: &&Row| format!("{} {:.4}", row.experiment.model(), row.mean() / best.mean());
    let shares: Vec<String> = group.rows.iter().map(share).collect();
    let numbers = format!(
        "{model} has most, {} {};{margin} bound by {}; shares of it: {}",
        best.words(best.throughput),
        best.unit(),
        best.limit(),
        shares.join(", "),
    );
    Some(Finding {
        question,
        case: group.case.clone(),
        factor: group.factor,
        from: None,
        winner: is_alone.then(|| best.experiment.case.model.name()),
        verdict,
        numbers,
        sensitivity: None,
    })
}
