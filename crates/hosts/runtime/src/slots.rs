//! Where answers wait for their callers.

use bytes::Bytes;
use quintet_contract::{Kind, Token};
use quintet_errors::Code;
use std::collections::BTreeMap;
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

/// Who wants to know that a slot was filled.
pub(crate) enum Waker {
    Thread(Thread),
    Callback(Box<dyn FnOnce() + Send>),
}

impl Waker {
    /// To be called after the lock was given back.
    pub(crate) fn wake(self) {
        match self {
            Waker::Thread(thread) => thread.unpark(),
            Waker::Callback(callback) => callback(),
        }
    }
}

#[derive(Default)]
struct Slot {
    result: Option<Result<Answer, Code>>,
    /// The thread that waits. Another one that waits for the same slot takes its place.
    thread: Option<Thread>,
    /// Who asked to be told besides.
    callbacks: Vec<Box<dyn FnOnce() + Send>>,
}

impl Slot {
    fn fill(&mut self, result: Result<Answer, Code>, woken: &mut Vec<Waker>) {
        self.result = Some(result);
        woken.extend(self.thread.take().map(Waker::Thread));
        woken.extend(self.callbacks.drain(..).map(Waker::Callback));
    }
}

/// The unanswered and uncollected requests of a process, by token.
#[derive(Default)]
pub(crate) struct Slots {
    /// The one opened last: most calls are answered before the next begins, and never touch the map.
    latest: Option<(Token, Slot)>,
    earlier: BTreeMap<Token, Slot>,
    issued: u64,
    woken: Vec<Waker>,
}

impl Slots {
    /// A token for a new request, larger than every earlier one.
    pub(crate) fn open(&mut self) -> Token {
        self.earlier.extend(self.latest.take());
        self.issued += 1;
        let token = Token(self.issued);
        self.latest = Some((token, Slot::default()));
        token
    }

    /// The oldest token whose answer was not collected yet, or the next to be issued.
    pub(crate) fn oldest_open(&self) -> Token {
        let latest = self.latest.as_ref().map(|(token, _)| *token);
        self.earlier.keys().next().copied().or(latest).unwrap_or(Token(self.issued + 1))
    }

    fn get(&mut self, token: Token) -> Option<&mut Slot> {
        match &mut self.latest {
            Some((latest, slot)) if *latest == token => Some(slot),
            _ => self.earlier.get_mut(&token),
        }
    }

    fn all(&mut self) -> impl Iterator<Item = &mut Slot> {
        self.earlier.values_mut().chain(self.latest.iter_mut().map(|(_, slot)| slot))
    }

    /// Fills a slot. An answer that nobody waits for (a protocol's mistake, or a forgotten request) is dropped.
    pub(crate) fn fill(&mut self, token: Token, result: Result<Answer, Code>) {
        let mut woken = std::mem::take(&mut self.woken);
        if let Some(slot) = self.get(token) {
            slot.fill(result, &mut woken);
        }
        self.woken = woken;
    }

    /// Ends every unanswered request with `code`.
    pub(crate) fn fail_all(&mut self, code: Code) {
        let mut woken = std::mem::take(&mut self.woken);
        for slot in self.all().filter(|slot| slot.result.is_none()) {
            slot.fill(Err(code), &mut woken);
        }
        self.woken = woken;
    }

    /// Takes the result and closes the slot, if it was filled.
    pub(crate) fn take(&mut self, token: Token) -> Option<Result<Answer, Code>> {
        let result = self.get(token)?.result.take()?;
        self.close(token);
        Some(result)
    }

    /// The result, which stays.
    pub(crate) fn peek(&mut self, token: Token) -> Option<Result<Answer, Code>> {
        self.get(token)?.result.clone()
    }

    /// Closes a slot without its result.
    pub(crate) fn close(&mut self, token: Token) {
        if self.latest.as_ref().is_some_and(|(latest, _)| *latest == token) {
            self.latest = None;
        } else {
            self.earlier.remove(&token);
        }
    }

    /// Sets who is told when the slot is filled. Gives the waker back if that has happened already.
    pub(crate) fn watch(&mut self, token: Token, waker: Waker) -> Result<(), Waker> {
        match self.get(token) {
            Some(slot) if slot.result.is_none() => {
                match waker {
                    Waker::Thread(thread) => slot.thread = Some(thread),
                    Waker::Callback(callback) => slot.callbacks.push(callback),
                }
                Ok(())
            }
            _ => Err(waker),
        }
    }

    /// The thread that waited for the slot does not sleep any more.
    pub(crate) fn unwatch(&mut self, token: Token) {
        if let Some(slot) = self.get(token) {
            slot.thread = None;
        }
    }

    /// Wakers of slots that were filled, to be called after the lock was given back.
    pub(crate) fn woken(&mut self) -> Vec<Waker> {
        std::mem::take(&mut self.woken)
    }

    /// A thread that still waits, to take over the polling of the link.
    pub(crate) fn any_waiting_thread(&mut self) -> Option<Thread> {
        self.all().find_map(|slot| slot.thread.clone())
    }
}
