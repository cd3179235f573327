//! Crashes in the middle of writes to disk, against a log that should survive them.

use super::at;
use bytes::Bytes;
use quintet_contract::{
    Address, Frame, Input, Kind, NodeId, Outbox, OwnedFrame, Protocol, SendError, Span, Time, Token,
};
use quintet_simulate::{Choices, DiskModel, Restart, SECTOR_BYTES, Sequence, ServiceModel, Simulation};
use quintet_wire::registry::{DISK_APPEND, DISK_DONE, DISK_REPLACE, DISK_SYNC, DISK_WRITE, PORT_DISK, USER};
use std::collections::VecDeque;

/// To the log: the body is a record, to be kept.
const KEEP: Kind = USER.kind(0);
const NODE: NodeId = NodeId(1);
/// What every record begins with; its length and its checksum follow.
const MAGIC: [u8; 4] = *b"QLOG";
const HEADER_BYTES: usize = 12;

/// The streams of choices.
const DISK: u64 = 1;
const PROGRAM: u64 = 2;

fn record(data: &[u8]) -> Vec<u8> {
    let length = u32::try_from(data.len()).expect("short data").to_le_bytes();
    [&MAGIC[..], &length, &crc32fast::hash(data).to_le_bytes(), data].concat()
}

/// The records on a disk. Behind what is damaged the search goes on, because a new life writes behind what the last one left.
fn recover(mut disk: &[u8], checksummed: bool) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    while let Some(begin) = disk.windows(HEADER_BYTES).position(|window| window.starts_with(&MAGIC)) {
        disk = &disk[begin..];
        let number = |at: usize| u32::from_le_bytes(disk[at..at + 4].try_into().expect("four bytes"));
        let data = disk.get(HEADER_BYTES..HEADER_BYTES + number(4) as usize);
        let data = data.filter(|data| !checksummed || crc32fast::hash(data) == number(8));
        found.extend(data.map(<[u8]>::to_vec));
        disk = &disk[data.map_or(1, |data| HEADER_BYTES + data.len())..];
    }
    found
}

/// Keeps records on its node's disk, one after the other.
#[derive(Default)]
struct Log {
    waiting: VecDeque<Vec<u8>>,
    writing: Option<Vec<u8>>,
    /// Those of which it was told that they are durable.
    acknowledged: Vec<Vec<u8>>,
}

impl Log {
    fn step(&mut self, frame: Frame<'_>, out: &mut dyn Outbox) -> Result<(), SendError> {
        match frame.kind {
            KEEP => self.waiting.push_back(frame.body.to_vec()),
            DISK_DONE if frame.body[0] == 0 => self.acknowledged.extend(self.writing.take()),
            _ => self.waiting.extend(self.writing.take()),
        }
        if self.writing.is_some() {
            return Ok(());
        }
        self.writing = self.waiting.pop_front();
        let Some(data) = &self.writing else { return Ok(()) };
        let disk = Address { node: NODE, port: PORT_DISK };
        out.send_bulk(disk, DISK_WRITE, Token(0), &[], record(data).into())
    }
}

impl Protocol for Log {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        if let Input::Frame(_, frame) = input {
            self.step(frame, out).expect("the disk has room");
        }
    }
    fn deadline(&self) -> Option<Time> {
        None
    }
}

/// Three lives of a log, each of which a crash ends at some time. What is wrong with what it recovers, if anything.
fn lives(choices: &Choices, checksummed: bool) -> Result<(), String> {
    let mut run = Simulation::explored(1, choices.clone());
    let disk = DiskModel { failures_per_million: 50_000, ..DiskModel::default() };
    run.set_services(ServiceModel { disk: Some(disk), ..ServiceModel::default() });
    run.choose_disk(NODE, choices.stream(DISK));
    run.add(at(NODE.0), Log::default());
    let mut program = choices.stream(PROGRAM);
    let (mut asked, mut acknowledged): (Vec<Vec<u8>>, Vec<Vec<u8>>) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        program.begin();
        for _ in 0..program.below(4) {
            let number = u8::try_from(asked.len() + 1).expect("nine records at most");
            let data = vec![number; usize::try_from(1 + program.below(1_500)).expect("a length")];
            let frame =
                OwnedFrame { kind: KEEP, token: Token(0), body: data.clone().into(), bulk: Bytes::new() };
            asked.push(data);
            run.inject(at(NODE.0), frame);
        }
        run.run_for(Span::from_micros(program.below(2_000)));
        acknowledged.extend(run.get::<Log>(at(NODE.0)).expect("it was placed").acknowledged.iter().cloned());
        run.crash(NODE, Span::ZERO);
        let recovered = recover(run.disk_bytes(NODE), checksummed);
        if let Some(wrong) = recovered.iter().find(|data| !asked.contains(data)) {
            return Err(format!("{} bytes that nobody asked to keep", wrong.len()));
        }
        if let Some(lost) = acknowledged.iter().find(|data| !recovered.contains(data)) {
            return Err(format!("record {} was acknowledged and is lost", lost[0]));
        }
        run.restart(NODE, Restart::Fresh(vec![(at(NODE.0).port, Box::new(Log::default()))]));
    }
    // Beyond those, the one that was being written at each crash may be there.
    let recovered = recover(run.disk_bytes(NODE), checksummed).len();
    let most = acknowledged.len() + 3;
    (recovered <= most).then_some(()).ok_or_else(|| format!("{recovered} records, expected at most {most}"))
}

fn count(sequence: &Sequence) -> usize {
    sequence.values().flatten().map(Vec::len).sum()
}

/// Leaves out groups of choices, and lowers choices to 0, as long as something is still wrong.
fn shrink(mut sequence: Sequence, is_wrong: impl Fn(&Choices) -> bool) -> Sequence {
    let made = |candidate: Sequence| {
        let choices = Choices::replayed(candidate);
        is_wrong(&choices).then(|| choices.made())
    };
    for stream in sequence.keys().copied().collect::<Vec<_>>() {
        for group in (0..sequence[&stream].len()).rev() {
            for place in (0..sequence[&stream].get(group).map_or(0, Vec::len)).rev() {
                let mut candidate = sequence.clone();
                candidate.get_mut(&stream).expect("a stream of it")[group][place] = 0;
                sequence = made(candidate).unwrap_or(sequence);
                if sequence[&stream].len() <= group || sequence[&stream][group].len() <= place {
                    break;
                }
            }
        }
    }
    sequence
}

#[test]
fn a_checksummed_log_recovers_what_it_acknowledged_and_nothing_torn() {
    for seed in 0..400 {
        lives(&Choices::drawn(seed), true).unwrap_or_else(|wrong| panic!("seed {seed}: {wrong}"));
    }
}

#[test]
fn a_log_without_checksums_is_found_out_replayed_and_shrunk() {
    let is_wrong = |choices: &Choices| lives(choices, false).is_err();
    let found = (0..400).map(Choices::drawn).find(|choices| is_wrong(choices)).expect("400 seeds");
    let sequence = found.made();
    let again = Choices::replayed(sequence.clone());
    assert!(is_wrong(&again));
    assert_eq!(again.made(), sequence);
    let small = shrink(sequence.clone(), is_wrong);
    assert!(is_wrong(&Choices::replayed(small.clone())));
    assert!(count(&small) < count(&sequence), "{small:?} of {sequence:?}");
    assert_eq!(
        small[&DISK].iter().flatten().filter(|choice| **choice > 0).count(),
        1,
        "one torn write: {small:?}"
    );
    assert!(lives(&Choices::replayed(small), true).is_ok());
}

/// Writes what it is sent, without waiting.
struct Writer;

impl Protocol for Writer {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        if let Input::Frame(_, Frame { kind: KEEP, body, .. }) = input {
            let disk = Address { node: NODE, port: PORT_DISK };
            out.send(disk, DISK_WRITE, Token(0), body).expect("the disk has room");
        }
    }
    fn deadline(&self) -> Option<Time> {
        None
    }
}

/// A node that has crashed after a durable write of 700 bytes, with one of 1,000 behind it under way, and what that leaves.
fn crashed(lost_sectors: u64) -> Simulation {
    let choices = Choices::replayed(Sequence::from([(DISK, vec![vec![lost_sectors]])]));
    let mut run = Simulation::new(1);
    run.choose_disk(NODE, choices.stream(DISK));
    run.add(at(NODE.0), Writer);
    for (fill, length) in [(1, 700), (2, 1_000)] {
        let body = vec![fill; length].into();
        run.inject(at(NODE.0), OwnedFrame { kind: KEEP, token: Token(0), body, bulk: Bytes::new() });
        run.run_for(Span(if fill == 1 { 2_000_000 } else { 1 }));
    }
    run.crash(NODE, Span::ZERO);
    run
}

fn left(lost_sectors: u64) -> Vec<u8> {
    crashed(lost_sectors).disk_bytes(NODE).to_vec()
}

#[test]
fn another_disk_is_empty_and_keeps_what_is_written_to_it() {
    let mut run = crashed(1);
    assert!(!run.disk_bytes(NODE).is_empty());
    run.lose_disk(NODE);
    assert!(run.disk_bytes(NODE).is_empty());
    run.restart(NODE, Restart::Fresh(vec![(at(NODE.0).port, Box::new(Writer))]));
    let body = vec![3; 600].into();
    run.inject(at(NODE.0), OwnedFrame { kind: KEEP, token: Token(0), body, bulk: Bytes::new() });
    run.run_for(Span(2_000_000));
    run.crash(NODE, Span::ZERO);
    assert_eq!(run.disk_bytes(NODE), vec![3; 600]);
}

#[test]
#[should_panic(expected = "is up")]
fn the_disk_of_a_node_that_is_up_is_not_lost() {
    let mut run = Simulation::new(1);
    run.add(at(NODE.0), Writer);
    run.lose_disk(NODE);
}

#[test]
fn a_write_under_way_is_cut_at_sectors_of_the_disk() {
    // It lies from 700 to 1,700, on the sectors from 512, 1,024 and 1,536 on.
    let lengths = [0, 1, 2, 3].map(|lost| left(lost).len());
    assert_eq!(lengths, [1_700, 3 * SECTOR_BYTES, 2 * SECTOR_BYTES, 700]);
    for lost in 0..=3 {
        let bytes = left(lost);
        assert!(bytes[..700].iter().all(|byte| *byte == 1) && bytes[700..].iter().all(|byte| *byte == 2));
    }
}

/// Hands what it is sent to its disk, each kind as itself.
struct Hands;

impl Protocol for Hands {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        match input {
            Input::Frame(_, frame) if frame.kind != DISK_DONE => {
                let disk = Address { node: NODE, port: PORT_DISK };
                out.send(disk, frame.kind, Token(0), frame.body).expect("the disk has room");
            }
            _ => {}
        }
    }
    fn deadline(&self) -> Option<Time> {
        None
    }
}

/// What a crash leaves after these requests, each so long before the next or the crash, if this is chosen.
fn left_of(requests: &[(Kind, u8, usize, Span)], chosen: Vec<Vec<u64>>) -> Vec<u8> {
    let choices = Choices::replayed(Sequence::from([(DISK, chosen)]));
    let mut run = Simulation::new(1);
    run.choose_disk(NODE, choices.stream(DISK));
    run.add(at(NODE.0), Hands);
    for (kind, fill, length, span) in requests {
        let body = vec![*fill; *length].into();
        run.inject(at(NODE.0), OwnedFrame { kind: *kind, token: Token(0), body, bulk: Bytes::new() });
        run.run_for(*span);
    }
    run.crash(NODE, Span::ZERO);
    run.disk_bytes(NODE).to_vec()
}

#[test]
fn a_replacement_under_way_leaves_all_of_the_one_or_all_of_the_other() {
    const SOON: Span = Span(1);
    const LATER: Span = Span::from_millis(2);
    let written = (DISK_WRITE, 1, 700, LATER);
    let under_way = [written, (DISK_REPLACE, 2, 30, SOON)];
    assert_eq!(left_of(&under_way, vec![vec![0]]), [2; 30]);
    assert_eq!(left_of(&under_way, vec![vec![1]]), [1; 700]);
    let durable = [written, (DISK_REPLACE, 2, 30, LATER)];
    assert_eq!(left_of(&durable, vec![vec![1]]), [2; 30], "nothing is left to be chosen");
    // What was appended before and not durable is torn where the replacement is undone, and is gone where it is not.
    let torn = [written, (DISK_APPEND, 3, 1_000, SOON), (DISK_REPLACE, 2, 30, SOON)];
    assert_eq!(left_of(&torn, vec![vec![1], vec![3]]), [1; 700]);
    assert_eq!(left_of(&torn, vec![vec![1], vec![0]]).len(), 1_700);
    assert_eq!(left_of(&torn, vec![vec![0]]), [2; 30]);
    // What is appended behind a replacement goes with it.
    let behind = [written, (DISK_REPLACE, 2, 30, LATER), (DISK_APPEND, 3, 10, SOON), (DISK_SYNC, 0, 0, SOON)];
    assert_eq!(left_of(&behind, vec![vec![0]]), [[2; 30].to_vec(), [3; 10].to_vec()].concat());
    assert_eq!(left_of(&behind, vec![vec![1]]), [2; 30]);
    let both = [written, (DISK_REPLACE, 2, 30, SOON), (DISK_REPLACE, 4, 40, SOON)];
    let lengths = [0, 1, 2].map(|undone| left_of(&both, vec![vec![undone]]).len());
    assert_eq!(lengths, [40, 30, 700]);
}
