//! The log of a space on this machine's disk: where it lies, and what is told of it.

use crate::Error;
use quintet_durable::LogNews;
use quintet_errors::Code;
use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

/// The file in the folder of a log.
const LOG_FILE: &str = "space.log";
/// Held by the process whose log it is.
const LOCK_FILE: &str = "lock";

/// Takes what is told of a space's log, on the server's thread: it must not wait.
pub type LogSink = Arc<dyn Fn(&LogNews) + Send + Sync>;

/// Where a space keeps a log of all that it is given, so that what it has acknowledged outlives its process.
#[derive(Clone)]
pub struct SpaceLog {
    /// The folder; made where it is not there, for this user only. A space of another cluster finds its own log in it, or none.
    pub folder: PathBuf,
    /// Is told how far the log is read, that it is, and that the disk has failed.
    pub told: Option<LogSink>,
}

impl SpaceLog {
    /// A log in this folder, of which nobody is told but whoever starts the server.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> SpaceLog {
        SpaceLog { folder: folder.into(), told: None }
    }
}

/// A folder that no other process uses while this is there.
pub(crate) struct LockedLog {
    pub(crate) file: PathBuf,
    _lock: File,
    /// Whoever waits for the release learns of it by the end of this.
    _released: Option<Sender<()>>,
}

impl LockedLog {
    /// # Errors
    /// [`Code::BadFile`]: the folder cannot be made or used. [`Code::AddressInUse`]: another process keeps its log there.
    pub(crate) fn open(folder: &Path) -> Result<LockedLog, Error> {
        let lock = open_lock(folder).map_err(|error| {
            Error::new(Code::BadFile, format!("no log can be kept in {}: {error}", folder.display()))
        })?;
        match lock.try_lock() {
            Ok(()) => Ok(LockedLog { file: folder.join(LOG_FILE), _lock: lock, _released: None }),
            Err(TryLockError::WouldBlock) => {
                let text = format!("another process keeps the log in {}: end it first", folder.display());
                Err(Error::new(Code::AddressInUse, text))
            }
            Err(TryLockError::Error(error)) => {
                let text = format!("the folder {} cannot be locked: {error}", folder.display());
                Err(Error::new(Code::BadFile, text))
            }
        }
    }
}

impl LockedLog {
    /// With what tells, by its end, that it was released.
    pub(crate) fn until_released(self) -> (LockedLog, Receiver<()>) {
        let (released, is_released) = channel();
        (LockedLog { _released: Some(released), ..self }, is_released)
    }
}

fn open_lock(folder: &Path) -> io::Result<File> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let mut options = File::options();
    options.create(true).truncate(false).write(true).mode(0o600).open(folder.join(LOCK_FILE))
}

/// What has become of a log, between the server's thread and those who wait for it.
#[derive(Clone)]
pub(crate) struct LogWatch {
    told: Option<LogSink>,
    opened: Sender<Result<(), String>>,
    failed: Arc<Mutex<Option<String>>>,
}

impl LogWatch {
    /// A watch, and where it is told once whether the log can be used.
    pub(crate) fn new(told: Option<LogSink>) -> (LogWatch, Receiver<Result<(), String>>) {
        let (opened, is_open) = channel();
        (LogWatch { told, opened, failed: Arc::default() }, is_open)
    }

    /// Takes news. Whether nothing is served any more.
    pub(crate) fn hear(&self, news: &LogNews) -> bool {
        self.told.iter().for_each(|told| told(news));
        // Whoever started the server may have given up.
        match news {
            LogNews::Reading { .. } | LogNews::Votes => {}
            LogNews::Open { .. } => drop(self.opened.send(Ok(()))),
            LogNews::Refused(text) => drop(self.opened.send(Err(text.clone()))),
            LogNews::Failed(text) => {
                *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(text.clone());
                let _ = self.opened.send(Err(text.clone()));
            }
        }
        matches!(news, LogNews::Refused(_) | LogNews::Failed(_))
    }

    /// Why the disk has failed, if it has.
    pub(crate) fn failure(&self) -> Option<Error> {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.as_ref().map(|text| Error::new(Code::Resource, format!("the space has ended: {text}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_testbed::TempDir;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_folder_is_one_processes_own_while_it_is_used() {
        let folder = TempDir::new().expect("a temporary directory");
        let path = folder.join("a/b");
        let first = LockedLog::open(&path).expect("it is made");
        assert_eq!(path.metadata().expect("it is there").permissions().mode() & 0o777, 0o700);
        let second = LockedLog::open(&path).err().expect("it is in use");
        assert_eq!(second.code(), Code::AddressInUse);
        drop(first);
        assert_eq!(LockedLog::open(&path).expect("it is free").file, path.join("space.log"));
        std::fs::write(folder.join("file"), "").expect("it is written");
        let error = LockedLog::open(&folder.join("file")).err().expect("no folder");
        assert_eq!(error.code(), Code::BadFile);
    }
}
