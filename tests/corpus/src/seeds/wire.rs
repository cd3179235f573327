//! Headers and journal entries.

use super::{Seed, named};
use quintet_contract::{
    Address, Disconnect, DownCause, Identity, Incarnation, Kind, LinkClass, LinkInfo, PeerChange, SendError,
    Stamps, Time, Token,
};
use quintet_wire::journal::{BulkId, Call, Entry, Message, RecordedInput};
use quintet_wire::{Header, encode_to_vec};

pub(super) fn headers() -> Vec<Seed> {
    let plain = Header {
        length: 96,
        kind: Kind(0x20),
        has_bulk: false,
        is_stamped: false,
        token: Token(7),
        from: Address::new(1, 16),
        to: Address::new(2, 16),
        sequence: 3,
        check: 0,
    };
    let bytes = |header: Header| header.to_bytes().to_vec();
    named(
        "header",
        vec![
            ("plain", bytes(plain)),
            ("bulk", bytes(Header { has_bulk: true, check: 0x1234_5678, ..plain })),
            ("stamped", bytes(Header { is_stamped: true, ..plain })),
            ("shortest", bytes(Header { length: 32, token: Token(u64::MAX), sequence: u32::MAX, ..plain })),
            ("too-long", bytes(Header { length: u32::MAX, ..plain })),
        ],
    )
}

pub(super) fn journal_entries() -> Vec<Seed> {
    let at = Address::new(1, 16);
    let message = Message { kind: Kind(0x20), token: Token(4), body: b"body", bulk: BulkId(5) };
    let calls = vec![
        Call::Sent(at, message),
        Call::Refused(at, Kind(1), Token(2), SendError::TooLong { len: 3, limit: 2 }),
        Call::Refused(at, Kind(1), Token(2), SendError::Full),
        Call::Refused(at, Kind(1), Token(2), SendError::Unreachable),
        Call::Peeked([1, 2, 3]),
        Call::Poked([4, 5, 6]),
        Call::Disconnected(at, Disconnect::ForGood),
        Call::Disconnected(at, Disconnect::UntilNextLink),
        Call::Stamped,
    ];
    let up = |link| RecordedInput::Peer(at, PeerChange::Up { incarnation: Incarnation(9), link });
    let shared = LinkInfo::new(LinkClass::Machine, 1 << 40);
    let network = LinkInfo::new(LinkClass::Network, 1 << 16);
    let known = LinkInfo { may_be_cut: true, identity: Some(Identity([7; 32])), ..network };
    let stamps = Stamps { departed: Time(1), arrived: Time(2) };
    let step = |input, calls| encode_to_vec(&Entry::Step { number: 6, now: Time(7), input, calls });
    named(
        "journal_entry",
        vec![
            (
                "instance",
                encode_to_vec(&Entry::Instance { number: 6, at, name: "tuple-space", config: b"{}" }),
            ),
            ("bulk", encode_to_vec(&Entry::Bulk(BulkId(5), b"large"))),
            ("started", step(RecordedInput::Started, vec![])),
            ("wake", step(RecordedInput::Wake, vec![])),
            ("writable", step(RecordedInput::Writable(at), vec![])),
            ("up", step(up(shared), vec![])),
            ("up-known", step(up(known), vec![])),
            ("up-token", step(up(LinkInfo { holds_token: true, ..known }), vec![])),
            ("up-relayed", step(up(LinkInfo { is_relayed: true, ..known }), vec![])),
            ("down", step(RecordedInput::Peer(at, PeerChange::Down(DownCause::Misbehaved)), vec![])),
            ("frame", step(RecordedInput::Frame(at, message, None), calls)),
            ("frame-stamped", step(RecordedInput::Frame(at, message, Some(stamps)), vec![])),
            ("end", encode_to_vec(&Entry::End)),
        ],
    )
}
