//! Which crate may depend on which: downward only, edge by edge.

use crate::tree::File;

/// Every crate of the product, from the bottom up, and what it may depend on. Tests may also use what stands in [`FOR_TESTS`].
///
/// A row may name rows above it only, so that there is no way up. A new crate adds its row; a new edge is added where it is needed, and
/// looked at in review like any other line.
const EDGES: &[(&str, &[&str])] = &[
    // Tables without behaviour.
    ("errors", &[]),
    ("settings", &["errors"]),
    // A checker of what clients saw, whatever it was that they asked.
    ("linearizability", &[]),
    // The format of a viewer.
    ("perfetto", &[]),
    // Keys and certificates, as files.
    ("identity", &["errors"]),
    // Protocols.
    ("contract", &[]),
    ("wire", &["contract", "errors"]),
    ("session", &["contract", "wire", "errors"]),
    ("messaging", &["contract", "wire", "errors"]),
    ("tuple-space", &["contract", "wire", "errors"]),
    ("durable", &["contract", "wire"]),
    ("raft", &["contract", "wire"]),
    ("resume", &["contract", "wire", "errors"]),
    ("kernel", &["contract", "wire", "session"]),
    ("membership", &["contract", "wire", "durable", "raft"]),
    ("replicated", &["contract", "wire", "durable", "raft"]),
    ("launch", &["contract", "wire"]),
    ("broker", &["contract", "wire"]),
    ("isotach", &["contract", "wire"]),
    // Hosts.
    ("line", &["contract"]),
    ("testbed", &["contract", "errors", "line"]),
    ("process", &["wire"]),
    ("clock", &["contract"]),
    ("link", &["contract", "wire", "errors", "clock", "line"]),
    (
        "stack",
        &[
            "contract",
            "wire",
            "errors",
            "session",
            "messaging",
            "tuple-space",
            "durable",
            "resume",
            "kernel",
            "membership",
            "replicated",
            "launch",
            "broker",
            "isotach",
        ],
    ),
    ("simulate", &["contract", "wire"]),
    (
        "runtime",
        &["perfetto", "contract", "wire", "errors", "messaging", "clock", "link", "process", "stack"],
    ),
    (
        "agent",
        &[
            "errors",
            "identity",
            "contract",
            "wire",
            "session",
            "messaging",
            "membership",
            "launch",
            "tuple-space",
            "link",
            "stack",
            "runtime",
        ],
    ),
    // The interface.
    (
        "quintet",
        &[
            "contract",
            "wire",
            "errors",
            "settings",
            "identity",
            "messaging",
            "broker",
            "durable",
            "replicated",
            "resume",
            "kernel",
            "isotach",
            "tuple-space",
            "membership",
            "link",
            "stack",
            "runtime",
            "agent",
        ],
    ),
    // Tools.
    (
        "explore",
        &[
            "contract",
            "wire",
            "errors",
            "linearizability",
            "session",
            "messaging",
            "isotach",
            "tuple-space",
            "durable",
            "resume",
            "replicated",
            "simulate",
            "stack",
        ],
    ),
    ("model", &["perfetto", "contract", "errors", "simulate"]),
    (
        "predict",
        &[
            "contract",
            "wire",
            "errors",
            "messaging",
            "tuple-space",
            "membership",
            "simulate",
            "stack",
            "model",
        ],
    ),
    ("reproduce", &["contract", "wire", "session", "isotach", "simulate"]),
    ("clinda", &[]),
    (
        "cli",
        &[
            "contract",
            "errors",
            "settings",
            "identity",
            "link",
            "perfetto",
            "line",
            "testbed",
            "process",
            "simulate",
            "membership",
            "launch",
            "agent",
            "quintet",
            "explore",
            "model",
            "predict",
            "reproduce",
            "clinda",
        ],
    ),
    ("python", &["contract", "settings", "simulate", "quintet", "model"]),
    ("c", &["contract", "errors", "quintet"]),
    // Tests and chores.
    (
        "corpus",
        &[
            "identity",
            "contract",
            "wire",
            "session",
            "messaging",
            "tuple-space",
            "durable",
            "resume",
            "kernel",
            "membership",
            "replicated",
            "launch",
            "broker",
            "isotach",
            "link",
            "stack",
            "model",
            "perfetto",
            "clinda",
        ],
    ),
    ("conformance", &["identity", "testbed", "simulate", "quintet"]),
    ("documents", &[]),
    ("tests-workload", &["contract", "tuple-space"]),
    ("tests-hosts", &["contract", "wire", "link", "stack", "runtime", "simulate", "testbed"]),
    (
        "fuzz",
        &[
            "session",
            "messaging",
            "tuple-space",
            "membership",
            "replicated",
            "launch",
            "broker",
            "isotach",
            "link",
            "corpus",
        ],
    ),
    ("xtask", &["errors", "settings", "model", "predict", "corpus"]),
];

/// What tests of any crate may use besides, wherever they stand: they end in no program.
const FOR_TESTS: [&str; 11] = [
    "testbed",
    "identity",
    "session",
    "simulate",
    "link",
    "wire",
    "messaging",
    "tuple-space",
    "launch",
    "linearizability",
    "tests-workload",
];

/// Dependencies that the list does not allow, rows that name what stands below them, crates without a row.
pub(super) fn faults(files: &[File]) -> Vec<String> {
    let mut faults = upward(EDGES);
    let manifests = files.iter().filter(|file| file.path.ends_with("Cargo.toml"));
    for manifest in manifests.filter(|file| !file.path.starts_with("benches/")) {
        faults.extend(of_manifest(manifest, EDGES));
    }
    faults
}

/// Edges of the list that do not lead upward in it, where all stand that a crate may stand on.
fn upward(edges: &[(&str, &[&str])]) -> Vec<String> {
    let mut faults = Vec::new();
    for (row, (name, below)) in edges.iter().enumerate() {
        for other in below.iter().filter(|other| !edges[..row].iter().any(|(name, _)| name == *other)) {
            faults.push(format!("{name} may not depend on {other}: it does not stand above it in the list"));
        }
    }
    faults
}

fn of_manifest(manifest: &File, edges: &[(&str, &[&str])]) -> Vec<String> {
    let Some(name) = package(&manifest.text) else { return Vec::new() };
    let Some((_, below)) = edges.iter().find(|(row, _)| *row == name) else {
        return vec![format!("{}: {name} has no row in xtask/src/check/directions.rs", manifest.path)];
    };
    let mut faults = Vec::new();
    for (line, other, is_for_tests) in dependencies(&manifest.text) {
        let is_own = other == name;
        let is_allowed = below.contains(&other) || is_for_tests && (is_own || may_test(name, other));
        if !is_allowed {
            let path = &manifest.path;
            faults.push(format!(
                "{path}:{line}: {name} may not depend on {other}: see xtask/src/check/directions.rs"
            ));
        }
    }
    faults
}

/// Whether the tests of a crate may use another: a helper, or for documents what their programs use.
fn may_test(name: &str, other: &str) -> bool {
    FOR_TESTS.contains(&other) || name == "documents" && ["quintet", "explore"].contains(&other)
}

/// The package's name, without what all names begin with.
fn package(manifest: &str) -> Option<&str> {
    let mut lines = manifest.lines().skip_while(|line| line.trim() != "[package]");
    let name = lines.find_map(|line| line.strip_prefix("name = \""))?.strip_suffix('"')?;
    Some(short(name))
}

fn short(name: &str) -> &str {
    name.strip_prefix("quintet-").unwrap_or(name)
}

/// The repository's own crates on which one depends: the line, the name, and whether only its tests do.
fn dependencies(manifest: &str) -> Vec<(usize, &str, bool)> {
    let mut found = Vec::new();
    let mut section = "";
    for (number, line) in manifest.lines().enumerate() {
        if let Some(title) = line.trim().strip_prefix('[') {
            section = title.trim_end_matches(']');
            continue;
        }
        let is_dependency = section.ends_with("dependencies") && !section.starts_with("workspace");
        let name = line.split(['.', ' ', '=']).next().unwrap_or("");
        if is_dependency && (name == "quintet" || name.starts_with("quintet-")) {
            found.push((number + 1, short(name), section.ends_with("dev-dependencies")));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: [(&str, &[&str]); 2] = [("contract", &[]), ("session", &["contract"])];

    fn manifest(text: &str) -> File {
        File { path: "a/Cargo.toml".into(), text: text.into() }
    }

    #[test]
    fn the_list_itself_leads_downward_only() {
        assert_eq!(upward(EDGES), Vec::<String>::new());
        let turned: [(&str, &[&str]); 2] = [("contract", &["session"]), ("session", &[])];
        assert_eq!(upward(&turned).len(), 1);
        assert_eq!(upward(&[("contract", &["contract"])]).len(), 1, "nor to itself");
    }

    #[test]
    fn an_edge_that_is_not_in_the_list_is_a_fault() {
        let text = "[package]\nname = \"quintet-contract\"\n\n[dependencies]\nbytes = \"1\"\nquintet-session.workspace = true\n";
        let faults = of_manifest(&manifest(text), &ROWS);
        assert_eq!(faults.len(), 1);
        assert!(faults[0].starts_with("a/Cargo.toml:6: contract may not depend on session"), "{faults:?}");
        let good = text
            .replace("quintet-contract", "quintet-session")
            .replace("quintet-session.", "quintet-contract.");
        assert!(of_manifest(&manifest(&good), &ROWS).is_empty());
        let table = "[package]\nname = \"quintet-contract\"\n[target.'cfg(loom)'.dependencies]\nquintet = { path = \"x\" }\n";
        assert_eq!(
            of_manifest(&manifest(table), &ROWS).len(),
            1,
            "the name alone, in any table of dependencies"
        );
    }

    #[test]
    fn tests_may_use_helpers_and_not_the_interface() {
        let text = "[package]\nname = \"quintet-contract\"\n[dev-dependencies]\nquintet-testbed.workspace = true\nquintet-cli.workspace = true\n";
        let faults = of_manifest(&manifest(text), &ROWS);
        assert!(faults.len() == 1 && faults[0].contains("on cli"), "{faults:?}");
    }

    #[test]
    fn a_crate_without_a_row_is_a_fault() {
        let faults = of_manifest(&manifest("[package]\nname = \"quintet-new\"\n"), &ROWS);
        assert!(faults.len() == 1 && faults[0].contains("new has no row"), "{faults:?}");
    }
}
