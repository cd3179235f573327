//! A space for other processes.

use crate::life;
use crate::stack::{self, StackConfig};
use crate::trace;
use crate::{
    CodeGrants, Error, EventSink, LinkConfig, Measurement, NotGranted, Recorder, SpaceConfig, Tracer,
};
use quintet_contract::{Identity, Input, Outbox, Protocol, Time, Token};
use quintet_errors::Code;
use quintet_link::{LinkAddress, Listener, listen};
use quintet_runtime::{Instance, Node, NodeHandle, Services};
use quintet_tuple_space::codec::NOT_GRANTED;
use quintet_wire::Decode;
use quintet_wire::registry::{PORT_CALLERS, PORT_SESSION};
use std::io::Write;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// What a server is made with.
#[derive(Clone, Default)]
pub struct ServeConfig {
    /// The cluster; clients of another one are refused.
    pub cluster: u128,
    /// The space's limits.
    pub space: SpaceConfig,
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
pub struct ServerMeter(NodeHandle);

impl ServerMeter {
    /// The space's numbers, and those of its sessions and links, each once: what they are called, and what they mean, stands in
    /// `docs/telemetry.md`. None if the server does not answer in that time: it has ended, or stands still. Costs the server some
    /// microseconds, and nothing is counted for it that would not be counted anyway.
    #[must_use]
    pub fn measure(&self, limit: Duration) -> Option<Vec<Measurement>> {
        self.0.measure(limit)
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
}

impl Server {
    /// Serves at one address: a path, for shared memory, or a [`LinkAddress`] of any kind, for processes of this user on this
    /// machine; over TLS for whoever has an identity of the same cluster. TCP is listened at on loopback only.
    ///
    /// # Errors
    /// The address is in use, or cannot be listened at; or the system refused.
    pub fn start(address: impl Into<LinkAddress>, config: &ServeConfig) -> Result<Server, Error> {
        Server::start_at(&[address.into()], config)
    }

    /// Serves one space at several addresses.
    ///
    /// # Errors
    /// As [`Server::start`], of the first address that cannot be listened at: then nothing is served.
    pub fn start_at(addresses: &[LinkAddress], config: &ServeConfig) -> Result<Server, Error> {
        let listeners = addresses.iter().map(listen).collect::<Result<Vec<_>, _>>()?;
        let addresses = listeners.iter().map(|listener| listener.address()).collect();
        let mut node = node(config, listeners).map_err(refused)?;
        let handle = node.handle();
        let thread = std::thread::Builder::new().name("quintet-space".to_owned()).spawn(move || node.run());
        let thread = Some(thread.map_err(refused)?);
        Ok(Server { handle, addresses, process: std::process::id(), thread })
    }

    /// Where it serves: as asked, with the port that the system gave where port 0 was asked for.
    #[must_use]
    pub fn addresses(&self) -> &[LinkAddress] {
        &self.addresses
    }

    /// Asks it what it tells of itself in numbers.
    #[must_use]
    pub fn meter(&self) -> ServerMeter {
        ServerMeter(self.handle.clone())
    }

    /// Ends the connections of those who have proved over TLS to be somebody of whom this is not true: what they wait for fails, and their leases
    /// return. Others stay. Whether they may come again is for the rule of the listener's credentials to say
    /// ([`Credentials::admitting`](crate::Credentials::admitting)).
    pub fn keep_connections_of(&self, rule: impl Fn(&Identity) -> bool + Send + 'static) {
        self.handle.keep_links_of(rule);
    }

    /// From now on these may put what others run, and nobody else: who waits with such a tuple for room is refused. What was put before stays.
    pub fn grant_code(&self, grants: &CodeGrants) {
        say_grants(&self.handle, grants);
    }

    /// Ends it.
    ///
    /// # Errors
    /// The system refused to wait for links while it ran.
    ///
    /// # Panics
    /// If the server's thread panicked.
    pub fn stop(mut self) -> Result<(), Error> {
        self.end()
    }

    fn end(&mut self) -> Result<(), Error> {
        let Some(thread) = self.thread.take() else { return Ok(()) };
        if self.process != std::process::id() {
            // Not dropped either: the system would look for the thread.
            std::mem::forget(thread);
            return Ok(());
        }
        self.handle.stop();
        let ended = thread.join().expect("the space's thread does not panic");
        ended.map_err(refused)
    }
}

fn refused(error: std::io::Error) -> Error {
    Error::new(Code::Resource, error.to_string())
}

/// Says who may put what others run. What is said before the node runs is heard before any link.
fn say_grants(node: &NodeHandle, grants: &CodeGrants) {
    node.send(PORT_CALLERS, PORT_SESSION, grants.frame(Token(0)));
}

/// The caller of a space's node that is told of refusals.
struct Watchman(Arc<dyn Fn(&NotGranted) + Send + Sync>);

impl Protocol for Watchman {
    fn handle(&mut self, _now: Time, input: Input<'_>, _out: &mut dyn Outbox) {
        if let Input::Frame(_, frame) = input
            && frame.kind == NOT_GRANTED
            && let Ok(refused) = NotGranted::decode_all(frame.body)
        {
            (self.0)(&refused);
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

/// The node of a space, with everything that it listens at.
fn node(config: &ServeConfig, listeners: Vec<Box<dyn Listener>>) -> std::io::Result<Node> {
    let space = life::keyed(config.space);
    let stack_config = StackConfig::of_server(config.cluster, life::incarnation(), space.seed)
        .with_space(space)
        .with_window(config.link.window)
        .with_liveness(config.link.liveness_of_server());
    let mut instance = Instance::new(stack::served(&stack_config));
    if let Some(recorder) = &config.recorder {
        instance = instance.recorded(recorder, stack::SERVER, stack::SERVED, &stack_config.to_bytes());
    }
    if let Some(tracer) = &config.tracer {
        instance = instance.traced(tracer, stack::SERVER, trace::NAMES);
    }
    let mut node = Node::new(stack::SPACE_NODE, Services::none())?;
    node.set_spin(config.link.spin);
    config.events.iter().for_each(|sink| node.set_events(Arc::clone(sink)));
    node.add(PORT_SESSION, instance);
    if let Some(CodeWatch { grants, refused }) = &config.code {
        node.add(PORT_CALLERS, Instance::new(Watchman(Arc::clone(refused))));
        say_grants(&node.handle(), grants);
    }
    listeners.into_iter().try_for_each(|listener| node.listen(listener, PORT_SESSION))?;
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
