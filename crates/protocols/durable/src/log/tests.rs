use super::frame::write;
use super::{Batch, Format, Recovery, Unreadable, Writer};
use proptest::prelude::*;

const FORMAT: Format = Format { magic: *b"LOGTESTS", version: 3, max_record_bytes: 3_000 };

/// A file as a writer leaves it: the first batch sealed, each durable before the next; and where each begins.
fn file(batches: &[Vec<Vec<u8>>]) -> (Vec<u8>, Vec<usize>) {
    let (mut writer, mut bytes) = (Writer::new(FORMAT), Vec::new());
    let mut begins = Vec::new();
    for batch in batches {
        for record in batch {
            writer.keep(|to| to.extend_from_slice(record));
        }
        begins.push(bytes.len());
        match writer.begin() {
            Some(Batch::Whole(all)) if bytes.is_empty() => bytes = all,
            Some(Batch::Behind(next)) if !bytes.is_empty() => bytes.extend(next),
            None => assert!(batch.is_empty()),
            Some(other) => panic!("{other:?} behind {} bytes", bytes.len()),
        }
        assert_eq!(writer.begin(), None, "one is on its way");
        assert!(!writer.is_durable(writer.batch()) || batch.is_empty());
        writer.synced();
        assert_eq!(writer.length(), bytes.len() as u64);
    }
    begins.push(bytes.len());
    (bytes, begins)
}

/// The records, and up to where the file is whole.
fn read(bytes: &[u8], piece: usize) -> Result<(Vec<Vec<u8>>, u64), Unreadable> {
    recover(Recovery::new(FORMAT), bytes, piece)
}

fn recover(mut recovery: Recovery, bytes: &[u8], piece: usize) -> Result<(Vec<Vec<u8>>, u64), Unreadable> {
    let mut records = Vec::new();
    for part in bytes.chunks(piece) {
        recovery.take(part, bytes.len() as u64, &mut |record| {
            records.push(record.to_vec());
            Ok(())
        })?;
    }
    assert!(recovery.is_complete());
    Ok((records, recovery.whole()))
}

fn batches() -> impl Strategy<Value = Vec<Vec<Vec<u8>>>> {
    let record = proptest::collection::vec(any::<u8>(), 1..1_500);
    proptest::collection::vec(proptest::collection::vec(record, 1..4), 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_was_kept_is_read_in_pieces_of_any_length(batches in batches(), piece in 1..3_000usize) {
        let (bytes, _) = file(&batches);
        prop_assert_eq!(read(&bytes, piece), Ok((batches.concat(), bytes.len() as u64)));
    }

    #[test]
    fn a_last_batch_that_is_cut_or_whose_sectors_were_not_written_is_torn(
        batches in batches(), piece in 1..3_000usize, at in any::<prop::sample::Index>(), is_cut: bool,
    ) {
        prop_assume!(batches.len() > 1);
        let (mut bytes, begins) = file(&batches);
        let last = begins[begins.len() - 2];
        let at = last + at.index(bytes.len() - last);
        if is_cut {
            bytes.truncate(at);
        } else {
            let sector = (at / 512 * 512).max(last);
            bytes[sector..].fill(0);
        }
        let durable = batches[..batches.len() - 1].concat();
        let (records, whole) = read(&bytes, piece).expect("it is torn");
        prop_assert!(records.starts_with(&durable) && batches.concat().starts_with(&records));
        prop_assert!(whole >= last as u64);
    }

    #[test]
    fn zeros_that_a_host_keeps_ready_behind_the_end_are_no_batch(
        batches in batches(), piece in 1..3_000usize, room in 1..5_000usize, cut in any::<prop::sample::Index>(),
    ) {
        prop_assume!(batches.len() > 1);
        let (mut bytes, begins) = file(&batches);
        let end = bytes.len();
        let with_room = |bytes: &[u8]| [bytes, &vec![0; room]].concat();
        prop_assert_eq!(read(&with_room(&bytes), piece), Ok((batches.concat(), end as u64)));
        // A last batch of which the sectors before one were written.
        let last = begins[begins.len() - 2];
        let cut = (last + cut.index(end - last)) / 512 * 512;
        bytes[cut.max(last)..].fill(0);
        let (records, whole) = read(&with_room(&bytes), piece).expect("it is torn");
        let durable = batches[..batches.len() - 1].concat();
        prop_assert!(records.starts_with(&durable) && batches.concat().starts_with(&records));
        prop_assert!(whole >= last as u64);
    }

    #[test]
    fn a_byte_that_has_changed_before_the_last_batch_is_named_and_nothing_is_guessed(
        batches in batches(), piece in 1..3_000usize, at in any::<prop::sample::Index>(), bit in 0..8u8,
    ) {
        let (mut bytes, begins) = file(&batches);
        // All of a file that holds only what was put in place as a whole.
        let end = if batches.len() == 1 { bytes.len() } else { begins[begins.len() - 2] };
        let at = at.index(end);
        bytes[at] ^= 1 << bit;
        match read(&bytes, piece) {
            Err(Unreadable::Damage { offset, .. }) => prop_assert!(offset <= at as u64),
            Err(Unreadable::OtherFile) => prop_assert!(at < 8),
            Err(Unreadable::Version { found, read: 3 }) => prop_assert!(found != 3 && (8..12).contains(&at)),
            other => prop_assert!(false, "{other:?}"),
        }
    }
}

#[test]
fn a_file_cut_within_what_was_put_in_place_as_a_whole_is_damaged() {
    let (bytes, _) = file(&[vec![vec![1; 100], vec![2; 700]]]);
    for length in 1..bytes.len() {
        let error = read(&bytes[..length], 64).expect_err("it is no log");
        assert!(matches!(error, Unreadable::Damage { offset: 0, .. }), "{length}: {error}");
    }
    assert_eq!(read(&[], 1), Ok((vec![], 0)), "no file so far");
}

#[test]
fn what_looks_torn_is_damaged_where_a_later_batch_lies_behind_it() {
    let (bytes, begins) = file(&[vec![vec![1; 10]], vec![vec![2; 1_500]], vec![vec![3; 10]]]);
    let too_long = |batch: usize| {
        let mut changed = bytes.clone();
        changed[begins[batch]..][..4].copy_from_slice(&2_900u32.to_le_bytes());
        changed
    };
    let mut unwritten = bytes.clone();
    unwritten[512..1_024].fill(0);
    for changed in [too_long(1), unwritten] {
        let damaged = read(&changed, 100);
        let begin = begins[1] as u64;
        assert!(matches!(damaged, Err(Unreadable::Damage { offset, .. }) if offset == begin), "{damaged:?}");
    }
    assert_eq!(read(&too_long(2), 100), Ok((vec![vec![1; 10], vec![2; 1_500]], begins[2] as u64)));
}

#[test]
fn of_a_torn_batch_counts_what_is_there_of_it() {
    let (bytes, begins) = file(&[vec![vec![1; 10]], vec![vec![2; 1_500]]]);
    let torn = |bytes: &[u8]| {
        let mut recovery = Recovery::new(FORMAT);
        recovery.take(bytes, bytes.len() as u64, &mut |_| Ok(())).map(|()| recovery.torn())
    };
    let with_room = |bytes: &[u8]| [bytes, &[0; 900]].concat();
    assert_eq!((torn(&bytes), torn(&with_room(&bytes))), (Ok(0), Ok(0)));
    let (cut, count) = (&bytes[..1_024], 1_024 - begins[1] as u64);
    assert_eq!((torn(cut), torn(&with_room(cut))), (Ok(count), Ok(count)));
}

#[test]
fn a_file_without_a_header_is_read_and_may_be_torn_behind_its_first_record() {
    let (mut bytes, mut ends) = (Vec::new(), Vec::new());
    for record in [&[1; 600][..], &[2; 40]] {
        let begin = bytes.len() as u64;
        write(&FORMAT, begin, |to| to.extend_from_slice(record), &mut bytes);
        ends.push(bytes.len());
    }
    let read = |length: usize, piece| recover(Recovery::without_header(FORMAT), &bytes[..length], piece);
    for piece in [1, 100, 1_000] {
        assert_eq!(read(0, piece), Ok((vec![], 0)));
        for length in 1..ends[0] {
            assert!(matches!(read(length, piece), Err(Unreadable::Damage { offset: 0, .. })), "{length}");
        }
        for length in ends[0]..ends[1] {
            assert_eq!(read(length, piece), Ok((vec![vec![1; 600]], ends[0] as u64)), "{length}");
        }
        assert_eq!(read(ends[1], piece), Ok((vec![vec![1; 600], vec![2; 40]], ends[1] as u64)));
    }
}

#[test]
fn a_file_is_long_when_it_is_twice_its_first_part_and_some() {
    let mut writer = Writer::new(FORMAT);
    let grow = |writer: &mut Writer, bytes: usize| {
        writer.keep(|to| to.resize(to.len() + bytes, 7));
        assert!(writer.begin().is_some());
        assert!(!writer.is_long(0), "not while a batch is on its way");
        writer.synced();
    };
    grow(&mut writer, 1_000 - 24 - 16);
    assert!(!writer.is_long(0) && writer.length() == 1_000);
    grow(&mut writer, 1_000 - 16);
    assert!(!writer.is_long(0));
    grow(&mut writer, 1);
    assert!(writer.is_long(0) && writer.is_long(16) && !writer.is_long(17));
    writer.begin_anew();
    grow(&mut writer, 10);
    assert!(!writer.is_long(0) && writer.length() == 50);
}

#[test]
fn errors_say_what_to_do() {
    let errors = [
        Unreadable::Damage { offset: 77, problem: "the check of a record does not fit it".to_owned() },
        Unreadable::Version { found: 9, read: 3 },
        Unreadable::OtherFile,
    ];
    let texts = errors.map(|error| error.to_string());
    assert!(texts[0].contains("at byte 77") && texts[1].contains("version 9"), "{texts:?}");
    assert_eq!(texts[2], "the file is no log of this kind");
}
