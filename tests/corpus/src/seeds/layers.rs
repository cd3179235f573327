//! Runs of a session, of ports and of messaging, as their `fuzzing` modules read them.

use super::{Seed, named};
use quintet_messaging::{ANNOUNCE, CREDIT, FRAGMENT, GRANT, PACK, PROCEED};
use quintet_session::{ABSENT, ACKNOWLEDGE, CHALLENGE, GOODBYE, HELLO, PING, RESET, WELCOME};
use quintet_wire::registry::USER;

/// Actions of both; what each does stands at `drive` there.
const WAKE: u8 = 0;
const WRITABLE: u8 = 1;
const UP: u8 = 2;
const SESSION_DOWN: u8 = 3;
const OPEN: u8 = 3;
const MESSAGING_DOWN: u8 = 0x83;
const NUMBERED: u8 = 5;
const WITH_BULK: u8 = 4;
const RAW: u8 = 6;

fn step(action: u8, kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u16::try_from(body.len()).expect("a short body");
    [&[action, kind], &length.to_le_bytes()[..], body].concat()
}

pub(super) fn sessions() -> Vec<Seed> {
    let user = USER.first;
    let data = |body: &[u8]| step(NUMBERED, user, body);
    let plain = |kind: quintet_contract::Kind| step(RAW, kind.0, &1u64.to_le_bytes());
    let later = step(WAKE | 0xf8, 0, &[]);
    named(
        "session",
        vec![
            ("link-data", [vec![4], data(&[0, 0, 1]), data(&[0, 0, 2])].concat()),
            ("link-gap", [vec![4], data(&[2, 0, 1])].concat()),
            (
                "lossy-data",
                [vec![5], data(&[0, 4, 1]), data(&[2, 0, 2]), data(&[0, 0, 3]), later.clone()].concat(),
            ),
            (
                "lossy-resume",
                [vec![5], data(&[0, 0]), step(SESSION_DOWN, 0, &[]), step(UP, 0, &[]), later.clone()]
                    .concat(),
            ),
            (
                "retained-data",
                [vec![12], (0..4).flat_map(|_| data(&[0, 4, 1])).collect(), later.clone()].concat(),
            ),
            ("retained-gap", [vec![12], data(&[0, 0]), data(&[2, 0])].concat()),
            (
                "retained-resume",
                [
                    vec![12],
                    data(&[0, 0]),
                    step(SESSION_DOWN, 0, &[]),
                    step(UP, 0, &[]),
                    step(NUMBERED, HELLO.0, &[1, 4]),
                    data(&[0, 4]),
                    later.clone(),
                ]
                .concat(),
            ),
            (
                "retained-resume-unseen",
                [vec![12], data(&[0, 0]), step(NUMBERED, HELLO.0, &[1, 4]), data(&[0, 0])].concat(),
            ),
            (
                "retained-other-life",
                [vec![12], data(&[0, 0]), step(UP, 0, &[]), step(NUMBERED, HELLO.0, &[1, 0, 7])].concat(),
            ),
            (
                "retained-initiates",
                [
                    vec![10],
                    step(NUMBERED, WELCOME.0, &[4]),
                    data(&[0, 4]),
                    step(UP, 0, &[]),
                    step(NUMBERED, WELCOME.0, &[0, 4]),
                    data(&[0, 4]),
                ]
                .concat(),
            ),
            ("initiates", [vec![3], later.clone(), step(RAW, WELCOME.0, &[0; 64])].concat()),
            ("hello-cut-short", [vec![0], step(RAW, HELLO.0, &[1, 0, 1, 0, 9])].concat()),
            (
                "control",
                [vec![5], plain(PING), plain(CHALLENGE), plain(ACKNOWLEDGE), plain(RESET), plain(GOODBYE)]
                    .concat(),
            ),
            ("silence", [vec![5], later.clone(), later.clone(), later, step(WRITABLE, 0, &[])].concat()),
        ],
    )
}

pub(super) fn ports() -> Vec<Seed> {
    const DOWN: u8 = 3;
    const WITHIN: u8 = 5;
    const OTHER: u8 = 8;
    const FULL: u8 = 16;
    let user = USER.first;
    let frame = |action: u8, kind: u8, from: u16, to: u16| {
        step(action, kind, &[&from.to_le_bytes(), &to.to_le_bytes(), &b"body"[..]].concat())
    };
    let bare = |action: u8, kind: u8, from: u16, to: u16| {
        step(action, kind, &[from.to_le_bytes(), to.to_le_bytes()].concat())
    };
    let (up, writable) = (step(UP, 0, &[]), step(WRITABLE, 0, &[]));
    named(
        "ports",
        vec![
            ("pairs", [up.clone(), frame(RAW, user, 16, 16), frame(RAW, user, 7, 1024)].concat()),
            (
                "two-nodes",
                [
                    up.clone(),
                    step(UP | OTHER, 0, &[]),
                    frame(RAW, user, 7, 1024),
                    frame(RAW | OTHER, user, 7, 1024),
                    step(DOWN, 0, &[]),
                    frame(RAW | OTHER, user, 7, 1024),
                ]
                .concat(),
            ),
            ("absent", [up.clone(), frame(RAW, user, 7, 9), bare(RAW, ABSENT.0, 16, 16)].concat()),
            (
                "absent-and-full",
                [up.clone(), frame(RAW | FULL, user, 7, 9), writable.clone(), step(DOWN, 0, &[])].concat(),
            ),
            (
                "full",
                [
                    up.clone(),
                    frame(RAW | FULL, user, 16, 16),
                    frame(RAW | FULL, user, 7, 1024),
                    step(WRITABLE | FULL, 0, &[]),
                    writable,
                ]
                .concat(),
            ),
            ("within", [step(WITHIN, 0x20, b"asks"), step(WITHIN, user, b"asks")].concat()),
            ("cut-short", [up, step(RAW, user, &[16, 0, 16])].concat()),
        ],
    )
}

pub(super) fn messages() -> Vec<Seed> {
    let (request, one_way, urgent) = (USER.first, USER.first + 2, USER.first + 3);
    let open = || step(OPEN, 0, &[]);
    let numbered = |kind: u8, body: &[u8]| step(NUMBERED, kind, body);
    let control = |kind: quintet_contract::Kind| step(RAW, kind.0, &[1, 0, 0, 0, 64, 0, 0, 0, 1, 0, 0, 0]);
    let item =
        |kind: u8, len: u8| [&[kind, 0, len, 0][..], &[len; 8], &vec![b'x'; usize::from(len)]].concat();
    let announced = [&300u32.to_le_bytes()[..], &[one_way, 0, 0, 0], b"head"].concat();
    named(
        "messaging",
        vec![
            ("requests", [open(), numbered(request, b"one"), numbered(request, b"two")].concat()),
            ("overrun", [open(), (0..8).flat_map(|_| numbered(one_way, &[7; 200])).collect()].concat()),
            ("direct-bulk", [open(), step(WITH_BULK, one_way, &[1; 90])].concat()),
            (
                "announced",
                [open(), numbered(ANNOUNCE.0, &announced), step(WITH_BULK, FRAGMENT.0, &[2; 100])].concat(),
            ),
            (
                "urgent",
                [
                    open(),
                    numbered(ANNOUNCE.0, &announced),
                    numbered(urgent, b""),
                    step(NUMBERED + 8, urgent, b""),
                    step(WITH_BULK, FRAGMENT.0, &[2; 100]),
                ]
                .concat(),
            ),
            (
                "pack",
                [
                    open(),
                    numbered(PACK.0, &[item(request, 3), item(one_way, 0), item(request, 5)].concat()),
                    step(WAKE, 0, &[]),
                    numbered(PACK.0, &item(one_way, 3)[..9]),
                ]
                .concat(),
            ),
            ("credit", [open(), control(CREDIT), control(GRANT), control(PROCEED)].concat()),
            (
                "peer-gone",
                [open(), numbered(request, b"x"), step(MESSAGING_DOWN, 0, &[]), step(UP, 0, &[])].concat(),
            ),
            ("wakes", [open(), step(WAKE, 0, &[]), step(WRITABLE, 0, &[])].concat()),
        ],
    )
}
