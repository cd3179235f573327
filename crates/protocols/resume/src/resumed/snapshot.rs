//! The clients as bytes, and back.
//!
//! ```text
//! "RSMD" | the place given last u16 | n u32 | n clients, by identity:
//!   identity u128, place u16, its link, whether it is there u8 and where u32, whether it is away u8 and until when u64
//!   n u32 | n requests, by token: token u64, 0 open, 1 open and asked, 2 answered u8 and the answer: kind u8, body counted, bulk counted
//! n u32 | n links, by address: address u32, 0 new u8 and how it came up: incarnation u64, the link; 1 known by it; 2 of a client; 3 left
//! the state of the service
//! ```

use super::client::{Client, Request};
use super::clients::Clients;
use super::{Link, Resumed};
use crate::codec::ClientId;
use crate::config::ResumedConfig;
use crate::requests::Requests;
use core::marker::PhantomData;
use quintet_contract::limits::{MAX_BODY_BYTES, MAX_BULK_BYTES};
use quintet_contract::{
    Address, Bytes, Incarnation, Kind, LinkInfo, NodeId, OwnedFrame, PeerChange, PeerMap, Snapshot,
    SnapshotError, Time, Token,
};
use quintet_wire::registry::PORT_RESUMED;
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

const MAGIC: [u8; 4] = *b"RSMD";

/// The number of what this layer does; that of the service is above it.
const LAYER: u32 = 2;

impl<P: Snapshot, R: Requests> Snapshot for Resumed<P, R> {
    type Config = ResumedConfig<P::Config>;

    const BEHAVIOUR: u32 = P::BEHAVIOUR * 256 + LAYER;

    fn save(&self, bytes: &mut Vec<u8>) {
        let Resumed { limits: _, inner, clients, links, requests: _ } = self;
        bytes.bytes(&MAGIC);
        bytes.u16(clients.last);
        bytes.u32(count(clients.len()));
        clients.iter().for_each(|(id, client)| save_client(id, client, bytes));
        bytes.u32(count(links.len()));
        links.iter().for_each(|(at, link)| save_link(at, link, bytes));
        inner.save(bytes);
    }

    fn restore(config: &Self::Config, bytes: &[u8]) -> Result<Self, SnapshotError> {
        let mut reader = Reader::new(bytes);
        let (clients, links) = read(&mut reader).map_err(|error| SnapshotError(error.to_string()))?;
        let inner = P::restore(&config.inner, &bytes[reader.at()..])?;
        Ok(Resumed { limits: config.limits, inner, clients, links, requests: PhantomData })
    }
}

fn count(count: usize) -> u32 {
    u32::try_from(count).expect("there are fewer of them than addresses, or tokens under way")
}

fn save_client(id: ClientId, client: &Client, bytes: &mut Vec<u8>) {
    bytes.bytes(&id.0.to_le_bytes());
    bytes.u16(client.place.node.0);
    client.link.encode(bytes);
    bytes.u8(client.at.is_some().into());
    bytes.u32(client.at.map_or(0, Address::to_bits));
    bytes.u8(client.until.is_some().into());
    bytes.u64(client.until.map_or(0, |until| until.0));
    bytes.u32(count(client.requests().len()));
    for (token, request) in client.requests() {
        bytes.u64(token.0);
        match request {
            Request::Open { is_asked } => bytes.u8((*is_asked).into()),
            Request::Answered(answer) => {
                bytes.u8(2);
                bytes.u8(answer.kind.0);
                bytes.counted(&answer.body);
                bytes.counted(&answer.bulk);
            }
        }
    }
}

fn save_link(at: Address, link: &Link, bytes: &mut Vec<u8>) {
    bytes.u32(at.to_bits());
    match link {
        Link::New(PeerChange::Up { incarnation, link }) => {
            bytes.u8(0);
            bytes.u64(incarnation.0);
            link.encode(bytes);
        }
        Link::New(PeerChange::Down(_)) => unreachable!("a link that is down is not kept"),
        Link::Plain => bytes.u8(1),
        Link::Of(id) => {
            bytes.u8(2);
            bytes.bytes(&id.0.to_le_bytes());
        }
        Link::Left => bytes.u8(3),
    }
}

fn read(reader: &mut Reader<'_>) -> Result<(Clients, PeerMap<Link>), DecodeError> {
    let magic: [u8; 4] = reader.array()?;
    if magic != MAGIC {
        return Err(DecodeError::Invalid {
            at: 0,
            field: "beginning of a state with clients that come back",
            value: u32::from_le_bytes(magic).into(),
        });
    }
    let mut clients = Clients::default();
    clients.last = reader.u16()?;
    for _ in 0..reader.u32()? {
        let at = reader.at();
        let (id, client) = read_client(reader)?;
        let place = client.place.node.0;
        if place == 0 || !clients.put_back(id, client) {
            return Err(DecodeError::Invalid { at, field: "place of a client", value: place.into() });
        }
    }
    let mut links = PeerMap::new();
    for _ in 0..reader.u32()? {
        let at = Address::from_bits(reader.u32()?);
        links.insert(at, read_link(reader)?);
    }
    check(reader, &clients, &links)?;
    Ok((clients, links))
}

/// Whether clients are where links are, and links those of clients.
fn check(reader: &Reader<'_>, clients: &Clients, links: &PeerMap<Link>) -> Result<(), DecodeError> {
    let is_at = |at, id| links.get(at) == Some(&Link::Of(id));
    let has_link = |(id, client): (ClientId, &Client)| client.at.is_none_or(|at| is_at(at, id));
    let has_client = |(at, link): (Address, &Link)| match link {
        Link::Of(id) => clients.get(*id).is_some_and(|client| client.at == Some(at)),
        Link::New(_) | Link::Plain | Link::Left => true,
    };
    match clients.iter().all(has_link) && links.iter().all(has_client) {
        true => Ok(()),
        false => Err(reader.invalid("link of a client", 0u32, 0)),
    }
}

fn read_client(reader: &mut Reader<'_>) -> Result<(ClientId, Client), DecodeError> {
    let id = ClientId(u128::from_le_bytes(reader.array()?));
    let place = Address { node: NodeId(reader.u16()?), port: PORT_RESUMED };
    let link = LinkInfo::decode(reader)?;
    let is_there = reader.flag("whether a client is there")?;
    let at = Address::from_bits(reader.u32()?);
    let is_away = reader.flag("whether a client is away")?;
    let until = Time(reader.u64()?);
    if is_there == is_away {
        return Err(reader.invalid("whether a client is away", is_away, 9));
    }
    let mut client = Client::new(place, link, at);
    (client.at, client.until) = (is_there.then_some(at), is_away.then_some(until));
    for _ in 0..reader.u32()? {
        let token = Token(reader.u64()?);
        client.keep(token, read_request(token, reader)?);
    }
    Ok((id, client))
}

fn read_request(token: Token, reader: &mut Reader<'_>) -> Result<Request, DecodeError> {
    Ok(match reader.u8()? {
        0 => Request::Open { is_asked: false },
        1 => Request::Open { is_asked: true },
        2 => {
            let kind = Kind(reader.u8()?);
            let body = Bytes::copy_from_slice(reader.counted("body of an answer", MAX_BODY_BYTES)?);
            let bulk = Bytes::copy_from_slice(reader.counted("bulk of an answer", MAX_BULK_BYTES)?);
            Request::Answered(OwnedFrame { kind, token, body, bulk })
        }
        other => return Err(reader.invalid("request of a client", other, 1)),
    })
}

fn read_link(reader: &mut Reader<'_>) -> Result<Link, DecodeError> {
    Ok(match reader.u8()? {
        0 => {
            let incarnation = Incarnation(reader.u64()?);
            Link::New(PeerChange::Up { incarnation, link: LinkInfo::decode(reader)? })
        }
        1 => Link::Plain,
        2 => Link::Of(ClientId(u128::from_le_bytes(reader.array()?))),
        3 => Link::Left,
        other => return Err(reader.invalid("whose a link is", other, 1)),
    })
}
