//! What processes of a job leave on another machine for `--trace` and `--histograms`, in a folder within the job's.

use super::Machine;
use std::io::{Write, sink};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The folder, within the job's.
const FOLDER: &str = "quintet-parts";
/// Bytes of all names.
const MAX_LIST: u64 = 1 << 20;
/// Bytes of one file: a part of a trace has 64 MiB and a little more at most.
const MAX_FILE: u64 = 256 << 20;

impl Machine {
    /// Where processes there leave their parts. The folder is made when it is first asked for; if it cannot be, that is said.
    pub(in super::super) fn parts(self: &Arc<Self>) -> Option<&Path> {
        let made = self.parts.get_or_init(|| {
            match self.errand("mkdir", &[b"-p", FOLDER.as_bytes()], (&mut sink(), 0)) {
                Ok(folder) => Some(folder.join(FOLDER)),
                Err(why) => {
                    let text = format!("{}: its workers are neither traced nor measured: {why}", self.name);
                    self.printer.say(&text);
                    None
                }
            }
        });
        made.as_deref()
    }

    /// Whether there is such a folder.
    pub(in super::super) fn has_parts(&self) -> bool {
        matches!(self.parts.get(), Some(Some(_)))
    }

    /// The names of those that were left, as plain as ours are: no other file is asked for.
    ///
    /// # Errors
    /// Why they cannot be learnt, in words.
    pub(in super::super) fn list_parts(self: &Arc<Self>) -> Result<Vec<String>, String> {
        let mut list = Vec::new();
        self.errand("ls", &[FOLDER.as_bytes()], (&mut list, MAX_LIST))?;
        let names = String::from_utf8_lossy(&list);
        Ok(names.lines().filter(|name| is_plain(name)).map(str::to_owned).collect())
    }

    /// Writes what the one of this name holds.
    ///
    /// # Errors
    /// Why not, in words.
    pub(in super::super) fn fetch_part(
        self: &Arc<Self>,
        name: &str,
        to: &mut dyn Write,
    ) -> Result<(), String> {
        let path: PathBuf = Path::new(FOLDER).join(name);
        self.errand("cat", &[path.as_os_str().as_bytes()], (to, MAX_FILE)).map(drop)
    }
}

fn is_plain(name: &str) -> bool {
    let is_ours = name.ends_with(".part") || name.ends_with(".hlog");
    is_ours
        && !name.starts_with(['.', '-'])
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_elsewhere_are_not_asked_for() {
        for good in ["4711.part", "worker-0-4711.hlog", "worker-0-4711-2.hlog"] {
            assert!(is_plain(good), "{good}");
        }
        for bad in ["", ".part", "../x.part", "a/b.part", "-r.part", "x", "a b.hlog", "\u{1b}[2J.part"] {
            assert!(!is_plain(bad), "{bad}");
        }
    }
}
