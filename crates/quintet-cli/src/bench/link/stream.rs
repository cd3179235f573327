//! Frames and bulk one way, timed at the receiver in windows, as the peers do it.
//!
//! *Small*: 64 bytes a frame, each copied into the receiver's own buffer; the sender rings once a [`Burst`], as a host does.
//!
//! *Bulk*: the sender sends one buffer over and over. Shared memory copies it into its ring, and out of it into new memory,
//! which it hands over and its receiver may keep: one copy in, one copy out, as the peers do. Over a socket the kernel makes these two. The receiver keeps one message.

use super::child::{ChildLink, Over};
use super::{CONNECT_LIMIT, ROUTE, lost, receive};
use crate::bench::case::Round;
use crate::bench::row::median;
use crate::pinning::{Pin, allowed};
use bytes::Bytes;
use quintet::{Code, Error};
use quintet_contract::{Frame, SendError};
use quintet_link::{Burst, End, LinkAddress, connect};
use std::hint::black_box;
use std::time::Instant;

/// Messages of at least so many bytes go as bulk.
const BULK_BYTES: usize = 64 * 1024;

/// What is sent, and how it is counted.
#[derive(Clone, Copy)]
struct Messages {
    bytes: usize,
    /// Messages of a round, and those before it that do not count.
    count: u64,
    warm_up: u64,
    /// Messages that are timed together.
    window: u64,
}

/// Frames of 64 bytes a second.
pub(super) fn small(over: Over) -> Result<Round, Error> {
    let messages = Messages { bytes: 64, count: 1_000_000, warm_up: 10_000, window: 1_000_000 };
    let mut stream = Stream::start(over, messages, Kept::Small([0; 64]))?;
    Ok(Box::new(move || stream.round()))
}

/// Bytes a second in messages of 64 KiB.
pub(super) fn bulk_64k(over: Over) -> Result<Round, Error> {
    bulk(over, Messages { bytes: BULK_BYTES, count: 5_000, warm_up: 256, window: 16 })
}

/// Bytes a second in messages of 1 MiB.
pub(super) fn bulk_1m(over: Over) -> Result<Round, Error> {
    bulk(over, Messages { bytes: 1 << 20, count: 320, warm_up: 16, window: 16 })
}

fn bulk(over: Over, messages: Messages) -> Result<Round, Error> {
    let mut stream = Stream::start(over, messages, Kept::Bulk(Bytes::new()))?;
    Ok(Box::new(move || stream.round().map(|rate| rate * messages.bytes as f64)))
}

/// The receiving side, here.
struct Stream {
    link: ChildLink,
    messages: Messages,
    kept: Kept,
}

/// The message received last.
enum Kept {
    Small([u8; 64]),
    /// As the link handed it over.
    Bulk(Bytes),
}

impl Stream {
    fn start(over: Over, messages: Messages, kept: Kept) -> Result<Stream, Error> {
        let link = ChildLink::start(over, "send", allowed()?.get(1).copied(), false)?;
        Ok(Stream { link, messages, kept })
    }

    /// Messages a second in the median window.
    fn round(&mut self) -> Result<f64, Error> {
        let Messages { bytes, count, warm_up, window } = self.messages;
        order(&mut self.link.end, bytes, warm_up + count)?;
        self.receive(warm_up)?;
        let mut windows = Vec::new();
        let mut started = Instant::now();
        for _ in 0..count / window {
            self.receive(window)?;
            let now = Instant::now();
            windows.push((now - started).as_secs_f64());
            started = now;
        }
        // What does not fill a window is received, too: the next round begins with an empty ring.
        self.receive(count % window)?;
        Ok(median(windows).map_or(0., |seconds| window as f64 / seconds))
    }

    fn receive(&mut self, messages: u64) -> Result<(), Error> {
        let mut left = messages as usize;
        let kept = &mut self.kept;
        while left > 0 {
            left -= receive(&mut self.link.end, left, |frame| kept.keep(&frame))?;
        }
        Ok(())
    }
}

impl Kept {
    #[inline]
    fn keep(&mut self, frame: &Frame<'_>) {
        match self {
            Kept::Small(buffer) => {
                buffer.copy_from_slice(frame.body);
                // The compiler is not to see that nobody reads it.
                black_box(buffer);
            }
            Kept::Bulk(message) => *message = frame.bulk.clone(),
        }
    }
}

/// Asks the sender for so many messages of so many bytes.
fn order(end: &mut End, bytes: usize, count: u64) -> Result<(), Error> {
    let room =
        end.sender.begin(ROUTE, 16).map_err(|error| Error::new(Code::Unreachable, error.to_string()))?;
    let (first, second) = room.split_at_mut(8);
    first.copy_from_slice(&(bytes as u64).to_le_bytes());
    second.copy_from_slice(&count.to_le_bytes());
    end.sender.commit(16);
    end.sender.flush().map_err(lost)
}

/// What an order says.
fn ordered(body: &[u8]) -> Option<(usize, u64)> {
    let (bytes, count) =
        body.split_first_chunk().zip(body.last_chunk()).map(|((bytes, _), count)| (bytes, count))?;
    Some((usize::try_from(u64::from_le_bytes(*bytes)).ok()?, u64::from_le_bytes(*count)))
}

/// The sending side: fills one order after another, until the other side goes.
pub(super) fn send(address: &LinkAddress, processor: Option<usize>) -> Result<(), Error> {
    let _pin = processor.map(Pin::to).transpose()?;
    let mut end = connect(address, CONNECT_LIMIT)?;
    loop {
        let mut order = None;
        let Ok(_) = receive(&mut end, 1, |frame| order = ordered(frame.body)) else { return Ok(()) };
        let Some((bytes, count)) = order else { continue };
        if bytes < BULK_BYTES {
            send_small(&mut end, &vec![7; bytes], count)?;
        } else {
            send_bulk(&mut end, &Bytes::from(vec![7; bytes]), count)?;
        }
    }
}

fn send_small(end: &mut End, body: &[u8], count: u64) -> Result<(), Error> {
    let (mut burst, mut left) = (Burst::default(), Burst::default().frames());
    for number in 1..=count {
        when_there_is_room(end, |end| {
            end.sender.begin(ROUTE, body.len())?.copy_from_slice(body);
            end.sender.commit(body.len());
            Ok(())
        })?;
        left -= 1;
        if left == 0 || number == count {
            end.sender.flush().map_err(lost)?;
            burst.ended(!end.sender.is_free_to_flush());
            left = burst.frames();
        }
    }
    Ok(())
}

fn send_bulk(end: &mut End, message: &Bytes, count: u64) -> Result<(), Error> {
    for _ in 0..count {
        when_there_is_room(end, |end| end.sender.send_bulk(ROUTE, &[], message.clone()))?;
        end.sender.flush().map_err(lost)?;
    }
    Ok(())
}

/// Does it as soon as the ring has room.
#[inline]
fn when_there_is_room(
    end: &mut End,
    mut act: impl FnMut(&mut End) -> Result<(), SendError>,
) -> Result<(), Error> {
    loop {
        match act(end) {
            Ok(()) => return Ok(()),
            Err(SendError::Full) => wait_for_room(end)?,
            Err(error) => return Err(Error::new(Code::Unreachable, error.to_string())),
        }
    }
}

#[cold]
fn wait_for_room(end: &mut End) -> Result<(), Error> {
    end.sender.flush().map_err(lost)?;
    while !end.sender.has_room() {
        end.receiver.wait(None);
    }
    Ok(())
}
