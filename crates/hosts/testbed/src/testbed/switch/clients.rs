//! Who asks a switch over its socket: commands, and the program that made the testbed.

use super::super::TestbedError;
use super::super::request::MAX_REQUEST_BYTES;
use rustix::fd::{AsFd, BorrowedFd};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{Permissions, remove_file, set_permissions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

/// Clients at one time. Further ones wait.
const MAX_CLIENTS: usize = 16;

/// The socket and who came to it. Nobody can make the switch wait: who sends half a request is read on later, and who does not read its
/// answer is left.
pub(super) struct Clients {
    listener: UnixListener,
    clients: BTreeMap<u64, Client>,
    next: u64,
}

struct Client {
    stream: UnixStream,
    unread: Vec<u8>,
}

impl Clients {
    /// Listens at `path`, which only this user may connect to: so is the folder around it.
    ///
    /// # Errors
    /// The system refused.
    pub(super) fn listen(path: &Path) -> Result<Clients, TestbedError> {
        let listen = || {
            match remove_file(path) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let listener = UnixListener::bind(path)?;
            set_permissions(path, Permissions::from_mode(0o600))?;
            listener.set_nonblocking(true)?;
            Ok(listener)
        };
        let listener = listen().map_err(TestbedError::system(format!("listen at {}", path.display())))?;
        Ok(Clients { listener, clients: BTreeMap::new(), next: 0 })
    }

    /// What to watch.
    pub(super) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let listener = (self.clients.len() < MAX_CLIENTS).then(|| self.listener.as_fd());
        listener.into_iter().chain(self.clients.values().map(|client| client.stream.as_fd()))
    }

    /// Whole requests that came, each with the number of its client.
    pub(super) fn read(&mut self) -> Vec<(u64, Vec<u8>)> {
        self.accept();
        let mut asked = Vec::new();
        self.clients.retain(|number, client| {
            let stays = client.read();
            asked.extend(client.requests().into_iter().map(|request| (*number, request)));
            stays
        });
        asked
    }

    /// Answers a client. One that takes no answer is left.
    pub(super) fn answer(&mut self, number: u64, answer: &Value) {
        let Some(client) = self.clients.get_mut(&number) else { return };
        if client.stream.write_all(format!("{answer}\n").as_bytes()).is_err() {
            self.clients.remove(&number);
        }
    }

    fn accept(&mut self) {
        while self.clients.len() < MAX_CLIENTS
            && let Ok((stream, _)) = self.listener.accept()
        {
            if stream.set_nonblocking(true).is_ok() {
                self.clients.insert(self.next, Client { stream, unread: Vec::new() });
                self.next += 1;
            }
        }
    }
}

impl Client {
    /// Reads what has come. False if the client has left, or asks too long a thing.
    fn read(&mut self) -> bool {
        let mut piece = [0; 4096];
        while self.unread.len() <= MAX_REQUEST_BYTES {
            match self.stream.read(&mut piece) {
                Ok(0) => return false,
                Ok(length) => self.unread.extend_from_slice(&piece[..length]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
        }
        self.unread.contains(&b'\n')
    }

    /// The whole lines among what was read.
    fn requests(&mut self) -> Vec<Vec<u8>> {
        let Some(end) = self.unread.iter().rposition(|byte| *byte == b'\n') else { return Vec::new() };
        let rest = self.unread.split_off(end + 1);
        let lines = std::mem::replace(&mut self.unread, rest);
        lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect()
    }
}
