//! What may stand where: no world in protocols, unsafe code in few places.

use crate::rust_source::{code_only, has_word, without_tests};
use crate::tree::File;

const PROTOCOLS: &str = "crates/protocols/";
/// What a protocol must not touch. Clippy bans single types; this bans whole modules.
const WORLD: [&str; 11] = [
    "std::net",
    "std::thread",
    "std::fs",
    "std::env",
    "std::process",
    "std::io",
    "std::os",
    "std::time",
    "SystemTime",
    "HashMap::new",
    "RandomState",
];
/// Where unsafe code may stand, each block with its `SAFETY` note.
const UNSAFE: [&str; 2] = ["crates/hosts/link/", "bindings/"];

/// Mentions of the world in protocols, tests left out.
pub(super) fn impure(files: &[File]) -> Vec<String> {
    let protocols =
        files.iter().filter(|file| file.path.starts_with(PROTOCOLS) && file.has_extension(&["rs"]));
    protocols
        .filter(|file| !is_test(&file.path))
        .flat_map(|file| {
            let code = without_tests(&code_only(&file.text));
            mentions(
                file,
                &code,
                &WORLD,
                "is not for protocols: it comes in as an argument or goes out as a frame",
            )
        })
        .collect()
}

/// Unsafe code elsewhere.
pub(super) fn unsafe_code(files: &[File]) -> Vec<String> {
    let elsewhere = |file: &&File| !UNSAFE.iter().any(|allowed| file.path.starts_with(allowed));
    let sources = files.iter().filter(|file| file.has_extension(&["rs"])).filter(elsewhere);
    sources
        .flat_map(|file| {
            mentions(file, &code_only(&file.text), &["unsafe"], "belongs in crates/hosts/link or bindings")
        })
        .collect()
}

fn mentions(file: &File, code: &str, words: &[&str], why: &str) -> Vec<String> {
    let lines = code.lines().enumerate();
    let found = lines.flat_map(|(at, line)| {
        words.iter().filter(move |word| has_word(line, word)).map(move |word| (at + 1, *word))
    });
    found.map(|(line, word)| format!("{}:{line}: {word} {why}", file.path)).collect()
}

fn is_test(path: &str) -> bool {
    path.split('/').any(|part| part == "tests" || part == "tests.rs")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        File { path: path.into(), text: text.into() }
    }

    #[test]
    fn a_protocol_with_a_socket_is_a_fault_and_its_test_is_not() {
        let text = "// std::net\nuse std::net::TcpStream;\n#[cfg(test)]\nmod tests {\n use std::thread;\n}\n";
        assert_eq!(impure(&[file("crates/protocols/a/src/lib.rs", text)]).len(), 1);
        assert!(impure(&[file("crates/protocols/a/tests/b.rs", text)]).is_empty());
        assert!(impure(&[file("crates/hosts/a/src/lib.rs", text)]).is_empty());
    }

    #[test]
    fn unsafe_code_has_its_places() {
        let text = "#![forbid(unsafe_code)]\nunsafe impl Sync for A {}\n";
        assert_eq!(unsafe_code(&[file("crates/quintet/src/lib.rs", text)]).len(), 1);
        assert!(unsafe_code(&[file("crates/hosts/link/src/a.rs", text)]).is_empty());
    }
}
