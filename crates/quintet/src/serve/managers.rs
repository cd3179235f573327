//! A space that several managers serve, each a node with a thread of its own, in one process or in several, on one machine or on several.

use super::ServeConfig;
use crate::stack;
use crate::{Error, Measurement};
use quintet_contract::{Address, Frame};
use quintet_errors::Code;
use quintet_link::LinkAddress;
use quintet_runtime::{Node, Redial};
use quintet_tuple_space::codec::MAX_MANAGERS;
use quintet_tuple_space::{HotKeysConfig, ManagersConfig, ManagersNews, Refusal};
use quintet_wire::Decode;
use quintet_wire::registry::{PORT_CALLERS, PORT_SESSION};
use std::sync::Arc;
use std::time::Duration;

/// How long a manager looks for one that was started before it in the same process.
const DIAL_LIMIT: Duration = Duration::from_secs(10);
/// Bytes of an address that others are told.
const MAX_ADDRESS_BYTES: usize = 1000;

/// One manager of a space that has several, each served by a process of its own, on one machine or on several.
#[derive(Clone)]
pub struct Partitioning {
    /// Which of them this one is, from 1. Programs connect to the first.
    pub manager: u8,
    /// Where each of them serves, in the order of their numbers, as the others and the programs reach it: two to 16. All are told the same.
    pub managers: Vec<LinkAddress>,
    /// Is told when all are there, and when the space is over because one of them is gone; on the server's thread: it must not wait.
    pub told: Option<ManagersSink>,
}

/// Takes what a manager has learnt of the others.
pub type ManagersSink = Arc<dyn Fn(OtherManagers) + Send + Sync>;

/// How it is with the other managers of a space.
#[derive(Clone, PartialEq, Debug)]
pub enum OtherManagers {
    /// All are there: requests are done from now on.
    Complete,
    /// One of them is gone, and its tuples with it, or is of another space: from now on requests are answered with that.
    Lost(Error),
}

impl OtherManagers {
    /// What a frame to the callers of a manager's node says; none if it says nothing of that.
    pub(super) fn of(frame: &Frame<'_>) -> Option<OtherManagers> {
        Some(match ManagersNews::decode_all(frame.body).ok()? {
            ManagersNews::Complete => OtherManagers::Complete,
            ManagersNews::Lost(Refusal { code, text }) => OtherManagers::Lost(Error::new(code, text)),
        })
    }
}

/// Which manager of which space one is.
pub(super) struct Spread {
    pub(super) me: u8,
    /// Keys the hash that says where a tuple is.
    pub(super) seed: u64,
    /// Where the managers reach each other, the first one first.
    places: Vec<LinkAddress>,
    /// Where clients reach them; empty texts where that follows from the first one's address.
    addresses: Vec<String>,
    /// For how long one looks for another.
    patience: Duration,
    pub(super) told: Option<ManagersSink>,
}

impl Spread {
    /// One of so many in one process, the first of which listens there.
    ///
    /// # Errors
    /// [`Code::BadValue`]: an address has no port for it.
    pub(super) fn beside(first: &LinkAddress, (me, managers): (u8, u8), seed: u64) -> Result<Spread, Error> {
        let places = (0..managers).map(|manager| beside(first, manager)).collect::<Result<_, _>>()?;
        let addresses = vec![String::new(); managers.into()];
        Ok(Spread { me, seed, places, addresses, patience: DIAL_LIMIT, told: None })
    }

    /// One in a process of its own. All have to come to the same key, which is no secret: programs are told it.
    pub(super) fn of(partitioning: &Partitioning, cluster: u128) -> Spread {
        Spread {
            me: partitioning.manager - 1,
            seed: cluster as u64 ^ (cluster >> 64) as u64,
            places: partitioning.managers.clone(),
            addresses: partitioning.managers.iter().map(LinkAddress::to_string).collect(),
            patience: super::REACHED_FOR,
            told: partitioning.told.clone(),
        }
    }

    pub(super) fn config(&self, hot_key_requests: Option<u64>) -> ManagersConfig {
        let hot_keys = HotKeysConfig::default();
        let managers = u8::try_from(self.places.len()).expect("there are MAX_MANAGERS at most");
        let callers = Address { node: stack::manager_node(self.me), port: PORT_CALLERS };
        ManagersConfig {
            managers: stack::managers(managers),
            addresses: self.addresses.clone(),
            me: self.me,
            seed: self.seed,
            spread_after: ManagersConfig::SPREAD_AFTER,
            hot_keys: HotKeysConfig { requests: hot_key_requests.unwrap_or(hot_keys.requests), ..hot_keys },
            told: self.told.is_some().then_some(callers),
        }
    }

    /// Each dials those before it.
    pub(super) fn dial_earlier(&self, node: &mut Node) {
        for (manager, address) in (0..self.me).zip(&self.places) {
            let redial = Redial { address: address.clone(), window: self.patience, seed: self.seed };
            node.dial(stack::manager_node(manager), &[(PORT_SESSION, PORT_SESSION)], redial);
        }
    }
}

fn beside(first: &LinkAddress, manager: u8) -> Result<LinkAddress, Error> {
    first.of_manager(manager).ok_or_else(|| {
        let text = format!(
            "{first}: a space with several managers needs a port for each, one after the other: name the first, and not 0"
        );
        Error::new(Code::BadValue, text)
    })
}

/// Where a manager listens.
///
/// # Errors
/// [`Code::BadValue`]: an address has no port for it.
pub(super) fn addresses(first: &[LinkAddress], manager: u8) -> Result<Vec<LinkAddress>, Error> {
    first.iter().map(|first| beside(first, manager)).collect()
}

/// Whether several managers can serve so.
///
/// # Errors
/// [`Code::BadValue`]: there are too many, or it asks for what only one manager does.
pub(super) fn check(first: &[LinkAddress], config: &ServeConfig) -> Result<(), Error> {
    let managers = config.managers;
    check_number(managers.into())?;
    check_alone(managers.into(), config)?;
    (0..managers).try_for_each(|manager| addresses(first, manager).map(drop))
}

impl Partitioning {
    /// That manager, from 1, of these; nobody is told how it is with the others.
    #[must_use]
    pub fn new(manager: u8, managers: Vec<LinkAddress>) -> Partitioning {
        Partitioning { manager, managers, told: None }
    }

    /// Where this one serves; none if it is none of them.
    #[must_use]
    pub fn place(&self) -> Option<&LinkAddress> {
        self.managers.get(usize::from(self.manager).checked_sub(1)?)
    }

    /// Whether a process can serve such a manager.
    ///
    /// # Errors
    /// [`Code::BadValue`]: there is none such, or it asks for what only one manager does.
    pub(super) fn check(&self, config: &ServeConfig) -> Result<(), Error> {
        let (count, number) = (self.managers.len(), self.manager);
        let bad = |text: String| Err(Error::new(Code::BadValue, text));
        check_number(count)?;
        if count < 2 {
            return bad(
                "a space over several processes has two managers or more: name where each serves".to_owned()
            );
        }
        if number == 0 || usize::from(number) > count {
            return bad(format!(
                "manager {number} is none of the {count} managers: they are numbered from 1"
            ));
        }
        for (at, address) in self.managers.iter().enumerate() {
            if self.managers[..at].contains(address) {
                return bad(format!("manager {} has the address of another one: {address}", at + 1));
            }
            let is_open =
                matches!(address, LinkAddress::Tcp { port: 0, .. } | LinkAddress::Tls { port: 0, .. });
            if is_open || address.to_string().len() > MAX_ADDRESS_BYTES {
                return bad(format!(
                    "manager {} cannot be reached at {address}: name a place that others can",
                    at + 1
                ));
            }
        }
        if config.managers > 1 {
            return bad(format!(
                "a process serves one manager of several, or all {} of a space",
                config.managers
            ));
        }
        if config.replication.is_some() {
            return bad("a replicated space has one manager".to_owned());
        }
        check_alone(count, config)
    }
}

fn check_number(managers: usize) -> Result<(), Error> {
    if managers > MAX_MANAGERS {
        let text = format!("{managers} managers are too many: a space has {MAX_MANAGERS} at most");
        return Err(Error::new(Code::BadValue, text));
    }
    Ok(())
}

/// Whether it asks for nothing that only one manager does.
fn check_alone(managers: usize, config: &ServeConfig) -> Result<(), Error> {
    let bad = |text: String| Err(Error::new(Code::BadValue, text));
    if config.log.is_some() {
        return bad(format!("a space with {managers} managers keeps no log: serve a logged space with one"));
    }
    if config.recorder.is_some() {
        return bad(format!("a space with {managers} managers cannot be recorded: serve it with one"));
    }
    Ok(())
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
