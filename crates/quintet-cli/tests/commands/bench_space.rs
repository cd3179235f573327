//! `bench space` and `bench engine`: what it finds is counted as it says.

use crate::tool::{LONG, quintet, result, script, start, text, wait_until};
use quintet::{Lab, LinkAddress, ServeConfig, Server, template, tuple};
use quintet_testbed::TempDir;
use serde_json::Value;

/// What it said of one case, measured once beside no program.
fn measured(case: &str) -> Value {
    measured_beside(case, "/nonexistent")
}

/// The same beside the programs in this folder.
fn measured_beside(case: &str, peers: &str) -> Value {
    let (code, said) =
        result(quintet(["bench", "--case", case, "--rounds", "1", "--peers", peers, "--json"]));
    assert_eq!(code, 0, "{said}");
    let line = said.lines().find(|line| line.starts_with('{')).expect("an object");
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {said}"))
}

#[test]
fn among_more_tuples_a_match_is_compared_with_itself() {
    let row = measured("match-1e4-two");
    assert_eq!(
        (&row["unit"], &row["peer"], &row["goal"]),
        (&"ns".into(), &"1e3".into(), &2.0.into()),
        "{row}"
    );
    assert!(row["ours"].as_f64() > Some(0.) && row["ratio"].is_f64(), "{row}");
}

#[test]
fn blocked_takers_are_woken() {
    let row = measured("blocked-100");
    assert!(row["ours"].as_f64() > Some(0.) && row["peer"] == "10", "{row}");
}

#[test]
fn one_of_many_takers_is_woken_by_a_tuple() {
    let row = measured("blocked-50000-wakes");
    let said = ["unit", "ours", "goal", "goal_met"].map(|name| row[name].clone());
    assert_eq!(said, [Value::from("wakes/out"), 1.0.into(), 1.0.into(), true.into()], "{row}");
}

#[test]
fn pairs_of_other_lengths_are_compared_with_the_peer_of_that_length() {
    let folder = TempDir::new().unwrap();
    // It answers only who asks for that length.
    for (case, asked) in [("pair-1k-shm", "pair-1k --bytes 1024"), ("pair-64k-shm", "pair-64k --bytes 65536")]
    {
        let line =
            format!(r#"echo "$@" | grep -q -- '{asked}' && echo '{{"statistic": "p50", "value": 1.0}}'"#);
        script(&folder, "redis_pair", &line);
        let row = measured_beside(case, text(folder.path()));
        assert!(row["ours"].as_f64() > Some(0.) && row["peer_value"] == 1.0, "{row}");
    }
}

#[test]
fn packed_data_go_over_a_slow_wire_and_are_stored_as_they_came() {
    let slow = measured("packed-1m-slow");
    assert!(slow["ours"].as_f64() > Some(0.) && slow["peer"] == "as it is", "{slow}");
    let stored = measured("packed-1m-stored");
    assert!(stored["ratio"].as_f64() < Some(0.1) && stored["peer_value"].as_f64() > Some(1e6), "{stored}");
}

#[test]
fn without_the_peer_pipelined_pairs_are_measured_all_the_same() {
    let row = measured("pipelined-shm");
    assert_eq!((&row["unit"], &row["better"]), (&"pairs/s".into(), &"higher".into()), "{row}");
    assert!(row["ours"].as_f64() > Some(0.) && row["peer_missing"].is_string(), "{row}");
}

#[test]
fn pairs_go_over_sockets_beside_the_peer_over_the_same() {
    for case in ["pair-64-unix", "pipelined-unix"] {
        let row = measured(case);
        assert!(row["ours"].as_f64() > Some(0.) && row["peer"] == "redis-c", "{row}");
    }
    let folder = TempDir::new().unwrap();
    // It answers only who asks for TCP.
    script(
        &folder,
        "redis_pair",
        r#"echo "$@" | grep -q -- '-tcp --transport tcp' && echo '{"statistic": "p50", "value": 1.0}'"#,
    );
    for case in ["pair-64-tcp", "pipelined-tcp", "clients-4-tcp"] {
        let row = measured_beside(case, text(folder.path()));
        let (ours, peer) = (row["ours"].as_f64(), &row["peer_value"]);
        assert!(ours > Some(0.) && *peer == 1.0 && row["peer"] == "redis-c-tcp", "{row}");
    }
}

#[test]
fn without_the_library_the_pair_from_c_says_how_to_build_it() {
    let folder = TempDir::new().unwrap();
    let arguments = ["bench", "--case", "c-pair-inprocess", "--rounds", "1", "--json"];
    let (_, said) = result(start(arguments, &[("CARGO_TARGET_DIR", text(folder.path()))]));
    assert!(said.contains("make -C bindings/c bench"), "{said}");
}

#[test]
fn what_is_on_the_disk_before_it_is_answered_is_measured_without_the_peers() {
    let arguments = ["bench", "--case", "logged-16", "--rounds", "1", "--peers", "/nonexistent", "--json"];
    let (code, said) = result(quintet(arguments));
    let rows: Vec<Value> = said.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let beside: Vec<&str> = rows.iter().filter_map(|row| row["peer"].as_str()).collect();
    assert_eq!((code, &beside[..]), (0, &["redis-c-always", "sqlite-full", "limit-sync"][..]), "{said}");
    for row in rows {
        let missing = row["peer_missing"].as_str().unwrap_or_default();
        assert!(row["ours"].as_f64() > Some(0.) && missing.contains("make -C benches/peers"), "{row}");
    }
}

#[test]
fn a_folder_in_memory_is_no_disk() {
    let arguments = ["bench", "--case", "logged-1", "--rounds", "1", "--json"];
    let (code, said) = result(start(arguments, &[("TMPDIR", "/dev/shm")]));
    assert!(code != 0 && said.contains("set TMPDIR to a folder on a disk"), "{said}");
}

#[test]
fn groups_are_measured_beside_the_peer() {
    let folder = TempDir::new().unwrap();
    script(&folder, "redis_updates", r#"echo '{"statistic": "p50", "value": 2.0}'"#);
    let row = measured_beside("group-1", text(folder.path()));
    let [ours, ratio] = ["ours", "ratio"].map(|name| row[name].as_f64().unwrap_or_default());
    // Numbers that are read from text may differ from those that were written in their last digit.
    assert!(ours > 0. && (ratio * 2. / ours - 1.).abs() < 1e-9, "{row}");
    assert_eq!(row["peer"], "redis-watch", "{row}");
}

#[test]
fn a_busy_client_is_measured_among_idle_ones() {
    let row = measured("links-10");
    assert!(row["ours"].as_f64() > Some(0.) && row["ratio"].is_f64(), "{row}");
    assert_eq!((&row["bench"], &row["peer"]), (&"engine".into(), &"1".into()), "{row}");
}

#[test]
fn a_stored_tuple_takes_no_more_than_the_goal_beyond_its_data() {
    for index in ["none", "name", "number"] {
        let (code, said) = result(quintet(["bench-memory", index, "--tuples", "100000"]));
        let line: Value = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"));
        // It needs 40 bytes at least: that it is found at all.
        let bytes = line["value"].as_f64().unwrap_or_default();
        assert!(code == 0 && (40. ..=200.).contains(&bytes), "{index}: {said}");
    }
}

#[test]
fn workers_of_a_farm_take_their_tasks_or_lease_them() {
    for (words, leases) in [(&["bench-side", "farm"][..], 0), (&["bench-side", "farm", "--leases"], 1)] {
        let folder = TempDir::new().unwrap();
        let server =
            Server::start(LinkAddress::Unix(folder.path().join("socket")), &ServeConfig::default()).unwrap();
        let address = server.addresses()[0].to_string();
        let space = Lab::connect(server.addresses()[0].clone(), 0, LONG).unwrap().space();
        let _worker = quintet(words.iter().copied().chain([&*address]));
        space.out(tuple!["task", 7u64, 1_000u64, 3u64]).unwrap();
        let result = space.take_within(&template!["result", ?u64], LONG);
        assert_eq!(result.unwrap(), tuple!["result", 7u64]);
        let one_minute = 60_000_000_000u64;
        space.out(tuple!["task", 8u64, one_minute, 1u64]).unwrap();
        wait_until(|| space.status().unwrap().tuples == 0);
        assert_eq!(space.status().unwrap().leases, leases);
    }
}

#[test]
fn the_smallest_task_of_a_farm_lies_where_it_is_looked_for() {
    let case =
        ["bench", "--case", "farm-1-smallest-90", "--rounds", "1", "--peers", "/nonexistent", "--json"];
    let (code, said) = result(quintet(case));
    // On a busy machine there may be none.
    if code != 0 {
        assert!(said.contains("others have the processors"), "{said}");
        return;
    }
    let row: Value = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"));
    assert!(row["ours"].as_f64().is_some_and(|ours| (10e3..=10e6).contains(&ours)), "{row}");
}
