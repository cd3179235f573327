//! What the fuzz targets run, so that tests can run the same on a kept corpus. Not for programs.

use crate::codec::{self, Answer};
use crate::codec::{
    Amount, AskedPart, Found, FurtherOperation, MANAGERS_BEHAVIOUR, Migrate, MovedTuple, Outcome, PartBody,
    PreparedAt, PutTuple, Route, SeekBody, There, Transfer, View,
};
use crate::managers::Placement;
use crate::{
    Change, HotKeysConfig, Manager, ManagersConfig, NotGranted, Refusal, Router, RouterConfig, Signature,
    Space, SpaceConfig, Spaces, SpacesConfig, Template, Tuple, Wait,
};
use bytes::Bytes;
use quintet_contract::{
    Address, DownCause, Effects, Frame, Incarnation, Input, Kind, LinkClass, LinkInfo, PeerChange, Protocol,
    Snapshot, Span, Time, Token,
};
use quintet_errors::Code;
use quintet_wire::{Decode, encode_to_vec};

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

/// Gives one manager of three any frames from another manager, from a router and from a stranger, and what it answers to a router, which is
/// given any frames from managers as well. The first byte says which manager it is.
///
/// Each step is a byte for the sender, a byte for the kind, a byte for the token, a byte for the length of the body and a byte for that of the
/// bulk, and these two.
///
/// # Panics
/// If one of them panics or contradicts itself: a defect of it.
pub fn managers(data: &[u8]) {
    let Some((me, mut rest)) = data.split_first() else { return };
    let at: Vec<Address> = [0, 1, 2].map(|node| Address::new(node, 16)).to_vec();
    let (callers, me) = (Address::new(9, 1), me % 3);
    let (addresses, spaces) = (vec!["place".to_owned(); 3], SpacesConfig { max_spaces: 2, max_bytes: 512 });
    let hot_keys = HotKeysConfig { period: Span(20), requests: 1 };
    let config = ManagersConfig {
        managers: at.clone(),
        addresses,
        me,
        seed: 0,
        spread_after: 1,
        hot_keys,
        told: None,
    };
    let mut manager = Manager::new(limits(), spaces, &config);
    let mut router = Router::new(RouterConfig { callers, managers: at.clone(), loss: |_| Code::PeerDied });
    let (mut effects, link) = (Effects::default(), LinkInfo::new(LinkClass::Machine, 1 << 20));
    let up = PeerChange::Up { incarnation: Incarnation(0), link };
    at.iter().for_each(|peer| router.handle(Time::ZERO, Input::Peer(*peer, &up), &mut effects));
    let others = at.iter().filter(|peer| **peer != at[usize::from(me)]);
    others.for_each(|peer| manager.handle(Time::ZERO, Input::Peer(*peer, &up), &mut effects));
    while let Some((&[who, kind, token, body, bulk], after)) = rest.split_first_chunk::<5>() {
        let (body, after) = after.split_at(usize::from(body).min(after.len()));
        let (bulk, after) = after.split_at(usize::from(bulk).min(after.len()));
        rest = after;
        let (token, bulk) =
            (Token(u64::from(token & 0x7f) | u64::from(token >> 7) << 63), Bytes::copy_from_slice(bulk));
        let kind = Kind(codec::OUT.0 + kind % (codec::TRANSFER.0 - codec::OUT.0 + 1));
        let frame = Frame { bulk: &bulk, ..Frame::new(kind, token, body) };
        let from = [at[0], at[1], at[2], Address::new(9, 16), Address::new(8, 16)][usize::from(who % 5)];
        manager.handle(Time::ZERO, Input::Frame(from, frame), &mut effects);
        router.handle(Time::ZERO, Input::Frame(from, frame), &mut effects);
        router.handle(Time::ZERO, Input::Frame(callers, frame), &mut effects);
        manager.verify();
        effects.frames();
    }
}

/// Inputs of [`managers`] that reach far: for the stored corpus.
///
/// # Panics
/// Never: what they carry is small.
#[must_use]
pub fn manager_seeds() -> Vec<(&'static str, Vec<u8>)> {
    let signature = Signature([2, 13, 5].into());
    let sent = |who: u8, kind: Kind, token: u8, body: &[u8], bulk: &[u8]| {
        let length = |bytes: &[u8]| u8::try_from(bytes.len()).expect("a few bytes");
        let front = [who, kind.0 - codec::OUT.0, token, length(body), length(bulk)];
        [&front[..], body, bulk].concat()
    };
    let fence = sent(3, codec::FENCE, 1, &[], &[]);
    // The others say that they are of the same space, as they were asked.
    let joined = |me: u8| {
        let others = (0..3u8).filter(|other| *other != me);
        others
            .zip(1..)
            .map(|(other, token)| sent(other, codec::DONE, token, &[], &[]))
            .collect::<Vec<_>>()
            .concat()
    };
    let join = sent(
        2,
        codec::ROUTE,
        9,
        &encode_to_vec(&Route::Join { managers: 3, seed: 0, behaviour: MANAGERS_BEHAVIOUR }),
        &[],
    );
    let refusal = Refusal::new(Code::PeerDied, "one is gone");
    let refused = sent(2, codec::ERROR, 2, &encode_to_vec(&refusal), &[]);
    let tuple = Tuple::from_values(["task".into(), 7i64.into()]);
    let (head, _) = tuple.encode().expect("it is small");
    let (expires_in, bulk) = (Some(quintet_contract::Span::from_millis(5)), Bytes::new());
    let head = Bytes::from(head);
    let (change, number) = (None, 0);
    let moved = MovedTuple { age: 4, failed: 1, is_reserve: false, expires_in, change, number, head, bulk };
    let (change, failed) = (Some(Change::Put), 0);
    let told = MovedTuple { failed, expires_in: None, change, number: 7, ..moved.clone() };
    let relocation = codec::Relocation::Class(signature.clone(), codec::Class::Hash(1));
    let migrate = Migrate { epoch: 1, relocation };
    let transfer = |epoch| {
        let (ends, tuples) = (
            Some((signature.clone(), Some(codec::KeptOf { oldest: 5, keys: vec![(1, 2)] }))),
            vec![moved.clone()],
        );
        Transfer { epoch, next_age: 9, number: 7, ends, tuples }.to_parts().expect("it is small")
    };
    let migrate = sent(0, codec::MIGRATE, 2, &encode_to_vec(&migrate), &[]);
    let (body, bulk) = transfer(1);
    let transfers = [0, 2].map(|who| sent(who, codec::TRANSFER, 3, &body, &bulk));
    let events = Transfer { epoch: 1, next_age: 9, number: 7, ends: None, tuples: vec![told] };
    let (body, bulk) = events.to_parts().expect("it is small");
    let events = sent(0, codec::TRANSFER, 4, &body, &bulk);
    let gather = sent(3, codec::ROUTE, 4, &encode_to_vec(&Route::Gather(signature.clone())), &[]);
    let spread = sent(3, codec::ROUTE, 5, &encode_to_vec(&Route::Spread(signature.clone(), 1)), &[]);
    let count = [encode_to_vec(&Route::Count(0)), vec![2, 13, 5, 0, 0, 0, 0, 0, 0, 0, 0]].concat();
    let count = sent(3, codec::ROUTE, 6, &count, &[]);
    let routes = codec::Routes {
        epoch: 1,
        seed: 0,
        addresses: vec![String::new(); 3],
        are_beside: true,
        relocations: Vec::new(),
    };
    let routes = sent(0, codec::ROUTES, 0x84, &encode_to_vec(&routes), &[]);
    // A part of it, prepared and locked by another manager; and one that this manager brings together with another's.
    let put = AskedPart::Part(PartBody::new(&[], &[], &[]).expect("it is small"));
    let prepare = |part: &AskedPart, others: &[PreparedAt], token: u8| {
        let (body, bulk) = part.to_parts(&[0; 8], others, Wait::For(Span(0)));
        sent(3, codec::PREPARE, token, &body, &bulk)
    };
    let words = |number: u64| {
        let lock = encode_to_vec(&Route::Lock { part: number, by: 0 });
        let unlock = encode_to_vec(&Route::Unlock(Outcome::Happens));
        [sent(0, codec::ROUTE, 7, &lock, &[]), fence.clone(), sent(0, codec::ROUTE, 8, &unlock, &[])].concat()
    };
    let part = prepare(&put, &[], 9);
    let first_age = 4;
    let others = [PreparedAt { manager: 2, number: 5 }];
    let brought = prepare(&put, &others, 10);
    // The same of a select, which waits, and is told that there is something.
    let template = crate::template![?i64];
    let (head, bulk) = template.encode().expect("it is small");
    let view = View::template(&head, &bulk).expect("it is one");
    let parts = [PutTuple { tuple: view, bulk: Bytes::new(), expires_in: None }];
    let select = (FurtherOperation::SelectTake, None);
    let seek = AskedPart::Seek(SeekBody::new(select, true, &[1], &parts).expect("it is small"));
    let sought = prepare(&seek, &others, 12);
    let found = sent(2, codec::DONE, 3, &encode_to_vec(&Found { age: Some(8), refusal: None }), &[]);
    let ring = sent(2, codec::ROUTE, 4, &encode_to_vec(&Route::Ring(first_age)), &[]);
    let given_up = sent(3, codec::PREPARE, 11, &codec::give_up_body(first_age), &[]);
    let stands_still = sent(2, codec::DONE, 3, &[], &[]);
    let of = |me: u8, steps: &[&[u8]]| [&[me][..], &joined(me), &steps.concat()].concat();
    // A collection from its manager into a named space, and out of one into what that manager has.
    let (owner, wanted, tuple) = collected();
    let length = u32::try_from(tuple.head.len()).expect("it is small").to_le_bytes();
    let out = [&[0; 8][..], &[0xff; 8], &1u32.to_le_bytes(), &length, &[0; 4], &tuple.head].concat();
    let put = sent(3, codec::OUT, 13, &out, &[]);
    let create = codec::SpacesRequest::Create("a".parse().expect("a name"), codec::SpaceSettings::default());
    let create = sent(3, codec::SPACES, 14, &[vec![0; 8], encode_to_vec(&create)].concat(), &[]);
    let into = |space: u32| [&[0; 8][..], &[5], &space.to_le_bytes(), &wanted].concat();
    let collect = sent(3, codec::FURTHER, 15, &into(1), &[]);
    let named = |kind: Kind, body: &[u8]| [&1u32.to_le_bytes()[..], &[kind.0], body].concat();
    let put_named = sent(3, codec::NAMED, 16, &named(codec::OUT, &out), &[]);
    let collect_named = sent(3, codec::NAMED, 17, &named(codec::FURTHER, &into(0)), &[]);
    let amount = Amount { tuples: 1, bytes: tuple.stored_bytes() };
    let stands = sent(owner, codec::DONE, 3, &[], &[]);
    let there = sent(owner, codec::DONE, 3, &encode_to_vec(&There(Some((amount, false)))), &[]);
    let (body, bulk) = codec::page(&[tuple]).expect("it is small");
    let page = |who: u8| sent(who, codec::ROUTE, 0, &body, &bulk);
    let word = |word: Route| sent(0, codec::ROUTE, 18, &codec::word_about(&word, &wanted), &[]);
    let (give, room) = (word(Route::Give { takes: true }), word(Route::Room(amount)));
    let happens = sent(0, codec::ROUTE, 19, &encode_to_vec(&Route::Unlock(Outcome::Happens)), &[]);
    vec![
        ("collects-out", of(0, &[&fence, &create, &collect, &there, &put, &page(owner), &put])),
        ("collects-in", of(0, &[&fence, &create, &put_named, &collect_named, &put, &stands])),
        ("gives-what-is-collected", of(owner, &[&fence, &put, &give, &put, &happens])),
        ("takes-in-what-is-collected", of(owner, &[&fence, &room, &put, &page(0), &happens])),
        ("moved-to-another", of(1, &[&fence, &migrate, &transfers[0], &transfers[1], &count])),
        ("events-beside-tuples", of(1, &[&fence, &migrate, &events, &transfers[0], &transfers[1]])),
        ("tuples-before-the-news", of(1, &[&fence, &transfers[0], &transfers[1], &migrate])),
        ("directory", of(0, &[&fence, &spread, &gather, &count, &transfers[1]])),
        ("joined-and-refused", [&[1][..], &fence, &join, &refused, &fence, &join].concat()),
        ("part-of-another", of(1, &[&fence, &part, &words(first_age), &given_up])),
        ("parts-brought-together", of(1, &[&fence, &brought, &fence, &stands_still, &part])),
        ("select-of-several", of(1, &[&fence, &sought, &stands_still, &ring, &found])),
        ("router", of(2, &[&routes, &fence, &count, &gather])),
    ]
}

/// A manager which is not the first, a template of whatever it has, and a tuple that matches, on its way.
fn collected() -> (u8, Vec<u8>, MovedTuple) {
    let placement = Placement::new(0, 3);
    let of = |tuple: Tuple, template: Template| {
        let ((head, bulk), (wanted, _)) =
            (tuple.encode().expect("it is small"), template.encode().expect("it is small"));
        let owner = placement.of_tuple(&View::checked_tuple(&head, &bulk));
        let (change, expires_in, head) = (None, None, Bytes::from(head));
        (
            owner,
            wanted,
            MovedTuple { age: 0, failed: 0, is_reserve: false, expires_in, change, number: 0, head, bulk },
        )
    };
    let all = [
        of(crate::tuple![7i64], crate::template![?i64]),
        of(crate::tuple![7u8], crate::template![?u8]),
        of(crate::tuple![true], crate::template![?bool]),
        of(crate::tuple!["x"], crate::template![?str]),
    ];
    all.into_iter().find(|(owner, ..)| *owner != 0).expect("one of them is elsewhere, as the seed is")
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
