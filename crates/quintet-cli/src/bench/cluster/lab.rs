//! Machines of a testbed with an agent each, for measurements.

use crate::connection::refused as system_refused;
use quintet::{Code, Error};
use quintet_agent::{AgentError, Client};
use quintet_contract::NodeId;
use quintet_testbed::{Child, Lines, Plan, Program, Testbed, TestbedError};
use serde_json::Value;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long any command, or an agent until it serves, may take.
const LIMIT: Duration = Duration::from_secs(60);
const PORT: u16 = 7400;
/// As many machines vote at most, and an odd number.
const MOST_VOTERS: usize = 5;
/// Between two looks at what an agent says.
const PAUSE: Duration = Duration::from_millis(5);

/// Machines `m0`, `m1` and so on; the first has founded the cluster. Dropped, nothing is left of them.
pub(super) struct Lab {
    bed: Testbed,
    room: TempDir,
    /// The agents that run, by their machines.
    agents: Vec<Option<Child>>,
}

impl Lab {
    /// A cluster of so many machines, whose agents run, and so many more machines that belong to none.
    ///
    /// # Errors
    /// The testbed cannot be made, or a command fails.
    pub(super) fn up(members: usize, others: usize) -> Result<Lab, Error> {
        let room = tempfile::Builder::new().prefix("quintet-").tempdir();
        let room = room.map_err(system_refused("make a folder"))?;
        let plan = Plan::unnamed((0..members + others).map(name));
        let bed = Testbed::up(&plan).map_err(refused)?;
        let mut lab = Lab { bed, room, agents: Vec::new() };
        lab.agents.resize_with(members, || None);
        lab.does(0, &["init", "lab", "--machine", &name(0), "--dir", &lab.folder_text(0)])?;
        lab.start(0)?;
        for machine in 1..members {
            let token = lab.token()?;
            lab.join(machine, &token, &["--no-up"])?;
            lab.start(machine)?;
        }
        lab.wait_until_quiet(members)?;
        Ok(lab)
    }

    fn folder(&self, machine: usize) -> PathBuf {
        self.room.path().join(name(machine)).join("lab")
    }

    fn folder_text(&self, machine: usize) -> String {
        self.folder(machine).to_string_lossy().into_owned()
    }

    /// Where the agent of a machine listens.
    fn place(&self, machine: usize) -> Result<String, Error> {
        let address = self.bed.machine(&name(machine)).map_err(refused)?.address();
        Ok(format!("{address}:{PORT}"))
    }

    /// Starts a command of this program on a machine.
    pub(super) fn command(&self, machine: usize, words: &[&str]) -> Result<Child, Error> {
        let this = std::env::current_exe().map_err(system_refused("find this program"))?;
        let program = words.iter().fold(Program::new(this), Program::arg);
        let program = program.on(&self.bed.machine(&name(machine)).map_err(refused)?).map_err(refused)?;
        let home: OsString = self.room.path().join(name(machine)).into();
        let program = program.env("HOME", home).env("QUINTET_IDENTITY", self.folder(machine));
        program.spawn().map_err(system_refused("start a command"))
    }

    fn does(&self, machine: usize, words: &[&str]) -> Result<String, Error> {
        did(self.command(machine, words)?)
    }

    /// A token for one machine.
    pub(super) fn token(&self) -> Result<String, Error> {
        let said = self.does(
            0,
            &["token", "create", "--json", "--allow", "join,run,code", "--cluster", &self.folder_text(0)],
        )?;
        let said: Value = serde_json::from_str(&said).unwrap_or_default();
        said["token"]
            .as_str()
            .map(str::to_owned)
            .ok_or_else(|| Error::new(Code::Malformed, "no token was made"))
    }

    fn join(&self, machine: usize, token: &str, more: &[&str]) -> Result<(), Error> {
        let (at, folder, place) =
            (format!("lab@{}", self.place(0)?), self.folder_text(machine), self.place(machine)?);
        let name = name(machine);
        let words = ["join", &at, token, "--name", &name, "--dir", &folder, "--listen", &place];
        self.does(machine, &[&words[..], more].concat()).map(drop)
    }

    /// A machine joins, and its agent goes on in the background.
    pub(super) fn join_in_background(&self, machine: usize, token: &str) -> Result<(), Error> {
        self.join(machine, token, &[])
    }

    /// A machine leaves, with all that it keeps.
    pub(super) fn leave(&mut self, machine: usize) -> Result<(), Error> {
        self.does(machine, &["leave"]).map(drop)
    }

    /// Starts the agent of a machine.
    pub(super) fn start(&mut self, machine: usize) -> Result<(), Error> {
        let (folder, place) = (self.folder_text(machine), self.place(machine)?);
        let agent = self.command(machine, &["up", &folder, "--foreground", "--json", "--listen", &place])?;
        if agent.output().wait_for("{", LIMIT).is_none() {
            return Err(Error::new(
                Code::PeerDied,
                format!("an agent does not serve: {}", agent.output().text()),
            ));
        }
        self.agents[machine] = Some(agent);
        Ok(())
    }

    /// Kills the agent of a machine.
    pub(super) fn kill(&mut self, machine: usize) -> Result<(), Error> {
        let killed = self.agents[machine].take().map_or(Ok(()), |mut agent| agent.kill().map(drop));
        killed.map_err(system_refused("kill an agent"))
    }

    /// Cuts a machine off.
    pub(super) fn cut(&self, machine: usize) -> Result<(), Error> {
        self.bed.cut(&Lines::of(name(machine))).map_err(refused)
    }

    /// Undoes that.
    pub(super) fn heal(&self, machine: usize) -> Result<(), Error> {
        self.bed.heal(&Lines::of(name(machine))).map_err(refused)
    }

    /// What the agent of a machine sees of machine 1.
    pub(super) fn watch(&self, machine: usize) -> Result<Watch, Error> {
        let client = Client::local(&self.folder(machine)).map_err(not_asked)?;
        let view = client.membership(false).map_err(not_asked)?.view;
        let whom = view.members.iter().find(|(_, member)| member.name == name(1)).map(|(node, _)| *node);
        let whom = whom.ok_or_else(|| Error::new(Code::BadValue, "there is no second machine"))?;
        Ok(Watch { client, whom })
    }

    /// Returns when the founder sees all the others, nobody is missed, and as many vote as shall: of two voters neither may be lost.
    fn wait_until_quiet(&self, members: usize) -> Result<(), Error> {
        let client = Client::local(&self.folder(0)).map_err(not_asked)?;
        let limit = Instant::now() + LIMIT;
        loop {
            let known = client.membership(false).map_err(not_asked)?;
            let voters = members.min(MOST_VOTERS);
            let voters = voters - usize::from(voters.is_multiple_of(2));
            let has_all = known.view.members.len() == members && known.view.voters().count() == voters;
            if has_all && known.news.suspects.is_empty() {
                return Ok(());
            }
            if Instant::now() > limit {
                return Err(Error::new(Code::TimedOut, "the machines do not come together"));
            }
            std::thread::sleep(PAUSE);
        }
    }
}

/// What an agent, and the leader that it asks, say of another machine.
pub(super) struct Watch {
    client: Client,
    whom: NodeId,
}

impl Watch {
    /// Returns when it seems to be missing, or not to be.
    ///
    /// # Errors
    /// It does not become so, or the agent does not answer.
    pub(super) fn until(&self, limit: Duration, is_missing: bool) -> Result<(), Error> {
        let limit = Instant::now() + limit;
        while self.is_missing()? != is_missing {
            if Instant::now() > limit {
                let text = "an agent does not say of a machine what was waited for";
                return Err(Error::new(Code::TimedOut, text));
            }
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }

    fn is_missing(&self) -> Result<bool, Error> {
        let known = match self.client.membership(true) {
            // While another leader is elected, what it knows by itself.
            Err(AgentError::Refused(_)) => self.client.membership(false),
            other => other,
        };
        Ok(known.map_err(not_asked)?.news.suspects.iter().any(|suspect| suspect.node == self.whom))
    }
}

/// What a command says that goes well.
///
/// # Errors
/// It fails, or does not end.
pub(super) fn did(mut command: Child) -> Result<String, Error> {
    let ended = command.wait(LIMIT).map_err(system_refused("wait for a command"))?;
    while command.output().next_line(LIMIT).is_some() {}
    let said = command.output().text();
    match ended {
        Some(how) if how.success() => Ok(said),
        Some(how) => Err(Error::new(Code::PeerDied, format!("a command has ended with {how}: {said}"))),
        None => Err(Error::new(Code::TimedOut, format!("a command does not end: {said}"))),
    }
}

fn name(machine: usize) -> String {
    format!("m{machine}")
}

fn refused(error: TestbedError) -> Error {
    Error::new(error.code(), error.to_string())
}

fn not_asked(error: AgentError) -> Error {
    Error::new(error.code(), error.to_string())
}
