//! The protocol, and whom it knows.

use super::held::{Held, Holding};
use quintet_contract::{Address, Input, LinkInfo, Outbox, PeerChange, PeerMap, Protocol, Snapshot, Time};
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};
use std::collections::BTreeSet;

/// All that decides what is done with an input. It is kept as a whole: who is known decides which answers are refused.
///
/// ```text
/// known u32 | n of: address u32, whether it is connected u8, its link | the protocol
/// ```
#[derive(Debug)]
pub struct State<P> {
    /// The protocol.
    pub protocol: P,
    /// What is known of the links of those who are connected.
    links: PeerMap<LinkInfo>,
    /// Who has said something or was connected, and has not gone.
    known: BTreeSet<Address>,
}

impl<P: Protocol> State<P> {
    /// One that nobody knows.
    #[must_use]
    pub fn new(protocol: P) -> State<P> {
        State { protocol, links: PeerMap::new(), known: BTreeSet::new() }
    }

    /// Who has said something or was connected, and has not gone.
    #[must_use]
    pub fn known(&self) -> Vec<Address> {
        self.known.iter().copied().collect()
    }

    /// Gives the protocol an input. What it does is the same whenever it is given that.
    pub fn give(&mut self, me: Address, time: Time, input: Input<'_>, held: &mut Held, out: &mut dyn Outbox) {
        match input {
            Input::Frame(from, _) => drop(self.known.insert(from)),
            Input::Peer(peer, PeerChange::Up { link, .. }) => {
                self.known.insert(peer);
                self.links.insert(peer, *link);
            }
            Input::Peer(peer, PeerChange::Down(_)) => {
                self.known.remove(&peer);
                self.links.remove(peer);
            }
            Input::Started | Input::Wake | Input::Writable(_) => {}
        }
        let mut holding = Holding::new(me, &self.links, held, out);
        self.protocol.handle(time, input, &mut holding);
    }
}

impl<P: Snapshot> State<P> {
    /// All of it, as bytes.
    #[must_use]
    pub fn save(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.u32(u32::try_from(self.known.len()).expect("there are fewer addresses than numbers"));
        for address in &self.known {
            bytes.u32(address.to_bits());
            let link = self.links.get(*address);
            bytes.u8(link.is_some().into());
            link.into_iter().for_each(|link| link.encode(&mut bytes));
        }
        self.protocol.save(&mut bytes);
        bytes
    }

    /// The same again.
    ///
    /// # Errors
    /// The bytes are none of such a protocol.
    pub fn restore(config: &P::Config, bytes: &[u8]) -> Result<State<P>, String> {
        let mut reader = Reader::new(bytes);
        let (known, links) = read_known(&mut reader).map_err(|error| error.to_string())?;
        let protocol = P::restore(config, &bytes[reader.at()..]).map_err(|error| error.to_string())?;
        Ok(State { protocol, links, known })
    }
}

type Known = (BTreeSet<Address>, PeerMap<LinkInfo>);

fn read_known(reader: &mut Reader<'_>) -> Result<Known, DecodeError> {
    let (mut known, mut links) = (BTreeSet::new(), PeerMap::new());
    for _ in 0..reader.u32()? {
        let address = Address::from_bits(reader.u32()?);
        known.insert(address);
        if reader.flag("whether it is connected")? {
            links.insert(address, LinkInfo::decode(reader)?);
        }
    }
    Ok((known, links))
}
