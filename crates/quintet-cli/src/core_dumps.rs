//! Core dumps of processes that hold keys: none, unless they are asked for.
//!
//! What a process that crashes leaves on the disk is its memory, with the keys that it had, for whoever may read the file: on many systems that
//! is another program, which sends it elsewhere. The system writes none of a process that says so, and lets no other process of
//! the same user read its memory either. Programs that it starts are as they are without it.

use quintet::{Code, Error};
use quintet_settings::{CLUSTER_CORE_DUMPS, Settings, Sources};
use rustix::process::{DumpableBehavior, getuid, set_dumpable_behavior};

/// Has the system write no core dump of this process, unless the setting `cluster.core_dumps` says otherwise.
///
/// # Errors
/// [`Code::Resource`]: the system refuses.
pub(crate) fn forbid() -> Result<(), Error> {
    // Settings that cannot be read ask for nothing; the command that reads them itself says what is wrong with them.
    let settings = Settings::load(&Sources::of_this_process(Vec::new(), getuid().as_raw()));
    if settings.is_ok_and(|settings| settings.switch(&CLUSTER_CORE_DUMPS)) {
        return Ok(());
    }
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(|errno| {
        Error::new(Code::Resource, format!("have the system write no core dump of this process: {errno}"))
    })
}
