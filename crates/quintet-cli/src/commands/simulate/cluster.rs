//! `quintet simulate cluster`.

use super::progress;
use crate::interrupt::on_interrupt;
use crate::output::print;
use clap::Args;
use quintet::{Code, Error};
use quintet_contract::Span;
use quintet_model::Watch;
use quintet_predict::{CONFIDENCE, Cluster, FarmRun, Job, Row, study_watched};
use quintet_simulate::statistics::Interval;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

#[derive(Args)]
#[command(
    after_help = "docs/cluster.md lists every key of the two files. Ctrl-C shows the rows that are finished, and says which are not; the exit status is 130 then.\n\nExample:\n  quintet simulate cluster models/lab-10g.toml examples/farm.toml --workers 1,2,4,8 --seeds 10"
)]
pub(crate) struct Arguments {
    /// The machines and what joins them
    #[arg(value_name = "MACHINES")]
    machines: PathBuf,
    /// The job
    #[arg(value_name = "JOB")]
    job: PathBuf,
    /// How many runs of each row, from seed 0 on
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    seeds: u64,
    /// A row for each number of workers, instead of the job's
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..=30_000))]
    workers: Vec<u16>,
    /// Print a JSON object a row, one a line
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let wrong = |error: quintet_model::ModelError| Error::new(error.code(), error.to_string());
    let cluster = Cluster::from_file(&arguments.machines).map_err(wrong)?;
    let job = Job::from_file(&arguments.job).map_err(wrong)?;
    let mut workers: Vec<usize> = arguments.workers.iter().map(|workers| usize::from(*workers)).collect();
    if workers.is_empty() {
        workers.push(job.workers);
    }
    let stop = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&stop);
    on_interrupt(move |_| told.store(true, Relaxed))?;
    let bar = progress(workers.len() as u64 * arguments.seeds);
    let watch = Watch { stop: &stop, ended: &|| bar.inc(1) };
    let rows = study_watched(&cluster, &job, &workers, arguments.seeds, &watch);
    bar.finish_and_clear();
    let rows = rows.map_err(|error| Error::new(Code::BadValue, error.to_string()))?;
    let text = match arguments.json {
        true => rows.iter().map(|row| format!("{}\n", as_json(row, &job))).collect(),
        false if rows.is_empty() => String::new(),
        false => in_words(&rows, &job),
    };
    print(&text)?;
    interrupted(&rows, workers.len(), arguments.seeds)?;
    let failed: usize = rows.iter().map(|row| row.failures.len()).sum();
    if failed > 0 {
        return Err(Error::new(Code::BadValue, format!("{failed} runs failed, as is said with their rows")));
    }
    Ok(ExitCode::SUCCESS)
}

/// What is missing of what was asked for.
///
/// # Errors
/// [`Code::Cancelled`]: something is.
fn interrupted(rows: &[Row], asked: usize, seeds: u64) -> Result<(), Error> {
    let is_whole = |row: &&Row| row.made() as u64 == seeds;
    let whole = rows.iter().filter(is_whole).count();
    if whole == asked {
        return Ok(());
    }
    let part = rows.iter().find(|row| !is_whole(row));
    let part =
        part.map(|row| format!("; that of {} workers has {} of its {seeds} runs", row.workers, row.made()));
    let text = format!("{whole} of {asked} rows were finished{}", part.unwrap_or_default());
    Err(Error::new(Code::Cancelled, text))
}

/// A column: its head, its width, and what it says of a row.
type Column = (&'static str, usize, fn(&Row, &Job) -> String);

const COLUMNS: [Column; 7] = [
    ("workers", 7, |row, _| row.workers.to_string()),
    ("makespan", 24, |row, _| show(row.interval(|run| run.makespan), seconds)),
    ("tasks/s", 18, |row, job| show(throughput(row, job), |value| format!("{value:.1}"))),
    ("space", 8, |row, _| show_mean(row, |run| Some(run.space))),
    ("workers'", 9, |row, _| show_mean(row, |run| Some(run.workers))),
    ("line", 8, |row, _| show_mean(row, |run| run.network)),
    ("unfinished", 11, |row, _| row.unfinished().to_string()),
];

fn in_words(rows: &[Row], job: &Job) -> String {
    let mut text: String = COLUMNS.iter().map(|(head, width, _)| format!("{head:>width$}")).collect();
    text.push('\n');
    for row in rows {
        text.extend(
            COLUMNS.iter().map(|(_, width, show)| format!("{:>width$}", show(row, job), width = *width)),
        );
        text.push('\n');
    }
    let seeds = rows.iter().map(|row| row.runs.len()).max();
    text += &format!(
        "\nMeans over {} seeds, and where the true mean lies with {:.0} % confidence; space, workers' and line: how busy \
         their cores and the space's line to the network were.\n",
        seeds.unwrap_or_default(),
        CONFIDENCE * 100.0
    );
    text.extend(rows.iter().filter_map(|row| kill_in_words(row, job)));
    text.extend(rows.iter().filter_map(|row| standstill_in_words(row, job)));
    text.extend(rows.iter().flat_map(failures_in_words));
    text
}

/// Why the job of a row came to a standstill.
fn standstill_in_words(row: &Row, job: &Job) -> Option<String> {
    let (workers, unfinished) = (row.workers, row.unfinished());
    let why = match job.kill {
        Some(_) if workers == 1 => "its only worker was killed",
        _ => "no task was put and no result came any more",
    };
    let runs = row.runs.len();
    (unfinished > 0).then(|| format!("{workers} workers: {unfinished} of {runs} runs did not end: {why}\n"))
}

fn failures_in_words(row: &Row) -> impl Iterator<Item = String> {
    let workers = row.workers;
    row.failures.iter().map(move |(seed, why)| format!("{workers} workers, seed {seed}: failed: {why}\n"))
}

/// What became of the task of the worker that was killed, in the first run.
fn kill_in_words(row: &Row, job: &Job) -> Option<String> {
    let (kill, run) = (job.kill?, row.runs.first()?);
    let held = run.killed_with.map_or_else(|| "no task".to_owned(), |task| format!("task {task}"));
    let redone = run.redone.iter().map(|redone| {
        format!("; task {} redone by worker {}, attempt {}", redone.task, redone.worker, redone.attempt)
    });
    let redone: String = redone.collect();
    Some(format!(
        "{} workers, seed {}: worker {}, killed at {}, held {held}{redone}\n",
        row.workers, run.seed, kill.worker, kill.at
    ))
}

fn throughput(row: &Row, job: &Job) -> Option<Interval> {
    row.interval(|run| run.makespan.map(|makespan| job.tasks as f64 / makespan))
}

/// A single run has no interval.
fn show(interval: Option<Interval>, unit: fn(f64) -> String) -> String {
    match interval {
        None => "-".to_owned(),
        Some(Interval { mean, half_width }) if half_width.is_finite() => {
            format!("{} +- {}", unit(mean), unit(half_width))
        }
        Some(Interval { mean, .. }) => unit(mean),
    }
}

fn show_mean(row: &Row, value: fn(&FarmRun) -> Option<f64>) -> String {
    row.interval(value).map_or_else(|| "-".to_owned(), |interval| format!("{:.1} %", interval.mean * 100.0))
}

fn seconds(value: f64) -> String {
    Span((value * 1e9).round() as u64).to_string()
}

fn as_json(row: &Row, job: &Job) -> Value {
    let interval = |interval: Option<Interval>| {
        interval.map(|interval| json!({"mean": interval.mean, "half_width": interval.half_width}))
    };
    let redone = |run: &FarmRun| -> Vec<Value> {
        let each = run.redone.iter();
        each.map(|redone| json!({"task": redone.task, "worker": redone.worker, "attempt": redone.attempt}))
            .collect()
    };
    let run = |run: &FarmRun| {
        json!({
            "seed": run.seed,
            "makespan_s": run.makespan,
            "results": run.results,
            "killed_with": run.killed_with,
            "redone": redone(run),
            "events": run.events,
            "digest": format!("{:016x}", run.digest),
        })
    };
    let failure = |(seed, why): &(u64, String)| json!({"seed": seed, "text": why});
    json!({
        "workers": row.workers,
        "confidence": CONFIDENCE,
        "makespan_s": interval(row.interval(|run| run.makespan)),
        "tasks_per_s": interval(throughput(row, job)),
        "space": interval(row.interval(|run| Some(run.space))),
        "workers_busy": interval(row.interval(|run| Some(run.workers))),
        "line": interval(row.interval(|run| run.network)),
        "unfinished": row.unfinished(),
        "failures": row.failures.iter().map(failure).collect::<Vec<_>>(),
        "runs": row.runs.iter().map(run).collect::<Vec<_>>(),
    })
}
