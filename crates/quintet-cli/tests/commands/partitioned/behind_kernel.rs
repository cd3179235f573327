//! The same space behind a kernel: what its programs are promised stays, whatever is killed.

use super::{WINDOW, connect, managers_killed, tcp, three, unix, wait_for};
use crate::kill_one::lab;
use crate::tool::{LONG, quintet, result, text};
use quintet::{Code, LinkAddress, Space, template, tuple};
use quintet_testbed::{Child, Program, TempDir};
use std::env;

/// Tuples of a key each, more than it takes until they are spread.
const KEYS: i64 = 100;

/// A kernel before the space at this address, once it says so.
fn kernel_at(listen: &str, space: &LinkAddress) -> Child {
    let (space, window) = (space.to_string(), format!("link.resume_window_ms={}", WINDOW.as_millis()));
    let kernel = quintet(["kernel", "--space", &space, "--listen", listen, "--set", &window]);
    wait_for(&kernel, "the kernel of");
    kernel
}

/// One in this folder, and where programs find it.
fn kernel(folder: &TempDir, space: &LinkAddress) -> (LinkAddress, Child) {
    let listen = format!("unix:{}", text(&folder.join("kernel")));
    (listen.parse().unwrap(), kernel_at(&listen, space))
}

/// Tuples that spread over the managers, come together again, and go through groups.
fn use_as_one(one: &Space, other: &Space) {
    for key in 0..KEYS {
        one.out(tuple!["task", key, key]).unwrap();
        assert!(other.read_if(&template!["task", key, ?i64]).unwrap().is_some(), "it is there at once");
        assert!(other.read_if(&template!["task", key, -1i64]).unwrap().is_none());
    }
    assert_eq!(other.count(&template!["task", ?i64, ?i64]).unwrap(), KEYS as u64);
    for key in 0..KEYS {
        let group = one.group();
        group.take(&template!["task", key, ?i64]).unwrap();
        group.out(tuple!["done", key]).unwrap();
        group.out(tuple![key, 0.5]).unwrap();
        group.commit().unwrap();
        assert!(other.take_if(&template!["task", key, ?i64]).unwrap().is_none());
        assert!(other.take_if(&template![key, 0.5]).unwrap().is_some());
    }
    // Without the key: gathered from all three, each once.
    let mut taken: Vec<i64> = (0..KEYS)
        .map(|_| other.take(&template!["done", ?i64]).unwrap())
        .map(|done| i64::try_from(done[1].clone()).unwrap())
        .collect();
    taken.sort_unstable();
    assert!(taken.into_iter().eq(0..KEYS));
    assert_eq!(one.status().unwrap().tuples, 0);
}

#[test]
fn programs_behind_kernels_use_three_processes_as_one_space() {
    let folder = TempDir::new().unwrap();
    for places in [unix(&folder), tcp()] {
        let (_managers, address) = three(&places);
        let listen = ["a", "b"].map(|name| format!("unix:{}", text(&folder.join(name))));
        let _kernels = listen.each_ref().map(|listen| kernel_at(listen, &address));
        let [one, other] = listen.map(|listen| connect(&listen.parse().unwrap()).unwrap().space());
        use_as_one(&one, &other);
        use_as_one(&connect(&address).unwrap().space(), &one);
    }
}

/// A program behind a kernel, which holds tuples of several managers and waits; nothing in the ordinary run of the tests.
#[test]
fn program_that_is_killed() {
    let Some(lab) = lab() else { return };
    let space = lab.space();
    let _held = space.lease(&template!["held", ?i64], None).unwrap();
    let _other = space.lease(&template!["held", ?f64], None).unwrap();
    println!("it waits");
    space.take(&template!["wanted", ?i64]).unwrap();
}

#[test]
fn a_program_that_is_killed_behind_a_kernel_waits_no_more_and_gives_back_what_it_held() {
    let folder = TempDir::new().unwrap();
    let (_managers, address) = three(&unix(&folder));
    let (behind, _kernel) = kernel(&folder, &address);
    let (other, direct) = (connect(&behind).unwrap().space(), connect(&address).unwrap().space());
    direct.out_many(&[tuple!["held", 1i64], tuple!["held", 0.5]], None).unwrap();
    let words = ["partitioned::behind_kernel::program_that_is_killed", "--exact", "--nocapture", "--quiet"];
    let program = Program::new(env::current_exe().unwrap());
    let program = words.into_iter().fold(program, Program::arg).env("QUINTET_CLUSTER", "0");
    let mut program = program.env("QUINTET_SPACE", behind.to_string()).spawn().unwrap();
    wait_for(&program, "it waits");
    crate::tool::wait_until(|| direct.status().unwrap().waiters == 1);
    program.kill().unwrap();
    assert_eq!(other.take(&template!["held", ?i64]).unwrap(), tuple!["held", 1i64]);
    assert_eq!(other.take(&template!["held", ?f64]).unwrap(), tuple!["held", 0.5]);
    other.out(tuple!["wanted", 2i64]).unwrap();
    assert!(direct.take_if(&template!["wanted", ?i64]).unwrap().is_some(), "nobody else took it");
    assert_eq!(direct.status().unwrap().waiters, 0);
}

#[test]
fn clients_of_every_kind_behind_a_kernel_are_told_whichever_manager_is_killed() {
    managers_killed(6, kernel);
}

#[test]
#[ignore = "takes minutes: make kill"]
fn clients_of_every_kind_behind_a_kernel_are_told_however_often_a_manager_is_killed() {
    managers_killed(300, kernel);
}

#[test]
fn a_kernel_tells_which_manager_has_gone_and_ends_when_all_have() {
    let folder = TempDir::new().unwrap();
    let places = unix(&folder);
    let (mut managers, address) = three(&places);
    let (behind, kernel) = kernel(&folder, &address);
    managers[2].kill().unwrap();
    wait_for(&kernel, &format!("quintet: manager 3 of the 3 of the space, at {},", places[2]));
    // Who comes now hears it from the others.
    let gone = format!("manager 3 of the 3 of this space, at {}, is gone", places[2]);
    let error = connect(&behind).map(drop).unwrap_err();
    assert!(error.code() == Code::PeerDied && error.text().contains(&gone), "{error}");
    drop(managers);
    wait_for(&kernel, "quintet: manager 1 of the 3 of the space");
    let (code, said) = result(kernel);
    assert!(
        code == 69 && said.contains("quintet: the server is looked for again for 0.3 s"),
        "{code}: {said}"
    );
}

#[test]
fn a_kernel_that_is_killed_takes_what_its_programs_had_with_it_and_nothing_else() {
    let folder = TempDir::new().unwrap();
    for places in [unix(&folder), tcp()] {
        let (_managers, address) = three(&places);
        let (behind, mut first) = kernel(&folder, &address);
        let (one, direct) = (connect(&behind).unwrap().space(), connect(&address).unwrap().space());
        one.out_many(&[tuple!["held", 1i64], tuple!["held", 0.5], tuple!["put"]], None).unwrap();
        let leases = [template!["held", ?i64], template!["held", ?f64]];
        let leases = leases.map(|template| one.lease(&template, Some(LONG)).unwrap());
        let waits = one.begin().take(&template!["wanted"]).unwrap();
        first.kill().unwrap();
        let error = waits.finish().unwrap_err();
        let told = "is gone, and its tuples with it, or the kernel through which it was asked";
        assert!(error.code() == Code::PeerDied && error.text().contains(told), "{error}");
        drop(leases);
        assert!(
            direct.take(&template!["held", ?i64]).is_ok() && direct.take(&template!["held", ?f64]).is_ok()
        );
        let (behind, _again) = kernel(&folder, &address);
        connect(&behind).unwrap().space().out(tuple!["wanted"]).unwrap();
        let left = direct.status().unwrap();
        assert_eq!((left.tuples, left.waiters, left.hidden), (2, 0, 0), "{left:?}");
    }
}

#[test]
fn a_kernel_begins_anew_before_managers_that_were_all_started_anew() {
    let folder = TempDir::new().unwrap();
    let places = unix(&folder);
    let (managers, address) = three(&places);
    let listen = format!("unix:{}", text(&folder.join("kernel")));
    let patient = ["--set", "link.resume_window_ms=60000"];
    let words = ["kernel", "--space", &places[0], "--listen", &listen];
    let kernel = quintet(words.into_iter().chain(patient));
    wait_for(&kernel, "the kernel of");
    let before = connect(&listen.parse().unwrap()).unwrap();
    before.space().out(tuple!["before"]).unwrap();
    drop(managers);
    wait_for(&kernel, "quintet: the server is looked for again");
    let (_managers, _) = three(&places);
    wait_for(&kernel, "quintet: the server is there again");
    assert_eq!(before.space().status().unwrap_err().code(), Code::PeerDied);
    let after = connect(&listen.parse().unwrap()).unwrap().space();
    use_as_one(&after, &connect(&address).unwrap().space());
}

#[test]
fn a_kernel_that_alone_was_cut_off_from_a_manager_begins_anew() {
    let folder = TempDir::new().unwrap();
    let places = unix(&folder);
    let (managers, address) = three(&places);
    let listen = format!("unix:{}", text(&folder.join("kernel")));
    let space = address.to_string();
    let words = ["kernel", "--space", &space, "--listen", &listen];
    let impatient = ["keep_alive_ms=200", "silence_limit_ms=1000", "resume_window_ms=300"];
    let impatient = impatient.map(|setting| format!("link.{setting}"));
    let set = impatient.iter().flat_map(|setting| ["--set", setting]);
    let kernel = quintet(words.into_iter().chain(set));
    wait_for(&kernel, "the kernel of");
    connect(&address).unwrap().space().out(tuple!["before", 1i64]).unwrap();
    // The other managers wait for it for longer.
    managers[2].freeze().unwrap();
    let gone = format!("quintet: manager 3 of the 3 of the space, at {}, gave no sign of life", places[2]);
    wait_for(&kernel, &gone);
    managers[2].thaw().unwrap();
    wait_for(&kernel, "quintet: the server is there again");
    let after = connect(&listen.parse().unwrap()).unwrap().space();
    assert_eq!(after.take(&template!["before", ?i64]).unwrap(), tuple!["before", 1i64]);
    use_as_one(&after, &connect(&address).unwrap().space());
}
