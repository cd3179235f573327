//! `quintet clc`: programs in C-Linda, from their source to what they say.

mod apart;
mod check;
mod deadlock;
mod driver;
mod evals;
mod fused;
mod hoisted;
mod kept;
mod keys;
mod killed;
mod left;
mod machines;

use crate::tool::{result, start, text};
use quintet_testbed::{Program, TempDir};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

/// Longer than the build of the library takes, also on a busy machine.
const BUILD: Duration = Duration::from_secs(600);

/// The repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Where `libquintet` is installed for these tests: pkg-config's folder.
fn packages() -> &'static str {
    static PACKAGES: OnceLock<String> = OnceLock::new();
    PACKAGES.get_or_init(|| {
        let target = Path::new(env!("CARGO_BIN_EXE_quintet")).ancestors().nth(2).unwrap();
        let prefix = target.join("c/clinda");
        // The build made the library, unless these tests are all that was built.
        let is_built = target.join("debug/libquintet_c.a").exists();
        let program = Program::new("make")
            .arg("--silent")
            .arg("-C")
            .arg(root().join("bindings/c"))
            .arg("install")
            .arg("PROFILE=debug")
            .arg(format!("CARGO={}", if is_built { ":" } else { env!("CARGO") }))
            .arg(format!("CARGO_TARGET_DIR={}", text(target)))
            .arg(format!("PREFIX={}", text(&prefix)));
        let mut program = program.spawn().unwrap();
        let status = program.wait(BUILD).expect("it can be waited for").expect("the library is built");
        assert!(status.success(), "{}", program.output().text());
        text(&prefix.join("lib/pkgconfig")).to_owned()
    })
}

/// What the compiler says to these arguments.
fn clc<'a>(arguments: impl IntoIterator<Item = &'a str>) -> (i32, String) {
    result(start(arguments, &[("PKG_CONFIG_PATH", packages())]))
}

/// An example as a program in a folder, compiled with every warning an error.
fn example(folder: &TempDir, name: &str) -> PathBuf {
    let source = root().join("examples/clinda").join(format!("{name}.cl"));
    compiled(folder, &source)
}

/// A program of this source.
fn compiled(folder: &TempDir, source: &Path) -> PathBuf {
    let program = folder.join(source.file_stem().unwrap());
    let warnings = ["-Wall", "-Wextra", "-Werror"];
    let (code, said) =
        clc(["clc", warnings[0], warnings[1], warnings[2], text(source), "-o", text(&program)]);
    assert_eq!((code, said.as_str()), (0, ""));
    program
}

/// The same, of a text.
fn program(folder: &TempDir, name: &str, source: &str) -> PathBuf {
    let path = folder.join(format!("{name}.cl"));
    fs::write(&path, source).unwrap();
    compiled(folder, &path)
}

/// What a program says that is started alone.
fn alone(program: &Path, arguments: &[&str]) -> (i32, String) {
    let program =
        arguments.iter().fold(Program::new(text(program)), |program, argument| program.arg(argument));
    result(program.spawn().unwrap())
}

/// Checks that a job of jmatrix has told the whole product, and a right one: that of a plain loop.
fn check_product(said: &str, dimension: usize) {
    let mut told: Vec<(usize, usize, usize)> = Vec::new();
    for line in said.lines() {
        let Some((place, value)) = line.strip_prefix("result(").and_then(|rest| rest.split_once(") = "))
        else {
            continue;
        };
        let (row, column) = place.split_once(',').unwrap();
        told.push((row.parse().unwrap(), column.parse().unwrap(), value.parse().unwrap()));
    }
    told.sort_unstable();
    let element = |row: usize, column: usize| (0..dimension).map(|k| (row + k + 2) * (column + k + 2)).sum();
    let right: Vec<(usize, usize, usize)> = (0..dimension)
        .flat_map(|row| (0..dimension).map(move |column| (row, column)))
        .map(|(row, column)| (row, column, element(row, column)))
        .collect();
    assert!(told == right, "{said}");
}

/// Checks that jblock has told of so many blocks, each larger by `step` than the one before.
fn check_blocks(said: &str, blocks: usize, step: usize) {
    let size = |line: &str| line.split_once("size - ")?.1.parse().ok();
    let told: Vec<usize> = said.lines().filter_map(size).collect();
    assert!((1..=blocks).map(|block| block * step).eq(told) && said.contains("done."), "{said}");
}

#[test]
fn the_papers_matrix_program_multiplies_on_five_processes() {
    let folder = TempDir::new().unwrap();
    let jmatrix = example(&folder, "jmatrix");
    let (code, said) = result(start(["run", "-n", "5", text(&jmatrix), "30", "5"], &[]));
    assert_eq!(code, 0, "{said}");
    check_product(&said, 30);
    let started = |worker: u32| said.contains(&format!("worker {worker} started"));
    assert!((1..=5).all(started), "{said}");
    assert!(said.contains("dim - 30, workers - 5"), "{said}");
    let (code, said) = result(start(["run", "-n", "2", "--link", "tcp", text(&jmatrix), "10", "3"], &[]));
    assert_eq!(code, 0, "{said}");
    check_product(&said, 10);
}

#[test]
fn the_same_program_runs_alone() {
    let folder = TempDir::new().unwrap();
    let jmatrix = example(&folder, "jmatrix");
    let (code, said) = alone(&jmatrix, &["12", "5"]);
    assert_eq!(code, 0, "{said}");
    check_product(&said, 12);
    assert_eq!(alone(&jmatrix, &[]).0, 64);
}

#[test]
fn the_papers_block_program_puts_and_takes_ever_larger_blocks() {
    let folder = TempDir::new().unwrap();
    let jblock = example(&folder, "jblock");
    for (code, said) in
        [alone(&jblock, &["50", "32"]), result(start(["run", "-n", "1", text(&jblock), "50", "32"], &[]))]
    {
        assert_eq!(code, 0, "{said}");
        check_blocks(&said, 50, 32);
    }
}

#[test]
fn every_kind_of_field_arrives_as_it_was() {
    let folder = TempDir::new().unwrap();
    let fields = example(&folder, "fields");
    for (code, said) in [alone(&fields, &[]), result(start(["run", "-n", "2", text(&fields)], &[]))] {
        assert!(code == 0 && said.contains("15 things are so"), "{code}: {said}");
    }
}
