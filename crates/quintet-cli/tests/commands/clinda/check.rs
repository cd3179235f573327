//! What is said of a program: errors, warnings, JSON.

use super::{clc, root};
use crate::tool::text;
use quintet_testbed::TempDir;
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

fn object(said: &str) -> Value {
    let line = said.lines().find(|line| line.starts_with('{')).unwrap_or_else(|| panic!("{said}"));
    serde_json::from_str(line).unwrap()
}

#[test]
fn an_error_names_file_line_and_column_and_what_to_do() {
    let folder = TempDir::new().unwrap();
    let source = folder.join("a.cl");
    fs::write(
        &source,
        "#include <stdlib.h>\nvoid real_main(void)\n{\n    char *s = getenv(\"A\");\n    out(\"a\", s);\n}\n",
    )
    .unwrap();
    let (code, said) = clc(["clc", text(&source), "-o", text(&folder.join("a"))]);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("a.cl:5:14: error: `s` is a pointer"), "{said}");
    assert!(
        said.contains("    out(\"a\", s);") && said.contains("hint: give the number of characters"),
        "{said}"
    );
    assert!(!folder.join("a").exists());
    let (code, said) = clc(["clc", "--check", "--json", text(&source)]);
    let object = object(&said);
    assert_eq!((code, &object["ok"]), (1, &Value::Bool(false)));
    let found = &object["diagnostics"][0];
    assert_eq!(
        (&found["line"], &found["column"], &found["severity"]),
        (&5.into(), &14.into(), &"error".into())
    );
}

#[test]
fn the_c_compilers_own_errors_name_the_line_of_the_source() {
    let folder = TempDir::new().unwrap();
    let source = folder.join("a.cl");
    fs::write(&source, "void real_main(void)\n{\n    int n;\n    in(\"n\",\n       ?n);\n    n = missing;\n    out(\"n\", 1);\n}\n").unwrap();
    let (code, said) = clc(["clc", "--check", text(&source)]);
    assert!(code == 1 && said.contains("a.cl:6:") && said.contains("missing"), "{said}");
    let (code, said) = clc(["clc", "--check", "--json", "-Wall", text(&source)]);
    let found = object(&said);
    let first = &found["diagnostics"][0];
    assert_eq!(
        (code, &found["ok"], &first["severity"], &first["line"], &first["source"]),
        (1, &Value::Bool(false), &"error".into(), &6.into(), &"    n = missing;".into()),
        "{said}"
    );
    assert!(first["file"].as_str().unwrap().ends_with("a.cl") && first["column"] == 9, "{said}");
    // A warning alone leaves a program that can be compiled.
    fs::write(&source, "void real_main(void)\n{\n    int unused;\n    out(\"n\", 1);\n}\n").unwrap();
    let (code, said) = clc(["clc", "--check", "--json", "-Wall", text(&source)]);
    let found = object(&said);
    assert_eq!((code, &found["diagnostics"][0]["severity"]), (0, &"warning".into()), "{said}");
    assert!(found["diagnostics"][0]["message"].as_str().unwrap().contains("unused"), "{said}");
}

#[test]
fn a_template_that_nothing_matches_is_a_warning() {
    let folder = TempDir::new().unwrap();
    let source = folder.join("a.cl");
    fs::write(&source, "void real_main(void)\n{\n    int n;\n    in(\"n\", ?n);\n    out(\"n\", 1L);\n}\n")
        .unwrap();
    let (code, said) = clc(["clc", "--check", text(&source)]);
    assert!(code == 0 && said.contains("a.cl:4:5: warning: no out or eval"), "{said}");
    assert!(said.contains("differs in field 2: it is int64, wanted is int32"), "{said}");
}

#[test]
fn a_macro_that_hides_an_operation_is_named() {
    let folder = TempDir::new().unwrap();
    let source = folder.join("a.cl");
    fs::write(&source, "#define SEND(x) out(\"n\", x)\n#define N 3\nvoid real_main(void)\n{\n    out(\"n\", N);\n    SEND(N);\n}\n").unwrap();
    let (code, said) = clc(["clc", "--check", text(&source)]);
    assert!(
        code == 1 && said.contains("a.cl:6:5: error: the macro `SEND` hides the operation `out`"),
        "{said}"
    );
    assert!(!said.contains("a.cl:5"), "{said}");
}

#[test]
fn the_analysis_tells_the_class_of_each_kind_of_tuple() {
    let jmatrix = root().join("examples/clinda/jmatrix.cl");
    let (code, said) = clc(["clc", "--check", "--analysis", "--json", text(&jmatrix)]);
    let object = object(&said);
    assert_eq!((code, &object["ok"], &object["diagnostics"]), (0, &Value::Bool(true), &Value::Array(vec![])));
    let classes: Vec<String> = object["partitions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|partition| format!("{} {} {}", partition["fields"], partition["class"], partition["key"]))
        .collect();
    assert_eq!(
        classes,
        [
            "[\"int32\"] \"queue\" null",
            "[\"\\\"row\\\"\",\"int32\",\"int32[]\"] \"hash\" 2",
            "[\"\\\"column\\\"\",\"int32\",\"int32[]\"] \"hash\" 2",
            "[\"\\\"task\\\"\",\"int32\",\"int32\"] \"queue\" null",
            "[\"\\\"dimension\\\"\",\"int32\"] \"queue\" null",
            "[\"\\\"result\\\"\",\"int32\",\"int32\",\"int32\"] \"queue\" null",
        ]
    );
    let taken: Vec<bool> =
        object["partitions"].as_array().unwrap().iter().map(|one| one["taken"] == true).collect();
    assert_eq!(taken, [false, false, false, true, false, true]);
    let (_, said) = clc(["clc", "--check", "--analysis", text(&jmatrix)]);
    assert!(said.contains("(int32): queue, never taken"), "{said}");
    assert!(said.contains("(\"row\", int32, int32[]): hash on field 2"), "{said}");
}

#[test]
fn a_source_that_is_too_long_or_missing_is_refused() {
    let folder = TempDir::new().unwrap();
    let source = folder.join("a.cl");
    fs::write(&source, " ".repeat(10_000_000)).unwrap();
    let (code, said) = clc(["clc", text(&source)]);
    assert!(code == 1 && said.contains("divide it into several files"), "{said}");
    let (code, said) = clc(["clc", text(&folder.join("b.cl"))]);
    assert!(code != 0 && said.contains("b.cl: No such file"), "{said}");
}

#[test]
fn a_source_is_checked_from_the_standard_input_as_an_editor_has_it() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.join("rows.h"), "#define ROW \"row\"\n").unwrap();
    let check = |arguments: &[&str], source: &str| {
        let mut clc = Command::new(env!("CARGO_BIN_EXE_quintet"));
        clc.args(["clc", "--check"]).args(arguments).arg("-").current_dir(folder.path());
        let child = clc.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = child.unwrap();
        child.stdin.take().unwrap().write_all(source.as_bytes()).unwrap();
        let ended = child.wait_with_output().unwrap();
        let said = [ended.stdout, ended.stderr].map(|said| String::from_utf8(said).unwrap()).concat();
        (ended.status.code().unwrap(), said)
    };
    let program =
        "#include \"rows.h\"\nvoid real_main(void)\n{\n    int n;\n    out(ROW, 1);\n    in(ROW, ?n);\n";
    assert_eq!(check(&["-Wall"], &format!("{program}}}\n")), (0, "nothing is wrong\n".to_owned()));
    let (code, said) = check(&["--json"], &format!("{program}    n = missing;\n}}\n"));
    let found = object(&said);
    let first = &found["diagnostics"][0];
    assert_eq!((code, &found["ok"], &first["file"]), (1, &Value::Bool(false), &"<stdin>".into()), "{said}");
    assert_eq!((&first["line"], &first["source"]), (&7.into(), &"    n = missing;".into()), "{said}");
    let (code, said) = check(&["--json"], &format!("{program}    out(ROW, &n);\n}}\n"));
    assert_eq!((code, &object(&said)["diagnostics"][0]["line"]), (1, &7.into()), "{said}");
    // Nothing is made beside it.
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}
