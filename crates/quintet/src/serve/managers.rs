//! A space that several managers serve, each a node with a thread of its own.

use super::ServeConfig;
use crate::stack;
use crate::{Error, Measurement};
use quintet_errors::Code;
use quintet_link::LinkAddress;
use quintet_runtime::{Node, Redial};
use quintet_tuple_space::ManagersConfig;
use quintet_tuple_space::codec::MAX_MANAGERS;
use quintet_wire::registry::PORT_SESSION;
use std::time::Duration;

/// How long a manager looks for one that was started before it.
const DIAL_LIMIT: Duration = Duration::from_secs(10);

/// Which manager of which space one is.
#[derive(Clone, Copy)]
pub(super) struct Spread<'a> {
    pub(super) me: u8,
    pub(super) managers: u8,
    /// Keys the hash that says where a tuple is.
    pub(super) seed: u64,
    /// Where the first listens.
    pub(super) first: &'a [LinkAddress],
}

impl Spread<'_> {
    pub(super) fn config(&self) -> ManagersConfig {
        ManagersConfig {
            managers: stack::managers(self.managers),
            // Clients know the first one's address, from which those of the others follow.
            addresses: vec![String::new(); self.managers.into()],
            me: self.me,
            seed: self.seed,
            spread_after: ManagersConfig::SPREAD_AFTER,
        }
    }

    /// Each dials those before it, which listen already.
    pub(super) fn dial_earlier(&self, node: &mut Node) {
        for manager in 0..self.me {
            let Some(address) = self.first.first().and_then(|first| first.of_manager(manager)) else {
                continue;
            };
            let redial = Redial { address, window: DIAL_LIMIT, seed: self.seed };
            node.dial(stack::manager_node(manager), &[(PORT_SESSION, PORT_SESSION)], redial);
        }
    }
}

/// Where a manager listens.
///
/// # Errors
/// [`Code::BadValue`]: an address has no port for it.
pub(super) fn addresses(first: &[LinkAddress], manager: u8) -> Result<Vec<LinkAddress>, Error> {
    let beside = |first: &LinkAddress| {
        first.of_manager(manager).ok_or_else(|| {
            let text = format!(
                "{first}: a space with several managers needs a port for each, one after the other: name the first, and not 0"
            );
            Error::new(Code::BadValue, text)
        })
    };
    first.iter().map(beside).collect()
}

/// Whether several managers can serve so.
///
/// # Errors
/// [`Code::BadValue`]: there are too many, or it asks for what only one manager does.
pub(super) fn check(first: &[LinkAddress], config: &ServeConfig) -> Result<(), Error> {
    let bad = |text: String| Err(Error::new(Code::BadValue, text));
    let managers = config.managers;
    if usize::from(managers) > MAX_MANAGERS {
        return bad(format!("{managers} managers are too many: a space has {MAX_MANAGERS} at most"));
    }
    if config.log.is_some() {
        return bad(format!("a space with {managers} managers keeps no log: serve a logged space with one"));
    }
    if config.recorder.is_some() {
        return bad(format!("a space with {managers} managers cannot be recorded: serve it with one"));
    }
    (0..managers).try_for_each(|manager| addresses(first, manager).map(drop))
}

/// What several nodes tell, each number once; none if one of them does not answer.
pub(super) fn sum(told: impl Iterator<Item = Option<Vec<Measurement>>>) -> Option<Vec<Measurement>> {
    let mut sums: Vec<Measurement> = Vec::new();
    for measurement in told.collect::<Option<Vec<_>>>()?.into_iter().flatten() {
        match sums.iter_mut().find(|sum| sum.metric == measurement.metric) {
            Some(sum) => sum.value += measurement.value,
            None => sums.push(measurement),
        }
    }
    Some(sums)
}
