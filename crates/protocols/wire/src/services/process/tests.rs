use super::*;
use crate::encode_to_vec;
use proptest::prelude::*;

fn start_with(path: &[u8]) -> Start {
    let file = JobFile { path: path.to_vec(), hash: FileHash([1; 32]), mode: 0o644 };
    Start { files: vec![file], ..Start::new("worker 1", Program::Path(b"/bin/sh".to_vec())) }
}

#[test]
fn paths_that_stay_in_the_folder_are_good_and_all_others_are_not() {
    for good in [&b"a"[..], b"a/b", b"a/b/c.py", b"...", b".hidden", b"a b", b"\xff\xfe"] {
        assert_eq!(start_with(good).check(), Ok(()), "{}", String::from_utf8_lossy(good));
    }
    let long = [b'a'; MAX_PATH_NAME_BYTES + 1];
    let longer = b"a/".repeat(MAX_PATH_BYTES);
    let bad: [&[u8]; 14] = [
        b"", b"/", b"/a", b"a/", b"a//b", b".", b"..", b"../a", b"a/..", b"a/../b", b"./a", b"a\0", &long,
        &longer,
    ];
    for path in bad {
        assert!(start_with(path).check().is_err(), "{}", String::from_utf8_lossy(path));
        let program = Start::new("", Program::File(path.to_vec()));
        assert!(program.check().is_err(), "{}", String::from_utf8_lossy(path));
    }
}

#[test]
fn no_file_stands_twice_or_in_another_one() {
    let with = |paths: &[&[u8]]| {
        let files = paths.iter().flat_map(|path| start_with(path).files).collect();
        Start { files, ..start_with(b"x") }.check()
    };
    assert_eq!(with(&[b"a/b", b"a/c", b"ab"]), Ok(()));
    for paths in [[&b"a"[..], b"a"], [b"a", b"a/b"], [b"a/b/c", b"a/b"]] {
        assert!(with(&paths).is_err());
    }
}

#[test]
fn what_the_system_would_misread_is_refused() {
    let program = |path: &[u8]| Start::new("", Program::Path(path.to_vec()));
    assert_eq!(program(b"python3").check(), Ok(()));
    for path in [&b""[..], b"./a", b"a/b", b"a\0"] {
        assert!(program(path).check().is_err(), "{}", String::from_utf8_lossy(path));
    }
    let begins_in = |path: &[u8]| Start { directory: Directory::Path(path.to_vec()), ..program(b"a") };
    assert_eq!(begins_in(b"/tmp").check(), Ok(()));
    assert!(begins_in(b"tmp").check().is_err() && begins_in(b"/\0").check().is_err());
    let told = |word: &[u8]| Start { arguments: vec![word.to_vec()], ..program(b"a") };
    assert!(told(b"a b=c").check().is_ok() && told(b"a\0b").check().is_err());
    let with = |name: &[u8], value: &[u8]| {
        Start { environment: vec![(name.to_vec(), value.to_vec())], ..program(b"a") }.check()
    };
    assert_eq!(with(b"A", b"b=c"), Ok(()));
    let bad: [(&[u8], &[u8]); 5] =
        [(b"", b"a"), (b"A=", b"a"), (b"A\0", b"a"), (b"A", b"\0"), (JOBS_VARIABLE.as_bytes(), b"1")];
    for (name, value) in bad {
        assert!(with(name, value).is_err(), "{}", String::from_utf8_lossy(name));
    }
    let mut with_mode = start_with(b"a");
    with_mode.files[0].mode = 0o4755;
    assert!(with_mode.check().is_err(), "it would run as another user");
    let twice = vec![(b"A".to_vec(), b"1".to_vec()), (b"A".to_vec(), b"2".to_vec())];
    assert!(Start { environment: twice, ..program(b"a") }.check().is_err());
}

#[test]
fn counts_above_their_limits_are_refused_before_anything_is_made_room_for() {
    let body = [&[0][..], &u32::try_from(MAX_HASHES + 1).expect("a few").to_le_bytes()].concat();
    let error = ProcessRequest::decode_all(&body).expect_err("too many");
    assert!(matches!(error, DecodeError::TooLarge { .. }), "{error}");
    let body = [&[0][..], &u32::try_from(MAX_HASHES).expect("a few").to_le_bytes()].concat();
    let error = ProcessRequest::decode_all(&body).expect_err("none is there");
    assert!(matches!(error, DecodeError::Truncated { .. }), "{error}");
}

fn running() -> impl Strategy<Value = RunningProcess> {
    let numbers = any::<(Option<u64>, u32, u32, u64, u64, u64, Option<u64>)>();
    (numbers, b'A'..=b'Z', "[ -~]{0,20}", "[ -~]{0,40}").prop_map(|(numbers, state, job, command)| {
        let (process, pid, count, age, cpu, memory, rank) = numbers;
        RunningProcess { process, pid, count, state, age, cpu, memory, rank, job, command }
    })
}

fn hashes() -> impl Strategy<Value = Vec<FileHash>> {
    prop::collection::vec(any::<[u8; 32]>().prop_map(FileHash), 0..9)
}

fn requests() -> impl Strategy<Value = ProcessRequest> {
    let stream = prop_oneof![Just(Stream::Output), Just(Stream::Error)];
    prop_oneof![
        hashes().prop_map(|hashes| ProcessRequest::Have { hashes }),
        any::<[u8; 32]>().prop_map(|hash| ProcessRequest::Store { hash: FileHash(hash) }),
        any::<(u64, u128)>().prop_map(|(process, job)| ProcessRequest::Start { process, job }),
        (any::<u64>(), stream, 1..=32_768_u32).prop_map(|(process, stream, at_most)| ProcessRequest::Read {
            process,
            stream,
            at_most
        }),
        any::<u64>().prop_map(|process| ProcessRequest::Wait { process }),
        (any::<u64>(), 1..=64_u8, any::<bool>())
            .prop_map(|(process, signal, to_group)| ProcessRequest::Signal { process, signal, to_group }),
        any::<u128>().prop_map(|job| ProcessRequest::End { job }),
        Just(ProcessRequest::Load),
        any::<u32>().prop_map(|after| ProcessRequest::Running { after }),
    ]
}

fn answers() -> impl Strategy<Value = ProcessAnswer> {
    let end = prop_oneof![any::<u8>().prop_map(End::Exited), (1..=64_u8).prop_map(End::Killed)];
    prop_oneof![
        hashes().prop_map(|hashes| ProcessAnswer::Missing { hashes }),
        Just(ProcessAnswer::Done),
        any::<Vec<u8>>().prop_map(|folder| ProcessAnswer::Started { folder }),
        any::<(Vec<u8>, bool)>().prop_map(|(bytes, is_last)| ProcessAnswer::Output { bytes, is_last }),
        end.prop_map(ProcessAnswer::Ended),
        any::<(u16, u32)>().prop_map(|(cores, load)| ProcessAnswer::Load { cores, load }),
        (prop::collection::vec(running(), 0..4), any::<bool>())
            .prop_map(|(processes, is_last)| ProcessAnswer::Running { processes, is_last }),
        any::<(bool, String)>()
            .prop_map(|(is_missing_file, text)| ProcessAnswer::Failed { is_missing_file, text }),
    ]
}

fn words() -> impl Strategy<Value = Vec<Vec<u8>>> {
    prop::collection::vec(any::<Vec<u8>>(), 0..5)
}

fn starts() -> impl Strategy<Value = Start> {
    let program = (any::<bool>(), any::<Vec<u8>>()).prop_map(|(is_file, path)| match is_file {
        true => Program::File(path),
        false => Program::Path(path),
    });
    let directory =
        prop::option::of(any::<Vec<u8>>()).prop_map(|path| path.map_or(Directory::Folder, Directory::Path));
    let file = any::<(Vec<u8>, [u8; 32], u16)>().prop_map(|(path, hash, mode)| JobFile {
        path,
        hash: FileHash(hash),
        mode,
    });
    let files = prop::collection::vec(file, 0..5);
    let environment = (words(), words()).prop_map(|(names, values)| names.into_iter().zip(values).collect());
    ("[a-z ]{0,9}", program, words(), environment, directory, files).prop_map(
        |(name, program, arguments, environment, directory, files)| Start {
            name,
            program,
            arguments,
            environment,
            directory,
            files,
        },
    )
}

proptest! {
    #[test]
    fn requests_answers_and_starts_come_back(request in requests(), answer in answers(), start in starts()) {
        prop_assert_eq!(ProcessRequest::decode_all(&encode_to_vec(&request)), Ok(request));
        prop_assert_eq!(ProcessAnswer::decode_all(&encode_to_vec(&answer)), Ok(answer));
        prop_assert_eq!(Start::decode_all(&encode_to_vec(&start)), Ok(start));
    }

    #[test]
    fn any_bytes_are_read_or_refused(tag in 0..8_u8, bytes: Vec<u8>) {
        let bytes = [&[tag][..], &bytes].concat();
        if let Ok(request) = ProcessRequest::decode_all(&bytes) {
            prop_assert_eq!(&encode_to_vec(&request), &bytes);
        }
        if let Ok(answer) = ProcessAnswer::decode_all(&bytes) {
            prop_assert_eq!(&encode_to_vec(&answer), &bytes);
        }
        let _ = Start::decode_all(&bytes).map(|start| start.check());
    }
}
