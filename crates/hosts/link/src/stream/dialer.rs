//! The side that dials, while the connection is being made.

use super::connection;
use super::preamble::{Heard, Preamble, Role};
use super::tcp_connecting::TcpConnecting;
use super::tls::greeting::Greeting;
use super::{Checksums, checksums_over, end_over_tls, tcp_peer, wiring_at};
use crate::connecting::Connecting;
use crate::socket_file::UnixPlace;
use crate::{BootstrapError, Dialer, End, LinkAddress};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// A connection over a stream socket that is being made.
pub(crate) struct StreamDialer {
    address: LinkAddress,
    way: Way,
    ours: Preamble,
    /// What the listener said, once this side has spoken.
    heard: Option<Heard>,
    /// Over TLS: the conversation in which both speak.
    greeting: Option<Box<Greeting>>,
}

/// How a socket comes to be connected.
enum Way {
    Unix(Connecting),
    Tcp(TcpConnecting),
}

impl Way {
    fn connected(&mut self) -> Result<Option<BorrowedFd<'_>>, BootstrapError> {
        match self {
            Way::Unix(connecting) => connecting.connected(),
            Way::Tcp(connecting) => connecting.connected(),
        }
    }

    fn take_socket(&mut self) -> Option<OwnedFd> {
        match self {
            Way::Unix(connecting) => connecting.take_socket(),
            Way::Tcp(connecting) => connecting.take_socket(),
        }
    }

    fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Way::Unix(connecting) => connecting.fd(),
            Way::Tcp(connecting) => connecting.fd(),
        }
    }
}

impl StreamDialer {
    /// Begins to connect to the process that listens at `path`.
    ///
    /// # Errors
    /// [`BootstrapError`].
    pub(crate) fn unix(path: &Path) -> Result<Self, BootstrapError> {
        let place = UnixPlace::stream(path);
        let address = place.address.clone();
        StreamDialer::begin(address, Way::Unix(Connecting::begin(place)?))
    }

    /// Begins to connect to the process that listens at that port of that host.
    ///
    /// # Errors
    /// [`BootstrapError`].
    pub(crate) fn tcp(address: &LinkAddress, host: &str, port: u16) -> Result<Self, BootstrapError> {
        let address = address.clone();
        if port == 0 {
            return Err(BootstrapError::PortZero { address });
        }
        let way = Way::Tcp(TcpConnecting::begin(address.clone(), host, port)?);
        StreamDialer::begin(address, way)
    }

    fn begin(address: LinkAddress, way: Way) -> Result<Self, BootstrapError> {
        let ours = Preamble { role: Role::Dialled, checksums: Checksums::Without };
        let greeting = address.credentials()?;
        let greeting =
            greeting.map(|credentials| Greeting::new(credentials, Role::Dialled, &address)).transpose()?;
        let greeting = greeting.map(Box::new);
        let mut dialer = StreamDialer { address, way, ours, heard: None, greeting };
        dialer.is_answered()?;
        Ok(dialer)
    }

    /// Says what is to be said, once, and hears the answer.
    fn is_answered(&mut self) -> Result<bool, BootstrapError> {
        let Some(socket) = self.way.connected()? else { return Ok(false) };
        if let Some(greeting) = &mut self.greeting {
            return greeting.hear(socket, self.ours, &self.address);
        }
        let heard = match &mut self.heard {
            Some(heard) => heard,
            unspoken => {
                // Whoever was turned away finds that it cannot send, and then reads why.
                let mut heard = Heard::default();
                self.ours.checksums = checksums_over(socket);
                self.ours
                    .say(socket, &self.address)
                    .map_err(|error| heard.hear(socket, self.ours, &self.address).err().unwrap_or(error))?;
                unspoken.insert(heard)
            }
        };
        heard.hear(socket, self.ours, &self.address)
    }
}

impl Dialer for StreamDialer {
    fn finish(&mut self) -> Result<Option<End>, BootstrapError> {
        if !self.is_answered()? {
            return Ok(None);
        }
        let Some(socket) = self.way.take_socket() else { return Ok(None) };
        let wiring = wiring_at(&self.address, socket.as_fd())?;
        if let Some(greeted) = self.greeting.take().and_then(|greeting| greeting.greeted()) {
            return Ok(Some(end_over_tls(socket, wiring, self.ours.checksums, greeted)));
        }
        if let Way::Tcp(_) = self.way {
            // Not before: as long as nobody has taken the connection, its other end is nobody's.
            tcp_peer::check_user(socket.as_fd(), &self.address)?;
        }
        Ok(Some(connection::end(socket, wiring, self.ours.checksums)))
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.way.fd()
    }
}
