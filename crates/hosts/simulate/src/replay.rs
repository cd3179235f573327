//! A live run again, byte for byte.
//!
//! Each recorded input is given to a fresh instance at its recorded time; each call the instance makes to its outbox must
//! be the recorded one, and gets the recorded answer. The first difference ends the replay and is reported whole.

use crate::comparing::ComparingOutbox;
use crate::recording::Recording;
use crate::verdict::{Difference, ReplayError, Replayed};
use bytes::Bytes;
use quintet_contract::{Address, Frame, Input, Protocol, Time};
use quintet_wire::Decode;
use quintet_wire::journal::{BulkId, Call, Entry, Message, REMEMBERED_BULKS, RecordedInput};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::Read;

/// Makes a protocol from its name, address and recorded configuration, or says why it cannot.
pub type Factory<'a, E> = &'a dyn Fn(&str, Address, &[u8]) -> Result<Box<dyn Protocol>, E>;

/// Replays a recording.
///
/// # Errors
/// The file is unreadable, damaged, of another version or without a step; a protocol is unknown, or its configuration is; or the
/// run differs: [`ReplayError`].
pub fn replay<E: Display>(recording: impl Read, make: Factory<'_, E>) -> Result<Replayed, ReplayError> {
    let make: Factory<'_, String> =
        &|name, at, config| make(name, at, config).map_err(|error| error.to_string());
    let mut recording = Recording::open(recording)?;
    let mut player =
        Player { make, instances: BTreeMap::new(), bulks: BTreeMap::new(), done: Replayed::default() };
    player.done.cut_short = true;
    while let Some(entry) = recording.next()? {
        let offset = recording.offset;
        let damaged = |problem: String| ReplayError::Damaged { offset, problem };
        let entry = Entry::decode_all(&entry).map_err(|error| damaged(error.to_string()))?;
        if entry == Entry::End {
            recording.end()?;
            player.done.cut_short = false;
            break;
        }
        player.play(entry).map_err(|problem| problem.at(offset))?;
    }
    if player.done.steps == 0 {
        return Err(ReplayError::Empty);
    }
    Ok(player.done)
}

struct Player<'f> {
    make: Factory<'f, String>,
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
                let protocol = (self.make)(name, at, config).map_err(|problem| {
                    Problem::Final(ReplayError::UnknownProtocol { name: name.to_owned(), problem })
                })?;
                self.instances.insert(number, (at, protocol));
                self.done.instances.push((at, name.to_owned()));
            }
            Entry::Bulk(id, bytes) => {
                self.bulks.insert(id, Bytes::copy_from_slice(bytes));
                // Nothing names what was told so long before.
                let forgotten = id.0.saturating_sub(REMEMBERED_BULKS);
                while let Some(oldest) = self.bulks.first_entry().filter(|oldest| oldest.key().0 <= forgotten)
                {
                    oldest.remove();
                }
            }
            Entry::Step { number, now, input, calls } => self.step(number, now, input, calls)?,
            // Its reader saw it.
            Entry::End => {}
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
            RecordedInput::Frame(_, message, _) => bulk(&self.bulks, message.bulk)?,
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

fn input<'a>(recorded: &'a RecordedInput<'a>, bulk: &'a Bytes) -> Input<'a> {
    match *recorded {
        RecordedInput::Started => Input::Started,
        RecordedInput::Wake => Input::Wake,
        RecordedInput::Frame(from, Message { kind, token, body, .. }, ref stamps) => {
            Input::Frame(from, Frame { kind, token, body, bulk, stamps: stamps.as_ref() })
        }
        RecordedInput::Writable(to) => Input::Writable(to),
        RecordedInput::Peer(peer, ref change) => Input::Peer(peer, change),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_contract::Outbox;
    use quintet_wire::encode_to_vec;
    use quintet_wire::journal::{JOURNAL_MAGIC, JOURNAL_VERSION};

    struct Idle;

    impl Protocol for Idle {
        fn handle(&mut self, _now: Time, _input: Input<'_>, _out: &mut dyn Outbox) {}

        fn deadline(&self) -> Option<Time> {
            None
        }
    }

    fn make(name: &str, _: Address, _: &[u8]) -> Result<Box<dyn Protocol>, String> {
        if name == "idle" { Ok(Box::new(Idle)) } else { Err("it is busy".to_owned()) }
    }

    /// A recording of these entries, and where each of its records ends.
    fn recording(entries: &[Entry<'_>]) -> (Vec<u8>, Vec<usize>) {
        let mut file = [JOURNAL_MAGIC, JOURNAL_VERSION.to_le_bytes()].concat();
        let ends = entries.iter().map(|entry| {
            let entry = encode_to_vec(entry);
            let length = u32::try_from(entry.len()).expect("it is short");
            let sizes = [length.to_le_bytes(), crc32fast::hash(&entry).to_le_bytes()].concat();
            file.extend([&sizes[..], &crc32fast::hash(&sizes).to_le_bytes(), &entry].concat());
            file.len()
        });
        let ends = ends.collect();
        (file, ends)
    }

    /// An instance, two steps and the end.
    fn entries() -> [Entry<'static>; 4] {
        let instance = Entry::Instance { number: 0, at: Address::new(1, 16), name: "idle", config: b"" };
        let step = |input| Entry::Step { number: 0, now: Time(7), input, calls: Vec::new() };
        [instance, step(RecordedInput::Started), step(RecordedInput::Wake), Entry::End]
    }

    #[test]
    fn wherever_a_recording_is_cut_what_is_there_is_replayed_and_called_cut_short() {
        let (file, ends) = recording(&entries());
        for kept in 0..=file.len() {
            let steps = ends[1..3].iter().filter(|end| **end <= kept).count() as u64;
            match replay(&file[..kept], &make) {
                Ok(replayed) => {
                    assert!(steps > 0, "{kept}");
                    assert_eq!((replayed.steps, replayed.cut_short), (steps, kept < file.len()), "{kept}");
                }
                Err(ReplayError::Empty) => assert!(steps == 0 && kept >= 8, "{kept}"),
                Err(ReplayError::NotARecording { .. }) => assert!(kept < 8, "{kept}"),
                Err(error) => panic!("{kept}: {error}"),
            }
        }
    }

    #[test]
    fn no_bit_changes_unnoticed() {
        let (file, _) = recording(&entries());
        for bit in 0..8 * file.len() {
            let mut changed = file.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            match replay(&changed[..], &make) {
                Err(ReplayError::NotARecording { .. }) => assert!(bit < 64, "{bit}"),
                Err(ReplayError::Damaged { .. }) => assert!(bit >= 64, "{bit}"),
                other => panic!("{bit}: {other:?}"),
            }
        }
    }

    #[test]
    fn nothing_follows_the_end() {
        let (file, ends) = recording(&entries());
        for more in [&file[..], &[0]] {
            let error = replay(&[&file[..], more].concat()[..], &make).expect_err("it is damaged");
            assert!(matches!(error, ReplayError::Damaged { offset, .. } if offset == file.len() as u64));
            // Behind a cut, too.
            let cut = &file[..ends[2]];
            let more = &[more, &[0; 12]].concat();
            assert!(replay(&[cut, more].concat()[..], &make).is_err());
        }
    }

    #[test]
    fn a_protocol_that_is_not_made_is_named_with_the_reason() {
        let other = Entry::Instance { number: 0, at: Address::new(1, 16), name: "other", config: b"" };
        let error = replay(&recording(&[other]).0[..], &make).expect_err("it is not made");
        assert!(matches!(&error, ReplayError::UnknownProtocol { name, .. } if name == "other"));
        assert!(error.to_string().contains("it is busy"), "{error}");
    }

    #[test]
    fn a_recording_without_a_step_is_not_called_the_same() {
        let [instance, .., end] = entries();
        let (file, _) = recording(&[instance, end]);
        assert!(matches!(replay(&file[..], &make), Err(ReplayError::Empty)));
    }
}
