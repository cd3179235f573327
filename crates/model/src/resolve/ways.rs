//! How messages get from one module to another: by which device, and by which of several ways.

use super::Resolver;
use super::modules::address;
use crate::plan::{PlannedModule, Route};
use crate::problem::ProblemKind;
use quintet_contract::Address;
use quintet_simulate::Way;
use std::collections::BTreeMap;

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
    /// The address at which one module reaches another through this device, whose way is there from now on; none with a problem
    /// reported.
    pub(super) fn way(
        &mut self,
        key: &str,
        (from, to): (usize, usize),
        through: Option<&str>,
        planned: &[PlannedModule],
    ) -> Option<Address> {
        let (here, there) = (planned[from].processor, planned[to].processor);
        let Some(through) = through else {
            if here != there {
                let (here, there) = (self.processor_name(here), self.processor_name(there));
                let text = format!(
                    "a message from {here} to {there} needs a device: name one with through, of kind \"link\" if nothing is modelled"
                );
                self.problem(key, ProblemKind::Disconnected { text });
            }
            return self.add_way(key, (from, to), None);
        };
        let key = format!("{key}.through");
        let device = self.index(&key, "device", through, &self.model.devices)?;
        let (here, there) = (self.station(&key, through, here), self.station(&key, through, there));
        let (here, there) = (here?, there?);
        self.add_way(&key, (from, to), Some((device, here, there)))
    }

    /// The addresses at which one module reaches another by the ways that there are so far.
    pub(super) fn known_ways(&self, from: usize, to: usize) -> Vec<Address> {
        let routes = self.ways.routes.get(&(from.min(to), from.max(to)));
        let by = |route: &Route| route.way.map_or(address(to), |way| way.to(address(to)));
        routes.into_iter().flatten().map(by).collect()
    }

    fn processor_name(&self, index: usize) -> String {
        self.model.processors.keys().nth(index).cloned().unwrap_or_default()
    }

    /// Which station of a device a processor is; none with a problem reported.
    fn station(&mut self, key: &str, through: &str, processor: usize) -> Option<u16> {
        let name = self.processor_name(processor);
        let stations = &self.model.devices.get(through)?.stations;
        let found = stations.iter().position(|station| *station == name);
        // A device without stations, and a processor that there is not, were reported.
        if found.is_none() && !name.is_empty() && !stations.is_empty() {
            let text = format!("processor {name} is no station of {through}");
            self.problem(key, ProblemKind::Disconnected { text });
        }
        found.and_then(|at| u16::try_from(at).ok())
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
