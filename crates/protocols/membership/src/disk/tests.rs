use super::recovery::{Damage, Recovered, read};
use super::{Life, Record, Writer};
use crate::change::Joiner;
use crate::change::{Change, Entry};
use crate::view::View;
use proptest::prelude::*;
use quintet_contract::{Address, Effects, Identity, Incarnation, NodeId};
use quintet_wire::registry::{DISK_APPEND, DISK_SYNC};

fn life(incarnation: u64) -> Record {
    Record::Life(Life { cluster: 7, node: NodeId(3), incarnation: Incarnation(incarnation) })
}

fn entry(index: u64, term: u64) -> Record {
    Record::Entry { index, entry: Entry { term, change: Change::Promote(NodeId(2)) } }
}

fn vote(term: u64) -> Record {
    Record::Vote { term, voted_for: Some(NodeId(1)) }
}

/// A file of batches, each synced before the next; and where the last one begins.
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
            Err(Damage { offset, .. }) => assert!(offset <= at, "{at}: damage at {offset}"),
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
    assert!(read(&bytes).is_err_and(|damage| damage.offset > 0 && damage.problem.contains("before it")));
}

#[test]
fn one_batch_is_on_its_way_at_a_time() {
    let mut writer = Writer::new(Address::new(3, 2), 100);
    let mut out = Effects::default();
    writer.begin(&mut out).expect("nothing to do");
    assert!(out.frames().is_empty() && writer.is_durable(writer.batch()));
    writer.keep([vote(1)]);
    let first = writer.batch();
    writer.begin(&mut out).expect("a disk");
    writer.keep([vote(2)]);
    let second = writer.batch();
    writer.begin(&mut out).expect("a disk");
    let kinds: Vec<_> = out.frames().into_iter().map(|(_, frame)| frame.kind).collect();
    assert_eq!(kinds, [DISK_APPEND, DISK_SYNC]);
    assert!(!writer.is_durable(first) && first < second);
    writer.synced();
    assert!(writer.is_durable(first) && !writer.is_durable(second));
    writer.begin(&mut out).expect("a disk");
    assert_eq!(out.frames().len(), 2);
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_named(bytes: Vec<u8>) {
        let _ = read(&bytes);
        let (mut whole, _) = file(&whole());
        whole.extend(&bytes);
        let _ = read(&whole);
    }
}
