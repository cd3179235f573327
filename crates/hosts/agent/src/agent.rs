//! The agent: a node with a member, a launcher and the enrolment, and the keeper beside it.

use crate::admission::Admission;
use crate::audit::Audit;
use crate::callers::{Callers, Inbox};
use crate::client::{incarnation, random};
use crate::keeper::Keeper;
use crate::kept_spaces::KeptSpaces;
use crate::notice::Notice;
use crate::record::Record;
use crate::space::{ClusterSpace, SpacePlaces, StartSpace};
use crate::upkeep::UpkeepTimes;
use crate::{AgentError, LISTEN, address, credentials, renewal};
use quintet_contract::{Incarnation, NodeId, Protocol, Span};
use quintet_launch::LauncherConfig;
use quintet_link::{Credentials, LinkAddress, listen};
use quintet_membership::{MembershipConfig, Reason, Refusal, Start};
use quintet_runtime::{Event, EventSink, Instance, Measurement, Node, NodeHandle, Services};
use quintet_session::Placed;
use quintet_stack::enrolment::enrolment;
use quintet_stack::{Liveness, StackConfig, launcher, member, node};
use quintet_wire::registry::{PORT_CALLERS, PORT_SESSION};
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// How an agent looks after its links. A machine that stands still for some seconds is not lost; one that was cut off is noticed by its
/// membership before.
pub const LIVENESS: Liveness = Liveness {
    keep_alive: Span::from_millis(500),
    silence_limit: Span::from_secs(10),
    // A command that was killed looks like one that was cut off, and its processes end with its session.
    resume_window: Span::from_secs(3),
};

/// Takes what an agent has to tell, on any of its threads: it must not wait.
pub type Told = Arc<dyn Fn(&Notice) + Send + Sync>;

/// What an agent is started with.
#[derive(Clone)]
pub struct AgentConfig {
    /// The cluster's folder.
    pub folder: PathBuf,
    /// Where it listens, `HOST:PORT`; else where it did before, or at [`LISTEN`].
    pub listen: Option<String>,
    /// Where others reach that, `HOST:PORT`; else as it was before, or as it can be known.
    pub address: Option<String>,
    /// Through which words processes are started, and by which their end is seen to should this process be killed.
    pub processes: Processes,
    /// How the cluster's space is served, when that is this machine's part. Without it this machine serves none.
    pub space: Option<StartSpace>,
    /// Is told what happens.
    pub told: Told,
}

/// How an agent starts processes: see `quintet_runtime::ProcessConfig`.
#[derive(Clone, Debug, Default)]
pub struct Processes {
    /// The words in front of each program.
    pub through: Vec<OsString>,
    /// The words that start the companion.
    pub companion: Vec<OsString>,
}

/// A running agent. Dropped, it ends.
pub struct Agent {
    keeper: Keeper,
    handle: NodeHandle,
    thread: Option<JoinHandle<std::io::Result<()>>>,
    inbox: Receiver<Inbox>,
    ending: Sender<Inbox>,
    listening: LinkAddress,
    audit: Audit,
}

/// Reaches an agent from other threads.
#[derive(Clone)]
pub struct AgentHandle {
    ending: Sender<Inbox>,
    node: NodeHandle,
}

impl AgentHandle {
    /// Has the agent end. It fails only if it has.
    pub fn end(&self) {
        let _ = self.ending.send(Inbox::End);
    }

    /// What the agent's node tells of itself in numbers: its member's, its launcher's, and those of its sessions and links. None if it does not
    /// answer in that time.
    #[must_use]
    pub fn measure(&self, limit: Duration) -> Option<Vec<Measurement>> {
        self.node.measure(limit)
    }
}

impl Agent {
    /// Starts the agent of this machine.
    ///
    /// # Errors
    /// The folder is no member's, another agent runs there, or the system refuses.
    pub fn start(config: &AgentConfig) -> Result<Agent, AgentError> {
        Agent::start_with(config, UpkeepTimes::default())
    }

    /// The same, which looks after its certificate and tokens that often.
    ///
    /// # Errors
    /// As of [`Agent::start`].
    pub fn start_with(config: &AgentConfig, times: UpkeepTimes) -> Result<Agent, AgentError> {
        let folder = &config.folder;
        renewal::renew_if_over(folder)?;
        let (credentials, cluster) = credentials(folder)?;
        let mut record = Record::read(folder)?.ok_or_else(|| AgentError::NoMember(folder.clone()))?;
        if record.removed {
            return Err(AgentError::WasRemoved(record.name));
        }
        let known = record.peers.iter().map(|peer| (peer.identity, peer.node));
        let admission = Admission::new(folder.clone(), known.collect());
        let admitting = {
            let admission = admission.clone();
            let rule = Arc::new(move |proof: &_| admission.admits(proof));
            credentials.admitting(rule).map_err(|error| AgentError::Credentials(folder.clone(), error))?
        };
        let (old, listening_before) = (record.address.clone(), record.listen.clone());
        record.listen = config.listen.clone().unwrap_or(record.listen);
        // First of all the socket: two agents with one folder would have one log.
        let local = listen(&LinkAddress::Unix(Record::socket(folder)))?;
        let remote = listen(&address::tls(&record.listen, &admitting)?)?;
        let listening = remote.address();
        record.address = match &config.address {
            Some(address) => address.clone(),
            None if record.listen == listening_before && !old.is_empty() => old,
            None => address::moved(&old, &listening_before, &listening)?,
        };
        address::tls(&record.address, &credentials)?;
        // The clock may have been set back since the last life, which others remember.
        record.life = incarnation().0.max(record.life.saturating_add(1));
        record.write(folder)?;

        let audit = Audit::start(folder, Arc::clone(&config.told))?;
        let told = audit.before(Arc::clone(&config.told));
        let space = config.space.as_ref().map(|start| {
            let places = SpacePlaces::beside(&listening, folder, &credentials, &admission)?;
            ClusterSpace::new(Arc::clone(start), places, Arc::clone(&told)).map_err(node_refused)
        });
        let space = space.transpose()?;
        let (ending, inbox) = channel();
        let kept = config.space.as_ref().map(|start| {
            let (start, agent, told) = (Arc::clone(start), listening.clone(), Arc::clone(&told));
            KeptSpaces::new(start, agent, folder, &credentials, &admission, told, ending.clone())
        });
        let of_host = Arc::clone(&told);
        let events: EventSink = Arc::new(move |event: &Event| of_host(&Notice::Host(event.clone())));
        let log = Record::log(folder);
        let services = Services::none()
            .with_events(Arc::clone(&events))
            .with_disk(&log)
            .and_then(|services| for_this_user_only(&log).map(|()| services))
            .map_err(|error| AgentError::system("open", &log, error))?
            .with_processes(processes(config))
            .map_err(|error| AgentError::system("keep jobs in", &Record::jobs(folder), error))?;
        let mut node = Node::new(record.node, services).map_err(node_refused)?;
        node.set_events(events);
        let names = admission.clone();
        node.set_naming(Arc::new(move |node, proved| names.may_be_named(node, proved)));
        node.add(PORT_SESSION, Instance::new(stack(&record, &credentials, cluster)));
        node.tell_link_news(PORT_SESSION);
        node.add(PORT_CALLERS, Instance::new(Callers(ending.clone())));
        node.listen(local, PORT_SESSION).map_err(node_refused)?;
        node.listen(remote, PORT_SESSION).map_err(node_refused)?;
        let handle = node.handle();
        let mut keeper =
            Keeper::new(handle.clone(), folder.clone(), record, cluster, credentials, admission, told);
        keeper.upkeep.set_times(times);
        keeper.space = space;
        keeper.kept = kept;
        let ended = ending.clone();
        let thread = std::thread::Builder::new().name("quintet-agent".to_owned());
        let thread = thread.spawn(move || {
            let how = node.run();
            // Where nobody listens any more, nobody is to be told.
            let _ = ended.send(Inbox::End);
            how
        });
        let thread = Some(thread.map_err(node_refused)?);
        Ok(Agent { keeper, handle, thread, inbox, ending, listening, audit })
    }

    /// Where it listens, with the port that the system gave where 0 was asked for.
    #[must_use]
    pub fn listening(&self) -> &LinkAddress {
        &self.listening
    }

    /// What it remembers of its cluster.
    #[must_use]
    pub fn record(&self) -> &Record {
        self.keeper.record()
    }

    /// A way to end it while it runs.
    #[must_use]
    pub fn handle(&self) -> AgentHandle {
        AgentHandle { ending: self.ending.clone(), node: self.handle.clone() }
    }

    /// Runs until it is told to end.
    ///
    /// # Errors
    /// The machine was removed from its cluster, its log is damaged, or the system refuses.
    pub fn run(mut self) -> Result<(), AgentError> {
        let how = self.keeper.run(&self.inbox);
        if let Err(AgentError::Refused(Refusal { reason: Reason::Removed, .. })) = &how {
            self.keeper.remember_removal();
        }
        // Before the agent, so that the next one finds its place free.
        self.keeper.space = None;
        self.keeper.kept = None;
        // What is told is written before anybody finds that the agent has ended, and removes its folder.
        (self.keeper.told)(&Notice::Ends);
        self.audit.finish();
        let ended = self.end();
        how.and(ended)
    }

    fn end(&mut self) -> Result<(), AgentError> {
        let Some(thread) = self.thread.take() else { return Ok(()) };
        self.handle.stop();
        thread.join().expect("the node's thread does not panic").map_err(node_refused)
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // Whoever drops it does not want to know.
        let _ = self.end();
    }
}

/// Processes prove to be this machine, wherever they connect to, and find the program of this agent where no other of its name is before it in `PATH`.
fn processes(config: &AgentConfig) -> quintet_runtime::ProcessConfig {
    let mut processes = quintet_runtime::ProcessConfig::new(Record::jobs(&config.folder));
    processes.through.clone_from(&config.processes.through);
    processes.companion.clone_from(&config.processes.companion);
    processes.environment.push(("QUINTET_IDENTITY".into(), config.folder.clone().into()));
    let own = std::env::current_exe().ok().and_then(|program| Some(program.parent()?.to_owned()));
    for (_, path) in processes.environment.iter_mut().filter(|(name, _)| name == "PATH") {
        let folders: Vec<_> = std::env::split_paths(path).chain(own.clone()).collect();
        // A folder whose name has a colon cannot be in it.
        *path = std::env::join_paths(folders).unwrap_or_else(|_| path.clone());
    }
    processes
}

/// An earlier version made the file so that others could read it.
fn for_this_user_only(path: &Path) -> std::io::Result<()> {
    let permissions = path.metadata()?.permissions();
    if permissions.mode() & 0o077 == 0 {
        return Ok(());
    }
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))
}

fn node_refused(error: std::io::Error) -> AgentError {
    AgentError::System { doing: "start this machine's node".to_owned(), error }
}

/// The node's instances. It asks the members that it knows, and hears of later ones by what those say.
fn stack(record: &Record, credentials: &Credentials, cluster: u128) -> impl Protocol + Send + 'static {
    let start = match record.founding {
        true => Start::Found {
            name: record.name.clone(),
            identity: credentials.identity(),
            address: record.address.clone(),
            grants: u8::MAX,
            ticket: record.ticket,
        },
        false => Start::Joined,
    };
    let seed = random();
    let mut config = StackConfig::of_server(cluster, Incarnation(record.life), seed).with_liveness(LIVENESS);
    let mut membership = MembershipConfig::new(cluster, record.node, start, seed);
    // A machine that is off for the night is still a member in the morning.
    membership.timing.removal = Span::ZERO;
    config.membership = Some(membership);
    config.launcher = Some(LauncherConfig::new(record.node, env!("CARGO_PKG_VERSION")));
    let others: Vec<NodeId> = record.peers.iter().map(|peer| peer.node).collect();
    let member = boxed(member(&config, &others));
    node(record.node, &config, vec![member, boxed(launcher(&config)), boxed(enrolment(record.node))])
}

fn boxed<P: Protocol + Send + 'static>(placed: Placed<P>) -> Placed<Box<dyn Protocol + Send>> {
    placed.map(|protocol| Box::new(protocol) as Box<dyn Protocol + Send>)
}

/// What a machine remembers that founds a cluster.
#[must_use]
pub(crate) fn founder(name: &str) -> Record {
    Record {
        name: name.to_owned(),
        node: NodeId(0),
        ticket: random(),
        founding: true,
        listen: LISTEN.to_owned(),
        address: String::new(),
        view: 0,
        life: 0,
        removed: false,
        peers: Vec::new(),
        spaces: Vec::new(),
    }
}

/// Writes into a cluster's folder that this machine founds it.
///
/// # Errors
/// [`AgentError::System`].
pub fn found(folder: &Path, name: &str) -> Result<(), AgentError> {
    founder(name).write(folder)
}
