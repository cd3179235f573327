//! Spaces that the machines of a cluster keep on their disks: created from one line, found at `quintet://lab/NAME`, and there after what was killed.

use crate::account::{drain, kills_under_clients, number};
use crate::cluster::machine::{Machine, object};
use crate::tool::{LONG, text, wait_until, wait_until_gone};
use quintet::{Code, Lab, LinkConfig, Policy, Space, SpaceAddress, SpaceSettings, template, tuple};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::net::TcpListener;
use std::path::PathBuf;
use std::time::Duration;

const LEASE: Duration = Duration::from_secs(10);
fn kill(machine: &Machine) {
    let process = machine.process.take().expect("its agent runs");
    kill_process(Pid::from_raw(process.cast_signed()).unwrap(), Signal::KILL).expect("it runs");
    wait_until_gone(&[process]);
}

fn three() -> [Machine; 3] {
    let a = Machine::founded();
    let (b, c) = (Machine::joined("b", &a), Machine::joined("c", &a));
    let all = [a, b, c];
    // Of three voters one may be lost.
    wait_until(|| all[0].does(&["status"]).matches("voter").count() == 3);
    all
}

/// The named space, as a program on that machine connects to it.
fn space(on: &Machine, name: &str) -> Space {
    let address: SpaceAddress = format!("quintet://{}/{name}", on.lab().display()).parse().unwrap();
    // Time for an agent to come up and for a leader to be elected, on a machine with much to do.
    let link = LinkConfig { resume_window: LONG, ..LinkConfig::default() };
    let lab = Lab::connect_with(address, 0, LEASE, link);
    lab.unwrap_or_else(|error| panic!("{error}")).space()
}

/// The folders in which a machine keeps spaces.
fn kept(on: &Machine) -> Vec<PathBuf> {
    let Ok(found) = std::fs::read_dir(on.lab().join("spaces")) else { return Vec::new() };
    found.map(|entry| entry.unwrap().path()).collect()
}

fn listed(on: &Machine) -> Vec<Value> {
    object(&on.does(&["space", "list", "--json"]))["kept"].as_array().expect("a list").clone()
}

/// What a machine's agent has to tell.
fn told(of: &Machine) -> String {
    std::fs::read_to_string(of.lab().join("agent.log")).unwrap()
}

#[test]
fn a_space_on_one_disk_and_one_on_three_are_created_found_listed_and_removed() {
    let [a, b, c] = three();
    let made = object(&b.does(&["space", "create", "orders", "--policy", "logged", "--json"]));
    assert_eq!((&made["policy"], &made["machines"]), (&"logged".into(), &Value::from(vec!["b"])));
    let replicated = ["space", "create", "jobs", "--policy", "replicated=3", "--max-bytes", "5000", "--json"];
    let made = object(&a.does(&replicated));
    assert_eq!((&made["max_bytes"], &made["machines"]), (&5000.into(), &Value::from(vec!["a", "b", "c"])));
    assert_eq!(object(&a.does(&replicated)), made, "one that is there just so is as good");
    a.is_refused(&["space", "create", "jobs", "--policy", "logged"], 73, &["other settings"]);
    a.is_refused(&["space", "create", "jobs"], 73, &["keep a space jobs already"]);
    a.does(&["space", "create", "volatile"]);
    a.is_refused(&["space", "create", "volatile", "--policy", "logged"], 73, &["has a volatile space"]);

    for name in ["orders", "jobs", "volatile"] {
        wait_until(|| c.ask(&["status", "--space", &format!("quintet://lab/{name}")]).0 == 0);
        let (on_b, on_c) = (space(&b, name), space(&c, name));
        on_b.out(tuple![name, 7i64]).unwrap();
        assert_eq!(on_c.take(&template![name, ?i64]).unwrap(), tuple![name, 7i64]);
        on_c.out(tuple!["left", 1i64]).unwrap();
        // What others would run is for machines that were granted that, in every space of the cluster.
        let error = on_c.out(tuple!["quintet.task", 1i64]).expect_err("c may only be in");
        assert_eq!(error.code(), Code::NotAllowed, "{name}: {error}");
        wait_until(|| space(&a, name).out(tuple!["quintet.task", 1i64]).is_ok());
        space(&a, name).take(&template!["quintet.task", ?i64]).unwrap();
        let shown = object(&c.does(&["space", "show", name, "--json"]));
        assert_eq!(shown["tuples"], 1, "{shown}");
    }
    let own = a.lab().join("kernel");
    for (name, why) in [("jobs", "is a replicated space"), ("volatile", "is the named space volatile")] {
        let space = format!("quintet://lab/{name}");
        a.is_refused(&["kernel", "--space", &space, "--listen", text(&own)], 65, &[why]);
    }
    let unnamed: SpaceAddress = format!("quintet://{}", a.lab().display()).parse().unwrap();
    let unnamed = Lab::connect(unnamed, 0, LEASE).unwrap().space();
    assert_eq!(unnamed.count(&template!["left", ?i64]).unwrap(), 0, "another space");
    // A space that is for some, whoever keeps it.
    let theirs =
        ["space", "create", "theirs", "--policy", "logged", "--allow", "a,c", "--max-tuples", "1", "--json"];
    let made = object(&b.does(&theirs));
    assert_eq!((&made["allow"], &made["tuples"]), (&Value::from(vec!["a", "c"]), &Value::Null), "{made}");
    let own = ["status", "--space", "quintet://lab/theirs"];
    b.is_refused(&own, 77, &["may not use this space"]);
    wait_until(|| c.ask(&own).0 == 0);
    space(&c, "theirs").out(tuple!["task", 1i64]).unwrap();
    let full = space(&a, "theirs").out_many(&[tuple!["task", 2i64]], Some(Duration::ZERO));
    assert_eq!(full.expect_err("it holds one").code(), Code::SpaceFull);
    assert!(a.does(&["space", "list"]).contains("1 tuples at most; kept by b; for a, c"));
    let shown = object(&a.does(&["scope", "theirs", "--once", "--json"]));
    assert!(shown["partitions"].is_array() && shown["replicas"].is_null(), "{shown}");
    let replicas = object(&c.does(&["scope", "jobs", "--once", "--json"]))["replicas"].clone();
    let roles: Vec<&Value> = replicas.as_array().expect("three").iter().map(|row| &row["role"]).collect();
    assert_eq!(roles.iter().filter(|role| **role == "leads").count(), 1, "{replicas}");
    let a_theirs = space(&a, "theirs");
    assert!(told(&b).contains("the space theirs: a new log begins"), "{}", told(&b));
    kill(&b);
    b.up();
    assert_eq!(a_theirs.count(&template!["task", ?i64]).unwrap(), 1);
    b.is_refused(&own, 77, &["may not use this space"]);
    wait_until(|| told(&b).contains("the space theirs: the log is read: life 2 begins"));
    rights_change([&a, &b, &c]);
    a.does(&["space", "remove", "theirs"]);
    let names: Vec<Value> = listed(&c).iter().map(|space| space["name"].clone()).collect();
    assert_eq!(names, ["jobs", "orders"]);
    b.is_refused(&["leave", "b"], 65, &["keeps jobs, orders", "quintet space remove"]);
    let no_space = ["status", "--space", "quintet://lab/none"];
    a.is_refused(&no_space, 69, &["no such space: none"]);

    // One that is away removes it when it is back.
    kill(&c);
    for name in ["orders", "jobs", "volatile"] {
        a.does(&["space", "remove", name]);
    }
    a.is_refused(&["status", "--space", "quintet://lab/jobs"], 69, &["no such space"]);
    assert_eq!(listed(&a), Vec::<Value>::new());
    wait_until(|| kept(&a).is_empty() && kept(&b).is_empty());
    assert_eq!(kept(&c).len(), 1);
    c.up();
    wait_until(|| kept(&c).is_empty());
    // A space of the same name is another one.
    a.does(&["space", "create", "jobs", "--policy", "replicated=3"]);
    assert_eq!(space(&a, "jobs").count(&template!["left", ?i64]).unwrap(), 0);
}

/// Of the space `theirs`, which is kept by `b`, is for `a` and `c`, and has one tuple.
fn rights_change([a, b, c]: [&Machine; 3]) {
    let own = ["status", "--space", "quintet://lab/theirs"];
    b.is_refused(&["space", "remove", "theirs"], 77, &["not for this machine", "a, c"]);
    b.is_refused(&["space", "allow", "theirs", "--grant", "b"], 77, &["not for this machine", "a, c"]);
    let waits = space(c, "theirs").begin().take(&template!["never"]).unwrap();
    let given = object(&a.does(&["space", "allow", "theirs", "--grant", "b", "--revoke", "c", "--json"]));
    assert_eq!(given["allow"], Value::from(vec!["a", "b"]), "{given}");
    assert_eq!(waits.finish().expect_err("it is not for c any more").code(), Code::NotAllowed);
    c.is_refused(&own, 77, &["may not use this space"]);
    assert_eq!(space(b, "theirs").count(&template!["task", ?i64]).unwrap(), 1);
    for (arguments, status, why) in [
        (&["theirs", "--revoke", "a,b"][..], 65, "not for 0"),
        (
            &["theirs", "--grant", "x"],
            65,
            "--grant, machine 1: \"x\" is not in the cluster; there are: a, b, c",
        ),
        (&["theirs", "--grant", "c", "--revoke", "c"], 65, "name it once"),
        (&["orders", "--grant", "c"], 65, "created for all machines"),
        (&["volatile", "--grant", "c"], 69, "keep the rights that they were created with"),
        (&["theirs"], 64, "--grant"),
    ] {
        a.is_refused(&[&["space", "allow"], arguments].concat(), status, &[why]);
    }
    // Whoever may use it gives the right back, from any machine.
    b.does(&["space", "allow", "theirs", "--revoke", "b", "--grant", "c"]);
    wait_until(|| c.ask(&own).0 == 0);
    wait_until(|| b.ask(&own).0 == 77);
}

#[test]
fn a_policy_that_cannot_be_met_is_refused_and_leaves_nothing() {
    let a = Machine::founded();
    let b = Machine::joined("b", &a);
    let create = |policy: &'static str| ["space", "create", "orders", "--policy", policy];
    a.is_refused(
        &create("replicated=3"),
        65,
        &["3 machines, and the cluster has 2: a, b", "--policy logged"],
    );
    a.is_refused(&create("replicated=2"), 65, &["three or five"]);
    let allowed = ["space", "create", "orders", "--policy", "logged", "--allow", "a"];
    a.is_refused(&[&allowed[..6], &["x"]].concat(), 65, &["\"x\" is not in the cluster"]);
    a.does(&allowed);
    a.is_refused(&["space", "create", "orders", "--policy", "logged"], 73, &["is for a"]);
    a.does(&["space", "remove", "orders"]);
    let as_file = ["space", "create", "agent.toml", "--policy", "logged"];
    a.is_refused(&as_file, 65, &["another name"]);
    let c = Machine::joined("c", &a);
    kill(&c);
    wait_until(|| a.states()[2].1 != "up");
    let said = a.is_refused(&create("replicated=3"), 69, &["not, or are reached by nobody: c"]);
    assert!(!said.contains("a, b"), "{said}");
    for machine in [&a, &b] {
        assert_eq!((listed(machine), kept(machine)), (Vec::new(), Vec::new()));
    }
}

#[test]
#[ignore = "waits for ten seconds: make kill"]
fn a_space_that_is_not_served_in_time_stays_agreed_and_is_served_when_it_can_be() {
    let a = Machine::founded();
    let host = a.place.trim_end_matches(":7400").to_owned();
    let taken = TcpListener::bind((host.as_str(), 7402)).unwrap();
    let create = ["space", "create", "orders", "--policy", "logged"];
    a.is_refused(&create, 69, &["is agreed, and not served", "agent.log", "quintet space remove orders"]);
    assert!(told(&a).contains("is to keep the space orders, and cannot"), "{}", told(&a));
    drop(taken);
    a.does(&create);
}

/// Each names its own machine first, and none removes what the other has made.
#[test]
fn two_that_create_a_space_at_once_have_the_same_one() {
    let [a, b, _c] = three();
    let labs = [lab(&a), lab(&b)];
    let settings = SpaceSettings { policy: Policy::Replicated(3), ..SpaceSettings::default() };
    let [of_a, of_b] = std::thread::scope(|scope| {
        labs.each_ref()
            .map(|lab| scope.spawn(|| lab.create_space("orders", &settings)))
            .map(|made| made.join().unwrap().unwrap())
    });
    of_a.out(tuple!["order", 7i64]).unwrap();
    assert_eq!(of_b.take(&template!["order", ?i64]).unwrap(), tuple!["order", 7i64]);
    assert_eq!(labs[0].kept_spaces().unwrap(), labs[1].kept_spaces().unwrap());
}

fn lab(on: &Machine) -> Lab {
    let address: SpaceAddress = format!("quintet://{}", on.lab().display()).parse().unwrap();
    let link = LinkConfig { resume_window: LONG, ..LinkConfig::default() };
    Lab::connect_with(address, 0, LEASE, link).unwrap()
}

#[test]
fn programs_create_find_list_and_remove_spaces_that_a_cluster_keeps() {
    let a = Machine::founded();
    let b = Machine::joined("b", &a);
    let (on_a, on_b) = (lab(&a), lab(&b));
    let settings = SpaceSettings { policy: Policy::Logged, ..SpaceSettings::default() };
    let orders = on_b.create_space("orders", &settings).unwrap();
    orders.out(tuple!["order", 7i64]).unwrap();
    assert_eq!(on_b.space().count(&template!["order", ?i64]).unwrap(), 0, "another space");
    wait_until(|| on_a.named_space("orders").is_ok());
    let found = on_a.named_space("orders").unwrap();
    assert_eq!(found.take(&template!["order", ?i64]).unwrap(), tuple!["order", 7i64]);
    assert_eq!(found.name(), Some("orders"));
    // Whoever comes second has the same one, and no other.
    assert_eq!(on_b.create_space("orders", &settings).unwrap().status().unwrap().tuples, 0);
    let others = [
        SpaceSettings { max_tuples: 7, ..settings.clone() },
        SpaceSettings { policy: Policy::Volatile, ..settings.clone() },
    ];
    for other in others {
        assert_eq!(on_a.create_space("orders", &other).map(drop).unwrap_err().code(), Code::SpaceExists);
    }
    let three = SpaceSettings { policy: Policy::Replicated(3), ..settings };
    let error = on_a.create_space("jobs", &three).map(drop).unwrap_err();
    assert!(error.code() == Code::BadValue && error.text().contains("the cluster has 2"), "{error}");
    let listed = on_a.kept_spaces().unwrap();
    assert_eq!((listed.len(), &*listed[0].name, listed[0].policy), (1, "orders", Policy::Logged));
    assert!(on_a.spaces().unwrap().is_empty());

    // The machine that serves the cluster's own space is down: what others keep is there, and is listed.
    kill(&a);
    orders.out(tuple!["order", 8i64]).unwrap();
    let list = object(&b.does(&["space", "list", "--json"]));
    assert!(list["spaces"].is_null() && list["unreachable"].is_string(), "{list}");
    assert_eq!(list["kept"][0]["name"], "orders");
    assert!(b.does(&["space", "list"]).contains("volatile spaces cannot be listed"));
    a.up();
    let again = lab(&b);
    // A majority of the voters agrees.
    wait_until(|| again.remove_space("orders").is_ok());
    assert_eq!(again.named_space("orders").map(drop).unwrap_err().code(), Code::NoSuchSpace);

    // A space ends with the connection through which it was opened.
    let last =
        again.create_space("last", &SpaceSettings { policy: Policy::Logged, ..SpaceSettings::default() });
    let last = last.unwrap();
    again.close();
    assert_eq!(last.out(tuple!["x"]).unwrap_err().code(), Code::Closed);
}

/// Agents that are killed so often, one after the other, under clients of a space that they keep.
fn agents_killed(policy: &str, kills: i64) {
    let all = three();
    all[0].does(&["space", "create", "orders", "--policy", policy]);
    let client = &all[2];
    wait_until(|| client.ask(&["status", "--space", "quintet://lab/orders"]).0 == 0);
    // A space on one disk is that of the machine where it was created.
    let killed = if policy == "logged" { 1 } else { all.len() };
    kills_under_clients(
        || space(client, "orders"),
        kills,
        |round| {
            let machine = &all[usize::try_from(round).unwrap() % killed];
            kill(machine);
            machine.up();
        },
    );
}

#[test]
fn clients_of_a_space_on_one_disk_go_on_after_the_kill_of_its_agent() {
    agents_killed("logged", 2);
}

#[test]
fn clients_of_a_space_on_three_disks_go_on_whichever_agent_is_killed() {
    agents_killed("replicated=3", 3);
}

#[test]
#[ignore = "takes minutes: make kill"]
fn agents_are_killed_a_hundred_times_under_clients_of_the_spaces_that_they_keep() {
    agents_killed("logged", 100);
    agents_killed("replicated=3", 100);
}

#[test]
fn two_agents_of_three_stop_a_space_and_one_of_them_lets_it_go_on() {
    let [a, b, c] = three();
    a.does(&["space", "create", "orders", "--policy", "replicated=3"]);
    let on_a = space(&a, "orders");
    on_a.out(tuple!["item", 1i64]).unwrap();
    kill(&b);
    on_a.out(tuple!["item", 2i64]).unwrap();
    kill(&c);
    let put = on_a.begin().out(&[tuple!["item", 3i64]]).unwrap();
    wait_until(|| told(&a).contains("no machine leads the space orders: nothing is answered"));
    c.up();
    put.finish().expect("it goes on");
    let mut items = drain(&space(&c, "orders"), "item");
    items.sort_unstable();
    assert_eq!(items, [1, 2, 3]);
    assert!(on_a.take_if(&template!["item", ?i64]).unwrap().as_ref().map(number).is_none());
}

#[test]
#[ignore = "waits for ten seconds: make kill"]
fn who_asks_for_a_space_without_a_majority_is_told_who_keeps_it() {
    let [a, b, c] = three();
    a.does(&["space", "create", "orders", "--policy", "replicated=3"]);
    [&b, &c].into_iter().for_each(kill);
    let status = ["status", "--space", "quintet://lab/orders"];
    a.is_refused(&status, 69, &["none of the 3 replicas leads", "nodes 0, 1, 2", "a majority is needed"]);
}

#[test]
fn another_machine_takes_the_place_of_one_that_is_lost_under_a_client() {
    let [a, b, c] = three();
    let d = Machine::joined("d", &a);
    a.does(&["space", "create", "orders", "--policy", "replicated=3"]);
    a.does(&["space", "create", "alone", "--policy", "logged"]);
    let moved = |name: &'static str, from: &'static str, to: &'static str| {
        ["space", "move", name, "--from", from, "--to", to]
    };
    a.is_refused(&moved("alone", "a", "d"), 65, &["alone keeps alone"]);
    a.is_refused(&moved("orders", "d", "a"), 65, &["does not keep orders"]);
    a.is_refused(&moved("orders", "c", "b"), 65, &["keeps orders already"]);
    a.is_refused(&moved("orders", "c", "x"), 65, &["\"x\" is no machine", "a, b, c, d"]);
    a.is_refused(&moved("none", "c", "d"), 69, &["quintet space list"]);
    a.does(&["space", "create", "theirs", "--policy", "replicated=3", "--allow", "a,b"]);
    d.is_refused(&moved("theirs", "c", "d"), 77, &["theirs is not for this machine", "a, b"]);
    a.does(&["space", "remove", "theirs"]);

    let client = space(&b, "orders");
    for item in 0i64..100 {
        client.out(tuple!["item", item]).unwrap();
    }
    let status = ["status", "--space", "quintet://lab/orders"];
    wait_until(|| a.does(&status).matches("follows replica").count() == 2);
    kill(&c);
    a.is_refused(&["leave", "c"], 65, &["quintet space move"]);
    let shown = a.does(&moved("orders", "c", "d"));
    assert!(shown.contains("a, b, d"), "{shown}");
    a.is_refused(&moved("orders", "c", "d"), 65, &["c does not keep orders"]);
    // Its machine comes back: what it had is nobody's any more.
    c.up();
    wait_until(|| kept(&c).is_empty());
    assert_eq!(kept(&d).len(), 1);
    // The client knew of the first three: with one of them gone it needs the new one.
    kill(&a);
    client.out(tuple!["item", 100i64]).unwrap();
    assert_eq!(client.count(&template!["item", ?i64]).unwrap(), 101);
    kill(&b);
    a.up();
    let mut items = drain(&space(&d, "orders"), "item");
    items.sort_unstable();
    assert!(items.into_iter().eq(0..=100));
    b.up();
    d.does(&["leave", "c"]);
}
