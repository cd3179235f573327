//! The files of the repository.

use std::fs;
use std::path::{Path, PathBuf};

/// Folders that hold what was built, fetched or found, not what was written.
const SKIPPED: [&str; 9] = [
    ".git",
    "target",
    ".venv",
    "build",
    "__pycache__",
    "corpus",
    "artifacts",
    "node_modules",
    ".pytest_cache",
];

/// A text file.
pub(crate) struct File {
    /// From the root, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl File {
    pub(crate) fn has_extension(&self, extensions: &[&str]) -> bool {
        let extension = Path::new(&self.path).extension().and_then(|extension| extension.to_str());
        extension.is_some_and(|extension| extensions.contains(&extension))
    }

    /// Where a path leads that is written in this file, from the root. An empty one leads to the file itself.
    pub(crate) fn beside(&self, relative: &str) -> String {
        if relative.is_empty() {
            return self.path.clone();
        }
        let folder = self.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let mut steps: Vec<&str> = folder.split('/').filter(|step| !step.is_empty()).collect();
        for step in relative.split('/').filter(|step| !matches!(*step, "" | ".")) {
            // What leads out of the repository keeps its dots, and is found nowhere.
            if step == ".." && steps.last().is_some_and(|last| *last != "..") {
                steps.pop();
            } else {
                steps.push(step);
            }
        }
        steps.join("/")
    }
}

/// Every text file below `root`, in the order of their paths.
///
/// # Errors
/// What could not be read.
pub(crate) fn files(root: &Path) -> Result<Vec<File>, String> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in entries(&folder)? {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            // `tests/corpus` is source; only the stored inputs are not.
            let skipped = SKIPPED.contains(&&*name) && !path.join("Cargo.toml").exists();
            if path.is_symlink() || skipped {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(text) = fs::read_to_string(&path) {
                let relative = path.strip_prefix(root).expect("it was found below the root");
                files.push(File { path: relative.to_string_lossy().into_owned(), text });
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let explain = |error| format!("{}: {error}", folder.display());
    let entries = fs::read_dir(folder).map_err(explain)?;
    entries.map(|entry| entry.map(|entry| entry.path()).map_err(explain)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_from_the_file_in_which_it_is_written() {
        let file = File { path: "docs/design/a.md".into(), text: String::new() };
        let places =
            ["", "b.md", "../c.md", "../../D.md", "./e/", "../../../f"].map(|path| file.beside(path));
        assert_eq!(
            places,
            ["docs/design/a.md", "docs/design/b.md", "docs/c.md", "D.md", "docs/design/e", "../f"]
        );
    }
}
