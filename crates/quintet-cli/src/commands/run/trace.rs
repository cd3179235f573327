//! `--trace` and `--histograms`: each process of the job writes its part, and in the end they are put together.
//!
//! Histograms stay apart, a file a process. All processes of a machine read one clock; those of other machines are moved to this one's
//! (`docs/design/0033-traces-of-several-machines.md`).
//!
//! | file | holds |
//! | --- | --- |
//! | `trace/gathering.rs` | fetches what processes on other machines left |
//! | `trace/alignment.rs` | how far their clocks are off, from frames alone |

mod alignment;
mod gathering;

pub(super) use gathering::{Gathered, gather};

use crate::connection::refused;
use crate::output::tell;
use crate::whole_file;
use alignment::Alignment;
use quintet::{Code, Error, Tracer};
use quintet_perfetto::{BadPart, Moment, Move, moments, moved, whole_packets};
use std::fs;
use std::io::Write;
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

/// The part of the process that serves the space, with which all others speak.
const OF_THE_SPACE: &str = "space.part";
/// Parts of other machines have sequences from here on: those of this one have the numbers of their processes.
const SEQUENCES: u32 = 1 << 23;

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
            Tracer::create(&folder.join(OF_THE_SPACE), "space").map_err(refused("begin the trace"))?;
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

    /// Puts the parts together, with those of other machines. One that ends in the middle of a packet is of a process that was killed then.
    ///
    /// # Errors
    /// A part cannot be read, or the file cannot be written.
    pub(super) fn finish(self, there: &[Gathered]) -> Result<(), Error> {
        let unreadable = |error: std::io::Error| {
            Error::new(Code::Resource, format!("{} cannot be put together: {error}", self.file.display()))
        };
        let entries = fs::read_dir(&self.folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let mut parts: Vec<PathBuf> = entries.map_err(unreadable)?.iter().map(fs::DirEntry::path).collect();
        parts.sort();
        let here = match there.iter().any(|machine| !machine.parts.is_empty()) {
            true => fs::read(self.folder.join(OF_THE_SPACE)).map_err(unreadable)?,
            false => Vec::new(),
        };
        let here = moments(&here).unwrap_or_default();
        whole_file::write(&self.file, |to| {
            let failed = |error: std::io::Error| whole_file::refused(&self.file, &error);
            for part in &parts {
                let part = fs::read(part).map_err(unreadable)?;
                to.write_all(whole_packets(&part)).map_err(failed)?;
            }
            let mut sequences = SEQUENCES..;
            for (number, machine) in (1..).zip(there) {
                let parts =
                    machine.parts.iter().map(fs::read).collect::<Result<Vec<_>, _>>().map_err(unreadable)?;
                add(to, &here, (number, machine, &parts), &mut sequences).map_err(failed)?;
            }
            Ok(())
        })
    }
}

/// Adds the parts of another machine, by the clock of this one, and says how well that is known.
fn add(
    to: &mut dyn Write,
    here: &[Moment],
    (number, machine, parts): (u16, &Gathered, &[Vec<u8>]),
    sequences: &mut impl Iterator<Item = u32>,
) -> std::io::Result<()> {
    let name = &machine.machine;
    if parts.is_empty() {
        return Ok(());
    }
    let there: Result<Vec<Vec<Moment>>, BadPart> = parts.iter().map(|part| moments(part)).collect();
    let Ok(there) = there.map(|moments| moments.concat()) else {
        tell(format!("the trace lacks {name}: what its processes left is no part of a trace"));
        return Ok(());
    };
    let Some(alignment) = Alignment::of(here, &there) else {
        tell(format!("the trace lacks {name}: too few frames went to it and back to know its clock"));
        return Ok(());
    };
    let within = format!("{:.3} ms", alignment.error_ns as f64 / 1e6);
    tell(match alignment.is_even {
        true => format!("the trace shows {name} by this machine's clock, right within {within}"),
        false => format!(
            "the trace shows {name} by this machine's clock; one of the two did not run evenly, and it is off by {within} or more"
        ),
    });
    let suffix = format!(" on {name} (within {within})");
    let time = |at| alignment.here(at);
    for (part, sequence) in parts.iter().zip(sequences) {
        let how = Move { time: &time, machine: number, sequence, suffix: &suffix };
        // It was read as one before.
        to.write_all(&moved(part, &how).unwrap_or_default())?;
    }
    Ok(())
}
