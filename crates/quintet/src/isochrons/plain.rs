//! Plain messages between members: without a place in the order, delayed by nothing that has one.

use super::board::Board;
use super::error::would_wait_for_itself;
use super::host::{Core, Isonet};
use super::isochron::Isochron;
use super::maker::IsochronMaker;
use super::under_way::What;
use crate::{Bytes, Cause, Error, Limit, Size};
use quintet_contract::{NodeId, OwnedFrame, Token};
use quintet_isotach::Misuse;
use quintet_isotach::codec::{PLAIN, Plain};
use quintet_isotach::limits::{MAX_MESSAGE_BYTES, SHORT_MESSAGE_BYTES};
use quintet_wire::encode_to_vec;
use quintet_wire::registry::{PORT_CALLERS, PORT_SESSION};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// What takes the plain messages of one number.
type Handle = Box<dyn FnMut(&PlainReceived<'_>) + Send>;

/// The handlers of plain messages, by their numbers.
#[derive(Default)]
pub(super) struct PlainHandlers(BTreeMap<u32, Handle>);

impl PlainHandlers {
    /// False if there is one of that number.
    pub(super) fn add(&mut self, number: u32, handle: Handle) -> bool {
        self.0.insert(number, handle).is_none()
    }

    /// False if there is none of that number.
    pub(super) fn deliver(&mut self, core: &Arc<Core>, message: &Plain<'_>) -> bool {
        let Plain { node, handler, bytes } = *message;
        let Some(handle) = self.0.get_mut(&handler) else { return false };
        handle(&PlainReceived { core, sender: node.0, bytes });
        true
    }
}

/// A plain message, as a handler gets it.
pub struct PlainReceived<'a> {
    core: &'a Arc<Core>,
    /// The member that sent it.
    pub sender: u16,
    /// What was sent.
    pub bytes: &'a [u8],
}

impl PlainReceived<'_> {
    /// Begins a plain message of this member: a handler may begin it, and not wait for it.
    ///
    /// # Errors
    /// As [`Isonet::begin_plain`].
    pub fn begin_plain(
        &self,
        member: u16,
        handler: u32,
        bytes: impl Into<Bytes>,
    ) -> Result<PendingPlain, Error> {
        begin(self.core, member, handler, bytes.into(), Board::open)
    }

    /// Begins an isochron of this member: a handler may begin it ([`Isochron::begin`]), and not wait for it.
    ///
    /// # Errors
    /// As [`Isonet::isochron`].
    pub fn isochron(&self) -> Result<Isochron, Error> {
        Isochron::open(self.core)
    }

    /// Makes isochrons for it, also once the handler has returned.
    #[must_use]
    pub fn maker(&self) -> IsochronMaker {
        IsochronMaker { core: Arc::clone(self.core) }
    }

    /// Ends this member: the others are told that it is gone, and who waits here gets `why`.
    pub fn leave(&self, why: Error) {
        self.core.leave(why);
    }
}

impl IsochronMaker {
    /// Begins a plain message, to be waited for later.
    ///
    /// # Errors
    /// As [`Isonet::begin_plain`].
    pub fn begin_plain(
        &self,
        member: u16,
        handler: u32,
        bytes: impl Into<Bytes>,
    ) -> Result<PendingPlain, Error> {
        begin(&self.core, member, handler, bytes.into(), Board::open)
    }
}

impl Isonet {
    /// Sends a plain message to a member, this one as well: to its [`plain_handler`](super::IsonetBuilder::plain_handler) of that number, before or behind whatever
    /// isochrons do. What one member sends another in plain messages comes in the order in which it was sent. Waits until it has arrived.
    ///
    /// # Errors
    /// As [`begin_plain`](Isonet::begin_plain) and [`PendingPlain::finish`].
    pub fn send_plain(&self, member: u16, handler: u32, bytes: impl Into<Bytes>) -> Result<(), Error> {
        if self.core().board.is_poller() {
            return Err(would_wait_for_itself());
        }
        self.begin_plain(member, handler, bytes)?.finish()
    }

    /// Begins a plain message, to be waited for later.
    ///
    /// # Errors
    /// [`Code::BadValue`](crate::Code::BadValue): there is no such member. [`Code::TooLarge`](crate::Code::TooLarge): it has more than 64 KiB.
    /// [`Code::PeerDied`](crate::Code::PeerDied), [`Code::Malformed`](crate::Code::Malformed), [`Code::Closed`](crate::Code::Closed): as
    /// [`Isonet::isochron`].
    pub fn begin_plain(
        &self,
        member: u16,
        handler: u32,
        bytes: impl Into<Bytes>,
    ) -> Result<PendingPlain, Error> {
        begin(self.core(), member, handler, bytes.into(), Board::open)
    }

    /// The same, if there is room for one more: what [`begin_plain`](Isonet::begin_plain) begins beyond that is refused later, as who waits for it is told.
    ///
    /// # Errors
    /// [`Code::Busy`](crate::Code::Busy): 256 plain messages of this member have not arrived; it was not sent. Otherwise as [`begin_plain`](Isonet::begin_plain).
    pub fn try_begin_plain(
        &self,
        member: u16,
        handler: u32,
        bytes: impl Into<Bytes>,
    ) -> Result<PendingPlain, Error> {
        begin(self.core(), member, handler, bytes.into(), Board::open_if_room)
    }
}

/// Begins it under the number that `open` gives it.
fn begin(
    core: &Arc<Core>,
    member: u16,
    handler: u32,
    bytes: Bytes,
    open: fn(&Board, What) -> Result<Token, Error>,
) -> Result<PendingPlain, Error> {
    core.board.check_process()?;
    let node = NodeId(member);
    if core.present().1.topology().switch_of(node).is_none() {
        return Err(core.misuse(&Misuse::UnknownNode { node }));
    }
    if bytes.len() > MAX_MESSAGE_BYTES {
        let text = format!(
            "{} bytes; a plain message has {MAX_MESSAGE_BYTES} at most: make it several",
            bytes.len()
        );
        return Err(Error::new(Cause::Limit(Limit::Size(Size::Told)), text));
    }
    let token = open(&core.board, What::Plain)?;
    let bulk = if bytes.len() > SHORT_MESSAGE_BYTES { bytes.clone() } else { Bytes::new() };
    let body = encode_to_vec(&Plain { node, handler, bytes: &bytes }.beside(&bulk)).into();
    let frame = OwnedFrame { kind: PLAIN, token, body, bulk };
    core.node.send(PORT_CALLERS, PORT_SESSION, frame);
    Ok(PendingPlain { core: Arc::clone(core), token, is_over: false })
}

/// A plain message under way. Dropped, it goes on.
#[must_use = "whether a message has arrived is known by waiting for it"]
pub struct PendingPlain {
    core: Arc<Core>,
    token: Token,
    /// Its answer was given.
    is_over: bool,
}

impl PendingPlain {
    /// Whether it has arrived, if that is known within `limit`. It is said once; after that, `None`.
    pub fn wait(&mut self, limit: Duration) -> Option<Result<(), Error>> {
        let answer = self.core.board.wait(self.token, limit)?;
        self.is_over = true;
        Some(answer.map(drop))
    }

    /// Whether [`PendingPlain::wait`] would say at once, or has said.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.core.board.is_answered(self.token)
    }

    /// Calls back once [`is_done`](PendingPlain::is_done): now, or on the thread that brings the answer, which executes isochrons. The callback hands over and returns.
    pub fn notify(&self, callback: Box<dyn FnOnce() + Send>) {
        self.core.board.notify(Some(self.token), callback);
    }

    /// Whether it has arrived, however long it takes: the member's handler has it, or will have it next.
    ///
    /// # Errors
    /// [`Code::Busy`](crate::Code::Busy): 256 plain messages of this member have not arrived; it was not sent.
    /// [`Code::PeerDied`](crate::Code::PeerDied): the member it is for has ended, which the text names; it may have arrived.
    /// [`Code::Malformed`](crate::Code::Malformed), [`Code::Closed`](crate::Code::Closed): as [`Isonet::isochron`].
    pub fn finish(mut self) -> Result<(), Error> {
        loop {
            if let Some(arrived) = self.wait(Duration::MAX) {
                return arrived;
            }
        }
    }
}

impl Drop for PendingPlain {
    fn drop(&mut self) {
        if !self.is_over {
            self.core.board.forget(self.token);
        }
    }
}
