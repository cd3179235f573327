//! A member's node, and at member 0 the token manager's: each with a thread and links of its own.

use super::board::Board;
use super::handlers::{Callers, Handlers};
use super::isochron::Isochron;
use super::maker::IsochronMaker;
use super::meeting::{End, Met};
use super::plain::PlainHandlers;
use crate::stack::{
    self, ISOTACH_NODE, IsotachConfig, StackConfig, TOKEN_MANAGER, TokenManagerConfig, isotach_node,
    sessions_of, switch_of_isonet, token_manager_node,
};
use crate::{Code, Credentials, Error, LinkAddress, LinkConfig, Recorder, life};
use quintet_contract::{Input, Meter, NodeId, Outbox, PeerChange, Protocol, Time};
use quintet_isotach::{Misuse, Performed, Witnessed};
use quintet_link::{Listener, listen};
use quintet_runtime::{Instance, Node, NodeHandle, Redial, Services};
use quintet_wire::registry::{PORT_CALLERS, PORT_SESSION};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{JoinHandle, ThreadId};
use std::time::Instant;

/// What a member's handles and its handlers share.
pub(super) struct Core {
    pub(super) board: Board,
    pub(super) node: NodeHandle,
    pub(super) isonet: Arc<quintet_isotach::Isonet>,
    pub(super) me: NodeId,
    /// Threads that put an isochron together.
    open: Mutex<Vec<ThreadId>>,
}

impl Core {
    /// False if the thread has one open.
    pub(super) fn open(&self, thread: ThreadId) -> bool {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = !open.contains(&thread);
        if is_first {
            open.push(thread);
        }
        is_first
    }

    pub(super) fn shut(&self, thread: ThreadId) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).retain(|open| *open != thread);
    }

    /// Ends this member by itself.
    pub(super) fn leave(&self, why: Error) {
        self.board.ended(why);
        self.node.stop();
    }
}

/// A member of an isonet. Cheap to clone; made by [`IsonetBuilder::join`](super::IsonetBuilder::join).
///
/// [`Isonet::close`] ends it together with the others. Dropped, it ends at once, and the others are told that it is gone.
#[derive(Clone)]
pub struct Isonet {
    host: Arc<Host>,
}

/// Is told of what a member performs.
pub(super) type Observer = Box<dyn FnMut(&Performed) + Send>;

/// What of a program runs on the thread that executes isochrons.
#[derive(Default)]
pub(super) struct Program {
    pub(super) handlers: Handlers,
    pub(super) plain: PlainHandlers,
    pub(super) observer: Option<Observer>,
}

/// The threads of a member.
pub(super) struct Host {
    core: Arc<Core>,
    members: u16,
    end: End,
    switch: Option<NodeHandle>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// The process whose threads they are.
    process: u32,
    folder: Option<Folder>,
}

impl Isonet {
    /// Begins to put an isochron together.
    ///
    /// # Errors
    /// [`Code::BadValue`]: this thread has one open. [`Code::PeerDied`], [`Code::Malformed`]: a member is gone, or broke the protocol, and the text names it.
    /// [`Code::Closed`]: the isonet was closed.
    pub fn isochron(&self) -> Result<Isochron, Error> {
        Isochron::open(&self.host.core)
    }

    pub(super) fn core(&self) -> &Arc<Core> {
        &self.host.core
    }

    /// Makes isochrons that are bound to no thread.
    #[must_use]
    pub fn maker(&self) -> IsochronMaker {
        IsochronMaker { core: Arc::clone(&self.host.core) }
    }

    /// Which member this process is.
    #[must_use]
    pub fn member(&self) -> u16 {
        self.host.core.me.0
    }

    /// How many members there are.
    #[must_use]
    pub fn members(&self) -> u16 {
        self.host.members
    }

    /// What the variables and members are, for [`check`](crate::isotach::check).
    #[must_use]
    pub fn shape(&self) -> Arc<quintet_isotach::Isonet> {
        Arc::clone(&self.host.core.isonet)
    }

    /// What this member has done since this was asked last: nothing unless it keeps a witness. All there is once it is closed.
    #[must_use]
    pub fn take_witness(&self) -> Vec<Witnessed> {
        self.host.core.board.take_witness()
    }

    /// Waits until all isochrons of this member are executed, all members close, and its handlers have had all that was for them; and ends. It cannot be closed again
    /// ([`Code::Closed`]).
    ///
    /// # Errors
    /// [`Code::TaskFailed`], [`Code::NoHandler`]: a handler of this member panicked, or there is none for a message.
    /// [`Code::PeerDied`], [`Code::Malformed`]: a member went before, or broke the protocol. [`Code::BadValue`]: an isochron was dropped that was neither
    /// executed, begun nor abandoned; a handler would wait for itself. The lab's own. Ended is it in any case but the last but one.
    pub fn close(&self) -> Result<(), Error> {
        let Host { core, end, .. } = &*self.host;
        if core.board.is_poller() {
            return Err(super::error::would_wait_for_itself());
        }
        let waited = core.board.wait_for_answers().and_then(|()| end.wait(&core.board));
        // What this member knows itself says more than what the first one says of it.
        let waited = waited.map_err(|error| core.board.end().unwrap_or(error));
        if waited.is_ok() {
            // All that is for handlers here is on its way to them: the thread ends behind it.
            self.host.end_threads();
        }
        let left = core.board.left();
        self.host.stop();
        waited?;
        left.map_or(Ok(()), Err)?;
        match core.board.take_dropped() {
            Some(operations) => Err(super::error::of_misuse(&Misuse::NeverEnded { operations })),
            None => Ok(()),
        }
    }
}

impl Host {
    /// Starts the threads, and waits until all members are linked.
    pub(super) fn start(
        config: IsotachConfig,
        program: Program,
        places: Places,
        met: Met,
        link: LinkConfig,
        recorder: Option<&Recorder>,
        until: Instant,
    ) -> Result<Isonet, Error> {
        let (isonet, me) = (Arc::clone(&config.isonet), config.me);
        let Program { handlers, plain, observer } = program;
        let links = Links { met: &met, link, recorder, until };
        let Places { listener, switch, folder, .. } = places;
        let manager = TokenManagerConfig { switch: 0, view: config.view, isonet: Arc::clone(&isonet) };
        let switch = switch.map(|listener| links.switch(manager, listener)).transpose()?;
        let stack_config = StackConfig { isotach: Some(config), ..links.config() };
        let placed = isotach_node(&stack_config);
        let mut node = links.node(me, listener)?;
        let board = Board::awaiting(placed.asks.iter().copied());
        let core = Arc::new(Core { board, node: node.handle(), isonet, me, open: Mutex::default() });
        let observed = placed.map(|node| Observed::new(node, Arc::clone(&core), observer));
        let instance = Instance::new(stack::node(me, &stack_config, vec![observed]));
        node.add(PORT_CALLERS, Instance::new(Callers { core: Arc::clone(&core), handlers, plain }));
        node.add(PORT_SESSION, links.recorded(instance, me, ISOTACH_NODE, &stack_config)?);
        links.dial_earlier(&mut node, me);
        let members = u16::try_from(met.members.len()).expect("there are MAX_MEMBERS at most");
        let mut threads = Vec::new();
        let switch = match switch {
            Some(switch) => {
                let handle = switch.handle();
                threads.push(spawn("quintet-switch", switch, Arc::clone(&core))?);
                Some(handle)
            }
            None => None,
        };
        threads.push(spawn("quintet-isonet", node, Arc::clone(&core))?);
        let (threads, process) = (Mutex::new(threads), std::process::id());
        let mut host = Host { core, members, end: met.end, switch, threads, process, folder };
        host.core.board.wait_for_links(until)?;
        // Nobody looks for another member any more: one that is killed from here on leaves nothing behind. The token manager may still be looked for.
        if host.switch.is_none() {
            host.folder.take();
        }
        Ok(Isonet { host: Arc::new(host) })
    }

    fn stop(&self) {
        if self.process == std::process::id() {
            self.core.board.ended(Error::new(Code::Closed, "this isonet was closed"));
        }
        self.end_threads();
    }

    fn end_threads(&self) {
        let threads = core::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        if self.process != std::process::id() {
            // Not dropped either: the system would look for the threads.
            std::mem::forget(threads);
            return;
        }
        self.core.node.stop();
        self.switch.iter().for_each(NodeHandle::stop);
        // A handler that drops the last handle is on a thread that ends behind it.
        if !self.core.board.is_poller() {
            threads.into_iter().for_each(|thread| thread.join().unwrap_or_default());
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Runs a node until it is stopped. However it ends, who waits for it is told.
fn spawn(name: &str, mut node: Node, core: Arc<Core>) -> Result<JoinHandle<()>, Error> {
    let is_member = name == "quintet-isonet";
    let run = move || {
        let ending = Ending(core);
        if is_member {
            ending.0.board.set_poller();
        }
        if let Err(error) = node.run() {
            ending.0.leave(error.into());
        }
    };
    Ok(std::thread::Builder::new().name(name.to_owned()).spawn(run)?)
}

/// Tells that a thread has ended, also by a panic.
struct Ending(Arc<Core>);

impl Drop for Ending {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.leave(Error::new(Code::TaskFailed, "a handler panicked: this member has left its isonet"));
        }
    }
}

/// How the nodes of a member are linked.
struct Links<'a> {
    met: &'a Met,
    link: LinkConfig,
    recorder: Option<&'a Recorder>,
    until: Instant,
}

impl Links<'_> {
    fn config(&self) -> StackConfig {
        StackConfig::of_client(self.met.cluster, life::incarnation(), life::random())
            .with_window(self.link.window)
            .with_liveness(self.link.liveness_of_client())
    }

    fn node(&self, id: NodeId, listener: Box<dyn Listener>) -> Result<Node, Error> {
        let mut node = Node::new(id, Services::none())?;
        node.set_spin(self.link.spin);
        node.set_packets(self.link.packets);
        node.listen(listener, PORT_SESSION)?;
        Ok(node)
    }

    fn switch(&self, manager: TokenManagerConfig, listener: Box<dyn Listener>) -> Result<Node, Error> {
        let id = token_manager_node(manager.switch);
        let config = StackConfig { token_manager: Some(manager), ..self.config() };
        let mut node = self.node(id, listener)?;
        let instance = Instance::new(switch_of_isonet(&config));
        node.add(PORT_SESSION, self.recorded(instance, id, TOKEN_MANAGER, &config)?);
        Ok(node)
    }

    fn recorded(
        &self,
        instance: Instance,
        id: NodeId,
        name: &str,
        config: &StackConfig,
    ) -> Result<Instance, Error> {
        let Some(recorder) = self.recorder else { return Ok(instance) };
        let config = config.to_bytes();
        // What a replay would refuse is not recorded.
        StackConfig::from_bytes(&config).map_err(|error| {
            let text = format!("an isonet with so many variables and copies cannot be recorded: {error}");
            Error::new(Code::BadValue, text)
        })?;
        Ok(instance.recorded(recorder, sessions_of(id), name, &config))
    }

    /// Each member dials those before it, and the token manager.
    fn dial_earlier(&self, node: &mut Node, me: NodeId) {
        let earlier = (0..me.0).map(NodeId).zip(&self.met.members);
        for (peer, address) in earlier.chain([(token_manager_node(0), &self.met.switch)]) {
            let window = self.link.resume_window.max(self.until.saturating_duration_since(Instant::now()));
            let redial = Redial { address: address.clone(), window, seed: life::random() };
            node.dial(peer, &[(PORT_SESSION, PORT_SESSION)], redial);
        }
    }
}

/// A member's node, with what is seen of it beside its frames.
struct Observed {
    node: quintet_isotach::Node,
    core: Arc<Core>,
    observer: Option<Observer>,
}

impl Observed {
    fn new(mut node: quintet_isotach::Node, core: Arc<Core>, observer: Option<Observer>) -> Observed {
        if observer.is_some() {
            node.keep_performed();
        }
        Observed { node, core, observer }
    }
}

impl Protocol for Observed {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        self.node.handle(now, input, out);
        if let Input::Peer(peer, PeerChange::Up { .. }) = input {
            self.core.board.linked(peer);
        }
        self.core.board.witnessed(self.node.take_witness());
        if let Some(observe) = &mut self.observer {
            self.node.take_performed().iter().for_each(observe);
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.node.deadline()
    }

    fn measure(&self, meter: &mut Meter<'_>) {
        self.node.measure(meter);
    }
}

/// Where a member listens, and its token manager.
pub(super) struct Places {
    listener: Box<dyn Listener>,
    switch: Option<Box<dyn Listener>>,
    credentials: Option<Credentials>,
    folder: Option<Folder>,
}

impl Places {
    /// Listens there, or in a folder of its own.
    pub(super) fn listen(at: Option<LinkAddress>, has_switch: bool) -> Result<Places, Error> {
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
        let beside = match &at {
            LinkAddress::Tcp { port: 0, .. } | LinkAddress::Tls { port: 0, .. } => Some(at.clone()),
            _ => at.of_manager(1),
        };
        let beside = || {
            let none =
                || Error::new(Code::BadValue, format!("{at}: the token manager needs the port behind it"));
            Ok::<_, Error>(listen(&beside.clone().ok_or_else(none)?)?)
        };
        let switch = has_switch.then(beside).transpose()?;
        Ok(Places { listener: listen(&at)?, switch, credentials, folder })
    }

    pub(super) fn address(&self) -> LinkAddress {
        self.listener.address()
    }

    pub(super) fn switch(&self) -> Option<LinkAddress> {
        self.switch.as_ref().map(|listener| listener.address())
    }

    /// Another member's address, at which this one proves itself as at its own.
    pub(super) fn identified(&self, address: LinkAddress) -> LinkAddress {
        address.identified(self.credentials.as_ref())
    }
}

/// A folder for this user alone, removed when dropped.
struct Folder(PathBuf);

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
