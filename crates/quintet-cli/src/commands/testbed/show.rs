//! How a testbed is, for people and for programs.

use core::num::NonZeroU64;
use core::time::Duration;
use quintet_testbed::{Impairment, LineReport, Machine, MachineReport, Mode, Report, Testbed};
use serde_json::{Value, json};

const MILLION: f64 = 1e6;

/// A testbed and its machines.
pub(super) fn made(testbed: &Testbed) -> Value {
    json!({
        "name": testbed.name(),
        "mode": mode(testbed),
        "machines": testbed.machines().iter().map(machine).collect::<Vec<_>>(),
    })
}

/// The same with how everything is.
pub(super) fn as_json(testbed: &Testbed, report: &Report) -> Value {
    let machine = |report: &MachineReport| {
        let mut object = machine(&report.machine);
        object["state"] = state(report).into();
        object["processes"] = report.processes.into();
        object["stopped"] = report.stopped.into();
        object
    };
    json!({
        "name": testbed.name(),
        "mode": mode(testbed),
        "has_switch": report.has_switch,
        "machines": report.machines.iter().map(machine).collect::<Vec<_>>(),
        "lines": report.lines.iter().map(line).collect::<Vec<_>>(),
    })
}

pub(super) fn as_table(testbed: &Testbed, report: &Report) -> String {
    let mut text = format!("testbed {}: {}\n", testbed.name(), mode(testbed));
    if !report.has_switch {
        text += "its switch has ended, and its machines are without a network: take it down, and up again\n";
    }
    text += &format!("\n{:<12} {:<16} {:>9}  state\n", "machine", "address", "processes");
    for report in &report.machines {
        let (name, address) = (report.machine.name(), report.machine.address().to_string());
        text += &format!("{name:<12} {address:<16} {:>9}  {}\n", report.processes, state(report));
    }
    if !report.lines.is_empty() {
        let heads = ["line", "packets", "lost", "queue full", "cut", "on the way"];
        text += &format!(
            "\n{:<16} {:>10} {:>8} {:>10} {:>8} {:>10}  what is wrong\n",
            heads[0], heads[1], heads[2], heads[3], heads[4], heads[5]
        );
    }
    for line in &report.lines {
        let (name, counts) = (format!("{} to {}", line.from, line.to), &line.counts);
        text += &format!(
            "{name:<16} {:>10} {:>8} {:>10} {:>8} {:>10}  {}\n",
            counts.forwarded,
            counts.lost,
            counts.overflowed,
            counts.cut,
            line.held,
            wrong(line)
        );
    }
    text
}

/// What is wrong with a line, in words.
pub(super) fn wrong(line: &LineReport) -> String {
    let Impairment { delay, jitter, reorder_by, .. } = line.impairment;
    let part = |per_million: u32| format!("{} %", f64::from(per_million) / MILLION * 100.0);
    let mut words = Vec::new();
    if line.is_cut {
        words.push("cut".to_owned());
    }
    if delay > Duration::ZERO || jitter > Duration::ZERO {
        words.push(format!("{delay:?} late, up to {jitter:?} more"));
    }
    if line.impairment.drop_per_million > 0 {
        words.push(format!("{} lost", part(line.impairment.drop_per_million)));
    }
    if line.impairment.duplicate_per_million > 0 {
        words.push(format!("{} doubled", part(line.impairment.duplicate_per_million)));
    }
    if line.impairment.reorder_per_million > 0 {
        words.push(format!("{} reordered by {reorder_by:?}", part(line.impairment.reorder_per_million)));
    }
    if let Some(rate) = line.impairment.bytes_per_second {
        let queue = line.impairment.queue_bytes.map_or("any number".to_owned(), |queue| queue.to_string());
        words.push(format!("{rate} B/s, {queue} B wait at most"));
    }
    if words.is_empty() { "nothing".to_owned() } else { words.join("; ") }
}

fn mode(testbed: &Testbed) -> &'static str {
    match testbed.mode() {
        Mode::Namespaces => "namespaces",
        Mode::Loopback => "loopback",
    }
}

fn machine(machine: &Machine) -> Value {
    json!({
        "name": machine.name(),
        "address": machine.address().to_string(),
        "namespace": machine.namespace(),
        "folder": machine.folder().to_string_lossy(),
    })
}

fn state(report: &MachineReport) -> &'static str {
    match report {
        MachineReport { is_there: false, .. } => "gone",
        MachineReport { is_plugged: false, .. } => "no network",
        MachineReport { processes: 0, .. } => "idle",
        MachineReport { processes, stopped, .. } if processes == stopped => "frozen",
        _ => "running",
    }
}

fn line(line: &LineReport) -> Value {
    let (wrong, counts) = (&line.impairment, &line.counts);
    json!({
        "from": line.from,
        "to": line.to,
        "cut": line.is_cut,
        "delay_us": microseconds(wrong.delay),
        "jitter_us": microseconds(wrong.jitter),
        "loss_per_million": wrong.drop_per_million,
        "duplicate_per_million": wrong.duplicate_per_million,
        "reorder_per_million": wrong.reorder_per_million,
        "reorder_by_us": microseconds(wrong.reorder_by),
        "bytes_per_second": wrong.bytes_per_second.map(NonZeroU64::get),
        "queue_bytes": wrong.queue_bytes.map(NonZeroU64::get),
        "packets": {
            "forwarded": counts.forwarded,
            "forwarded_bytes": counts.forwarded_bytes,
            "lost": counts.lost,
            "queue_full": counts.overflowed,
            "lost_to_cuts": counts.cut,
            "on_the_way": line.held,
        },
    })
}

fn microseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
