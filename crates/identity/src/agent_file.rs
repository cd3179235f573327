//! What a machine's agent has written of its cluster, for those who are not the agent: who is in, and where each is reached.

use crate::IdentityError;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};

pub(crate) const AGENT: &str = "agent.toml";
/// Bytes of the file, at most: 128 members take a quarter.
const LONGEST: u64 = 128 * 1024;

/// The members of a cluster, as this machine's agent knew them last. The agent writes the file anew with each view.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AgentFile {
    /// This machine's number.
    pub node: u16,
    /// Where other machines reach its agent: `HOST:PORT`; empty if nobody was told so far.
    pub address: String,
    /// The numbers of the others, and where their agents are reached.
    pub peers: Vec<(u16, String)>,
}

impl AgentFile {
    /// Reads that of a cluster's folder; none if there is none.
    ///
    /// # Errors
    /// [`IdentityError::BadAgentFile`], [`IdentityError::Refused`].
    pub fn read(folder: &Path) -> Result<Option<AgentFile>, IdentityError> {
        let path = folder.join(AGENT);
        let mut text = String::new();
        match File::open(&path).and_then(|file| file.take(LONGEST).read_to_string(&mut text)) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Err(IdentityError::BadAgentFile { path });
            }
            Err(error) => {
                let doing = format!("read {}", path.display());
                return Err(IdentityError::Refused { doing, why: error.to_string() });
            }
        }
        let table = DeTable::parse(&text).ok();
        let file = table.and_then(|table| AgentFile::of(table.get_ref()));
        file.map(Some).ok_or(IdentityError::BadAgentFile { path })
    }

    fn of(table: &DeTable<'_>) -> Option<AgentFile> {
        let peers = match table.get("peer").map(|peers| peers.get_ref()) {
            None => Vec::new(),
            Some(DeValue::Array(peers)) => {
                peers.iter().map(|peer| peer_of(peer.get_ref())).collect::<Option<_>>()?
            }
            Some(_) => return None,
        };
        let address = table.get("address").map_or(Some(String::new()), |value| text(value.get_ref()))?;
        Some(AgentFile { node: number(table)?, address, peers })
    }

    /// The member with the lowest number, which serves the cluster's space, and where its agent is reached.
    #[must_use]
    pub fn lowest(&self) -> (u16, &str) {
        let own = (self.node, self.address.as_str());
        let peers = self.peers.iter().map(|(node, address)| (*node, address.as_str()));
        peers.chain([own]).min_by_key(|(node, _)| *node).unwrap_or(own)
    }
}

/// Where processes of this user reach the cluster's space on the machine that serves it.
#[must_use]
pub fn space_socket(folder: &Path) -> PathBuf {
    folder.join("space.socket")
}

/// The port of the cluster's space: the one after its agent's. None after the last one.
#[must_use]
pub fn space_port(agent: u16) -> Option<u16> {
    agent.checked_add(1)
}

fn peer_of(value: &DeValue<'_>) -> Option<(u16, String)> {
    let DeValue::Table(table) = value else { return None };
    Some((number(table)?, text(table.get("address")?.get_ref())?))
}

fn number(table: &DeTable<'_>) -> Option<u16> {
    match table.get("node")?.get_ref() {
        DeValue::Integer(number) if number.radix() == 10 => number.as_str().parse().ok(),
        _ => None,
    }
}

fn text(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<AgentFile> {
        AgentFile::of(DeTable::parse(text).expect("it is TOML").get_ref())
    }

    #[test]
    fn the_lowest_of_all_members_counts_whoever_wrote_the_file() {
        let peer = |node| format!("[[peer]]\nnode = {node}\nidentity = \"00\"\naddress = \"m{node}:7400\"\n");
        let file = |own, peers: &[u16]| {
            let peers: String = peers.iter().map(|node| peer(*node)).collect();
            of(&format!("name = \"x\"\nnode = {own}\naddress = \"own:7400\"\n{peers}")).expect("a good file")
        };
        assert_eq!(file(0, &[]).lowest(), (0, "own:7400"));
        assert_eq!(file(0, &[2, 1]).lowest(), (0, "own:7400"));
        assert_eq!(file(5, &[7, 3, 4]).lowest(), (3, "m3:7400"));
        assert_eq!(of("node = 4").expect("nobody was told where it is").lowest(), (4, ""));
    }

    #[test]
    fn what_does_not_say_who_is_in_is_no_such_file() {
        for bad in ["", "node = 65536", "node = 0x1", "node = 1\naddress = 2", "node = 1\npeer = 1"] {
            assert_eq!(of(bad), None, "{bad}");
        }
        for peer in ["node = 1", "address = \"a:1\"", "node = \"1\"\naddress = \"a:1\""] {
            assert_eq!(of(&format!("node = 0\n[[peer]]\n{peer}")), None, "{peer}");
        }
    }

    #[test]
    fn the_space_has_the_port_after_its_agents() {
        assert_eq!((space_port(7400), space_port(u16::MAX)), (Some(7401), None));
    }
}
