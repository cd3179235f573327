//! A network as it is written: switches, and links between them and processors.

use crate::model::{Attributes, Model, Value};
use std::collections::BTreeMap;

/// Processors, switches, and the links between them.
///
/// ```
/// use quintet_model::{Model, Module, Network, NetworkLink, NetworkSwitch, Processor};
///
/// let link = |from, to| NetworkLink::new(from, to).with("rate", "8 Mb/s");
/// let lan = Network::new().switch("s", NetworkSwitch::new()).link("left", link("a", "s")).link("right", link("s", "b"));
/// let model = Model::new("two hops")
///     .processor("a", Processor::new())
///     .processor("b", Processor::new())
///     .network("lan", lan)
///     .module("send", Module::on("a").start("0 s").send("data", "receive", "1000 B", "lan"))
///     .module("receive", Module::on("b").waits_for("data", 1.0));
/// // A millisecond on each link.
/// assert_eq!(model.run(1)?.simulated.as_seconds(), 0.002);
/// # Ok::<(), quintet_model::ModelError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Network {
    pub(crate) attributes: Attributes,
    pub(crate) switches: BTreeMap<String, NetworkSwitch>,
    pub(crate) links: BTreeMap<String, NetworkLink>,
}

/// A switch or a router of a network.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NetworkSwitch {
    pub(crate) attributes: Attributes,
}

/// A link of a network.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NetworkLink {
    /// Two of them, if it is right.
    pub(crate) between: Vec<String>,
    pub(crate) attributes: Attributes,
}

impl Network {
    /// One without switches and links.
    #[must_use]
    pub fn new() -> Network {
        Network::default()
    }

    /// Sets a key of `[network.NAME]`.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Network {
        self.attributes.insert(key.to_owned(), value.into());
        self
    }

    /// Adds a switch.
    #[must_use]
    pub fn switch(mut self, name: &str, switch: NetworkSwitch) -> Network {
        self.switches.insert(name.to_owned(), switch);
        self
    }

    /// Adds a link.
    #[must_use]
    pub fn link(mut self, name: &str, link: NetworkLink) -> Network {
        self.links.insert(name.to_owned(), link);
        self
    }

    /// Whether a link of this name is written, and joins this: an element, or a group.
    pub(crate) fn has_port(&self, end: &str, link: &str) -> bool {
        let of = |other: &String| other.strip_suffix(".next").unwrap_or(other) == end;
        let joins = |link: &NetworkLink| link.between.iter().any(of);
        self.links.get(link).is_some_and(joins)
    }
}

impl NetworkSwitch {
    /// One that takes as long as its network says.
    #[must_use]
    pub fn new() -> NetworkSwitch {
        NetworkSwitch::default()
    }

    /// Sets a key of `[network.NAME.switch.NAME]`.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> NetworkSwitch {
        self.attributes.insert(key.to_owned(), value.into());
        self
    }
}

impl NetworkLink {
    /// One between these two, processors or switches.
    #[must_use]
    pub fn new(one: &str, other: &str) -> NetworkLink {
        NetworkLink { between: vec![one.to_owned(), other.to_owned()], attributes: Attributes::new() }
    }

    /// Sets a key of `[network.NAME.link.NAME]`.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> NetworkLink {
        self.attributes.insert(key.to_owned(), value.into());
        self
    }
}

impl Model {
    /// Adds a network.
    #[must_use]
    pub fn network(mut self, name: &str, network: Network) -> Model {
        self.networks.insert(name.to_owned(), network);
        self
    }
}
