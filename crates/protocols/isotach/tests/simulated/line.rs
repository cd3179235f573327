//! A line of a trace: a step, as JSON.

use core::fmt::Display;
use quintet_contract::NodeId;

/// A step that is being written.
pub(crate) struct Line(String);

impl Line {
    pub(crate) fn of(step: &str) -> Line {
        Line(format!("{{\"step\":\"{step}\""))
    }

    pub(crate) fn at(step: &str, node: NodeId) -> Line {
        Line::of(step).with("node", node.0)
    }

    pub(crate) fn with(mut self, name: &str, value: impl Display) -> Line {
        self.0.push_str(&format!(",\"{name}\":{value}"));
        self
    }

    pub(crate) fn text(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

pub(crate) fn list(items: impl IntoIterator<Item = impl Display>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    format!("[{}]", items.join(","))
}
