//! The broker as a service.

use crate::config::StackConfig;
use crate::service::Service;
use quintet_broker::{Broker, BrokerConfig, codec};
use quintet_contract::{Kind, Protocol};
use quintet_messaging::Class;
use quintet_wire::registry::{BROKER, PORT_BROKER};
use quintet_wire::{DecodeError, Reader, Sink};

/// Bytes of large data of all peers together that may arrive for a broker.
pub(crate) const MAX_ARRIVING_BYTES: usize = 256 * 1024 * 1024;

/// The broker's row.
pub(crate) const SERVICE: Service =
    Service { name: "broker", port: PORT_BROKER, kinds: BROKER, class, make, encode, decode };

/// Whether a kind of the broker is a request, an answer or urgent: what is not wanted any more is said ahead of what waits.
fn class(kind: Kind) -> Class {
    match kind {
        codec::CANCEL => Class::Urgent,
        codec::ANSWER => Class::Answer,
        _ => Class::Request,
    }
}

fn make(config: &StackConfig) -> Box<dyn Protocol> {
    Box::new(Broker::new(config.broker))
}

fn encode(config: &StackConfig, to: &mut Vec<u8>) {
    to.u64(config.broker.max_bytes);
}

fn decode(config: &mut StackConfig, reader: &mut Reader<'_>) -> Result<(), DecodeError> {
    config.broker = BrokerConfig { max_bytes: reader.u64()? };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_contract::Incarnation;

    #[test]
    fn requests_answers_and_what_is_urgent_are_told_apart() {
        let requests = codec::REGISTER.0..=codec::LEAVE.0;
        assert!(requests.map(Kind).all(|kind| class(kind) == Class::Request));
        assert_eq!((class(codec::CANCEL), class(codec::ANSWER)), (Class::Urgent, Class::Answer));
    }

    #[test]
    fn a_broker_comes_back_from_a_recording() {
        let broker = BrokerConfig { max_bytes: 77 };
        let config = StackConfig { broker, ..StackConfig::of_server(7, Incarnation(2), 42) };
        assert_eq!(StackConfig::from_bytes(&config.to_bytes()), Ok(config));
    }
}
