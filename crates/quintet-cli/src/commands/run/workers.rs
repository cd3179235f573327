//! Who the workers of a job are: Python's, or the program itself.

use crate::python::is_script;
use clap::ValueEnum;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// What every executable of Linux begins with.
const EXECUTABLE: &[u8] = b"\x7fELF";
/// Stands in every program that asks for its rank: in Rust as a mark (`quintet::Job`), in C as the name of the function.
const ASKS_FOR_ITS_RANK: &[u8] = b"quintet_job_rank\0";
/// Bytes that are looked at together.
const PIECE: usize = 1 << 20;

/// Who the workers are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum Workers {
    /// `PYTHON -m quintet.worker`: they do the tasks of executors and joblib
    Python,
    /// The program itself, with QUINTET_RANK set
    Program,
}

impl Workers {
    /// Those of a job that names none.
    pub(super) fn of(program: &OsStr) -> Workers {
        let path = Path::new(program);
        // What cannot be read cannot be started either, or is no program that was made with the library.
        match !is_script(path) && asks_for_its_rank(path).unwrap_or(false) {
            true => Workers::Program,
            false => Workers::Python,
        }
    }
}

/// Whether this is an executable that asks for its rank.
fn asks_for_its_rank(path: &Path) -> io::Result<bool> {
    let mut file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return Ok(false);
    }
    let mut start = [0; EXECUTABLE.len()];
    file.read_exact(&mut start)?;
    Ok(start == EXECUTABLE && contains(file, ASKS_FOR_ITS_RANK)?)
}

fn contains(mut file: impl Read, wanted: &[u8]) -> io::Result<bool> {
    let mut seen = Vec::with_capacity(PIECE + wanted.len());
    loop {
        // What may be the beginning of a match stays.
        seen.drain(..seen.len().saturating_sub(wanted.len() - 1));
        let count = file.by_ref().take(PIECE as u64).read_to_end(&mut seen)?;
        if seen.windows(wanted.len()).any(|window| window == wanted) {
            return Ok(true);
        }
        if count == 0 {
            return Ok(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_testbed::TempDir;

    fn workers(name: &str, content: &[u8]) -> Workers {
        let folder = TempDir::new().expect("a temporary directory");
        let path = folder.join(name);
        std::fs::write(&path, content).expect("written");
        Workers::of(path.as_os_str())
    }

    #[test]
    fn a_program_that_asks_for_its_rank_is_its_own_worker() {
        let program =
            [EXECUTABLE, &vec![0; PIECE - EXECUTABLE.len() - 5], ASKS_FOR_ITS_RANK, b"..."].concat();
        assert_eq!(workers("a.out", &program), Workers::Program);
        assert_eq!(workers("a.out", &[EXECUTABLE, b"...", ASKS_FOR_ITS_RANK].concat()), Workers::Program);
    }

    #[test]
    fn everything_else_has_workers_in_python() {
        assert_eq!(
            workers("a.out", &[EXECUTABLE, b"quintet_job_ran", b"quintet_job_ranks\0"].concat()),
            Workers::Python
        );
        assert_eq!(workers("a.sh", &[b"#!/bin/sh\n", ASKS_FOR_ITS_RANK].concat()), Workers::Python);
        assert_eq!(workers("a.py", &[EXECUTABLE, ASKS_FOR_ITS_RANK].concat()), Workers::Python);
        assert_eq!(workers("short", b"\x7fE"), Workers::Python);
        assert_eq!(Workers::of("/nobody/is/here".as_ref()), Workers::Python);
        assert_eq!(Workers::of("/tmp".as_ref()), Workers::Python);
    }
}
