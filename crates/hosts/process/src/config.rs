//! What the processes of a host are made with.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// What the processes of a host are made with.
#[derive(Clone, Debug)]
pub struct Config {
    /// The folder for jobs' folders and kept files, for this user alone. It is made where it is not there, and locked while it is in use; what
    /// jobs of earlier lives have left there is removed.
    pub folder: PathBuf,
    /// The words in front of each program: a program that becomes it, and asks the kernel before to end it with the thread that started it. None:
    /// programs are started straight, and outlive this one where it is killed, unless the companion ends them.
    pub through: Vec<OsString>,
    /// The words that start the companion, to which a name and the folder of the jobs are added: a program that calls [`attend`](crate::attend) with
    /// them. None: nobody sees to the end of the processes where this program is killed.
    pub companion: Vec<OsString>,
    /// Bytes of files that are kept, besides those that jobs need.
    pub max_store_bytes: u64,
    /// How long the end of all jobs may take when the processes are dropped. What is left then, as a process may be that waits for a
    /// device, is the companion's to end.
    pub end_limit: Duration,
    /// The environment that each process has, besides what it is given.
    pub environment: Vec<(OsString, OsString)>,
}

/// Variables that a process has as this one has them.
const BASE: [&str; 5] = ["PATH", "HOME", "LANG", "USER", "TMPDIR"];

impl Config {
    /// Programs started straight, without a companion; 4 GiB of files; 10 s for the end; PATH, HOME, LANG, USER and TMPDIR as this process has them.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Config {
        let environment = BASE.iter().filter_map(|name| Some(((*name).into(), std::env::var_os(name)?)));
        Config {
            folder: folder.into(),
            through: Vec::new(),
            companion: Vec::new(),
            max_store_bytes: 4 << 30,
            end_limit: Duration::from_secs(10),
            environment: environment.collect(),
        }
    }
}
