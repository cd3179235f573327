//! Networks: their points, links and ports, and the ways that messages name.

use super::Resolver;
use super::fields::Fields;
use crate::group::numbered;
use crate::keys;
use crate::nearest::nearest;
use crate::network::{Network, NetworkLink};
use crate::plan::{Medium, PlannedPort};
use crate::problem::ProblemKind;
use quintet_simulate::Picos;
use quintet_simulate::device::{DeviceModel, LinkParameters, NetworkParameters, Routing, WhenFull};
use std::collections::BTreeMap;

/// A network in numbers, and what its parts are called.
pub(super) struct ResolvedNetwork {
    pub(super) parameters: NetworkParameters,
    pub(super) routing: Routing,
    pub(super) window: usize,
    /// Processors first: they are the stations.
    points: Vec<String>,
    processors: usize,
    /// In the order of the links.
    pub(super) links: Vec<String>,
}

/// What links take from their network.
struct Inherited {
    latency: Picos,
    bytes_per_second: Option<f64>,
    delay: Picos,
    overhead: u64,
    shortest: u64,
    buffer: u64,
    when_full: WhenFull,
}

impl ResolvedNetwork {
    /// The station that a processor is.
    pub(super) fn station(&self, processor: &str) -> Option<u16> {
        let at = self.points.iter().position(|point| point == processor)?;
        u16::try_from(at).ok().filter(|_| at < self.processors)
    }

    /// The processors that stations are: several for one that has ways of its own.
    pub(super) fn station_names(&self) -> Vec<String> {
        self.parameters.stations.iter().map(|point| self.points[*point as usize].clone()).collect()
    }

    /// Whether one station reaches another.
    pub(super) fn has_way(&mut self, from: u16, to: u16) -> bool {
        self.routing.way(from.into(), to.into()).is_some()
    }

    /// The stations by which messages take these links, as they are named, from one processor to another.
    ///
    /// # Errors
    /// Why there is no such way, in words.
    pub(super) fn state_way(
        &mut self,
        (from, to): (u16, u16),
        route: &[String],
        is_of: impl Fn(&str, &str) -> bool,
    ) -> Result<(u16, u16), String> {
        let mut at = u32::from(from);
        let mut way: Vec<u32> = Vec::new();
        for (index, named) in route.iter().enumerate() {
            let here = &self.points[at as usize];
            if index > 0 && (at as usize) < self.processors {
                return Err(format!("the processor {here} passes nothing on, so that {named} cannot follow"));
            }
            let is_last = index + 1 == route.len();
            let leads_on = |(link, _): &&(u32, u32)| {
                is_of(&self.links[*link as usize], named) && way.last() != Some(link)
            };
            let found: Vec<_> = self.routing.links_at(at).iter().filter(leads_on).collect();
            let arrives = found.iter().find(|(_, next)| is_last && *next == u32::from(to));
            let (link, next) = match (arrives, &found[..]) {
                (Some(only), _) | (None, [only]) => only,
                (None, []) => return Err(format!("no link {named} leads on from {here}")),
                (None, several) => {
                    return Err(format!("{} links of {named} lead on from {here}: name one", several.len()));
                }
            };
            way.push(*link);
            at = *next;
        }
        if at != u32::from(to) {
            let (end, wanted) = (&self.points[at as usize], &self.points[usize::from(to)]);
            return Err(format!("this leads to {end} instead of {wanted}"));
        }
        self.add_stated((from, to), way)
    }

    /// Stations at the same points that have this way; those of before if it is known.
    fn add_stated(&mut self, (from, to): (u16, u16), way: Vec<u32>) -> Result<(u16, u16), String> {
        let back: Vec<u32> = way.iter().rev().copied().collect();
        let stations = &mut self.parameters.stations;
        let ends = (u32::from(from), u32::from(to));
        for (known_from, known_to, links) in &self.parameters.stated {
            let known = (stations[usize::from(*known_from)], stations[usize::from(*known_to)]);
            if known == ends && *links == way {
                return Ok((*known_from, *known_to));
            }
            if known == (ends.1, ends.0) && *links == back {
                return Ok((*known_to, *known_from));
            }
        }
        let number = |at: usize| u16::try_from(at).ok().filter(|number| *number < u16::MAX);
        let places = number(stations.len()).zip(number(stations.len() + 1));
        let (here, there) = places.ok_or("there are more than 65,534 processors and ends of routes")?;
        stations.extend([ends.0, ends.1]);
        self.parameters.stated.push((here, there, way));
        Ok((here, there))
    }

    /// As the simulation needs it.
    pub(super) fn into_medium(self) -> Medium {
        Medium::Device(DeviceModel::Network(self.parameters), self.window)
    }
}

impl<'m> Resolver<'m> {
    pub(super) fn resolve_networks(&mut self) {
        let model = self.model;
        for (name, network) in &model.networks {
            let path = format!("network.{name}");
            if model.devices.contains_key(name) {
                self.contradiction(&path, format!("{name} is the name of a device too"));
            }
            let resolved = self.resolve_network(&path, network);
            self.networks.insert(name.clone(), resolved);
        }
    }

    fn resolve_network(&mut self, path: &str, network: &'m Network) -> ResolvedNetwork {
        let before = self.problems.len();
        let mut fields = Fields::new(self, &keys::NETWORK, &network.attributes, path);
        fields.check_keys(&[]);
        let packet_bytes = fields.bytes("packet").unwrap_or(u64::MAX);
        let window = fields.count("window").and_then(|window| usize::try_from(window).ok());
        let inherited = Inherited {
            latency: fields.time("latency").unwrap_or_default(),
            bytes_per_second: fields.number("rate"),
            delay: fields.time("delay").unwrap_or_default(),
            overhead: fields.bytes("overhead").unwrap_or(0),
            shortest: fields.bytes("shortest").unwrap_or(0),
            buffer: fields.bytes("buffer").unwrap_or(u64::MAX),
            when_full: when_full(fields.word("when_full")),
        };
        let points = self.points(path, network);
        let numbers: BTreeMap<&str, u32> = points.iter().map(String::as_str).zip(0..).collect();
        let stations = points.iter().filter(|point| !network.switches.contains_key(*point)).count();
        let mut latencies = vec![Picos::ZERO; stations];
        for (name, switch) in &network.switches {
            let path = format!("{path}.switch.{name}");
            let mut fields = Fields::new(self, &keys::NETWORK_SWITCH, &switch.attributes, &path);
            fields.check_keys(&[]);
            latencies.push(fields.time("latency").unwrap_or(inherited.latency));
        }
        let mut links = Vec::new();
        let names = in_order(network);
        for name in &names {
            let key = format!("{path}.link.{name}");
            let link = &network.links[name];
            let number =
                |end: usize| link.between.get(end).and_then(|end| numbers.get(end.as_str())).copied();
            let ends = [number(0).unwrap_or(0), number(1).unwrap_or(0)];
            links.push(self.resolve_link(&key, link, ends, &inherited));
        }
        let station_points = (0..).take(stations.min(usize::from(u16::MAX))).collect();
        let (latencies, stated) = (latencies, Vec::new());
        let parameters =
            NetworkParameters { packet_bytes, latencies, stations: station_points, links, stated };
        self.check_network(path, network, &parameters, &points, before);
        let is_good = self.problems.len() == before;
        let parameters =
            if is_good { parameters } else { NetworkParameters { links: Vec::new(), ..parameters } };
        ResolvedNetwork {
            routing: Routing::new(&parameters),
            parameters,
            window: window.unwrap_or(usize::MAX),
            points,
            processors: stations,
            links: names,
        }
    }

    /// The processors that links name, and the switches, each in the order of their names. What a link names else is reported.
    fn points(&mut self, path: &str, network: &Network) -> Vec<String> {
        let model = self.model;
        let mut named: Vec<&String> = Vec::new();
        for (link, NetworkLink { between, .. }) in &network.links {
            let key = format!("{path}.link.{link}.between");
            match &between[..] {
                [one, other] if one == other => {
                    self.contradiction(&key, format!("it joins {one} to itself"));
                }
                [_, _] => {}
                [] => self.missing(&key, "a list of two processors or switches"),
                _ => {
                    let (found, expected) = (format!("{} names", between.len()), "two".to_owned());
                    self.problem(&key, ProblemKind::OutOfRange { found, expected });
                }
            }
            for end in between {
                if model.processors.contains_key(end) {
                    named.push(end);
                } else if !network.switches.contains_key(end) {
                    let known = model.processors.keys().chain(network.switches.keys());
                    let nearest = nearest(end, known.map(String::as_str));
                    let (what, name) = ("processor or switch", end.clone());
                    self.problem(&key, ProblemKind::UnknownName { what, name, nearest });
                }
            }
        }
        for switch in network.switches.keys().filter(|name| model.processors.contains_key(*name)) {
            self.contradiction(
                &format!("{path}.switch.{switch}"),
                format!("{switch} is the name of a processor too"),
            );
        }
        named.retain(|name| !network.switches.contains_key(*name));
        named.sort();
        named.dedup();
        named.into_iter().chain(network.switches.keys()).cloned().collect()
    }

    fn resolve_link(
        &mut self,
        key: &str,
        link: &'m NetworkLink,
        ends: [u32; 2],
        inherited: &Inherited,
    ) -> LinkParameters {
        let mut fields = Fields::new(self, &keys::NETWORK_LINK, &link.attributes, key);
        fields.check_keys(&[]);
        let rate = if fields.is_given("rate") { fields.number("rate") } else { inherited.bytes_per_second };
        let said = fields.is_given("rate");
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share, from 0 to 1")]
        let loss_per_million = fields.number("loss").map_or(0, |loss| (loss * 1e6).round() as u32);
        let parameters = LinkParameters {
            ends,
            bits_per_second: 8.0 * rate.unwrap_or(1.0),
            delay: fields.time("delay").unwrap_or(inherited.delay),
            loss_per_million,
            overhead_bytes: fields.bytes("overhead").unwrap_or(inherited.overhead),
            shortest_bytes: fields.bytes("shortest").unwrap_or(inherited.shortest),
            cost: fields.count_u32("cost"),
            buffer_bytes: fields.bytes("buffer").unwrap_or(inherited.buffer),
            when_full: if fields.is_given("when_full") {
                when_full(fields.word("when_full"))
            } else {
                inherited.when_full
            },
        };
        if rate.is_none() && !said {
            self.missing(&format!("{key}.rate"), "a data rate, here or of the network, such as \"1 Gb/s\"");
        }
        parameters
    }

    /// Whether it is one network, and one that can be.
    fn check_network(
        &mut self,
        path: &str,
        network: &Network,
        parameters: &NetworkParameters,
        points: &[String],
        before: usize,
    ) {
        if network.links.is_empty() {
            return self.missing(&format!("{path}.link"), "at least one link");
        }
        if points.len() > usize::from(u16::MAX) {
            let (found, expected) =
                (format!("{} processors and switches", points.len()), "at most 65535".to_owned());
            return self.problem(path, ProblemKind::OutOfRange { found, expected });
        }
        if self.problems.len() > before {
            return;
        }
        if let Some(apart) = apart(parameters) {
            let (one, other) = (&points[0], &points[apart]);
            let text = format!("{one} and {other} are not joined: no links lead from one to the other");
            return self.problem(path, ProblemKind::Disconnected { text });
        }
        if let Err(error) = parameters.check() {
            self.problem(path, ProblemKind::Device(error));
        }
    }

    /// The ports of all networks. Devices are numbered as in the plan, the first network with this number.
    pub(super) fn planned_ports(&self, first_device: usize) -> Vec<PlannedPort> {
        let mut ports = Vec::new();
        for (device, (name, network)) in (first_device..).zip(&self.networks) {
            for (number, (link, parameters)) in
                network.links.iter().zip(&network.parameters.links).enumerate()
            {
                for (end, point) in parameters.ends.iter().enumerate() {
                    let point = &network.points[*point as usize];
                    ports.push(PlannedPort {
                        name: format!("{name}.{point}.{link}"),
                        group: self.port_group(name, point, link),
                        device,
                        index: 2 * number + end,
                    });
                }
            }
        }
        ports
    }

    /// The output ports of devices of kind `switch`, by the stations to which they send.
    pub(super) fn ports_of_switches(&self, devices: &[Medium]) -> impl Iterator<Item = PlannedPort> {
        let is_switch = |medium: &Medium| matches!(medium, Medium::Device(DeviceModel::Switch(_), _));
        let named = self.model.devices.iter().zip(devices).enumerate();
        named.filter(move |(_, (_, medium))| is_switch(medium)).flat_map(
            move |(device, ((name, written), _))| {
                written.stations.iter().enumerate().map(move |(index, station)| {
                    let group = self.origins.get(&format!("processor.{station}"));
                    let group =
                        group.and_then(|origin| Some(format!("{name}.{}", origin.rsplit_once('.')?.1)));
                    PlannedPort { name: format!("{name}.{station}"), group, device, index }
                })
            },
        )
    }

    /// What a port belongs to, as it was written; none: it is written itself.
    fn port_group(&self, network: &str, point: &str, link: &str) -> Option<String> {
        let path = format!("network.{network}");
        let written = |key: String| Some(self.origins.get(&key)?.rsplit_once('.')?.1.to_owned());
        let own_link = written(format!("{path}.link.{link}"));
        let own_point =
            written(format!("{path}.switch.{point}")).or_else(|| written(format!("processor.{point}")));
        if own_link.is_none() && own_point.is_none() {
            return None;
        }
        let (point, link) = (own_point.as_deref().unwrap_or(point), own_link.as_deref().unwrap_or(link));
        Some(format!("{network}.{point}.{link}"))
    }
}

fn when_full(word: usize) -> WhenFull {
    if word == 0 { WhenFull::Drop } else { WhenFull::Pause }
}

/// The names of the links in order, those of a group by their numbers.
fn in_order(network: &Network) -> Vec<String> {
    let mut names: Vec<String> = network.links.keys().cloned().collect();
    names.sort_by_cached_key(|name| match numbered(name) {
        Some((group, number)) => (group.to_owned(), Some(number)),
        None => (name.clone(), None),
    });
    names
}

/// A point to which no links lead from the first.
fn apart(network: &NetworkParameters) -> Option<usize> {
    let routing = Routing::new(network);
    let mut seen = vec![false; network.latencies.len()];
    let mut open = vec![0_u32];
    while let Some(point) = open.pop() {
        if !std::mem::replace(seen.get_mut(point as usize)?, true) {
            open.extend(routing.links_at(point).iter().map(|(_, other)| *other));
        }
    }
    seen.iter().position(|seen| !seen)
}
