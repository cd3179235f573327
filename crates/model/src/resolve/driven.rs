//! What a model is to a driver: its programs, and what is computed from its parameters and is no part of it.

use super::Resolver;
use crate::action::{Action, keyed};
use crate::model::{Model, Module};
use crate::problem::Problem;
use quintet_simulate::Timing;
use std::collections::BTreeMap;

/// The timing that the keys of `described` ask for at `path`, in which the parameters of `model` count; and what is wrong with it.
pub(crate) fn timing(model: &Model, path: &str, described: &Module) -> (Option<Timing>, Vec<Problem>) {
    let mut resolver = Resolver::with_parameters(model);
    // What is wrong with the parameters themselves is said of the model.
    resolver.problems.clear();
    let found = resolver.resolve_timing(path, described);
    (found, resolver.problems)
}

/// The values of a model's parameters. One with which something is wrong is 1.
pub(crate) fn parameters(model: &Model) -> BTreeMap<String, f64> {
    Resolver::with_parameters(model).parameters
}

/// What an action asks of its module that a program cannot do in the place of it.
fn is_beyond_programs(action: &Action) -> Option<&'static str> {
    match action {
        Action::Use { .. } => Some("use a pool"),
        Action::Ask { .. } => Some("ask"),
        Action::Reply { .. } => Some("reply"),
        Action::Wait { .. } => Some("wait for a message that is not in waits_for"),
        Action::Cancel { .. } => Some("cancel"),
        // The rest it executes and sends, or decides by itself.
        Action::Execute { .. }
        | Action::Send { .. }
        | Action::Pause { .. }
        | Action::Set { .. }
        | Action::If { .. }
        | Action::While { .. }
        | Action::Repeat { .. } => None,
    }
}

impl Resolver<'_> {
    /// Programs are in the places of modules. They execute, send and receive, and start no others when they are done: they never are.
    pub(super) fn check_programs(&mut self) {
        let model = self.model;
        for name in model.driven.iter().flatten() {
            let key = format!("process.{name}");
            let Some(index) = self.index(&key, "module", name, &model.modules) else { continue };
            let starts = |(_, other): &(&String, &Module)| {
                other.after.contains(name) || other.after_any.contains(name)
            };
            let after = model.modules.iter().find(starts).map(|(other, _)| other);
            let module = model.modules.values().nth(index);
            let follows =
                module.and_then(|module| module.then.first().or_else(|| module.then_one_of.keys().next()));
            if let Some(other) = follows.or(after) {
                let text =
                    format!("{other} starts after it, and a program has no end: have it send a message");
                self.contradiction(&format!("module.{name}"), text);
            }
            let actions = module.map_or(&[][..], |module| &module.actions);
            for (key, action) in keyed(&format!("module.{name}.do"), actions) {
                if let Some(what) = is_beyond_programs(action) {
                    let text = format!("a program in the place of its module cannot {what}");
                    self.contradiction(&key, text);
                }
            }
        }
    }
}
