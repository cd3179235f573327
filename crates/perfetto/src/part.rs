//! Parts that were written on another machine: when their frames came and went by its clock, and the same parts by another clock.
//!
//! Parts are what somebody else says. Nothing is read that was not checked before.

use crate::{Message, Wire, field, whole_packets};
use core::fmt;

/// The detail of a slice, in a part of a live run, that says that a frame came: the first flow of such a slice is that of this frame, and all others are
/// of frames that were sent.
pub const CAME_FROM: &str = "from node";

/// Process numbers of the system are below this one.
const PROCESSES: u64 = 1 << 22;
/// Tracks of a part have numbers below this one.
const TRACKS: u64 = PROCESSES << 32;

/// That a frame came or was sent, in a slice that begins then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moment {
    /// The frame's flow.
    pub flow: u64,
    /// When the slice begins, in nanoseconds by the clock of the part.
    pub at_ns: u64,
    /// Whether it came; else it was sent.
    pub came: bool,
}

/// How a part of another machine is to be written into a trace.
#[derive(Clone, Copy)]
pub struct Move<'a> {
    /// The time of the trace's clock, by that of the part; both in nanoseconds.
    pub time: &'a dyn Fn(u64) -> u64,
    /// Which machine, from 1: two machines may have given the same numbers to processes.
    pub machine: u16,
    /// A number that no other part of the trace has.
    pub sequence: u32,
    /// Behind the names of its processes.
    pub suffix: &'a str,
}

/// A part that is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadPart;

impl fmt::Display for BadPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it is no part of a trace")
    }
}

impl core::error::Error for BadPart {}

/// When frames came and were sent, in the order of the part. What is behind the last whole packet does not count.
///
/// # Errors
/// [`BadPart`].
pub fn moments(part: &[u8]) -> Result<Vec<Moment>, BadPart> {
    let mut moments = Vec::new();
    each_packet(part, |packet| {
        let (mut at_ns, mut event) = (None, None);
        each(packet, |field, value| {
            match (field, value) {
                (field::TIMESTAMP, Value::Number(at)) => at_ns = Some(at),
                (field::EVENT, Value::Bytes(bytes)) => event = Some(bytes),
                _ => {}
            }
            Ok(())
        })?;
        let (Some(at_ns), Some(event)) = (at_ns, event) else { return Ok(()) };
        let mut next_came = false;
        each(event, |field, value| {
            match (field, value) {
                (field::EVENT_ANNOTATION, Value::Bytes(bytes)) => next_came |= says_that_it_came(bytes)?,
                (field::EVENT_FLOWS, Value::Fixed(flow)) => {
                    moments.push(Moment { flow, at_ns, came: core::mem::take(&mut next_came) });
                }
                _ => {}
            }
            Ok(())
        })
    })?;
    Ok(moments)
}

fn says_that_it_came(annotation: &[u8]) -> Result<bool, BadPart> {
    let mut came = false;
    each(annotation, |field, value| {
        came |= (field, value) == (field::ANNOTATION_NAME, Value::Bytes(CAME_FROM.as_bytes()));
        Ok(())
    })?;
    Ok(came)
}

/// The part as it goes into a trace by another clock. What is behind its last whole packet is left out.
///
/// # Errors
/// [`BadPart`].
pub fn moved(part: &[u8], how: &Move<'_>) -> Result<Vec<u8>, BadPart> {
    let (mut file, mut inner) = (Message::default(), Message::default());
    each_packet(part, |packet| {
        inner.clear();
        each(packet, |field, value| {
            match (field, value) {
                (field::TIMESTAMP, Value::Number(at)) => inner.number(field, (how.time)(at)),
                (field::SEQUENCE, Value::Number(_)) => inner.number(field, how.sequence.into()),
                (field::EVENT | field::TRACK, Value::Bytes(bytes)) => {
                    inner.message(field, &renumbered(field, bytes, how)?);
                }
                (field, value) => inner.value(field, value),
            }
            Ok(())
        })?;
        file.message(field::TRACE_PACKET, &inner);
        Ok(())
    })?;
    Ok(file.0)
}

/// An event or a track, under the numbers of its machine.
fn renumbered(what: u64, bytes: &[u8], how: &Move<'_>) -> Result<Message, BadPart> {
    let mut message = Message::default();
    each(bytes, |field, value| {
        match (what, field, value) {
            (field::EVENT, field::EVENT_TRACK, Value::Number(track))
            | (field::TRACK, field::TRACK_UUID | field::TRACK_PARENT, Value::Number(track)) => {
                message.number(field, track.wrapping_add(TRACKS.wrapping_mul(how.machine.into())));
            }
            (field::TRACK, field::TRACK_PROCESS, Value::Bytes(bytes)) => {
                message.message(field, &renamed(bytes, how)?);
            }
            (_, field, value) => message.value(field, value),
        }
        Ok(())
    })?;
    Ok(message)
}

fn renamed(process: &[u8], how: &Move<'_>) -> Result<Message, BadPart> {
    let mut message = Message::default();
    each(process, |field, value| {
        match (field, value) {
            (field::PROCESS_ID, Value::Number(id)) => {
                message.number(field, id.wrapping_add(PROCESSES.wrapping_mul(how.machine.into())));
            }
            (field::PROCESS_NAME, Value::Bytes(name)) => {
                message.bytes(field, &[name, how.suffix.as_bytes()].concat());
            }
            (field, value) => message.value(field, value),
        }
        Ok(())
    })?;
    Ok(message)
}

/// The value of a field.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Value<'a> {
    Number(u64),
    Fixed(u64),
    Bytes(&'a [u8]),
}

impl Message {
    fn value(&mut self, field: u64, value: Value<'_>) {
        match value {
            Value::Number(number) => self.number(field, number),
            Value::Fixed(number) => self.fixed(field, number),
            Value::Bytes(bytes) => self.bytes(field, bytes),
        }
    }
}

/// Hands out the contents of each whole packet of a part.
fn each_packet<'a>(
    part: &'a [u8],
    mut take: impl FnMut(&'a [u8]) -> Result<(), BadPart>,
) -> Result<(), BadPart> {
    each(whole_packets(part), |_, value| match value {
        Value::Bytes(packet) => take(packet),
        _ => Err(BadPart),
    })
}

/// Hands out each field of a message.
fn each<'a>(
    mut message: &'a [u8],
    mut take: impl FnMut(u64, Value<'a>) -> Result<(), BadPart>,
) -> Result<(), BadPart> {
    while !message.is_empty() {
        let key = varint(&mut message)?;
        let value = match key & 7 {
            wire if wire == Wire::Varint as u64 => Value::Number(varint(&mut message)?),
            wire if wire == Wire::Fixed as u64 => {
                let (bytes, rest) = message.split_first_chunk().ok_or(BadPart)?;
                message = rest;
                Value::Fixed(u64::from_le_bytes(*bytes))
            }
            wire if wire == Wire::Bytes as u64 => {
                let length = usize::try_from(varint(&mut message)?).map_err(|_| BadPart)?;
                let (bytes, rest) = message.split_at_checked(length).ok_or(BadPart)?;
                message = rest;
                Value::Bytes(bytes)
            }
            _ => return Err(BadPart),
        };
        take(key >> 3, value)?;
    }
    Ok(())
}

fn varint(bytes: &mut &[u8]) -> Result<u64, BadPart> {
    let mut number = 0_u64;
    for shift in (0..u64::BITS).step_by(7) {
        let (byte, rest) = bytes.split_first().ok_or(BadPart)?;
        *bytes = rest;
        let bits = u64::from(byte & 0x7f);
        // The tenth byte has room for one bit.
        if shift == 63 && bits > 1 {
            return Err(BadPart);
        }
        number |= bits << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(BadPart)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Detail, Flow, Perfetto};

    const LATER: u64 = 1_000_000_007;

    fn part(id: u32, tracks: u64, sequence: u32, name: &str, later: u64) -> Vec<u8> {
        let mut file = Vec::new();
        let mut trace = Perfetto::part(&mut file, sequence, tracks);
        let process = trace.process(id, name);
        let track = trace.track("frames", Some(process));
        let came = [("from node", Detail::Number(0)), ("sent", Detail::Text("take"))];
        trace.begin_with(10 + later, track, "x", &came, &[Flow(1), Flow(2), Flow(3)]);
        trace.end(12 + later, track);
        trace.begin_with(20 + later, track, "y", &[("sent", Detail::Text("out"))], &[Flow(4)]);
        trace.instant(30 + later, process, "z", &[]);
        trace.finish().expect("memory takes all");
        file
    }

    #[test]
    fn the_first_flow_of_a_slice_for_a_frame_that_came_is_that_frames() {
        let moments = moments(&part(7, 7 << 32, 7, "p", 0)).expect("a part");
        let expected = [(1, 10, true), (2, 10, false), (3, 10, false), (4, 20, false)];
        let expected = expected.map(|(flow, at_ns, came)| Moment { flow, at_ns, came });
        assert_eq!(moments, expected);
    }

    #[test]
    fn a_part_that_is_moved_is_what_its_process_would_have_written_there() {
        let how = Move { time: &|at| at + LATER, machine: 3, sequence: 99, suffix: " on b" };
        let there = part(7, 7 << 32, 7, "p", 0);
        let here = part(7 + (3 << 22), (7 << 32) + (3 << 54), 99, "p on b", LATER);
        assert_eq!(moved(&there, &how).expect("a part"), here);
    }

    #[test]
    fn what_is_no_part_is_refused_or_read_as_far_as_it_is_whole() {
        let whole = part(7, 7 << 32, 7, "p", 0);
        let how = Move { time: &|at| at, machine: 0, sequence: 7, suffix: "" };
        assert_eq!(moved(&whole, &how).expect("a part"), whole, "nothing is changed");
        for end in 0..whole.len() {
            assert!(moments(&whole[..end]).is_ok());
        }
        for bad in
            [&[10, 1, 7][..], &[10, 2, 64, 0x80], &[10, 3, 90, 5, 1], &[10, 3, 0xf9, 2, 5], &[10, 2, 11, 0]]
        {
            assert_eq!(moments(bad), Err(BadPart), "{bad:?}");
        }
    }
}
