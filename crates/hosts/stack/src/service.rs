//! The services: who has which port and which kinds.

use crate::config::StackConfig;
use crate::{broker, enrolment, isotach, launch, membership, space};
use quintet_contract::{Kind, Port, Protocol};
use quintet_messaging::Class;
use quintet_replicated::codec::LEADER;
use quintet_wire::registry::KindRange;
use quintet_wire::{DecodeError, Reader};

/// A service as it declares itself: a row of [`SERVICES`].
#[derive(Clone, Copy, Debug)]
pub struct Service {
    /// Its name in recordings: `NAME/embedded`, `NAME/served`, `NAME/client`.
    pub name: &'static str,
    /// Where it is on a node that has it.
    pub port: Port,
    /// The kinds of frames that it and its clients send.
    pub kinds: KindRange,
    /// The class of each of them.
    pub class: fn(Kind) -> Class,
    /// The service itself, without layers below it.
    pub(crate) make: fn(&StackConfig) -> Box<dyn Protocol>,
    /// Writes its part of a configuration.
    pub(crate) encode: fn(&StackConfig, &mut Vec<u8>),
    /// Reads it again, to the last byte.
    pub(crate) decode: fn(&mut StackConfig, &mut Reader<'_>) -> Result<(), DecodeError>,
}

/// Every service, in the order of their ports.
pub const SERVICES: [Service; 6] = [
    space::SERVICE,
    membership::SERVICE,
    isotach::SERVICE,
    launch::SERVICE,
    enrolment::SERVICE,
    broker::SERVICE,
];

/// The class of a kind: that of a replica's answer that it does not lead; else what the service says to whose range it belongs. One that belongs to none is a message of its own.
#[must_use]
pub fn class(kind: Kind) -> Class {
    if kind == LEADER {
        return Class::Answer;
    }
    let service = SERVICES.iter().find(|service| service.kinds.contains(kind));
    service.map_or(Class::OneWay, |service| (service.class)(kind))
}

/// The service at a port.
pub(crate) fn at(port: Port) -> Option<&'static Service> {
    const ALL: &[Service] = &SERVICES;
    ALL.iter().find(|service| service.port == port)
}

/// The service of this name.
pub(crate) fn named(name: &str) -> Option<&'static Service> {
    const ALL: &[Service] = &SERVICES;
    ALL.iter().find(|service| service.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_wire::registry::{HOST_SERVICES, MESSAGING, MODELS, PORT_DEVICE, PORT_USER, SESSION, USER};

    #[test]
    fn every_kind_of_a_service_has_the_class_that_the_service_says() {
        for service in &SERVICES {
            for kind in (service.kinds.first..=service.kinds.last).map(Kind) {
                assert_eq!(class(kind), (service.class)(kind), "{} {}", service.name, kind.0);
            }
        }
    }

    #[test]
    fn a_kind_of_no_service_is_a_message_of_its_own() {
        for range in [SESSION, MESSAGING, MODELS, HOST_SERVICES, USER] {
            assert!(
                (range.first..=range.last).all(|kind| class(Kind(kind)) == Class::OneWay),
                "{}",
                range.owner
            );
        }
    }

    #[test]
    fn services_share_no_port_no_name_and_no_kind() {
        let layers = [SESSION, MESSAGING, MODELS, HOST_SERVICES, USER];
        for (index, service) in SERVICES.iter().enumerate() {
            assert!(PORT_DEVICE < service.port && service.port < PORT_USER, "{}", service.name);
            let others = SERVICES[..index].iter();
            assert!(others.clone().all(|other| other.port < service.port && other.name != service.name));
            for range in others.map(|other| &other.kinds).chain(&layers) {
                let meets = range.first <= service.kinds.last && service.kinds.first <= range.last;
                assert!(!meets, "{} has a kind of {}", service.name, range.owner);
            }
            assert!(at(service.port).is_some_and(|found| found.name == service.name));
            assert!(named(service.name).is_some_and(|found| found.port == service.port));
        }
    }
}
