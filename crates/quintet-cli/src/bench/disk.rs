//! Where that lies which has to outlive its process: a folder where a sync means something.

use crate::connection::refused;
use quintet::{Code, Error};
use rustix::fs::statfs;
use std::env::temp_dir;
use std::path::Path;
use tempfile::TempDir;

/// File systems that are kept in memory, as `statfs` numbers them (linux/magic.h): tmpfs and ramfs.
const IN_MEMORY: [u64; 2] = [0x0102_1994, 0x8584_58f6];

/// A folder of its own on a disk, removed when dropped: where temporary files lie (`TMPDIR`), as the peers choose it.
///
/// # Errors
/// Temporary files lie in memory, or the system refused.
pub(super) fn folder_on_disk() -> Result<TempDir, Error> {
    let place = temp_dir();
    require_disk(&place)?;
    tempfile::Builder::new().prefix("quintet-").tempdir_in(place).map_err(refused("make a folder"))
}

fn require_disk(place: &Path) -> Result<(), Error> {
    let system = statfs(place).map_err(|errno| refused("ask for the file system")(errno.into()))?;
    if !IN_MEMORY.contains(&(u64::try_from(system.f_type).unwrap_or(0) & 0xffff_ffff)) {
        return Ok(());
    }
    let text = format!(
        "{} lies in memory, where a sync costs nothing: set TMPDIR to a folder on a disk",
        place.display()
    );
    Err(Error::new(Code::BadValue, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_in_memory_is_no_disk() {
        let refused = require_disk(Path::new("/dev/shm")).expect_err("it is in memory on every Linux");
        assert!(refused.to_string().contains("set TMPDIR to a folder on a disk"), "{refused}");
        assert!(require_disk(Path::new("/nonexistent")).is_err());
    }
}
