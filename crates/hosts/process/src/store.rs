//! Files by the hashes of their contents. Those that were not used for longest are dropped above a bound.

use quintet_wire::services::process::FileHash;
use ring::digest::{Context, SHA256, digest};
use rustix::fs::{AtFlags, Mode, OFlags, openat, renameat, unlinkat};
use std::collections::BTreeMap;
use std::fs::{File, read_dir};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;

/// Bytes copied at a time.
const CHUNK_BYTES: usize = 64 * 1024;

/// A folder with one file for each hash, named by it.
#[derive(Debug)]
pub(crate) struct Store {
    folder: OwnedFd,
    files: BTreeMap<FileHash, Kept>,
    bytes: u64,
    max_bytes: u64,
    /// Counts uses.
    uses: u64,
}

#[derive(Debug)]
struct Kept {
    bytes: u64,
    /// The count at its last use.
    used: u64,
}

/// Why a file was not copied out.
#[derive(Debug)]
pub(crate) enum CopyError {
    /// It is not kept, or not with these contents any more.
    Missing,
    /// It cannot be read, or not be written there.
    Io(io::Error),
}

impl Store {
    /// The store in a folder, with what lies there; what is no kept file is removed.
    pub(crate) fn open(path: &Path, folder: OwnedFd, max_bytes: u64) -> io::Result<Store> {
        let mut found = Vec::new();
        for entry in read_dir(path)? {
            let entry = entry?;
            match entry.file_name().to_str().and_then(parse) {
                Some(hash) => {
                    let about = entry.metadata()?;
                    found.push((about.modified()?, hash, about.len()));
                }
                None => std::fs::remove_file(entry.path())?,
            }
        }
        found.sort();
        let mut store = Store { folder, files: BTreeMap::new(), bytes: 0, max_bytes, uses: 0 };
        for (_, hash, bytes) in found {
            store.note(hash, bytes);
        }
        Ok(store)
    }

    /// Those that are not kept. The others count as used now.
    pub(crate) fn missing(&mut self, mut hashes: Vec<FileHash>) -> Vec<FileHash> {
        hashes.retain(|hash| !self.touch(hash));
        hashes
    }

    /// Keeps a file. Others are dropped for it, but for those that are needed.
    ///
    /// # Errors
    /// The contents have another hash, there is no room, or the system refused; nothing of it is left.
    pub(crate) fn put(
        &mut self,
        hash: FileHash,
        contents: &[u8],
        is_needed: impl Fn(&FileHash) -> bool,
    ) -> io::Result<()> {
        let found = digest(&SHA256, contents);
        if found.as_ref() != hash.0 {
            let error = format!("the file's contents do not have the hash {hash}");
            return Err(io::Error::new(io::ErrorKind::InvalidData, error));
        }
        if self.touch(&hash) {
            return Ok(());
        }
        self.make_room(contents.len() as u64, is_needed)?;
        let new = format!("{hash}.new");
        let written = self
            .write(&new, contents)
            .and_then(|()| Ok(renameat(&self.folder, &new, &self.folder, hash.to_string())?));
        if let Err(error) = written {
            // Where nothing was made, nothing is removed.
            let _ = unlinkat(&self.folder, &new, AtFlags::empty());
            return Err(error);
        }
        self.note(hash, contents.len() as u64);
        Ok(())
    }

    /// Copies a file's contents to where they are needed, and looks whether they are still what they were.
    pub(crate) fn copy(&mut self, hash: &FileHash, to: &mut File) -> Result<(), CopyError> {
        if !self.touch(hash) {
            return Err(CopyError::Missing);
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = openat(&self.folder, hash.to_string(), flags, Mode::empty());
        let mut from = match opened {
            Ok(from) => File::from(from),
            Err(rustix::io::Errno::NOENT) => return Err(self.lose(hash)),
            Err(errno) => return Err(CopyError::Io(errno.into())),
        };
        let (mut context, mut chunk) = (Context::new(&SHA256), vec![0; CHUNK_BYTES]);
        loop {
            match from.read(&mut chunk).map_err(CopyError::Io)? {
                0 => break,
                len => {
                    context.update(&chunk[..len]);
                    to.write_all(&chunk[..len]).map_err(CopyError::Io)?;
                }
            }
        }
        // A machine that stopped may have left less than was written.
        if context.finish().as_ref() == hash.0 { Ok(()) } else { Err(self.lose(hash)) }
    }

    fn lose(&mut self, hash: &FileHash) -> CopyError {
        self.drop_file(hash);
        CopyError::Missing
    }

    fn write(&self, name: &str, contents: &[u8]) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&self.folder, name, flags, Mode::RUSR | Mode::WUSR)?;
        File::from(file).write_all(contents)
    }

    /// Drops those that were not used for longest, until there is room for so many bytes.
    fn make_room(&mut self, bytes: u64, is_needed: impl Fn(&FileHash) -> bool) -> io::Result<()> {
        while self.bytes + bytes > self.max_bytes {
            let unneeded = self.files.iter().filter(|(hash, _)| !is_needed(hash));
            let Some(oldest) = unneeded.min_by_key(|(_, kept)| kept.used).map(|(hash, _)| *hash) else {
                let (kept, max) = (self.bytes, self.max_bytes);
                let error = format!("{kept} bytes of files are kept of {max}, and jobs need all of them");
                return Err(io::Error::new(io::ErrorKind::StorageFull, error));
            };
            self.drop_file(&oldest);
        }
        Ok(())
    }

    fn drop_file(&mut self, hash: &FileHash) {
        if let Some(kept) = self.files.remove(hash) {
            self.bytes -= kept.bytes;
        }
        // One that is gone is gone.
        let _ = unlinkat(&self.folder, hash.to_string(), AtFlags::empty());
    }

    fn note(&mut self, hash: FileHash, bytes: u64) {
        self.uses += 1;
        self.bytes += bytes;
        self.files.insert(hash, Kept { bytes, used: self.uses });
    }

    /// Counts a use. False if the file is not kept.
    fn touch(&mut self, hash: &FileHash) -> bool {
        self.uses += 1;
        let uses = self.uses;
        self.files.get_mut(hash).map(|kept| kept.used = uses).is_some()
    }
}

/// The hash that a file's name says.
fn parse(name: &str) -> Option<FileHash> {
    let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if name.len() != 64 || !name.bytes().all(is_hex) {
        return None;
    }
    let mut hash = [0; 32];
    for (byte, at) in hash.iter_mut().zip((0..64).step_by(2)) {
        *byte = u8::from_str_radix(&name[at..at + 2], 16).ok()?;
    }
    Some(FileHash(hash))
}
