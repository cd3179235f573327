//! A space for other processes.

mod managers;
mod replication;

use crate::life;
use crate::space_log::{LockedLog, LogWatch};
use crate::stack::{self, StackConfig};
use crate::trace;
use crate::{
    CodeGrants, Error, EventSink, LinkConfig, LogNews, Measurement, NotGranted, Recorder, SpaceConfig,
    SpaceLog, SpaceRights, SpacesConfig, Tracer,
};
use managers::Spread;
pub use managers::{ManagersSink, OtherManagers, Partitioning};
use quintet_contract::{Identity, Input, Outbox, Protocol, Span, Time, Token};
use quintet_durable::LoggedConfig;
use quintet_errors::Code;
use quintet_link::{LinkAddress, Listener, listen};
use quintet_replicated::Leader;
use quintet_replicated::codec::LEADER;
use quintet_runtime::{Instance, Node, NodeHandle, Redial, Services};
use quintet_tuple_space::codec::{MANAGERS_NEWS, NOT_GRANTED};
use quintet_wire::Decode;
use quintet_wire::registry::{LOG_NEWS, PORT_CALLERS, PORT_SESSION};
pub use replication::{LeaderSink, Replication};
use std::io::Write;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// What a server is made with.
#[derive(Clone, Default)]
pub struct ServeConfig {
    /// The cluster; clients of another one are refused.
    pub cluster: u128,
    /// The limits of the space without a name, and of the others what their creation does not say.
    pub space: SpaceConfig,
    /// The limits of all named spaces together.
    pub spaces: SpacesConfig,
    /// How it uses the links to its clients.
    pub link: LinkConfig,
    /// Records the space, if given.
    pub recorder: Option<Recorder>,
    /// Shows in this process's part of a trace what goes over its links, if given.
    pub tracer: Option<Tracer>,
    /// Is told what the host sees that no client does: links that failed, connections that were not made.
    pub events: Option<EventSink>,
    /// Who may put tuples whose first field begins with [`RESERVED_PREFIX`](crate::RESERVED_PREFIX): those that executors and workers unpickle. Without it everybody
    /// may who is let in.
    pub code: Option<CodeWatch>,
    /// Who may use the spaces, until [`Server::allow`] says otherwise; it needs a log. None: everybody who is let in.
    pub allow: Option<SpaceRights>,
    /// With which other replicas the space is kept together; it needs a log.
    pub replication: Option<Replication>,
    /// Over how many managers the space is spread, each on a thread of its own; 0 and 1: one. The others listen beside the first: at its path with
    /// `.1`, `.2` behind it, or at the next ports. With several there is no log and no recording.
    pub managers: u8,
    /// A manager of several that is asked less in a quarter of a second keeps its hot keys; none: 2,000. With `u64::MAX` no key moves. The same at all of them.
    pub hot_key_requests: Option<u64>,
    /// Which of several managers of a space this process serves, where each is served by a process of its own; without a log and a recording.
    pub partitioning: Option<Partitioning>,
    /// Where the space keeps a log of all that it is given: then what it has acknowledged outlives this process. Without it the space ends with the server.
    pub log: Option<SpaceLog>,
}

/// What keys the hashes of all replicas.
const SEED_OF_REPLICAS: u64 = 1;

/// For how long a replica, or a manager, tries to reach another one: as long as it runs.
const REACHED_FOR: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// Is told whom a space has refused.
type RefusalSink = Arc<dyn Fn(&NotGranted) + Send + Sync>;

impl ServeConfig {
    /// Where this server serves among the replicas or the managers of its space; none if it is neither, or none of them.
    #[must_use]
    pub fn place(&self) -> Option<&LinkAddress> {
        let replica = self.replication.as_ref().and_then(Replication::place);
        replica.or_else(|| self.partitioning.as_ref().and_then(Partitioning::place))
    }
}

/// Who may put what others run, and who is told of refusals.
#[derive(Clone)]
pub struct CodeWatch {
    /// Who may, until [`Server::grant_code`] says otherwise.
    pub grants: CodeGrants,
    /// Is told whom the space has refused, on the server's thread: it must not wait.
    pub refused: Arc<dyn Fn(&NotGranted) + Send + Sync>,
}

/// Asks a server, from any thread, what it tells of itself in numbers. It may outlive the server.
#[derive(Clone)]
pub struct ServerMeter(pub(crate) Vec<NodeHandle>);

impl ServerMeter {
    /// The space's numbers, and those of its sessions and links, each once: what they are called, and what they mean, stands in
    /// `docs/telemetry.md`. None if the server does not answer in that time: it has ended, or stands still. Costs the server some
    /// microseconds, and nothing is counted for it that would not be counted anyway.
    #[must_use]
    pub fn measure(&self, limit: Duration) -> Option<Vec<Measurement>> {
        managers::sum(self.0.iter().map(|node| node.measure(limit)))
    }
}

/// A space that serves other processes from a thread of this one. Dropped, it ends, and its tuples with it. A child that this
/// process forks has the handle and not the thread: there, to stop or drop it does nothing.
pub struct Server {
    handle: NodeHandle,
    addresses: Vec<LinkAddress>,
    /// The process whose thread it is.
    process: u32,
    thread: Option<JoinHandle<std::io::Result<()>>>,
    log: Option<ServedLog>,
    /// What was said of who may do what: a replica says it whenever it begins to lead.
    rights: SaidRights,
    /// The other managers.
    others: Vec<Server>,
}

/// Shared by a server and the caller of its node.
type SaidRights = Arc<Mutex<Rights>>;

/// Who may do what, where that was ever said.
#[derive(Clone, Default)]
struct Rights {
    /// Who may put what others run.
    code: Option<CodeGrants>,
    /// Who may use the spaces.
    allow: Option<SpaceRights>,
}

/// The log of a space that is served.
struct ServedLog {
    watch: LogWatch,
    /// Tells, by its end, that nothing is written to the folder any more.
    is_released: Receiver<()>,
}

impl Server {
    /// Serves at one address: a path, for shared memory, or a [`LinkAddress`] of any kind, for processes of this user on this
    /// machine; over TLS for whoever has an identity of the same cluster. TCP is listened at on loopback only.
    ///
    /// # Errors
    /// The address is in use, or cannot be listened at; or the system refused. Of a space with a log: another process uses it ([`Code::AddressInUse`]);
    /// it cannot be used, because it is damaged, of another version or of another cluster, or the folder cannot be ([`Code::BadFile`]): then nothing in it
    /// was changed.
    pub fn start(address: impl Into<LinkAddress>, config: &ServeConfig) -> Result<Server, Error> {
        Server::start_at(&[address.into()], config)
    }

    /// Serves one space at several addresses.
    ///
    /// # Errors
    /// As [`Server::start`], of the first address that cannot be listened at: then nothing is served.
    pub fn start_at(addresses: &[LinkAddress], config: &ServeConfig) -> Result<Server, Error> {
        config.replication.as_ref().map_or(Ok(()), |replication| replication.check(config.log.as_ref()))?;
        if config.allow.is_some() && config.log.is_none() {
            let text = "only spaces that are kept by a log are for some only; of others each named one has rights of its own";
            return Err(Error::new(Code::BadValue, text));
        }
        if let Some(partitioning) = &config.partitioning {
            partitioning.check(config)?;
            return Server::start_one(addresses, config, Some(Spread::of(partitioning, config.cluster)));
        }
        let managers = config.managers.max(1);
        if managers == 1 {
            return Server::start_one(addresses, config, None);
        }
        managers::check(addresses, config)?;
        let seed = life::random();
        let mut started = (0..managers).map(|me| {
            let own = managers::addresses(addresses, me)?;
            Server::start_one(&own, config, Some(Spread::beside(&addresses[0], (me, managers), seed)?))
        });
        let mut first = started.next().expect("there are several")?;
        first.others = started.collect::<Result<_, _>>()?;
        Ok(first)
    }

    fn start_one(
        addresses: &[LinkAddress],
        config: &ServeConfig,
        spread: Option<Spread>,
    ) -> Result<Server, Error> {
        let locked = config.log.as_ref().map(|log| LockedLog::open(&log.folder)).transpose()?;
        let listeners = addresses.iter().map(listen).collect::<Result<Vec<_>, _>>()?;
        let addresses = listeners.iter().map(|listener| listener.address()).collect();
        let watched = config.log.as_ref().map(|log| LogWatch::new(log.told.clone()));
        let (watch, is_open) = watched.unzip();
        let (locked, is_released) = locked.map(LockedLog::until_released).unzip();
        let code = config.code.as_ref().map(|code| code.grants.clone());
        let rights = Arc::new(Mutex::new(Rights { code, allow: config.allow.clone() }));
        let said = Arc::clone(&rights);
        let mut node = node(config, listeners, locked, watch.clone(), said, spread).map_err(refused)?;
        let handle = node.handle();
        let thread = std::thread::Builder::new().name("quintet-space".to_owned()).spawn(move || node.run());
        let thread = Some(thread.map_err(refused)?);
        let log = watch.zip(is_released).map(|(watch, is_released)| ServedLog { watch, is_released });
        let (process, others) = (std::process::id(), Vec::new());
        let mut server = Server { handle, addresses, process, thread, log, rights, others };
        if let Some(is_open) = is_open {
            server.wait_for_log(&is_open)?;
        }
        Ok(server)
    }

    /// Waits until the log is read.
    fn wait_for_log(&mut self, is_open: &Receiver<Result<(), String>>) -> Result<(), Error> {
        match is_open.recv() {
            Ok(Ok(())) => Ok(()),
            Ok(Err(text)) => {
                // What it says of the log comes first.
                let _ = self.end();
                Err(Error::new(Code::BadFile, text))
            }
            // The thread has ended without a word.
            Err(_) => self.end(),
        }
    }

    /// Where it serves: as asked, with the port that the system gave where port 0 was asked for.
    #[must_use]
    pub fn addresses(&self) -> &[LinkAddress] {
        &self.addresses
    }

    /// Asks it what it tells of itself in numbers.
    #[must_use]
    pub fn meter(&self) -> ServerMeter {
        let others = self.others.iter().map(|other| other.handle.clone());
        ServerMeter(core::iter::once(self.handle.clone()).chain(others).collect())
    }

    /// Ends the connections of those who have proved over TLS to be somebody of whom this is not true: what they wait for fails, and their leases
    /// return. Others stay. Whether they may come again is for the rule of the listener's credentials to say
    /// ([`Credentials::admitting`](crate::Credentials::admitting)).
    pub fn keep_connections_of(&self, rule: impl Fn(&Identity) -> bool + Send + 'static) {
        let rule = Arc::new(Mutex::new(rule));
        for server in core::iter::once(self).chain(&self.others) {
            let rule = Arc::clone(&rule);
            let keeps =
                move |identity: &Identity| rule.lock().unwrap_or_else(PoisonError::into_inner)(identity);
            server.handle.keep_links_of(keeps);
        }
    }

    /// From now on these may put what others run, and nobody else: who waits with such a tuple for room is refused. What was put before stays.
    pub fn grant_code(&self, grants: &CodeGrants) {
        self.rights.lock().unwrap_or_else(PoisonError::into_inner).code = Some(grants.clone());
        say_grants(&self.handle, grants);
        self.others.iter().for_each(|other| say_grants(&other.handle, grants));
    }

    /// From now on these may use the spaces, and nobody else, if they were not for everybody from the beginning ([`ServeConfig::allow`]). Who waits already is
    /// not refused.
    pub fn allow(&self, rights: &SpaceRights) {
        let mut said = self.rights.lock().unwrap_or_else(PoisonError::into_inner);
        if said.allow.is_some() {
            said.allow = Some(rights.clone());
            say_allowed(&self.handle, rights);
        }
    }

    /// Why it serves no more, if it has ended by itself: the disk of its log failed ([`Code::Resource`]), or other replicas are made otherwise.
    #[must_use]
    pub fn failure(&self) -> Option<Error> {
        self.log.as_ref().and_then(|log| log.watch.failure())
    }

    /// Ends it.
    ///
    /// # Errors
    /// The system refused to wait for links while it ran; or the disk of its log had failed ([`Code::Resource`]).
    ///
    /// # Panics
    /// If the server's thread panicked.
    pub fn stop(mut self) -> Result<(), Error> {
        self.end()
    }

    fn end(&mut self) -> Result<(), Error> {
        let Some(thread) = self.thread.take() else { return Ok(()) };
        // All of them, whatever becomes of one.
        let others = self.others.iter_mut().map(Server::end).fold(Ok(()), Result::and);
        if self.process != std::process::id() {
            // Not dropped either: the system would look for the thread.
            std::mem::forget(thread);
            return Ok(());
        }
        self.handle.stop();
        let ended = thread.join().expect("the space's thread does not panic");
        if let Some(log) = &self.log {
            // Whoever serves from this folder next finds nobody else in it.
            let _ = log.is_released.recv();
        }
        match self.failure() {
            Some(failure) => Err(failure),
            None => ended.map_err(refused).and(others),
        }
    }
}

fn refused(error: std::io::Error) -> Error {
    Error::new(Code::Resource, error.to_string())
}

/// Says who may put what others run. What is said before the node runs is heard before any link.
fn say_grants(node: &NodeHandle, grants: &CodeGrants) {
    node.send(PORT_CALLERS, PORT_SESSION, grants.frame(Token(0)));
}

/// Says who may use the spaces, likewise.
fn say_allowed(node: &NodeHandle, rights: &SpaceRights) {
    node.send(PORT_CALLERS, PORT_SESSION, rights.frame(Token(1)));
}

/// Says all that was said before.
fn say_rights(node: &NodeHandle, rights: &Rights) {
    rights.code.iter().for_each(|grants| say_grants(node, grants));
    rights.allow.iter().for_each(|rights| say_allowed(node, rights));
}

/// The caller of a space's node that is told of refusals, and of the log.
struct Watchman {
    refused: Option<RefusalSink>,
    log: Option<LogWatch>,
    leader: Option<LeaderSink>,
    managers: Option<ManagersSink>,
    /// Which of the replicas this one is, and what it says when it begins to lead: before, nothing that is said to it is agreed on.
    replica: Option<u8>,
    rights: SaidRights,
    /// Ended where the log cannot be kept any more: who waits for an answer is not to wait for ever.
    node: NodeHandle,
}

impl Protocol for Watchman {
    fn handle(&mut self, _now: Time, input: Input<'_>, _out: &mut dyn Outbox) {
        let Input::Frame(_, frame) = input else { return };
        match (frame.kind, &self.refused, &self.log) {
            (NOT_GRANTED, Some(told), _) => {
                NotGranted::decode_all(frame.body).iter().for_each(|refused| told(refused));
            }
            (LEADER, ..) => {
                let leader = Leader::decode_all(frame.body).ok();
                let number = leader.and_then(|leader| u8::try_from(leader.node?.0).ok());
                self.leader.iter().for_each(|told| told(number));
                if number.is_some() && number == self.replica {
                    let rights = self.rights.lock().unwrap_or_else(PoisonError::into_inner);
                    say_rights(&self.node, &rights);
                }
            }
            (MANAGERS_NEWS, ..) => {
                let news = OtherManagers::of(&frame);
                self.managers.iter().zip(news).for_each(|(told, news)| told(news));
            }
            (LOG_NEWS, _, Some(log)) if LogNews::decode_all(frame.body).is_ok_and(|news| log.hear(&news)) => {
                self.node.stop();
            }
            _ => {}
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

/// The node of a space, with everything that it listens at.
fn node(
    config: &ServeConfig,
    listeners: Vec<Box<dyn Listener>>,
    locked: Option<LockedLog>,
    log: Option<LogWatch>,
    rights: SaidRights,
    spread: Option<Spread>,
) -> std::io::Result<Node> {
    // Replicas do the same with the same, and are made alike: all of them hash by one key, which is no secret.
    let space = match config.replication {
        Some(_) => SpaceConfig { seed: SEED_OF_REPLICAS, ..config.space },
        None => life::keyed(config.space),
    };
    let of_server = StackConfig::of_server(config.cluster, life::incarnation(), space.seed);
    let is_restricted = config.allow.is_some();
    let mut stack_config = StackConfig { spaces: config.spaces, is_restricted, ..of_server }
        .with_space(space)
        .with_window(config.link.window)
        .with_liveness(config.link.liveness_of_server());
    stack_config.resume.window = stack_config.liveness.resume_window;
    if config.replication.is_some() {
        // A client finds that the leader has been cut off by its silence, and only then looks for the next one.
        stack_config.resume.window = Span::from(config.link.resume_window + config.link.silence_limit);
    }
    let at = match (&config.replication, &spread) {
        (Some(replication), _) => replication.node(),
        (None, Some(spread)) => stack::manager_node(spread.me),
        (None, None) => stack::SPACE_NODE,
    };
    stack_config.replication = config
        .replication
        .as_ref()
        .map(|replication| replication.config(config.cluster, stack_config.incarnation, life::random()));
    stack_config.log = locked.as_ref().map(|_| LoggedConfig::new(config.cluster, stack::SPACE));
    stack_config.managers = spread.as_ref().map(|spread| spread.config(config.hot_key_requests));
    let mut instance = Instance::new(match spread {
        Some(_) => stack::served_manager(&stack_config),
        None => stack::served(&stack_config),
    });
    if let Some(recorder) = &config.recorder {
        instance = instance.recorded(recorder, stack::SERVER, stack::SERVED, &stack_config.to_bytes());
    }
    if let Some(tracer) = &config.tracer {
        instance = instance.traced(tracer, stack::sessions_of(at), trace::NAMES);
    }
    let mut services = Services::none();
    if let Some(sink) = &config.events {
        services = services.with_events(Arc::clone(sink));
    }
    if let Some(locked) = locked {
        services = services.with_log(&locked.file)?.with_disk_guard(locked);
    }
    let mut node = Node::new(at, services)?;
    node.set_spin(config.link.spin);
    node.set_packets(config.link.packets);
    config.events.iter().for_each(|sink| node.set_events(Arc::clone(sink)));
    config.replication.iter().filter_map(Replication::naming).for_each(|rule| node.set_naming(rule));
    node.add(PORT_SESSION, instance);
    let managers = spread.as_ref().and_then(|spread| spread.told.clone());
    if config.code.is_some() || log.is_some() || managers.is_some() {
        let refused = config.code.as_ref().map(|code| Arc::clone(&code.refused));
        let leader = config.replication.as_ref().and_then(|replication| replication.told.clone());
        let replica = config.replication.as_ref().map(|replication| replication.replica);
        let node_handle = node.handle();
        let rights = Arc::clone(&rights);
        let watchman = Watchman { refused, log, leader, managers, replica, rights, node: node_handle };
        node.add(PORT_CALLERS, Instance::new(watchman));
    }
    say_rights(&node.handle(), &rights.lock().unwrap_or_else(PoisonError::into_inner));
    listeners.into_iter().try_for_each(|listener| node.listen(listener, PORT_SESSION))?;
    for (other, address) in
        config.replication.iter().flat_map(Replication::nodes).filter(|(node, _)| *node != at)
    {
        let redial = Redial { address: address.clone(), window: REACHED_FOR, seed: life::random() };
        node.dial(other, &[(PORT_SESSION, PORT_SESSION)], redial);
    }
    spread.iter().for_each(|spread| spread.dial_earlier(&mut node));
    Ok(node)
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            // Whoever closed the standard error wants to know nothing.
            let _ = writeln!(std::io::stderr(), "quintet: the space ended: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Lab, tuple};
    use quintet_testbed::TempDir;
    use std::time::Duration;

    #[test]
    fn what_a_forked_child_inherits_ends_nothing() {
        let folder = TempDir::new().expect("a temporary directory");
        let socket = folder.join("space");
        let mut server = Server::start(&socket, &ServeConfig::default()).expect("the space starts");
        let handle = server.handle.clone();
        // As a child sees it, whose number is another.
        server.process = 0;
        server.stop().expect("there is nothing to do");
        let space = Lab::connect(&socket, 0, Duration::from_secs(10)).expect("the space is there").space();
        space.out(tuple!["x"]).expect("it is served");
        handle.stop();
    }
}
