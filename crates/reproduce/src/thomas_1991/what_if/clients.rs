//! Several clients: REXEC loads the server with the application, RPC leaves it to the clients. Does RPC overtake REXEC?

use super::compare::{ahead_from, by_label, limit, of_model};
use super::{Application, Case, Experiment, Finding, Lan, Model, Question, Row, Setting, Transport};
use super::{batch, realtime};

const CLIENTS: [u16; 5] = [1, 2, 4, 8, 16];

pub(super) fn experiments() -> Vec<Experiment> {
    let mut experiments = Vec::new();
    for lan in [Lan::Ethernet, Lan::Fddi] {
        for transport in [Transport::Tcp, Transport::Udp] {
            for application in [realtime(1), realtime(32_768), realtime(65_024)] {
                add(&mut experiments, lan, transport, application);
            }
        }
    }
    for transport in [Transport::Tcp, Transport::Udp] {
        add(&mut experiments, Lan::Ethernet, transport, batch(100));
        add(&mut experiments, Lan::Ethernet, transport, batch(1_000));
    }
    // As in the study's second experiment, which was measured with one to three clients.
    let simulator = Application::Batch { elements: 100, vector_processor: false };
    add(&mut experiments, Lan::Ethernet, Transport::Tcp, simulator);
    experiments
}

fn add(experiments: &mut Vec<Experiment>, lan: Lan, transport: Transport, application: Application) {
    for model in [Model::Rexec, Model::Rpc] {
        let case = Case { lan, server_mips: 16, model, transport, application };
        let setting = |clients| Setting { clients, ..Setting::STUDY };
        experiments.extend(CLIENTS.map(|clients| Experiment::new(case, setting(clients))));
    }
}

pub(super) fn findings(rows: &[Row]) -> Vec<Finding> {
    by_label(rows).iter().filter_map(|(label, rows)| finding(label, rows)).collect()
}

fn finding(case: &str, rows: &[&Row]) -> Option<Finding> {
    let (rexec, rpc) = (of_model(rows, "rexec"), of_model(rows, "rpc"));
    let (most_rexec, most_rpc) = (rexec.last()?, rpc.last()?);
    let from = ahead_from(&rpc, &rexec);
    let share = 100.0 * (most_rpc.throughput.mean / most_rexec.throughput.mean - 1.0);
    let verdict = match from {
        Some(clients) => format!("RPC is ahead from {clients} clients on"),
        None => "no crossover".to_owned(),
    };
    let text = format!(
        "{verdict}; with {} RPC's throughput is {share:+.1}% of REXEC's (busiest: REXEC {}, RPC {})",
        most_rpc.clients(),
        limit(most_rexec),
        limit(most_rpc),
    );
    let winner = from.map(|_| "rpc");
    Some(Finding { question: Question::Clients, case: case.to_owned(), from, winner, text })
}
