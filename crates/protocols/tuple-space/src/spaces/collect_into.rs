//! Collections from one space into another: what two spaces do at one instant.

use super::Spaces;
use crate::Space;
use crate::codec::{
    COLLECTED, COUNTED, CollectInto, CollectedBody, CollectedRows, FURTHER, Further, FurtherOperation,
    RequestView, SpaceNumber,
};
use bytes::Bytes;
use quintet_contract::{Address, Frame, Input, Outbox, Time, Token};
use quintet_errors::Code;
use quintet_wire::{Encode, Sink};

/// What a collection into another space came to: how many tuples; none: an index is being built, and it is to be asked for again.
type Moved = Result<Option<usize>, (Code, String)>;

/// The body of a [`COUNTED`] answer.
struct Count(usize);

impl Encode for Count {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u64(self.0 as u64);
    }
}

/// Whether a request is about two spaces.
pub(super) fn is_into(frame: &Frame<'_>) -> bool {
    frame.kind == FURTHER && FurtherOperation::of_body(frame.body).is_some_and(FurtherOperation::is_into)
}

impl Spaces {
    /// Does what a client asks of `source`, and answers.
    pub(super) fn collect_into(
        &mut self,
        now: Time,
        from: Address,
        source: SpaceNumber,
        frame: &Frame<'_>,
        out: &mut dyn Outbox,
    ) {
        // The template is read from it.
        let bulk = Bytes::copy_from_slice(frame.bulk);
        let own = Frame { bulk: &bulk, ..*frame };
        let Ok((settled, RequestView::Further(Further::CollectInto(asked)))) = RequestView::decode(&own)
        else {
            // It says what is wrong with it.
            return self.tell(now, source, Input::Frame(from, own), out);
        };
        let moved = self.check_spaces(now, from, source, asked.into, out).and_then(|()| {
            self.each_of([source, asked.into], |space| space.catch_up(now, out));
            let moved = self.carry_all(now, from, source, (frame.token, settled), &asked, out);
            self.each_of([source, asked.into], |space| space.end_turn(now, out));
            moved
        });
        match moved {
            Ok(Some(count)) => self.unnamed.reply_with(from, COUNTED, frame.token, &Count(count), out),
            Ok(None) => {
                let body = CollectedBody { next: Some(1), below: 0, rows: &CollectedRows::default() };
                self.unnamed.reply_with(from, COLLECTED, frame.token, &body, out);
            }
            Err((code, text)) => self.unnamed.refuse(from, frame.token, code, text, out),
        }
    }

    /// Whether both spaces are there, are two, and may be used by this sender.
    fn check_spaces(
        &mut self,
        now: Time,
        from: Address,
        source: SpaceNumber,
        into: SpaceNumber,
        out: &mut dyn Outbox,
    ) -> Result<(), (Code, String)> {
        if source == into {
            let text = "the space that is collected from and the one that is collected into are the same one";
            return Err((Code::BadValue, text.to_owned()));
        }
        if [source, into].contains(&SpaceNumber::UNNAMED) && self.unnamed.placement().is_some() {
            let text = "the space without a name has several managers, and what one of them has is not collected into another space, or from one, at \
                        one instant: collect to yourself and put, use two named spaces, or serve with one manager";
            return Err((Code::BadValue, text.to_owned()));
        }
        if into == SpaceNumber::UNNAMED { Ok(()) } else { self.admit(now, from, into, out) }
    }

    /// Moves or copies what matches, all or none.
    fn carry_all(
        &mut self,
        now: Time,
        from: Address,
        source: SpaceNumber,
        tokens: (Token, Token),
        asked: &CollectInto<'_>,
        out: &mut dyn Outbox,
    ) -> Moved {
        let CollectInto { takes, into, .. } = *asked;
        let space = self.space_mut(source);
        space.begin_collect_into(from, tokens, takes)?;
        let Some(matching) = space.matching(asked, out)? else { return Ok(None) };
        let has_code = space.has_code(&matching);
        let destination = self.space_mut(into);
        if has_code {
            destination.check_grant(from, out)?;
        }
        destination.check_room(&matching)?;
        let space = self.space_mut(source);
        let carried: Vec<_> = (0..matching.len()).map(|at| space.carry(now, &matching, at, takes)).collect();
        self.space_mut(into).put_carried(now, &carried, out);
        Ok(Some(matching.len()))
    }

    /// One that is there.
    fn space_mut(&mut self, number: SpaceNumber) -> &mut Space {
        match number {
            SpaceNumber::UNNAMED => &mut self.unnamed,
            named => self.table.space_mut(named).expect("it was found when its sender was admitted"),
        }
    }

    /// Does something in two spaces that are there, and notes when they want to be woken.
    fn each_of(&mut self, numbers: [SpaceNumber; 2], mut act: impl FnMut(&mut Space)) {
        for number in numbers {
            act(self.space_mut(number));
            self.table.note_due(number);
        }
    }

    /// Gives an input to one space.
    fn tell(&mut self, now: Time, number: SpaceNumber, input: Input<'_>, out: &mut dyn Outbox) {
        use quintet_contract::Protocol;
        match number {
            SpaceNumber::UNNAMED => self.unnamed.handle(now, input, out),
            named => self.table.handle(now, named, input, out),
        }
    }
}
