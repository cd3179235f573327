//! Links over connected stream sockets: Unix sockets between processes of one user, and TCP.
//!
//! Each side says a preamble of 16 bytes, and then nothing but frames as `quintet-wire` lays them out, bulk behind the body:
//!
//! ```text
//!   preamble | header, body | header, length of bulk, body, bulk | header, body | ... | farewell
//! ```
//!
//! A frame that does not fit into the socket waits in the end that sent it, whose either half writes it out when the socket
//! takes more. An end says farewell with a word in place of a frame's length, so that a stream that was cut is told from one
//! that was closed. A farewell that does not get out before the end is dropped is a cut, unless the system says that the peer's process has ended.
//!
//! Between machines each frame carries a CRC-32C; the side that dials asks for it in its preamble. TCP is listened at on loopback only: what other
//! machines can reach goes over TLS, where both sides prove who they are before the first preamble. Bytes are encrypted and decrypted
//! where they meet the socket: in `Outgoing::write_out`, `Batch::write_sealed` and `Inbound::receive`.
//!
//! | file | holds |
//! | --- | --- |
//! | `layout.rs` | limits, and what stands in place of frames |
//! | `reader.rs`, `fault.rs`, `check.rs` | takes frames out of bytes; what is no frame, and whose fault that is; checksums |
//! | `connection.rs`, `outgoing.rs` | what two halves share; what did not fit into the socket |
//! | `sender.rs`, `receiver.rs` | the two halves |
//! | `tls.rs` | TLS: what encrypts, decrypts and authenticates |
//! | `parting.rs` | whether a peer whose stream has ended lives |
//! | `preamble.rs`, `listener.rs`, `pending.rs`, `dialer.rs` | how two sides find each other |
//! | `tcp.rs`, `tcp_connecting.rs`, `tcp_peer.rs` | what is peculiar to TCP; whose process the peer is, on this machine |
//! | `fuzzing.rs` | entry points for fuzzers |

mod check;
mod connection;
mod delivery;
mod dialer;
mod fault;
pub mod fuzzing;
mod layout;
mod listener;
mod outgoing;
mod parting;
mod pending;
mod preamble;
mod reader;
mod receiver;
mod sender;
mod tcp;
mod tcp_connecting;
mod tcp_peer;
mod tls;

use crate::{BootstrapError, End, LinkAddress};
use connection::Wiring;
pub use connection::{Checksums, over_stream};
use core::net::SocketAddr;
pub(crate) use dialer::StreamDialer;
pub use listener::{ListenLimits, StreamListener};
use quintet_contract::LinkClass;
use rustix::net::getpeername;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
pub use tls::TlsFault;
use tls::greeting::Greeted;

/// What a side that dials asks for: bytes that leave the machine are checked.
fn checksums_over(socket: BorrowedFd<'_>) -> Checksums {
    match getpeername(socket).ok().flatten().map(SocketAddr::try_from) {
        Some(Ok(peer)) if !peer.ip().is_loopback() => Checksums::Crc32c,
        _ => Checksums::Without,
    }
}

/// What an end at that address has beside its socket.
fn wiring_at(address: &LinkAddress, socket: BorrowedFd<'_>) -> Result<Wiring, BootstrapError> {
    Wiring::around(socket).map_err(|(doing, errno)| BootstrapError::system(address, doing, errno))
}

/// The end of a connection over TLS, which finds what was changed: checksums are for who wants them.
fn end_over_tls(socket: OwnedFd, wiring: Wiring, checksums: Checksums, greeted: Greeted) -> End {
    let leaves_machine = checksums_over(socket.as_fd()) == Checksums::Crc32c;
    let class = if leaves_machine { LinkClass::Network } else { LinkClass::Machine };
    connection::end_over_tls(socket, wiring, checksums, class, greeted)
}
