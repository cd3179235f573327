//! What starts what: modules that never start, cycles in which no time passes, elements without use.

use super::{Host, Resolver};
use crate::action::Action;
use crate::model::{Device, Module};
use crate::plan::PlannedModule;
use crate::problem::ProblemKind;
use quintet_simulate::{Distribution, Instruction, Picos};
use std::collections::{BTreeMap, BTreeSet};

/// Who may start whom.
#[derive(Default)]
struct Starts<'a> {
    /// The modules after which each module starts.
    predecessors: BTreeMap<&'a str, BTreeSet<&'a str>>,
    /// The modules that send a message to a module, by the module and the message.
    senders: BTreeMap<(&'a str, &'a str), Vec<&'a str>>,
    /// The modules that each module may start, in either way.
    next: BTreeMap<&'a str, BTreeSet<&'a str>>,
}

impl<'a> Starts<'a> {
    fn of(modules: &'a BTreeMap<String, Module>) -> Starts<'a> {
        let mut starts = Starts::default();
        for (name, module) in modules {
            for before in module.after.iter().chain(&module.after_any) {
                starts.succeed(before, name);
            }
            for after in module.then.iter().chain(module.then_one_of.keys()) {
                starts.succeed(name, after);
            }
            for action in module.all_actions() {
                if let Some((message, to, ..)) = action.sent() {
                    starts.senders.entry((to, message)).or_default().push(name);
                    starts.next.entry(name).or_default().insert(to);
                }
            }
        }
        starts
    }

    fn succeed(&mut self, before: &'a str, after: &'a str) {
        self.predecessors.entry(after).or_default().insert(before);
        self.next.entry(before).or_default().insert(after);
    }

    fn before(&self, name: &str) -> impl Iterator<Item = &'a str> {
        self.predecessors.get(name).into_iter().flatten().copied()
    }
}

impl<'a> Resolver<'a> {
    pub(super) fn check_structure(&mut self, planned: &[PlannedModule], hosts: &[Host]) {
        // With a wrong name in it, what a model means is unknown; what follows from it would mislead.
        let misleads = |problem: &crate::Problem| {
            let names = matches!(
                problem.kind,
                ProblemKind::UnknownName { .. }
                    | ProblemKind::Unawaited { .. }
                    | ProblemKind::Disconnected { .. }
                    | ProblemKind::Group { .. }
            );
            names && problem.key.starts_with("module.")
        };
        if self.problems.iter().any(misleads) {
            return;
        }
        let starts = Starts::of(&self.model.modules);
        let starting = self.starting(&starts);
        for name in self.model.modules.keys().filter(|name| !starting.contains(name.as_str())) {
            let text = self.why_never(name, &starts, &starting);
            self.problem(&format!("module.{name}"), ProblemKind::NeverStarts { text });
        }
        if let Some(cycle) = self.timeless_cycle(planned, hosts, &starts, &starting) {
            let key = format!("module.{}", cycle.first().cloned().unwrap_or_default());
            self.problem(&key, ProblemKind::NoTimePasses { cycle });
        }
    }

    /// The modules that can start at some time: those all of whose conditions others that can start may fulfil.
    fn starting(&self, starts: &Starts<'_>) -> BTreeSet<&'a str> {
        let modules = &self.model.modules;
        let programs = modules.keys().filter(|name| self.model.is_program(name));
        let mut starting: BTreeSet<_> = programs.map(String::as_str).collect();
        loop {
            let before = starting.len();
            let more =
                modules.iter().filter(|(name, module)| unmet(name, module, starts, &starting).is_none());
            let more: Vec<_> = more.map(|(name, _)| name.as_str()).collect();
            starting.extend(more);
            if starting.len() == before {
                return starting;
            }
        }
    }

    fn why_never(&self, name: &str, starts: &Starts<'_>, starting: &BTreeSet<&str>) -> String {
        let module = self.model.modules.get(name);
        let why = module.and_then(|module| unmet(name, module, starts, starting)).unwrap_or_default();
        format!("it can never start: {why}")
    }

    /// Modules each of which surely starts the next at once, and the last the first. Only what can be proved is found;
    /// the simulator notices the rest.
    fn timeless_cycle(
        &self,
        planned: &[PlannedModule],
        hosts: &[Host],
        starts: &Starts<'_>,
        starting: &BTreeSet<&str>,
    ) -> Option<Vec<String>> {
        let modules = &self.model.modules;
        let names: Vec<&String> = modules.keys().collect();
        let numbers: BTreeMap<&str, usize> = modules.keys().map(String::as_str).zip(0..).collect();
        let mut next = BTreeMap::new();
        for (index, (name, module)) in modules.iter().enumerate() {
            let plan = planned.get(index)?;
            let Some(host) = hosts.get(plan.processor) else { continue };
            // Nobody knows what a program does.
            let is_sure = starting.contains(name.as_str()) && !self.model.is_program(name);
            if is_sure && self.takes_no_time(plan, host, module) {
                let follows = |other: &usize| {
                    self.surely_starts(name, module, (names[*other], &modules[names[*other]]), starts)
                };
                let others = starts.next.get(name.as_str()).into_iter().flatten();
                let others = others.filter_map(|other| numbers.get(other).copied());
                next.insert(index, others.filter(follows).collect::<Vec<_>>());
            }
        }
        cycle_in(&next).map(|cycle| cycle.into_iter().map(|index| names[index].clone()).collect())
    }

    fn takes_no_time(&self, plan: &PlannedModule, host: &Host, module: &Module) -> bool {
        let executes_nothing = plan.spec.instructions.iter().all(|instruction| match instruction {
            Instruction::Execute(stage, times) => {
                matches!(times, Distribution::Constant(0.0))
                    || matches!(host.costs.get(stage), Some(Distribution::Constant(0.0)))
            }
            Instruction::Send { .. } | Instruction::Mark { .. } => true,
            // What decides may wait; a pool may take no time, but that is not worth proving.
            _ => false,
        });
        let uses_device = module.all_actions().any(|action| action.through().is_some());
        let device_costs = !host.model.output_controller || host.model.io_setup > Picos::ZERO;
        executes_nothing && !(uses_device && device_costs)
    }

    /// Whether each end of one module starts the other at once, whatever else happens.
    fn surely_starts(
        &self,
        name: &str,
        module: &Module,
        (other_name, other): (&str, &Module),
        starts: &Starts<'_>,
    ) -> bool {
        if other.start.is_some() || other.every.is_some() {
            return false;
        }
        let predecessors: Vec<_> = starts.before(other_name).collect();
        if other.waits_for.is_empty() {
            let chosen_alone = module.then_one_of.len() == 1 || !module.then_one_of.contains_key(other_name);
            return predecessors.contains(&name)
                && chosen_alone
                && (other.after.is_empty() || predecessors.len() == 1);
        }
        let sent = |wanted: &str| {
            let counts = |action: &&Action| match action {
                Action::Send { message, to, through, times, .. } => {
                    message == wanted
                        && to == other_name
                        && self.is_immediate(through.as_deref())
                        && times.text() == "1"
                }
                _ => false,
            };
            module.actions.iter().filter(counts).count()
        };
        let enough = |(message, count): (&String, &crate::Quantity)| {
            count.text().parse().is_ok_and(|count: usize| count > 0 && sent(message) >= count)
        };
        predecessors.is_empty() && other.waits_for.iter().all(enough)
    }

    /// Whether a message arrives when it is sent.
    fn is_immediate(&self, through: Option<&str>) -> bool {
        let Some(device) = through else { return true };
        let undelayed = |device: &Device| {
            device.kind == "link"
                && ["delay", "delay_max", "loss"].iter().all(|key| !device.attributes.contains_key(*key))
        };
        self.model.devices.get(device).is_some_and(undelayed)
    }

    /// Warns of elements that are of no use.
    pub(super) fn find_idle_elements(&mut self) {
        let model = self.model;
        let modules = || model.modules.values();
        for (name, processor) in &model.processors {
            if modules().all(|module| module.on != *name) {
                let text = "no module runs on it".to_owned();
                self.warning(&format!("processor.{name}"), ProblemKind::Disconnected { text });
                continue;
            }
            for instruction in processor.instructions.keys() {
                let executes = |action: &Action| matches!(action, Action::Execute { instruction: other, .. } if other == instruction);
                if !modules().any(|module| module.on == *name && module.all_actions().any(executes)) {
                    let text = "no module executes it".to_owned();
                    self.warning(
                        &format!("processor.{name}.instructions.{instruction}"),
                        ProblemKind::Disconnected { text },
                    );
                }
            }
        }
        for name in model.pools.keys() {
            let uses = |action: &Action| matches!(action, Action::Use { pool, .. } if pool == name);
            if !modules().any(|module| module.all_actions().any(uses)) {
                let text = "no module uses it".to_owned();
                self.warning(&format!("pool.{name}"), ProblemKind::Disconnected { text });
            }
        }
        let devices = model.devices.keys().map(|name| ("device", name));
        for (kind, name) in devices.chain(model.networks.keys().map(|name| ("network", name))) {
            let uses = |action: &Action| action.through() == Some(name.as_str());
            if !modules().any(|module| module.all_actions().any(uses)) {
                let text = "nothing is sent through it".to_owned();
                self.warning(&format!("{kind}.{name}"), ProblemKind::Disconnected { text });
            }
        }
    }
}

/// A condition that no module of `starting` can fulfil.
fn unmet(name: &str, module: &Module, starts: &Starts<'_>, starting: &BTreeSet<&str>) -> Option<String> {
    for message in module.waits_for.keys() {
        let senders = starts.senders.get(&(name, message.as_str()));
        if !senders.into_iter().flatten().any(|sender| starting.contains(sender)) {
            return Some(format!("no module that can start sends it the message {message}"));
        }
    }
    if let Some(missing) = module.after.iter().find(|before| !starting.contains(before.as_str())) {
        return Some(format!("{missing}, after which it should, can never start either"));
    }
    let has_predecessors = starts.before(name).next().is_some();
    if has_predecessors
        && module.after.is_empty()
        && !starts.before(name).any(|before| starting.contains(before))
    {
        return Some("none of those after which it should can start".to_owned());
    }
    let timed = module.start.is_some() || module.every.is_some();
    let waits = timed || has_predecessors || !module.waits_for.is_empty();
    (!waits).then(|| {
        "it has no condition: no start, every, waits_for, after, and no module names it in then".to_owned()
    })
}

/// A cycle of a graph, if there is one: repeatedly takes away what leads nowhere, and follows what is left.
fn cycle_in(next: &BTreeMap<usize, Vec<usize>>) -> Option<Vec<usize>> {
    let mut alive: BTreeSet<usize> = next.keys().copied().collect();
    loop {
        let before = alive.len();
        let leads_on = |index: &usize| next[index].iter().any(|to| alive.contains(to));
        alive = alive.iter().copied().filter(leads_on).collect();
        if alive.len() == before {
            break;
        }
    }
    let mut path = vec![*alive.first()?];
    loop {
        let last = path.last().copied()?;
        let to = next[&last].iter().copied().find(|to| alive.contains(to))?;
        if let Some(start) = path.iter().position(|index| *index == to) {
            return Some(path.split_off(start));
        }
        path.push(to);
    }
}
