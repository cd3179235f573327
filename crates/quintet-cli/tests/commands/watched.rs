//! `quintet watch`.

use crate::tool::{quintet, result, text};
use quintet::{Lab, ServeConfig, Server, SpaceConfig, template, tuple};
use quintet_testbed::TempDir;
use serde_json::Value;
use std::time::Duration;

const LEASE: Duration = Duration::from_secs(60);

fn objects(said: &str) -> Vec<Value> {
    let read = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {said}"));
    said.lines().map(read).collect()
}

fn changes(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["change"].as_str().unwrap()).collect()
}

#[test]
fn what_is_there_and_what_happened_is_printed_and_whoever_comes_back_goes_on() {
    let folder = TempDir::new().unwrap();
    let socket = folder.join("space");
    let _server = Server::start(&socket, &ServeConfig::default()).unwrap();
    let (at, lab) = (text(&socket), Lab::connect(&socket, 0, LEASE).unwrap());
    let space = lab.space();
    space.out_many(&[tuple!["order", 1i64], tuple!["other"]], None).unwrap();
    let watch = |words: &[&str]| result(quintet([&["watch", "--space", at], words].concat()));
    let (status, said) = watch(&["\"order\", ?int", "--existing", "--limit", "1", "--json"]);
    let there = objects(&said);
    assert_eq!((status, changes(&there), &there[0]["fields"][1]), (0, vec!["there"], &"1".into()), "{said}");
    let number = there[0]["number"].to_string();
    // Kept, as somebody has watched: no event is waited for.
    space.replace_if(&template!["order", 1i64], &[tuple!["order", 2i64]]).unwrap();
    space.lease(&template!["order", ?i64], None).unwrap().release().unwrap();
    let (status, said) = watch(&["--since", &number, "--limit", "4", "--json"]);
    let events = objects(&said);
    assert_eq!((status, changes(&events)), (0, vec!["taken", "put", "leased", "returned"]), "{said}");
    let last = events[2]["number"].to_string();
    let (status, said) = watch(&["\"order\", ...", "--since", &last, "--limit", "1"]);
    assert!(status == 0 && said.contains("returned") && said.contains("(\"order\", 2)"), "{said}");
}

#[test]
fn what_cannot_be_watched_is_said() {
    let folder = TempDir::new().unwrap();
    let (socket, spread) = (folder.join("space"), folder.join("spread"));
    let space = SpaceConfig { max_bytes: 100_000, ..SpaceConfig::default() };
    let _server = Server::start(&socket, &ServeConfig { space, ..ServeConfig::default() }).unwrap();
    let _managers = Server::start(&spread, &ServeConfig { managers: 2, ..ServeConfig::default() }).unwrap();
    let (status, said) = result(quintet(["watch", "--since", "7", "--space", text(&socket)]));
    assert!(status == 75 && said.contains("events are kept behind number"), "{status}: {said}");
    let (status, said) = result(quintet(["watch", "--space", text(&spread)]));
    assert!(status == 65 && said.contains("several managers is not watched as a whole"), "{status}: {said}");
    Lab::connect(&spread, 0, LEASE).unwrap().space().out(tuple!["order", 7i64]).unwrap();
    let (status, said) =
        result(quintet(["watch", "\"order\", ?int", "--existing", "--limit", "1", "--space", text(&spread)]));
    assert!(status == 0 && said.contains("there"), "{status}: {said}");
    let (status, said) = result(quintet(["watch", "--since", "7", "--existing", "--space", text(&socket)]));
    assert!(status == 64 && said.contains("--existing"), "{status}: {said}");
    let (status, said) = result(quintet(["watch", "--limit", "0", "--space", text(&socket)]));
    assert!(status == 64 && said.contains("--limit"), "{status}: {said}");
}
