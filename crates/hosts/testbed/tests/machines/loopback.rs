//! Testbeds without namespaces.

use crate::talk::Talker;
use crate::wait_until;
use quintet_testbed::{Lines, Mode, Plan, Testbed, TestbedError};
use std::os::unix::process::CommandExt;

fn testbed() -> Testbed {
    let plan = Plan { mode: Some(Mode::Loopback), ..Plan::unnamed(["a", "b"]) };
    Testbed::up(&plan).expect("it is made")
}

#[test]
fn machines_of_the_loopback_have_addresses_and_folders_of_their_own() {
    let testbed = testbed();
    let [mut a, mut b] = ["a", "b"].map(|name| Talker::on(&testbed.machine(name).expect("it is one")));
    assert!(a.reaches(&b) && b.reaches(&a) && a.address() != b.address() && a.address().is_loopback());
    assert_ne!(a.ask("home"), b.ask("home"));
    testbed.freeze("a").expect("frozen");
    assert!(b.misses(&a));
    testbed.thaw("a").expect("thawed");
    assert!(b.reaches(&a));
    testbed.kill("a").expect("killed");
    let report = testbed.report().expect("there is one");
    let processes: Vec<usize> = report.machines.iter().map(|machine| machine.processes).collect();
    assert_eq!(processes, [0, 1]);
    wait_until(|| !std::path::Path::new(&format!("/proc/{}/cwd/.", a.process())).exists());
}

#[test]
fn a_process_of_another_user_is_of_no_machine() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root starts processes of other users");
        return;
    }
    let testbed = testbed();
    let machine = testbed.machine("a").expect("it is one");
    let sleep = || {
        let mut command = machine.command("sleep").expect("it is there");
        command.arg("1000").current_dir("/");
        command
    };
    let mut own = sleep().spawn().expect("it starts");
    let mut others = sleep().uid(65_534).spawn().expect("it starts");
    assert_eq!(machine.processes().expect("it is there"), [own.id()]);
    testbed.kill("a").expect("killed");
    assert_eq!(own.wait().expect("it ended").code(), None);
    assert_eq!(others.try_wait().expect("it can be asked"), None, "it goes on");
    others.kill().expect("it is there");
    others.wait().expect("it ended");
}

#[test]
fn what_needs_namespaces_is_refused_with_what_is_missing() {
    let mut testbed = testbed();
    let refused = [
        testbed.cut(&Lines::All),
        testbed.heal(&Lines::All),
        testbed.lose(&Lines::of("a"), 1),
        testbed.readdress("a", [10, 0, 0, 1].into(), 24),
    ];
    for done in refused {
        let error = done.expect_err("refused");
        assert!(matches!(error, TestbedError::NeedsNamespaces { .. }), "{error}");
        assert!(error.to_string().contains("as root, without --loopback"), "{error}");
    }
}
