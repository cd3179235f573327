//! What the fuzz targets run, so that tests can run the same on a kept corpus. Not for programs.

use crate::codec::{self, Answer};
use crate::{NotGranted, Space, SpaceConfig, Spaces, SpacesConfig, Template, Tuple};
use bytes::Bytes;
use quintet_contract::{
    Address, DownCause, Effects, Frame, Incarnation, Input, Kind, LinkClass, LinkInfo, PeerChange, Protocol,
    Snapshot, Span, Time, Token,
};
use quintet_wire::Decode;

/// Reads any bytes as a tuple, a template and every kind of answer. What can be read must be the same after it was
/// written and read again.
///
/// The first two bytes say how many of the rest are the head; what follows the head is the bulk.
///
/// # Panics
/// If it is not: a defect of the codec.
pub fn tuple(data: &[u8]) {
    let Some((length, rest)) = data.split_first_chunk::<2>() else { return };
    let (head, bulk) = rest.split_at(usize::from(u16::from_le_bytes(*length)).min(rest.len()));
    let bulk = Bytes::copy_from_slice(bulk);
    if let Ok(tuple) = Tuple::decode(head, &bulk) {
        let (head, bulk) = tuple.encode().expect("what came in one frame fits one");
        assert_eq!(Tuple::decode(&head, &bulk), Ok(tuple));
    }
    if let Ok(template) = Template::decode(head, &bulk) {
        let (head, bulk) = template.encode().expect("what came in one frame fits one");
        assert_eq!(Template::decode(&head, &bulk), Ok(template));
    }
    for kind in codec::DONE.0..=codec::SPACE_ROWS.0 {
        // Any result will do, but no panic.
        let _ = Answer::decode(Kind(kind), head, &bulk);
    }
}

/// Gives a small server, which has room for two named spaces, any requests from three senders, with deaths and passing time between them.
///
/// Each step is a byte that says what happens, a byte for the sender and time, a byte for the token, and for a request
/// a byte for the length of its body and that body.
///
/// # Panics
/// If the manager panics, contradicts itself, or answers what cannot be read: a defect of the manager.
pub fn requests(data: &[u8]) {
    let spaces = SpacesConfig { max_spaces: 2, max_bytes: 512 };
    drive(data, Spaces::new(limits(), spaces), Spaces::verify);
}

/// Restores a space from any bytes. One that comes back is whole, can be saved and restored again, and goes on.
///
/// # Panics
/// If it is not so: a defect of the manager.
pub fn snapshot(data: &[u8]) {
    let Ok(mut space) = Space::restore(&limits(), data) else { return };
    space.verify();
    let saved = save(&space);
    assert_eq!(save(&Space::restore(&limits(), &saved).expect("its own bytes")), saved);
    space.handle(Time(u64::MAX / 2), Input::Wake, &mut Effects::default());
    space.verify();
}

/// What a space becomes that was given such [`requests`].
#[must_use]
pub fn saved(data: &[u8]) -> Vec<u8> {
    save(&drive(data, Space::new(limits()), Space::verify))
}

fn save(space: &Space) -> Vec<u8> {
    let mut bytes = Vec::new();
    space.save(&mut bytes);
    bytes
}

fn limits() -> SpaceConfig {
    SpaceConfig { max_bytes: 512, max_tuples: 8, max_attempts: 2, max_waiting: 4, ..SpaceConfig::default() }
}

fn drive<P: Protocol>(data: &[u8], mut space: P, verify: impl Fn(&P)) -> P {
    let (mut now, mut effects) = (Time::ZERO, Effects::default());
    let mut rest = data;
    while let Some((&[what, who, token], after)) = rest.split_first_chunk::<3>() {
        let sender = Address::new(u16::from(who % 3) + 1, 1);
        now += Span(u64::from(who / 3));
        rest = after;
        match what {
            0xff => space.handle(now, Input::Peer(sender, &PeerChange::Down(DownCause::Died)), &mut effects),
            0xfe => space.handle(now, Input::Wake, &mut effects),
            0xfc => {
                let link = LinkInfo::new(LinkClass::Machine, 1 << 20);
                let change = PeerChange::Up { incarnation: Incarnation(0), link };
                space.handle(now, Input::Peer(sender, &change), &mut effects);
            }
            0xfd => space.handle(now, Input::Writable(sender), &mut effects),
            kind => {
                let length = usize::from(rest.first().copied().unwrap_or(0));
                let (body, after) =
                    rest.get(1..).unwrap_or(&[]).split_at_checked(length).unwrap_or((&[], &[]));
                rest = after;
                let kind = match kind {
                    0xfb => codec::NAMED,
                    kind => Kind(codec::OUT.0 + kind % (codec::DONE.0 - codec::OUT.0)),
                };
                let frame = Frame::new(kind, Token(token.into()), body);
                space.handle(now, Input::Frame(sender, frame), &mut effects);
            }
        }
        verify(&space);
        for (_, frame) in effects.frames() {
            if frame.kind == codec::NOT_GRANTED {
                let told = NotGranted::decode_all(&frame.body);
                assert!(told.is_ok(), "{told:?}");
                continue;
            }
            let answer = Answer::decode(frame.kind, &frame.body, &frame.bulk);
            assert!(answer.is_ok(), "{answer:?}");
        }
    }
    space
}
