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
    /// The others.
    pub peers: Vec<AgentPeer>,
}

/// Another member.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AgentPeer {
    /// Its number.
    pub node: u16,
    /// Where its agent is reached: `HOST:PORT`; empty if nobody was told so far.
    pub address: String,
    /// By what it proves who it is: the SHA-256 of its public key.
    pub identity: [u8; 32],
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
        Some(AgentFile { node: number(table)?, peers })
    }

    /// The member that serves the cluster's space, the one with the lowest number; none if that is this machine.
    #[must_use]
    pub fn space_server(&self) -> Option<&AgentPeer> {
        let lowest = self.peers.iter().min_by_key(|peer| peer.node)?;
        (lowest.node < self.node).then_some(lowest)
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

fn peer_of(value: &DeValue<'_>) -> Option<AgentPeer> {
    let DeValue::Table(table) = value else { return None };
    let identity = of_hexadecimal(text(table, "identity")?)?;
    Some(AgentPeer { node: number(table)?, address: text(table, "address")?.to_owned(), identity })
}

fn number(table: &DeTable<'_>) -> Option<u16> {
    match table.get("node")?.get_ref() {
        DeValue::Integer(number) if number.radix() == 10 => number.as_str().parse().ok(),
        _ => None,
    }
}

fn text<'t>(table: &'t DeTable<'_>, key: &str) -> Option<&'t str> {
    match table.get(key)?.get_ref() {
        DeValue::String(text) => Some(text),
        _ => None,
    }
}

fn of_hexadecimal(text: &str) -> Option<[u8; 32]> {
    // `from_str_radix` alone would take a sign.
    if !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let digits = text.as_bytes().as_chunks::<2>();
    let bytes = digits.0.iter().map(|pair| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok());
    let bytes: Vec<u8> = bytes.collect::<Option<_>>()?;
    if digits.1.is_empty() { bytes.try_into().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<AgentFile> {
        AgentFile::of(DeTable::parse(text).expect("it is TOML").get_ref())
    }

    const IDENTITY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1eff";

    #[test]
    fn the_lowest_of_all_members_serves_whoever_wrote_the_file() {
        let peer = |node| {
            format!("[[peer]]\nnode = {node}\nidentity = \"{IDENTITY}\"\naddress = \"m{node}:7400\"\n")
        };
        let file = |own, peers: &[u16]| {
            let peers: String = peers.iter().map(|node| peer(*node)).collect();
            of(&format!("name = \"x\"\nnode = {own}\n{peers}")).expect("a good file")
        };
        assert_eq!(file(0, &[]).space_server(), None);
        assert_eq!(file(0, &[2, 1]).space_server(), None);
        let found = file(5, &[7, 3, 4]);
        let server = found.space_server().expect("another machine serves");
        assert_eq!((server.node, server.address.as_str()), (3, "m3:7400"));
        assert_eq!((server.identity[1], server.identity[31]), (1, 255));
    }

    #[test]
    fn what_does_not_say_who_is_in_is_no_such_file() {
        for bad in ["", "node = 65536", "node = 0x1", "node = 1\npeer = 1"] {
            assert_eq!(of(bad), None, "{bad}");
        }
        let good = format!("node = 1\naddress = \"a:1\"\nidentity = \"{IDENTITY}\"");
        let with = |peer: &str| of(&format!("node = 0\n[[peer]]\n{peer}"));
        assert!(with(&good).is_some());
        for (from, to) in
            [("= 1", "= \"1\""), ("address", "place"), ("\"0001", "\"01"), ("\"00", "\"0"), ("\"00", "\"+0")]
        {
            assert_eq!(with(&good.replacen(from, to, 1)), None, "{to}");
        }
    }

    #[test]
    fn the_space_has_the_port_after_its_agents() {
        assert_eq!((space_port(7400), space_port(u16::MAX)), (Some(7401), None));
    }
}
