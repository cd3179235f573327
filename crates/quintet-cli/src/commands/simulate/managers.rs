//! `quintet simulate managers`.

use super::progress;
use crate::chart::{Line, Point, draw};
use crate::output::{first, print};
use crate::whole_file;
use clap::Args;
use quintet::Error;
use quintet_predict::calibrate::Calibrated;
use quintet_predict::managers::{MOST_CLIENTS, ManagersPlan, ManagersRow, managers_row};
use quintet_predict::{CONFIDENCE, Cluster, Keys, Routing};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Args)]
#[command(
    after_help = "The product's own managers, routers and clients run in simulated time, over shared memory, each on a core of its own: what machines with enough cores would give. Clients put a tuple of 64 bytes and take it again, one after the other, each awaited. There are two workloads. By key: each tuple has a number of its client, which every template gives, so that managers share the tuples out among themselves. Without a key: all tuples are of one signature, which is at one manager whatever their number.\nOne manager is a space that is not spread, which has no router. The costs of work are those of docs/cluster.md, or of [costs] and [memory] of MACHINES; docs/performance.md says how they were found and what is measured live.\n\nExample:\n  quintet simulate managers\n  quintet simulate managers --managers 1,2,4,8,16 --clients 64 --plot managers.svg\n  quintet simulate managers models/lab-10g.toml --json"
)]
pub(crate) struct Arguments {
    /// Whose costs of work are used: a file of machines, as of `quintet simulate cluster`
    #[arg(value_name = "MACHINES")]
    machines: Option<PathBuf>,
    /// Over how many managers the space is spread, a row for each
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_values_t = [1, 2, 4, 8], value_parser = clap::value_parser!(u8).range(1..=16))]
    managers: Vec<u8>,
    /// How many clients put and take at the same time
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=i64::from(MOST_CLIENTS)))]
    clients: u16,
    /// How many runs of each row, from seed 0 on: the seed decides at which manager a key is
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000))]
    seeds: u64,
    /// Draw pairs a second against managers, as an SVG file
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Print a JSON object a cost and a row, one a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Workloads, and what they are called.
const WORKLOADS: [(Keys, &str); 2] = [(Keys::Own, "by key"), (Keys::None, "without a key")];

/// A cost: its name, its nanoseconds, where it is from and why it is so much.
struct Cost {
    name: &'static str,
    nanoseconds: f64,
    origin: &'static str,
    because: String,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let calibrated = calibrated(arguments)?;
    let costs = costs(arguments, &calibrated);
    let rows = rows(arguments, &calibrated);
    let text = match arguments.json {
        true => objects(&costs, &rows),
        false => in_words(arguments, &costs, &rows),
    };
    let shown = print(&text).map(drop);
    let drawn = arguments.plot.as_deref().map_or(Ok(()), |path| {
        whole_file::write(path, |to| {
            to.write_all(svg(arguments, &rows).as_bytes()).map_err(|error| whole_file::refused(path, &error))
        })
    });
    first([shown, drawn].into_iter().filter_map(Result::err))?;
    Ok(ExitCode::SUCCESS)
}

/// The costs that were asked for, over shared memory.
fn calibrated(arguments: &Arguments) -> Result<Calibrated, Error> {
    let Some(machines) = &arguments.machines else { return Ok(Calibrated::default()) };
    let wrong = |error: quintet_model::ModelError| Error::new(error.code(), error.to_string());
    let Cluster { link, link_latency, costs, .. } = Cluster::from_file(machines).map_err(wrong)?;
    Ok(Calibrated { link, costs, latency: link_latency.as_seconds() })
}

/// Of what the runs are made, each with where it is from.
fn costs(arguments: &Arguments, calibrated: &Calibrated) -> [Cost; 9] {
    let Calibrated { costs, latency, .. } = calibrated;
    let Routing { asking, serving, answering } = Routing::of(costs);
    let cost = |name, seconds: f64, origin, because: &str| Cost {
        name,
        nanoseconds: seconds * 1e9,
        origin,
        because: because.to_owned(),
    };
    let of_work = |name, seconds: f64, because: &str| match &arguments.machines {
        Some(file) => cost(name, seconds, "given", &file.display().to_string()),
        None => cost(name, seconds, "fitted", because),
    };
    let in_process = "a pair in one process: two operations, a comparison, a tuple stored";
    let under_way = "64 pairs under way at once";
    let routing = "a part of a pair in one process, by quintet bench space --case routing-asking and so on";
    [
        of_work("operation of a program", costs.call, in_process),
        of_work("tuple compared", costs.matching, in_process),
        of_work("tuple stored", costs.storing, in_process),
        of_work("frame sent", costs.sending, under_way),
        of_work("frame received", costs.receiving, under_way),
        of_work("way of a frame", *latency, "a pair whose space is in another process"),
        cost("router, a request", asking, "fitted", routing),
        cost("one of several managers, a request", serving, "fitted", routing),
        cost("router, an answer", answering, "fitted", routing),
    ]
}

/// The rows of each workload, one a number of managers.
fn rows(arguments: &Arguments, calibrated: &Calibrated) -> Vec<(&'static str, Vec<ManagersRow>)> {
    let clients = arguments.clients;
    let bar = progress((WORKLOADS.len() * arguments.managers.len()) as u64);
    let row = |keys, managers| {
        let plan = ManagersPlan { keys, managers, clients };
        let row = managers_row(calibrated, &plan, arguments.seeds);
        bar.inc(1);
        row
    };
    let rows = WORKLOADS
        .map(|(keys, name)| (name, arguments.managers.iter().map(|managers| row(keys, *managers)).collect()));
    bar.finish_and_clear();
    rows.into()
}

fn in_words(arguments: &Arguments, costs: &[Cost], rows: &[(&str, Vec<ManagersRow>)]) -> String {
    let mut text = String::new();
    for Cost { name, nanoseconds, origin, because } in costs {
        let _ = writeln!(text, "  {name:36} {nanoseconds:>6.0} ns  {origin:6}  {because}");
    }
    for (name, rows) in rows {
        let _ =
            writeln!(text, "\n{name}\n{:>9} {:>26} {:>10} {:>14}", "managers", "pairs/s", "times", "busiest");
        for row in rows {
            let pairs = row.interval(|run| run.pairs_per_second);
            let spread = if pairs.half_width.is_finite() {
                format!(" +- {:.0}", pairs.half_width)
            } else {
                String::new()
            };
            let times = pairs.mean / pairs_of(&rows[0]);
            let _ = writeln!(
                text,
                "{:>9} {:>26} {times:>10.2} {:>12.1} %",
                row.plan.managers,
                format!("{:.0}{spread}", pairs.mean),
                100.0 * row.busiest()
            );
        }
    }
    let _ = writeln!(
        text,
        "\n{} clients, and means over {} seeds, with where the true mean lies with {:.0} % confidence; times: by the first row; busiest: how busy the core of that manager was which was busiest.",
        arguments.clients,
        arguments.seeds,
        100.0 * CONFIDENCE
    );
    text
}

fn pairs_of(row: &ManagersRow) -> f64 {
    row.interval(|run| run.pairs_per_second).mean
}

fn objects(costs: &[Cost], rows: &[(&str, Vec<ManagersRow>)]) -> String {
    let cost = |Cost { name, nanoseconds, origin, because }: &Cost| json!({"cost": name, "ns": nanoseconds, "origin": origin, "because": because});
    let row = |name: &str, row: &ManagersRow| {
        let pairs = row.interval(|run| run.pairs_per_second);
        let runs = row.runs.iter().map(|run| {
            json!({"pairs_per_s": run.pairs_per_second, "busy": run.busy, "digest": format!("{:016x}", run.digest)})
        });
        json!({
            "workload": name, "managers": row.plan.managers, "clients": row.plan.clients,
            "pairs_per_s": {"mean": pairs.mean, "half_width": pairs.half_width}, "confidence": CONFIDENCE,
            "busiest": row.busiest(), "runs": runs.collect::<Vec<Value>>(),
        })
    };
    let rows = rows.iter().flat_map(|(name, rows)| rows.iter().map(move |one| row(name, one)));
    costs.iter().map(cost).chain(rows).map(|object| format!("{object}\n")).collect()
}

fn svg(arguments: &Arguments, rows: &[(&str, Vec<ManagersRow>)]) -> String {
    let point = |row: &ManagersRow| {
        let pairs = row.interval(|run| run.pairs_per_second);
        let half_width = if pairs.half_width.is_finite() { pairs.half_width } else { 0.0 };
        Point { x: row.plan.managers.into(), mean: pairs.mean / 1e3, half_width: half_width / 1e3 }
    };
    let lines: Vec<Line> = rows
        .iter()
        .map(|(name, rows)| Line { name: (*name).to_owned(), points: rows.iter().map(point).collect() })
        .collect();
    draw(&format!("{} clients that put and take", arguments.clients), "managers", "1000 pairs/s", &lines)
}
