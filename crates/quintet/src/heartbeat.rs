//! Keeps leases alive while the program computes: one sleeping thread a connection, started by its first remote lease.

use crate::Error;
use crate::eval::no_thread;
use crate::pending::tell;
use quintet_runtime::Calls;
use quintet_tuple_space::Request;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::Builder;
use std::time::Duration;

/// Renewals in the time a lease lives: one may be lost to a long pause and the next still comes in time.
const RENEWALS: u32 = 3;

/// The heartbeat of one connection.
pub(crate) struct Heartbeat {
    calls: Weak<Calls>,
    /// How long a lease lives unless renewed. None: it needs no renewal.
    lease: Option<Duration>,
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
    /// Notified of the end.
    end: Condvar,
}

#[derive(Default)]
struct State {
    started: bool,
    ended: bool,
}

impl Heartbeat {
    /// For leases that live for `lease` unless renewed. None: they need no heartbeat.
    pub(crate) fn new(calls: Weak<Calls>, lease: Option<Duration>) -> Self {
        Heartbeat { calls, lease, renewals: Arc::default(), pulse: Arc::default() }
    }

    /// Renews leases from now on. To be asked for before the lease is: it may be granted long before anybody looks.
    ///
    /// # Errors
    /// [`Code::Resource`](crate::Code::Resource): the system refuses a thread.
    pub(crate) fn renew(&self) -> Result<Renewal, Error> {
        if let Some(lease) = self.lease {
            self.start(lease / RENEWALS)?;
        }
        Ok(Renewal(Arc::clone(&self.renewals)))
    }

    /// Renews nothing any more.
    pub(crate) fn end(&self) {
        self.pulse.lock().ended = true;
        self.pulse.end.notify_all();
    }

    fn start(&self, period: Duration) -> Result<(), Error> {
        let mut state = self.pulse.lock();
        if !state.started && !state.ended {
            let (calls, renewals) = (Weak::clone(&self.calls), Arc::downgrade(&self.renewals));
            let pulse = Arc::clone(&self.pulse);
            let thread = Builder::new().name("quintet-lease".to_owned());
            thread.spawn(move || beat(&pulse, period, &calls, &renewals)).map_err(no_thread)?;
            state.started = true;
        }
        Ok(())
    }
}

impl Pulse {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the end, `limit` at most. Whether it has come.
    fn has_ended_within(&self, limit: Duration) -> bool {
        let waited = self.end.wait_timeout_while(self.lock(), limit, |state| !state.ended);
        waited.unwrap_or_else(PoisonError::into_inner).0.ended
    }
}

fn beat(pulse: &Pulse, period: Duration, calls: &Weak<Calls>, renewals: &Weak<()>) {
    while !pulse.has_ended_within(period) {
        // One is the heartbeat's own.
        if renewals.strong_count() > 1 {
            let Some(calls) = calls.upgrade() else { return };
            tell(&calls, None, &Request::Renew);
            calls.progress();
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
            beat(&pulse, LONG * 100, &Weak::new(), &Weak::new());
            sender.send(())
        });
        ended.recv_timeout(LONG).expect("the thread ends");
    }
}
