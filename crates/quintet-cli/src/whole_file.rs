//! Files that are there as a whole, or not at all.

use quintet::{Code, Error};
use rustix::fs::{Access, access};
use std::fs::{File, OpenOptions, Permissions, canonicalize};
use std::io::{BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A file that cannot be written, and why.
pub(crate) fn refused(path: &Path, error: &dyn std::fmt::Display) -> Error {
    Error::new(Code::Resource, format!("{} cannot be written: {error}", path.display()))
}

/// Writes a file under a temporary name beside it, which it then takes the place of. What is no plain file, a pipe say, is
/// written as it is.
///
/// # Errors
/// Those of `fill`; what the system says.
pub(crate) fn write(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> Result<(), Error>,
) -> Result<(), Error> {
    let failed = |error: std::io::Error| refused(path, &error);
    // Where a symbolic link leads to is replaced, not the link.
    let target = canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if target.exists() && !target.is_file() {
        let file = OpenOptions::new().write(true).open(&target).map_err(failed)?;
        return filled(&file, path, fill);
    }
    if target.exists() {
        access(&target, Access::WRITE_OK).map_err(|error| failed(error.into()))?;
    }
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.map_or_else(|| PathBuf::from("."), Path::to_owned);
    // Like every new file, its rights are limited by the umask.
    let rights = Permissions::from_mode(0o666);
    let temporary = tempfile::Builder::new()
        .prefix(".quintet-")
        .permissions(rights)
        .tempfile_in(folder)
        .map_err(failed)?;
    filled(temporary.as_file(), path, fill)?;
    temporary.persist(&target).map_err(|error| failed(error.error))?;
    Ok(())
}

fn filled(
    file: &File,
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut buffered = BufWriter::new(file);
    fill(&mut buffered)?;
    buffered.flush().map_err(|error| refused(path, &error))
}
