//! Groups of switches, and the links that groups of processors and switches make.

use super::Writer;
use crate::group::member;
use crate::keys;
use crate::model::Value;
use crate::network::{Network, NetworkLink};
use crate::problem::ProblemKind;
use std::collections::BTreeMap;

impl Writer<'_, '_> {
    /// The network with each switch and each link by itself.
    pub(super) fn network(&mut self, name: &str, network: &Network) -> Network {
        let mut one = Network { attributes: network.attributes.clone(), ..Network::default() };
        let mut sizes = self.groups.processors.clone();
        let path = format!("network.{name}.switch");
        for (switch, written) in &network.switches {
            let mut alone = written.clone();
            let count = alone.attributes.remove("count");
            let key = format!("{path}.{switch}.count");
            let size = match &count {
                Some(Value::Text(count)) => Some(self.size(&key, count, &keys::NETWORK_SWITCH)),
                // It is reported with the other attributes.
                Some(_) => {
                    alone.attributes.extend(count.map(|count| ("count".to_owned(), count)));
                    None
                }
                None => None,
            };
            sizes.remove(switch);
            sizes.extend(size.map(|size| (switch.clone(), size)));
            self.each((&path, switch), size, 1, &mut one.switches, |_, _| Some(alone.clone()));
        }
        let path = format!("network.{name}.link");
        for (link, written) in &network.links {
            let (size, ends) = self.ends(&format!("{path}.{link}.between"), written, &sizes);
            self.each((&path, link), size, 1, &mut one.links, |_, place| {
                let number = place.number.unwrap_or(1);
                let between = ends.iter().map(|end| end.of(number)).collect();
                Some(NetworkLink { between, attributes: written.attributes.clone() })
            });
        }
        one
    }

    /// How many links a written one stands for, if it is a group, and what they join.
    fn ends(
        &mut self,
        key: &str,
        link: &NetworkLink,
        sizes: &BTreeMap<String, u64>,
    ) -> (Option<u64>, Vec<End>) {
        let end = |name: &String| {
            let next = name.strip_suffix(".next").filter(|group| sizes.contains_key(*group));
            let plain = next.unwrap_or(name);
            End { name: plain.to_owned(), size: sizes.get(plain).copied(), is_next: next.is_some(), each: 1 }
        };
        let mut ends: Vec<End> = link.between.iter().map(end).collect();
        let most = ends.iter().filter_map(|end| end.size).max();
        for end in &mut ends {
            let Some((most, size)) = most.zip(end.size) else { continue };
            end.each = most / size;
            if most % size != 0 && !self.miscounted {
                let text = format!(
                    "{most} links cannot be shared evenly among the {size} of the group {}",
                    end.name
                );
                self.resolver.problem(key, ProblemKind::Group { text });
            }
        }
        (most, ends)
    }
}

/// One end of the links of a group.
struct End {
    name: String,
    /// None: the same for all of them.
    size: Option<u64>,
    /// Whether it is that of the next number.
    is_next: bool,
    /// How many links each element has.
    each: u64,
}

impl End {
    /// What the link of this number joins.
    fn of(&self, number: u64) -> String {
        let Some(size) = self.size else { return self.name.clone() };
        let own = ((number - 1) / self.each).min(size - 1);
        member(&self.name, if self.is_next { (own + 1) % size + 1 } else { own + 1 })
    }
}
