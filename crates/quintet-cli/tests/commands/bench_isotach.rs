//! `bench isotach`: what is beside each case, and that it is measured as it says. How fast anything is, is no test.

use crate::tool::{quintet, result};
use serde_json::Value;

/// What it says with these arguments and `--json`, a row a line.
fn rows<'a>(asked: impl IntoIterator<Item = &'a str>) -> Vec<Value> {
    let (status, said) = result(quintet(["bench", "isotach", "--json"].into_iter().chain(asked)));
    assert_eq!(status, 0, "{said}");
    said.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {said}")))
        .collect()
}

/// The rows of a case, measured once beside no program.
fn measured(case: &str) -> Vec<Value> {
    let rows = rows(["--case", case, "--rounds", "1", "--peers", "/nonexistent"]);
    assert!(rows.iter().all(|row| row["ours"].as_f64() > Some(0.)), "{rows:?}");
    rows
}

/// What is beside a case, with its goal.
fn beside(rows: &[Value], case: &str) -> Vec<(Value, Value)> {
    let of_case = rows.iter().filter(|row| row["case"] == case);
    of_case.map(|row| (row["beside"].clone(), row["goal"].clone())).collect()
}

#[test]
fn isochrons_of_one_sender_have_two_base_lines_and_a_goal_to_each() {
    let listed = rows(["--list"]);
    let both = |goal: f64| ["plain messages", "messaging"].map(|name| (vec![name].into(), goal.into()));
    for bytes in ["16", "64", "1k", "8k", "64k"] {
        for over in ["shm", "tcp"] {
            assert_eq!(beside(&listed, &format!("isochron-rtt-{bytes}-{over}")), both(2.), "{listed:?}");
            assert_eq!(beside(&listed, &format!("isochron-stream-{bytes}-{over}")), both(0.5), "{listed:?}");
        }
    }
}

#[test]
fn both_base_lines_are_measured_in_the_turns_of_isochrons() {
    for case in ["isochron-rtt-64-shm", "isochron-stream-1k-tcp"] {
        let rows = measured(case);
        let of = |key: &str| rows.iter().map(|row| row[key].clone()).collect::<Vec<_>>();
        assert_eq!(of("peer"), ["plain messages", "messaging"], "{rows:?}");
        assert_eq!(of("ours")[0], of("ours")[1], "one measurement: {rows:?}");
        assert!(rows.iter().all(|row| row["ratio"].as_f64() > Some(0.)), "{rows:?}");
    }
}

#[test]
fn round_trips_are_measured_while_others_send() {
    for (case, others) in [
        ("isochron-rtt-64-contention-4-shm", vec!["plain messages"]),
        ("isochron-rtt-64-beside-stream-shm", vec!["plain messages"]),
        ("plain-rtt-64-beside-isochrons-shm", vec!["others send plain messages", "others at rest"]),
    ] {
        let rows = measured(case);
        assert_eq!(rows.iter().map(|row| row["peer"].clone()).collect::<Vec<_>>(), others, "{rows:?}");
        assert!(rows.iter().all(|row| row["unit"] == "ns" && row["ratio"].as_f64() > Some(0.)), "{rows:?}");
    }
}

#[test]
fn plain_messages_beside_tokens_are_compared_with_those_beside_none() {
    let rows = measured("plain-stream-64-beside-isochrons-shm");
    let of = |key: &str| rows.iter().map(|row| row[key].clone()).collect::<Vec<_>>();
    assert_eq!(of("peer"), ["others send plain messages", "others at rest"], "{rows:?}");
    assert_eq!(of("goal"), [0.95, 0.95], "{rows:?}");
    assert!(of("ratio").iter().all(|ratio| ratio.as_f64() > Some(0.)), "{rows:?}");
}

#[test]
fn what_a_send_takes_is_beside_a_plain_message() {
    for case in ["isochron-send-cost-message-marked-44-shm", "isochron-send-cost-copies-own-4-1004-shm"] {
        let rows = measured(case);
        assert!(
            rows.len() == 1 && rows[0]["peer"] == "plain messages" && rows[0]["unit"] == "ns",
            "{rows:?}"
        );
        assert!(rows[0]["ratio"].as_f64() > Some(0.), "{rows:?}");
    }
}

#[test]
fn what_four_members_send_arrives_and_its_tenths_are_in_order() {
    let share = |tenth| {
        let rows = measured(&format!("isochron-contention-4-64-{tenth}-tenth-shm"));
        assert_eq!((&rows[0]["peer"], &rows[0]["unit"]), (&"plain messages".into(), &"1".into()), "{rows:?}");
        rows[0]["ours"].as_f64().expect("a share of the middle tenth")
    };
    assert!(share("slowest") <= 1. && share("fastest") >= 1.);
    let rows = measured("isochron-contention-4-64-middle-tenth-shm");
    assert!(rows.len() == 1 && rows[0]["unit"] == "bytes/s", "{rows:?}");
}

#[test]
fn the_pause_is_measured_whoever_is_lost_also_two_at_once() {
    for case in ["isochron-stall-4-shm", "isochron-stall-manager-4-tcp", "isochron-stall-two-manager-5-shm"] {
        let rows = measured(case);
        assert!(rows.len() == 1 && rows[0]["goal"] == 100e6 && rows[0]["unit"] == "ns", "{rows:?}");
    }
}

#[test]
fn ordered_multicast_goes_over_both_links_beside_the_same() {
    let listed = rows(["--list"]);
    for members in ["3", "4", "8"] {
        for what in ["", "-p50", "-p99"] {
            let [shm, tcp] = ["shm", "tcp"]
                .map(|over| beside(&listed, &format!("ordered-multicast-{members}{what}-{over}")));
            assert!(shm.len() == 6 && shm == tcp, "{shm:?}, {tcp:?}");
        }
    }
    let rows = measured("ordered-multicast-3-tcp");
    assert!(rows.len() == 6 && rows[0]["peer"] == "sequencer", "{rows:?}");
    assert!(rows[0]["ratio"].as_f64() > Some(0.), "{rows:?}");
}

#[test]
fn two_machines_exchange_isochrons_and_plain_messages() {
    for (case, goal) in [("isochron-rtt-64-machines-tls", 2.), ("isochron-stream-1k-machines-tls", 0.5)] {
        let rows = measured(case);
        assert!(
            rows.len() == 1 && rows[0]["peer"] == "plain messages" && rows[0]["goal"] == goal,
            "{rows:?}"
        );
        assert!(rows[0]["ratio"].as_f64() > Some(0.), "{rows:?}");
    }
}
