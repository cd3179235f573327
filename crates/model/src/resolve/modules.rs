//! Modules: where they run, what they wait for, what follows.

use super::{Host, Resolver};
use crate::dimension::Dimension;
use crate::keys::MOST;
use crate::model::{Model, Module};
use crate::plan::{PlannedModule, Route};
use crate::problem::ProblemKind;
use quintet_contract::Address;
use quintet_simulate::{Costs, Distribution, MessageType, ModuleSpec, Successor, Timing};
use std::collections::BTreeSet;

/// Modules at most: the numbers of nodes are 16 bits.
const MOST_MODULES: usize = 60_000;

/// The names of all messages that are waited for, in order: their index is their number.
pub(super) type Messages<'a> = Vec<&'a str>;

/// All messages that some module waits for, in a model in which every element stands for itself.
pub(super) fn messages(model: &Model) -> Messages<'_> {
    let awaited: BTreeSet<&str> = model
        .modules
        .values()
        .flat_map(|module| module.waits_for.keys().map(String::as_str).chain(module.messages_in_its_midst()))
        .collect();
    awaited.into_iter().collect()
}

/// The address of the module at `index`.
pub(crate) fn address(index: usize) -> Address {
    // There are at most `MOST_MODULES` modules in a plan without problems.
    Address::new(u16::try_from(index + 1).unwrap_or(u16::MAX), 1)
}

impl Resolver<'_> {
    pub(super) fn resolve_modules(&mut self, hosts: &[Host]) -> (Vec<PlannedModule>, Vec<Route>) {
        let model = self.model;
        if model.modules.len() > MOST_MODULES {
            let (found, expected) =
                (format!("{} modules", model.modules.len()), format!("at most {MOST_MODULES}"));
            self.problem("module", ProblemKind::OutOfRange { found, expected });
            return (Vec::new(), Vec::new());
        }
        let messages = messages(model);
        let mut planned: Vec<_> = model
            .modules
            .iter()
            .map(|(name, module)| self.resolve_module(name, module, hosts, &messages))
            .collect();
        self.link_successors(&mut planned);
        for (index, (name, module)) in model.modules.iter().enumerate() {
            planned[index].spec.instructions =
                self.resolve_actions(index, (name, module), hosts, &planned, &messages);
        }
        self.resolve_replies(&mut planned);
        (planned, std::mem::take(&mut self.ways).into_routes())
    }

    fn resolve_module(
        &mut self,
        name: &str,
        module: &Module,
        hosts: &[Host],
        messages: &Messages<'_>,
    ) -> PlannedModule {
        let path = format!("module.{name}");
        let on = format!("{path}.on");
        let processor = if module.on.is_empty() {
            self.missing(&on, "the processor on which it runs");
            None
        } else {
            self.index(&on, "processor", &module.on, &self.model.processors)
        };
        let mut awaited = Vec::new();
        for (message, count) in &module.waits_for {
            let count = self.count(&format!("{path}.waits_for.{message}"), count, 1, 1_000_000);
            let number = messages.iter().position(|known| known == message).unwrap_or(0);
            let type_ = MessageType(u32::try_from(number).unwrap_or(u32::MAX));
            awaited.push((type_, u32::try_from(count).unwrap_or(u32::MAX)));
        }
        let spec = ModuleSpec {
            timing: self.resolve_timing(&path, module),
            messages: awaited,
            predecessors: 0,
            any_predecessor: module.after.is_empty(),
            instructions: Vec::new(),
            variables: self.resolve_state(&path, &module.state),
            successors: Vec::new(),
        };
        let costs = processor.map_or_else(Costs::new, |processor| hosts[processor].costs.clone());
        let priority = module.priority.as_ref();
        let priority =
            priority.map_or(0, |priority| self.count(&format!("{path}.priority"), priority, 0, 255));
        let priority = u8::try_from(priority).unwrap_or(u8::MAX);
        PlannedModule { name: name.to_owned(), processor: processor.unwrap_or(0), priority, spec, costs }
    }

    pub(super) fn resolve_timing(&mut self, path: &str, module: &Module) -> Option<Timing> {
        let start = module
            .start
            .as_ref()
            .map(|start| self.distribution(&format!("{path}.start"), start, Dimension::TIME));
        let key = format!("{path}.every");
        let every = module.every.as_ref().map(|every| self.distribution(&key, every, Dimension::TIME));
        if every.as_ref().is_some_and(|every| every.mean() < 1e-9) {
            let (found, expected) =
                ("no time between two starts".to_owned(), "a mean of at least 1 ns".to_owned());
            self.problem(&key, ProblemKind::OutOfRange { found, expected });
        }
        let key = format!("{path}.limit");
        let limit = module.limit.as_ref().map(|limit| self.count(&key, limit, 1, MOST));
        if start.is_none() && every.is_none() {
            if limit.is_some() {
                self.contradiction(&key, "a limit without start or every limits nothing".to_owned());
            }
            return None;
        }
        let first = start.unwrap_or(Distribution::Constant(0.0));
        Some(Timing { first, every, limit: limit.unwrap_or(u64::MAX) })
    }

    /// Joins `then` of one module and `after` of another, which say the same.
    fn link_successors(&mut self, planned: &mut [PlannedModule]) {
        let model = self.model;
        let mut predecessors = vec![BTreeSet::new(); planned.len()];
        for (index, (name, module)) in model.modules.iter().enumerate() {
            let path = format!("module.{name}");
            if !module.after.is_empty() && !module.after_any.is_empty() {
                self.contradiction(
                    &format!("{path}.after_any"),
                    "excludes after; put a module between".to_owned(),
                );
            }
            for (key, names) in
                [("after", &module.after), ("after_any", &module.after_any), ("then", &module.then)]
            {
                self.check_once(&format!("{path}.{key}"), names);
            }
            for (key, names) in [("after", &module.after), ("after_any", &module.after_any)] {
                for other in names {
                    let found = self.index(&format!("{path}.{key}"), "module", other, &model.modules);
                    predecessors[index].extend(found);
                }
            }
            let one_of: Vec<_> = module.then_one_of.keys().cloned().collect();
            for (key, names) in [("then", &module.then), ("then_one_of", &one_of)] {
                for other in names {
                    if let Some(found) = self.index(&format!("{path}.{key}"), "module", other, &model.modules)
                    {
                        predecessors[found].insert(index);
                    }
                }
            }
        }
        for (to, set) in predecessors.iter().enumerate() {
            planned[to].spec.predecessors = u32::try_from(set.len()).unwrap_or(u32::MAX);
            for (number, &from) in set.iter().enumerate() {
                self.link(from, to, number, planned);
            }
        }
    }

    /// A module precedes another once, however often it is named: twice is meant otherwise.
    fn check_once(&mut self, key: &str, names: &[String]) {
        let mut seen = BTreeSet::new();
        let twice: BTreeSet<_> = names.iter().filter(|name| !seen.insert(*name)).collect();
        for name in twice {
            let text =
                format!("{name} stands there twice, and would run once; for two runs, name two modules");
            self.contradiction(key, text);
        }
    }

    /// Makes `to` a successor of `from`, which is its predecessor of this number.
    fn link(&mut self, from: usize, to: usize, number: usize, planned: &mut [PlannedModule]) {
        let (before, after) = (planned[from].name.clone(), planned[to].name.clone());
        let Some(module) = self.model.modules.get(&before) else { return };
        let path = format!("module.{before}");
        let weight = module.then_one_of.get(&after).map(|weight| {
            let key = format!("{path}.then_one_of.{after}");
            let value = self.evaluate(&key, weight, Dimension::NUMBER);
            let takes = crate::keys::Takes::Quantity(Dimension::NUMBER, 0.0, 1e12);
            value.and_then(|value| self.in_range(&key, weight.text(), value, takes)).unwrap_or(1.0)
        });
        if weight.is_some() && module.then.contains(&after) {
            self.contradiction(&format!("{path}.then"), format!("{after} stands in then_one_of too"));
        }
        if planned[from].processor != planned[to].processor {
            let text =
                format!("module {after} is on another processor than {before}: send it a message instead");
            let key = if module.then.contains(&after) || weight.is_some() {
                path
            } else {
                format!("module.{after}")
            };
            return self.problem(&key, ProblemKind::Disconnected { text });
        }
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        planned[from].spec.successors.push(Successor { to: address(to), number, weight });
        // Before all ways of messages: without a number it is the one by which a module starts its successors.
        self.add_way(&format!("module.{after}"), (from, to), None);
    }
}
