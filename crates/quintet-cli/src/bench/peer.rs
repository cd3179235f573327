//! The programs of benches/peers.

use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// A program that measures what is compared with.
#[derive(Clone, Copy)]
pub(super) struct Peer {
    pub(super) name: &'static str,
    pub(super) program: &'static str,
    pub(super) case: &'static str,
    /// Which of its figures.
    pub(super) statistic: Statistic,
    /// What it is told beside the case.
    pub(super) options: &'static [&'static str],
}

/// What becomes of the samples of a round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Statistic {
    /// The sum over the count: what those who starve wait counts too.
    Mean,
    /// The median.
    Middle,
    /// What all but one in a hundred are below, of peers that say so.
    Percentile99,
}

/// What the machine itself needs for a frame's two cache lines to and fro.
pub(super) const LINES: Peer = Peer::new("limit-ping-pong", "limit_ping_pong", "rtt-two-lines");
/// Messages over shared memory, as high-performance computing does it.
pub(super) const UCX: Peer = Peer::new("ucx", "ucx_shm", "rtt-64");
/// The same, by the usual interface.
pub(super) const OPEN_MPI: Peer = Peer::new("openmpi", "mpi_shm", "rtt-64");
/// Publish and subscribe over shared memory.
pub(super) const ICEORYX2: Peer = Peer::new("iceoryx2", "iceoryx2", "rtt-64");
/// A value put into a list of a server, and taken out.
pub(super) const REDIS: Peer = Peer::new("redis-c", "redis_pair", "pair-64");
/// The same with 16 bytes.
pub(super) const REDIS_16: Peer = Peer::new("redis-c", "redis_pair", "pair-16").with(&["--bytes", "16"]);
/// With 1 KiB.
pub(super) const REDIS_1K: Peer = Peer::new("redis-c", "redis_pair", "pair-1k").with(&["--bytes", "1024"]);
/// With 64 KiB.
pub(super) const REDIS_64K: Peer = Peer::new("redis-c", "redis_pair", "pair-64k").with(&["--bytes", "65536"]);
/// With 64 bytes over TCP.
pub(super) const REDIS_TCP: Peer = redis_over_tcp("pair-64-tcp");
/// The same over TLS, both sides with a certificate.
pub(super) const REDIS_TLS: Peer = Peer::new("redis-c-tls", "redis_pair_tls", "pair-64-tls");
/// A tuple space of Ruby's, over a Unix socket: as its documentation says to, and more quickly.
pub(super) const RINDA: &[Peer] = &[
    Peer::new("rinda-proxy", "rinda_pair.rb", "pair-64-proxy"),
    Peer::new("rinda", "rinda_pair.rb", "pair-64"),
];
/// Over the Unix socket with 1 MiB.
pub(super) const REDIS_LARGE: Peer = Peer::new("redis-c", "redis_pair", "pair-1m");
/// The same with 16 MiB.
pub(super) const REDIS_LARGEST: Peer =
    Peer::new("redis-c", "redis_pair", "pair-16m").with(&["--bytes", "16777216"]);

/// A case of Redis over TCP.
pub(super) const fn redis_over_tcp(case: &'static str) -> Peer {
    Peer::new("redis-c-tcp", "redis_pair", case).with(&["--transport", "tcp"])
}

impl Peer {
    /// The median of a case of a program.
    pub(super) const fn new(name: &'static str, program: &'static str, case: &'static str) -> Peer {
        Peer { name, program, case, statistic: Statistic::Middle, options: &[] }
    }

    /// The same, told these options too.
    pub(super) const fn with(self, options: &'static [&'static str]) -> Peer {
        Peer { options, ..self }
    }

    /// Its figure for one round.
    ///
    /// # Errors
    /// What to do so that there is one.
    pub(super) fn round(&self, folder: &Path) -> Result<f64, String> {
        let program = folder.join(self.program);
        let mut command = Command::new(&program);
        set_this_program(&mut command);
        let output = command.args(["--rounds", "1", "--case", self.case]).args(self.options).output();
        let output = output.map_err(|_| "build it with: make -C benches/peers".to_owned())?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
        }
        self.statistic
            .find(&String::from_utf8_lossy(&output.stdout))
            .ok_or_else(|| format!("{} said nothing that is known here", program.display()))
    }
}

/// Names this program to a script that makes machines by it.
pub(super) fn set_this_program(command: &mut Command) {
    // Where that is not known, the script takes the one in PATH.
    command.envs(std::env::current_exe().map(|this| ("QUINTET", this)));
}

impl Statistic {
    /// As the peers name it.
    fn name(self) -> &'static str {
        match self {
            Statistic::Mean => "mean",
            Statistic::Middle => "p50",
            Statistic::Percentile99 => "p99",
        }
    }

    /// What a peer said of it.
    pub(super) fn find(self, lines: &str) -> Option<f64> {
        let mut rows = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        rows.find(|row| row["statistic"] == self.name()).and_then(|row| row["value"].as_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_statistic_is_read() {
        let lines = "{\"statistic\": \"mean\", \"value\": 9.5}\n{\"statistic\": \"p50\", \"value\": 7.25}\n";
        assert_eq!(Statistic::Middle.find(lines), Some(7.25));
        assert_eq!(Statistic::Mean.find(lines), Some(9.5));
        assert_eq!(Statistic::Mean.find("nothing"), None);
    }

    #[test]
    fn a_peer_that_is_not_built_says_how() {
        let why = REDIS.round(Path::new("/nonexistent")).unwrap_err();
        assert!(why.contains("make -C benches/peers"), "{why}");
    }
}
