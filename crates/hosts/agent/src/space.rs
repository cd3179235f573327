//! Spaces that an agent serves: the cluster's, and those that this machine keeps.
//!
//! The cluster's space: the agent of the member with the lowest number serves it, for processes of this user on this machine and for members.
//!
//! Each is served by threads of its own, so that neither waits for the other. How a space is served is not known here: whoever starts the
//! agent says it ([`StartSpace`]).

use crate::admission::Admission;
use crate::notice::{Notice, Refused};
use crate::{AgentError, Told};
use core::error::Error;
use quintet_contract::Identity;
use quintet_errors::Code;
use quintet_identity::{space_port, space_socket};
use quintet_link::{Credentials, LinkAddress};
use quintet_runtime::{Event, EventSink};
use quintet_tuple_space::{CodeGrants, NotGranted, SpaceRights, Withheld};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SendError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Serves a space as it is told: an empty one, or one that is kept, until what it returns is dropped.
pub type StartSpace =
    Arc<dyn Fn(SpacePlan) -> Result<Box<dyn ServedSpace>, Box<dyn Error + Send + Sync>> + Send + Sync>;

/// What a space is served with.
pub struct SpacePlan {
    /// Where.
    pub places: Vec<LinkAddress>,
    /// The number of the cluster: processes that say another are refused.
    pub cluster: u128,
    /// What its host sees goes there.
    pub events: EventSink,
    /// Who may put what others run.
    pub code: CodeGrants,
    /// Is told who was refused that.
    pub refused: Arc<dyn Fn(&NotGranted) + Send + Sync>,
    /// How it is kept on the disk, if it is.
    pub kept: Option<KeptPlan>,
}

/// How a space is kept by this machine, by itself or with others.
#[derive(Clone)]
pub struct KeptPlan {
    /// Its name in the cluster.
    pub name: String,
    /// The folder of its log.
    pub folder: PathBuf,
    /// Which of the replicas this machine is, from 1.
    pub replica: u8,
    /// Where all replicas serve, in their order; of a space that this machine keeps alone, this one.
    pub replicas: Vec<LinkAddress>,
    /// By what each of them proves who it is.
    pub identities: Vec<Identity>,
    /// Bytes that it holds at most.
    pub max_bytes: u64,
    /// Tuples that it holds at most.
    pub max_tuples: u64,
    /// Who may use it, until [`ServedSpace::allow`] says otherwise; none: all members, for ever.
    pub allow: Option<SpaceRights>,
    /// Is told which of several replicas leads whenever that changes, if one is known to: it must not wait.
    pub leads: Arc<dyn Fn(Option<u8>) + Send + Sync>,
    /// Is told when this replica of several has the log on its disk: it must not wait.
    pub votes: Arc<dyn Fn() + Send + Sync>,
    /// Is told how far the log is read, and what it has, on one line: it must not wait.
    pub log_told: Arc<dyn Fn(String) + Send + Sync>,
}

/// A space that is served. Dropped, it ends.
pub trait ServedSpace: Send {
    /// Ends the connections of those who have proved to be somebody of whom this is not true.
    fn keep_connections_of(&self, is_member: Box<dyn Fn(&Identity) -> bool + Send>);

    /// Has these, and nobody else, put what others run.
    fn grant_code(&self, grants: &CodeGrants);

    /// Has these, and nobody else, use a space that is for some only.
    fn allow(&self, rights: &SpaceRights);

    /// Why it has ended by itself, if it has: its disk failed, or it is no replica of the others.
    fn failure(&self) -> Option<String>;
}

/// Between two tries to serve where that was refused: somebody else may listen there for a while. And between two looks at whether a space that is
/// kept has ended by itself.
const PAUSE: Duration = Duration::from_secs(1);
/// How long the keeper waits for a change to be done, at most. What takes longer is done after that.
const CHANGE_LIMIT: Duration = Duration::from_secs(2);

/// Where a space is served on this machine, and how.
pub(crate) struct SpacePlaces {
    pub(crate) places: Result<Vec<LinkAddress>, String>,
    pub(crate) cluster: u128,
    pub(crate) admission: Admission,
    pub(crate) kept: Option<KeptPlan>,
}

impl SpacePlaces {
    /// Beside an agent that listens there: members only are let in.
    ///
    /// # Errors
    /// The library refuses its own configuration.
    pub(crate) fn beside(
        agent: &LinkAddress,
        folder: &Path,
        credentials: &Credentials,
        admission: &Admission,
    ) -> Result<SpacePlaces, AgentError> {
        let rule = admission.clone();
        let members = credentials
            .admitting(Arc::new(move |proof| rule.is_member(proof)))
            .map_err(|error| AgentError::Credentials(folder.to_owned(), error))?;
        let remote = match agent {
            LinkAddress::Tls { host, port, .. } => space_port(*port)
                .map(|port| LinkAddress::Tls { host: host.clone(), port, credentials: Some(members) })
                .ok_or_else(|| {
                    "no port is after that of this machine's agent: give it a lower one, quintet up --listen HOST:PORT"
                        .to_owned()
                }),
            other => Err(format!("{other} is no place of an agent")),
        };
        let places = remote.map(|remote| vec![LinkAddress::SharedMemory(space_socket(folder)), remote]);
        let (cluster, admission) = (credentials.cluster_number(), admission.clone());
        Ok(SpacePlaces { places, cluster, admission, kept: None })
    }
}

/// A space as far as this machine has to do with it. Dropped, it is not served here any more.
pub(crate) struct ClusterSpace {
    orders: Option<Sender<Order>>,
    thread: Option<JoinHandle<()>>,
}

/// Whether it is to be served from now on, and for whom where it is for some only; and who waits for that to be done, and tells of it.
struct Order {
    serve: bool,
    allow: Option<SpaceRights>,
    done: Sender<Option<Notice>>,
}

impl ClusterSpace {
    /// Not served so far.
    ///
    /// # Errors
    /// The system refuses a thread.
    pub(crate) fn new(start: StartSpace, places: SpacePlaces, told: Told) -> std::io::Result<ClusterSpace> {
        let (orders, taken) = channel();
        let mut served = Served { start, places, told, server: None, trouble: None };
        let thread = std::thread::Builder::new().name("quintet-cluster-space".to_owned());
        let thread = thread.spawn(move || served.run(&taken))?;
        Ok(ClusterSpace { orders: Some(orders), thread: Some(thread) })
    }

    /// It is served here from now on, to those who are members now, or to these of them; nobody waits for that.
    pub(crate) fn begin(&self, allow: Option<SpaceRights>) {
        let (done, _) = channel();
        if let Some(orders) = &self.orders {
            // It fails only when the thread has ended, and that ends with this.
            let _ = orders.send(Order { serve: true, allow, done });
        }
    }

    /// It is served here from now on, or is not: to those who are members now. What there is to tell of that.
    pub(crate) fn follow(&self, serve: bool) -> Option<Notice> {
        let (done, is_done) = channel();
        // It fails only when the thread has ended, and that ends with this.
        self.orders.as_ref()?.send(Order { serve, allow: None, done }).ok()?;
        is_done.recv_timeout(CHANGE_LIMIT).ok().flatten()
    }
}

impl Drop for ClusterSpace {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            // What it panicked of was told when it did.
            let _ = thread.join();
        }
    }
}

/// The thread's own part.
struct Served {
    start: StartSpace,
    places: SpacePlaces,
    told: Told,
    server: Option<Box<dyn ServedSpace>>,
    /// Why it could not be served at the last try, so that it is told once.
    trouble: Option<String>,
}

impl Served {
    fn run(&mut self, orders: &Receiver<Order>) {
        let mut wanted = false;
        loop {
            let is_looked_at = wanted && (self.server.is_none() || self.places.kept.is_some());
            let order = match is_looked_at {
                true => orders.recv_timeout(PAUSE),
                false => orders.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match order {
                Ok(Order { serve, allow, done }) => {
                    wanted = serve;
                    self.places.kept.iter_mut().for_each(|kept| kept.allow.clone_from(&allow));
                    // Who ordered may have waited long enough.
                    if let Err(SendError(Some(notice))) = done.send(self.change(serve)) {
                        (self.told)(&notice);
                    }
                }
                Err(RecvTimeoutError::Timeout) => self.look().iter().for_each(|notice| (self.told)(notice)),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Starts it if it is not there, or is no more. What there is to tell of that.
    fn look(&mut self) -> Option<Notice> {
        let Some(server) = &self.server else { return self.start() };
        let text = server.failure()?;
        // What it has acknowledged is on the disk; what comes next reads what is there.
        self.server = None;
        self.tell_trouble(text)
    }

    fn change(&mut self, serve: bool) -> Option<Notice> {
        match &self.server {
            Some(server) if serve => {
                let admission = self.places.admission.clone();
                // First of all, as a connection that ends is heard until it has.
                server.grant_code(&admission.code());
                let kept = self.places.kept.as_ref();
                kept.and_then(|kept| kept.allow.as_ref()).iter().for_each(|rights| server.allow(rights));
                server.keep_connections_of(Box::new(move |identity| admission.has(identity)));
                None
            }
            Some(_) => {
                self.server = None;
                self.places.kept.is_none().then_some(Notice::SpaceEnded)
            }
            None if serve => self.start(),
            None => None,
        }
    }

    /// Tells whom the space has refused what others would run.
    fn refused(&self) -> Arc<dyn Fn(&NotGranted) + Send + Sync> {
        let (told, admission) = (Arc::clone(&self.told), self.places.admission.clone());
        Arc::new(move |refused: &NotGranted| {
            let NotGranted { what, identity, text } = refused.clone();
            let name = identity.and_then(|identity| admission.name(&identity));
            let from = identity.and_then(|identity| admission.seen_from(&identity));
            let code = Code::NotAllowed;
            let refused = |what| Refused { what, from, identity, name, code, text };
            told(&match what {
                Withheld::Code => Notice::NotPut(refused("code")),
                Withheld::Space => Notice::NotUsed(refused("space")),
            });
        })
    }

    fn start(&mut self) -> Option<Notice> {
        let started = self.places.places.clone().and_then(|places| {
            let told = Arc::clone(&self.told);
            let name = self.places.kept.as_ref().map(|kept| kept.name.clone());
            let events: EventSink = Arc::new(move |event: &Event| {
                told(&match &name {
                    Some(name) => Notice::KeptSpace(name.clone(), event.clone()),
                    None => Notice::Space(event.clone()),
                });
            });
            let (cluster, kept) = (self.places.cluster, self.places.kept.clone());
            let (code, refused) = (self.places.admission.code(), self.refused());
            let plan = SpacePlan { places: places.clone(), cluster, events, code, refused, kept };
            let server = (self.start)(plan);
            server.map_err(|error| error.to_string()).map(|server| (server, places))
        });
        match started {
            Ok((server, places)) => {
                (self.server, self.trouble) = (Some(server), None);
                let places: Vec<String> = places.iter().map(LinkAddress::to_string).collect();
                let places = places.join(" and ");
                Some(match &self.places.kept {
                    Some(kept) => Notice::KeepsSpace { name: kept.name.clone(), places },
                    None => Notice::ServesSpace { places },
                })
            }
            Err(text) => self.tell_trouble(text),
        }
    }

    /// Why it is not served: told once.
    fn tell_trouble(&mut self, text: String) -> Option<Notice> {
        if self.trouble.as_ref() == Some(&text) {
            return None;
        }
        self.trouble = Some(text.clone());
        Some(match &self.places.kept {
            Some(kept) => Notice::SpaceNotKept { name: kept.name.clone(), text },
            None => Notice::SpaceNotServed { text },
        })
    }
}
