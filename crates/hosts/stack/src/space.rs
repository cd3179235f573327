//! The tuple space as a service.

use crate::config::StackConfig;
use crate::service::Service;
use quintet_contract::{Kind, Protocol};
use quintet_messaging::Class;
use quintet_tuple_space::{Space, SpaceConfig, codec};
use quintet_wire::registry::{PORT_SPACE, TUPLE_SPACE};
use quintet_wire::{DecodeError, Reader, Sink};

/// The tuple space's row.
pub(crate) const SERVICE: Service =
    Service { name: "space", port: PORT_SPACE, kinds: TUPLE_SPACE, class, make, encode, decode };

/// Whether a kind of the tuple space is a request, an answer or urgent. Leases are renewed and requests cancelled ahead of what waits:
/// a lease would end behind large data, and a request that waits holds the room that its end would free. What undoes a take
/// goes with them: each of them may say that later takes are not undone any more.
fn class(kind: Kind) -> Class {
    match kind {
        codec::CANCEL | codec::RETURN | codec::RENEW => Class::Urgent,
        kind if (codec::OUT..codec::DONE).contains(&kind) => Class::Request,
        _ => Class::Answer,
    }
}

fn make(config: &StackConfig) -> Box<dyn Protocol> {
    Box::new(Space::new(config.space))
}

fn encode(config: &StackConfig, to: &mut Vec<u8>) {
    let space = &config.space;
    to.u64(space.max_bytes);
    to.u64(space.max_tuples);
    to.u32(space.max_attempts);
    to.u64(space.max_waiting as u64);
    to.u64(space.max_waiting_bytes);
    to.u64(space.max_unsettled as u64);
    to.u64(space.index_step as u64);
    to.u64(space.seed);
}

#[expect(clippy::field_reassign_with_default, reason = "a space built for tests has one field more")]
fn decode(config: &mut StackConfig, reader: &mut Reader<'_>) -> Result<(), DecodeError> {
    let count = |reader: &mut Reader<'_>| Ok(usize::try_from(reader.u64()?).unwrap_or(usize::MAX));
    let mut space = SpaceConfig::default();
    space.max_bytes = reader.u64()?;
    space.max_tuples = reader.u64()?;
    space.max_attempts = reader.u32()?;
    space.max_waiting = count(reader)?;
    space.max_waiting_bytes = reader.u64()?;
    space.max_unsettled = count(reader)?;
    space.index_step = count(reader)?;
    space.seed = reader.u64()?;
    config.space = space;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_answers_and_what_is_urgent_are_told_apart() {
        let ends = [codec::OUT, codec::ACK, codec::RELEASE];
        let asks = [codec::TAKE, codec::READ, codec::COUNT, codec::STATUS, codec::LIST];
        for kind in ends.into_iter().chain(asks) {
            assert_eq!(class(kind), Class::Request);
        }
        for kind in [
            codec::DONE,
            codec::TUPLE,
            codec::NO_MATCH,
            codec::COUNTED,
            codec::STATE,
            codec::ERROR,
            codec::LISTED,
        ] {
            assert_eq!(class(kind), Class::Answer);
        }
        for kind in [codec::CANCEL, codec::RETURN, codec::RENEW] {
            assert_eq!(class(kind), Class::Urgent);
        }
        assert!((TUPLE_SPACE.first..=TUPLE_SPACE.last).all(|kind| class(Kind(kind)) != Class::OneWay));
    }
}
