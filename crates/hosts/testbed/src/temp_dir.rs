//! Folders that go away.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder of one test, removed with what is in it when dropped. Its path is short, for sockets' addresses are.
#[derive(Debug)]
pub struct TempDir(PathBuf);

static NEXT: AtomicU32 = AtomicU32::new(0);

impl TempDir {
    /// A new, empty folder that no other test or process has.
    ///
    /// # Errors
    /// What the system said.
    pub fn new() -> io::Result<TempDir> {
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = std::env::temp_dir().join(format!("quintet-{}-{number}", std::process::id()));
            match fs::create_dir(&path) {
                // A process of the same id left it behind.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                other => return other.map(|()| TempDir(path)),
            }
        }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// A path in it.
    #[must_use]
    pub fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        // Nothing is lost but room in the system's folder for temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_unique_and_go_away() {
        let (a, b) = (TempDir::new().expect("made"), TempDir::new().expect("made"));
        assert_ne!(a.path(), b.path());
        fs::write(a.join("file"), b"x").expect("written");
        let path = a.path().to_owned();
        drop(a);
        assert!(!path.exists() && b.path().exists());
    }
}
