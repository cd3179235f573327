//! The tuple space's operations.

use crate::collect::of_two_connections;
use crate::pending::{Outcome, Pending};
use crate::{Begin, Error, Evaluation, EventStream, Group, Lab, Lease, Listing, LiveTuple, Since};
use quintet_contract::Span;
use quintet_errors::Code;
use quintet_tuple_space::{
    ClientState, Cursor, HotKey, ListedTuple, Page, PageSize, Partition, Request, SpaceName, SpaceNumber,
    State, Subject, Template, Tuple, Wait, WaitingRequest,
};
use std::sync::Arc;
use std::time::Duration;

/// A tuple space. Cheap to clone.
///
/// A *tuple* is an ordered list of typed fields; a *template* has values and typed place-holders. They match when number,
/// types and values of the fields are equal. The oldest match is taken; waiters are served oldest first.
///
/// A server has one without a name, [`Lab::space`], and any number of named ones, [`Lab::named_space`]: each with tuples, waiters and a quota of
/// its own.
#[derive(Clone)]
pub struct Space {
    lab: Lab,
    number: SpaceNumber,
    name: Option<Arc<SpaceName>>,
}

impl Space {
    /// The unnamed one.
    pub(crate) fn new(lab: Lab) -> Self {
        Space { lab, number: SpaceNumber::UNNAMED, name: None }
    }

    pub(crate) fn named(lab: Lab, number: SpaceNumber, name: SpaceName) -> Self {
        Space { lab, number, name: Some(Arc::new(name)) }
    }

    /// Its number at the server, and its name, if it has one.
    pub(crate) fn numbered(&self) -> Option<(SpaceNumber, SpaceName)> {
        self.name.as_deref().map(|name| (self.number, name.clone()))
    }

    /// The connection over which it is asked. A space that a cluster's machines keep has one of its own.
    #[must_use]
    pub fn lab(&self) -> &Lab {
        &self.lab
    }

    /// What it is called; none: it is the space without a name.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref().map(SpaceName::as_str)
    }

    /// Begins an operation without waiting for it: `space.begin().within(limit).take(&template)?`.
    ///
    /// Any number may be begun. A served space takes a window of them at once: one fewer than its setting `link.window_frames`, 255 by
    /// default. They are sent whatever the program does next: at once or, over a socket, together with others that are begun close behind
    /// each other, within a fraction of a millisecond. The rest waits in this process and goes as the space makes room for it, which
    /// this process learns while one of its threads is in a call of this lab, waits for an outcome, or lets a [`Watch`](crate::Watch)
    /// progress. A program that begins more and then computes looks in now and then, by [`Pending::peek`](crate::Pending::peek) say; the
    /// `waiters` of [`State`] shows what has reached the space.
    pub fn begin(&self) -> Begin<'_> {
        Begin::new(&self.lab, self.number)
    }

    /// Puts a tuple. When this returns, the space has it. Waits while the space is full.
    ///
    /// # Errors
    /// [`Code::TooLarge`] for a tuple that can never fit; [`Code::PeerDied`] and its kin if the space is gone.
    pub fn out(&self, tuple: Tuple) -> Result<(), Error> {
        self.out_many(&[tuple], None)
    }

    /// Puts tuples, all or none, waiting for room at most `limit`.
    ///
    /// # Errors
    /// As [`Space::out`], and [`Code::SpaceFull`] after `limit`.
    pub fn out_many(&self, tuples: &[Tuple], limit: Option<Duration>) -> Result<(), Error> {
        if tuples.is_empty() {
            return Ok(());
        }
        self.ask(&Request::Out { deadline: limit.map(Span::from), tuples, expiries: &[] }).map(drop)
    }

    /// As [`Space::out`]; `expires_in` after the space has it, it leaves by itself, unless somebody has taken it by then. One that would return after its
    /// time leaves instead. [`Begin::expires_in`] is the same of several tuples, and of what a replacement puts.
    ///
    /// The time is the space's: that of one with a log or replicas stands still while it is not served. The shortest is a nanosecond.
    ///
    /// ```
    /// use quintet::{Lab, template, tuple};
    /// use std::time::Duration;
    ///
    /// let space = Lab::embedded().space();
    /// space.out_for(tuple!["here", 7i64], Duration::from_secs(30))?;
    /// assert_eq!(space.read_if(&template!["here", ?i64])?, Some(tuple!["here", 7i64]));
    /// # Ok::<(), quintet::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Space::out`]; [`Code::Malformed`] from a space of a version that knows no such tuples.
    pub fn out_for(&self, tuple: Tuple, expires_in: Duration) -> Result<(), Error> {
        self.begin().expires_in(expires_in).out(&[tuple])?.finish().map(drop)
    }

    /// Takes the oldest matching tuple, waiting for one.
    ///
    /// # Errors
    /// [`Code::PeerDied`] and its kin if the space is gone.
    pub fn take(&self, template: &Template) -> Result<Tuple, Error> {
        one(self.ask(&Request::Take { wait: Wait::Forever, lease: None, template })?)
    }

    /// As [`Space::take`], waiting at most `limit`.
    ///
    /// # Errors
    /// [`Code::TimedOut`], whose text says what nearly matched.
    pub fn take_within(&self, template: &Template, limit: Duration) -> Result<Tuple, Error> {
        one(self.ask(&Request::Take { wait: Wait::For(Span::from(limit)), lease: None, template })?)
    }

    /// Takes the oldest matching tuple if there is one. `None` is exact: at one instant there was none.
    ///
    /// # Errors
    /// The space is gone.
    pub fn take_if(&self, template: &Template) -> Result<Option<Tuple>, Error> {
        perhaps(self.ask(&Request::Take { wait: Wait::AtOnce, lease: None, template })?)
    }

    /// Reads the oldest matching tuple, waiting for one; it stays.
    ///
    /// # Errors
    /// As [`Space::take`].
    pub fn read(&self, template: &Template) -> Result<Tuple, Error> {
        one(self.ask(&Request::Read { wait: Wait::Forever, template })?)
    }

    /// As [`Space::read`], waiting at most `limit`.
    ///
    /// # Errors
    /// As [`Space::take_within`].
    pub fn read_within(&self, template: &Template, limit: Duration) -> Result<Tuple, Error> {
        one(self.ask(&Request::Read { wait: Wait::For(Span::from(limit)), template })?)
    }

    /// Reads the oldest matching tuple if there is one.
    ///
    /// # Errors
    /// The space is gone.
    pub fn read_if(&self, template: &Template) -> Result<Option<Tuple>, Error> {
        perhaps(self.ask(&Request::Read { wait: Wait::AtOnce, template })?)
    }

    /// Takes the oldest matching tuple under a lease, waiting for one at most `limit` (none: without end).
    ///
    /// # Errors
    /// As [`Space::take_within`]; [`Code::Resource`] if there is no thread to renew it.
    pub fn lease(&self, template: &Template, limit: Option<Duration>) -> Result<Lease, Error> {
        self.leased(self.begin().within(limit).lease(template)?.finish()?)
    }

    /// Turns the outcome of [`Begin::lease`] into the lease.
    ///
    /// # Errors
    /// [`Code::Malformed`] if it is another operation's.
    pub fn leased(&self, outcome: Outcome) -> Result<Lease, Error> {
        match outcome {
            Outcome::Tuple(tuple, Some(granted)) => {
                Ok(Lease::new(self.lab.clone(), self.number, tuple, granted))
            }
            other => Err(unexpected(&other)),
        }
    }

    /// Begins a group: takes, reads and puts that happen at one instant, at its [`Group::commit`], or not at all. It lasts a minute
    /// at most unless [`Group::within`] says otherwise.
    pub fn group(&self) -> Group {
        Group::new(self.lab.clone(), self.number)
    }

    /// How many tuples match now.
    ///
    /// # Errors
    /// The space is gone.
    pub fn count(&self, template: &Template) -> Result<u64, Error> {
        match self.ask(&Request::Count { template })? {
            Outcome::Count(count) => Ok(count),
            other => Err(unexpected(&other)),
        }
    }

    /// How many managers have its tuples: what several of them do at one instant costs more than what one does.
    #[must_use]
    pub fn managers(&self) -> u8 {
        self.begin().managers()
    }

    /// How the space is.
    ///
    /// # Errors
    /// The space is gone.
    pub fn status(&self) -> Result<State, Error> {
        match self.ask(&Request::Status)? {
            Outcome::State(state) => Ok(*state),
            other => Err(unexpected(&other)),
        }
    }

    /// Tuples as they are, without taking them: those that can be taken and those under a lease, in no particular order, as many as match
    /// the template, or all of them. Of long fields it shows the beginning.
    ///
    /// They are read a page at a time, each of which is the space at one instant: of what changes meanwhile a tuple may come twice or not at
    /// all, and one that stayed as it was comes once. Tuples that were given to a plain take are not shown.
    ///
    /// ```
    /// use quintet::{Lab, template, tuple};
    ///
    /// let space = Lab::embedded().space();
    /// space.out_many(&[tuple!["row", 1i64], tuple!["row", 2i64]], None)?;
    /// let lease = space.lease(&template!["row", 1i64], None)?;
    /// let rows = space.list(Some(&template!["row", ?i64])).collect::<Result<Vec<_>, _>>()?;
    /// let leased: Vec<bool> = rows.iter().map(|row| row.lease.is_some()).collect();
    /// assert_eq!(leased, [true, false]);
    /// # lease.release()?;
    /// # Ok::<(), quintet::Error>(())
    /// ```
    pub fn list(&self, template: Option<&Template>) -> Listing<ListedTuple> {
        Listing::new(self.clone(), template.cloned())
    }

    /// What happens to the tuples that match, or to all: put, taken, leased, returned, done, in the order in which it happens and without gaps, as it happens. Each event has the space's number
    /// for it: whoever comes back goes on behind the last one that he has seen. Where `since` is [`Since::Now`], events count from when this returns.
    ///
    /// The space keeps events while somebody watches and for ten minutes after, a sixteenth of its quota and at most 16 MiB of them. Who asks for older
    /// ones, or reads more slowly than they come, gets [`Code::TooOld`], never a gap; he holds up nobody.
    ///
    /// ```
    /// use quintet::{Change, Lab, Since, template, tuple};
    ///
    /// let space = Lab::embedded().space();
    /// let mut orders = space.watch(Some(&template!["order", ?i64]), Since::Now)?;
    /// space.out(tuple!["order", 7i64])?;
    /// space.take(&template!["order", ?i64])?;
    /// let (put, taken) = (orders.next().unwrap()?, orders.next().unwrap()?);
    /// assert_eq!((put.change, taken.change), (Change::Put, Change::Taken));
    ///
    /// // Somebody else goes on behind the first of them.
    /// let mut later = space.watch(Some(&template!["order", ?i64]), Since::Number(put.number))?;
    /// assert_eq!(later.next().unwrap()?, taken);
    /// # Ok::<(), quintet::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Code::TooOld`]; [`Code::BadValue`] without a template where the space has several managers; [`Code::Malformed`] of a server from before watches; the
    /// space is gone.
    pub fn watch(&self, template: Option<&Template>, since: Since) -> Result<EventStream, Error> {
        EventStream::new(self.clone(), template.cloned(), since)
    }

    /// Requests that wait in the space, as [`Space::list`] reads tuples. A select is there once, with its first template, also where several managers have its templates.
    pub fn waiting(&self) -> Listing<WaitingRequest> {
        Listing::new(self.clone(), None)
    }

    /// The clients that are connected to the space, as [`Space::list`] reads tuples. The callers of this process have no link to an embedded
    /// space, and are not among them.
    ///
    /// Where several managers have the space, a client is there once, with the counts of all of them together: a request that waits at several counts at each.
    pub fn clients(&self) -> Listing<ClientState> {
        Listing::new(self.clone(), None)
    }

    /// The space's partitions and how each is used, as [`Space::list`] reads tuples: tuples of the same types with the same text in front.
    ///
    /// Where several managers have the space, all are asked before the first one is given: a partition has their counts together, and shows the last of what
    /// happened at any of them. [`Listing::of_manager`] gives those of one manager.
    ///
    /// ```
    /// use quintet::{Lab, template, tuple};
    ///
    /// let space = Lab::embedded().space();
    /// space.out_many(&[tuple!["job", 1i64], tuple!["job", 2i64]], None)?;
    /// space.take(&template!["job", ?i64])?;
    /// let jobs = space.partitions().next().expect("one partition")?;
    /// assert_eq!((jobs.name.as_deref(), jobs.put, jobs.taken, jobs.tuples), (Some("job"), 2, 1, 1));
    /// # Ok::<(), quintet::Error>(())
    /// ```
    pub fn partitions(&self) -> Listing<Partition> {
        Listing::new(self.clone(), None)
    }

    /// The values that takes and reads ask for most, the hottest first, 16 at most.
    ///
    /// Where several managers have the space, the counts of each weigh as much as the questions that it has had since it began.
    pub fn hot_keys(&self) -> Listing<HotKey> {
        Listing::new(self.clone(), None)
    }

    /// One page of a listing, for who shows it page by page. `template`: of tuples, which; none: all.
    ///
    /// # Errors
    /// The space is gone; [`Code::Malformed`] for a size that is none, or a template of what is no tuple.
    pub fn page(
        &self,
        subject: Subject,
        template: Option<&Template>,
        from: Cursor,
        size: PageSize,
    ) -> Result<Page, Error> {
        match self.ask(&Request::List { subject, from, size, template })? {
            Outcome::Page(page) => Ok(page),
            other => Err(unexpected(&other)),
        }
    }

    /// Puts a live tuple: its fields are computed in threads of this process, each in one of its own, and when all have
    /// ended the tuple is put. Until then nobody sees it.
    ///
    /// If a field fails (an `Err`, or a panic), or the tuple cannot be put, the tuple
    /// `("quintet.failed", name of what failed, text)` is put in its place ([`FAILED`](crate::FAILED)), so that whoever
    /// waits for the result can wait for that as well; [`Evaluation::finish`] gives the error here. The evaluation goes on
    /// without its handle, and ends with the process. What other processes make is asked for by [`Space::eval_on_workers`].
    ///
    /// ```
    /// use quintet::{Lab, live, template, tuple};
    ///
    /// let space = Lab::embedded().space();
    /// let base = 7i64;
    /// space.eval(live!["square", base, move || base * base])?;
    /// assert_eq!(space.take(&template!["square", 7i64, ?i64])?, tuple!["square", 7i64, 49i64]);
    ///
    /// let failing = space.eval(live!["number", || "seven".parse::<i64>()])?;
    /// assert!(failing.finish().is_err());
    /// let failed = space.take(&template!["quintet.failed", ?str, ?str])?;
    /// assert_eq!(failed[2], "field 1: invalid digit found in string".into());
    /// # Ok::<(), quintet::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Code::BadValue`] for a number of fields that no tuple has; [`Code::Closed`] after [`Lab::close`]; [`Code::Resource`] if
    /// there is no thread.
    pub fn eval(&self, tuple: LiveTuple) -> Result<Evaluation, Error> {
        if self.lab.is_closed() {
            return Err(Error::closed());
        }
        tuple.evaluate(self.clone())
    }

    /// Its number, for a request over the connection of `begin`.
    pub(crate) fn number_over(&self, begin: Begin<'_>) -> Result<SpaceNumber, Error> {
        if begin.is_over(&self.lab) { Ok(self.number) } else { Err(of_two_connections()) }
    }

    pub(crate) fn ask(&self, request: &Request<'_>) -> Result<Outcome, Error> {
        Pending::complete(&self.lab, self.number, request)
    }
}

pub(crate) fn one(outcome: Outcome) -> Result<Tuple, Error> {
    match outcome {
        Outcome::Tuple(tuple, _) => Ok(tuple),
        other => Err(unexpected(&other)),
    }
}

pub(crate) fn perhaps(outcome: Outcome) -> Result<Option<Tuple>, Error> {
    match outcome {
        Outcome::NoMatch => Ok(None),
        other => one(other).map(Some),
    }
}

pub(crate) fn unexpected(outcome: &Outcome) -> Error {
    Error::new(Code::Malformed, format!("the space answered another question: {outcome:?}"))
}
