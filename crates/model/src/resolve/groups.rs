//! Groups: elements that stand for several. A model is written with them, and looked at without: every element of a group
//! becomes one of its own, with the group's name and its number.
//!
//! From here on nothing knows groups, until `together.rs` sums up what they did. What is found wrong with an element of one is said once, at the key that was written.

mod network;

use super::Resolver;
use crate::action::Action;
use crate::dimension::Dimension;
use crate::group::{Groups, member, members};
use crate::keys::{self, Key, LARGEST_GROUP};
use crate::model::{Device, Measure, Model, Module, Value};
use crate::problem::ProblemKind;
use crate::quantity::{Draw, Quantity};
use std::collections::BTreeMap;

/// Elements, names and actions of one model at most, those of all groups written out: what a short file can ask for is
/// bounded before it is made.
const MOST_WRITTEN_OUT: u64 = 200_000;

/// A model without groups, and what it was before.
pub(super) struct WrittenOut {
    pub(super) model: Model,
    pub(super) groups: Groups,
    /// The key that was written for each element of a group, and for each action whose number is another now.
    pub(super) origins: BTreeMap<String, String>,
}

/// Who names others: an element by itself, or this one of so many.
#[derive(Clone, Copy)]
struct Place {
    number: Option<u64>,
    of: u64,
}

/// Every place in a group of this size, or that of an element by itself.
fn places(size: Option<u64>) -> impl Iterator<Item = Place> {
    let numbers = size.map(|of| (1..=of).map(Some)).into_iter().flatten();
    let alone = size.is_none().then_some(None);
    numbers.chain(alone).map(move |number| Place { number, of: size.unwrap_or(1) })
}

/// What one of a module takes, written out: its actions, and the lines of the files that it draws from.
fn cost(module: &Module) -> usize {
    let timing = module.start.iter().chain(&module.every);
    let drawn = module.all_actions().flat_map(Action::draws);
    1 + module.all_actions().count() + timing.chain(drawn).map(Draw::lines).sum::<usize>()
}

/// Writes out the groups of one model.
struct Writer<'r, 'm> {
    resolver: &'r mut Resolver<'m>,
    groups: Groups,
    origins: BTreeMap<String, String>,
    /// What may still be written out.
    left: u64,
    /// A count is wrong, or there is too much: that others do not fit to it is no news.
    miscounted: bool,
}

impl Resolver<'_> {
    /// The model with every group written out.
    pub(super) fn write_out(&mut self) -> WrittenOut {
        let written = self.model;
        let mut writer = Writer {
            resolver: self,
            groups: Groups::default(),
            origins: BTreeMap::new(),
            left: MOST_WRITTEN_OUT,
            miscounted: false,
        };
        writer.count();
        let mut model = Model { modules: BTreeMap::new(), measures: BTreeMap::new(), ..written.clone() };
        model.processors = BTreeMap::new();
        for (name, processor) in &written.processors {
            let mut one = processor.clone();
            one.attributes.remove("count");
            let lines: usize = one.instructions.values().map(Draw::lines).sum();
            let (size, cost) =
                (writer.groups.processors.get(name).copied(), 1 + one.instructions.len() + lines);
            writer.each(("processor", name), size, cost, &mut model.processors, |_, _| Some(one.clone()));
        }
        for (name, device) in &mut model.devices {
            writer.stations(name, device);
        }
        for (name, network) in &mut model.networks {
            *network = writer.network(name, network);
        }
        for (name, module) in &written.modules {
            let (size, cost) = (writer.groups.modules.get(name).copied(), cost(module));
            let write = |writer: &mut Writer<'_, '_>, place| Some(writer.module(name, module, place));
            writer.each(("module", name), size, cost, &mut model.modules, write);
        }
        for (name, measure) in &written.measures {
            let size = writer.size_of_measure(name, measure);
            writer.groups.measures.extend(size.map(|size| (name.clone(), size)));
            let write = |writer: &mut Writer<'_, '_>, place| Some(writer.measure(name, measure, place));
            writer.each(("measure", name), size, 1, &mut model.measures, write);
        }
        let Writer { groups, origins, .. } = writer;
        WrittenOut { model, groups, origins }
    }
}

impl Writer<'_, '_> {
    /// How large each group is.
    fn count(&mut self) {
        let model = self.resolver.model;
        for (name, processor) in &model.processors {
            let key = format!("processor.{name}.count");
            let size = match processor.attributes.get("count") {
                Some(Value::Text(count)) => self.size(&key, count, &keys::PROCESSOR),
                Some(_) => {
                    let expected = keys::Takes::Count(1, LARGEST_GROUP).text();
                    let found = "true, false or a list".to_owned();
                    self.resolver.problem(&key, ProblemKind::WrongKind { found, expected });
                    self.miscounted = true;
                    1
                }
                None => continue,
            };
            self.groups.processors.insert(name.clone(), size);
        }
        for (name, module) in &model.modules {
            let key = format!("module.{name}.count");
            let hosts = self.groups.processors.get(&module.on).copied();
            let own = module.count.as_ref().map(|count| self.size(&key, count, &keys::MODULE));
            if hosts.is_some() && own.is_some() {
                let text =
                    format!("a module on the group {} is one on each of it: leave count out", module.on);
                self.resolver.problem(&key, ProblemKind::Group { text });
            }
            self.groups.modules.extend(hosts.or(own).map(|size| (name.clone(), size)));
        }
    }

    fn size(&mut self, key: &str, count: &Quantity, table: &'static keys::Table) -> u64 {
        let takes = table.find("count").map_or(keys::Takes::Count(1, LARGEST_GROUP), |key: &Key| key.takes);
        let value = self.resolver.evaluate(key, count, Dimension::NUMBER);
        let value = value.and_then(|value| self.resolver.in_range(key, count.text(), value, takes));
        self.miscounted |= value.is_none();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range and whole")]
        value.map_or(1, |value| value as u64)
    }

    /// Takes `cost` of what may be written out. False if there is not so much left, which is said once.
    fn spend(&mut self, key: &str, cost: u64) -> bool {
        let enough = cost <= self.left;
        if enough {
            self.left -= cost;
        } else if !self.miscounted {
            self.miscounted = true;
            let (found, expected) = ("more".to_owned(), "200,000 elements and actions in all groups at most");
            let kind = ProblemKind::OutOfRange { found, expected: expected.to_owned() };
            self.resolver.problem(key, kind);
        }
        enough
    }

    /// Adds an element, or each of a group, to those of its kind.
    fn each<T>(
        &mut self,
        (kind, name): (&str, &str),
        size: Option<u64>,
        cost: usize,
        among: &mut BTreeMap<String, T>,
        mut write: impl FnMut(&mut Self, Place) -> Option<T>,
    ) {
        let written = format!("{kind}.{name}");
        let whole = size.unwrap_or(0).saturating_mul(cost as u64);
        let size = if self.spend(&written, whole) { size } else { size.map(|_| 1) };
        for place in places(size) {
            let own = place.number.map_or_else(|| name.to_owned(), |number| member(name, number));
            if self.is_taken(kind, &own, name) || among.contains_key(&own) {
                let text = format!("{own} is the name of another {kind} too");
                self.resolver.problem(&written, ProblemKind::Group { text });
                continue;
            }
            if place.number.is_some() {
                self.origins.insert(format!("{kind}.{own}"), written.clone());
            }
            among.extend(write(self, place).map(|element| (own, element)));
        }
    }

    /// Whether an element that was written, other than `besides`, has this name.
    fn is_taken(&self, kind: &str, name: &str, besides: &str) -> bool {
        let model = self.resolver.model;
        name != besides
            && match kind {
                "processor" => model.processors.contains_key(name),
                "module" => model.modules.contains_key(name),
                "measure" => model.measures.contains_key(name),
                // Those of a network are all among those that were added.
                _ => false,
            }
    }

    /// Every processor of a group, where the list of stations names the group.
    fn stations(&mut self, name: &str, device: &mut Device) {
        let key = format!("device.{name}.stations");
        let mut stations = Vec::new();
        for station in std::mem::take(&mut device.stations) {
            match self.groups.processors.get(&station).copied() {
                Some(size) if self.spend(&key, size) => {
                    stations.extend(members(&station, size));
                }
                Some(_) => stations.push(member(&station, 1)),
                None => stations.push(station),
            }
        }
        device.stations = stations;
    }

    fn module(&mut self, name: &str, module: &Module, place: Place) -> Module {
        let path = format!("module.{name}");
        let own =
            place.number.map_or_else(|| path.clone(), |number| format!("module.{}", member(name, number)));
        let mut one = Module { count: None, ..module.clone() };
        if self.groups.processors.contains_key(&module.on) {
            one.on = member(&module.on, place.number.unwrap_or(1));
        }
        for (key, names) in
            [("after", &mut one.after), ("after_any", &mut one.after_any), ("then", &mut one.then)]
        {
            *names =
                names.iter().flat_map(|other| self.named(&format!("{path}.{key}"), other, place)).collect();
        }
        let key = format!("{path}.then_one_of");
        for (other, weight) in &module.then_one_of {
            one.then_one_of.remove(other);
            let named = self.named(&format!("{key}.{other}"), other, place);
            one.then_one_of.extend(named.into_iter().map(|other| (other, weight.clone())));
        }
        one.actions = self.actions((&format!("{path}.do"), &format!("{own}.do")), &module.actions, place);
        one
    }

    /// The actions written out: one for each module that each names. The keys: of the list as it was written, and in the new model.
    fn actions(&mut self, (written, own): (&str, &str), actions: &[Action], place: Place) -> Vec<Action> {
        let mut all = Vec::new();
        for (step, action) in actions.iter().enumerate() {
            let key = format!("{written}[{step}]");
            for mut action in self.targets(&key, action, place) {
                let own = format!("{own}[{}]", all.len());
                for (part, inner) in action.parts_mut() {
                    *inner = self.actions((&format!("{key}.{part}"), &format!("{own}.{part}")), inner, place);
                }
                self.origins.insert(own, key.clone());
                all.push(action);
            }
        }
        all
    }

    /// The action, or one for each module that it names.
    fn targets(&mut self, key: &str, action: &Action, place: Place) -> Vec<Action> {
        let Some(to) = action.target().map(str::to_owned) else { return vec![action.clone()] };
        let named = |name: String| {
            let mut action = action.clone();
            action.target_mut().into_iter().for_each(|to| to.clone_from(&name));
            action
        };
        let part = if matches!(action, Action::Cancel { .. }) { "cancel" } else { "to" };
        self.named(&format!("{key}.{part}"), &to, place).into_iter().map(named).collect()
    }

    /// The modules that a name means at this place. One that nothing has is reported later.
    fn named(&mut self, key: &str, name: &str, place: Place) -> Vec<String> {
        let Some((group, which, size)) = self.group(name) else { return vec![name.to_owned()] };
        if which == "each" {
            let enough = self.spend(key, size);
            return members(group, if enough { size } else { 1 }).collect();
        }
        let number = match place.number {
            Some(number) if place.of == size && which == "next" => number % size + 1,
            Some(number) if place.of == size => number,
            _ => {
                self.mismatch(key, group, size, place);
                1
            }
        };
        vec![member(group, number)]
    }

    /// A group of modules that is named, what stands behind its name, and its size.
    fn group<'n>(&self, name: &'n str) -> Option<(&'n str, &'n str, u64)> {
        let sizes = &self.groups.modules;
        if let Some(size) = sizes.get(name) {
            return Some((name, "", *size));
        }
        let (group, which) = name.rsplit_once('.')?;
        let known = !self.resolver.model.modules.contains_key(name) && ["each", "next"].contains(&which);
        sizes.get(group).filter(|_| known).map(|size| (group, which, *size))
    }

    fn mismatch(&mut self, key: &str, group: &str, size: u64, place: Place) {
        let whose = match place.number {
            None => "one module is expected here".to_owned(),
            Some(_) => format!("these are {}, so that none belongs to each", place.of),
        };
        let text =
            format!("{group} is a group of {size}, and {whose}: name one, {group}-1, or all, {group}.each");
        // The others of its group would say the same.
        if !self.miscounted && place.number.is_none_or(|number| number == 1) {
            self.resolver.problem(key, ProblemKind::Group { text });
        }
    }

    /// The module of `MODULE.start` or `MODULE.end`, and the rest.
    fn edge(text: &str) -> Option<(&str, &str)> {
        text.rsplit_once('.').filter(|(_, edge)| ["start", "end"].contains(edge))
    }

    /// The size of the group that a measure is because it names one.
    fn size_of_measure(&mut self, name: &str, measure: &Measure) -> Option<u64> {
        let names = match measure {
            Measure::Time { from, to } => vec![Self::edge(from)?.0, Self::edge(to)?.0],
            Measure::Throughput { of, .. } | Measure::Interval { of } | Measure::Request { of, .. } => {
                vec![of.as_str()]
            }
        };
        if let Some(all) =
            names.iter().find(|name| self.group(name).is_some_and(|(_, which, _)| which == "each"))
        {
            let text =
                format!("a measure of a group is one for each of it: name the group, without {all}'s .each");
            self.resolver.problem(&format!("measure.{name}"), ProblemKind::Group { text });
            return None;
        }
        names.iter().find_map(|name| self.group(name)).map(|(.., size)| size)
    }

    fn measure(&mut self, name: &str, measure: &Measure, place: Place) -> Measure {
        let path = format!("measure.{name}");
        let mut module = |key: &str, name: &str| {
            let named = self.named(&format!("{path}.{key}"), name, place);
            named.into_iter().next().unwrap_or_default()
        };
        let mut event = |key: &str, text: &str| match Self::edge(text) {
            Some((name, edge)) => format!("{}.{edge}", module(key, name)),
            None => text.to_owned(),
        };
        match measure {
            Measure::Time { from, to } => {
                Measure::Time { from: event("time.from", from), to: event("time.to", to) }
            }
            Measure::Throughput { of, bytes } => {
                Measure::Throughput { of: module("throughput.of", of), bytes: bytes.clone() }
            }
            Measure::Interval { of } => Measure::Interval { of: module("interval.of", of) },
            Measure::Request { of, message } => {
                Measure::Request { of: module("request.of", of), message: message.clone() }
            }
        }
    }
}
