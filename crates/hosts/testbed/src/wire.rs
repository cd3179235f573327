//! A wire between two TCP nodes that can be cut, lose what it carries, or stand still.

use rustix::net::sockopt::set_socket_recv_buffer_size;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Carries what is dialled at its address to another. It takes connections until the process ends.
#[derive(Debug)]
pub struct Wire {
    address: SocketAddr,
    state: Arc<State>,
}

/// What a socket of a slow wire takes before it is carried.
const SLOW_BUFFER_BYTES: usize = 16 << 10;

/// Who is told that a connection is lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Told {
    /// None of the two sides.
    Nobody,
    /// Who dialled it.
    Dialer,
    /// Who accepted it.
    Listener,
}

#[derive(Debug)]
struct State {
    connections: Mutex<Vec<Connection>>,
    carried: AtomicUsize,
    is_dead: AtomicBool,
    is_mute: AtomicBool,
    /// What each way of a new connection carries at most, in bytes.
    most: AtomicUsize,
    /// Bytes a second that each way of a new connection carries.
    rate: AtomicUsize,
    /// Bytes that were not handed on, of who dialled and of who accepted.
    lost: [AtomicUsize; 2],
}

#[derive(Debug)]
struct Connection {
    near: TcpStream,
    far: TcpStream,
    is_lost: Arc<AtomicBool>,
}

impl Wire {
    /// A wire to who listens there.
    ///
    /// # Errors
    /// The system has no port for it.
    pub fn to(there: SocketAddr) -> io::Result<Wire> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let state = Arc::new(State {
            connections: Mutex::default(),
            carried: AtomicUsize::new(0),
            is_dead: AtomicBool::new(false),
            is_mute: AtomicBool::new(false),
            most: AtomicUsize::new(usize::MAX),
            rate: AtomicUsize::new(usize::MAX),
            lost: Default::default(),
        });
        let taking = Arc::clone(&state);
        thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                // Who is not let through sees its connection end.
                let is_let_through = !taking.is_dead.load(Ordering::Relaxed);
                if let Some(far) = is_let_through.then(|| TcpStream::connect(there).ok()).flatten() {
                    let _ = taking.join(near, far);
                }
            }
        });
        Ok(Wire { address, state })
    }

    /// Where it is dialled.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many connections it has carried so far.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.state.carried.load(Ordering::Relaxed)
    }

    /// Cuts every connection that there is, and both sides see it. Whoever comes again is let through.
    pub fn cut(&self) {
        for connection in self.state.lock().drain(..) {
            // They fail if the other side has closed them.
            let _ = connection.near.shutdown(Shutdown::Both);
            let _ = connection.far.shutdown(Shutdown::Both);
        }
    }

    /// Nothing comes through the connections that there are any more.
    pub fn lose(&self, told: Told) {
        for connection in self.state.lock().iter() {
            connection.is_lost.store(true, Ordering::Relaxed);
            let end = match told {
                Told::Nobody => continue,
                Told::Dialer => &connection.near,
                Told::Listener => &connection.far,
            };
            // It fails if that side has closed it.
            let _ = end.shutdown(Shutdown::Both);
        }
    }

    /// Whether nobody is let through any more.
    pub fn set_dead(&self, is_dead: bool) {
        self.state.is_dead.store(is_dead, Ordering::Relaxed);
    }

    /// Whether what comes is not handed on for now.
    pub fn set_mute(&self, is_mute: bool) {
        self.state.is_mute.store(is_mute, Ordering::Relaxed);
    }

    /// Connections that are made from now on carry so many bytes at most in each direction, and lose all others.
    pub fn set_most(&self, bytes: usize) {
        self.state.most.store(bytes, Ordering::Relaxed);
    }

    /// Connections that are made from now on carry so many bytes a second in each direction, and hold up what is more.
    pub fn set_rate(&self, bytes: usize) {
        self.state.rate.store(bytes, Ordering::Relaxed);
    }

    /// How many bytes of those who dialled were not handed on so far.
    #[must_use]
    pub fn lost_bytes(&self) -> usize {
        self.state.lost[0].load(Ordering::Relaxed)
    }
}

impl State {
    fn lock(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Carries between two sockets, on two threads.
    fn join(self: &Arc<Self>, near: TcpStream, far: TcpStream) -> io::Result<()> {
        let (is_lost, most) = (Arc::<AtomicBool>::default(), self.most.load(Ordering::Relaxed));
        let rate = self.rate.load(Ordering::Relaxed);
        for end in [&near, &far] {
            // A piece does not wait until those before it are acknowledged: no wire does.
            end.set_nodelay(true)?;
            if rate != usize::MAX {
                set_socket_recv_buffer_size(end, SLOW_BUFFER_BYTES)?;
            }
        }
        let ways = [(near.try_clone()?, far.try_clone()?), (far.try_clone()?, near.try_clone()?)];
        // From here on it can be cut.
        self.lock().push(Connection { near, far, is_lost: Arc::clone(&is_lost) });
        self.carried.fetch_add(1, Ordering::Relaxed);
        for (at, (from, to)) in ways.into_iter().enumerate() {
            let (state, is_lost) = (Arc::clone(self), Arc::clone(&is_lost));
            thread::spawn(move || carry(from, to, (most, rate), &state, &is_lost, &state.lost[at]));
        }
        Ok(())
    }
}

/// Carries at most so many bytes, in pieces of no particular size, so that a cut falls into frames as well as between them.
fn carry(
    mut from: TcpStream,
    mut to: TcpStream,
    (most, rate): (usize, usize),
    state: &State,
    is_lost: &AtomicBool,
    lost: &AtomicUsize,
) {
    let (mut piece, mut left) = ([0; 1_777], most);
    while let Ok(count @ 1..) = from.read(&mut piece) {
        while state.is_mute.load(Ordering::Relaxed) {
            thread::yield_now();
        }
        let handed_on = if is_lost.load(Ordering::Relaxed) { 0 } else { count.min(left) };
        left -= handed_on;
        if to.write_all(&piece[..handed_on]).is_err() {
            break;
        }
        lost.fetch_add(count - handed_on, Ordering::Relaxed);
        if rate != usize::MAX {
            thread::sleep(
                Duration::from_secs(1) * u32::try_from(handed_on).unwrap_or(u32::MAX)
                    / u32::try_from(rate).unwrap_or(u32::MAX),
            );
        }
    }
    if !is_lost.load(Ordering::Relaxed) {
        let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who dialled a wire, who accepted at its other end, and who listens there.
    fn pair() -> (Wire, TcpStream, TcpStream, TcpListener) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("there is a port");
        let wire = Wire::to(listener.local_addr().expect("it listens")).expect("there is a port");
        let near = TcpStream::connect(wire.address()).expect("it takes whoever comes");
        let (far, _) = listener.accept().expect("it hands them on");
        while wire.connections() == 0 {
            thread::yield_now();
        }
        (wire, near, far, listener)
    }

    fn say(from: &mut TcpStream) {
        from.write_all(b"word").expect("the socket is open");
    }

    fn hear(at: &mut TcpStream) -> usize {
        at.read(&mut [0; 8]).unwrap_or(0)
    }

    #[test]
    fn what_is_said_comes_until_the_wire_is_cut() {
        let (wire, mut near, mut far, _listener) = pair();
        say(&mut near);
        say(&mut far);
        assert_eq!((hear(&mut far), hear(&mut near)), (4, 4));
        wire.cut();
        assert_eq!((hear(&mut far), hear(&mut near)), (0, 0));
        assert_eq!(wire.connections(), 1);
    }

    #[test]
    fn what_is_lost_is_seen_by_who_is_told() {
        for told in [Told::Dialer, Told::Listener] {
            let (wire, near, far, _listener) = pair();
            wire.lose(told);
            let (mut ended, mut open) = if told == Told::Dialer { (near, far) } else { (far, near) };
            say(&mut open);
            assert_eq!(hear(&mut ended), 0);
            open.set_nonblocking(true).expect("it is open");
            let nothing = open.read(&mut [0; 8]).expect_err("nothing comes, and no end");
            assert_eq!(nothing.kind(), io::ErrorKind::WouldBlock);
        }
    }

    #[test]
    fn a_connection_loses_what_is_more_than_it_carries() {
        let (wire, mut first, mut far, listener) = pair();
        wire.set_most(6);
        let mut near = TcpStream::connect(wire.address()).expect("it takes whoever comes");
        let (mut other, _) = listener.accept().expect("it hands them on");
        say(&mut near);
        assert_eq!(hear(&mut other), 4);
        say(&mut near);
        assert_eq!(hear(&mut other), 2);
        say(&mut near);
        while wire.lost_bytes() < 6 {
            thread::yield_now();
        }
        say(&mut first);
        assert_eq!(hear(&mut far), 4);
        wire.lose(Told::Listener);
        assert_eq!(hear(&mut other), 0);
    }
}
