//! Reading machines.

use super::{File, Section, load, read};
use crate::cluster::{Cluster, Machine, Network};
use crate::costs::WorkCosts;
use crate::keys;
use crate::link::Link;
use quintet_model::ModelError;
use quintet_simulate::Picos;
use std::path::Path;
use toml::de::DeTable;

/// Machines of a file at most.
const MOST_MACHINES: usize = 10_000;

impl Cluster {
    /// Reads and checks machines. `file` is the name that errors have.
    ///
    /// # Errors
    /// Everything that is wrong with them, in the order of the lines.
    pub fn from_str(text: &str, file: &str) -> Result<Cluster, ModelError> {
        read(text, file, cluster)
    }

    /// Reads and checks a file of machines.
    ///
    /// # Errors
    /// A file that cannot be read or is larger than 1 MiB; else those of [`Cluster::from_str`].
    pub fn from_file(path: impl AsRef<Path>) -> Result<Cluster, ModelError> {
        let path = path.as_ref();
        Cluster::from_str(&load(path)?, &path.display().to_string())
    }
}

fn cluster(file: &File<'_>, table: &DeTable<'_>) -> Option<Cluster> {
    file.check_names(table, &["machine", "network", "memory", "costs"]);
    let network = table.contains_key("network").then(|| network(file, table));
    let memory = file.section(table, "memory", &keys::MEMORY).map(|section| section.number("latency"));
    let costs = match file.section(table, "costs", &keys::COSTS) {
        Some(section) => costs(&section),
        None => Some(WorkCosts::default()),
    };
    let machines = machines(file, table)?;
    Some(Cluster {
        machines,
        network: network.map_or(Some(None), |network| network.map(Some))?,
        link: Link::SharedMemory,
        link_latency: memory.map_or(Some(Picos(280_000)), |latency| latency.map(Picos::from_seconds))?,
        costs: costs?,
    })
}

fn machines(file: &File<'_>, table: &DeTable<'_>) -> Option<Vec<Machine>> {
    let Some(entry) = table.get("machine") else {
        file.missing(0, "machine", "at least one [machine.NAME]");
        return None;
    };
    let groups = file.table("machine", entry)?;
    let mut machines = Vec::new();
    for (name, entry) in groups {
        let path = format!("machine.{}", name.get_ref());
        let Some(inner) = file.table(&path, entry) else { continue };
        let at = name.span().start;
        let section = Section { file, path: &path, at, keys: &keys::MACHINE, table: inner };
        section.check_keys();
        let count = section.whole("count").and_then(|count| usize::try_from(count).ok());
        let machine = machine(&section, name.get_ref());
        if let Some((count, machine)) = count.zip(machine) {
            machines.resize((machines.len() + count).min(MOST_MACHINES), machine);
        }
    }
    if groups.is_empty() {
        file.missing(entry.span().start, "machine", "at least one [machine.NAME]");
    }
    Some(machines)
}

fn machine(section: &Section<'_, '_>, group: &str) -> Option<Machine> {
    let (cores, speed, slice) =
        (section.whole("cores"), section.number("speed"), section.number("time_slice"));
    Some(Machine {
        group: group.to_owned(),
        cores: u32::try_from(cores?).ok()?,
        speed: speed?,
        time_slice: Picos::from_seconds(slice?),
    })
}

fn network(file: &File<'_>, table: &DeTable<'_>) -> Option<Network> {
    let section = file.section(table, "network", &keys::NETWORK)?;
    let (kind, rate, latency) = (section.word("kind"), section.number("rate"), section.number("latency"));
    let (packet, header) = (section.whole("packet"), section.whole("header"));
    let (sending, receiving) = (section.number("send"), section.number("receive"));
    Some(Network {
        shared: kind? == "bus",
        rate: rate?,
        latency: Picos::from_seconds(latency?),
        packet_bytes: u32::try_from(packet?).ok()?,
        header_bytes: u32::try_from(header?).ok()?,
        sending: sending?,
        receiving: receiving?,
    })
}

fn costs(section: &Section<'_, '_>) -> Option<WorkCosts> {
    let number = |name| section.number(name);
    let (call, matching, storing) = (number("call"), number("match"), number("store"));
    let (sending, receiving) = (number("send"), number("receive"));
    let (copying, lending) = (section.copying("copy"), section.copying("lend"));
    let (patience, waking, deep_waking) = (number("patience"), number("wake_up"), number("deep_wake_up"));
    Some(WorkCosts {
        call: call?,
        matching: matching?,
        storing: storing?,
        sending: sending?,
        receiving: receiving?,
        copying: copying?,
        lending: lending?,
        patience: patience?,
        waking: waking?,
        deep_waking: deep_waking?,
    })
}
