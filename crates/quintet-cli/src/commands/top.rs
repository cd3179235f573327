//! `quintet top`.

use super::ps::Processes;
use super::status::Observer;
use crate::activity::{Activity, Names, bytes, seconds};
use crate::connection::SpaceArguments;
use crate::watch::{View, interval, watch};
use clap::{Args, ValueEnum};
use quintet::{Address, Error};
use serde_json::{Value, json};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};

#[derive(Args)]
#[command(
    after_help = "A row is a worker that has announced itself in the space. Tasks: those that it has done since it connected. Busy: the share of the time since the last look in which it had a task; a worker that has several at once counts as busy. Now: how long it has had the task that it does. Processors and memory are those of its process and of what it has started; - where no agent tells them.\n\nAt a terminal it is drawn in place until q or ctrl-C; elsewhere a block is printed each time, or with --json an object a line. --looks ends it after so many.\n\nExamples:\n  quintet top\n  quintet top --sort busy --interval 2\n  quintet top --space tcp:127.0.0.1:7400 --looks 2 --json"
)]
pub(crate) struct Arguments {
    /// The cluster whose space is shown; else that of QUINTET_IDENTITY, or the only one that this user has
    #[arg(value_name = "CLUSTER")]
    name: Option<String>,
    #[command(flatten)]
    space: SpaceArguments,
    /// By which column workers are sorted
    #[arg(long, value_enum, default_value_t = Column::Rate)]
    sort: Column,
    /// Seconds between two looks, from 0.1
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = interval)]
    interval: Duration,
    /// End after so many looks
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    looks: Option<u64>,
    /// Print a JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// A column to sort by; the largest come first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Column {
    /// Tasks a second
    Rate,
    /// Tasks done
    Tasks,
    /// The share of the time that it was busy
    Busy,
    /// How long it has had its task
    Now,
    /// Processors
    Cpu,
    /// Memory
    Memory,
    /// Rank, the smallest first
    Rank,
}

/// What is known of a client from one look to the next.
#[derive(Clone, Copy)]
struct Seen {
    tasks: u64,
    /// How long it has had tasks, those included that it has.
    held: Duration,
    cpu: Option<Duration>,
}

struct Row {
    rank: i64,
    pid: i64,
    machine: Option<String>,
    tasks: u64,
    /// Since the last look; none at the first.
    rate: Option<f64>,
    busy: Option<f64>,
    task: Option<(i64, Duration)>,
    cpu: Option<f64>,
    memory: Option<u64>,
}

struct Top {
    observer: Observer,
    sort: Column,
    last: Option<(Instant, BTreeMap<Address, Seen>)>,
}

pub(crate) fn run(arguments: Arguments) -> Result<ExitCode, Error> {
    let Arguments { name, space, sort, interval, looks, json } = arguments;
    let mut top = Top { observer: Observer::new(name, space), sort, last: None };
    watch(interval, json, looks, move || top.view())
}

impl Top {
    fn view(&mut self) -> Result<View, Error> {
        let machines = self.observer.machines()?;
        let names = machines.as_ref().map(|machines| machines.names()).unwrap_or_default();
        let activity = self.observer.activity(machines.as_ref())?;
        // Who does not say what runs is shown without it.
        let processes = Processes::ask(&mut self.observer).ok();
        let now = Instant::now();
        let mut rows = Vec::new();
        let mut seen = BTreeMap::new();
        for client in activity.workers.keys() {
            let (row, state) = self.row(*client, &activity, &names, processes.as_ref(), now);
            rows.push(row);
            seen.insert(*client, state);
        }
        self.last = Some((now, seen));
        rows.sort_by(|a, b| compare(self.sort, a, b).then(a.rank.cmp(&b.rank)));
        Ok(View { text: as_table(&rows, &activity), json: as_json(&rows, &activity, &names) })
    }

    fn row(
        &self,
        client: Address,
        activity: &Activity,
        names: &Names,
        processes: Option<&Processes>,
        now: Instant,
    ) -> (Row, Seen) {
        let worker = activity.workers[&client];
        let machine = activity.machine(client, names);
        let process = processes.and_then(|all| all.find(machine.as_deref(), worker.pid));
        let own = || activity.tasks_taken.iter().filter(|task| task.holder == client);
        let state = activity.clients.get(&client);
        let done: Duration = state.map_or(Duration::ZERO, |state| state.held.into());
        let seen = Seen {
            tasks: state.map_or(0, |state| state.acknowledged),
            held: done + own().map(|task| task.held).sum::<Duration>(),
            cpu: process.map(|process| Duration::from_nanos(process.cpu)),
        };
        let before =
            self.last.as_ref().and_then(|(at, all)| Some((now.duration_since(*at), all.get(&client)?)));
        let share = |part: Duration, of: Duration| part.as_secs_f64() / of.as_secs_f64().max(1e-9);
        #[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
        let rate = |(passed, before): (Duration, &Seen)| {
            seen.tasks.saturating_sub(before.tasks) as f64 / passed.as_secs_f64().max(1e-9)
        };
        let busy = |(passed, before): (Duration, &Seen)| {
            share(seen.held.saturating_sub(before.held), passed).min(1.0)
        };
        let cpu =
            |(passed, before): (Duration, &Seen)| Some(share(seen.cpu?.saturating_sub(before.cpu?), passed));
        let row = Row {
            rank: worker.rank,
            pid: worker.pid,
            machine,
            tasks: seen.tasks,
            rate: before.map(rate),
            busy: before.map(busy),
            task: own().next().map(|task| (task.number, task.held)),
            cpu: before.and_then(cpu),
            memory: process.map(|process| process.memory),
        };
        (row, seen)
    }
}

/// The largest first, those of which it is not known last.
fn compare(by: Column, a: &Row, b: &Row) -> Ordering {
    let of = |row: &Row| match by {
        Column::Rate => row.rate,
        Column::Busy => row.busy,
        Column::Now => row.task.map(|(_, held)| held.as_secs_f64()),
        Column::Cpu => row.cpu,
        Column::Tasks | Column::Memory | Column::Rank => None,
    };
    match by {
        Column::Tasks => b.tasks.cmp(&a.tasks),
        Column::Memory => b.memory.cmp(&a.memory),
        Column::Rank => a.rank.cmp(&b.rank),
        _ => of(b).partial_cmp(&of(a)).unwrap_or(Ordering::Equal),
    }
}

fn as_table(rows: &[Row], activity: &Activity) -> String {
    let mut lines = vec![format!(
        "{} workers, {} tasks wait, {} are taken\n{:>6} {:>8} {:<12} {:>9} {:>9} {:>6} {:>8} {:>10} {:>6} {:>10}",
        rows.len(),
        activity.tasks_waiting,
        activity.tasks_taken.len(),
        "rank",
        "process",
        "machine",
        "tasks",
        "tasks/s",
        "busy",
        "task",
        "now",
        "cpu",
        "memory"
    )];
    let dash = || "-".to_owned();
    let percent = |share: Option<f64>| share.map_or_else(dash, |share| format!("{:.0} %", share * 100.0));
    for row in rows {
        lines.push(format!(
            "{:>6} {:>8} {:<12} {:>9} {:>9} {:>6} {:>8} {:>10} {:>6} {:>10}",
            row.rank,
            row.pid,
            row.machine.as_deref().unwrap_or("-"),
            row.tasks,
            row.rate.map_or_else(dash, |rate| format!("{rate:.1}")),
            percent(row.busy),
            row.task.map_or_else(dash, |(number, _)| number.to_string()),
            row.task.map_or_else(dash, |(_, held)| seconds(held)),
            percent(row.cpu),
            row.memory.map_or_else(dash, bytes)
        ));
    }
    lines.join("\n") + "\n"
}

fn as_json(rows: &[Row], activity: &Activity, names: &Names) -> Value {
    let workers = rows.iter().map(|row| {
        json!({
            "rank": row.rank, "process": row.pid, "machine": row.machine, "tasks": row.tasks,
            "tasks_per_s": row.rate, "busy": row.busy, "task": row.task.map(|(number, _)| number),
            "task_s": row.task.map(|(_, held)| held.as_secs_f64()), "cpu": row.cpu, "memory_bytes": row.memory,
        })
    });
    json!({"workers": workers.collect::<Vec<_>>(), "tasks_waiting": activity.tasks_waiting,
        "tasks_taken": activity.tasks_taken.len(), "stalls": activity.stalls(names)})
}
