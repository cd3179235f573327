//! The run-time that written C calls: its files, which are compiled with every program.

/// A file of the run-time.
#[derive(Clone, Copy, Debug)]
pub struct File {
    /// Its name.
    pub name: &'static str,
    /// Its content.
    pub text: &'static str,
}

/// The header that written C includes.
pub const HEADER: File = File { name: "clinda.h", text: include_str!("../runtime/clinda.h") };

/// The header that its files share.
pub const INTERNAL_HEADER: File = File { name: "runtime.h", text: include_str!("../runtime/runtime.h") };

/// Its files in C.
pub const FILES: [File; 7] = [
    File { name: "main.c", text: include_str!("../runtime/main.c") },
    File { name: "deadlock.c", text: include_str!("../runtime/deadlock.c") },
    File { name: "live.c", text: include_str!("../runtime/live.c") },
    File { name: "operation.c", text: include_str!("../runtime/operation.c") },
    File { name: "processes.c", text: include_str!("../runtime/processes.c") },
    File { name: "timer.c", text: include_str!("../runtime/timer.c") },
    File { name: "tuple.c", text: include_str!("../runtime/tuple.c") },
];
