//! What goes on in a space: who works at what, who waits for what, and what keeps somebody waiting.
//!
//! It is read from listings of the space ([`quintet::Space::list`]): workers hold a tuple of their own under a lease, and their tasks under
//! others, so that the space itself tells who has which task (the tuples are those of `bindings/python/python/quintet/tasks.py`).

mod calls;

use calls::Calls;
use quintet::{
    Address, Awaited, ClientState, Error, Glimpse, Identity, LinkClass, ListedTuple, Operation, Space,
    SpaceInfo, State, Template, Value, WaitingRequest, template,
};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// Of requests that wait so many are shown.
const MOST_WAITING: usize = 200;
/// Leases that are looked at.
const MOST_LEASES: usize = 10_000;
/// Of each field of what is waited for so many bytes.
const FIELD_BYTES: u32 = 40;
/// And of tuples that say who somebody is.
const NAME_BYTES: u32 = 200;

/// The first fields of tuples for which workers wait that have nothing to do.
const IDLE: [&str; 4] = ["quintet.task", quintet::EVAL, "quintet.master", "quintet.presence"];

/// What goes on in a space.
pub(crate) struct Activity {
    pub(crate) state: State,
    /// By their clients.
    pub(crate) workers: BTreeMap<Address, Worker>,
    /// Tasks that wait for a worker.
    pub(crate) tasks_waiting: u64,
    /// Tasks that somebody has, oldest lease first.
    pub(crate) tasks_taken: Vec<Task>,
    /// Evals of C-Linda that are carried out: where each stands in its program, by the client that does it; how many wait for a process.
    evals: BTreeMap<Address, String>,
    pub(crate) evals_waiting: u64,
    /// Live tuples of workers in Rust and C.
    calls: Calls,
    /// Programs that put tasks: the process of each, by its client.
    masters: BTreeMap<Address, String>,
    /// Requests that wait, oldest first, and how many are not among them.
    waiting: Vec<WaitingRequest>,
    pub(crate) clients: BTreeMap<Address, ClientState>,
    /// The named spaces beside it, by name.
    pub(crate) spaces: Vec<SpaceInfo>,
}

/// A worker that is there.
#[derive(Clone, Copy)]
pub(crate) struct Worker {
    pub(crate) rank: i64,
    pub(crate) pid: i64,
}

/// A task that somebody has.
pub(crate) struct Task {
    pub(crate) pool: String,
    pub(crate) number: i64,
    pub(crate) holder: Address,
    pub(crate) held: Duration,
}

impl Activity {
    /// Reads it from a space.
    ///
    /// # Errors
    /// The space is gone.
    pub(crate) fn read(space: &Space) -> Result<Activity, Error> {
        let task = template!["quintet.task", ?str, ?i64, ?quintet::Bytes];
        let presence = template!["quintet.presence", ?i64, ?i64, ?str];
        let master = template!["quintet.master", ?str, ?str];
        let mut workers = BTreeMap::new();
        for row in leased(space, &presence)? {
            if let [_, Glimpse::Value(Value::I64(rank)), Glimpse::Value(Value::I64(pid)), _] =
                row.1.fields[..]
            {
                workers.insert(row.0, Worker { rank, pid });
            }
        }
        let eval = template!["clinda.eval", ?str, ?i64, ?i32];
        let evals = leased(space, &eval)?.into_iter().map(|(holder, row)| (holder, site(&row.fields)));
        let evals = evals.collect();
        let masters = leased(space, &master)?.into_iter().map(|(holder, row)| (holder, process(&row.fields)));
        let mut tasks_taken: Vec<Task> = leased(space, &task)?.into_iter().filter_map(task_of).collect();
        tasks_taken.sort_by_key(|task| std::cmp::Reverse(task.held));
        let waiting =
            space.waiting().field_bytes(FIELD_BYTES).take(MOST_WAITING).collect::<Result<_, _>>()?;
        let clients = space.clients().collect::<Result<Vec<_>, _>>()?;
        let state = space.status()?;
        Ok(Activity {
            evals,
            evals_waiting: space.count(&eval)?,
            calls: Calls::read(space, &state)?,
            tasks_waiting: space.count(&task)?,
            masters: masters.collect(),
            workers,
            tasks_taken,
            waiting,
            clients: clients.into_iter().map(|client| (client.client, client)).collect(),
            state,
            spaces: Vec::new(),
        })
    }

    /// A client as a person knows it.
    pub(crate) fn name(&self, client: Address, names: &Names) -> String {
        let who = match (self.workers.get(&client), self.masters.get(&client)) {
            (Some(worker), _) => format!("worker {} (process {})", worker.rank, worker.pid),
            (None, Some(process)) => format!("master (process {process})"),
            (None, None) => {
                let call = self.calls.taken.iter().find(|(holder, _)| *holder == client);
                match (self.evals.get(&client), call) {
                    (Some(site), _) => format!("eval of {site}"),
                    (None, Some((_, function))) => format!("worker at {function}"),
                    (None, None) => format!("client {client}"),
                }
            }
        };
        match self.machine(client, names) {
            Some(machine) => format!("{who} on {machine}"),
            None => who,
        }
    }

    /// The machine of a client, where one is known.
    pub(crate) fn machine(&self, client: Address, names: &Names) -> Option<String> {
        let client = self.clients.get(&client)?;
        match client.identity {
            Some(identity) => names.get(&identity).cloned(),
            None => (client.reach != LinkClass::Network).then(|| names.here.clone()).flatten(),
        }
    }

    /// What keeps somebody waiting, in words.
    pub(crate) fn stalls(&self, names: &Names) -> Vec<String> {
        let mut stalls = Vec::new();
        if self.tasks_waiting > 0 && self.workers.is_empty() {
            stalls.push(format!(
                "{} tasks wait, and no worker has announced itself: start some (python -m quintet.worker), or the program with them (quintet run -n 4 \
                 PROGRAM)",
                self.tasks_waiting
            ));
        }
        let waits_itself = |task: &&Task| self.waits_for_results(task.holder);
        let stuck: Vec<&Task> = self.tasks_taken.iter().filter(waits_itself).collect();
        if self.tasks_waiting > 0 && !stuck.is_empty() && stuck.len() >= self.workers.len() {
            let first = stuck.first().map_or_else(String::new, |task| self.name(task.holder, names));
            stalls.push(format!(
                "every worker does a task that waits for others ({first} does, say), and {} tasks wait for a worker: none goes on. Start more workers, or \
                 submit from the program and not from a task",
                self.tasks_waiting
            ));
        }
        stalls.extend(self.calls.stall(&self.waiting));
        let is_parked = |row: &&WaitingRequest| row.awaited == Awaited::Room;
        let parked = self.waiting.iter().filter(is_parked).count();
        if parked > 0 {
            stalls.push(format!("{parked} requests wait for room: the space is full"));
        }
        let hopeless = self.waiting.iter().filter(|row| self.hope(row).is_none());
        for row in hopeless.take(5) {
            stalls.push(format!(
                "{} waits for {}: no such tuple is taken and may return, and every client of the space waits, but for threads that compute",
                self.name(row.client, names),
                wanted(row)
            ));
        }
        stalls
    }

    fn waits_for_results(&self, client: Address) -> bool {
        self.waiting.iter().any(|row| row.client == client && pool_of_result(row).is_some())
    }

    /// Whether a client waits for a tuple of the program's and does no task: as far as is known here, it puts nothing before it has that.
    fn is_blocked(&self, client: Address) -> bool {
        let works = self.tasks_taken.iter().any(|task| task.holder == client);
        let waits = |row: &WaitingRequest| row.client == client && own_wait(row).is_none();
        !works && self.waiting.iter().any(waits)
    }

    /// Why something can still come to a request that waits; none if nothing can.
    fn hope(&self, row: &WaitingRequest) -> Option<String> {
        if let Some(pool) = pool_of_result(row) {
            let taken = self.tasks_taken.iter().filter(|task| task.pool == pool).count();
            return Some(match taken {
                0 => "none of its tasks is being done".to_owned(),
                taken => format!("{taken} of its tasks are being done"),
            });
        }
        match own_wait(row) {
            Some(name) if IDLE.contains(&name) => return Some("it is idle".to_owned()),
            Some(_) => return Some("it only looks whether there is one".to_owned()),
            None => {}
        }
        match row.awaited {
            Awaited::Room => return Some("room comes when tuples are taken".to_owned()),
            Awaited::Link => return Some("its own link is full".to_owned()),
            Awaited::Turn => return Some("it is being searched for".to_owned()),
            Awaited::Tuple => {}
        }
        if row.hidden > 0 {
            return Some(format!("{} tuples of these types are taken, and may return", row.hidden));
        }
        // This command's own client is one of those who do not wait.
        let others =
            self.clients.keys().filter(|client| !self.is_blocked(**client)).count().saturating_sub(1);
        let ends = row.ends_in.is_some();
        match others {
            0 if ends => Some("its time runs out".to_owned()),
            0 => None,
            others => Some(format!("{others} clients do not wait, and may put one")),
        }
    }

    /// Lines that say how the tasks are, what keeps whom, and who waits for whom.
    pub(crate) fn as_table(&self, names: &Names) -> String {
        let mut lines = vec![format!(
            "{} workers, {} tasks wait, {} are taken",
            self.workers.len(),
            self.tasks_waiting,
            self.tasks_taken.len()
        )];
        for task in self.tasks_taken.iter().take(10) {
            let holder = self.name(task.holder, names);
            lines.push(format!("  task {:<8} {:>8}  {holder}", task.number, seconds(task.held)));
        }
        if self.evals_waiting > 0 || !self.evals.is_empty() {
            lines.push(format!(
                "{} evals wait for a process, {} are carried out",
                self.evals_waiting,
                self.evals.len()
            ));
            let waits = |client: &Address| self.waiting.iter().any(|row| row.client == *client);
            for (client, site) in self.evals.iter().take(10) {
                let does = if waits(client) { "waits for a tuple" } else { "computes" };
                lines.push(format!("  eval of {site:<28} {does}"));
            }
        }
        if self.calls.waiting > 0 || !self.calls.taken.is_empty() {
            let (waiting, taken) = (self.calls.waiting, self.calls.taken.len());
            lines.push(format!("{waiting} calls for live tuples wait for a worker, {taken} are carried out"));
            for (client, function) in self.calls.taken.iter().take(10) {
                lines.push(format!("  call of {function:<28} {}", self.name(*client, names)));
            }
        }
        lines.extend(self.stalls(names).into_iter().map(|stall| format!("STALLED: {stall}")));
        if !self.waiting.is_empty() {
            lines.push(format!("\n{:>8}  {:<28} waits for", "since", "who"));
        }
        for row in &self.waiting {
            let hope = self.hope(row).unwrap_or_else(|| "NOBODY IS KNOWN WHO COULD PUT ONE".to_owned());
            let (since, who) = (seconds(row.waited.into()), self.name(row.client, names));
            lines.push(format!("{since:>8}  {who:<28} {}: {hope}", wanted(row)));
        }
        if self.state.waiters + self.state.parked > self.waiting.len() as u64 {
            lines.push(format!(
                "and {} more",
                self.state.waiters + self.state.parked - self.waiting.len() as u64
            ));
        }
        lines.join("\n") + "\n"
    }

    pub(crate) fn as_json(&self, names: &Names) -> Json {
        let workers: Vec<Json> = self.workers.iter().map(|(client, worker)| {
            json!({"client": client.to_string(), "rank": worker.rank, "process": worker.pid, "machine": self.machine(*client, names)})
        }).collect();
        let taken: Vec<Json> = self.tasks_taken.iter().map(|task| {
            json!({"pool": task.pool, "task": task.number, "by": self.name(task.holder, names), "client": task.holder.to_string(),
                "held_s": task.held.as_secs_f64()})
        }).collect();
        let waiting: Vec<Json> = self.waiting.iter().map(|row| {
            json!({"client": row.client.to_string(), "who": self.name(row.client, names), "for": wanted(row),
                "waited_s": Duration::from(row.waited).as_secs_f64(), "ends_in_s": row.ends_in.map(|left| Duration::from(left).as_secs_f64()),
                "hope": self.hope(row)})
        }).collect();
        let calls: Vec<Json> = self.calls.taken.iter().map(|(client, function)| {
            json!({"function": function, "by": self.name(*client, names), "client": client.to_string()})
        }).collect();
        json!({"workers": workers, "tasks": {"waiting": self.tasks_waiting, "taken": taken}, "waiting": waiting,
            "stalls": self.stalls(names), "clients": self.clients.len(),
            "evals": {"waiting": self.evals_waiting, "taken": self.evals.values().collect::<Vec<_>>()},
            "calls": {"waiting": self.calls.waiting, "functions": self.calls.functions, "taken": calls}})
    }
}

/// What machines are called.
#[derive(Default)]
pub(crate) struct Names {
    pub(crate) by_identity: BTreeMap<Identity, String>,
    /// That on which the space is served, where there is a name for it.
    pub(crate) here: Option<String>,
}

impl Names {
    fn get(&self, identity: &Identity) -> Option<&String> {
        self.by_identity.get(identity)
    }
}

/// The tuples under a lease that match, or all of them, with so many bytes of each field: at each manager they come before those that nobody has.
pub(crate) fn leased_tuples(
    space: &Space,
    template: Option<&Template>,
    field_bytes: u32,
) -> Result<Vec<ListedTuple>, Error> {
    let of = |manager| {
        let rows = space.list(template).of_manager(manager).field_bytes(field_bytes);
        rows.take_while(|row| row.as_ref().map_or(true, |row| row.lease.is_some()))
    };
    (0..space.managers()).flat_map(of).take(MOST_LEASES).collect()
}

/// Those that match, and who has each.
fn leased(space: &Space, template: &Template) -> Result<Vec<(Address, ListedTuple)>, Error> {
    let rows = leased_tuples(space, Some(template), NAME_BYTES)?;
    Ok(rows.into_iter().filter_map(|row| Some((row.lease?.holder, row))).collect())
}

fn task_of((holder, row): (Address, ListedTuple)) -> Option<Task> {
    let [_, Glimpse::Value(Value::Text(pool)), Glimpse::Value(Value::I64(number)), _] = &row.fields[..]
    else {
        return None;
    };
    let held = row.lease?.held.into();
    Some(Task { pool: pool.to_string(), number: *number, holder, held })
}

/// The number of a master's process, of the text that names it on its machine.
fn process(fields: &[Glimpse]) -> String {
    let text = match fields.get(2) {
        Some(Glimpse::Value(Value::Text(text))) => text.to_string(),
        Some(Glimpse::Beginning { .. }) | Some(_) | None => return "unknown".to_owned(),
    };
    text.rsplit('/').nth(1).unwrap_or("unknown").to_owned()
}

/// Where an eval stands in its program, of the right to carry it out.
fn site(fields: &[Glimpse]) -> String {
    match fields.get(1) {
        Some(Glimpse::Value(Value::Text(site))) => site.to_string(),
        Some(other) => other.to_string(),
        None => "nowhere".to_owned(),
    }
}

/// The pool for whose results a request waits.
fn pool_of_result(row: &WaitingRequest) -> Option<&str> {
    match row.template.as_deref()? {
        [Glimpse::Value(Value::Text(name)), Glimpse::Value(Value::Text(pool)), ..]
            if &**name == "quintet.result" =>
        {
            Some(pool)
        }
        _ => None,
    }
}

/// The name of the tuples for which a request waits, if they are those of executors and workers themselves.
fn own_wait(row: &WaitingRequest) -> Option<&str> {
    match row.template.as_deref()?.first()?.value()? {
        Value::Text(name) if name.starts_with("quintet.") => Some(name),
        _ => None,
    }
}

/// What a request waits for.
pub(crate) fn wanted(row: &WaitingRequest) -> String {
    match &row.template {
        Some(fields) => tuple(fields),
        None if row.operation == Operation::Acknowledge => format!("room for {} results", row.puts),
        None => format!("room for {} tuples", row.puts),
    }
}

/// Fields as a tuple is written.
pub(crate) fn tuple(fields: &[Glimpse]) -> String {
    let fields: Vec<String> = fields.iter().map(ToString::to_string).collect();
    format!("({})", fields.join(", "))
}

/// A time in a few signs.
pub(crate) fn seconds(span: Duration) -> String {
    match span.as_secs() {
        0..60 => format!("{:.1} s", span.as_secs_f64()),
        secs @ 60..3600 => format!("{}:{:02} min", secs / 60, secs % 60),
        secs => format!("{}:{:02} h", secs / 3600, secs / 60 % 60),
    }
}

/// Bytes in a few signs.
pub(crate) fn bytes(count: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let power = (count.max(1).ilog2() / 10).min(4) as usize;
    #[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
    let value = count as f64 / (1u64 << (10 * power)) as f64;
    if power == 0 { format!("{count} B") } else { format!("{value:.1} {}", units[power]) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet::{Lab, tuple as put};

    #[test]
    fn what_is_taken_and_who_waits_is_read_from_the_space() {
        let lab = Lab::embedded();
        let space = lab.space();
        space.out(put!["quintet.task", "pool", 1i64, vec![0u8; 100]]).unwrap();
        space.out(put!["quintet.task", "pool", 2i64, vec![0u8; 100]]).unwrap();
        space.out(put!["quintet.presence", 3i64, 77i64, "token"]).unwrap();
        let presence = space.lease(&template!["quintet.presence", ?i64, ?i64, ?str], None).unwrap();
        let task = space.lease(&template!["quintet.task", ?str, ?i64, ?quintet::Bytes], None).unwrap();
        let result = template!["quintet.result", "pool", ?i64, ?bool, ?quintet::Bytes, ?i64, ?i64];
        let waiting = space.begin().take(&result).unwrap();
        let hopeless = space.begin().take(&template!["nobody puts this"]).unwrap();
        let activity = Activity::read(&space).unwrap();
        assert_eq!((activity.tasks_waiting, activity.tasks_taken.len(), activity.workers.len()), (1, 1, 1));
        let table = activity.as_table(&Names::default());
        assert!(table.contains("task 1 ") && table.contains("worker 3 (process 77)"), "{table}");
        assert!(table.contains("1 of its tasks are being done"), "{table}");
        assert!(table.contains("(\"nobody puts this\"): NOBODY IS KNOWN"), "{table}");
        let json = activity.as_json(&Names::default());
        assert_eq!((&json["tasks"]["waiting"], &json["tasks"]["taken"][0]["task"]), (&json!(1), &json!(1)));
        assert_eq!(json["waiting"].as_array().map(Vec::len), Some(2));
        drop((waiting, hopeless));
        task.release().unwrap();
        presence.release().unwrap();
        let activity = Activity::read(&space).unwrap();
        assert!(activity.stalls(&Names::default())[0].contains("no worker has announced itself"));
    }

    #[test]
    fn a_worker_without_a_live_tuple_to_make_is_idle() {
        let space = Lab::embedded().space();
        let _idle = space.begin().select_lease(&[template![quintet::EVAL, "square", ?i64]]).unwrap();
        let table = Activity::read(&space).unwrap().as_table(&Names::default());
        assert!(table.contains("it is idle"), "{table}");
    }

    #[test]
    fn calls_that_nobody_carries_out_or_that_wait_for_each_other_are_said() {
        let lab = Lab::embedded();
        let space = lab.space();
        let said = || Activity::read(&space).unwrap().stalls(&Names::default()).join("\n");
        space.eval_on_workers("square", [Value::I64(3)]).unwrap();
        space.eval_on_workers("square", [Value::I64(4)]).unwrap();
        assert!(
            said().contains("2 calls for live tuples wait (2 of square), and no worker is there"),
            "{}",
            said()
        );
        let other = space.begin().select_lease(&[template![quintet::EVAL, "square", ?f64]]).unwrap();
        assert!(said().contains("have no function of that name with such arguments"), "{}", said());
        drop(other);
        let call = space.lease(&template![quintet::EVAL, "square", ?i64], None).unwrap();
        assert!(!said().contains("calls for live tuples"), "one is carried out, and computes: {}", said());
        let waiting = space.begin().take(&template!["square", 4i64]).unwrap();
        assert!(said().contains("every worker carries out one that waits for a tuple itself"), "{}", said());
        let activity = Activity::read(&space).unwrap();
        let table = activity.as_table(&Names::default());
        assert!(table.contains("1 calls for live tuples wait for a worker, 1 are carried out"), "{table}");
        let json = activity.as_json(&Names::default());
        assert_eq!(
            (&json["calls"]["waiting"], &json["calls"]["functions"]["square"]),
            (&json!(1), &json!(1))
        );
        assert_eq!(json["calls"]["taken"][0]["by"], "worker at square");
        space.eval_on_workers("square", [Value::I64(5)]).unwrap();
        let another = space.lease(&template![quintet::EVAL, "square", ?i64], None).unwrap();
        assert!(!said().contains("calls for live tuples"), "of two threads one computes: {}", said());
        drop(waiting);
        call.release().unwrap();
        another.release().unwrap();
    }

    #[test]
    fn times_and_sizes_take_few_signs() {
        let shown = [500, 61_000, 3_700_000].map(|millis| seconds(Duration::from_millis(millis)));
        assert_eq!(shown, ["0.5 s", "1:01 min", "1:01 h"]);
        assert_eq!([0, 1023, 1536, 5 << 30].map(bytes), ["0 B", "1023 B", "1.5 KiB", "5.0 GiB"]);
    }
}
