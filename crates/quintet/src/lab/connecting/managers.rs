//! How a connection to a space with several managers is made: to the first, which says where the others are, and to each of them.

use super::{CONNECT_LIMIT, Made, client_config, redial, under_a_free_number, unwatched};
use crate::lab::{Lab, SHORTEST_LEASE, Seen};
use crate::pending::Pending;
use crate::stack::{self, StackConfig};
use crate::{ConnectConfig, Error, LinkConfig, life};
use quintet_contract::NodeId;
use quintet_errors::Code;
use quintet_link::LinkAddress;
use quintet_runtime::{Elsewhere, Instance};
use quintet_tuple_space::codec::MAX_MANAGERS;
use quintet_tuple_space::{Request, Routes, SpaceNumber, manager_gone, manager_gone_or_its_kernel};
use quintet_wire::registry::PORT_SPACE;
use std::time::{Duration, Instant};

/// For how long the managers of a space are waited for that are there and have not found each other so far.
const TOGETHER_LIMIT: Duration = CONNECT_LIMIT;

/// How soon it is looked whether one of them does not take this node.
const LOOK_PAUSE: Duration = Duration::from_millis(20);

/// The managers of a space that has several.
pub(super) struct Managers {
    /// Where each is reached, the first one first.
    places: Vec<LinkAddress>,
    /// What the loss of the first means.
    loss: String,
}

impl Managers {
    /// Those of the space whose first one is reached at `first`: where the space says, else beside the first. Over TLS this process shows the identity that it
    /// shows to the first, or that the setting `cluster.identity` names.
    ///
    /// # Errors
    /// [`Code::Unreachable`]: one has no port. What the space says is no address, or there is no such identity.
    pub(super) fn at(first: &LinkAddress, routes: &Routes) -> Result<Managers, Error> {
        let Routes { addresses, are_beside, .. } = routes;
        let place = |(manager, told)| place(first, manager, if *are_beside { "" } else { told });
        let places = (0..).zip(addresses.iter().map(String::as_str)).map(place);
        let said = if *are_beside { manager_gone_or_its_kernel } else { manager_gone };
        let known = if addresses[0].is_empty() { first.to_string() } else { addresses[0].clone() };
        Ok(Managers { places: places.collect::<Result<_, _>>()?, loss: said(0, addresses.len(), &known) })
    }
}

fn place(first: &LinkAddress, manager: u8, told: &str) -> Result<LinkAddress, Error> {
    if manager == 0 || told.is_empty() {
        return first.of_manager(manager).ok_or_else(|| {
            Error::new(
                Code::Unreachable,
                format!("manager {} of the space at {first} has no port", manager + 1),
            )
        });
    }
    let address: LinkAddress = told.parse().map_err(|error| {
        let text =
            format!("manager {} of the space at {first} is said to be at {told:?}: {error}", manager + 1);
        Error::new(Code::Malformed, text)
    })?;
    let address = match first {
        LinkAddress::Tls { credentials, .. } => address.identified(credentials.as_ref()),
        _ => address,
    };
    if address.wants_identity() {
        return ConnectConfig::from_environment()?.identified(address);
    }
    Ok(address)
}

/// Where each manager of the space is that a server at this address keeps, which are there and let this process in.
///
/// # Errors
/// As [`Lab::connect`].
pub(crate) fn managers_at(
    address: &LinkAddress,
    cluster: u128,
    link: LinkConfig,
) -> Result<Vec<LinkAddress>, Error> {
    let made = Made::link(address)?;
    let (node, config) = client_config(cluster, link);
    let instance = Instance::new(stack::client(node, &config));
    let lab = made.connected(node, stack::SPACE_NODE, instance, SHORTEST_LEASE, link, Seen::default())?;
    let routes = Pending::managers(&lab);
    lab.close();
    let Some(routes) = routes.map_err(|error| explained(error, address, cluster, link))? else {
        return Ok(vec![address.clone()]);
    };
    let managers = Managers::at(address, &routes)?;
    // Whatever stands in the way of a program that asks them all is told here.
    under_a_free_number(|| Lab::connect_to_managers(&managers, cluster, SHORTEST_LEASE, link))?.close();
    Ok(managers.places)
}

/// Why a server has closed every link of this process: one of several managers knows none but those who ask for it, and programs ask for the first. So each of the
/// others is asked for, and the one that is there says where the first is.
pub(super) fn explained(error: Error, address: &LinkAddress, cluster: u128, link: LinkConfig) -> Error {
    if error.code() != Code::PeerDied {
        return error;
    }
    for manager in 1..u8::try_from(MAX_MANAGERS).expect("managers are numbered by a byte") {
        match asked_for(manager, address, cluster, link) {
            // It is not that one either, or nobody is there any more.
            Err(other) if matches!(other.code(), Code::PeerDied | Code::DuplicateNode) => {}
            Err(other) if other.code() == Code::BadValue => return other,
            _ => return error,
        }
    }
    error
}

/// What the manager of this number, not the first, says to a program that asks it where everything is.
fn asked_for(manager: u8, address: &LinkAddress, cluster: u128, link: LinkConfig) -> Result<(), Error> {
    let made = Made::link(address)?;
    let (node, config) = client_config(cluster, link);
    let there = stack::manager_node(manager);
    let instance = Instance::new(stack::client_of(there, &[PORT_SPACE], node, &config));
    let lab = made.connected(node, there, instance, SHORTEST_LEASE, link, Seen::default())?;
    let answered = Pending::managers(&lab).map(drop);
    lab.close();
    answered
}

impl Lab {
    /// Connects to each of several managers.
    pub(super) fn connect_to_managers(
        managers: &Managers,
        cluster: u128,
        lease: Duration,
        link: LinkConfig,
    ) -> Result<Lab, Error> {
        Lab::connect_to_managers_as(client_config(cluster, link), managers, lease, link)
    }

    /// The same as that node, made so.
    fn connect_to_managers_as(
        (node, config): (NodeId, StackConfig),
        Managers { places, loss }: &Managers,
        lease: Duration,
        link: LinkConfig,
    ) -> Result<Lab, Error> {
        let made = Made::link(&places[0])?;
        let writes_together = made.writes_together;
        let seen = Seen::of_a_connection();
        let number = u8::try_from(places.len()).expect("a space has MAX_MANAGERS at most");
        let instance = seen.instance(node, stack::client_of_managers(node, number, &config));
        let lab = made.connected(node, stack::SPACE_NODE, instance, lease, link, seen)?;
        // Those whose links are made again when they were cut.
        let mut may_be_cut = Vec::new();
        for (manager, place) in (0..number).zip(places).skip(1) {
            let made = Made::link(place).map_err(|error| {
                let text = format!("manager {} of the {number} of this space: {}", manager + 1, error.text());
                Error::new(error.cause().clone(), text)
            })?;
            let peer = stack::sessions_of(stack::manager_node(manager));
            lab.shared.calls.also(peer, made.end).map_err(|error| unwatched(&error))?;
            may_be_cut.extend(made.may_be_cut.then_some((peer, place)));
        }
        lab.shared.calls.say_of_loss(loss.clone());
        lab.wait_for_managers(number)?;
        // It is new, and nobody else has it.
        let _ = lab.shared.managers.set(number);
        lab.go_on(writes_together, redial(&places[0], link, life::random()), Elsewhere::default());
        for (peer, place) in may_be_cut {
            let again = redial(place, link, life::random());
            again.into_iter().for_each(|again| lab.shared.calls.redial_also(peer, again));
        }
        Ok(lab)
    }

    /// Waits until they answer as one space.
    ///
    /// # Errors
    /// [`Code::Unreachable`]: they do not in time. [`Code::PeerDied`]: the link to one of them has ended, as where the node's number is in use.
    fn wait_for_managers(&self, number: u8) -> Result<(), Error> {
        let mut asked = Pending::begin(self, SpaceNumber::UNNAMED, &Request::Status)?;
        let since = Instant::now();
        while since.elapsed() < TOGETHER_LIMIT {
            if let Some(outcome) = asked.wait(LOOK_PAUSE) {
                return outcome.map(drop);
            }
            let mut others = 1..number;
            if let Some(other) =
                others.find(|manager| !self.shared.calls.is_linked(stack::manager_node(*manager)))
            {
                let text = format!("manager {} of the {number} of this space closed the link", other + 1);
                return Err(Error::new(Code::PeerDied, text));
            }
        }
        let text = format!(
            "the {number} managers of this space have not found each other within {} s: each says on its standard error when it has found all",
            TOGETHER_LIMIT.as_secs()
        );
        Err(Error::new(Code::Unreachable, text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ServeConfig, Server};
    use quintet_testbed::TempDir;

    #[test]
    fn who_has_a_number_that_is_in_use_at_another_manager_is_told_at_once() {
        let folder = TempDir::new().expect("a temporary directory");
        let first = LinkAddress::Unix(folder.join("space"));
        let config = ServeConfig { managers: 2, ..ServeConfig::default() };
        let _server = Server::start(first.clone(), &config).expect("the space starts");
        let link = LinkConfig::default();

        let addresses = vec![String::new(); 2];
        let of_two = Routes { epoch: 0, seed: 0, addresses, are_beside: true, relocations: Vec::new() };
        let managers = Managers::at(&first, &of_two).expect("they are beside the first");
        let (node, _) = client_config(0, link);
        let connect = || {
            let (_, config) = client_config(0, link);
            Lab::connect_to_managers_as((node, config), &managers, SHORTEST_LEASE, link)
        };

        let there = stack::manager_node(1);
        let (_, config) = client_config(0, link);
        let instance = Instance::new(stack::client_of(there, &[PORT_SPACE], node, &config));
        let made = Made::link(&managers.places[1]).expect("it listens");
        let other = made.connected(node, there, instance, SHORTEST_LEASE, link, Seen::default());
        let other = other.expect("the number is free");
        let _ = Pending::managers(&other);

        let refused = connect().map(drop).expect_err("the second manager knows another node of that number");
        assert_eq!(refused.code(), Code::PeerDied, "{refused}");
        other.close();
        connect().expect("the number is free again").close();
    }
}
