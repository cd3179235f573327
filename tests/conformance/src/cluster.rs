//! The space of a cluster, and spaces that its machines keep: three of a testbed on the loopback, an agent each. They outlive behaviours, so that each of them leaves its spaces empty.

use crate::behaviour::{Behaviour, Limits};
use crate::driver::LONG;
use crate::placement::{Begun, LEASE, Placement, emptied};
use quintet::{Lab, SpaceAddress};
use quintet_testbed::{Program, TempDir};
use std::path::{Path, PathBuf};

/// A machine: a user's home, and the address where its agent listens.
struct Machine {
    quintet: PathBuf,
    home: TempDir,
    listen: String,
}

/// The placement. The first client is on the machine `a`, which serves the space, the second on `b`, the third on `c`.
pub struct Cluster {
    machines: Vec<Machine>,
}

impl Cluster {
    /// Founds a cluster of three machines. `quintet` is the command.
    ///
    /// # Errors
    /// What the command said.
    pub fn found(quintet: &Path) -> Result<Cluster, String> {
        let machines = (1..=3).map(|number| Machine::new(quintet, number)).collect::<Result<_, _>>()?;
        let cluster = Cluster { machines };
        let a = &cluster.machines[0];
        a.does(&["init", "lab", "--machine", "a"])?;
        a.does(&["up", "--listen", &a.listen])?;
        let at = format!("lab@{}", a.listen);
        for (machine, name) in cluster.machines[1..].iter().zip(["b", "c"]) {
            let token = a.does(&["token", "create", "--allow", "join,code"])?;
            let token = token.split_whitespace().find(|word| word.len() > 40).ok_or("no token was made")?;
            machine.does(&["join", &at, token, "--name", name, "--listen", &machine.listen])?;
        }
        Ok(cluster)
    }

    fn connect(&self) -> Result<Lab, String> {
        let address: SpaceAddress =
            self.machines[0].address().parse().map_err(|error: quintet::Error| error.to_string())?;
        Lab::connect(address, 0, LEASE).map_err(|error| error.to_string())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for machine in &self.machines {
            if let Err(text) = machine.does(&["down"]) {
                eprintln!("conformance: an agent may run on: {text}");
            }
        }
    }
}

impl Machine {
    fn new(quintet: &Path, number: u32) -> Result<Machine, String> {
        let home = TempDir::new().map_err(|error| error.to_string())?;
        let run = std::process::id() % 62_000;
        let listen = format!("127.{}.{}.{}:7400", 50 + number, run / 250, 1 + run % 250);
        Ok(Machine { quintet: quintet.to_owned(), home, listen })
    }

    fn address(&self) -> String {
        format!("quintet://{}", self.home.join("quintet/lab").display())
    }

    /// A command on it, and what it says.
    fn does(&self, words: &[&str]) -> Result<String, String> {
        let program = words.iter().fold(Program::new(&self.quintet), Program::arg);
        let homes = ["HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"];
        let program = homes.iter().fold(program, |program, name| program.env(name, self.home.path()));
        let program = ["QUINTET_IDENTITY", "QUINTET_SPACE"].iter().fold(program, Program::without);
        let mut child = program.spawn().map_err(|error| format!("{}: {error}", self.quintet.display()))?;
        let status = child.wait(LONG).map_err(|error| error.to_string())?;
        while child.output().next_line(LONG).is_some() {}
        let said = child.output().text();
        match status {
            Some(status) if status.success() => Ok(said),
            _ => Err(format!("quintet {}: {said}", words.join(" "))),
        }
    }
}

impl Placement for Cluster {
    fn name(&self) -> &str {
        "cluster"
    }

    fn cannot(&self, behaviour: &Behaviour) -> Option<String> {
        let reason = if behaviour.limits != Limits::default() {
            "a cluster's space is there already, with limits of its own"
        } else if behaviour.kills() {
            "over a network a killed client is noticed after the resume window"
        } else {
            return None;
        };
        Some(reason.to_owned())
    }

    fn begin(&mut self, _limits: &Limits) -> Result<Begun, String> {
        let addresses = self.machines.iter().map(Machine::address).collect();
        Begun::at(addresses, self.connect()?)
    }

    fn end(&mut self, begun: Begun) -> Result<(), String> {
        emptied(begun)
    }
}
