//! What a machine remembers of its cluster, as a file: `agent.toml` in the cluster's folder.
//!
//! ```toml
//! name = "a"                  # what the machine is called
//! node = 0                    # its number
//! ticket = "5577006791947779" # with which it asks to be moved
//! founding = true             # until its log is on the disk: it founds the cluster
//! listen = "0.0.0.0:7400"     # where its agent listens
//! address = "a.example:7400"  # where others reach that; empty: nobody is told
//! view = 3                    # in which view the others are those that follow
//! life = "1795357121000000000" # the number of its agent's last life: the next one has a larger one, wherever the clock is set
//! removed = false             # whether the others have removed it
//!
//! [[peer]]                    # the other members, when it saw them last
//! node = 1
//! identity = "5f3a..."
//! address = "b.example:7400"
//!
//! [[space]]                   # spaces that members keep on their disks
//! name = "orders"
//! number = 7                  # the view that it came with
//! slot = 0                    # its port is so many after that of the cluster's space, and one
//! replicas = [0, 1, 2]        # by which members
//! max_bytes = 67108864
//! max_tuples = 1048576
//! ```

use crate::AgentError;
use crate::log::LineFile;
use quintet_contract::{Identity, NodeId};
use quintet_identity::{AgentFile, AgentPeer, AgentSpace, IdentityError};
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// What a machine remembers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// What it is called.
    pub name: String,
    /// Its number in the cluster.
    pub node: NodeId,
    /// With which it asks to be moved, or, if the answer to its join was lost, to be let in again.
    pub ticket: u64,
    /// Whether it founds the cluster: it has no log so far.
    pub founding: bool,
    /// Where its agent listens: `HOST:PORT`.
    pub listen: String,
    /// Where other machines reach that.
    pub address: String,
    /// The number of the view in which these are the other members. The log may bring back an older one first.
    pub view: u64,
    /// The number of the agent's last life, by which other machines tell its lives apart; 0 if there was none. Each has a larger one.
    pub life: u64,
    /// Whether the others have removed it, which is for good.
    pub removed: bool,
    /// The other members, when it saw them last.
    pub peers: Vec<Peer>,
    /// The spaces that members keep on their disks, when it saw them last.
    pub spaces: Vec<AgentSpace>,
}

/// Another member.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Peer {
    /// Its number.
    pub node: NodeId,
    /// By what it proves who it is.
    pub identity: Identity,
    /// Where it is reached.
    pub address: String,
}

impl Record {
    /// The file's name.
    pub const FILE: &str = AgentFile::NAME;

    /// Reads the record of a cluster's folder; none if there is none.
    ///
    /// # Errors
    /// [`AgentError::Identity`].
    pub fn read(folder: &Path) -> Result<Option<Record>, AgentError> {
        let Some(file) = AgentFile::read(folder)? else { return Ok(None) };
        Record::of(file).map(Some).map_err(|key| {
            let (path, problem) = (folder.join(Record::FILE), AgentFile::missing(key));
            IdentityError::BadAgentFile { path, problem }.into()
        })
    }

    /// The name of the key that is missing, if one is.
    fn of(file: AgentFile) -> Result<Record, &'static str> {
        let peer = |AgentPeer { node, address, identity }| Peer {
            node: NodeId(node),
            identity: Identity(identity),
            address,
        };
        Ok(Record {
            name: file.name.ok_or("name")?,
            node: NodeId(file.node),
            ticket: file.ticket.ok_or("ticket")?,
            founding: file.founding.ok_or("founding")?,
            listen: file.listen.ok_or("listen")?,
            address: file.address.ok_or("address")?,
            view: file.view,
            life: file.life,
            removed: file.removed,
            peers: file.peers.into_iter().map(peer).collect(),
            spaces: file.spaces,
        })
    }

    /// Writes it: whole, and on the disk when this returns, or not at all.
    ///
    /// # Errors
    /// [`AgentError::System`].
    pub fn write(&self, folder: &Path) -> Result<(), AgentError> {
        let (path, new) = (folder.join(Record::FILE), folder.join(format!(".{}.new", Record::FILE)));
        let written = write_synced(&new, &self.to_toml()).and_then(|()| std::fs::rename(&new, &path));
        let written = written.and_then(|()| File::open(folder)?.sync_all());
        written.map_err(|error| AgentError::system("write", &path, error))
    }

    /// Removes it, the log, the spaces that it keeps, the machine's identity, and what the agent has told: the machine is no member any more. Where the
    /// authority's key lies, that stays, and so does the folder. Whether it does.
    ///
    /// # Errors
    /// [`AgentError::System`], [`AgentError::Identity`].
    pub fn remove(folder: &Path) -> Result<bool, AgentError> {
        for path in [Record::jobs(folder), Record::spaces(folder)] {
            match std::fs::remove_dir_all(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(AgentError::system("remove", &path, error));
                }
                _ => {}
            }
        }
        let told = [Record::told(folder), Record::audit(folder)];
        let before = told.each_ref().map(|path| LineFile::before(path));
        // The record last: while it is there, this can be asked for again.
        let logs = [Record::log(folder), Record::log_anew(folder)];
        for path in logs.into_iter().chain(told).chain(before).chain([folder.join(Record::FILE)]) {
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(AgentError::system("remove", &path, error));
                }
                _ => {}
            }
        }
        let keeps_authority = quintet_identity::remove(folder)?;
        if !keeps_authority {
            // Joining has made it, and the next join makes it anew.
            std::fs::remove_dir_all(folder).map_err(|error| AgentError::system("remove", folder, error))?;
        }
        Ok(keeps_authority)
    }

    /// Where an agent in the background tells what happens.
    #[must_use]
    pub fn told(folder: &Path) -> PathBuf {
        folder.join("agent.log")
    }

    /// Where it writes down whom it has refused.
    #[must_use]
    pub fn audit(folder: &Path) -> PathBuf {
        folder.join("audit.log")
    }

    fn to_toml(&self) -> String {
        let Record { name, node, ticket, founding, listen, address, view, life, removed, peers, spaces } =
            self;
        let (name, listen, address) = (quoted(name), quoted(listen), quoted(address));
        let mut text = format!(
            "# Written by the agent: what this machine is in its cluster.\nname = {name}\nnode = {}\nticket = \"{ticket}\"\n\
             founding = {founding}\nlisten = {listen}\naddress = {address}\nview = {view}\n\
             life = \"{life}\"\nremoved = {removed}\n",
            node.0
        );
        for Peer { node, identity, address } in peers {
            let (identity, address) = (hexadecimal(identity), quoted(address));
            let _ = write!(
                text,
                "\n[[peer]]\nnode = {}\nidentity = \"{identity}\"\naddress = {address}\n",
                node.0
            );
        }
        for AgentSpace { name, number, slot, replicas, max_bytes, max_tuples, allow } in spaces {
            let name = quoted(name);
            let _ = write!(
                text,
                "\n[[space]]\nname = {name}\nnumber = {number}\nslot = {slot}\nreplicas = {replicas:?}\n\
                 max_bytes = {max_bytes}\nmax_tuples = {max_tuples}\n"
            );
            if let Some(allow) = allow {
                let _ = writeln!(text, "allow = {allow:?}");
            }
        }
        text
    }

    /// Where the membership's log lies in a cluster's folder.
    #[must_use]
    pub fn log(folder: &Path) -> PathBuf {
        folder.join("membership.log")
    }

    /// What a crash may have left of a log that was being written anew: see the disk of `quintet_runtime`.
    fn log_anew(folder: &Path) -> PathBuf {
        folder.join("membership.log.new")
    }

    /// Where the folders of jobs lie, and the files that they need.
    #[must_use]
    pub fn jobs(folder: &Path) -> PathBuf {
        folder.join("processes")
    }

    /// Where the logs of the spaces lie that this machine keeps, each in a folder of its own.
    #[must_use]
    pub fn spaces(folder: &Path) -> PathBuf {
        folder.join("spaces")
    }

    /// Where commands of this user reach the agent of a cluster's folder.
    #[must_use]
    pub fn socket(folder: &Path) -> PathBuf {
        folder.join("agent.socket")
    }
}

/// As TOML has a text on one line.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            _ if character.is_control() => _ = write!(quoted, "\\u{:04x}", u32::from(character)),
            _ => quoted.push(character),
        }
    }
    quoted + "\""
}

/// 64 digits.
pub(crate) fn hexadecimal(identity: &Identity) -> String {
    identity.0.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn write_synced(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = File::options().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_testbed::TempDir;

    fn record() -> Record {
        let peer = |node| Peer {
            node: NodeId(node),
            identity: Identity([node.to_le_bytes()[0]; 32]),
            address: format!("m{node}:7400"),
        };
        Record {
            name: "a \"quoted\" name".to_owned(),
            node: NodeId(3),
            ticket: u64::MAX,
            founding: true,
            listen: "0.0.0.0:7400".to_owned(),
            address: String::new(),
            view: u64::from(u32::MAX) + 1,
            life: u64::MAX,
            removed: true,
            peers: vec![peer(1), peer(200)],
            spaces: vec![AgentSpace {
                name: "orders".to_owned(),
                number: 7,
                slot: 31,
                replicas: vec![3, 200, 1],
                max_bytes: u64::MAX,
                max_tuples: 1,
                allow: Some(vec![1, 3]),
            }],
        }
    }

    #[test]
    fn a_record_comes_back_and_another_takes_its_place() {
        let folder = TempDir::new().expect("a temporary directory");
        assert_eq!(Record::read(folder.path()).expect("it is no error"), None);
        let mut record = record();
        for founding in [true, false] {
            record.founding = founding;
            record.write(folder.path()).expect("the folder is there");
            assert_eq!(Record::read(folder.path()).expect("it was written"), Some(record.clone()));
        }
    }

    #[test]
    fn what_is_no_record_is_refused_with_what_is_wrong() {
        let folder = TempDir::new().expect("a temporary directory");
        let good = record().to_toml();
        let cases = [
            ("ticket", good.replace("ticket =", "tickets =")),
            ("node", good.replace("node = 3", "node = 65536")),
            ("founding", good.replace("= true", "= 1")),
            ("view", good.replace("view = ", "view = -")),
            ("identity", good.replace("010101\"", "01010\"")),
            ("peer", good.replace("[[peer]]", "[[other]]").replacen("name =", "peer = 1\nname =", 1)),
            ("key with no value", good.replacen("name =", "name", 1)),
        ];
        for (expected, text) in cases {
            std::fs::write(folder.join(Record::FILE), text).expect("the folder is there");
            let error = Record::read(folder.path()).expect_err(expected).to_string();
            assert!(error.contains(expected) && error.contains(Record::FILE), "{error}");
        }
    }
}
