//! Groups: what their elements are called, and what belongs to one. `resolve/groups.rs` writes them out.

use crate::model::{Measure, Model};
use crate::subject::{ElementKind, Subject};
use std::collections::BTreeMap;

/// How many elements each group has.
pub(crate) type Sizes = BTreeMap<String, u64>;

/// The groups of a model, by the kinds of their elements.
#[derive(Clone, Debug, Default)]
pub(crate) struct Groups {
    pub(crate) processors: Sizes,
    pub(crate) modules: Sizes,
    pub(crate) measures: Sizes,
}

/// The name of one element of a group; numbers begin at 1.
pub(crate) fn member(group: &str, number: u64) -> String {
    format!("{group}-{number}")
}

/// The names of all elements of a group.
pub(crate) fn members(group: &str, size: u64) -> impl Iterator<Item = String> {
    (1..=size).map(move |number| member(group, number))
}

/// The group and the number of which this would be the element's name.
pub(crate) fn numbered(name: &str) -> Option<(&str, u64)> {
    let (group, number) = name.rsplit_once('-')?;
    Some((group, number.parse().ok()?))
}

impl Model {
    /// Whether it is one of the elements of a group, and not what the group did together.
    #[must_use]
    pub fn is_in_group(&self, subject: &Subject<'_>) -> bool {
        let name = subject.element;
        // What the model names itself is an element alone, or a group.
        !match subject.kind {
            ElementKind::Processor => self.processors.contains_key(name),
            ElementKind::Device => self.devices.contains_key(name) || self.networks.contains_key(name),
            ElementKind::Pool => self.pools.contains_key(name),
            ElementKind::Port => self.has_port(name),
            ElementKind::Module => self.modules.contains_key(name),
            ElementKind::Measure => self.measures.contains_key(name),
        }
    }

    /// Whether the links of a network that are written, not those of a group, have a port of this name.
    fn has_port(&self, name: &str) -> bool {
        self.networks.iter().any(|(network, written)| {
            let rest = name.strip_prefix(network.as_str()).and_then(|rest| rest.strip_prefix('.'));
            let ends = rest.and_then(|rest| rest.rsplit_once('.'));
            ends.is_some_and(|(end, link)| written.has_port(end, link))
        })
    }

    /// The measure of this name, or the group of which this is the name of one.
    pub(crate) fn measure_named(&self, name: &str) -> Option<&Measure> {
        let of_group = || numbered(name).and_then(|(group, _)| self.measures.get(group));
        self.measures.get(name).or_else(of_group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_is_called_as_it_is_found() {
        let names: Vec<_> = members("a-b", 2).collect();
        assert_eq!(names, ["a-b-1", "a-b-2"]);
        assert_eq!(numbered(&names[1]), Some(("a-b", 2)));
        assert_eq!((numbered("a-b"), numbered("a"), numbered("-")), (None, None, None));
    }
}
