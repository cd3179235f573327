//! `serve`, `status`, `replay` and `explore`.

use crate::tool::{LONG, quintet, result, text};
use quintet::{Lab, LinkAddress, template, tuple};
use quintet_testbed::{Child, TempDir};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

const LEASE: Duration = Duration::from_secs(10);

fn object(said: &str) -> Value {
    serde_json::from_str(said).unwrap_or_else(|error| panic!("{error}: {said}"))
}

/// A served space that says that it is ready.
fn served(socket: &str, record: &str) -> Child {
    let server = quintet(["serve", "--listen", socket, "--cluster-id", "7", "--record", record, "--json"]);
    let ready = server.output().next_line(LONG).expect("it says that it serves");
    assert_eq!(
        (object(&ready)["addresses"][0].as_str(), object(&ready)["cluster"].as_str()),
        (Some(&*format!("shm:{socket}")), Some("7"))
    );
    server
}

fn traffic(socket: &str) -> Lab {
    let lab = Lab::connect(Path::new(socket), 7, LEASE).expect("the space is there");
    let space = lab.space();
    space.out(tuple!["x", 1i64]).unwrap();
    space.out(tuple!["x", 2i64]).unwrap();
    space.out(tuple!["large", vec![5u8; 200_000]]).unwrap();
    space.take(&template!["x", ?i64]).unwrap();
    lab
}

#[test]
fn a_served_space_shows_its_state_and_its_recording_replays() {
    let folder = TempDir::new().unwrap();
    let (socket, record) = (folder.join("space"), folder.join("space.rec"));
    let server = served(text(&socket), text(&record));
    let lab = traffic(text(&socket));
    let (code, said) = result(quintet(["status", "--space", text(&socket), "--cluster-id", "7", "--json"]));
    assert_eq!((code, &object(&said)["tuples"]), (0, &Value::from(2)), "{said}");
    let (code, said) = result(quintet(["status", "--space", text(&socket), "--cluster-id", "7"]));
    assert!(code == 0 && said.contains("(text, i64)"), "{said}");
    let (code, said) = result(quintet(["status", "--space", text(&socket), "--cluster", "8"]));
    assert_eq!(code, 77, "another cluster: {said}");
    drop(lab);
    server.terminate().unwrap();
    assert_eq!(result(server).0, 0);
    assert!(!socket.exists(), "the socket goes with its server");

    let (code, said) = result(quintet(["replay", "--json", text(&record)]));
    let replayed = object(&said);
    assert_eq!((code, &replayed["same"], &replayed["cut_short"]), (0, &true.into(), &false.into()), "{said}");
    assert!(
        replayed["bytes"].as_u64().unwrap() > 0 && replayed["instances"][0]["protocol"] == "space/served"
    );
    damage(&record, &folder);
}

/// The same recording cut short, and damaged.
fn damage(record: &std::path::Path, folder: &TempDir) {
    let whole = fs::read(record).unwrap();
    let spoilt = folder.join("spoilt.rec");
    fs::write(&spoilt, &whole[..whole.len() - 3]).unwrap();
    let (code, said) = result(quintet(["replay", text(&spoilt)]));
    let expected = " steps are the same, byte for byte";
    assert!(code == 0 && said.contains("stops before its end") && said.contains(expected), "{said}");

    let changed = |place: usize| {
        let mut changed = whole.clone();
        changed[place] ^= 1;
        changed
    };
    let damaged = [changed(whole.len() / 2), changed(10), whole.repeat(2), [&whole[..], b"x"].concat()];
    for bytes in damaged {
        fs::write(&spoilt, &bytes).unwrap();
        let (code, said) = result(quintet(["replay", text(&spoilt)]));
        assert!(code == 65 && said.contains("damaged") && !said.contains("same"), "{said}");
    }

    for without_a_step in [&whole[..39], b"something else", b""] {
        fs::write(&spoilt, without_a_step).unwrap();
        assert_eq!(result(quintet(["replay", text(&spoilt)])).0, 65);
    }
    assert_eq!(result(quintet(["replay", text(&folder.join("nothing"))])).0, 65);
}

#[test]
fn one_space_is_served_over_three_kinds_of_link_at_once() {
    let folder = TempDir::new().unwrap();
    let (memory, unix) = (folder.join("memory"), format!("unix:{}", text(&folder.join("unix"))));
    let [first, second, third] = [text(&memory), &unix, "tcp:127.0.0.1:0"];
    let server = quintet([
        "serve",
        "--cluster-id",
        "7",
        "--json",
        "--listen",
        first,
        "--listen",
        second,
        "--listen",
        third,
    ]);
    let ready = server.output().next_line(LONG).expect("it says that it serves");
    let addresses: Vec<String> = serde_json::from_value(object(&ready)["addresses"].clone()).unwrap();
    assert!(addresses[1] == unix && !addresses[2].ends_with(":0"), "{ready}");
    let labs: Vec<Lab> = addresses
        .iter()
        .map(|address| {
            let address: LinkAddress = address.parse().expect("it is said so that it can be used");
            Lab::connect(address, 7, LEASE).expect("the space is there")
        })
        .collect();
    for (n, from) in (0i64..).zip(&labs) {
        from.space().out(tuple!["small", n]).unwrap();
        from.space().out(tuple!["large", n, vec![5u8; 3_000_000]]).unwrap();
        for to in &labs {
            assert_eq!(to.space().read(&template!["small", n]).unwrap(), tuple!["small", n]);
            let large = to.space().read(&template!["large", n, ?[u8]]).unwrap();
            assert_eq!(large, tuple!["large", n, vec![5u8; 3_000_000]]);
        }
    }
    let (code, said) = result(quintet(["status", "--space", &addresses[2], "--cluster-id", "7"]));
    assert!(code == 0 && said.contains("(text, i64)"), "{said}");
    let (code, said) = result(quintet(["status", "--space", &addresses[2], "--cluster-id", "8"]));
    assert!(code == 77 && !said.contains("cluster 0"), "nobody is told the number: {said}");
    drop(labs);
    server.terminate().unwrap();
    assert_eq!(result(server).0, 0);
}

#[test]
fn an_address_that_is_none_or_open_to_others_is_refused_with_what_to_write() {
    for (address, expected) in [
        ("tcp:127.0.0.1", "tcp:HOST:PORT"),
        ("space", "shm:PATH"),
        ("tcp:0.0.0.0:0", "127.0.0.1"),
        ("unix:", "names no path"),
        ("http://lab:80/", "shm:PATH"),
        ("tpc:127.0.0.1:0", "tcp:HOST:PORT"),
        ("a:b/c", "./a:b"),
    ] {
        let (code, said) = result(quintet(["serve", "--listen", address]));
        assert!(code != 0 && said.contains(expected), "{address}: {said}");
    }
}

#[test]
fn an_address_in_use_has_an_error_of_its_own() {
    let folder = TempDir::new().unwrap();
    let unix = format!("unix:{}", text(&folder.join("unix")));
    for address in ["tcp:127.0.0.1:0", &unix, text(&folder.join("memory"))] {
        let server = quintet(["serve", "--listen", address, "--json"]);
        let ready = object(&server.output().next_line(LONG).expect("it says that it serves"));
        let taken = ready["addresses"][0].as_str().expect("one address");
        let (code, said) = result(quintet(["serve", "--listen", taken]));
        assert!(
            code == 71 && said.contains("the address is in use") && said.contains("another address"),
            "{said}"
        );
        server.terminate().unwrap();
        assert_eq!(result(server).0, 0);
    }
}

#[test]
fn port_0_is_only_for_listening() {
    let (code, said) = result(quintet(["status", "--space", "tcp:127.0.0.1:0"]));
    assert!(code == 65 && said.contains("port 0 is only for listening"), "{said}");
}

#[test]
fn a_space_that_is_not_there_is_unreachable() {
    let folder = TempDir::new().unwrap();
    let (code, said) = result(quintet(["status", "--space", text(&folder.join("nobody"))]));
    assert_eq!(code, 69, "{said}");
    let (code, said) = result(quintet(["status", "--json", "--space", text(&folder.join("nobody"))]));
    let line = said.lines().find(|line| line.starts_with('{')).expect("an object");
    assert_eq!((code, &object(line)["error"]), (69, &"Unreachable".into()), "{said}");
}

#[test]
fn a_setting_that_does_not_exist_is_refused() {
    let (code, said) = result(quintet(["status", "--set", "space.max_bites=3"]));
    assert!(code == 65 && said.contains("space.max_bytes"), "{said}");
}

#[test]
fn exploring_finds_nothing_and_one_seed_shows_its_history() {
    let (code, said) =
        result(quintet(["explore", "tuple-space", "--seeds", "5", "--first-seed", "3", "--json"]));
    let report = object(&said);
    assert_eq!((code, &report["schedules"], &report["failure"]), (0, &5.into(), &Value::Null), "{said}");
    let (code, said) = result(quintet(["explore", "--seed", "3"]));
    assert!(code == 0 && said.lines().count() > 10, "{said}");
    let (code, said) = result(quintet(["explore", "--replay", "no-such.choices"]));
    assert!(code == 65 && said.contains("no-such.choices"), "{said}");
}

#[test]
fn isochrons_are_explored_and_what_is_of_them_alone_is_refused_elsewhere() {
    for more in [&[][..], &["--members"], &["--delivery", "agreed"]] {
        let (code, said) =
            result(quintet([&["explore", "isotach", "--seeds", "5", "--json"][..], more].concat()));
        let report = object(&said);
        let (requests, found) = (report["requests"].as_u64(), &report["failure"]);
        assert!(code == 0 && requests > Some(50) && found.is_null(), "{more:?}: {said}");
    }
    for (option, told) in
        [(&["--members"][..], "isotach --members"), (&["--delivery", "agreed"], "isotach --delivery")]
    {
        let (code, said) =
            result(quintet([&["explore", "tuple-space", "--seeds", "1"][..], option].concat()));
        assert!(code == 65 && said.contains(told), "{said}");
    }
    let both = ["explore", "isotach", "--members", "--delivery", "agreed"];
    assert_eq!(result(quintet(both)).0, 64);
}

#[test]
fn exploring_nothing_is_refused() {
    let (code, said) = result(quintet(["explore", "--seeds", "0"]));
    assert!(code == 64 && !said.contains("no rule"), "{said}");
    let beyond = ["explore", "--first-seed", "18446744073709551615", "--seeds", "2"];
    let (code, said) = result(quintet(beyond));
    assert!(code == 65 && !said.contains("no rule"), "{said}");
}

#[test]
fn every_step_of_a_schedule_is_explored_where_there_is_something_to_bear() {
    let logged = ["explore", "tuple-space", "--placement", "logged", "--every-step"];
    let (code, said) = result(quintet([&logged[..], &["--first-seed", "7", "--json"]].concat()));
    let report = object(&said);
    let (schedules, faults) = (report["schedules"].as_u64(), report["faults"].as_u64());
    assert!(code == 0 && schedules > Some(40) && faults > Some(40), "{said}");
    for refused in [&["explore", "--every-step"][..], &["explore", "model", "a.toml", "--every-step"]] {
        let (code, said) = result(quintet(refused.iter().copied()));
        assert!(code == 65 && said.contains("--placement logged --every-step"), "{said}");
    }
    let (code, said) = result(quintet([&logged[..], &["--seed", "7"]].concat()));
    assert!(code == 64 && said.contains("--every-step"), "{said}");
}

#[test]
#[cfg(feature = "seeded-defects")]
fn exploring_finds_a_defect() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("small.choices");
    let file = file.to_str().expect("a plain name");
    let defect = "--defect=quota-counted-twice";
    let (code, said) = result(quintet(["explore", defect, "--save", file]));
    assert!(code == 1 && said.contains("breaks the rule") && said.contains("the smallest of"), "{said}");
    let (code, said) = result(quintet(["explore", defect, "--replay", file]));
    assert!(code == 1 && said.contains("breaks the rule"), "{said}");
    let (code, said) = result(quintet(["explore", "--replay", file]));
    assert!(code == 0, "without the defect nothing is wrong: {said}");
    let (code, said) = result(quintet(["explore", defect, "--no-shrink"]));
    assert!(code == 1 && !said.contains("the smallest of"), "{said}");
}

#[test]
fn the_doctor_and_the_completions_speak() {
    let (code, said) = result(quintet(["doctor", "--json"]));
    let checks = object(&said);
    let names: Vec<_> =
        checks["checks"].as_array().unwrap().iter().map(|check| check["name"].as_str()).collect();
    assert!(code == 0 && names.contains(&Some("shared memory")), "{said}");
    for shell in ["bash", "zsh", "fish"] {
        let (code, said) = result(quintet(["completions", shell]));
        assert!(code == 0 && said.contains("kill-one"), "{shell}");
    }
}

#[test]
fn a_lock_that_another_process_keeps_is_an_error() {
    let folder = TempDir::new().unwrap();
    let lock = fs::File::create(folder.join("space.quintet-lock")).unwrap();
    lock.lock().unwrap();
    let (code, said) = result(quintet(["serve", "--listen", text(&folder.join("space"))]));
    assert!(
        code == 71
            && said.contains("another process has kept the lock")
            && said.contains("space.quintet-lock"),
        "{said}"
    );
}

#[test]
fn a_folder_that_others_may_change_is_refused() {
    let folder = TempDir::new().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let (code, said) = result(quintet(["serve", "--listen", text(&folder.join("space"))]));
    assert!(code == 77 && said.contains("lets everybody replace what is in it (mode 777)"), "{said}");
}
