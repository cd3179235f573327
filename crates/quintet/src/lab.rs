//! A connection to everything.

use crate::heartbeat::Heartbeat;
use crate::histograms;
use crate::life;
use crate::pending::close;
use crate::stack::{self, StackConfig};
use crate::trace;
use crate::{ConnectConfig, Error, LinkConfig, Messaging, Recorder, Space, SpaceAddress, Tracer, Watch};
use quintet_contract::NodeId;
use quintet_errors::Code;
use quintet_link::LinkAddress;
use quintet_runtime::{Calls, Histograms, Instance, Redial};
use quintet_tuple_space::{SpaceConfig, Spaces};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often another node number is tried when one is in use.
const NODE_NUMBERS_TRIED: u32 = 5;

/// How long a connection may take to be made.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// For how long a cut link to a cluster's space is made again, at most: whoever waits learns within a second that its agent has ended.
const CLUSTER_RESUME_LIMIT: Duration = Duration::from_millis(900);

/// The shortest time for which a lease may live: what renews it needs some time itself.
pub const SHORTEST_LEASE: Duration = Duration::from_millis(30);

/// A connection to everything. Cheap to clone; all clones are one connection.
///
/// It is its process's own: in one that is forked from that, every call fails with [`Code::Closed`], and what is dropped is left as it is.
///
/// [`Lab::close`] ends it. Dropped, it ends with the last of what was made from it and needs it: labs, spaces, watches,
/// operations under way, leases, evaluations that run. So a forgotten [`Pending`](crate::Pending) may still take a tuple, and
/// a [`Lease`](crate::Lease) is held on, after the lab was dropped: a program that is done closes.
#[derive(Clone)]
pub struct Lab {
    pub(crate) shared: Arc<Shared>,
}

/// What all handles of one connection share.
pub(crate) struct Shared {
    pub(crate) calls: Arc<Calls>,
    /// How long a lease lives unless renewed; none: as long as this process.
    pub(crate) lease: Option<Duration>,
    pub(crate) heartbeat: Heartbeat,
    pub(crate) seen: Seen,
    closed: AtomicBool,
}

/// What is told of this connection beside its work.
#[derive(Default)]
pub(crate) struct Seen {
    /// This process's part of its job's trace.
    pub(crate) tracer: Option<Tracer>,
    /// How long operations take.
    pub(crate) histograms: Option<Histograms>,
}

impl Drop for Shared {
    /// The connection ends on this thread, not on one of its own.
    fn drop(&mut self) {
        self.calls.end_write_behind();
        self.end_heartbeat();
    }
}

impl Shared {
    /// A forked process has no heartbeat, and perhaps a lock that nobody will open.
    fn end_heartbeat(&self) {
        if !self.calls.is_inherited() {
            self.heartbeat.end();
        }
    }
}

impl Lab {
    /// A lab in this process: nothing to start, nothing to configure. Its tuples end with it.
    #[must_use]
    pub fn embedded() -> Lab {
        Lab::embedded_with(SpaceConfig::default(), None)
    }

    /// A lab in this process with limits of its own, recorded if a recorder is given.
    #[must_use]
    pub fn embedded_with(space: SpaceConfig, recorder: Option<&Recorder>) -> Lab {
        let space = life::keyed(space);
        let config = StackConfig::of_server(0, life::incarnation(), space.seed).with_space(space);
        let instance = Instance::new(Spaces::new(space, config.spaces));
        let instance = match recorder {
            Some(recorder) => instance.recorded(recorder, stack::SPACE, stack::EMBEDDED, &config.to_bytes()),
            None => instance,
        };
        let broker = Instance::new(quintet_broker::Broker::new(config.broker));
        let broker = match recorder {
            Some(recorder) => {
                broker.recorded(recorder, stack::BROKER, stack::EMBEDDED_BROKER, &config.to_bytes())
            }
            None => broker,
        };
        let calls = Calls::embedded(stack::SPACE, instance).beside(stack::BROKER.port, broker);
        Lab::over(calls, None, Seen::default())
    }

    /// Connects to the space at `address`, as a member of `cluster`: a path, for shared memory, a [`LinkAddress`] of any kind, or a
    /// [`SpaceAddress`] that names a cluster of this machine: then its number counts, whatever `cluster` says, and this machine's identity in it
    /// is shown. `lease`: how long a leased tuple stays hidden after this process was last heard; it is renewed every third of that while the process lives. At least
    /// [`SHORTEST_LEASE`].
    ///
    /// # Errors
    /// [`Code::BadValue`] for a shorter lease. Nobody listens there, or whoever listens does not answer within
    /// [`LinkConfig::silence_limit`] ([`Code::PeerSilent`]), or it is another user's ([`Code::NotAllowed`]), cluster's or version's; or the system refused.
    /// [`Code::BadValue`], [`Code::BadFile`]: this machine belongs to no such cluster, or its files cannot be used.
    pub fn connect(address: impl Into<SpaceAddress>, cluster: u128, lease: Duration) -> Result<Lab, Error> {
        Lab::connect_with(address, cluster, lease, LinkConfig::default())
    }

    /// As [`connect`](Lab::connect), over a link that is used as `link` says.
    ///
    /// # Errors
    /// As [`connect`](Lab::connect).
    pub fn connect_with(
        address: impl Into<SpaceAddress>,
        cluster: u128,
        lease: Duration,
        link: LinkConfig,
    ) -> Result<Lab, Error> {
        if lease < SHORTEST_LEASE {
            let text = format!("a lease of {lease:?} is too short: it lives for {SHORTEST_LEASE:?} or more");
            return Err(Error::new(Code::BadValue, text));
        }
        let address = address.into();
        let located = address.locate(&|name| std::env::var_os(name))?;
        let (cluster, link) = match located.cluster {
            Some(cluster) => {
                let resume_window = link.resume_window.min(CLUSTER_RESUME_LIMIT);
                (cluster, LinkConfig { resume_window, ..link })
            }
            None => (cluster, link),
        };
        let mut tried = 1;
        loop {
            match Lab::connect_once(&located.address, cluster, lease, link) {
                // The number is in use, or kept for whose session was cut.
                Err(error)
                    if matches!(error.code(), Code::PeerDied | Code::DuplicateNode)
                        && tried < NODE_NUMBERS_TRIED =>
                {
                    tried += 1;
                }
                other => return other.map_err(|error| located.explained(error)),
            }
        }
    }

    /// Takes a node number by chance. If it is in use the link is closed, which the first call shows.
    fn connect_once(
        address: &LinkAddress,
        cluster: u128,
        lease: Duration,
        link: LinkConfig,
    ) -> Result<Lab, Error> {
        let mut end = quintet_link::connect(address, CONNECT_LIMIT)?;
        end.receiver.set_spin(link.spin);
        let seed = life::random();
        let node = NodeId(1 + (seed % u64::from(u16::MAX)) as u16);
        let config = StackConfig::of_client(cluster, life::incarnation(), seed)
            .with_window(link.window)
            .with_liveness(link.liveness_of_client());
        let (tracer, histograms) = (trace::of_this_process(), histograms::of_a_connection());
        let mut instance = Instance::new(stack::client(node, &config));
        if let Some(tracer) = &tracer {
            instance = instance.traced(tracer, stack::sessions_of(node), trace::NAMES);
        }
        if let Some(histograms) = &histograms {
            instance = instance.timed(histograms, trace::NAMES);
        }
        let may_be_cut = end.sender.info().may_be_cut && !link.resume_window.is_zero();
        let redial =
            may_be_cut.then(|| Redial { address: address.clone(), window: link.resume_window, seed });
        let writes_together = !end.sender.is_free_to_flush();
        let calls = Calls::linked(stack::sessions_of(node), instance, stack::SERVER, end)
            .map_err(|error| Error::new(Code::Resource, format!("cannot watch the link: {error}")))?;
        let lab = Lab::over(calls, Some(lease), Seen { tracer, histograms });
        lab.space().status()?;
        if writes_together {
            lab.shared.calls.write_behind();
        }
        // Not before: who is refused because its number is in use tries another one.
        redial.into_iter().for_each(|redial| lab.shared.calls.redial(redial));
        Ok(lab)
    }

    /// Connects to where the environment and `quintet.toml` say that the space is: under `quintet run` the job's. A lab in this process
    /// if they name none.
    ///
    /// ```
    /// use quintet::{Lab, tuple};
    ///
    /// let lab = Lab::from_environment()?; // alone: in this process; under `quintet run`: the job's space
    /// lab.space().out(tuple!["row", 3i64])?;
    /// # Ok::<(), quintet::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`ConnectConfig::from_environment`] and [`ConnectConfig::connect`].
    pub fn from_environment() -> Result<Lab, Error> {
        ConnectConfig::from_environment()?.connect()
    }

    pub(crate) fn over(calls: Calls, lease: Option<Duration>, seen: Seen) -> Lab {
        let calls = Arc::new(calls);
        let heartbeat = Heartbeat::new(Arc::downgrade(&calls), lease);
        Lab { shared: Arc::new(Shared { calls, lease, heartbeat, seen, closed: AtomicBool::new(false) }) }
    }

    /// The tuple space without a name.
    #[must_use]
    pub fn space(&self) -> Space {
        Space::new(self.clone())
    }

    /// Calls of handlers in other processes that use the same space, and handlers of one's own.
    #[must_use]
    pub fn messaging(&self) -> Messaging {
        Messaging::new(self.clone())
    }

    /// A descriptor for a program with an event loop of its own.
    ///
    /// # Errors
    /// [`Code::Resource`]: the system refuses a descriptor.
    pub fn watch(&self) -> Result<Watch, Error> {
        Watch::new(self.clone())
    }

    /// Ends the connection at once, for all its clones and for everything that was made from it: what is under way ends with
    /// [`Code::Closed`], leased tuples return to the space, and whatever is asked later fails with [`Code::Closed`]. What was
    /// answered before can still be collected. A lab in this process ends with its tuples. A second call does nothing.
    pub fn close(&self) {
        self.shared.closed.store(true, Ordering::Release);
        self.shared.end_heartbeat();
        close(&self.shared.calls);
        // Who closes may end without dropping it.
        self.shared.seen.histograms.iter().for_each(Histograms::flush);
    }

    /// Whether it was closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.shared.closed.load(Ordering::Acquire)
    }

    /// Whether the lab lives in this process.
    #[must_use]
    pub fn is_embedded(&self) -> bool {
        self.shared.lease.is_none()
    }
}
