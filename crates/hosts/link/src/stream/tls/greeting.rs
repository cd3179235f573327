//! A connection until both sides are known: the handshake, and then the preambles inside it.
//!
//! The side that dials has proved who it is before it knows whether that is accepted; the preamble of the side that listens
//! tells it. Until then a bounded number of bytes is heard, and none of them is looked at that nobody is known to have sent.

use super::fault::TlsFault;
use super::opener::Opener;
use super::sealer::Sealer;
use super::session::{Session, Shared, Step};
use crate::credentials::{Credentials, Proof};
use crate::stream::Checksums;
use crate::stream::preamble::{PREAMBLE_BYTES, Preamble, Role, judge};
use crate::{BootstrapError, LinkAddress};
use quintet_errors::Code;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use rustls::Error;
use std::os::fd::BorrowedFd;

/// Bytes that are heard of who has not proved who it is.
const HEARD_BYTES: usize = 32 * 1024;
/// For a preamble, encrypted.
const SEALED_PREAMBLE_BYTES: usize = 256;
/// What TLS begins with: a record of its handshake, or an alert.
const FIRST_BYTES: [u8; 2] = [0x16, 0x15];
/// The alert "unexpected message", as it is said where no keys are agreed.
const ALERT: [u8; 7] = [0x15, 3, 3, 0, 2, 2, 10];

/// A connection over TLS that is being made.
pub(crate) struct Greeting {
    session: Session,
    /// What was received and not taken.
    incoming: Vec<u8>,
    /// Bytes that came in all.
    heard: usize,
    /// What was decrypted: the preamble, and what came behind it.
    plain: Vec<u8>,
    /// The peer, once it has proved who it is.
    peer: Option<Proof>,
    /// Who dials has said its preamble.
    has_spoken: bool,
}

/// What a greeting comes to.
pub(crate) struct Greeted {
    pub(crate) peer: Proof,
    pub(crate) sealer: Sealer,
    pub(crate) opener: Opener,
}

impl core::fmt::Debug for Greeting {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Greeting")
            .field("heard", &self.heard)
            .field("peer", &self.peer)
            .finish_non_exhaustive()
    }
}

impl Greeting {
    /// For the side of `role`, at that address.
    ///
    /// # Errors
    /// [`BootstrapError::Tls`].
    pub(crate) fn new(
        credentials: &Credentials,
        role: Role,
        address: &LinkAddress,
    ) -> Result<Self, BootstrapError> {
        let session = match role {
            Role::Dialled => Session::dialled(credentials.clone()),
            Role::Listened => Session::listened(credentials.clone()),
        };
        let session = session.map_err(|error| fault(error, address))?;
        let (incoming, plain) = (Vec::new(), Vec::new());
        Ok(Greeting { session, incoming, heard: 0, plain, peer: None, has_spoken: false })
    }

    /// Whether nothing came so far.
    pub(crate) fn is_empty(&self) -> bool {
        self.heard == 0
    }

    /// Goes on with what is there. Whether the other side's preamble is whole, and answers `ours`.
    ///
    /// # Errors
    /// [`BootstrapError`]. The other side was told.
    pub(crate) fn hear(
        &mut self,
        socket: BorrowedFd<'_>,
        ours: Preamble,
        address: &LinkAddress,
    ) -> Result<bool, BootstrapError> {
        loop {
            let gone_on = self.go_on(ours, address);
            let said = self.say_out(socket, address);
            if gone_on? {
                return Ok(true);
            }
            // Whoever was turned away finds that it cannot send, and then reads why.
            if let Err(error) = said
                && !matches!(error, BootstrapError::Left { .. })
            {
                return Err(error);
            }
            if !self.receive(socket, address)? {
                return Ok(false);
            }
        }
    }

    /// Takes what was received. Whether the preamble is whole.
    fn go_on(&mut self, ours: Preamble, address: &LinkAddress) -> Result<bool, BootstrapError> {
        if self.is_no_tls() {
            return Err(BootstrapError::OtherKind { address: address.clone() });
        }
        loop {
            let plain = &mut self.plain;
            let (discard, step) =
                self.session.open(&mut self.incoming, &mut |bytes| plain.extend_from_slice(bytes));
            self.incoming.drain(..discard);
            match step {
                Ok(Step::Again) => continue,
                Ok(Step::Blocked) => return Ok(false),
                Ok(Step::PeerClosed) => return Err(BootstrapError::Left { address: address.clone() }),
                Ok(Step::Took | Step::Open) => {}
                Err(error) => {
                    self.tell();
                    return Err(fault(error, address));
                }
            }
            if self.peer.is_none() {
                self.peer = Some(self.session.peer().map_err(|error| fault(error, address))?);
            }
            if ours.role == Role::Dialled && !self.has_spoken {
                self.has_spoken = true;
                self.seal(ours.to_bytes(None)).map_err(|error| fault(error, address))?;
            }
            if let Some(preamble) = self.plain.first_chunk::<PREAMBLE_BYTES>() {
                return judge(preamble, ours, address).map(|()| true);
            }
            if step == Ok(Step::Open) {
                return Ok(false);
            }
        }
    }

    /// Has the library say what is wrong, which it has ready: no longer than it may be asked without looking at more of what came.
    fn tell(&mut self) {
        loop {
            let (discard, step) = self.session.open(&mut self.incoming, &mut |_| {});
            self.incoming.drain(..discard);
            if step != Ok(Step::Again) || !self.incoming.is_empty() {
                return;
            }
        }
    }

    /// Whether the first byte is none of TLS.
    fn is_no_tls(&self) -> bool {
        let is_first = self.heard > 0 && self.heard == self.incoming.len();
        is_first && self.incoming.first().is_some_and(|first| !FIRST_BYTES.contains(first))
    }

    fn seal(&mut self, preamble: [u8; PREAMBLE_BYTES]) -> Result<(), Error> {
        let mut sealed = [0; SEALED_PREAMBLE_BYTES];
        let said = self.session.take_said();
        let written = self.session.seal(&preamble, &mut sealed);
        let written = written.map_err(|error| Error::General(error.to_string()))?;
        self.session.say(&[&said[..], &sealed[..written]].concat());
        Ok(())
    }

    /// Says that this side agrees.
    ///
    /// # Errors
    /// [`BootstrapError::Left`], [`BootstrapError::System`].
    pub(crate) fn say(
        &mut self,
        socket: BorrowedFd<'_>,
        preamble: Preamble,
        address: &LinkAddress,
    ) -> Result<(), BootstrapError> {
        self.seal(preamble.to_bytes(None)).map_err(|error| fault(error, address))?;
        self.say_out(socket, address)
    }

    /// Tells the other side that it is not taken, as far as both speak the same language. Whether that arrives matters to nobody.
    pub(crate) fn refuse(&mut self, socket: BorrowedFd<'_>, preamble: Preamble, code: Code) {
        if self.is_no_tls() {
            let _ = send(socket, &ALERT, SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
        } else if self.session.is_open() {
            let _ = self.seal(preamble.to_bytes(Some(code)));
            let said = self.session.take_said();
            let _ = send(socket, &said, SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
        }
    }

    /// The checksums that who dialled has chosen.
    pub(crate) fn checksums(&self) -> Checksums {
        self.plain.get(9).copied().and_then(Checksums::from_byte).unwrap_or(Checksums::Without)
    }

    /// Sends what the library has to say. There is room: little was sent before.
    fn say_out(&mut self, socket: BorrowedFd<'_>, address: &LinkAddress) -> Result<(), BootstrapError> {
        let said = self.session.take_said();
        if said.is_empty() {
            return Ok(());
        }
        match send(socket, &said, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
            Ok(count) if count == said.len() => Ok(()),
            Ok(_) => Err(BootstrapError::system(address, "send a handshake whole", Errno::NOBUFS)),
            Err(Errno::PIPE | Errno::CONNRESET) => Err(BootstrapError::Left { address: address.clone() }),
            Err(errno) => Err(BootstrapError::system(address, "send a handshake", errno)),
        }
    }

    /// Whether something came.
    fn receive(&mut self, socket: BorrowedFd<'_>, address: &LinkAddress) -> Result<bool, BootstrapError> {
        let start = self.incoming.len();
        if self.heard >= HEARD_BYTES {
            let fault = TlsFault::TooMuch { limit: HEARD_BYTES };
            return Err(BootstrapError::Tls { address: address.clone(), fault });
        }
        self.incoming.resize(start + HEARD_BYTES - self.heard, 0);
        let received = recv(socket, &mut self.incoming[start..], RecvFlags::DONTWAIT).map(|(_, count)| count);
        let count = received.unwrap_or(0);
        self.incoming.truncate(start + count);
        self.heard += count;
        match received {
            Ok(0) | Err(Errno::CONNRESET | Errno::PIPE) => {
                Err(BootstrapError::Left { address: address.clone() })
            }
            Ok(_) | Err(Errno::INTR) => Ok(true),
            Err(Errno::AGAIN) => Ok(false),
            Err(errno) => Err(BootstrapError::system(address, "receive a handshake", errno)),
        }
    }

    /// Both halves of what follows; none where the peer is not known.
    pub(crate) fn greeted(mut self) -> Option<Greeted> {
        let peer = self.peer?;
        let plain = self.plain.split_off(PREAMBLE_BYTES.min(self.plain.len()));
        let session = Shared::from(self.session);
        let sealer = Sealer::new(session.clone());
        Some(Greeted { peer, sealer, opener: Opener::new(session, &self.incoming, plain) })
    }
}

fn fault(error: Error, address: &LinkAddress) -> BootstrapError {
    BootstrapError::Tls { address: address.clone(), fault: error.into() }
}
