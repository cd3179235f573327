//! Every stored input, and some thousands of damaged ones, through every entry point. Nothing may panic.

use quintet_corpus::{Mutator, TARGETS, Target, seeds};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// Damaged inputs of each target.
const MUTATIONS: usize = 4_000;

fn folder(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target)
}

/// The stored inputs of a target, in the order of their names.
fn stored(target: &Target) -> Vec<(PathBuf, Vec<u8>)> {
    let entries =
        fs::read_dir(folder(target.name)).expect("every target has a folder: run `cargo xtask corpus`");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("the folder can be read").path()).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), fs::read(path).expect("the file can be read"))).collect()
}

fn survives(target: &Target, bytes: &[u8], origin: &str) {
    let run = catch_unwind(AssertUnwindSafe(|| (target.run)(bytes)));
    assert!(run.is_ok(), "{} panics on {origin}: {bytes:02x?}", target.name);
}

#[test]
fn stored_inputs_are_survived() {
    for target in &TARGETS {
        for (path, bytes) in stored(target) {
            survives(target, &bytes, &path.display().to_string());
        }
    }
}

#[test]
fn damaged_inputs_are_survived() {
    for target in &TARGETS {
        let inputs = stored(target);
        let mut mutator = Mutator::new(1);
        for round in 0..MUTATIONS {
            let (path, input) = &inputs[round % inputs.len()];
            let (_, other) = &inputs[round / inputs.len() % inputs.len()];
            let bytes = mutator.mutate(input, other);
            survives(target, &bytes, &format!("mutation {round}, of {}", path.display()));
        }
    }
}

#[test]
fn the_stored_seeds_are_those_that_are_made_now() {
    for seed in seeds() {
        let stored = fs::read(folder(seed.target).join(seed.name)).unwrap_or_default();
        let fresh = stored == seed.bytes;
        assert!(
            fresh,
            "{}/{} is stale: run `cargo xtask corpus`; where the same requests come to another snapshot of a space, raise its `BEHAVIOUR` too",
            seed.target, seed.name
        );
    }
}

#[test]
fn every_target_has_seeds_and_a_fuzz_target() {
    let seeds = seeds();
    let manifest = fs::read_to_string(folder("../Cargo.toml")).expect("fuzz/Cargo.toml");
    for target in &TARGETS {
        assert!(seeds.iter().any(|seed| seed.target == target.name), "{} has no seed", target.name);
        assert!(
            manifest.contains(&format!("name = \"{}\"", target.name)),
            "{} is not in fuzz/Cargo.toml",
            target.name
        );
    }
}
