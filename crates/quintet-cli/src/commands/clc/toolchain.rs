//! The C compiler.

use super::library::Library;
use super::options::Options;
use crate::connection::refused;
use quintet::{Code, Error};
use std::cell::OnceCell;
use std::ffi::{OsStr, OsString};
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What a preprocessor may make of a source, at most.
const MAX_EXPANDED_BYTES: usize = 64 << 20;

/// A C compiler.
pub(super) struct Toolchain {
    /// Its name, and options that always go with it.
    compiler: Vec<OsString>,
    library: OnceCell<Library>,
}

impl Toolchain {
    /// The one that CC names, else `cc`.
    pub(super) fn new() -> Toolchain {
        let named = std::env::var("CC").unwrap_or_default();
        let words: Vec<OsString> = named.split_whitespace().map(OsString::from).collect();
        // A build whose C compiler this is says so to its children.
        let is_other = words.first().is_some_and(|program| !is_this(Path::new(program)));
        let compiler = if is_other { words } else { vec!["cc".into()] };
        Toolchain { compiler, library: OnceCell::new() }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.compiler[0]);
        command.args(&self.compiler[1..]);
        command
    }

    fn missing(program: &OsStr, error: &std::io::Error) -> Error {
        let program = program.to_string_lossy();
        Error::new(Code::BadFile, format!("{program} cannot be started: {error}; CC names the C compiler"))
    }

    /// Runs it; what it says goes to whoever started this. Whether it succeeded.
    fn run(mut command: Command) -> Result<bool, Error> {
        let status = command.status().map_err(|error| Self::missing(command.get_program(), &error))?;
        Ok(status.success())
    }

    /// What it makes of a source before it compiles it. `given`: what the source says, if that is no file.
    ///
    /// # Errors
    /// It cannot: then it has said why. The result is too long, or not UTF-8.
    pub(super) fn preprocess(
        &self,
        source: &Path,
        given: Option<&[u8]>,
        options: &Options,
    ) -> Result<String, Error> {
        let mut command = self.command();
        command.arg("-E").args(&options.preprocess).args(&options.compile);
        command.args(dependencies(source, options));
        // It warns when it compiles.
        command.args(["-w", "-x", "c"]).stderr(Stdio::inherit());
        match given {
            Some(content) => command.arg("-").stdin(input(content).map_err(refused("keep a source"))?),
            None => command.arg(source),
        };
        let output = command.output().map_err(|error| Self::missing(command.get_program(), &error))?;
        if !output.status.success() {
            let text = format!("{}: its preprocessing failed", source.display());
            return Err(Error::new(Code::BadFile, text));
        }
        if output.stdout.len() > MAX_EXPANDED_BYTES {
            let text = format!(
                "{}: preprocessed it has {} bytes, {MAX_EXPANDED_BYTES} is the most",
                source.display(),
                output.stdout.len()
            );
            return Err(Error::new(Code::TooLarge, text));
        }
        String::from_utf8(output.stdout).map_err(|_| {
            let text = format!(
                "{}: a file that it includes is not UTF-8; convert that, with iconv say",
                source.display()
            );
            Error::new(Code::BadFile, text)
        })
    }

    /// Compiles C that was written of `source`, or only looks for what is wrong if there is no object. False if something is.
    pub(super) fn compile(
        &self,
        source: &Path,
        written: &Path,
        object: Option<&Path>,
        headers: &Path,
        options: &Options,
    ) -> Result<bool, Error> {
        Self::run(self.compilation(source, written, object, headers, options))
    }

    fn compilation(
        &self,
        source: &Path,
        written: &Path,
        object: Option<&Path>,
        headers: &Path,
        options: &Options,
    ) -> Command {
        let beside = source.parent().filter(|folder| !folder.as_os_str().is_empty());
        let mut command = self.command();
        command.arg("-iquote").arg(beside.unwrap_or(Path::new("."))).arg("-I").arg(headers);
        command.args(&options.preprocess).args(&options.compile);
        // Those of C that was written are its source's, and told when that is preprocessed.
        if source == written {
            command.args(dependencies(source, options));
        }
        match object {
            Some(object) => command.arg("-c").arg("-o").arg(object),
            None => command.arg("-fsyntax-only"),
        };
        command.args(["-x", "c"]).arg(written);
        command
    }

    /// Looks for what is wrong with C that was written of `source`, and gives what the compiler says, in English; whether it succeeded.
    pub(super) fn look_for_mistakes(
        &self,
        source: &Path,
        written: &Path,
        headers: &Path,
        options: &Options,
    ) -> Result<(bool, String), Error> {
        let mut command = self.compilation(source, written, None, headers, options);
        command.env("LC_ALL", "C").stdout(Stdio::inherit());
        let output = command.output().map_err(|error| Self::missing(command.get_program(), &error))?;
        Ok((output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned()))
    }

    /// Compiles a file of the run-time.
    pub(super) fn compile_runtime(&self, file: &Path, object: &Path) -> Result<(), Error> {
        let mut command = self.command();
        command.args(["-std=gnu11", "-O2", "-c", "-o"]).arg(object).args(&self.library()?.compile).arg(file);
        match Self::run(command)? {
            true => Ok(()),
            false => Err(Error::new(
                Code::Mismatch,
                "the run-time of C-Linda cannot be compiled: libquintet's header is of another version, or the C compiler older than C11",
            )),
        }
    }

    pub(super) fn archive(&self, archive: &Path, objects: &[PathBuf]) -> Result<(), Error> {
        let mut command = Command::new("ar");
        command.arg("rcs").arg(archive).args(objects);
        match Self::run(command)? {
            true => Ok(()),
            false => Err(Error::new(Code::Resource, "ar makes no archive of the run-time")),
        }
    }

    /// Makes a program. False if that fails.
    pub(super) fn link(
        &self,
        objects: &[PathBuf],
        archive: &Path,
        output: &Path,
        options: &Options,
    ) -> Result<bool, Error> {
        let mut command = self.command();
        command.args(&options.compile).arg("-o").arg(output).args(objects).arg(archive);
        command.args(&options.link).args(&self.library()?.link).arg("-pthread");
        Self::run(command)
    }

    /// Looked for once, and only where it is needed.
    fn library(&self) -> Result<&Library, Error> {
        if let Some(library) = self.library.get() {
            return Ok(library);
        }
        let found = Library::find()?;
        Ok(self.library.get_or_init(|| found))
    }
}

/// A standard input that says this.
fn input(content: &[u8]) -> std::io::Result<Stdio> {
    let mut file = tempfile::tempfile()?;
    file.write_all(content)?;
    file.rewind()?;
    Ok(file.into())
}

/// Whether a name is that of this very program.
fn is_this(program: &Path) -> bool {
    let this = std::env::current_exe().ok().and_then(|path| path.canonicalize().ok());
    let is_same = |path: &Path| path.canonicalize().ok().is_some_and(|path| Some(path) == this);
    match program.components().count() {
        1 => this.as_deref().and_then(Path::file_name) == program.file_name(),
        _ => is_same(program),
    }
}

/// The options for dependencies of a source: where they are written, and of what they are those, unless that is said.
fn dependencies(source: &Path, options: &Options) -> Vec<OsString> {
    let mut all = options.dependencies.clone();
    if !options.has_dependencies() {
        return all;
    }
    let name = Path::new(source.file_name().unwrap_or_default());
    let made = options.output.clone().unwrap_or_else(|| name.with_extension("o"));
    if !options.says("-MF") {
        // A file for each source, where they are made into one.
        let beside = match &options.output {
            Some(output) if options.compiled().count() > 1 => {
                let mut both = output.file_stem().unwrap_or_default().to_owned();
                both.push("-");
                both.push(name);
                output.with_file_name(both)
            }
            _ => made.clone(),
        };
        all.extend(["-MF".into(), beside.with_extension("d").into()]);
    }
    if !options.says("-MT") && !options.says("-MQ") {
        all.extend(["-MT".into(), made.into()]);
    }
    all
}
