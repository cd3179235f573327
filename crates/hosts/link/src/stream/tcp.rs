//! TCP: sockets, and what becomes of a host's name.

use crate::socket_file::BACKLOG;
use crate::{BootstrapError, LinkAddress};
use core::net::SocketAddr;
use core::time::Duration;
use rustix::io::Errno;
use rustix::net::sockopt::{
    set_socket_keepalive, set_socket_reuseaddr, set_tcp_keepcnt, set_tcp_keepidle, set_tcp_keepintvl,
    set_tcp_nodelay, set_tcp_user_timeout,
};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, getsockname, listen, socket_with};
use std::net::ToSocketAddrs;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A connection that is silent for so long is asked whether the other machine is there.
const KEEP_IDLE: Duration = Duration::from_secs(10);
/// And asked again so much later,
const KEEP_INTERVAL: Duration = Duration::from_secs(5);
/// so often.
const KEEP_PROBES: u32 = 4;
/// How long what was sent may stay unacknowledged. A stopped process acknowledges nothing beyond its socket's buffer, so
/// this is no measure of a peer's life: sessions have a finer one.
const UNACKNOWLEDGED_MS: u32 = 60_000;

fn new_socket(at: &SocketAddr) -> Result<OwnedFd, Errno> {
    let family = if at.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)
}

/// Sends without delay, and notices that the other machine is gone.
fn tune(socket: BorrowedFd<'_>) -> Result<(), Errno> {
    set_tcp_nodelay(socket, true)?;
    set_socket_keepalive(socket, true)?;
    set_tcp_keepidle(socket, KEEP_IDLE)?;
    set_tcp_keepintvl(socket, KEEP_INTERVAL)?;
    set_tcp_keepcnt(socket, KEEP_PROBES)?;
    set_tcp_user_timeout(socket, UNACKNOWLEDGED_MS)
}

/// As [`tune`], for a socket that was accepted.
///
/// # Errors
/// [`BootstrapError::System`].
pub(super) fn tune_accepted(socket: BorrowedFd<'_>, address: &LinkAddress) -> Result<(), BootstrapError> {
    tune(socket).map_err(|errno| BootstrapError::system(address, "tune a socket", errno))
}

/// A socket on its way to `at`.
///
/// # Errors
/// What the system said.
pub(super) fn begin_connect(at: &SocketAddr) -> Result<OwnedFd, Errno> {
    let socket = new_socket(at)?;
    tune(socket.as_fd())?;
    match rustix::net::connect(&socket, at) {
        Ok(()) | Err(Errno::INPROGRESS | Errno::INTR) => Ok(socket),
        Err(errno) => Err(errno),
    }
}

/// The numeric addresses of a host. May ask other machines, and wait for them.
///
/// # Errors
/// What the system says about the name.
pub(super) fn resolve(host: &str, port: u16) -> Result<Vec<SocketAddr>, String> {
    let found: Vec<SocketAddr> = (host, port).to_socket_addrs().map_err(|error| error.to_string())?.collect();
    if found.is_empty() { Err("it has no address".to_owned()) } else { Ok(found) }
}

/// A socket that listens, and its address. Without TLS only where no other machine can connect: nothing is encrypted.
///
/// # Errors
/// [`BootstrapError::NameUnknown`], [`BootstrapError::NotLoopback`], [`BootstrapError::InUse`],
/// [`BootstrapError::NotAllowed`], [`BootstrapError::System`].
pub(super) fn listen_at(asked: &LinkAddress) -> Result<(OwnedFd, LinkAddress), BootstrapError> {
    let (host, port, is_open) = match asked {
        LinkAddress::Tcp { host, port } => (host, *port, true),
        LinkAddress::Tls { host, port, .. } => (host, *port, false),
        _ => return Err(BootstrapError::OtherKind { address: asked.clone() }),
    };
    let found =
        resolve(host, port).map_err(|what| BootstrapError::NameUnknown { address: asked.clone(), what })?;
    if is_open && !found.iter().all(|at| at.ip().is_loopback()) {
        return Err(BootstrapError::NotLoopback { address: asked.clone() });
    }
    let refused = |doing, errno| BootstrapError::system(asked, doing, errno);
    let socket = new_socket(&found[0]).map_err(|errno| refused("create a socket", errno))?;
    // Else the connections of a server that ended keep its port for a minute.
    set_socket_reuseaddr(&socket, true).map_err(|errno| refused("tune a socket", errno))?;
    bind(&socket, &found[0]).map_err(|errno| match errno {
        Errno::ADDRINUSE => BootstrapError::InUse { address: asked.clone() },
        errno => refused("bind the socket", errno),
    })?;
    listen(&socket, BACKLOG).map_err(|errno| match errno {
        Errno::ADDRINUSE => BootstrapError::InUse { address: asked.clone() },
        errno => refused("listen", errno),
    })?;
    let bound = getsockname(&socket)
        .and_then(SocketAddr::try_from)
        .map_err(|errno| refused("ask for the port", errno))?;
    Ok((socket, asked.clone().with_port(bound.port())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wider_than_loopback_is_refused_before_anything_is_bound() {
        for host in ["0.0.0.0", "::", "192.0.2.1"] {
            let address = LinkAddress::Tcp { host: host.to_owned(), port: 0 };
            let error = listen_at(&address).map(|_| ()).expect_err("wider");
            assert!(matches!(error, BootstrapError::NotLoopback { .. }), "{error}");
            assert!(error.to_string().contains("127.0.0.1"), "{error}");
            assert!(error.to_string().contains("use tls: with an identity"), "{error}");
        }
    }

    #[test]
    fn a_port_that_is_taken_is_told_and_port_0_is_given_one() {
        let any = LinkAddress::Tcp { host: "127.0.0.1".to_owned(), port: 0 };
        let (_socket, address) = listen_at(&any).expect("a free port");
        assert_ne!(address, any);
        let taken = listen_at(&address).map(|_| ()).expect_err("taken");
        assert!(matches!(taken, BootstrapError::InUse { .. }), "{taken}");
    }
}
