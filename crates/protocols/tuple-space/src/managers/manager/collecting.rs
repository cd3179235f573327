//! Collections between the space that several managers have and a named one, which the first of them has.
//!
//! The first manager is asked, as it has the named space and knows where everything is. Where others are concerned it stands still, and has them stand still
//! one after the other, as for parts (`commit.rs`): the one that has what matches, or all to whom it belongs. When they do, and there is room, it happens, all of it. What is
//! collected goes in pages, and who takes it in stands still until the last one has come: so nobody sees the spaces between. Nothing is prepared beforehand, as a
//! collection holds nothing and waits for nothing. (docs/design/0077.)

use super::Manager;
use super::commit::{Still, why};
use super::moving::{Sent, chunks};
use crate::codec::{
    Amount, CollectInto, DONE, ERROR, Further, MOVED, MovedTuple, NamedFront, Outcome, ROUTE, Refusal,
    RequestView, Route, SpaceNumber, There, View, page, page_tuples, word_about,
};
use crate::managers::Home;
use crate::space::{Matching, Share, check_carried};
use crate::spaces::Moved;
use bytes::Bytes;
use quintet_contract::{Address, Frame, Input, Kind, Outbox, OwnedFrame, Protocol, Time, Token};
use quintet_errors::Code;
use quintet_wire::{Decode, encode_to_vec};
use std::collections::{BTreeMap, VecDeque};

/// A collection that the first manager brings together with others.
#[derive(Debug)]
pub(super) struct Collects {
    /// Whose it is, and under which token.
    pub(super) asker: (Address, Token),
    source: SpaceNumber,
    into: SpaceNumber,
    takes: bool,
    way: Way,
    /// The template, and its bulk.
    template: (Vec<u8>, Bytes),
    /// Those that stand still, and the one that was asked to.
    asked: Vec<u8>,
    /// Those that are asked next, and what.
    left: VecDeque<(u8, Route)>,
}

/// Which way it goes.
#[derive(Debug)]
enum Way {
    /// From the manager that has all that matches into a named space: what comes, once it is under way.
    Out(Option<Pages>),
    /// Out of a named space, to whom it belongs.
    Into(Matching, BTreeMap<u8, Share>),
}

/// What a manager does of a collection that the first one brings together.
#[derive(Debug)]
pub(super) enum Role {
    Gives { matching: Matching, takes: bool },
    TakesIn(Pages),
}

/// Tuples that come in pages.
#[derive(Debug)]
pub(super) struct Pages {
    /// How much is still to come.
    left: Amount,
    tuples: Vec<MovedTuple>,
}

/// A collection as a client asks for it, and the bulk of its template.
struct Asked<'a> {
    asker: (Address, Token),
    settled: Token,
    source: SpaceNumber,
    view: CollectInto<'a>,
    bulk: &'a Bytes,
}

/// Whom one concerns.
enum Concerned {
    /// This manager alone.
    One,
    /// Others than who asks knows: it is to be asked again.
    Unknown,
    /// This manager, which has all that matches.
    Source(u8),
    /// All to whom it belongs what matches in a named space.
    Owners,
}

/// Which way a collection goes, and who is asked what.
type Plan = (Way, VecDeque<(u8, Route)>);
/// An answer to another manager.
type Word = (Kind, Vec<u8>);

impl Collects {
    /// Whether it waits for pages.
    pub(super) fn awaits_pages(&self) -> bool {
        matches!(self.way, Way::Out(Some(_)))
    }
}

impl Pages {
    fn new(left: Amount) -> Pages {
        Pages { left, tuples: Vec::new() }
    }

    /// Adds a page.
    ///
    /// # Errors
    /// It is not what was spoken of.
    fn add(&mut self, count: u32, bulk: &Bytes) -> Result<(), String> {
        let more = page_tuples(count, bulk, self.left).map_err(|error| error.to_string())?;
        let bytes = more.iter().map(MovedTuple::stored_bytes).sum();
        let left = self.left.bytes.checked_sub(bytes);
        self.left.bytes =
            left.ok_or_else(|| format!("{bytes} bytes in a page are more than it has spoken of"))?;
        self.left.tuples -= u64::from(count);
        self.tuples.extend(more);
        Ok(())
    }

    fn are_all(&self) -> bool {
        self.left.tuples == 0
    }
}

impl<'a> Asked<'a> {
    /// Reads it; none: it is something else, or cannot be read.
    fn read(from: Address, frame: &Frame<'a>) -> Option<Asked<'a>> {
        let (source, kind, body) = NamedFront::unwrap(frame.kind, frame.body);
        match RequestView::decode(&Frame { kind, body, ..*frame }).ok()? {
            (settled, RequestView::Further(Further::CollectInto(view))) => {
                Some(Asked { asker: (from, frame.token), settled, source, view, bulk: frame.bulk })
            }
            _ => None,
        }
    }
}

impl Manager {
    /// A client's collection from one space into another.
    pub(super) fn collect_into(&mut self, now: Time, from: Address, frame: Frame<'_>, out: &mut dyn Outbox) {
        // The template is read from it.
        let bulk = Bytes::copy_from_slice(frame.bulk);
        let frame = Frame { bulk: &bulk, ..frame };
        let asked = Asked::read(from, &frame);
        let concerned = asked.as_ref().map_or(Concerned::One, |asked| self.concerned(asked));
        match (concerned, &asked) {
            (Concerned::Unknown, _) => {
                self.admitted.remove(from);
                self.send_away(from, frame.token, out);
            }
            (Concerned::Source(manager), Some(asked)) => self.begin_together(now, asked, Some(manager), out),
            (Concerned::Owners, Some(asked)) => self.begin_together(now, asked, None, out),
            // The spaces say what is wrong with what cannot be read.
            _ => self.spaces.handle(now, Input::Frame(from, frame), out),
        }
    }

    fn concerned(&mut self, asked: &Asked<'_>) -> Concerned {
        let (source, into) = (asked.source, asked.view.into);
        let is_of_several = [source, into].contains(&SpaceNumber::UNNAMED) && source != into;
        // The other ones have no named spaces, and say so.
        if self.directory.is_none() || !is_of_several {
            return Concerned::One;
        }
        if self.incoming_with(&asked.view.template).is_some() {
            return Concerned::Unknown;
        }
        let me = self.me;
        match self.placement().of_template(&asked.view.template) {
            Home::One(manager) if manager == me => Concerned::One,
            Home::One(manager) if source == SpaceNumber::UNNAMED => Concerned::Source(manager),
            // It is gathered before.
            Home::Any if source == SpaceNumber::UNNAMED => Concerned::Unknown,
            _ => Concerned::Owners,
        }
    }

    /// Begins what concerns others: `source` has all that matches, or it is in a named space.
    fn begin_together(&mut self, now: Time, asked: &Asked<'_>, source: Option<u8>, out: &mut dyn Outbox) {
        let Asked { asker: (from, token), settled, source: space, ref view, .. } = *asked;
        let begun = self.spaces.begin_collect_into(now, (from, token, settled), space, view, out);
        if let Err(why) = begun {
            return self.spaces.answer_collect_into(asked.asker, Err(why), out);
        }
        self.spaces.end_turns(now, [space, view.into], out);
        let planned = match source {
            Some(manager) => {
                Ok(Some((Way::Out(None), VecDeque::from([(manager, Route::Give { takes: view.takes })]))))
            }
            None => self.share_out(asked, out),
        };
        let (way, left) = match planned {
            Ok(Some(plan)) => plan,
            Ok(None) => return self.end_collection(now, asked, Ok(None), out),
            Err(why) => return self.end_collection(now, asked, Err(why), out),
        };
        let template = (view.template.head().to_vec(), asked.bulk.clone());
        let (asker, into, takes, asked) = (asked.asker, view.into, view.takes, Vec::new());
        let collects = Collects { asker, source: space, into, takes, way, template, asked, left };
        self.ask_next_to_collect(now, Box::new(collects), out);
    }

    /// One that came to nothing before anybody was asked.
    fn end_collection(&mut self, now: Time, asked: &Asked<'_>, moved: Moved, out: &mut dyn Outbox) {
        // An index is being built perhaps.
        self.spaces.end_turns(now, [asked.source, asked.view.into], out);
        self.spaces.answer_collect_into(asked.asker, moved, out);
    }

    /// Looks for what matches in a named space, and whose it is to be; none: an index is being built.
    fn share_out(&mut self, asked: &Asked<'_>, out: &mut dyn Outbox) -> Result<Option<Plan>, (Code, String)> {
        let source = self.spaces.space_mut(asked.source);
        let Some(matching) = source.matching(&asked.view.template, out)? else { return Ok(None) };
        if source.has_code(&matching) {
            self.spaces.unnamed().check_grant(asked.asker.0, out)?;
        }
        let shares = self.spaces.shares(asked.source, &matching);
        if let Some(own) = shares.get(&self.me) {
            self.check_room(own.amount)?;
        }
        let others = || shares.iter().filter(|(manager, _)| **manager != self.me);
        let mut carried = Amount::default();
        for (_, share) in others() {
            carried.tuples += share.amount.tuples;
            carried.bytes += share.amount.bytes;
        }
        check_carried(carried)?;
        let left = others().map(|(manager, share)| (*manager, Route::Room(share.amount))).collect();
        Ok(Some((Way::Into(matching, shares), left)))
    }

    /// Whether there is room here for so much of what goes to several managers.
    fn check_room(&self, amount: Amount) -> Result<(), (Code, String)> {
        let number = self.me + 1;
        let checked = self.spaces.unnamed().check_room(amount);
        checked.map_err(|(code, text)| (code, format!("manager {number}: {text}")))
    }

    /// Stands still, and asks the next manager to; if all do, it happens.
    fn ask_next_to_collect(&mut self, now: Time, mut collects: Box<Collects>, out: &mut dyn Outbox) {
        let Some((next, word)) = collects.left.pop_front() else {
            return self.send_shares(now, *collects, out);
        };
        collects.asked.push(next);
        let (head, bulk) = &collects.template;
        let (body, bulk) = (word_about(&word, head).into(), bulk.clone());
        self.commits.still = Some(Still::Collects(collects));
        let token = self.ask(Sent::Lock);
        self.tell(next, OwnedFrame { kind: ROUTE, token, body, bulk }, out);
    }

    /// The manager that was asked last stands still for a collection, or says why it does not.
    pub(super) fn collect_on(
        &mut self,
        now: Time,
        mut collects: Box<Collects>,
        frame: &Frame<'_>,
        out: &mut dyn Outbox,
    ) {
        if frame.kind != DONE {
            // It goes on as it is.
            collects.asked.pop();
            return match why(frame) {
                Some(Refusal { code, text }) => {
                    self.give_up_collection(now, *collects, Err((code, text)), out)
                }
                None => {
                    let (to, token) = collects.asker;
                    self.unlock(collects.asked, |_| Outcome::Nothing, out);
                    self.spaces.end_turns(now, [collects.source, collects.into], out);
                    self.admitted.remove(to);
                    self.send_away(to, token, out);
                }
            };
        }
        match collects.way {
            Way::Into(..) => self.ask_next_to_collect(now, collects, out),
            Way::Out(_) => match There::decode_all(frame.body) {
                Ok(There(Some(there))) => self.source_stands_still(now, collects, there, out),
                Ok(There(None)) => {
                    collects.asked.pop();
                    self.give_up_collection(now, *collects, Ok(None), out);
                }
                Err(error) => {
                    let why = (Code::Malformed, error.to_string());
                    self.give_up_collection(now, *collects, Err(why), out);
                }
            },
        }
    }

    /// Nothing comes of it: whoever stands still goes on as he was.
    fn give_up_collection(&mut self, now: Time, collects: Collects, moved: Moved, out: &mut dyn Outbox) {
        self.unlock(collects.asked, |_| Outcome::Nothing, out);
        self.spaces.end_turns(now, [collects.source, collects.into], out);
        self.spaces.answer_collect_into(collects.asker, moved, out);
    }

    /// The manager that has all that matches has said how much it is: it sends that, if it has room.
    fn source_stands_still(
        &mut self,
        now: Time,
        mut collects: Box<Collects>,
        (amount, has_code): (Amount, bool),
        out: &mut dyn Outbox,
    ) {
        let named = self.spaces.space_mut(collects.into);
        let granted = if has_code { named.check_grant(collects.asker.0, out) } else { Ok(()) };
        match granted.and_then(|()| named.check_room(amount)) {
            Err(why) => self.give_up_collection(now, *collects, Err(why), out),
            Ok(()) if amount.tuples == 0 => self.give_up_collection(now, *collects, Ok(Some(0)), out),
            Ok(()) => {
                self.unlock(collects.asked.clone(), |_| Outcome::Happens, out);
                collects.way = Way::Out(Some(Pages::new(amount)));
                self.commits.still = Some(Still::Collects(collects));
            }
        }
    }

    /// All to whom it belongs stand still, and have room.
    fn send_shares(&mut self, now: Time, collects: Collects, out: &mut dyn Outbox) {
        let Collects { asker, source, into, takes, way: Way::Into(matching, shares), asked, .. } = collects
        else {
            return;
        };
        let (space, mut own) = (self.spaces.space_mut(source), Vec::new());
        let mut carry = |at: usize| space.carry(now, &matching, at, takes);
        let carried: Vec<(u8, Vec<MovedTuple>)> = shares
            .into_iter()
            .map(|(manager, share)| (manager, share.at.into_iter().map(&mut carry).collect()))
            .collect();
        for (manager, tuples) in carried {
            match manager == self.me {
                true => own = tuples,
                false => self.send_pages(manager, tuples, out),
            }
        }
        self.counts.commits += u64::from(!asked.is_empty());
        self.unlock(asked, |_| Outcome::Happens, out);
        self.spaces.unnamed_mut().put_carried(now, &own, out);
        self.spaces.end_turns(now, [source, into], out);
        self.spaces.answer_collect_into(asker, Ok(Some(matching.len())), out);
    }

    fn send_pages(&mut self, manager: u8, tuples: Vec<MovedTuple>, out: &mut dyn Outbox) {
        self.counts.tuples_sent += tuples.len() as u64;
        for tuples in chunks(tuples, false) {
            let (body, bulk) = page(&tuples).expect("it is at most MAX_CARRIED_BYTES");
            // What it is about was asked: it is not answered.
            let frame = OwnedFrame { kind: ROUTE, token: Token(0), body: body.into(), bulk };
            self.tell(manager, frame, out);
        }
    }

    /// The first manager says what this one is to do of a collection.
    pub(super) fn collect_word(
        &mut self,
        now: Time,
        (from, token): (u8, Token),
        word: Route,
        (template, bulk): (&[u8], &Bytes),
        out: &mut dyn Outbox,
    ) {
        if let Route::Page(count) = word {
            return self.add_page(now, from, (count, bulk), out);
        }
        let (kind, body) =
            self.join_collection(from, &word, (template, bulk), out).unwrap_or_else(|why| match why {
                Some((code, text)) => (ERROR, encode_to_vec(&Refusal::new(code, text))),
                None => (MOVED, self.placement().epoch.to_le_bytes().to_vec()),
            });
        self.tell(from, OwnedFrame { kind, token, body: body.into(), bulk: Bytes::new() }, out);
    }

    /// Stands still for a collection if it can be done, as far as this manager knows: the answer; or why not. None: it is to be asked again.
    fn join_collection(
        &mut self,
        from: u8,
        word: &Route,
        (template, bulk): (&[u8], &Bytes),
        out: &mut dyn Outbox,
    ) -> Result<Word, Option<(Code, String)>> {
        if let Some(lost) = self.fellows.lost() {
            return Err(Some((lost.code, lost.text.to_string())));
        }
        if from != 0 {
            return Err(Some((
                Code::Malformed,
                "collections are brought together by the first manager".to_owned(),
            )));
        }
        let bulk = Bytes::copy_from_slice(bulk);
        let template = View::template(template, &bulk);
        let template = template.map_err(|error| Some((Code::Malformed, error.to_string())))?;
        if self.incoming_with(&template).is_some() {
            return Err(None);
        }
        let (role, body) = match word {
            Route::Give { takes } if !self.is_here(&template) => return Err(None),
            Route::Give { takes } => {
                let space = self.spaces.unnamed_mut();
                let Some(matching) = space.matching(&template, out).map_err(Some)? else {
                    return Ok((DONE, encode_to_vec(&There(None))));
                };
                let (amount, has_code) = (matching.amount(), space.has_code(&matching));
                check_carried(amount).map_err(Some)?;
                let there = There(Some((amount, has_code)));
                (Role::Gives { matching, takes: *takes }, encode_to_vec(&there))
            }
            Route::Room(amount) => {
                self.check_room(*amount).map_err(Some)?;
                (Role::TakesIn(Pages::new(*amount)), Vec::new())
            }
            _ => return Err(None),
        };
        self.commits.still = Some(Still::Joins { role, for_manager: from });
        Ok((DONE, body))
    }

    /// What this manager stands still for in a collection happens, or not.
    pub(super) fn end_role(
        &mut self,
        now: Time,
        from: u8,
        (role, outcome): (Role, Outcome),
        out: &mut dyn Outbox,
    ) {
        match role {
            _ if outcome != Outcome::Happens => {}
            Role::Gives { matching, takes } => {
                let space = self.spaces.unnamed_mut();
                let carried = (0..matching.len()).map(|at| space.carry(now, &matching, at, takes)).collect();
                self.send_pages(from, carried, out);
            }
            Role::TakesIn(pages) if pages.are_all() => {
                self.counts.tuples_adopted += pages.tuples.len() as u64;
                self.spaces.unnamed_mut().put_carried(now, &pages.tuples, out);
            }
            Role::TakesIn(_) => self.lose_to(now, from, "has sent less than it has spoken of", out),
        }
    }

    /// A page of what this manager takes in.
    fn add_page(&mut self, now: Time, from: u8, (count, bulk): (u32, &Bytes), out: &mut dyn Outbox) {
        let pages = match &mut self.commits.still {
            Some(Still::Collects(collects)) if collects.asked.contains(&from) => match &mut collects.way {
                Way::Out(Some(pages)) => pages,
                _ => return,
            },
            Some(Still::Joins { role: Role::TakesIn(pages), for_manager }) if *for_manager == from => pages,
            _ => return,
        };
        if let Err(text) = pages.add(count, bulk) {
            return self.lose_to(now, from, &text, out);
        }
        if pages.are_all()
            && let Some(Still::Collects(collects)) =
                self.commits.still.take_if(|still| matches!(still, Still::Collects(_)))
        {
            self.take_in(now, *collects, out);
        }
    }

    /// All has come that goes into a named space.
    fn take_in(&mut self, now: Time, collects: Collects, out: &mut dyn Outbox) {
        let Collects { asker, source, into, way: Way::Out(Some(pages)), .. } = collects else { return };
        self.counts.commits += 1;
        self.counts.tuples_adopted += pages.tuples.len() as u64;
        self.spaces.space_mut(into).put_carried(now, &pages.tuples, out);
        self.spaces.end_turns(now, [source, into], out);
        self.spaces.answer_collect_into(asker, Ok(Some(pages.tuples.len())), out);
    }

    /// Another manager does not do what it has said: with what it has, the space is over.
    fn lose_to(&mut self, now: Time, manager: u8, what: &str, out: &mut dyn Outbox) {
        let text = format!("manager {}, for a collection into another space: {what}", manager + 1);
        self.lose(now, Refusal::new(Code::Malformed, text), out);
    }
}
