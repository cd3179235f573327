//! A job's folder: fresh, for this user alone, and written without following a link. The job's own processes may write there, too.

use crate::removal::remove_all;
use crate::store::{CopyError, Store};
use quintet_wire::services::process::{FileHash, JobFile, ProcessAnswer, check_path};
use rustix::fs::{AtFlags, Mode, OFlags, RawMode, fchmod, mkdirat, openat, unlinkat};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const OPEN_FOLDER: OFlags =
    OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::RDONLY).union(OFlags::CLOEXEC);

/// A job's folder.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    folder: OwnedFd,
    /// The files that were placed here.
    placed: BTreeMap<Vec<u8>, FileHash>,
}

/// Something that was made, by its path in the folder.
enum Made<'a> {
    Folder(&'a [u8]),
    File(&'a [u8]),
}

/// Makes a folder for this user alone where there is none, and opens it.
///
/// # Errors
/// The system refused, or what is there is no folder, another user's, or open to others.
pub(crate) fn open_private(path: &Path) -> io::Result<OwnedFd> {
    use std::os::unix::fs::{DirBuilderExt, MetadataExt};
    match std::fs::DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let folder = rustix::fs::open(path, OPEN_FOLDER, Mode::empty())?;
    let about = File::from(folder.try_clone()?).metadata()?;
    if about.uid() != rustix::process::geteuid().as_raw() || about.mode() & 0o077 != 0 {
        let error = format!(
            "{} is open to other users: its mode must be 700, and its owner this user",
            path.display()
        );
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, error));
    }
    Ok(folder)
}

impl Folder {
    /// A fresh one in another.
    pub(crate) fn create(within: &OwnedFd, at: &Path, name: &str) -> io::Result<Folder> {
        mkdirat(within, name, Mode::RWXU)?;
        let folder = openat(within, name, OPEN_FOLDER, Mode::empty())?;
        Ok(Folder { path: at.join(name), folder, placed: BTreeMap::new() })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether this file was placed here.
    pub(crate) fn needs(&self, hash: &FileHash) -> bool {
        self.placed.values().any(|placed| placed == hash)
    }

    /// Places files. One that was placed before with these contents stays as it is.
    ///
    /// # Errors
    /// What is to be answered: nothing of these files is there then.
    pub(crate) fn place(&mut self, files: &[JobFile], store: &mut Store) -> Result<(), ProcessAnswer> {
        let mut made = Vec::new();
        for file in files {
            if let Err(failed) = self.place_one(file, store, &mut made) {
                self.undo(&made);
                return Err(failed);
            }
        }
        self.placed.extend(files.iter().map(|file| (file.path.clone(), file.hash)));
        Ok(())
    }

    fn place_one<'a>(
        &self,
        file: &'a JobFile,
        store: &mut Store,
        made: &mut Vec<Made<'a>>,
    ) -> Result<(), ProcessAnswer> {
        let failed = |doing: &str, error: io::Error| {
            let path = self.path.join(OsStr::from_bytes(&file.path));
            ProcessAnswer::failed(format!("{doing} {}: {error}", path.display()))
        };
        // Checked where it came in, and again where it counts.
        check_path(&file.path).map_err(|error| ProcessAnswer::failed(error.to_string()))?;
        match self.placed.get(&file.path) {
            Some(placed) if *placed == file.hash => return Ok(()),
            Some(_) => {
                let error = "the job has another file of that name";
                return Err(failed("write", io::Error::new(io::ErrorKind::AlreadyExists, error)));
            }
            None => {}
        }
        let (parent, name) =
            self.parent(&file.path, made).map_err(|error| failed("make the folder of", error))?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = openat(&parent, name, flags, Mode::RUSR | Mode::WUSR);
        let mut opened = File::from(opened.map_err(|errno| failed("create", errno.into()))?);
        made.push(Made::File(&file.path));
        match store.copy(&file.hash, &mut opened) {
            Ok(()) => {}
            Err(CopyError::Missing) => {
                let text = format!("the file {} is not kept here: store it, and start again", file.hash);
                return Err(ProcessAnswer::Failed { is_missing_file: true, text });
            }
            Err(CopyError::Io(error)) => return Err(failed("write", error)),
        }
        let mode = Mode::from_raw_mode(RawMode::from(file.mode & 0o777));
        fchmod(&opened, mode).map_err(|errno| failed("set the mode of", errno.into()))
    }

    /// The folder that a path lies in, with those around it, made where they are not there; and the name in it.
    fn parent<'a>(&self, path: &'a [u8], made: &mut Vec<Made<'a>>) -> io::Result<(OwnedFd, &'a [u8])> {
        let mut folder = self.folder.try_clone()?;
        let mut begin = 0;
        for (at, _) in path.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
            let name = &path[begin..at];
            folder = match openat(&folder, name, OPEN_FOLDER, Mode::empty()) {
                Err(Errno::NOENT) => {
                    mkdirat(&folder, name, Mode::RWXU)?;
                    made.push(Made::Folder(&path[..at]));
                    openat(&folder, name, OPEN_FOLDER, Mode::empty())?
                }
                other => other?,
            };
            begin = at + 1;
        }
        Ok((folder, &path[begin..]))
    }

    /// Removes what was made, the last first. What somebody else has put there meanwhile stays, and so does its folder.
    fn undo(&self, made: &[Made<'_>]) {
        for one in made.iter().rev() {
            let (path, flags) = match one {
                Made::Folder(path) => (path, AtFlags::REMOVEDIR),
                Made::File(path) => (path, AtFlags::empty()),
            };
            if let Ok((parent, name)) = self.parent(path, &mut Vec::new()) {
                let _ = unlinkat(&parent, name, flags);
            }
        }
    }

    /// Removes it with all that lies in it.
    ///
    /// # Errors
    /// The system refused.
    pub(crate) fn remove(self) -> io::Result<()> {
        remove_all(&self.path)
    }
}
