//! Live tuples that other processes make: each comes once, whoever is killed and whenever.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use quintet::{
    Code, Evals, Field, Lab, LinkAddress, ServeConfig, Server, Space, Template, Tuple, Value, template, tuple,
};
use quintet_testbed::{Child, Program, TempDir, argument};
use std::path::Path;
use std::process::{abort, id};
use std::thread;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(30);
const LEASE: Duration = Duration::from_millis(500);

fn connect(address: impl AsRef<str>) -> Space {
    let address: LinkAddress = address.as_ref().parse().unwrap();
    Lab::connect(address, 0, LEASE).expect("the space is there").space()
}

/// A space, and how a child comes to it.
fn served(dir: &TempDir) -> (Server, String) {
    let address = format!("shm:{}", dir.join("space").display());
    let place: LinkAddress = address.parse().unwrap();
    (Server::start(&place, &ServeConfig::default()).unwrap(), address)
}

fn start(test: &str, address: &str) -> Child {
    Program::this_test(test, Path::new(address))
        .expect("this test's executable is known")
        .spawn()
        .expect("it starts")
}

/// In a child, a worker: its functions say who makes a tuple, wait for a word, multiply, or end their process.
fn work_as_child() {
    let Some(address) = argument() else { return };
    let space = connect(address);
    let asked = space.clone();
    let evals = Evals::new()
        .function("who", move |name: String| {
            asked.out(tuple!["began", name.as_str(), i64::from(id())])?;
            asked.read(&template!["go on", name.as_str()])?;
            Ok::<_, quintet::Error>(tuple!["who", name, i64::from(id())])
        })
        .function("product", |a: i64, b: i64| tuple!["product", a, b, a * b])
        .function("die", || -> Tuple { abort() });
    println!("serving");
    evals.serve(&space).expect("until the space is gone");
    println!("ended");
}

fn began(space: &Space, name: &str) -> i64 {
    let began = space.take_within(&template!["began", name, ?i64], LONG).expect("a worker has begun");
    i64::try_from(began[2].clone()).unwrap()
}

fn failed(name: &str) -> Template {
    template!["quintet.failed", name, ?str]
}

fn text(failed: &Tuple) -> String {
    String::try_from(failed[2].clone()).unwrap()
}

#[test]
fn a_killed_worker_costs_an_attempt_and_the_tuple_comes_once() {
    work_as_child();
    if argument().is_some() {
        return;
    }
    const NAME: &str = "a_killed_worker_costs_an_attempt_and_the_tuple_comes_once";
    let dir = TempDir::new().unwrap();
    let (server, address) = served(&dir);
    let space = connect(&address);
    space.eval_on_workers("who", ["a".into()]).unwrap();
    for _ in 0..3 {
        let mut worker = start(NAME, &address);
        assert_eq!(began(&space, "a"), i64::from(worker.id()));
        worker.kill().unwrap();
    }
    let frozen = start(NAME, &address);
    began(&space, "a");
    frozen.freeze().unwrap();
    let survivor = start(NAME, &address);
    assert_eq!(began(&space, "a"), i64::from(survivor.id()));
    space.out(tuple!["go on", "a"]).unwrap();
    let made = tuple!["who", "a", i64::from(survivor.id())];
    assert_eq!(space.take_within(&template!["who", "a", ?i64], LONG).unwrap(), made);
    frozen.thaw().unwrap();
    // Both are needed for these, so the frozen one is over with its own.
    for name in ["b", "c"] {
        space.eval_on_workers("who", [name.into()]).unwrap();
    }
    for name in ["b", "c"] {
        began(&space, name);
    }
    for name in ["b", "c"] {
        space.out(tuple!["go on", name]).unwrap();
        space.take_within(&template!["who", name, ?i64], LONG).unwrap();
    }
    assert_eq!(space.take_if(&template!["who", ?str, ?i64]).unwrap(), None);
    drop(server);
    for worker in [&frozen, &survivor] {
        worker.output().wait_for("ended", LONG).expect("it ends with its space");
    }
}

#[test]
fn workers_killed_at_any_moment_lose_and_double_no_tuple() {
    work_as_child();
    if argument().is_some() {
        return;
    }
    const NAME: &str = "workers_killed_at_any_moment_lose_and_double_no_tuple";
    const NUMBER: i64 = 2000;
    let dir = TempDir::new().unwrap();
    let (_server, address) = served(&dir);
    let space = connect(&address);
    for n in 0..NUMBER {
        space.eval_on_workers("product", [n.into(), 2i64.into()]).unwrap();
    }
    let products = template!["product", ?i64, ?i64, ?i64];
    for round in 1..=20 {
        let mut worker = start(NAME, &address);
        while i64::try_from(space.count(&products).unwrap()).unwrap() < round * NUMBER / 25 {
            thread::yield_now();
        }
        worker.kill().unwrap();
    }
    let _worker = start(NAME, &address);
    for n in 0..NUMBER {
        let made = space.take_within(&template!["product", n, ?i64, ?i64], LONG).unwrap();
        assert_eq!(made, tuple!["product", n, 2i64, 2 * n]);
    }
    assert_eq!(space.count(&products).unwrap(), 0);
}

#[test]
fn one_whose_workers_all_die_fails() {
    work_as_child();
    if argument().is_some() {
        return;
    }
    const NAME: &str = "one_whose_workers_all_die_fails";
    let dir = TempDir::new().unwrap();
    let (_server, address) = served(&dir);
    let space = connect(&address);
    space.eval_on_workers("die", []).unwrap();
    for _ in 0..5 {
        start(NAME, &address).wait(LONG).unwrap().expect("it dies");
    }
    let _worker = start(NAME, &address);
    let failed = space.take_within(&failed("die"), LONG).unwrap();
    assert!(text(&failed).contains("given up after 5 attempts"), "{failed}");
    assert_eq!(space.status().unwrap().tuples, 0);
}

#[test]
fn failures_are_tuples_and_what_nobody_has_begun_is_taken_back() {
    let lab = Lab::embedded();
    let (space, served) = (lab.space(), lab.space());
    space.eval_on_workers("half", [3i64.into()]).unwrap();
    assert!(space.take_if(&template!["quintet.eval", "half", 3i64]).unwrap().is_some(), "it is called off");
    let evals = Evals::new()
        .function("half", |n: i64| if n % 2 == 0 { Ok(tuple!["half", n, n / 2]) } else { Err("it is odd") })
        .function("half", |n: f64| tuple!["half", n, n / 2.0])
        .function("panic", || -> Tuple { panic!("no such thing") });
    let worker = thread::spawn(move || evals.serve(&served));
    space.eval_on_workers("half", [7i64.into()]).unwrap();
    assert_eq!(text(&space.take(&failed("half")).unwrap()), "it is odd");
    space.eval_on_workers("panic", []).unwrap();
    assert_eq!(text(&space.take(&failed("panic")).unwrap()), "panicked: no such thing");
    space.eval_on_workers("half", [7.0.into()]).unwrap();
    assert_eq!(space.take(&template!["half", ?f64, ?f64]).unwrap(), tuple!["half", 7.0, 3.5]);
    assert_eq!(space.status().unwrap().redone, 0, "each was begun once");
    lab.close();
    worker.join().unwrap().expect("it ends with its space");
    let error = Evals::new().serve(&Lab::embedded().space()).expect_err("it has no function");
    assert_eq!(error.code(), Code::BadValue);
}

#[test]
fn functions_of_arguments_that_are_known_late_are_called_alike() {
    let lab = Lab::embedded();
    let (space, served) = (lab.space(), lab.space());
    let mut evals = Evals::new().function("sum", |a: i64, b: i64| tuple!["sum", a + b]);
    let texts = vec![Field::formal::<str>(), Field::Actual(",".into()), Field::formal::<str>()];
    let join = |values: Vec<Value>| Tuple::new([Value::from("sum")].into_iter().chain(values).collect());
    evals.add("sum", texts, move |values| join(values).map_err(|error| error.to_string())).unwrap();
    evals.add("none", Vec::new(), |values| Err(format!("of {} arguments", values.len()))).unwrap();
    let error =
        evals.add("many", vec![Field::formal::<i64>(); 60], |_| Ok(tuple!["x"])).expect_err("too many");
    assert_eq!((error.code(), error.text().contains("room for 59")), (Code::BadValue, true), "{error}");
    for _ in 3..16 {
        evals.add("more", vec![Field::formal::<i64>(); 59], |_| Ok(tuple!["x"])).unwrap();
    }
    let error = evals.add("none", Vec::new(), |_| Ok(tuple!["x"])).expect_err("it is the 17th");
    assert_eq!(error.code(), Code::BadValue);
    let worker = thread::spawn(move || evals.serve(&served));
    space.out(Evals::call("sum", [3i64.into(), 4i64.into()]).unwrap()).unwrap();
    assert_eq!(space.take(&template!["sum", ?i64]).unwrap(), tuple!["sum", 7i64]);
    space.eval_on_workers("sum", ["a".into(), ";".into(), "b".into()]).unwrap();
    space.eval_on_workers("sum", ["a".into(), ",".into(), "b".into()]).unwrap();
    assert_eq!(space.take(&template!["sum", ?str, ?str, ?str]).unwrap(), tuple!["sum", "a", ",", "b"]);
    space.eval_on_workers("none", []).unwrap();
    assert_eq!(text(&space.take(&failed("none")).unwrap()), "of 0 arguments");
    assert_eq!(space.status().unwrap().tuples, 1, "a call that no function matches waits");
    lab.close();
    worker.join().unwrap().expect("it ends with its space");
    assert!(Evals::call("many", (0i64..60).map(Value::from)).is_err());
}

#[test]
fn a_program_that_waits_in_its_own_way_ends_when_it_wants_and_is_told_what_is_no_call() {
    let space = Lab::embedded().space();
    let evals = Evals::new().function("n", |n: i64| tuple!["n", n]);
    let other = || space.lease(&template![?str, ?i64], None);
    for which in [0, 1, 7] {
        space.out(tuple!["no call", 3i64]).unwrap();
        let error = evals.serve_with(|_| Ok((which, other()?)), |call, end| call.acknowledge(&[end]));
        let error = error.expect_err("it is no call");
        assert_eq!((error.code(), error.text().contains("no call")), (Code::Malformed, true), "{error}");
        space.take(&template!["no call", 3i64]).unwrap();
    }
    space.eval_on_workers("n", [3i64.into()]).unwrap();
    let cancelled = || quintet::Error::new(Code::Cancelled, "it wants no more");
    let error = evals.serve_with(|calls| space.select_lease(calls, None), |_, _| Err(cancelled()));
    assert_eq!(error.expect_err("it wants no more").code(), Code::Cancelled);
    assert_eq!(space.count(&template!["quintet.eval", "n", 3i64]).unwrap(), 1, "it has returned");
    assert_eq!(space.count(&template!["n", ?i64]).unwrap(), 0);
}
