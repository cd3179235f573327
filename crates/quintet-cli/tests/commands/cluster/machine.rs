//! A machine of a cluster, for tests of commands: a home folder of its own.

use crate::tool::{host, is_alive, result, wait_until};
use quintet_testbed::{Program, TempDir};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::cell::Cell;
use std::fs;
use std::path::PathBuf;

/// A machine: a user's home, with the place where its agent listens.
pub(crate) struct Machine {
    pub(crate) name: &'static str,
    pub(crate) home: TempDir,
    pub(crate) place: String,
    /// Its agent, if that was started.
    pub(crate) process: Cell<Option<u32>>,
}

/// Where an agent listens: an agent that was down finds the place free again.
fn place() -> String {
    format!("{}:7400", host())
}

pub(crate) fn object(said: &str) -> Value {
    let last = said.lines().find(|line| line.starts_with('{')).unwrap_or(said);
    serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {said}"))
}

impl Machine {
    pub(crate) fn new(name: &'static str) -> Machine {
        Machine { name, home: TempDir::new().unwrap(), place: place(), process: Cell::new(None) }
    }

    /// One that has made the cluster `lab`, and whose agent runs.
    pub(crate) fn founded() -> Machine {
        let machine = Machine::new("a");
        machine.does(&["init", "lab", "--machine", "a"]);
        machine.up();
        machine
    }

    /// One that has joined that cluster with a token of `of`, and whose agent runs.
    pub(crate) fn joined(name: &'static str, of: &Machine) -> Machine {
        let machine = Machine::new(name);
        machine.join(of);
        machine
    }

    pub(crate) fn program(&self, words: &[&str]) -> Program {
        let program = words.iter().fold(Program::new(env!("CARGO_BIN_EXE_quintet")), Program::arg);
        let program = program.without("QUINTET_IDENTITY").without("QUINTET_SPACE");
        let homes = ["HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"];
        homes.iter().fold(program, |program, name| program.env(name, self.home.path()))
    }

    /// A command on it: its status and what it says.
    pub(crate) fn ask(&self, words: &[&str]) -> (i32, String) {
        result(self.program(words).spawn().expect("the program starts"))
    }

    /// The same, and it goes well.
    pub(crate) fn does(&self, words: &[&str]) -> String {
        let (code, said) = self.ask(words);
        assert_eq!(code, 0, "{} {words:?}: {said}", self.name);
        said
    }

    /// The same, and it is refused with that status, in these words among others.
    pub(crate) fn is_refused(&self, words: &[&str], status: i32, with: &[&str]) -> String {
        let (code, said) = self.ask(words);
        assert!(code == status && with.iter().all(|with| said.contains(with)), "{words:?}: {code}: {said}");
        said
    }

    /// Keeps who its agent is, as a command has said it.
    pub(crate) fn keep_process(&self, said: &str) -> u32 {
        let process = object(said)["process"].as_u64().and_then(|process| u32::try_from(process).ok());
        self.process.set(process);
        process.expect("the agent's process is named")
    }

    pub(crate) fn up(&self) -> u32 {
        self.keep_process(&self.does(&["up", "--listen", &self.place, "--json"]))
    }

    pub(crate) fn token(&self) -> String {
        self.token_for("join")
    }

    /// A token that allows that.
    pub(crate) fn token_for(&self, allow: &str) -> String {
        let said = self.does(&["token", "create", "--allow", allow, "--json"]);
        object(&said)["token"].as_str().expect("a text").to_owned()
    }

    pub(crate) fn join(&self, of: &Machine) -> u32 {
        self.join_with(of, "join")
    }

    /// With a token that allows that.
    pub(crate) fn join_with(&self, of: &Machine, allow: &str) -> u32 {
        let (at, token) = (format!("lab@{}", of.place), of.token_for(allow));
        let said = self.does(&["join", &at, &token, "--name", self.name, "--listen", &self.place, "--json"]);
        self.keep_process(&said)
    }

    pub(crate) fn lab(&self) -> PathBuf {
        self.home.join("quintet/lab")
    }

    /// The refusals that its agent has written down.
    pub(crate) fn refusals(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.lab().join("audit.log")).unwrap_or_default();
        text.lines().map(object).collect()
    }

    /// Returns the first refusal of which that is true, when there is one.
    pub(crate) fn wait_for_refusal(&self, what: impl Fn(&Value) -> bool) -> Value {
        let mut found = None;
        wait_until(|| {
            found = self.refusals().into_iter().find(&what);
            found.is_some()
        });
        found.expect("it was found")
    }

    /// The fingerprint of its key, as the others know it.
    pub(crate) fn identity(&self) -> Value {
        let text = quintet_identity::read(&self.lab()).unwrap();
        let credentials = quintet_link::Credentials::from_pem(&text).unwrap();
        credentials.identity().0.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into()
    }

    /// What each machine is, as this one shows it, by name.
    pub(crate) fn states(&self) -> Vec<(String, String)> {
        let shown = object(&self.does(&["status", "--json"]));
        let machines = shown["cluster"]["machines"].as_array().expect("a list").clone();
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        machines.iter().map(|machine| (text(&machine["name"]), text(&machine["state"]))).collect()
    }

    /// Returns when it shows so.
    pub(crate) fn wait_until_shown(&self, expected: &[(&str, &str)]) {
        let owned = |(name, state): &(&str, &str)| ((*name).to_owned(), (*state).to_owned());
        let expected: Vec<(String, String)> = expected.iter().map(owned).collect();
        wait_until(|| self.states() == expected);
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let process = self.process.get().filter(|process| is_alive(*process));
        if let Some(process) = process.and_then(|process| Pid::from_raw(process.cast_signed())) {
            // It has ended if this fails.
            let _ = kill_process(process, Signal::KILL);
        }
    }
}
