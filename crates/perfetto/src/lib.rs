//! Traces for the viewer Perfetto: a file is one protobuf message `Trace`, a sequence of packets, each of which describes a
//! track or tells of an event on one (`protos/perfetto/trace/` of <https://github.com/google/perfetto>; protobuf's encoding:
//! <https://protobuf.dev/programming-guides/encoding/>).
//!
//! Nothing is kept but the packet at hand. The first failure of the file ends the writing; [`Perfetto::finish`] tells it. Files of several
//! writers, one after the other, are one trace, if each was given numbers of its own ([`Perfetto::part`]). Those of another machine have
//! another clock, and are read and written anew: `part.rs`.
#![forbid(unsafe_code)]

mod part;

pub use part::{BadPart, CAME_FROM, Moment, Move, moments, moved};

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
    pub(super) const TRACK_PROCESS: u64 = 3;
    pub(super) const TRACK_PARENT: u64 = 5;
    pub(super) const TRACK_COUNTER: u64 = 8;

    /// `ProcessDescriptor`.
    pub(super) const PROCESS_ID: u64 = 1;
    pub(super) const PROCESS_NAME: u64 = 6;

    /// `CounterDescriptor`.
    pub(super) const COUNTER_UNIT_NAME: u64 = 6;

    /// `TrackEvent`.
    pub(super) const EVENT_ANNOTATION: u64 = 4;
    pub(super) const EVENT_TYPE: u64 = 9;
    pub(super) const EVENT_TRACK: u64 = 11;
    pub(super) const EVENT_NAME: u64 = 23;
    pub(super) const EVENT_VALUE: u64 = 30;
    pub(super) const EVENT_FLOWS: u64 = 47;

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

/// A track: a line of the picture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Track(u64);

/// Joins slices, of any tracks and parts of a trace, in the order of their times: an arrow from each to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flow(pub u64);

/// What is told of an event besides its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Detail<'a> {
    /// A text.
    Text(&'a str),
    /// A number.
    Number(u64),
}

/// A trace on its way into a file.
#[derive(Debug)]
pub struct Perfetto<W> {
    to: W,
    /// The number of the track made last.
    tracks: u64,
    /// Packets with the same number are in order.
    sequence: u64,
    packet: Message,
    /// A message in the packet.
    inner: Message,
    /// A message in that.
    innermost: Message,
    failed: Option<io::Error>,
}

impl<W: Write> Perfetto<W> {
    /// A whole trace.
    pub fn new(to: W) -> Perfetto<W> {
        Perfetto::part(to, 1, 0)
    }

    /// A part of a trace. `sequence`: a number that no other part has, from 1. `tracks`: its tracks have the numbers above this one, which those of no other
    /// part may be.
    pub fn part(to: W, sequence: u32, tracks: u64) -> Perfetto<W> {
        let empty = Message::default;
        let (packet, inner, innermost) = (empty(), empty(), empty());
        Perfetto { to, tracks, sequence: sequence.into(), packet, inner, innermost, failed: None }
    }

    /// What it writes to.
    pub fn target(&mut self) -> &mut W {
        &mut self.to
    }

    /// A track for what belongs to a process of the system.
    pub fn process(&mut self, id: u32, name: &str) -> Track {
        self.tracks += 1;
        self.inner.clear();
        self.inner.number(field::TRACK_UUID, self.tracks);
        self.innermost.clear();
        self.innermost.number(field::PROCESS_ID, id.into());
        self.innermost.text(field::PROCESS_NAME, name);
        self.inner.message(field::TRACK_PROCESS, &self.innermost);
        self.packet.clear();
        self.write(field::TRACK);
        Track(self.tracks)
    }

    /// A track for events, below another one.
    pub fn track(&mut self, name: &str, parent: Option<Track>) -> Track {
        self.describe(name, parent, None)
    }

    /// A track for the values of something that is counted.
    pub fn counter(&mut self, name: &str, parent: Option<Track>, unit: &str) -> Track {
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
    pub fn begin(&mut self, at_ns: u64, track: Track, name: &str) {
        self.begin_with(at_ns, track, name, &[], &[]);
    }

    /// The same, with details and with what leads to it and from it.
    pub fn begin_with(
        &mut self,
        at_ns: u64,
        track: Track,
        name: &str,
        details: &[(&str, Detail<'_>)],
        flows: &[Flow],
    ) {
        self.event(EventType::Begin, track);
        self.inner.text(field::EVENT_NAME, name);
        self.annotate(details);
        flows.iter().for_each(|flow| self.inner.fixed(field::EVENT_FLOWS, flow.0));
        self.write_event(at_ns);
    }

    /// What was begun last on the track ends.
    pub fn end(&mut self, at_ns: u64, track: Track) {
        self.event(EventType::End, track);
        self.write_event(at_ns);
    }

    /// Something happens that takes no time.
    pub fn instant(&mut self, at_ns: u64, track: Track, name: &str, details: &[(&str, Detail<'_>)]) {
        self.instant_with(at_ns, track, name, details, &[]);
    }

    /// The same, with what leads to it and from it.
    pub fn instant_with(
        &mut self,
        at_ns: u64,
        track: Track,
        name: &str,
        details: &[(&str, Detail<'_>)],
        flows: &[Flow],
    ) {
        self.event(EventType::Instant, track);
        self.inner.text(field::EVENT_NAME, name);
        self.annotate(details);
        flows.iter().for_each(|flow| self.inner.fixed(field::EVENT_FLOWS, flow.0));
        self.write_event(at_ns);
    }

    fn annotate(&mut self, details: &[(&str, Detail<'_>)]) {
        for (name, detail) in details {
            self.innermost.clear();
            self.innermost.text(field::ANNOTATION_NAME, name);
            match detail {
                Detail::Text(text) => self.innermost.text(field::ANNOTATION_TEXT, text),
                Detail::Number(number) => self.innermost.number(field::ANNOTATION_NUMBER, *number),
            }
            self.inner.message(field::EVENT_ANNOTATION, &self.innermost);
        }
    }

    /// From now on there are so many.
    pub fn count(&mut self, at_ns: u64, track: Track, value: u64) {
        self.event(EventType::Counter, track);
        self.inner.number(field::EVENT_VALUE, value);
        self.write_event(at_ns);
    }

    fn event(&mut self, what: EventType, track: Track) {
        self.inner.clear();
        self.inner.number(field::EVENT_TYPE, what as u64);
        self.inner.number(field::EVENT_TRACK, track.0);
    }

    fn write_event(&mut self, at_ns: u64) {
        self.packet.clear();
        self.packet.number(field::TIMESTAMP, at_ns);
        self.write(field::EVENT);
    }

    /// Writes the packet with the inner message as this field of it.
    fn write(&mut self, field: u64) {
        self.packet.number(field::SEQUENCE, self.sequence);
        self.packet.message(field, &self.inner);
        // In the file, the packet is a field of the trace.
        self.inner.clear();
        self.inner.message(field::TRACE_PACKET, &self.packet);
        if self.failed.is_none() {
            self.failed = self.to.write_all(&self.inner.0).err();
        }
    }

    /// Whether writing has failed.
    pub fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// Ends the writing.
    ///
    /// # Errors
    /// The first failure of the file.
    pub fn finish(mut self) -> io::Result<()> {
        match self.failed.take() {
            Some(error) => Err(error),
            None => self.to.flush(),
        }
    }
}

/// The whole packets at the beginning of a part: what a writer that was killed wrote last may be a piece of one, which would make all that follows
/// unreadable.
#[must_use]
pub fn whole_packets(part: &[u8]) -> &[u8] {
    let mut end = 0;
    while let Some(length) = packet_length(&part[end..]) {
        end += length;
    }
    &part[..end]
}

/// Bytes of the packet at the beginning, with its key and length; none if it is not there as a whole.
fn packet_length(bytes: &[u8]) -> Option<usize> {
    let (key, mut bytes_read) = (bytes.first()?, 1);
    if u64::from(*key) != field::TRACE_PACKET << 3 | Wire::Bytes as u64 {
        return None;
    }
    let mut length = 0_usize;
    for shift in (0..usize::BITS).step_by(7) {
        let byte = *bytes.get(bytes_read)?;
        bytes_read += 1;
        length |= usize::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            let whole = bytes_read.checked_add(length)?;
            return (whole <= bytes.len()).then_some(whole);
        }
    }
    None
}

/// A protobuf message, being written.
#[derive(Default, Debug)]
struct Message(Vec<u8>);

/// How a field's value is written.
#[derive(Clone, Copy)]
enum Wire {
    Varint = 0,
    Fixed = 1,
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

    fn fixed(&mut self, field: u64, value: u64) {
        self.key(field, Wire::Fixed);
        self.0.extend_from_slice(&value.to_le_bytes());
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
        trace.begin(300, track, "work");
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
        trace.end(0, track);
        assert!(trace.has_failed());
        assert_eq!(trace.finish().map_err(|error| error.kind()), Err(io::ErrorKind::WriteZero));
    }

    #[test]
    fn flows_are_numbers_of_eight_bytes() {
        let mut file = Vec::new();
        let mut trace = Perfetto::part(&mut file, 7, 100);
        let process = trace.process(9, "p");
        trace.begin_with(1, process, "w", &[], &[Flow(5)]);
        trace.finish().expect("memory takes all");
        let process = [80, 7, 0xe2, 3, 9, 8, 101, 26, 5, 8, 9, 50, 1, b'p'];
        let event = [64, 1, 80, 7, 90, 18, 72, 1, 88, 101, 0xba, 1, 1, b'w', 0xf9, 2, 5, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(file, [&[10, 14], &process[..], &[10, 24], &event[..]].concat());
    }

    #[test]
    fn of_a_part_that_ends_anywhere_the_whole_packets_are_read() {
        let mut file = Vec::new();
        let mut trace = Perfetto::new(&mut file);
        let track = trace.track("cpu", None);
        let first = trace.target().len();
        trace.instant(1, track, &"x".repeat(300), &[]);
        trace.finish().expect("memory takes all");
        for end in 0..=file.len() {
            let expected = match end {
                _ if end < first => 0,
                _ if end < file.len() => first,
                _ => file.len(),
            };
            assert_eq!(whole_packets(&file[..end]).len(), expected, "{end}");
        }
        assert_eq!(whole_packets(b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), b"");
        assert_eq!(whole_packets(b"\x12\x00"), b"", "another field");
    }
}
