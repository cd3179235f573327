//! The programs of benches/peers.

use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// A program that measures what is compared with.
pub(super) struct Peer {
    pub(super) name: &'static str,
    program: &'static str,
    case: &'static str,
}

/// What the machine itself needs for a frame's two cache lines to and fro.
pub(super) const LINES: Peer =
    Peer { name: "limit-ping-pong", program: "limit_ping_pong", case: "rtt-two-lines" };
/// Messages over shared memory, as high-performance computing does it.
pub(super) const UCX: Peer = Peer { name: "ucx", program: "ucx_shm", case: "rtt-64" };
/// The same, by the usual interface.
pub(super) const OPEN_MPI: Peer = Peer { name: "openmpi", program: "mpi_shm", case: "rtt-64" };
/// Publish and subscribe over shared memory.
pub(super) const ICEORYX2: Peer = Peer { name: "iceoryx2", program: "iceoryx2", case: "rtt-64" };
/// A value put into a list of a server, and taken out.
pub(super) const REDIS: Peer = Peer { name: "redis-c", program: "redis_pair", case: "pair-64" };
/// The same with 1 MiB.
pub(super) const REDIS_LARGE: Peer = Peer { name: "redis-c", program: "redis_pair", case: "pair-1m" };

impl Peer {
    /// The median of one round, in nanoseconds.
    ///
    /// # Errors
    /// What to do so that there is one.
    pub(super) fn round(&self, folder: &Path) -> Result<f64, String> {
        let program = folder.join(self.program);
        let output = Command::new(&program).args(["--rounds", "1", "--case", self.case]).output();
        let output = output.map_err(|_| "build it with: make -C benches/peers".to_owned())?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
        }
        median_of(&String::from_utf8_lossy(&output.stdout))
            .ok_or_else(|| format!("{} said nothing that is known here", program.display()))
    }
}

fn median_of(lines: &str) -> Option<f64> {
    let mut rows = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    rows.find(|row| row["statistic"] == "p50").and_then(|row| row["value"].as_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_read() {
        let lines = "{\"statistic\": \"mean\", \"value\": 9.5}\n{\"statistic\": \"p50\", \"value\": 7.25}\n";
        assert_eq!(median_of(lines), Some(7.25));
        assert_eq!(median_of("nothing"), None);
    }

    #[test]
    fn a_peer_that_is_not_built_says_how() {
        let why = REDIS.round(Path::new("/nonexistent")).unwrap_err();
        assert!(why.contains("make -C benches/peers"), "{why}");
    }
}
