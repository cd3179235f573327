//! Where `libquintet` is: what pkg-config says, or `quintet.pc` itself where that is not installed.

use quintet::{Code, Error};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

/// Where programs find libraries anyway.
const SYSTEM: [&str; 4] = ["/lib", "/usr/lib", "/usr/local/lib", "/lib64"];
/// Where pkg-config looks, after PKG_CONFIG_PATH.
const FOLDERS: &str = "/usr/local/lib/pkgconfig:/usr/lib/pkgconfig:/usr/share/pkgconfig";

/// The flags of `libquintet`.
pub(super) struct Library {
    pub(super) compile: Vec<String>,
    pub(super) link: Vec<String>,
}

impl Library {
    /// Looks for it.
    ///
    /// # Errors
    /// It is not installed, or not where one would look.
    pub(super) fn find() -> Result<Library, Error> {
        let program = std::env::var_os("PKG_CONFIG").unwrap_or_else(|| "pkg-config".into());
        let ask = |argument: &str| ask(&program, argument);
        let library = match ask("--variable=libdir") {
            Answer::Says(folder) => match (ask("--cflags"), ask("--libs")) {
                (Answer::Says(compile), Answer::Says(link)) => Some(Library::of(&folder, &compile, &link)),
                _ => None,
            },
            Answer::KnowsNothing => None,
            Answer::IsMissing => Library::of_file(),
        };
        library.ok_or_else(|| {
            Error::new(
                Code::BadFile,
                "libquintet is not installed, or pkg-config does not find it: `make install-c PREFIX=$HOME/.local`, and PKG_CONFIG_PATH=$HOME/.local/lib/pkgconfig",
            )
        })
    }

    fn of(folder: &str, compile: &str, link: &str) -> Library {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let mut link = words(link);
        // The program finds it where it was linked, as long as it stays there.
        if !SYSTEM.contains(&folder.trim()) {
            link.push(format!("-Wl,-rpath,{}", folder.trim()));
        }
        Library { compile: words(compile), link }
    }

    /// What the first quintet.pc says that there is.
    fn of_file() -> Option<Library> {
        let path = std::env::var("PKG_CONFIG_PATH").unwrap_or_default();
        let folders = path.split(':').filter(|folder| !folder.is_empty()).chain(FOLDERS.split(':'));
        let text = folders.filter_map(|folder| fs::read_to_string(Path::new(folder).join("quintet.pc")).ok());
        let says = description(&text.take(1).next()?);
        Some(Library::of(says.get("libdir")?, says.get("Cflags")?, says.get("Libs")?))
    }
}

enum Answer {
    Says(String),
    KnowsNothing,
    IsMissing,
}

fn ask(program: &OsStr, argument: &str) -> Answer {
    match Command::new(program).arg(argument).arg("quintet").output() {
        Ok(output) if output.status.success() => {
            Answer::Says(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Answer::IsMissing,
        _ => Answer::KnowsNothing,
    }
}

/// The variables and fields of a .pc file, with the variables before a line put in.
fn description(text: &str) -> HashMap<String, String> {
    let mut found: HashMap<String, String> = HashMap::new();
    for line in text.lines() {
        let Some(end) = line.find(['=', ':']) else { continue };
        let mut value = line[end + 1..].trim().to_owned();
        for (name, replacement) in &found {
            value = value.replace(&format!("${{{name}}}"), replacement);
        }
        found.insert(line[..end].trim().to_owned(), value);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_read_as_pkg_config_reads_it() {
        let text = "prefix=/opt/q\nlibdir=${prefix}/lib\n\nName: quintet\nCflags: -I${prefix}/include\nLibs: -L${libdir} -lquintet\n";
        let says = description(text);
        let library = Library::of(&says["libdir"], &says["Cflags"], &says["Libs"]);
        assert_eq!(library.compile, ["-I/opt/q/include"]);
        assert_eq!(library.link, ["-L/opt/q/lib", "-lquintet", "-Wl,-rpath,/opt/q/lib"]);
        assert_eq!(Library::of("/usr/lib\n", "", "-lquintet").link, ["-lquintet"]);
    }
}
