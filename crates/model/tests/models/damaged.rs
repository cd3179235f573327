//! Damaged model files are refused or run; they never panic.

use proptest::prelude::*;
use quintet_model::Model;
use std::path::Path;

fn examples() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).expect("the examples").map(|entry| entry.expect("one").path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read_to_string(path).expect("an example")).collect()
}

/// Pieces with which values and tables are made wrong.
const PIECES: [&str; 24] = [
    "0",
    "-1",
    "1e308",
    "\"",
    "[",
    "]",
    "{",
    "}",
    "= ",
    "\n",
    ".",
    "ms",
    "B",
    "1 / 0",
    "(",
    ")",
    "inf",
    "nan",
    "\u{e9}",
    "9223372036854775807",
    "0x7fffffffffffffff",
    "true",
    "[[1, 2]]",
    "'''",
];

fn check(text: &str) {
    if let Ok(model) = Model::from_str(text, "damaged.toml") {
        let _ = model.with("event_limit", 300.0).run(1).map(|result| result.quantities());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1_500) })]

    #[test]
    fn damaged_examples_never_panic(
        example in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0..12_usize, 0..PIECES.len() + 1), 1..4),
    ) {
        let examples = examples();
        let mut letters: Vec<char> = example.get(&examples).chars().collect();
        for (at, length, piece) in changes {
            let at = at.index(letters.len() + 1);
            let end = (at + length).min(letters.len());
            letters.splice(at..end, PIECES.get(piece).unwrap_or(&"").chars());
        }
        check(&letters.into_iter().collect::<String>());
    }

    #[test]
    fn any_text_is_survived(text in "\\PC{0,200}") {
        check(&text);
        check(&format!("[model]\nname = \"x\"\n[processor.p]\ncycle = {text:?}\n[module.m]\non = \"p\"\nstart = \"0 s\""));
    }
}
