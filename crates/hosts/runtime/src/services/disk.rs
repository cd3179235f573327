//! A disk: one file that grows at its end, on a thread of its own.

use super::{Errand, Reply};
use bytes::Bytes;
use quintet_contract::{Address, OwnedFrame, Token};
use quintet_wire::registry::{
    DISK_APPEND, DISK_DATA, DISK_DONE, DISK_READ, DISK_SYNC, DISK_TRUNCATE, DISK_WRITE, SERVICE_REFUSED,
};
use quintet_wire::services::{DiskDone, DiskRead, DiskTruncate};
use quintet_wire::{Decode, encode_to_vec};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::mpsc;

/// Requests worked off before who waits for one of them to be durable is answered.
const MOST_BEFORE_SYNC: usize = 1024;

/// A file that grows at its end.
pub(super) struct Disk {
    file: File,
    length: u64,
    /// Whether a sync has failed: what the system kept for the disk may be gone since, though a later sync says it is well.
    uncertain: bool,
}

/// Who waits for what was asked for before to be durable.
type Waiting = Vec<(Address, Token)>;

impl Disk {
    pub(super) fn open(path: &Path) -> io::Result<Disk> {
        let file = File::options().create(true).truncate(false).read(true).write(true).open(path)?;
        let length = file.metadata()?.len();
        Ok(Disk { file, length, uncertain: false })
    }

    /// Works off requests until nobody is left to ask. What waits to be durable when others come shares one sync with them.
    pub(super) fn serve(mut self, requests: &mpsc::Receiver<Errand>, reply: &Reply) {
        while let Ok(first) = requests.recv() {
            let mut waiting = Waiting::new();
            for (asker, request) in std::iter::once(first).chain(requests.try_iter()).take(MOST_BEFORE_SYNC) {
                if let Some(answer) = self.answer(asker, &request, &mut waiting) {
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
    }

    /// The answer to a request; none if it waits to be durable.
    fn answer(&mut self, asker: Address, request: &OwnedFrame, waiting: &mut Waiting) -> Option<OwnedFrame> {
        let token = request.token;
        let refused = OwnedFrame { kind: SERVICE_REFUSED, token, body: Bytes::new(), bulk: Bytes::new() };
        match request.kind {
            DISK_APPEND => Some(self.append(request)).map(|appended| self.done(token, appended.is_err())),
            DISK_WRITE if self.append(request).is_err() => Some(self.done(token, true)),
            DISK_WRITE | DISK_SYNC => {
                waiting.push((asker, token));
                None
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

    /// What was written of a request that failed is overwritten by the next one.
    fn append(&mut self, request: &OwnedFrame) -> io::Result<()> {
        let bulk_at = self.length + request.body.len() as u64;
        self.file.write_all_at(&request.body, self.length)?;
        self.file.write_all_at(&request.bulk, bulk_at)?;
        self.length = bulk_at + request.bulk.len() as u64;
        Ok(())
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
        }
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        if self.uncertain {
            return Err(io::Error::other("an earlier sync failed"));
        }
        self.file.sync_data().inspect_err(|_| self.uncertain = true)
    }
}
