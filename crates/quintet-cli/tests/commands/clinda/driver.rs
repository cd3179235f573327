//! `quintet clc` in the place of a C compiler: by hand, and in builds with make and CMake.

use super::{alone, clc, packages};
use crate::tool::{result, start, text};
use quintet_testbed::{Program, TempDir};
use std::fs;
use std::io::{ErrorKind, Write, stderr};

const MAIN: &str = "#include <stdio.h>
#include \"shared.h\"
void real_main(void)
{
    int sum = 0, n;
    for (int i = 0; i < COUNT; i++)
        eval(\"square\", square(i));
    for (int i = 0; i < COUNT; i++) {
        in(\"square\", ?n);
        sum += n;
    }
    printf(\"sum %d\\n\", sum);
}
";
const SHARED: &str = "#define COUNT 4\nint square(int x);\n";
const WORKER: &str = "#include \"shared.h\"\nint square(int x)\n{\n    out(\"seen\", x);\n    in(\"seen\", x);\n    return FACTOR * x * x;\n}\n";

fn sources() -> TempDir {
    let folder = TempDir::new().unwrap();
    for (name, text) in [("main.cl", MAIN), ("shared.h", SHARED), ("worker.cl", WORKER)] {
        fs::write(folder.join(name), text).unwrap();
    }
    folder
}

#[test]
fn files_are_compiled_together_or_one_by_one() {
    let folder = sources();
    let path = |name: &str| text(&folder.join(name)).to_owned();
    let (code, said) = clc(["clc", "-DFACTOR=1", &path("main.cl"), &path("worker.cl"), "-o", &path("one")]);
    assert_eq!((code, said.as_str()), (0, ""));
    assert_eq!(alone(&folder.join("one"), &[]), (0, "sum 14".to_owned()));
    for (name, factor) in [("main", "-DFACTOR=0"), ("worker", "-DFACTOR=2")] {
        let (source, object) = (path(&format!("{name}.cl")), path(&format!("{name}.o")));
        assert_eq!(clc(["clc", "-O2", "-Wall", factor, "-c", &source, "-o", &object]), (0, String::new()));
    }
    let (code, said) = clc(["clc", &path("main.o"), &path("worker.o"), "-lm", "-o", &path("two")]);
    assert_eq!((code, said.as_str()), (0, ""));
    assert_eq!(alone(&folder.join("two"), &[]), (0, "sum 28".to_owned()));
}

#[test]
fn two_files_of_one_name_do_not_carry_out_each_others_evals() {
    let folder = TempDir::new().unwrap();
    let text_of = |name: &str, begin: &str| {
        format!(
            "int {name}(int x);\nint {name}(int x) {{ return x; }}\n{begin} {{ eval(\"{name}\", {name}(1)); }}\n"
        )
    };
    let objects = [("one", "void real_main(void)"), ("two", "long begin_two(void)")].map(|(name, begin)| {
        let beside = folder.join(name);
        fs::create_dir(&beside).unwrap();
        fs::write(beside.join("same.cl"), text_of(name, begin)).unwrap();
        let program = Program::new(env!("CARGO_BIN_EXE_quintet"));
        let program = program.arg("clc").arg("-w").arg("-c").arg("same.cl").in_folder(&beside);
        assert_eq!(result(program.spawn().unwrap()), (0, String::new()));
        text(&beside.join("same.o")).to_owned()
    });
    let both = text(&folder.join("both")).to_owned();
    assert_eq!(clc(["clc", &objects[0], &objects[1], "-o", &both]), (0, String::new()));
    let (code, said) = alone(&folder.join("both"), &[]);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("same.cl:3:24: eval: two files have this name"), "{said}");
}

#[test]
fn make_builds_with_it_and_again_what_has_changed() {
    let folder = sources();
    fs::write(
        folder.join("Makefile"),
        format!(
            "CLC = {} clc\nprogram: main.o worker.o\n\t$(CLC) $^ -o $@\n%.o: %.cl\n\t$(CLC) -DFACTOR=3 -MMD -c $< -o $@\n-include main.d worker.d\n",
            env!("CARGO_BIN_EXE_quintet")
        ),
    )
    .unwrap();
    let make = || {
        let program =
            Program::new("make").arg("-C").arg(text(folder.path())).env("PKG_CONFIG_PATH", packages());
        result(program.spawn().unwrap())
    };
    let (code, said) = make();
    assert!(code == 0 && said.contains("main.o worker.o -o program"), "{said}");
    assert_eq!(alone(&folder.join("program"), &[]), (0, "sum 42".to_owned()));
    assert!(make().1.contains("up to date"));
    let dependencies = fs::read_to_string(folder.join("main.d")).unwrap();
    assert!(
        dependencies.starts_with("main.o: main.cl") && dependencies.contains("shared.h"),
        "{dependencies}"
    );
}

/// As docs/clinda.md says.
const CMAKE_LISTS: &str = "cmake_minimum_required(VERSION 3.20)
project(squares C)
set_source_files_properties(main.cl worker.cl PROPERTIES LANGUAGE C)
add_executable(program main.cl worker.cl)
target_compile_definitions(program PRIVATE FACTOR=3)
";

#[test]
fn cmake_builds_with_it_and_again_what_has_changed() {
    let version = Program::new("cmake").arg("--version").spawn();
    if version.as_ref().is_err_and(|error| error.kind() == ErrorKind::NotFound) {
        return writeln!(stderr(), "SKIPPED, with CMake: it is not installed")
            .expect("standard error is open");
    }
    assert_eq!(result(version.unwrap()).0, 0);
    let folder = sources();
    fs::write(folder.join("CMakeLists.txt"), CMAKE_LISTS).unwrap();
    let build = folder.join("build");
    let cmake = |arguments: &[&str]| {
        let program = arguments.iter().fold(Program::new("cmake"), Program::arg);
        let program = program.env("PKG_CONFIG_PATH", packages()).without("CC").without("CFLAGS");
        let (code, said) = result(program.spawn().unwrap());
        assert_eq!(code, 0, "{said}");
        said
    };
    let compiler = format!("-DCMAKE_C_COMPILER={};clc", env!("CARGO_BIN_EXE_quintet"));
    cmake(&["-G", "Unix Makefiles", "-S", text(folder.path()), "-B", text(&build), &compiler]);
    let said = cmake(&["--build", text(&build)]);
    assert!(said.contains("Building C object") && said.contains("main.cl"), "{said}");
    assert_eq!(alone(&build.join("program"), &[]), (0, "sum 42".to_owned()));
    assert!(!cmake(&["--build", text(&build)]).contains("Building"));
    // A header that both include.
    fs::write(folder.join("shared.h"), SHARED.replace("COUNT 4", "COUNT 5")).unwrap();
    let said = cmake(&["--build", text(&build)]);
    assert!(said.contains("main.cl") && said.contains("worker.cl"), "{said}");
    assert_eq!(alone(&build.join("program"), &[]), (0, "sum 90".to_owned()));
}

#[test]
fn each_source_of_a_program_has_dependencies_of_its_own() {
    let folder = sources();
    fs::write(folder.join("plain.c"), "#include \"shared.h\"\nint square(int x) { return x * x; }\n")
        .unwrap();
    let path = |name: &str| text(&folder.join(name)).to_owned();
    let arguments = ["clc", "-MMD", "-x", "c", &path("main.cl"), &path("plain.c"), "-o", &path("both")];
    assert_eq!(clc(arguments), (0, String::new()));
    assert_eq!(alone(&folder.join("both"), &[]), (0, "sum 14".to_owned()));
    for (name, source) in [("both-main.d", "main.cl"), ("both-plain.d", "plain.c")] {
        let written = fs::read_to_string(folder.join(name)).unwrap();
        let (made, of) = written.split_once(": ").unwrap();
        assert_eq!(made, path("both"));
        assert!(of.contains(&path(source)) && of.contains("shared.h"), "{written}");
    }
}

#[test]
fn a_build_may_name_it_as_its_c_compiler() {
    let folder = sources();
    let compiler = format!("{} clc", env!("CARGO_BIN_EXE_quintet"));
    let (object, source) = (folder.join("main.o"), folder.join("main.cl"));
    let arguments = ["clc", "-DFACTOR=1", "-c", text(&source), "-o", text(&object)];
    let variables = [("CC", compiler.as_str()), ("PKG_CONFIG_PATH", packages())];
    assert_eq!(result(start(arguments, &variables)), (0, String::new()));
    assert!(object.exists());
}

#[test]
fn the_c_that_it_writes_can_be_kept() {
    let folder = sources();
    let c = folder.join("main.c");
    let (code, said) = clc(["clc", "--emit-c", text(&folder.join("main.cl")), "-o", text(&c)]);
    assert_eq!((code, said.as_str()), (0, ""));
    let text = fs::read_to_string(c).unwrap();
    assert!(text.contains("        clinda_eval_1(i);\n"), "{text}");
    assert!(text.contains(&format!("#line 1 \"{}", folder.join("main.cl").display())), "{text}");
}

#[test]
fn a_missing_library_is_told_with_what_to_do() {
    let folder = sources();
    let program = Program::new(env!("CARGO_BIN_EXE_quintet"))
        .arg("clc")
        .arg("-DFACTOR=1")
        .arg(text(&folder.join("main.cl")))
        .arg(text(&folder.join("worker.cl")))
        .arg("-o")
        .arg(text(&folder.join("program")))
        .env("PKG_CONFIG_LIBDIR", text(folder.path()))
        .env("PKG_CONFIG_PATH", text(folder.path()));
    let (code, said) = result(program.spawn().unwrap());
    assert!(code != 0 && said.contains("libquintet is not installed"), "{said}");
}
