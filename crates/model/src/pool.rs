//! A pool as it is written, and what it did.

use crate::action::Action;
use crate::model::{Attributes, Model, Module, Value};
use crate::quantity::Draw;
use quintet_simulate::device::DeviceStatistics;

/// Servers that are no processors, used by whichever modules name it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Pool {
    pub(crate) attributes: Attributes,
}

impl Pool {
    /// One of one server.
    #[must_use]
    pub fn new() -> Pool {
        Pool::default()
    }

    /// Sets a key of `[pool.NAME]`.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Pool {
        self.attributes.insert(key.to_owned(), value.into());
        self
    }
}

impl Model {
    /// Adds a pool.
    #[must_use]
    pub fn pool(mut self, name: &str, pool: Pool) -> Model {
        self.pools.insert(name.to_owned(), pool);
        self
    }
}

impl Module {
    /// Uses a pool for this time, whichever of its servers is free.
    #[must_use]
    pub fn use_pool(self, pool: &str, time: impl Into<Draw>) -> Module {
        self.action(Action::Use {
            pool: pool.to_owned(),
            time: time.into(),
            bytes: "0 B".into(),
            key: None,
            times: 1.0.into(),
        })
    }
}

/// What a pool did.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PoolResult {
    /// The share of time in which its servers worked, 0 to 1: the mean of all of them.
    pub utilisation: f64,
    /// The mean time from when a use was asked for to its beginning, in seconds; 0 if none began.
    pub waiting: f64,
    /// Uses that wait, in the mean over time.
    pub mean_queue: f64,
    /// The most of them at a time.
    pub longest_queue: u64,
    /// Uses that ended.
    pub uses: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl From<DeviceStatistics> for PoolResult {
    fn from(found: DeviceStatistics) -> PoolResult {
        PoolResult {
            utilisation: found.utilisation(),
            waiting: found.mean_waiting_seconds(),
            mean_queue: found.mean_queue(),
            longest_queue: found.longest_queue,
            uses: found.delivered,
            bytes: found.bytes,
        }
    }
}

impl PoolResult {
    /// Its numbers by the names that they have behind the pool's.
    pub(crate) fn quantities(&self) -> [(&'static str, f64); 6] {
        #[expect(clippy::cast_precision_loss, reason = "results have fewer digits")]
        let count = |value: u64| value as f64;
        [
            ("utilisation", self.utilisation),
            ("waiting", self.waiting),
            ("queue", self.mean_queue),
            ("longest_queue", count(self.longest_queue)),
            ("uses", count(self.uses)),
            ("bytes", count(self.bytes)),
        ]
    }

    /// The unit of one of them.
    pub(crate) fn unit(what: &str) -> Option<&'static str> {
        Some(match what {
            "utilisation" => "share",
            "waiting" => "s",
            "queue" | "longest_queue" | "uses" => "uses",
            "bytes" => "B",
            _ => return None,
        })
    }
}
