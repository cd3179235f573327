//! What workers on other machines need of a job's program.

use super::display::Printer;
use crate::python::is_script;
use bytes::Bytes;
use quintet::{Code, Error};
use quintet_agent::hash;
use quintet_launch::JobFile;
use quintet_launch::limits::{MAX_FILE_BYTES, MAX_FILES};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Bytes of modules that go along with a script, at most: a folder of data beside it does not.
const MAX_BYTES: u64 = 64 << 20;
/// What makes a folder a package of Python.
const PACKAGE: &str = "__init__.py";

/// A file of a job, and what it holds.
pub(super) type Sent = (JobFile, Bytes);

/// The program, where workers are programs themselves; a Python script, the modules that lie beside it, and those of packages there.
/// A program that is found in PATH is that of the other machine.
///
/// # Errors
/// A file cannot be read, or they are too many or too large.
pub(super) fn files(program: &Path, own_workers: bool, printer: &Printer) -> Result<Vec<Sent>, Error> {
    let mut paths = Vec::new();
    let is_here = program.components().count() > 1 || program.is_file();
    if is_script(program) || own_workers && is_here {
        paths.push(program.file_name().map(PathBuf::from).unwrap_or_default());
    }
    let beside = program.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if is_script(program) {
        find_modules(beside, Path::new(""), &mut paths)?;
    }
    paths.sort();
    paths.dedup();
    if paths.len() > MAX_FILES {
        return Err(too_large(beside, &format!("more than {MAX_FILES} files")));
    }
    let mut left = if is_script(program) { MAX_BYTES } else { MAX_FILE_BYTES as u64 };
    let mut files = Vec::with_capacity(paths.len());
    for path in paths {
        match read(beside, &path, &mut left) {
            Ok(sent) => files.push(sent),
            Err(error) if beside.join(&path) == program || error.code() != Code::BadFile => {
                return Err(error);
            }
            // Python would not read it either.
            Err(error) => printer.say(&format!("{}; it is not sent", error.text())),
        }
    }
    Ok(files)
}

/// Adds the modules below `within` of a script's folder: those of the folder itself, and of packages in it.
fn find_modules(beside: &Path, within: &Path, paths: &mut Vec<PathBuf>) -> Result<(), Error> {
    let found = std::fs::read_dir(beside.join(within))
        .map_err(crate::connection::refused("look for modules beside the script"))?;
    for entry in found.flatten() {
        let (path, inside) = (entry.path(), within.join(entry.file_name()));
        if is_script(&path) && path.is_file() {
            paths.push(inside);
        } else if paths.len() <= MAX_FILES
            // A link may lead in a circle.
            && entry.file_type().is_ok_and(|kind| kind.is_dir())
            && path.join(PACKAGE).is_file()
        {
            find_modules(beside, &inside, paths)?;
        }
    }
    Ok(())
}

fn read(beside: &Path, path: &Path, left: &mut u64) -> Result<Sent, Error> {
    let place = beside.join(path);
    let refused = |error: std::io::Error| {
        let text = format!("{}, which workers on other machines need: {error}", place.display());
        Error::new(Code::BadFile, text)
    };
    let found = place.metadata().map_err(refused)?;
    let limit = if is_script(path) { MAX_BYTES } else { MAX_FILE_BYTES as u64 };
    let size = left.checked_sub(found.len());
    *left = size.ok_or_else(|| too_large(beside, &format!("more than {} MiB", limit >> 20)))?;
    let contents = Bytes::from(std::fs::read(&place).map_err(refused)?);
    let mode = (found.permissions().mode() & 0o777) as u16;
    Ok((JobFile { path: path.as_os_str().as_bytes().to_vec(), hash: hash(&contents), mode }, contents))
}

fn too_large(beside: &Path, what: &str) -> Error {
    let text = format!(
        "the program, and the modules and packages beside it in {}, have {what}, which is more than is sent to other machines: move \
         what the job does not need elsewhere",
        beside.display()
    );
    Error::new(Code::TooLarge, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_testbed::TempDir;
    use std::fs;
    use std::sync::mpsc::channel;

    fn sent(program: &Path, own_workers: bool) -> Result<Vec<String>, Error> {
        let sent = files(program, own_workers, &Printer::new(true, channel().0))?;
        Ok(sent.iter().map(|(file, _)| String::from_utf8_lossy(&file.path).into_owned()).collect())
    }

    #[test]
    fn a_script_goes_with_the_modules_and_packages_beside_it() {
        let folder = TempDir::new().unwrap();
        for path in ["package/below", "data", "package/data"] {
            fs::create_dir_all(folder.join(path)).unwrap();
        }
        let modules = [
            "job.py",
            "a module.py",
            "package/__init__.py",
            "package/below/__init__.py",
            "package/below/x.py",
        ];
        for path in modules.iter().chain(&["notes.txt", "data/other.py", "package/data/other.py"]) {
            fs::write(folder.join(path), path).unwrap();
        }
        std::os::unix::fs::symlink(folder.path(), folder.join("package/circle")).unwrap();
        let mut expected = modules;
        expected.sort();
        assert_eq!(sent(&folder.join("job.py"), false).unwrap(), expected);
    }

    #[test]
    fn a_program_goes_where_workers_are_programs() {
        let folder = TempDir::new().unwrap();
        fs::write(folder.join("a.out"), "").unwrap();
        assert_eq!(sent(&folder.join("a.out"), true).unwrap(), ["a.out"]);
        assert_eq!(sent(&folder.join("a.out"), false).unwrap(), [""; 0]);
        assert_eq!(sent(Path::new("a program in PATH"), true).unwrap(), [""; 0]);
        assert_eq!(sent(&folder.join("none"), true).unwrap_err().code(), Code::BadFile);
    }

    #[test]
    fn what_is_too_large_is_not_sent() {
        let folder = TempDir::new().unwrap();
        fs::write(folder.join("job.py"), "").unwrap();
        fs::File::create(folder.join("large.py")).unwrap().set_len(MAX_BYTES).unwrap();
        assert_eq!(sent(&folder.join("job.py"), false).unwrap().len(), 2);
        fs::write(folder.join("job.py"), "#").unwrap();
        let error = sent(&folder.join("job.py"), false).unwrap_err();
        assert!(error.code() == Code::TooLarge && error.text().contains("more than 64 MiB"), "{error}");
    }
}
