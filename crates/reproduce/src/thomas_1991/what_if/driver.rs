//! The DRIVER model beside REXEC and RPC, also with these two sending values as they lie in memory: DRIVER's saving of
//! conversions is told apart from its placement. What is assumed stands in `thomas_1991/driver.rs`.

use super::compare::{best, by_label, limit};
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
    experiments
}

pub(super) fn findings(rows: &[Row]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (label, rows) in by_label(rows) {
        let mut settings: Vec<(u16, u16)> =
            rows.iter().map(|row| (row.experiment.setting.heads, row.clients())).collect();
        settings.sort_unstable();
        settings.dedup();
        for (heads, clients) in settings {
            let rows: Vec<&Row> = rows
                .iter()
                .copied()
                .filter(|row| row.experiment.setting.heads == heads && row.clients() == clients)
                .collect();
            let case = format!("{label}, {heads} heads, {clients} clients");
            findings.extend(winner(Question::Driver, case, &rows));
        }
    }
    findings
}

/// Which of the rows has the most throughput.
pub(super) fn winner(question: Question, case: String, rows: &[&Row]) -> Option<Finding> {
    let (best, alone) = best(rows)?;
    let of =
        |row: &Row| format!("{} {:.4}", row.experiment.model(), row.throughput.mean / best.throughput.mean);
    let shares: Vec<String> = rows.iter().map(|row| of(row)).collect();
    let verdict = if alone { "is ahead" } else { "is ahead or level with others" };
    let text = format!(
        "{} {verdict} ({} {}; busiest: {}); shares of it: {}",
        best.experiment.model(),
        best.throughput,
        best.unit(),
        limit(best),
        shares.join(", "),
    );
    let winner = alone.then(|| best.experiment.case.model.name());
    Some(Finding { question, case, from: None, winner, text })
}
