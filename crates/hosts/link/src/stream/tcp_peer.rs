//! Whose process is at the other end of a TCP connection on this machine.
//!
//! A loopback port is open to every user of the machine, and TCP says nothing of who connects. The kernel does: it has a row for each
//! socket, with its state and the user who owns it, and the other end's has the addresses of this one exchanged. It is asked for that
//! one row, and only where it does not answer its whole table is read: thousands may connect at once, and each would read the rows of
//! all others.

mod query;
mod table;

use crate::{BootstrapError, LinkAddress};
use core::net::SocketAddr;
use rustix::io::Errno;
use rustix::net::{getpeername, getsockname};
use std::io;
use std::os::fd::BorrowedFd;

/// The state of a socket whose connection is whole. In any other the kernel may name the superuser for want of an owner: of a socket
/// that was closed it keeps no more than what the protocol needs.
const ESTABLISHED: u8 = 1;

/// What the kernel says of a socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Row {
    state: u8,
    user: u32,
}

/// Checks that the other end belongs to this user, if it is on this machine.
///
/// # Errors
/// [`BootstrapError::OtherUser`]; [`BootstrapError::Left`] where it is not there any more, or is being closed; [`BootstrapError::System`],
/// [`BootstrapError::NotAllowed`]: there is no telling.
pub(super) fn check_user(socket: BorrowedFd<'_>, address: &LinkAddress) -> Result<(), BootstrapError> {
    let refused = |errno| BootstrapError::system(address, "ask who the peer is", errno);
    let own = getsockname(socket).and_then(SocketAddr::try_from).map_err(refused)?;
    let peer = match getpeername(socket) {
        Ok(Some(peer)) => SocketAddr::try_from(peer).map_err(refused)?,
        Ok(None) | Err(Errno::NOTCONN) => return Err(BootstrapError::Left { address: address.clone() }),
        Err(errno) => return Err(refused(errno)),
    };
    if !peer.ip().is_loopback() {
        return Ok(());
    }
    let found =
        user_of(peer, own).map_err(|error| refused(Errno::from_io_error(&error).unwrap_or(Errno::IO)))?;
    let ours = rustix::process::geteuid().as_raw();
    match found {
        Some(theirs) if theirs == ours => Ok(()),
        Some(theirs) => Err(BootstrapError::OtherUser { address: address.clone(), theirs, ours }),
        None => Err(BootstrapError::Left { address: address.clone() }),
    }
}

/// The user who owns the socket at `own` that is connected with `other`, if there is one.
fn user_of(own: SocketAddr, other: SocketAddr) -> io::Result<Option<u32>> {
    let row = row_of(own, other)?;
    Ok(row.filter(|row| row.state == ESTABLISHED).map(|row| row.user))
}

fn row_of(own: SocketAddr, other: SocketAddr) -> io::Result<Option<Row>> {
    match query::row_of(own, other) {
        Ok(Some(row)) => Ok(Some(row)),
        // It would say the same if it could not look. This side's own end is there.
        Ok(None) if matches!(query::row_of(other, own), Ok(Some(_))) => Ok(None),
        Ok(None) | Err(_) => table::row_of(own, other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    /// Both ends of a connection at that host, and where they are; where the machine has that host.
    fn connected(host: &str) -> Option<[(TcpStream, SocketAddr); 2]> {
        let listener = TcpListener::bind(format!("{host}:0")).ok()?;
        let near = TcpStream::connect(listener.local_addr().expect("bound")).expect("it listens");
        let (far, _) = listener.accept().expect("somebody connects");
        let (near_at, far_at) = (near.local_addr().expect("bound"), near.peer_addr().expect("connected"));
        Some([(near, near_at), (far, far_at)])
    }

    fn address(at: SocketAddr) -> LinkAddress {
        LinkAddress::Tcp { host: at.ip().to_string(), port: at.port() }
    }

    #[test]
    fn both_ends_of_a_connection_are_this_users() {
        let ours = Row { state: ESTABLISHED, user: rustix::process::geteuid().as_raw() };
        for host in ["127.0.0.1", "[::1]"] {
            let Some([(near, near_at), (far, far_at)]) = connected(host) else { continue };
            for (own, other) in [(far_at, near_at), (near_at, far_at)] {
                assert_eq!(row_of(own, other).expect("the kernel tells"), Some(ours), "{host}");
                assert_eq!(table::row_of(own, other).expect("the table is there"), Some(ours), "{host}");
                let asked = query::row_of(own, other);
                // Not every system takes questions.
                assert!(!matches!(asked, Ok(Some(row)) if row != ours), "{asked:?}");
            }
            check_user(near.as_fd(), &address(far_at)).expect("it is this user's");
            check_user(far.as_fd(), &address(far_at)).expect("and this one too");
            let elsewhere = SocketAddr::new(near_at.ip(), 1);
            assert_eq!(user_of(elsewhere, far_at).expect("the kernel tells"), None);
        }
    }

    #[test]
    fn who_listens_is_at_the_end_of_no_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let at = listener.local_addr().expect("bound");
        assert_eq!(user_of(at, SocketAddr::new(at.ip(), 1)).expect("the kernel tells"), None);
    }

    #[test]
    fn a_socket_that_was_closed_is_nobodys() {
        for host in ["127.0.0.1", "[::1]"] {
            let Some([(near, near_at), (far, far_at)]) = connected(host) else { continue };
            drop(near);
            assert_eq!(user_of(near_at, far_at).expect("the kernel tells"), None);
            let left = check_user(far.as_fd(), &address(far_at));
            assert_eq!(left, Err(BootstrapError::Left { address: address(far_at) }));
        }
    }
}
