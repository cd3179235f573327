//! A space in another process, and this process's connection to it.

use super::super::case::Round;
use crate::companion::Companion;
use crate::connection::refused;
use crate::pinning::{Pin, allowed};
use quintet::{Code, Error, Lab, Space};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

const LEASE: Duration = Duration::from_secs(10);

/// A space served by a child on the second processor.
pub(in crate::bench) struct Served {
    pub(super) socket: PathBuf,
    /// Ended when dropped.
    server: Companion,
    /// Removed when dropped.
    _folder: TempDir,
}

impl Served {
    /// Starts it.
    ///
    /// # Errors
    /// The system refused, or the server did not come.
    pub(in crate::bench) fn start() -> Result<Served, Error> {
        let folder =
            tempfile::Builder::new().prefix("quintet-").tempdir().map_err(refused("make a folder"))?;
        let socket = folder.path().join("space");
        // A child stays where its parent was when it was started.
        let there = allowed()?.get(1).copied().map(Pin::to).transpose()?;
        let server = serve(&socket)?;
        drop(there);
        Ok(Served { socket, server, _folder: folder })
    }

    pub(in crate::bench) fn connect(&self) -> Result<Space, Error> {
        Ok(Lab::connect(&self.socket, 0, LEASE)?.space())
    }

    /// Where it is.
    pub(in crate::bench) fn socket(&self) -> &Path {
        &self.socket
    }

    /// The process that serves it.
    pub(in crate::bench) fn process(&self) -> u32 {
        self.server.process()
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

fn serve(socket: &Path) -> Result<Companion, Error> {
    let arguments = ["serve".into(), "--cluster".into(), "0".into(), "--listen".into(), socket.into()];
    let mut server = Companion::start(arguments)?;
    let mut line = String::new();
    if let Some(output) = server.output() {
        BufReader::new(output).read_line(&mut line).map_err(refused("hear from the server"))?;
    }
    if line.is_empty() {
        return Err(Error::new(Code::PeerDied, "the server did not start"));
    }
    Ok(server)
}
