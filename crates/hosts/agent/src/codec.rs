//! What travels between an agent and who asks it: machines that want to be let in, members whose certificates run out, and this
//! machine's own user. All numbers are little-endian; text is a length u32 and UTF-8.
//!
//! | request | body | answer |
//! | --- | --- | --- |
//! | [`ENROL`](quintet_stack::enrolment::ENROL) | name, address, ticket u64, version, request for a certificate | [`ENROLLED`](quintet_stack::enrolment::ENROLLED) |
//! | [`RENEW`](quintet_stack::enrolment::RENEW) | the same; name, address and ticket are left aside | [`ENROLLED`](quintet_stack::enrolment::ENROLLED) |
//! | [`END_AGENT`](quintet_stack::enrolment::END_AGENT) | | [`AGENT_ENDS`](quintet_stack::enrolment::AGENT_ENDS) |
//!
//! Any of them may be answered by [`NOT_ENROLLED`](quintet_stack::enrolment::NOT_ENROLLED) instead: the number of an error's code u16, text.

use crate::record::Peer;
use quintet_contract::{Identity, NodeId};
use quintet_membership::{MAX_ADDRESS_BYTES, MAX_MEMBERS, MAX_NAME_BYTES};
use quintet_messaging::upcall::MAX_REQUEST_BYTES;
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

/// Bytes of a request for a certificate, or of a certificate.
const MAX_CERTIFICATE_BYTES: usize = 8 * 1024;
/// Bytes of a version.
const MAX_VERSION_BYTES: usize = 64;

/// What a request takes at most: the longest of each of its parts, with their lengths, and the ticket.
const MAX_ENROL_BYTES: usize = MAX_NAME_BYTES
    + MAX_ADDRESS_BYTES
    + MAX_VERSION_BYTES
    + MAX_CERTIFICATE_BYTES
    + 4 * size_of::<u32>()
    + size_of::<u64>();

const _: () =
    assert!(MAX_ENROL_BYTES <= MAX_REQUEST_BYTES, "none that can be read is refused for its length");

/// Asks for a certificate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Enrol {
    /// What the machine is to be called.
    pub(crate) name: String,
    /// Where it will be reached.
    pub(crate) address: String,
    /// With which it will ask to be moved.
    pub(crate) ticket: u64,
    /// The version of its program.
    pub(crate) version: String,
    /// What the authority signs.
    pub(crate) request: String,
}

/// The answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Enrolled {
    /// The machine's number.
    pub(crate) node: NodeId,
    pub(crate) certificate: String,
    pub(crate) authority: String,
    /// The members before it.
    pub(crate) peers: Vec<Peer>,
}

impl Encode for Enrol {
    fn encode(&self, sink: &mut impl Sink) {
        sink.counted(self.name.as_bytes());
        sink.counted(self.address.as_bytes());
        sink.u64(self.ticket);
        sink.counted(self.version.as_bytes());
        sink.counted(self.request.as_bytes());
    }
}

impl Decode<'_> for Enrol {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Enrol {
            name: reader.text("name", MAX_NAME_BYTES)?.to_owned(),
            address: reader.text("address", MAX_ADDRESS_BYTES)?.to_owned(),
            ticket: reader.u64()?,
            version: reader.text("version", MAX_VERSION_BYTES)?.to_owned(),
            request: reader.text("request", MAX_CERTIFICATE_BYTES)?.to_owned(),
        })
    }
}

impl Encode for Enrolled {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u16(self.node.0);
        sink.counted(self.certificate.as_bytes());
        sink.counted(self.authority.as_bytes());
        sink.u32(u32::try_from(self.peers.len()).expect("at most MAX_MEMBERS"));
        for Peer { node, identity, address } in &self.peers {
            sink.u16(node.0);
            sink.bytes(&identity.0);
            sink.counted(address.as_bytes());
        }
    }
}

impl Decode<'_> for Enrolled {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let node = NodeId(reader.u16()?);
        let certificate = reader.text("certificate", MAX_CERTIFICATE_BYTES)?.to_owned();
        let authority = reader.text("authority", MAX_CERTIFICATE_BYTES)?.to_owned();
        let count = reader.length("number of members", MAX_MEMBERS)?;
        let peers = (0..count).map(|_| Peer::decode(reader)).collect::<Result<_, _>>()?;
        Ok(Enrolled { node, certificate, authority, peers })
    }
}

impl Decode<'_> for Peer {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Peer {
            node: NodeId(reader.u16()?),
            identity: Identity(reader.array()?),
            address: reader.text("address", MAX_ADDRESS_BYTES)?.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_wire::encode_to_vec;

    #[test]
    fn the_longest_request_is_as_long_as_is_said() {
        let longest = Enrol {
            name: "n".repeat(MAX_NAME_BYTES),
            address: "a".repeat(MAX_ADDRESS_BYTES),
            ticket: u64::MAX,
            version: "v".repeat(MAX_VERSION_BYTES),
            request: "r".repeat(MAX_CERTIFICATE_BYTES),
        };
        assert_eq!(encode_to_vec(&longest).len(), MAX_ENROL_BYTES);
    }

    #[test]
    fn all_come_back_and_none_with_a_byte_more_or_less() {
        let enrol = Enrol {
            name: "b".to_owned(),
            address: "b:7400".to_owned(),
            ticket: 7,
            version: "1".to_owned(),
            request: "please".to_owned(),
        };
        let bytes = encode_to_vec(&enrol);
        assert_eq!(Enrol::decode_all(&bytes), Ok(enrol));
        assert!((0..bytes.len()).all(|end| Enrol::decode_all(&bytes[..end]).is_err()));
        let peer = Peer { node: NodeId(1), identity: Identity([7; 32]), address: "a:1".to_owned() };
        let enrolled = Enrolled {
            node: NodeId(4),
            certificate: "one".to_owned(),
            authority: "two".to_owned(),
            peers: vec![peer; MAX_MEMBERS],
        };
        let bytes = encode_to_vec(&enrolled);
        assert_eq!(Enrolled::decode_all(&bytes), Ok(enrolled));
        assert!((0..bytes.len()).all(|end| Enrolled::decode_all(&bytes[..end]).is_err()));
    }
}
