//! A Unix socket that listens at a path, for this user only, and the file that stands for it there.

use crate::path_lock::PathLock;
use crate::socket_peer::SocketPeer;
use crate::{BootstrapError, LinkAddress, Maker};
use rustix::fs::{FileType, Mode, OFlags, fchmod, lstat, open, stat};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with,
};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Connections the kernel keeps until they are accepted: as many as the system allows (`net.core.somaxconn`).
pub(crate) const BACKLOG: i32 = i32::MAX;

/// Where a socket is bound, or connected to.
#[derive(Debug)]
pub(crate) struct SocketAt {
    pub(crate) address: SocketAddrUnix,
    /// Open as long as the address names the file by it.
    _folder: Option<OwnedFd>,
}

impl SocketAt {
    /// The path; or, where that is longer than a socket's address may be, its file in its folder, as this process has that open.
    ///
    /// # Errors
    /// What the system says of the path. [`Errno::NAMETOOLONG`] also where such a folder cannot be opened.
    fn path(path: &Path) -> Result<SocketAt, Errno> {
        match SocketAddrUnix::new(path) {
            Err(Errno::NAMETOOLONG) => {}
            made => return made.map(|address| SocketAt { address, _folder: None }),
        }
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(Errno::NAMETOOLONG);
        };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = open(folder, flags, Mode::empty()).map_err(|_| Errno::NAMETOOLONG)?;
        let short = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name);
        Ok(SocketAt { address: SocketAddrUnix::new(short)?, _folder: Some(folder) })
    }
}

/// What a socket is made for.
#[derive(Clone, Debug)]
pub(crate) struct UnixPlace {
    /// What errors name.
    pub(crate) address: LinkAddress,
    pub(crate) path: PathBuf,
    pub(crate) kind: SocketType,
}

impl UnixPlace {
    /// Where processes that want to share memory find each other.
    pub(crate) fn shared_memory(path: &Path) -> Self {
        UnixPlace { address: path.into(), path: path.to_owned(), kind: SocketType::SEQPACKET }
    }

    /// Where a stream socket listens.
    pub(crate) fn stream(path: &Path) -> Self {
        let address = LinkAddress::Unix(path.to_owned());
        UnixPlace { address, path: path.to_owned(), kind: SocketType::STREAM }
    }

    /// A socket that never blocks, and where it is to be bound or connected.
    ///
    /// # Errors
    /// [`BootstrapError::PathTooLong`], [`BootstrapError::System`].
    pub(crate) fn new_socket(&self) -> Result<(OwnedFd, SocketAt), BootstrapError> {
        let at = SocketAt::path(&self.path).map_err(|errno| match errno {
            Errno::NAMETOOLONG => BootstrapError::PathTooLong { address: self.address.clone() },
            errno => self.refused("use it as a socket's address", errno),
        })?;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, self.kind, flags, None)
            .map_err(|errno| self.refused("create a socket", errno))?;
        Ok((socket, at))
    }

    fn refused(&self, doing: &'static str, errno: Errno) -> BootstrapError {
        BootstrapError::system(&self.address, doing, errno)
    }

    /// What the file at the path is.
    fn identity(&self) -> Result<(u64, u64), BootstrapError> {
        let status = stat(&self.path).map_err(|errno| self.refused("examine the socket's file", errno))?;
        Ok((status.st_dev, status.st_ino))
    }

    /// Binds; where the file exists and nobody listens behind it, replaces it.
    fn bind_over_stale(&self, socket: &OwnedFd, at: &SocketAt) -> Result<(), BootstrapError> {
        match bind(socket, &at.address) {
            Err(Errno::ADDRINUSE) => {}
            other => return other.map_err(|errno| self.refused("bind the socket", errno)),
        }
        let there = lstat(&self.path).map_err(|errno| self.refused("examine what is there", errno))?;
        if !FileType::from_raw_mode(there.st_mode).is_socket() {
            return Err(BootstrapError::NotASocket { address: self.address.clone() });
        }
        let (probe, _) = self.new_socket()?;
        match connect(&probe, &at.address) {
            Err(Errno::CONNREFUSED) => {}
            Ok(()) | Err(Errno::AGAIN | Errno::PROTOTYPE) => {
                return Err(BootstrapError::InUse { address: self.address.clone() });
            }
            Err(errno) => return Err(self.refused("find out who listens there", errno)),
        }
        rustix::fs::unlink(&self.path)
            .map_err(|errno| self.refused("remove a dead process's socket", errno))?;
        bind(socket, &at.address).map_err(|errno| self.refused("bind the socket", errno))
    }
}

/// The file of a socket that listens. Its maker removes it when it is dropped.
#[derive(Debug)]
pub(crate) struct SocketFile {
    place: UnixPlace,
    /// Device and inode of the socket's file, so that only this one is removed.
    identity: (u64, u64),
    /// A process forked from the maker must leave the socket's file alone.
    maker: Maker,
}

impl SocketFile {
    /// Listens there. A socket's file that a dead process left behind is replaced. Nobody else binds or removes a socket
    /// there meanwhile.
    ///
    /// # Errors
    /// [`BootstrapError::PathTooLong`], [`BootstrapError::InUse`], [`BootstrapError::NotASocket`],
    /// [`BootstrapError::NotAllowed`], [`BootstrapError::System`].
    pub(crate) fn listen(place: UnixPlace) -> Result<(OwnedFd, SocketFile), BootstrapError> {
        let (socket, at) = place.new_socket()?;
        // Before the bind, so that the file is never open to others.
        fchmod(&socket, Mode::RUSR | Mode::WUSR)
            .map_err(|errno| place.refused("restrict the socket", errno))?;
        let maker =
            Maker::this_process().map_err(|errno| place.refused("map a page that a fork wipes", errno))?;
        let _lock = PathLock::take(&place.path, &place.address)?;
        place.bind_over_stale(&socket, &at)?;
        listen(&socket, BACKLOG).map_err(|errno| place.refused("listen", errno))?;
        let identity = place.identity()?;
        Ok((socket, SocketFile { place, identity, maker }))
    }

    /// Where.
    pub(crate) fn path(&self) -> &Path {
        &self.place.path
    }

    /// Where, as a link's address.
    pub(crate) fn address(&self) -> &LinkAddress {
        &self.place.address
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if !self.maker.is_this_process() {
            return;
        }
        // If it cannot be removed, the next listener replaces it.
        let Ok(_lock) = PathLock::take(self.path(), self.address()) else { return };
        if self.place.identity().is_ok_and(|identity| identity == self.identity) {
            let _ = rustix::fs::unlink(self.path());
        }
    }
}

/// Checks that the other side of a Unix socket runs as this user.
///
/// # Errors
/// [`BootstrapError::OtherUser`], [`BootstrapError::System`].
pub(crate) fn check_user(socket: BorrowedFd<'_>, address: &LinkAddress) -> Result<(), BootstrapError> {
    let peer = SocketPeer::of(socket)
        .map_err(|errno| BootstrapError::system(address, "ask who the peer is", errno))?;
    let (theirs, ours) = (peer.user, rustix::process::geteuid().as_raw());
    if theirs == ours {
        Ok(())
    } else {
        Err(BootstrapError::OtherUser { address: address.clone(), theirs, ours })
    }
}
