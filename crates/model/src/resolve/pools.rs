//! Pools, and the actions that use them.

use super::fields::Fields;
use super::modules::address;
use super::{Resolver, picos};
use crate::action::Action;
use crate::dimension::Dimension;
use crate::keys;
use crate::plan::Medium;
use crate::problem::ProblemKind;
use quintet_simulate::device::{DeviceModel, PoolParameters};
use quintet_simulate::{Distribution, Instruction, Picos, Usage};

/// How often a use is written out.
const MOST_REPEATS: u64 = 10_000;

/// A pool in numbers.
pub(super) struct ResolvedPool {
    servers: u16,
    bytes_per_second: Option<f64>,
    overhead: Picos,
}

impl ResolvedPool {
    /// Its servers, and that which stands for whichever is free.
    pub(super) fn station_names(&self) -> Vec<String> {
        (1..=self.servers).map(|number| format!("server {number}")).chain(["any server".to_owned()]).collect()
    }

    /// As the simulation needs it. All that is sent to it has come from modules that wait for it.
    pub(super) fn into_medium(self) -> Medium {
        Medium::Device(DeviceModel::Pool(PoolParameters { servers: self.servers }), usize::MAX)
    }
}

impl Resolver<'_> {
    pub(super) fn resolve_pools(&mut self) {
        let model = self.model;
        for (name, pool) in &model.pools {
            let path = format!("pool.{name}");
            let mut fields = Fields::new(self, &keys::POOL, &pool.attributes, &path);
            fields.check_keys(&[]);
            let servers =
                fields.count("servers").and_then(|servers| u16::try_from(servers).ok()).unwrap_or(1);
            let bytes_per_second = fields.number("rate");
            let overhead = fields.time("overhead").unwrap_or_default();
            self.pools.insert(name.clone(), ResolvedPool { servers, bytes_per_second, overhead });
        }
    }

    /// The uses of a pool by the module at `index`.
    pub(super) fn use_pool(&mut self, key: &str, index: usize, action: &Action) -> Vec<Instruction> {
        let Action::Use { pool: name, time, bytes, key: chosen, times } = action else { return Vec::new() };
        let time = self.distribution(&format!("{key}.time"), time, Dimension::TIME);
        let bytes = self.distribution(&format!("{key}.bytes"), bytes, Dimension::DATA);
        let number =
            |resolver: &mut Self, draw| resolver.distribution(&format!("{key}.key"), draw, Dimension::NUMBER);
        let chosen = chosen.as_ref().map(|draw| number(self, draw));
        let times = self.count(&format!("{key}.times"), times, 0, MOST_REPEATS);
        let Some(place) = self.index(&format!("{key}.use"), "pool", name, &self.model.pools) else {
            return Vec::new();
        };
        let Some(&ResolvedPool { servers, bytes_per_second, overhead }) = self.pools.get(name) else {
            return Vec::new();
        };
        if bytes_per_second.is_none() && bytes != Distribution::Constant(0.0) {
            self.missing(
                &format!("pool.{name}.rate"),
                "a data rate, such as \"500 MB/s\": a use of it has bytes",
            );
        }
        if let Distribution::Constant(time) = time
            && time > keys::LONGEST
        {
            let (found, expected) = (picos(time).to_string(), "at most 8.64e6 s".to_owned());
            self.problem(&format!("{key}.time"), ProblemKind::OutOfRange { found, expected });
        }
        let device = self.model.devices.len() + self.model.networks.len() + place;
        let by = self.add_way(key, (index, index), Some((device, 0, servers)));
        let usage = Usage {
            time,
            bytes,
            overhead,
            seconds_per_byte: bytes_per_second.map_or(0.0, |rate| 1.0 / rate),
            server: chosen.map(|number| (number, servers)),
        };
        let by = by.unwrap_or_else(|| address(index));
        let instruction = Instruction::Use { by, usage: Box::new(usage) };
        vec![instruction; usize::try_from(times).unwrap_or(0)]
    }
}
