//! A live run again, byte for byte.
//!
//! Each recorded input is given to a fresh instance at its recorded time; each call the instance makes to its outbox must
//! be the recorded one, and gets the recorded answer. The first difference ends the replay and is reported whole.

use bytes::Bytes;
use quintet_contract::{Address, Frame, Input, Kind, Outbox, PeerChange, Protocol, SendError, Time, Token};
use quintet_wire::journal::{
    BulkId, Call, Entry, JOURNAL_MAGIC, JOURNAL_VERSION, MAX_ENTRY_BYTES, Message, RecordedInput,
};
use quintet_wire::{Decode, DecodeError};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::io::{self, Read};

/// What a replay that found no difference went through.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Replayed {
    /// Instances, by address and protocol name.
    pub instances: Vec<(Address, String)>,
    /// Inputs given.
    pub steps: u64,
    /// Frames compared.
    pub frames: u64,
    /// Bytes of body and bulk data compared.
    pub bytes: u64,
    /// The time of the last input.
    pub last: Time,
    /// Whether the file ends inside a record: its process was killed.
    pub cut_short: bool,
}

/// The first step in which the replay went another way than the recording.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// Counted from 0.
    pub step: u64,
    /// The time of the step.
    pub now: Time,
    /// The instance.
    pub at: Address,
    /// The input, in words.
    pub input: String,
    /// What was recorded, in words.
    pub recorded: String,
    /// What the replay did, in words.
    pub replayed: String,
}

/// Why a replay ended early.
#[derive(Debug)]
pub enum ReplayError {
    /// The file could not be read.
    Io(io::Error),
    /// The file is not a recording, or one of another version.
    NotARecording {
        /// The first eight bytes found.
        found: Vec<u8>,
    },
    /// A record is damaged.
    Damaged {
        /// Its place in the file, in bytes.
        offset: u64,
        /// What is wrong.
        problem: String,
    },
    /// The recording needs a protocol this program does not have, or refuses the configuration of.
    UnknownProtocol {
        /// Its name.
        name: String,
    },
    /// The replay went another way.
    Different(Box<Difference>),
}

/// Makes a protocol from its name, address and recorded configuration.
pub type Factory<'a> = &'a dyn Fn(&str, Address, &[u8]) -> Option<Box<dyn Protocol>>;

/// Replays a recording.
///
/// # Errors
/// The file is unreadable, damaged or of another version; a protocol is unknown; or the run differs: [`ReplayError`].
pub fn replay(recording: impl Read, make: Factory<'_>) -> Result<Replayed, ReplayError> {
    let mut records = Records::open(recording)?;
    let mut player =
        Player { make, instances: BTreeMap::new(), bulks: BTreeMap::new(), done: Replayed::default() };
    while let Some(entry) = records.next()? {
        let offset = records.offset;
        let damaged = |problem: String| ReplayError::Damaged { offset, problem };
        let entry = Entry::decode_all(&entry).map_err(|e: DecodeError| damaged(e.to_string()))?;
        player.play(entry).map_err(|problem| problem.at(offset))?;
    }
    player.done.cut_short = records.cut_short;
    Ok(player.done)
}

struct Records<R> {
    file: R,
    offset: u64,
    next_offset: u64,
    cut_short: bool,
}

impl<R: Read> Records<R> {
    fn open(mut file: R) -> Result<Self, ReplayError> {
        let mut head = Vec::new();
        file.by_ref().take(8).read_to_end(&mut head).map_err(ReplayError::Io)?;
        if head != [JOURNAL_MAGIC, JOURNAL_VERSION.to_le_bytes()].concat() {
            return Err(ReplayError::NotARecording { found: head });
        }
        Ok(Records { file, offset: 8, next_offset: 8, cut_short: false })
    }

    fn next(&mut self) -> Result<Option<Vec<u8>>, ReplayError> {
        self.offset = self.next_offset;
        let prefix = self.read(8)?;
        if prefix.len() < 8 {
            self.cut_short = !prefix.is_empty();
            return Ok(None);
        }
        let word = |i: usize| u32::from_le_bytes([prefix[i], prefix[i + 1], prefix[i + 2], prefix[i + 3]]);
        let (length, check) = (word(0) as usize, word(4));
        if length > MAX_ENTRY_BYTES {
            return Err(self.damaged(format!("a length of {length} bytes")));
        }
        let entry = self.read(length)?;
        if entry.len() < length {
            self.cut_short = true;
            return Ok(None);
        }
        if crc32fast::hash(&entry) != check {
            return Err(self.damaged("the checksum does not fit".to_owned()));
        }
        self.next_offset += 8 + length as u64;
        Ok(Some(entry))
    }

    /// Up to `length` bytes; room grows as they are really there.
    fn read(&mut self, length: usize) -> Result<Vec<u8>, ReplayError> {
        let mut bytes = Vec::new();
        self.file.by_ref().take(length as u64).read_to_end(&mut bytes).map_err(ReplayError::Io)?;
        Ok(bytes)
    }

    fn damaged(&self, problem: String) -> ReplayError {
        ReplayError::Damaged { offset: self.offset, problem }
    }
}

struct Player<'f> {
    make: Factory<'f>,
    instances: BTreeMap<u16, (Address, Box<dyn Protocol>)>,
    bulks: BTreeMap<BulkId, Bytes>,
    done: Replayed,
}

/// A problem that does not know its place in the file yet.
enum Problem {
    Damaged(String),
    Final(ReplayError),
}

impl Problem {
    fn at(self, offset: u64) -> ReplayError {
        match self {
            Problem::Damaged(problem) => ReplayError::Damaged { offset, problem },
            Problem::Final(error) => error,
        }
    }
}

impl Player<'_> {
    fn play(&mut self, entry: Entry<'_>) -> Result<(), Problem> {
        match entry {
            Entry::Instance { number, at, name, config } => {
                let unknown = || Problem::Final(ReplayError::UnknownProtocol { name: name.to_owned() });
                let protocol = (self.make)(name, at, config).ok_or_else(unknown)?;
                self.instances.insert(number, (at, protocol));
                self.done.instances.push((at, name.to_owned()));
            }
            Entry::Bulk(id, bytes) => {
                self.bulks.insert(id, Bytes::copy_from_slice(bytes));
            }
            Entry::Step { number, now, input, calls } => self.step(number, now, input, calls)?,
        }
        Ok(())
    }

    fn step(
        &mut self,
        number: u16,
        now: Time,
        recorded: RecordedInput<'_>,
        calls: Vec<Call<'_>>,
    ) -> Result<(), Problem> {
        let bulk = match recorded {
            RecordedInput::Frame(_, message) => bulk(&self.bulks, message.bulk)?,
            _ => Bytes::new(),
        };
        let (at, protocol) = self.instances.get_mut(&number).ok_or_else(|| {
            Problem::Damaged(format!("instance {number} was not told before its first step"))
        })?;
        let mut out = ComparingOutbox::new(&self.bulks, calls);
        protocol.handle(now, input(&recorded, &bulk), &mut out);
        if let Some((recorded_call, replayed)) = out.finish() {
            let input = format!("{recorded:?}");
            let (step, at) = (self.done.steps, *at);
            let difference = Difference { step, now, at, input, recorded: recorded_call, replayed };
            return Err(Problem::Final(ReplayError::Different(Box::new(difference))));
        }
        self.done.steps += 1;
        self.done.frames += out.frames;
        self.done.bytes += out.bytes;
        self.done.last = now;
        Ok(())
    }
}

fn bulk(bulks: &BTreeMap<BulkId, Bytes>, id: BulkId) -> Result<Bytes, Problem> {
    if id == BulkId::default() {
        return Ok(Bytes::new());
    }
    bulks
        .get(&id)
        .cloned()
        .ok_or_else(|| Problem::Damaged(format!("bulk {} was not told before its use", id.0)))
}

fn input<'a>(recorded: &RecordedInput<'a>, bulk: &'a Bytes) -> Input<'a> {
    match *recorded {
        RecordedInput::Started => Input::Started,
        RecordedInput::Wake => Input::Wake,
        RecordedInput::Frame(from, Message { kind, token, body, .. }) => {
            Input::Frame(from, Frame { kind, token, body, bulk })
        }
        RecordedInput::Writable(to) => Input::Writable(to),
        RecordedInput::Up(peer, incarnation, max_bulk) => {
            let max_bulk_bytes = usize::try_from(max_bulk).unwrap_or(usize::MAX);
            Input::Peer(peer, PeerChange::Up { incarnation, max_bulk_bytes })
        }
        RecordedInput::Down(peer, cause) => Input::Peer(peer, PeerChange::Down(cause)),
    }
}

/// Compares each call with the recorded one and gives the recorded answer.
struct ComparingOutbox<'a> {
    bulks: &'a BTreeMap<BulkId, Bytes>,
    expected: VecDeque<Call<'a>>,
    begun: Option<(Address, Kind, Token, Vec<u8>)>,
    difference: Option<(String, String)>,
    frames: u64,
    bytes: u64,
}

impl<'a> ComparingOutbox<'a> {
    fn new(bulks: &'a BTreeMap<BulkId, Bytes>, calls: Vec<Call<'a>>) -> Self {
        ComparingOutbox { bulks, expected: calls.into(), begun: None, difference: None, frames: 0, bytes: 0 }
    }

    /// The first difference, if there is one.
    fn finish(&mut self) -> Option<(String, String)> {
        if self.difference.is_none() {
            self.difference =
                self.expected.pop_front().map(|call| (format!("{call:?}"), "nothing more".to_owned()));
        }
        self.difference.take()
    }

    /// The refusal that was recorded for this frame, if it was refused.
    fn refusal(&mut self, to: Address, kind: Kind, token: Token) -> Option<SendError> {
        match self.expected.front() {
            Some(Call::Refused(a, k, t, error)) if (*a, *k, *t) == (to, kind, token) => {
                let error = *error;
                self.expected.pop_front();
                Some(error)
            }
            _ => None,
        }
    }

    fn sent(&mut self, to: Address, kind: Kind, token: Token, body: &[u8], bulk: &Bytes) {
        if self.difference.is_some() {
            return;
        }
        let recorded = self.expected.pop_front();
        let same = matches!(&recorded, Some(Call::Sent(a, m)) if *a == to
            && (m.kind, m.token, m.body) == (kind, token, body)
            && self.bulks.get(&m.bulk).map_or(bulk.is_empty(), |recorded| recorded == bulk));
        if same {
            self.frames += 1;
            self.bytes += (body.len() + bulk.len()) as u64;
        } else {
            let replayed = format!(
                "{to} kind {} token {} body {body:02x?} and {} bytes of bulk",
                kind.0,
                token.0,
                bulk.len()
            );
            let recorded = recorded.map_or("nothing more".to_owned(), |call| format!("{call:02x?}"));
            self.difference = Some((recorded, replayed));
        }
    }
}

impl Outbox for ComparingOutbox<'_> {
    fn begin(&mut self, to: Address, kind: Kind, token: Token, len: usize) -> Result<&mut [u8], SendError> {
        if let Some(error) = self.refusal(to, kind, token) {
            return Err(error);
        }
        Ok(&mut self.begun.insert((to, kind, token, vec![0; len])).3)
    }

    fn commit(&mut self) {
        let (to, kind, token, body) = self.begun.take().expect("commit follows begin");
        self.sent(to, kind, token, &body, &Bytes::new());
    }

    fn send_bulk(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        head: &[u8],
        bulk: Bytes,
    ) -> Result<(), SendError> {
        if let Some(error) = self.refusal(to, kind, token) {
            return Err(error);
        }
        self.sent(to, kind, token, head, &bulk);
        Ok(())
    }

    fn observe(&mut self, words: &mut [u64]) {
        match self.expected.pop_front() {
            Some(Call::Observed(recorded)) if recorded.len() == words.len() => {
                words.copy_from_slice(&recorded)
            }
            other if self.difference.is_none() => {
                self.difference = Some((format!("{other:?}"), "a cell was read".to_owned()));
            }
            _ => {}
        }
    }
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReplayError::Io(error) => write!(f, "the recording cannot be read: {error}"),
            ReplayError::NotARecording { found } => write!(
                f,
                "not a recording of this version: it begins with {found:02x?} instead of QREC and version {JOURNAL_VERSION}"
            ),
            ReplayError::Damaged { offset, problem } => {
                write!(f, "the recording is damaged at byte {offset}: {problem}")
            }
            ReplayError::UnknownProtocol { name } => {
                write!(
                    f,
                    "the recording needs the protocol {name:?} with a configuration this program does not know"
                )
            }
            ReplayError::Different(d) => write!(
                f,
                "the replay differs at step {} ({}, instance {}):\n  input    {}\n  recorded {}\n  replayed {}",
                d.step, d.now, d.at, d.input, d.recorded, d.replayed
            ),
        }
    }
}

impl std::error::Error for ReplayError {}
