//! The kernel of a machine: its clients ask a space through it, which has one connection to the server.

use crate::lab::connecting::{client_config, managers_at};
use crate::stack;
use crate::{Error, EventSink, LinkConfig, ServerMeter, SpaceAddress, life};
use quintet_contract::{DownCause, Input, Outbox, Protocol, Time};
use quintet_errors::Code;
use quintet_kernel::{KernelConfig as Passing, SERVER_NEWS, ServerNews};
use quintet_link::{LinkAddress, listen, renamed};
use quintet_messaging::relay;
use quintet_runtime::{Instance, Node, NodeHandle, Redial, Services};
use quintet_wire::Decode;
use quintet_wire::registry::{PORT_CALLERS, PORT_SESSION};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long a session with the server may take to begin, once a connection was possible.
const SERVER_LIMIT: Duration = Duration::from_secs(5);

/// How often it is tried, each time under another number: one may be in use.
const TRIES: u32 = 3;

/// What a kernel is made with.
#[derive(Clone)]
pub struct KernelConfig {
    /// The cluster of the space, and of the kernel's clients; where the address names a cluster, that one's counts.
    pub cluster: u128,
    /// How it uses its links. A connection to the server that was cut may come back within
    /// [`resume_window`](LinkConfig::resume_window), and nobody notices.
    pub link: LinkConfig,
    /// Bytes of one client that may wait for room in a link, each way; who has more is cut off.
    pub max_held_bytes: u64,
    /// Is told what the host sees that no client does.
    pub events: Option<EventSink>,
}

impl Default for KernelConfig {
    /// The cluster 0, the default links, and 64 MiB.
    fn default() -> Self {
        let (cluster, link, max_held_bytes) = (0, LinkConfig::default(), Passing::MAX_HELD_BYTES);
        KernelConfig { cluster, link, max_held_bytes, events: None }
    }
}

/// A kernel that runs on threads of this process, one for each manager of the space, in whichever processes those are. Clients connect to it as to the
/// server, and need not know that it is none. Dropped, it ends, and its clients' connections with it.
pub struct Kernel {
    nodes: Vec<(NodeHandle, Option<JoinHandle<std::io::Result<()>>>)>,
    addresses: Vec<LinkAddress>,
    gone: Receiver<Error>,
    left: Arc<AtomicUsize>,
}

impl Kernel {
    /// Connects to the space, and listens for its clients. Where the space has several managers, the kernel listens beside the addresses as those do,
    /// at the path with `.1` behind it or the next port, and so on.
    ///
    /// # Errors
    /// [`Code::BadValue`]: no address to listen at, one over TLS (a kernel is for processes of this user on this machine), one without a port for
    /// each manager; or the space is replicated: its clients look for the replica that leads themselves; or it is a named one of its server, whose programs
    /// name it; or the address is that of another manager than the first. An address cannot be listened at; and
    /// what [`Lab::connect`](crate::Lab::connect) fails with.
    pub fn start(
        listen_at: &[LinkAddress],
        space: impl Into<SpaceAddress>,
        config: &KernelConfig,
    ) -> Result<Kernel, Error> {
        check(listen_at)?;
        let space = space.into();
        if let SpaceAddress::Replicas(_) = space {
            return Err(replicated(&space));
        }
        let located = space.locate(&|name| std::env::var_os(name))?;
        if let Some(named) = &located.space {
            let text = format!(
                "{space} is the named space {named} of its server; a kernel passes on what is asked of all of them: give it the server's own \
                 address, and have the programs name the space"
            );
            return Err(Error::new(Code::BadValue, text));
        }
        if !located.replicas.is_empty() {
            return Err(replicated(&space));
        }
        let config = KernelConfig { cluster: located.cluster.unwrap_or(config.cluster), ..config.clone() };
        let places = managers_at(&located.address, config.cluster, config.link)
            .map_err(|error| located.explained(error))?;
        let (told, gone) = channel();
        let left = Arc::new(AtomicUsize::new(places.len()));
        let mut kernel = Kernel { nodes: Vec::new(), addresses: Vec::new(), gone, left };
        for (manager, place) in (0..).zip(&places) {
            let own = listen_at.iter().map(|first| beside(first, manager)).collect::<Result<Vec<_>, _>>()?;
            let server = Asked { manager, of: places.len(), address: place };
            let addresses = kernel.start_one(&own, server, &config, &told)?;
            if manager == 0 {
                kernel.addresses = addresses;
            }
        }
        Ok(kernel)
    }

    /// Where clients connect: as asked, with the port that the system gave where port 0 was asked for.
    #[must_use]
    pub fn addresses(&self) -> &[LinkAddress] {
        &self.addresses
    }

    /// Asks it what it tells of itself in numbers.
    #[must_use]
    pub fn meter(&self) -> ServerMeter {
        ServerMeter(self.nodes.iter().map(|(node, _)| node.clone()).collect())
    }

    /// Waits until the server has gone, or another one of the managers of the space, or until that time has passed (`None`: no limit). Its clients have been told
    /// as if the kernel were that one. None: it goes on, or all have gone before.
    #[must_use]
    pub fn wait(&self, limit: Option<Duration>) -> Option<Error> {
        match limit {
            None => self.gone.recv().ok(),
            Some(limit) => self.gone.recv_timeout(limit).ok(),
        }
    }

    /// Whether the server is there, or one of several managers: the space is over with any of them, and those that are left tell clients which one has gone.
    #[must_use]
    pub fn is_asking(&self) -> bool {
        self.left.load(Ordering::Acquire) > 0
    }

    /// Ends it: its clients' connections are closed.
    pub fn stop(self) {
        drop(self);
    }

    /// Starts the node that stands in for one server.
    fn start_one(
        &mut self,
        listen_at: &[LinkAddress],
        server: Asked<'_>,
        config: &KernelConfig,
        told: &Sender<Error>,
    ) -> Result<Vec<LinkAddress>, Error> {
        let mut tries = 0..TRIES;
        loop {
            tries.next();
            let (is_up, up) = channel();
            let left = Arc::clone(&self.left);
            let watchman =
                Watchman { is_up, told: told.clone(), server: server.to_string(), left, node: None };
            let (mut node, addresses) = node(listen_at, server, config, watchman)?;
            let handle = node.handle();
            let thread = std::thread::Builder::new().name("quintet-kernel".to_owned());
            let thread = thread.spawn(move || node.run()).map_err(refused)?;
            self.nodes.push((handle, Some(thread)));
            match up.recv_timeout(SERVER_LIMIT) {
                Ok(Ok(())) => return Ok(addresses),
                Ok(Err(error)) => return Err(error),
                Err(_) if !tries.is_empty() => self.nodes.pop().into_iter().for_each(end),
                Err(_) => {
                    let text = format!("{server} was reached and then says nothing");
                    return Err(Error::new(Code::PeerSilent, text));
                }
            }
        }
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        self.nodes.drain(..).for_each(end);
    }
}

/// Ends a node, and waits until it has.
fn end((handle, thread): (NodeHandle, Option<JoinHandle<std::io::Result<()>>>)) {
    handle.stop();
    // What the system refused it while it ran ended it, and was told by that.
    let _ = thread.map(JoinHandle::join);
}

/// The node, with everything that it listens at.
fn node(
    listen_at: &[LinkAddress],
    server: Asked<'_>,
    config: &KernelConfig,
    watchman: Watchman,
) -> Result<(Node, Vec<LinkAddress>), Error> {
    let listeners = listen_at.iter().map(listen).collect::<Result<Vec<_>, _>>()?;
    let addresses = listeners.iter().map(|listener| listener.address()).collect();
    let (own, stack_config) = client_config(config.cluster, config.link);
    let known_as = stack::manager_node(server.manager);
    let ends = Passing {
        max_held_bytes: config.max_held_bytes,
        ..Passing::new(stack::sessions_of(own), stack::sessions_of(known_as))
    };
    let mut services = Services::none();
    if let Some(sink) = &config.events {
        services = services.with_events(Arc::clone(sink));
    }
    let mut node = Node::new(own, services).map_err(refused)?;
    node.set_spin(config.link.spin);
    node.set_packets(config.link.packets);
    config.events.iter().for_each(|sink| node.set_events(Arc::clone(sink)));
    node.add(PORT_SESSION, Instance::new(stack::kernel(ends, &stack_config)));
    let watchman = Watchman { node: Some(node.handle()), ..watchman };
    node.add(PORT_CALLERS, Instance::new(watchman));
    for listener in listeners {
        node.listen(renamed(listener, own, known_as), PORT_SESSION).map_err(refused)?;
    }
    let window = config.link.resume_window.max(SERVER_LIMIT);
    let redial = Redial { address: server.address.clone(), window, seed: life::random() };
    node.dial(known_as, &[(PORT_SESSION, PORT_SESSION)], redial);
    Ok((node, addresses))
}

/// The server, or which one of several managers.
#[derive(Clone, Copy)]
struct Asked<'a> {
    manager: u8,
    of: usize,
    address: &'a LinkAddress,
}

impl fmt::Display for Asked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.manager + 1, self.of, self.address) {
            (_, 1, address) => write!(f, "the server at {address}"),
            (manager, of, address) => write!(f, "manager {manager} of the {of} of the space, at {address},"),
        }
    }
}

/// The caller of a kernel's node: hears how it goes with the server.
struct Watchman {
    is_up: Sender<Result<(), Error>>,
    told: Sender<Error>,
    /// In words.
    server: String,
    /// How many servers are left.
    left: Arc<AtomicUsize>,
    /// Ended with the server, and then none.
    node: Option<NodeHandle>,
}

impl Watchman {
    fn gone(&mut self, cause: DownCause) {
        let Some(node) = self.node.take() else { return };
        let code = relay::loss(cause);
        let how = match cause {
            DownCause::Closed => "has closed the connection",
            DownCause::Died => "has ended, or the connection to it was cut and did not come back in time",
            DownCause::Silent => "gave no sign of life",
            DownCause::Misbehaved => "has broken the protocol",
            DownCause::Refused(_) => "does not let this machine's kernel in",
        };
        let error = Error::new(code, format!("{} {how}", self.server));
        self.left.fetch_sub(1, Ordering::AcqRel);
        // Nobody may wait for either.
        let _ = self.is_up.send(Err(error.clone()));
        let _ = self.told.send(error);
        node.stop();
    }
}

impl Protocol for Watchman {
    fn handle(&mut self, _now: Time, input: Input<'_>, _out: &mut dyn Outbox) {
        let Input::Frame(_, frame) = input else { return };
        match (frame.kind == SERVER_NEWS).then(|| ServerNews::decode_all(frame.body)) {
            Some(Ok(ServerNews::Up)) => drop(self.is_up.send(Ok(()))),
            Some(Ok(ServerNews::Gone(cause))) => self.gone(cause),
            Some(Err(_)) | None => {}
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

fn replicated(space: &SpaceAddress) -> Error {
    let text = format!(
        "{space} is a replicated space, whose clients look for the replica that leads: they ask without a kernel"
    );
    Error::new(Code::BadValue, text)
}

/// Whether a kernel can listen there.
///
/// # Errors
/// [`Code::BadValue`]: nowhere, or over TLS.
fn check(listen_at: &[LinkAddress]) -> Result<(), Error> {
    let bad = |text: String| Err(Error::new(Code::BadValue, text));
    match listen_at.iter().find(|address| matches!(address, LinkAddress::Tls { .. })) {
        Some(tls) => bad(format!(
            "{tls}: a kernel is for the processes of this user on this machine: have it listen at a path, shm:PATH, unix:PATH or tcp:127.0.0.1:PORT; it shows \
             its own identity to the server"
        )),
        None if listen_at.is_empty() => {
            bad("a kernel needs an address at which its clients find it".to_owned())
        }
        None => Ok(()),
    }
}

/// Where the server of another manager listens, or the kernel's clients look for it.
///
/// # Errors
/// [`Code::BadValue`]: the address has no port for it.
fn beside(first: &LinkAddress, manager: u8) -> Result<LinkAddress, Error> {
    first.of_manager(manager).ok_or_else(|| {
        let text = format!(
            "{first}: the kernel of a space with several managers needs a port for each, one after the other: name the first, and not 0"
        );
        Error::new(Code::BadValue, text)
    })
}

fn refused(error: std::io::Error) -> Error {
    Error::new(Code::Resource, error.to_string())
}
