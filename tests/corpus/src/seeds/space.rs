//! Tuples, templates and requests to a space.

use super::{Seed, named};
use quintet_contract::{
    Address, DownCause, Effects, Frame, Incarnation, Input, LinkClass, LinkInfo, PeerChange, Protocol,
    Snapshot, Span, Time, Token,
};
use quintet_resume::{ClientId, Reply, Requests, ResumeLimits, Resumed, Word};
use quintet_stack::{ResumedSpaces, SpaceRequests};
use quintet_tuple_space::{
    Array, CodeGrants, Cursor, Field, KeptSpaces, LeaseId, PageSize, Policy, Request, Space, SpaceConfig,
    SpaceNumber, SpaceRights, SpaceSettings, Spaces, SpacesConfig, SpacesRequest, Subject, Template, Tuple,
    Wait, Witness, codec, fuzzing, template, tuple,
};
use quintet_wire::encode_to_vec;

/// The length of the head, the head, the bulk.
fn with_length((head, bulk): (Vec<u8>, quintet_tuple_space::Bytes)) -> Vec<u8> {
    let length = u16::try_from(head.len()).expect("a head fits a frame");
    [&length.to_le_bytes(), head.as_slice(), &bulk].concat()
}

fn of_tuple(tuple: &Tuple) -> Vec<u8> {
    with_length(tuple.encode().expect("a small tuple"))
}

fn of_template(template: &Template) -> Vec<u8> {
    with_length(template.encode().expect("a small template"))
}

pub(super) fn tuples() -> Vec<Seed> {
    let array = Array::from_elements(&[2, 3], &[1.0f64, 2.0, 3.0, 4.0, 5.0, 6.0]).expect("two rows of three");
    let long = "x".repeat(codec::MAX_IN_PLACE_BYTES + 1);
    named(
        "tuple",
        vec![
            ("row", of_tuple(&tuple!["row", 3i64, 0.5])),
            ("scalars", of_tuple(&tuple![true, 1i8, 2u16, 3i32, 4u64, 0.25f32])),
            ("binary", of_tuple(&tuple!["name", b"\x00\xff"])),
            ("array", of_tuple(&tuple!["m", array])),
            ("bulk", of_tuple(&tuple![long.as_str(), 1i64])),
            ("template", of_template(&template!["row", ?i64, 0.5])),
            (
                "ranges",
                of_template(&template![
                    "row",
                    Field::range(3..=7i64),
                    Field::prefix("ab"),
                    Field::range(..0.5)
                ]),
            ),
            (
                "collected",
                of_page(&[tuple!["row", 3i64], tuple![long.as_str()], tuple!["row", long.as_str()]]),
            ),
        ],
    )
}

/// A page of a collection, as an answer: where it goes on, below which age, and the tuples as a request would have them.
fn of_page(tuples: &[Tuple]) -> Vec<u8> {
    let mut link = Effects::default();
    let put = Request::Out { deadline: None, tuples, expiries: &[] };
    put.send(&mut link, Address::new(0, 16), Token(1), Token(9)).expect("small tuples");
    let (_, frame) = link.frames().pop().expect("it was sent");
    with_length((frame.body.to_vec(), frame.bulk))
}

/// A step as `quintet_tuple_space::fuzzing::requests` reads it.
fn step(request: Request<'_>, sender: u8, token: u8) -> Vec<u8> {
    step_in(0, request, sender, token)
}

/// The same in the named space of that number.
fn step_in(space: u32, request: Request<'_>, sender: u8, token: u8) -> Vec<u8> {
    let mut link = Effects::default();
    let planned = request.planned().expect("a small request").to_space(SpaceNumber(space));
    planned.send(&mut link, Address::new(0, 16), Token(token.into()), Token(0)).expect("there is room");
    let (_, frame) = link.frames().pop().expect("it was sent");
    let length = u8::try_from(frame.body.len()).expect("a small request");
    let kind = if frame.kind == codec::NAMED { 0xfb } else { frame.kind.0 - codec::OUT.0 };
    [&[kind, sender, token, length], &frame.body[..]].concat()
}

const SENDER_DOWN: [u8; 3] = [0xff, 1, 0];
const SENDER_UP: [u8; 3] = [0xfc, 1, 0];
const LATER: [u8; 3] = [0xfe, 0xff, 0];
const ROOM: [u8; 3] = [0xfd, 0, 0];

/// Two spaces, one of them for nobody over a link; one is used, listed and removed while somebody waits in it.
fn named_spaces() -> Vec<u8> {
    let name = |text: &str| text.parse().expect("it is a name");
    let settings = |allow| SpaceSettings { max_bytes: 200, max_tuples: 2, allow, ..SpaceSettings::default() };
    let (rows, any) = ([tuple!["row", 3i64]], template!["row", ?i64]);
    let manage = |asked: SpacesRequest, token| step(Request::Spaces(&asked), 1, token);
    let take = Request::Take { wait: Wait::Forever, lease: Some(Span(10)), template: &any };
    [
        SENDER_UP.to_vec(),
        manage(SpacesRequest::Create(name("a"), settings(None)), 1),
        manage(SpacesRequest::Create(name("b"), settings(Some(SpaceRights::default()))), 2),
        manage(SpacesRequest::Open(name("b")), 3),
        step_in(1, Request::Out { deadline: None, tuples: &rows, expiries: &[] }, 1, 4),
        [step_in(1, take, 1, 5), step_in(1, take, 1, 6), step_in(2, take, 1, 7)].concat(),
        step(Request::Renew, 1, 8),
        manage(SpacesRequest::List { after: Some(name("a")) }, 9),
        manage(SpacesRequest::Remove(name("a")), 10),
        step_in(1, take, 1, 11),
        SENDER_DOWN.to_vec(),
    ]
    .concat()
}

/// A select that waits under three templates, one that leases, and replacements that wait for each other.
fn select_and_replace() -> Vec<u8> {
    let templates = [template!["row", ?i64], template![2.5f64], template!["row", 7i64]];
    let select = |takes, lease, sender, token| {
        step(
            Request::Select { takes, wait: Wait::For(Span(50)), lease, templates: &templates },
            sender,
            token,
        )
    };
    let replace = |from: i64, to: i64, token| {
        let (template, tuples) = (template!["step", from], [tuple!["step", to], tuple!["log", to]]);
        step(
            Request::Replace { wait: Wait::Forever, template: &template, tuples: &tuples, expiries: &[] },
            2,
            token,
        )
    };
    let out = |tuple, token| step(Request::Out { deadline: None, tuples: &[tuple], expiries: &[] }, 0, token);
    [
        select(true, None, 1, 1),
        out(tuple!["row", 7i64], 2),
        [out(tuple!["row", 3i64], 3), select(true, Some(Span(10)), 1, 4), step(Request::Return, 1, 1)]
            .concat(),
        [select(false, None, 1, 5), select(true, None, 1, 6), select(true, None, 1, 7)].concat(),
        [replace(2, 3, 1), replace(1, 2, 2), replace(9, 1, 3), out(tuple!["step", 1i64], 8)].concat(),
    ]
    .concat()
}

/// Takes, counts and waits by ranges of numbers and of text.
fn ranges() -> Vec<u8> {
    let low = template![Field::prefix("ro"), Field::range(..3i64)];
    let high = template!["row", Field::range(3i64..=9)];
    let out = |n: i64, token| {
        step(Request::Out { deadline: None, tuples: &[tuple!["row", n]], expiries: &[] }, 0, token)
    };
    let take = |template, wait, token| step(Request::Take { wait, lease: None, template }, 1, token);
    [
        [take(&high, Wait::Forever, 1), take(&low, Wait::For(Span(50)), 2), out(5, 1), out(9, 2)].concat(),
        [out(1, 3), out(2, 4), take(&low, Wait::AtOnce, 3), take(&high, Wait::AtOnce, 4)].concat(),
        [step(Request::Count { template: &low }, 1, 5), step(Request::Count { template: &high }, 1, 6)]
            .concat(),
    ]
    .concat()
}

/// Pages that are taken, go on, are undone and settled; and what a space that stands alone says of another.
fn collections() -> Vec<u8> {
    let any = template!["row", ?i64];
    let page = |takes, from, below, token| {
        step(Request::Collect { takes, from, below, most: 2, template: &any }, 1, token)
    };
    let out = |number: i64, token| {
        step(Request::Out { deadline: None, tuples: &[tuple!["row", number]], expiries: &[] }, 0, token)
    };
    let into = step(Request::CollectInto { takes: true, into: SpaceNumber(1), template: &any }, 1, 9);
    [
        [out(1, 1), out(2, 2), out(3, 3), out(4, 4), into].concat(),
        [page(false, 0, None, 1), page(true, 2, Some(4), 2), page(true, 1, None, 3)].concat(),
        [step(Request::Return, 1, 3), page(true, 0, Some(9), 4), SENDER_DOWN.to_vec()].concat(),
    ]
    .concat()
}

/// What goes from one space into another and back, also where there is no room for it.
fn collected_spaces() -> Vec<u8> {
    let name = |text: &str| text.parse().expect("it is a name");
    let settings = SpaceSettings { max_bytes: 200, max_tuples: 2, ..SpaceSettings::default() };
    let (row, any) = ([tuple!["row", 3i64]], template!["row", ?i64]);
    let into = |takes, space| Request::CollectInto { takes, into: SpaceNumber(space), template: &any };
    [
        SENDER_UP.to_vec(),
        step(Request::Spaces(&SpacesRequest::Create(name("a"), settings)), 1, 1),
        step(Request::Out { deadline: None, tuples: &row, expiries: &[] }, 1, 2),
        [step(into(false, 1), 1, 3), step(into(true, 1), 1, 4), step(into(true, 0), 1, 5)].concat(),
        [step_in(1, into(true, 0), 1, 6), step_in(1, into(true, 1), 1, 7), step(into(true, 2), 1, 8)]
            .concat(),
    ]
    .concat()
}

pub(super) fn requests() -> Vec<Seed> {
    let (rows, any) = ([tuple!["row", 3i64]], template!["row", ?i64]);
    let out =
        |sender, token| step(Request::Out { deadline: None, tuples: &rows, expiries: &[] }, sender, token);
    let take =
        |wait, lease, sender, token| step(Request::Take { wait, lease, template: &any }, sender, token);
    let list = |subject, template, token| {
        let (from, size) = (Cursor::default(), PageSize { rows: 1, field_bytes: 2 });
        step(Request::List { subject, from, size, template }, 2, token)
    };
    let lease = Some(Span(10));
    let id = LeaseId(2);
    named(
        "space_requests",
        vec![
            ("out-take", [out(0, 1), take(Wait::AtOnce, None, 1, 2)].concat()),
            ("take-waits", [take(Wait::Forever, None, 1, 1), out(0, 2)].concat()),
            ("take-times-out", [take(Wait::For(Span(1)), None, 1, 1), LATER.to_vec()].concat()),
            (
                "take-returned",
                [out(0, 1), take(Wait::AtOnce, None, 1, 2), step(Request::Return, 1, 2)].concat(),
            ),
            ("take-cancelled", [take(Wait::Forever, None, 1, 1), step(Request::Cancel, 1, 1)].concat()),
            ("holder-dies", [out(0, 1), take(Wait::AtOnce, lease, 1, 2), SENDER_DOWN.to_vec()].concat()),
            ("lease-expires", [out(0, 1), take(Wait::AtOnce, lease, 1, 2), LATER.to_vec()].concat()),
            (
                "lease-acknowledged",
                [
                    out(0, 1),
                    take(Wait::AtOnce, lease, 1, 2),
                    step(Request::Renew, 1, 3),
                    step(Request::Ack { lease: id, deadline: None, tuples: &rows, expiries: &[] }, 1, 4),
                ]
                .concat(),
            ),
            (
                "lease-released",
                [out(0, 1), take(Wait::AtOnce, lease, 1, 2), step(Request::Release { lease: id }, 1, 3)]
                    .concat(),
            ),
            ("full", [(1..=12).flat_map(|token| out(0, token)).collect(), ROOM.to_vec()].concat()),
            (
                "counted",
                [
                    out(0, 1),
                    step(Request::Read { wait: Wait::AtOnce, template: &any }, 1, 2),
                    step(Request::Count { template: &any }, 1, 3),
                    step(Request::Status, 1, 4),
                ]
                .concat(),
            ),
            (
                "listed",
                [
                    SENDER_UP.to_vec(),
                    [out(0, 1), out(0, 2), take(Wait::AtOnce, lease, 1, 3)].concat(),
                    take(Wait::AtOnce, lease, 1, 4),
                    take(Wait::Forever, None, 1, 5),
                    list(Subject::Tuples, None, 6),
                    list(Subject::Tuples, Some(&any), 7),
                    list(Subject::Waiting, None, 8),
                    list(Subject::Clients, None, 9),
                    list(Subject::Partitions, None, 10),
                    list(Subject::HotKeys, None, 11),
                ]
                .concat(),
            ),
            ("watched", {
                let watch = |since, wait, token| {
                    step(Request::Watch { since, most: 3, wait, template: Some(&any) }, 2, token)
                };
                let look = Request::Look { from: 0, most: 2, template: None };
                [
                    watch(None, Wait::AtOnce, 1),
                    watch(Some(1), Wait::Forever, 2),
                    watch(Some(1), Wait::For(Span(20)), 3),
                    [out(0, 1), out(0, 2), take(Wait::AtOnce, lease, 1, 3)].concat(),
                    watch(Some(3), Wait::AtOnce, 4),
                    watch(Some(1), Wait::Forever, 5),
                    watch(Some(4), Wait::For(Span(20)), 6),
                    step(look, 1, 7),
                    LATER.to_vec(),
                ]
                .concat()
            }),
            ("group", {
                let hold = |token| {
                    let (lease, limit) = (Span(10), Some(Span(50)));
                    step(Request::Hold { wait: Wait::AtOnce, lease, limit, template: &any }, 1, token)
                };
                let end = |leases, witnesses, tuples, token| {
                    step(
                        Request::Commit { leases, witnesses, deadline: None, tuples, expiries: &[] },
                        1,
                        token,
                    )
                };
                [
                    [out(0, 1), out(0, 2), hold(3)].concat(),
                    step(Request::Witness { wait: Wait::AtOnce, template: &any }, 1, 4),
                    end(&[LeaseId(3)], &[Witness { age: 2, place: 1 }], &rows, 5),
                    [hold(6), step(Request::Abort { leases: &[LeaseId(5)] }, 1, 7)].concat(),
                    [hold(8), end(&[LeaseId(6)], &[Witness { age: 9, place: 0 }], &[], 9)].concat(),
                    [SENDER_DOWN.to_vec(), LATER.to_vec()].concat(),
                ]
                .concat()
            }),
            ("named-spaces", named_spaces()),
            ("select-and-replace", select_and_replace()),
            ("ranges", ranges()),
            ("collections", collections()),
            ("collected-spaces", collected_spaces()),
            (
                "code-refused",
                [
                    SENDER_UP.to_vec(),
                    step(Request::Grant { grants: &CodeGrants::default() }, 0, 1),
                    step(
                        Request::Out {
                            deadline: None,
                            tuples: &[tuple!["quintet.task", 3i64]],
                            expiries: &[],
                        },
                        1,
                        2,
                    ),
                    step(Request::Grant { grants: &CodeGrants::default() }, 1, 3),
                ]
                .concat(),
            ),
        ],
    )
}

/// Spaces with tuples, leases and requests that wait.
pub(super) fn snapshots() -> Vec<Seed> {
    let saved = |seed: Seed| (seed.name, fuzzing::saved(&seed.bytes));
    named("space_snapshot", requests().into_iter().map(saved).collect())
}

/// A log of a life in which a tuple is put and taken, and one without inputs.
pub(super) fn logs() -> Vec<Seed> {
    let (config, client) = (SpaceConfig::default(), Address::new(1, 16));
    let space = Space::new(config);
    let mut link = Effects::default();
    let (rows, any) = ([tuple!["row", 3i64]], template!["row", ?i64]);
    let put = Request::Out { deadline: None, tuples: &rows, expiries: &[] };
    let take = Request::Take { wait: Wait::Forever, lease: None, template: &any };
    for (token, request) in [(1, put), (2, take)] {
        request.send(&mut link, Address::new(0, 16), Token(token), Token(0)).expect("a small request");
    }
    let frames = link.frames();
    let up = PeerChange::Up { incarnation: Incarnation(1), link: LinkInfo::new(LinkClass::Machine, 1 << 20) };
    let mut inputs = vec![(Time(2), Input::Peer(client, &up))];
    inputs.extend(frames.iter().map(|(_, frame)| (Time(3), Input::Frame(client, frame.borrow()))));
    inputs
        .extend([(Time(4), Input::Wake), (Time(5), Input::Peer(client, &PeerChange::Down(DownCause::Died)))]);
    let log = |inputs: &[(Time, Input<'_>)]| quintet_durable::fuzzing::seed(&config, &space, inputs);
    named("space_log", vec![("life", log(&inputs)), ("empty", log(&[]))])
}

/// Words of clients, and a space with two: one that is there and waits, one that is away and whose answer is kept.
pub(super) fn clients() -> Vec<Seed> {
    let words = [
        ("introduce", encode_to_vec(&Word::Introduce(ClientId(7)))),
        ("resume", encode_to_vec(&Word::Resume(ClientId(7)))),
        ("received", encode_to_vec(&Word::Received(vec![Token(1), Token(2)]))),
        ("resumes", encode_to_vec(&Reply::Resumes(Span(9)))),
    ];
    let (space, spaces) = (SpaceConfig::default(), SpacesConfig::default());
    let kept = KeptSpaces { space, spaces, policy: Policy::Logged, is_restricted: false };
    let mut space: ResumedSpaces = Resumed::new(ResumeLimits::default(), Spaces::kept(&kept));
    let up = PeerChange::Up { incarnation: Incarnation(1), link: LinkInfo::new(LinkClass::Machine, 1 << 20) };
    let made = SpacesRequest::Create("orders".parse().expect("a name"), SpaceSettings::default());
    let (rows, any) = ([tuple!["row", 3i64]], template!["other", ?i64]);
    let put = Request::Out { deadline: None, tuples: &rows, expiries: &[] };
    let take = Request::Take { wait: Wait::Forever, lease: None, template: &any };
    let mut link = Effects::default();
    for (node, request) in [(1, put), (2, take), (4, Request::Spaces(&made))] {
        let client = Address::new(node, 16);
        space.handle(Time(1), Input::Peer(client, &up), &mut link);
        let word = encode_to_vec(&Word::Introduce(ClientId(node.into())));
        let word = Frame::new(SpaceRequests::WORD, Token(u64::MAX), &word);
        space.handle(Time(2), Input::Frame(client, word), &mut link);
        let mut asked = Effects::default();
        request.send(&mut asked, Address::new(0, 16), Token(1), Token(0)).expect("a small request");
        for (_, frame) in asked.frames() {
            space.handle(Time(3), Input::Frame(client, frame.borrow()), &mut link);
        }
    }
    space.handle(Time(4), Input::Peer(Address::new(3, 16), &up), &mut link);
    let down = PeerChange::Down(DownCause::Died);
    space.handle(Time(5), Input::Peer(Address::new(1, 16), &down), &mut link);
    let mut saved = Vec::new();
    space.save(&mut saved);
    named("resumed_clients", words.into_iter().chain([("space", saved)]).collect())
}
