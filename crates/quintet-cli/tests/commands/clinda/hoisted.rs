//! `-fhoist`: programs say the same with it and without.

use super::{alone, check_product, clc, packages, root};
use crate::tool::{result, start, text};
use quintet_testbed::TempDir;
use std::fs;
use std::path::{Path, PathBuf};

const BOTH: [&[&str]; 2] = [&["-fhoist"], &["-fno-hoist"]];

/// The program of a source with these options.
pub(super) fn with(folder: &TempDir, source: &Path, options: &[&str]) -> PathBuf {
    let name = format!("{}{}", source.file_stem().unwrap().to_string_lossy(), options.concat());
    let built = folder.join(name);
    let words = [&["clc", "-Wall", "-Wextra", "-Werror"], options, &[text(source), "-o", text(&built)]];
    assert_eq!(clc(words.concat()), (0, String::new()));
    built
}

/// What a program says with the one options and with the others: in any order, as evals say it at the same time.
pub(super) fn say_the_same(
    folder: &TempDir,
    source: &Path,
    arguments: &[&str],
    options: [&[&str]; 2],
) -> Vec<String> {
    let said = options.map(|options| {
        let built = with(folder, source, options);
        let (code, said) = alone(&built, arguments);
        let (other_code, other) =
            result(start([&["run", "-n", "3", text(&built)][..], arguments].concat(), &[]));
        assert_eq!((code, other_code), (0, 0), "{options:?}: {said}\n{other}");
        let sorted = |said: &str| {
            let mut lines: Vec<String> = said.lines().map(str::to_owned).collect();
            lines.iter_mut().for_each(|line| {
                if let Some((_, rest)) = line.split_once("] ").filter(|_| line.starts_with("[worker")) {
                    *line = rest.to_owned();
                }
            });
            // Times differ.
            lines.retain(|line| !line.contains("workers - ") && !line.starts_with("job:"));
            lines.sort();
            lines
        };
        sorted(&said)
    });
    assert_eq!(said[0], said[1]);
    said.into_iter().next().unwrap()
}

#[test]
fn the_papers_matrix_program_says_the_same() {
    let folder = TempDir::new().unwrap();
    let jmatrix = root().join("examples/clinda/jmatrix.cl");
    let said = say_the_same(&folder, &jmatrix, &["10", "3"], BOTH);
    check_product(&said.join("\n"), 10);
    let (code, c) = clc(["clc", "--emit-c", "-fhoist", text(&jmatrix), "-o", text(&folder.join("j.c"))]);
    assert_eq!((code, c.as_str()), (0, ""));
    assert!(fs::read_to_string(folder.join("j.c")).unwrap().contains("clinda_out_ahead"));
}

/// Whatever comes behind a put that was begun finds it: predicates, other processes, the end of the program.
const ORDER: &str = "#include <stdio.h>
#include <stdlib.h>
int relay(int rounds);
int relay(int rounds)
{
    int n, first, second;
    for (int i = 0; i < rounds; i++) {
        in(\"ball\", ?n);
        out(\"seen\", n);
        out(\"back\", n + 1);
    }
    for (int i = 0; i < 20; i++) {
        rd(\"table\", i, ?first);
        rd(\"squares\", i, ?second);
        if (first * first != second)
            lhalt(3);
    }
    return rounds;
}
void real_main(void)
{
    int n, sum = 0;
    eval(\"relay\", relay(200));
    for (int i = 0; i < 20; i++) {
        out(\"table\", i, i);
        out(\"squares\", i, i * i);
    }
    for (int i = 0; i < 200; i++) {
        out(\"ball\", i);
        in(\"back\", ?n);
        if (!inp(\"seen\", i))
            lhalt(4);
        sum += n;
    }
    for (int i = 0; i < 300; i++) {
        out(\"many\", i);
        if (i % 3 == 0 && !rdp(\"many\", i))
            lhalt(5);
    }
    for (int i = 0; i < 300; i++) {
        in(\"many\", ?n);
        if (n != i)
            lhalt(6);
    }
    in(\"relay\", ?n);
    printf(\"%d after %d\\n\", sum, n);
    out(\"last\", n);
    exit(0);
}
";

#[test]
fn what_was_put_is_there_for_whatever_comes_behind_it() {
    let folder = TempDir::new().unwrap();
    let source = folder.join("order.cl");
    fs::write(&source, ORDER).unwrap();
    assert_eq!(say_the_same(&folder, &source, &[], BOTH), ["20100 after 200"]);
    assert!(!packages().is_empty());
}

#[test]
fn a_put_that_fails_names_its_line_though_it_is_found_later() {
    let folder = TempDir::new().unwrap();
    let source = folder.join("large.cl");
    let text_of = "#include <stdlib.h>\nstatic char much[1 << 20];\nvoid real_main(void)\n{\n    int n;\n    out(\"much\", much:);\n    out(\"n\", 1);\n    in(\"n\", ?n);\n    if (n == 2) in(\"much\", ?much:);\n}\n";
    fs::write(&source, text_of).unwrap();
    let built = with(&folder, &source, &["-fhoist"]);
    let socket = folder.join("space");
    let space = quintet::SpaceConfig { max_bytes: 4096, ..quintet::SpaceConfig::default() };
    let config = quintet::ServeConfig { space, ..quintet::ServeConfig::default() };
    let _server = quintet::Server::start(&socket, &config).unwrap();
    let program = quintet_testbed::Program::new(text(&built)).env("QUINTET_SPACE", text(&socket));
    let (code, said) = result(program.spawn().unwrap());
    assert!(code != 0 && said.contains("large.cl:6: out"), "{code}: {said}");
}
