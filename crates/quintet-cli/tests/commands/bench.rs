//! `bench`: which cases there are, and what a row says. How fast anything is, is no test.

use crate::tool::{quintet, result, script, text};
use quintet_testbed::{TempDir, Testbed};
use serde_json::Value;

/// A case that is over soon on a busy machine, too.
const QUICK: &str = "shm-rate-64";
const KEYS: [&str; 18] = [
    "bench",
    "better",
    "case",
    "goal",
    "goal_met",
    "machine",
    "ours",
    "ours_least",
    "ours_most",
    "peer",
    "peer_missing",
    "peer_value",
    "placement",
    "ratio",
    "ratio_is",
    "rounds",
    "unit",
    "waiting",
];

fn objects(said: &str) -> Vec<Value> {
    let parse = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    said.lines().map(parse).collect()
}

/// The only row of one round of the quick case beside the peers in `folder`.
fn row(folder: &TempDir) -> Value {
    let peers = text(folder.path());
    let (status, said) =
        result(quintet(["bench", "--case", QUICK, "--rounds", "1", "--json", "--peers", peers]));
    assert_eq!(status, 0, "{said}");
    let mut rows = objects(&said);
    assert_eq!(rows.len(), 1, "{said}");
    rows.remove(0)
}

#[test]
fn every_case_is_listed_and_measured_by_none() {
    let (status, said) = result(quintet(["bench", "--list"]));
    assert_eq!(status, 0);
    for line in ["link/shm-rtt-64 beside ucx", "link/idle", "explore/schedules"] {
        assert!(said.lines().any(|said| said.starts_with(line)), "{line} is not in: {said}");
    }
    let (_, explored) = result(quintet(["bench", "explore", "--list", "--json"]));
    let listed = objects(&explored);
    assert_eq!(listed.len(), 1);
    assert_eq!((&listed[0]["case"], &listed[0]["unit"]), (&"schedules".into(), &"schedules/s".into()));
}

/// What these arguments, with `--list --json` among them, say of each case: its name, what is beside it, its goal.
fn listed<const N: usize>(arguments: [&str; N]) -> Vec<(String, Value, Value)> {
    let (status, said) = result(quintet(arguments));
    assert_eq!(status, 0, "{said}");
    let name = |row: &Value| row["case"].as_str().unwrap_or_default().to_owned();
    objects(&said).iter().map(|row| (name(row), row["beside"].clone(), row["goal"].clone())).collect()
}

/// A case as it should be listed.
fn expected(name: &str, beside: &[&str], goal: impl Into<Value>) -> (String, Value, Value) {
    (name.to_owned(), beside.into(), goal.into())
}

#[test]
fn a_group_is_narrowed_to_the_cases_over_a_link() {
    let redis = ["redis-c-tcp"];
    let over_tcp = [
        expected("pair-64-tcp", &redis, 0.6),
        expected("packed-1m-tcp", &["as it is"], Value::Null),
        expected("pipelined-tcp", &redis, 4.),
        expected("clients-1-tcp", &redis, 1.),
        expected("clients-4-tcp", &redis, 1.),
        expected("clients-16-tcp", &redis, 1.),
        expected("clients-64-tcp", &redis, 1.),
    ];
    assert_eq!(listed(["bench", "space", "--link", "tcp", "--list", "--json"]), over_tcp);
    let redis = ["redis-c"];
    let over_unix = [
        expected("pair-64-unix", &redis, 0.6),
        expected("pair-64-unix", &["rinda-proxy", "rinda"], Value::Null),
        expected("pipelined-unix", &redis, 4.),
    ];
    assert_eq!(listed(["bench", "space", "--link", "unix", "--list", "--json"]), over_unix);
    let over_tls = [expected("pair-64-tls", &["redis-c-tls"], 0.5)];
    assert_eq!(listed(["bench", "space", "--link", "tls", "--list", "--json"]), over_tls);
    let in_shared_memory = listed(["bench", "space", "--link", "shm", "--list", "--json"]);
    assert!(in_shared_memory.contains(&expected("pair-64-shm", &redis, 0.035)), "{in_shared_memory:?}");
    for small in ["pair-16-shm", "pair-1k-shm"] {
        assert!(in_shared_memory.contains(&expected(small, &redis, Value::Null)), "{in_shared_memory:?}");
        assert!(in_shared_memory.contains(&expected(small, &[], 2_000.)), "{in_shared_memory:?}");
    }
}

#[test]
fn farms_and_churn_are_measured_beside_lists_of_redis() {
    let cases = listed(["bench", "space", "--list", "--json"]);
    for farm in ["farm-1", "farm-2", "farm-1-leased", "farm-2-leased"] {
        let farm = expected(&format!("{farm}-smallest-90"), &["redis-c"], Value::Null);
        assert!(cases.contains(&farm), "{farm:?}: {cases:?}");
    }
    assert!(cases.contains(&expected("churn-shm", &[], 1.1)), "{cases:?}");
    assert!(cases.contains(&expected("churn-shm", &["redis-c"], Value::Null)), "{cases:?}");
}

#[test]
fn a_busy_client_is_compared_with_itself_among_idle_ones() {
    let beside = ["1"];
    let cases = [
        expected("links-1", &[], Value::Null),
        expected("links-10", &beside, 1.3),
        expected("links-100", &beside, 1.3),
        expected("links-1000", &beside, 1.3),
    ];
    assert_eq!(listed(["bench", "engine", "--list", "--json"]), cases);
}

#[test]
fn a_simulated_cluster_costs_the_same_in_every_run() {
    let sizes = listed(["bench", "membership", "--list", "--json"]);
    assert_eq!(sizes.len(), 20, "{sizes:?}");
    let run = || {
        result(quintet([
            "bench",
            "--case",
            "agents-3",
            "--case",
            "agents-3-idle-bytes",
            "--rounds",
            "2",
            "--json",
        ]))
    };
    let (status, said) = run();
    assert_eq!(status, 0, "{said}");
    let rows = objects(&said);
    assert!(rows.len() == 2 && rows.iter().all(|row| row["ours"].as_f64() > Some(0.)), "{said}");
    assert_eq!(run().1, said);
}

#[test]
fn an_unknown_case_is_told_with_those_there_are() {
    let (status, said) = result(quintet(["bench", "--case", "nothing"]));
    assert_eq!(status, 64, "{said}");
    assert!(said.contains("nothing") && said.contains(QUICK) && said.contains("schedules"), "{said}");
}

#[test]
fn what_fits_no_case_is_refused() {
    for wanted in [["bench", "space", "--case", QUICK], ["bench", "predict", "--link", "tls"]] {
        let (status, said) = result(quintet(wanted));
        assert_eq!(status, 65, "{said}");
        assert!(said.contains("no case fits all that is asked for"), "{said}");
    }
}

#[test]
fn a_row_has_the_promised_keys_and_a_ratio() {
    let folder = TempDir::new().unwrap();
    let line = r#"echo '{"statistic": "mean", "value": 3.0}'; echo '{"statistic": "p50", "value": 0.5}'"#;
    script(&folder, "ucx_shm", line);
    let row = row(&folder);
    let keys: Vec<&str> = row.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(keys, KEYS);
    let named = ["bench", "case", "unit", "better", "peer"].map(|key| row[key].as_str().unwrap_or_default());
    assert_eq!(named, ["link", QUICK, "messages/s", "higher", "ucx"]);
    let [ours, peer, ratio] = ["ours", "peer_value", "ratio"].map(|key| row[key].as_f64().expect("a number"));
    assert_eq!(peer, 0.5);
    // Reading a number of JSON may cost its last bit.
    assert!((ratio * peer / ours - 1.).abs() < 1e-12, "{ratio} is not {ours} / {peer}");
    assert_eq!(
        (&row["goal"], &row["goal_met"], &row["peer_missing"]),
        (&4.0.into(), &true.into(), &Value::Null)
    );
    assert_eq!(
        (&row["rounds"], &row["waiting"], &row["placement"]),
        (&1.into(), &"adaptive".into(), &"own cores".into())
    );
}

#[test]
fn a_prediction_says_what_its_ratio_is_and_whether_the_machine_was_quiet() {
    let case = ["bench", "predict", "--case", "fitted-pair-64-inprocess", "--rounds", "1"];
    let (status, said) = result(quintet(case));
    assert_eq!(status, 0, "{said}");
    assert!(said.contains(", median of those within turns; "), "{said}");
    assert!(said.contains("machine quiet (") || said.contains("MACHINE NOT QUIET"), "{said}");
    let [bench, group, by, name, rounds, once] = case;
    let (_, said) = result(quintet([bench, group, by, name, rounds, once, "--json"]));
    let machine = &objects(&said)[0]["machine"];
    assert!(
        machine["quiet"].is_boolean() && machine["lost"].is_f64() && machine["spread"].is_f64(),
        "{said}"
    );
    let (_, help) = result(quintet(["bench", "--help"]));
    let help: Vec<&str> = help.split_whitespace().collect();
    assert!(help.join(" ").contains("median of the ratios within each round"), "{help:?}");
}

/// A case with two peers was measured anew for each of them, in two figures of which nobody knew which was right.
#[test]
fn a_case_with_several_goals_is_measured_once_and_has_a_row_for_each() {
    let folder = TempDir::new().expect("a temporary directory");
    for (peer, value) in [("simpy_models.py", 2.0), ("nexosim", 4.0)] {
        script(&folder, peer, &format!(r#"echo '{{"statistic": "p50", "value": {value}}}'"#));
    }
    let peers = text(folder.path());
    let (status, said) =
        result(quintet(["bench", "--case", "mm1", "--rounds", "1", "--json", "--peers", peers]));
    assert_eq!(status, 0, "{said}");
    let rows = objects(&said);
    let of = |key: &str| rows.iter().map(|row| row[key].clone()).collect::<Vec<_>>();
    assert_eq!(of("peer"), ["simpy", "nexosim"]);
    assert_eq!(of("goal"), [20.0, 1.0]);
    assert_eq!(of("ours")[0], of("ours")[1], "one measurement: {said}");
    assert_eq!(of("peer_value"), [2.0, 4.0]);
}

#[test]
fn a_case_of_a_model_file_says_where_that_is_looked_for() {
    let both = [expected("lan", &["ns3"], Value::Null), expected("lan", &["ns3-ip"], Value::Null)];
    let listed = listed(["bench", "simulate", "--case", "lan", "--list", "--json"]);
    assert_eq!(listed, both);
    // Tests begin in the folder of their package.
    let (status, said) = result(quintet(["bench", "--case", "lan", "--rounds", "1"]));
    assert_ne!(status, 0, "{said}");
    assert!(
        said.contains("simulate/lan failed: ") && said.contains("models/lan.toml: not here; start this in"),
        "{said}"
    );
}

#[test]
fn a_peer_that_is_not_built_leaves_the_ratio_open() {
    let row = row(&TempDir::new().unwrap());
    assert!(row["peer_missing"].as_str().is_some_and(|why| why.contains("make -C benches/peers")), "{row}");
    assert_eq!(
        (&row["ratio"], &row["peer_value"], &row["goal_met"]),
        (&Value::Null, &Value::Null, &Value::Null)
    );
    assert!(row["ours"].as_f64().is_some_and(|ours| ours > 0.), "{row}");
}

#[test]
fn clusters_are_measured_beside_mpirun_and_ray_and_their_own_growth() {
    let cases = [
        expected("join-2", &[], Value::Null),
        expected("join-15", &["join-2"], 2.),
        expected("start-2", &["openmpi"], 1.),
        expected("start-2", &["ray"], 0.1),
        expected("start-16", &["openmpi"], 1.),
        expected("start-16", &["ray"], 0.1),
        expected("start-64", &["ray"], 0.1),
        expected("detect-kill", &[], 0.1e9),
        expected("detect-cut", &[], 1e9),
    ];
    assert_eq!(listed(["bench", "cluster", "--list", "--json"]), cases);
}

#[test]
fn a_cluster_that_was_measured_leaves_no_testbed() {
    let peers = TempDir::new().expect("a temporary directory");
    let peers = text(peers.path());
    let bench = quintet(["bench", "--case", "start-2", "--rounds", "1", "--json", "--peers", peers]);
    let of_it = format!("t{}-", bench.id());
    let (status, said) = result(bench);
    assert!(status == 0 && objects(&said)[0]["ours"].as_f64() > Some(0.), "{said}");
    let left: Vec<String> = Testbed::names().into_iter().filter(|name| name.starts_with(&of_it)).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn executors_are_measured_on_one_machine_and_on_two() {
    let (one, two) = (["processes", "loky", "dask", "ray"], ["dask", "ray"]);
    let cases = listed(["bench", "executor", "--list", "--json"]);
    for case in ["tasks-0", "tasks-100us", "tasks-1ms", "tasks-10ms"] {
        assert!(cases.contains(&expected(case, &one, 2.)), "{case}: {cases:?}");
        assert!(cases.contains(&expected(&format!("{case}-two-machines"), &two, 2.)), "{case}: {cases:?}");
    }
    // Of those that have a goal of the smallest task only Ray has several machines.
    for (case, beside, goal) in [
        ("smallest-90", "loky", 0.5),
        ("smallest-90", "ray", 0.05),
        ("smallest-90-two-machines", "ray", 0.05),
    ] {
        assert!(cases.contains(&expected(case, &[beside], goal)), "{case}: {cases:?}");
    }
}
