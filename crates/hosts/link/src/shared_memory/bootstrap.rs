//! How two processes come to share memory: one listens on a Unix socket, the other connects to it.

use crate::BootstrapError;
use super::handshake::{check_user, give, join, receive, refuse};
use super::path_lock::PathLock;
use crate::{End, Maker};
use core::time::Duration;
use quintet_errors::Code;
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::fs::{FileType, Mode, fchmod, lstat, stat};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect, listen, socket_with,
};
use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Connections that were accepted and have not spoken. Beyond it the oldest is dropped.
const MAX_PENDING: usize = 64;
/// Connections the kernel keeps until they are accepted.
const BACKLOG: i32 = 64;
/// How long a connector waits for the listener's answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);

/// Waits for processes of the same user that want to share memory.
#[derive(Debug)]
pub struct SharedMemoryListener {
    path: PathBuf,
    socket: OwnedFd,
    /// Readable when [`SharedMemoryListener::accept`] has something to do.
    epoll: OwnedFd,
    pending: VecDeque<OwnedFd>,
    /// Makes room to take a connection when this process may have no more descriptors.
    spare: Option<OwnedFd>,
    /// A process forked from the maker must leave the socket's file alone.
    maker: Maker,
    /// Device and inode of the socket's file, so that only this one is removed.
    file: (u64, u64),
}

fn new_socket(path: &Path) -> Result<(OwnedFd, SocketAddrUnix), BootstrapError> {
    let address = SocketAddrUnix::new(path).map_err(|errno| match errno {
        Errno::NAMETOOLONG => BootstrapError::PathTooLong { address: path.into() },
        errno => BootstrapError::system(path, "use it as a socket's address", errno),
    })?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
        .map_err(|errno| BootstrapError::system(path, "create a socket", errno))?;
    Ok((socket, address))
}

/// What the file at `path` is.
fn identity(path: &Path) -> Result<(u64, u64), BootstrapError> {
    let status =
        stat(path).map_err(|errno| BootstrapError::system(path, "examine the socket's file", errno))?;
    Ok((status.st_dev, status.st_ino))
}

impl SharedMemoryListener {
    /// Listens at `path`, for this user only. A socket's file that a dead process left behind is replaced.
    ///
    /// # Errors
    /// [`BootstrapError::PathTooLong`], [`BootstrapError::InUse`], [`BootstrapError::NotASocket`],
    /// [`BootstrapError::NotAllowed`], [`BootstrapError::System`].
    pub fn bind(path: impl AsRef<Path>) -> Result<Self, BootstrapError> {
        let path = path.as_ref();
        let (socket, address) = new_socket(path)?;
        // Before the bind, so that the file is never open to others.
        fchmod(&socket, Mode::RUSR | Mode::WUSR)
            .map_err(|errno| BootstrapError::system(path, "restrict the socket", errno))?;
        let maker = Maker::this_process()
            .map_err(|errno| BootstrapError::system(path, "map a page that a fork wipes", errno))?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)
            .map_err(|errno| BootstrapError::system(path, "create an epoll descriptor", errno))?;
        let file = listen_at(&socket, &address, path)?;
        let (path, spare) = (path.to_owned(), spare(&socket));
        let pending = VecDeque::new();
        let listener = SharedMemoryListener { path, socket, epoll, pending, spare, maker, file };
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
                    return join(socket, given, offer, &self.path).map(Some);
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
                Ok(socket) => socket,
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR | Errno::CONNABORTED) => continue,
                Err(errno @ (Errno::MFILE | Errno::NFILE)) => return self.turn_away(errno),
                Err(errno) => return Err(BootstrapError::system(&self.path, "accept a connection", errno)),
            };
            if let Err(error) = check_user(socket.as_fd(), &self.path) {
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

    /// There is no descriptor for who knocks, if anybody does: tells one of them. Left alone they would keep the listener
    /// ready for ever.
    fn turn_away(&mut self, errno: Errno) -> Result<(), BootstrapError> {
        drop(self.spare.take());
        let turned_away = accept_with(&self.socket, SocketFlags::CLOEXEC)
            .map(|socket| refuse(socket.as_fd(), Code::Resource));
        self.spare = spare(&self.socket);
        match turned_away {
            Ok(()) => Err(BootstrapError::system(&self.path, "accept a connection", errno)),
            Err(_) => Ok(()),
        }
    }

    fn watch(&self, socket: BorrowedFd<'_>) -> Result<(), BootstrapError> {
        epoll::add(&self.epoll, socket, epoll::EventData::new_u64(0), epoll::EventFlags::IN)
            .map_err(|errno| BootstrapError::system(&self.path, "watch a socket", errno))
    }

    fn forget(&self, socket: &OwnedFd) -> Result<(), BootstrapError> {
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

impl Drop for SharedMemoryListener {
    fn drop(&mut self) {
        if !self.maker.is_this_process() {
            return;
        }
        // If it cannot be removed, the next listener replaces it.
        let Ok(_lock) = PathLock::take(&self.path) else { return };
        if identity(&self.path).is_ok_and(|file| file == self.file) {
            let _ = rustix::fs::unlink(&self.path);
        }
    }
}

/// A descriptor of no other use, if there is one.
fn spare(socket: &OwnedFd) -> Option<OwnedFd> {
    fcntl_dupfd_cloexec(socket, 0).ok()
}

/// Listens at `path`, and says what its file is. Nobody else binds or removes a socket there meanwhile.
fn listen_at(socket: &OwnedFd, address: &SocketAddrUnix, path: &Path) -> Result<(u64, u64), BootstrapError> {
    let _lock = PathLock::take(path)?;
    bind_over_stale(socket, address, path)?;
    listen(socket, BACKLOG).map_err(|errno| BootstrapError::system(path, "listen", errno))?;
    identity(path)
}

/// Binds; where the file exists and nobody listens behind it, replaces it.
fn bind_over_stale(socket: &OwnedFd, address: &SocketAddrUnix, path: &Path) -> Result<(), BootstrapError> {
    match bind(socket, address) {
        Err(Errno::ADDRINUSE) => {}
        other => return other.map_err(|errno| BootstrapError::system(path, "bind the socket", errno)),
    }
    let there = lstat(path).map_err(|errno| BootstrapError::system(path, "examine what is there", errno))?;
    if !FileType::from_raw_mode(there.st_mode).is_socket() {
        return Err(BootstrapError::NotASocket { address: path.into() });
    }
    let (probe, _) = new_socket(path)?;
    match connect(&probe, address) {
        Err(Errno::CONNREFUSED) => {}
        Ok(()) | Err(Errno::AGAIN | Errno::PROTOTYPE) => {
            return Err(BootstrapError::InUse { address: path.into() });
        }
        Err(errno) => return Err(BootstrapError::system(path, "find out who listens there", errno)),
    }
    rustix::fs::unlink(path)
        .map_err(|errno| BootstrapError::system(path, "remove a dead process's socket", errno))?;
    bind(socket, address).map_err(|errno| BootstrapError::system(path, "bind the socket", errno))
}

/// Connects to the process that listens at `path`. Waits for its answer, at most five seconds.
///
/// # Errors
/// [`BootstrapError`].
pub fn shared_memory_connect(path: impl AsRef<Path>) -> Result<End, BootstrapError> {
    let path = path.as_ref();
    let (socket, address) = new_socket(path)?;
    connect(&socket, &address).map_err(|errno| match errno {
        Errno::NOENT | Errno::CONNREFUSED => BootstrapError::NobodyListens { address: path.into() },
        Errno::AGAIN => BootstrapError::Silent { address: path.into(), waited: Duration::ZERO },
        errno => BootstrapError::system(path, "connect", errno),
    })?;
    check_user(socket.as_fd(), path)?;
    // Whoever was turned away finds that it cannot send, and then reads why.
    let given =
        give(socket.as_fd(), path).map_err(|error| receive(socket.as_fd(), path).err().unwrap_or(error))?;
    wait_for_answer(socket.as_fd(), path)?;
    match receive(socket.as_fd(), path)? {
        Some(offer) => join(socket, given, offer, path),
        None => Err(BootstrapError::Silent { address: path.into(), waited: ANSWER_LIMIT }),
    }
}

fn wait_for_answer(socket: BorrowedFd<'_>, path: &Path) -> Result<(), BootstrapError> {
    let mut fds = [PollFd::from_borrowed_fd(socket, PollFlags::IN)];
    within(ANSWER_LIMIT, |left| poll(&mut fds, Some(left)))
        .map(|_| ())
        .map_err(|errno| BootstrapError::system(path, "wait for the answer", errno))
}

/// Calls again what a signal interrupts, for no longer than `limit` in all.
fn within<T>(limit: Duration, mut call: impl FnMut(&Timespec) -> Result<T, Errno>) -> Result<T, Errno> {
    let started = Instant::now();
    loop {
        let left = limit.saturating_sub(started.elapsed());
        match call(&Timespec::try_from(left).expect("some seconds fit")) {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_do_not_prolong_a_wait() {
        let mut lefts = Vec::new();
        let waited = within(ANSWER_LIMIT, |left| {
            lefts.push(*left);
            let began = Instant::now();
            while Instant::now() == began {}
            if lefts.len() < 5 { Err(Errno::INTR) } else { Ok(()) }
        });
        assert_eq!(waited, Ok(()));
        assert!(lefts.is_sorted_by(|before, after| before > after), "{lefts:?}");
    }
}
