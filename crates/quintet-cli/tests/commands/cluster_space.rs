//! The space of a cluster, `quintet://lab`: served by one machine, and reached from all. Each machine is a home folder and an address of the loopback.

use crate::tool::{LONG, host, is_alive, result, wait_until, wait_until_gone};
use quintet::{Code, Credentials, Error, Lab, LinkAddress, LinkConfig, SpaceAddress, template, tuple};
use quintet_identity::Token;
use quintet_testbed::{Program, TempDir};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

const LEASE: Duration = Duration::from_secs(10);

/// A machine: a user's home, and the address where its agent listens.
struct Machine {
    home: TempDir,
    host: String,
    /// Its agent.
    agent: Cell<u32>,
}

impl Machine {
    fn new() -> Machine {
        Machine { home: TempDir::new().unwrap(), host: host(), agent: Cell::new(0) }
    }

    fn founded() -> Machine {
        let machine = Machine::new();
        machine.does(&["init", "lab", "--machine", "a"]);
        machine.up();
        machine
    }

    fn joined(name: &str, of: &Machine) -> Machine {
        Machine::joined_with(name, of, "join")
    }

    /// With a token that allows that.
    fn joined_with(name: &str, of: &Machine, allow: &str) -> Machine {
        let machine = Machine::new();
        let (at, listen) = (format!("lab@{}:7400", of.host), machine.listen());
        let token = of.token(allow);
        let said = machine.does(&["join", &at, &token, "--name", name, "--listen", &listen, "--json"]);
        machine.keep_agent(&said);
        machine
    }

    fn listen(&self) -> String {
        format!("{}:7400", self.host)
    }

    fn up(&self) {
        self.keep_agent(&self.does(&["up", "--listen", &self.listen(), "--json"]));
    }

    fn keep_agent(&self, said: &str) {
        let process = object(said)["process"].as_u64().expect("the agent's process is named");
        self.agent.set(u32::try_from(process).unwrap());
    }

    fn token(&self, allow: &str) -> String {
        object(&self.does(&["token", "create", "--allow", allow, "--json"]))["token"]
            .as_str()
            .expect("a text")
            .to_owned()
    }

    fn signal_agent(&self, signal: Signal) {
        // It has ended if this fails.
        let _ = kill_process(Pid::from_raw(self.agent.get().cast_signed()).unwrap(), signal);
    }

    fn kill_agent(&self) {
        self.signal_agent(Signal::KILL);
        wait_until_gone(&[self.agent.get()]);
    }

    /// A command on it: its status and what it says.
    fn ask(&self, words: &[&str], variables: &[(&str, &str)]) -> (i32, String) {
        let program = words.iter().fold(Program::new(env!("CARGO_BIN_EXE_quintet")), Program::arg);
        let program = program.without("QUINTET_IDENTITY").without("QUINTET_SPACE");
        let homes = ["HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"];
        let program = homes.iter().fold(program, |program, name| program.env(name, self.home.path()));
        let program = variables.iter().fold(program, |program, (name, value)| program.env(name, value));
        result(program.spawn().expect("the program starts"))
    }

    fn does(&self, words: &[&str]) -> String {
        let (code, said) = self.ask(words, &[]);
        assert_eq!(code, 0, "{words:?}: {said}");
        said
    }

    fn folder(&self) -> PathBuf {
        self.home.join("quintet/lab")
    }

    /// As a program on this machine connects to `quintet://lab`.
    fn connect(&self) -> Result<Lab, Error> {
        connect(&self.folder())
    }

    fn lab(&self) -> Lab {
        self.connect().expect("the cluster's space is there")
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        if is_alive(self.agent.get()) {
            self.kill_agent();
        }
    }
}

/// With the cluster's folder there.
fn connect(folder: &Path) -> Result<Lab, Error> {
    Lab::connect(address(folder), 0, LEASE)
}

fn address(folder: &Path) -> SpaceAddress {
    format!("quintet://{}", folder.display()).parse().expect("it is an address")
}

fn object(said: &str) -> Value {
    let line = said.lines().find(|line| line.starts_with('{')).unwrap_or(said);
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {said}"))
}

/// Returns when both know who serves: the file of each says that so many machines are in.
fn wait_for_members(machines: &[&Machine], others: usize) {
    let known = |machine: &&Machine| {
        let file = fs::read_to_string(machine.folder().join("agent.toml")).unwrap_or_default();
        file.matches("[[peer]]").count() == others
    };
    wait_until(|| machines.iter().all(known));
}

#[track_caller]
fn is_refused(tried: Result<Lab, Error>, code: Code, words: &[&str]) {
    let Err(error) = tried else { panic!("it was let in") };
    let text = error.to_string();
    assert!(error.code() == code && words.iter().all(|word| text.contains(word)), "{text}");
}

#[test]
fn what_is_put_on_one_machine_is_taken_on_another() {
    let a = Machine::founded();
    let (b, c) = (Machine::joined("b", &a), Machine::joined("c", &a));
    let (on_a, on_b, on_c) = (a.lab(), b.lab(), c.lab());
    let take = on_c.space().begin().within(LONG).take(&template!["from b", ?i64]).unwrap();
    on_b.space().out(tuple!["from b", 7i64]).unwrap();
    assert_eq!(take.finish().unwrap(), quintet::Outcome::Tuple(tuple!["from b", 7i64], None));
    on_c.space().out(tuple!["from c", vec![1u8; 1 << 20]]).unwrap();
    let lease = on_a.space().lease(&template!["from c", ?quintet::Bytes], Some(LONG)).unwrap();
    assert_eq!(on_b.space().count(&template!["from c", ?quintet::Bytes]).unwrap(), 0);
    lease.release().unwrap();

    // From the command line, by name: on the machine that serves, and on another.
    for machine in [&a, &b] {
        let (code, said) = machine.ask(&["status", "--space", "quintet://lab", "--json"], &[]);
        assert_eq!((code, &object(&said)["tuples"]), (0, &1.into()), "{said}");
        let (code, said) = machine.ask(&["status", "--json"], &[("QUINTET_SPACE", "quintet://lab")]);
        assert_eq!((code, &object(&said)["tuples"]), (0, &1.into()), "{said}");
        let shown = object(&machine.does(&["status", "--json"]));
        assert_eq!(shown["tuples"], 1, "beside the machines: {shown}");
        // An agent answers within the time for which it is asked, or at another try where the machine is busy.
        wait_until(|| {
            let shown = object(&machine.does(&["status", "--json"]));
            let machines = shown["cluster"]["machines"].as_array().unwrap();
            let is_told = |shown: &serde_json::Value| {
                shown["agent"]["cores"].as_u64() > Some(0) && shown["agent"]["version"].is_string()
            };
            machines.len() == 3 && machines.iter().all(is_told)
        });
        let shown = object(&machine.does(&["peek", "--json"]));
        assert_eq!(shown["tuples"].as_array().map(Vec::len), Some(1), "of the cluster: {shown}");
        let shown = object(&machine.does(&["ps", "--json"]));
        let names: Vec<_> = shown["machines"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| (&one["machine"], one["processes"].is_array()))
            .collect();
        assert_eq!(names, [(&"a".into(), true), (&"b".into(), true), (&"c".into(), true)], "{shown}");
    }
    let table = c.does(&["status"]);
    assert!(table.contains("machine") && table.contains("(text, binary)"), "{table}");
}

#[test]
fn who_waits_learns_that_the_serving_agent_was_killed_and_finds_an_empty_space_after_it() {
    let a = Machine::founded();
    let b = Machine::joined("b", &a);
    wait_for_members(&[&a, &b], 1);
    let (on_a, on_b) = (a.lab(), b.lab());
    on_b.space().out(tuple!["lost"]).unwrap();
    let takes = [&on_a, &on_b].map(|lab| lab.space().begin().within(LONG).take(&template!["never"]).unwrap());
    a.kill_agent();
    for take in takes {
        let error = take.finish().expect_err("the space is gone");
        assert_eq!(error.code(), Code::PeerDied, "{error}");
    }
    is_refused(b.connect(), Code::Unreachable, &["node 0", "quintet status", "quintet up"]);
    is_refused(a.connect(), Code::Unreachable, &["its agent does not run", "quintet up"]);
    let shown = object(&b.does(&["status", "--json"]));
    assert_eq!(shown["space"]["error"], "Unreachable", "the machines are shown all the same: {shown}");
    b.does(&["down"]);
    is_refused(b.connect(), Code::Unreachable, &["node 0", "may be old", "quintet up"]);
    a.up();
    b.up();
    // What was agreed before is known to it when both have heard of each other.
    wait_until(|| b.connect().is_ok());
    assert_eq!(b.lab().space().count(&template!["lost"]).unwrap(), 0);
}

#[test]
fn after_all_agents_were_killed_the_cluster_comes_back_with_its_space() {
    let a = Machine::founded();
    let (b, c) = (Machine::joined("b", &a), Machine::joined("c", &a));
    let all = [&a, &b, &c];
    wait_until(|| {
        let shown = object(&a.does(&["status", "--json"]));
        let machines = shown["cluster"]["machines"].as_array().expect("a list").clone();
        machines.len() == 3 && machines.iter().all(|machine| machine["votes"] == true)
    });
    wait_for_members(&all, 2);
    all.iter().for_each(|machine| machine.kill_agent());
    a.up();
    // Alone it knows no majority, and remembers the others all the same, to let them in to agree. To its space it lets them in for a second at most.
    wait_for_members(&[&a], 2);
    wait_until(|| object(&a.does(&["status", "--json"]))["cluster"]["majority"] == false);
    a.lab().space().out(tuple!["from a"]).unwrap();
    [&b, &c].iter().for_each(|machine| machine.up());
    wait_until(|| {
        // Until it has heard of the others it knows itself as no member.
        let (code, said) = b.ask(&["status", "--json"], &[]);
        code == 0 && object(&said)["cluster"]["majority"] == true
    });
    // The serving agent may hear of the majority a moment later.
    wait_until(|| c.connect().is_ok() && b.connect().is_ok());
    c.lab().space().out(tuple!["from c"]).unwrap();
    b.lab().space().take(&template!["from c"]).unwrap();
    b.lab().space().take(&template!["from a"]).unwrap();
}

#[test]
fn a_serving_agent_that_stands_still_is_told_by_its_silence_and_keeps_its_tuples() {
    let a = Machine::founded();
    let b = Machine::joined("b", &a);
    b.lab().space().out(tuple!["kept"]).unwrap();
    let link = LinkConfig {
        keep_alive: Duration::from_millis(100),
        silence_limit: Duration::from_secs(1),
        ..LinkConfig::default()
    };
    let labs = [&a, &b].map(|machine| {
        Lab::connect_with(address(&machine.folder()), 0, LEASE, link).expect("the space is there")
    });
    let takes =
        labs.each_ref().map(|lab| lab.space().begin().within(LONG).take(&template!["never"]).unwrap());
    a.signal_agent(Signal::STOP);
    for take in takes {
        let error = take.finish().expect_err("nothing is heard of the space");
        assert_eq!(error.code(), Code::PeerSilent, "{error}");
    }
    is_refused(
        Lab::connect_with(address(&b.folder()), 0, LEASE, link),
        Code::PeerSilent,
        &["node 0", "quintet status"],
    );
    a.signal_agent(Signal::CONT);
    b.lab().space().take(&template!["kept"]).unwrap();
}

#[test]
fn status_shows_the_machines_without_a_space_whose_machine_is_silent() {
    let a = Machine::founded();
    let (b, c) = (Machine::joined("b", &a), Machine::joined("c", &a));
    // Two of three voters agree without the third.
    wait_until(|| b.does(&["status"]).matches("voter").count() == 3);
    b.lab().space().out(tuple!["kept"]).unwrap();
    a.signal_agent(Signal::STOP);
    let away = "the cluster's space: the other side is silent: a serves it, which is silent";
    for machine in [&b, &c] {
        wait_until(|| machine.does(&["status"]).contains(away));
        let shown = object(&machine.does(&["status", "--json"]));
        let state = &shown["cluster"]["machines"][0]["state"];
        assert_eq!((state, &shown["space"]["error"]), (&"silent".into(), &"PeerSilent".into()), "{shown}");
    }
    let (code, said) = b.ask(&["top", "--looks", "1"], &[]);
    assert!(code == 69 && said.contains("a serves it, which is silent"), "{said}");
    a.signal_agent(Signal::CONT);
    wait_until(|| object(&b.does(&["status", "--json"]))["tuples"] == 1);
}

#[test]
fn members_only_are_let_in_over_the_network() {
    let a = Machine::founded();
    let (b, c) = (Machine::joined("b", &a), Machine::joined("c", &a));
    wait_for_members(&[&a, &b, &c], 2);
    let (on_b, on_c) = (b.lab(), c.lab());
    on_c.space().out(tuple!["from c"]).unwrap();
    let [of_b, of_c] =
        [&on_b, &on_c].map(|lab| lab.space().begin().within(LONG).take(&template!["later"]).unwrap());
    // As it is on the disk of a machine that does not know yet.
    let kept = c.home.join("kept");
    fs::create_dir(&kept).unwrap();
    for name in ["agent.toml", "authority.pem", "machine.identity"] {
        fs::copy(c.folder().join(name), kept.join(name)).unwrap();
    }
    connect(&kept).expect("it is a member so far");
    // Who answers is the very machine that is looked for, and not another member that has come to its address.
    let (known, own) = (kept.join("agent.toml"), c.home.join("other"));
    let file = fs::read_to_string(&known).unwrap();
    let identities: Vec<&str> = file.lines().filter(|line| line.starts_with("identity")).collect();
    fs::rename(&kept, &own).unwrap();
    fs::write(own.join("agent.toml"), file.replace(identities[0], identities[1])).unwrap();
    is_refused(connect(&own), Code::NotAllowed, &[]);
    fs::write(own.join("agent.toml"), &file).unwrap();
    fs::rename(&own, &kept).unwrap();
    a.does(&["leave", "c"]);
    wait_for_members(&[&a, &b], 1);
    is_refused(connect(&kept), Code::NotAllowed, &["quintet join"]);
    let error = of_c.finish().expect_err("its connection has ended");
    assert_eq!(error.code(), Code::PeerDied, "{error}");
    on_b.space().take(&template!["from c"]).expect("what it has put is there");
    on_b.space().out(tuple!["later"]).unwrap();
    of_b.finish().expect("members stay");

    let token: Token = a.token("join").parse().unwrap();
    let credentials = Credentials::of_token(token.key().unwrap().as_bytes(), token.cluster()).unwrap();
    let place =
        |port| LinkAddress::Tls { host: a.host.clone(), port, credentials: Some(credentials.clone()) };
    quintet_link::connect(&place(7400), LONG).map(drop).expect("an agent lets it in, to be enrolled");
    is_refused(Lab::connect(place(7401), token.cluster(), LEASE), Code::NotAllowed, &[]);
}

#[test]
fn the_next_machine_serves_when_the_founder_leaves() {
    let a = Machine::founded();
    let (b, c) = (Machine::joined("b", &a), Machine::joined("c", &a));
    wait_for_members(&[&a, &b, &c], 2);
    let on_c = c.lab();
    on_c.space().out(tuple!["lost"]).unwrap();
    let take = on_c.space().begin().within(LONG).take(&template!["never"]).unwrap();
    a.does(&["leave"]);
    let error = take.finish().expect_err("the space is gone");
    assert_eq!(error.code(), Code::PeerDied, "{error}");
    wait_for_members(&[&b, &c], 1);
    wait_until(|| c.connect().is_ok());
    assert_eq!(c.lab().space().count(&template!["lost"]).unwrap(), 0);
    b.lab().space().out(tuple!["from b"]).unwrap();
    c.lab().space().take(&template!["from b"]).unwrap();
    let log = || fs::read_to_string(b.folder().join("agent.log")).unwrap();
    wait_until(|| log().contains("serves the cluster's space, empty at first, at shm:"));
    assert!(!a.folder().join("space.socket").exists(), "nothing is left of it");
}

#[test]
fn a_place_that_is_taken_is_told_and_tried_again() {
    let a = Machine::new();
    a.does(&["init", "lab", "--machine", "a"]);
    let taken = std::net::TcpListener::bind((a.host.as_str(), 7401)).unwrap();
    a.up();
    let log = || fs::read_to_string(a.folder().join("agent.log")).unwrap();
    wait_until(|| log().contains("is to serve the cluster's space, and cannot"));
    is_refused(a.connect(), Code::Unreachable, &["agent.log"]);
    drop(taken);
    wait_until(|| a.connect().is_ok());
    assert_eq!(log().matches("and cannot").count(), 1, "it is told once: {}", log());
}

#[test]
fn what_cannot_be_reached_is_refused_with_what_to_do() {
    let a = Machine::new();
    let status = |space| a.ask(&["status", "--space", space], &[]);
    let (code, said) = status("quintet://lab");
    assert!(code == 65 && said.contains("no cluster named lab") && said.contains("quintet join"), "{said}");
    let (code, said) = status("quintet://lab/x/y");
    assert!(code == 64 && said.contains("quintet:///path"), "{said}");
    a.does(&["init", "lab", "--machine", "a"]);
    let (code, said) = status("quintet://lab");
    assert!(code == 69 && said.contains("its agent does not run") && said.contains("quintet up"), "{said}");
    let (code, said) = a.ask(&["serve"], &[("QUINTET_SPACE", "quintet://lab")]);
    assert!(code == 65 && said.contains("quintet up") && said.contains("--listen"), "{said}");
    let (code, said) = a.ask(&["up", "--listen", &format!("{}:65535", a.host), "--json"], &[]);
    assert_eq!(code, 0, "{said}");
    a.keep_agent(&said);
    let log = || fs::read_to_string(a.folder().join("agent.log")).unwrap();
    wait_until(|| log().contains("no port is after"));
}
