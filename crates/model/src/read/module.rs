//! Reading `[module.NAME]`.

use super::{Entry, Reader};
use crate::keys::{self, CLASS};
use crate::model::{Action, Module};
use crate::problem::ProblemKind;
use quintet_simulate::device::Class;
use toml::de::{DeTable, DeValue};

/// The keys of a module.
const KEYS: [&str; 11] = [
    "on",
    "count",
    "start",
    "every",
    "limit",
    "waits_for",
    "after",
    "after_any",
    "do",
    "then",
    "then_one_of",
];

impl Reader {
    pub(super) fn module(&mut self, path: &str, table: &DeTable<'_>) -> Module {
        self.attributes(path, table, &keys::MODULE, &KEYS);
        let mut module = Module::default();
        for (key, entry) in table {
            let path = format!("{path}.{}", key.get_ref());
            match key.get_ref().as_ref() {
                "on" => module.on = self.text(&path, entry),
                "count" => module.count = Some(self.quantity(&path, entry)),
                "start" => module.start = Some(self.draw(&path, entry)),
                "every" => module.every = Some(self.draw(&path, entry)),
                "limit" => module.limit = Some(self.quantity(&path, entry)),
                "after" => module.after = self.names(&path, entry),
                "after_any" => module.after_any = self.names(&path, entry),
                "do" => module.actions = self.actions(&path, entry),
                "then" => module.then = self.names(&path, entry),
                name @ ("waits_for" | "then_one_of") => {
                    let Some(inner) = self.table(&path, entry) else { continue };
                    let quantities = self.quantities(&path, inner);
                    let place =
                        if name == "waits_for" { &mut module.waits_for } else { &mut module.then_one_of };
                    *place = quantities;
                }
                _ => {}
            }
        }
        module
    }

    fn actions(&mut self, path: &str, entry: &Entry<'_>) -> Vec<Action> {
        let mut actions = Vec::new();
        let Some(list) = self.list(path, entry) else { return actions };
        for (index, entry) in list.iter().enumerate() {
            let path = format!("{path}[{index}]");
            self.lines.insert(path.clone(), self.line(entry.span().start));
            match entry.get_ref() {
                DeValue::Table(table) if table.contains_key("execute") => {
                    actions.extend(self.execute(&path, table))
                }
                DeValue::Table(table) if table.contains_key("send") => {
                    actions.extend(self.send(&path, table))
                }
                _ => self.wrong_kind(&path, entry, "a table with execute or send"),
            }
        }
        actions
    }

    fn execute(&mut self, path: &str, table: &DeTable<'_>) -> Option<Action> {
        self.attributes(path, table, &keys::EXECUTE_ACTION, &["execute", "times"]);
        let instruction = self.text(&format!("{path}.execute"), table.get("execute")?);
        let times = table.get("times").map(|entry| self.draw(&format!("{path}.times"), entry));
        Some(Action::Execute { instruction, times: times.unwrap_or_else(|| 1.0.into()) })
    }

    fn send(&mut self, path: &str, table: &DeTable<'_>) -> Option<Action> {
        self.attributes(
            path,
            table,
            &keys::SEND_ACTION,
            &["send", "to", "bytes", "through", "times", "class"],
        );
        let message = self.text(&format!("{path}.send"), table.get("send")?);
        let Some(to) = table.get("to") else {
            let line = self.lines.get(path).copied();
            let kind = ProblemKind::Missing { expected: "a module".to_owned() };
            let (file, key) = (Some(self.file.clone()), format!("{path}.to"));
            self.problems.push(crate::problem::Problem { file, line, key, kind });
            return None;
        };
        let bytes = table.get("bytes").map(|entry| self.draw(&format!("{path}.bytes"), entry));
        let times = table.get("times").map(|entry| self.quantity(&format!("{path}.times"), entry));
        Some(Action::Send {
            message,
            to: self.text(&format!("{path}.to"), to),
            bytes: bytes.unwrap_or_else(|| "0 B".into()),
            through: table.get("through").map(|entry| self.text(&format!("{path}.through"), entry)),
            times: times.unwrap_or_else(|| 1.0.into()),
            class: table.get("class").map_or(Class::Asynchronous, |entry| self.class(path, entry)),
        })
    }

    fn class(&mut self, path: &str, entry: &Entry<'_>) -> Class {
        let path = format!("{path}.class");
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
