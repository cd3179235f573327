//! Reading `[module.NAME]`.

use super::Reader;
use crate::keys;
use crate::model::Module;
use toml::de::DeTable;

/// The keys of a module.
const KEYS: [&str; 13] = [
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
    "state",
    "priority",
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
                "priority" => module.priority = Some(self.quantity(&path, entry)),
                "after" => module.after = self.names(&path, entry),
                "after_any" => module.after_any = self.names(&path, entry),
                "do" => module.actions = self.actions(&path, entry),
                "state" => {
                    let Some(inner) = self.table(&path, entry) else { continue };
                    module.state = self.quantities(&path, inner);
                }
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
}
