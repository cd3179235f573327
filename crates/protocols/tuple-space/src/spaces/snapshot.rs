//! All spaces of a server as bytes, and back.
//!
//! ```text
//! the unnamed space: length u64, its state | the number given last u32
//! n u32 | n named spaces, by number: number u32, name, settings, length u64, its state
//! n u32 | n clients, by address: address u32, how it came up: incarnation u64, its link; n u32 | n numbers of spaces that it has used u32
//! and, of spaces that are for some only, for whom, as it was said last: own machine u8, n u32 | n identities
//! ```

use super::named::Table;
use super::users::Users;
use super::{Client, Spaces, SpacesConfig};
use crate::codec::{Policy, SpaceName, SpaceNumber, SpaceRights, SpaceSettings};
use crate::{Space, SpaceConfig};
use quintet_contract::{Address, Incarnation, LinkInfo, PeerChange, PeerMap, Snapshot, SnapshotError};
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

/// What spaces are made with that are kept beyond their server's memory.
///
/// ```text
/// the unnamed space's limits | named spaces u32, their bytes u64 | policy: 1 u8, 0 u8 logged; 2 u8 and copies u8 replicated
/// and where they are for some only: 1 u8
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeptSpaces {
    /// The limits of the unnamed space.
    pub space: SpaceConfig,
    /// Those of the named ones.
    pub spaces: SpacesConfig,
    /// What keeps them all.
    pub policy: Policy,
    /// Whether they are for those alone whom a caller of the server's own node names ([`SpacesRequest::Allow`](crate::SpacesRequest::Allow)); else everybody may use them
    /// who is let in.
    pub is_restricted: bool,
}

impl Encode for KeptSpaces {
    fn encode(&self, sink: &mut impl Sink) {
        self.space.encode(sink);
        sink.u32(self.spaces.max_spaces);
        sink.u64(self.spaces.max_bytes);
        self.policy.encode(sink);
        if self.is_restricted {
            sink.u8(1);
        }
    }
}

impl Decode<'_> for KeptSpaces {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let space = SpaceConfig::decode(reader)?;
        let spaces = SpacesConfig { max_spaces: reader.u32()?, max_bytes: reader.u64()? };
        let policy = Policy::decode(reader)?;
        // What was written before there were rights ends here.
        let is_restricted = reader.left() > 0 && reader.flag("whether rights follow")?;
        Ok(KeptSpaces { space, spaces, policy, is_restricted })
    }
}

impl Snapshot for Spaces {
    type Config = KeptSpaces;

    const BEHAVIOUR: u32 = Space::BEHAVIOUR * 256 + 2;

    fn save(&self, bytes: &mut Vec<u8>) {
        let Spaces { unnamed, table, clients, users } = self;
        save_space(unnamed, bytes);
        bytes.u32(table.last());
        bytes.u32(count(table.named().len()));
        for (number, name, settings, space) in table.named() {
            bytes.u32(number.0);
            name.encode(bytes);
            settings.encode(bytes);
            save_space(space, bytes);
        }
        bytes.u32(count(clients.len()));
        clients.iter().for_each(|(address, client)| save_client(address, client, bytes));
        if users.is_restricted {
            users.allowed.encode(bytes);
        }
    }

    fn restore(config: &KeptSpaces, bytes: &[u8]) -> Result<Self, SnapshotError> {
        let mut reader = Reader::new(bytes);
        let unnamed = Space::restore(&config.space, read_space(&mut reader).map_err(told)?)?;
        let mut table = Table::new(config.space, config.spaces, config.policy);
        table.give_again(reader.u32().map_err(told)?);
        for _ in 0..reader.u32().map_err(told)? {
            read_named(&mut table, &mut reader)?;
        }
        let clients = read_clients(&table, &mut reader).map_err(told)?;
        let mut users = Users::new(config.is_restricted);
        if users.is_restricted {
            users.allowed = SpaceRights::decode(&mut reader).map_err(told)?;
        }
        reader.finish().map_err(told)?;
        Ok(Spaces { unnamed, table, clients, users })
    }
}

fn told(error: DecodeError) -> SnapshotError {
    SnapshotError(error.to_string())
}

fn count(count: usize) -> u32 {
    u32::try_from(count).expect("there are fewer of them than numbers for them")
}

/// Its length stands in front of it.
fn save_space(space: &Space, bytes: &mut Vec<u8>) {
    let front = bytes.len();
    bytes.u64(0);
    space.save(bytes);
    let length = (bytes.len() - front - size_of::<u64>()) as u64;
    bytes[front..][..size_of::<u64>()].copy_from_slice(&length.to_le_bytes());
}

fn read_space<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], DecodeError> {
    let length = reader.u64()?;
    reader.bytes(usize::try_from(length).unwrap_or(usize::MAX))
}

fn read_named(table: &mut Table, reader: &mut Reader<'_>) -> Result<(), SnapshotError> {
    let mut front = || -> Result<_, DecodeError> {
        let number = SpaceNumber(reader.u32()?);
        let (name, settings) = (SpaceName::decode(reader)?, SpaceSettings::decode(reader)?);
        Ok((number, name, settings, reader.at(), read_space(reader)?))
    };
    let (number, name, settings, at, bytes) = front().map_err(told)?;
    let space = Space::restore(&table.config_of(number, &settings), bytes)?;
    match table.put_back(number, name, settings, space) {
        true => Ok(()),
        false => Err(told(DecodeError::Invalid { at, field: "named space", value: number.0.into() })),
    }
}

fn save_client(address: Address, client: &Client, bytes: &mut Vec<u8>) {
    let Client { incarnation, link, spaces } = client;
    bytes.u32(address.to_bits());
    bytes.u64(incarnation.0);
    link.encode(bytes);
    bytes.u32(count(spaces.len()));
    spaces.iter().for_each(|number| bytes.u32(number.0));
}

fn read_clients(table: &Table, reader: &mut Reader<'_>) -> Result<PeerMap<Client>, DecodeError> {
    let mut clients = PeerMap::new();
    for _ in 0..reader.u32()? {
        let address = Address::from_bits(reader.u32()?);
        let (incarnation, link) = (Incarnation(reader.u64()?), LinkInfo::decode(reader)?);
        let mut client = Client { incarnation, link, spaces: Default::default() };
        for _ in 0..reader.u32()? {
            let number = SpaceNumber(reader.u32()?);
            if table.find(number).is_err() || !client.spaces.insert(number) {
                return Err(reader.invalid("space of a client", number.0, 4));
            }
        }
        if clients.insert(address, client).is_some() {
            return Err(reader.invalid("client", address.to_bits(), 0));
        }
    }
    Ok(clients)
}

impl Client {
    /// How it came up, as a space learns it that it uses.
    pub(super) fn up(&self) -> PeerChange {
        PeerChange::Up { incarnation: self.incarnation, link: self.link }
    }
}
