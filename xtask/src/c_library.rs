//! What of the C library is written from its source in Rust: the header, the version script, the manual pages.
//!
//! | file | holds |
//! | --- | --- |
//! | `c_library/header.rs` | the header, by `cbindgen`, and what it declares |
//! | `c_library/manual.rs` | a manual page for each area |

mod header;
mod manual;

use crate::docs::Page;
use header::Declaration;
use std::fmt::Write;
use std::path::Path;

/// Where the library lies.
const FOLDER: &str = "bindings/c";

/// An area of the library: the manual page and the source files of it. The first has the page's text.
struct Area {
    page: &'static str,
    sources: &'static [&'static str],
}

/// Every area, in the order of the header.
const AREAS: [Area; 20] = [
    Area { page: "quintet_error", sources: &["error"] },
    Area { page: "quintet_lab", sources: &["lab", "interrupt"] },
    Area { page: "quintet_job", sources: &["job"] },
    Area {
        page: "quintet_tuple",
        sources: &["tuple", "tuple/add", "tuple/formal", "tuple/range", "tuple/get", "tuple/array"],
    },
    Area { page: "quintet_buffer", sources: &["buffer"] },
    Area { page: "quintet_space", sources: &["space", "further", "declare"] },
    Area { page: "quintet_spaces", sources: &["spaces"] },
    Area { page: "quintet_listing", sources: &["listing"] },
    Area {
        page: "quintet_inspecting",
        sources: &[
            "inspecting",
            "inspecting/waiting",
            "inspecting/clients",
            "inspecting/partitions",
            "inspecting/hot_keys",
            "inspecting/replicas",
        ],
    },
    Area { page: "quintet_collection", sources: &["collect"] },
    Area { page: "quintet_watch", sources: &["watch"] },
    Area { page: "quintet_lease", sources: &["lease"] },
    Area { page: "quintet_group", sources: &["group"] },
    Area { page: "quintet_pending", sources: &["pending", "begin"] },
    Area { page: "quintet_messaging", sources: &["messaging"] },
    Area { page: "quintet_handler", sources: &["handler"] },
    Area { page: "quintet_evals", sources: &["evals"] },
    Area {
        page: "quintet_isonet",
        sources: &[
            "isonet",
            "isonet/saying",
            "isonet/update",
            "isonet/plain",
            "isonet/views",
            "isonet/coming_back",
            "isonet/counters",
            "isonet/witness",
        ],
    },
    Area { page: "quintet_isochron", sources: &["isochron"] },
    Area { page: "quintet_server", sources: &["server"] },
];

impl Area {
    /// The text of a source file.
    fn read(root: &Path, source: &str) -> Result<String, String> {
        let path = root.join(FOLDER).join("src").join(source).with_extension("rs");
        std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
    }
}

/// Everything that is written.
///
/// # Errors
/// What could not be read, and a function that stands in no area.
pub(crate) fn pages(root: &Path) -> Result<Vec<Page>, String> {
    let header = header::generate(&root.join(FOLDER))?;
    let declarations = header::declarations(&header);
    let mut pages = vec![Page { path: format!("{FOLDER}/quintet.map"), text: version_script(&declarations) }];
    let mut described = 0;
    for area in &AREAS {
        let sources = area.sources.iter().map(|source| Area::read(root, source));
        let sources: Vec<String> = sources.collect::<Result<_, _>>()?;
        let own: Vec<&Declaration> =
            declarations.iter().filter(|found| sources.iter().any(|text| declares(text, found))).collect();
        described += own.iter().filter(|found| found.is_function()).count();
        let text = manual::page(area.page, &sources[0], &own)?;
        pages.push(Page { path: format!("{FOLDER}/man/{}.3", area.page), text });
    }
    let functions = declarations.iter().filter(|found| found.is_function()).count();
    if described != functions {
        return Err(format!(
            "{described} of {functions} functions of the C library are in a manual page: see AREAS"
        ));
    }
    pages.push(Page { path: format!("{FOLDER}/include/quintet.h"), text: header });
    Ok(pages)
}

/// Whether this source in Rust declares it.
fn declares(source: &str, found: &Declaration) -> bool {
    let is_end = |rest: &str| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_');
    ["pub extern \"C\" fn ", "pub enum ", "pub struct ", "pub type "].iter().any(|start| {
        let rest = |line: &str| line.strip_prefix(start)?.strip_prefix(&*found.name).map(is_end);
        source.lines().any(|line| rest(line) == Some(true))
    })
}

/// Which symbols the shared library has, and of which version of its interface they are.
fn version_script(declarations: &[Declaration]) -> String {
    let mut script =
        "/* Written by `cargo xtask docs` from bindings/c/src; edit that. */\nQUINTET_0 {\n    global:\n"
            .to_owned();
    for function in declarations.iter().filter(|found| found.is_function()) {
        let _ = writeln!(script, "        {};", function.name);
    }
    script.push_str("    local:\n        *;\n};\n");
    script
}
