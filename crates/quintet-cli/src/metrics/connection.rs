//! One connection of a scraper, or of somebody else: a request comes, an answer goes, and then it ends.

use super::endpoint::MakePage;
use super::exposition::CONTENT_TYPE;
use super::request::{MAX_REQUEST_BYTES, Names, Refused, TOO_LONG, check, end_of_headers};
use rustix::event::PollFlags;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// How long a connection may last, from its first byte to its last.
const LIFETIME: Duration = Duration::from_secs(5);
/// Bytes that are read at once, and of what comes after the request, at most.
const PIECE: usize = 4096;

pub(super) struct Connection {
    pub(super) stream: TcpStream,
    pub(super) until: Instant,
    state: State,
}

enum State {
    /// What came of the request so far.
    Asking(Vec<u8>),
    /// The answer, and how much of it has gone.
    Answering(Vec<u8>, usize),
    /// All has gone. What still comes is read and dropped, so that the answer is not taken back with a reset.
    Parting,
}

/// Whether a connection goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Goes {
    On,
    Over,
}

impl Connection {
    /// It must not block.
    pub(super) fn new(stream: TcpStream, now: Instant) -> Connection {
        Connection { stream, until: now + LIFETIME, state: State::Asking(Vec::new()) }
    }

    /// Whether it has not asked so far.
    pub(super) fn is_asking(&self) -> bool {
        matches!(self.state, State::Asking(_))
    }

    /// What it waits for.
    pub(super) fn interest(&self) -> PollFlags {
        match self.state {
            State::Answering(..) => PollFlags::OUT,
            State::Asking(_) | State::Parting => PollFlags::IN,
        }
    }

    /// Does what can be done without waiting.
    pub(super) fn advance(&mut self, names: &Names, page: &mut MakePage) -> Goes {
        match self.step(names, page) {
            Ok(goes) => goes,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Goes::On,
            // Whoever was there has gone.
            Err(_) => Goes::Over,
        }
    }

    /// Until the system lets it wait, or the connection is over.
    fn step(&mut self, names: &Names, page: &mut MakePage) -> std::io::Result<Goes> {
        loop {
            match &mut self.state {
                State::Asking(request) => {
                    let mut piece = [0; PIECE];
                    let length = self.stream.read(&mut piece)?;
                    if length == 0 {
                        return Ok(Goes::Over);
                    }
                    request.extend_from_slice(&piece[..length]);
                    if let Some(answer) = answer(request, names, page) {
                        self.state = State::Answering(answer, 0);
                    }
                }
                State::Answering(answer, gone) => {
                    *gone += self.stream.write(&answer[*gone..])?;
                    if *gone == answer.len() {
                        self.stream.shutdown(Shutdown::Write)?;
                        self.state = State::Parting;
                    }
                }
                // One piece a turn: who sends without end is not listened to without end.
                State::Parting => {
                    let length = self.stream.read(&mut [0; PIECE])?;
                    return Ok(if length == 0 { Goes::Over } else { Goes::On });
                }
            }
        }
    }
}

/// The answer to what came so far, once it can be given.
fn answer(request: &[u8], names: &Names, page: &mut MakePage) -> Option<Vec<u8>> {
    let checked = match end_of_headers(request) {
        Some(end) if end <= MAX_REQUEST_BYTES => check(&request[..end], names),
        None if request.len() < MAX_REQUEST_BYTES => return None,
        _ => Err(TOO_LONG),
    };
    let (status, kind, body) = match checked.map(|()| page()) {
        Ok(Ok(body)) => ("200 OK", CONTENT_TYPE, body),
        Ok(Err(why)) => ("503 Service Unavailable", "text/plain; charset=utf-8", format!("{why}\n")),
        Err(Refused { status, why }) => (status, "text/plain; charset=utf-8", format!("{why}\n")),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n{}Connection: close\r\n\r\n",
        body.len(),
        if status.starts_with("405") { "Allow: GET\r\n" } else { "" },
    );
    Some([head.into_bytes(), body.into_bytes()].concat())
}
