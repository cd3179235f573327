use super::recovery::{Recovered, Unreadable, read};
use super::{Life, Record, Writer};
use crate::change::Joiner;
use crate::change::{Change, Entry};
use crate::view::View;
use proptest::prelude::*;
use quintet_contract::{Address, Effects, Identity, Incarnation, NodeId};
use quintet_wire::registry::{DISK_APPEND, DISK_REPLACE, DISK_SYNC};

fn life(incarnation: u64) -> Record {
    Record::Life(Life { cluster: 7, node: NodeId(3), incarnation: Incarnation(incarnation) })
}

fn entry(index: u64, term: u64) -> Record {
    Record::Entry { index, entry: Entry { term, change: Change::Promote(NodeId(2)) } }
}

fn vote(term: u64) -> Record {
    Record::Vote { term, voted_for: Some(NodeId(1)) }
}

/// A file of the first format: batches, each synced before the next; and where the last one begins.
fn file(batches: &[Vec<Record>]) -> (Vec<u8>, usize) {
    let (mut bytes, mut last) = (Vec::new(), 0);
    for batch in batches {
        last = bytes.len();
        batch.iter().for_each(|record| record.write(last as u64, &mut bytes));
    }
    (bytes, last)
}

fn whole() -> Vec<Vec<Record>> {
    let view = View::founded(Joiner {
        node: NodeId(0),
        name: "zero".to_owned(),
        identity: Identity([9; 32]),
        address: String::new(),
        grants: 0,
        ticket: 0,
    });
    vec![
        vec![life(1), Record::Snapshot { index: 1, term: 0, view }],
        vec![vote(3), entry(2, 3), entry(3, 3)],
        vec![entry(4, 3)],
        vec![vote(4), entry(3, 4)],
        (4..20).map(|index| entry(index, 4)).collect(),
    ]
}

#[test]
fn a_log_is_read_back_with_later_entries_in_the_place_of_earlier_ones() {
    let (bytes, _) = file(&whole());
    let Recovered { life, state, length } = read(&bytes).expect("it is whole");
    let state = state.expect("something was agreed");
    assert_eq!((life.map(|life| life.incarnation), length), (Some(Incarnation(1)), bytes.len()));
    assert_eq!((state.term, state.voted_for, state.snapshot.0), (4, Some(NodeId(1)), 1));
    let terms: Vec<u64> = state.entries.iter().map(|entry| entry.term).collect();
    assert_eq!((terms[0], terms[1], terms.len()), (3, 4, 18));
    assert_eq!(read(&[]), Ok(Recovered { life: None, state: None, length: 0 }));
}

#[test]
fn what_a_crash_leaves_of_the_last_batch_is_cut_off_wherever_it_tears() {
    let (bytes, last) = file(&whole());
    for end in last..bytes.len() {
        let short = read(&bytes[..end]).expect("the file ends early");
        assert!((last..=end).contains(&short.length), "{end}: {}", short.length);
        let mut zeros = bytes.clone();
        let end = end.next_multiple_of(512).clamp(last, bytes.len());
        zeros[end..].fill(0);
        let torn = read(&zeros).expect("a sector was not written");
        assert!((last..=end).contains(&torn.length));
    }
}

#[test]
fn every_changed_byte_is_named_and_nothing_is_guessed() {
    let (bytes, _) = file(&whole());
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 0x40;
        // A length that grew may reach behind the end: as of a record that was cut short. Not where a later batch lies behind it.
        match read(&changed) {
            Err(Unreadable::Damage { offset, .. }) => assert!(offset <= at, "{at}: damage at {offset}"),
            Err(Unreadable::Format(_)) => panic!("{at}: it has no header"),
            Ok(cut) => {
                let (_, last) = file(&whole());
                assert!(
                    cut.length >= last && at >= cut.length && at - cut.length < 4,
                    "{at}: cut at {}",
                    cut.length
                );
            }
        }
    }
}

#[test]
fn an_entry_without_the_one_before_it_is_damage() {
    let (bytes, _) = file(&[vec![life(1), entry(1, 1)], vec![entry(3, 1)]]);
    let Err(Unreadable::Damage { offset, problem }) = read(&bytes) else { panic!("it is damaged") };
    assert!(offset > 0 && problem.contains("before it"), "{problem}");
}

/// What a writer has put on its disk: all batches, each durable before the next.
fn written(first: Vec<Record>, batches: &[Vec<Record>]) -> (Vec<u8>, usize) {
    let mut writer = Writer::new(Address::new(3, 2), first);
    let (mut disk, mut sealed) = (Vec::new(), 0);
    for batch in [Vec::new()].iter().chain(batches) {
        writer.keep(batch.iter().cloned());
        let mut out = Effects::default();
        writer.begin(&mut out).expect("a disk");
        for (_, frame) in out.frames() {
            match frame.kind {
                DISK_REPLACE => {
                    disk = frame.bulk.to_vec();
                    sealed = disk.len();
                }
                DISK_APPEND => disk.extend_from_slice(&frame.bulk),
                _ => {}
            }
        }
        writer.synced();
    }
    (disk, sealed)
}

#[test]
fn one_batch_is_on_its_way_at_a_time_and_the_first_is_the_whole_file() {
    let mut writer = Writer::new(Address::new(3, 2), vec![life(1)]);
    let kinds = |writer: &mut Writer| {
        let mut out = Effects::default();
        writer.begin(&mut out).expect("a disk");
        out.frames().into_iter().map(|(_, frame)| frame.kind).collect::<Vec<_>>()
    };
    writer.keep([vote(1)]);
    let first = writer.batch();
    assert_eq!(kinds(&mut writer), [DISK_REPLACE]);
    writer.keep([vote(2)]);
    let second = writer.batch();
    assert_eq!(kinds(&mut writer), []);
    assert!(!writer.is_durable(first) && first < second);
    writer.synced();
    assert!(writer.is_durable(first) && !writer.is_durable(second));
    assert_eq!(kinds(&mut writer), [DISK_APPEND, DISK_SYNC]);
    writer.synced();
    assert!(writer.is_durable(second) && writer.is_durable(writer.batch()));
    assert_eq!(kinds(&mut writer), [], "nothing is left");
}

#[test]
fn a_file_that_was_written_anew_holds_the_same_and_goes_on() {
    let records: Vec<Record> = whole().concat();
    let (bytes, sealed) = written(records[..4].to_vec(), &[records[4..].to_vec()]);
    let expected = read(&file(&whole()).0).expect("it is whole");
    let found = read(&bytes).expect("it is whole");
    assert_eq!((found.life, found.state, found.length), (expected.life, expected.state, bytes.len()));
    assert!(sealed < bytes.len());
    let mut writer = Writer::new(Address::new(3, 2), records);
    assert!(!writer.is_long(0), "nothing is there");
    writer.begin(&mut Effects::default()).expect("a disk");
    writer.synced();
    assert!(!writer.is_long(0), "it was written anew");
    while !writer.is_long(300) {
        writer.keep([vote(7)]);
        writer.begin(&mut Effects::default()).expect("a disk");
        assert!(!writer.is_long(0), "a batch is on its way");
        writer.synced();
    }
    writer.keep([vote(8)]);
    writer.begin_anew(vec![life(2), vote(9)]);
    let mut out = Effects::default();
    writer.begin(&mut out).expect("a disk");
    let (_, anew) = out.frames().remove(0);
    let found = read(&anew.bulk).expect("it is whole");
    assert_eq!(found.life.map(|life| life.incarnation), Some(Incarnation(2)));
    assert_eq!(found.state.map(|state| state.term), Some(9), "what was taken before is void");
}

#[test]
fn what_was_written_as_a_whole_is_never_taken_for_torn() {
    let (bytes, sealed) = written(whole().concat(), &[vec![vote(9)], vec![vote(10)]]);
    let is_damaged = |bytes: &[u8]| matches!(read(bytes), Err(Unreadable::Damage { .. }));
    for end in 8..sealed {
        assert!(is_damaged(&bytes[..end]), "the file ends at {end}");
    }
    for end in (0..sealed).step_by(512) {
        let mut zeros = bytes[..sealed].to_vec();
        zeros[end..].fill(0);
        assert!(is_damaged(&zeros), "zeros from {end} on");
    }
    for at in 8..sealed {
        let mut changed = bytes.clone();
        changed[at] ^= 0x40;
        assert!(is_damaged(&changed) || (8..12).contains(&at) && read(&changed).is_err(), "{at}");
    }
    for end in sealed..bytes.len() {
        let torn = read(&bytes[..end]).expect("what was appended may be torn");
        assert!((sealed..=end).contains(&torn.length));
    }
}

#[test]
fn a_file_is_laid_out_as_the_format_says() {
    let (bytes, sealed) = written(whole()[0].clone(), &[whole()[1].clone()]);
    let counted = (sealed as u64).to_le_bytes();
    let check = crc32fast::hash(&counted).to_le_bytes();
    let mut expected = [&b"QUINMEMB"[..], &[2, 0, 0, 0], &check, &counted].concat();
    whole()[0].iter().for_each(|record| record.write(0, &mut expected));
    assert_eq!(expected.len(), sealed);
    whole()[1].iter().for_each(|record| record.write(sealed as u64, &mut expected));
    assert_eq!(bytes, expected);
}

#[test]
fn a_file_of_a_later_format_is_refused_by_its_number() {
    let (mut bytes, _) = written(whole().concat(), &[]);
    bytes[8] = 3;
    assert_eq!(read(&bytes), Err(Unreadable::Format(3)));
    assert!(Unreadable::Format(3).to_string().contains("of format 3"));
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_named(bytes: Vec<u8>) {
        let _ = read(&bytes);
        let (mut whole, _) = file(&whole());
        whole.extend(&bytes);
        let _ = read(&whole);
        let (mut anew, _) = written(vec![life(1)], &[vec![vote(1)]]);
        anew.extend(&bytes);
        let _ = read(&anew);
    }
}
