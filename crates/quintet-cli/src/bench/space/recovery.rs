//! How long a space with a log takes from its start until it answers.

use super::super::case::{Beside, Better, Case, Group, Prepare, Unit};
use super::super::link::Over;
use super::served::{Served, serve};
use crate::connection::refused;
use quintet::{Code, Error, Lab, Space, template, tuple};
use rustix::fs::{Advice, fadvise};
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const TUPLES: i64 = 1_000_000;
/// Tuples of one request, which is one record of the log.
const TOGETHER: i64 = 100;
/// Bytes that the limit reads at a time, as a log is read.
const PIECE: usize = 1 << 20;
const LEASE: Duration = Duration::from_secs(10);
/// The file in the folder of a log.
const LOG: &str = "space.log";

pub(super) fn cases() -> Vec<Case> {
    let limit: Prepare = || {
        let log = StoredLog::new(TUPLES)?;
        Ok(Box::new(move || log.time_reading()))
    };
    let prepare: Prepare = || {
        let log = StoredLog::new(TUPLES)?;
        Ok(Box::new(move || log.time_start()))
    };
    vec![
        Case::new(Group::Space, "recovery-1e6", Unit::Nanoseconds, Better::Lower, prepare)
            .beside(Beside::Itself { name: "reading its log", prepare: limit })
            .on_all_processors(),
    ]
}

/// The log of a space that was killed, beside a folder where servers begin with a copy of it.
struct StoredLog {
    folder: TempDir,
    tuples: i64,
}

impl StoredLog {
    /// So many tuples of a name, a number and 64 bytes, put a hundred at a time.
    fn new(tuples: i64) -> Result<StoredLog, Error> {
        let served = Served::start_logged()?;
        let space = served.connect()?;
        for first in (0..tuples).step_by(TOGETHER as usize) {
            let numbers = first..(first + TOGETHER).min(tuples);
            let some: Vec<_> = numbers.map(|number| tuple!["stored", number, &[7u8; 64]]).collect();
            space.out_many(&some, None)?;
        }
        drop(space);
        let folder = served.kill();
        let kept = folder.path().join("kept");
        fs::rename(folder.path().join("log").join(LOG), &kept).map_err(refused("keep the log"))?;
        Ok(StoredLog { folder, tuples })
    }

    /// From the start of a server with this log, of which nothing is in memory, to its first answer.
    fn time_start(&self) -> Result<f64, Error> {
        let path = self.folder.path();
        let log = path.join("log");
        fs::copy(path.join("kept"), log.join(LOG)).map_err(refused("copy the log"))?;
        forget(&log.join(LOG))?;
        let started = Instant::now();
        let more = ["--policy=logged".into(), "--log-dir".into(), log.into()];
        let (_server, address) = serve(&Over::Unix.address(path), more)?;
        let space = Lab::connect(address, 0, LEASE)?.space();
        let first = space.read_if(&template!["stored", self.tuples - 1, ?[u8]])?;
        let taken = started.elapsed();
        self.check(&space, first.is_some())?;
        Ok(taken.as_nanos() as f64)
    }

    fn check(&self, space: &Space, is_there: bool) -> Result<(), Error> {
        let held = space.status()?.tuples;
        if is_there && held == self.tuples.unsigned_abs() {
            return Ok(());
        }
        Err(Error::new(
            Code::Mismatch,
            format!("the space came back with {held} tuples, not {}", self.tuples),
        ))
    }

    /// What the disk takes for the same bytes.
    fn time_reading(&self) -> Result<f64, Error> {
        let kept = self.folder.path().join("kept");
        forget(&kept)?;
        let (mut piece, started) = (vec![0; PIECE], Instant::now());
        let mut file = File::open(kept).map_err(refused("read the log"))?;
        while file.read(&mut piece).map_err(refused("read the log"))? > 0 {}
        Ok(started.elapsed().as_nanos() as f64)
    }
}

/// Has the system forget what it has of a file in memory.
fn forget(path: &Path) -> Result<(), Error> {
    let file = File::open(path).map_err(refused("open the log"))?;
    file.sync_all().map_err(refused("sync the log"))?;
    fadvise(&file, 0, None, Advice::DontNeed).map_err(|errno| refused("forget the log")(errno.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_forgotten_is_there_still() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("kept");
        fs::write(&path, [1; 3 * PIECE / 2]).expect("it is written");
        let log = StoredLog { folder, tuples: 0 };
        assert!(log.time_reading().expect("it is read") > 0.);
        assert_eq!(fs::read(path).expect("it is there").len(), 3 * PIECE / 2);
    }
}
