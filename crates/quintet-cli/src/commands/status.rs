//! `quintet status`.

use super::cluster::machines::Machines;
use super::cluster::place;
use crate::connection::SpaceArguments;
use crate::output::{print, print_line, tell};
use clap::Args;
use quintet::{Error, Lab, SpaceAddress, State};
use serde_json::{Value, json};
use std::process::ExitCode;

#[derive(Args)]
#[command(
    after_help = "Of a machine that belongs to a cluster, its machines are shown, and the cluster's space, unless another one is named.\n\nExamples:\n  quintet status\n  quintet status lab\n  quintet status --space quintet://lab\n  quintet status --space tcp:127.0.0.1:7400 --json"
)]
pub(crate) struct Arguments {
    /// The cluster whose machines are shown, as `quintet up` names it; else that of QUINTET_IDENTITY, or the only one that this user has
    #[arg(value_name = "CLUSTER")]
    name: Option<String>,
    #[command(flatten)]
    space: SpaceArguments,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let cluster = arguments.name.as_deref();
    let machines = match cluster.is_none() && arguments.space.names_a_space()? {
        true => Ok(None),
        false => Machines::of_cluster(cluster),
    };
    let lab = match machines {
        Ok(Some(_)) => of_cluster(cluster, &arguments.space),
        _ => arguments.space.lab(),
    };
    let state = lab.and_then(|lab| lab.space().status());
    let machines = match machines {
        // Where a space is served, that is shown all the same.
        Err(error) if state.is_ok() => {
            tell(&error);
            None
        }
        machines => machines?,
    };
    let Some(machines) = machines else {
        let state = state?;
        if arguments.json {
            print_line(as_json(&state))?
        } else {
            print(&as_table(&state))?
        };
        return Ok(ExitCode::SUCCESS);
    };
    // The machines are shown all the same where the cluster's space cannot be reached.
    if arguments.json {
        let mut object = match &state {
            Ok(state) => as_json(state),
            Err(error) => json!({"space": {"error": error.code().name(), "text": error.text()}}),
        };
        object["cluster"] = machines.as_json();
        print_line(object)?;
    } else {
        let space = state.as_ref().map_or_else(|error| format!("the cluster's space: {error}\n"), as_table);
        print(&format!("{}\n{space}", machines.as_table()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Connects to the space of a cluster to which this machine belongs.
fn of_cluster(cluster: Option<&str>, arguments: &SpaceArguments) -> Result<Lab, Error> {
    let folder = place::folder(cluster)?;
    arguments.lab_at(SpaceAddress::Cluster(folder.to_string_lossy().into_owned()))
}

fn counts(state: &State) -> [(&'static str, u64); 10] {
    [
        ("tuples", state.tuples),
        ("bytes", state.bytes),
        ("index_bytes", state.index_bytes),
        ("hidden", state.hidden),
        ("waiters", state.waiters),
        ("leases", state.leases),
        ("parked", state.parked),
        ("redone", state.redone),
        ("dead_letters", state.dead_letters),
        ("signatures", state.signatures),
    ]
}

fn as_json(state: &State) -> Value {
    let mut object: serde_json::Map<String, Value> =
        counts(state).into_iter().map(|(name, count)| (name.to_owned(), count.into())).collect();
    let rows = state.rows.iter().map(|row| {
        json!({
            "signature": row.signature.to_string(),
            "tuples": row.tuples,
            "hidden": row.hidden,
            "waiters": row.waiters,
        })
    });
    object.insert("rows".to_owned(), rows.collect());
    object.into()
}

fn as_table(state: &State) -> String {
    let mut lines: Vec<String> = counts(state)
        .iter()
        .map(|(name, count)| format!("{:<14}{count:>12}", name.replace('_', " ")))
        .collect();
    if !state.rows.is_empty() {
        lines.push(format!("\n{:>10} {:>10} {:>10}  signature", "tuples", "hidden", "waiters"));
    }
    for row in &state.rows {
        lines.push(format!("{:>10} {:>10} {:>10}  {}", row.tuples, row.hidden, row.waiters, row.signature));
    }
    let left_out = state.signatures.saturating_sub(state.rows.len() as u64);
    if left_out > 0 {
        lines.push(format!("and {left_out} signatures more"));
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet::{Lab, template, tuple};

    #[test]
    fn both_forms_show_the_same_counts() {
        let space = Lab::embedded().space();
        space.out(tuple!["x", 1i64]).unwrap();
        space.out(tuple!["x", 2i64]).unwrap();
        let lease = space.lease(&template!["x", ?i64], None).unwrap();
        let state = space.status().unwrap();
        let object = as_json(&state);
        assert_eq!((&object["tuples"], &object["leases"]), (&json!(1), &json!(1)));
        assert_eq!(object["rows"][0]["signature"], "(text, i64)");
        let table = as_table(&state);
        assert!(table.contains("leases                   1"), "{table}");
        assert!(table.ends_with("         1          1          0  (text, i64)\n"), "{table}");
        lease.release().unwrap();
    }
}
