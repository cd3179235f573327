//! `quintet status`.

use super::cluster::agents::{Agents, Answers};
use super::cluster::machines::Machines;
use super::cluster::{place, refused};
use super::space;
use crate::activity::{Activity, Names};
use crate::asking::Asking;
use crate::connection::SpaceArguments;
use crate::output::tell;
use crate::replicas;
use crate::watch::{View, WatchArguments};
use clap::Args;
use quintet::{Code, Error, Lab, Replica, SpaceAddress, State};
use quintet_launch::ProcessInfo;
use serde_json::{Value, json};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// So long machines are kept from being shown by a space that does not answer.
const SPACE_LIMIT: Duration = Duration::from_secs(1);

#[derive(Args)]
#[command(
    after_help = "Of a machine that belongs to a cluster, its machines are shown, and the cluster's space, unless another one is named. After the space's numbers come its tasks, what keeps them waiting (STALLED), and who waits for what, with why that can still come. Of a replicated space that is named, each server is shown with what it does: leads, follows, has no log.\n\nWith --watch it is shown until q or ctrl-C, also while the space or the agent is lost for a while.\n\nExamples:\n  quintet status\n  quintet status lab --watch\n  quintet status --space quintet://lab\n  quintet status --space tcp:127.0.0.1:7400 --json\n  quintet status --watch --interval 5 --json >> seen.jsonl"
)]
pub(crate) struct Arguments {
    /// The cluster whose machines are shown, as `quintet up` names it; else that of QUINTET_IDENTITY, or the only one that this user has
    #[arg(value_name = "CLUSTER")]
    name: Option<String>,
    #[command(flatten)]
    space: SpaceArguments,
    #[command(flatten)]
    watch: WatchArguments,
    /// Print a JSON object; with --watch one a line
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(arguments: Arguments) -> Result<ExitCode, Error> {
    let Arguments { name, space, watch, json } = arguments;
    let mut observer = Observer::new(name, space);
    watch.show(json, move || observer.view())
}

/// Who looks: its connections stay from one look to the next.
pub(crate) struct Observer {
    cluster: Option<String>,
    space: SpaceArguments,
    lab: Connection,
    asking: Asking<Result<Activity, Error>>,
    agents: Option<Agents>,
}

/// The connection to the space, while nobody uses it.
type Connection = Arc<Mutex<Option<Lab>>>;

impl Observer {
    pub(crate) fn new(cluster: Option<String>, space: SpaceArguments) -> Observer {
        Observer { cluster, space, lab: Connection::default(), asking: Asking::new(), agents: None }
    }

    /// The machines, if some are meant, and what goes on in the space.
    ///
    /// # Errors
    /// Neither can be told.
    fn view(&mut self) -> Result<View, Error> {
        let machines = self.machines();
        let activity = self.activity(machines.as_ref().ok().and_then(Option::as_ref));
        let machines = match machines {
            // Where a space is served, that is shown all the same.
            Err(error) if activity.is_ok() => {
                tell(&error);
                None
            }
            machines => machines?,
        };
        let Some(machines) = machines else {
            let (activity, names) = (activity?, Names::default());
            let replicas = self.space.replicas()?;
            return Ok(View {
                text: as_table(&activity, &replicas, &names),
                json: as_json(&activity, &replicas, &names),
            });
        };
        // The machines are shown all the same where the cluster's space cannot be reached.
        let names = machines.names();
        let (space, mut json) = match &activity {
            Ok(activity) => (as_table(activity, &[], &names), as_json(activity, &[], &names)),
            Err(error) => {
                let object = json!({"space": {"error": error.code().name(), "text": error.text()}});
                (format!("the cluster's space: {error}\n"), object)
            }
        };
        json["cluster"] = machines.as_json();
        Ok(View { text: format!("{}\n{space}", machines.as_table()), json })
    }

    /// The machines of the cluster that is meant, with what their agents say; none where another space is named.
    ///
    /// # Errors
    /// As of [`Machines::of_cluster`].
    pub(crate) fn machines(&mut self) -> Result<Option<Machines>, Error> {
        let cluster = self.cluster.as_deref();
        if cluster.is_none() && self.space.names_a_space()? {
            return Ok(None);
        }
        let Some(folder) = place::chosen(cluster)? else { return Ok(None) };
        let machines = Machines::ask(&folder).map_err(refused)?;
        if self.agents.is_none() {
            self.agents = Some(Agents::new(&folder)?);
        }
        Ok(Some(match &mut self.agents {
            Some(agents) => machines.with_infos(agents),
            None => machines,
        }))
    }

    /// Which processes run on these machines.
    pub(crate) fn processes(&mut self, machines: &Machines) -> Answers<Vec<ProcessInfo>> {
        self.agents.as_mut().map(|agents| agents.processes(machines)).unwrap_or_default()
    }

    /// What goes on in the space: in that of the cluster of these machines, or in the one that is named. A connection that failed is made anew
    /// the next time.
    ///
    /// # Errors
    /// The space cannot be reached. That of a cluster is not asked where its machine does not seem to be there, and has a second to answer.
    pub(crate) fn activity(&mut self, machines: Option<&Machines>) -> Result<Activity, Error> {
        let (space, connection) = (self.space.clone(), Arc::clone(&self.lab));
        let Some(machines) = machines else {
            let names_nothing = self.cluster.is_none() && !space.names_a_space()?;
            let read = read(&connection, || space.lab());
            return read.map_err(|error| if names_nothing { in_no_cluster(&error) } else { error });
        };
        if let Some(why) = machines.why_without_space() {
            return Err(why);
        }
        let folder = place::folder(self.cluster.as_deref())?;
        let address = SpaceAddress::Cluster(folder.to_string_lossy().into_owned());
        let asked = address.clone();
        let ask = move || read(&connection, || space.lab_at(asked));
        self.asking.within(SPACE_LIMIT, ask).unwrap_or_else(|| {
            let text = format!(
                "it has not answered for {SPACE_LIMIT:?}: quintet status --space {address} waits longer"
            );
            Err(Error::new(Code::PeerSilent, text))
        })
    }
}

/// What goes on in the space to which this connection leads, which `connect` makes where there is none.
fn read(connection: &Connection, connect: impl FnOnce() -> Result<Lab, Error>) -> Result<Activity, Error> {
    let kept = || connection.lock().unwrap_or_else(PoisonError::into_inner);
    let lab = kept().take();
    let lab = lab.map_or_else(connect, Ok)?;
    let mut activity = Activity::read(&lab.space())?;
    activity.spaces = lab.spaces()?;
    *kept() = Some(lab);
    Ok(activity)
}

/// Neither is there a space to show, nor a cluster.
pub(crate) fn in_no_cluster(error: &Error) -> Error {
    let text = format!(
        "{} (quintet serve starts one there, --space ADDRESS names another); nor does this machine belong to a cluster: quintet init NAME makes one, quintet join joins one",
        error.text()
    );
    Error::new(error.code(), text)
}

fn counts(state: &State) -> [(&'static str, u64); 11] {
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
        ("moved_keys", state.moved_keys),
    ]
}

fn as_json(activity: &Activity, replicas: &[Replica], names: &Names) -> Value {
    let state = &activity.state;
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
    let spaces = activity.spaces.iter().map(|space| space::as_json(space, &names.by_identity));
    object.insert("spaces".to_owned(), spaces.collect());
    if !replicas.is_empty() {
        object.insert("replicas".to_owned(), replicas::as_json(replicas));
    }
    let mut object = Value::from(object);
    if let (Value::Object(object), Value::Object(activity)) = (&mut object, activity.as_json(names)) {
        object.extend(activity);
    }
    object
}

fn as_table(activity: &Activity, replicas: &[Replica], names: &Names) -> String {
    let state = &activity.state;
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
    if !activity.spaces.is_empty() {
        lines.push(format!("\n{}", space::as_table(&activity.spaces).trim_end()));
    }
    if !replicas.is_empty() {
        lines.push(format!("\n{}", replicas::as_table(replicas)));
    }
    format!("{}\n\n{}", lines.join("\n"), activity.as_table(names))
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
        let activity = Activity::read(&space).unwrap();
        let object = as_json(&activity, &[], &Names::default());
        assert_eq!((&object["tuples"], &object["leases"]), (&json!(1), &json!(1)));
        assert_eq!(object["rows"][0]["signature"], "(text, i64)");
        let table = as_table(&activity, &[], &Names::default());
        assert!(table.contains("leases                   1"), "{table}");
        assert!(table.contains("         1          1          0  (text, i64)\n"), "{table}");
        lease.release().unwrap();
    }
}
