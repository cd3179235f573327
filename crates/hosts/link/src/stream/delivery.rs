//! How fast the network delivers: what the system estimates of each TCP connection (draft-cheng-iccrg-delivery-rate-estimation).

use core::mem::offset_of;
use std::os::fd::{AsRawFd, BorrowedFd};

/// The beginning of `struct tcp_info` in `linux/tcp.h`, as far as it is read here; the system fills as much of it as it is asked for.
#[repr(C)]
#[derive(Default)]
struct TcpInfo {
    states: [u8; 7],
    /// Bit 0: when the rate was seen, the program was what held it up.
    app_limited: u8,
    counts: [u32; 24],
    pacing: [u64; 2],
    acknowledged: [u64; 2],
    segments: [u32; 2],
    unsent_bytes: u32,
    least_round_trip: u32,
    data_segments: [u32; 2],
    /// Bytes a second.
    delivery_rate: u64,
}

const _: () = assert!(offset_of!(TcpInfo, delivery_rate) == 160, "as in linux/tcp.h");

/// Bytes a second that a TCP connection carried when the network held it up; none if that is not known, or the socket is another.
pub(super) fn delivery_rate(socket: BorrowedFd<'_>) -> Option<u64> {
    let mut info = TcpInfo::default();
    let mut len = size_of::<TcpInfo>() as libc::socklen_t;
    // SAFETY: the descriptor is open while it is borrowed; the system writes at most `len` bytes to where `info` lies, whose fields are
    // integers, for which all bytes will do.
    let status = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut len,
        )
    };
    let is_whole = status == 0 && len as usize == size_of::<TcpInfo>();
    (is_whole && info.app_limited & 1 == 0 && info.delivery_rate > 0).then_some(info.delivery_rate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;
    use std::thread;

    /// The loopback's own pace is above a megabyte a second on any machine that runs this.
    #[test]
    fn the_rate_is_known_once_enough_was_sent() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut far, _) = listener.accept().unwrap();
        assert_eq!(delivery_rate(near.as_fd()), None);
        let reader = thread::spawn(move || {
            let mut all = vec![0; 16 << 20];
            far.read_exact(&mut all).unwrap();
            far.write_all(&[1]).unwrap();
        });
        near.write_all(&vec![7; 16 << 20]).unwrap();
        near.read_exact(&mut [0]).unwrap();
        reader.join().unwrap();
        assert!(delivery_rate(near.as_fd()).is_some_and(|rate| rate > 1 << 20));
    }

    #[test]
    fn a_unix_socket_has_no_network() {
        let (near, _far) = UnixStream::pair().unwrap();
        assert_eq!(delivery_rate(near.as_fd()), None);
    }
}
