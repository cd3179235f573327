//! A disk: one file that grows at its end, or is replaced as a whole, on a thread of its own.

use super::{Errand, Reply};
use crate::event::{Event, EventSink};
use bytes::Bytes;
use quintet_contract::{Address, OwnedFrame, Token};
use quintet_wire::registry::{
    DISK_APPEND, DISK_DATA, DISK_DONE, DISK_READ, DISK_REPLACE, DISK_SYNC, DISK_TRUNCATE, DISK_WRITE,
    SERVICE_REFUSED,
};
use quintet_wire::services::{DiskDone, DiskRead, DiskTruncate};
use quintet_wire::{Decode, encode_to_vec};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Requests worked off before who waits for one of them to be durable is answered.
const MOST_BEFORE_SYNC: usize = 1024;

/// How much room for what comes next a log has, at most and at least; between them as much as a quarter of the file.
const MOST_AHEAD: u64 = 1024 * 1024;
const LEAST_AHEAD: u64 = 64 * 1024;

/// How long after a full disk took nothing it is tried again.
const PAUSE: Duration = Duration::from_millis(500);

/// A file that grows at its end. Where there is no room for more it stands still, and goes on when there is: nothing is refused for that.
pub(super) struct Disk {
    path: PathBuf,
    file: File,
    length: u64,
    /// Where the zeros end that were written ahead of what comes next; none where none are.
    ahead: Option<u64>,
    /// Whether there was no room, and nothing was written since.
    is_full: bool,
    /// Whether a write or a sync has failed: what the system kept for the disk may be gone since, though a later sync says it is well.
    uncertain: bool,
}

/// The requests, in the order in which they came.
struct Queue<'a> {
    requests: &'a Receiver<Errand>,
    /// Those that came while there was no room.
    held_up: VecDeque<Errand>,
    events: &'a EventSink,
}

impl Queue<'_> {
    /// The next one; none if nobody is left to ask.
    fn next(&mut self) -> Option<Errand> {
        self.held_up.pop_front().or_else(|| self.requests.recv().ok())
    }

    fn next_at_once(&mut self) -> Option<Errand> {
        self.held_up.pop_front().or_else(|| self.requests.try_recv().ok())
    }

    /// Lets some time pass. Whether anybody is left to ask.
    fn pause(&mut self) -> bool {
        let until = Instant::now() + PAUSE;
        loop {
            match self.requests.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(errand) => self.held_up.push_back(errand),
                Err(RecvTimeoutError::Timeout) => return true,
                Err(RecvTimeoutError::Disconnected) => return false,
            }
        }
    }
}

/// Whether that says that there is no room: no more on the disk, for this user, or in this file.
fn is_full(why: &io::Error) -> bool {
    matches!(why.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
}

/// Who waits for what was asked for before to be durable.
type Waiting = Vec<(Address, Token)>;

impl Disk {
    pub(super) fn open(path: &Path) -> io::Result<Disk> {
        let mut options = File::options();
        let file = options.create(true).truncate(false).read(true).write(true).mode(0o600).open(path)?;
        let length = file.metadata()?.len();
        let ahead = None;
        Ok(Disk { path: path.to_owned(), file, length, ahead, is_full: false, uncertain: false })
    }

    /// One that has blocks ready for what comes next. A sync has then the bytes alone to write: neither a longer file nor new blocks of it to note in
    /// the file system's journal, which takes as long as the bytes. After a crash zeros lie behind what was written.
    pub(super) fn open_log(path: &Path) -> io::Result<Disk> {
        let disk = Disk::open(path)?;
        Ok(Disk { ahead: Some(disk.length), ..disk })
    }

    /// Works off requests until nobody is left to ask. What waits to be durable when others come shares one sync with them. That there is no
    /// room goes to `events`.
    pub(super) fn serve(mut self, requests: &Receiver<Errand>, reply: &Reply, events: &EventSink) {
        let mut queue = Queue { requests, held_up: VecDeque::new(), events };
        while let Some(first) = queue.next() {
            let mut waiting = Waiting::new();
            let mut next = Some(first);
            for _ in 0..MOST_BEFORE_SYNC {
                let Some((asker, request)) = next.or_else(|| queue.next_at_once()) else { break };
                next = None;
                if let Some(answer) = self.answer(asker, &request, &mut waiting, &mut queue) {
                    reply.send(asker, answer);
                }
            }
            if waiting.is_empty() {
                continue;
            }
            let failed = self.sync().is_err();
            for (asker, token) in waiting {
                reply.send(asker, self.done(token, failed));
            }
        }
        self.give_room_back();
    }

    /// The answer to a request; none if it waits to be durable.
    fn answer(
        &mut self,
        asker: Address,
        request: &OwnedFrame,
        waiting: &mut Waiting,
        queue: &mut Queue<'_>,
    ) -> Option<OwnedFrame> {
        let token = request.token;
        let refused = OwnedFrame { kind: SERVICE_REFUSED, token, body: Bytes::new(), bulk: Bytes::new() };
        match request.kind {
            DISK_APPEND => {
                let appended = self.append(request, queue);
                Some(self.done(token, appended.is_err()))
            }
            DISK_WRITE => {
                // Where that fails the sync does as well, and those before it are answered first.
                let _ = self.append(request, queue);
                waiting.push((asker, token));
                None
            }
            DISK_SYNC => {
                waiting.push((asker, token));
                None
            }
            DISK_REPLACE => {
                let replaced = self.where_there_is_room(queue, |disk| disk.replace(request));
                Some(self.done(token, replaced.is_err()))
            }
            DISK_READ => {
                let Ok(read) = DiskRead::decode_all(&request.body) else { return Some(refused) };
                let bytes = self.read(read);
                let done = self.done(token, bytes.is_err());
                Some(OwnedFrame { kind: DISK_DATA, bulk: bytes.unwrap_or_default(), ..done })
            }
            DISK_TRUNCATE => {
                let Ok(truncate) = DiskTruncate::decode_all(&request.body) else { return Some(refused) };
                let truncated = self.truncate(truncate.length);
                Some(self.done(token, truncated.is_err()))
            }
            _ => Some(refused),
        }
    }

    fn done(&self, token: Token, failed: bool) -> OwnedFrame {
        let body = encode_to_vec(&DiskDone { failed, length: self.length }).into();
        OwnedFrame { kind: DISK_DONE, token, body, bulk: Bytes::new() }
    }

    /// Where this fails there is nothing behind it either: what was asked for later would lie in its place.
    fn append(&mut self, request: &OwnedFrame, queue: &mut Queue<'_>) -> io::Result<()> {
        self.is_certain()?;
        self.make_room((request.body.len() + request.bulk.len()) as u64);
        let written = self.where_there_is_room(queue, |disk| disk.write(request));
        self.length += written.inspect_err(|_| self.uncertain = true)? as u64;
        Ok(())
    }

    /// Writes zeros behind the end where so many bytes need more than lie there.
    fn make_room(&mut self, bytes: u64) {
        let Some(ahead) = self.ahead else { return };
        let needed = self.length + bytes;
        if needed <= ahead {
            return;
        }
        let end = needed + (needed / 4).clamp(LEAST_AHEAD, MOST_AHEAD);
        // What is to be written now is not written twice.
        let zeros = vec![0; usize::try_from(end - needed).unwrap_or(0)];
        match self.file.write_all_at(&zeros, needed) {
            Ok(()) => self.ahead = Some(end),
            // Without it all goes on, at the pace of the journal. What there is of a full disk is for what was asked.
            Err(_) => self.cut_to_end(),
        }
    }

    /// Cuts off what was written ahead. Where that fails there are zeros, as after a crash.
    fn give_room_back(&mut self) {
        if self.ahead.is_some_and(|ahead| ahead > self.length) {
            self.cut_to_end();
        }
    }

    /// The same, however much was written.
    fn cut_to_end(&mut self) {
        let _ = self.file.set_len(self.length);
        self.ahead = self.ahead.map(|_| self.length);
    }

    /// Writes, and waits for room where there is none.
    fn where_there_is_room<T>(
        &mut self,
        queue: &mut Queue<'_>,
        write: impl Fn(&mut Disk) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut written = write(self);
        while let Err(why) = &written
            && is_full(why)
        {
            if !std::mem::replace(&mut self.is_full, true) {
                (queue.events)(&Event::DiskFull { path: self.path.clone(), why: why.to_string() });
            }
            if !queue.pause() {
                break;
            }
            written = write(self);
        }
        if written.is_ok() && std::mem::take(&mut self.is_full) {
            (queue.events)(&Event::DiskHasRoom { path: self.path.clone() });
        }
        written
    }

    /// Writes behind the end. How much that was. What was written of a request that failed is overwritten by the next one.
    fn write(&self, request: &OwnedFrame) -> io::Result<usize> {
        let bulk_at = self.length + request.body.len() as u64;
        self.file.write_all_at(&request.body, self.length)?;
        self.file.write_all_at(&request.bulk, bulk_at)?;
        Ok(request.body.len() + request.bulk.len())
    }

    fn read(&self, read: DiskRead) -> io::Result<Bytes> {
        let there = self.length.saturating_sub(read.at).min(read.len.into());
        let mut bytes = vec![0; usize::try_from(there).map_err(io::Error::other)?];
        self.file.read_exact_at(&mut bytes, read.at)?;
        Ok(bytes.into())
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        if length < self.length {
            self.file.set_len(length)?;
            self.length = length;
            self.ahead = self.ahead.map(|_| length);
        }
        Ok(())
    }

    /// A file beside this one is written and synced, takes its name, and that is synced in the folder.
    fn replace(&mut self, request: &OwnedFrame) -> io::Result<()> {
        self.is_certain()?;
        let mut beside = self.path.clone().into_os_string();
        beside.push(".new");
        let beside = PathBuf::from(beside);
        let written = self.write_beside(&beside, request).inspect_err(|_| {
            // It may be what fills the disk. What is left of it is overwritten by the next one.
            let _ = std::fs::remove_file(&beside);
        });
        let file = written?;
        std::fs::rename(&beside, &self.path)?;
        (self.file, self.length) = (file, (request.body.len() + request.bulk.len()) as u64);
        self.ahead = self.ahead.map(|_| self.length);
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = File::open(folder.unwrap_or(Path::new(".")));
        folder.and_then(|folder| folder.sync_all()).inspect_err(|_| self.uncertain = true)
    }

    fn write_beside(&self, path: &Path, request: &OwnedFrame) -> io::Result<File> {
        let mut options = File::options();
        options.create(true).truncate(true).read(true).write(true).mode(0o600);
        let mut file = options.open(path)?;
        file.set_permissions(self.file.metadata()?.permissions())?;
        file.write_all(&request.body)?;
        file.write_all(&request.bulk)?;
        file.sync_all()?;
        Ok(file)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.is_certain()?;
        self.file.sync_data().inspect_err(|_| self.uncertain = true)
    }

    fn is_certain(&self) -> io::Result<()> {
        match self.uncertain {
            true => Err(io::Error::other("an earlier write or sync failed")),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mailbox::Mailbox;
    use quintet_contract::{Kind, NodeId};
    use quintet_testbed::TempDir;
    use quintet_wire::registry::{PORT_DISK, PORT_USER};
    use std::os::unix::fs::PermissionsExt;
    use std::sync::mpsc::channel;
    use std::sync::{Arc, Mutex};

    const ASKER: Address = Address { node: NodeId(0), port: PORT_USER };

    fn request(kind: Kind, body: &'static [u8]) -> Errand {
        (ASKER, OwnedFrame { kind, token: Token(1), body: Bytes::from_static(body), bulk: Bytes::new() })
    }

    /// Has a disk work all of these off, and then nobody is left to ask. What it has told.
    fn serve(path: &Path, errands: impl IntoIterator<Item = Errand>) -> Vec<Event> {
        serve_with(Disk::open(path).expect("it is there"), errands)
    }

    fn serve_with(disk: Disk, errands: impl IntoIterator<Item = Errand>) -> Vec<Event> {
        let (sender, requests) = channel();
        errands.into_iter().for_each(|errand| sender.send(errand).expect("it is there"));
        drop(sender);
        let told = Arc::<Mutex<Vec<Event>>>::default();
        let sink = Arc::clone(&told);
        let events: EventSink = Arc::new(move |event| sink.lock().expect("no panic").push(event.clone()));
        let mailbox = Mailbox::new().expect("a descriptor");
        let reply = Reply { from: Address { node: NodeId(0), port: PORT_DISK }, mailbox };
        disk.serve(&requests, &reply, &events);
        drop(events);
        Arc::into_inner(told).expect("all have ended").into_inner().expect("no panic")
    }

    #[test]
    fn a_full_disk_stands_still_until_nobody_asks_any_more_and_is_told_of_once() {
        let told = serve(Path::new("/dev/full"), [request(DISK_APPEND, b"a"), request(DISK_APPEND, b"b")]);
        assert!(
            matches!(&told[..], [Event::DiskFull { why, .. }] if why.contains("No space left")),
            "{told:?}"
        );
    }

    #[test]
    fn a_new_file_is_for_its_user_only_and_grows_in_order() {
        let folder = TempDir::new().expect("a temporary directory");
        let path = folder.join("disk");
        let written = [request(DISK_APPEND, b"a"), request(DISK_WRITE, b"b"), request(DISK_APPEND, b"c")];
        assert_eq!(serve(&path, written), []);
        assert_eq!(std::fs::read(&path).expect("it is there"), b"abc");
        assert_eq!(path.metadata().expect("it is there").permissions().mode() & 0o777, 0o600);
    }

    /// What the disk answers at once: its length, or none if it failed.
    fn ask(disk: &mut Disk, kind: Kind, body: &'static [u8], bulk: &'static [u8]) -> Option<u64> {
        let request = OwnedFrame { kind, token: Token(1), body: body.into(), bulk: bulk.into() };
        let (requests, events) = (channel().1, Arc::new(|_: &Event| {}) as EventSink);
        let mut queue = Queue { requests: &requests, held_up: VecDeque::new(), events: &events };
        let answer = disk.answer(ASKER, &request, &mut Waiting::new(), &mut queue).expect("at once");
        let done = DiskDone::decode_all(&answer.body).expect("it is done, or failed");
        (!done.failed).then_some(done.length)
    }

    fn read(disk: &Disk) -> Vec<u8> {
        disk.read(DiskRead { at: 0, len: 100 }).expect("it can be read").to_vec()
    }

    #[test]
    fn a_log_has_zeros_ready_behind_its_end_while_it_is_open_and_none_after() {
        let folder = TempDir::new().expect("a temporary directory");
        let path = folder.join("log");
        let long = |path: &Path| std::fs::metadata(path).expect("it is there").len();
        let mut disk = Disk::open_log(&path).expect("it is made");
        assert_eq!(ask(&mut disk, DISK_APPEND, b"record", b""), Some(6));
        assert_eq!(long(&path), 6 + LEAST_AHEAD);
        assert_eq!(
            (ask(&mut disk, DISK_APPEND, b", another", b""), long(&path)),
            (Some(15), 6 + LEAST_AHEAD)
        );
        assert_eq!(read(&disk), b"record, another");
        let file = std::fs::read(&path).expect("it is there");
        assert!(file.starts_with(b"record, another\0") && file[15..].iter().all(|byte| *byte == 0));
        assert_eq!((ask(&mut disk, DISK_REPLACE, b"anew", b""), long(&path)), (Some(4), 4));
        assert_eq!((ask(&mut disk, DISK_APPEND, b"!", b""), long(&path)), (Some(5), 5 + LEAST_AHEAD));
        // Who finds zeros there after a crash has to know where its records end.
        assert_eq!(Disk::open_log(&path).expect("it is there").length, 5 + LEAST_AHEAD);
        assert_eq!(serve_with(disk, [request(DISK_WRITE, b"?")]), []);
        assert_eq!(std::fs::read(&path).expect("it is there"), b"anew!?");
    }

    #[test]
    fn room_that_is_used_up_is_made_again_and_a_full_disk_goes_without() {
        let folder = TempDir::new().expect("a temporary directory");
        let path = folder.join("log");
        let mut disk = Disk::open_log(&path).expect("it is made");
        static PIECE: [u8; 50_000] = [7; 50_000];
        let written = (0..21).map(|_| ask(&mut disk, DISK_APPEND, b"", &PIECE));
        assert_eq!(written.last(), Some(Some(1_050_000)));
        let mut file = std::fs::read(&path).expect("it is there");
        assert!(file.len() > 1_050_000 && file.iter().skip(1_050_000).all(|byte| *byte == 0));
        file.truncate(1_050_000);
        assert!(file.iter().all(|byte| *byte == 7));
        let mut full = Disk::open_log(Path::new("/dev/full")).expect("it is there");
        full.make_room(1);
        assert_eq!(full.ahead, Some(0));
    }

    #[test]
    fn a_replacement_takes_the_place_of_all_and_is_appended_to() {
        let folder = TempDir::new().expect("a temporary directory");
        let path = folder.join("log");
        let mut disk = Disk::open(&path).expect("it is made");
        assert_eq!(ask(&mut disk, DISK_APPEND, b"before", b""), Some(6));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("it is ours");
        assert_eq!(ask(&mut disk, DISK_REPLACE, b"a", b"new one"), Some(8));
        assert_eq!(ask(&mut disk, DISK_APPEND, b"", b", longer"), Some(16));
        assert_eq!((read(&disk), disk.sync().is_ok()), (b"anew one, longer".to_vec(), true));
        assert_eq!(std::fs::read(&path).expect("it is there"), b"anew one, longer");
        let mode = std::fs::metadata(&path).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "as it was");
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1, "nothing is left over");
        assert_eq!(read(&Disk::open(&path).expect("it is there")), b"anew one, longer");
    }

    #[test]
    fn a_replacement_that_fails_leaves_what_was_there() {
        let folder = TempDir::new().expect("a temporary directory");
        let path = folder.join("log");
        let mut disk = Disk::open(&path).expect("it is made");
        assert_eq!(ask(&mut disk, DISK_APPEND, b"before", b""), Some(6));
        std::fs::create_dir(folder.join("log.new")).expect("a folder stands in the way");
        assert_eq!(ask(&mut disk, DISK_REPLACE, b"after", b""), None);
        assert_eq!(ask(&mut disk, DISK_APPEND, b" and after", b""), Some(16));
        assert_eq!((read(&disk), disk.sync().is_ok()), (b"before and after".to_vec(), true));
        std::fs::remove_dir(folder.join("log.new")).expect("it is empty");
        assert_eq!(ask(&mut disk, DISK_REPLACE, b"after", b""), Some(5));
    }

    #[test]
    fn behind_a_write_that_failed_nothing_is_written() {
        let folder = TempDir::new().expect("a temporary directory");
        let path = folder.join("log");
        let mut disk = Disk::open(&path).expect("it is made");
        assert_eq!(ask(&mut disk, DISK_APPEND, b"before", b""), Some(6));
        let writable = std::mem::replace(&mut disk.file, File::open(&path).expect("it is there"));
        assert_eq!(ask(&mut disk, DISK_APPEND, b"failed", b""), None);
        disk.file = writable;
        assert_eq!(ask(&mut disk, DISK_APPEND, b"behind", b""), None);
        assert_eq!(std::fs::read(&path).expect("it is there"), b"before");
    }

    #[test]
    fn after_a_failed_sync_nothing_is_replaced_either() {
        let folder = TempDir::new().expect("a temporary directory");
        let mut disk = Disk::open(&folder.join("log")).expect("it is made");
        disk.uncertain = true;
        assert_eq!(ask(&mut disk, DISK_REPLACE, b"after", b""), None);
        assert!(disk.sync().is_err());
    }
}
