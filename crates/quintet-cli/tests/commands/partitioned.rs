//! `serve --manager`: a space whose managers are processes, one of which is killed.

mod behind_kernel;

use crate::tool::{LONG, quintet, result, text};
use quintet::{Code, Error, Lab, LinkAddress, LinkConfig, Space, template, tuple};
use quintet_testbed::{Child, TempDir};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::spawn;
use std::time::Duration;

const LEASE: Duration = Duration::from_secs(10);
const TOGETHER: &str = "quintet: all 3 managers are there";
/// A killed process is taken for a cut link over TCP, for so long.
const WINDOW: Duration = Duration::from_millis(300);

/// One of the managers, all of which are told the same places.
fn manager(number: usize, peers: &str) -> Child {
    let window = format!("link.resume_window_ms={}", WINDOW.as_millis());
    quintet(["serve", "--manager", &number.to_string(), "--peers", peers, "--set", &window])
}

fn wait_for(child: &Child, words: &str) {
    child.output().wait_for(words, LONG).unwrap_or_else(|| panic!("{}", child.output().text()));
}

/// Three processes, the last one first, and where programs connect.
fn three(places: &[String; 3]) -> (Vec<Child>, LinkAddress) {
    let peers = places.join(",");
    let mut managers: Vec<Child> = (1..=3).rev().map(|number| manager(number, &peers)).collect();
    managers.reverse();
    managers.iter().for_each(|manager| wait_for(manager, TOGETHER));
    (managers, places[0].parse().unwrap())
}

fn unix(folder: &TempDir) -> [String; 3] {
    ["one", "two", "three"].map(|name| format!("unix:{}", text(&folder.join(name))))
}

fn tcp() -> [String; 3] {
    let listeners = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|listener| format!("tcp:{}", listener.local_addr().unwrap()))
}

fn connect(address: &LinkAddress) -> Result<Lab, Error> {
    let link = LinkConfig { resume_window: WINDOW, ..LinkConfig::default() };
    Lab::connect_with(address.clone(), 0, LEASE, link)
}

#[test]
fn programs_use_three_processes_as_one_space_and_hear_which_of_them_was_killed() {
    let folder = TempDir::new().unwrap();
    for places in [unix(&folder), tcp()] {
        let (mut managers, address) = three(&places);
        let (one, other) = (connect(&address).unwrap(), connect(&address).unwrap());
        for key in 0..100i64 {
            one.space().out(tuple!["task", key, key]).unwrap();
            assert!(other.space().read_if(&template!["task", key, ?i64]).unwrap().is_some());
        }
        let (code, said) = result(quintet(["status", "--space", &places[0], "--json"]));
        assert!(code == 0 && said.contains("\"tuples\":100"), "{said}");
        // Gathered from all three, each once.
        let mut taken: Vec<i64> = (0..100)
            .map(|_| other.space().take(&template!["task", ?i64, ?i64]).unwrap())
            .map(|task| i64::try_from(task[1].clone()).unwrap())
            .collect();
        taken.sort_unstable();
        assert_eq!(
            taken,
            (0..100).collect::<Vec<_>>(),
            "what one manager had comes in its order, what several had in any"
        );
        let waits = one.space().begin().take(&template!["wanted"]).unwrap();
        managers[1].kill().unwrap();
        let gone = format!("manager 2 of the 3 of this space, at {}, is gone", places[1]);
        for error in [waits.finish().unwrap_err(), other.space().status().unwrap_err()] {
            assert!(error.code() == Code::PeerDied && error.text().contains(&gone), "{error}");
        }
        for survivor in [0, 2] {
            wait_for(&managers[survivor], &format!("quintet: {gone}"));
        }
        // One that takes its place has nothing of what was there.
        managers[1] = manager(2, &places.join(","));
        wait_for(&managers[1], &format!("quintet: {gone}"));
        let error = connect(&address).map(drop).unwrap_err();
        assert!(error.text().contains(&gone), "{error}");
    }
}

/// What a client does until the space is over; it tells of each round.
type Kind = fn(&Space, &Sender<()>) -> Result<(), Error>;

/// Clients of every kind: some get on, others wait for what never comes.
const KINDS: [(&str, Kind); 7] = [
    ("puts and takes by a key", |space, told| {
        for key in 0i64.. {
            space.out(tuple!["keyed", key, key])?;
            assert_eq!(space.take(&template!["keyed", key, ?i64])?, tuple!["keyed", key, key]);
            let _ = told.send(());
        }
        Ok(())
    }),
    ("does tasks under leases", |space, told| {
        for task in 0i64.. {
            space.out_many(&[tuple!["task", task], tuple!["of", 1u8], tuple!["another type", 0.5]], None)?;
            space.lease(&template!["task", ?i64], None)?.acknowledge(&[tuple!["done"], tuple![task]])?;
            let _ = told.send(());
        }
        Ok(())
    }),
    ("moves tuples in groups", |space, told| {
        space.out_many(&[tuple!["left", 100i64], tuple!["right", 100u64]], None)?;
        loop {
            let group = space.group();
            let left = group.take(&template!["left", ?i64])?;
            group.take(&template!["right", ?u64])?;
            group.out(left)?;
            group.out(tuple!["right", 100u64])?;
            group.commit()?;
            let _ = told.send(());
        }
    }),
    ("looks", |space, told| {
        loop {
            space.read_if(&template!["no such tuple", ?str])?;
            space.status()?;
            let _ = told.send(());
        }
    }),
    ("waits", |space, _| space.take(&template!["never", ?i64]).map(drop)),
    ("waits for one of several", |space, _| {
        space.select(&[template!["never", 0.5], template!["never", true], template!["never"]]).map(drop)
    }),
    ("holds a task and waits", |space, _| {
        space.out(tuple!["held"])?;
        let held = space.lease(&template!["held"], None)?;
        space.read(&template!["never", ?str])?;
        held.release()
    }),
];

/// Why each of them ended.
type Ends = Receiver<(&'static str, Result<(), Error>)>;

/// One of each kind, on a connection of its own; what tells of their rounds, and why each of them ended.
fn clients(address: &LinkAddress) -> (Receiver<()>, Ends) {
    let ((told, is_told), (ended, ends)) = (channel(), channel());
    for (name, act) in KINDS {
        let (space, told, ended) = (connect(address).unwrap().space(), told.clone(), ended.clone());
        // Who is not waited for any more has nobody to tell.
        spawn(move || drop(ended.send((name, act(&space, &told)))));
    }
    (is_told, ends)
}

/// A space of three managers, of which this one is killed under clients once these have got on so often: each of them is told, and none waits on. They ask it
/// where `reached` says.
fn all_are_told<K>(
    places: &[String; 3],
    victim: usize,
    rounds: i64,
    reached: impl FnOnce(&LinkAddress) -> (LinkAddress, K),
) {
    let (mut managers, address) = three(places);
    let (address, _between) = reached(&address);
    let (is_told, ends) = clients(&address);
    (0..rounds).for_each(|_| is_told.recv_timeout(LONG).expect("the clients get on"));
    managers[victim].kill().unwrap();
    let gone = format!("manager {} of the 3 of this space, at {}, is gone", victim + 1, places[victim]);
    for left in (1..=KINDS.len()).rev() {
        let (name, end) = ends.recv_timeout(LONG).unwrap_or_else(|_| panic!("{left} clients are not told"));
        let error = end.expect_err("the space is over");
        assert!(
            error.code() == Code::PeerDied && error.text().contains(&gone),
            "manager {}: who {name}: {error}",
            victim + 1
        );
    }
    let survivors = (0..3).filter(|number| *number != victim);
    survivors.for_each(|number| wait_for(&managers[number], &format!("quintet: {gone}")));
}

/// In each round another manager, of a space over another kind of link.
fn managers_killed<K>(rounds: i64, reached: impl Fn(&TempDir, &LinkAddress) -> (LinkAddress, K)) {
    for round in 0..rounds {
        let folder = TempDir::new().unwrap();
        let places = if round % 2 == 0 { unix(&folder) } else { tcp() };
        let victim = usize::try_from(round).unwrap() % 3;
        all_are_told(&places, victim, 1 + round * 37 % 200, |address| reached(&folder, address));
    }
}

/// With nothing between.
fn directly(_: &TempDir, address: &LinkAddress) -> (LinkAddress, ()) {
    (address.clone(), ())
}

#[test]
fn clients_of_every_kind_are_told_whichever_manager_is_killed() {
    managers_killed(6, directly);
}

#[test]
#[ignore = "takes minutes: make kill"]
fn clients_of_every_kind_are_told_however_often_a_manager_is_killed() {
    managers_killed(300, directly);
}

#[test]
fn who_comes_to_another_manager_than_the_first_hears_where_that_is() {
    let folder = TempDir::new().unwrap();
    for places in [unix(&folder), tcp()] {
        let (_managers, _) = three(&places);
        for (number, place) in [(2, &places[1]), (3, &places[2])] {
            let (code, said) = result(quintet(["status", "--space", place]));
            let here = format!("manager {number} of the 3 of a space is here");
            let first = format!("programs connect to the first, which is at {}", places[0]);
            assert!(code == 65 && said.contains(&here) && said.contains(&first), "{code}: {said}");
        }
        let kernel = folder.join("kernel");
        let (code, said) = result(quintet(["kernel", "--space", &places[2], "--listen", text(&kernel)]));
        assert!(code == 65 && said.contains("manager 3 of the 3"), "{code}: {said}");
    }
    let place = format!("unix:{}", text(&folder.join("both")));
    let both = quintet(["serve", "--managers", "2", "--listen", &place]);
    wait_for(&both, "serving at");
    let (code, said) = result(quintet(["status", "--space", &format!("{place}.1")]));
    assert!(code == 65 && said.contains("this one without the .1 at its end"), "{code}: {said}");
}

#[test]
fn managers_that_do_not_belong_together_say_so() {
    let folder = TempDir::new().unwrap();
    let places = unix(&folder);
    let refused = |number: &str, peers: &str, more: &[&str]| {
        let words = ["serve", "--manager", number, "--peers", peers];
        result(quintet(words.iter().chain(more).copied()))
    };
    for (number, peers, more, why) in [
        ("3", &*places[..2].join(","), &[][..], "manager 3 is none of the 2 managers"),
        ("1", &places[0], &[], "two managers or more"),
        ("1", &[&*places[0], &*places[0]].join(","), &[], "manager 2 has the address of another one"),
        ("1", "tcp:127.0.0.1:0,tcp:127.0.0.1:1", &[], "manager 1 cannot be reached"),
        ("1", &places.join(","), &["--policy", "logged", "--log-dir", "x"], "keeps no log"),
        ("1", &places.join(","), &["--managers", "2"], "cannot be used with"),
    ] {
        let (code, said) = refused(number, peers, more);
        assert!(code != 0 && said.contains(why), "{why}: {said}");
    }
    // The second one was told of another space.
    let first = manager(1, &places.join(","));
    wait_for(&first, "serving at");
    let second = manager(2, &places[..2].join(","));
    wait_for(&second, "quintet: manager 1 is one of 3 of another space");
    wait_for(&first, "quintet: manager 2 is one of 2 of another space");
    let error = connect(&places[0].parse().unwrap()).map(drop).unwrap_err();
    assert!(error.text().contains("tell all managers of a space the same addresses"), "{error}");
}
