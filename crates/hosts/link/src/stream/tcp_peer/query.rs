//! A question to the kernel for one TCP socket, over a socket of the family netlink (`sock_diag(7)`): what it costs does not depend on
//! how many sockets there are.
//!
//! ```text
//!   question   netlink header 16 | family 1, protocol 1, 0 2, states 4 | socket 48
//!   answer     netlink header 16 | family 1, state 1, 0 2 | socket 48 | expires 4, queues 4 + 4, user 4, inode 4
//!   or         netlink header 16 | error 4, ...
//!
//!   netlink header   length 4, type 2, flags 2, number 4, sender 4
//!   socket           own port 2, other port 2, own address 16, other address 16, device 4, cookie 8
//! ```
//!
//! Ports and addresses stand as on the network, everything else as this machine writes numbers.

use super::Row;
use core::net::{IpAddr, SocketAddr};
use rustix::io::Errno;
use rustix::net::netlink::{SOCK_DIAG, SocketAddrNetlink};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recvfrom, sendto, socket_with,
};

const NETLINK_HEADER_BYTES: usize = 16;
/// Where a question's socket begins, and how long it is.
const SOCKET_ASKED: usize = NETLINK_HEADER_BYTES + 8;
const SOCKET_BYTES: usize = 48;
const QUESTION_BYTES: usize = SOCKET_ASKED + SOCKET_BYTES;
/// Of the socket: ports and addresses.
const ENDS_BYTES: usize = 36;

/// Where an answer's parts begin.
const STATE: usize = NETLINK_HEADER_BYTES + 1;
const SOCKET_FOUND: usize = NETLINK_HEADER_BYTES + 4;
const USER: usize = SOCKET_FOUND + SOCKET_BYTES + 12;
/// Longer than any answer.
const ANSWER_BYTES: usize = 1024;

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST: u16 = 1;
const NLMSG_ERROR: u16 = 2;
const IPPROTO_TCP: u8 = 6;
/// Sockets in every state are asked for.
const ALL_STATES: u32 = u32::MAX;
/// Whichever socket has these ends.
const NO_COOKIE: [u8; 8] = [0xff; 8];
/// The kernel's own address.
const KERNEL: SocketAddrNetlink = SocketAddrNetlink::new(0, 0);

/// The row of the socket at `own` that is connected with `other`. `None`: there is none, or the kernel cannot look for any.
///
/// # Errors
/// The kernel does not answer such questions, or not this process.
pub(super) fn row_of(own: SocketAddr, other: SocketAddr) -> Result<Option<Row>, Errno> {
    let kernel =
        socket_with(AddressFamily::NETLINK, SocketType::DGRAM, SocketFlags::CLOEXEC, Some(SOCK_DIAG))?;
    sendto(&kernel, &question(own, other), SendFlags::DONTWAIT, &KERNEL)?;
    let mut bytes = [0; ANSWER_BYTES];
    // It has answered when it has taken the question.
    let (_, count, from) = recvfrom(&kernel, &mut bytes[..], RecvFlags::DONTWAIT)?;
    match from.map(SocketAddrNetlink::try_from) {
        Some(Ok(from)) if from.pid() == KERNEL.pid() => row(&bytes[..count], own, other),
        _ => Err(Errno::BADMSG),
    }
}

fn question(own: SocketAddr, other: SocketAddr) -> [u8; QUESTION_BYTES] {
    let is_version_4 = own.is_ipv4() && other.is_ipv4();
    let family = if is_version_4 { AddressFamily::INET } else { AddressFamily::INET6 };
    let mut bytes = [0; QUESTION_BYTES];
    bytes[..4].copy_from_slice(&(QUESTION_BYTES as u32).to_ne_bytes());
    bytes[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    bytes[6..8].copy_from_slice(&NLM_F_REQUEST.to_ne_bytes());
    bytes[16] = family.as_raw() as u8;
    bytes[17] = IPPROTO_TCP;
    bytes[20..24].copy_from_slice(&ALL_STATES.to_ne_bytes());
    let socket = &mut bytes[SOCKET_ASKED..];
    socket[..ENDS_BYTES].copy_from_slice(&ends(own, other, is_version_4));
    socket[SOCKET_BYTES - NO_COOKIE.len()..].copy_from_slice(&NO_COOKIE);
    bytes
}

/// Ports and addresses, as the kernel keeps them in a socket of that version.
fn ends(own: SocketAddr, other: SocketAddr, in_version_4: bool) -> [u8; ENDS_BYTES] {
    let mut bytes = [0; ENDS_BYTES];
    for (port, address, end) in [(0, 4, own), (2, 20, other)] {
        bytes[port..port + 2].copy_from_slice(&end.port().to_be_bytes());
        match end.ip() {
            IpAddr::V4(ip) if in_version_4 => bytes[address..address + 4].copy_from_slice(&ip.octets()),
            IpAddr::V4(ip) => bytes[address..address + 16].copy_from_slice(&ip.to_ipv6_mapped().octets()),
            IpAddr::V6(ip) => bytes[address..address + 16].copy_from_slice(&ip.octets()),
        }
    }
    bytes
}

/// What an answer says of the socket with these ends.
fn row(answer: &[u8], own: SocketAddr, other: SocketAddr) -> Result<Option<Row>, Errno> {
    let (Some(kind), Some(first)) = (part::<2>(answer, 4), part::<4>(answer, NETLINK_HEADER_BYTES)) else {
        return Err(Errno::BADMSG);
    };
    match u16::from_ne_bytes(kind) {
        NLMSG_ERROR => match Errno::from_raw_os_error(-i32::from_ne_bytes(first)) {
            Errno::NOENT => Ok(None),
            errno => Err(errno),
        },
        SOCK_DIAG_BY_FAMILY => {
            let (Some(found), Some(user)) =
                (part::<ENDS_BYTES>(answer, SOCKET_FOUND), part::<4>(answer, USER))
            else {
                return Err(Errno::BADMSG);
            };
            // Where no connection has these ends it names who listens at one of them.
            let is_it = [true, false].map(|in_version_4| ends(own, other, in_version_4)).contains(&found);
            let row = Row { state: answer[STATE], user: u32::from_ne_bytes(user) };
            Ok(is_it.then_some(row))
        }
        _ => Err(Errno::BADMSG),
    }
}

fn part<const N: usize>(bytes: &[u8], from: usize) -> Option<[u8; N]> {
    bytes.get(from..)?.first_chunk().copied()
}
