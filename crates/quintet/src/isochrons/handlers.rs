//! The handlers of a member, and what they are given: messages of isochrons here, plain ones in [`plain`](super::plain).

use super::board::{Board, Done};
use super::host::Core;
use super::isochron::Isochron;
use super::links::Redials;
use super::maker::IsochronMaker;
use super::plain::PlainHandlers;
use super::state::State;
use super::views::PresentView;
use crate::{Code, Error};
use quintet_contract::{Frame, Input, NodeId, Outbox, Protocol, Time};
use quintet_isotach::codec::{
    AGREED, BEGUN, COMPLETED, Completed, DELIVERED, Delivered, ENDED, HALTED, Halted, LEFT, NextMembers,
    PLAIN, PROGRAM_STATE, Plain, ProgramState, REFUSED, SENT, TAKE_STATE,
};
use quintet_isotach::{Place, Refusal, Topology, View};
use quintet_wire::{Decode, DecodeError};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What takes the messages of one number.
type Handle = Box<dyn FnMut(&Received<'_>) + Send>;

/// The handlers of a member, by their numbers.
#[derive(Default)]
pub(super) struct Handlers(BTreeMap<u32, Handle>);

impl Handlers {
    /// False if there is one of that number.
    pub(super) fn add(&mut self, number: u32, handle: Handle) -> bool {
        self.0.insert(number, handle).is_none()
    }
}

/// A message of an isochron, as a handler gets it.
pub struct Received<'a> {
    core: &'a Arc<Core>,
    /// The member that sent it.
    pub sender: u16,
    /// Where it stands in the one order: the same for all messages and writes of its isochron.
    pub place: Place,
    /// What was sent.
    pub bytes: &'a [u8],
}

impl Received<'_> {
    /// Begins an isochron of this member: a handler may begin it ([`Isochron::begin`]), and not wait for it.
    ///
    /// # Errors
    /// As [`Isonet::isochron`](super::Isonet::isochron).
    pub fn isochron(&self) -> Result<Isochron, Error> {
        Isochron::open(self.core)
    }

    /// Makes isochrons for it, also once the handler has returned.
    #[must_use]
    pub fn maker(&self) -> IsochronMaker {
        IsochronMaker { core: Arc::clone(self.core) }
    }

    /// Ends this member, as it is not where the others are: they are told that it is gone, and who waits here gets `why`.
    pub fn leave(&self, why: Error) {
        self.core.leave(why);
    }
}

/// The callers of a member's node: takes what the node tells its program.
pub(super) struct Callers {
    pub(super) core: Arc<Core>,
    pub(super) redials: Redials,
    pub(super) handlers: Handlers,
    pub(super) plain: PlainHandlers,
    /// Who is told of views that begin.
    pub(super) on_view: Vec<OnView>,
    pub(super) state: State,
}

/// What is told of views that begin.
pub(super) type OnView = Box<dyn FnMut(&PresentView) + Send>;

impl Callers {
    fn board(&self) -> &Board {
        &self.core.board
    }

    fn hear(&mut self, frame: Frame<'_>) -> Result<(), DecodeError> {
        match frame.kind {
            COMPLETED => {
                self.board().answered(frame.token, Ok(Done::Executed(Completed::decode_all(frame.body)?)))
            }
            REFUSED => {
                let why = self.core.refusal(&Refusal::decode_all(frame.body)?);
                self.board().answered(frame.token, Err(why));
            }
            HALTED => self.core.views.miss(Halted::decode_all(frame.body)?.halt),
            AGREED => self.agreed(NextMembers::decode_all(frame.body)?),
            BEGUN => self.begun(frame.body),
            ENDED => self.core.leave(self.core.refusal(&Refusal::decode_all(frame.body)?)),
            LEFT => self.board().all_leave(),
            SENT => self.board().answered(frame.token, Ok(Done::Arrived)),
            PLAIN => self.deliver_plain(&Plain::of(frame)?),
            DELIVERED => self.deliver(&Delivered::of(frame)?),
            TAKE_STATE => self.give_state(frame.body),
            PROGRAM_STATE => {
                let piece = ProgramState::decode_all(frame.body)?;
                self.state.take(&piece).unwrap_or_else(|error| self.core.leave(error));
            }
            _ => {}
        }
        Ok(())
    }

    /// The next view is agreed on.
    fn agreed(&self, NextMembers { next, newcomers }: NextMembers<'_>) {
        let topology = Topology::parse(next.topology).expect("this member's own node has written it");
        self.core.note_view(next.view, topology, newcomers);
        let back = self.core.views.look_at(next.view).back.into_iter().map(NodeId);
        self.redials.follow(back.filter(|member| *member != self.core.me), &self.core.node);
    }

    /// Somebody comes back with this view, with the state that this program has now.
    fn give_state(&mut self, body: &[u8]) {
        let Some(bytes) = body.first_chunk::<4>() else { return };
        let given = self.state.give(&self.core, View(u32::from_le_bytes(*bytes)));
        given.unwrap_or_else(|error| self.core.leave(error));
    }

    /// It has begun.
    fn begun(&mut self, body: &[u8]) {
        let Some(bytes) = body.first_chunk::<4>() else { return };
        let present = self.core.begin(View(u32::from_le_bytes(*bytes)));
        let lost = present.lost.iter().map(|lost| lost.member);
        lost.filter(|member| !present.members.contains(member))
            .for_each(|member| self.core.node.leave_alone(NodeId(member)));
        for told in &mut self.on_view {
            told(&present);
        }
        self.board().begun(&present.members);
    }

    fn deliver(&mut self, message: &Delivered<'_>) {
        let Delivered { place, sender, handler, bytes, .. } = *message;
        if self.core.board.end().is_some() {
            return;
        }
        self.board().wake_sleepers();
        match self.handlers.0.get_mut(&handler) {
            Some(handle) => handle(&Received { core: &self.core, sender: sender.0, place, bytes }),
            None => self.leave_for_want_of(&format!("message for handler {handler}"), sender.0),
        }
    }

    fn deliver_plain(&mut self, message: &Plain<'_>) {
        self.board().wake_sleepers();
        if self.core.board.end().is_none() && !self.plain.deliver(&self.core, message) {
            self.leave_for_want_of(
                &format!("plain message for plain handler {}", message.handler),
                message.node.0,
            );
        }
    }

    fn leave_for_want_of(&self, what: &str, sender: u16) {
        let text = format!(
            "member {sender} sent a {what}, which this member has not: say it before you join; this member has left"
        );
        self.core.leave(Error::new(Code::NoHandler, text));
    }
}

impl Protocol for Callers {
    fn handle(&mut self, _now: Time, input: Input<'_>, _out: &mut dyn Outbox) {
        let Input::Frame(_, frame) = input else { return };
        if let Err(error) = self.hear(frame) {
            self.core.leave(Error::new(Code::Malformed, format!("this member's own node: {error}")));
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}
