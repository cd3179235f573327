//! A look as lines for a person, and as an object for a program.

use super::picture::{Leak, Leases, Picture, Row, Waits, shown};
use crate::activity::{bytes, seconds};
use quintet::HotKey;
use serde_json::{Value, json};
use std::time::Duration;

impl Picture {
    pub(super) fn as_table(&self, limit: usize) -> String {
        let state = &self.activity.state;
        let mut lines = vec![
            format!(
                "{} tuples ({}), {} leased, {} waiters, {} wait for room, {} clients",
                state.tuples,
                bytes(state.bytes),
                state.leases,
                state.waiters,
                state.parked,
                self.activity.clients.len()
            ),
            format!(
                "\n{:>9} {:>10} {:>9} {:>9} {:>7} {:>9}  {:<18}  partition",
                "tuples", "size", "stored/s", "taken/s", "waits", "oldest", "class"
            ),
        ];
        add(&mut lines, &self.partitions, limit, partition_line);
        if !self.waits.is_empty() {
            lines.push(format!("\n{:>9} {:>9}  {:<28}  waits for", "waits", "oldest", "first"));
            add(&mut lines, &self.waits, limit, |waits| {
                let Waits { template, count, oldest, first } = waits;
                format!("{count:>9} {:>9}  {first:<28}  {template}", seconds(*oldest))
            });
        }
        if !self.leases.is_empty() {
            lines.push(format!("\n{:>9} {:>9}  {:<28}  of", "leases", "oldest", "held by"));
            add(&mut lines, &self.leases, limit, |leases| {
                let Leases { who, partition, count, oldest, .. } = leases;
                format!("{count:>9} {:>9}  {who:<28}  {partition}", seconds(*oldest))
            });
        }
        let all = self.questions();
        if !self.hot_keys.is_empty() {
            let moved = match state.moved_keys {
                0 => String::new(),
                1 => " (1 key was moved to another manager)".to_owned(),
                moved => format!(" ({moved} keys were moved to other managers)"),
            };
            lines.push(format!("\n{:>9}  hot key{moved}", "share"));
            add(&mut lines, &self.hot_keys, limit, |key| {
                format!("{:>7.0} %  {}", 100.0 * share(key, all), shown(key))
            });
        }
        let leaks = self.partitions.iter().filter_map(|row| row.leak.map(|leak| leak_line(row, &leak)));
        let leaks: Vec<String> = leaks.collect();
        if !leaks.is_empty() {
            lines.push(String::new());
            add(&mut lines, &leaks, limit, String::clone);
        }
        lines.join("\n") + "\n"
    }

    pub(super) fn as_json(&self, name: Option<&str>) -> Value {
        let state = &self.activity.state;
        let all = self.questions();
        let waits = self.waits.iter().map(|waits| {
            json!({"template": waits.template, "count": waits.count, "oldest_s": waits.oldest.as_secs_f64(), "first": waits.first})
        });
        let leases = self.leases.iter().map(|leases| {
            json!({"by": leases.who, "client": leases.client.to_string(), "partition": leases.partition, "count": leases.count,
                "oldest_s": leases.oldest.as_secs_f64()})
        });
        let hot = self.hot_keys.iter().map(|key| {
            json!({"template": shown(key), "share": share(key, all), "asked": key.asked, "error": key.error})
        });
        json!({
            "space": name, "tuples": state.tuples, "bytes": state.bytes, "leased": state.leases, "waiters": state.waiters,
            "parked": state.parked, "moved_keys": state.moved_keys, "clients": self.activity.clients.len(),
            "partitions": self.partitions.iter().map(partition_object).collect::<Vec<_>>(),
            "waits": waits.collect::<Vec<_>>(), "leases": leases.collect::<Vec<_>>(), "hot_keys": hot.collect::<Vec<_>>(),
        })
    }

    /// Questions among which the hot keys are.
    fn questions(&self) -> u64 {
        self.hot_keys.iter().map(|key| key.asked).sum()
    }
}

/// The lines of the first rows, and how many there are more.
fn add<T>(lines: &mut Vec<String>, rows: &[T], limit: usize, line: impl Fn(&T) -> String) {
    lines.extend(rows.iter().take(limit).map(line));
    if rows.len() > limit {
        lines.push(format!("and {} more: --limit shows more of them", rows.len() - limit));
    }
}

#[expect(clippy::cast_precision_loss, reason = "shown in percent")]
fn share(key: &HotKey, all: u64) -> f64 {
    key.asked as f64 / all.max(1) as f64
}

fn partition_line(row: &Row) -> String {
    let rate = |rate: Option<f64>| rate.map_or("-".to_owned(), |rate| format!("{rate:.1}"));
    format!(
        "{:>9} {:>10} {:>9} {:>9} {:>7} {:>9}  {:<18}  {}",
        row.partition.tuples,
        bytes(row.partition.bytes),
        rate(row.rates.map(|rates| rates.0)),
        rate(row.rates.map(|rates| rates.1)),
        row.waiters,
        row.oldest_waiter.map_or("-".to_owned(), seconds),
        row.class,
        row.title
    )
}

fn leak_line(row: &Row, leak: &Leak) -> String {
    let why = if leak.was_asked { "nobody was given one" } else { "nobody has ever asked for one" };
    format!("LEAK? {} of {}: {why}, for {}", leak.tuples, row.title, seconds(leak.since))
}

fn partition_object(row: &Row) -> Value {
    let partition = &row.partition;
    let ago = |span: Option<quintet_contract::Span>| span.map(|span| Duration::from(span).as_secs_f64());
    let shapes = partition.shapes.iter().map(|shape| {
        let fields: Vec<u32> = (0..64).filter(|at| shape.actuals >> at & 1 == 1).map(|at| at + 1).collect();
        json!({"values_in_fields": fields, "asked": shape.asked})
    });
    let leak = row.leak.map(
        |leak| json!({"tuples": leak.tuples, "was_asked": leak.was_asked, "since_s": leak.since.as_secs_f64()}),
    );
    json!({
        "partition": row.title, "signature": partition.signature.to_string(), "name": partition.name, "class": row.class.to_string(),
        "tuples": partition.tuples, "bytes": partition.bytes, "leased": row.leased, "put": partition.put, "taken": partition.taken,
        "read": partition.read, "asked": partition.asked, "stored_per_s": row.rates.map(|rates| rates.0),
        "taken_per_s": row.rates.map(|rates| rates.1), "waiters": row.waiters,
        "oldest_waiter_s": row.oldest_waiter.map(|oldest| oldest.as_secs_f64()), "filled_s": ago(partition.filled),
        "since_put_s": ago(partition.since_put), "since_delivery_s": ago(partition.since_delivery),
        "since_asked_s": ago(partition.since_asked), "templates": shapes.collect::<Vec<_>>(), "leak": leak,
    })
}
