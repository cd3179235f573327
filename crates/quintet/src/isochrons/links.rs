//! How a member is linked: where it listens, and whom it dials.

use super::meeting::Met;
use crate::stack::{StackConfig, sessions_of};
use crate::{Code, Credentials, Error, LinkAddress, LinkConfig, Recorder, life};
use quintet_contract::{NodeId, Port};
use quintet_link::{Listener, listen};
use quintet_runtime::{Instance, Node, NodeHandle, Redial, Services};
use quintet_wire::registry::PORT_SESSION;
use std::collections::BTreeMap;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What a link joins.
const PORTS: [(Port, Port); 1] = [(PORT_SESSION, PORT_SESSION)];

/// How a member is linked.
pub(super) struct Links {
    pub(super) met: Met,
    pub(super) link: LinkConfig,
    pub(super) recorder: Option<Recorder>,
    pub(super) until: Instant,
}

impl Links {
    pub(super) fn config(&self) -> StackConfig {
        StackConfig::of_client(self.met.cluster, life::incarnation(), life::random())
            .with_window(self.link.window)
            .with_liveness(self.link.liveness_of_client())
    }

    pub(super) fn node(&self, id: NodeId, listener: Box<dyn Listener>) -> Result<Node, Error> {
        let mut node = Node::new(id, Services::none())?;
        node.set_spin(self.link.spin);
        node.set_packets(self.link.packets);
        node.tell_link_news(PORT_SESSION);
        node.listen(listener, PORT_SESSION)?;
        Ok(node)
    }

    pub(super) fn recorded(
        &self,
        instance: Instance,
        id: NodeId,
        name: &str,
        config: &StackConfig,
    ) -> Result<Instance, Error> {
        let Some(recorder) = &self.recorder else { return Ok(instance) };
        let config = config.to_bytes();
        // What a replay would refuse is not recorded.
        StackConfig::from_bytes(&config).map_err(|error| {
            let text = format!("an isonet with so many variables and copies cannot be recorded: {error}");
            Error::new(Code::BadValue, text)
        })?;
        Ok(instance.recorded(recorder, sessions_of(id), name, &config))
    }

    /// Each member dials those before it; one that comes back, all: nobody else knows where it is. A link that was cut both make again: who finds nobody there knows that the other
    /// has ended.
    pub(super) fn dial(&self, node: &mut Node, me: NodeId, comes_back: bool) {
        for (member, address) in self.met.members.iter().filter(|(member, _)| **member != me.0) {
            if comes_back || *member < me.0 {
                node.dial(NodeId(*member), &PORTS, self.redial(address));
            } else {
                node.redial(NodeId(*member), &PORTS, self.redial(address));
            }
        }
    }

    /// For a member of this isonet, whose doors note where those are that come back.
    pub(super) fn redials(&self, returning: &Returning) -> Redials {
        Redials { returning: Arc::clone(returning), window: self.link.resume_window }
    }

    fn redial(&self, address: &LinkAddress) -> Redial {
        let window = self.link.resume_window.max(self.until.saturating_duration_since(Instant::now()));
        Redial { address: address.clone(), window, seed: life::random() }
    }
}

/// Where those listen who have asked here to come back.
pub(super) type Returning = Arc<Mutex<BTreeMap<u16, LinkAddress>>>;

/// Who is dialled once a link was cut, as members come back.
pub(super) struct Redials {
    returning: Returning,
    window: Duration,
}

impl Redials {
    /// These come back. Where they were before they are not any more, and to be dialled there says nothing of them; one that has asked others alone to be let in makes its link again
    /// by itself.
    pub(super) fn follow(&self, back: impl Iterator<Item = NodeId>, node: &NodeHandle) {
        let returning = self.returning.lock().unwrap_or_else(PoisonError::into_inner);
        for member in back {
            match returning.get(&member.0).cloned() {
                Some(address) => {
                    let redial = Redial { address, window: self.window, seed: life::random() };
                    node.redial(member, &PORTS, redial);
                }
                None => node.leave_alone(member),
            }
        }
    }
}

/// Where a member listens.
pub(super) struct Places {
    pub(super) listener: Box<dyn Listener>,
    credentials: Option<Credentials>,
    pub(super) folder: Option<Folder>,
}

impl Places {
    /// Listens there, or in a folder of its own.
    pub(super) fn listen(at: Option<LinkAddress>) -> Result<Places, Error> {
        let (at, folder) = match at {
            Some(at) => (at, None),
            None => {
                let folder = Folder::new()?;
                (LinkAddress::SharedMemory(folder.0.join("member")), Some(folder))
            }
        };
        let credentials = match &at {
            LinkAddress::Tls { credentials, .. } => credentials.clone(),
            _ => None,
        };
        Ok(Places { listener: listen(&at)?, credentials, folder })
    }

    pub(super) fn address(&self) -> LinkAddress {
        self.listener.address()
    }

    /// By which whoever dials from here proves itself.
    pub(super) fn credentials(&self) -> Option<Credentials> {
        self.credentials.clone()
    }

    /// Another member's address, at which this one proves itself as at its own.
    pub(super) fn identified(&self, address: LinkAddress) -> LinkAddress {
        address.identified(self.credentials.as_ref())
    }
}

/// A folder for this user alone, removed when dropped.
pub(super) struct Folder(pub(super) PathBuf);

impl Folder {
    fn new() -> Result<Folder, Error> {
        let name = format!("quintet-isonet-{}-{:08x}", std::process::id(), life::random() as u32);
        let path = std::env::temp_dir().join(name);
        let refused = |error: std::io::Error| {
            Error::new(Code::Resource, format!("{}: cannot make this folder: {error}", path.display()))
        };
        std::fs::DirBuilder::new().mode(0o700).create(&path).map_err(refused)?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What somebody has put there, or removed, is theirs.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
