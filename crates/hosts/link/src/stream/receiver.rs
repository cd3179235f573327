//! The receiving half of an end.

use super::connection::{Connection, is_end};
use super::layout::RECEIVER_LEFT;
use super::outgoing::Piece;
use super::parting::Parting;
use super::reader::{Faulty, FrameReader, Item, Room};
use super::tls::opener::{Opener, Received};
use crate::moderation::Moderation;
use crate::pages::Pages;
use crate::wait::{self, Patience, Waiting};
use crate::{LinkError, Receiver, Route};
use bytes::Bytes;
use core::cell::RefCell;
use core::time::Duration;
use quintet_clock::LiveClock;
use quintet_contract::{Frame, Stamps};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use std::os::fd::BorrowedFd;
use std::sync::Arc;

/// How many times longer than through shared memory a wake-up through a socket takes, and so a spin must as well: about 60 reads.
const SLOWER: u32 = 3;

/// Reads one direction of a link.
pub(super) struct StreamReceiver {
    inbound: Inbound,
    failed: Option<LinkError>,
    patience: Patience,
    clock: LiveClock,
}

/// What is read, and what a wait looks at.
struct Inbound {
    connection: Arc<Connection>,
    reader: FrameReader,
    /// Over TLS: decrypts what is read.
    opener: Option<Opener>,
    moderation: Moderation,
    /// The last read took all that was there.
    is_drained: bool,
    /// How the stream ended, once that is known.
    ended: Option<LinkError>,
    /// It has ended, and it is not known how.
    parting: Option<Parting>,
}

impl Inbound {
    /// Receives what is there, with one read.
    fn receive(&mut self) {
        if self.ended.is_some() {
            return;
        }
        if let Some(parting) = &self.parting {
            self.ended = parting.end();
            return;
        }
        if self.opener.is_some() {
            return self.receive_sealed();
        }
        let socket = self.connection.socket();
        let (asked, received) = match self.reader.room() {
            None => return,
            Some(Room::Bulk(room)) => {
                (room.len(), recv(socket, room, RecvFlags::DONTWAIT).map(|(_, count)| count))
            }
            Some(Room::Buffer(room)) => {
                (room.len(), recv(socket, room, RecvFlags::DONTWAIT).map(|(_, count)| count))
            }
        };
        self.is_drained = !matches!(received, Ok(count) if count == asked);
        match received {
            Ok(0) => self.hang_up(),
            Ok(count) => self.reader.received(count),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(errno) if is_end(errno) => self.hang_up(),
            Err(errno) => self.ended = Some(LinkError::System(format!("cannot receive: {errno}"))),
        }
    }

    /// As [`Inbound::receive`], over TLS.
    fn receive_sealed(&mut self) {
        let Some(opener) = &mut self.opener else { return };
        let received = opener.receive(self.connection.socket(), &mut self.reader);
        self.is_drained = matches!(received, Ok(Received::All | Received::Nothing));
        match received {
            Ok(Received::Some | Received::All | Received::Nothing) => {}
            Ok(Received::Closed) => self.ended = Some(LinkError::Closed),
            Ok(Received::HungUp) => self.hang_up(),
            Err(error) => self.ended = Some(error),
        }
    }

    /// Whether there is something to take, or something that was received and not decrypted so far.
    #[inline]
    fn has_more(&self) -> bool {
        self.reader.has_item() || self.opener.as_ref().is_some_and(Opener::has_more)
    }

    /// The stream has ended. Asks how, unless the peer has said so.
    #[cold]
    fn hang_up(&mut self) {
        if let Some(farewell) = self.reader.farewell() {
            self.ended = Some(farewell.end());
            return;
        }
        let parting = Parting::of(self.connection.socket());
        match parting.and_then(|parting| self.connection.watch_instead(parting.fds()).map(|()| parting)) {
            Ok(parting) => {
                self.ended = parting.end();
                self.parting = Some(parting);
            }
            Err(end) => self.ended = Some(end),
        }
    }

    /// Whether the rest of a frame's bulk is on its way.
    fn awaits_bulk(&self) -> bool {
        self.parting.is_none() && self.reader.awaits_bulk()
    }

    /// Whether a wait is over, as far as that is known without a look at the socket.
    #[inline]
    fn is_ready(&self) -> bool {
        self.has_more() || self.connection.was_called() || self.ended.is_some() || self.reader.sender_left()
    }

    /// Nothing is left to take.
    #[inline]
    fn emptied(&mut self) {
        self.moderation.emptied(&self.connection.sent);
    }

    /// Whether frames gather.
    #[inline]
    fn gathers(&self) -> bool {
        self.moderation.gathers(&self.connection.sent)
    }

    fn arm(&self) -> bool {
        self.connection.bell.arm();
        !self.is_ready()
    }

    fn disarm(&self) {
        self.connection.bell.disarm();
        self.connection.bell.drain_if_struck();
    }

    /// How the stream ended, where nothing is left to take.
    fn end(&self) -> Option<LinkError> {
        if let Some(farewell) = self.reader.farewell() {
            return Some(farewell.end());
        }
        self.connection.failure().or(self.ended.as_ref()).cloned()
    }
}

/// A wait looks by reading.
struct Looking<'a>(RefCell<&'a mut Inbound>);

impl Waiting for Looking<'_> {
    #[inline]
    fn ready(&self) -> bool {
        let mut inbound = self.0.borrow_mut();
        if inbound.is_ready() {
            return true;
        }
        inbound.connection.write_unsent();
        inbound.receive();
        inbound.is_ready()
    }

    fn is_near(&self) -> bool {
        self.0.borrow().awaits_bulk()
    }

    fn sleep(&mut self, limit: Option<Duration>) {
        let inbound = self.0.get_mut();
        if inbound.arm() {
            inbound.connection.sleep(limit);
        }
        inbound.disarm();
    }
}

impl StreamReceiver {
    /// Reads into that buffer.
    pub(super) fn new(
        connection: Arc<Connection>,
        buffer: Pages,
        is_checked: bool,
        opener: Option<Opener>,
    ) -> Self {
        let inbound = Inbound {
            connection,
            reader: FrameReader::new(buffer, is_checked),
            opener,
            moderation: Moderation::default(),
            is_drained: false,
            ended: None,
            parting: None,
        };
        StreamReceiver {
            inbound,
            failed: None,
            patience: Patience::new(wait::SPIN * SLOWER),
            clock: LiveClock::start(),
        }
    }

    /// Delivers what was received.
    #[inline]
    fn deliver(
        &mut self,
        limit: usize,
        deliver: &mut dyn FnMut(Route, Frame<'_>),
    ) -> Result<usize, LinkError> {
        let mut count = 0;
        while count < limit {
            match self.inbound.reader.next() {
                Ok(Some(Item::Frame { route, body, departed })) => {
                    let stamps = departed.map(|departed| Stamps { departed, arrived: self.clock.now() });
                    deliver(
                        route,
                        Frame { stamps: stamps.as_ref(), ..Frame::new(route.kind, route.token, body) },
                    );
                    self.inbound.moderation.read();
                    count += 1;
                }
                Ok(Some(Item::FrameWithBulk { route, body, bulk })) => {
                    deliver(route, Frame { bulk: &bulk, ..Frame::new(route.kind, route.token, body) });
                    count += 1;
                }
                Ok(Some(Item::ReceiverLeft)) => self.inbound.connection.break_off(),
                Ok(None) => break,
                Err(Faulty) => {
                    let error = self.inbound.reader.error();
                    let error = self.fail(error);
                    return if count > 0 { Ok(count) } else { Err(error) };
                }
            }
        }
        Ok(count)
    }

    fn fail(&mut self, error: LinkError) -> LinkError {
        self.inbound.connection.break_off();
        self.failed.insert(error).clone()
    }
}

impl Receiver for StreamReceiver {
    fn set_clock(&mut self, clock: LiveClock) {
        self.clock = clock;
    }

    /// The time for shared memory.
    fn set_spin(&mut self, spin: Duration) {
        self.patience = Patience::new(spin * SLOWER);
    }

    #[inline]
    fn poll(&mut self, limit: usize, deliver: &mut dyn FnMut(Route, Frame<'_>)) -> Result<usize, LinkError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        if self.inbound.connection.is_inherited() {
            return Err(self.fail(LinkError::inherited()));
        }
        self.inbound.connection.write_unsent();
        let count = self.deliver(limit, deliver)?;
        if count > 0 || limit == 0 {
            return Ok(count);
        }
        if self.inbound.gathers() {
            return Ok(0);
        }
        if self.inbound.is_drained {
            self.inbound.emptied();
            if self.inbound.gathers() {
                return Ok(0);
            }
        }
        self.inbound.receive();
        let count = self.deliver(limit, deliver)?;
        match self.inbound.end() {
            Some(end) if count == 0 => Err(self.fail(end)),
            _ => Ok(count),
        }
    }

    #[inline]
    fn has_frames(&self) -> bool {
        self.failed.is_none() && self.inbound.has_more()
    }

    fn awaits_bulk(&self) -> bool {
        self.inbound.awaits_bulk()
    }

    fn is_free_to_look_at(&self) -> bool {
        false
    }

    #[inline]
    fn wait(&mut self, limit: Option<Duration>) {
        if self.failed.is_some() || self.inbound.connection.is_inherited() {
            return;
        }
        if self.inbound.gathers() {
            self.inbound.moderation.gather(&self.inbound.connection.sent, || self.inbound.is_ready());
        }
        self.patience.wait(&mut Looking(RefCell::new(&mut self.inbound)), limit);
        self.inbound.connection.answer();
    }

    fn waker(&self) -> Arc<dyn Fn() + Send + Sync> {
        let bell = Arc::clone(&self.inbound.connection.bell);
        Arc::new(move || bell.ring())
    }

    fn arm(&mut self) -> bool {
        self.failed.is_none() && !self.inbound.connection.is_inherited() && self.inbound.arm()
    }

    fn disarm(&mut self) {
        if self.inbound.connection.is_inherited() {
            return;
        }
        self.inbound.disarm();
        self.inbound.connection.write_unsent();
        self.inbound.connection.answer();
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.inbound.connection.fd()
    }
}

impl Drop for StreamReceiver {
    fn drop(&mut self) {
        let connection = &self.inbound.connection;
        if connection.is_inherited() || connection.is_broken() {
            return;
        }
        let mut outgoing = connection.outgoing();
        if !outgoing.sender_left {
            let word = Bytes::copy_from_slice(&RECEIVER_LEFT.to_le_bytes());
            outgoing.append(Piece { bytes: word, is_bulk: false });
            connection.write_out(&mut outgoing);
        }
    }
}
