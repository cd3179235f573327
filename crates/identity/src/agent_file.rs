//! What a machine's agent has written of its cluster, for those who are not the agent: who is in, and where each is reached.

use crate::IdentityError;
use core::str::FromStr;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};

/// Bytes of the file, at most: 128 members take a quarter.
const LONGEST: u64 = 128 * 1024;

/// What a machine's agent has written of itself and of its cluster, as far as it stands there. The agent writes the file anew with each view.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AgentFile {
    /// This machine's number.
    pub node: u16,
    /// The others.
    pub peers: Vec<AgentPeer>,
    /// The spaces that members keep on their disks.
    pub spaces: Vec<AgentSpace>,
    /// What the machine is called.
    pub name: Option<String>,
    /// With which it asks to be moved.
    pub ticket: Option<u64>,
    /// Whether it founds the cluster.
    pub founding: Option<bool>,
    /// Where its agent listens: `HOST:PORT`.
    pub listen: Option<String>,
    /// Where others reach that.
    pub address: Option<String>,
    /// The number of the view in which the others are these; 0 if it has seen none.
    pub view: u64,
    /// The number of its agent's last life; 0 if there was none.
    pub life: u64,
    /// Whether the others have removed it.
    pub removed: bool,
}

/// A space that members keep on their disks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AgentSpace {
    /// Its name.
    pub name: String,
    /// The number of the view that it came with: no other space ever has it.
    pub number: u64,
    /// By which its port follows from that of an agent: [`kept_space_port`].
    pub slot: u16,
    /// The numbers of the members that keep it: one, in a log, or the replicas in their order.
    pub replicas: Vec<u16>,
    /// Bytes that it holds at most.
    pub max_bytes: u64,
    /// Tuples that it holds at most.
    pub max_tuples: u64,
    /// The numbers of the members whose programs may use it; none: all.
    pub allow: Option<Vec<u16>>,
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
    /// The file's name, in the cluster's folder.
    pub const NAME: &str = "agent.toml";

    /// Reads that of a cluster's folder; none if there is none.
    ///
    /// # Errors
    /// [`IdentityError::BadAgentFile`], [`IdentityError::Refused`].
    pub fn read(folder: &Path) -> Result<Option<AgentFile>, IdentityError> {
        let path = folder.join(AgentFile::NAME);
        let bad = |problem: String| IdentityError::BadAgentFile { path: path.clone(), problem };
        let mut text = String::new();
        match File::open(&path).and_then(|file| file.take(LONGEST).read_to_string(&mut text)) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => return Err(bad(error.to_string())),
            Err(error) => {
                let doing = format!("read {}", path.display());
                return Err(IdentityError::Refused { doing, why: error.to_string() });
            }
        }
        let table = DeTable::parse(&text).map_err(|error| bad(error.message().to_owned()))?;
        let file = AgentFile::of(table.get_ref());
        file.map(Some).map_err(|key| bad(AgentFile::missing(key)))
    }

    /// That a key is not there that must be, in words.
    #[must_use]
    pub fn missing(key: &str) -> String {
        format!("`{key}` is missing, or no such value")
    }

    /// The name of the key that is wrong, if one is.
    fn of(table: &DeTable<'_>) -> Result<AgentFile, &'static str> {
        let peers = match table.get("peer").map(|peers| peers.get_ref()) {
            None => Vec::new(),
            Some(DeValue::Array(peers)) => {
                peers.iter().map(|peer| peer_of(peer.get_ref())).collect::<Result<_, _>>()?
            }
            Some(_) => return Err("peer"),
        };
        let spaces = match table.get("space").map(|spaces| spaces.get_ref()) {
            None => Vec::new(),
            Some(DeValue::Array(spaces)) => {
                spaces.iter().map(|space| space_of(space.get_ref())).collect::<Result<_, _>>()?
            }
            Some(_) => return Err("space"),
        };
        let long = |key| text(table, key)?.map(|digits| digits.parse().map_err(|_| key)).transpose();
        let truth = |key| match table.get(key).map(|value| value.get_ref()) {
            None => Ok(None),
            Some(DeValue::Boolean(truth)) => Ok(Some(*truth)),
            Some(_) => Err(key),
        };
        Ok(AgentFile {
            node: number(table, "node")?.ok_or("node")?,
            peers,
            spaces,
            name: text(table, "name")?,
            ticket: long("ticket")?,
            founding: truth("founding")?,
            listen: text(table, "listen")?,
            address: text(table, "address")?,
            view: number(table, "view")?.unwrap_or(0),
            life: long("life")?.unwrap_or(0),
            removed: truth("removed")?.unwrap_or(false),
        })
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

/// The port of a space that members keep: one of those behind that of the cluster's space. None after the last one.
#[must_use]
pub fn kept_space_port(agent: u16, slot: u16) -> Option<u16> {
    agent.checked_add(2)?.checked_add(slot)
}

/// The number that the servers and clients of a kept space say: that of no other space of the cluster, so that none of them ever meets another's, also
/// where a port is given anew.
#[must_use]
pub fn kept_space_cluster(cluster: u128, number: u64) -> u128 {
    cluster.wrapping_add(number.into())
}

fn space_of(value: &DeValue<'_>) -> Result<AgentSpace, &'static str> {
    let DeValue::Table(table) = value else { return Err("space") };
    Ok(AgentSpace {
        name: text(table, "name")?.ok_or("name")?,
        number: number(table, "number")?.ok_or("number")?,
        slot: number(table, "slot")?.ok_or("slot")?,
        replicas: numbers(table, "replicas")?.ok_or("replicas")?,
        max_bytes: number(table, "max_bytes")?.ok_or("max_bytes")?,
        max_tuples: number(table, "max_tuples")?.ok_or("max_tuples")?,
        allow: numbers(table, "allow")?,
    })
}

/// The numbers of members that are listed there, if they are.
fn numbers(table: &DeTable<'_>, key: &'static str) -> Result<Option<Vec<u16>>, &'static str> {
    let listed = match table.get(key).map(|value| value.get_ref()) {
        None => return Ok(None),
        Some(DeValue::Array(listed)) => listed,
        Some(_) => return Err(key),
    };
    let number = |value: &DeValue<'_>| match value {
        DeValue::Integer(number) if number.radix() == 10 => number.as_str().parse().map_err(|_| key),
        _ => Err(key),
    };
    listed.iter().map(|value| number(value.get_ref())).collect::<Result<_, _>>().map(Some)
}

fn peer_of(value: &DeValue<'_>) -> Result<AgentPeer, &'static str> {
    let DeValue::Table(table) = value else { return Err("peer") };
    let identity = text(table, "identity")?.and_then(|digits| of_hexadecimal(&digits)).ok_or("identity")?;
    let node = number(table, "node")?.ok_or("node")?;
    Ok(AgentPeer { node, address: text(table, "address")?.ok_or("address")?, identity })
}

fn number<N: FromStr>(table: &DeTable<'_>, key: &'static str) -> Result<Option<N>, &'static str> {
    match table.get(key).map(|value| value.get_ref()) {
        None => Ok(None),
        Some(DeValue::Integer(number)) if number.radix() == 10 => {
            number.as_str().parse().map(Some).map_err(|_| key)
        }
        Some(_) => Err(key),
    }
}

fn text(table: &DeTable<'_>, key: &'static str) -> Result<Option<String>, &'static str> {
    match table.get(key).map(|value| value.get_ref()) {
        None => Ok(None),
        Some(DeValue::String(text)) => Ok(Some(text.to_string())),
        Some(_) => Err(key),
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

    fn of(text: &str) -> Result<AgentFile, &'static str> {
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
        for (bad, key) in [
            ("", "node"),
            ("node = 65536", "node"),
            ("node = 0x1", "node"),
            ("node = 1\npeer = 1", "peer"),
            ("node = 1\nview = -1", "view"),
            ("node = 1\nticket = 1", "ticket"),
        ] {
            assert_eq!(of(bad), Err(key), "{bad}");
        }
        let good = format!("node = 1\naddress = \"a:1\"\nidentity = \"{IDENTITY}\"");
        let with = |peer: &str| of(&format!("node = 0\n[[peer]]\n{peer}"));
        assert!(with(&good).is_ok());
        for (from, to, key) in [
            ("= 1", "= \"1\"", "node"),
            ("address", "place", "address"),
            ("\"0001", "\"01", "identity"),
            ("\"00", "\"0", "identity"),
            ("\"00", "\"+0", "identity"),
        ] {
            assert_eq!(with(&good.replacen(from, to, 1)), Err(key), "{to}");
        }
    }

    #[test]
    fn a_kept_space_is_read_or_refused_by_its_key() {
        let good =
            "name = \"orders\"\nnumber = 7\nslot = 1\nreplicas = [2, 0, 1]\nmax_bytes = 64\nmax_tuples = 9";
        let with = |space: &str| of(&format!("node = 0\n[[space]]\n{space}"));
        let space = AgentSpace {
            name: "orders".to_owned(),
            number: 7,
            slot: 1,
            replicas: vec![2, 0, 1],
            max_bytes: 64,
            max_tuples: 9,
            allow: None,
        };
        assert_eq!(with(good).map(|file| file.spaces), Ok(vec![space.clone()]));
        let restricted = AgentSpace { allow: Some(vec![0, 4]), ..space };
        assert_eq!(with(&format!("{good}\nallow = [0, 4]")).map(|file| file.spaces), Ok(vec![restricted]));
        for (from, to, key) in [
            ("\"orders\"", "1", "name"),
            ("7", "-7", "number"),
            ("slot = 1", "slot = 65536", "slot"),
            ("[2, 0, 1]", "2", "replicas"),
            ("[2, 0, 1]", "[2, 0x1]", "replicas"),
            ("max_tuples", "tuples", "max_tuples"),
            ("slot = 1", "slot = 1\nallow = 2", "allow"),
        ] {
            assert_eq!(with(&good.replacen(from, to, 1)), Err(key), "{to}");
        }
    }

    #[test]
    fn kept_spaces_have_ports_of_their_own_and_no_number_of_a_cluster_twice() {
        assert_eq!((kept_space_port(7400, 0), kept_space_port(7400, 3)), (Some(7402), Some(7405)));
        assert_eq!((kept_space_port(u16::MAX - 1, 0), kept_space_port(7400, u16::MAX)), (None, None));
        assert_ne!(kept_space_cluster(u128::MAX, 2), kept_space_cluster(u128::MAX, 3));
    }

    #[test]
    fn the_space_has_the_port_after_its_agents() {
        assert_eq!((space_port(7400), space_port(u16::MAX)), (Some(7401), None));
    }
}
