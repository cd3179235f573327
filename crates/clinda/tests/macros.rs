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

#[test]
fn a_macro_that_hides_fields_is_refused() {
    let source = "#define BOTH 1, 2\nvoid f(void) { out(BOTH); }\n";
    let (line, text) = message(source, "\nvoid f(void) { out(1, 2); }\n");
    assert!(line == 2 && text.contains("or fields of it"), "{text}");
    let source = "#define ANY ?n\nvoid f(int n) { in(ANY); }\n";
    let (line, text) = message(source, "\nvoid f(int n) { in(?n); }\n");
    assert!(line == 2 && text.contains("or fields of it"), "{text}");
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
