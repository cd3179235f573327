//! What workers on other machines need of a job's program.

use super::display::Printer;
use crate::python::is_script;
use bytes::Bytes;
use quintet::{Code, Error};
use quintet_agent::hash;
use quintet_launch::JobFile;
use quintet_launch::limits::{MAX_FILE_BYTES, MAX_FILES};
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

/// Bytes of modules that go along with a script, at most: a folder of data beside it does not.
const MAX_BYTES: u64 = 64 << 20;
/// Bytes of files that are named, at most: they are kept in memory until they are sent.
const MAX_NAMED_BYTES: u64 = MAX_FILE_BYTES as u64;
/// How many files are named where it is said what goes along.
const SHOWN: usize = 3;
/// What makes a folder a package of Python.
const PACKAGE: &str = "__init__.py";

/// A file of a job, and what it holds.
pub(super) type Sent = (JobFile, Bytes);

/// What workers elsewhere need: the files of the program, and those that are `named`, files or folders.
///
/// # Errors
/// A file cannot be read, they are too many or too large, or two would lie at one place.
pub(super) fn files(
    program: &Path,
    own_workers: bool,
    named: &[PathBuf],
    printer: &Printer,
) -> Result<Vec<Sent>, Error> {
    let mut files = program_files(program, own_workers, printer)?;
    let mut left = MAX_NAMED_BYTES;
    for (place, source) in places(named)? {
        let sent = read(&source, &place, &mut left, MAX_NAMED_BYTES)?;
        match files.iter().find(|(file, _)| file.path == sent.0.path) {
            None => files.push(sent),
            Some((file, _)) if file.hash == sent.0.hash => {}
            Some(_) => return Err(taken(&place)),
        }
    }
    if files.len() > MAX_FILES {
        return Err(Error::new(
            Code::TooLarge,
            format!("more than {MAX_FILES} files would be sent to other machines"),
        ));
    }
    Ok(files)
}

/// What goes along, in words.
pub(super) fn in_words(files: &[Sent]) -> String {
    let bytes: usize = files.iter().map(|(_, contents)| contents.len()).sum();
    let size = match bytes {
        0..0x2800 => format!("{bytes} bytes"),
        0x2800..0xa0_0000 => format!("{} KiB", bytes >> 10),
        _ => format!("{} MiB", bytes >> 20),
    };
    let names: Vec<_> =
        files.iter().take(SHOWN).map(|(file, _)| String::from_utf8_lossy(&file.path)).collect();
    let more = files.len().saturating_sub(SHOWN);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("{}{more} ({size})", names.join(", "))
}

/// Where files that are named lie in the job's folder: at their path where that goes down from here, else by their names; and where they lie here.
fn places(named: &[PathBuf]) -> Result<BTreeMap<PathBuf, PathBuf>, Error> {
    let mut places = BTreeMap::new();
    for path in named {
        let goes_down =
            path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        let place: PathBuf = match (goes_down, path.file_name()) {
            (true, _) => path.components().filter(|part| *part != Component::CurDir).collect(),
            (false, Some(name)) => name.into(),
            (false, None) => return Err(unreadable(path, "it has no name")),
        };
        find_files(&place, path, &mut places)?;
    }
    Ok(places)
}

/// A file, or all files of a folder.
fn find_files(place: &Path, source: &Path, places: &mut BTreeMap<PathBuf, PathBuf>) -> Result<(), Error> {
    if !source.metadata().map_err(|error| unreadable(source, error))?.is_dir() {
        return match places.insert(place.to_owned(), source.to_owned()) {
            Some(other) if other != source => Err(taken(place)),
            _ => Ok(()),
        };
    }
    for entry in std::fs::read_dir(source).map_err(|error| unreadable(source, error))? {
        let entry = entry.map_err(|error| unreadable(source, error))?;
        let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
        // A link to a folder may lead in a circle.
        if places.len() <= MAX_FILES && !(is_link && entry.path().is_dir()) {
            find_files(&place.join(entry.file_name()), &entry.path(), places)?;
        }
    }
    Ok(())
}

fn taken(place: &Path) -> Error {
    let text = format!("--file: two files would lie at {} in the job's folder", place.display());
    Error::new(Code::BadValue, text)
}

fn unreadable(path: &Path, error: impl std::fmt::Display) -> Error {
    Error::new(Code::BadFile, format!("{}, which workers on other machines need: {error}", path.display()))
}

/// The program, where workers are programs themselves; a Python script, the modules that lie beside it, and those of packages there.
/// A program that is found in PATH is that of the other machine.
fn program_files(program: &Path, own_workers: bool, printer: &Printer) -> Result<Vec<Sent>, Error> {
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
    let most = if is_script(program) { MAX_BYTES } else { MAX_FILE_BYTES as u64 };
    let mut left = most;
    let mut files = Vec::with_capacity(paths.len());
    for path in paths {
        match read(&beside.join(&path), &path, &mut left, most) {
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

/// The file at `source`, which is to lie at `place`. `left`: bytes that may be sent still, of so many at most.
fn read(source: &Path, place: &Path, left: &mut u64, most: u64) -> Result<Sent, Error> {
    let refused = |error: std::io::Error| unreadable(source, error);
    let found = source.metadata().map_err(refused)?;
    let folder = source.parent().unwrap_or(Path::new("."));
    let size = left.checked_sub(found.len());
    *left = size.ok_or_else(|| too_large(folder, &format!("more than {} MiB", most >> 20)))?;
    let contents = Bytes::from(std::fs::read(source).map_err(refused)?);
    let mode = (found.permissions().mode() & 0o777) as u16;
    Ok((JobFile { path: place.as_os_str().as_bytes().to_vec(), hash: hash(&contents), mode }, contents))
}

fn too_large(beside: &Path, what: &str) -> Error {
    let text = format!(
        "what is to be sent to other machines of {} has {what}, which is too much: move what the job does not need elsewhere",
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
        sent_with(program, own_workers, &[])
    }

    fn sent_with(program: &Path, own_workers: bool, named: &[PathBuf]) -> Result<Vec<String>, Error> {
        let sent = files(program, own_workers, named, &Printer::new(true, channel().0))?;
        Ok(sent.iter().map(|(file, _)| String::from_utf8_lossy(&file.path).into_owned()).collect())
    }

    #[test]
    fn files_that_are_named_go_along_and_lie_where_they_are_found_from_the_workers_folder() {
        let folder = TempDir::new().unwrap();
        fs::create_dir_all(folder.join("data/deep")).unwrap();
        for path in ["job.py", "data/a.csv", "data/deep/b.csv"] {
            fs::write(folder.join(path), path).unwrap();
        }
        std::os::unix::fs::symlink(folder.path(), folder.join("data/circle")).unwrap();
        let (script, data) = (folder.join("job.py"), folder.join("data"));
        let all = ["job.py", "data/a.csv", "data/deep/b.csv"];
        assert_eq!(sent_with(&script, false, &[data.clone(), script.clone()]).unwrap(), all);
        assert_eq!(sent_with(&script, false, &[data.join("a.csv")]).unwrap(), ["job.py", "a.csv"]);
        fs::write(folder.join("data/job.py"), "another").unwrap();
        let error = sent_with(&script, false, &[folder.join("data/job.py")]).unwrap_err();
        assert!(error.text().contains("two files would lie at job.py"), "{error}");
        let error = sent_with(&script, false, &[folder.join("none")]).unwrap_err();
        assert_eq!(error.code(), Code::BadFile);
        let below = places(&[PathBuf::from("./src/main.rs")]).unwrap();
        assert_eq!(below.into_keys().collect::<Vec<_>>(), [PathBuf::from("src/main.rs")]);
    }

    #[test]
    fn what_goes_along_is_said_with_its_size() {
        let file = |path: &str, bytes: usize| {
            let contents = Bytes::from(vec![0; bytes]);
            (JobFile { path: path.into(), hash: hash(&contents), mode: 0o600 }, contents)
        };
        assert_eq!(in_words(&[file("a", 10), file("b", 1)]), "a, b (11 bytes)");
        let files = [file("a", 9 << 20), file("b", 3 << 20), file("c", 0), file("d", 0), file("e", 0)];
        assert_eq!(in_words(&files), "a, b, c and 2 more (12 MiB)");
        assert_eq!(in_words(&files[1..2]), "b (3072 KiB)");
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
