//! The flight recorder: writes what every protocol of this process was given and did.
//!
//! A thread of its own writes the file, out of a buffer of 64 MiB: the host goes on while a disk stands still. If the buffer is full,
//! the host waits two seconds for room; then the recording ends with an error, and the host goes on without it.
//!
//! The file's layout stands in `quintet_wire::journal`; `quintet_simulate::replay` reads it.

mod writer;

use crate::watching::{OwnedCall, WatchingOutbox};
use bytes::Bytes;
use quintet_contract::{Address, Frame, Input, Outbox, OwnedFrame, Protocol, Time};
use quintet_wire::encode_to_vec;
use quintet_wire::journal::{
    BulkId, Call, Entry, HEAD_BYTES, JOURNAL_MAGIC, JOURNAL_VERSION, Message, REMEMBERED_BULKS, RecordedInput,
};
use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use writer::{Limits, Writer, copy};

/// Records into one file. Clones write to the same file.
#[derive(Clone)]
pub struct Recorder(Arc<Mutex<Journal>>);

struct Journal {
    file: Writer,
    bulks: KnownBulks,
    instances: u16,
    /// The first failure. Nothing is written after it, as a recording with a gap is none.
    failed: Option<io::Error>,
    /// Whether the recording was ended. Nothing is written after that.
    ended: bool,
}

/// Records one instance.
pub(crate) struct InstanceRecorder {
    journal: Recorder,
    number: u16,
}

impl Recorder {
    /// Begins a recording, replacing the file if there is one.
    ///
    /// # Errors
    /// The file cannot be created; the system refuses a thread.
    pub fn create(path: &Path) -> io::Result<Recorder> {
        Recorder::to_writer(File::create(path)?)
    }

    /// Begins a recording that is written to `to`, in pieces of some size and in a thread of its own.
    ///
    /// # Errors
    /// The system refuses a thread.
    pub fn to_writer(to: impl Write + Send + 'static) -> io::Result<Recorder> {
        let file = Writer::start(to, Limits::default())?;
        file.put([&JOURNAL_MAGIC, &JOURNAL_VERSION.to_le_bytes()])?;
        let bulks = KnownBulks::default();
        let journal = Journal { file, bulks, instances: 0, failed: None, ended: false };
        Ok(Recorder(Arc::new(Mutex::new(journal))))
    }

    /// Tells the file about an instance. `config` is what `name`'s constructor needs to make it again.
    pub(crate) fn instance(&self, at: Address, name: &str, config: &[u8]) -> InstanceRecorder {
        self.with(|journal| {
            let number = journal.instances;
            journal.instances += 1;
            journal.write(&Entry::Instance { number, at, name, config });
            InstanceRecorder { journal: self.clone(), number }
        })
    }

    /// Ends the recording: what happens from now on is not in it. Waits until all is written. A recorder that met an error stopped
    /// there and let the run go on.
    ///
    /// # Errors
    /// The first error since the recording began: a full disk, for example, or one that took nothing for too long.
    pub fn finish(&self) -> io::Result<()> {
        let file = self.with(|journal| {
            journal.write(&Entry::End);
            journal.ended = true;
            journal.failed.as_ref().map_or(Ok(journal.file.clone()), |error| Err(copy(error)))
        })?;
        // Outside the lock: what is not recorded any more need not wait for it.
        file.finish().inspect_err(|error| self.with(|journal| journal.failed = Some(copy(error))))
    }

    fn with<T>(&self, use_it: impl FnOnce(&mut Journal) -> T) -> T {
        // A panic elsewhere leaves whole records behind: the lock may be used on.
        use_it(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Journal {
    fn write(&mut self, entry: &Entry<'_>) {
        if self.failed.is_none() && !self.ended {
            self.failed = self.try_write(entry).err();
        }
    }

    fn try_write(&mut self, entry: &Entry<'_>) -> io::Result<()> {
        let entry = encode_to_vec(entry);
        let length = u32::try_from(entry.len()).map_err(|_| io::Error::other("an entry above 4 GiB"))?;
        let mut head = [0; HEAD_BYTES];
        head[..4].copy_from_slice(&length.to_le_bytes());
        head[4..8].copy_from_slice(&crc32fast::hash(&entry).to_le_bytes());
        let check = crc32fast::hash(&head[..8]);
        head[8..].copy_from_slice(&check.to_le_bytes());
        self.file.put([&head, &entry])
    }

    /// The number of this bulk data; writes the data when it is new.
    fn bulk(&mut self, bulk: &Bytes) -> BulkId {
        if bulk.is_empty() {
            return BulkId::default();
        }
        let (id, is_new) = self.bulks.number(content(bulk));
        if is_new {
            self.write(&Entry::Bulk(id, bulk));
        }
        id
    }
}

impl Drop for Journal {
    /// A recording that nobody finished is written as far as it goes.
    fn drop(&mut self) {
        if self.ended || self.failed.is_some() {
            self.file.close();
        } else {
            // Nobody is left who would be told.
            let _ = self.file.finish();
        }
    }
}

/// The numbers of the bulk data that the file told of last.
#[derive(Default)]
struct KnownBulks {
    by_content: HashMap<[u64; 2], BulkId>,
    /// The oldest first.
    order: VecDeque<[u64; 2]>,
    last: BulkId,
}

impl KnownBulks {
    /// The number of bulk data, and whether it has none so far.
    fn number(&mut self, content: [u64; 2]) -> (BulkId, bool) {
        if let Some(known) = self.by_content.get(&content) {
            return (*known, false);
        }
        if self.order.len() == REMEMBERED_BULKS as usize
            && let Some(oldest) = self.order.pop_front()
        {
            self.by_content.remove(&oldest);
        }
        self.last.0 = self.last.0.checked_add(1).expect("fewer than 2^32 bulks in a run");
        self.by_content.insert(content, self.last);
        self.order.push_back(content);
        (self.last, true)
    }
}

/// 128 bits that stand for the content.
fn content(bytes: &[u8]) -> [u64; 2] {
    [1, 2].map(|key| {
        let mut hasher = DefaultHasher::new();
        hasher.write_u8(key);
        hasher.write(bytes);
        hasher.finish()
    })
}

impl InstanceRecorder {
    /// Lets `protocol` handle the input and records both.
    pub(crate) fn handle(
        &self,
        protocol: &mut dyn Protocol,
        now: Time,
        input: Input<'_>,
        out: &mut dyn Outbox,
    ) {
        let mut watching = WatchingOutbox::new(out);
        protocol.handle(now, input, &mut watching);
        let calls = watching.calls();
        self.journal.with(|journal| {
            let input = recorded(input, journal);
            let calls = calls.iter().map(|call| call.recorded(journal)).collect();
            journal.write(&Entry::Step { number: self.number, now, input, calls });
        });
    }
}

fn recorded<'a>(input: Input<'a>, journal: &mut Journal) -> RecordedInput<'a> {
    match input {
        Input::Started => RecordedInput::Started,
        Input::Wake => RecordedInput::Wake,
        Input::Frame(from, Frame { kind, token, body, bulk, stamps }) => RecordedInput::Frame(
            from,
            Message { kind, token, body, bulk: journal.bulk(bulk) },
            stamps.copied(),
        ),
        Input::Writable(to) => RecordedInput::Writable(to),
        Input::Peer(peer, change) => RecordedInput::Peer(peer, *change),
    }
}

impl OwnedCall {
    fn recorded(&self, journal: &mut Journal) -> Call<'_> {
        match self {
            OwnedCall::Sent(to, OwnedFrame { kind, token, body, bulk }) => {
                Call::Sent(*to, Message { kind: *kind, token: *token, body, bulk: journal.bulk(bulk) })
            }
            OwnedCall::Refused { to, kind, token, error } => Call::Refused(*to, *kind, *token, *error),
            OwnedCall::Poked(words) => Call::Poked(*words),
            OwnedCall::Peeked(words) => Call::Peeked(*words),
            OwnedCall::Disconnected(peer, how) => Call::Disconnected(*peer, *how),
            OwnedCall::Stamped => Call::Stamped,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_testbed::TempDir;

    #[test]
    fn bulk_is_remembered_for_a_while_and_told_again_after_it() {
        let mut bulks = KnownBulks::default();
        assert_eq!(bulks.number([0, 0]), (BulkId(1), true));
        for other in 1..u64::from(REMEMBERED_BULKS) {
            assert!(bulks.number([0, other]).1);
            assert_eq!(bulks.number([0, 0]), (BulkId(1), false));
        }
        assert_eq!(bulks.number([1, 1]), (BulkId(REMEMBERED_BULKS + 1), true));
        assert_eq!(bulks.number([0, 0]), (BulkId(REMEMBERED_BULKS + 2), true));
        for other in 0..10 * u64::from(REMEMBERED_BULKS) {
            bulks.number([2, other]);
            assert!(bulks.by_content.len() <= REMEMBERED_BULKS as usize);
        }
    }

    #[test]
    fn nothing_is_written_after_an_error_however_often_it_is_told() {
        let folder = TempDir::new().expect("a temporary directory");
        let path = folder.join("job.qrec");
        let recorder = Recorder::create(&path).expect("the folder is there");
        let begun = std::fs::read(&path).expect("it is there");
        recorder.with(|journal| journal.failed = Some(io::Error::other("the disk was full")));
        for _ in 0..2 {
            recorder.instance(Address::new(1, 16), "space", b"");
            assert_eq!(recorder.finish().expect_err("it failed").to_string(), "the disk was full");
            assert_eq!(std::fs::read(&path).expect("it is there"), begun);
        }
    }
}
