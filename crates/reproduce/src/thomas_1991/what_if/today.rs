//! The same structure with today's machines and a switched network, and in between the network alone. What is assumed
//! stands in `machines.rs` and `lan.rs`; the programs' cycles and the packets are those of 1991.

use super::compare::{Group, groups, with_both_factors};
use super::driver::winner;
use super::{Application, Transport, batch, realtime};
use super::{Case, Encoding, Experiment, Finding, Lan, Machines, Model, Question, Row, Setting, TODAY_MIPS};

const CLIENTS: [u16; 2] = [1, 16];
const VARIANTS: [(Model, Encoding); 5] = [
    (Model::Rexec, Encoding::Text),
    (Model::Rpc, Encoding::Text),
    (Model::Rexec, Encoding::Binary),
    (Model::Rpc, Encoding::Binary),
    (Model::Driver, Encoding::Binary),
];

pub(super) fn experiments() -> Vec<Experiment> {
    let mut experiments = Vec::new();
    let ten = Lan::Switched { gigabits: 10 };
    add(&mut experiments, Machines::Of1991, ten, Transport::Tcp, realtime(65_024));
    for gigabits in [10, 25, 100] {
        for application in [realtime(1), realtime(65_024), batch(8_192)] {
            let lan = Lan::Switched { gigabits };
            add(&mut experiments, Machines::Today, lan, Transport::Tcp, application);
        }
    }
    add(&mut experiments, Machines::Today, ten, Transport::Udp, realtime(65_024));
    with_both_factors(&mut experiments, is_main);
    experiments
}

/// What findings rest on.
fn is_main(Experiment { case, setting, .. }: &Experiment) -> bool {
    let is_large = case.application != realtime(1) && case.lan != Lan::Switched { gigabits: 25 };
    is_large && case.transport == Transport::Tcp && setting.clients > 1 && setting.machines == Machines::Today
}

fn add(
    experiments: &mut Vec<Experiment>,
    machines: Machines,
    lan: Lan,
    transport: Transport,
    application: Application,
) {
    let server_mips = match machines {
        Machines::Of1991 => 16,
        Machines::Today => TODAY_MIPS,
    };
    for (model, encoding) in VARIANTS {
        let case = Case { lan, server_mips, model, transport, application };
        let setting = |clients| Setting { clients, encoding, machines, ..Setting::STUDY };
        experiments.extend(CLIENTS.map(|clients| Experiment::new(case, setting(clients))));
    }
}

pub(super) fn findings(rows: &[Row]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for group in groups(rows) {
        for clients in CLIENTS {
            let mut rows = group.rows.clone();
            rows.retain(|row| row.clients() == clients);
            let case = format!("{}, {clients} clients", group.case);
            findings.extend(winner(Question::Today, &Group { case, rows, ..group }));
        }
    }
    findings
}
