use super::{ANSWER, Answer, Grant, Happening, Info, ProcessInfo, REQUEST, Request, What};
use crate::limits::{MAX_BATCH_BYTES, MAX_GRANTS, MAX_HAPPENINGS, MAX_HASHES, PIECE_BYTES};
use crate::refusal::{Reason, Refusal};
use bytes::Bytes;
use proptest::prelude::*;
use quintet_contract::limits::MAX_PAYLOAD_BYTES;
use quintet_contract::{Identity, Kind, Span, Token};
use quintet_wire::services::process::{
    End, FileHash, MAX_START_BYTES, Program, RunningProcess, Start, Stream,
};
use quintet_wire::{DecodeError, Encode, encode_to_vec};

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..40)
}

fn hashes() -> impl Strategy<Value = Vec<FileHash>> {
    prop::collection::vec(any::<[u8; 32]>().prop_map(FileHash), 0..9)
}

fn requests() -> impl Strategy<Value = Request> {
    let start = ("[a-z]{0,9}", bytes()).prop_map(|(name, path)| Start::new(name, Program::Path(path)));
    let grant = any::<(bool, bool)>().prop_map(|(run, code)| Grant { run, code });
    let identity = any::<[u8; 32]>().prop_map(Identity);
    prop_oneof![
        hashes().prop_map(|hashes| Request::Have { hashes }),
        (any::<[u8; 32]>(), bytes())
            .prop_map(|(hash, held)| Request::Store { hash: FileHash(hash), contents: held.into() }),
        (any::<u128>(), start).prop_map(|(job, start)| Request::Start { job, start: Box::new(start) }),
        any::<(u128, u64)>().prop_map(|(job, wait)| Request::Next { job, wait: Span(wait) }),
        (any::<u64>(), 1..=64_u8, any::<bool>()).prop_map(|(process, signal, to_group)| Request::Signal {
            process,
            signal,
            to_group
        }),
        any::<u128>().prop_map(|job| Request::End { job }),
        Just(Request::Info),
        any::<u32>().prop_map(|after| Request::Running { after }),
        prop::collection::btree_map(identity, grant, 0..5).prop_map(|grants| Request::Grants { grants }),
    ]
}

fn happenings() -> impl Strategy<Value = Vec<Happening>> {
    let stream = prop_oneof![Just(Stream::Output), Just(Stream::Error)];
    let end = prop_oneof![any::<u8>().prop_map(End::Exited), (1..=64_u8).prop_map(End::Killed)];
    let what = prop_oneof![
        (stream, bytes()).prop_map(|(stream, bytes)| What::Output { stream, bytes }),
        end.prop_map(What::Ended),
    ];
    prop::collection::vec((any::<u64>(), what).prop_map(|(process, what)| Happening { process, what }), 0..9)
}

fn processes() -> impl Strategy<Value = ProcessInfo> {
    let numbers = any::<(Option<u64>, u32, u64, u32)>();
    let texts = ("[a-z ]{0,9}", "[ -~]{0,9}", "[ -~]{0,40}");
    (numbers, texts, any::<Option<[u8; 32]>>()).prop_map(|(numbers, texts, owner)| {
        let (process, pid, age, restarts) = numbers;
        let (name, job, command) = texts;
        let (count, state, cpu, memory, rank) = (1, b'S', age / 2, age / 3, process);
        let running = RunningProcess { process, pid, count, state, age, cpu, memory, rank, job, command };
        ProcessInfo { running, name, restarts, owner: owner.map(Identity) }
    })
}

fn answers() -> impl Strategy<Value = Answer> {
    let info = (any::<(u16, u32, u32, u32)>(), "[ -~]{0,40}").prop_map(|(numbers, version)| {
        let (cores, load, processes, jobs) = numbers;
        Info { cores, load, processes, jobs, version }
    });
    let refusal = (prop::sample::select(Reason::ALL), any::<String>())
        .prop_map(|(reason, text)| Refusal::new(reason, text));
    prop_oneof![
        hashes().prop_map(|hashes| Answer::Missing { hashes }),
        Just(Answer::Done),
        (any::<u64>(), bytes()).prop_map(|(process, folder)| Answer::Started { process, folder }),
        happenings().prop_map(Answer::Happened),
        info.prop_map(Answer::Info),
        refusal.prop_map(Answer::Error),
        (prop::collection::vec(processes(), 0..4), any::<bool>())
            .prop_map(|(processes, is_last)| Answer::Running { processes, is_last }),
    ]
}

proptest! {
    #[test]
    fn requests_and_answers_come_back(request in requests(), answer in answers()) {
        let frame = request.frame(Token(1));
        prop_assert_eq!(Request::decode(frame.kind, &frame.body, &frame.bulk), Ok(request));
        prop_assert_eq!(Answer::decode(answer.kind(), &encode_to_vec(&answer)), Ok(answer));
    }

    #[test]
    fn any_bytes_are_read_or_refused(tag in 0..9_u8, body: Vec<u8>, bulk: Vec<u8>) {
        let (body, bulk) = ([&[tag][..], &body].concat(), Bytes::from(bulk));
        if let Ok(request) = Request::decode(REQUEST, &body, &bulk) {
            prop_assert_eq!(request.parts(), (body.clone(), bulk));
        }
        if let Ok(answer) = Answer::decode(ANSWER, &body) {
            prop_assert_eq!(encode_to_vec(&answer), body);
        }
    }
}

#[test]
fn the_longest_of_each_are_one_frame() {
    let hashes = vec![FileHash([1; 32]); MAX_HASHES];
    assert!(Request::Have { hashes: hashes.clone() }.encoded_len() <= MAX_PAYLOAD_BYTES);
    assert!(Answer::Missing { hashes }.encoded_len() <= MAX_PAYLOAD_BYTES);
    let identity =
        |n: usize| Identity(core::array::from_fn(|at| n.to_le_bytes().get(at).copied().unwrap_or(0)));
    let grants = (0..MAX_GRANTS).map(|n| (identity(n), Grant::default())).collect();
    assert!(Request::Grants { grants }.encoded_len() <= MAX_PAYLOAD_BYTES);
    let said = What::Output { stream: Stream::Output, bytes: vec![0; PIECE_BYTES] };
    let happened = |what: What, count| Answer::Happened(vec![Happening { process: 1, what }; count]);
    assert!(happened(said, 4).encoded_len() <= MAX_BATCH_BYTES);
    assert!(happened(What::Ended(End::Exited(0)), MAX_HAPPENINGS).encoded_len() <= MAX_BATCH_BYTES);
}

#[test]
fn other_kinds_and_bulk_where_none_belongs_are_refused() {
    let body = encode_to_vec(&Request::Info);
    assert!(Request::decode(REQUEST, &body, &Bytes::new()).is_ok());
    assert!(Request::decode(ANSWER, &body, &Bytes::new()).is_err());
    assert!(Answer::decode(Kind(0), &encode_to_vec(&Answer::Done)).is_err());
    let error = Request::decode(REQUEST, &body, &Bytes::from_static(b"bulk"));
    assert_eq!(error, Err(DecodeError::Trailing { at: 1, left: 4 }));
}

#[test]
fn a_start_above_its_limit_is_not_read() {
    let (body, _) =
        Request::Start { job: 1, start: Box::new(Start::new("", Program::Path(Vec::new()))) }.parts();
    let error = Request::decode(REQUEST, &body, &vec![0; MAX_START_BYTES + 1].into());
    assert!(matches!(error, Err(DecodeError::TooLarge { .. })), "{error:?}");
}
