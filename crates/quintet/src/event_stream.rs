//! What happens to tuples, as it happens.

use crate::space::unexpected;
use crate::{Error, Outcome, Space};
use quintet_contract::Span;
use quintet_errors::Code;
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
    is_over: bool,
}

impl EventStream {
    pub(crate) fn new(space: Space, template: Option<Template>, since: Since) -> Result<EventStream, Error> {
        let (events, is_over) = (VecDeque::new(), false);
        let mut stream = EventStream { space, template, events, fetched: 0, number: 0, is_over };
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

    /// The next event, if one comes within `limit`.
    pub fn next_within(&mut self, limit: Duration) -> Option<Result<TupleEvent, Error>> {
        let end = Instant::now().checked_add(limit);
        while self.events.is_empty() && !self.is_over {
            let left = end.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()));
            if let Err(error) = self.fetch(left.min(TURN)) {
                self.is_over = true;
                return Some(Err(error));
            }
            if left.is_zero() {
                break;
            }
        }
        let event = self.events.pop_front()?;
        // A tuple that was there has the number at which it was; the last of them says where to go on.
        if event.change != Change::There {
            self.number = event.number;
        }
        Some(Ok(event))
    }

    fn fetch(&mut self, limit: Duration) -> Result<(), Error> {
        let wait = if limit.is_zero() { Wait::AtOnce } else { Wait::For(Span::from(limit)) };
        let Events { number, events, .. } = self.ask(Some(self.fetched), wait)?;
        (self.fetched, self.events) = (number, events.into());
        Ok(())
    }

    fn number_now(&self) -> Result<u64, Error> {
        Ok(self.ask(None, Wait::AtOnce)?.number)
    }

    fn ask(&self, since: Option<u64>, wait: Wait) -> Result<Events, Error> {
        self.request(&Request::Watch { since, most: MOST, wait, template: self.template.as_ref() })
    }

    fn request(&self, request: &Request<'_>) -> Result<Events, Error> {
        match self.space.ask_if_known(request)? {
            Ok(Outcome::Events(events)) => Ok(events),
            Ok(other) => Err(unexpected(&other)),
            Err(why) => {
                let text = format!("{why}; a server from before watches does not have them");
                Err(Error::new(Code::Malformed, text))
            }
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
