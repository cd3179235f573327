//! A row's run, and what comes out.

use super::case::{Application, Case};
use super::inferred::Inferred;
use super::plant::{Element, Plant};
use super::{batch, given, realtime};
use quintet_contract::Span;

/// What a run gives.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Outcome {
    /// Seconds a read, or a job: the mean over those that ended.
    pub seconds: f64,
    /// Utilisations in percent, over the whole run: those of server applic, server xport, client applic and client xport.
    pub processors: [f64; 4],
    /// That of the LAN.
    pub lan: f64,
    /// That of the vector processor.
    pub vector_processor: f64,
    /// Sums up the run, or all of them.
    pub digest: u64,
}

/// Simulates a row, as long as the paper did and from a cold start.
#[must_use]
pub fn simulate(case: &Case, inferred: &Inferred, seed: u64) -> Outcome {
    let mut plant = Plant::new(*case, inferred, seed);
    let seconds = match case.application {
        Application::Realtime { words } => {
            realtime::define(&mut plant, words);
            given::REALTIME_SECONDS
        }
        Application::Batch { elements, vector_processor } => {
            batch::define(&mut plant, elements, vector_processor);
            given::BATCH_SECONDS
        }
    };
    let mut running = plant.build();
    running.run.run_for(Span::from_millis((seconds * 1e3) as u64));
    let (ended, last) =
        running.run.take_marks().fold((0_u32, 0.0), |(ended, _), mark| (ended + 1, mark.at.as_seconds()));
    let shares = [Element::ServerApplic, Element::ServerXport, Element::ClientApplic, Element::ClientXport];
    Outcome {
        seconds: last / f64::from(ended.max(1)),
        processors: shares.map(|element| running.utilisation(element)),
        lan: running.lan_utilisation(),
        vector_processor: running.utilisation(Element::VectorProcessor),
        digest: running.run.digest(),
    }
}

impl Outcome {
    /// The mean over seeds from 0 on; at least one.
    #[must_use]
    pub fn mean_of(case: &Case, inferred: &Inferred, seeds: u64) -> Outcome {
        let mut mean = Outcome::default();
        let share = 1.0 / seeds.max(1) as f64;
        for seed in 0..seeds.max(1) {
            let one = simulate(case, inferred, seed);
            mean.seconds += one.seconds * share;
            for (sum, value) in mean.processors.iter_mut().zip(one.processors) {
                *sum += value * share;
            }
            mean.lan += one.lan * share;
            mean.vector_processor += one.vector_processor * share;
            mean.digest = mean.digest.rotate_left(7) ^ one.digest;
        }
        mean
    }

    /// The value for a column of the printed tables; `None` for what no simulation gives.
    pub(super) fn value(&self, case: &Case, column: &str) -> Option<f64> {
        let size = match case.application {
            // As the paper has it: one word is 4 bytes, but more words than that are called bytes themselves.
            Application::Realtime { words: 1 } => 4,
            Application::Realtime { words } => words,
            Application::Batch { elements, .. } => elements,
        };
        Some(match column {
            "read_time_s" | "simulated_s" | "simulated_with_vp_s" => self.seconds,
            "throughput_bytes_per_s" | "throughput_with_vp_ops_per_s" => f64::from(size) / self.seconds,
            "server_applic" => self.processors[0],
            "server_xport" => self.processors[1],
            "client_applic" => self.processors[2],
            "client_xport" => self.processors[3],
            "lan" | "ethernet" => self.lan,
            "vector_processor" => self.vector_processor,
            _ => return None,
        })
    }
}
