//! Where testbeds are kept: one folder for this user, in it one for each testbed.

use super::TestbedError;
use super::state::State;
use rustix::process::geteuid;
use std::fs::{DirBuilder, File, Metadata, read_dir, remove_dir};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The folder of all testbeds of this user. It follows from the user alone, so that commands on a machine find the testbeds of this one; and it is
/// not below `/run`, from where no program may be started on many systems.
fn root() -> PathBuf {
    Path::new("/tmp").join(format!("quintet-testbed-{}", geteuid().as_raw()))
}

/// The folder of a testbed, and what is kept there.
pub(super) type Found = (PathBuf, Result<State, TestbedError>);

/// The folder of all testbeds while nobody else makes or removes any. Dropped, it goes if none is left.
pub(super) struct Folders {
    root: PathBuf,
    /// The folder itself, locked for as long as it is open.
    _lock: File,
}

impl Folders {
    /// Waits until nobody else makes or removes testbeds.
    ///
    /// # Errors
    /// The folder cannot be made, or belongs to another user.
    pub(super) fn lock() -> Result<Folders, TestbedError> {
        let root = root();
        loop {
            make(&root)?;
            if let Some(lock) =
                lock(&root).map_err(TestbedError::system(format!("lock {}", root.display())))?
            {
                return Ok(Folders { root, _lock: lock });
            }
        }
    }

    /// The folder of the testbed of that name, be there one or not.
    pub(super) fn of(&self, testbed: &str) -> PathBuf {
        self.root.join(testbed)
    }

    /// Every folder of a testbed, and what is said of it there.
    ///
    /// # Errors
    /// The system refused.
    pub(super) fn all(&self) -> Result<Vec<Found>, TestbedError> {
        let doing = || TestbedError::system(format!("list {}", self.root.display()));
        let mut found = Vec::new();
        for entry in read_dir(&self.root).map_err(doing())? {
            let entry = entry.map_err(doing())?;
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                found.push((entry.path(), State::read(&entry.path())));
            }
        }
        found.sort_by(|one, other| one.0.cmp(&other.0));
        Ok(found)
    }
}

impl Drop for Folders {
    fn drop(&mut self) {
        // It fails as long as there are testbeds.
        let _ = remove_dir(&self.root);
    }
}

/// The folder, locked. `None` if whoever had it removed it meanwhile.
fn lock(root: &Path) -> io::Result<Option<File>> {
    let missing = |error: io::Error| if error.kind() == ErrorKind::NotFound { Ok(None) } else { Err(error) };
    let folder = match File::open(root) {
        Err(error) => return missing(error),
        Ok(folder) => folder,
    };
    folder.lock()?;
    match root.metadata() {
        Err(error) => missing(error),
        Ok(there) => Ok((there.ino() == folder.metadata()?.ino()).then_some(folder)),
    }
}

/// The folder of the testbed of that name, be there one or not: to look at, without the lock.
///
/// # Errors
/// The folder of all testbeds is another user's, who could have written anything there.
pub(super) fn of(testbed: &str) -> Result<PathBuf, TestbedError> {
    let root = root();
    match root.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        found => check(&root, &found.map_err(TestbedError::system(format!("look at {}", root.display())))?)?,
    }
    Ok(root.join(testbed))
}

/// The names of the testbeds that there are.
pub(super) fn names() -> Vec<String> {
    let folders = read_dir(root()).into_iter().flatten().flatten();
    let folders = folders.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut names: Vec<String> = folders.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

/// A folder that only this user may enter. One that is there must be so.
///
/// # Errors
/// It is another user's, open to others, or cannot be made.
pub(super) fn make(folder: &Path) -> Result<(), TestbedError> {
    let doing = || TestbedError::system(format!("make {}", folder.display()));
    let found = loop {
        match DirBuilder::new().mode(0o700).create(folder) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => made.map_err(doing())?,
        }
        match folder.symlink_metadata() {
            // It was removed in between.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            found => break found.map_err(doing())?,
        }
    };
    check(folder, &found)
}

/// # Errors
/// It is another user's, or open to others.
fn check(folder: &Path, found: &Metadata) -> Result<(), TestbedError> {
    let is_safe = found.is_dir() && found.uid() == geteuid().as_raw() && found.mode() & 0o077 == 0;
    let why =
        "it must be a folder of this user that nobody else may enter: remove it, or chmod 700".to_owned();
    if is_safe { Ok(()) } else { Err(TestbedError::BadFile { path: folder.to_owned(), why }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TempDir;
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn a_folder_that_others_may_enter_or_lead_elsewhere_is_refused() {
        let outer = TempDir::new().unwrap();
        let folder = outer.join("testbeds");
        make(&folder).expect("made");
        assert_eq!(folder.metadata().unwrap().mode() & 0o777, 0o700);
        make(&folder).expect("it is there");
        symlink(&folder, outer.join("link")).unwrap();
        make(&outer.join("link")).expect_err("it leads elsewhere");
        set_permissions(&folder, Permissions::from_mode(0o750)).unwrap();
        make(&folder).expect_err("others may enter it");
    }
}
