//! What is to be started.

use super::{
    FileHash, MAX_FILES, MAX_NAME_BYTES, MAX_PATH_BYTES, MAX_PATH_NAME_BYTES, MAX_WORD_BYTES, MAX_WORDS,
};
use crate::{Decode, DecodeError, Encode, Reader, Sink};
use core::fmt;
use std::collections::BTreeSet;

/// The variable of the environment by which the processes of a job are found, wherever they went. The host sets it.
pub const JOBS_VARIABLE: &str = "QUINTET_JOBS";

/// What is to be started, and the files that it needs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Start {
    /// Its name among the processes of its job, for people: `worker 3`.
    pub name: String,
    /// The program.
    pub program: Program,
    /// What it is told, without the program's own name.
    pub arguments: Vec<Vec<u8>>,
    /// Variables of its environment, besides those that the host states: PATH, HOME, LANG, USER and TMPDIR.
    pub environment: Vec<(Vec<u8>, Vec<u8>)>,
    /// Where it begins.
    pub directory: Directory,
    /// Files that are to lie in its job's folder. One that lies there already with these contents stays as it is.
    pub files: Vec<JobFile>,
}

/// A program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Program {
    /// On the machine: a path from the root, or a name that is looked for in PATH.
    Path(Vec<u8>),
    /// A file of the job, by its path in the folder.
    File(Vec<u8>),
}

/// Where a process begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Directory {
    /// In the job's folder.
    Folder,
    /// Elsewhere on the machine: a path from the root.
    Path(Vec<u8>),
}

/// A file of a job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JobFile {
    /// Where in the folder: names with `/` between them.
    pub path: Vec<u8>,
    /// What it holds.
    pub hash: FileHash,
    /// Who may do what with it: the lowest nine bits, as chmod(2) has them.
    pub mode: u16,
}

/// What is wrong with a [`Start`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadStart(String);

impl Start {
    /// A program without arguments, variables and files, in its job's folder.
    #[must_use]
    pub fn new(name: impl Into<String>, program: Program) -> Start {
        let (arguments, environment, files) = (Vec::new(), Vec::new(), Vec::new());
        Start { name: name.into(), program, arguments, environment, directory: Directory::Folder, files }
    }

    /// Whether anything in it is a program sent along, and not one of the machine.
    #[must_use]
    pub fn brings_code(&self) -> bool {
        !self.files.is_empty() || matches!(self.program, Program::File(_))
    }

    /// Whether it can be right: no path leads out of the job's folder, none stands twice, and what the system would misread is not there.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn check(&self) -> Result<(), BadStart> {
        match &self.program {
            Program::Path(path) if path.is_empty() || path.contains(&0) => {
                return Err(bad("the program", path, "is no path"));
            }
            Program::Path(path) if path.contains(&b'/') && !path.starts_with(b"/") => {
                return Err(bad("the program", path, "is a path from nowhere: give it from the root"));
            }
            Program::Path(_) => {}
            Program::File(path) => check_path(path)?,
        }
        if let Directory::Path(path) = &self.directory
            && (!path.starts_with(b"/") || path.contains(&0))
        {
            return Err(bad("the directory", path, "is no path from the root"));
        }
        self.check_words()?;
        self.check_files()
    }

    fn check_words(&self) -> Result<(), BadStart> {
        if let Some(argument) = self.arguments.iter().find(|argument| argument.contains(&0)) {
            return Err(bad("the argument", argument, "has a zero byte"));
        }
        let mut names = BTreeSet::new();
        for (name, value) in &self.environment {
            if name.is_empty() || name.iter().any(|byte| matches!(byte, 0 | b'=')) || value.contains(&0) {
                return Err(bad("the variable", name, "has no name, or a zero byte or an equals sign in it"));
            }
            if name == JOBS_VARIABLE.as_bytes() {
                return Err(bad("the variable", name, "is set by the launcher"));
            }
            if !names.insert(name) {
                return Err(bad("the variable", name, "stands twice"));
            }
        }
        Ok(())
    }

    fn check_files(&self) -> Result<(), BadStart> {
        let mut paths = BTreeSet::new();
        for file in &self.files {
            check_path(&file.path)?;
            if file.mode & !0o777 != 0 {
                return Err(bad("the file", &file.path, "has a mode of more than nine bits"));
            }
            if !paths.insert(&file.path[..]) {
                return Err(bad("the file", &file.path, "stands twice"));
            }
        }
        let is_folder_too = |path: &&[u8]| {
            let mut folders =
                path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| &path[..at]);
            folders.any(|folder| paths.contains(folder))
        };
        match paths.iter().find(|path| is_folder_too(path)) {
            Some(path) => Err(bad("the file", path, "lies in another file")),
            None => Ok(()),
        }
    }
}

/// Whether a path stays in the folder that it begins in: names with `/` between them, none of them `.` or `..`, of bounded lengths. Whether a
/// name is a link that leads elsewhere is seen only where it lies.
///
/// # Errors
/// What is wrong, in words.
pub fn check_path(path: &[u8]) -> Result<(), BadStart> {
    let wrong = match path {
        [] => "is empty",
        _ if path.len() > MAX_PATH_BYTES => "is too long",
        [b'/', ..] => "begins at the root",
        _ if path.contains(&0) => "has a zero byte",
        _ => {
            let mut wrong = path.split(|byte| *byte == b'/').filter_map(|name| match name {
                [] => Some("has an empty name"),
                b"." | b".." => Some("has a name that means another folder"),
                _ if name.len() > MAX_PATH_NAME_BYTES => Some("has a name that is too long"),
                _ => None,
            });
            match wrong.next() {
                Some(wrong) => wrong,
                None => return Ok(()),
            }
        }
    };
    Err(bad("the path", path, wrong))
}

fn bad(what: &str, value: &[u8], wrong: &str) -> BadStart {
    let shown = String::from_utf8_lossy(&value[..value.len().min(200)]);
    BadStart(format!("{what} {shown:?} {wrong}"))
}

impl fmt::Display for BadStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for BadStart {}

fn count(list: usize) -> u32 {
    u32::try_from(list).expect("a list within its limit")
}

impl Encode for Start {
    fn encode(&self, sink: &mut impl Sink) {
        sink.counted(self.name.as_bytes());
        match &self.program {
            Program::Path(path) => {
                sink.u8(0);
                sink.counted(path);
            }
            Program::File(path) => {
                sink.u8(1);
                sink.counted(path);
            }
        }
        match &self.directory {
            Directory::Folder => sink.u8(0),
            Directory::Path(path) => {
                sink.u8(1);
                sink.counted(path);
            }
        }
        sink.u32(count(self.arguments.len()));
        self.arguments.iter().for_each(|argument| sink.counted(argument));
        sink.u32(count(self.environment.len()));
        for (name, value) in &self.environment {
            sink.counted(name);
            sink.counted(value);
        }
        sink.u32(count(self.files.len()));
        for file in &self.files {
            sink.counted(&file.path);
            sink.bytes(&file.hash.0);
            sink.u16(file.mode);
        }
    }
}

impl Decode<'_> for Start {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let name = reader.text("name", MAX_NAME_BYTES)?.to_owned();
        let program = match reader.u8()? {
            0 => Program::Path(path(reader)?),
            1 => Program::File(path(reader)?),
            other => return Err(reader.invalid("kind of program", other, 1)),
        };
        let directory = match reader.u8()? {
            0 => Directory::Folder,
            1 => Directory::Path(path(reader)?),
            other => return Err(reader.invalid("kind of directory", other, 1)),
        };
        // Nothing is made room for before it is there.
        let mut start = Start { directory, ..Start::new(name, program) };
        for _ in 0..reader.length("number of arguments", MAX_WORDS)? {
            start.arguments.push(reader.counted("argument", MAX_WORD_BYTES)?.to_vec());
        }
        for _ in 0..reader.length("number of variables", MAX_WORDS)? {
            let name = reader.counted("name of a variable", MAX_WORD_BYTES)?.to_vec();
            let value = reader.counted("value of a variable", MAX_WORD_BYTES - name.len())?.to_vec();
            start.environment.push((name, value));
        }
        for _ in 0..reader.length("number of files", MAX_FILES)? {
            let (path, hash) = (path(reader)?, FileHash(reader.array()?));
            start.files.push(JobFile { path, hash, mode: reader.u16()? });
        }
        Ok(start)
    }
}

fn path(reader: &mut Reader<'_>) -> Result<Vec<u8>, DecodeError> {
    Ok(reader.counted("path", MAX_PATH_BYTES)?.to_vec())
}
