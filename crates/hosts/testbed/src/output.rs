//! What a child says.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The captured lines of one child, from its output and its errors as they come. A thread each reads them, so that no
/// child waits for a full pipe.
#[derive(Clone, Debug, Default)]
pub struct Output(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    all: Vec<String>,
    unread: VecDeque<String>,
    open: usize,
}

impl Output {
    /// Reads `from` to its end, in a thread of its own.
    pub(crate) fn capture(&self, from: impl Read + Send + 'static) {
        self.lock().open += 1;
        let output = self.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(from).split(b'\n').map_while(Result::ok) {
                output.push(String::from_utf8_lossy(&line).trim_end().to_owned());
            }
            output.lock().open -= 1;
            output.0.changed.notify_all();
        });
    }

    /// The next line that was not read yet. `None` if the child closed its output, or none came within `limit`.
    #[must_use]
    pub fn next_line(&self, limit: Duration) -> Option<String> {
        let deadline = Instant::now() + limit;
        let mut state = self.lock();
        loop {
            if let Some(line) = state.unread.pop_front() {
                return Some(line);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if state.open == 0 || left.is_zero() {
                return None;
            }
            state = self.0.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Reads lines until one begins with `start`, and gives what follows it there. `None` as [`Output::next_line`].
    #[must_use]
    pub fn wait_for(&self, start: &str, limit: Duration) -> Option<String> {
        let deadline = Instant::now() + limit;
        loop {
            let line = self.next_line(deadline.saturating_duration_since(Instant::now()))?;
            if let Some(rest) = line.strip_prefix(start) {
                return Some(rest.to_owned());
            }
        }
    }

    /// Everything so far, read or not: for the message of a test that fails.
    #[must_use]
    pub fn text(&self) -> String {
        self.lock().all.join("\n")
    }

    fn push(&self, line: String) {
        let mut state = self.lock();
        state.all.push(line.clone());
        state.unread.push_back(line);
        self.0.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
