//! A cluster of machines for tests of commands: an agent each, in homes of their own, on loopback or in network namespaces.

use crate::tool::{LONG, host, result, text, wait_until};
use quintet_testbed::{Child, Plan, Program, TempDir, Testbed, namespaces_refused};
use serde_json::Value;
use std::fs;
use std::io::{Write, stderr};
use std::path::PathBuf;

/// What tokens allow that allow everything.
pub(crate) const ALL: &str = "join,run,code";

/// The machines of a cluster, whose agents run.
pub(crate) struct Machines {
    pub(crate) room: TempDir,
    machines: Vec<Machine>,
    /// Their network, where that is not loopback.
    pub(crate) bed: Option<Testbed>,
    /// A machine whose clock is ahead of that of the others, and the words that start a program there.
    ahead: Option<(String, Vec<String>)>,
}

/// A machine: its agent, unless that has ended.
struct Machine {
    name: String,
    agent: Option<Child>,
}

impl Machines {
    /// Machines of these names; the first one founds the cluster, and all may do everything.
    pub(crate) fn up(names: &[&str]) -> Machines {
        Machines::with_grants(&names.iter().map(|name| (*name, ALL)).collect::<Vec<_>>())
    }

    /// The same; each may do what stands beside it, save the first, which may do everything.
    pub(crate) fn with_grants(machines: &[(&str, &str)]) -> Machines {
        Machines::on(None, None, machines)
    }

    /// Two machines, all with all grants. What runs on the second one reads a clock, of those that count from the machine's start, that is so many seconds
    /// ahead. None: there can be none here, and why was printed.
    pub(crate) fn with_a_clock_ahead(names: [&str; 2], seconds: u64) -> Option<Machines> {
        let words = ["unshare", "--time", "--monotonic", &seconds.to_string(), "--fork", "--kill-child"];
        let words = words.map(str::to_owned).to_vec();
        let probe = words[1..].iter().fold(Program::new(&words[0]), Program::arg).arg("true").spawn();
        let why = match probe.map(result) {
            Ok((0, _)) => {
                return Some(Machines::on(
                    None,
                    Some((names[1].to_owned(), words)),
                    &names.map(|name| (name, ALL)),
                ));
            }
            Ok((_, said)) => said,
            Err(error) => error.to_string(),
        };
        writeln!(stderr(), "SKIPPED, with a clock ahead: no time namespaces here: {why}")
            .expect("standard error is open");
        None
    }

    /// The same, all with all grants, on a network that can be cut. None: there can be none here, and why was printed.
    pub(crate) fn on_a_network(names: &[&str]) -> Option<Machines> {
        if let Some(why) = namespaces_refused() {
            // Not by a macro, whose words the tests' runner keeps to itself where a test passes.
            let told =
                writeln!(stderr(), "SKIPPED, on machines of a network: no network namespaces here: {why}");
            told.expect("standard error is open");
            return None;
        }
        let bed = Testbed::up(&Plan::unnamed(names.iter().copied())).expect("it is made");
        Some(Machines::on(Some(bed), None, &names.iter().map(|name| (*name, ALL)).collect::<Vec<_>>()))
    }

    fn on(bed: Option<Testbed>, ahead: Option<(String, Vec<String>)>, machines: &[(&str, &str)]) -> Machines {
        let room = TempDir::new().expect("a temporary directory");
        let mut lab = Machines { room, machines: Vec::new(), bed, ahead };
        for (name, allowed) in machines {
            let (folder, place) = (lab.folder(name), lab.place(name));
            for path in [lab.home(name).join("tmp"), lab.bin(name)] {
                fs::create_dir_all(path).expect("a home");
            }
            match lab.machines.first().map(|first| first.name.clone()) {
                None => {
                    lab.does(name, &["init", "lab", "--machine", name, "--dir", text(&folder)]);
                }
                Some(first) => {
                    let cluster = lab.folder(&first);
                    let words =
                        ["token", "create", "--json", "--allow", allowed, "--cluster", text(&cluster)];
                    let made: Value = serde_json::from_str(&lab.does(&first, &words)).expect("an object");
                    let token = made["token"].as_str().expect("a text");
                    let at = format!("lab@{}", fs::read_to_string(cluster.join("place")).expect("written"));
                    let words = [
                        "join",
                        &at,
                        token,
                        "--name",
                        name,
                        "--dir",
                        text(&folder),
                        "--listen",
                        &place,
                        "--no-up",
                    ];
                    lab.does(name, &words);
                }
            }
            fs::write(folder.join("place"), &place).expect("written");
            lab.machines.push(Machine { name: (*name).to_owned(), agent: None });
            lab.start(name);
        }
        lab.wait_until_all_know_all();
        lab
    }

    fn home(&self, name: &str) -> PathBuf {
        self.room.join(name)
    }

    /// The folder of the cluster at this machine.
    pub(crate) fn folder(&self, name: &str) -> PathBuf {
        self.home(name).join("lab")
    }

    /// Programs that are found on this machine alone.
    pub(crate) fn bin(&self, name: &str) -> PathBuf {
        self.home(name).join("bin")
    }

    /// Folders of jobs that lie at this machine.
    pub(crate) fn jobs(&self, name: &str) -> Vec<PathBuf> {
        let lives = fs::read_dir(self.folder(name).join("processes/jobs")).into_iter().flatten().flatten();
        let below = lives.flat_map(|life| fs::read_dir(life.path()).into_iter().flatten().flatten());
        below.map(|entry| entry.path()).collect()
    }

    /// A command at this machine.
    pub(crate) fn command(&self, name: &str, words: &[&str]) -> Child {
        self.program(name, words).spawn().expect("it starts")
    }

    pub(crate) fn program(&self, name: &str, words: &[&str]) -> Program {
        self.program_of(env!("CARGO_BIN_EXE_quintet"), name, words)
    }

    /// Any program at this machine, and not only the command.
    pub(crate) fn program_of(&self, path_of_program: &str, name: &str, words: &[&str]) -> Program {
        let path = std::env::var("PATH").unwrap_or_default();
        let prefix = self.ahead.iter().filter(|(machine, _)| machine == name).flat_map(|(_, words)| words);
        let all: Vec<&str> =
            prefix.map(String::as_str).chain([path_of_program]).chain(words.iter().copied()).collect();
        let program = all[1..].iter().fold(Program::new(all[0]), Program::arg);
        let program = match &self.bed {
            None => program,
            Some(bed) => program.on(&bed.machine(name).expect("it is one")).expect("it is there"),
        };
        program
            .env("HOME", self.home(name))
            .env("TMPDIR", self.home(name).join("tmp"))
            .env("PATH", format!("{}:{path}", text(&self.bin(name))))
            .env("QUINTET_IDENTITY", self.folder(name))
            .without("VIRTUAL_ENV")
    }

    /// A command at this machine that goes well: what it says.
    pub(crate) fn does(&self, name: &str, words: &[&str]) -> String {
        let (code, said) = result(self.command(name, words));
        assert_eq!(code, 0, "{words:?}: {said}");
        said
    }

    /// Starts the agent of this machine.
    pub(crate) fn start(&mut self, name: &str) {
        let (folder, place) =
            (self.folder(name), fs::read_to_string(self.folder(name).join("place")).unwrap());
        let words = ["up", text(&folder), "--foreground", "--json", "--listen", &place];
        let agent = self.command(name, &words);
        assert!(agent.output().wait_for("{", LONG).is_some(), "{}", agent.output().text());
        self.machine(name).agent = Some(agent);
    }

    fn machine(&mut self, name: &str) -> &mut Machine {
        self.machines.iter_mut().find(|machine| machine.name == name).expect("it is one of them")
    }

    /// The agent of this machine, which runs.
    pub(crate) fn agent(&self, name: &str) -> &Child {
        let machine = self.machines.iter().find(|machine| machine.name == name);
        machine.and_then(|machine| machine.agent.as_ref()).expect("it runs")
    }

    /// Kills the agent of this machine.
    pub(crate) fn kill(&mut self, name: &str) {
        self.machine(name).agent.take().expect("it runs").kill().expect("killed");
    }

    /// Where the agent of this machine listens: on loopback at a free port, which nobody else is given in the meantime, as long as few ask.
    fn place(&self, name: &str) -> String {
        if let Some(bed) = &self.bed {
            return format!("{}:7400", bed.machine(name).expect("it is one").address());
        }
        format!("{}:7400", host())
    }

    fn wait_until_all_know_all(&self) {
        for Machine { name, .. } in &self.machines {
            wait_until(|| {
                let said: Value =
                    serde_json::from_str(&self.does(name, &["status", "--json"])).expect("an object");
                let machines = said["cluster"]["machines"].as_array().map_or(0, Vec::len);
                machines == self.machines.len()
            });
        }
    }
}
