//! Requests over four hops each way, from a model file; ns-3 has the same network twice.

use super::super::case::{Beside, Better, Case, Group, Round, Unit};
use super::super::peer::Peer;
use quintet::{Code, Error};
use quintet_model::Model;
use std::path::Path;
use std::time::Instant;

/// From the repository's root.
const MODEL: &str = "models/lan.toml";
/// Requests of a round in the mean.
const REQUESTS: f64 = 100_000.;
const WARM_UP: f64 = 5_000.;
/// Of the model: of all desks together in a second.
const RATE: f64 = 12. * 16_000.;

/// Links, queues, and nodes that pass packets on by a table.
const NS3: Peer = Peer::new("ns3", "ns3_lan", "lan").with(&["--iterations", "100000"]);
/// The same with UDP over IPv4, as its examples are.
const NS3_IP: Peer = Peer::new("ns3-ip", "ns3_lan", "lan-ip").with(&["--iterations", "100000"]);

pub(super) fn cases() -> Vec<Case> {
    let unit = Unit::PerSecond("requests");
    let case =
        |peer| Case::new(Group::Simulate, "lan", unit, Better::Higher, prepare).beside(Beside::Program(peer));
    vec![case(NS3), case(NS3_IP)]
}

/// Requests a second, each a question over four links and a page back over them; every port and every request is measured.
fn prepare() -> Result<Round, Error> {
    if !Path::new(MODEL).exists() {
        return Err(Error::new(
            Code::Resource,
            format!("{MODEL}: not here; start this in the repository's root"),
        ));
    }
    let model = Model::from_file(MODEL).map_err(refused)?.with("warm_up", "0 s");
    simulate(&model, WARM_UP)?;
    Ok(Box::new(move || {
        let started = Instant::now();
        let asked = simulate(&model, REQUESTS)?;
        Ok(asked / started.elapsed().as_secs_f64())
    }))
}

fn refused(error: impl std::fmt::Display) -> Error {
    Error::new(Code::BadValue, error.to_string())
}

/// Simulates the time of so many requests in the mean: how many there were.
fn simulate(model: &Model, requests: f64) -> Result<f64, Error> {
    let model = model.clone().with("end", format!("{} s", requests / RATE).as_str());
    let result = model.run(1).map_err(refused)?;
    let asked = result.quantities().get("module.ask.activations").copied().unwrap_or_default();
    if asked < 0.9 * requests {
        return Err(Error::new(Code::Mismatch, format!("{asked} were asked of {requests} in the mean")));
    }
    Ok(asked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_much_is_asked_as_the_model_says() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(MODEL);
        let model = Model::from_file(path).expect("it is good").with("warm_up", "0 s");
        let asked = simulate(&model, 2_000.).expect("it is good");
        assert!((asked - 2_000.).abs() < 5. * 2_000_f64.sqrt(), "{asked}");
    }
}
