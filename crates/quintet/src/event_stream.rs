//! What happens to tuples, as it happens.

use crate::space::unexpected;
use crate::{Error, Outcome, Pending, Space};
use quintet_tuple_space::{Change, Events, Request, Template, TupleEvent, Wait};
use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

/// Events that one answer has at most.
const MOST: u32 = 256;

/// So long one request waits for an event. Where none comes, the answer says up to which number: whoever comes back later need not ask for what was
/// none of his.
const TURN: Duration = Duration::from_secs(30);

/// Where a watch begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Since {
    /// With what happens from now on.
    Now,
    /// With the tuples that can be taken now, oldest first, each as [`Change::There`], and what happens to them and to others after that. They are
    /// gathered in this process first.
    Start,
    /// Behind the event of this number.
    Number(u64),
}

/// What happens to the tuples of a space, as an iterator that waits for it. Made by [`Space::watch`]. It ends at the first error.
pub struct EventStream {
    space: Space,
    template: Option<Template>,
    events: VecDeque<TupleEvent>,
    /// All up to this one is in `events`, or was.
    fetched: u64,
    /// Behind this one goes on who comes back.
    number: u64,
    /// Asks what comes next, where that was not there when it was waited for.
    asked: Option<Pending>,
    is_over: bool,
}

impl EventStream {
    pub(crate) fn new(space: Space, template: Option<Template>, since: Since) -> Result<EventStream, Error> {
        let (events, is_over) = (VecDeque::new(), false);
        let mut stream = EventStream { space, template, events, fetched: 0, number: 0, asked: None, is_over };
        match since {
            Since::Number(number) => stream.fetched = number,
            Since::Now => stream.fetched = stream.number_now()?,
            Since::Start => stream.begin_with_what_is_there()?,
        }
        stream.number = if let Since::Start = since { 0 } else { stream.fetched };
        Ok(stream)
    }

    /// Behind which number whoever comes back goes on: that of the last event which was given, or a later one up to which there was none. While the
    /// tuples are given with which [`Since::Start`] begins, it is 0, and nobody can go on.
    #[must_use]
    pub fn number(&self) -> u64 {
        if self.events.is_empty() { self.fetched } else { self.number }
    }

    /// The next event, if one comes within `limit`. Where none does, what was asked stays under way, and the next call goes on with it. With a limit of zero the space is
    /// asked what there is now, unless such a request is under way: then that is looked at.
    pub fn next_within(&mut self, limit: Duration) -> Option<Result<TupleEvent, Error>> {
        let end = Instant::now().checked_add(limit);
        while self.events.is_empty() && !self.is_over {
            let left = end.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()));
            let fetched = match left.is_zero() && self.asked.is_none() {
                true => self.ask(Some(self.fetched), Wait::AtOnce).map(|events| self.take(events)),
                false => self.fetch(left).map(|_| ()),
            };
            if let Err(error) = fetched {
                return self.over(error);
            }
            if left.is_zero() {
                break;
            }
        }
        self.given()
    }

    /// The next event, if it has come. Never waits: where none has, a request for it is under way, so that the connection's descriptor
    /// ([`Lab::watch`](crate::Lab::watch)) becomes readable when it comes.
    pub fn try_next(&mut self) -> Option<Result<TupleEvent, Error>> {
        while self.events.is_empty() && !self.is_over {
            match self.fetch(Duration::ZERO) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => return self.over(error),
            }
        }
        self.given()
    }

    /// Whether it has ended, by an error.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Ends it.
    fn over(&mut self, error: Error) -> Option<Result<TupleEvent, Error>> {
        self.is_over = true;
        Some(Err(error))
    }

    fn given(&mut self) -> Option<Result<TupleEvent, Error>> {
        let event = self.events.pop_front()?;
        // A tuple that was there has the number at which it was; the last of them says where to go on.
        if event.change != Change::There {
            self.number = event.number;
        }
        Some(Ok(event))
    }

    /// Waits for the answer to a request that is under way, or is begun; whether it came within `limit`.
    fn fetch(&mut self, limit: Duration) -> Result<bool, Error> {
        let mut asked = match self.asked.take() {
            Some(asked) => asked,
            None => {
                self.space.begin().within(TURN).events(self.template.as_ref(), Some(self.fetched), MOST)?
            }
        };
        match asked.wait(limit) {
            None => self.asked = Some(asked),
            Some(Ok(Outcome::Events(events))) => {
                self.take(events);
                return Ok(true);
            }
            Some(Ok(other)) => return Err(unexpected(&other)),
            Some(Err(error)) => return Err(error),
        }
        Ok(false)
    }

    fn take(&mut self, Events { number, events, .. }: Events) {
        (self.fetched, self.events) = (number, events.into());
    }

    fn number_now(&self) -> Result<u64, Error> {
        Ok(self.ask(None, Wait::AtOnce)?.number)
    }

    fn ask(&self, since: Option<u64>, wait: Wait) -> Result<Events, Error> {
        self.request(&Request::Watch { since, most: MOST, wait, template: self.template.as_ref() })
    }

    fn request(&self, request: &Request<'_>) -> Result<Events, Error> {
        match self.space.ask(request)? {
            Outcome::Events(events) => Ok(events),
            other => Err(unexpected(&other)),
        }
    }

    /// Gathers the tuples a page at a time, and does with them what happened from the first page to the last: then they are the space at one number.
    fn begin_with_what_is_there(&mut self) -> Result<(), Error> {
        self.fetched = self.number_now()?;
        let (mut there, mut from) = (BTreeMap::new(), Some(0));
        while let Some(place) = from {
            let look = Request::Look { from: place, most: MOST, template: self.template.as_ref() };
            let Events { events, next, .. } = self.request(&look)?;
            there.extend(events.into_iter().map(|event| (event.age, event)));
            from = next;
        }
        let end = self.number_now()?;
        while self.fetched < end {
            let Events { number, events, .. } = self.ask(Some(self.fetched), Wait::AtOnce)?;
            self.fetched = number;
            for event in events {
                match event.change.is_there() {
                    true => drop(there.insert(event.age, event)),
                    false => drop(there.remove(&event.age)),
                }
            }
        }
        let number = self.fetched;
        self.events =
            there.into_values().map(|event| TupleEvent { number, change: Change::There, ..event }).collect();
        Ok(())
    }
}

impl Iterator for EventStream {
    type Item = Result<TupleEvent, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(event) = self.next_within(Duration::MAX) {
                return Some(event);
            }
            if self.is_over {
                return None;
            }
        }
    }
}
