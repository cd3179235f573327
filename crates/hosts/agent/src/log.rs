//! Files that say what happens, a line each: written by a thread of their own, begun anew when they are long, with repeats counted.
//!
//! Whoever has something to tell hands it over and does not wait: the disk may be slow, or full. What comes again and again is told once, and
//! then with its count: after a minute, after two more, and so on up to an hour. A file that has become long is renamed, and the one that had
//! that name before is gone: two of them are there at most.
//!
//! | file | holds |
//! | --- | --- |
//! | `log.rs` | [`Log`]: the thread; [`Entry`]: what it is given |
//! | `line_file.rs` | [`LineFile`]: the file |
//! | `repeats.rs` | what is told, and what is only counted |
//! | `text.rs` | times, and text of others, on one line |

mod line_file;
mod repeats;
mod text;

pub use line_file::LineFile;
pub use text::{escaped, on_one_line, rfc_3339};

use repeats::Repeats;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

/// Bytes of such a file, about: a longer one is begun anew.
pub const LONGEST: u64 = 1 << 20;
/// Entries that wait to be written. Further ones are counted.
const WAITING: usize = 1024;

/// Something to be told.
pub trait Entry: Send + 'static {
    /// By what entries that say the same are known.
    type Key: Ord + Send;
    /// What is written of it.
    type Line: Send;

    /// What it says; none if it is told whenever it comes.
    fn key(&self) -> Option<Self::Key>;

    /// How often that has happened.
    fn times(&self) -> u64;

    /// The line, without its end, where that has happened so often.
    fn line(&self, times: u64) -> Self::Line;

    /// The line that says that so many were not told apart.
    fn line_of_others(count: u64) -> Self::Line;
}

/// Takes a line, which it may not be able to write.
pub type WriteLine<L> = Box<dyn FnMut(L) -> io::Result<()> + Send>;

/// A file that says what happens. Dropped, it has everything written that was handed over.
pub struct Log<E: Entry> {
    entries: Mutex<Option<SyncSender<E>>>,
    /// Those for which there was no room.
    dropped: Arc<AtomicU64>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl<E: Entry> Log<E> {
    /// Begins one. `write` writes its lines, `trouble` is told why it cannot, once until it can again.
    ///
    /// # Errors
    /// The system refuses a thread.
    pub fn start(
        name: &str,
        write: WriteLine<E::Line>,
        trouble: Box<dyn Fn(&io::Error) + Send>,
    ) -> io::Result<Log<E>> {
        let (entries, taken) = sync_channel(WAITING);
        let dropped = Arc::<AtomicU64>::default();
        let mut writer = Writer::<E> { write, trouble, in_trouble: false };
        let uncounted = Arc::clone(&dropped);
        let thread = std::thread::Builder::new().name(name.to_owned());
        let thread = thread.spawn(move || write_all(&taken, &uncounted, &mut writer))?;
        Ok(Log { entries: Mutex::new(Some(entries)), dropped, thread: Mutex::new(Some(thread)) })
    }

    /// Hands something over, and does not wait. After [`Log::finish`] it is lost.
    pub fn tell(&self, entry: E) {
        if let Some(entries) = &*lock(&self.entries)
            && let Err(TrySendError::Full(entry)) = entries.try_send(entry)
        {
            self.dropped.fetch_add(entry.times(), Ordering::Relaxed);
        }
    }

    /// Has everything written that was handed over, with the counts of what was not told, and ends.
    pub fn finish(&self) {
        *lock(&self.entries) = None;
        if let Some(thread) = lock(&self.thread).take() {
            // What it panicked of was told when it did.
            let _ = thread.join();
        }
    }
}

impl<E: Entry> Drop for Log<E> {
    fn drop(&mut self) {
        self.finish();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Writer<E: Entry> {
    write: WriteLine<E::Line>,
    trouble: Box<dyn Fn(&io::Error) + Send>,
    /// Whether the last line could not be written.
    in_trouble: bool,
}

impl<E: Entry> Writer<E> {
    fn write(&mut self, line: E::Line) {
        let written = (self.write)(line);
        if let Err(error) = &written
            && !self.in_trouble
        {
            (self.trouble)(error);
        }
        self.in_trouble = written.is_err();
    }
}

/// Writes what comes until nobody is left who could tell something.
fn write_all<E: Entry>(entries: &Receiver<E>, dropped: &AtomicU64, writer: &mut Writer<E>) {
    let mut repeats = Repeats::<E>::default();
    loop {
        let due = repeats.due().map(|due| due.saturating_duration_since(Instant::now()));
        let entry = match due {
            Some(wait) => entries.recv_timeout(wait),
            None => entries.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match entry {
            Ok(entry) => repeats.take(entry, Instant::now()).into_iter().for_each(|line| writer.write(line)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        repeats.count_others(dropped.swap(0, Ordering::Relaxed));
        repeats.lines_due(Instant::now()).into_iter().for_each(|line| writer.write(line));
    }
    repeats.count_others(dropped.swap(0, Ordering::Relaxed));
    repeats.lines_left().into_iter().for_each(|line| writer.write(line));
}

#[cfg(test)]
mod tests;
