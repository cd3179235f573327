//! What is begun earlier than it is written, and what is not.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use quintet_clinda::{Expanded, Hoist, Optimisations, Program, Source, Unit};

/// What stands in `real_main`, hoisted, behind declarations and operations that make tuples.
fn hoisted(body: &str) -> String {
    let text = format!(
        "int f(int); int i, j, n, x; int a[9], b[9]; int *p;\n\
         void outs(void) {{ out(\"kept\", 1, 2); out(\"taken\", 1); out(\"rows\", 1, a:9); }}\n\
         void takes(void) {{ int t; in(\"taken\", ?t); }}\n\
         void real_main(void) {{ {body} }}\n"
    );
    let source = Source::new("a.cl", text.into()).unwrap();
    let expanded = Expanded::unexpanded(&source);
    let unit = Unit::read(source, &expanded).unwrap_or_else(|errors| panic!("{errors:?}"));
    let hoist = Optimisations { hoist: Hoist::PutsAndReads, ..Optimisations::default() };
    let c = Program::new(vec![unit]).emit_optimised(hoist).remove(0);
    let main = c.split("void real_main(void) { ").nth(1).expect("it is written as it was");
    main.split(" }").next().unwrap().to_owned()
}

#[test]
fn reads_of_what_is_never_taken_are_begun_with_the_first_statement_in_front() {
    assert_eq!(
        hoisted("rd(\"taken\", ?x); rd(\"kept\", i, ?n);"),
        "(clinda_begin_rd_6(i), clinda_rd_5(&x)); clinda_rd_6(i, &n);"
    );
    assert_eq!(
        hoisted("in(\"taken\", ?x); rd(\"kept\", i, ?n); rd(\"rows\", j, ?a:);"),
        "(clinda_begin_rd_6(i), clinda_begin_rd_7(j), clinda_in_5(&x)); clinda_rd_6(i, &n); clinda_rd_7(j, a);"
    );
}

#[test]
fn nothing_is_begun_early_that_might_find_something_else() {
    // What the program takes; what needs a result; what might, by a pointer or an element; what a call may change.
    for body in [
        "rd(\"kept\", i, ?n); rd(\"taken\", ?x);",
        "in(\"taken\", ?i); rd(\"kept\", i, ?n);",
        "rd(\"rows\", 1, ?a:i); rd(\"kept\", i, ?n);",
        "in(\"taken\", ?*p); rd(\"kept\", i, ?n);",
        "in(\"taken\", ?a[x]); rd(\"kept\", i, ?n);",
        "rd(\"rows\", 1, ?p:x); rd(\"kept\", i, ?n);",
        "out(\"taken\", f(1)); rd(\"kept\", i, ?n);",
        "in(\"taken\", ?x); rd(\"kept\", f(i), ?n);",
        "in(\"taken\", ?x); rd(\"kept\", i + 1, ?n);",
        "in(\"taken\", ?x); rd(\"kept\", a[0], ?n);",
        "if (x) in(\"taken\", ?x); rd(\"kept\", i, ?n);",
        "for (;;) in(\"taken\", ?x); rd(\"kept\", i, ?n);",
        "in(\"taken\", ?x); i = 3; rd(\"kept\", i, ?n);",
        "in(\"taken\", ?x); if (i) rd(\"kept\", i, ?n);",
        "if (inp(\"taken\", ?x)) rd(\"kept\", i, ?n);",
        "in(\"taken\", ?x); rdp(\"kept\", i, ?n);",
        "for (x = 0; in(\"taken\", ?x); rd(\"kept\", i, ?n)) i = n;",
        "switch (x) case 1: in(\"taken\", ?x); rd(\"kept\", i, ?n);",
        "n = ({ in(\"taken\", ?x); rd(\"kept\", i, ?n); });",
    ] {
        assert!(!hoisted(body).contains("begin"), "{body}: {}", hoisted(body));
    }
}

#[test]
fn a_macro_is_what_it_stands_for() {
    let hoisted = |macros: &str, body: &str, expanded: &str| {
        let program = |body| {
            format!(
                "int i, n, x, *p; enum {{ ONE = 1 }};\nvoid outs(void) {{ out(\"kept\", 1, 2); out(\"taken\", 1); }}\nvoid real_main(void) {{ {body} }}\n"
            )
        };
        let source = Source::new("a.cl", format!("{macros}\n{}", program(body)).into()).unwrap();
        let expanded = Expanded::new(format!("# 2 \"a.cl\"\n{}", program(expanded)));
        let unit = Unit::read(source, &expanded).unwrap();
        let hoist = Optimisations { hoist: Hoist::PutsAndReads, ..Optimisations::default() };
        Program::new(vec![unit]).emit_optimised(hoist).remove(0).contains("clinda_begin_rd_4(")
    };
    let body = "in(\"taken\", ?x); rd(\"kept\", I, ?n);";
    for words in ["i", "ONE", "7"] {
        assert!(hoisted(&format!("#define I {words}"), body, &body.replace('I', words)), "{words}");
    }
    for words in ["x", "(*p)", "n++", "(i + x)"] {
        assert!(!hoisted(&format!("#define I {words}"), body, &body.replace('I', words)), "{words}");
    }
    let body = "in(\"taken\", ?X); rd(\"kept\", i, ?n);";
    assert!(hoisted("#define X x", body, &body.replace('X', "x")));
    assert!(!hoisted("#define X i", body, &body.replace('X', "i")));
}

#[test]
fn a_chain_ends_where_something_is_stored_that_is_asked_for() {
    assert_eq!(
        hoisted("in(\"taken\", ?i); in(\"taken\", ?x); rd(\"kept\", i, ?n);"),
        "clinda_in_5(&i); (clinda_begin_rd_7(i), clinda_in_6(&x)); clinda_rd_7(i, &n);"
    );
}

#[test]
fn a_program_that_is_not_hoisted_has_nothing_of_it() {
    let text = "void real_main(void) { int n; out(\"n\", 3); rd(\"n\", ?n); rd(\"n\", ?n); }";
    let written = |hoist| {
        let source = Source::new("a.cl", text.into()).unwrap();
        let unit = Unit::read(source.clone(), &Expanded::unexpanded(&source)).unwrap();
        let hoist = Optimisations { hoist, ..Optimisations::default() };
        Program::new(vec![unit]).emit_optimised(hoist).remove(0)
    };
    let plain = written(Hoist::Nothing);
    assert!(!plain.contains("ahead") && !plain.contains("begin_rd"), "{plain}");
    let puts = written(Hoist::Puts);
    assert!(puts.contains("clinda_out_ahead(&tuple)") && !puts.contains("begin_rd"), "{puts}");
    assert!(written(Hoist::PutsAndReads).contains("begin_rd"));
}
