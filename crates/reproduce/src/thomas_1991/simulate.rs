//! A row's run, and what comes out.

use super::case::{Application, Case};
use super::element::Element;
use super::inferred::Inferred;
use super::plant::Plant;
use super::setting::Setting;
use super::{batch, given, realtime};

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
    let mut running = plant(case, Setting::STUDY, inferred, seed).build();
    running.run_for(case.application.seconds());
    let (ended, last) =
        running.take_ended().iter().fold((0_u32, 0.0), |(ended, _), (_, at)| (ended + 1, at.as_seconds()));
    let shares = [Element::ServerApplic, Element::ServerXport, Element::ClientApplic, Element::ClientXport];
    Outcome {
        seconds: last / f64::from(ended.max(1)),
        processors: shares.map(|element| running.utilisation(element)),
        lan: running.lan_utilisation(),
        vector_processor: running.utilisation(Element::VectorProcessor),
        digest: running.digest(),
    }
}

/// The elements, and the applications of all clients on them.
pub(super) fn plant(case: &Case, setting: Setting, inferred: &Inferred, seed: u64) -> Plant {
    let mut plant = Plant::new(*case, setting, inferred, seed);
    for client in 0..setting.clients {
        if client > 0 {
            plant.next_client();
        }
        match case.application {
            Application::Realtime { words } => realtime::define(&mut plant, words),
            Application::Batch { elements, vector_processor } => {
                batch::define(&mut plant, elements, vector_processor);
            }
        }
    }
    plant
}

impl Application {
    /// How long the paper simulates it, from a cold start.
    pub(super) const fn seconds(self) -> f64 {
        match self {
            Application::Realtime { .. } => given::REALTIME_SECONDS,
            Application::Batch { .. } => given::BATCH_SECONDS,
        }
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
        Some(match column {
            "read_time_s" | "simulated_s" | "simulated_with_vp_s" => self.seconds,
            "throughput_bytes_per_s" | "throughput_with_vp_ops_per_s" => {
                f64::from(case.application.size()) / self.seconds
            }
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
