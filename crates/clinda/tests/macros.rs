//! Macros: constants are known, and what hides an operation is refused. The preprocessor's output is written here as `cc -E` writes it.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use quintet_clinda::{Diagnostic, Expanded, Program, Source, Unit};

fn read(source: &str, expanded: &str) -> Result<Unit, Vec<Diagnostic>> {
    let source = Source::new("a.cl", source.into()).unwrap();
    Unit::read(source, &Expanded::new(format!("# 1 \"a.cl\"\n{expanded}")))
}

fn message(source: &str, expanded: &str) -> (usize, String) {
    let found = read(source, expanded).unwrap_err();
    assert_eq!(found.len(), 1, "{found:?}");
    (found[0].place.line, found[0].message.clone())
}

#[test]
fn a_macro_may_stand_for_a_value_and_stays_in_the_c() {
    let source = "#define N (2 * M)\n#define NAME \"n\"\nvoid f(int x) { out(NAME, N, x + N); }\n";
    let unit = read(source, "\n\nvoid f(int x) { out(\"n\", (2 * 3), x + (2 * 3)); }\n").unwrap();
    let c = &Program::new(vec![unit]).emit()[0];
    assert!(c.contains("clinda_text(&tuple, \"n\")"), "{c}");
    assert!(c.contains("void f(int x) { clinda_out_1(N, x + N); }"), "{c}");
}

#[test]
fn a_macro_that_hides_an_operation_is_refused() {
    let source = "#define SEND(x) out(\"n\", x)\nvoid f(void) { SEND(1); }\n";
    let (line, message) = message(source, "\nvoid f(void) { out(\"n\", 1); }\n");
    assert_eq!((line, message.as_str()), (2, "the macro `SEND` hides the operation `out`"));
}

/// What is wrong, and where: line and column.
fn placed(source: &str, expanded: &str) -> Vec<(usize, usize, String)> {
    let found = read(source, expanded).unwrap_err();
    found.into_iter().map(|error| (error.place.line, error.place.column, error.message)).collect()
}

fn hides(line: usize, column: usize, name: &str, what: &str) -> (usize, usize, String) {
    (line, column, format!("the macro `{name}` hides {what} `out`"))
}

#[test]
fn a_macro_that_hides_fields_is_refused() {
    let source = "#define BOTH 1, 2\nvoid f(void) { out(BOTH); }\n";
    let found = placed(source, "\nvoid f(void) { out(1, 2); }\n");
    assert_eq!(found, [hides(2, 20, "BOTH", "fields of the operation")]);
    let source = "#define ANY ?n\nvoid f(int n) { in(ANY); }\n";
    let found = placed(source, "\nvoid f(int n) { in(?n); }\n");
    assert_eq!(found, [(2, 20, "the macro `ANY` hides fields of the operation `in`".to_owned())]);
    // Another macro stands for one value.
    let source = "#define N 3\n#define PAIR 1, 2\nvoid f(void) { out(\"b\", N, PAIR); out(PAIR, N); }\n";
    let found = placed(source, "\n\nvoid f(void) { out(\"b\", 3, 1, 2); out(1, 2, 3); }\n");
    let what = "fields of the operation";
    assert_eq!(found, [hides(3, 28, "PAIR", what), hides(3, 39, "PAIR", what)]);
    let source = "#define REST , 2\nvoid f(void) { out(\"b\" REST); }\n";
    let found = placed(source, "\nvoid f(void) { out(\"b\" , 2); }\n");
    assert_eq!(found, [hides(2, 24, "REST", what)]);
}

#[test]
fn an_operation_that_a_macro_names_is_told_where_the_macro_stands() {
    let source = "#define O out\nvoid f(int n)               { n = 1; n = 2; O(n); }\n";
    let found = placed(source, "\nvoid f(int n)               { n = 1; n = 2; out(n); }\n");
    assert_eq!(found, [hides(2, 45, "O", "the operation")]);
    // Beside another of the same name, each keeps its place, whichever comes first.
    let source = "#define O out\nvoid f(int n, int *p) { O(n); out(p); out(x); O(n); }\n";
    let found = placed(source, "\nvoid f(int n, int *p) { out(n); out(p); out(x); out(n); }\n");
    let missing = (2, 43, "`x` is not declared".to_owned());
    let pointer = (2, 35, found[1].2.clone());
    assert!(pointer.2.contains("`p` is a pointer"), "{found:?}");
    assert_eq!(
        found,
        [hides(2, 25, "O", "the operation"), pointer, missing, hides(2, 47, "O", "the operation")]
    );
}

#[test]
fn an_operation_in_an_included_file_is_refused() {
    let (line, text) =
        message("#include \"b.h\"\n", "# 1 \"b.h\" 1\nvoid f(void) { out(1); }\n# 2 \"a.cl\" 2\n");
    assert!(line == 1 && text.contains("an included file has the operation `out`"), "{text}");
}

#[test]
fn the_systems_own_functions_of_these_names_are_left_alone() {
    let expanded = "# 1 \"/usr/include/x.h\" 1 3\nint eval(int x);\nstatic int f(void) { return in(1); }\n# 2 \"a.cl\" 2\n";
    assert!(read("#include <x.h>\n", expanded).is_ok());
}

#[test]
fn what_the_preprocessor_leaves_out_stays_as_it_is() {
    let source = "#if 0\nvoid f(void) { out(x); out(; }\n#endif\nvoid g(void) { out(1); }\n";
    let unit = read(source, "\n\n\nvoid g(void) { out(1); }\n").unwrap();
    let c = &Program::new(vec![unit]).emit()[0];
    assert!(c.contains("void f(void) { out(x); out(; }"), "{c}");
    assert!(c.contains("void g(void) { clinda_out_1(); }"), "{c}");
}

#[test]
fn a_line_that_a_backslash_continues_is_one() {
    let source = "void f(int \\\nx) { out(x); }\n";
    assert!(read(source, "void f(int x) { out(x); }\n\n").is_ok());
}
