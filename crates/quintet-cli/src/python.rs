//! Which Python runs workers and scripts, and which one `doctor` looks at.

use rustix::fs::{Access, access};
use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// That of the environment that is active, else of the one in which this command lies, else that of the folder `.venv`, else the system's.
pub(crate) fn default_python() -> OsString {
    let places = active().into_iter().chain(own()).chain([PathBuf::from("./.venv")]);
    let mut programs = places.map(|place| place.join("bin/python"));
    programs.find(|program| program.exists()).map_or_else(|| "python3".into(), PathBuf::into_os_string)
}

/// The same for a command that may be given in a folder of somebody else's, and so runs nothing that lies there: that of the
/// environment that is active, else of the one in which this command lies, else the system's. None: there is none.
pub(crate) fn default_python_elsewhere() -> Option<PathBuf> {
    let places = active().filter(|place| place.is_absolute()).into_iter().chain(own());
    let mut programs = places.map(|place| place.join("bin/python"));
    programs.find(|program| program.exists()).or_else(|| find_elsewhere("python3".as_ref()))
}

/// The program of this name in the folders of `PATH`, save those that mean the working folder or lie below it by a relative
/// path.
pub(crate) fn find_elsewhere(name: &OsStr) -> Option<PathBuf> {
    find_in(&env::var_os("PATH")?, name)
}

fn find_in(path: &OsStr, name: &OsStr) -> Option<PathBuf> {
    let folders = env::split_paths(path).filter(|folder| folder.is_absolute());
    let mut programs = folders.map(|folder| folder.join(name));
    programs.find(|program| program.is_file() && access(program, Access::EXEC_OK).is_ok())
}

fn active() -> Option<PathBuf> {
    env::var_os("VIRTUAL_ENV").map(PathBuf::from)
}

/// The environment in which this command was installed, whether or not it is active (PEP 405: such a folder has that file).
fn own() -> Option<PathBuf> {
    let place = env::current_exe().ok()?.parent()?.parent()?.to_owned();
    place.join("pyvenv.cfg").is_file().then_some(place)
}

/// Whether Python runs this file.
pub(crate) fn is_script(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "py")
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_testbed::TempDir;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_program_is_found_in_folders_that_do_not_hang_on_the_working_folder() {
        let (first, second) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        for (folder, mode) in [(&first, 0o644), (&second, 0o755)] {
            fs::write(folder.join("tool"), "").unwrap();
            fs::set_permissions(folder.join("tool"), Permissions::from_mode(mode)).unwrap();
        }
        let (first, second) = (first.path().display(), second.path().display());
        let path = format!(".::bin:../bin:{first}:{second}");
        let found = find_in(path.as_ref(), "tool".as_ref()).expect("the second may be executed");
        assert_eq!(found, Path::new(&format!("{second}/tool")));
        assert_eq!(find_in(".:".as_ref(), "Cargo.toml".as_ref()), None);
        assert_eq!(find_in(path.as_ref(), "no such tool".as_ref()), None);
    }
}
