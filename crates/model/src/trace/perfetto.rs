//! Traces for the viewer Perfetto: a file is one protobuf message `Trace`, a sequence of packets, each of which describes a
//! track or tells of an event on one (`protos/perfetto/trace/` of <https://github.com/google/perfetto>; protobuf's encoding:
//! <https://protobuf.dev/programming-guides/encoding/>).
//!
//! Nothing is kept but the packet at hand. The first failure of the file ends the writing; [`Perfetto::finish`] tells it.

use quintet_simulate::Picos;
use std::io::{self, Write};

/// Field numbers of the messages, as their definitions have them.
mod field {
    pub(super) const TRACE_PACKET: u64 = 1;

    /// `TracePacket`.
    pub(super) const TIMESTAMP: u64 = 8;
    pub(super) const SEQUENCE: u64 = 10;
    pub(super) const EVENT: u64 = 11;
    pub(super) const TRACK: u64 = 60;

    /// `TrackDescriptor`.
    pub(super) const TRACK_UUID: u64 = 1;
    pub(super) const TRACK_NAME: u64 = 2;
    pub(super) const TRACK_PARENT: u64 = 5;
    pub(super) const TRACK_COUNTER: u64 = 8;

    /// `CounterDescriptor`.
    pub(super) const COUNTER_UNIT_NAME: u64 = 6;

    /// `TrackEvent`.
    pub(super) const EVENT_ANNOTATION: u64 = 4;
    pub(super) const EVENT_TYPE: u64 = 9;
    pub(super) const EVENT_TRACK: u64 = 11;
    pub(super) const EVENT_NAME: u64 = 23;
    pub(super) const EVENT_VALUE: u64 = 30;

    /// `DebugAnnotation`.
    pub(super) const ANNOTATION_NUMBER: u64 = 3;
    pub(super) const ANNOTATION_TEXT: u64 = 6;
    pub(super) const ANNOTATION_NAME: u64 = 10;
}

/// `TrackEvent.Type`.
#[derive(Clone, Copy)]
enum EventType {
    Begin = 1,
    End = 2,
    Instant = 3,
    Counter = 4,
}

/// Packets with the same number are in order.
const SEQUENCE: u64 = 1;

/// A track: a line of the picture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Track(u64);

/// What is told of an event besides its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Detail<'a> {
    Text(&'a str),
    Number(u64),
}

/// A trace on its way into a file.
pub(super) struct Perfetto<'a> {
    to: &'a mut dyn Write,
    tracks: u64,
    packet: Message,
    /// A message in the packet.
    inner: Message,
    /// A message in that.
    innermost: Message,
    failed: Option<io::Error>,
}

impl<'a> Perfetto<'a> {
    pub(super) fn new(to: &'a mut dyn Write) -> Perfetto<'a> {
        let empty = Message::default;
        Perfetto { to, tracks: 0, packet: empty(), inner: empty(), innermost: empty(), failed: None }
    }

    /// A track for events, below another one.
    pub(super) fn track(&mut self, name: &str, parent: Option<Track>) -> Track {
        self.describe(name, parent, None)
    }

    /// A track for the values of something that is counted.
    pub(super) fn counter(&mut self, name: &str, parent: Option<Track>, unit: &str) -> Track {
        self.describe(name, parent, Some(unit))
    }

    fn describe(&mut self, name: &str, parent: Option<Track>, unit: Option<&str>) -> Track {
        self.tracks += 1;
        self.inner.clear();
        self.inner.number(field::TRACK_UUID, self.tracks);
        self.inner.text(field::TRACK_NAME, name);
        if let Some(parent) = parent {
            self.inner.number(field::TRACK_PARENT, parent.0);
        }
        if let Some(unit) = unit {
            self.innermost.clear();
            self.innermost.text(field::COUNTER_UNIT_NAME, unit);
            self.inner.message(field::TRACK_COUNTER, &self.innermost);
        }
        self.packet.clear();
        self.write(field::TRACK);
        Track(self.tracks)
    }

    /// From now on this goes on, within what goes on there already.
    pub(super) fn begin(&mut self, at: Picos, track: Track, name: &str) {
        self.event(EventType::Begin, track);
        self.inner.text(field::EVENT_NAME, name);
        self.write_event(at);
    }

    /// What was begun last on the track ends.
    pub(super) fn end(&mut self, at: Picos, track: Track) {
        self.event(EventType::End, track);
        self.write_event(at);
    }

    /// Something happens that takes no time.
    pub(super) fn instant(&mut self, at: Picos, track: Track, name: &str, details: &[(&str, Detail<'_>)]) {
        self.event(EventType::Instant, track);
        self.inner.text(field::EVENT_NAME, name);
        for (name, detail) in details {
            self.innermost.clear();
            self.innermost.text(field::ANNOTATION_NAME, name);
            match detail {
                Detail::Text(text) => self.innermost.text(field::ANNOTATION_TEXT, text),
                Detail::Number(number) => self.innermost.number(field::ANNOTATION_NUMBER, *number),
            }
            self.inner.message(field::EVENT_ANNOTATION, &self.innermost);
        }
        self.write_event(at);
    }

    /// From now on there are so many.
    pub(super) fn count(&mut self, at: Picos, track: Track, value: u64) {
        self.event(EventType::Counter, track);
        self.inner.number(field::EVENT_VALUE, value);
        self.write_event(at);
    }

    fn event(&mut self, what: EventType, track: Track) {
        self.inner.clear();
        self.inner.number(field::EVENT_TYPE, what as u64);
        self.inner.number(field::EVENT_TRACK, track.0);
    }

    /// Times are in nanoseconds.
    fn write_event(&mut self, at: Picos) {
        self.packet.clear();
        self.packet.number(field::TIMESTAMP, at.0 / 1_000);
        self.write(field::EVENT);
    }

    /// Writes the packet with the inner message as this field of it.
    fn write(&mut self, field: u64) {
        self.packet.number(field::SEQUENCE, SEQUENCE);
        self.packet.message(field, &self.inner);
        // In the file, the packet is a field of the trace.
        self.inner.clear();
        self.inner.message(field::TRACE_PACKET, &self.packet);
        if self.failed.is_none() {
            self.failed = self.to.write_all(&self.inner.0).err();
        }
    }

    /// Whether writing has failed.
    pub(super) fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// # Errors
    /// The first failure of the file.
    pub(super) fn finish(self) -> io::Result<()> {
        self.failed.map_or_else(|| self.to.flush(), Err)
    }
}

/// A protobuf message, being written.
#[derive(Default)]
struct Message(Vec<u8>);

/// How a field's value is written.
#[derive(Clone, Copy)]
enum Wire {
    Varint = 0,
    Bytes = 2,
}

impl Message {
    fn clear(&mut self) {
        self.0.clear();
    }

    /// Seven bits a byte, the least first; the eighth says that more follow.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn key(&mut self, field: u64, wire: Wire) {
        self.varint(field << 3 | wire as u64);
    }

    fn number(&mut self, field: u64, value: u64) {
        self.key(field, Wire::Varint);
        self.varint(value);
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.key(field, Wire::Bytes);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn text(&mut self, field: u64, text: &str) {
        self.bytes(field, text.as_bytes());
    }

    fn message(&mut self, field: u64, message: &Message) {
        self.bytes(field, &message.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_what_the_encoding_says() {
        let mut file = Vec::new();
        let mut trace = Perfetto::new(&mut file);
        let track = trace.track("cpu", None);
        trace.begin(Picos(300_999), track, "work");
        trace.finish().expect("memory takes all");
        let track = [80, 1, 0xe2, 3, 7, 8, 1, 18, 3, b'c', b'p', b'u'];
        let event = [64, 0xac, 2, 80, 1, 90, 11, 72, 1, 88, 1, 0xba, 1, 4, b'w', b'o', b'r', b'k'];
        let packets = [&[10, 12], &track[..], &[10, 18], &event[..]].concat();
        assert_eq!(file, packets);
    }

    #[test]
    fn a_file_that_fails_is_told_at_the_end() {
        let mut room = [0u8; 8];
        let mut file = &mut room[..];
        let mut trace = Perfetto::new(&mut file);
        let track = trace.track("a long name", None);
        trace.end(Picos(0), track);
        assert!(trace.has_failed());
        assert_eq!(trace.finish().map_err(|error| error.kind()), Err(io::ErrorKind::WriteZero));
    }
}
