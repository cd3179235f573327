//! Machines whose clocks are set back by an hour while the cluster lives.

use super::machine::Machine;
use crate::tool::{result, wait_until_gone};
use quintet_testbed::{Program, TempDir};
use std::fs;
use std::path::PathBuf;

/// Takes the place of the C library's function, through which programs ask what time it is: an hour earlier than it is. The clock that only goes
/// forward stays as it is, as it does when a clock is set.
const AN_HOUR_BACK: &str = "#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *time) {
    int failed = (int)syscall(SYS_clock_gettime, clock, time);
    if (!failed && clock == CLOCK_REALTIME) time->tv_sec -= 3600;
    return failed;
}
";

/// That as a library; none where there is no C compiler, and why was printed.
fn an_hour_back(folder: &TempDir) -> Option<PathBuf> {
    let (source, library) = (folder.join("back.c"), folder.join("back.so"));
    fs::write(&source, AN_HOUR_BACK).unwrap();
    let compiler = Program::new("cc").arg("-shared").arg("-fPIC").arg("-o").arg(&library).arg(&source);
    let Ok(compiler) = compiler.spawn() else {
        println!("skipped: there is no C compiler");
        return None;
    };
    let (code, said) = result(compiler);
    assert_eq!(code, 0, "{said}");
    Some(library)
}

#[test]
fn a_clock_that_is_set_back_an_hour_keeps_nobody_out() {
    let folder = TempDir::new().unwrap();
    let Some(library) = an_hour_back(&folder) else { return };
    let (a, c) = (Machine::founded(), Machine::new("c"));
    let b = Machine::joined("b", &a);
    a.wait_until_shown(&[("a", "up (this machine)"), ("b", "up")]);
    let back = |machine: &Machine, words: &[&str]| {
        let (code, said) = result(machine.program(words).env("LD_PRELOAD", &library).spawn().unwrap());
        assert_eq!(code, 0, "{} {words:?}: {said}", machine.name);
        said
    };

    // Others remember lives of its agent that have begun later than it is now; its certificate is younger than now.
    let agent = b.process.get().unwrap();
    b.does(&["down"]);
    wait_until_gone(&[agent]);
    b.keep_process(&back(&b, &["up", "--listen", &b.place, "--json"]));
    a.wait_until_shown(&[("a", "up (this machine)"), ("b", "up")]);
    b.wait_until_shown(&[("a", "up"), ("b", "up (this machine)")]);
    back(&b, &["rotate"]);

    // A machine whose clock is an hour behind joins with a token that is made later than it is there.
    let (at, token) = (format!("lab@{}", a.place), a.token());
    let join = ["join", &at, &token, "--name", "c", "--listen", &c.place, "--json"];
    c.keep_process(&back(&c, &join));
    a.wait_until_shown(&[("a", "up (this machine)"), ("b", "up"), ("c", "up")]);

    // Where tokens are made the clock may not stand before them; one that is made then is as good as any.
    let before = a.token();
    a.does(&["down"]);
    a.keep_process(&back(&a, &["up", "--listen", &a.place, "--json"]));
    a.wait_until_shown(&[("a", "up (this machine)"), ("b", "up"), ("c", "up")]);
    let d = Machine::new("d");
    let words = |token| ["join", &at, token, "--name", "d", "--listen", &d.place, "--json"];
    d.is_refused(&words(&before), 77, &["does not take the token", "clock"]);
    let said = back(&a, &["token", "create", "--json"]);
    let token = super::object(&said)["token"].as_str().unwrap().to_owned();
    d.keep_process(&d.does(&words(&token)));
    d.wait_until_shown(&[("a", "up"), ("b", "up"), ("c", "up"), ("d", "up (this machine)")]);
}
