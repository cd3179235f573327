//! The side that listens: takes connections, and hears their preambles, for a limited time each.

use super::pending::{Arrival, Pending, TIMER};
use super::preamble::{Heard, Preamble, Role};
use super::tls::greeting::Greeting;
use super::{Checksums, connection, end_over_tls, tcp, tcp_peer, wiring_at};
use crate::credentials::{heard_from, last_ruled_out};
use crate::socket_file::{SocketFile, UnixPlace, check_user};
use crate::spare::Spare;
use crate::{BootstrapError, Credentials, End, LinkAddress, Listener, NotAccepted, TlsFault};
use core::net::SocketAddr;
use core::time::Duration;
use quintet_errors::Code;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::net::{SocketFlags, acceptfrom_with};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

/// Event data of the socket that listens.
const SOCKET: u64 = 1;
/// Events taken by one look.
const EVENTS: usize = 64;
/// Connections taken by one look. The rest waits for the next.
const ADMITTED: usize = 64;

/// What a listener grants to connections that have not made themselves known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ListenLimits {
    /// The time to do so.
    pub preamble: Duration,
    /// How many may take that time at once. For one more, the oldest is dropped, of those that said nothing if there are any.
    pub pending: usize,
}

impl Default for ListenLimits {
    fn default() -> Self {
        ListenLimits { preamble: Duration::from_secs(5), pending: 256 }
    }
}

/// Waits for peers on a Unix stream socket or a TCP port, with TLS or without.
#[derive(Debug)]
pub struct StreamListener {
    address: LinkAddress,
    ours: Preamble,
    socket: OwnedFd,
    /// Covers the socket, those who have not made themselves known, and the timer of their limits.
    epoll: OwnedFd,
    pending: Pending,
    spare: Spare,
    /// Over TLS: what it proves itself with.
    credentials: Option<Credentials>,
    /// Of a Unix socket: removes the file at the end.
    file: Option<SocketFile>,
}

impl StreamListener {
    /// Listens at a Unix socket's path, for this user only, or at a TCP port: with TLS at any, without at one that other machines
    /// cannot reach.
    ///
    /// # Errors
    /// [`BootstrapError`].
    pub fn bind(address: &LinkAddress, limits: ListenLimits) -> Result<Self, BootstrapError> {
        let credentials = address.credentials()?.cloned();
        if credentials.as_ref().is_some_and(|credentials| credentials.listening().is_none()) {
            return Err(BootstrapError::Tls { address: address.clone(), fault: TlsFault::TokenListens });
        }
        let (socket, address, file) = match address {
            LinkAddress::Tcp { .. } | LinkAddress::Tls { .. } => {
                let (socket, address) = tcp::listen_at(address)?;
                (socket, address, None)
            }
            LinkAddress::Unix(path) | LinkAddress::SharedMemory(path) => {
                let (socket, file) = SocketFile::listen(UnixPlace::stream(path))?;
                (socket, file.address().clone(), Some(file))
            }
        };
        let refused = |doing, errno| BootstrapError::system(&address, doing, errno);
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)
            .map_err(|errno| refused("create an epoll descriptor", errno))?;
        epoll::add(&epoll, &socket, epoll::EventData::new_u64(SOCKET), epoll::EventFlags::IN)
            .map_err(|errno| refused("watch a socket", errno))?;
        let pending =
            Pending::new(limits, epoll.as_fd()).map_err(|errno| refused("create a timer", errno))?;
        // Who dials chooses.
        let ours = Preamble { role: Role::Listened, checksums: Checksums::Without };
        let spare = Spare::of(&socket);
        Ok(StreamListener { address, ours, socket, epoll, pending, spare, credentials, file })
    }

    /// The next connection that is complete, if there is one.
    fn next(&mut self, now: Instant) -> Result<Option<End>, NotAccepted> {
        if let Some(dropped) = self.pending.drop_expired(now, self.ours) {
            let waited = self.pending.limits().preamble;
            let why = BootstrapError::Silent { address: self.address.clone(), waited };
            return Err(NotAccepted { from: dropped.from, ..why.into() });
        }
        let (events, count) = self.look()?;
        let mut has_callers = false;
        for event in &events[..count] {
            match event.data.u64() {
                TIMER => self.pending.timer_rang(),
                SOCKET => has_callers = true,
                token => {
                    if let Some(arrival) = self.pending.take(token, self.epoll.as_fd())
                        && let Some(end) = self.hear(arrival)?
                    {
                        return Ok(Some(end));
                    }
                }
            }
        }
        if has_callers { self.admit(now) } else { Ok(None) }
    }

    /// Takes who connects and is allowed to, until one of them is a connection that is complete: not all of them, as strangers may
    /// connect faster than they are taken, and whoever calls has others to see to.
    fn admit(&mut self, now: Instant) -> Result<Option<End>, NotAccepted> {
        for _ in 0..ADMITTED {
            let Some((socket, from)) = self.take()? else { break };
            let until = now + self.pending.limits().preamble;
            let greeting =
                self.credentials.as_ref().map(|credentials| self.greet(credentials)).transpose()?;
            let arrival = Arrival { socket, from, heard: Heard::default(), greeting, until };
            if let Some(end) = self.hear(arrival)? {
                return Ok(Some(end));
            }
        }
        Ok(None)
    }

    fn greet(&self, credentials: &Credentials) -> Result<Box<Greeting>, BootstrapError> {
        Greeting::new(credentials, Role::Listened, &self.address).map(Box::new)
    }

    /// What the descriptors have.
    fn look(&self) -> Result<([epoll::Event; EVENTS], usize), BootstrapError> {
        let empty = epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) };
        let mut events = [empty; EVENTS];
        match epoll::wait(&self.epoll, &mut events, Some(&Timespec::default())) {
            Ok(count) => Ok((events, count)),
            Err(Errno::INTR) => Ok((events, 0)),
            Err(errno) => Err(BootstrapError::system(&self.address, "look at the sockets", errno)),
        }
    }

    /// Hears what came of a preamble. The connection, if that is whole; else it is pending.
    fn hear(&mut self, arrival: Arrival) -> Result<Option<End>, NotAccepted> {
        let from = arrival.from;
        let heard =
            if arrival.greeting.is_some() { self.hear_over_tls(arrival) } else { self.hear_plain(arrival) };
        heard.map_err(|why| {
            let is_ruled_out = matches!(why, BootstrapError::Tls { fault: TlsFault::PeerNotAdmitted, .. });
            let identity = if is_ruled_out { last_ruled_out() } else { None };
            NotAccepted { why: Box::new(why), from, identity }
        })
    }

    fn hear_plain(&mut self, mut arrival: Arrival) -> Result<Option<End>, BootstrapError> {
        let fd = arrival.socket.as_fd();
        let heard = arrival.heard.hear(fd, self.ours, &self.address);
        let answered = heard.and_then(|whole| {
            if !whole {
                return Ok(None);
            }
            let (wiring, checksums) = (wiring_at(&self.address, fd)?, arrival.heard.checksums());
            Preamble { checksums, ..self.ours }.say(fd, &self.address)?;
            Ok(Some((wiring, checksums)))
        });
        match answered {
            Ok(Some((wiring, checksums))) => Ok(Some(connection::end(arrival.socket, wiring, checksums))),
            Ok(None) => self.keep(arrival),
            Err(error) => {
                self.ours.refuse(fd, error.code());
                Err(error)
            }
        }
    }

    fn hear_over_tls(&mut self, mut arrival: Arrival) -> Result<Option<End>, BootstrapError> {
        let Some(greeting) = &mut arrival.greeting else { return Ok(None) };
        let fd = arrival.socket.as_fd();
        let heard = heard_from(arrival.from, || greeting.hear(fd, self.ours, &self.address));
        let checksums = greeting.checksums();
        let answered = heard.and_then(|whole| {
            if !whole {
                return Ok(None);
            }
            let wiring = wiring_at(&self.address, fd)?;
            greeting.say(fd, Preamble { checksums, ..self.ours }, &self.address)?;
            Ok(Some(wiring))
        });
        match answered {
            Ok(Some(wiring)) => {
                let greeted = arrival.greeting.take().and_then(|greeting| greeting.greeted());
                Ok(greeted.map(|greeted| end_over_tls(arrival.socket, wiring, checksums, greeted)))
            }
            Ok(None) => self.keep(arrival),
            Err(error) => {
                greeting.refuse(fd, self.ours, error.code());
                Err(error)
            }
        }
    }

    /// It has not made itself known: it is pending.
    fn keep(&mut self, arrival: Arrival) -> Result<Option<End>, BootstrapError> {
        self.pending
            .add(arrival, self.epoll.as_fd(), self.ours)
            .map(|()| None)
            .map_err(|errno| BootstrapError::system(&self.address, "watch a socket", errno))
    }

    /// The next one who connects and is allowed to, and from where, if that has an address.
    fn take(&mut self) -> Result<Option<(OwnedFd, Option<SocketAddr>)>, NotAccepted> {
        let (socket, from) = loop {
            match acceptfrom_with(&self.socket, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
                Ok((socket, from)) => break (socket, from.and_then(|from| SocketAddr::try_from(from).ok())),
                Err(Errno::AGAIN) => return Ok(None),
                Err(Errno::INTR | Errno::CONNABORTED) => {}
                Err(errno @ (Errno::MFILE | Errno::NFILE)) => {
                    let turned_away = self.spare.turn_away(&self.socket).map_err(|errno| {
                        BootstrapError::system(&self.address, "accept a connection", errno)
                    })?;
                    let Some(turned_away) = turned_away else { return Ok(None) };
                    self.ours.refuse(turned_away.as_fd(), Code::Resource);
                    drop(turned_away);
                    self.spare.renew(&self.socket);
                    return Err(BootstrapError::system(&self.address, "accept a connection", errno).into());
                }
                Err(errno) => {
                    return Err(BootstrapError::system(&self.address, "accept a connection", errno).into());
                }
            }
        };
        let checked = match &self.file {
            Some(_) => check_user(socket.as_fd(), &self.address),
            // Whoever it runs as, it will prove who it is.
            None if self.credentials.is_some() => tcp::tune_accepted(socket.as_fd(), &self.address),
            None => tcp_peer::check_user(socket.as_fd(), &self.address)
                .and_then(|()| tcp::tune_accepted(socket.as_fd(), &self.address)),
        };
        let checked = checked.inspect_err(|error| self.ours.refuse(socket.as_fd(), error.code()));
        checked.map_err(|why| NotAccepted { from, ..why.into() })?;
        Ok(Some((socket, from)))
    }
}

impl Listener for StreamListener {
    fn accept(&mut self) -> Result<Option<End>, NotAccepted> {
        self.next(Instant::now())
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }

    fn address(&self) -> LinkAddress {
        self.address.clone()
    }
}
