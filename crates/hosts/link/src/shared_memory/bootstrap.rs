//! How two processes come to share memory: one listens on a Unix socket, the other connects to it.

use super::closing::PeerSocket;
use super::handshake::{give, join, receive, refuse};
use crate::socket_file::{SocketFile, UnixPlace, check_user};
use crate::spare::Spare;
use crate::{BootstrapError, End, LinkAddress, Listener};
use core::time::Duration;
use quintet_errors::Code;
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with};
use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Connections that were accepted and have not spoken. Beyond it the oldest is dropped.
const MAX_PENDING: usize = 64;
/// How long a connector waits for the listener's answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);

/// Waits for processes of the same user that want to share memory.
#[derive(Debug)]
pub struct SharedMemoryListener {
    path: PathBuf,
    socket: OwnedFd,
    /// Readable when [`SharedMemoryListener::accept`] has something to do.
    epoll: OwnedFd,
    pending: VecDeque<PeerSocket>,
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
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)
            .map_err(|errno| BootstrapError::system(path, "create an epoll descriptor", errno))?;
        let (path, spare) = (path.to_owned(), Spare::of(&socket));
        let pending = VecDeque::new();
        let listener = SharedMemoryListener { path, socket, epoll, pending, spare, file };
        listener.watch(listener.socket.as_fd())?;
        Ok(listener)
    }

    /// The next connection that is complete, if there is one. Never waits; call it until it says `None` whenever
    /// [`SharedMemoryListener::as_fd`] is readable.
    ///
    /// # Errors
    /// Why one connection was not made; the listener is as good as before.
    pub fn accept(&mut self) -> Result<Option<End>, BootstrapError> {
        self.admit()?;
        for _ in 0..self.pending.len() {
            let Some(socket) = self.pending.pop_front() else { break };
            match receive(socket.as_fd(), &self.path) {
                Ok(None) => self.pending.push_back(socket),
                Ok(Some(offer)) => {
                    self.forget(&socket)?;
                    let given = give(socket.as_fd(), &self.path)
                        .inspect_err(|error| refuse(socket.as_fd(), error.code()))?;
                    return join(given, offer, &self.path).map(Some);
                }
                Err(error) => {
                    refuse(socket.as_fd(), error.code());
                    return Err(error);
                }
            }
        }
        Ok(None)
    }

    /// The path of the socket.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes everybody who knocks and is allowed to.
    fn admit(&mut self) -> Result<(), BootstrapError> {
        loop {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let socket = match accept_with(&self.socket, flags) {
                Ok(socket) => PeerSocket::from(socket),
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR | Errno::CONNABORTED) => continue,
                Err(errno @ (Errno::MFILE | Errno::NFILE)) => return self.turn_away(errno),
                Err(errno) => return Err(BootstrapError::system(&self.path, "accept a connection", errno)),
            };
            if let Err(error) = check_user(socket.as_fd(), self.file.address()) {
                refuse(socket.as_fd(), error.code());
                return Err(error);
            }
            self.watch(socket.as_fd())?;
            if self.pending.len() == MAX_PENDING {
                self.pending.pop_front();
            }
            self.pending.push_back(socket);
        }
    }

    /// There is no descriptor for who knocks, if anybody does: tells one of them.
    fn turn_away(&mut self, errno: Errno) -> Result<(), BootstrapError> {
        let Some(turned_away) = self.spare.turn_away(&self.socket) else { return Ok(()) };
        let turned_away = PeerSocket::from(turned_away);
        refuse(turned_away.as_fd(), Code::Resource);
        drop(turned_away);
        self.spare.renew(&self.socket);
        Err(BootstrapError::system(&self.path, "accept a connection", errno))
    }

    fn watch(&self, socket: BorrowedFd<'_>) -> Result<(), BootstrapError> {
        epoll::add(&self.epoll, socket, epoll::EventData::new_u64(0), epoll::EventFlags::IN)
            .map_err(|errno| BootstrapError::system(&self.path, "watch a socket", errno))
    }

    fn forget(&self, socket: &PeerSocket) -> Result<(), BootstrapError> {
        epoll::delete(&self.epoll, socket)
            .map_err(|errno| BootstrapError::system(&self.path, "unwatch a socket", errno))
    }
}

/// Readable when [`SharedMemoryListener::accept`] has something to do.
impl AsFd for SharedMemoryListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

impl Listener for SharedMemoryListener {
    fn accept(&mut self) -> Result<Option<End>, BootstrapError> {
        SharedMemoryListener::accept(self)
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
