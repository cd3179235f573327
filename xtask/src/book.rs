//! The book: the repository's own documents, in the order of docs/SUMMARY.md, for mdBook to make pages of.
//!
//! mdBook wants one folder with a summary and every page below it. Ours lie at several places, where readers of the repository look for
//! them; so they are laid out again below target/, each at its own path, and what they link to beside them.

use crate::markdown::links;
use crate::tree::File;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Lists the pages; its links are relative to its own folder.
pub(crate) const SUMMARY: &str = "docs/SUMMARY.md";

/// What mdBook is to do, and how pages look.
const SETTINGS: [&str; 2] = ["docs/book.toml", "docs/book.css"];

/// A book that can be made.
pub(crate) struct Book<'a> {
    /// In their order.
    pub(crate) pages: Vec<&'a File>,
    /// Paths of files that are no pages and to which pages lead.
    pub(crate) beside: BTreeSet<String>,
}

impl<'a> Book<'a> {
    /// The book of these files.
    ///
    /// # Errors
    /// What the summary, a page that it lists, or a page's link lacks; a line each.
    pub(crate) fn of(root: &Path, files: &'a [File]) -> Result<Book<'a>, Vec<String>> {
        let find = |path: &str| files.iter().find(|file| file.path == path);
        let summary = find(SUMMARY).ok_or_else(|| vec![format!("{SUMMARY} is missing")])?;
        let (mut paths, mut faults) = (Vec::new(), Vec::new());
        for link in links(&summary.text) {
            let path = summary.beside(link.parts().0);
            if paths.contains(&path) {
                faults.push(format!("{SUMMARY} lists {path} twice"));
            } else {
                paths.push(path);
            }
        }
        let pages: Vec<&File> = paths.iter().filter_map(|path| find(path)).collect();
        let mut beside = BTreeSet::new();
        for page in &pages {
            for link in links(&page.text) {
                let place = page.beside(link.parts().0);
                if paths.contains(&place) {
                    continue;
                }
                if place.ends_with(".md") || root.join(&place).is_dir() {
                    let (path, line) = (&page.path, link.line);
                    faults.push(format!("{path}:{line}: {place} is no page of the book: see {SUMMARY}"));
                } else {
                    beside.insert(place);
                }
            }
        }
        if faults.is_empty() { Ok(Book { pages, beside }) } else { Err(faults) }
    }

    /// Lays the book out below `folder`, which is made anew: `mdbook build` goes on there.
    ///
    /// # Errors
    /// What could not be read or written.
    pub(crate) fn lay_out(&self, root: &Path, folder: &Path) -> Result<(), String> {
        let explain = |error| format!("{}: {error}", folder.display());
        if folder.exists() {
            fs::remove_dir_all(folder).map_err(explain)?;
        }
        let source = folder.join("source");
        let copies = self.pages.iter().map(|page| page.path.as_str());
        for path in copies.chain(self.beside.iter().map(String::as_str)) {
            copy(&root.join(path), &source.join(path))?;
        }
        for settings in SETTINGS.map(Path::new) {
            copy(&root.join(settings), &folder.join(settings.file_name().unwrap_or_default()))?;
        }
        let summary = fs::read_to_string(root.join(SUMMARY)).map_err(explain)?;
        fs::write(source.join("SUMMARY.md"), from_the_root(summary)).map_err(explain)
    }
}

/// The summary, with the paths that its links have from the root.
fn from_the_root(text: String) -> String {
    let summary = File { path: SUMMARY.to_owned(), text };
    let turn = |line: &str| match line.split_once("](") {
        Some((title, target)) => {
            format!("{title}]({})", summary.beside(target.trim_end().trim_end_matches(')')))
        }
        None => line.to_owned(),
    };
    summary.text.lines().map(|line| turn(line) + "\n").collect()
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let explain = |error| format!("{} to {}: {error}", from.display(), to.display());
    fs::create_dir_all(to.parent().expect("a file lies in a folder")).map_err(explain)?;
    fs::copy(from, to).map_err(explain).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        File { path: path.into(), text: text.into() }
    }

    fn root() -> &'static Path {
        Path::new(env!("CARGO_MANIFEST_DIR"))
    }

    #[test]
    fn pages_come_in_order_and_what_they_lead_to_comes_along() {
        let files = [
            file(SUMMARY, "- [Two](two.md)\n  - [One](../ONE.md)\n"),
            file("ONE.md", "[two](docs/two.md#a) [x](LICENSE)"),
            file("docs/two.md", "[own](#a) [code](../src/main.rs)"),
        ];
        let book = Book::of(root(), &files).expect("all links lead to pages or files");
        assert_eq!(book.pages.iter().map(|page| &*page.path).collect::<Vec<_>>(), ["docs/two.md", "ONE.md"]);
        assert_eq!(book.beside.iter().collect::<Vec<_>>(), ["LICENSE", "src/main.rs"]);
    }

    #[test]
    fn a_page_that_is_linked_and_not_listed_is_a_fault() {
        let files = [
            file(SUMMARY, "- [One](../ONE.md)\n- [One](../ONE.md)\n"),
            file("ONE.md", "[two](docs/two.md)\n[a folder](src)\n"),
            file("docs/two.md", ""),
        ];
        let faults = Book::of(root(), &files).err().expect("there are faults");
        assert_eq!(
            faults,
            [
                "docs/SUMMARY.md lists ONE.md twice",
                "ONE.md:1: docs/two.md is no page of the book: see docs/SUMMARY.md",
                "ONE.md:2: src is no page of the book: see docs/SUMMARY.md"
            ]
        );
    }

    #[test]
    fn the_summary_is_turned_to_the_root() {
        let turned = from_the_root("# Summary\n\n- [One](../ONE.md)\n  - [Two](design/two.md)\n".to_owned());
        assert_eq!(turned, "# Summary\n\n- [One](ONE.md)\n  - [Two](docs/design/two.md)\n");
    }
}
