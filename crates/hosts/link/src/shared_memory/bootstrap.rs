//! How two processes come to share memory: one listens on a Unix socket, the other connects to it.

use super::closing::PeerSocket;
use super::handshake::{give, join, receive, refuse};
use super::pending::{Pending, Ready};
use crate::socket_file::{SocketFile, UnixPlace, check_user};
use crate::spare::Spare;
use crate::{BootstrapError, End, LinkAddress, Listener, NotAccepted};
use core::time::Duration;
use quintet_errors::Code;
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// How long a connection may say nothing, unless told otherwise.
const SILENCE_LIMIT: Duration = Duration::from_secs(5);
/// How long a connector waits for the listener's answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);

/// Waits for processes of the same user that want to share memory.
#[derive(Debug)]
pub struct SharedMemoryListener {
    path: PathBuf,
    socket: OwnedFd,
    pending: Pending,
    /// To tell somebody when this process may have no more descriptors.
    spare: Spare,
    /// Removes the socket's file at the end.
    file: SocketFile,
}

impl SharedMemoryListener {
    /// Listens at `path`, for this user only. A socket's file that a dead process left behind is replaced.
    ///
    /// # Errors
    /// [`BootstrapError::PathTooLong`], [`BootstrapError::InUse`], [`BootstrapError::Locked`], [`BootstrapError::NotASocket`],
    /// [`BootstrapError::NotAllowed`], [`BootstrapError::System`].
    pub fn bind(path: impl AsRef<Path>) -> Result<Self, BootstrapError> {
        let path = path.as_ref();
        let (socket, file) = SocketFile::listen(UnixPlace::shared_memory(path))?;
        let pending = Pending::new(socket.as_fd(), SILENCE_LIMIT)
            .map_err(|(doing, errno)| BootstrapError::system(path, doing, errno))?;
        let (path, spare) = (path.to_owned(), Spare::of(&socket));
        Ok(SharedMemoryListener { path, socket, pending, spare, file })
    }

    /// Drops connections that say nothing for so long, instead of five seconds: those accepted from here on.
    pub fn set_silence_limit(&mut self, limit: Duration) {
        self.pending.set_limit(limit);
    }

    /// The next connection that is complete, if there is one. Never waits; call it until it says `None` whenever
    /// [`SharedMemoryListener::as_fd`] is readable.
    ///
    /// # Errors
    /// Why one connection was not made; the listener is as good as before.
    pub fn accept(&mut self) -> Result<Option<End>, BootstrapError> {
        while let Some(ready) = self.pending.next_ready() {
            match ready {
                Ready::Connection => self.admit()?,
                Ready::Silence => self.drop_silent()?,
                Ready::Spoken(key) => {
                    if let Some(end) = self.hear(key)? {
                        return Ok(Some(end));
                    }
                }
            }
            self.is_full()?;
        }
        Ok(None)
    }

    /// The path of the socket.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes everybody who connects and is allowed to, as long as there are places.
    fn admit(&mut self) -> Result<(), BootstrapError> {
        while !self.is_full()? {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let socket = match accept_with(&self.socket, flags) {
                Ok(socket) => PeerSocket::from(socket),
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR | Errno::CONNABORTED) => continue,
                Err(errno @ (Errno::MFILE | Errno::NFILE)) => return self.turn_away(errno),
                Err(errno) => return Err(self.refused("accept a connection", errno)),
            };
            if let Err(error) = check_user(socket.as_fd(), self.file.address()) {
                refuse(socket.as_fd(), error.code());
                return Err(error);
            }
            self.pending.add(socket).map_err(|errno| self.refused("watch a socket", errno))?;
        }
        Ok(())
    }

    /// Whether nobody can be taken. Whoever connects then waits in the kernel's queue.
    fn is_full(&mut self) -> Result<bool, BootstrapError> {
        let is_full = self.pending.is_full(self.socket.as_fd());
        is_full.map_err(|errno| self.refused("watch the socket", errno))
    }

    /// What the connection of this key came to; nothing if it has not spoken after all.
    fn hear(&mut self, key: u64) -> Result<Option<End>, BootstrapError> {
        let offer = match self.pending.get(key).map(|socket| receive(socket, &self.path)) {
            None | Some(Ok(None)) => return Ok(None),
            Some(Ok(Some(offer))) => Ok(offer),
            Some(Err(error)) => Err(error),
        };
        let Some(socket) = self.pending.take(key) else { return Ok(None) };
        self.is_full()?;
        offer
            .and_then(|offer| Ok((give(socket.as_fd(), &self.path)?, offer)))
            .inspect_err(|error| refuse(socket.as_fd(), error.code()))
            .and_then(|(given, offer)| join(given, offer, socket, &self.path))
            .map(Some)
    }

    /// Drops those that were silent for too long, and tells them why.
    fn drop_silent(&mut self) -> Result<(), BootstrapError> {
        while let Some(socket) =
            self.pending.take_silent().map_err(|errno| self.refused("set a timer", errno))?
        {
            refuse(socket.as_fd(), Code::PeerSilent);
        }
        Ok(())
    }

    fn refused(&self, doing: &'static str, errno: Errno) -> BootstrapError {
        BootstrapError::system(&*self.path, doing, errno)
    }

    /// There is no descriptor for who connects, if anybody does: tells one of them.
    fn turn_away(&mut self, errno: Errno) -> Result<(), BootstrapError> {
        let turned_away = self.spare.turn_away(&self.socket);
        let turned_away = turned_away.map_err(|errno| self.refused("accept a connection", errno))?;
        let Some(turned_away) = turned_away else { return Ok(()) };
        let turned_away = PeerSocket::from(turned_away);
        refuse(turned_away.as_fd(), Code::Resource);
        drop(turned_away);
        self.spare.renew(&self.socket);
        Err(BootstrapError::system(&self.path, "accept a connection", errno))
    }
}

/// Readable when [`SharedMemoryListener::accept`] has something to do.
impl AsFd for SharedMemoryListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pending.fd()
    }
}

impl Listener for SharedMemoryListener {
    fn accept(&mut self) -> Result<Option<End>, NotAccepted> {
        Ok(SharedMemoryListener::accept(self)?)
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.as_fd()
    }

    fn address(&self) -> LinkAddress {
        self.file.address().clone()
    }
}

/// Connects to the process that listens at `path`. Waits for its answer, at most five seconds.
///
/// # Errors
/// [`BootstrapError`].
pub fn shared_memory_connect(path: impl AsRef<Path>) -> Result<End, BootstrapError> {
    crate::connect(&path.as_ref().into(), ANSWER_LIMIT)
}
