//! The files of an identity. What is made is there whole or not at all, and never takes another's place.

use crate::authority::check_name;
use crate::certificate::Certificate;
use crate::enrolment::cluster_of;
use crate::{AgentFile, Authority, IdentityError, Validity};
use ring::rand::{Random, SystemRandom, generate};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::ffi::OsString;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The files.
const AUTHORITY: &str = "authority.pem";
const AUTHORITY_KEY: &str = "authority.key";
const MACHINE: &str = "machine.identity";
/// Bytes of a file, at most.
const LONGEST: u64 = 64 * 1024;
/// How long a machine's certificate is valid.
pub const MACHINE_DAYS: u32 = 90;

/// What was made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Issued {
    /// The name of the cluster.
    pub cluster: String,
    /// Where it lies.
    pub path: PathBuf,
    /// For how many days it is valid.
    pub days: u32,
}

/// Where the identity lies that a setting names: a path if it has a slash, else a cluster's folder of this user.
///
/// # Errors
/// [`IdentityError::BadName`], [`IdentityError::NoHome`].
pub fn place(
    setting: &str,
    environment: &dyn Fn(&str) -> Option<OsString>,
) -> Result<PathBuf, IdentityError> {
    if setting.contains('/') {
        return Ok(PathBuf::from(setting));
    }
    check_name(setting)?;
    Ok(home(environment)?.join(setting))
}

/// Where the folders of this user's clusters lie.
///
/// # Errors
/// [`IdentityError::NoHome`].
fn home(environment: &dyn Fn(&str) -> Option<OsString>) -> Result<PathBuf, IdentityError> {
    let absolute = |name| environment(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let configuration = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")));
    Ok(configuration.ok_or(IdentityError::NoHome)?.join("quintet"))
}

/// The folder of the one cluster of this user whose authority is here, where no other is named.
///
/// # Errors
/// [`IdentityError::NotOneCluster`]: there is none, or there are several. [`IdentityError::NoHome`].
pub fn only_cluster(environment: &dyn Fn(&str) -> Option<OsString>) -> Result<PathBuf, IdentityError> {
    let home = home(environment)?;
    let entries = match std::fs::read_dir(&home) {
        Ok(entries) => entries.collect::<Result<Vec<_>, _>>(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    };
    let entries = entries.map_err(|error| refused("read the folder", &home, &error))?;
    let folders = entries.into_iter().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = folders.filter(|folder| folder.join(AUTHORITY_KEY).is_file()).collect();
    match (found.pop(), found.is_empty()) {
        (Some(folder), true) => Ok(folder),
        (last, _) => {
            Err(IdentityError::NotOneCluster { home, count: found.len() + usize::from(last.is_some()) })
        }
    }
}

/// The node of the agent of the machine with that folder: what `agent.toml` in it says. The machine where the cluster was made is 0.
///
/// # Errors
/// [`IdentityError::BadAgentFile`], [`IdentityError::Refused`].
pub fn agent_node(folder: &Path) -> Result<u16, IdentityError> {
    Ok(AgentFile::read(folder)?.map_or(0, |file| file.node))
}

/// Makes a cluster: its authority, and the identity of this machine, in a new folder.
///
/// # Errors
/// [`IdentityError`]. Then nothing is there that was not before.
pub fn create(folder: &Path, machine: &str) -> Result<Issued, IdentityError> {
    check_name(machine)?;
    check_free(folder)?;
    let authority = Authority::new()?;
    let identity = authority.issue(machine, Validity::days(MACHINE_DAYS))?;
    let (certificate, key) = (authority.certificate(), authority.key());
    make_whole(folder, &[(AUTHORITY, certificate), (AUTHORITY_KEY, &key), (MACHINE, &identity)])?;
    let cluster = authority.cluster().to_owned();
    Ok(Issued { cluster, path: folder.to_owned(), days: MACHINE_DAYS })
}

/// Issues an identity for another machine, as a new file, by the authority in that folder.
///
/// # Errors
/// [`IdentityError`]. Then nothing is there that was not before.
pub fn issue(folder: &Path, machine: &str, out: &Path) -> Result<Issued, IdentityError> {
    let authority = Authority::of_folder(folder)?;
    let identity = authority.issue(machine, Validity::days(MACHINE_DAYS))?;
    let unfinished = beside(out)?;
    let made = write_new(&unfinished, &identity).and_then(|()| move_new(&unfinished, out));
    if let Err(error) = made {
        let _ = std::fs::remove_file(&unfinished);
        return Err(error);
    }
    Ok(Issued { cluster: authority.cluster().to_owned(), path: out.to_owned(), days: MACHINE_DAYS })
}

impl Authority {
    /// The one in the folder that [`create`] made. Other members' folders have none.
    ///
    /// # Errors
    /// [`IdentityError::NotAnAuthority`]; also where other users may read it.
    pub fn of_folder(folder: &Path) -> Result<Authority, IdentityError> {
        let text = |name| {
            let text = read_file(&folder.join(name)).map_err(|error| match error {
                IdentityError::Missing { .. } => IdentityError::NotAnAuthority,
                other => other,
            })?;
            String::from_utf8(text).map_err(|_| IdentityError::NotAnAuthority)
        };
        Authority::from_pem(text(AUTHORITY)?, &text(AUTHORITY_KEY)?)
    }
}

/// Looks whether a member's folder can be made there, before anything is asked for that ends with it.
///
/// # Errors
/// [`IdentityError`]: something is there, or the system refuses a file beside it. Then nothing is there that was not before.
pub fn check_room(folder: &Path) -> Result<(), IdentityError> {
    check_free(folder)?;
    if let Some(parent) = folder.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        make_folders(parent)?;
    }
    let attempt = beside(folder)?;
    let made = write_new(&attempt, &" ".repeat(LONGEST as usize));
    // What was written for this only is nobody's.
    let _ = std::fs::remove_file(&attempt);
    made
}

/// The number of the cluster with that folder.
///
/// # Errors
/// [`IdentityError`]: there is no certificate of an authority in it.
pub fn cluster_number(folder: &Path) -> Result<u128, IdentityError> {
    let text = String::from_utf8(read_file(&folder.join(AUTHORITY))?);
    let text = text.map_err(|_| IdentityError::BadCertificate { what: "it is damaged" })?;
    Ok(cluster_of(&Certificate::alone(&text)?.identity()))
}

/// Removes the identity of a machine that is no member any more. Where the authority's key lies, that and its certificate stay.
/// Whether they do.
///
/// # Errors
/// [`IdentityError::Refused`].
pub fn remove(folder: &Path) -> Result<bool, IdentityError> {
    let has_authority = folder.join(AUTHORITY_KEY).symlink_metadata().is_ok();
    let gone: &[&str] = if has_authority { &[MACHINE] } else { &[MACHINE, AUTHORITY] };
    for name in gone {
        let path = folder.join(name);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(refused("remove", &path, &error));
            }
            _ => {}
        }
    }
    Ok(has_authority)
}

/// Makes the folder of a member: the authority's certificate, and the identity that it has issued.
///
/// # Errors
/// [`IdentityError`]. Then nothing is there that was not before.
pub fn create_member(folder: &Path, authority: &str, identity: &str) -> Result<(), IdentityError> {
    make_whole(folder, &[(AUTHORITY, authority), (MACHINE, identity)])
}

/// Puts a renewed identity into the place of the one in that folder: at every moment one of both is there, whole.
///
/// # Errors
/// [`IdentityError`]. Then the one that was there is there.
pub fn write_identity(folder: &Path, identity: &str) -> Result<(), IdentityError> {
    let machine = folder.join(MACHINE);
    let unfinished = beside(&machine)?;
    let written = write_new(&unfinished, identity).and_then(|()| {
        let renamed = std::fs::rename(&unfinished, &machine);
        renamed.map_err(|error| refused("write", &machine, &error))?;
        sync_folder(&machine)
    });
    written.inspect_err(|_| {
        // What was not written whole is nobody's.
        let _ = std::fs::remove_file(&unfinished);
    })
}

/// The text of the identity at that path: a file, or a folder that [`create`] made.
///
/// # Errors
/// [`IdentityError`]: also where other users may read it.
pub fn read(path: &Path) -> Result<Vec<u8>, IdentityError> {
    if path.is_dir() { read_file(&path.join(MACHINE)) } else { read_file(path) }
}

/// A file of this user's own that nobody else may read.
pub(crate) fn read_file(path: &Path) -> Result<Vec<u8>, IdentityError> {
    let refused = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => IdentityError::Missing { path: path.to_owned() },
        _ => refused("read", path, &error),
    };
    // A pipe has nobody wait for its writer.
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(nonblocking).open(path).map_err(refused)?;
    let found = file.metadata().map_err(refused)?;
    if !found.is_file() {
        return Err(IdentityError::Missing { path: path.to_owned() });
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(IdentityError::OtherOwner { path: path.to_owned() });
    }
    if found.mode() & 0o077 != 0 {
        return Err(IdentityError::OpenToOthers { path: path.to_owned(), mode: found.mode() & 0o777 });
    }
    let mut text = Vec::new();
    file.take(LONGEST + 1).read_to_end(&mut text).map_err(refused)?;
    if text.len() as u64 > LONGEST {
        return Err(IdentityError::TooLong { path: path.to_owned() });
    }
    Ok(text)
}

/// Whether nothing is there.
fn check_free(folder: &Path) -> Result<(), IdentityError> {
    match folder.symlink_metadata() {
        Ok(_) => Err(IdentityError::Exists { path: folder.to_owned() }),
        Err(_) => Ok(()),
    }
}

/// A new folder with these files, whole or not at all.
fn make_whole(folder: &Path, files: &[(&str, &str)]) -> Result<(), IdentityError> {
    check_free(folder)?;
    let unfinished = beside(folder)?;
    let made = make_folder(&unfinished).and_then(|()| {
        for (name, text) in files {
            write_new(&unfinished.join(name), text)?;
        }
        move_new(&unfinished, folder)
    });
    made.inspect_err(|_| {
        // What was not made whole is nobody's.
        let _ = std::fs::remove_dir_all(&unfinished);
    })
}

/// A name in the same folder that nobody else uses, nor can know before.
///
/// # Errors
/// [`IdentityError::Refused`]: the system gives no randomness.
pub(crate) fn beside(path: &Path) -> Result<PathBuf, IdentityError> {
    let random: Random<[u8; 8]> = generate(&SystemRandom::new()).map_err(|_| IdentityError::Refused {
        doing: format!("choose a name beside {}", path.display()),
        why: "the system gives no randomness".to_owned(),
    })?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Ok(path.with_file_name(format!(".{name}.{:016x}", u64::from_ne_bytes(random.expose()))))
}

/// A new folder for this user only, in folders that may have to be made.
fn make_folder(folder: &Path) -> Result<(), IdentityError> {
    if let Some(parent) = folder.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        make_folders(parent)?;
    }
    let made = DirBuilder::new().mode(0o700).create(folder);
    made.map_err(|error| refused("make the folder", folder, &error))
}

/// Folders that may be there; those that are not are made for this user only.
pub(crate) fn make_folders(folder: &Path) -> Result<(), IdentityError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|error| refused("make the folder", folder, &error))
}

/// A file for this user only, which is on its disk when this returns.
pub(crate) fn write_new(path: &Path, text: &str) -> Result<(), IdentityError> {
    let mut options = OpenOptions::new();
    let written = options.write(true).create_new(true).mode(0o600).open(path).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    written.map_err(|error| refused("write", path, &error))
}

/// Gives what is whole its name, unless something has that.
pub(crate) fn move_new(from: &Path, to: &Path) -> Result<(), IdentityError> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) => {}
        Err(rustix::io::Errno::EXIST) => return Err(IdentityError::Exists { path: to.to_owned() }),
        Err(rustix::io::Errno::NOENT) => return Err(IdentityError::Missing { path: from.to_owned() }),
        Err(errno) => return Err(refused("name", to, &errno.into())),
    }
    sync_folder(to)
}

/// Has the folder in which that lies on its disk as it is.
pub(crate) fn sync_folder(of: &Path) -> Result<(), IdentityError> {
    let parent = of.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(parent)
        .and_then(|folder| folder.sync_all())
        .map_err(|error| refused("write the folder of", of, &error))
}

fn refused(doing: &str, path: &Path, error: &io::Error) -> IdentityError {
    IdentityError::Refused { doing: format!("{doing} {}", path.display()), why: error.to_string() }
}

#[cfg(test)]
mod tests;
