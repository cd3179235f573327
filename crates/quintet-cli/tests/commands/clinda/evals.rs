//! Processes that carry out evals: more than there are workers, killed ones, and the end of a program.

use super::{alone, program};
use crate::tool::{LONG, result, start, text, wait_until};
use quintet_testbed::{Program, TempDir};
use std::fs;

/// A chain: each eval waits for what the next one puts, so that all have to be begun.
const CHAIN: &str = "#include <stdio.h>
int link(int x);
int link(int x)
{
    int n = 0;
    if (x < 12)
        in(\"link\", x + 1, ?n);
    out(\"link\", x, n + 1);
    return x;
}
void real_main(void)
{
    int n;
    for (int i = 0; i <= 12; i++)
        eval(\"ended\", link(i));
    in(\"link\", 0, ?n);
    for (int i = 0; i <= 12; i++)
        in(\"ended\", i);
    printf(\"a chain of %d\\n\", n);
}
";

#[test]
fn evals_that_wait_for_each_other_do_not_wait_for_processes() {
    let folder = TempDir::new().unwrap();
    let chain = program(&folder, "chain", CHAIN);
    for (code, said) in [result(start(["run", "-n", "2", text(&chain)], &[])), alone(&chain, &[])] {
        assert!(code == 0 && said.contains("a chain of 13"), "{code}: {said}");
    }
}

/// More evals than processes can be, each of which waits for a tuple; main puts that once it is told to by a file.
const CROWD: &str = "#include <stdio.h>
#include <unistd.h>
enum { MOST = 512, ALL = MOST + 8 };
int held(int x);
int held(int x)
{
    out(\"begun\", x);
    rd(\"go\");
    return x;
}
int real_main(int count, char **arguments)
{
    int n;
    if (count != 2)
        return 1;
    for (int i = 0; i < ALL; i++)
        eval(\"ended\", held(i));
    for (int i = 0; i < MOST; i++)
        in(\"begun\", ?n);
    while (access(arguments[1], F_OK) != 0)
        usleep(1000);
    printf(\"a further one has begun: %d\\n\", inp(\"begun\", ?n));
    out(\"go\");
    for (int i = 0; i < ALL; i++)
        in(\"ended\", ?int);
    printf(\"all have ended\\n\");
    return 0;
}
";

#[test]
fn as_many_evals_wait_as_there_can_be_processes_and_further_ones_wait_for_these() {
    let folder = TempDir::new().unwrap();
    let (crowd, told) = (program(&folder, "crowd", CROWD), folder.join("told"));
    let job = start(["run", "-n", "1", text(&crowd), text(&told)], &[]);
    let said = job.output().wait_for("[worker 0] clinda: 512 evals wait here for tuples", LONG);
    let said = said.unwrap_or_else(|| panic!("{}", job.output().text()));
    assert!(said.contains("no further process can be begun"), "{said}");
    fs::write(&told, "").unwrap();
    let (code, said) = result(job);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("a further one has begun: 0") && said.contains("all have ended"), "{said}");
}

/// The first process that begins the eval kills itself.
const KILLED: &str = "#include <signal.h>
#include <stdio.h>
int survive(int x);
int survive(int x)
{
    if (inp(\"kill\"))
        raise(SIGKILL);
    return x + 1;
}
void real_main(void)
{
    int n;
    out(\"kill\");
    eval(\"survived\", survive(41));
    in(\"survived\", ?n);
    printf(\"survived with %d, twice: %d\\n\", n, rdp(\"survived\", ?int));
}
";

#[test]
fn an_eval_whose_process_is_killed_is_begun_again() {
    let folder = TempDir::new().unwrap();
    let killed = program(&folder, "killed", KILLED);
    for (code, said) in [result(start(["run", "-n", "2", text(&killed)], &[])), alone(&killed, &[])] {
        assert!(code == 0 && said.contains("survived with 42, twice: 0"), "{code}: {said}");
    }
}

#[test]
fn an_eval_that_kills_every_process_ends_the_program() {
    let folder = TempDir::new().unwrap();
    let source = "#include <stdlib.h>\nint die(int x);\nint die(int x) { if (x) abort(); return 0; }\nvoid real_main(void) { int n; eval(\"n\", die(1)); in(\"n\", ?n); }\n";
    let dying = program(&folder, "dying", source);
    for (code, said) in [result(start(["run", "-n", "2", text(&dying)], &[])), alone(&dying, &[])] {
        assert_eq!(code, 1, "{said}");
        assert!(said.contains("each process that began it has ended, at last by signal 6"), "{said}");
    }
}

#[test]
fn a_program_ends_with_its_evals_or_with_lhalt() {
    let folder = TempDir::new().unwrap();
    let waits = "#include <stdio.h>\nint late(int x);\nint late(int x) { rd(\"go\"); printf(\"late %d\\n\", x); return x; }\nvoid real_main(void) { eval(late(7)); out(\"go\"); printf(\"main ends\\n\"); fflush(stdout); }\n";
    let waits = program(&folder, "waits", waits);
    let halts = "#include <stdio.h>\nint halt(int x);\nint halt(int x) { lhalt(x); return x; }\nint never(int x);\nint never(int x) { in(\"never\"); return x; }\nvoid real_main(void) { eval(never(1)); eval(halt(7)); in(\"never\"); out(\"never\"); }\n";
    let halts = program(&folder, "halts", halts);
    for is_job in [true, false] {
        let run = |program: &std::path::Path| match is_job {
            true => result(start(["run", "-n", "2", text(program)], &[])),
            false => alone(program, &[]),
        };
        let (code, said) = run(&waits);
        assert!(code == 0 && said.contains("late 7") && said.contains("main ends"), "{code}: {said}");
        let (code, said) = run(&halts);
        assert_eq!(code, 7, "{said}");
    }
}

/// One call of two leaves, and one that is alone; those of another eval return, of every size. What the evals were given goes with them.
const LEAVES: &str = "#include <stdio.h>
/* What evals are given comes from no `out` of a program. */
enum { LIVE = 0 };
int leave(int x);
int leave(int x) { lexit(x); return x; }
double half(short x);
double half(short x) { return x / 2.0; }
char letter(void);
char letter(void) { return 'q'; }
_Bool is_true(long x);
_Bool is_true(long x) { return x == 1L << 40; }
void real_main(void)
{
    double d;
    char c;
    _Bool b;
    if (LIVE) {
        out(\"clinda.live\", 0L, 0);
        out(\"clinda.live\", 0L, (short)0, 0);
    }
    eval(\"left\", half((short)1), leave(0));
    eval(\"left alone\", leave(0));
    eval(\"all\", half((short)3), letter(), is_true(1L << 40));
    in(\"all\", ?d, ?c, ?b);
    while (rdp(\"clinda.live\", ?long, ?int) || rdp(\"clinda.live\", ?long, ?short, ?int))
        continue;
    printf(\"%.1f %c %d, left: %d\\n\", d, c, b, rdp(\"left\", ?double, ?int));
}
";

#[test]
fn an_eval_of_several_calls_of_which_one_leaves_ends_without_a_tuple() {
    let folder = TempDir::new().unwrap();
    let leaves = program(&folder, "leaves", LEAVES);
    for (code, said) in [result(start(["run", "-n", "2", text(&leaves)], &[])), alone(&leaves, &[])] {
        assert!(code == 0 && said.contains("1.5 q 1, left: 0"), "{code}: {said}");
        assert!(!said.contains("clinda:"), "{said}");
    }
}

#[test]
fn a_program_alone_that_is_ended_by_a_signal_leaves_nothing_behind() {
    let folder = TempDir::new().unwrap();
    let source = "#include <stdio.h>\nint never(int x);\nint never(int x) { printf(\"begun\\n\"); fflush(stdout); in(\"never\"); return x; }\nvoid real_main(void) { eval(never(1)); in(\"never\"); out(\"never\"); }\n";
    let waits = program(&folder, "waits", source);
    let temporary = TempDir::new().unwrap();
    let is_empty = || fs::read_dir(temporary.path()).unwrap().next().is_none();
    for signal in ["HUP", "INT", "QUIT", "TERM"] {
        // A group of its own, as a shell gives one to each job.
        let group = Program::new("setsid").arg(text(&waits)).env("TMPDIR", text(temporary.path()));
        let group = group.spawn().unwrap();
        assert!(group.output().wait_for("begun", LONG).is_some(), "{}", group.output().text());
        assert!(!is_empty());
        let kill = Program::new("kill").arg(format!("-{signal}")).arg("--").arg(format!("-{}", group.id()));
        assert_eq!(result(kill.spawn().unwrap()), (0, String::new()));
        assert_eq!(result(group), (-1, "begun".to_owned()));
        wait_until(is_empty);
    }
}

#[test]
fn an_array_that_is_too_long_ends_the_program_where_it_was_taken() {
    let folder = TempDir::new().unwrap();
    let source = "void real_main(void)\n{\n    int many[5] = {0}, few[3];\n    out(\"a\", many:);\n    in(\"a\", ?few:);\n}\n";
    let (code, said) = alone(&program(&folder, "long", source), &[]);
    assert_eq!(code, 1, "{said}");
    assert!(
        said.contains("long.cl:5: in: the array in field 2 has 5 elements, and there is room for 3"),
        "{said}"
    );
}
