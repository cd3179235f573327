//! The folder in which a served space has its socket.
//!
//! Whoever owns it, or may write in it, can put something else in the socket's place, hold its lock, and move what clients look
//! for. So it is this user's or the system's; and where everybody may write, as in `/tmp`, nobody may touch what is another's.

use crate::connection::refused;
use quintet::{Code, Error, LinkAddress};
use rustix::fs::{FileType, Stat, lstat, stat};
use rustix::process::geteuid;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// Everybody may write.
const WRITABLE_BY_ALL: u32 = 0o002;
/// Who may write may not remove or rename what is another's.
const STICKY: u32 = 0o1000;
/// The user whose processes may do anything anyway.
const SYSTEM: u32 = 0;

/// Makes the folder of an address that has one, for this user only, if it is missing. If it is there, it must be one that others leave alone. `chosen`:
/// somebody named it; then the system's user may serve in everybody's.
///
/// # Errors
/// The system refused; [`Code::NotAllowed`]: the folder is another user's, or all may write in it and remove what is there.
pub(super) fn prepare(address: &LinkAddress, chosen: bool) -> Result<(), Error> {
    let (LinkAddress::SharedMemory(socket) | LinkAddress::Unix(socket)) = address else { return Ok(()) };
    let Some(folder) = socket.parent() else { return Ok(()) };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(refused("make the socket's folder"))?;
    let examined = |errno: rustix::io::Errno| refused("examine the socket's folder")(errno.into());
    // Of a symbolic link both are looked at: its owner can lead it elsewhere.
    let (named, meant) = (lstat(folder).map_err(examined)?, stat(folder).map_err(examined)?);
    let user = geteuid().as_raw();
    let fault = fault(&named, user, chosen).or_else(|| fault(&meant, user, chosen));
    fault.map_or(Ok(()), |fault| {
        let folder = folder.display();
        let text =
            format!("the socket's folder {folder} {fault}; use a folder of your own: --listen ADDRESS");
        Err(Error::new(Code::NotAllowed, text))
    })
}

/// Why a folder, or a link to one, does not do.
fn fault(status: &Stat, user: u32, chosen: bool) -> Option<String> {
    let mode = status.st_mode;
    let is_link = FileType::from_raw_mode(mode).is_symlink();
    let trusted = [user, SYSTEM].contains(&status.st_uid) || (chosen && user == SYSTEM);
    if !trusted {
        return Some(format!("is user {}'s, and this is user {user}", status.st_uid));
    }
    let open = mode & WRITABLE_BY_ALL != 0 && mode & STICKY == 0 && !is_link;
    open.then(|| format!("lets everybody replace what is in it (mode {:o})", mode & 0o7777))
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_testbed::TempDir;
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn a_folder_is_this_users_or_the_systems() {
        let folder = TempDir::new().unwrap();
        let (mut status, me) = (stat(folder.path()).unwrap(), geteuid().as_raw());
        assert_eq!(fault(&status, me, false), None);
        status.st_uid = SYSTEM;
        assert_eq!(fault(&status, 1000, false), None);
        status.st_uid = 1001;
        for chosen in [false, true] {
            let said = fault(&status, 1000, chosen);
            assert_eq!(said.as_deref(), Some("is user 1001's, and this is user 1000"));
        }
        assert!(fault(&status, SYSTEM, false).is_some() && fault(&status, SYSTEM, true).is_none());
    }

    #[test]
    fn a_folder_where_everybody_replaces_everything_is_refused_and_one_like_tmp_is_not() {
        let (outer, folder) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let link = outer.join("link");
        symlink(folder.path(), &link).unwrap();
        for (mode, good) in [(0o777, false), (0o1777, true), (0o775, true), (0o700, true)] {
            set_permissions(folder.path(), Permissions::from_mode(mode)).unwrap();
            for place in [folder.path(), &link] {
                let prepared = prepare(&(&place.join("space")).into(), true).map_err(|error| error.code());
                assert_eq!(prepared, if good { Ok(()) } else { Err(Code::NotAllowed) }, "{mode:o}");
            }
        }
    }

    #[test]
    fn what_is_missing_is_made_for_this_user_only() {
        let folder = TempDir::new().unwrap();
        prepare(&(&folder.join("a/b/space")).into(), false).expect("it is made");
        assert_eq!(stat(folder.join("a/b")).unwrap().st_mode & 0o777, 0o700);
        prepare(&Path::new("space").into(), true).expect("the working folder is there");
    }
}
