//! The protocol.

mod held;
#[cfg(test)]
mod tests;
mod ways;

use crate::config::KernelConfig;
use crate::counters::Counters;
use crate::defect::seeded;
use crate::news::{SERVER_NEWS, ServerNews};
use held::{Held, send};
use quintet_contract::limits::PORTS_PREFIX_BYTES;
use quintet_contract::{
    Address, Disconnect, DownCause, Frame, Input, Kind, Meter, Outbox, OwnedFrame, PeerChange, PeerMap, Port,
    Protocol, SendError, Time, Token,
};
use quintet_session::{ABSENT, LEFT, Parting, PortPair};
use quintet_wire::Decode;
use quintet_wire::registry::{PORT_CALLERS, PORTS};
use ways::Ways;

/// Passes frames on between clients and one server: compose as `Sessions<Kernel>`, with the role
/// [`Role::KERNEL`](quintet_session::Role::KERNEL), where the server is asked and clients are not.
///
/// # Ends
///
/// | what happens | who learns of it |
/// | --- | --- |
/// | a client has gone | the server, after what the client sent: each of its pairs is over, with the cause |
/// | the server breaks with one client | that client's link is closed; the others stay |
/// | nothing is at a port of the server, or there are too many pairs | that client, as from the server |
/// | the server has gone | the callers of the kernel's node, by [`SERVER_NEWS`]: its host ends the node, and with it all clients' links, for what was between them and that life of the server is over |
///
/// # Room
///
/// A frame that finds no room in its link waits here, behind those that wait already; frames between other nodes pass. How much waits of one client is
/// bounded by what client and server allow each other, and in any case by [`KernelConfig::max_held_bytes`].
#[derive(Debug)]
pub struct Kernel {
    config: KernelConfig,
    server: Server,
    clients: PeerMap<Client>,
    ways: Ways,
    to_server: Held,
    counters: Counters,
}

/// How it stands with the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Server {
    /// There is no session so far.
    Awaited,
    Up,
    Gone,
}

/// A client whose session lives.
#[derive(Debug, Default)]
struct Client {
    /// What waits for room in its link.
    held: Held,
    /// Bytes of what waits for room in the server's.
    to_server_bytes: u64,
    /// Its link is being closed.
    is_closing: bool,
}

impl Kernel {
    /// A kernel without clients.
    #[must_use]
    pub fn new(config: KernelConfig) -> Kernel {
        Kernel {
            config,
            server: Server::Awaited,
            clients: PeerMap::new(),
            ways: Ways::default(),
            to_server: Held::default(),
            counters: Counters::default(),
        }
    }

    /// Frames so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Bytes that wait for room, and pairs of ports that are open.
    #[must_use]
    pub fn books(&self) -> (u64, usize) {
        let to_clients: u64 = self.clients.values().map(|client| client.held.bytes()).sum();
        (to_clients + self.to_server.bytes(), self.ways.len())
    }

    fn hear_client(&mut self, from: Address, frame: &Frame<'_>, out: &mut dyn Outbox) {
        if self.clients.get(from).is_none_or(|client| client.is_closing) {
            return;
        }
        let is_own = PORTS.contains(frame.kind) && frame.kind != ABSENT;
        let Some((pair, rest)) = PortPair::split(frame.body).filter(|_| !is_own) else {
            return self.cut_off(from, out);
        };
        let known = self.ways.port(from, pair);
        if frame.kind == ABSENT {
            return self.hear_absent(from, known, (pair, rest), out);
        }
        let port = known.or_else(|| self.ways.open(from, pair, self.config.max_pairs));
        match port {
            Some(port) => {
                let pair = PortPair { from: port, to: pair.to };
                self.pass_to_server(from, Relayed { frame: *frame, pair, rest }, out);
            }
            None => self.pass_to_client(from, Relayed::word(ABSENT, pair.turned(), &[]), out),
        }
    }

    /// Nobody is at a client's port: the server hears it, and the pair is over. The word has nothing behind the pair.
    fn hear_absent(
        &mut self,
        from: Address,
        known: Option<Port>,
        (pair, rest): (PortPair, &[u8]),
        out: &mut dyn Outbox,
    ) {
        if !rest.is_empty() {
            return self.cut_off(from, out);
        }
        let Some(port) = known else { return };
        let pair = PortPair { from: port, to: pair.to };
        self.pass_to_server(from, Relayed::word(ABSENT, pair, rest), out);
        self.leave(from, port, DownCause::Closed, out);
    }

    fn hear_server(&mut self, frame: &Frame<'_>, out: &mut dyn Outbox) {
        // A server that is honest says nothing else.
        let Some((pair, rest)) = PortPair::split(frame.body) else { return };
        if frame.kind == LEFT {
            return self.hear_left(pair.to, rest, out);
        }
        let Some((client, theirs)) = self.ways.client(pair.to).filter(|(_, theirs)| theirs.to == pair.from)
        else {
            self.counters.late += 1;
            return;
        };
        self.pass_to_client(client, Relayed { frame: *frame, pair: theirs.turned(), rest }, out);
        if frame.kind == ABSENT {
            self.leave(client, pair.to, DownCause::Closed, out);
        }
    }

    /// The server has ended a pair, or has heard that one is left.
    fn hear_left(&mut self, port: Port, word: &[u8], out: &mut dyn Outbox) {
        match Parting::decode_all(word) {
            Ok(Parting::Heard) => drop(self.ways.heard(port)),
            Ok(Parting::Over(_)) | Err(_) => {
                if let Some((client, _)) = self.ways.client(port) {
                    self.cut_off(client, out);
                }
            }
        }
    }

    /// Closes a client's link. What it has with the server ends when the link is down.
    fn cut_off(&mut self, client: Address, out: &mut dyn Outbox) {
        if let Some(known) = self.clients.get_mut(client)
            && !known.is_closing
        {
            known.is_closing = true;
            known.held = Held::default();
            self.counters.cut_off += 1;
            out.disconnect(client, Disconnect::ForGood);
        }
    }

    /// A client is gone: so is what it has with the server, after what it sent.
    fn client_down(&mut self, client: Address, cause: DownCause, out: &mut dyn Outbox) {
        for port in self.ways.of(client) {
            self.leave(client, port, cause, out);
        }
        self.clients.remove(client);
    }

    /// Leaves a port, and tells the server.
    fn leave(&mut self, client: Address, port: Port, cause: DownCause, out: &mut dyn Outbox) {
        let Some(pair) = self.ways.leave(port) else { return };
        if seeded!(self.config, WithdrawalLost) {
            return;
        }
        if seeded!(self.config, PortReusedEarly) {
            self.ways.reuse(port);
        }
        let pair = PortPair { from: port, to: pair.to };
        let word = Parting::Over(cause).to_bytes(pair);
        let (_, rest) = PortPair::split(&word).expect("it stands in front");
        self.pass_to_server(client, Relayed::word(LEFT, pair, rest), out);
    }

    /// Sends a client's frame to the server, or keeps it.
    fn pass_to_server(&mut self, client: Address, frame: Relayed<'_>, out: &mut dyn Outbox) {
        let may_go = self.server == Server::Up && self.to_server.is_empty();
        let sent = if may_go { frame.send(self.config.server, out) } else { Err(SendError::Full) };
        match sent {
            Ok(()) => self.counters.to_server += 1,
            Err(SendError::Full) => {
                self.counters.held += 1;
                let bytes = self.to_server.keep(client, frame.to_owned());
                let known = self.clients.get_mut(client);
                let waiting = known.map_or(0, |known| {
                    known.to_server_bytes += bytes;
                    known.to_server_bytes
                });
                if waiting > self.config.max_held_bytes {
                    self.cut_off(client, out);
                }
            }
            // No honest client sends it.
            Err(SendError::TooLong { .. }) => self.cut_off(client, out),
            // It is going down: its end is told.
            Err(SendError::Unreachable) => {}
        }
    }

    /// Sends a frame to a client, or keeps it.
    fn pass_to_client(&mut self, to: Address, frame: Relayed<'_>, out: &mut dyn Outbox) {
        let Some(client) = self.clients.get_mut(to).filter(|client| !client.is_closing) else { return };
        let may_go = client.held.is_empty();
        let sent = if may_go { frame.send(to, out) } else { Err(SendError::Full) };
        match sent {
            Ok(()) => self.counters.to_clients += 1,
            Err(SendError::Full) => {
                self.counters.held += 1;
                client.held.keep(to, frame.to_owned());
                if client.held.bytes() > self.config.max_held_bytes {
                    self.cut_off(to, out);
                }
            }
            // Its link takes less than others: it cannot be served.
            Err(SendError::TooLong { .. }) => self.cut_off(to, out),
            Err(SendError::Unreachable) => {}
        }
    }

    /// Sends what waits for the server, as far as there is room.
    fn pass_waiting_to_server(&mut self, out: &mut dyn Outbox) {
        while let Some(frame) = self.to_server.first() {
            match send(self.config.server, &frame, out) {
                Err(SendError::Full) => return,
                Ok(()) if seeded!(self.config, RelayedTwice) => {
                    let _ = send(self.config.server, &frame, out);
                }
                Ok(()) | Err(_) => {}
            }
            self.counters.to_server += 1;
            if let Some((client, bytes)) = self.to_server.take()
                && let Some(known) = self.clients.get_mut(client)
            {
                known.to_server_bytes = known.to_server_bytes.saturating_sub(bytes);
            }
        }
    }

    /// The same for a client.
    fn pass_waiting_to_client(&mut self, to: Address, out: &mut dyn Outbox) {
        let Some(client) = self.clients.get_mut(to) else { return };
        while let Some(frame) = client.held.first() {
            if send(to, &frame, out) == Err(SendError::Full) {
                return;
            }
            self.counters.to_clients += 1;
            client.held.take();
        }
    }

    /// The server is gone, and with it all that was between it and the clients.
    fn server_down(&mut self, cause: DownCause, out: &mut dyn Outbox) {
        self.server = Server::Gone;
        self.tell(ServerNews::Gone(cause), out);
    }

    fn tell(&self, news: ServerNews, out: &mut dyn Outbox) {
        let callers = Address { node: self.config.me.node, port: PORT_CALLERS };
        // Where nobody calls, there is nobody to be told.
        let _ = quintet_wire::send(out, callers, SERVER_NEWS, Token(0), &news);
    }
}

/// A frame with another pair of ports in front of what stands behind its own.
#[derive(Clone, Copy)]
struct Relayed<'a> {
    frame: Frame<'a>,
    pair: PortPair,
    rest: &'a [u8],
}

impl<'a> Relayed<'a> {
    /// A frame of the kernel's own.
    fn word(kind: Kind, pair: PortPair, rest: &'a [u8]) -> Relayed<'a> {
        Relayed { frame: Frame::new(kind, Token(0), &[]), pair, rest }
    }

    fn body(&self) -> Vec<u8> {
        [&self.pair.to_bytes()[..], self.rest].concat()
    }

    fn to_owned(self) -> OwnedFrame {
        let Frame { kind, token, bulk, .. } = self.frame;
        OwnedFrame { kind, token, body: self.body().into(), bulk: bulk.clone() }
    }

    /// # Errors
    /// As [`Outbox::begin`].
    fn send(&self, to: Address, out: &mut dyn Outbox) -> Result<(), SendError> {
        let Frame { kind, token, bulk, .. } = self.frame;
        if !bulk.is_empty() {
            return out.send_bulk(to, kind, token, &self.body(), bulk.clone());
        }
        let len = PORTS_PREFIX_BYTES + self.rest.len();
        let room = out.begin(to, kind, token, len)?;
        self.pair.write(room);
        room[PORTS_PREFIX_BYTES..].copy_from_slice(self.rest);
        out.commit(len);
        Ok(())
    }
}

impl Protocol for Kernel {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        let server = self.config.server;
        match input {
            Input::Frame(from, _) if from.node == self.config.me.node => {}
            Input::Frame(from, frame) if from == server => self.hear_server(&frame, out),
            Input::Frame(from, frame) => self.hear_client(from, &frame, out),
            Input::Writable(to) if to == server => self.pass_waiting_to_server(out),
            Input::Writable(to) => self.pass_waiting_to_client(to, out),
            // Another life of it knows nothing of what its clients have.
            Input::Peer(peer, PeerChange::Up { .. }) if peer == server && self.server == Server::Gone => {}
            Input::Peer(peer, PeerChange::Up { .. }) if peer == server => {
                self.server = Server::Up;
                self.tell(ServerNews::Up, out);
                self.pass_waiting_to_server(out);
            }
            Input::Peer(peer, PeerChange::Down(cause)) if peer == server => self.server_down(*cause, out),
            Input::Peer(peer, PeerChange::Up { .. }) => {
                self.client_down(peer, DownCause::Died, out);
                self.clients.insert(peer, Client::default());
            }
            Input::Peer(peer, PeerChange::Down(cause)) => self.client_down(peer, *cause, out),
            Input::Started | Input::Wake => {}
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }

    fn measure(&self, meter: &mut Meter<'_>) {
        let (bytes, pairs) = self.books();
        self.counters.measure([self.clients.len() as u64, pairs as u64, bytes], meter);
    }
}
