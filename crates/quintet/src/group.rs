//! Several takes, reads and puts that happen at one instant, or not at all.

use crate::heartbeat::Renewal;
use crate::lease::Acknowledgement;
use crate::pending::{Outcome, Pending};
use crate::space::unexpected;
use crate::{Error, Lab, Template, Tuple};
use quintet_contract::Span;
use quintet_errors::Code;
use quintet_tuple_space::{LeaseId, MAX_GROUP_USES, Request, SpaceNumber, Wait, Witness};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a group lasts at most where nothing else was said.
const USUAL_LIMIT: Duration = Duration::from_secs(60);
/// The space returns what a group has so long after its time is over, if nobody has aborted it.
const GRACE: Duration = Duration::from_millis(10);

/// Takes, reads and puts of which all happen at one instant, at [`Group::commit`], or none. Made by
/// [`Space::group`](crate::Space::group).
///
/// Until then others see none of it: what the group has taken is hidden from them, what it has read stays where it is, and what it puts is
/// kept here. Dropped, aborted, out of its time or with its process dead, it has not happened: what it took is in its old place, and no
/// attempt is counted. The group itself sees the space as others do: neither what it has taken nor what it is going to put.
///
/// What was read has to be in the space still when the group ends, or be among what it took; if somebody else took it,
/// the end fails with [`Code::Conflict`] and the group is to be done again. What was taken cannot meet that.
///
/// ```
/// use quintet::{Lab, template, tuple};
///
/// let space = Lab::embedded().space();
/// space.out_many(&[tuple!["account", "a", 5i64], tuple!["account", "b", 0i64]], None)?;
/// let group = space.group();
/// let from: i64 = group.take(&template!["account", "a", ?i64])?[2].clone().try_into()?;
/// let to: i64 = group.take(&template!["account", "b", ?i64])?[2].clone().try_into()?;
/// group.out(tuple!["account", "a", from - 1])?;
/// group.out(tuple!["account", "b", to + 1])?;
/// group.commit()?;
/// assert_eq!(space.read(&template!["account", "b", ?i64])?, tuple!["account", "b", 1i64]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// **Groups that wait for each other.** Of two that take the same tuples in different orders each may have what the other waits for. Both
/// end when their time is over, which is a minute unless [`Group::within`] says otherwise; the error says that what matches is under a lease.
/// Groups that take in one order never come to that.
#[must_use = "a group that is dropped does not happen"]
pub struct Group {
    held: Held,
    /// When its time is over; none: never.
    end: Option<Instant>,
}

/// What a group has used, and is going to put. Dropped, what was taken returns.
pub(crate) struct Held {
    lab: Lab,
    space: SpaceNumber,
    uses: Mutex<Uses>,
}

#[derive(Default)]
struct Uses {
    /// Going up.
    leases: Vec<LeaseId>,
    witnesses: Vec<Witness>,
    puts: Vec<Tuple>,
    /// In how long after the end each of them expires.
    expiries: Vec<Option<Span>>,
    /// While it lives the leases are renewed.
    renewal: Option<Renewal>,
    /// It was told to end.
    is_over: bool,
}

impl Group {
    pub(crate) fn new(lab: Lab, space: SpaceNumber) -> Group {
        let held = Held { lab, space, uses: Mutex::default() };
        Group { held, end: Instant::now().checked_add(USUAL_LIMIT) }
    }

    /// It lasts so long from now, a minute without this; none: without end. Shortly after that what it took has returned, whatever this
    /// program does.
    pub fn within(self, limit: impl Into<Option<Duration>>) -> Group {
        let end = limit.into().and_then(|limit| Instant::now().checked_add(limit));
        Group { end, ..self }
    }

    /// Takes the oldest matching tuple, waiting for one while the group lasts.
    ///
    /// # Errors
    /// [`Code::TimedOut`], whose text says what nearly matched; [`Code::TooLarge`] for more tuples than a group may take;
    /// [`Code::LeaseLost`] if it was told to end; [`Code::Resource`] if there is no thread to renew what it has;
    /// [`Code::PeerDied`] and its kin if the space is gone.
    pub fn take(&self, template: &Template) -> Result<Tuple, Error> {
        self.one(self.begin_take(template, None)?)
    }

    /// As [`Group::take`], waiting at most `limit`.
    ///
    /// # Errors
    /// As [`Group::take`].
    pub fn take_within(&self, template: &Template, limit: Duration) -> Result<Tuple, Error> {
        self.one(self.begin_take(template, Some(limit))?)
    }

    /// Takes the oldest matching tuple if there is one.
    ///
    /// # Errors
    /// As [`Group::take`].
    pub fn take_if(&self, template: &Template) -> Result<Option<Tuple>, Error> {
        self.accept(self.begin_take_if(template)?.finish()?)
    }

    /// Reads the oldest matching tuple, waiting for one while the group lasts. It stays where it is, and has to be there at the end.
    ///
    /// # Errors
    /// As [`Group::take`].
    pub fn read(&self, template: &Template) -> Result<Tuple, Error> {
        self.one(self.begin_read(template, None)?)
    }

    /// As [`Group::read`], waiting at most `limit`.
    ///
    /// # Errors
    /// As [`Group::take`].
    pub fn read_within(&self, template: &Template, limit: Duration) -> Result<Tuple, Error> {
        self.one(self.begin_read(template, Some(limit))?)
    }

    /// Reads the oldest matching tuple if there is one. That there is none is no promise for the end.
    ///
    /// # Errors
    /// As [`Group::take`].
    pub fn read_if(&self, template: &Template) -> Result<Option<Tuple>, Error> {
        self.accept(self.begin_read_if(template)?.finish()?)
    }

    /// Puts a tuple when the group ends.
    ///
    /// # Errors
    /// [`Code::LeaseLost`] if it was told to end before.
    pub fn out(&self, tuple: Tuple) -> Result<(), Error> {
        self.put(tuple, None)
    }

    /// As [`Group::out`]; `expires_in` after the end of the group it leaves by itself: see [`Space::out_for`](crate::Space::out_for).
    ///
    /// # Errors
    /// As [`Group::out`].
    pub fn out_for(&self, tuple: Tuple, expires_in: Duration) -> Result<(), Error> {
        self.put(tuple, Some(expires_in.into()))
    }

    fn put(&self, tuple: Tuple, expires_in: Option<Span>) -> Result<(), Error> {
        let mut uses = self.held.uses();
        if uses.is_over {
            return Err(over());
        }
        uses.puts.push(tuple);
        uses.expiries.push(expires_in);
        Ok(())
    }

    /// Ends the group: what it took is gone and what it puts is there, at one instant. Waits while the space has no room for what it puts, and
    /// the group lasts.
    ///
    /// # Errors
    /// Nothing of the group has happened: [`Code::Conflict`] if somebody else took what it has read, or it expired, and [`Code::LeaseLost`] if its
    /// time was over or this process was not heard for too long; both may be done again. [`Code::TimedOut`] if its time is over;
    /// [`Code::SpaceFull`], [`Code::TooLarge`]. [`Code::PeerDied`] and its kin if the space is gone, and then it may have happened.
    pub fn commit(self) -> Result<(), Error> {
        self.begin_commit()?.finish()
    }

    /// Begins [`Group::commit`]. Dropped before it is done, it is called off; unless it was just done, either way all or nothing has happened.
    ///
    /// # Errors
    /// It could not be sent, and has not happened.
    pub fn begin_commit(&self) -> Result<Acknowledgement, Error> {
        let deadline = self.left(None)?.map(Span::from);
        let uses = self.held.end()?;
        // From here on it returns what was taken unless the group happens.
        let Held { lab, space, .. } = &self.held;
        let held = Held { lab: lab.clone(), space: *space, uses: Mutex::new(uses) };
        let uses = held.uses();
        let Uses { leases, witnesses, puts: tuples, expiries, .. } = &*uses;
        let pending = held.begin(&Request::Commit { leases, witnesses, deadline, tuples, expiries });
        drop(uses);
        Ok(Acknowledgement::of_group(pending?, held))
    }

    /// Ends the group, which has not happened: what it took is back when this returns.
    ///
    /// # Errors
    /// [`Code::LeaseLost`] if it was told to end before; [`Code::PeerDied`] and its kin if the space is gone, which returns it by itself.
    pub fn abort(&self) -> Result<(), Error> {
        self.held.give_back(&self.held.end()?)
    }

    /// Whether it was told to end.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.held.uses().is_over
    }

    /// Begins [`Group::take`], or [`Group::take_within`]; [`Group::accept`] makes a tuple of the outcome.
    ///
    /// # Errors
    /// As [`Group::take`]; it could not be sent.
    pub fn begin_take(&self, template: &Template, limit: Option<Duration>) -> Result<Pending, Error> {
        self.hold(self.wait(limit)?, template)
    }

    /// Begins [`Group::take_if`].
    ///
    /// # Errors
    /// As [`Group::begin_take`].
    pub fn begin_take_if(&self, template: &Template) -> Result<Pending, Error> {
        self.hold(Wait::AtOnce, template)
    }

    /// Begins [`Group::read`], or [`Group::read_within`].
    ///
    /// # Errors
    /// As [`Group::begin_take`].
    pub fn begin_read(&self, template: &Template, limit: Option<Duration>) -> Result<Pending, Error> {
        self.witness(self.wait(limit)?, template)
    }

    /// Begins [`Group::read_if`].
    ///
    /// # Errors
    /// As [`Group::begin_take`].
    pub fn begin_read_if(&self, template: &Template) -> Result<Pending, Error> {
        self.witness(Wait::AtOnce, template)
    }

    /// Makes the outcome of an operation that this group has begun the group's own, and gives its tuple; none if none matched.
    ///
    /// # Errors
    /// [`Code::LeaseLost`] if the group was told to end meanwhile: the tuple returns. [`Code::Malformed`] for the outcome of another operation.
    pub fn accept(&self, outcome: Outcome) -> Result<Option<Tuple>, Error> {
        match outcome {
            Outcome::NoMatch => Ok(None),
            Outcome::Tuple(tuple, Some(granted)) => {
                let lease = granted.attempt.lease;
                let mut uses = self.held.uses();
                if uses.is_over {
                    drop(uses);
                    self.held.begin(&Request::Release { lease })?.finish()?;
                    return Err(over());
                }
                let at = uses.leases.partition_point(|other| *other < lease);
                uses.leases.insert(at, lease);
                uses.renewal = Some(granted.renewal);
                Ok(Some(tuple))
            }
            Outcome::Witnessed(tuple, witness) => {
                self.held.uses().witnesses.push(witness);
                Ok(Some(tuple))
            }
            other => Err(unexpected(&other)),
        }
    }

    fn one(&self, pending: Pending) -> Result<Tuple, Error> {
        let tuple = self.accept(pending.finish()?)?;
        tuple.ok_or_else(|| unexpected(&Outcome::NoMatch))
    }

    fn hold(&self, wait: Wait, template: &Template) -> Result<Pending, Error> {
        // A wait of the group ends before what it has returns, or it would get that again.
        let limit = self.left(None)?.map(|left| Span::from(left.saturating_add(GRACE)));
        self.check(|uses| uses.leases.len())?;
        let Held { lab, space, .. } = &self.held;
        let lease = lab.shared.lease.map_or(Span(u64::MAX), Span::from);
        let renewal = lab.shared.heartbeat.renew()?;
        Pending::begin_lease(lab, *space, &Request::Hold { wait, lease, limit, template }, renewal)
    }

    fn witness(&self, wait: Wait, template: &Template) -> Result<Pending, Error> {
        self.left(None)?;
        self.check(|uses| uses.witnesses.len())?;
        self.held.begin(&Request::Witness { wait, template })
    }

    /// Whether it goes on, and may use one more.
    fn check(&self, used: impl FnOnce(&Uses) -> usize) -> Result<(), Error> {
        let uses = self.held.uses();
        if uses.is_over {
            return Err(over());
        }
        if used(&uses) >= MAX_GROUP_USES {
            let text = format!(
                "a group takes at most {MAX_GROUP_USES} tuples, and reads as many; make several groups of it"
            );
            return Err(Error::new(Code::TooLarge, text));
        }
        Ok(())
    }

    fn wait(&self, limit: Option<Duration>) -> Result<Wait, Error> {
        Ok(self.left(limit)?.map_or(Wait::Forever, |left| Wait::For(Span::from(left))))
    }

    /// How much of its time is left, `limit` at most; none: there is no end.
    fn left(&self, limit: Option<Duration>) -> Result<Option<Duration>, Error> {
        let Some(end) = self.end else { return Ok(limit) };
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Error::new(
                Code::TimedOut,
                "the time of the group is over, and nothing of it has happened",
            ));
        }
        Ok(Some(limit.map_or(left, |limit| limit.min(left))))
    }
}

impl Held {
    fn begin(&self, request: &Request<'_>) -> Result<Pending, Error> {
        Pending::begin(&self.lab, self.space, request)
    }

    fn uses(&self) -> MutexGuard<'_, Uses> {
        self.uses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is there to end. From now on nothing is.
    ///
    /// # Errors
    /// It was told to end before.
    fn end(&self) -> Result<Uses, Error> {
        let uses = core::mem::replace(&mut *self.uses(), Uses { is_over: true, ..Uses::default() });
        if uses.is_over { Err(over()) } else { Ok(uses) }
    }

    /// Returns what was taken.
    fn give_back(&self, uses: &Uses) -> Result<(), Error> {
        if uses.leases.is_empty() {
            return Ok(());
        }
        self.begin(&Request::Abort { leases: &uses.leases })?.finish().map(drop)
    }

    /// The group has happened: nothing is left to give back.
    pub(crate) fn has_happened(&self) {
        *self.uses() = Uses::default();
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let uses = core::mem::take(self.uses.get_mut().unwrap_or_else(PoisonError::into_inner));
        // If the space cannot be reached it returns the tuples by itself.
        let _ = self.give_back(&uses);
    }
}

fn over() -> Error {
    Error::new(Code::LeaseLost, "the group was told to end before")
}
