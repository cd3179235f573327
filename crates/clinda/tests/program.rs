//! Programs of several files: partitions, classes, and what can never come.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use quintet_clinda::{Class, Expanded, Program, Severity, Source, Unit, Whole};

fn program(files: &[&str]) -> Program {
    let read = |(number, text): (usize, &&str)| {
        let source = Source::new(format!("{number}.cl"), (*text).into()).unwrap();
        let expanded = Expanded::unexpanded(&source);
        Unit::read(source, &expanded).unwrap_or_else(|found| panic!("{}", found[0]))
    };
    Program::new(files.iter().enumerate().map(read).collect())
}

fn main_with(statements: &str) -> Program {
    program(&[&format!("int f(int x); void real_main(void) {{ int i, n; double d; {statements} }}")])
}

/// Each partition's fields and class.
fn classes(statements: &str) -> Vec<(String, Class)> {
    let analysis = main_with(statements).analysis();
    let shown = |partition: &quintet_clinda::Partition| (partition.fields().join(","), partition.class());
    analysis.partitions().iter().map(shown).collect()
}

fn one(fields: &str, class: Class) -> Vec<(String, Class)> {
    vec![(fields.to_owned(), class)]
}

#[test]
fn the_class_follows_from_what_templates_ask() {
    assert_eq!(classes("out(\"go\"); in(\"go\");"), one("\"go\"", Class::CountingSemaphore));
    assert_eq!(classes("out(\"t\", i); in(\"t\", ?n);"), one("\"t\",int32", Class::Queue));
    assert_eq!(classes("out(\"t\", i, d); in(\"t\", n, ?d);"), one("\"t\",int32,float64", Class::Hash(2)));
    assert_eq!(classes("out(\"t\", i, n); in(\"t\", ?n, i);"), one("\"t\",int32,int32", Class::Hash(3)));
    let both = "out(\"t\", i, n); in(\"t\", ?n, i); in(\"t\", i, ?n);";
    assert_eq!(classes(both), one("\"t\",int32,int32", Class::Search));
    assert_eq!(classes("eval(\"t\", f(1)); in(\"t\", ?n);"), one("\"t\",int32", Class::Queue));
}

#[test]
fn constants_and_types_tell_partitions_apart() {
    let found =
        classes("out(\"a\", i); out(\"b\", i); out(\"a\", d); in(\"a\", ?n); in(\"b\", ?n); in(\"a\", ?d);");
    let fields: Vec<&str> = found.iter().map(|(fields, _)| fields.as_str()).collect();
    assert_eq!(fields, ["\"a\",int32", "\"b\",int32", "\"a\",float64"]);
}

#[test]
fn a_template_with_a_variable_joins_what_it_may_find() {
    let found = classes("out(1, d); out(2, d); in(n, ?d);");
    assert_eq!(found, one("int32,float64", Class::Hash(1)));
}

#[test]
fn files_are_analysed_together() {
    let program =
        program(&["void real_main(void) { int n; in(\"n\", ?n); }", "void other(void) { out(\"n\", 3); }"]);
    assert_eq!(program.check(), []);
    assert_eq!(program.analysis().partitions().len(), 1);
    let shown = program.analysis().to_string();
    assert_eq!(shown, "(\"n\", int32): queue\n    0.cl:1:31: in(\"n\", ?n)\n    1.cl:1:20: out(\"n\", 3)");
}

#[test]
fn what_no_out_can_match_is_a_warning_that_names_the_nearest() {
    let warning = |statements: &str| {
        let found = main_with(statements).check();
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].severity, Severity::Warning);
        (found[0].message.clone(), found[0].hint.clone().unwrap())
    };
    let (message, hint) = warning("out(\"n\", 3L); in(\"n\", ?n);");
    assert!(message.contains("waits without end"), "{message}");
    assert!(hint.contains("differs in field 2: it is int64, wanted is int32"), "{hint}");
    let (message, hint) = warning("out(\"n\", 3); if (inp(\"m\", ?n)) i = 1;");
    assert!(message.contains("finds none"), "{message}");
    assert!(hint.contains("field 1: it is \"n\", wanted is \"m\""), "{hint}");
    let (_, hint) = warning("in(\"n\", ?n);");
    assert!(hint.contains("puts 2 fields"), "{hint}");
    let (_, hint) = warning("int a[3], b[4]; out(a); in(?b);");
    assert!(hint.contains("int32[3], wanted is int32[4]"), "{hint}");
    assert_eq!(main_with("int a[3], b[4]; out(a); out(b:); in(?b:n);").check(), []);
}

#[test]
fn a_program_has_one_beginning() {
    let found = program(&["void f(void) { out(1); }"]).check();
    assert!(found[0].message.contains("no real_main"), "{found:?}");
    let two = "void real_main(void) { }";
    let found = program(&[two, two]).check();
    assert!(found[0].message.contains("second real_main"), "{found:?}");
    assert_eq!(found[0].place.file, "1.cl");
}

#[test]
fn a_function_that_is_begun_and_does_not_return_returns_0() {
    let program = program(&[
        "int g(int x); void real_main(void) { eval(g(1)); }",
        "int g(int x) { x = 2;\n}\nint h(void) { }\nint k(int x) { return x; }",
    ]);
    let c = &program.emit()[1];
    assert!(
        c.contains("int g(int x) { x = 2;\nreturn 0; }\nint h(void) { }\nint k(int x) { return x; }"),
        "{c}"
    );
}

#[test]
fn operations_within_operations_and_on_several_lines_keep_the_lines() {
    let source = "void real_main(void) { int n;\nout(\"a\",\n    inp(\"b\",\n        ?n),\n    n);\nn = 3; }";
    let c = &program(&[source]).emit()[0];
    assert!(c.contains("\nclinda_out_1(clinda_inp_2(&n\n), n\n\n);\nn = 3; }"), "{c}");
}

#[test]
fn what_is_the_same_each_time_is_added_once() {
    let text =
        "void real_main(void) { int i = 0, n, a[3]; out(\"t\", 1, i, 2); in(\"t\", ?n, ?a); in(i, ?n); }";
    let c = &program(&[text]).emit()[0];
    let begins = |lines: &str| assert!(c.contains(lines), "{c}");
    begins(
        ": out\", .fixed = 2};

    if (clinda_begin(&tuple)) {
        clinda_text(&tuple, \"t\");
        clinda_value(&tuple, CLINDA_INT, &(int){1});
    }
    clinda_value(&tuple, CLINDA_INT, &field_3);
    clinda_value(&tuple, CLINDA_INT, &(int){2});
    clinda_out(&tuple);
",
    );
    begins(": in\", .fixed = CLINDA_ALL};\n\n    if (clinda_begin(&wanted)) {\n");
    begins(
        ": in\", .fixed = 0};\n\n    clinda_begin(&wanted);\n    clinda_value(&wanted, CLINDA_INT, &field_1);\n",
    );
}

/// What a whole program tells of its keys: the lines of the function that does.
fn declarations(statements: &str) -> Vec<String> {
    let text = format!("int f(int x); enum colour {{ RED }}; struct pair {{ int a, b; }};
        int real_main(void) {{ int i, n, a[3][4]; double d; enum colour c; struct pair p; {statements} return 0; }}");
    let source = Source::new("a.cl", text.into()).unwrap();
    let expanded = Expanded::unexpanded(&source);
    let unit = Unit::read(source, &expanded).unwrap_or_else(|found| panic!("{}", found[0]));
    let c = Program::new(vec![unit]).whole().emit();
    let told = c.split("void clinda_declare_keys(void)\n{\n").nth(1).unwrap();
    let is_told = |line: &&str| !line.is_empty() && *line != "    clinda_tuple types;";
    let lines = told.lines().filter(is_told).take_while(|line| *line != "}").map(str::trim);
    lines.filter(|line| !line.starts_with("types =")).map(str::to_owned).collect()
}

#[test]
fn a_whole_program_declares_the_fields_that_all_its_templates_give() {
    let task = [
        "clinda_text(&types, \"\");",
        "clinda_formal(&types, CLINDA_INT);",
        "clinda_formal(&types, CLINDA_DOUBLE);",
    ];
    let declared = |field: usize| {
        [&task.map(str::to_owned)[..], &[format!("clinda_declare_key(&types, {field});")]].concat()
    };
    assert_eq!(declarations("out(\"t\", i, d); in(\"t\", i, ?d); rdp(\"t\", n, ?d);"), declared(1));
    // Names tell tuples apart, and each name's are whole at one manager.
    assert_eq!(
        declarations("out(\"t\", i, d); out(\"u\", i, d); in(\"t\", ?n, ?d); in(\"u\", ?n, ?d);"),
        declared(0)
    );
    // One of them is found by a variable: that spreads most.
    assert_eq!(
        declarations("out(\"t\", i, d); out(\"u\", 1, d); in(\"t\", i, ?d); in(\"u\", 1, ?d);"),
        declared(1)
    );
    // To the space an enumeration is an integer, and a template that leaves it out is of the same tuples.
    assert_eq!(
        declarations("out(\"t\", c, d); out(\"t\", i, d); in(\"t\", c, ?d); in(\"t\", ?n, ?d);"),
        [""; 0]
    );
    let none = [
        "out(\"t\", i, d); in(\"t\", ?n, ?d);",
        "out(\"t\"); in(\"t\");",
        "out(\"t\", i, n); in(\"t\", i, ?n); in(\"t\", ?n, i);",
        "out(\"t\", i);",
    ];
    assert!(none.iter().all(|statements| declarations(statements).is_empty()));
}

#[test]
fn types_are_declared_as_the_space_has_them() {
    let array = "clinda_formal_array(&types, CLINDA_INT, CLINDA_ANY, 1, (size_t[]){1});";
    let found = declarations("out(i, a, p); in(i, ?a, ?p);");
    let record = "clinda_formal_array(&types, CLINDA_UNSIGNED_CHAR, CLINDA_ANY, 0, NULL);";
    assert_eq!(
        found,
        ["clinda_formal(&types, CLINDA_INT);", array, record, "clinda_declare_key(&types, 0);"]
    );
}

#[test]
fn the_notes_of_files_show_what_the_files_show() {
    let program = program(&[
        "void real_main(void) { int i = 0, n; out(\"t\", i, i); in(\"t\", i, ?n); rd(\"u\", ?n); }",
        "void other(void) { out(\"u\", 3L); }",
    ]);
    let whole = Whole::new(program.notes(), true);
    assert_eq!((whole.check(), whole.analysis()), (program.check(), program.analysis()));
    assert!(whole.check()[0].message.contains("for this `rd`"));
    assert!(whole.emit().contains("    clinda_declare_key(&types, 1);\n"));
    assert!(program.emit().iter().all(|c| !c.contains("declare_key") && c.contains("quintet-clinda 1 ")));
    assert!(Whole::default().emit().contains("void clinda_declare_keys(void)\n{\n}\n"));
}

#[test]
fn a_program_that_plain_c_is_in_may_begin_there() {
    let notes = program(&["void f(void) { out(1); }"]).notes();
    assert_eq!(Whole::new(notes.clone(), true).check(), []);
    assert!(Whole::new(notes, false).check()[0].message.contains("no real_main"));
}
