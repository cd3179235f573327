//! A tuple taken until it is acknowledged.

use crate::group;
use crate::heartbeat::Renewal;
use crate::pending::Pending;
use crate::trace::begin_task;
use crate::{Error, Lab, Tuple};
use quintet_contract::Span;
use quintet_runtime::Slice;
use quintet_tuple_space::{Attempt, Request, SpaceNumber};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A lease as the space granted it, for [`Space::leased`](crate::Space::leased). It is renewed while this lives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Granted {
    pub(crate) attempt: Attempt,
    pub(crate) renewal: Renewal,
}

/// A tuple that is hidden from everybody else until [`Lease::acknowledge`] removes it for good. Dropped, or when this
/// process dies or freezes, the tuple returns to its place in the space and its next taker sees a higher attempt.
#[must_use = "a lease that is dropped returns its tuple"]
pub struct Lease {
    lab: Lab,
    space: SpaceNumber,
    tuple: Tuple,
    granted: Granted,
    ended: AtomicBool,
    /// Shows how long it was held, where the job is traced.
    _slice: Option<Slice>,
}

impl Lease {
    pub(crate) fn new(lab: Lab, space: SpaceNumber, tuple: Tuple, granted: Granted) -> Self {
        let tracer = lab.shared.seen.tracer.as_ref();
        let slice = tracer.map(|tracer| begin_task(tracer, &tuple, granted.attempt.attempt));
        Lease { lab, space, tuple, granted, ended: AtomicBool::new(false), _slice: slice }
    }

    /// The tuple.
    #[must_use]
    pub fn tuple(&self) -> &Tuple {
        &self.tuple
    }

    /// How often it has been leased, this time included: 1 is the first.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.granted.attempt.attempt
    }

    /// Removes the tuple for good and puts `results` at the same instant: either both happen or neither.
    ///
    /// # Errors
    /// [`Code::LeaseLost`](crate::Code::LeaseLost) if it was returned meanwhile, because this process was not heard for
    /// too long: somebody else does the task, and `results` were not put. [`Code::TooLarge`](crate::Code::TooLarge) for
    /// results that can never fit. After any error the tuple has returned to the space, if the lease was still held.
    pub fn acknowledge(self, results: &[Tuple]) -> Result<(), Error> {
        self.begin_acknowledge(results)?.finish()
    }

    /// Begins [`Lease::acknowledge`], which waits while the space has no room for the results.
    ///
    /// # Errors
    /// It could not be sent; then the tuple has returned to the space.
    pub fn begin_acknowledge(self, results: &[Tuple]) -> Result<Acknowledgement, Error> {
        self.begin_with(results, &[])
    }

    /// As [`Lease::acknowledge`]; `expires_in` after they were put the results leave by themselves, unless somebody has taken them by then: see
    /// [`Space::out_for`](crate::Space::out_for).
    ///
    /// ```
    /// use quintet::{Lab, template, tuple};
    /// use std::time::Duration;
    ///
    /// let space = Lab::embedded().space();
    /// space.out(tuple!["ask for the price", 7i64])?;
    /// let asked = space.lease(&template!["ask for the price", ?i64], None)?;
    /// asked.acknowledge_for(&[tuple!["price", 7i64, 1.25]], Duration::from_secs(60))?;
    /// assert!(space.read_if(&template!["price", 7i64, ?f64])?.is_some());
    /// # Ok::<(), quintet::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Lease::acknowledge`].
    pub fn acknowledge_for(self, results: &[Tuple], expires_in: Duration) -> Result<(), Error> {
        self.begin_acknowledge_for(results, expires_in)?.finish()
    }

    /// Begins [`Lease::acknowledge_for`], as [`Lease::begin_acknowledge`].
    ///
    /// # Errors
    /// As [`Lease::begin_acknowledge`].
    pub fn begin_acknowledge_for(
        self,
        results: &[Tuple],
        expires_in: Duration,
    ) -> Result<Acknowledgement, Error> {
        self.begin_with(results, &vec![Some(expires_in.into()); results.len()])
    }

    fn begin_with(self, results: &[Tuple], expiries: &[Option<Span>]) -> Result<Acknowledgement, Error> {
        let lease = self.granted.attempt.lease;
        let ack = Request::Ack { lease, deadline: None, tuples: results, expiries };
        Ok(Acknowledgement { pending: Pending::begin(&self.lab, self.space, &ack)?, held: Held::Lease(self) })
    }

    /// Returns the tuple to its place now; the attempt counts.
    ///
    /// # Errors
    /// [`Code::LeaseLost`](crate::Code::LeaseLost) if it was returned before.
    pub fn release(mut self) -> Result<(), Error> {
        self.end()
    }

    fn end(&mut self) -> Result<(), Error> {
        *self.ended.get_mut() = true;
        let release = Request::Release { lease: self.granted.attempt.lease };
        Pending::begin(&self.lab, self.space, &release)?.finish().map(|_| ())
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if !*self.ended.get_mut() {
            // If the space cannot be reached it returns the tuple by itself.
            let _ = self.end();
        }
    }
}

/// An acknowledgement under way, or the end of a [`Group`](crate::Group). Dropped before it is done, it is called off, and what was taken
/// returns to the space; unless it was just done, either way all or none of its effects have happened.
#[must_use = "an acknowledgement that is dropped is called off"]
pub struct Acknowledgement {
    // Dropped before the tuples: what is still under way is called off before they are given back.
    pending: Pending,
    held: Held,
}

/// What is given back unless the acknowledgement is done.
enum Held {
    Lease(Lease),
    Group(group::Held),
}

impl Held {
    fn end(&self) {
        match self {
            Held::Lease(lease) => lease.ended.store(true, Ordering::Release),
            Held::Group(group) => group.has_happened(),
        }
    }
}

impl Acknowledgement {
    pub(crate) fn of_group(pending: Pending, held: group::Held) -> Acknowledgement {
        Acknowledgement { pending, held: Held::Group(held) }
    }

    /// The outcome, if it comes within `limit`. It is given once; after that, `None`.
    pub fn wait(&mut self, limit: Duration) -> Option<Result<(), Error>> {
        let outcome = self.pending.wait(limit)?;
        if outcome.is_ok() {
            self.held.end();
        }
        Some(outcome.map(|_| ()))
    }

    /// The outcome, however long it takes.
    ///
    /// # Errors
    /// As [`Lease::acknowledge`], or as [`Group::commit`](crate::Group::commit).
    pub fn finish(mut self) -> Result<(), Error> {
        loop {
            if let Some(outcome) = self.wait(Duration::MAX) {
                return outcome;
            }
        }
    }

    /// Makes an outcome final that a [`Pending::peek`] at [`Acknowledgement::pending`] has shown. Before there is one it does nothing.
    pub fn keep(&self) {
        if let Some(outcome) = self.pending.peek(Duration::ZERO) {
            if outcome.is_ok() {
                self.held.end();
            }
            self.pending.keep();
        }
    }

    /// What is under way, to ask whether it is done or to be told when it is.
    pub fn pending(&self) -> &Pending {
        &self.pending
    }
}
