//! A file of lines that is begun anew when it is long.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A file of lines for this user only. Longer than so many bytes it is renamed, `NAME.before`, and begun anew.
#[derive(Debug)]
pub struct LineFile {
    path: PathBuf,
    longest: u64,
    file: Option<File>,
    opened: u64,
}

impl LineFile {
    /// That of the path, which is there or is made with the first line.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>, longest: u64) -> LineFile {
        LineFile { path: path.into(), longest, file: None, opened: 0 }
    }

    /// Where the one before lies, once that was long.
    #[must_use]
    pub fn before(path: &Path) -> PathBuf {
        let mut name = OsString::from(path.as_os_str());
        name.push(".before");
        name.into()
    }

    /// The file where the next line goes, and how long it is. One that was moved away or removed meanwhile is made anew, and so is a long one.
    ///
    /// # Errors
    /// What the system said.
    pub fn open(&mut self) -> io::Result<(&File, u64)> {
        let found = self.path.metadata().ok();
        let is_same = |file: &File| {
            let ours = file.metadata().ok().map(|ours| (ours.dev(), ours.ino()));
            ours.is_some() && ours == found.as_ref().map(|found| (found.dev(), found.ino()))
        };
        if found.as_ref().is_some_and(|found| found.len() > self.longest) {
            std::fs::rename(&self.path, LineFile::before(&self.path))?;
            self.file = None;
        } else if !self.file.as_ref().is_some_and(is_same) {
            self.file = None;
        }
        let file = match self.file.take() {
            Some(file) => file,
            None => {
                self.opened += 1;
                OpenOptions::new().create(true).append(true).mode(0o600).open(&self.path)?
            }
        };
        let length = file.metadata()?.len();
        Ok((self.file.insert(file), length))
    }

    /// How often it was opened: once more when it was made anew.
    #[must_use]
    pub fn opened(&self) -> u64 {
        self.opened
    }

    /// Writes a line at its end.
    ///
    /// # Errors
    /// What the system said; a part of the line may be there.
    pub fn append(&mut self, line: &str) -> io::Result<()> {
        let (mut file, _) = self.open()?;
        file.write_all(format!("{line}\n").as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_testbed::TempDir;

    #[test]
    fn a_long_file_is_begun_anew_and_two_are_there_at_most() {
        let folder = TempDir::new().expect("a temporary directory");
        let path = folder.join("log");
        let mut file = LineFile::new(&path, 100);
        for line in 0..1000 {
            file.append(&format!("line {line}")).expect("there is room");
        }
        let read = |path: &Path| std::fs::read_to_string(path).expect("it is there");
        let both = read(&LineFile::before(&path)) + &read(&path);
        assert!(both.ends_with("line 998\nline 999\n") && both.len() <= 220, "{both}");
        let first: u32 = both.lines().next().and_then(|line| line[5..].parse().ok()).expect("a number");
        assert_eq!(both.lines().count(), 1000 - first as usize, "none is missing in between");
        assert_eq!(std::fs::read_dir(folder.path()).expect("it is there").count(), 2);
        let mode = path.metadata().expect("it is there").mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_file_that_somebody_has_moved_away_is_made_anew() {
        let folder = TempDir::new().expect("a temporary directory");
        let (path, moved) = (folder.join("log"), folder.join("moved"));
        let mut file = LineFile::new(&path, 100);
        file.append("one").expect("there is room");
        std::fs::rename(&path, &moved).expect("it is there");
        file.append("two").expect("there is room");
        std::fs::remove_file(&path).expect("it is there");
        file.append("three").expect("there is room");
        assert_eq!(std::fs::read_to_string(&path).expect("it is there"), "three\n");
        assert_eq!(std::fs::read_to_string(&moved).expect("it is there"), "one\n");
    }
}
