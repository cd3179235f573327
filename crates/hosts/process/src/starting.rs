//! What is started: the program, its words and its variables; and why it cannot be.

use quintet_wire::services::process::{Directory, Program, Start, check_path};
use rustix::fs::{Access, access};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Bytes of a script's first line that the kernel reads.
const FIRST_LINE_BYTES: u64 = 256;

/// How often a program is tried that is still being written, and how long between two tries.
const BUSY_TRIES: u32 = 100;
const BUSY_PAUSE: Duration = Duration::from_millis(2);

/// What all processes have.
pub(crate) struct Common<'a> {
    /// The words in front of the program.
    pub(crate) through: &'a [OsString],
    pub(crate) environment: &'a [(OsString, OsString)],
    /// The variable by which descendants are found.
    pub(crate) jobs: (&'static str, OsString),
}

/// Starts a process: a group of its own, without input, its output in pipes.
///
/// # Errors
/// Why not, in words, with the path that is to blame.
pub(crate) fn spawn(start: &Start, folder: &Path, common: &Common<'_>) -> Result<Child, String> {
    let environment = environment(start, common);
    let path = environment.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone());
    let program = program(start, folder, path.as_deref())?;
    let directory = match &start.directory {
        Directory::Folder => folder.to_owned(),
        Directory::Path(path) => PathBuf::from(OsStr::from_bytes(path)),
    };
    check_directory(&directory).map_err(|error| format!("begin in {}: {error}", directory.display()))?;
    let mut words = common.through.iter().cloned().chain([program.clone().into_os_string()]);
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words).args(start.arguments.iter().map(|argument| OsStr::from_bytes(argument)));
    command.env_clear().envs(environment).current_dir(directory).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    until_written(|| command.spawn()).map_err(|error| format!("start {}: {error}", program.display()))
}

/// Tries to start a program until it is not being written any more. One that was written a moment ago may be open for writing still: in a process
/// that another thread has just forked, until that becomes another program.
///
/// # Errors
/// What the last try said.
pub fn until_written<T>(mut start: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    for _ in 0..BUSY_TRIES {
        match start() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => std::thread::sleep(BUSY_PAUSE),
            other => return other,
        }
    }
    start()
}

fn check_directory(directory: &Path) -> io::Result<()> {
    if !std::fs::metadata(directory)?.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    Ok(access(directory, Access::EXEC_OK)?)
}

/// The base, what the process is given, and the variable by which it is found.
fn environment(start: &Start, common: &Common<'_>) -> Vec<(OsString, OsString)> {
    let word = |bytes: &Vec<u8>| OsString::from_vec(bytes.clone());
    let given: Vec<_> = start.environment.iter().map(|(name, value)| (word(name), word(value))).collect();
    let base = common.environment.iter().filter(|(name, _)| given.iter().all(|(other, _)| other != name));
    let (name, jobs) = &common.jobs;
    base.cloned().chain(given.iter().cloned()).chain([((*name).into(), jobs.clone())]).collect()
}

/// The program's file, from the root, after a look at whether it can be started: the kernel says no more than that it cannot, and where programs
/// are started through another it says so to that one.
fn program(start: &Start, folder: &Path, path: Option<&OsStr>) -> Result<PathBuf, String> {
    let program = match &start.program {
        Program::File(file) => {
            check_path(file).map_err(|error| error.to_string())?;
            folder.join(OsStr::from_bytes(file))
        }
        Program::Path(name) if name.contains(&b'/') => PathBuf::from(OsStr::from_bytes(name)),
        Program::Path(name) => in_path(OsStr::from_bytes(name), path)?,
    };
    check(&program).map_err(|error| format!("start {}: {error}", program.display()))?;
    if let Some(interpreter) = interpreter(&program) {
        check(&interpreter).map_err(|error| {
            format!("start {}: its interpreter {}: {error}", program.display(), interpreter.display())
        })?;
    }
    Ok(program)
}

/// The first file of this name that can be started, in the folders of PATH.
fn in_path(name: &OsStr, path: Option<&OsStr>) -> Result<PathBuf, String> {
    let folders = path.unwrap_or_default();
    let found =
        std::env::split_paths(folders).map(|folder| folder.join(name)).find(|file| check(file).is_ok());
    found.ok_or_else(|| {
        format!("start {}: no such program in the folders of PATH: {}", name.display(), folders.display())
    })
}

/// Whether a file can be started.
fn check(program: &Path) -> io::Result<()> {
    if !std::fs::metadata(program)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no file"));
    }
    Ok(access(program, Access::EXEC_OK)?)
}

/// The program that a script names in its first line.
fn interpreter(program: &Path) -> Option<PathBuf> {
    let mut first = Vec::new();
    File::open(program).ok()?.take(FIRST_LINE_BYTES).read_to_end(&mut first).ok()?;
    let line = first.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?.trim_ascii();
    let word = line.split(|byte| byte.is_ascii_whitespace()).next()?;
    Some(PathBuf::from(OsStr::from_bytes(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_is_being_written_is_tried_again() {
        let mut tries = 0;
        let mut start = |fails: u32, kind: io::ErrorKind| {
            tries = 0;
            let started = until_written(|| {
                tries += 1;
                if tries <= fails { Err(kind.into()) } else { Ok(()) }
            });
            (started.map_err(|error| error.kind()), tries)
        };
        assert_eq!(start(2, io::ErrorKind::ExecutableFileBusy), (Ok(()), 3));
        assert_eq!(start(2, io::ErrorKind::NotFound), (Err(io::ErrorKind::NotFound), 1));
    }
}
