//! How fast the network delivers: what the system knows of each TCP connection (draft-cheng-iccrg-delivery-rate-estimation for the rate at an instant;
//! RFC 4898 has counters like those of the time in which something is under way).

use core::mem::offset_of;
use core::time::Duration;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Instant;

/// Bulk beside which a system call that asks for the network's pace costs nothing, and that says something of it.
const LONG_BULK_BYTES: u64 = 64 << 10;
/// The system counts the time in which something is under way in ticks of up to 10 ms; of less than this they say too little.
const LEAST_BUSY: Duration = Duration::from_millis(20);
/// What was seen holds for so many times as long as it took, as what was slow may have been a peer that stood still: to look again, by bulk that goes as it is,
/// costs a hundredth of the time.
const HOLDS_TIMES: u32 = 100;
/// Where the connection never rests, what was before this much time under way counts no more.
const LONGEST_BUSY: Duration = Duration::from_secs(10);

/// How fast the network has carried long bulk.
#[derive(Debug, Default)]
pub(super) struct Delivery {
    seen: Option<Seen>,
    /// What was before the long bulk that is looked after.
    before: Option<Carried>,
}

/// What was seen last.
#[derive(Debug)]
struct Seen {
    /// Bytes a second.
    rate: u64,
    until: Instant,
}

/// What a connection has carried, since it began or since an earlier moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Carried {
    /// Bytes that the other side has acknowledged.
    bytes: u64,
    /// The time in which not all that was sent was acknowledged.
    busy: Duration,
}

impl Delivery {
    /// Bulk of so many bytes is about to be sent.
    pub(super) fn begin(&mut self, bulk_len: usize, socket: BorrowedFd<'_>) {
        if (bulk_len as u64) < LONG_BULK_BYTES {
            return;
        }
        self.look(socket);
        if self.before.is_none() {
            self.before = TcpInfo::of(socket).map(|info| info.carried());
        }
    }

    /// Sees whether the bulk that is looked after has arrived, and how fast. One system call while there is such, none else. Called before anything else is
    /// sent, so that times of short messages count little.
    pub(super) fn look(&mut self, socket: BorrowedFd<'_>) {
        let Some(before) = self.before else { return };
        let Some(info) = TcpInfo::of(socket) else { return };
        self.see(info.carried().since(before), info.rests(), info.rate_at_last());
    }

    /// The same, of so much since the bulk began; all frames until the connection rests are one bulk.
    fn see(&mut self, carried: Carried, rests: bool, rate_at_last: Option<u64>) {
        if carried.bytes < LONG_BULK_BYTES {
            return;
        }
        if rests || carried.busy > LONGEST_BUSY {
            self.before = None;
        }
        if let Some(rate) = carried.rate().or(rate_at_last) {
            let holds = carried.busy.max(LEAST_BUSY).saturating_mul(HOLDS_TIMES);
            self.seen = Instant::now().checked_add(holds).map(|until| Seen { rate, until });
        }
    }

    /// Bytes a second that the network carried, when last seen; none where it never held anything up for long enough to be seen, or not of late.
    pub(super) fn rate(&mut self, socket: BorrowedFd<'_>) -> Option<u64> {
        self.look(socket);
        self.seen.as_ref().filter(|seen| Instant::now() < seen.until).map(|seen| seen.rate)
    }
}

impl Carried {
    fn since(self, before: Carried) -> Carried {
        let (bytes, busy) = (self.bytes.saturating_sub(before.bytes), self.busy.saturating_sub(before.busy));
        Carried { bytes, busy }
    }

    /// Bytes a second, where it took long enough to say.
    fn rate(self) -> Option<u64> {
        let rate = u128::from(self.bytes) * 1_000_000_000 / self.busy.as_nanos().max(1);
        (self.busy >= LEAST_BUSY).then(|| u64::try_from(rate).unwrap_or(u64::MAX))
    }
}

/// The beginning of `struct tcp_info` in `linux/tcp.h`, as far as it is read here; the system fills as much of it as it is asked for.
#[repr(C)]
#[derive(Default)]
struct TcpInfo {
    states: [u8; 7],
    /// Bit 0: when the rate was seen, the program was what held it up.
    app_limited: u8,
    timeouts_and_sizes: [u32; 4],
    /// Segments that were sent and are not acknowledged.
    unacknowledged: u32,
    counts: [u32; 19],
    pacing: [u64; 2],
    acknowledged_bytes: u64,
    received_bytes: u64,
    segments: [u32; 2],
    unsent_bytes: u32,
    least_round_trip: u32,
    data_segments: [u32; 2],
    /// Bytes a second.
    delivery_rate: u64,
    /// In microseconds.
    busy_time: u64,
}

const _: () = assert!(offset_of!(TcpInfo, unacknowledged) == 24, "as in linux/tcp.h");
const _: () = assert!(offset_of!(TcpInfo, acknowledged_bytes) == 120, "as in linux/tcp.h");
const _: () = assert!(offset_of!(TcpInfo, unsent_bytes) == 144, "as in linux/tcp.h");
const _: () = assert!(offset_of!(TcpInfo, busy_time) == 168, "as in linux/tcp.h");

impl TcpInfo {
    /// None if the socket is not one of TCP.
    fn of(socket: BorrowedFd<'_>) -> Option<TcpInfo> {
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
        (status == 0 && len as usize == size_of::<TcpInfo>()).then_some(info)
    }

    fn carried(&self) -> Carried {
        Carried { bytes: self.acknowledged_bytes, busy: Duration::from_micros(self.busy_time) }
    }

    /// Whether all that was given to it has been acknowledged.
    fn rests(&self) -> bool {
        self.unacknowledged == 0 && self.unsent_bytes == 0
    }

    /// Bytes a second at the last acknowledgement, unless the program was what held it up.
    fn rate_at_last(&self) -> Option<u64> {
        (self.app_limited & 1 == 0 && self.delivery_rate > 0).then_some(self.delivery_rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;
    use std::thread;

    const BULK_BYTES: usize = 16 << 20;

    fn carried(bytes: u64, milliseconds: u64) -> Carried {
        Carried { bytes, busy: Duration::from_millis(milliseconds) }
    }

    /// The loopback's own pace is above a megabyte a second on any machine that runs this.
    #[test]
    fn the_rate_is_known_once_enough_was_sent() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut far, _) = listener.accept().unwrap();
        let mut delivery = Delivery::default();
        assert_eq!(delivery.rate(near.as_fd()), None);
        let reader = thread::spawn(move || {
            let mut all = vec![0; BULK_BYTES];
            far.read_exact(&mut all).unwrap();
            far.write_all(&[1]).unwrap();
        });
        delivery.begin(BULK_BYTES, near.as_fd());
        near.write_all(&vec![7; BULK_BYTES]).unwrap();
        near.read_exact(&mut [0]).unwrap();
        reader.join().unwrap();
        assert!(delivery.rate(near.as_fd()).is_some_and(|rate| rate > 1 << 20));
        assert_eq!(delivery.before, None, "no further system call");
        let seen = delivery.seen.as_mut().unwrap();
        seen.until = Instant::now();
        assert_eq!(delivery.rate(near.as_fd()), None, "it is looked at again");
    }

    /// Also where the socket took all of it at once, and the program waited for the answer.
    #[test]
    fn what_took_long_says_how_fast_it_went_and_what_was_quick_nothing() {
        assert_eq!(carried(3 << 20, 1080).since(carried(2 << 20, 80)).rate(), Some(1 << 20));
        assert_eq!(carried(3 << 20, 99).since(carried(2 << 20, 80)).rate(), None);
    }

    /// Eight frames that go one behind the other hold for as long as all of them took, and a connection that never rests is looked at anew all the same.
    #[test]
    fn frames_until_the_connection_rests_are_one_bulk() {
        let started = Instant::now();
        let mut delivery = Delivery { seen: None, before: Some(carried(0, 0)) };
        for frame in 1..=8 {
            delivery.see(carried(frame << 20, 1000 * frame), frame == 8, None);
            assert_eq!(delivery.before.is_none(), frame == 8);
        }
        let seen = delivery.seen.as_ref().unwrap();
        assert_eq!(seen.rate, 1 << 20);
        assert!(seen.until >= started + 8 * HOLDS_TIMES * Duration::from_secs(1));
        delivery.before = Some(carried(0, 0));
        delivery.see(carried(11 << 20, 11_000), false, None);
        assert_eq!(delivery.before, None);
    }

    #[test]
    fn short_messages_and_unix_sockets_are_not_looked_after() {
        let (near, _far) = UnixStream::pair().unwrap();
        let mut delivery = Delivery::default();
        for bytes in [100, BULK_BYTES] {
            delivery.begin(bytes, near.as_fd());
            assert_eq!((delivery.before, delivery.rate(near.as_fd())), (None, None));
        }
    }
}
