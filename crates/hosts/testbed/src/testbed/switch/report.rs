//! How the lines of a testbed are: as the switch tells it, and as it is read.

use super::super::network::{Counts, Network};
use super::super::request::{nanoseconds, number};
use core::num::NonZeroU64;
use core::time::Duration;
use quintet_line::Impairment;
use serde_json::{Value, json};

/// How one line is, from a machine to another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LineReport {
    /// Whose packets it carries.
    pub from: String,
    /// To whom.
    pub to: String,
    /// Whether it carries nothing.
    pub is_cut: bool,
    /// What else is wrong with it.
    pub impairment: Impairment,
    /// What it has carried and lost since the testbed was made.
    pub counts: Counts,
    /// Packets that are on their way.
    pub held: u64,
}

/// The answer to `show`.
pub(super) fn of(network: &Network, is_plugged: &[bool]) -> Value {
    let pairs = (0..is_plugged.len()).flat_map(|from| (0..is_plugged.len()).map(move |to| (from, to)));
    let lines: Vec<Value> = pairs
        .filter_map(|(from, to)| {
            let way = network.way(from, to)?;
            let (wrong, counts) = (way.impairment(), way.counts());
            Some(json!({
                "from": from,
                "to": to,
                "cut": way.is_cut(),
                "delay_ns": nanoseconds(wrong.delay),
                "jitter_ns": nanoseconds(wrong.jitter),
                "drop_per_million": wrong.drop_per_million,
                "duplicate_per_million": wrong.duplicate_per_million,
                "reorder_per_million": wrong.reorder_per_million,
                "reorder_by_ns": nanoseconds(wrong.reorder_by),
                "bytes_per_second": wrong.bytes_per_second.map(NonZeroU64::get),
                "queue_bytes": wrong.queue_bytes.map(NonZeroU64::get),
                "forwarded": counts.forwarded,
                "forwarded_bytes": counts.forwarded_bytes,
                "lost": counts.lost,
                "overflowed": counts.overflowed,
                "lost_to_cuts": counts.cut,
                "held": way.held(),
            }))
        })
        .collect();
    json!({"plugged": is_plugged, "lines": lines})
}

/// What the answer says of the lines, and which machines have their device. `None` if it is no such answer.
pub(in crate::testbed) fn read(answer: &Value, names: &[String]) -> Option<(Vec<LineReport>, Vec<bool>)> {
    let lines =
        answer["lines"].as_array()?.iter().map(|line| line_report(line, names)).collect::<Option<_>>()?;
    let plugged = answer["plugged"].as_array()?.iter().map(Value::as_bool).collect::<Option<_>>()?;
    Some((lines, plugged))
}

fn line_report(line: &Value, names: &[String]) -> Option<LineReport> {
    let name = |end| names.get(usize::try_from(number(line, end)?).ok()?).cloned();
    let time = |name| number(line, name).map(Duration::from_nanos);
    let share = |name| u32::try_from(number(line, name)?).ok();
    Some(LineReport {
        from: name("from")?,
        to: name("to")?,
        is_cut: line["cut"].as_bool()?,
        impairment: Impairment {
            delay: time("delay_ns")?,
            jitter: time("jitter_ns")?,
            drop_per_million: share("drop_per_million")?,
            duplicate_per_million: share("duplicate_per_million")?,
            reorder_per_million: share("reorder_per_million")?,
            reorder_by: time("reorder_by_ns")?,
            bytes_per_second: number(line, "bytes_per_second").and_then(NonZeroU64::new),
            queue_bytes: number(line, "queue_bytes").and_then(NonZeroU64::new),
        },
        counts: Counts {
            forwarded: number(line, "forwarded")?,
            forwarded_bytes: number(line, "forwarded_bytes")?,
            lost: number(line, "lost")?,
            overflowed: number(line, "overflowed")?,
            cut: number(line, "lost_to_cuts")?,
        },
        held: number(line, "held")?,
    })
}
