//! Machines that stand still and machines that lose their power.

use crate::talk::Talker;
use crate::{testbed, wait_until};
use quintet_testbed::Testbed;

fn talker(testbed: &Testbed, name: &str) -> Talker {
    Talker::on(&testbed.machine(name).expect("it is one"))
}

/// The letter of a process' state, if it is there and has not ended.
fn state(process: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    stat.rsplit(") ").next()?.chars().next().filter(|state| *state != 'Z' && *state != 'X')
}

#[test]
fn a_frozen_machine_answers_when_it_is_thawed() {
    let Some(testbed) = testbed() else { return };
    let (mut a, mut b) = (talker(&testbed, "a"), talker(&testbed, "b"));
    let stray: u32 = a.ask("fork").parse().expect("a number");
    testbed.freeze("a").expect("frozen");
    assert_eq!((state(a.process()), state(stray)), (Some('T'), Some('T')), "whatever its environment is");
    assert!(b.misses(&a));
    let report = testbed.report().expect("it answers");
    let stopped: Vec<usize> = report.machines.iter().map(|machine| machine.stopped).collect();
    assert_eq!((stopped, report.machines[0].processes, report.machines[1].processes), (vec![2, 0, 0], 2, 1));
    testbed.thaw("a").expect("thawed");
    assert!(b.reaches(&a));
}

#[test]
fn a_machine_that_loses_its_power_leaves_no_process_and_says_no_farewell() {
    let Some(testbed) = testbed() else { return };
    let (mut a, b) = (talker(&testbed, "a"), talker(&testbed, "b"));
    let machine = testbed.machine("b").expect("it is one");
    assert_eq!(a.ask(&format!("connect {}", b.address())), "connected");
    let sent = || {
        let lines = testbed.report().expect("it answers").lines;
        lines
            .iter()
            .find(|line| line.from == "b" && line.to == "a")
            .expect("there is a line")
            .counts
            .forwarded
    };
    // Its part of the handshake was the last that it had to say.
    let quiet = sent();
    testbed.freeze("b").expect("frozen: also who stands still ends");
    testbed.kill("b").expect("killed");
    assert_eq!(state(b.process()), None);
    assert_eq!(machine.processes().expect("it is there"), [0u32; 0]);
    assert_eq!(sent(), quiet, "nothing was sent on the way down");
    // The machine that has its power again does not know the connection.
    assert_eq!(a.ask("push"), "ConnectionReset");
    let mut b = talker(&testbed, "b");
    assert!(a.reaches(&b) && b.reaches(&a), "it goes on, with its network");
}

#[test]
fn who_is_on_a_machine_that_loses_its_power_learns_nothing_of_it() {
    let Some(testbed) = testbed() else { return };
    let (mut a, b) = (talker(&testbed, "a"), talker(&testbed, "b"));
    assert_eq!(a.ask(&format!("listen {}", b.address())), "listening");
    let home = a.ask("home");
    testbed.kill("a").expect("killed");
    assert!(!std::path::Path::new(&home).join("told").exists());
    let mut a = talker(&testbed, "a");
    assert_eq!(a.ask(&format!("listen {}", b.address())), "listening");
    let mut command = std::process::Command::new("ip");
    command.args(["-netns", testbed.machine("a").expect("it is one").namespace().expect("a namespace")]);
    assert!(command.args(["link", "set", "eth0", "down"]).status().expect("it starts").success());
    wait_until(|| std::path::Path::new(&home).join("told").exists());
}

#[test]
fn a_process_that_starts_others_all_the_time_is_ended_with_them() {
    let Some(testbed) = testbed() else { return };
    let machine = testbed.machine("a").expect("it is one");
    let mut command = machine.command("sh").expect("it is there");
    command.args(["-c", "for n in $(seq 300); do sleep 1000 & done; wait"]);
    let mut child = command.spawn().expect("it starts");
    wait_until(|| machine.processes().expect("it is there").len() > 20);
    testbed.freeze("a").expect("frozen");
    let report = testbed.report().expect("it answers");
    assert_eq!(report.machines[0].stopped, report.machines[0].processes);
    testbed.kill("a").expect("killed");
    assert_eq!(machine.processes().expect("it is there"), [0u32; 0]);
    child.wait().expect("it ended");
}

#[test]
fn a_machine_whose_namespace_is_removed_is_told_of() {
    let Some(testbed) = testbed() else { return };
    let machine = testbed.machine("c").expect("it is one");
    let mut command = std::process::Command::new("ip");
    let removed = command.args(["netns", "delete", machine.namespace().expect("a namespace")]).status();
    assert!(removed.expect("it starts").success());
    let said = machine.command("true").expect_err("it is gone").to_string();
    assert!(said.contains("the machine c is gone") && said.contains("quintet testbed down"), "{said}");
    testbed.kill("c").expect_err("it is gone");
    let there: Vec<bool> =
        testbed.report().expect("it answers").machines.iter().map(|one| one.is_there).collect();
    assert_eq!(there, [true, true, false]);
    let mut a = talker(&testbed, "a");
    assert_eq!(a.ask("name"), "a");
    testbed.down().expect("the rest goes");
}

#[test]
fn the_status_of_a_command_is_its_own() {
    let Some(testbed) = testbed() else { return };
    let machine = testbed.machine("a").expect("it is one");
    let mut command = std::process::Command::new("sh");
    command.args([
        "-c",
        "test \"$WORD\" = 'two words' && test \"$1\" = '$HOME' && pwd && exit 7",
        "name",
        "$HOME",
    ]);
    command.env("WORD", "two words").current_dir("/usr");
    let done = machine.on(&command).expect("it is there").output().expect("it starts");
    assert_eq!((done.status.code(), String::from_utf8_lossy(&done.stdout).as_ref()), (Some(7), "/usr\n"));
    let missing =
        machine.command("no-such-program").expect("it is there").output().expect("the shell starts");
    assert_eq!(missing.status.code(), Some(127));
}
