//! Connecting over TCP without waiting: first for the host's addresses, then to each of them in turn.

use super::tcp::{begin_connect, resolve};
use crate::{BootstrapError, LinkAddress};
use core::net::{IpAddr, SocketAddr};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, epoll, eventfd, poll};
use rustix::io::Errno;
use rustix::net::sockopt::socket_error;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::mpsc;
use std::thread;

/// A socket that is being connected.
#[derive(Debug)]
pub(super) struct TcpConnecting {
    address: LinkAddress,
    /// While a name is being resolved, on a thread of its own: the system's resolver may wait for other machines.
    resolving: Option<Resolving>,
    /// Addresses that were not tried.
    candidates: Vec<SocketAddr>,
    /// Until it is taken.
    socket: Option<OwnedFd>,
    connected: bool,
    /// What the address tried last came to.
    last: Errno,
    epoll: OwnedFd,
}

#[derive(Debug)]
struct Resolving {
    answer: mpsc::Receiver<Result<Vec<SocketAddr>, String>>,
    /// Readable when the answer is there.
    event: OwnedFd,
}

impl TcpConnecting {
    /// Begins with the first address, or with asking for it.
    ///
    /// # Errors
    /// [`BootstrapError`].
    pub(super) fn begin(address: LinkAddress, host: &str, port: u16) -> Result<Self, BootstrapError> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)
            .map_err(|errno| BootstrapError::system(&address, "create an epoll descriptor", errno))?;
        let mut connecting = TcpConnecting {
            address,
            resolving: None,
            candidates: Vec::new(),
            socket: None,
            connected: false,
            last: Errno::CONNREFUSED,
            epoll,
        };
        if let Ok(ip) = host.parse::<IpAddr>() {
            connecting.candidates.push(SocketAddr::new(ip, port));
            connecting.try_next()?;
        } else {
            connecting.ask(host, port)?;
        }
        Ok(connecting)
    }

    fn ask(&mut self, host: &str, port: u16) -> Result<(), BootstrapError> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|errno| self.refused("create an eventfd", errno))?;
        let ring = event.try_clone().map_err(|_| self.refused("duplicate an eventfd", Errno::MFILE))?;
        self.watch(event.as_fd(), epoll::EventFlags::IN)?;
        let (tell, answer) = mpsc::channel();
        let host = host.to_owned();
        thread::Builder::new()
            .name("quintet-resolve".to_owned())
            .spawn(move || {
                // Nobody listens any more where the connection was given up.
                let _ = tell.send(resolve(&host, port));
                crate::doorbell::strike(ring.as_fd());
            })
            .map_err(|_| self.refused("start a thread that resolves the host's name", Errno::AGAIN))?;
        self.resolving = Some(Resolving { answer, event });
        Ok(())
    }

    /// The socket, if it is connected.
    ///
    /// # Errors
    /// [`BootstrapError`].
    pub(super) fn connected(&mut self) -> Result<Option<BorrowedFd<'_>>, BootstrapError> {
        if let Some(resolving) = &self.resolving {
            let Ok(answer) = resolving.answer.try_recv() else { return Ok(None) };
            self.candidates =
                answer.map_err(|what| BootstrapError::NameUnknown { address: self.address.clone(), what })?;
            self.candidates.reverse();
            // Closing it ends its being watched: the thread's duplicate may live a moment longer, so it is said as well.
            let _ = epoll::delete(&self.epoll, &resolving.event);
            self.resolving = None;
            self.try_next()?;
        }
        while !self.connected {
            let Some(socket) = &self.socket else { return Ok(None) };
            match outcome(socket) {
                None => return Ok(None),
                Some(Ok(())) => self.arrive()?,
                Some(Err(errno)) => {
                    self.last = errno;
                    self.try_next()?;
                }
            }
        }
        Ok(self.socket.as_ref().map(AsFd::as_fd))
    }

    /// From now on the socket is waited for to have something.
    fn arrive(&mut self) -> Result<(), BootstrapError> {
        self.connected = true;
        let Some(socket) = &self.socket else { return Ok(()) };
        epoll::modify(&self.epoll, socket, epoll::EventData::new_u64(0), epoll::EventFlags::IN)
            .map_err(|errno| self.refused("watch a socket", errno))
    }

    /// Goes to the next address.
    fn try_next(&mut self) -> Result<(), BootstrapError> {
        while let Some(at) = self.candidates.pop() {
            match begin_connect(&at) {
                Ok(socket) => {
                    self.watch(socket.as_fd(), epoll::EventFlags::OUT)?;
                    self.socket = Some(socket);
                    return Ok(());
                }
                Err(errno) => self.last = errno,
            }
        }
        self.socket = None;
        Err(not_connected(&self.address, self.last))
    }

    fn watch(&self, fd: BorrowedFd<'_>, flags: epoll::EventFlags) -> Result<(), BootstrapError> {
        epoll::add(&self.epoll, fd, epoll::EventData::new_u64(0), flags)
            .map_err(|errno| self.refused("watch a descriptor", errno))
    }

    fn refused(&self, doing: &'static str, errno: Errno) -> BootstrapError {
        BootstrapError::system(&self.address, doing, errno)
    }

    /// Takes the connected socket.
    pub(super) fn take_socket(&mut self) -> Option<OwnedFd> {
        self.socket.take()
    }

    /// Readable when [`TcpConnecting::connected`] has something to do, and when the connected socket has something.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

/// Why there is no connection. Only the system at the address says that nobody listens; all else may be the network's.
fn not_connected(address: &LinkAddress, errno: Errno) -> BootstrapError {
    let address = address.clone();
    match errno {
        Errno::CONNREFUSED => BootstrapError::NobodyListens { address },
        Errno::HOSTUNREACH | Errno::NETUNREACH | Errno::TIMEDOUT => BootstrapError::NoWay { address, errno },
        errno => BootstrapError::system(address, "connect", errno),
    }
}

/// What became of a connection that was begun; `None` while that is open.
fn outcome(socket: &OwnedFd) -> Option<Result<(), Errno>> {
    let mut fds = [PollFd::new(socket, PollFlags::OUT)];
    match poll(&mut fds, Some(&Timespec::default())) {
        Ok(1) => Some(socket_error(socket).and_then(|outcome| outcome)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_not_reached_is_not_taken_for_one_who_does_not_listen() {
        let address = LinkAddress::Tcp { host: "10.1.0.2".to_owned(), port: 7400 };
        let why = |errno| not_connected(&address, errno);
        assert!(matches!(why(Errno::CONNREFUSED), BootstrapError::NobodyListens { .. }));
        for errno in [Errno::HOSTUNREACH, Errno::NETUNREACH, Errno::TIMEDOUT] {
            assert!(matches!(why(errno), BootstrapError::NoWay { .. }), "{errno}");
        }
        for errno in [Errno::CONNRESET, Errno::NETDOWN, Errno::MFILE] {
            assert!(matches!(why(errno), BootstrapError::System { .. }), "{errno}");
        }
    }
}
