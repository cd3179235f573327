//! A connection to everything.

pub(crate) mod connecting;

use crate::heartbeat::Heartbeat;
use crate::life;
use crate::packing::Packer;
use crate::pending::close;
use crate::stack::{self, StackConfig};
use crate::{
    ConnectConfig, Error, IsonetBuilder, KeptSpaces, Messaging, Packing, Recorder, Space, Tracer, Watch,
};
use quintet_runtime::{CallError, Calls, Histograms, Instance};
use quintet_tuple_space::{SpaceConfig, SpaceName, SpaceNumber, Spaces};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

/// The shortest time for which a lease may live: what renews it needs some time itself.
pub const SHORTEST_LEASE: Duration = Duration::from_millis(30);

/// A connection to everything. Cheap to clone; all clones are one connection.
///
/// It is its process's own: in one that is forked from that, every call fails with [`Code::Closed`](crate::Code::Closed), and what is dropped is left as it is.
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
    pub(crate) packer: Packer,
    /// The named space that its address names.
    meant: OnceLock<(SpaceNumber, SpaceName)>,
    /// How many managers its space has, if it has several.
    pub(crate) managers: OnceLock<u8>,
    /// The spaces that the machines of the cluster keep whose space it is.
    cluster: OnceLock<KeptSpaces>,
    /// The connections to those that were opened, which end with this one.
    opened: Mutex<Vec<Weak<Shared>>>,
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
        Lab::over(calls, None, Seen::default(), Packing::Never)
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

    pub(crate) fn over(calls: Calls, lease: Option<Duration>, seen: Seen, packing: Packing) -> Lab {
        let (calls, packer) = (Arc::new(calls), Packer::new(packing));
        let heartbeat = Heartbeat::new(Arc::downgrade(&calls), lease);
        let closed = AtomicBool::new(false);
        let (meant, managers, cluster) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        let opened = Mutex::default();
        Lab {
            shared: Arc::new(Shared {
                calls,
                lease,
                heartbeat,
                seen,
                packer,
                meant,
                managers,
                cluster,
                opened,
                closed,
            }),
        }
    }

    /// The tuple space without a name; of a connection to `quintet://CLUSTER/SPACE` the one that this names.
    #[must_use]
    pub fn space(&self) -> Space {
        match self.shared.meant.get() {
            Some((number, name)) => Space::named(self.clone(), *number, name.clone()),
            None => Space::new(self.clone()),
        }
    }

    /// From now on its space is the one of this name.
    ///
    /// # Errors
    /// As [`Lab::named_space`].
    pub(crate) fn meaning(self, name: &SpaceName) -> Result<Lab, Error> {
        let space = self.named_space(name.as_str())?;
        // Machines keep it since a moment ago: it has a connection of its own.
        if !space.lab().is_same(&self) {
            return Ok(space.lab().clone());
        }
        let (number, name) = space.numbered().expect("it has a name");
        self.shared.meant.get_or_init(|| (number, name));
        Ok(self)
    }

    /// From now on the spaces that the machines of a cluster keep are found by it as well.
    pub(crate) fn of_cluster(self, kept: KeptSpaces) -> Lab {
        self.shared.cluster.get_or_init(|| kept);
        self
    }

    /// The spaces that the machines of its cluster keep on their disks; none for what is no connection to a cluster (`quintet://NAME`).
    #[must_use]
    pub fn cluster_spaces(&self) -> Option<&KeptSpaces> {
        self.shared.cluster.get()
    }

    /// A space with a connection of its own, which ends with this one.
    pub(crate) fn with(&self, space: Space) -> Space {
        let mut opened = self.shared.opened.lock().unwrap_or_else(PoisonError::into_inner);
        opened.retain(|other| other.strong_count() > 0);
        opened.push(Arc::downgrade(&space.lab().shared));
        drop(opened);
        // Whoever closed it meanwhile looked before.
        if self.is_closed() {
            space.lab().close();
        }
        space
    }

    /// Calls of handlers in other processes that use the same space, and handlers of one's own.
    #[must_use]
    pub fn messaging(&self) -> Messaging {
        Messaging::new(self.clone())
    }

    /// Joins an isonet of this name: processes that use the same space, share variables and send each other messages, all in one order and without locks.
    pub fn isochrons(&self, name: &str) -> IsonetBuilder {
        IsonetBuilder::new(self.clone(), name)
    }

    /// A descriptor for a program with an event loop of its own.
    ///
    /// # Errors
    /// [`Code::Resource`](crate::Code::Resource): the system refuses a descriptor.
    pub fn watch(&self) -> Result<Watch, Error> {
        Watch::new(self.clone())
    }

    /// Whether it is this process's own. Every call says so, too; who takes [`Code::Closed`](crate::Code::Closed) for an end in order, as a worker may, asks here.
    ///
    /// # Errors
    /// [`Code::Closed`](crate::Code::Closed) in a process that was forked from the one that made it.
    pub fn check_process(&self) -> Result<(), Error> {
        if self.shared.calls.is_inherited() {
            return Err(Error::of_call(&CallError::Inherited, None));
        }
        Ok(())
    }

    /// Ends the connection at once, for all its clones and for everything that was made from it: what is under way ends with
    /// [`Code::Closed`](crate::Code::Closed), leased tuples return to the space, and whatever is asked later fails with [`Code::Closed`](crate::Code::Closed). What was
    /// answered before can still be collected. A lab in this process ends with its tuples. A second call does nothing.
    pub fn close(&self) {
        self.shared.closed.store(true, Ordering::Release);
        let opened = core::mem::take(&mut *self.shared.opened.lock().unwrap_or_else(PoisonError::into_inner));
        opened.iter().filter_map(Weak::upgrade).for_each(|shared| Lab { shared }.close());
        self.shared.end_heartbeat();
        close(&self.shared.calls);
        // Who closes may end without dropping it.
        self.shared.seen.histograms.iter().for_each(Histograms::flush);
    }

    /// Whether both are handles of one connection.
    #[must_use]
    pub fn is_same(&self, other: &Lab) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
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
