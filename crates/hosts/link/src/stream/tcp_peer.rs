//! Whose process is at the other end of a TCP connection on this machine.
//!
//! A loopback port is open to every user of the machine, and TCP says nothing of who connects. The kernel's table of sockets does: the
//! other end stands in it, with the addresses of this one exchanged, beside the user who owns it. One look reads the table up to
//! that row; it has a row for each socket of the network namespace.

use crate::{BootstrapError, LinkAddress};
use core::net::{IpAddr, SocketAddr};
use rustix::io::Errno;
use rustix::net::{getpeername, getsockname};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::fd::BorrowedFd;

/// Where the table's columns stand: the own address, the other end's, the user.
const OWN: usize = 1;
const OTHER: usize = 2;
const USER: usize = 7;

/// Checks that the other end belongs to this user, if it is on this machine.
///
/// # Errors
/// [`BootstrapError::OtherUser`]; [`BootstrapError::Left`] where it has no row any more; [`BootstrapError::System`],
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
    if own.is_ipv4()
        && let Some(user) = look("/proc/net/tcp", &written(own, false), &written(other, false))?
    {
        return Ok(Some(user));
    }
    // A socket of version 6 may be connected with one of version 4.
    look("/proc/net/tcp6", &written(own, true), &written(other, true))
}

fn look(path: &str, own: &str, other: &str) -> io::Result<Option<u32>> {
    let table = match File::open(path) {
        Ok(table) => BufReader::new(table),
        Err(error) if error.kind() == io::ErrorKind::NotFound && path.ends_with('6') => return Ok(None),
        Err(error) => return Err(error),
    };
    for line in table.lines() {
        let line = line?;
        let columns: Vec<&str> = line.split_ascii_whitespace().collect();
        if columns.get(OWN) == Some(&own) && columns.get(OTHER) == Some(&other) {
            return Ok(columns.get(USER).and_then(|user| user.parse().ok()));
        }
    }
    Ok(None)
}

/// An address as the table writes it: words of the network's bytes as this machine reads them, in hexadecimal.
fn written(address: SocketAddr, as_version_6: bool) -> String {
    let octets = match address.ip() {
        IpAddr::V4(ip) if as_version_6 => ip.to_ipv6_mapped().octets().to_vec(),
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    let words = octets.as_chunks::<4>().0.iter().map(|word| format!("{:08X}", u32::from_ne_bytes(*word)));
    format!("{}:{:04X}", words.collect::<String>(), address.port())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    #[test]
    fn both_ends_of_a_connection_are_this_users() {
        let ours = rustix::process::geteuid().as_raw();
        for host in ["127.0.0.1", "[::1]"] {
            let Ok(listener) = TcpListener::bind(format!("{host}:0")) else { continue };
            let near = TcpStream::connect(listener.local_addr().expect("bound")).expect("it listens");
            let (far, _) = listener.accept().expect("somebody connects");
            let (near_at, far_at) = (near.local_addr().expect("bound"), near.peer_addr().expect("connected"));
            assert_eq!(user_of(far_at, near_at).expect("the table is there"), Some(ours), "{host}");
            assert_eq!(user_of(near_at, far_at).expect("the table is there"), Some(ours), "{host}");
            let address = LinkAddress::Tcp { host: host.to_owned(), port: far_at.port() };
            check_user(near.as_fd(), &address).expect("it is this user's");
            check_user(far.as_fd(), &address).expect("and this one too");
            let elsewhere = SocketAddr::new(near_at.ip(), 1);
            assert_eq!(user_of(elsewhere, far_at).expect("the table is there"), None);
        }
    }

    #[test]
    fn addresses_are_written_as_in_the_table() {
        let at = |text: &str| text.parse::<SocketAddr>().expect("an address");
        if cfg!(target_endian = "little") {
            assert_eq!(written(at("127.0.0.1:7400"), false), "0100007F:1CE8");
            assert_eq!(written(at("127.0.0.1:7400"), true), "0000000000000000FFFF00000100007F:1CE8");
            assert_eq!(written(at("[::1]:80"), true), "00000000000000000000000001000000:0050");
        }
    }
}
