//! The conversation on a bootstrap socket after it is connected: see `hello.rs` for what is said.

use super::closing::{PeerSocket, close_elsewhere};
use super::connection::{Parts, end};
use super::descriptors;
use super::hello::{HELLO_BYTES, Hello, HelloError, VERSION};
use super::memory::{OwnMemory, PeerMemory, PeerMemoryError};
use super::wake_socket::{PeerWaker, WakeSocket};
use crate::BootstrapError;
use crate::{End, Maker};
use quintet_errors::Code;
use quintet_wire::encode_to_vec;
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// Descriptors in one hello.
const DESCRIPTORS: usize = 2;

/// What a peer gave.
pub(super) struct Offer {
    memory: PeerMemory,
    waker: PeerWaker,
}

/// What this process gave.
pub(super) struct Given {
    memory: OwnMemory,
    wake: WakeSocket,
    maker: Maker,
}

/// Makes this side's memory and wake socket, and sends what the peer needs of them.
pub(super) fn give(socket: BorrowedFd<'_>, path: &Path) -> Result<Given, BootstrapError> {
    let (memory, fd) =
        OwnMemory::create().map_err(|(doing, errno)| BootstrapError::system(path, doing, errno))?;
    let (wake, waker) = WakeSocket::pair()
        .map_err(|errno| BootstrapError::system(path, "create a pair of sockets", errno))?;
    let maker = Maker::this_process()
        .map_err(|errno| BootstrapError::system(path, "map a page that a fork wipes", errno))?;
    say(socket, Hello::OURS, &[fd.as_fd(), waker.as_fd()]).map_err(|errno| match errno {
        Errno::PIPE | Errno::CONNRESET | Errno::NOTCONN => BootstrapError::Left { address: path.into() },
        errno => BootstrapError::system(path, "send on the bootstrap socket", errno),
    })?;
    Ok(Given { memory, wake, maker })
}

/// Tells a peer that it is not taken. Whether that arrives matters to nobody.
pub(super) fn refuse(socket: BorrowedFd<'_>, code: Code) {
    let _ = say(socket, Hello::refusing(code), &[]);
}

fn say(socket: BorrowedFd<'_>, hello: Hello, fds: &[BorrowedFd<'_>]) -> Result<(), Errno> {
    descriptors::say(socket, &encode_to_vec(&hello), fds)
}

/// Receives what the peer gives; `None` if it has not spoken yet. Nothing is mapped before it was checked.
pub(super) fn receive(socket: BorrowedFd<'_>, path: &Path) -> Result<Option<Offer>, BootstrapError> {
    let mut bytes = [0; HELLO_BYTES + 1];
    let message = match descriptors::hear(socket, &mut bytes) {
        Err(Errno::AGAIN | Errno::INTR) => return Ok(None),
        Err(Errno::CONNRESET) => return Err(BootstrapError::Left { address: path.into() }),
        Err(errno) => return Err(BootstrapError::system(path, "receive on the bootstrap socket", errno)),
        Ok(message) => message,
    };
    if message.bytes == 0 {
        return Err(BootstrapError::Left { address: path.into() });
    }
    let is_short = message.is_short && message.fds.len() < DESCRIPTORS;
    let fds = message.fds;
    match Hello::check(&bytes[..message.bytes]) {
        Ok(()) if !is_short => accept_offer(fds, path).map(Some),
        checked => {
            close_elsewhere(fds);
            checked.map_err(|error| of_hello(error, path))?;
            let doing = "receive the peer's descriptors (`ulimit -n` may be too small: raise it)";
            Err(BootstrapError::system(path, doing, Errno::MFILE))
        }
    }
}

fn of_hello(error: HelloError, path: &Path) -> BootstrapError {
    let address = path.into();
    match error {
        HelloError::Refused(code) => BootstrapError::Refused { address, code },
        HelloError::Version(theirs) => BootstrapError::OtherVersion { address, theirs, ours: VERSION },
        HelloError::Malformed(what) => BootstrapError::Malformed { address, what },
    }
}

fn accept_offer(fds: Vec<OwnedFd>, path: &Path) -> Result<Offer, BootstrapError> {
    let malformed = |what: String| BootstrapError::Malformed { address: path.into(), what };
    let count = fds.len();
    let [memory, waker] = <[OwnedFd; DESCRIPTORS]>::try_from(fds).map_err(|fds| {
        close_elsewhere(fds);
        malformed(format!("{count} descriptors instead of {DESCRIPTORS}"))
    })?;
    let opened = PeerMemory::open(memory.as_fd());
    match (opened, PeerWaker::new(waker)) {
        (Ok(memory), Ok(waker)) => Ok(Offer { memory, waker }),
        (Err(error), waker) => {
            close_elsewhere([memory].into_iter().chain(waker.err().map(|(fd, _)| fd)).collect());
            Err(match error {
                PeerMemoryError::Untrusted(what) => malformed(what),
                PeerMemoryError::System(doing, errno) => BootstrapError::system(path, doing, errno),
            })
        }
        (Ok(_), Err((waker, what))) => {
            close_elsewhere(vec![waker]);
            Err(malformed(what))
        }
    }
}

/// The end made of what both sides gave.
pub(super) fn join(
    given: Given,
    offer: Offer,
    socket: PeerSocket,
    path: &Path,
) -> Result<End, BootstrapError> {
    let Given { memory: own, wake, maker } = given;
    end(Parts { own, peer: offer.memory, wake, peer_waker: offer.waker, socket, maker })
        .map_err(|errno| BootstrapError::system(path, "create an epoll descriptor or an eventfd", errno))
}
