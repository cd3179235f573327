//! Requests: who asks whom, over however many modules, and by which way replies go back.

use super::Resolver;
use super::modules::address;
use crate::action::{Action, keyed};
use crate::model::Module;
use crate::plan::PlannedModule;
use quintet_contract::Address;
use quintet_simulate::Instruction;
use std::collections::{BTreeMap, BTreeSet};

/// For each module, those on whose behalf it may work.
type Askers = BTreeMap<usize, BTreeSet<usize>>;

impl Resolver<'_> {
    /// Adds the ways of replies to those who asked, where they did not ask straight, and says which a reply takes where there are others.
    pub(super) fn resolve_replies(&mut self, planned: &mut [PlannedModule]) {
        let model = self.model;
        let replies =
            |module: &Module| module.all_actions().any(|action| matches!(action, Action::Reply { .. }));
        if !model.modules.values().any(replies) {
            return;
        }
        let askers = askers(&model.modules);
        for (index, (name, module)) in model.modules.iter().enumerate() {
            let mut ways_of_replies = Vec::new();
            for (key, action) in keyed(&format!("module.{name}.do"), &module.actions) {
                let Action::Reply { through, .. } = action else { continue };
                let found = askers.get(&index).filter(|askers| !askers.is_empty());
                if found.is_none() {
                    let text = "nobody asks it: there is nobody to reply to".to_owned();
                    self.contradiction(&key, text);
                }
                let ways = found.into_iter().flatten().filter_map(|asker| {
                    let by = self.way_of_reply(&key, (index, *asker), through.as_deref(), planned)?;
                    Some((address(*asker), by)).filter(|(asker, by)| asker != by)
                });
                ways_of_replies.push(ways.collect::<Vec<_>>());
            }
            let instructions = planned[index].spec.instructions.iter_mut();
            let replies = instructions.filter_map(|instruction| match instruction {
                Instruction::Reply { ways, .. } => Some(ways),
                _ => None,
            });
            replies.zip(ways_of_replies).for_each(|(ways, found)| *ways = found);
        }
    }

    /// The address at which an asker is reached; none with a problem reported.
    fn way_of_reply(
        &mut self,
        key: &str,
        (from, to): (usize, usize),
        through: Option<&str>,
        planned: &[PlannedModule],
    ) -> Option<Address> {
        if through.is_none() {
            match self.known_ways(from, to).as_slice() {
                [] => {}
                [way] => return Some(*way),
                _ => {
                    let name =
                        |index: usize| self.model.modules.keys().nth(index).cloned().unwrap_or_default();
                    let text = format!(
                        "{} and {} are joined in several ways: name the one of the reply with through",
                        name(from),
                        name(to)
                    );
                    self.contradiction(key, text);
                    return None;
                }
            }
        }
        self.way(key, (from, to), (through, &[]), planned)
    }
}

/// Follows what each module sends on, until nothing is new.
fn askers(modules: &BTreeMap<String, Module>) -> Askers {
    let numbers: BTreeMap<&str, usize> = modules.keys().map(String::as_str).zip(0..).collect();
    let mut askers = Askers::new();
    let mut passes_on = Vec::new();
    for (from, module) in modules.values().enumerate() {
        let named = |name: &String| numbers.get(name.as_str()).copied();
        for action in module.all_actions() {
            let to = action.sent().and_then(|(_, to, ..)| numbers.get(to).copied());
            match (action, to) {
                (Action::Ask { .. }, Some(to)) => {
                    askers.entry(to).or_default().insert(from);
                }
                (_, Some(to)) => passes_on.push((from, to)),
                _ => {}
            }
        }
        let after = module.then.iter().chain(module.then_one_of.keys()).filter_map(named);
        passes_on.extend(after.map(|to| (from, to)));
        let before = module.after.iter().chain(&module.after_any).filter_map(named);
        passes_on.extend(before.map(|before| (before, from)));
    }
    loop {
        let mut is_new = false;
        for (from, to) in &passes_on {
            for asker in askers.get(from).cloned().unwrap_or_default() {
                is_new |= askers.entry(*to).or_default().insert(asker);
            }
        }
        if !is_new {
            return askers;
        }
    }
}
