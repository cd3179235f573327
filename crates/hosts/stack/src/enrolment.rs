//! The enrolment as a service: machines that want to belong to the cluster, and those whose certificates run out, ask an agent.
//!
//! Nothing pure can sign a certificate: the agent's own thread answers, by upcalls. How many requests of each peer may wait for that, and in
//! all, is theirs to bound.

use crate::config::StackConfig;
use crate::service::Service;
use quintet_contract::{Address, Kind, NodeId, Protocol};
use quintet_errors::Code;
use quintet_messaging::Class;
use quintet_messaging::upcall::{Refusing, Upcalls};
use quintet_session::Placed;
use quintet_wire::refusal::MAX_TEXT_BYTES;
use quintet_wire::registry::{ENROLMENT, PORT_CALLERS, PORT_ENROLMENT};
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink, encode_to_vec};

/// Asks for a certificate, with a token's key.
pub const ENROL: Kind = ENROLMENT.kind(0);
/// Asks for a new certificate of the same key.
pub const RENEW: Kind = ENROLMENT.kind(1);
/// Asks the agent to end; only its own user may.
pub const END_AGENT: Kind = ENROLMENT.kind(2);
/// The certificate.
pub const ENROLLED: Kind = ENROLMENT.kind(3);
/// It was done.
pub const AGENT_ENDS: Kind = ENROLMENT.kind(4);
/// It was refused.
pub const NOT_ENROLLED: Kind = ENROLMENT.kind(5);

/// Why a request was refused: the number of the code that programs see u16, and a text of a length u32 and UTF-8.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotEnrolled {
    /// The number of a code.
    pub code: u16,
    /// In words; cut to [`MAX_TEXT_BYTES`] where it is sent.
    pub text: String,
}

impl Encode for NotEnrolled {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u16(self.code);
        sink.counted(&self.text.as_bytes()[..self.text.floor_char_boundary(MAX_TEXT_BYTES)]);
    }
}

impl Decode<'_> for NotEnrolled {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(NotEnrolled { code: reader.u16()?, text: reader.text("text", MAX_TEXT_BYTES)?.to_owned() })
    }
}

/// How a request is refused that is one too many, or too long.
fn refusal(code: Code) -> Vec<u8> {
    let text = match code {
        Code::TooLarge => "this is longer than what anybody asks here",
        _ => "too many others wait to be answered here: ask again in a moment",
    };
    encode_to_vec(&NotEnrolled { code: code as u16, text: text.to_owned() })
}

/// The enrolment's row.
pub(crate) const SERVICE: Service =
    Service { name: "enrolment", port: PORT_ENROLMENT, kinds: ENROLMENT, class, make, encode, decode };

fn class(kind: Kind) -> Class {
    if (ENROL..=END_AGENT).contains(&kind) { Class::Request } else { Class::Answer }
}

fn make(_: &StackConfig) -> Box<dyn Protocol> {
    Box::new(upcalls(NodeId(0)))
}

fn upcalls(node: NodeId) -> Upcalls {
    let refusing = Refusing { kind: NOT_ENROLLED, body: refusal };
    Upcalls::new(Address { node, port: PORT_CALLERS }, class, refusing)
}

/// The enrolment at its port of a node.
#[must_use]
pub fn enrolment(node: NodeId) -> Placed<Upcalls> {
    let protocol = upcalls(node);
    Placed { port: PORT_ENROLMENT, kinds: ENROLMENT, asks: Vec::new(), services: &[], protocol }
}

/// Nothing decides what it does but its inputs.
fn encode(_: &StackConfig, _: &mut Vec<u8>) {}

fn decode(_: &mut StackConfig, _: &mut Reader<'_>) -> Result<(), DecodeError> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_refusal_is_cut_where_a_character_ends() {
        let long = NotEnrolled { code: 3, text: "é".repeat(MAX_TEXT_BYTES) };
        let read = NotEnrolled::decode_all(&encode_to_vec(&long)).expect("it fits");
        assert_eq!((read.code, read.text.len()), (3, MAX_TEXT_BYTES));
    }

    #[test]
    fn who_is_one_too_many_is_told_in_a_code_and_words() {
        for (code, word) in [(Code::Resource, "again"), (Code::TooLarge, "longer")] {
            let NotEnrolled { code: told, text } =
                NotEnrolled::decode_all(&refusal(code)).expect("it is one");
            assert!(told == code as u16 && text.contains(word), "{text}");
        }
    }
}
