//! `--trace` and `--histograms`: each process of the job on this machine writes its part, and in the end they are put together.
//!
//! Histograms stay apart, a file a process. All processes of a machine read one clock. Those of other machines are not traced: their clocks are not known well enough to say what came first.

use crate::connection::refused;
use crate::whole_file;
use quintet::{Code, Error, Tracer};
use quintet_perfetto::whole_packets;
use std::fs;
use std::path::{Path, PathBuf};

/// The folder for histograms, as it can be named in any other; made if it is not there.
///
/// # Errors
/// The system refuses it.
pub(super) fn histograms(folder: &Path) -> Result<PathBuf, Error> {
    fs::create_dir_all(folder)
        .and_then(|()| fs::canonicalize(folder))
        .map_err(|error| whole_file::refused(folder, &error))
}

/// A trace that is being gathered.
pub(super) struct Trace {
    file: PathBuf,
    folder: PathBuf,
    tracer: Tracer,
}

impl Trace {
    /// Makes a place for the parts, in the job's folder, and begins that of this process, which serves the space.
    ///
    /// # Errors
    /// There is no folder for the trace, so that the job need not end for that to be known; or the system refuses.
    pub(super) fn begin(file: &Path, job: &Path) -> Result<Trace, Error> {
        let beside = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        if beside.is_some_and(|folder| !folder.is_dir()) {
            return Err(whole_file::refused(file, &"there is no such folder"));
        }
        let folder = job.join("trace");
        fs::create_dir(&folder).map_err(refused("make a folder for the trace"))?;
        let tracer =
            Tracer::create(&folder.join("space.part"), "space").map_err(refused("begin the trace"))?;
        Ok(Trace { file: file.to_owned(), folder, tracer })
    }

    /// The part of this process.
    pub(super) fn tracer(&self) -> Tracer {
        self.tracer.clone()
    }

    /// Where the others leave theirs.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Puts the parts together. One that ends in the middle of a packet is of a process that was killed then.
    ///
    /// # Errors
    /// A part cannot be read, or the file cannot be written.
    pub(super) fn finish(self) -> Result<(), Error> {
        let unreadable = |error: std::io::Error| {
            Error::new(Code::Resource, format!("{} cannot be put together: {error}", self.file.display()))
        };
        let entries = fs::read_dir(&self.folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let mut parts: Vec<PathBuf> = entries.map_err(unreadable)?.iter().map(fs::DirEntry::path).collect();
        parts.sort();
        whole_file::write(&self.file, |to| {
            for part in &parts {
                let part = fs::read(part).map_err(unreadable)?;
                to.write_all(whole_packets(&part))
                    .map_err(|error| whole_file::refused(&self.file, &error))?;
            }
            Ok(())
        })
    }
}
