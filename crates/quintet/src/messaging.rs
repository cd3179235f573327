//! Calls of handlers in other processes.

mod asked;
mod handler;

pub use asked::{PendingHandler, PendingReply};
pub use handler::{Call, Handler, PendingCall};

use crate::{Bytes, Code, Error, HandlerLimits, Job, Lab, MAX_MESSAGE_BYTES};
use asked::{Asked, unexpected};
use quintet_broker::{Answer, Place, Request};
use quintet_contract::Span;
use std::time::Duration;

/// Calls between the processes that use one space, by the names of handlers. Made by [`Lab::messaging`]; cheap to clone.
///
/// A process **handles** calls of a name on threads of its own, where it says [`Handler::serve`] or [`Handler::next`]; others **call** that name. A
/// request and a reply are any bytes, up to [`MAX_MESSAGE_BYTES`] each. Calls go by the broker that stands beside the space, so that processes need
/// not know where others are.
///
/// ```
/// use quintet::{HandlerLimits, Lab};
/// use std::thread;
///
/// let lab = Lab::embedded(); // other processes connect to the same space
/// let handler = lab.messaging().handle("double", HandlerLimits::default())?;
/// thread::scope(|scope| {
///     scope.spawn(|| {
///         handler.serve(|call| match call.payload()[..] {
///             [number] => Ok(vec![2 * number]),
///             _ => Err("one byte is doubled"),
///         })
///     });
///     assert_eq!(lab.messaging().to("double").call(vec![21])?[..], [42]);
///     handler.leave()
/// })?;
/// # Ok::<(), quintet::Error>(())
/// ```
#[derive(Clone)]
pub struct Messaging {
    lab: Lab,
}

/// The handlers of a name, as who calls them sees them. Made by [`Messaging::to`].
#[derive(Clone)]
pub struct Recipient {
    lab: Lab,
    name: String,
    rank: Option<u32>,
}

impl Messaging {
    pub(crate) fn new(lab: Lab) -> Messaging {
        Messaging { lab }
    }

    /// Handles calls of a name from now on: 1 to 128 bytes of text. Several processes may, each call goes to one of them: to the one that has waited
    /// longest, or to the one of the rank that the caller names. This process has the rank that its job gave it, if it is a worker. Nothing is handled until
    /// a thread says [`Handler::serve`] or [`Handler::next`].
    ///
    /// # Errors
    /// [`Code::BadValue`] for what is no name, limits that cannot be, or other ones than those of another handler of the name; [`Code::Busy`] for more than
    /// 256 handlers of one process. The connection's own.
    pub fn handle(&self, name: &str, limits: HandlerLimits) -> Result<Handler, Error> {
        self.handle_at(name, Job::from_environment()?.rank, limits)
    }

    /// The same at a rank that the program says.
    ///
    /// # Errors
    /// As [`handle`](Messaging::handle), but for the environment.
    pub fn handle_at(&self, name: &str, rank: Option<u32>, limits: HandlerLimits) -> Result<Handler, Error> {
        if !limits.are_valid() {
            let text = format!(
                "limits of a handler: requests of {} bytes, {} at once, {} that wait: the most are {MAX_MESSAGE_BYTES} bytes and {} that wait, \
                 the least is 1 at once",
                limits.max_request_bytes,
                limits.at_once,
                limits.waiting,
                quintet_broker::limits::MAX_WAITING
            );
            return Err(Error::new(Code::BadValue, text));
        }
        let register = Request::Register { place: place(name, rank)?, limits };
        match Asked::complete(&self.lab, &register)? {
            Answer::Registered { handler } => Ok(Handler::new(self.lab.clone(), handler)),
            other => Err(unexpected(&other)),
        }
    }

    /// The handlers of a name.
    #[must_use]
    pub fn to(&self, name: &str) -> Recipient {
        Recipient { lab: self.lab.clone(), name: name.to_owned(), rank: None }
    }
}

impl Recipient {
    /// Those of the worker of this rank alone, of several processes at that rank those of the newest.
    #[must_use]
    pub fn rank(self, rank: u32) -> Recipient {
        Recipient { rank: Some(rank), ..self }
    }

    /// Waits until there is one. For a program that calls another one that was started at the same time.
    ///
    /// # Errors
    /// [`Code::TimedOut`] if none came within `limit`; none: without end. [`Code::BadValue`] for what is no name.
    pub fn wait_for_handler(&self, limit: impl Into<Option<Duration>>) -> Result<(), Error> {
        self.begin_wait(limit)?.finish()
    }

    /// Begins [`wait_for_handler`](Recipient::wait_for_handler).
    ///
    /// # Errors
    /// It could not be sent; [`Code::BadValue`] for what is no name.
    pub fn begin_wait(&self, limit: impl Into<Option<Duration>>) -> Result<PendingHandler, Error> {
        let wait = limit.into().map(Span::from);
        Asked::begin(&self.lab, &Request::Await { place: self.place()?, wait }).map(PendingHandler::new)
    }

    /// Calls, and waits for the reply, however long it takes. If the process that handles it ends, the call does.
    ///
    /// # Errors
    /// - [`Code::NoHandler`]: nobody handles calls of that name, or who did left before the call was begun. It had no effect.
    /// - [`Code::Busy`]: as many calls wait as the handlers allow. It had no effect.
    /// - [`Code::TooLarge`]: the request is longer than they take, or the reply than the link to this process does.
    /// - [`Code::TaskFailed`]: the handler failed, and the text is its; or its reply was too long to be sent.
    /// - [`Code::PeerDied`]: the process that handled the call has ended, and may have done something before; or the broker has.
    /// - [`Code::PeerSilent`]: nothing was heard of the broker for too long. [`Code::Closed`]: the lab was closed.
    /// - [`Code::BadValue`] for what is no name.
    pub fn call(&self, request: impl Into<Bytes>) -> Result<Bytes, Error> {
        self.begin_call(request, None)?.finish()
    }

    /// The same, to be replied to within a time. A handler sees how much of it is left ([`Call::remaining`]); that one stands still is noticed by this
    /// alone.
    ///
    /// # Errors
    /// As [`call`](Recipient::call); [`Code::TimedOut`], whose text says whether a handler had begun.
    pub fn call_within(&self, request: impl Into<Bytes>, limit: Duration) -> Result<Bytes, Error> {
        self.begin_call(request, limit)?.finish()
    }

    /// Begins a call, to be waited for later.
    ///
    /// # Errors
    /// It could not be sent; [`Code::TooLarge`], [`Code::BadValue`] as [`call`](Recipient::call).
    pub fn begin_call(
        &self,
        request: impl Into<Bytes>,
        limit: impl Into<Option<Duration>>,
    ) -> Result<PendingReply, Error> {
        let wait = limit.into().map(Span::from);
        let call =
            Request::Call { place: self.place()?, wait, is_one_way: false, payload: checked(request)? };
        Asked::begin(&self.lab, &call).map(PendingReply::new)
    }

    /// Calls one-way: it is accepted when this returns, and handled later, also if this process has ended by then. It is lost with the process that
    /// has begun it, or where no handler of the name is left.
    ///
    /// # Errors
    /// As [`call`](Recipient::call), but for what a handler may do.
    pub fn send(&self, request: impl Into<Bytes>) -> Result<(), Error> {
        let payload = checked(request)?;
        let call = Request::Call { place: self.place()?, wait: None, is_one_way: true, payload };
        match Asked::complete(&self.lab, &call)? {
            Answer::Done => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    fn place(&self) -> Result<Place, Error> {
        place(&self.name, self.rank)
    }
}

fn place(name: &str, rank: Option<u32>) -> Result<Place, Error> {
    Place::new(name, rank).ok_or_else(|| {
        let text = format!("{name:?}: a handler's name is text of 1 to 128 bytes without control characters");
        Error::new(Code::BadValue, text)
    })
}

fn checked(payload: impl Into<Bytes>) -> Result<Bytes, Error> {
    let payload = payload.into();
    if payload.len() > MAX_MESSAGE_BYTES {
        let text = format!("{} bytes; a request or a reply has {MAX_MESSAGE_BYTES} at most", payload.len());
        return Err(Error::new(Code::TooLarge, text));
    }
    Ok(payload)
}
