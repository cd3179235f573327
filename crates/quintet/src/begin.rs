//! Operations that are begun, and waited for later.

use crate::pending::Pending;
use crate::{Error, Lab};
use quintet_contract::Span;
use quintet_tuple_space::client::Spread;
use quintet_tuple_space::{Cursor, PageSize, Request, SpaceNumber, Subject, Template, Tuple, Wait};
use std::sync::Arc;
use std::time::Duration;

/// Begins one operation of a space without waiting for it. Made by [`Space::begin`](crate::Space::begin).
///
/// ```
/// use quintet::{Lab, Outcome, template, tuple};
/// use std::time::Duration;
///
/// let space = Lab::embedded().space();
/// let row = space.begin().within(Duration::from_secs(5)).take(&template!["row", ?i64])?;
/// space.begin().out(&[tuple!["row", 3i64]])?.finish()?;
/// assert_eq!(row.finish()?, Outcome::Tuple(tuple!["row", 3i64], None));
/// # Ok::<(), quintet::Error>(())
/// ```
#[derive(Clone, Copy)]
#[must_use = "it begins nothing until it is told what"]
pub struct Begin<'a> {
    lab: &'a Lab,
    space: SpaceNumber,
    limit: Option<Duration>,
    expires_in: Option<Duration>,
}

impl<'a> Begin<'a> {
    pub(crate) fn new(lab: &'a Lab, space: SpaceNumber) -> Self {
        Begin { lab, space, limit: None, expires_in: None }
    }

    /// How long the operation may wait; none, as without this: without end. Operations that do not wait leave it aside.
    pub fn within(self, limit: impl Into<Option<Duration>>) -> Self {
        Begin { limit: limit.into(), ..self }
    }

    /// In how long after they are put the tuples leave by themselves that the operation puts, as those of [`Space::out_for`](crate::Space::out_for); none,
    /// as without this: they do not. Operations that put nothing leave it aside.
    pub fn expires_in(self, expires_in: impl Into<Option<Duration>>) -> Self {
        Begin { expires_in: expires_in.into(), ..self }
    }

    /// That of each of so many tuples, as a request says it.
    pub(crate) fn expiries(&self, tuples: usize) -> Vec<Option<Span>> {
        self.expires_in.map_or_else(Vec::new, |expires_in| vec![Some(expires_in.into()); tuples])
    }

    /// Begins [`Space::out_many`](crate::Space::out_many), of at least one tuple.
    ///
    /// # Errors
    /// It could not be sent.
    pub fn out(self, tuples: &[Tuple]) -> Result<Pending, Error> {
        Pending::begin(
            self.lab,
            self.space,
            &Request::Out {
                deadline: self.limit.map(Span::from),
                tuples,
                expiries: &self.expiries(tuples.len()),
            },
        )
    }

    /// Begins [`Space::take`](crate::Space::take) or [`Space::take_within`](crate::Space::take_within).
    ///
    /// # Errors
    /// It could not be sent.
    pub fn take(self, template: &Template) -> Result<Pending, Error> {
        Pending::begin(self.lab, self.space, &Request::Take { wait: self.wait(), lease: None, template })
    }

    /// Begins [`Space::read`](crate::Space::read) or [`Space::read_within`](crate::Space::read_within).
    ///
    /// # Errors
    /// It could not be sent.
    pub fn read(self, template: &Template) -> Result<Pending, Error> {
        Pending::begin(self.lab, self.space, &Request::Read { wait: self.wait(), template })
    }

    /// Begins [`Space::take_if`](crate::Space::take_if): [`Outcome::NoMatch`](crate::Outcome::NoMatch) if there is none.
    ///
    /// # Errors
    /// It could not be sent.
    pub fn take_if(self, template: &Template) -> Result<Pending, Error> {
        Pending::begin(self.lab, self.space, &Request::Take { wait: Wait::AtOnce, lease: None, template })
    }

    /// Begins [`Space::read_if`](crate::Space::read_if): [`Outcome::NoMatch`](crate::Outcome::NoMatch) if there is none.
    ///
    /// # Errors
    /// It could not be sent.
    pub fn read_if(self, template: &Template) -> Result<Pending, Error> {
        Pending::begin(self.lab, self.space, &Request::Read { wait: Wait::AtOnce, template })
    }

    /// Begins [`Space::lease`](crate::Space::lease); [`Space::leased`](crate::Space::leased) turns the outcome into the lease. It
    /// is renewed from its beginning, however late anybody looks at the outcome.
    ///
    /// # Errors
    /// It could not be sent; [`Code::Resource`](crate::Code::Resource) if there is no thread to renew it.
    pub fn lease(self, template: &Template) -> Result<Pending, Error> {
        self.begin_lease(self.wait(), template)
    }

    /// Begins to lease the oldest matching tuple if there is one: [`Outcome::NoMatch`](crate::Outcome::NoMatch) if there is none. As [`Begin::lease`]
    /// otherwise.
    ///
    /// # Errors
    /// As [`Begin::lease`].
    pub fn lease_if(self, template: &Template) -> Result<Pending, Error> {
        self.begin_lease(Wait::AtOnce, template)
    }

    fn begin_lease(self, wait: Wait, template: &Template) -> Result<Pending, Error> {
        self.pending_lease(|lease| Request::Take { wait, lease: Some(lease), template })
    }

    pub(crate) fn pending(self, request: &Request<'_>) -> Result<Pending, Error> {
        Pending::begin(self.lab, self.space, request)
    }

    /// Begins what asks for a lease that lives so long unless renewed.
    pub(crate) fn pending_lease<'b>(
        self,
        request: impl FnOnce(Span) -> Request<'b>,
    ) -> Result<Pending, Error> {
        // In this process a lease needs no renewal: it ends with its holder.
        let lease = self.lab.shared.lease.map_or(Span(u64::MAX), Span::from);
        let renewal = self.lab.shared.heartbeat.renew()?;
        Pending::begin_lease(self.lab, self.space, &request(lease), renewal)
    }

    /// Begins [`Space::count`](crate::Space::count).
    ///
    /// # Errors
    /// It could not be sent.
    pub fn count(self, template: &Template) -> Result<Pending, Error> {
        Pending::begin(self.lab, self.space, &Request::Count { template })
    }

    /// Begins to ask for what happened to tuples behind a number, at most so many events; without a number, for the number now. An answer without events
    /// says up to which number there were none.
    ///
    /// # Errors
    /// It could not be sent.
    pub fn events(
        self,
        template: Option<&Template>,
        since: Option<u64>,
        most: u32,
    ) -> Result<Pending, Error> {
        // Without time to wait it is answered from what is kept.
        let wait = if self.limit == Some(Duration::ZERO) { Wait::AtOnce } else { self.wait() };
        Pending::begin(self.lab, self.space, &Request::Watch { since, most, wait, template })
    }

    /// Begins a page of the tuples that can be taken, whole, from there on: 0, then where the last page says.
    ///
    /// # Errors
    /// It could not be sent.
    pub fn look(self, template: Option<&Template>, from: u64, most: u32) -> Result<Pending, Error> {
        Pending::begin(self.lab, self.space, &Request::Look { from, most, template })
    }

    /// Begins [`Space::status`](crate::Space::status).
    ///
    /// # Errors
    /// It could not be sent.
    pub fn status(self) -> Result<Pending, Error> {
        Pending::begin(self.lab, self.space, &Request::Status)
    }

    /// Begins [`Space::page`](crate::Space::page).
    ///
    /// # Errors
    /// It could not be sent.
    pub fn page(
        self,
        subject: Subject,
        template: Option<&Template>,
        from: Cursor,
        size: PageSize,
    ) -> Result<Pending, Error> {
        Pending::begin(self.lab, self.space, &Request::List { subject, from, size, template })
    }

    pub(crate) fn begin_spread(self, spread: &Spread) -> Result<Pending, Error> {
        match self.is_at_several() {
            true => Pending::spread(self.lab, spread),
            false => Pending::nothing_to_spread(self.lab, self.space),
        }
    }

    /// Whether several managers have the space's tuples.
    pub(crate) fn is_at_several(self) -> bool {
        self.managers() > 1
    }

    /// How many managers have the space's tuples.
    pub(crate) fn managers(self) -> u8 {
        let several = self.lab.shared.managers.get().filter(|_| self.space == SpaceNumber::UNNAMED);
        several.copied().unwrap_or(1)
    }

    /// Whether it is over this lab's connection.
    pub(crate) fn is_over(self, lab: &Lab) -> bool {
        Arc::ptr_eq(&self.lab.shared, &lab.shared)
    }

    pub(crate) fn wait(self) -> Wait {
        self.limit.map_or(Wait::Forever, |limit| Wait::For(Span::from(limit)))
    }
}
