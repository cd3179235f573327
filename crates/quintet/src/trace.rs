//! This process's part of its job's trace: `quintet run --trace`.

use crate::stack;
use crate::{Tracer, Tuple, Value};
use quintet_messaging::Class;
use quintet_runtime::{Detail, KindNames, Slice};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The folder for the parts of the job's processes. `quintet run --trace` sets it.
const FOLDER: &str = "QUINTET_TRACE";
const RANK: &str = "QUINTET_RANK";

/// How the frames of a node are called in a trace.
pub(crate) const NAMES: KindNames =
    KindNames { name: stack::kind_name, is_answered: |kind| stack::class(kind) == Class::Request };

/// The part of this process, and whose that is: one that was forked from it begins another.
static OF_THIS_PROCESS: Mutex<Option<(u32, Option<Tracer>)>> = Mutex::new(None);

/// This process's part, if its job is traced. Begun once.
pub(crate) fn of_this_process() -> Option<Tracer> {
    let id = std::process::id();
    let mut known = OF_THIS_PROCESS.lock().unwrap_or_else(PoisonError::into_inner);
    if known.as_ref().is_none_or(|(whose, _)| *whose != id) {
        *known = Some((id, begin(id)));
    }
    known.as_ref().and_then(|(_, tracer)| tracer.clone())
}

fn begin(id: u32) -> Option<Tracer> {
    let folder = std::env::var_os(FOLDER).filter(|folder| !folder.is_empty())?;
    let path: PathBuf = Path::new(&folder).join(format!("{id}.part"));
    let made = Tracer::create(&path, &process_name());
    made.inspect_err(|error| {
        tracing::warn!(target: "quintet::trace", %error, "{} cannot be written, and this process is not traced: {error}", path.display());
    })
    .ok()
}

/// What this process is called by its part in the job.
pub(crate) fn process_name() -> String {
    name_of(std::env::var_os(RANK), std::env::args_os().next())
}

fn name_of(rank: Option<OsString>, program: Option<OsString>) -> String {
    match rank {
        Some(rank) => format!("worker {}", rank.to_string_lossy()),
        None => {
            let program = program.unwrap_or_default();
            let name = Path::new(&program)
                .file_name()
                .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
            format!("master {name}").trim_end().to_owned()
        }
    }
}

/// A leased tuple that somebody works at.
pub(crate) fn begin_task(tracer: &Tracer, tuple: &Tuple, attempt: u32) -> Slice {
    let name = match tuple.values().first() {
        Some(Value::Text(name)) => name.to_string(),
        _ => "lease".to_owned(),
    };
    tracer.begin_task(&name, &[("attempt", Detail::Number(attempt.into()))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_called_by_its_part_in_the_job() {
        assert_eq!(name_of(Some("3".into()), Some("/usr/bin/python3".into())), "worker 3");
        assert_eq!(name_of(None, Some("/usr/bin/python3".into())), "master python3");
        assert_eq!(name_of(None, None), "master");
    }
}
