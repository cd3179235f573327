//! `serve --policy replicated`: three processes, of which whichever leads is killed again and again, and two at once.

use crate::account::kills_under_clients;
use crate::tool::{LONG, quintet, result, text, wait_until};
use quintet::{Error, Lab, LinkAddress, LinkConfig, Space, SpaceAddress, template, tuple};
use quintet_testbed::{Child, TempDir};
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

const LEASE: Duration = Duration::from_secs(10);

pub(crate) struct Group {
    folder: TempDir,
    places: Vec<String>,
    servers: Vec<Child>,
}

impl Group {
    pub(crate) fn start() -> Group {
        Group::of(3)
    }

    fn of(count: usize) -> Group {
        let listeners: Vec<TcpListener> =
            (0..count).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let places = listeners.iter().map(|listener| listener.local_addr().unwrap().to_string()).collect();
        drop(listeners);
        let mut group = Group { folder: TempDir::new().unwrap(), places, servers: Vec::new() };
        group.servers = (1..=count).map(|replica| group.serve(replica)).collect();
        group
    }

    fn begin(&self, replica: usize) -> Child {
        let (number, log) = (replica.to_string(), self.folder.join(replica.to_string()));
        let replicas = self.places.join(",");
        let words = ["serve", "--policy", "replicated", "--replica", &number, "--replicas", &replicas];
        quintet(words.into_iter().chain(["--log-dir", text(&log)]))
    }

    fn serve(&self, replica: usize) -> Child {
        let server = self.begin(replica);
        server.output().wait_for("serving at", LONG).unwrap_or_else(|| panic!("{}", server.output().text()));
        server
    }

    fn address(&self) -> SpaceAddress {
        let address = |place: &String| format!("tcp:{place}").parse::<LinkAddress>().unwrap();
        SpaceAddress::Replicas(self.places.iter().map(address).collect())
    }

    pub(crate) fn connect(&self) -> Space {
        Lab::connect(self.address(), 0, LEASE).expect("one leads").space()
    }

    /// Which replica leads, as the first that runs has said last.
    pub(crate) fn leader(&self) -> usize {
        let said = |at: usize| {
            let lines = self.servers[at].output().text();
            let last = lines.lines().rfind(|line| line.ends_with(" leads"))?.to_owned();
            let other = last.split("replica ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
            Some(other.unwrap_or(at + 1))
        };
        let mut leader = None;
        // What they say comes a little after what they answer.
        wait_until(|| {
            leader = (0..self.servers.len()).find_map(said);
            leader.is_some()
        });
        leader.expect("one has said so")
    }

    pub(crate) fn kill_and_start(&mut self, replica: usize) {
        self.servers[replica - 1].kill().unwrap();
        self.servers[replica - 1] = self.serve(replica);
    }
}

#[derive(Clone, Copy, Default, Debug)]
struct Item {
    is_put: bool,
    taken: u32,
}

type Account = BTreeMap<i64, Item>;

fn number(tuple: &quintet::Tuple) -> i64 {
    i64::try_from(tuple[1].clone()).unwrap()
}

/// Puts and takes until it is over, over one connection.
///
/// # Errors
/// A call failed.
fn session(
    space: &Space,
    mut next: i64,
    account: &Mutex<Account>,
    (told, is_over): (&Sender<()>, &AtomicBool),
) -> Result<(), Error> {
    while !is_over.load(Ordering::Acquire) {
        next += 1;
        account.lock().unwrap().entry(next).or_default();
        space.out(tuple!["item", next])?;
        account.lock().unwrap().entry(next).or_default().is_put = true;
        if next % 2 == 0 {
            let taken = space.take_if(&template!["item", ?i64])?;
            let mut account = account.lock().unwrap();
            taken.iter().for_each(|tuple| account.entry(number(tuple)).or_default().taken += 1);
        }
        // Who waits for it has given up.
        let _ = told.send(());
    }
    Ok(())
}

#[test]
fn no_call_fails_and_no_take_is_lost_or_repeated_whichever_leader_is_killed() {
    leaders_killed(4);
}

#[test]
#[ignore = "takes minutes: make kill"]
fn three_hundred_leaders_are_killed_and_no_call_fails() {
    leaders_killed(300);
}

fn leaders_killed(kills: usize) {
    let mut group = Group::start();
    let (account, is_over) = (Mutex::<Account>::default(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let (told, is_told) = channel();
        for worker in 0..3i64 {
            let (told, space, account, is_over) = (told.clone(), group.connect(), &account, &is_over);
            scope.spawn(move || {
                session(&space, worker * 1_000_000_000, account, (&told, is_over)).expect("no call fails");
            });
        }
        drop(told);
        for round in 0..kills {
            for _ in 0..20 + round * 7 % 40 {
                is_told.recv_timeout(LONG).expect("the clients get on");
            }
            let leader = group.leader();
            group.kill_and_start(leader);
        }
        is_told.recv_timeout(LONG).expect("the clients get on");
        is_over.store(true, Ordering::Release);
    });
    let space = group.connect();
    let left: Vec<i64> = std::iter::from_fn(|| space.take_if(&template!["item", ?i64]).unwrap())
        .map(|tuple| number(&tuple))
        .collect();
    let items = &*account.lock().unwrap();
    for (number, item) in items {
        let left = left.iter().filter(|left| *left == number).count();
        let found = left + usize::try_from(item.taken).unwrap();
        assert!(item.is_put && found == 1, "item {number} was given {found} times: {item:?}, {left} left");
    }
    assert!(left.iter().all(|item| items.contains_key(item)), "nobody has put others");
}

#[test]
fn two_of_three_that_are_killed_stop_it_and_one_of_them_lets_it_go_on() {
    let mut group = Group::start();
    group.connect().out(tuple!["item", 1i64]).unwrap();
    let leader = group.leader();
    let others: Vec<usize> = (1..=3).filter(|replica| *replica != leader).collect();
    for other in &others {
        group.servers[other - 1].kill().unwrap();
    }
    let stopped = &group.servers[leader - 1];
    while !stopped.output().text().contains("no replica leads") {
        stopped.output().next_line(LONG).unwrap_or_else(|| panic!("{}", stopped.output().text()));
    }
    group.servers[others[0] - 1] = group.serve(others[0]);
    assert_eq!(group.connect().count(&template!["item", ?i64]).unwrap(), 1);
}

/// So often two of three are killed and started again under clients to whom nothing fails, the leader among them or not.
fn two_of_three_killed(kills: i64) {
    let mut group = Group::start();
    let address = group.address();
    let link = LinkConfig { resume_window: LONG, ..LinkConfig::default() };
    kills_under_clients(
        || Lab::connect_with(address.clone(), 0, LEASE, link).expect("one leads").space(),
        kills,
        |round| {
            let leader = group.leader();
            let stays = 1 + (leader - 1 + usize::try_from(round).unwrap()) % 3;
            let killed: Vec<usize> = (1..=3).filter(|replica| *replica != stays).collect();
            for replica in &killed {
                group.servers[replica - 1].kill().unwrap();
            }
            for replica in killed {
                group.servers[replica - 1] = group.serve(replica);
            }
        },
    );
}

#[test]
fn clients_go_on_whichever_two_of_three_are_killed() {
    two_of_three_killed(3);
}

#[test]
#[ignore = "takes minutes: make kill"]
fn clients_go_on_however_often_two_of_three_are_killed() {
    two_of_three_killed(150);
}

#[test]
fn who_asks_a_space_whose_replicas_have_lost_their_logs_hears_which_these_are() {
    let mut group = Group::start();
    group.connect().out(tuple!["item", 1i64]).unwrap();
    for server in &mut group.servers {
        server.kill().unwrap();
    }
    let log = |replica: usize| group.folder.join(replica.to_string());
    for lost in [1, 3] {
        std::fs::rename(log(lost), group.folder.join(format!("{lost}.lost"))).unwrap();
    }
    group.servers = (1..=3).map(|replica| group.serve(replica)).collect();
    let error = Lab::connect(group.address(), 0, LEASE).map(drop).unwrap_err();
    let lost = |replica: usize| {
        format!("replica {replica} at tcp:{}: it has no log of the space", group.places[replica - 1])
    };
    assert!([1, 3].into_iter().all(|replica| error.text().contains(&lost(replica))), "{error}");
    assert!(!error.text().contains(&lost(2)), "{error}");
    // With one of them back there is a majority.
    group.servers[2].kill().unwrap();
    std::fs::remove_dir_all(group.folder.join("3")).unwrap();
    std::fs::rename(group.folder.join("3.lost"), group.folder.join("3")).unwrap();
    group.servers[2] = group.serve(3);
    assert_eq!(group.connect().count(&template!["item", ?i64]).unwrap(), 1);
}

#[test]
fn status_says_what_each_replica_does() {
    let mut group = Group::start();
    let space = group.connect();
    space.out(tuple!["item", 1i64]).unwrap();
    let roles = |group: &Group| {
        let (status, shown) = result(quintet(["status", "--json", "--space", &group.address().to_string()]));
        assert_eq!(status, 0, "{shown}");
        let shown: serde_json::Value = serde_json::from_str(&shown).expect("an object");
        let rows = shown["replicas"].as_array().expect("a row each").clone();
        rows.iter().map(|row| row["role"].as_str().expect("a word").to_owned()).collect::<Vec<_>>()
    };
    wait_until(|| roles(&group).iter().filter(|role| **role == "follows").count() == 2);
    assert_eq!(roles(&group).iter().position(|role| role == "leads"), Some(group.leader() - 1));
    let killed = group.leader() % 3;
    group.servers[killed].kill().unwrap();
    assert_eq!(roles(&group)[killed], "Unreachable");
}

/// Three of five lead it. One that has lost its log waits until it has heard all others, of which one is gone.
#[test]
fn scope_shows_which_replica_has_no_log() {
    let mut group = Group::of(5);
    group.connect().out(tuple!["item", 1i64]).unwrap();
    let (gone, lost) = (group.leader() % 5, (group.leader() + 1) % 5);
    for replica in [gone, lost] {
        group.servers[replica].kill().unwrap();
    }
    std::fs::remove_dir_all(group.folder.join((lost + 1).to_string())).unwrap();
    group.servers[lost] = group.serve(lost + 1);
    let address = group.address().to_string();
    let (status, shown) = result(quintet(["scope", "--once", "--json", "--space", &address]));
    assert_eq!(status, 0, "{shown}");
    let shown: serde_json::Value = serde_json::from_str(&shown).expect("an object");
    let roles = shown["replicas"].as_array().unwrap_or_else(|| panic!("no replicas: {shown}"));
    let role = |at: usize| roles[at]["role"].as_str().expect("a word");
    assert_eq!((roles.len(), role(lost), role(gone)), (5, "no log", "Unreachable"), "{shown}");
    let roles: Vec<&str> = (0..5).map(role).collect();
    assert_eq!(roles.iter().filter(|role| **role == "leads").count(), 1, "{shown}");
    assert_eq!(shown["partitions"][0]["tuples"], 1, "{shown}");
    let (_, shown) = result(quintet(["scope", "--looks", "2", "--interval", "0.1", "--space", &address]));
    assert_eq!(shown.matches("has no log of the space, and no vote until").count(), 2, "{shown}");
}

#[test]
fn a_full_disk_of_one_replica_holds_nobody_up() {
    let group = Group::start();
    let space = group.connect();
    space.out(tuple!["item", 0i64]).unwrap();
    let full = 1 + group.leader() % 3;
    let replica = &group.servers[full - 1];
    let process = Pid::from_raw(i32::try_from(replica.id()).unwrap());
    let before = getrlimit(Resource::Fsize);
    let limit = |bytes| prlimit(process, Resource::Fsize, Rlimit { current: bytes, ..before }).unwrap();
    limit(Some(4_000));
    for number in 1..300i64 {
        space.out(tuple!["item", number]).unwrap();
    }
    while !replica.output().text().contains("cannot grow") {
        replica.output().next_line(LONG).unwrap_or_else(|| panic!("{}", replica.output().text()));
    }
    limit(before.current);
    // It takes what it has missed: then another one may go.
    let mut group = group;
    let other = (1..=3).find(|other| *other != full && *other != group.leader()).unwrap();
    group.servers[other - 1].kill().unwrap();
    space.out(tuple!["item", 300i64]).unwrap();
    assert_eq!(space.count(&template!["item", ?i64]).unwrap(), 301);
}

#[test]
fn a_replica_of_another_space_is_refused_and_neither_meets_the_others_tuples() {
    let (mut one, mut other) = (Group::start(), Group::start());
    one.connect().out(tuple!["of one"]).unwrap();
    other.connect().out(tuple!["of the other"]).unwrap();
    let strange = 1 + one.leader() % 3;
    one.servers[strange - 1].kill().unwrap();
    other.servers[strange - 1].kill().unwrap();
    let log = |group: &Group| group.folder.join(format!("{strange}/space.log"));
    let own = one.folder.join("own");
    std::fs::rename(log(&one), &own).unwrap();
    std::fs::copy(log(&other), log(&one)).unwrap();
    // It may serve until it meets another one of the space.
    let (code, said) = result(one.begin(strange));
    assert!(code == 65 || code == 71, "{code} {said}");
    assert!(said.contains("keeps another space"), "{said}");
    std::fs::rename(&own, log(&one)).unwrap();
    one.servers[strange - 1] = one.serve(strange);
    assert_eq!(one.connect().count(&template!["of one"]).unwrap(), 1);
    assert_eq!(one.connect().count(&template!["of the other"]).unwrap(), 0);
}

#[test]
fn what_cannot_be_replicated_is_refused_with_what_to_say() {
    let folder = TempDir::new().unwrap();
    let (log, recording) = (folder.join("log"), folder.join("recording"));
    let with_log = ["serve", "--policy", "replicated", "--log-dir", text(&log)];
    let three = "127.0.0.1:1,127.0.0.1:2,127.0.0.1:3";
    for (words, expected) in [
        (&["--replica", "1"][..], "--replicas"),
        (&[], "--replica N"),
        (&["--replica", "4", "--replicas", three], "replica 4 is none of the 3"),
        (&["--replica", "1", "--replicas", "127.0.0.1:1,127.0.0.1:2"], "three or five"),
        (&["--replica", "1", "--replicas", "127.0.0.1:1"], "with commas between"),
        (&["--replica", "1", "--replicas", "pigeon,127.0.0.1:2,x:3"], "the replica \"pigeon\""),
        (&["--replica", "1", "--replicas", three, "--record", text(&recording)], "--record"),
    ] {
        let (code, said) = result(quintet(with_log.iter().chain(words).copied()));
        assert!(code != 0 && said.contains(expected), "{words:?}: {code} {said}");
    }
    let (code, said) = result(quintet(["serve", "--replica", "1", "--replicas", three]));
    assert!(code != 0 && said.contains("--policy replicated"), "{said}");
    assert!(!log.exists() && !recording.exists(), "nothing was made");
}
