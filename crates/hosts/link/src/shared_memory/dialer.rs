//! The side that connects, while the connection is being made.

use super::closing::PeerSocket;
use super::handshake::{Given, Offer, give, join, receive};
use crate::connecting::Connecting;
use crate::socket_file::UnixPlace;
use crate::{BootstrapError, Dialer, End};
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

/// A connection over shared memory that is being made.
pub struct SharedMemoryDialer {
    path: PathBuf,
    connecting: Connecting,
    /// What the listener was given, once the socket was connected.
    given: Option<Given>,
    /// The connection was made, and is not this dialer's any more.
    is_made: bool,
}

impl SharedMemoryDialer {
    /// Begins to connect to the process that listens at `path`, and does not wait.
    ///
    /// # Errors
    /// [`BootstrapError`].
    pub fn begin(path: impl AsRef<Path>) -> Result<Self, BootstrapError> {
        let path = path.as_ref().to_owned();
        let connecting = Connecting::begin(UnixPlace::shared_memory(&path))?;
        let mut dialer = SharedMemoryDialer { path, connecting, given: None, is_made: false };
        dialer.hear()?;
        Ok(dialer)
    }

    /// Gives what is to be given, once, and takes what came.
    fn hear(&mut self) -> Result<Option<Offer>, BootstrapError> {
        let path = &self.path;
        let Some(socket) = self.connecting.connected()? else { return Ok(None) };
        if self.given.is_none() {
            // Whoever was turned away finds that it cannot send, and then reads why.
            let given = give(socket, path).map_err(|error| receive(socket, path).err().unwrap_or(error))?;
            self.given = Some(given);
            return Ok(None);
        }
        receive(socket, path)
    }
}

impl Dialer for SharedMemoryDialer {
    fn finish(&mut self) -> Result<Option<End>, BootstrapError> {
        if self.is_made {
            return Ok(None);
        }
        let Some(offer) = self.hear()? else { return Ok(None) };
        let Some(given) = self.given.take() else { return Ok(None) };
        let Some(socket) = self.connecting.take_socket() else { return Ok(None) };
        self.is_made = true;
        join(given, offer, socket.into(), &self.path).map(Some)
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.connecting.fd()
    }
}

impl Drop for SharedMemoryDialer {
    fn drop(&mut self) {
        // Nobody waits for what the listener may have sent beside its offer.
        drop(self.connecting.take_socket().map(PeerSocket::from));
    }
}
