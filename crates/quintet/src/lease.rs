//! A tuple taken until it is acknowledged.

use crate::pending::Pending;
use crate::{Error, Lab, Tuple};
use quintet_tuple_space::{Attempt, Request};

/// A tuple that is hidden from everybody else until [`Lease::acknowledge`] removes it for good. Dropped, or when this
/// process dies or freezes, the tuple returns to its place in the space and its next taker sees a higher attempt.
#[must_use = "a lease that is dropped returns its tuple"]
pub struct Lease {
    lab: Lab,
    tuple: Tuple,
    attempt: Attempt,
    ended: bool,
}

impl Lease {
    pub(crate) fn new(lab: Lab, tuple: Tuple, attempt: Attempt) -> Self {
        lab.shared.heartbeat.begin();
        Lease { lab, tuple, attempt, ended: false }
    }

    /// The tuple.
    #[must_use]
    pub fn tuple(&self) -> &Tuple {
        &self.tuple
    }

    /// How often it has been leased, this time included: 1 is the first.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.attempt.attempt
    }

    /// Removes the tuple for good and puts `results` at the same instant: either both happen or neither.
    ///
    /// # Errors
    /// [`Code::LeaseLost`](crate::Code::LeaseLost) if it was returned meanwhile, because this process was not heard for
    /// too long: somebody else does the task, and `results` were not put. [`Code::TooLarge`](crate::Code::TooLarge) for
    /// results that can never fit. After any error the tuple has returned to the space, if the lease was still held.
    pub fn acknowledge(mut self, results: &[Tuple]) -> Result<(), Error> {
        let ack = Request::Ack { lease: self.attempt.lease, deadline: None, tuples: results };
        Pending::begin(&self.lab, &ack)?.finish()?;
        self.ended = true;
        Ok(())
    }

    /// Returns the tuple to its place now; the attempt counts.
    ///
    /// # Errors
    /// [`Code::LeaseLost`](crate::Code::LeaseLost) if it was returned before.
    pub fn release(mut self) -> Result<(), Error> {
        self.end()
    }

    fn end(&mut self) -> Result<(), Error> {
        self.ended = true;
        let release = Request::Release { lease: self.attempt.lease };
        Pending::begin(&self.lab, &release)?.finish().map(|_| ())
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if !self.ended {
            // If the space cannot be reached it returns the tuple by itself.
            let _ = self.end();
        }
        self.lab.shared.heartbeat.end();
    }
}
