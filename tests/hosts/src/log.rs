//! A log on the host's disk: what it has acknowledged is there in its next life. Records that come while others become durable
//! are appended at once and share the next sync.

use crate::{ANSWER, ASK, REFUSED};
use quintet_contract::{Address, Frame, Input, Outbox, Protocol, SendError, Time, Token};
use quintet_wire::registry::{
    DISK_APPEND, DISK_DATA, DISK_DONE, DISK_READ, DISK_SYNC, DISK_TRUNCATE, PORT_DISK,
};
use quintet_wire::services::{DiskDone, DiskRead, DiskTruncate};
use quintet_wire::{Decode, send};

/// How much is read back at a time.
const PIECE_BYTES: u32 = 600;
/// In front of a record: its length, and a check of it.
const HEADER_BYTES: usize = 12;

/// Tokens of requests to the disk.
const READING: Token = Token(1);
const CUTTING: Token = Token(2);
const APPENDING: Token = Token(3);
const SYNCING: Token = Token(4);

/// The log at one address. An ASK keeps its body, if it has one, and is answered with the number of records that are durable.
pub struct Log {
    at: Address,
    phase: Phase,
    /// Records that are on the disk, durable or not.
    records: u64,
    /// Asked before the disk was read back.
    early: Vec<(Address, Token, Vec<u8>)>,
    /// Appended after the sync under way was begun.
    appended: Vec<(Address, Token)>,
    /// Wait for the sync under way, and are told of so many records.
    syncing: Vec<(Address, Token)>,
    told: u64,
}

enum Phase {
    /// With what was read so far.
    Reading(Vec<u8>),
    Cutting,
    Open,
    /// There is no disk, or it fails.
    Closed,
}

impl Log {
    /// The log at `at`, on the disk of its node.
    #[must_use]
    pub fn new(at: Address) -> Self {
        let (early, appended, syncing) = (Vec::new(), Vec::new(), Vec::new());
        Log { at, phase: Phase::Reading(Vec::new()), records: 0, early, appended, syncing, told: 0 }
    }

    fn disk(&self) -> Address {
        Address { node: self.at.node, port: PORT_DISK }
    }

    fn read_on(&mut self, out: &mut dyn Outbox) -> Result<(), SendError> {
        let Phase::Reading(bytes) = &self.phase else { return Ok(()) };
        let read = DiskRead { at: bytes.len() as u64, len: PIECE_BYTES };
        send(out, self.disk(), DISK_READ, READING, &read)
    }

    /// A piece came. The last one is shorter; then what is torn at the end is cut off.
    fn take(&mut self, frame: Frame<'_>, out: &mut dyn Outbox) -> Result<(), SendError> {
        let Phase::Reading(bytes) = &mut self.phase else { return Ok(()) };
        bytes.extend_from_slice(frame.bulk);
        if frame.bulk.len() == PIECE_BYTES as usize {
            return self.read_on(out);
        }
        let (records, length) = whole(bytes);
        self.records = records;
        self.phase = Phase::Cutting;
        send(out, self.disk(), DISK_TRUNCATE, CUTTING, &DiskTruncate { length })
    }

    fn open(&mut self, out: &mut dyn Outbox) -> Result<(), SendError> {
        self.phase = Phase::Open;
        let early = std::mem::take(&mut self.early);
        early.into_iter().try_for_each(|(from, token, body)| self.keep(from, token, &body, out))
    }

    fn keep(
        &mut self,
        from: Address,
        token: Token,
        body: &[u8],
        out: &mut dyn Outbox,
    ) -> Result<(), SendError> {
        match self.phase {
            Phase::Closed => return out.send(from, REFUSED, token, &[]),
            Phase::Reading(_) | Phase::Cutting => {
                self.early.push((from, token, body.to_vec()));
                return Ok(());
            }
            Phase::Open => {}
        }
        if !body.is_empty() {
            out.send(self.disk(), DISK_APPEND, APPENDING, &record(body))?;
            self.records += 1;
        }
        self.appended.push((from, token));
        self.sync(out)
    }

    /// Begins a sync, if none is under way and somebody waits.
    fn sync(&mut self, out: &mut dyn Outbox) -> Result<(), SendError> {
        if !self.syncing.is_empty() || self.appended.is_empty() {
            return Ok(());
        }
        self.syncing = std::mem::take(&mut self.appended);
        self.told = self.records;
        out.send(self.disk(), DISK_SYNC, SYNCING, &[])
    }

    fn done(&mut self, frame: Frame<'_>, out: &mut dyn Outbox) -> Result<(), SendError> {
        if DiskDone::decode_all(frame.body).is_ok_and(|done| done.failed) {
            return self.close(out);
        }
        match frame.token {
            CUTTING => self.open(out),
            SYNCING => {
                for (from, token) in std::mem::take(&mut self.syncing) {
                    out.send(from, ANSWER, token, &self.told.to_le_bytes())?;
                }
                self.sync(out)
            }
            _ => Ok(()),
        }
    }

    /// Refuses who waits, and everything from now on.
    fn close(&mut self, out: &mut dyn Outbox) -> Result<(), SendError> {
        self.phase = Phase::Closed;
        let early = std::mem::take(&mut self.early).into_iter().map(|(from, token, _)| (from, token));
        let waiting = early.chain(self.syncing.drain(..)).chain(self.appended.drain(..));
        waiting
            .collect::<Vec<_>>()
            .into_iter()
            .try_for_each(|(from, token)| out.send(from, REFUSED, token, &[]))
    }

    fn step(&mut self, input: Input<'_>, out: &mut dyn Outbox) -> Result<(), SendError> {
        match input {
            Input::Started if self.read_on(out).is_err() => self.close(out),
            Input::Frame(from, frame) => match frame.kind {
                ASK => self.keep(from, frame.token, frame.body, out),
                DISK_DATA => self.take(frame, out),
                DISK_DONE => self.done(frame, out),
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

fn record(body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).expect("a body is short").to_le_bytes();
    [&length, &check(body).to_le_bytes()[..], body].concat()
}

/// FNV-1a, begun with something else than 0 so that zeros are no record.
fn check(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// How many whole records there are before the first that is none, and where that begins.
fn whole(bytes: &[u8]) -> (u64, u64) {
    let (mut records, mut at) = (0, 0);
    while let Some((header, rest)) = bytes[at..].split_first_chunk::<HEADER_BYTES>() {
        let (length, sum) = header.split_at(4);
        let length = u32::from_le_bytes(length.try_into().expect("four bytes")) as usize;
        let sum = u64::from_le_bytes(sum.try_into().expect("eight bytes"));
        let Some(body) = rest.get(..length).filter(|body| !body.is_empty() && check(body) == sum) else {
            break;
        };
        (records, at) = (records + 1, at + HEADER_BYTES + body.len());
    }
    (records, at as u64)
}

impl Protocol for Log {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        self.step(input, out).expect("a disk that was there stays, and callers have room");
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}
