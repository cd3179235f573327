//! How messages get from one module to another: by which device, and by which of several ways.

use super::Resolver;
use super::modules::address;
use crate::action::Action;
use crate::model::Model;
use crate::nearest::nearest;
use crate::network::Network;
use crate::plan::{PlannedModule, Route};
use crate::problem::ProblemKind;
use quintet_contract::Address;
use quintet_simulate::Way;
use std::collections::{BTreeMap, BTreeSet};

/// A device and the stations of the sender and of the receiver; none: directly.
type Through = Option<(usize, u16, u16)>;

/// Ways between two modules besides the first at most.
const MOST_FURTHER_WAYS: usize = 256;

/// The ways between modules.
#[derive(Default)]
pub(super) struct Ways {
    /// By their two ends, the lower one first.
    routes: BTreeMap<(usize, usize), Vec<Route>>,
}

impl Ways {
    pub(super) fn into_routes(self) -> Vec<Route> {
        self.routes.into_values().flatten().collect()
    }
}

impl Resolver<'_> {
    /// The address at which one module reaches another through this device or network, and by this route, whose way is there from now
    /// on; none with a problem reported.
    pub(super) fn way(
        &mut self,
        key: &str,
        (from, to): (usize, usize),
        (through, route): (Option<&str>, &[String]),
        planned: &[PlannedModule],
    ) -> Option<Address> {
        let (here, there) = (planned[from].processor, planned[to].processor);
        let (here_name, there_name) = (self.processor_name(here), self.processor_name(there));
        if !route.is_empty() && !through.is_some_and(|name| self.networks.contains_key(name)) {
            let text = "a route is for a network: name one with through".to_owned();
            self.contradiction(&format!("{key}.route"), text);
        }
        let Some(through) = through else {
            if here != there {
                if let [only] = Carriers::of(self.model).joining(&here_name, &there_name)[..] {
                    return self.way(key, (from, to), (Some(only), &[]), planned);
                }
                self.without_device(key, &here_name, &there_name);
            }
            return self.add_way(key, (from, to), None);
        };
        if self.networks.contains_key(through) {
            let way = self.way_in_network(key, through, (&here_name, &there_name), route)?;
            return self.add_way(key, (from, to), Some(way));
        }
        let key = format!("{key}.through");
        let device = self.device_index(&key, through)?;
        let (here, there) =
            (self.station(&key, through, &here_name), self.station(&key, through, &there_name));
        let (here, there) = (here?, there?);
        self.add_way(&key, (from, to), Some((device, here, there)))
    }

    /// The addresses at which one module reaches another by the ways that there are so far. Those of a module to itself through the pools
    /// that it uses carry no messages.
    pub(super) fn known_ways(&self, from: usize, to: usize) -> Vec<Address> {
        let first_pool = self.model.devices.len() + self.model.networks.len();
        let carries = |route: &&Route| route.through.is_none_or(|(device, ..)| device < first_pool);
        let routes = self.ways.routes.get(&(from.min(to), from.max(to)));
        let by = |route: &Route| route.way.map_or(address(to), |way| way.to(address(to)));
        routes.into_iter().flatten().filter(carries).map(by).collect()
    }

    /// A message between two processors names no device, and there is not one only that joins them.
    fn without_device(&mut self, key: &str, here: &str, there: &str) {
        let several = Carriers::of(self.model).joining(here, there);
        let text = if several.is_empty() {
            format!(
                "a message from {here} to {there} needs a device: name one with through, of kind \"link\" if nothing is modelled"
            )
        } else {
            format!("{} join {here} and {there}: name one of them with through", several.join(" and "))
        };
        self.problem(key, ProblemKind::Disconnected { text });
    }

    fn device_index(&mut self, key: &str, name: &str) -> Option<usize> {
        let found = self.model.devices.keys().position(|known| known == name);
        if found.is_none() {
            let known = self.model.devices.keys().chain(self.model.networks.keys());
            let nearest = nearest(name, known.map(String::as_str));
            let (what, name) = ("device", name.to_owned());
            self.problem(key, ProblemKind::UnknownName { what, name, nearest });
        }
        found
    }

    fn processor_name(&self, index: usize) -> String {
        self.model.processors.keys().nth(index).cloned().unwrap_or_default()
    }

    /// Which station of a device a processor is; none with a problem reported.
    fn station(&mut self, key: &str, through: &str, name: &str) -> Option<u16> {
        let stations = &self.model.devices.get(through)?.stations;
        let found = stations.iter().position(|station| station == name);
        // A device without stations, and a processor that there is not, were reported.
        if found.is_none() && !name.is_empty() && !stations.is_empty() {
            self.no_station(key, through, name);
        }
        found.and_then(|at| u16::try_from(at).ok())
    }

    fn no_station(&mut self, key: &str, through: &str, name: &str) {
        let text = format!("processor {name} is no station of {through}");
        self.problem(key, ProblemKind::Disconnected { text });
    }

    /// The network, and the stations of the two processors in it; with a route those that it has for itself.
    fn way_in_network(
        &mut self,
        key: &str,
        name: &str,
        (here, there): (&str, &str),
        route: &[String],
    ) -> Option<(usize, u16, u16)> {
        let place = self.networks.keys().position(|known| known == name)?;
        // What is wrong with the network itself was reported.
        let network = self.networks.get_mut(name).filter(|network| !network.parameters.links.is_empty())?;
        let through = format!("{key}.through");
        let (from, to) = (network.station(here), network.station(there));
        for (station, processor) in [(from, here), (to, there)] {
            if station.is_none() && !processor.is_empty() {
                self.no_station(&through, name, processor);
            }
        }
        let (from, to) = (from?, to?);
        if here == there {
            let text = format!("a message from {here} to itself takes no link of {name}: leave through out");
            self.problem(&through, ProblemKind::Disconnected { text });
            return None;
        }
        let stations = if route.is_empty() {
            let found = self.networks.get_mut(name)?.has_way(from, to);
            if !found {
                let text =
                    format!("no way leads in {name} from {here} to {there}: processors pass nothing on");
                self.problem(&through, ProblemKind::Disconnected { text });
                return None;
            }
            (from, to)
        } else {
            self.stated_way(&format!("{key}.route"), name, (from, to), route)?
        };
        Some((self.model.devices.len() + place, stations.0, stations.1))
    }

    fn stated_way(
        &mut self,
        key: &str,
        name: &str,
        (from, to): (u16, u16),
        route: &[String],
    ) -> Option<(u16, u16)> {
        let path = format!("network.{name}.link");
        let origins = &self.origins;
        let is_of = |link: &str, named: &str| {
            link == named
                || origins.get(&format!("{path}.{link}")).is_some_and(|of| *of == format!("{path}.{named}"))
        };
        let found = self.networks.get_mut(name)?.state_way((from, to), route, is_of);
        match found {
            Ok(stations) => Some(stations),
            Err(text) => {
                self.problem(key, ProblemKind::Disconnected { text });
                None
            }
        }
    }

    /// The address at which one module reaches another in this way, which is there from now on; none with a problem reported.
    pub(super) fn add_way(
        &mut self,
        key: &str,
        (from, to): (usize, usize),
        through: Through,
    ) -> Option<Address> {
        if from == to && through.is_none() {
            return Some(address(to));
        }
        let turned =
            |(device, here, there)| if from <= to { (device, here, there) } else { (device, there, here) };
        let (between, through) = ((from.min(to), from.max(to)), through.map(turned));
        let routes = self.ways.routes.entry(between).or_default();
        let known = routes.iter().find(|route| route.through == through).copied();
        let route = known.or_else(|| {
            // What a module sends to itself without a device needs no way; so the first of these is a further one already.
            let further = routes.len() + usize::from(from == to);
            let way = further.checked_sub(1).map(u8::try_from).transpose().ok()?.map(Way);
            let route = Route { between, through, way };
            routes.push(route);
            Some(route)
        });
        let Some(route) = route else {
            let (found, expected) =
                ("more".to_owned(), format!("at most {MOST_FURTHER_WAYS} ways between two modules"));
            self.problem(key, ProblemKind::OutOfRange { found, expected });
            return None;
        };
        Some(route.way.map_or(address(to), |way| way.to(address(to))))
    }
}

/// The devices and networks of a model, each with its stations.
struct Carriers<'m>(Vec<(&'m str, BTreeSet<&'m str>)>);

impl<'m> Carriers<'m> {
    fn of(model: &'m Model) -> Carriers<'m> {
        let devices = model.devices.iter().map(|(name, device)| (name, device.stations.iter().collect()));
        let ends = |network: &'m Network| network.links.values().flat_map(|link| &link.between).collect();
        let networks = model.networks.iter().map(|(name, network)| (name, ends(network)));
        let all = devices.chain(networks);
        let named = |(name, stations): (&'m String, Vec<&'m String>)| {
            (name.as_str(), stations.into_iter().map(String::as_str).collect())
        };
        Carriers(all.map(named).collect())
    }

    /// Those that two processors are stations of.
    fn joining(&self, here: &str, there: &str) -> Vec<&'m str> {
        let joins =
            |(_, stations): &&(&str, BTreeSet<&str>)| stations.contains(here) && stations.contains(there);
        self.0.iter().filter(joins).map(|(name, _)| *name).collect()
    }
}

impl Model {
    /// Names what carries each message that goes from one processor to another and names nothing, where there is one device only.
    /// Of a model in which every element stands for itself.
    pub(super) fn name_carriers(&mut self) {
        let hosts: BTreeMap<String, String> =
            self.modules.iter().map(|(name, module)| (name.clone(), module.on.clone())).collect();
        let mut modules = std::mem::take(&mut self.modules);
        let carriers = Carriers::of(self);
        for module in modules.values_mut() {
            let here = &module.on;
            let only = |to: &str| {
                let there = hosts.get(to).filter(|there| *there != here)?;
                match carriers.joining(here, there)[..] {
                    [only] => Some(only.to_owned()),
                    _ => None,
                }
            };
            module.actions.iter_mut().for_each(|action| name_carrier(action, &only));
        }
        self.modules = modules;
    }
}

fn name_carrier(action: &mut Action, only: &impl Fn(&str) -> Option<String>) {
    if let Some((to, through @ None)) = action.carriage_mut() {
        *through = only(to);
    }
    action.parts_mut().into_iter().flat_map(|(_, inner)| inner).for_each(|inner| name_carrier(inner, only));
}
