//! A live run again, byte for byte.
//!
//! Each recorded input is given to a fresh instance at its recorded time; each call the instance makes to its outbox must
//! be the recorded one, and gets the recorded answer. The first difference ends the replay and is reported whole.

use crate::comparing::ComparingOutbox;
use crate::recording::Recording;
use crate::verdict::{Difference, ReplayError, Replayed};
use bytes::Bytes;
use quintet_contract::{Address, Frame, Input, PeerChange, Protocol, Time};
use quintet_wire::Decode;
use quintet_wire::journal::{BulkId, Call, Entry, Message, RecordedInput};
use std::collections::BTreeMap;
use std::io::Read;

/// Makes a protocol from its name, address and recorded configuration.
pub type Factory<'a> = &'a dyn Fn(&str, Address, &[u8]) -> Option<Box<dyn Protocol>>;

/// Replays a recording.
///
/// # Errors
/// The file is unreadable, damaged or of another version; a protocol is unknown; or the run differs: [`ReplayError`].
pub fn replay(recording: impl Read, make: Factory<'_>) -> Result<Replayed, ReplayError> {
    let mut recording = Recording::open(recording)?;
    let mut player =
        Player { make, instances: BTreeMap::new(), bulks: BTreeMap::new(), done: Replayed::default() };
    while let Some(entry) = recording.next()? {
        let offset = recording.offset;
        let damaged = |problem: String| ReplayError::Damaged { offset, problem };
        let entry = Entry::decode_all(&entry).map_err(|error| damaged(error.to_string()))?;
        player.play(entry).map_err(|problem| problem.at(offset))?;
    }
    player.done.cut_short = recording.cut_short;
    Ok(player.done)
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
