//! A space in another process, and this process's connection to it.

use super::super::case::Round;
use super::super::disk::folder_on_disk;
use super::super::link::{Over, identified};
use crate::companion::Companion;
use crate::connection::refused;
use crate::pinning::{Pin, allowed};
use quintet::{Code, Error, Lab, LinkAddress, Space};
use serde_json::Value;
use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::time::Duration;
use tempfile::TempDir;

const LEASE: Duration = Duration::from_secs(10);

/// A space served by a child on the second processor.
pub(in crate::bench) struct Served {
    address: LinkAddress,
    /// What serves it: one process, or one for each manager. Ended when dropped.
    servers: Vec<Companion>,
    /// Removed when dropped.
    folder: TempDir,
}

impl Served {
    /// Starts it in shared memory.
    ///
    /// # Errors
    /// The system refused, or the server did not come.
    pub(in crate::bench) fn start() -> Result<Served, Error> {
        Served::start_over(Over::Shm)
    }

    /// Starts it on such a link.
    ///
    /// # Errors
    /// The system refused, or the server did not come.
    pub(in crate::bench) fn start_over(over: Over) -> Result<Served, Error> {
        let folder =
            tempfile::Builder::new().prefix("quintet-").tempdir().map_err(refused("make a folder"))?;
        // A child stays where its parent was when it was started.
        let there = allowed()?.get(1).copied().map(Pin::to).transpose()?;
        let identity = over.identity(folder.path())?;
        let identity_set = identity.as_deref().map(|path| format!("--set=cluster.identity={path}").into());
        let (server, address) = serve(&over.address(folder.path()), identity_set)?;
        let address = identified(&address, identity.as_deref())?;
        drop(there);
        Ok(Served { address, servers: vec![server], folder })
    }

    /// Starts it in shared memory with so many managers, which are on whichever processors the system gives them.
    ///
    /// # Errors
    /// The system refused, or the server did not come.
    pub(in crate::bench) fn start_managers(managers: u8) -> Result<Served, Error> {
        let folder =
            tempfile::Builder::new().prefix("quintet-").tempdir().map_err(refused("make a folder"))?;
        let spread = (managers > 1).then(|| format!("--managers={managers}").into());
        let (server, address) = serve(&Over::Shm.address(folder.path()), spread)?;
        Ok(Served { address, servers: vec![server], folder })
    }

    /// Starts it in shared memory with so many managers, each a process of its own, on whichever processors the system gives them.
    ///
    /// # Errors
    /// The system refused, or a server did not come.
    pub(in crate::bench) fn start_partitioned(managers: u8) -> Result<Served, Error> {
        let folder =
            tempfile::Builder::new().prefix("quintet-").tempdir().map_err(refused("make a folder"))?;
        let place = |manager: u8| LinkAddress::SharedMemory(folder.path().join(manager.to_string()));
        let peers: Vec<String> = (1..=managers).map(|manager| place(manager).to_string()).collect();
        let start = |manager: u8| {
            let more = [format!("--manager={manager}").into(), format!("--peers={}", peers.join(",")).into()];
            serve(&place(manager), more)
        };
        let started = (1..=managers).map(start).collect::<Result<Vec<_>, _>>()?;
        let (servers, addresses): (_, Vec<_>) = started.into_iter().unzip();
        Ok(Served { address: addresses[0].clone(), servers, folder })
    }

    /// Starts it over a Unix socket with a log on the disk: all is synced there before it is answered.
    ///
    /// # Errors
    /// Temporary files lie in memory, the system refused, or the server did not come.
    pub(in crate::bench) fn start_logged() -> Result<Served, Error> {
        let folder = folder_on_disk()?;
        let there = allowed()?.get(1).copied().map(Pin::to).transpose()?;
        let log = ["--policy=logged".into(), "--log-dir".into(), folder.path().join("log").into()];
        let (server, address) = serve(&Over::Unix.address(folder.path()), log)?;
        drop(there);
        Ok(Served { address, servers: vec![server], folder })
    }

    /// Ends the server at once, as a crash does. Its folder, of which `log` is the log's.
    pub(in crate::bench) fn kill(self) -> TempDir {
        drop(self.servers);
        self.folder
    }

    pub(in crate::bench) fn connect(&self) -> Result<Space, Error> {
        Ok(Lab::connect(self.address.clone(), 0, LEASE)?.space())
    }

    /// Where it is.
    pub(in crate::bench) fn address(&self) -> &LinkAddress {
        &self.address
    }

    /// The process that serves it, or its first manager.
    pub(in crate::bench) fn process(&self) -> u32 {
        self.servers[0].process()
    }

    /// Rounds of `round`, which uses this space and goes before it does.
    pub(in crate::bench) fn rounds(self, round: impl FnMut() -> Result<f64, Error> + 'static) -> Round {
        // Dropped in this order.
        let mut both = (round, self);
        Box::new(move || {
            let (round, _) = &mut both;
            round()
        })
    }
}

/// Starts the server, told that too, and hears where it is: a port is the system's choice.
///
/// # Errors
/// The system refused, or the server did not come.
pub(super) fn serve(
    listen: &LinkAddress,
    more: impl IntoIterator<Item = OsString>,
) -> Result<(Companion, LinkAddress), Error> {
    let listen = listen.to_string().into();
    let arguments =
        ["serve".into(), "--cluster-id".into(), "0".into(), "--json".into(), "--listen".into(), listen];
    let mut server = Companion::start(arguments.into_iter().chain(more))?;
    let address = first_address_of(&mut server)?;
    Ok((server, address))
}

/// Where a server serves that was just started, once it does.
///
/// # Errors
/// It has ended instead.
pub(super) fn first_address_of(server: &mut Companion) -> Result<LinkAddress, Error> {
    let mut line = String::new();
    if let Some(output) = server.output() {
        BufReader::new(output).read_line(&mut line).map_err(refused("hear from the server"))?;
    }
    first_address(&line).ok_or_else(|| Error::new(Code::PeerDied, "the server did not start"))
}

/// The first of the addresses that a server says it has.
pub(in crate::bench) fn first_address(line: &str) -> Option<LinkAddress> {
    let said: Value = serde_json::from_str(line).ok()?;
    said["addresses"].get(0)?.as_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_says_where_it_is() {
        let line = r#"{"addresses": ["tcp:127.0.0.1:7400"], "cluster": "0", "process": 1}"#;
        assert_eq!(first_address(line), "tcp:127.0.0.1:7400".parse().ok());
        assert_eq!(first_address(r#"{"addresses": []}"#), None);
        assert_eq!(first_address(""), None);
    }
}
