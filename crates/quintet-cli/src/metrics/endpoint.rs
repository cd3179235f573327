//! One thread answers all connections, none of which it waits for.
//!
//! Whoever reaches the port may connect, so all is bounded: how many connections there are, how long each lasts, how much of it is kept. Where there
//! are too many, the oldest goes that has not asked so far, so that those who say nothing keep nobody out who asks at once.

use super::connection::{Connection, Goes};
use super::request::Names;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::ErrorKind;
use std::net::TcpListener;
use std::time::{Duration, Instant};

/// Connections at one time.
const MAX_CONNECTIONS: usize = 32;
/// Nobody is let in for so long where the system refuses a descriptor.
const PAUSE: Duration = Duration::from_millis(100);

/// Makes the page anew for each who asks.
pub(super) type MakePage = Box<dyn FnMut() -> Result<String, String> + Send>;

pub(super) struct Endpoint {
    listener: TcpListener,
    names: Names,
    page: MakePage,
    connections: Vec<Connection>,
    /// The system refused a connection: none is taken before that.
    rests_until: Option<Instant>,
}

impl Endpoint {
    /// Answers from now on, in a thread of its own.
    ///
    /// # Errors
    /// The system refused.
    pub(super) fn start(listener: TcpListener, names: Names, page: MakePage) -> std::io::Result<()> {
        listener.set_nonblocking(true)?;
        let mut endpoint = Endpoint { listener, names, page, connections: Vec::new(), rests_until: None };
        let thread = std::thread::Builder::new().name("quintet-metrics".to_owned());
        thread.spawn(move || endpoint.run())?;
        Ok(())
    }

    fn run(&mut self) {
        loop {
            self.wait();
            let now = Instant::now();
            self.rests_until = self.rests_until.filter(|until| *until > now);
            self.accept(now);
            self.advance(now);
        }
    }

    /// Until something can be done.
    fn wait(&self) {
        let first = self.connections.iter().map(|connection| connection.until).chain(self.rests_until).min();
        let limit = first.map(|until| until.saturating_duration_since(Instant::now()));
        // A little more, so that what is due is over when it is looked at.
        let limit = limit.and_then(|limit| Timespec::try_from(limit + Duration::from_millis(1)).ok());
        let mut waiting: Vec<PollFd<'_>> = self
            .connections
            .iter()
            .map(|connection| PollFd::new(&connection.stream, connection.interest()))
            .collect();
        if self.rests_until.is_none() {
            waiting.push(PollFd::new(&self.listener, PollFlags::IN));
        }
        // Interrupted, it is as if something had happened.
        let _ = poll(&mut waiting, limit.as_ref());
    }

    fn accept(&mut self, now: Instant) {
        // As many as there may be, so that a flood of them keeps nobody waiting who has asked.
        for _ in 0..MAX_CONNECTIONS {
            if self.rests_until.is_some() {
                return;
            }
            match self.listener.accept().and_then(|(stream, _)| stream.set_nonblocking(true).map(|()| stream))
            {
                Ok(stream) => self.admit(Connection::new(stream, now)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error)
                    if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::Interrupted) => {}
                Err(_) => self.rests_until = Some(now + PAUSE),
            }
        }
    }

    /// Takes a connection, for which another one may have to go.
    fn admit(&mut self, connection: Connection) {
        // What it asks may have come with it.
        self.connections.push(connection);
        if self.connections.len() > MAX_CONNECTIONS {
            let oldest = self.connections.iter().position(Connection::is_asking).unwrap_or(0);
            self.connections.remove(oldest);
        }
    }

    /// Lets all go on, and ends those whose time is over.
    fn advance(&mut self, now: Instant) {
        let Endpoint { connections, names, page, .. } = self;
        connections
            .retain_mut(|connection| connection.until > now && connection.advance(names, page) == Goes::On);
    }
}
