//! What C-Linda forbids: each construct has one error, at its place, with what to do.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use quintet_clinda::{Diagnostic, Expanded, MAX_SOURCE_BYTES, Source, Unit};

/// What is wrong with a file, of which no preprocessor was asked.
fn wrong(text: &str) -> Vec<Diagnostic> {
    let source = match Source::new("a.cl", text.into()) {
        Ok(source) => source,
        Err(diagnostic) => return vec![*diagnostic],
    };
    let expanded = Expanded::unexpanded(&source);
    Unit::read(source, &expanded).err().unwrap_or_default()
}

const DECLARED: &str = "struct point { int x, y; }; struct list { struct list *next; }; struct later;
typedef int number; int n, a[10], grid[2][3]; const int fixed = 3; const char letters[4]; char *s; int *p; void *v;
double d; long double wide; struct point point; struct list list; struct later *later; int (*unknown)[]; enum { ONE = 1 };
int f(int x); void nothing(int x); double *far(int x); int takes(char *s); int two(int a, int b); int (*call)(int);
int old(); extern int open[]; struct point made(void); unsigned char byte; short *half; _Bool truth; long many;
";

/// The only error of a statement of a function that may use what is declared above.
fn error(statement: &str) -> String {
    let text = format!("{DECLARED}void test(void) {{ int vla[n];\n    {statement}\n}}\n");
    let found = wrong(&text);
    assert_eq!(found.len(), 1, "{statement}: {found:?}");
    assert_eq!(found[0].place.line, 7, "{statement}");
    assert!(found[0].hint.as_ref().is_some_and(|hint| !hint.is_empty()), "{statement}");
    assert_eq!(found[0].source, format!("    {statement}"));
    found[0].message.clone()
}

fn allowed(statement: &str) {
    let text = format!("{DECLARED}void test(void) {{ int vla[n];\n    {statement}\n}}\n");
    assert_eq!(wrong(&text), [], "{statement}");
}

#[test]
fn each_forbidden_field_is_named() {
    let cases = [
        ("out(\"a\", p);", "`p` is a pointer"),
        ("out(s);", "`s` is a pointer"),
        ("in(\"a\", ?p);", "`p` is a pointer"),
        ("out(\"a\", &n);", "`&n` is a pointer"),
        ("out(f);", "is a function, and not called"),
        ("out(call);", "is a pointer"),
        ("out(nothing(1));", "has no value"),
        ("out(list);", "has the member `next`"),
        ("out(*later);", "is not defined here"),
        ("out(wide);", "long double"),
        ("out(made());", "no variable holds"),
        ("out(vla);", "length is no constant"),
        ("out(missing);", "`missing` is not declared"),
        ("out(missing(1));", "`missing` is not declared"),
        ("out(point.z);", "no member `z`"),
        ("out(n->x);", "is no struct"),
        ("out(1 +);", "is no expression"),
        ("out(n n);", "is no expression"),
        ("out(number);", "is a type"),
        ("out(n:3);", "is no array"),
        ("out(p:);", "length of this one is not known"),
        ("out(open:);", "length of this one is not known"),
        ("out(p:s);", "is no integer"),
        ("out(p:1.5);", "is no integer"),
        ("out(v:3);", "points to void"),
        ("out(unknown:3);", "length is no constant"),
        ("out(?n);", "has a formal"),
        ("eval(f(?n));", "is no expression"),
        ("in(?fixed);", "is const"),
        ("in(?letters:);", "is const"),
        ("in(?3);", "is no variable"),
        ("in(?n + 1);", "is no variable"),
        ("in(?f(1));", "is no variable"),
        ("in(?a:3);", "is no variable"),
        ("in(?a:d);", "is no integer variable"),
        ("in(?a:fixed);", "is no integer variable"),
        ("in(?a:byte);", "`byte` is narrower than an int"),
        ("in(?p:*half);", "`*half` is narrower than an int"),
        ("in(?a:truth);", "`truth` is narrower than an int"),
        ("in(?int:n);", "has a length"),
        ("in(?struct point);", "no scalar type"),
        ("in(?void);", "no scalar type"),
        ("in(?char *);", "no scalar type"),
    ];
    for (statement, words) in cases {
        let message = error(statement);
        assert!(message.contains(words), "{statement}: {message}");
    }
}

#[test]
fn each_forbidden_eval_is_named() {
    let cases = [
        ("eval(1);", "without a call"),
        ("eval(n, \"a\");", "without a call"),
        ("eval((f(1)));", "without a call"),
        ("eval(missing(1));", "no function that is declared"),
        ("eval(call(1));", "no function that is declared"),
        ("eval(nothing(1));", "returns no scalar"),
        ("eval(far(1));", "returns no scalar"),
        ("eval(takes(s));", "is no scalar"),
        ("eval(takes(1));", "takes what is no scalar"),
        ("eval(two(1));", "takes 2 arguments, and is given 1"),
        ("eval(old(1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17));", "17 arguments"),
    ];
    for (statement, words) in cases {
        let message = error(statement);
        assert!(message.contains(words), "{statement}: {message}");
    }
}

#[test]
fn what_is_written_wrongly_is_named() {
    let many = format!("out({}16);", "0,".repeat(16));
    let cases = [
        ("out(1, 2;", "no closing parenthesis"),
        ("out(a[1, 2);", "no closing parenthesis"),
        ("out();", "without a field"),
        ("out(1,,2);", "is empty"),
        ("out(a:1:2);", "two lengths"),
        (&many, "more than 16 fields"),
    ];
    for (statement, words) in cases {
        let message = error(statement);
        assert!(message.contains(words), "{statement}: {message}");
    }
}

#[test]
fn what_is_allowed_is_not_refused() {
    for statement in [
        "out(\"a\", 'c', 1, 1.5f, -2, ONE, n, d, fixed, point, a, grid, a[n], *p, f(n), two(1, 2));",
        "out(p:3, a:, &a[2]:n - 2, a + 1:n, grid:, s:3, letters, \"text\":5, (char *)v:8, vla:n);",
        "in(?n, ?d, ?point, ?a, ?grid, ?a[3], ?*p, ?point.x, ?p:n, ?p:many, ?a:, ?p:, ?vla:n, ?int, ?number, ?unsigned long);",
        "if (inp(\"a\", ?n) && !rdp(\"b\", ?int)) while (rd(1), in(2)) n = out(3) ? in(4) : rd(5);",
        "eval(\"a\", f(n), two(1, f(2)), old(1, 2.5), d, a:);",
        "out(n ? 1 : 2, a:n ? 1 : 2, sizeof(n), (long)n, n == 1, n << 2, p - a, !n, ~n, (n, d), __builtin_nanf(\"\"));",
        "struct { int in; } t; int out; t.in = out = 1; (void)out;",
        "for (int i = 0; i < 3; i++) { double n = i; out(n, i); in(?n, ?i); }",
    ] {
        allowed(statement);
    }
}

#[test]
fn an_expression_that_is_nested_too_deeply_is_to_be_divided() {
    let text = format!("void f(int n) {{ out({}n{}); }}", "-(".repeat(200), ")".repeat(200));
    let found = wrong(&text);
    assert_eq!((found.len(), found[0].message.as_str()), (1, "the expression is nested too deeply"));
    assert_eq!(found[0].hint.as_deref(), Some("assign a part of it to a variable first"));
}

#[test]
fn a_scope_ends_with_its_block() {
    let found = wrong("void test(void) { { int inner; out(inner); } out(inner); }");
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].place.column, found[0].message.as_str()), (50, "`inner` is not declared"));
}

#[test]
fn functions_in_the_style_before_1989_are_understood() {
    let text = "real_main(argc, argv) int argc; char *argv[]; { double x; out(argc, x); in(?argc, ?x); }";
    assert_eq!(wrong(text), []);
}

#[test]
fn a_source_that_is_too_long_or_no_text_is_refused() {
    let found = wrong(&" ".repeat(10_000_000));
    assert!(found[0].message.contains(&format!("{MAX_SOURCE_BYTES} is the most")), "{found:?}");
    let error = Source::new("a.cl", vec![b'a', 0xff]).unwrap_err();
    assert!(error.message.contains("not UTF-8: see byte 1"), "{error}");
}

#[test]
fn every_mistake_is_told_in_the_order_of_the_source() {
    let found = wrong("void f(void) { out(x);\nin(?3);\nout(y); out(; }");
    let places: Vec<(usize, usize)> =
        found.iter().map(|error| (error.place.line, error.place.column)).collect();
    assert_eq!(places, [(1, 20), (2, 5), (3, 5), (3, 9)]);
}

#[test]
fn an_error_is_shown_with_its_line_and_a_mark() {
    let found = wrong("void f(void)\n{\n\tout(\"caf\u{e9}\", x);\n}\n");
    let shown = found[0].to_string();
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines[0], "a.cl:3:14: error: `x` is not declared");
    assert_eq!(lines[1], "    \tout(\"caf\u{e9}\", x);");
    assert_eq!(lines[2], "    \t            ^");
    assert!(lines[3].starts_with("    hint: declare it"), "{shown}");
}
