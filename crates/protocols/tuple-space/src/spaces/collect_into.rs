//! Collections from one space into another: what two spaces do at one instant.

use super::Spaces;
use crate::Space;
use crate::codec::{
    COLLECTED, COUNTED, CollectInto, CollectedBody, CollectedRows, Further, RequestView, SpaceNumber,
};
use crate::space::{Matching, Share};
use bytes::Bytes;
use quintet_contract::{Address, Frame, Input, Outbox, Time, Token};
use quintet_errors::Code;
use quintet_wire::{Encode, Sink};
use std::collections::BTreeMap;

/// What a collection into another space came to: how many tuples; none: an index is being built, and it is to be asked for again.
pub(crate) type Moved = Result<Option<usize>, (Code, String)>;

/// The body of a [`COUNTED`] answer.
struct Count(usize);

impl Encode for Count {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u64(self.0 as u64);
    }
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
        let begun = self.begin_collect_into(now, (from, frame.token, settled), source, &asked, out);
        let moved = begun.and_then(|()| {
            let moved = self.carry_all(now, from, source, &asked, out);
            self.end_turns(now, [source, asked.into], out);
            moved
        });
        self.answer_collect_into((from, frame.token), moved, out);
    }

    /// Whether that may be begun: both spaces are there, are two, and may be used by this sender, and the token is no other request's. Both are as they are now then.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn begin_collect_into(
        &mut self,
        now: Time,
        (from, token, settled): (Address, Token, Token),
        source: SpaceNumber,
        asked: &CollectInto<'_>,
        out: &mut dyn Outbox,
    ) -> Result<(), (Code, String)> {
        self.check_spaces(now, from, [source, asked.into], out)?;
        self.each_of([source, asked.into], |space| space.catch_up(now, out));
        let begun = self.space_mut(source).begin_collect_into(from, (token, settled), asked.takes);
        if begun.is_err() {
            self.end_turns(now, [source, asked.into], out);
        }
        begun
    }

    /// What both spaces do at the end of a turn.
    pub(crate) fn end_turns(&mut self, now: Time, spaces: [SpaceNumber; 2], out: &mut dyn Outbox) {
        self.each_of(spaces, |space| space.end_turn(now, out));
    }

    /// Says what it came to.
    pub(crate) fn answer_collect_into(
        &mut self,
        (to, token): (Address, Token),
        moved: Moved,
        out: &mut dyn Outbox,
    ) {
        match moved {
            Ok(Some(count)) => self.unnamed.reply_with(to, COUNTED, token, &Count(count), out),
            Ok(None) => {
                let body = CollectedBody { next: Some(1), below: 0, rows: &CollectedRows::default() };
                self.unnamed.reply_with(to, COLLECTED, token, &body, out);
            }
            Err((code, text)) => self.unnamed.refuse(to, token, code, text, out),
        }
    }

    /// Whether both spaces are there, are two, and may be used by this sender.
    fn check_spaces(
        &mut self,
        now: Time,
        from: Address,
        spaces: [SpaceNumber; 2],
        out: &mut dyn Outbox,
    ) -> Result<(), (Code, String)> {
        if spaces[0] == spaces[1] {
            let text = "the space that is collected from and the one that is collected into are the same one";
            return Err((Code::BadValue, text.to_owned()));
        }
        let mut named = spaces.into_iter().filter(|number| *number != SpaceNumber::UNNAMED);
        named.try_for_each(|number| self.admit(now, from, number, out))
    }

    /// Moves or copies what matches, all or none.
    fn carry_all(
        &mut self,
        now: Time,
        from: Address,
        source: SpaceNumber,
        asked: &CollectInto<'_>,
        out: &mut dyn Outbox,
    ) -> Moved {
        let CollectInto { takes, into, .. } = *asked;
        let space = self.space_mut(source);
        let Some(matching) = space.matching(&asked.template, out)? else { return Ok(None) };
        let has_code = space.has_code(&matching);
        let destination = self.space_mut(into);
        if has_code {
            destination.check_grant(from, out)?;
        }
        destination.check_room(matching.amount())?;
        let space = self.space_mut(source);
        let carried: Vec<_> = (0..matching.len()).map(|at| space.carry(now, &matching, at, takes)).collect();
        self.space_mut(into).put_carried(now, &carried, out);
        Ok(Some(matching.len()))
    }

    /// Which of what matches in a space each manager is to have of the space without a name.
    pub(crate) fn shares(&mut self, source: SpaceNumber, matching: &Matching) -> BTreeMap<u8, Share> {
        let Spaces { unnamed, table, .. } = self;
        table.space_mut(source).map_or_else(BTreeMap::new, |space| unnamed.shares(space, matching))
    }

    /// One that is there.
    pub(crate) fn space_mut(&mut self, number: SpaceNumber) -> &mut Space {
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
