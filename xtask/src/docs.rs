//! Documentation that comes from tables in the code.

use crate::{c_library, version};
use quintet_errors::{Code, Fault, Retry};
use std::fmt::Write;
use std::path::Path;

/// A page that is written by this program.
pub(crate) struct Page {
    pub(crate) path: String,
    pub(crate) text: String,
}

/// Every such page.
///
/// # Errors
/// As [`c_library::pages`] and [`version::pages`].
pub(crate) fn pages(root: &Path) -> Result<Vec<Page>, String> {
    let tables = [
        ("docs/settings.md", quintet_settings::markdown()),
        ("docs/errors.md", errors()),
        ("docs/models.md", quintet_model::markdown()),
        ("docs/cluster.md", quintet_predict::markdown()),
    ];
    let mut pages = c_library::pages(root)?;
    pages.extend(version::pages(root)?);
    pages.extend(tables.map(|(path, text)| Page { path: path.to_owned(), text }));
    Ok(pages)
}

const HEAD: &str = "\
# Errors

<!-- Written by `cargo xtask docs` from crates/errors/src/lib.rs; edit that. -->

Every failure has one of these codes, in Rust, in the answers between processes, and as the exit status of the command line. *Retry*
says whether the same request may be made again: **safe** means that it had no effect, **indeterminate** that it may have had its
effect, **useless** that it would fail again.

| number | code | what happened | whose fault | retry | exit status |
| ---: | --- | --- | --- | --- | ---: |
";

fn errors() -> String {
    let mut page = HEAD.to_owned();
    for code in Code::ALL {
        let _ = writeln!(
            page,
            "| {} | `{}` | {} | {} | {} | {} |",
            *code as u16,
            code.name(),
            code.text(),
            fault(code.fault()),
            retry(code.retry()),
            code.exit_status(),
        );
    }
    page
}

fn fault(fault: Fault) -> &'static str {
    match fault {
        Fault::Misuse => "the caller's",
        Fault::Peer => "the peer's",
        Fault::Limit => "a limit",
        Fault::System => "the system's",
    }
}

fn retry(retry: Retry) -> &'static str {
    match retry {
        Retry::Safe => "safe",
        Retry::Indeterminate => "indeterminate",
        Retry::Useless => "useless",
    }
}
