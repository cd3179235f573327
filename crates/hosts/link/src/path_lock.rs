//! Who may make, judge and remove the socket's file at a path.
//!
//! Between a listener's bind and its listen, its socket looks as one that a dead process left behind. So whoever binds, looks
//! whether somebody listens, or removes, holds the lock of a file beside it meanwhile. The kernel ends the lock of a process
//! that dies. A process that does not, and keeps it, keeps nobody for ever.

use crate::{BootstrapError, LinkAddress};
use core::time::Duration;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, fstat, open, stat, unlink};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// How long another process may keep the lock: far longer than the work under it takes, also on a busy machine.
const LIMIT: Duration = Duration::from_secs(5);
/// The longest pause between two looks at a lock that is held. The first ones are shorter.
const LONGEST_PAUSE: Duration = Duration::from_millis(5);

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
    /// [`BootstrapError::Locked`] after five seconds, [`BootstrapError::NotAllowed`], [`BootstrapError::System`].
    pub(crate) fn take(socket: &Path, address: &LinkAddress) -> Result<Self, BootstrapError> {
        Self::take_within(socket, address, LIMIT)
    }

    fn take_within(socket: &Path, address: &LinkAddress, limit: Duration) -> Result<Self, BootstrapError> {
        let mut path = socket.as_os_str().to_owned();
        path.push(".quintet-lock");
        let path = PathBuf::from(path);
        let (began, mut pause) = (Instant::now(), Duration::from_micros(50));
        loop {
            match try_take(&path) {
                Ok(Some(file)) => return Ok(PathLock { file, path }),
                Ok(None) if began.elapsed() < limit => {}
                Ok(None) => {
                    let address = address.clone();
                    return Err(BootstrapError::Locked { address, lock: path, waited: limit });
                }
                Err(errno) => return Err(BootstrapError::system(address, "lock the socket's path", errno)),
            }
            // The kernel has no wait for a lock that ends at a given time.
            std::thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

/// `None`: another process holds it; or whoever held it before has removed its file, so that others lock another one.
fn try_take(path: &Path) -> Result<Option<OwnedFd>, Errno> {
    // Without waiting also if it is a pipe.
    let flags = OFlags::CREATE | OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = open(path, flags, Mode::RUSR | Mode::WUSR)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK | Errno::INTR) => return Ok(None),
        Err(errno) => return Err(errno),
    }
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

    #[test]
    fn who_keeps_it_keeps_nobody_for_ever() {
        let folder = TempDir::new().expect("a folder");
        let path = folder.join("socket");
        let address = LinkAddress::from(&path);
        let held = PathLock::take(&path, &address).expect("nobody has it");
        let waited = Duration::from_millis(20);
        let error = PathLock::take_within(&path, &address, waited).expect_err("it is held");
        let lock = folder.join("socket.quintet-lock");
        assert_eq!(error, BootstrapError::Locked { address: address.clone(), lock, waited });
        drop(held);
        PathLock::take_within(&path, &address, Duration::ZERO).expect("nobody has it");
    }
}
