//! The bodies of requests.

use super::{JOIN, LEAVE, SPACE, VIEW, WATCH};
use crate::change::{MAX_ADDRESS_BYTES, MAX_NAME_BYTES};
use crate::kept_space::{MAX_SPACE_NAME_BYTES, NewSpace};
use crate::replacement::Replacement;
use crate::rights::{NewRights, decode_restricted, encode_restricted};
use quintet_contract::{Identity, Kind, NodeId, Span};
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

/// What a program asks of a member.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Request {
    /// A machine wants to be in, or, where it is, to be reached at another address.
    Join {
        /// The cluster that it means.
        cluster: u128,
        /// Its name.
        name: String,
        /// By what it will prove who it is.
        identity: Identity,
        /// Where it is reached, in words of the host's.
        address: String,
        /// What it may ask of others, in bits of the host's; left aside where it is in.
        grants: u8,
        /// Chosen by who asks, at random: a join that is asked again with it, as its answer was lost or the address has changed, is
        /// answered as before.
        ticket: u64,
    },
    /// A member is to be removed, for good.
    Leave {
        /// Its number.
        node: NodeId,
    },
    /// Members are to keep a space. One that they keep just so is as good.
    AddSpace(NewSpace),
    /// They are to keep it no more.
    RemoveSpace {
        /// Its name.
        name: String,
        /// The number of the view that it came with.
        number: u64,
    },
    /// Another member is to keep a space in the place of one that does.
    ReplaceReplica(Replacement),
    /// A member that keeps a space in another's place has its log on its disk.
    ReplicaReady {
        /// The space's name.
        name: String,
        /// The number of the view that the replacement came with.
        since: u64,
    },
    /// Other members' programs are to use a space from now on.
    SetRights(NewRights),
    /// Who is in?
    View {
        /// Whether a majority is asked whether that is still so; else the answer is what this member knows, however late.
        agreed: bool,
    },
    /// Waits for what comes next.
    Watch {
        /// The view that the caller knows.
        view: u64,
        /// The number of the news that it knows.
        news: u64,
        /// How long it waits.
        wait: Span,
    },
}

impl Request {
    /// The kind under which it travels.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Request::Join { .. } => JOIN,
            Request::Leave { .. } => LEAVE,
            Request::AddSpace(_)
            | Request::RemoveSpace { .. }
            | Request::ReplaceReplica(_)
            | Request::ReplicaReady { .. }
            | Request::SetRights(_) => SPACE,
            Request::View { .. } => VIEW,
            Request::Watch { .. } => WATCH,
        }
    }

    /// Reads the body of a request of this kind.
    ///
    /// # Errors
    /// What is wrong with the bytes; [`DecodeError::Invalid`] for a kind that is no request.
    pub fn decode(kind: Kind, body: &[u8]) -> Result<Request, DecodeError> {
        let reader = &mut Reader::new(body);
        let request = match kind {
            JOIN => Request::Join {
                cluster: u128::from_le_bytes(reader.array()?),
                name: reader.text("name", MAX_NAME_BYTES)?.to_owned(),
                identity: Identity(reader.array()?),
                address: reader.text("address", MAX_ADDRESS_BYTES)?.to_owned(),
                grants: reader.u8()?,
                ticket: reader.u64()?,
            },
            LEAVE => Request::Leave { node: NodeId(reader.u16()?) },
            SPACE => of_space(reader)?,
            VIEW => Request::View { agreed: reader.flag("agreed")? },
            WATCH => Request::Watch { view: reader.u64()?, news: reader.u64()?, wait: Span(reader.u64()?) },
            Kind(other) => return Err(DecodeError::Invalid { at: 0, field: "kind", value: other.into() }),
        };
        reader.clone().finish()?;
        Ok(request)
    }
}

/// What is asked about a space that members keep: its first byte says what.
fn of_space(reader: &mut Reader<'_>) -> Result<Request, DecodeError> {
    let name = |reader: &mut Reader<'_>| Ok(reader.text("name of a space", MAX_SPACE_NAME_BYTES)?.to_owned());
    Ok(match reader.u8()? {
        0 => Request::RemoveSpace { name: name(reader)?, number: reader.u64()? },
        1 => Request::AddSpace(NewSpace::decode(reader)?),
        2 => Request::ReplaceReplica(Replacement::decode(reader)?),
        3 => Request::ReplicaReady { name: name(reader)?, since: reader.u64()? },
        4 => Request::AddSpace(decode_restricted(reader)?),
        5 => Request::SetRights(NewRights::decode(reader)?),
        other => return Err(reader.invalid("request about a space", other, 1)),
    })
}

impl Encode for Request {
    fn encode(&self, sink: &mut impl Sink) {
        match self {
            Request::Join { cluster, name, identity, address, grants, ticket } => {
                sink.bytes(&cluster.to_le_bytes());
                sink.counted(name.as_bytes());
                sink.bytes(&identity.0);
                sink.counted(address.as_bytes());
                sink.u8(*grants);
                sink.u64(*ticket);
            }
            Request::Leave { node } => sink.u16(node.0),
            Request::AddSpace(new) if new.allow.is_some() => {
                sink.u8(4);
                encode_restricted(new, sink);
            }
            Request::AddSpace(new) => {
                sink.u8(1);
                new.encode(sink);
            }
            Request::RemoveSpace { name, number } => {
                sink.u8(0);
                sink.counted(name.as_bytes());
                sink.u64(*number);
            }
            Request::ReplaceReplica(replacement) => {
                sink.u8(2);
                replacement.encode(sink);
            }
            Request::ReplicaReady { name, since } => {
                sink.u8(3);
                sink.counted(name.as_bytes());
                sink.u64(*since);
            }
            Request::SetRights(rights) => {
                sink.u8(5);
                rights.encode(sink);
            }
            Request::View { agreed } => sink.u8((*agreed).into()),
            Request::Watch { view, news, wait } => {
                sink.u64(*view);
                sink.u64(*news);
                sink.u64(wait.0);
            }
        }
    }
}
