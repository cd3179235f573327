//! What a child does to play its part.

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

/// In the child's environment: the parent's process id.
pub(crate) const PARENT: &str = "QUINTET_TESTBED_PARENT";
/// In the child's environment: the argument of [`Program::this_test`](crate::Program::this_test).
pub(crate) const ARGUMENT: &str = "QUINTET_TESTBED_ARGUMENT";

/// Has the kernel kill this process when the thread that started it ends, even by a kill of its own. Call it first in a child that a
/// [`Program`](crate::Program) started; elsewhere it does nothing.
pub fn die_with_parent() {
    let Some(parent) = std::env::var(PARENT).ok().and_then(|id| id.parse().ok()).and_then(Pid::from_raw)
    else {
        return;
    };
    // It fails only for a signal that does not exist.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    if getppid() != Some(parent) {
        // The parent ended before the kernel knew.
        std::process::exit(1);
    }
}

/// What [`Program::this_test`](crate::Program::this_test) passed, if this process was started by it. Begin a test that
/// is also a child's main function with it; it calls [`die_with_parent`].
#[must_use]
pub fn argument() -> Option<String> {
    let argument = std::env::var(ARGUMENT).ok()?;
    die_with_parent();
    Some(argument)
}
