//! Folders with all that lies in them, removed whatever a job's processes have made of them: they may have taken the right to enter from their
//! user, or nested folders deeper than a thread's stack reaches.

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, chmod, fstat, openat, renameat, unlinkat};
use rustix::io::Errno;
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;

/// Folders within folders that are entered. What lies deeper is moved to the top first, and removed from there.
const DEEPEST: u32 = 64;
/// How often a folder is emptied into which somebody writes meanwhile.
const PASSES: u32 = 3;

/// Removes a folder with all that lies in it, without following a link. Nothing happens if it is not there.
///
/// # Errors
/// The system refused, or somebody still writes there ([`io::ErrorKind::DirectoryNotEmpty`]); the path is named.
pub(crate) fn remove_all(path: &Path) -> io::Result<()> {
    let removed = enter(CWD, path).and_then(|top| {
        let mut removal = Removal { top: &top, moved: 0 };
        removal.remove(|| unlinkat(CWD, path, AtFlags::REMOVEDIR), &top, 0)
    });
    match removed {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(errno) => {
            let error = io::Error::from(errno);
            Err(io::Error::new(error.kind(), format!("remove {}: {error}", path.display())))
        }
    }
}

/// A removal under way.
struct Removal<'a> {
    top: &'a OwnedFd,
    /// Folders that were moved to the top.
    moved: u64,
}

impl Removal<'_> {
    /// Empties a folder, and has it removed.
    fn remove(
        &mut self,
        mut last: impl FnMut() -> Result<(), Errno>,
        folder: &OwnedFd,
        depth: u32,
    ) -> Result<(), Errno> {
        let mut passes = 0;
        loop {
            let moved = self.moved;
            self.empty(folder, depth)?;
            match last() {
                // What was moved here is no stranger's.
                Err(Errno::NOTEMPTY) if depth == 0 && self.moved > moved => {}
                Err(Errno::NOTEMPTY) if passes < PASSES => passes += 1,
                other => return other,
            }
        }
    }

    fn empty(&mut self, folder: &OwnedFd, depth: u32) -> Result<(), Errno> {
        for entry in Dir::read_from(folder)? {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let removed = match entry.file_type() {
                FileType::Directory => self.remove_folder(folder, name, depth),
                _ => match unlinkat(folder, name, AtFlags::empty()) {
                    // Not every file system says what an entry is.
                    Err(Errno::ISDIR) => self.remove_folder(folder, name, depth),
                    other => other,
                },
            };
            match removed {
                // Somebody else removes this, too.
                Ok(()) | Err(Errno::NOENT) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }

    fn remove_folder(&mut self, within: &OwnedFd, name: &CStr, depth: u32) -> Result<(), Errno> {
        let folder = enter(within, name)?;
        if depth < DEEPEST {
            return self.remove(|| unlinkat(within, name, AtFlags::REMOVEDIR), &folder, depth + 1);
        }
        loop {
            self.moved += 1;
            match renameat(within, name, self.top, format!("moved-{}", self.moved)) {
                // A name that is taken.
                Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => {}
                other => return other,
            }
        }
    }
}

/// Opens a folder, and gives its user the right to do everything there.
fn enter(within: impl AsFd, name: impl rustix::path::Arg) -> Result<OwnedFd, Errno> {
    let place = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let place = openat(within, name, place, Mode::empty())?;
    let mode = Mode::from_raw_mode(fstat(&place)?.st_mode);
    if !mode.contains(Mode::RWXU) {
        // The very folder that was opened, whatever its name leads to now.
        chmod(format!("/proc/self/fd/{}", place.as_raw_fd()), Mode::RWXU)?;
    }
    openat(&place, c".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_testbed::TempDir;
    use rustix::fs::mkdirat;
    use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    /// Root enters every folder. A thread without these rights does not.
    fn be_an_ordinary_user() {
        let mut sets = capabilities(None).expect("they can be asked for");
        sets.effective -= CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
        set_capabilities(None, sets).expect("less is always allowed");
    }

    #[test]
    fn folders_that_their_user_may_not_enter_go_and_what_links_name_stays() {
        be_an_ordinary_user();
        let room = TempDir::new().expect("a fresh folder");
        let (top, other) = (room.join("top"), room.join("other"));
        fs::create_dir_all(top.join("a/b")).expect("made");
        fs::create_dir(&other).expect("made");
        for file in [top.join("file"), top.join("a/file"), top.join("a/b/file"), other.join("file")] {
            fs::write(file, "").expect("written");
        }
        symlink(&other, top.join("a/link")).expect("made");
        symlink(top.join("a"), top.join("a/b/circle")).expect("made");
        for (path, mode) in [("a/b", 0), ("a", 0o500), ("", 0)] {
            fs::set_permissions(top.join(path), fs::Permissions::from_mode(mode)).expect("its user may");
        }
        assert!(fs::read_dir(&top).is_err(), "nobody may enter");
        remove_all(&top).expect("removed");
        assert!(!top.exists() && other.join("file").exists());
        remove_all(&top).expect("it is not there");
        symlink(&other, &top).expect("made");
        remove_all(&top).expect_err("it is a link");
        assert!(other.join("file").exists());
    }

    #[test]
    fn folders_that_are_nested_deeper_than_any_stack_go() {
        // Disks take milliseconds for each of so many.
        let top = Path::new("/dev/shm").join(format!("quintet-removal-{}", std::process::id()));
        fs::create_dir_all(top.join("moved-1/file")).expect("made");
        let mut folder = enter(CWD, &top).expect("entered");
        for _ in 0..3_000 {
            mkdirat(&folder, "d", Mode::RWXU).expect("made");
            folder = enter(&folder, "d").expect("entered");
        }
        drop(folder);
        let small = std::thread::Builder::new().stack_size(128 << 10);
        let removed = small.spawn({
            let top = top.clone();
            move || remove_all(&top)
        });
        removed.expect("started").join().expect("no stack overflows").expect("removed");
        assert!(!top.exists());
    }
}
