//! Where the philosophers dine: all on this machine, or each on one of a cluster, whose agents start them. What a philosopher says, and how it is ended, is
//! the same wherever it is.

use super::side::IS_OVER;
use crate::commands::run::{Companions, There};
use crate::companion::Companion;
use crate::connection::{random, refused};
use quintet::{Error, Lab, LinkAddress, ServeConfig, Server, tuple};
use rustix::process::Signal;
use std::ffi::OsString;
use std::io::Read;
use std::time::Duration;
use tempfile::TempDir;

/// How long the space counts on a philosopher that it does not hear.
const LEASE: Duration = Duration::from_secs(10);

/// Where philosophers are started, and the space in which they find each other.
pub(super) struct Places {
    /// The machines of a cluster, and where all of them reach the space, if it is not this machine alone.
    machines: Option<(Companions, LinkAddress)>,
    lab: Lab,
    server: Server,
    /// Nobody else knows the number, so nobody else's process takes part.
    cluster: u128,
    /// That of the space, for this user alone.
    _folder: TempDir,
}

/// One philosopher's process.
pub(super) enum Seat {
    Here(Companion),
    There(There),
}

/// What a philosopher says.
type Output = Box<dyn Read + Send>;

impl Places {
    /// Serves the space, and connects to the agents of these machines, if any are named.
    ///
    /// # Errors
    /// The system refuses; or, as [`Companions::connect`], one of the machines.
    pub(super) fn prepare(
        names: &[String],
        philosophers: u16,
        is_for_a_program: bool,
    ) -> Result<Places, Error> {
        let machines = match names {
            [] => None,
            names => Some(Companions::connect(names, philosophers.into(), is_for_a_program)?),
        };
        let folder = tempfile::Builder::new().prefix("quintet-philosophers-").tempdir();
        let folder = folder.map_err(refused("make a folder"))?;
        let cluster = u128::from(random()) << 64 | u128::from(random());
        let mut listen = vec![LinkAddress::SharedMemory(folder.path().join("space"))];
        if let Some(machines) = &machines {
            listen.push(machines.listen()?);
        }
        let server = Server::start_at(&listen, &ServeConfig { cluster, ..ServeConfig::default() })?;
        let lab = Lab::connect(server.addresses()[0].clone(), cluster, LEASE)?;
        let machines = machines.map(|machines| {
            let reached = machines.reached_at(&server.addresses()[1]);
            (machines, reached)
        });
        Ok(Places { machines, lab, server, cluster, _folder: folder })
    }

    /// The machines of so many philosophers, in the order of their numbers, where they dine on several.
    pub(super) fn names(&self, philosophers: u16) -> Option<Vec<&str>> {
        let (machines, _) = self.machines.as_ref()?;
        Some((0..philosophers).map(|member| machines.name_of(member.into())).collect())
    }

    /// Starts a philosopher with these arguments, on its machine.
    ///
    /// # Errors
    /// That machine refuses, or is lost.
    pub(super) fn start(&self, member: u16, arguments: Vec<String>) -> Result<(Seat, Output), Error> {
        let mut environment = self.environment(&self.server.addresses()[0]);
        if let Some((machines, reached)) = &self.machines {
            let who = format!("philosopher {member}");
            let there = (member.into(), &who[..]);
            let started = machines.start(there, arguments.clone(), self.environment(reached))?;
            if let Some((there, said)) = started {
                return Ok((Seat::There(there), Box::new(said)));
            }
            environment.extend(machines.environment_here(reached));
        }
        let mut companion = Companion::start_in(arguments.into_iter().map(OsString::from), environment)?;
        let said = companion.output().expect("it is given once");
        Ok((Seat::Here(companion), Box::new(said)))
    }

    /// What a philosopher is told that reaches the space there.
    fn environment(&self, space: &LinkAddress) -> Vec<(&'static str, OsString)> {
        vec![
            ("QUINTET_SPACE", space.to_string().into()),
            ("QUINTET_CLUSTER", self.cluster.to_string().into()),
            ("QUINTET_LEASE_MS", LEASE.as_millis().to_string().into()),
        ]
    }

    /// Has all of them end.
    ///
    /// # Errors
    /// The space is lost.
    pub(super) fn end_dinner(&self) -> Result<(), Error> {
        self.lab.space().out(tuple![IS_OVER])
    }
}

impl Seat {
    /// Sends it a signal.
    ///
    /// # Errors
    /// It has ended, on this machine.
    pub(super) fn signal(&self, signal: Signal) -> Result<(), Error> {
        match self {
            Seat::Here(companion) => companion.signal(signal),
            Seat::There(there) => {
                there.signal(signal);
                Ok(())
            }
        }
    }
}
