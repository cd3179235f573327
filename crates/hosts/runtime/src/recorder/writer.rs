//! Writes a recording from a thread of its own, so that who records does not wait for a disk.
//!
//! What is not written yet lies in a buffer with a limit. When it is full, who records waits a little for room; then the recording
//! is over: one with a gap would be none, and a longer wait would stop all that goes on in front of it.

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The thread is woken when so many bytes wait, not for each entry.
const WORTH_WRITING: usize = 8 << 10;
/// Bytes written at once. There is room for others after each.
const SLICE: usize = 1 << 20;
/// How long the end of a recording waits for a disk that takes nothing.
const LAST_PATIENCE: Duration = Duration::from_secs(30);

/// What may be kept for a slow disk.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// Bytes that are not written yet. A longer entry has the buffer for itself.
    pub(super) buffer_bytes: usize,
    /// How long an entry waits for room.
    pub(super) patience: Duration,
}

impl Default for Limits {
    /// 64 MiB and two seconds.
    fn default() -> Self {
        Limits { buffer_bytes: 64 << 20, patience: Duration::from_secs(2) }
    }
}

/// The side of who records. Clones write to the same file.
#[derive(Clone)]
pub(super) struct Writer {
    shared: Arc<Shared>,
    limits: Limits,
    /// The process whose thread writes. In one that is forked from it nobody does.
    process: u32,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// What the thread did not take yet.
    waiting: Vec<u8>,
    /// Bytes of that, and of what it took and did not write yet.
    unwritten: usize,
    /// Somebody waits until it is written, be it ever so little.
    is_wanted: bool,
    /// Nothing more will come.
    is_closed: bool,
    /// The thread has ended, and the file is closed.
    is_over: bool,
    /// What the file said.
    failed: Option<io::Error>,
}

impl Writer {
    /// # Errors
    /// The system refuses a thread.
    pub(super) fn start(to: impl Write + Send + 'static, limits: Limits) -> io::Result<Writer> {
        let shared = Arc::<Shared>::default();
        let writer = Writer { shared: Arc::clone(&shared), limits, process: std::process::id() };
        std::thread::Builder::new().name("quintet-record".to_owned()).spawn(move || shared.write(to))?;
        Ok(writer)
    }

    /// Adds these bytes to the file.
    ///
    /// # Errors
    /// What the file said of earlier ones; there was no room for these.
    pub(super) fn put(&self, parts: [&[u8]; 2]) -> io::Result<()> {
        self.check_process()?;
        let length = parts[0].len() + parts[1].len();
        let limit = self.limits.buffer_bytes;
        let full = |state: &State| state.unwritten > 0 && state.unwritten.saturating_add(length) > limit;
        let mut state = self.shared.lock();
        if full(&state) {
            state =
                self.wait_while(state, self.limits.patience, |state| full(state) && state.failed.is_none());
        }
        if let Some(error) = &state.failed {
            return Err(copy(error));
        }
        if full(&state) {
            return Err(self.too_slow(&state));
        }
        let before = state.waiting.len();
        parts.iter().for_each(|part| state.waiting.extend_from_slice(part));
        state.unwritten += length;
        if before < WORTH_WRITING && state.waiting.len() >= WORTH_WRITING {
            self.shared.changed.notify_all();
        }
        Ok(())
    }

    /// Waits until all is written and the file is closed.
    ///
    /// # Errors
    /// What the file said; or it took nothing for half a minute.
    pub(super) fn finish(&self) -> io::Result<()> {
        self.check_process()?;
        let mut state = self.shared.lock();
        state.is_closed = true;
        self.shared.changed.notify_all();
        while !state.is_over {
            let before = state.unwritten;
            state =
                self.wait_while(state, LAST_PATIENCE, |state| !state.is_over && state.unwritten == before);
            if !state.is_over && state.unwritten == before {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "the disk takes nothing; the end is missing",
                ));
            }
        }
        state.failed.as_ref().map_or(Ok(()), |error| Err(copy(error)))
    }

    /// Lets the thread end when all is written, and waits for nothing.
    pub(super) fn close(&self) {
        if self.check_process().is_ok() {
            self.shared.lock().is_closed = true;
            self.shared.changed.notify_all();
        }
    }

    /// Before the lock, which the thread may have had when a process was forked.
    fn check_process(&self) -> io::Result<()> {
        if self.process == std::process::id() {
            return Ok(());
        }
        Err(io::Error::other("another process records: this one was forked from it"))
    }

    fn wait_while<'a>(
        &self,
        mut state: MutexGuard<'a, State>,
        patience: Duration,
        condition: impl Fn(&State) -> bool,
    ) -> MutexGuard<'a, State> {
        let began = Instant::now();
        while condition(&state) {
            let Some(left) = patience.checked_sub(began.elapsed()).filter(|left| !left.is_zero()) else {
                break;
            };
            state.is_wanted = true;
            self.shared.changed.notify_all();
            let waited = self.shared.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state
    }

    fn too_slow(&self, state: &State) -> io::Error {
        let Limits { buffer_bytes, patience } = self.limits;
        let text = format!(
            "the disk is too slow: {} of {buffer_bytes} bytes of the buffer were not written, and in {patience:?} there was \
             no room for more; the recording ends before them",
            state.unwritten
        );
        io::Error::new(io::ErrorKind::TimedOut, text)
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere leaves whole entries behind.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread: writes until nothing more comes, or can be written.
    fn write(&self, mut to: impl Write) {
        let mut taken = Vec::new();
        let mut done = Ok(());
        while done.is_ok() && self.take(&mut taken) {
            done = self.write_slices(&mut to, &taken);
            taken.clear();
            taken.shrink_to(SLICE);
        }
        let done = done.and_then(|()| to.flush());
        drop(to);
        let mut state = self.lock();
        state.failed = done.err();
        state.is_over = true;
        self.changed.notify_all();
    }

    /// Waits for something worth writing, and takes it. False: nothing more comes.
    fn take(&self, taken: &mut Vec<u8>) -> bool {
        let mut state = self.lock();
        while state.waiting.is_empty() || (state.waiting.len() < WORTH_WRITING && !state.is_wanted) {
            if state.is_closed {
                break;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.is_wanted = false;
        core::mem::swap(&mut state.waiting, taken);
        !taken.is_empty()
    }

    fn write_slices(&self, to: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
        for slice in bytes.chunks(SLICE) {
            to.write_all(slice)?;
            self.lock().unwritten -= slice.len();
            self.changed.notify_all();
        }
        Ok(())
    }
}

/// An error that is told again.
pub(super) fn copy(error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), error.to_string())
}

#[cfg(test)]
mod tests;
