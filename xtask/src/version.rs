//! The version of everything: stated once, in the root's Cargo.toml, and written from there wherever else it has to stand.

use crate::docs::Page;
use std::fs;
use std::path::Path;

/// Where it is stated.
const MANIFEST: &str = "Cargo.toml";

/// Files with copies of it, and what stands in front of one in its line: workspaces of their own cannot inherit, and crates that are
/// published name each other's versions.
const COPIES: [(&str, &str); 4] = [
    (MANIFEST, "{ version = \"="),
    ("bindings/python/Cargo.toml", "version = \""),
    ("fuzz/Cargo.toml", "version = \""),
    ("bindings/python/python/quintet/__init__.py", "__version__ = \""),
];

/// The files with copies, as they have to be.
///
/// # Errors
/// What cannot be read, or no version.
pub(crate) fn pages(root: &Path) -> Result<Vec<Page>, String> {
    let read = |path: &str| fs::read_to_string(root.join(path)).map_err(|error| format!("{path}: {error}"));
    let manifest = read(MANIFEST)?;
    let version = stated(&manifest).ok_or_else(|| format!("{MANIFEST} states no version"))?;
    let page = |(path, before): (&str, &str)| {
        Ok(Page { path: path.to_owned(), text: with(&read(path)?, before, version) })
    };
    COPIES.into_iter().map(page).collect()
}

/// What `[workspace.package]` says.
fn stated(manifest: &str) -> Option<&str> {
    let mut lines = manifest.lines().skip_while(|line| *line != "[workspace.package]").skip(1);
    let line = lines
        .by_ref()
        .take_while(|line| !line.starts_with('['))
        .find(|line| line.starts_with("version = "))?;
    line.strip_prefix("version = \"")?.strip_suffix('"')
}

/// A text with this version in place of each copy. A copy begins its line, or stands behind the name of one of the repository's crates.
fn with(text: &str, before: &str, version: &str) -> String {
    let line = |line: &str| match line.split_once(before) {
        Some((head, rest)) if head.is_empty() || head.starts_with("quintet") => {
            let after = rest.split_once('"').map_or("", |(_, after)| after);
            format!("{head}{before}{version}\"{after}\n")
        }
        _ => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "\
[workspace.package]
version = \"0.2.0\"

[workspace.dependencies]
quintet-wire = { version = \"=0.1.0\", path = \"w\" }
bytes = { version = \"1\" }
";

    #[test]
    fn every_copy_follows_what_is_stated() {
        let version = stated(MANIFEST).expect("it is stated");
        assert_eq!(version, "0.2.0");
        assert_eq!(with(MANIFEST, COPIES[0].1, version), MANIFEST.replace("=0.1.0", "=0.2.0"));
        assert_eq!(
            with("[package]\nversion = \"0.1.0\"\nrust-version = \"1.95\"\n", COPIES[1].1, version),
            "[package]\nversion = \"0.2.0\"\nrust-version = \"1.95\"\n"
        );
        assert_eq!(
            with("__version__ = \"0.1.0\"  # x\n", COPIES[3].1, version),
            "__version__ = \"0.2.0\"  # x\n"
        );
    }

    #[test]
    fn a_version_elsewhere_is_not_the_one() {
        assert_eq!(
            stated("[package]\nversion = \"1.0.0\"\n[workspace.package]\n[x]\nversion = \"2\"\n"),
            None
        );
    }
}
