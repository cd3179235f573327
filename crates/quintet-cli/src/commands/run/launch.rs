//! How the children of a job are started.

use super::child::{Child, Who};
use super::counts::JobCounts;
use super::display::Printer;
use super::files::Sent;
use super::hosts::{Hosts, Place, beside};
use super::machine::{BUSY_PAUSE, Machine, Started};
use crate::commands::supervise_child::supervised;
use crate::connection::refused;
use crate::python::is_script;
use quintet::{Code, Error, LinkAddress, LinkConfig, Packets};
use quintet_launch::{JOB_VARIABLE, Program, Start};
use quintet_settings::{
    LINK_KEEP_ALIVE_MS, LINK_PACK, LINK_RESUME_WINDOW_MS, LINK_SILENCE_LIMIT_MS, LINK_SPIN_US,
    LINK_TWO_PACKETS, LINK_WINDOW_BYTES, LINK_WINDOW_FRAMES, Number, Setting,
};
use std::ffi::{OsStr, OsString};
use std::io::{IsTerminal, stderr, stdin};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Where a process of a job can be reached by those on other machines, as `tls:HOST:0`: members of isonets listen there.
pub(super) const LISTEN_VARIABLE: &str = "QUINTET_LISTEN";
/// How long a worker waits for a machine that has room for it.
const BUSY_LIMIT: Duration = Duration::from_secs(20);

/// What all children of a job share.
pub(super) struct Launch {
    pub(super) address: LinkAddress,
    /// Where workers on other machines reach the space.
    pub(super) address_elsewhere: LinkAddress,
    /// Where workers run.
    pub(super) hosts: Hosts,
    /// What those on other machines need.
    pub(super) files: Vec<Sent>,
    pub(super) cluster: u128,
    pub(super) lease: Duration,
    /// Where the identity lies with which they connect, if one is set.
    pub(super) identity: Option<PathBuf>,
    pub(super) link: LinkConfig,
    /// The variable by which the job's processes are found should this one be killed, and its value.
    pub(super) job: (&'static str, OsString),
    /// Where the job's processes leave their parts of its trace, if it is traced.
    pub(super) trace: Option<PathBuf>,
    /// Where they leave how long their operations take, if that is kept.
    pub(super) histograms: Option<PathBuf>,
    pub(super) workers: u64,
    /// Whether they are the master's program, which learns its rank from its environment.
    pub(super) own_workers: bool,
    /// How many times in all a worker is started again that ended before its time, not counting one for each task that it held.
    pub(super) restarts: u64,
    pub(super) python: OsString,
    /// That of other machines.
    pub(super) python_elsewhere: OsString,
    pub(super) printer: Printer,
    /// What is told of the job in numbers.
    pub(super) counts: JobCounts,
    /// Where workers find the modules beside the script: `PYTHONPATH`.
    pub(super) module_path: OsString,
    /// The master and its arguments.
    pub(super) command: Vec<OsString>,
}

impl Launch {
    /// A worker, on the machine that is planned for it, or on the next one that starts it. Where all are busy it waits for one of them.
    ///
    /// # Errors
    /// No machine is left, all are busy for too long, or this one refuses.
    pub(super) fn worker(&self, rank: u64) -> Result<Child, Error> {
        let (until, mut has_said) = (Instant::now() + BUSY_LIMIT, false);
        loop {
            let mut busy = None;
            for place in self.hosts.of(rank) {
                let Place::There(machine) = place else { return self.worker_here(rank) };
                match machine.start(rank, self.start_elsewhere(rank, machine)) {
                    Started::Running(there) => return Ok(Child::there(Who::Worker(rank), there)),
                    Started::Busy(why) => busy = Some(format!("{}: {why}", machine.name())),
                    Started::LeftOut => {}
                }
            }
            let Some(why) = busy else { return Err(self.hosts.nobody_left()) };
            if Instant::now() > until {
                let text = format!("no machine of --hosts has had room for worker {rank}: {why}");
                return Err(Error::new(Code::Resource, text));
            }
            if !std::mem::replace(&mut has_said, true) {
                self.printer.say(&format!("worker {rank} waits for room: {why}"));
            }
            sleep(BUSY_PAUSE);
        }
    }

    /// A worker: in a process group of its own, so that a ctrl-C at the terminal does not reach it before its master.
    fn worker_here(&self, rank: u64) -> Result<Child, Error> {
        let mut command = if self.own_workers {
            self.program()?
        } else {
            let mut command = supervised(&self.python)?;
            command.args(["-m", "quintet.worker"]).env("PYTHONPATH", &self.module_path);
            command
        };
        command.env("QUINTET_RANK", rank.to_string());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        self.start(command, Who::Worker(rank), true)
    }

    /// The master. At a terminal it stays in this process' group and may read what is typed.
    pub(super) fn master(&self) -> Result<Child, Error> {
        let mut command = self.program()?;
        // This process may be a worker of another job.
        command.env_remove("QUINTET_RANK");
        self.connect_output(&mut command)?;
        let own_group = !stdin().is_terminal();
        if own_group {
            command.process_group(0);
        }
        self.start(command, Who::Master, own_group)
    }

    /// What the job was given to run.
    fn program(&self) -> Result<Command, Error> {
        let (script, arguments) = self.command.split_first().unwrap_or((&self.python, &[]));
        let mut command = if is_script(Path::new(script)) {
            let mut command = supervised(&self.python)?;
            command.arg(script);
            command
        } else {
            supervised(as_path(script))?
        };
        command.args(arguments);
        Ok(command)
    }

    /// The master's output goes on untouched, unless a progress bar stands in its way.
    fn connect_output(&self, command: &mut Command) -> Result<(), Error> {
        if self.printer.has_bar() {
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
        } else if self.printer.only_standard_error() {
            let standard_error = stderr().as_fd().try_clone_to_owned();
            command.stdout(standard_error.map_err(refused("share standard error"))?);
        }
        Ok(())
    }

    fn start(&self, mut command: Command, who: Who, own_group: bool) -> Result<Child, Error> {
        command.envs(self.variables(who, &self.address)).env(self.job.0, &self.job.1);
        match self.listen_here() {
            Some(address) => command.env(LISTEN_VARIABLE, address.to_string()),
            // This process may be of another job, which has one.
            None => command.env_remove(LISTEN_VARIABLE),
        };
        if let Some(identity) = &self.identity {
            command.env("QUINTET_IDENTITY", identity);
        }
        for (name, folder) in [("QUINTET_TRACE", &self.trace), ("QUINTET_HISTOGRAMS", &self.histograms)] {
            match folder {
                Some(folder) => command.env(name, folder),
                // This process may be of another job, which has one.
                None => command.env_remove(name),
            };
        }
        Child::start(command, who, own_group)
    }

    /// Where processes here can be reached by those on other machines, if there are any.
    fn listen_here(&self) -> Option<LinkAddress> {
        self.hosts.machines().next().and_then(|_| beside(&self.address_elsewhere))
    }

    /// What a process of the job is told, which reaches the space there.
    fn variables(&self, who: Who, address: &LinkAddress) -> Vec<(String, String)> {
        let mut variables = vec![
            ("QUINTET_SPACE".to_owned(), address.to_string()),
            ("QUINTET_CLUSTER".to_owned(), self.cluster.to_string()),
            ("QUINTET_LEASE_MS".to_owned(), self.lease.as_millis().to_string()),
            ("QUINTET_WORKERS".to_owned(), self.workers.to_string()),
            (JOB_VARIABLE.to_owned(), self.job_name()),
            ("QUINTET_VERSION".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
            ("QUINTET_EVENTS".to_owned(), "1".to_owned()),
            ("PYTHONUNBUFFERED".to_owned(), "1".to_owned()),
        ];
        variables.extend(link_variables(&self.link));
        if who != Who::Master {
            // Workers fill the processors by being many; more threads in each would only be in each other's way.
            let threads = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"];
            variables.extend(threads.map(|variable| (variable.to_owned(), "1".to_owned())));
        }
        variables
    }

    /// The job as `quintet ps` shows it, on every machine: the script, where it was begun, and by which process.
    fn job_name(&self) -> String {
        let script = self.command.first().map_or(Path::new("worker"), Path::new);
        let script = script.file_name().unwrap_or_default().to_string_lossy();
        let system = rustix::system::uname();
        let here = self.hosts.here().map_or_else(|| system.nodename().to_string_lossy(), Into::into);
        format!("{script}@{here}:{}", std::process::id())
    }

    /// A worker as another machine's agent is asked to start it: in the job's folder there, where the files lie. It proves to be its machine.
    fn start_elsewhere(&self, rank: u64, machine: &Arc<Machine>) -> Start {
        let (program, arguments) = self.program_elsewhere();
        let space = machine.kernel().unwrap_or(&self.address_elsewhere);
        let mut variables = self.variables(Who::Worker(rank), space);
        variables.push(("QUINTET_RANK".to_owned(), rank.to_string()));
        variables.extend(machine.listen().map(|address| (LISTEN_VARIABLE.to_owned(), address.to_string())));
        let as_bytes = |(name, value): (String, String)| (name.into_bytes(), value.into_bytes());
        let kept = [("QUINTET_TRACE", &self.trace), ("QUINTET_HISTOGRAMS", &self.histograms)];
        let kept = kept.into_iter().filter(|(_, folder)| folder.is_some()).filter_map(|(name, _)| {
            Some((name.as_bytes().to_vec(), machine.parts()?.as_os_str().as_bytes().to_vec()))
        });
        Start {
            arguments,
            environment: variables.into_iter().map(as_bytes).chain(kept).collect(),
            files: self.files.iter().map(|(file, _)| file.clone()).collect(),
            ..Start::new(Who::Worker(rank).to_string(), program)
        }
    }

    fn program_elsewhere(&self) -> (Program, Vec<Vec<u8>>) {
        let python = || Program::Path(self.python_elsewhere.as_bytes().to_vec());
        if !self.own_workers {
            return (python(), vec![b"-m".to_vec(), b"quintet.worker".to_vec()]);
        }
        let path = Path::new(self.command.first().map_or(OsStr::new(""), OsString::as_os_str));
        let name = path.file_name().unwrap_or_default().as_bytes().to_vec();
        let own = self.command.iter().skip(1).map(|argument| argument.as_bytes().to_vec());
        match is_script(path) {
            true => (python(), [name].into_iter().chain(own).collect()),
            false if self.files.is_empty() => {
                (Program::Path(path.as_os_str().as_bytes().to_vec()), own.collect())
            }
            false => (Program::File(name), own.collect()),
        }
    }
}

/// How the processes of a job use their links.
pub(super) fn link_variables(link: &LinkConfig) -> Vec<(String, String)> {
    vec![
        (variable(&LINK_WINDOW_FRAMES), link.window.slots.to_string()),
        (variable(&LINK_WINDOW_BYTES), link.window.bytes.to_string()),
        (variable(&LINK_SPIN_US), link.spin.as_micros().to_string()),
        (Setting::Switch(&LINK_TWO_PACKETS).environment_name(), (link.packets == Packets::Two).to_string()),
        (variable(&LINK_KEEP_ALIVE_MS), link.keep_alive.as_millis().to_string()),
        (variable(&LINK_SILENCE_LIMIT_MS), link.silence_limit.as_millis().to_string()),
        (variable(&LINK_RESUME_WINDOW_MS), link.resume_window.as_millis().to_string()),
        (Setting::Text(&LINK_PACK).environment_name(), link.packing.to_string()),
    ]
}

/// The variable by which a child is given a setting.
fn variable(setting: &'static Number) -> String {
    Setting::Number(setting).environment_name()
}

/// A file of the working folder is found without `./`, as a Python script is.
fn as_path(script: &OsStr) -> OsString {
    let path = Path::new(script);
    if path.components().count() == 1 && path.is_file() {
        Path::new(".").join(path).into()
    } else {
        script.into()
    }
}
