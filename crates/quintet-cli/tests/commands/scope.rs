//! `quintet scope`.

use crate::tool::{quintet, result, text};
use quintet::{Lab, ServeConfig, Server, Space, template, tuple};
use quintet_testbed::TempDir;
use serde_json::Value;
use std::time::Duration;

fn object(said: &str) -> Value {
    serde_json::from_str(said).unwrap_or_else(|error| panic!("{error}: {said}"))
}

fn served(folder: &TempDir) -> (Server, Lab, String) {
    served_by(1, folder)
}

fn served_by(managers: u8, folder: &TempDir) -> (Server, Lab, String) {
    let socket = folder.join("space");
    let server = Server::start(&socket, &ServeConfig { managers, ..ServeConfig::default() }).unwrap();
    let lab = Lab::connect(&socket, 0, Duration::from_secs(60)).unwrap();
    (server, lab, text(&socket).to_owned())
}

fn partition<'a>(shown: &'a Value, title: &str) -> &'a Value {
    let rows = shown["partitions"].as_array().unwrap();
    rows.iter().find(|row| row["partition"] == title).unwrap_or_else(|| panic!("{title}: {shown}"))
}

/// Jobs that are taken, rows that are read by their numbers, a result that nobody asks for.
fn use_space(space: &Space) {
    space.out_many(&(0..10i64).map(|n| tuple!["job", n]).collect::<Vec<_>>(), None).unwrap();
    space.out_many(&(0..4i64).map(|n| tuple!["row", n, 0.5]).collect::<Vec<_>>(), None).unwrap();
    space.out(tuple!["undefined", 0i64]).unwrap();
    (0..6).for_each(|_| drop(space.take(&template!["job", ?i64]).unwrap()));
    (0..64).for_each(|n| drop(space.read(&template!["row", i64::from(n % 8 == 0), ?f64]).unwrap()));
}

#[test]
fn partitions_waiters_leases_hot_keys_and_leaks_are_shown() {
    let folder = TempDir::new().unwrap();
    let (_server, lab, at) = served(&folder);
    let space = lab.space();
    use_space(&space);
    let lease = space.lease(&template!["job", ?i64], None).unwrap();
    let waiting = space.begin().take(&template!["never", ?i64]).unwrap();
    let also = space.begin().take(&template!["never", ?i64]).unwrap();

    let (status, said) =
        result(quintet(["scope", "--once", "--json", "--leak-after", "0.1", "--space", &at]));
    assert_eq!(status, 0, "{said}");
    let shown = object(&said);
    let jobs = partition(&shown, "(\"job\", ?i64)");
    let counts = ["tuples", "leased", "put", "taken"].map(|name| jobs[name].as_u64().unwrap());
    assert_eq!((counts, &jobs["class"]), ([4, 1, 10, 7], &"queue".into()), "{jobs}");
    assert_eq!(jobs["stored_per_s"], Value::Null, "{jobs}");
    let rows = partition(&shown, "(\"row\", ?i64, ?f64)");
    assert_eq!((&rows["class"], &rows["read"]), (&"hash on 2".into(), &64.into()), "{rows}");
    let never = partition(&shown, "(\"never\", ?i64)");
    assert_eq!((&never["waiters"], &never["tuples"]), (&2.into(), &0.into()), "{never}");
    assert_eq!(
        (&shown["waits"][0]["count"], &shown["leases"][0]["count"]),
        (&2.into(), &1.into()),
        "{shown}"
    );
    assert!(shown["leases"][0]["by"].as_str().unwrap().starts_with("client "), "{shown}");
    assert_eq!(shown["hot_keys"][0]["template"], "(\"row\", 0, ?f64)", "{shown}");

    let leak = |shown: &Value| partition(shown, "(\"undefined\", ?i64)")["leak"].clone();
    let (_, said) = result(quintet(["scope", "--once", "--json", "--leak-after", "3600", "--space", &at]));
    assert_eq!(leak(&object(&said)), Value::Null, "not for so long: {said}");
    // It is there for more than a tenth of a second once two looks were taken.
    let looks = ["scope", "--looks", "3", "--interval", "0.1", "--leak-after", "0.1", "--space", &at];
    let (status, said) = result(quintet(looks));
    let line = said.lines().rfind(|line| line.starts_with("LEAK?") && line.contains("undefined"));
    assert!(
        status == 0
            && line
                .is_some_and(|line| line.contains("LEAK? 1 of (\"undefined\", ?i64): nobody has ever asked")),
        "{said}"
    );
    drop((waiting, also));
    lease.release().unwrap();
}

#[test]
fn rates_are_those_between_two_looks_and_a_named_space_is_its_own() {
    let folder = TempDir::new().unwrap();
    let (_server, lab, at) = served(&folder);
    lab.create_space("orders", &quintet::SpaceSettings::default()).unwrap();
    let orders = lab.named_space("orders").unwrap();
    orders.out(tuple!["order", 1i64]).unwrap();
    lab.space().out(tuple!["elsewhere"]).unwrap();
    let child = quintet(["scope", "orders", "--looks", "2", "--interval", "0.5", "--json", "--space", &at]);
    let first = object(&child.output().next_line(Duration::from_secs(60)).unwrap());
    orders.out_many(&(0..50i64).map(|n| tuple!["order", n]).collect::<Vec<_>>(), None).unwrap();
    orders.take(&template!["order", ?i64]).unwrap();
    let second = object(&child.output().next_line(Duration::from_secs(60)).unwrap());
    let row = |shown: &Value| partition(shown, "(\"order\", ?i64)").clone();
    assert_eq!((&first["space"], &row(&first)["stored_per_s"]), (&"orders".into(), &Value::Null), "{first}");
    assert_eq!(first["partitions"].as_array().map(Vec::len), Some(1), "{first}");
    let rate = |name: &str| row(&second)[name].as_f64().unwrap();
    assert!(rate("stored_per_s") > 0.0 && (rate("stored_per_s") / rate("taken_per_s") - 50.0).abs() < 0.01);
    let (status, said) = result(quintet(["scope", "order", "--once", "--space", &at]));
    assert!(status != 0 && said.contains("there are: orders"), "{said}");
    let (status, said) = result(quintet(["scope", "--once", "--looks", "2"]));
    assert!(status == 64 && said.contains("--looks"), "{said}");
}

#[test]
fn what_several_managers_have_is_shown_as_one_space() {
    let folder = TempDir::new().unwrap();
    let (_server, lab, at) = served_by(2, &folder);
    let space = lab.space();
    space.declare_key(&template!["job", ?i64, ?i64], 1).unwrap();
    let jobs = |range: std::ops::Range<i64>| range.map(|n| tuple!["job", n, n]).collect::<Vec<_>>();
    space.out_many(&jobs(0..40), None).unwrap();
    let leases: Vec<_> = (0..20i64).map(|n| space.lease(&template!["job", n, ?i64], None).unwrap()).collect();
    let waiting: Vec<_> =
        (50..60i64).map(|n| space.begin().take(&template!["job", n, ?i64]).unwrap()).collect();

    let looks = ["scope", "--looks", "2", "--interval", "0.5", "--json", "--space", &at];
    let child = quintet(looks);
    let first = object(&child.output().next_line(Duration::from_secs(60)).unwrap());
    space.out_many(&jobs(100..150), None).unwrap();
    (30..40i64).for_each(|n| drop(space.take(&template!["job", n, ?i64]).unwrap()));
    let second = object(&child.output().next_line(Duration::from_secs(60)).unwrap());

    assert_eq!(first["partitions"].as_array().map(Vec::len), Some(1), "{first}");
    let title = "(\"job\", ?i64, ?i64)";
    let (jobs, later) = (partition(&first, title), partition(&second, title));
    let counts = ["tuples", "leased", "put", "taken", "waiters"].map(|name| jobs[name].as_u64().unwrap());
    assert_eq!((counts, &jobs["class"]), ([40, 20, 40, 20, 10], &"hash on 2".into()), "{jobs}");
    assert_eq!((&first["leases"][0]["count"], first["leases"].as_array().unwrap().len()), (&20.into(), 1));
    let rate = |name: &str| later[name].as_f64().unwrap();
    assert!((rate("stored_per_s") / rate("taken_per_s") - 5.0).abs() < 0.01, "{later}");
    drop(waiting);
    leases.into_iter().for_each(|lease| lease.release().unwrap());
}
