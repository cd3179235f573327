//! What a run says of its processes, as dictionaries.

use super::event::Subject;
use super::process::name;
use super::run::Run;
use super::world::World;
use crate::simulate::TallyRow;
use pyo3::prelude::*;
use quintet_simulate::Picos;
use std::collections::BTreeMap;

/// Processes that are named at most, of those that wait for ever.
const MOST_NAMED: usize = 100;

#[derive(IntoPyObject)]
pub(crate) struct ProcessesRow {
    quantities: BTreeMap<String, f64>,
    resources: BTreeMap<String, ResourceRow>,
    stores: BTreeMap<String, StoreRow>,
    processes_begun: u64,
    processes_ended: u64,
    blocked_count: usize,
    /// Each: its name, what it waits for, since when.
    blocked: Vec<(String, String, f64)>,
}

#[derive(IntoPyObject)]
struct ResourceRow {
    capacity: u64,
    utilisation: f64,
    queue: f64,
    waiting: TallyRow,
}

#[derive(IntoPyObject)]
struct StoreRow {
    items: f64,
    got: u64,
}

/// What there is at the end. `rests`: nothing is pending, so that whoever waits does so for ever.
pub(super) fn row(run: &Bound<'_, Run>, now: Picos, rests: bool) -> ProcessesRow {
    let blocked = if rests { blocked(run) } else { Vec::new() };
    let world = &run.borrow().world;
    let (resources, stores) = (resources(world, now), stores(world, now));
    let mut quantities = BTreeMap::new();
    for (name, found) in &resources {
        let mut add = |key: &str, value: f64| quantities.insert(format!("resource.{name}.{key}"), value);
        add("utilisation", found.utilisation);
        add("queue", found.queue);
        if found.waiting.count > 0 {
            add("waiting", found.waiting.mean);
        }
    }
    for (name, found) in &stores {
        quantities.insert(format!("store.{name}.items"), found.items);
        quantities.insert(format!("store.{name}.got"), found.got as f64);
    }
    ProcessesRow {
        quantities,
        resources,
        stores,
        processes_begun: world.begun,
        processes_ended: world.ended,
        blocked_count: if rests { world.processes.iter().count() } else { 0 },
        blocked,
    }
}

fn resources(world: &World, now: Picos) -> BTreeMap<String, ResourceRow> {
    let row = |shared: &super::resource::Shared| ResourceRow {
        capacity: shared.capacity,
        utilisation: shared.in_use.mean(now) / shared.capacity as f64,
        queue: shared.queued.mean(now),
        waiting: TallyRow::from(&shared.waited),
    };
    world.resources.iter().map(|shared| (shared.name.clone(), row(shared))).collect()
}

fn stores(world: &World, now: Picos) -> BTreeMap<String, StoreRow> {
    let row = |kept: &super::store::Kept| StoreRow { items: kept.level.mean(now), got: kept.got };
    world.stores.iter().map(|kept| (kept.name.clone(), row(kept))).collect()
}

/// The first processes that wait, in the order in which they began.
fn blocked(run: &Bound<'_, Run>) -> Vec<(String, String, f64)> {
    let py = run.py();
    let mut found: Vec<_> = {
        let world = &run.borrow().world;
        let waits = |working: &super::process::Working| {
            let subject = working.awaited.as_ref().map(|event| event.bind(py).borrow().subject);
            (
                working.number,
                working.generator.clone_ref(py),
                what(world, subject),
                working.since.as_seconds(),
            )
        };
        world.processes.iter().map(waits).collect()
    };
    found.sort_by_key(|(number, ..)| *number);
    let named = |(number, generator, what, since): (u64, Py<_>, _, _)| {
        (name(generator.bind(py), number), what, since)
    };
    found.into_iter().take(MOST_NAMED).map(named).collect()
}

/// What is waited for: for a person.
fn what(world: &World, subject: Option<Subject>) -> String {
    let (kind, name) = match subject {
        None | Some(Subject::Timeout) => return "a time".to_owned(),
        Some(Subject::Plain) => return "an event".to_owned(),
        Some(Subject::Condition) => return "several events".to_owned(),
        Some(Subject::Process(number)) => return format!("the end of process {number}"),
        Some(Subject::Resource(index)) => {
            ("resource", world.resources.get(index as usize).map(|found| &found.name))
        }
        Some(Subject::Get(index)) => {
            ("an item of store", world.stores.get(index as usize).map(|found| &found.name))
        }
        Some(Subject::Put(index)) => {
            ("room in store", world.stores.get(index as usize).map(|found| &found.name))
        }
        Some(Subject::Program(index)) => {
            ("module", world.mailboxes.get(index as usize).map(|found| &found.place.name))
        }
    };
    format!("{kind} {}", name.map_or("", |name| name))
}
