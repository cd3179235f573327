//! How a member is linked: where it listens, and whom it dials.

use super::meeting::Met;
use crate::stack::{StackConfig, sessions_of};
use crate::{Code, Credentials, Error, LinkAddress, LinkConfig, Recorder, life};
use quintet_contract::{NodeId, Port};
use quintet_link::{Listener, listen};
use quintet_runtime::{Instance, Node, Redial, Services};
use quintet_wire::registry::PORT_SESSION;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::time::Instant;

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

    /// Each member dials those before it; one that comes back, all: nobody else knows where it is.
    pub(super) fn dial(&self, node: &mut Node, me: NodeId, comes_back: bool) {
        let others = self.met.members.iter().filter(|(member, _)| **member != me.0);
        for (member, address) in others.filter(|(member, _)| comes_back || **member < me.0) {
            node.dial(NodeId(*member), &PORTS, self.redial(address));
        }
    }

    fn redial(&self, address: &LinkAddress) -> Redial {
        let window = self.link.resume_window.max(self.until.saturating_duration_since(Instant::now()));
        Redial { address: address.clone(), window, seed: life::random() }
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
