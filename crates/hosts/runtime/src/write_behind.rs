//! Writing what was begun a moment later, so that one system call carries many requests.
//!
//! A request that is begun, and not waited for yet, may be one of many. Where writing costs a system call the first of them is
//! written at once; those that follow close behind it wait to be written together: until somebody waits for an answer, until there
//! are [`TOGETHER`] of them, or for [`DELAY`], whichever comes first. The last is seen to by a thread of its own, the writer, which
//! sleeps while nothing is put off, so that a program that begins something and then computes has it sent all the same.

use crate::calls::Calls;
use quintet_contract::{Span, Time};
use std::sync::{Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{Builder, JoinHandle, park, park_timeout};

/// How long a request waits to be written, but for what the system takes to run the writer.
const DELAY: Span = Span::from_micros(200);
/// So many are written together at most: the peer is to have work while the next ones are begun.
const TOGETHER: u32 = 32;

/// Decides for one connection, and wakes its writer.
///
/// The writer holds the calls while it writes. Their owner ends it first, so that the calls end on the owner's thread, and before it
/// goes on.
pub(crate) struct WriteBehind {
    calls: Weak<Calls>,
    state: Mutex<State>,
}

/// Used under the engine's lock, but for the writer's end.
#[derive(Default)]
struct State {
    /// When requests were written last because one was begun.
    written: Time,
    /// Requests that wait to be written.
    waiting: u32,
    writer: Writer,
    /// Whether something was put off since the writer looked last.
    is_busy: bool,
}

/// What the writer does after it has written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// Something was put off since it looked last.
    LookAgain,
    Sleep,
    End,
}

/// The thread that writes what nobody else does.
#[derive(Default)]
enum Writer {
    #[default]
    NotStarted,
    Sleeping(JoinHandle<()>),
    Awake(JoinHandle<()>),
    /// The system had none, or it has ended: nothing is put off.
    Gone,
}

impl WriteBehind {
    pub(crate) fn new(calls: Weak<Calls>) -> Self {
        WriteBehind { calls, state: Mutex::default() }
    }

    /// Whether the request just begun may be written later. `is_first`: no other waits to be written.
    pub(crate) fn puts_off(&self, now: Time, is_first: bool) -> bool {
        let mut state = self.lock();
        state.puts_off(now, is_first) && state.wake_writer(&self.calls)
    }

    /// The writer has written what there was.
    pub(crate) fn wrote(&self) -> Next {
        let mut state = self.lock();
        let is_busy = core::mem::take(&mut state.is_busy);
        match core::mem::take(&mut state.writer) {
            Writer::Gone => {
                state.writer = Writer::Gone;
                Next::End
            }
            Writer::Awake(writer) if !is_busy => {
                state.writer = Writer::Sleeping(writer);
                Next::Sleep
            }
            writer => {
                state.writer = writer;
                Next::LookAgain
            }
        }
    }

    /// Ends the writer, and waits for it, unless it calls this itself. Nothing is put off any more. To be called without the engine's lock.
    pub(crate) fn end(&self) {
        let writer = core::mem::replace(&mut self.lock().writer, Writer::Gone);
        if let Writer::Sleeping(writer) | Writer::Awake(writer) = writer {
            writer.thread().unpark();
            if writer.thread().id() != std::thread::current().id() {
                // It has nothing to say, and a panic was told as it happened.
                let _ = writer.join();
            }
        }
    }

    /// Has its lock held, as by a thread that a forked process does not have.
    #[cfg(test)]
    pub(crate) fn hold_for_ever(&self) {
        core::mem::forget(self.lock());
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn puts_off(&mut self, now: Time, is_first: bool) -> bool {
        if is_first {
            self.waiting = 0;
        }
        self.waiting += 1;
        let is_alone = is_first && now.since(self.written) >= DELAY;
        if is_alone || self.waiting == TOGETHER {
            self.written = now;
            return false;
        }
        true
    }

    /// Sees to it that the writer looks after [`DELAY`]. False if there is none.
    fn wake_writer(&mut self, calls: &Weak<Calls>) -> bool {
        self.is_busy = true;
        self.writer = match core::mem::take(&mut self.writer) {
            Writer::NotStarted => start(Weak::clone(calls)),
            Writer::Sleeping(thread) => {
                thread.thread().unpark();
                Writer::Awake(thread)
            }
            other => other,
        };
        !matches!(self.writer, Writer::Gone)
    }
}

fn start(calls: Weak<Calls>) -> Writer {
    let thread = Builder::new().name("quintet-writer".to_owned()).spawn(move || write(&calls));
    thread.map_or(Writer::Gone, Writer::Awake)
}

/// What the writer does, until it is ended or the calls are gone.
fn write(calls: &Weak<Calls>) {
    loop {
        park_timeout(DELAY.into());
        match calls.upgrade().map(|calls| calls.write_put_off()) {
            Some(Next::LookAgain) => {}
            Some(Next::Sleep) => park(),
            Some(Next::End) | None => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOSE: Span = Span(DELAY.0 / 2);

    #[test]
    fn the_first_is_written_at_once_and_those_close_behind_it_together() {
        let mut state = State::default();
        let mut now = Time::ZERO + DELAY;
        assert!(!state.puts_off(now, true), "the first");
        now += CLOSE;
        assert!(state.puts_off(now, true), "close behind it");
        for number in 2..TOGETHER {
            assert!(state.puts_off(now, false), "{number} of {TOGETHER}");
        }
        assert!(!state.puts_off(now, false), "as many as are written together");
        assert!(state.puts_off(now + CLOSE, true));
        assert!(!state.puts_off(now + DELAY, true), "alone again");
    }

    #[test]
    fn what_was_written_meanwhile_is_not_counted_again() {
        let mut state = State::default();
        let now = Time::ZERO + DELAY;
        assert!(!state.puts_off(now, true));
        for _ in 0..TOGETHER * 3 {
            assert!(state.puts_off(now, true), "somebody waited, which wrote the one before");
        }
    }

    #[test]
    fn the_writer_ends_with_the_calls() {
        write(&Weak::new());
    }

    #[test]
    fn after_the_end_nothing_is_put_off() {
        let now = Time::ZERO + DELAY;
        let write_behind = WriteBehind::new(Weak::new());
        assert!(!write_behind.puts_off(now, true) && write_behind.puts_off(now, true));
        assert_eq!((write_behind.wrote(), write_behind.wrote()), (Next::LookAgain, Next::Sleep));
        assert!(write_behind.puts_off(now, false));
        write_behind.end();
        assert!(!write_behind.puts_off(now, false));
        assert_eq!(write_behind.wrote(), Next::End);
    }
}
