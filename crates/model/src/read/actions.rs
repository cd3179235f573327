//! Reading what modules do.

use super::{Entry, Reader};
use crate::action::Action;
use crate::keys::{ACTIONS, CLASS};
use crate::problem::{Problem, ProblemKind};
use crate::quantity::{Draw, Quantity};
use quintet_simulate::device::Class;
use toml::de::{DeTable, DeValue};

/// Actions within actions at most.
const DEEPEST: usize = 16;

/// A table that is an action, and its key.
struct Written<'p, 't, 'a> {
    path: &'p str,
    table: &'t DeTable<'a>,
    depth: usize,
}

impl Reader {
    pub(super) fn actions(&mut self, path: &str, entry: &Entry<'_>) -> Vec<Action> {
        self.actions_within(path, entry, 0)
    }

    fn actions_within(&mut self, path: &str, entry: &Entry<'_>, depth: usize) -> Vec<Action> {
        if depth > DEEPEST {
            let (found, expected) =
                ("more".to_owned(), format!("at most {DEEPEST} actions within each other"));
            self.problem(entry.span().start, path, ProblemKind::OutOfRange { found, expected });
            return Vec::new();
        }
        let Some(list) = self.list(path, entry) else { return Vec::new() };
        let mut actions = Vec::new();
        for (index, entry) in list.iter().enumerate() {
            let path = format!("{path}[{index}]");
            self.lines.insert(path.clone(), self.line(entry.span().start));
            let DeValue::Table(table) = entry.get_ref() else {
                self.wrong_kind(&path, entry, "a table with an action");
                continue;
            };
            let Some((kind, keys)) = ACTIONS.iter().find(|(kind, _)| table.contains_key(*kind)) else {
                let kinds: Vec<_> = ACTIONS.iter().map(|(kind, _)| *kind).collect();
                let expected = format!("a table with one of {}", kinds.join(", "));
                self.wrong_kind(&path, entry, &expected);
                continue;
            };
            // Nothing is an attribute: those that the action has are read by name.
            let own: Vec<_> = keys.keys.iter().map(|key| key.name).collect();
            self.attributes(&path, table, keys, &own);
            actions.extend(self.action(kind, &Written { path: &path, table, depth }));
        }
        actions
    }

    fn action(&mut self, kind: &str, at: &Written<'_, '_, '_>) -> Option<Action> {
        Some(match kind {
            "execute" => Action::Execute {
                instruction: self.text_of(at, "execute")?,
                times: self.draw_of(at, "times").unwrap_or_else(|| 1.0.into()),
            },
            "send" => self.send(at)?,
            "use" => Action::Use {
                pool: self.text_of(at, "use")?,
                time: self.draw_of(at, "time").unwrap_or_else(|| "0 s".into()),
                bytes: self.bytes(at),
                key: self.draw_of(at, "key"),
                times: self.times(at),
            },
            "ask" => Action::Ask {
                message: self.text_of(at, "ask")?,
                to: self.required(at, "to", "a module")?,
                bytes: self.bytes(at),
                through: self.text_of(at, "through"),
                route: self.route(at),
                class: self.class(at),
                timeout: self.draw_of(at, "timeout"),
                late: self.inner(at, "late"),
            },
            "reply" => Action::Reply {
                message: self.text_of(at, "reply")?,
                bytes: self.bytes(at),
                through: self.text_of(at, "through"),
                class: self.class(at),
            },
            "wait" => Action::Wait {
                message: self.text_of(at, "wait")?,
                timeout: self.draw_of(at, "timeout"),
                late: self.inner(at, "late"),
            },
            "pause" => Action::Pause { length: self.draw_of(at, "pause")? },
            "set" => Action::Set {
                variable: self.text_of(at, "set")?,
                value: self.required(at, "value", "a formula")?.into(),
            },
            "if" => Action::If {
                condition: self.text_of(at, "if")?.into(),
                actions: self.inner(at, "do"),
                otherwise: self.inner(at, "else"),
            },
            "while" => {
                Action::While { condition: self.text_of(at, "while")?.into(), actions: self.inner(at, "do") }
            }
            "repeat" => {
                Action::Repeat { times: self.text_of(at, "repeat")?.into(), actions: self.inner(at, "do") }
            }
            _ => Action::Cancel { module: self.text_of(at, "cancel")?, through: self.text_of(at, "through") },
        })
    }

    fn send(&mut self, at: &Written<'_, '_, '_>) -> Option<Action> {
        Some(Action::Send {
            message: self.text_of(at, "send")?,
            to: self.required(at, "to", "a module")?,
            bytes: self.bytes(at),
            through: self.text_of(at, "through"),
            route: self.route(at),
            times: self.times(at),
            class: self.class(at),
        })
    }

    fn text_of(&mut self, at: &Written<'_, '_, '_>, key: &str) -> Option<String> {
        at.table.get(key).map(|entry| self.text(&format!("{}.{key}", at.path), entry))
    }

    /// None with a problem reported.
    fn required(&mut self, at: &Written<'_, '_, '_>, key: &str, expected: &str) -> Option<String> {
        let found = self.text_of(at, key);
        if found.is_none() {
            let line = self.lines.get(at.path).copied();
            let kind = ProblemKind::Missing { expected: expected.to_owned() };
            let (file, key) = (Some(self.file.clone()), format!("{}.{key}", at.path));
            self.problems.push(Problem { file, line, key, kind });
        }
        found
    }

    fn draw_of(&mut self, at: &Written<'_, '_, '_>, key: &str) -> Option<Draw> {
        at.table.get(key).map(|entry| self.draw(&format!("{}.{key}", at.path), entry))
    }

    fn bytes(&mut self, at: &Written<'_, '_, '_>) -> Draw {
        self.draw_of(at, "bytes").unwrap_or_else(|| "0 B".into())
    }

    fn times(&mut self, at: &Written<'_, '_, '_>) -> Quantity {
        let times = at.table.get("times").map(|entry| self.quantity(&format!("{}.times", at.path), entry));
        times.unwrap_or_else(|| Quantity::from(1.0))
    }

    fn route(&mut self, at: &Written<'_, '_, '_>) -> Vec<String> {
        let route = at.table.get("route").map(|entry| self.names(&format!("{}.route", at.path), entry));
        route.unwrap_or_default()
    }

    fn inner(&mut self, at: &Written<'_, '_, '_>, key: &str) -> Vec<Action> {
        let path = format!("{}.{key}", at.path);
        at.table.get(key).map_or_else(Vec::new, |entry| self.actions_within(&path, entry, at.depth + 1))
    }

    fn class(&mut self, at: &Written<'_, '_, '_>) -> Class {
        let Some(entry) = at.table.get("class") else { return Class::Asynchronous };
        let path = format!("{}.class", at.path);
        match self.text(&path, entry).as_str() {
            "synchronous" => Class::Synchronous,
            // What is no text was reported.
            "asynchronous" | "" => Class::Asynchronous,
            other => {
                let (found, expected) = (format!("\"{other}\""), CLASS.text());
                self.problem(entry.span().start, &path, ProblemKind::OutOfRange { found, expected });
                Class::Asynchronous
            }
        }
    }
}
