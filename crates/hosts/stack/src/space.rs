//! The tuple space as a service.

use crate::config::StackConfig;
use crate::service::Service;
use quintet_contract::{Address, Frame, Kind, Protocol, Token};
use quintet_durable::LoggedConfig;
use quintet_errors::Code;
use quintet_messaging::Class;
use quintet_resume::{ClientId, Requests, ResumeLimits};
use quintet_tuple_space::{Refusal, SpaceConfig, Spaces, SpacesConfig, codec};
use quintet_wire::registry::{PORT_SPACE, TUPLE_SPACE};
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink, encode_to_vec};

/// The tuple space's row.
pub(crate) const SERVICE: Service =
    Service { name: "space", port: PORT_SPACE, kinds: TUPLE_SPACE, class, make, encode, decode };

/// Whether a kind of the tuple space is a request, an answer or urgent. Leases are renewed and requests cancelled ahead of what waits:
/// a lease would end behind large data, and a request that waits holds the room that its end would free. What undoes a take
/// goes with them: each of them may say that later takes are not undone any more.
fn class(kind: Kind) -> Class {
    match kind {
        codec::CANCEL | codec::RETURN | codec::RENEW => Class::Urgent,
        codec::NAMED
        | codec::CLIENT_WORD
        | codec::PREPARE
        | codec::ROUTE
        | codec::FENCE
        | codec::MIGRATE
        | codec::TRANSFER => Class::Request,
        kind if (codec::OUT..codec::DONE).contains(&kind) => Class::Request,
        _ => Class::Answer,
    }
}

/// The tuple space's frames, as far as they matter for a client that comes back.
#[derive(Clone, Copy, Debug)]
pub enum SpaceRequests {}

impl Requests for SpaceRequests {
    const WORD: Kind = codec::CLIENT_WORD;
    const REPLY: Kind = codec::CLIENT_REPLY;

    fn is_answered(kind: Kind) -> bool {
        codec::is_answered(kind)
    }

    fn is_repeated(kind: Kind) -> bool {
        kind == codec::RENEW
    }

    fn settled(frame: &Frame<'_>) -> Option<Token> {
        codec::settled(frame)
    }

    fn refusal(code: Code, text: &str) -> (Kind, Vec<u8>) {
        (codec::ERROR, encode_to_vec(&Refusal::new(code, text)))
    }
}

fn make(config: &StackConfig) -> Box<dyn Protocol> {
    Box::new(Spaces::new(config.space, config.spaces))
}

/// The limits; who the client is, as its space knows it, u128 (0: by its link); how such clients are kept; and behind them, where the space keeps a log,
/// whose it is: cluster u128, address u32, spare bytes u64.
fn encode(config: &StackConfig, to: &mut Vec<u8>) {
    config.space.encode(to);
    to.u32(config.spaces.max_spaces);
    to.u64(config.spaces.max_bytes);
    to.bytes(&config.client.map_or(0, |client| client.0).to_le_bytes());
    config.resume.encode(to);
    if let Some(log) = &config.log {
        to.bytes(&log.cluster.to_le_bytes());
        to.u32(log.me.to_bits());
        to.u64(log.spare_log_bytes);
    }
}

fn decode(config: &mut StackConfig, reader: &mut Reader<'_>) -> Result<(), DecodeError> {
    config.space = SpaceConfig::decode(reader)?;
    config.spaces = SpacesConfig { max_spaces: reader.u32()?, max_bytes: reader.u64()? };
    config.client = Some(ClientId(u128::from_le_bytes(reader.array()?))).filter(|client| client.0 != 0);
    config.resume = ResumeLimits::decode(reader)?;
    config.log = None;
    if reader.left() > 0 {
        let cluster = u128::from_le_bytes(reader.array()?);
        let me = Address::from_bits(reader.u32()?);
        config.log = Some(LoggedConfig { spare_log_bytes: reader.u64()?, ..LoggedConfig::new(cluster, me) });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_contract::Incarnation;

    #[test]
    fn a_space_with_a_log_comes_back() {
        let mut config = StackConfig::of_server(7, Incarnation(2), 42);
        let without = config.to_bytes();
        config.log = Some(LoggedConfig { spare_log_bytes: 9, ..LoggedConfig::new(7, crate::SPACE) });
        config.client = Some(ClientId(5));
        config.resume.max_clients = 3;
        let bytes = config.to_bytes();
        assert!(bytes.len() > without.len());
        assert_eq!(StackConfig::from_bytes(&bytes), Ok(config));
    }

    #[test]
    fn requests_answers_and_what_is_urgent_are_told_apart() {
        let ends = [codec::OUT, codec::ACK, codec::RELEASE];
        let asks =
            [codec::TAKE, codec::READ, codec::COUNT, codec::STATUS, codec::LIST, codec::SPACES, codec::NAMED];
        assert_eq!(class(codec::MORE), Class::Request);
        let of_managers = [codec::PREPARE, codec::ROUTE, codec::FENCE, codec::MIGRATE, codec::TRANSFER];
        for kind in ends.into_iter().chain(asks).chain(of_managers) {
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
            codec::EVENTS,
            codec::COLLECTED,
            codec::TOLD,
            codec::SPACE_ROWS,
            codec::ROUTES,
            codec::MOVED,
            codec::PREPARED,
        ] {
            assert_eq!(class(kind), Class::Answer);
        }
        for kind in [codec::CANCEL, codec::RETURN, codec::RENEW] {
            assert_eq!(class(kind), Class::Urgent);
        }
        assert!((TUPLE_SPACE.first..=TUPLE_SPACE.last).all(|kind| class(Kind(kind)) != Class::OneWay));
    }
}
