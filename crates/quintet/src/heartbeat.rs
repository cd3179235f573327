//! Keeps leases alive, and the link, while the program computes: one sleeping thread a connection. It is started by the first remote lease, or by the first operation that is begun
//! where the link is made again when it ends, and sleeps for good while nothing is owed: no lease is held, and no operation under way or uncollected.

use crate::Error;
use crate::eval::no_thread;
use crate::pending::tell;
use quintet_runtime::{Calls, Kept};
use quintet_tuple_space::Request;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread::Builder;
use std::time::{Duration, Instant};

/// Renewals in the time a lease lives: one may be lost to a long pause and the next still comes in time.
const RENEWALS: u32 = 3;

/// Looks at the link in the time for which a server waits for its clients. One that was lost is made again within the rest of it.
const LOOKS: u32 = 4;
const SHORTEST_LOOK: Duration = Duration::from_millis(5);

/// Looks at a link that was made again, until its use is left to the next one.
const SETTLING_LOOKS: u32 = 200;

/// The heartbeat of one connection.
pub(crate) struct Heartbeat {
    calls: Weak<Calls>,
    /// How long a lease lives unless renewed. None: it needs no renewal.
    lease: Option<Duration>,
    /// How often the link is looked at, if it is made again when it ends.
    look: OnceLock<Duration>,
    /// Shared with every renewal.
    renewals: Arc<()>,
    pulse: Arc<Pulse>,
}

/// While it or a clone of it lives, the leases of its connection are renewed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Renewal(Arc<()>);

/// What a connection shares with its thread.
#[derive(Default)]
struct Pulse {
    state: Mutex<State>,
    /// Notified of the end, and when something is owed again.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    started: bool,
    /// Nothing was owed: it sleeps until something is.
    rests: bool,
    ended: bool,
}

/// What the thread works on.
struct Beat {
    pulse: Arc<Pulse>,
    calls: Weak<Calls>,
    renewals: Weak<()>,
    /// How often leases are renewed.
    renew: Duration,
    /// How often it wakes while something is owed.
    period: Duration,
}

impl Heartbeat {
    /// For leases that live for `lease` unless renewed. None: they need no heartbeat.
    pub(crate) fn new(calls: Weak<Calls>, lease: Option<Duration>) -> Self {
        Heartbeat { calls, lease, look: OnceLock::new(), renewals: Arc::default(), pulse: Arc::default() }
    }

    /// The link is made again when it ends, to a server that waits for so long.
    pub(crate) fn keep_link(&self, window: Duration) {
        self.look.get_or_init(|| (window / LOOKS).max(SHORTEST_LOOK));
    }

    /// Renews leases from now on. To be asked for before the lease is: it may be granted long before anybody looks.
    ///
    /// # Errors
    /// [`Code::Resource`](crate::Code::Resource): the system refuses a thread.
    pub(crate) fn renew(&self) -> Result<Renewal, Error> {
        let renewal = Renewal(Arc::clone(&self.renewals));
        if let Some(lease) = self.lease {
            self.start(lease)?;
        }
        Ok(renewal)
    }

    /// An operation was begun, and no event loop sees to the link: it is looked at until that is collected. Without a thread it goes on when somebody waits.
    pub(crate) fn begun(&self) {
        if let (Some(lease), Some(_)) = (self.lease, self.look.get()) {
            let _ = self.start(lease);
        }
    }

    /// Renews nothing any more.
    pub(crate) fn end(&self) {
        self.pulse.lock().ended = true;
        self.pulse.changed.notify_all();
    }

    /// Has the thread run: something is owed.
    fn start(&self, lease: Duration) -> Result<(), Error> {
        let mut state = self.pulse.lock();
        if state.started {
            if core::mem::take(&mut state.rests) {
                self.pulse.changed.notify_all();
            }
        } else if !state.ended {
            let beat = self.beat(lease / RENEWALS);
            let thread = Builder::new().name("quintet-lease".to_owned());
            thread.spawn(move || beat.run()).map_err(no_thread)?;
            state.started = true;
        }
        Ok(())
    }

    fn beat(&self, renew: Duration) -> Beat {
        let (calls, renewals) = (Weak::clone(&self.calls), Arc::downgrade(&self.renewals));
        let period = self.look.get().map_or(renew, |look| renew.min(*look));
        Beat { pulse: Arc::clone(&self.pulse), calls, renewals, renew, period }
    }
}

impl Pulse {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the end, `limit` at most. Whether it has come.
    fn has_ended_within(&self, limit: Duration) -> bool {
        let waited = self.changed.wait_timeout_while(self.lock(), limit, |state| !state.ended);
        waited.unwrap_or_else(PoisonError::into_inner).0.ended
    }

    /// Waits for the end, or until something is owed. Whoever comes to owe something says so afterwards, and finds that this rests.
    fn rest_unless(&self, is_owed: impl Fn() -> bool) {
        let mut state = self.lock();
        state.rests = !is_owed();
        drop(self.changed.wait_while(state, |state| state.rests && !state.ended));
    }
}

impl Beat {
    fn run(&self) {
        let mut renewed = Instant::now();
        while !self.pulse.has_ended_within(self.period) {
            if !self.is_owed() {
                self.pulse.rest_unless(|| self.is_owed());
                renewed = Instant::now();
                continue;
            }
            if self.holds_leases() && renewed.elapsed() >= self.renew {
                self.calls.upgrade().into_iter().for_each(|calls| tell(&calls, None, &Request::Renew));
                renewed = Instant::now();
            }
            self.keep_linked();
        }
    }

    fn holds_leases(&self) -> bool {
        // One is the heartbeat's own.
        self.renewals.strong_count() > 1
    }

    fn is_owed(&self) -> bool {
        self.holds_leases() || self.calls.upgrade().is_some_and(|calls| calls.is_owed())
    }

    /// Takes in what has come, and makes the link again if it has ended, for as long as that takes and matters.
    fn keep_linked(&self) {
        let mut settling = 0;
        while let Some(calls) = self.calls.upgrade().filter(|_| self.is_owed()) {
            let kept = calls.keep_linked();
            // Not kept while this sleeps: the connection ends with its last user.
            drop(calls);
            let pause = match kept {
                Kept::Missing(pause) => {
                    settling = SETTLING_LOOKS;
                    pause
                }
                Kept::Settling(pause) if settling > 0 => {
                    settling -= 1;
                    pause
                }
                Kept::Still | Kept::Settling(_) => return,
            };
            if self.pulse.has_ended_within(pause) {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Lab, ServeConfig, Server, template, tuple};
    use quintet_testbed::TempDir;
    use std::sync::mpsc;

    const LONG: Duration = Duration::from_secs(30);

    fn is_renewing(lab: &Lab) -> bool {
        let heartbeat = &lab.shared.heartbeat;
        heartbeat.pulse.lock().started && Arc::strong_count(&heartbeat.renewals) > 1
    }

    #[test]
    fn renewing_begins_with_the_request_and_ends_with_the_lease() {
        let folder = TempDir::new().expect("a temporary directory");
        let socket = folder.join("space");
        let _server = Server::start(&socket, &ServeConfig::default()).expect("the space starts");
        let lab = Lab::connect(&socket, 0, LONG).expect("the space is there");
        let space = lab.space();
        let pending = space.begin().lease(&template!["task"]).expect("it is sent");
        assert!(is_renewing(&lab), "the request");
        space.out(tuple!["task"]).expect("there is room");
        let outcome = pending.finish().expect("there is a task");
        assert!(is_renewing(&lab), "what the space granted");
        let lease = space.leased(outcome).expect("it is a lease");
        assert!(is_renewing(&lab), "the lease");
        lease.acknowledge(&[]).expect("it is held");
        assert!(!is_renewing(&lab));
    }

    #[test]
    fn an_end_before_the_wait_is_not_missed() {
        let pulse = Pulse::default();
        pulse.lock().ended = true;
        let (sender, ended) = mpsc::channel();
        std::thread::spawn(move || {
            Beat {
                pulse: Arc::new(pulse),
                calls: Weak::new(),
                renewals: Weak::new(),
                renew: LONG * 100,
                period: LONG * 100,
            }
            .run();
            sender.send(())
        });
        ended.recv_timeout(LONG).expect("the thread ends");
    }
}
