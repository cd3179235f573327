//! Runs an experiment.

use super::row::{ELEMENTS, Estimate, Row};
use super::{Experiment, Question};
use crate::thomas_1991::element::Element;
use crate::thomas_1991::running::Running;
use crate::thomas_1991::simulate::plant;

/// What all clients of a run did.
#[derive(Clone, Copy, Default)]
struct Pace {
    /// Reads or jobs in a second.
    rate: f64,
    /// How many clients ended one.
    clients: u16,
}

/// Simulates an experiment with so many seeds, from 0 on; at least one.
#[must_use]
pub fn measure(question: Question, experiment: &Experiment, seeds: u64) -> Row {
    let seeds = seeds.max(1);
    let mut paces = Vec::new();
    let mut utilisations = [0.0; ELEMENTS.len()];
    let (mut lost, mut digest) = (0, 0_u64);
    for seed in 0..seeds {
        let inferred = experiment.factor.inferred();
        let mut running = plant(&experiment.case, experiment.setting, &inferred, seed).build();
        paces.push(pace(&mut running, experiment));
        for (sum, value) in utilisations.iter_mut().zip(shares(&running)) {
            *sum += value / seeds as f64;
        }
        lost += running.lost();
        digest = digest.rotate_left(7) ^ running.digest();
    }
    let size = f64::from(experiment.case.application.size());
    let runs: Vec<f64> = paces.iter().map(|pace| pace.rate * size).collect();
    let all_ended = paces.iter().all(|pace| pace.clients > 0);
    let estimate = |values: Vec<f64>| all_ended.then(|| Estimate::of(values));
    let times = paces.iter().map(|pace| f64::from(pace.clients) / pace.rate).collect();
    let idle = paces.iter().map(|pace| experiment.setting.clients - pace.clients);
    Row {
        question,
        experiment: *experiment,
        throughput: estimate(runs.clone()),
        seconds: estimate(times),
        idle_clients: if all_ended { idle.map(u64::from).sum() } else { 0 },
        runs,
        utilisations,
        lost,
        digest,
    }
}

/// Each client is counted from the last read or job that it ended in the warm-up to the last in the window: what the
/// ends cut off does not count.
fn pace(running: &mut Running, experiment: &Experiment) -> Pace {
    let clients = usize::from(experiment.setting.clients);
    running.run_for(experiment.span.warm_up);
    let mut first = vec![0.0; clients];
    for (client, at) in running.take_ended() {
        first[usize::from(client)] = at.as_seconds();
    }
    running.reset_statistics();
    running.run_for(experiment.span.window);
    let mut counted = vec![(0_u32, 0.0); clients];
    for (client, at) in running.take_ended() {
        let (count, last) = &mut counted[usize::from(client)];
        (*count, *last) = (*count + 1, at.as_seconds());
    }
    let ended = counted.iter().zip(first).filter(|((count, _), _)| *count > 0);
    ended.fold(Pace::default(), |pace, ((count, last), first)| Pace {
        rate: pace.rate + f64::from(*count) / (last - first),
        clients: pace.clients + 1,
    })
}

fn shares(running: &Running) -> [f64; ELEMENTS.len()] {
    let of = |element| running.utilisation(element);
    [
        of(Element::ClientApplic),
        of(Element::ClientXport),
        of(Element::ServerApplic),
        of(Element::ServerXport),
        of(Element::VectorProcessor),
        running.vmebus_utilisation(),
        running.lan_utilisation(),
    ]
}
