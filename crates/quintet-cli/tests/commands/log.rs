//! `--log` and `--log-format`: what happens, as lines and as objects.

use crate::tool::{LONG, host, quintet, result, start, text};
use quintet_testbed::{Child, TempDir};
use serde_json::Value;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// A space that is served over a Unix socket, with these options besides.
fn served(socket: &Path, options: [&str; 2]) -> Child {
    let address = format!("unix:{}", text(socket));
    let server = quintet(["serve", "--listen", &address, "--json", options[0], options[1]]);
    server.output().next_line(LONG).expect("it serves");
    server
}

/// Somebody who speaks something else, until the server has noticed.
fn stranger(socket: &Path) {
    let mut stranger = UnixStream::connect(socket).expect("it listens");
    stranger.write_all(&[b'x'; 4096]).expect("it is read");
    // What is answered, if anything, is for strangers.
    let _ = stranger.read_to_end(&mut Vec::new());
}

#[test]
fn what_a_server_sees_is_an_object_with_fields() {
    let folder = TempDir::new().unwrap();
    let socket = folder.join("space");
    let server = served(&socket, ["--log-format", "json"]);
    stranger(&socket);
    let line = server.output().wait_for("{", LONG).expect("it is told");
    let event: Value =
        serde_json::from_str(&format!("{{{line}")).unwrap_or_else(|error| panic!("{error}: {line}"));
    assert_eq!((&event["level"], &event["target"]), (&"WARN".into(), &"quintet::link".into()), "{line}");
    assert_eq!(
        (&event["node"], event["code"].is_string(), event["before"].is_number()),
        (&0.into(), true, true)
    );
    assert!(event["message"].as_str().unwrap().starts_with("a connection was not made"), "{line}");
    assert!(event["timestamp"].as_str().unwrap().ends_with('Z'), "{line}");
}

#[test]
fn it_is_a_line_for_people_unless_that_is_said() {
    let folder = TempDir::new().unwrap();
    let socket = folder.join("space");
    let server = served(&socket, ["--log", "info"]);
    stranger(&socket);
    let year = server.output().wait_for("20", LONG).expect("it is told, after the time of it");
    assert!(year.contains(" WARN quintet::link: a connection was not made"), "{year}");
    assert!(year.contains(" node=0 code=\""), "{year}");
}

#[test]
fn a_filter_lets_through_what_it_says() {
    let folder = TempDir::new().unwrap();
    let socket = folder.join("space");
    let server = served(&socket, ["--log", "off,quintet::link=debug"]);
    stranger(&socket);
    assert!(server.output().wait_for("20", LONG).expect("it is told").contains("not made"));
    let address = format!("unix:{}", text(&socket));
    assert_eq!(result(quintet(["status", "--space", &address])).0, 0);
    let made = server.output().wait_for("20", LONG).expect("links are told at this level");
    assert!(made.contains("DEBUG quintet::link: a link to node "), "{made}");

    let other = folder.join("other");
    let silent = served(&other, ["--log", "quintet::link=off"]);
    stranger(&other);
    silent.terminate().unwrap();
    let (code, said) = result(silent);
    assert!(code == 0 && !said.contains("not made"), "{said}");

    for (variable, value) in [("QUINTET_LOG", "quintet=loud"), ("QUINTET_LOG_FORMAT", "xml")] {
        let (code, said) = result(start(["serve", "--listen", text(&other)], &[(variable, value)]));
        assert!(code == 65 && said.contains(value), "{variable}: {code}: {said}");
    }
}

#[test]
fn an_agent_in_the_background_writes_its_log_as_it_was_told() {
    let home = TempDir::new().unwrap();
    let place = format!("{}:7400", host());
    let names = ["HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"];
    let variables = names.map(|name| (name, text(home.path())));
    assert_eq!(result(start(["init", "lab", "--machine", "a"], &variables)).0, 0);
    let up = ["up", "--listen", &place, "--json", "--log-format", "json", "--log", "info"];
    let (code, said) = result(start(up, &variables));
    assert_eq!(code, 0, "{said}");
    let said: Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();
    assert_eq!(result(start(["down"], &variables)).0, 0);
    let log = std::fs::read_to_string(said["log"].as_str().unwrap()).unwrap();
    let events: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let came = events.iter().find(|event| event["target"] == "quintet::cluster").expect(&log);
    assert_eq!(
        (&came["node"], &came["member"], &came["name"]),
        (&0.into(), &0.into(), &"a".into()),
        "{came}"
    );
    assert!(came["view"].as_u64().unwrap() >= 1 && came["level"] == "INFO", "{came}");
    assert!(
        events.iter().any(|event| event["target"] == "quintet::space" && event["places"].is_string()),
        "{log}"
    );
}
