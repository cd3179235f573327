//! Where answers wait for their callers.

use bytes::Bytes;
use quintet_contract::{Kind, Token};
use quintet_errors::Code;
use std::collections::{BTreeMap, BTreeSet};
use std::thread::Thread;

/// The answer to a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// What it means.
    pub kind: Kind,
    /// The encoded part.
    pub body: Vec<u8>,
    /// Large data that came with it.
    pub bulk: Bytes,
}

/// What a program wants to be called with an answer. It may call the space, and dropping it may too: do neither while the
/// protocol is locked or the link is polled.
pub(crate) type Callback = Box<dyn FnOnce() + Send>;

/// What is known of a request.
enum Slot {
    /// It is not answered; these want to know.
    Open(Option<Box<Watchers>>),
    /// Its answer waits to be collected, and came after so many calls of [`Slots::brought`].
    Filled(Result<Answer, Code>, u64),
    /// Nobody wants it any more.
    Closed,
}

/// Who wants to know of an answer. Kept apart, as most answers come before anybody waits.
#[derive(Default)]
pub(crate) struct Watchers {
    /// The thread that waits. Another one that waits for the same slot takes its place.
    thread: Option<Thread>,
    /// Who asked to be told besides.
    callbacks: Vec<Callback>,
}

/// Slots that lie in the ring. An older one that is still open moves to a map, so that a request that waits for long does
/// not keep the room of all that came after it.
const RECENT_SLOTS: usize = 512;

/// The unanswered and uncollected requests of a process, by token.
#[derive(Default)]
pub(crate) struct Slots {
    /// A ring: the slots of the tokens after `ended`, and closed ones before them. Grows to [`RECENT_SLOTS`].
    recent: Vec<Slot>,
    /// None of them closed.
    earlier: BTreeMap<Token, Slot>,
    /// Open slots that hold back no settling: those of requests to another protocol than the one that settles.
    apart: BTreeSet<Token>,
    /// No slot before this token's holds back settling.
    settled: u64,
    /// The token whose slot lies first in the ring. The ring begins anew whenever no request is open, so that the same
    /// few slots are used again and stay in the cache.
    first: u64,
    /// The token issued last.
    issued: u64,
    /// Every token up to this one has its slot among the earlier ones, or none any more.
    ended: u64,
    woken: Vec<Thread>,
    due: Vec<Callback>,
    /// Slots that were filled and not emptied since [`Slots::brought`].
    brought: usize,
    /// Calls of [`Slots::brought`].
    asked: u64,
}

impl Slots {
    /// A token for a new request, larger than every earlier one.
    pub(crate) fn open(&mut self) -> Token {
        if self.issued - self.ended == RECENT_SLOTS as u64 {
            self.set_aside_oldest();
        }
        self.issued += 1;
        if self.ended + 1 == self.issued {
            self.first = self.issued;
        }
        let position = self.position(self.issued);
        match self.recent.get_mut(position) {
            Some(slot) => *slot = Slot::Open(None),
            None => self.recent.push(Slot::Open(None)),
        }
        Token(self.issued)
    }

    /// A token for a request that may wait for as long as it likes: what came after it is settled without it.
    pub(crate) fn open_apart(&mut self) -> Token {
        let token = self.open();
        self.apart.insert(token);
        if self.ended + 1 == token.0 {
            // So that the ring begins anew behind it, as if it were not there.
            self.set_aside_oldest();
        }
        token
    }

    /// Where the ring holds the slot of this token.
    fn position(&self, token: u64) -> usize {
        ((token - self.first) % RECENT_SLOTS as u64) as usize
    }

    /// Has the oldest slot of the ring, which is not closed, lie among the earlier ones.
    fn set_aside_oldest(&mut self) {
        let oldest = self.ended + 1;
        let position = self.position(oldest);
        let slot = std::mem::replace(&mut self.recent[position], Slot::Closed);
        self.earlier.insert(Token(oldest), slot);
        self.skip_closed();
    }

    fn skip_closed(&mut self) {
        while self.ended < self.issued && matches!(self.recent[self.position(self.ended + 1)], Slot::Closed) {
            self.ended += 1;
        }
    }

    /// The oldest token whose answer was not collected yet, or the next to be issued; of those that hold back settling.
    pub(crate) fn oldest_open(&mut self) -> Token {
        let first = self.earlier.first_key_value().map_or(self.ended + 1, |(token, _)| token.0);
        if self.apart.is_empty() {
            return Token(first);
        }
        // Each token is passed once, however many stand apart.
        self.settled = self.settled.max(first);
        while self.settled <= self.issued && !self.holds_back(Token(self.settled)) {
            self.settled += 1;
        }
        Token(self.settled)
    }

    fn holds_back(&self, token: Token) -> bool {
        let is_open = match token.0 {
            old if old <= self.ended => self.earlier.contains_key(&token),
            recent => !matches!(self.recent[self.position(recent)], Slot::Closed),
        };
        is_open && !self.apart.contains(&token)
    }

    fn get(&mut self, token: Token) -> Option<&mut Slot> {
        match token.0 {
            old if old <= self.ended => self.earlier.get_mut(&token),
            recent if recent <= self.issued => {
                let position = self.position(recent);
                self.recent.get_mut(position)
            }
            _ => None,
        }
    }

    /// Fills a slot. An answer that nobody waits for (a protocol's mistake, or a forgotten request) is dropped.
    pub(crate) fn fill(&mut self, token: Token, result: Result<Answer, Code>) {
        let asked = self.asked;
        let Some(slot) = self.get(token) else { return };
        let Slot::Open(watchers) = slot else { return };
        let watchers = watchers.take();
        *slot = Slot::Filled(result, asked);
        self.brought += 1;
        if let Some(watchers) = watchers {
            self.woken.extend(watchers.thread);
            self.due.extend(watchers.callbacks);
        }
    }

    /// Whether a request is unanswered, or its answer uncollected.
    pub(crate) fn has_open(&self) -> bool {
        !self.earlier.is_empty() || self.ended < self.issued
    }

    /// Whether a request is unanswered. O(open ones).
    pub(crate) fn has_unanswered(&self) -> bool {
        let is_open = |slot: &Slot| matches!(slot, Slot::Open(_));
        let mut recent = self.ended + 1..=self.issued;
        self.earlier.values().any(is_open) || recent.any(|token| is_open(&self.recent[self.position(token)]))
    }

    /// The requests without an answer, oldest first.
    pub(crate) fn unanswered(&self) -> Vec<Token> {
        let is_open = |slot: &Slot| matches!(slot, Slot::Open(_));
        let earlier = self.earlier.iter().filter(|(_, slot)| is_open(slot)).map(|(token, _)| *token);
        let recent =
            (self.ended + 1..=self.issued).filter(|token| is_open(&self.recent[self.position(*token)]));
        earlier.chain(recent.map(Token)).collect()
    }

    /// Ends every unanswered request with `code`.
    pub(crate) fn fail_all(&mut self, code: Code) {
        let earlier: Vec<Token> = self.earlier.keys().copied().collect();
        let recent = (self.ended + 1..=self.issued).map(Token);
        for token in earlier.into_iter().chain(recent) {
            self.fill(token, Err(code));
        }
    }

    /// Takes the result and closes the slot, if it was filled.
    pub(crate) fn take(&mut self, token: Token) -> Option<Result<Answer, Code>> {
        let slot = self.get(token).filter(|slot| matches!(slot, Slot::Filled(..)))?;
        let Slot::Filled(result, asked) = std::mem::replace(slot, Slot::Closed) else { return None };
        // One that was told of before does not stand for another that was not.
        self.brought -= usize::from(asked == self.asked);
        self.remove_closed(token);
        Some(result)
    }

    /// Whether the slot was filled, or is closed.
    pub(crate) fn is_filled(&mut self, token: Token) -> bool {
        self.get(token).is_none_or(|slot| !matches!(slot, Slot::Open(_)))
    }

    /// Whether slots were filled, and not emptied, since this was last asked.
    pub(crate) fn brought(&mut self) -> bool {
        self.asked += 1;
        std::mem::take(&mut self.brought) > 0
    }

    /// The result, which stays.
    pub(crate) fn peek(&mut self, token: Token) -> Option<Result<Answer, Code>> {
        match self.get(token)? {
            Slot::Filled(result, _) => Some(result.clone()),
            Slot::Open(_) | Slot::Closed => None,
        }
    }

    /// Closes a slot without its result. Gives back who watched it.
    pub(crate) fn close(&mut self, token: Token) -> Option<Box<Watchers>> {
        let slot = std::mem::replace(self.get(token)?, Slot::Closed);
        self.remove_closed(token);
        match slot {
            Slot::Open(watchers) => watchers,
            Slot::Filled(..) | Slot::Closed => None,
        }
    }

    fn remove_closed(&mut self, token: Token) {
        if !self.apart.is_empty() {
            self.apart.remove(&token);
        }
        if token.0 <= self.ended {
            self.earlier.remove(&token);
        } else {
            self.skip_closed();
        }
    }

    /// Who watches a slot, to be added to. None if it was filled already, or is closed.
    fn watchers(&mut self, token: Token) -> Option<&mut Watchers> {
        match self.get(token)? {
            Slot::Open(watchers) => Some(watchers.get_or_insert_default()),
            Slot::Filled(..) | Slot::Closed => None,
        }
    }

    /// Has this thread woken when the slot is filled. False if that has happened already.
    pub(crate) fn watch(&mut self, token: Token) -> bool {
        let watchers = self.watchers(token);
        watchers.map(|watchers| watchers.thread = Some(std::thread::current())).is_some()
    }

    /// Has `callback` called when the slot is filled. Gives it back if that has happened already.
    pub(crate) fn notify(&mut self, token: Token, callback: Callback) -> Option<Callback> {
        let Some(watchers) = self.watchers(token) else { return Some(callback) };
        watchers.callbacks.push(callback);
        None
    }

    /// The thread that waited for the slot does not sleep any more.
    pub(crate) fn unwatch(&mut self, token: Token) {
        if let Some(Slot::Open(Some(watchers))) = self.get(token) {
            watchers.thread = None;
        }
    }

    /// Threads whose slots were filled, to be woken after the lock was given back.
    pub(crate) fn woken(&mut self) -> Vec<Thread> {
        std::mem::take(&mut self.woken)
    }

    /// Callbacks of slots that were filled.
    pub(crate) fn due(&mut self) -> Vec<Callback> {
        std::mem::take(&mut self.due)
    }

    /// Some of them are to be called by somebody else.
    pub(crate) fn put_back(&mut self, due: Vec<Callback>) {
        let newer = std::mem::replace(&mut self.due, due);
        self.due.extend(newer);
    }

    /// A thread that still waits, to take over the polling of the link. O(open requests).
    pub(crate) fn any_waiting_thread(&self) -> Option<Thread> {
        self.earlier.values().chain(&self.recent).find_map(|slot| match slot {
            Slot::Open(Some(watchers)) => watchers.thread.clone(),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(token: Token) -> Result<Answer, Code> {
        Ok(Answer { kind: Kind(1), body: token.0.to_le_bytes().into(), bulk: Bytes::new() })
    }

    #[test]
    fn a_slot_gives_its_answer_once_however_old_it_is() {
        let mut slots = Slots::default();
        let kept: Vec<Token> = (0..RECENT_SLOTS * 3)
            .filter_map(|number| {
                let token = slots.open();
                if number % 7 == 0 {
                    return Some(token);
                }
                slots.fill(token, answer(token));
                assert_eq!(slots.take(token), Some(answer(token)));
                None
            })
            .collect();
        assert_eq!(slots.recent.len(), RECENT_SLOTS);
        for token in kept {
            assert_eq!(slots.oldest_open(), token);
            assert!(!slots.is_filled(token));
            assert_eq!(slots.unanswered().first(), Some(&token));
            slots.fill(token, answer(token));
            assert!(!slots.unanswered().contains(&token));
            slots.fill(token, Err(Code::PeerDied));
            assert_eq!(slots.take(token), Some(answer(token)));
            assert_eq!(slots.take(token), None);
        }
        let next = slots.oldest_open();
        assert_eq!(slots.open(), next);
    }

    #[test]
    fn what_stands_apart_holds_back_no_settling() {
        let mut slots = Slots::default();
        let (waits, counted) = (slots.open_apart(), slots.open());
        let also = slots.open_apart();
        assert_eq!(slots.oldest_open(), counted);
        slots.fill(counted, answer(counted));
        slots.take(counted);
        assert_eq!(slots.oldest_open(), Token(also.0 + 1), "the next to be issued");
        for _ in 0..RECENT_SLOTS * 2 {
            let token = slots.open();
            assert_eq!(slots.oldest_open(), token);
            slots.close(token);
        }
        assert_eq!(slots.unanswered(), [waits, also]);
        for token in [also, waits] {
            slots.fill(token, answer(token));
            assert_eq!(slots.take(token), Some(answer(token)));
        }
        assert!(slots.apart.is_empty());
        assert_eq!(slots.open(), slots.oldest_open());
    }

    #[test]
    fn however_many_stand_apart_the_oldest_that_does_not_is_known() {
        let mut slots = Slots::default();
        let mut counted = BTreeSet::new();
        for number in 0..50_000u64 {
            // Every hundredth is one that counts; it is closed fifty later, and those of the first half stand apart for long.
            match number % 100 {
                0 => _ = counted.insert(slots.open()),
                50 => _ = slots.close(counted.pop_first().expect("there is one")),
                _ => {
                    let token = slots.open_apart();
                    if number > 25_000 {
                        slots.close(token);
                    }
                }
            }
            let oldest = counted.first().copied().unwrap_or(Token(slots.issued + 1));
            assert_eq!(slots.oldest_open(), oldest);
        }
    }

    #[test]
    fn what_was_brought_is_told_of_whatever_was_taken_that_came_before() {
        let mut slots = Slots::default();
        let [early, late, own] = [(); 3].map(|()| slots.open());
        slots.fill(early, answer(early));
        assert!(slots.brought() && !slots.brought());
        slots.fill(late, answer(late));
        assert!(slots.take(early).is_some());
        assert!(slots.brought(), "the later one is still there");
        slots.fill(own, answer(own));
        assert!(slots.take(own).is_some());
        assert!(!slots.brought(), "whoever asked has it");
    }

    #[test]
    fn requests_are_answered_in_any_order() {
        let mut slots = Slots::default();
        let [first, second, third] = [slots.open(), slots.open(), slots.open()];
        slots.fill(second, answer(second));
        assert_eq!(slots.take(second), Some(answer(second)));
        assert_eq!(slots.oldest_open(), first);
        slots.close(first);
        assert_eq!(slots.oldest_open(), third);
        slots.fail_all(Code::PeerDied);
        assert_eq!(slots.peek(third), Some(Err(Code::PeerDied)));
        assert_eq!(slots.take(third), Some(Err(Code::PeerDied)));
        assert!(slots.is_filled(first));
    }

    #[test]
    fn whoever_watches_an_open_slot_is_woken_once() {
        let mut slots = Slots::default();
        let token = slots.open();
        assert!(slots.watch(token));
        assert!(slots.notify(token, Box::new(|| {})).is_none());
        assert!(slots.any_waiting_thread().is_some());
        slots.fill(token, answer(token));
        assert_eq!((slots.woken().len(), slots.due().len()), (1, 1));
        assert_eq!((slots.woken().len(), slots.due().len()), (0, 0));
        assert!(slots.any_waiting_thread().is_none());
        assert!(!slots.watch(token));
        assert!(slots.notify(token, Box::new(|| {})).is_some());
    }
}
