//! Which Python runs workers and scripts.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// That of the environment that is active, else that of the folder `.venv`, else the system's.
pub(crate) fn default_python() -> OsString {
    let active = env::var_os("VIRTUAL_ENV").map(PathBuf::from);
    let places = active.into_iter().chain([PathBuf::from("./.venv")]);
    let mut programs = places.map(|place| place.join("bin/python"));
    programs.find(|program| program.exists()).map_or_else(|| "python3".into(), PathBuf::into_os_string)
}

/// Whether Python runs this file.
pub(crate) fn is_script(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "py")
}
