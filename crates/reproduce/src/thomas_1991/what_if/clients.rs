//! Several clients: REXEC loads the server with the application, RPC leaves it to the clients. Does RPC overtake REXEC?

use super::compare::{
    Group, ahead_from, between, difference, groups, of_model, pairs, with_both_factors, words,
};
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
    with_both_factors(&mut experiments, is_main);
    experiments
}

/// What findings rest on.
fn is_main(Experiment { case: Case { lan, transport, application, .. }, .. }: &Experiment) -> bool {
    let is_usual = (*lan, *transport) == (Lan::Ethernet, Transport::Tcp);
    *application == realtime(65_024) || is_usual && *application != realtime(32_768)
}

fn add(experiments: &mut Vec<Experiment>, lan: Lan, transport: Transport, application: Application) {
    for model in [Model::Rexec, Model::Rpc] {
        let case = Case { lan, server_mips: 16, model, transport, application };
        let setting = |clients| Setting { clients, ..Setting::STUDY };
        experiments.extend(CLIENTS.map(|clients| Experiment::new(case, setting(clients))));
    }
}

/// RPC and REXEC, from few clients to many.
fn both<'a>(group: &Group<'a>) -> Vec<(&'a Row, &'a Row)> {
    pairs(&of_model(&group.rows, "rpc"), &of_model(&group.rows, "rexec"))
}

/// What is to be simulated yet to know the number of clients from which on RPC is ahead.
pub(super) fn refinements(rows: &[Row]) -> Vec<Experiment> {
    let middle = |group: &Group<'_>| {
        let pairs = both(group);
        let from = ahead_from(&pairs).filter(|from| *from > 0)?;
        let clients = between(pairs[from - 1].0.clients(), pairs[from].0.clients())?;
        let (rpc, rexec) = pairs[from];
        let with = |row: &Row| {
            let setting = Setting { clients, ..row.experiment.setting };
            Experiment { setting, ..row.experiment }
        };
        Some([with(rexec), with(rpc)])
    };
    groups(rows).iter().filter_map(middle).flatten().collect()
}

pub(super) fn findings(rows: &[Row]) -> Vec<Finding> {
    groups(rows).iter().filter_map(finding).collect()
}

fn finding(group: &Group<'_>) -> Option<Finding> {
    let pairs = both(group);
    let (rpc, rexec) = *pairs.last()?;
    let from = ahead_from(&pairs);
    let at = |place: usize| {
        let (rpc, rexec) = pairs[place];
        format!("with {}: {}", rpc.clients(), words(difference(rpc, rexec)))
    };
    let (verdict, around) = match from {
        Some(0) => ("RPC is ahead with any number of clients".to_owned(), at(0)),
        Some(from) => {
            let clients = pairs[from].0.clients();
            (format!("RPC is ahead from {clients} clients on"), format!("{}; {}", at(from - 1), at(from)))
        }
        None => ("no crossover".to_owned(), at(0)),
    };
    let numbers = format!(
        "RPC's throughput against REXEC's: {around}; {}; bound with {}: REXEC by {}, RPC by {}",
        at(pairs.len() - 1),
        rpc.clients(),
        rexec.limit(),
        rpc.limit(),
    );
    Some(Finding {
        question: Question::Clients,
        case: group.case.clone(),
        factor: group.factor,
        from: from.map(|from| pairs[from].0.clients()),
        winner: from.map(|_| "rpc"),
        verdict,
        numbers,
        sensitivity: None,
    })
}
