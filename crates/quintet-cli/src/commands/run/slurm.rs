//! A job inside an allocation of Slurm: a cluster of its machines for this job alone, whose agents are one step of the allocation.
//!
//! ```text
//!   this command ── srun ── quintet slurm-agent (one a machine)
//!     its own agent ◄───── each joins with a token of its own, serves, says where, and ends with its input
//! ```
//!
//! Tokens go through the step's input: arguments and environments can be read by others of a machine. Whatever is kept lies in folders of this
//! user alone, local to each machine, and goes with the step.

use super::display::Printer;
use super::happening::Happening;
use crate::commands::slurm_agent::OwnAgent;
use crate::commands::supervise_child::supervised;
use crate::commands::token::issue;
use crate::connection::refused;
use clap::ValueEnum;
use quintet::{Code, Error};
use quintet_identity::Grants;
use rustix::process::{Pid, Signal, getpid, kill_process};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How long the machines of an allocation may take to join: their programs may come over a network.
const START_LIMIT: Duration = Duration::from_secs(60);
/// For how long a machine's token is valid.
const TOKEN_TIME: Duration = Duration::from_secs(120);
/// How long the step may take to end by itself.
const END_LIMIT: Duration = Duration::from_secs(15);
/// Between two looks at whether it is time to end.
const PAUSE: Duration = Duration::from_millis(50);
/// Steps from this number on are no commands of the user's but the batch script or the shell of an allocation.
const SPECIAL_STEPS: u32 = 0xffff_fff0;
/// What this machine is called where it is none of the allocation.
const COMMAND: &str = "command";

/// When a job takes the machines of an allocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum When {
    /// Inside an allocation, unless something else says where workers run
    Auto,
    /// Always; outside of an allocation that is an error
    Always,
    Never,
}

/// The machines that Slurm has given.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Allocation {
    /// How many they are.
    machines: u32,
    /// What this machine is called, if it is one of them.
    here: Option<String>,
}

impl Allocation {
    /// That in which this process runs, by its environment; none if it runs in none, or is itself a step of one.
    fn of(variable: impl Fn(&str) -> Option<String>) -> Option<Allocation> {
        variable("SLURM_JOB_ID")?;
        let step = variable("SLURM_STEP_ID").and_then(|step| step.parse::<u32>().ok());
        if step.is_some_and(|step| step < SPECIAL_STEPS) {
            return None;
        }
        let machines = variable("SLURM_JOB_NUM_NODES").or_else(|| variable("SLURM_NNODES"))?.parse().ok()?;
        Some(Allocation { machines, here: variable("SLURMD_NODENAME").filter(|name| !name.is_empty()) })
    }

    /// That of which a job takes the machines, if it is to. `is_placed`: something else says where workers run.
    ///
    /// # Errors
    /// It must, and there is none.
    pub(super) fn wanted(when: When, is_placed: bool) -> Result<Option<Allocation>, Error> {
        let found = || Allocation::of(|name| std::env::var(name).ok());
        match when {
            When::Never => Ok(None),
            When::Auto => Ok(found().filter(|found| !is_placed && found.others() > 0)),
            When::Always => found().map(Some).ok_or_else(|| {
                let text = "--slurm always: there is no allocation here, or this is a step of one: type salloc -N 2 first, or put the command \
                            into a script for sbatch";
                Error::new(Code::BadValue, text)
            }),
        }
    }

    /// Machines besides this one.
    fn others(&self) -> u32 {
        self.machines - u32::from(self.here.is_some()).min(self.machines)
    }

    fn own_name(&self) -> &str {
        self.here.as_deref().unwrap_or(COMMAND)
    }

    /// The words of the step: one program on each machine besides this one, with all that the machine has.
    fn step(&self) -> Vec<OsString> {
        let others = self.others();
        let mut words = vec![format!("--nodes={others}"), format!("--ntasks={others}")];
        words.extend(self.here.iter().map(|here| format!("--exclude={here}")));
        let fixed = [
            "--ntasks-per-node=1",
            "--overlap",
            "--cpu-bind=none",
            "--unbuffered",
            "--kill-on-bad-exit=0",
            "--quiet",
        ];
        words.extend(fixed.map(str::to_owned));
        words.into_iter().map(OsString::from).collect()
    }
}

/// The agents on the machines of an allocation, and this machine's own.
pub(super) struct Agents {
    folder: PathBuf,
    names: Vec<String>,
    /// The step; none if no other machine was given.
    step: Option<Child>,
    /// This machine's agent. Ended behind the step.
    _own: OwnAgent,
}

impl Agents {
    /// Makes a cluster in this folder and starts the agents. Returns when all are up.
    ///
    /// # Errors
    /// `srun` cannot be started or fails, a machine does not join in time, or the job is interrupted.
    pub(super) fn start(
        room: &Path,
        allocation: &Allocation,
        printer: &Printer,
        happenings: &Receiver<Happening>,
    ) -> Result<Agents, Error> {
        let folder = room.join("cluster");
        quintet_identity::create(&folder, allocation.own_name())
            .map_err(crate::commands::identity::refused)?;
        quintet_agent::found(&folder, allocation.own_name()).map_err(crate::commands::cluster::refused)?;
        let own = OwnAgent::start(&folder, Some("0.0.0.0:0"))?;
        let address = own.said()["address"].as_str().unwrap_or_default().to_owned();
        let here = allocation.here.clone();
        let mut agents = Agents { folder, names: here.into_iter().collect(), step: None, _own: own };
        if allocation.others() > 0 {
            agents.start_step(allocation, &address, printer, happenings)?;
        }
        Ok(agents)
    }

    /// The folder of their cluster.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// What the allocation's machines are called; this one first, if it is one of them.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    fn start_step(
        &mut self,
        allocation: &Allocation,
        address: &str,
        printer: &Printer,
        happenings: &Receiver<Happening>,
    ) -> Result<(), Error> {
        let tokens = (0..allocation.others()).map(|_| {
            issue(&self.folder, Grants::JOIN, TOKEN_TIME, "for a machine of an allocation")
                .map(|(token, _)| token.text().to_owned())
        });
        let invitation = json!({"at": address, "tokens": tokens.collect::<Result<Vec<_>, _>>()?});
        let this = std::env::current_exe().map_err(refused("find this program"))?;
        let mut srun = supervised("srun")?;
        srun.args(allocation.step()).arg("--").arg(this).arg("slurm-agent");
        // In a group of its own: a ctrl-C at the terminal is the job's.
        srun.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let step = self.step.insert(srun.spawn().map_err(refused("start srun"))?);
        let (tell, told) = channel();
        read_lines(step.stdout.take(), tell.clone(), Told::Agent);
        read_lines(step.stderr.take(), tell, Told::Words);
        if let Some(input) = &mut step.stdin {
            match writeln!(input, "{invitation}") {
                // It has ended already, and says why.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
                told => told.map_err(refused("tell srun whom to join"))?,
            }
        }
        let mut names = wait_for_agents(allocation.others(), &told, happenings)?;
        names.sort();
        self.names.extend(names);
        let printer = printer.clone();
        // What the step says later: an agent that has something to tell, Slurm that ends it.
        thread::spawn(move || {
            told.iter().for_each(|told| {
                if let Told::Words(words) = told {
                    printer.say(&format!("slurm: {words}"));
                }
            })
        });
        Ok(())
    }
}

impl Drop for Agents {
    /// Ends the step: its agents end when their input does.
    fn drop(&mut self) {
        let Some(step) = &mut self.step else { return };
        drop(step.stdin.take());
        let limit = Instant::now() + END_LIMIT;
        while matches!(step.try_wait(), Ok(None)) {
            if Instant::now() > limit {
                // It passes that on to the step.
                let _ = kill_process(Pid::from_child(step), Signal::TERM);
                thread::sleep(Duration::from_secs(1));
                let _ = step.kill();
                let _ = step.wait();
                return;
            }
            thread::sleep(PAUSE);
        }
    }
}

/// What the step says.
enum Told {
    /// A line of an agent that is up.
    Agent(String),
    /// A line for people.
    Words(String),
}

fn read_lines(pipe: Option<impl Read + Send + 'static>, tell: Sender<Told>, as_what: fn(String) -> Told) {
    thread::spawn(move || {
        for line in pipe.into_iter().flat_map(|pipe| BufReader::new(pipe).lines()).map_while(Result::ok) {
            if tell.send(as_what(line)).is_err() {
                return;
            }
        }
    });
}

/// The names of so many agents, once all are up.
fn wait_for_agents(
    count: u32,
    told: &Receiver<Told>,
    happenings: &Receiver<Happening>,
) -> Result<Vec<String>, Error> {
    let mut limit = Instant::now() + START_LIMIT;
    let (mut names, mut words) = (Vec::new(), Vec::new());
    while names.len() < count as usize {
        for happening in happenings.try_iter() {
            match happening {
                Happening::Interrupt(_) => return Err(Error::new(Code::Cancelled, "interrupted")),
                Happening::Pause => limit += stop_here(),
                _ => {}
            }
        }
        match told.recv_timeout(PAUSE) {
            Ok(Told::Agent(line)) => {
                let said: Value = serde_json::from_str(&line).unwrap_or_default();
                match said["name"].as_str() {
                    Some(name) => names.push(name.to_owned()),
                    None => words.push(said["text"].as_str().unwrap_or(&line).to_owned()),
                }
            }
            Ok(Told::Words(line)) => words.push(line),
            Err(RecvTimeoutError::Timeout) if Instant::now() < limit => {}
            Err(error) => {
                let how = if error == RecvTimeoutError::Timeout { "in time" } else { "before srun ended" };
                let words = if words.is_empty() { String::new() } else { format!(": {}", words.join("; ")) };
                let text =
                    format!("{} of {count} machines of the allocation have joined {how}{words}", names.len());
                return Err(Error::new(Code::PeerDied, text));
            }
        }
    }
    Ok(names)
}

/// Stops this process until it is told to go on, and says for how long: the step goes on meanwhile, as others wait for its machines.
fn stop_here() -> Duration {
    let begun = Instant::now();
    // A process may always stop itself.
    let _ = kill_process(getpid(), Signal::STOP);
    begun.elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &[(&str, &str)]) -> Option<Allocation> {
        let find =
            |name: &str| variables.iter().find(|(of, _)| *of == name).map(|(_, value)| (*value).to_owned());
        Allocation::of(find)
    }

    #[test]
    fn an_allocation_is_seen_by_what_slurm_says_and_a_step_of_one_is_none() {
        let (job, two) = (("SLURM_JOB_ID", "7"), ("SLURM_JOB_NUM_NODES", "2"));
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[two]), None);
        assert_eq!(found(&[job, two]), Some(Allocation { machines: 2, here: None }));
        assert_eq!(found(&[job, two, ("SLURM_STEP_ID", "0")]), None);
        let batch = [job, two, ("SLURM_STEP_ID", "4294967291"), ("SLURMD_NODENAME", "n1")];
        let batch = found(&batch).expect("the script of an allocation is in it");
        assert_eq!((batch.own_name(), batch.others()), ("n1", 1));
        let words = batch.step();
        assert!(words.contains(&"--nodes=1".into()) && words.contains(&"--exclude=n1".into()), "{words:?}");
        let login = found(&[job, two]).expect("it is one");
        assert_eq!((login.own_name(), login.others()), (COMMAND, 2));
    }
}
