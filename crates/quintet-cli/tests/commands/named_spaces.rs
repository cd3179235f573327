//! `quintet space`, `peek --named`, and named spaces in `status`.

use crate::cluster::machine::Machine;
use crate::tool::{quintet, result, text};
use quintet::{Code, Lab, ServeConfig, Server, SpaceAddress, template, tuple};
use quintet_testbed::TempDir;
use serde_json::Value;
use std::time::Duration;

const LEASE: Duration = Duration::from_secs(60);

fn object(said: &str) -> Value {
    serde_json::from_str(said).unwrap_or_else(|error| panic!("{error}: {said}"))
}

fn done(words: [&str; 6]) -> Value {
    let (status, said) = result(quintet(words));
    assert_eq!(status, 0, "{words:?}: {said}");
    object(&said)
}

#[test]
fn spaces_are_created_listed_shown_and_removed() {
    let folder = TempDir::new().unwrap();
    let socket = folder.join("space");
    let _server = Server::start(&socket, &ServeConfig::default()).unwrap();
    let at = text(&socket);
    let (status, said) =
        result(quintet(["space", "create", "orders", "--max-bytes", "5000", "--space", at, "--json"]));
    assert_eq!(status, 0, "{said}");
    let made = object(&said);
    assert_eq!((&made["max_bytes"], &made["policy"]), (&5000.into(), &"volatile".into()), "{made}");
    let (status, said) = result(quintet(["space", "create", "orders", "--space", at]));
    assert!(status == 73 && said.contains("other settings"), "{status}: {said}");

    let lab = Lab::connect(&socket, 0, LEASE).unwrap();
    lab.named_space("orders").unwrap().out(tuple!["order", 7i64]).unwrap();
    let listed = done(["space", "list", "--space", at, "--json", "--cluster=0"]);
    assert_eq!((&listed["spaces"][0]["name"], &listed["spaces"][0]["tuples"]), (&"orders".into(), &1.into()));
    let shown = done(["space", "show", "orders", "--space", at, "--json"]);
    assert_eq!(shown["allow"], Value::Null);
    let peeked = done(["peek", "--named=orders", "--space", at, "--json", "--cluster=0"]);
    assert_eq!(peeked["tuples"][0]["fields"][1], "7", "{peeked}");
    let unnamed = done(["peek", "--count", "--space", at, "--json", "--cluster=0"]);
    assert_eq!(unnamed["tuples"], 0);
    let status = done(["status", "--cluster=0", "--space", at, "--json", "--set=link.spin_us=0"]);
    assert_eq!(status["spaces"][0]["name"], "orders", "{status}");

    done(["space", "remove", "orders", "--space", at, "--json"]);
    let (status, said) = result(quintet(["space", "show", "orders", "--space", at]));
    assert!(status == 69 && said.contains("there are no named spaces"), "{status}: {said}");
}

#[test]
fn what_is_no_space_is_refused_in_words() {
    let folder = TempDir::new().unwrap();
    let socket = folder.join("space");
    let _server = Server::start(&socket, &ServeConfig::default()).unwrap();
    let at = text(&socket);
    for (option, words) in [
        ("--policy=logged", "start one that does, with quintet serve --policy logged --log-dir DIR"),
        ("--policy=replicated=3", "start three that do, with quintet serve --policy replicated --replica N"),
        ("--policy=fast", "volatile, logged, or replicated=N"),
        ("--max-bytes=0", "0 is not in"),
        ("--max-bytes=99999999999999", "spaces.max_bytes"),
        ("--allow=b", "belongs to none"),
    ] {
        let (status, said) = result(quintet(["space", "create", "orders", option, "--space", at]));
        assert!(status != 0 && said.contains(words), "{option}: {status}: {said}");
    }
    let (status, said) = result(quintet(["space", "create", "a b", "--space", at]));
    assert!(status != 0 && said.contains("letters, digits"), "{said}");
}

#[test]
fn a_space_of_a_cluster_is_for_the_machines_that_its_creation_names_and_the_audit_log_says_who_was_refused() {
    let a = Machine::founded();
    let (b, c) = (Machine::joined("b", &a), Machine::joined("c", &a));
    a.wait_until_shown(&[("a", "up (this machine)"), ("b", "up"), ("c", "up")]);
    let lab = |machine: &Machine| {
        let address: SpaceAddress = format!("quintet://{}", machine.lab().display()).parse().unwrap();
        Lab::connect(address, 0, LEASE).expect("the cluster's space is there")
    };
    let (on_a, on_b, on_c) = (lab(&a), lab(&b), lab(&c));
    a.is_refused(
        &["space", "create", "orders", "--allow", "b,d"],
        65,
        &["\"d\" is not in the cluster", "a, b, c"],
    );
    b.does(&["space", "create", "orders", "--allow", "b"]);
    on_b.named_space("orders").unwrap().out(tuple!["order", 7i64]).unwrap();
    for (who, machine) in [(&on_c, "c"), (&on_a, "a")] {
        for refused in [who.named_space("orders").map(drop), who.remove_space("orders")] {
            assert_eq!(refused.expect_err(machine).code(), Code::NotAllowed);
        }
    }
    let line = a.wait_for_refusal(|line| line["what"] == "space" && line["name"] == "c");
    assert_eq!(line["identity"], c.identity(), "{line}");
    let shown = object(&b.does(&["space", "show", "orders", "--json"]));
    assert_eq!(shown["allow"]["members"][0]["machine"], "b", "{shown}");
    assert_eq!(on_b.named_space("orders").unwrap().count(&template!["order", ?i64]).unwrap(), 1);
    // For all, where nobody is named; and the machine that serves may be one of those that are.
    c.does(&["space", "create", "open"]);
    c.does(&["space", "create", "ours", "--allow", "a,c"]);
    for (lab, name) in [(&on_a, "open"), (&on_b, "open"), (&on_a, "ours"), (&on_c, "ours")] {
        lab.named_space(name).unwrap().out(tuple!["x"]).unwrap();
    }
    assert_eq!(on_b.named_space("ours").err().unwrap().code(), Code::NotAllowed);
}
