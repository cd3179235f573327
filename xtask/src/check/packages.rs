//! Crates that are published have what a package needs: a description, the licences' texts, a page.

use crate::tree::File;
use std::path::Path;

/// Below this folder lies what is published, unless its manifest says otherwise.
const PUBLISHED: &str = "crates/";
const KEYS: [&str; 5] =
    ["description = \"", "license.workspace", "readme", "rust-version.workspace", "version.workspace"];
const LICENCES: [&str; 2] = ["LICENSE-MIT", "LICENSE-APACHE"];

/// What a package lacks; and what lies elsewhere and could be published by mistake.
pub(super) fn faults(root: &Path, files: &[File]) -> Vec<String> {
    let manifests = files.iter().filter(|file| file.path.ends_with("Cargo.toml") && is_package(file));
    manifests.flat_map(|manifest| of(root, manifest)).collect()
}

fn is_package(file: &File) -> bool {
    file.text.lines().any(|line| line == "[package]")
}

fn of(root: &Path, manifest: &File) -> Vec<String> {
    let path = &manifest.path;
    let has = |start: &str| manifest.text.lines().any(|line| line.starts_with(start));
    if !path.starts_with(PUBLISHED) {
        let is_kept = has("publish = false");
        return if is_kept {
            Vec::new()
        } else {
            vec![format!("{path}: not below {PUBLISHED}, so say publish = false")]
        };
    }
    let missing_keys = KEYS.into_iter().filter(|key| !has(key));
    let mut faults: Vec<String> =
        missing_keys.map(|key| format!("{path}: no {}", key.trim_end_matches([' ', '=', '"']))).collect();
    for licence in LICENCES {
        let beside = manifest.beside(licence);
        // A link to the one text, which a package has as a copy.
        if !root.join(&beside).exists() {
            faults.push(format!("{beside} is missing: link it to the root's"));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "\
[package]
name = \"quintet-wire\"
description = \"d\"
version.workspace = true
rust-version.workspace = true
license.workspace = true
readme.workspace = true
";

    fn faults_of(path: &str, text: &str) -> Vec<String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a folder of the repository");
        faults(root, &[File { path: path.into(), text: text.into() }])
    }

    #[test]
    fn a_package_without_a_description_or_licences_is_a_fault() {
        let path = "crates/protocols/wire/Cargo.toml";
        assert_eq!(faults_of(path, MANIFEST), [""; 0]);
        assert_eq!(
            faults_of(path, &MANIFEST.replace("description", "title")),
            [format!("{path}: no description")]
        );
        assert_eq!(faults_of("crates/new/Cargo.toml", MANIFEST).len(), 2);
    }

    #[test]
    fn what_is_not_published_says_so() {
        assert_eq!(faults_of("xtask/Cargo.toml", MANIFEST).len(), 1);
        assert_eq!(faults_of("xtask/Cargo.toml", &format!("{MANIFEST}publish = false\n")), [""; 0]);
        assert_eq!(faults_of("Cargo.toml", "[workspace]\n"), [""; 0], "no package");
    }
}
