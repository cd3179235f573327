//! The membership as a service.

use crate::config::StackConfig;
use crate::service::Service;
use quintet_contract::{Identity, Incarnation, Kind, NodeId, Protocol, Span};
use quintet_membership::{
    MAX_ADDRESS_BYTES, MAX_NAME_BYTES, Membership, MembershipConfig, Start, Timing, codec,
};
use quintet_messaging::Class;
use quintet_wire::registry::{MEMBERSHIP, PORT_MEMBERSHIP};
use quintet_wire::{DecodeError, Reader, Sink};

/// The membership's row.
pub(crate) const SERVICE: Service =
    Service { name: "membership", port: PORT_MEMBERSHIP, kinds: MEMBERSHIP, class, make, encode, decode };

/// Whether a kind of the membership is a request or an answer. What members say to each other is neither: it is said again where it is
/// lost, and may be as long as a view.
fn class(kind: Kind) -> Class {
    match kind {
        kind if codec::is_request(kind) => Class::Request,
        kind if (codec::VOTE..=codec::GONE).contains(&kind) => Class::OneWay,
        _ => Class::Answer,
    }
}

/// The member of this configuration; one that has joined nothing, where there is none.
fn make(config: &StackConfig) -> Box<dyn Protocol> {
    Box::new(Membership::new(config.membership.clone().unwrap_or_else(|| nobody(config))))
}

fn nobody(config: &StackConfig) -> MembershipConfig {
    MembershipConfig::new(config.cluster, NodeId(0), Start::Joined, config.seed)
}

/// Nothing where there is no member. Else cluster u128, node u16, incarnation u64, seed u64, most voters u8, entries at once u16, kept entries u16, spare
/// bytes of the log u32, five spans u64,
/// and, of a founder, its name, identity, address, grants u8 and ticket u64.
fn encode(config: &StackConfig, to: &mut Vec<u8>) {
    let Some(member) = &config.membership else { return };
    to.bytes(&member.cluster.to_le_bytes());
    to.u16(member.node.0);
    to.u64(member.incarnation.0);
    to.u64(member.seed);
    to.u8(member.max_voters);
    to.u16(member.entries_at_once);
    to.u16(member.kept_entries);
    to.u32(member.spare_log_bytes);
    let Timing { heartbeat, election, silence, removal, request } = member.timing;
    for span in [heartbeat, election, silence, removal, request] {
        to.u64(span.0);
    }
    if let Start::Found { name, identity, address, grants, ticket } = &member.start {
        to.counted(name.as_bytes());
        to.bytes(&identity.0);
        to.counted(address.as_bytes());
        to.u8(*grants);
        to.u64(*ticket);
    }
}

fn decode(config: &mut StackConfig, reader: &mut Reader<'_>) -> Result<(), DecodeError> {
    if reader.left() == 0 {
        config.membership = None;
        return Ok(());
    }
    let (cluster, node) = (u128::from_le_bytes(reader.array()?), NodeId(reader.u16()?));
    let (incarnation, seed) = (Incarnation(reader.u64()?), reader.u64()?);
    let mut member = MembershipConfig::new(cluster, node, Start::Joined, seed);
    (member.incarnation, member.max_voters) = (incarnation, reader.u8()?);
    member.entries_at_once = reader.u16()?;
    (member.kept_entries, member.spare_log_bytes) = (reader.u16()?, reader.u32()?);
    let mut span = || Ok::<_, DecodeError>(Span(reader.u64()?));
    member.timing = Timing {
        heartbeat: span()?,
        election: span()?,
        silence: span()?,
        removal: span()?,
        request: span()?,
    };
    if reader.left() > 0 {
        let name = reader.text("name", MAX_NAME_BYTES)?.to_owned();
        let identity = Identity(reader.array()?);
        let address = reader.text("address", MAX_ADDRESS_BYTES)?.to_owned();
        let (grants, ticket) = (reader.u8()?, reader.u64()?);
        member.start = Start::Found { name, identity, address, grants, ticket };
    }
    config.membership = Some(member);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_answers_and_what_members_say_are_told_apart() {
        for kind in [codec::JOIN, codec::LEAVE, codec::VIEW, codec::WATCH, codec::SPACE] {
            assert_eq!(class(kind), Class::Request);
        }
        for kind in [codec::JOINED, codec::DONE, codec::CURRENT, codec::CHANGED, codec::NEWS, codec::ERROR] {
            assert_eq!(class(kind), Class::Answer);
        }
        for kind in [codec::VOTE, codec::VOTED, codec::APPEND, codec::APPENDED, codec::SNAPSHOT, codec::GONE]
        {
            assert_eq!(class(kind), Class::OneWay);
        }
    }

    #[test]
    fn a_member_of_each_start_comes_back() {
        let found = Start::Found {
            name: "one".to_owned(),
            identity: Identity([3; 32]),
            address: String::new(),
            grants: 0,
            ticket: 0,
        };
        for start in [found, Start::Joined] {
            let mut config = StackConfig::of_server(7, Incarnation(2), 42);
            config.membership = Some(MembershipConfig::new(7, NodeId(1), start, 5));
            assert_eq!(StackConfig::from_bytes(&config.to_bytes()), Ok(config));
        }
    }
}
