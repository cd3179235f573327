//! `quintet ps`.

use super::status::Observer;
use crate::activity::{bytes, seconds};
use crate::connection::SpaceArguments;
use crate::watch::{View, WatchArguments};
use clap::Args;
use quintet::Error;
use quintet_contract::Identity;
use quintet_launch::{ProcessInfo, RunningProcess};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::time::Duration;

#[derive(Args)]
#[command(
    after_help = "Shown are the processes of jobs that this user's agents have started, and those of `quintet run` on each machine; of a machine that belongs to no cluster its own. A row is a process with all of its group: its time of processors and its memory are those of all of them. Of each job: the script, the machine where it was begun, and the process that did. By: the machine whose command had it started.\n\nStates: running, sleeping, stopped, ended (and not waited for).\n\nExamples:\n  quintet ps\n  quintet ps lab --watch\n  quintet ps --json"
)]
pub(crate) struct Arguments {
    /// The cluster; else that of QUINTET_IDENTITY, or the only one that this user has
    #[arg(value_name = "CLUSTER")]
    name: Option<String>,
    #[command(flatten)]
    watch: WatchArguments,
    /// Print a JSON object; with --watch one a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// The processes of all machines.
pub(crate) struct Processes {
    /// Machine by machine; one without a name is this one, which belongs to no cluster.
    machines: Vec<(String, Result<Vec<ProcessInfo>, String>)>,
    names: BTreeMap<Identity, String>,
}

pub(crate) fn run(arguments: Arguments) -> Result<ExitCode, Error> {
    let Arguments { name, watch, json } = arguments;
    let mut observer = Observer::new(name, SpaceArguments::default());
    watch.show(json, move || Processes::ask(&mut observer).map(|processes| processes.view()))
}

impl Processes {
    /// Asks the agents of the cluster that is meant; where none is, looks at this machine.
    ///
    /// # Errors
    /// This machine's agent does not run or does not answer; several clusters could be meant.
    pub(crate) fn ask(observer: &mut Observer) -> Result<Processes, Error> {
        let Some(machines) = observer.machines()? else {
            let here = quintet_process::running(None, |_| None).into_iter().map(of_this_machine).collect();
            let system = rustix::system::uname();
            let name = system.nodename().to_string_lossy().into_owned();
            return Ok(Processes { machines: vec![(name, Ok(here))], names: BTreeMap::new() });
        };
        let mut answers = observer.processes(&machines);
        let found = machines.members().map(|(node, member)| {
            let answer =
                answers.remove(node).unwrap_or_else(|| Err("it does not seem to be there".to_owned()));
            (member.name.clone(), answer)
        });
        let mut machines_found: Vec<_> = found.collect();
        each_once(&mut machines_found);
        Ok(Processes { machines: machines_found, names: machines.names().by_identity })
    }

    /// The process of that number on that machine, or with it in its group: the leader of that.
    pub(crate) fn find(&self, machine: Option<&str>, pid: i64) -> Option<&RunningProcess> {
        let meant = self.machines.iter().filter(|(name, _)| machine.is_none_or(|machine| machine == name));
        let rows = meant.filter_map(|(_, rows)| rows.as_ref().ok()).flatten();
        rows.map(|row| &row.running).find(|row| i64::from(row.pid) == pid)
    }

    fn view(&self) -> View {
        View { text: self.as_table(), json: self.as_json() }
    }

    fn as_table(&self) -> String {
        let mut lines = vec![format!(
            "{:<12} {:>8} {:<10} {:<9} {:>9} {:>9} {:>10} {:>8}  {:<12} {:<32} command",
            "machine", "process", "who", "state", "up", "cpu", "memory", "restarts", "by", "job"
        )];
        for (machine, rows) in &self.machines {
            for row in rows.iter().flatten() {
                let ProcessInfo { running, restarts, .. } = row;
                let time = |nanos| seconds(Duration::from_nanos(nanos));
                lines.push(format!(
                    "{machine:<12} {:>8} {:<10} {:<9} {:>9} {:>9} {:>10} {restarts:>8}  {:<12} {:<32} {}",
                    running.pid,
                    who(row),
                    state(running.state),
                    time(running.age),
                    time(running.cpu),
                    bytes(running.memory),
                    self.owner(row),
                    running.job,
                    running.command
                ));
            }
        }
        let of_all = self.machines.iter().filter_map(|(_, rows)| rows.as_ref().ok()).map(Vec::len);
        lines.push(format!("{} processes", of_all.sum::<usize>()));
        for (machine, rows) in &self.machines {
            lines.extend(rows.as_ref().err().map(|why| format!("{machine}: not known: {why}")));
        }
        lines.join("\n") + "\n"
    }

    fn owner(&self, row: &ProcessInfo) -> String {
        let name = row.owner.and_then(|identity| self.names.get(&identity).cloned());
        name.unwrap_or_else(|| if row.owner.is_some() { "a former member" } else { "-" }.to_owned())
    }

    fn as_json(&self) -> Value {
        let machines = self.machines.iter().map(|(machine, rows)| match rows {
            Err(why) => json!({"machine": machine, "error": why}),
            Ok(rows) => json!({"machine": machine, "processes": rows.iter().map(|row| self.row(row)).collect::<Vec<_>>()}),
        });
        json!({"machines": machines.collect::<Vec<_>>()})
    }

    fn row(&self, row: &ProcessInfo) -> Value {
        let ProcessInfo { running, restarts, owner, .. } = row;
        let time = |nanos| Duration::from_nanos(nanos).as_secs_f64();
        json!({
            "process": running.pid, "processes": running.count, "who": who(row), "rank": running.rank,
            "state": state(running.state), "up_s": time(running.age), "cpu_s": time(running.cpu),
            "memory_bytes": running.memory, "restarts": restarts, "by": owner.map(|_| self.owner(row)),
            "by_agent": running.process.is_some(), "job": running.job, "command": running.command,
        })
    }
}

/// Agents of one host all see its processes: each is shown where an agent has started it, else where it was named first.
fn each_once(machines: &mut [(String, Result<Vec<ProcessInfo>, String>)]) {
    // Numbers of the system are those of one host only; a job has each rank once.
    let key = |row: &ProcessInfo| {
        let RunningProcess { pid, rank, job, command, .. } = &row.running;
        (*pid, *rank, job.clone(), command.clone())
    };
    let rows = machines.iter().flat_map(|(_, rows)| rows.iter().flatten());
    let mut shown: BTreeSet<_> = rows.filter(|row| row.running.process.is_some()).map(key).collect();
    for rows in machines.iter_mut().filter_map(|(_, rows)| rows.as_mut().ok()) {
        rows.retain(|row| {
            row.running.process.is_some() || row.running.job.is_empty() || shown.insert(key(row))
        });
    }
}

fn of_this_machine(running: RunningProcess) -> ProcessInfo {
    ProcessInfo { running, name: String::new(), restarts: 0, owner: None }
}

/// What it is in its job.
fn who(row: &ProcessInfo) -> String {
    match row.running.rank {
        _ if !row.name.is_empty() => row.name.clone(),
        Some(rank) => format!("worker {rank}"),
        None => "master".to_owned(),
    }
}

/// A state of the system in a word.
fn state(state: u8) -> &'static str {
    match state {
        b'R' => "running",
        b'S' | b'D' | b'I' => "sleeping",
        b'T' | b't' => "stopped",
        b'Z' | b'X' => "ended",
        _ => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(pid: u32, job: &str, by_agent: bool) -> ProcessInfo {
        let process = by_agent.then_some(7);
        let (job, command) = (job.to_owned(), "python -m quintet.worker".to_owned());
        let (count, state, age, cpu, memory, rank) = (1, b'R', 0, 0, 0, Some(0));
        of_this_machine(RunningProcess { process, pid, count, state, age, cpu, memory, rank, job, command })
    }

    #[test]
    fn a_process_that_two_agents_of_a_host_see_is_shown_once_with_the_one_that_has_started_it() {
        let (seen, started) = (row(1, "job", false), row(1, "job", true));
        let alone = row(1, "another", false);
        let mut machines = [
            ("a".to_owned(), Ok(vec![seen.clone(), row(2, "job", false), alone])),
            ("b".to_owned(), Ok(vec![started.clone(), row(2, "job", false)])),
            ("c".to_owned(), Err("silent".to_owned())),
            // Of another host, whose processes have numbers of their own.
            ("d".to_owned(), Ok(vec![started])),
        ];
        each_once(&mut machines);
        let shown = machines.map(|(_, rows)| {
            rows.map(|rows| {
                rows.iter().map(|row| (row.running.pid, row.running.job.clone())).collect::<Vec<_>>()
            })
        });
        let of = |pid, job: &str| (pid, job.to_owned());
        assert_eq!(shown[0], Ok(vec![of(2, "job"), of(1, "another")]));
        assert_eq!(shown[1], Ok(vec![of(1, "job")]));
        assert_eq!(shown[3], Ok(vec![of(1, "job")]));
    }
}
