//! Which puts go with the take in front of them, and which do not.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use quintet_clinda::{Expanded, Hoist, Optimisations, Program, Source, Unit};

/// The C of a program, of which `text` is all.
fn written(text: &str, optimisations: Optimisations) -> String {
    let source = Source::new("a.cl", text.into()).unwrap();
    let unit = Unit::read(source.clone(), &Expanded::unexpanded(&source));
    let unit = unit.unwrap_or_else(|errors| panic!("{errors:?}"));
    Program::new(vec![unit]).emit_optimised(optimisations).remove(0)
}

const FUSED: Optimisations = Optimisations { hoist: Hoist::Nothing, fuses: true };

/// What stands in a function `f`, fused.
fn fused(body: &str) -> String {
    let text = format!(
        "typedef long word; enum {{ TWO = 2 }}; struct point {{ int x; }}; int shared; int g(int); void keep(int *);\n\
         void f(int i, int j, double d, char c, int *p, int a[9]) {{ {body} }}\n"
    );
    let c = written(&text, FUSED);
    let main = c.split("int a[9]) { ").nth(1).expect("it is written as it was");
    main.split(" }\n").next().unwrap().to_owned()
}

fn is_fused(body: &str) -> bool {
    let c = fused(body);
    assert_eq!(c.contains("((void)0)"), !c.contains("clinda_out"), "{c}");
    c.contains("((void)0)")
}

#[test]
fn an_out_with_constants_and_the_functions_own_variables_goes_with_the_in_in_front() {
    assert_eq!(fused("in(\"token\", i); out(\"token\", j);"), "clinda_in_1(i, j); ((void)0);");
    assert_eq!(
        fused("int old; in(\"best\", ?old); out(\"best\", 3, \"x\", -1, TWO, d, c); g(old);"),
        "int old; clinda_in_1(&old, TWO, d, c); ((void)0); g(old);"
    );
    for body in [
        "in(\"best\", ?int); out(\"best\", i);",
        "in(\"best\", shared + 1, ?shared); out(\"best\", i);",
        "in(\"best\", ?p[i], ?*p); out(\"best\", i, j);",
        "int n; in(\"rows\", a:n, ?d); out(\"best\", i);",
        "int b[4]; in(\"rows\", ?b); out(\"best\", i);",
        "struct point at; in(\"at\", ?at); out(\"best\", i);",
        "in(\"a\"); /* then */ out(\"b\"); // and\n return;",
        "in(\"a\");\n\n out(\"b\");",
        "if (i) { in(\"a\"); out(\"b\"); } else in(\"c\");",
        "for (int k = 0; k < 3; k++) { in(\"a\", k); out(\"b\", k); }",
        "keep(&a[i]); keep(p + i); in(\"a\"); out(\"b\", i);",
    ] {
        assert!(is_fused(body), "{body}: {}", fused(body));
    }
}

#[test]
fn what_might_be_another_value_goes_by_itself() {
    for body in [
        // What the in stores; what others may store meanwhile; what is computed; what is no scalar.
        "in(\"n\", ?i); out(\"n\", i);",
        "in(\"n\", ?i); out(\"n\", i + 1);",
        "in(\"a\"); out(\"b\", shared);",
        "static int kept; in(\"a\"); out(\"b\", kept);",
        "extern int shared; in(\"a\"); out(\"b\", shared);",
        "keep(&i); in(\"a\"); out(\"b\", i);",
        "in(\"a\"); out(\"b\", i); keep(&(i));",
        "long at = (long)&i; in(\"a\", ?at); out(\"b\", i);",
        "long at = (word)&i; in(\"a\", ?at); out(\"b\", i);",
        "in(\"a\"); out(\"b\", g(i));",
        "in(\"a\"); out(\"b\", i++);",
        "in(\"a\"); out(\"b\", i / j);",
        "in(\"a\"); out(\"b\", *p);",
        "in(\"a\"); out(\"b\", a[1]);",
        "in(\"a\"); out(\"b\", p:i);",
        "struct point at; in(\"a\"); out(\"b\", at);",
        "struct point at; in(\"a\"); out(\"b\", at.x);",
    ] {
        assert!(!is_fused(body), "{body}: {}", fused(body));
    }
}

#[test]
fn an_in_that_may_fail_or_does_more_goes_by_itself() {
    for body in [
        // The program ends before the out, if more comes than there is room for.
        "int b[4], n; in(\"rows\", ?b:n); out(\"b\", i);",
        "int b[4]; in(\"rows\", ?b:); out(\"b\", i);",
        "in(\"a\", i++); out(\"b\", i);",
        "in(\"a\", i = 3); out(\"b\", i);",
        "in(\"a\", g(3)); out(\"b\", i);",
        "in(\"a\", inp(\"c\", ?i)); out(\"b\", i);",
        "in(\"a\", a[i++]); out(\"b\", i);",
        "in(\"a\", (int)({ return; 3; })); out(\"b\", i);",
        "in(\"a\", ?a[i = 2]); out(\"b\", i);",
        "int b[4]; in(\"a\", b:++i); out(\"b\", i);",
    ] {
        assert!(!is_fused(body), "{body}: {}", fused(body));
    }
}

#[test]
fn control_has_to_go_from_the_one_to_the_other() {
    for body in [
        "if (i) in(\"a\"); out(\"b\");",
        "if (i) // then;\n in(\"a\"); out(\"b\");",
        "in(\"a\"); if (i) out(\"b\");",
        "in(\"a\"); j = i; out(\"b\", j);",
        "in(\"a\"); again: out(\"b\"); if (i) goto again;",
        "in(\"a\"); { out(\"b\"); }",
        "in(\"a\"), out(\"b\");",
        "i = in(\"a\"); out(\"b\");",
        "in(\"a\"); out(\"b\"), i++;",
        "in(\"a\"); out(\"b\") + 1;",
        "in(\"a\"); i = out(\"b\");",
        "while (i) in(\"a\"); out(\"b\");",
        "for (; in(\"a\"); out(\"b\")) j = 3;",
        "switch (i) case 1: in(\"a\"); out(\"b\");",
        "i = ({ in(\"a\"); out(\"b\"); });",
        "in(\"a\");\n#if 1\n out(\"b\");\n#endif\n",
        "\n#pragma omp single\n in(\"a\"); out(\"b\");",
        "void inner(void) { i = 3; } in(\"a\"); out(\"b\", i);",
    ] {
        assert!(!is_fused(body), "{body}: {}", fused(body));
    }
}

#[test]
fn other_operations_are_not_fused() {
    for body in [
        "inp(\"a\"); out(\"b\");",
        "if (inp(\"a\")) out(\"b\");",
        "rd(\"a\"); out(\"b\");",
        "out(\"a\"); in(\"b\");",
        "out(\"a\"); out(\"b\");",
    ] {
        assert!(!is_fused(body), "{body}: {}", fused(body));
    }
    let c = written(
        "int g(int x) { return x; } void f(void) { in(\"a\"); eval(\"b\", g(1)); out(\"c\"); }",
        FUSED,
    );
    assert!(!c.contains("clinda_in_out"), "{c}");
}

#[test]
fn all_outs_behind_an_in_go_with_it_up_to_the_first_that_cannot() {
    assert_eq!(
        fused("in(\"n\", ?i); out(\"a\", j); out(\"b\"); out(\"c\", i); out(\"d\");"),
        "clinda_in_1(&i, j); ((void)0); ((void)0); clinda_out_4(i); clinda_out_5();"
    );
    assert_eq!(fused("in(\"a\"); in(\"b\"); out(\"c\");"), "clinda_in_1(); clinda_in_2(); ((void)0);");
    let many = fused(&format!("in(\"a\"); {}", "out(\"b\"); ".repeat(18)));
    assert_eq!((many.matches("((void)0)").count(), many.matches("clinda_out").count()), (16, 2));
}

#[test]
fn one_function_has_the_fields_of_both() {
    let text = "void f(int i, long j) {\n    in(\"n\",\n        i, ?j);\n    out(\"n\",\n        i, 7, \"x\", i);\n}\n";
    let c = written(text, FUSED);
    let function = "/* a.cl:2: in(\"n\", i, ?j) */
/* a.cl:4: out(\"n\", i, 7, \"x\", i) */
static int clinda_in_1(int field_2, long *field_3, int field_5, int field_8)
{
    static __thread clinda_tuple wanted = {.place = \"a.cl:2: in\", .fixed = 1};

    if (clinda_begin(&wanted))
        clinda_text(&wanted, \"n\");
    clinda_value(&wanted, CLINDA_INT, &field_2);
    clinda_formal(&wanted, CLINDA_LONG);
    static __thread clinda_tuple put_1 = {.place = \"a.cl:4: out\", .fixed = 1};

    if (clinda_begin(&put_1))
        clinda_text(&put_1, \"n\");
    clinda_value(&put_1, CLINDA_INT, &field_5);
    clinda_value(&put_1, CLINDA_INT, &(int){7});
    clinda_text(&put_1, \"x\");
    clinda_value(&put_1, CLINDA_INT, &field_8);
    clinda_tuple found = clinda_in_out(&wanted, 1, (const clinda_tuple *[]){&put_1});
    clinda_get(&found, 2, CLINDA_LONG, field_3);
    clinda_free(&found);
    return 1;
}
";
    assert!(c.contains(function), "{c}");
    assert!(
        c.contains("{\n    clinda_in_1(i, &j, i, i\n);\n    ((void)0\n);\n}\n\n"),
        "lines are where they were: {c}"
    );
    let plain = written(text, Optimisations::default());
    assert!(plain.contains("clinda_out_2(i, i\n)") && !plain.contains("clinda_in_out"), "{plain}");
}

#[test]
fn reads_are_begun_early_before_what_is_fused() {
    let text =
        "void f(int i) { int n, x; out(\"kept\", 1); in(\"t\", ?x); out(\"t\", i); rd(\"kept\", ?n); }";
    let both = written(text, Optimisations { hoist: Hoist::PutsAndReads, fuses: true });
    let body = "(clinda_begin_rd_4(), clinda_out_1()); clinda_in_2(&x, i); ((void)0); clinda_rd_4(&n);";
    assert!(both.contains(body), "{both}");
    let text = "void f(int i) { int n, x; out(\"kept\", 1); in(\"t\", ?x); out(\"t\", i); rd(\"kept\", x, ?n); out(\"kept\", 1, 2); }";
    let both = written(text, Optimisations { hoist: Hoist::PutsAndReads, fuses: true });
    assert!(
        both.contains("clinda_in_2(&x, i); (clinda_begin_rd_4(x), ((void)0)); clinda_rd_4(x, &n);"),
        "{both}"
    );
}
