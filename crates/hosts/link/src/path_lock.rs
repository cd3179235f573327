//! Who may make, judge and remove the socket's file at a path.
//!
//! Between a listener's bind and its listen, its socket looks as one that a dead process left behind. So whoever binds, looks
//! whether somebody listens, or removes, holds the lock of a file beside it meanwhile. The kernel ends the lock of a process
//! that dies.

use crate::{BootstrapError, LinkAddress};
use rustix::fs::{FlockOperation, Mode, OFlags, flock, fstat, open, stat, unlink};
use rustix::io::{Errno, retry_on_intr};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// The lock of one path, until it is dropped.
#[derive(Debug)]
pub(crate) struct PathLock {
    file: OwnedFd,
    path: PathBuf,
}

impl PathLock {
    /// Waits until nobody else holds it: processes of this user hold it for some microseconds. `address` is what errors name.
    ///
    /// # Errors
    /// [`BootstrapError::NotAllowed`], [`BootstrapError::System`].
    pub(crate) fn take(socket: &Path, address: &LinkAddress) -> Result<Self, BootstrapError> {
        let mut path = socket.as_os_str().to_owned();
        path.push(".quintet-lock");
        let path = PathBuf::from(path);
        loop {
            match try_take(&path) {
                Ok(Some(file)) => return Ok(PathLock { file, path }),
                Ok(None) => {}
                Err(errno) => return Err(BootstrapError::system(address, "lock the socket's path", errno)),
            }
        }
    }
}

/// `None`: whoever held it before has removed its file, so that others lock another one.
fn try_take(path: &Path) -> Result<Option<OwnedFd>, Errno> {
    let flags = OFlags::CREATE | OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let file = open(path, flags, Mode::RUSR | Mode::WUSR)?;
    retry_on_intr(|| flock(&file, FlockOperation::LockExclusive))?;
    let (locked, there) = (fstat(&file)?, stat(path));
    let same = there.is_ok_and(|there| (there.st_dev, there.st_ino) == (locked.st_dev, locked.st_ino));
    Ok(same.then_some(file))
}

impl Drop for PathLock {
    fn drop(&mut self) {
        // While it is locked, for then it is nobody else's. If it cannot be removed, the next one uses it.
        let _ = unlink(&self.path);
        // A child forked meanwhile has the descriptor too, so closing would not end it.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_testbed::TempDir;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::thread;

    #[test]
    fn one_at_a_time_holds_it_and_no_file_stays() {
        let folder = TempDir::new().expect("a folder");
        let (path, holders) = (folder.join("socket"), AtomicU32::new(0));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let lock = PathLock::take(&path, &(&path).into()).expect("the folder is there");
                        assert_eq!(holders.fetch_add(1, Ordering::Relaxed), 0);
                        thread::yield_now();
                        holders.fetch_sub(1, Ordering::Relaxed);
                        drop(lock);
                    }
                });
            }
        });
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0);
    }
}
