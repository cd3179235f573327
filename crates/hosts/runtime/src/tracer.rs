//! A process's part of a trace for the viewer Perfetto. The parts of several processes of one machine, one after the other, are one trace: they read one clock.
//!
//! What is told goes to the file at once, so that the part of a process that is killed has all up to then. A part has a limit: after it nothing more is
//! written, and the trace says so.

use quintet_clock::monotonic;
use quintet_perfetto::{Detail, Flow, Perfetto, Track};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of a part.
const MAX_PART_BYTES: usize = 64 << 20;
/// Tracks of a part: of two parts, those have different numbers.
const MAX_TRACKS: u64 = 1 << 32;

/// Writes this process's part. Clones write to the same file.
#[derive(Clone)]
pub struct Tracer {
    part: Arc<Mutex<Part>>,
    /// Whose part it is: one that is forked from it leaves it alone.
    process: u32,
}

/// Something that goes on, as a slice of a lane. Dropped, it ends.
#[must_use = "a slice ends when it is dropped"]
pub struct Slice {
    tracer: Tracer,
    at: Place,
}

/// A lane, and which of its kind.
#[derive(Clone, Copy)]
pub(crate) struct Place(Group, usize);

/// Slices that overlap lie in lanes of their own, as many as overlap at a time.
#[derive(Clone, Copy)]
pub(crate) enum Group {
    Operations,
    Tasks,
}

/// The process's part.
pub(crate) struct Part {
    trace: Perfetto<Vec<u8>>,
    file: File,
    /// Bytes that may still be written.
    room: usize,
    process: Track,
    operations: Lanes,
    tasks: Lanes,
}

/// Lanes of one kind, and whether something goes on in each.
struct Lanes {
    name: &'static str,
    lanes: Vec<(Track, bool)>,
}

impl Tracer {
    /// Begins this process's part in a new file, under the name by which the viewer shows the process.
    ///
    /// # Errors
    /// There is such a file, or it cannot be made.
    pub fn create(path: &Path, name: &str) -> io::Result<Tracer> {
        Tracer::create_within(path, name, MAX_PART_BYTES)
    }

    /// The same, of so many bytes.
    fn create_within(path: &Path, name: &str, room: usize) -> io::Result<Tracer> {
        let file = OpenOptions::new().write(true).create_new(true).open(path)?;
        let id = std::process::id();
        let mut trace = Perfetto::part(Vec::new(), id, u64::from(id) * MAX_TRACKS);
        let process = trace.process(id, name);
        let lanes = |name| Lanes { name, lanes: Vec::new() };
        let (operations, tasks) = (lanes("operations"), lanes("tasks"));
        let mut part = Part { trace, file, room, process, operations, tasks };
        part.write();
        Ok(Tracer { part: Arc::new(Mutex::new(part)), process: id })
    }

    /// Something begins that is worth a slice of its own among the tasks of this process.
    pub fn begin_task(&self, name: &str, details: &[(&str, Detail<'_>)]) -> Slice {
        let at = self.lock().begin(monotonic(), Group::Tasks, name, details);
        Slice { tracer: self.clone(), at }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Part> {
        // A panic elsewhere leaves whole packets behind.
        self.part.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slice {
    fn drop(&mut self) {
        // In a forked process the lock may be held for good, and the file is another's.
        if self.tracer.process != std::process::id() {
            return;
        }
        let mut part = self.tracer.lock();
        part.end(monotonic(), self.at);
        part.write();
    }
}

impl Part {
    fn lanes(&mut self, group: Group) -> &mut Lanes {
        match group {
            Group::Operations => &mut self.operations,
            Group::Tasks => &mut self.tasks,
        }
    }

    /// Something begins, in the first lane that is free.
    pub(crate) fn begin(
        &mut self,
        at: u64,
        group: Group,
        name: &str,
        details: &[(&str, Detail<'_>)],
    ) -> Place {
        let lanes = self.lanes(group);
        let free = lanes.lanes.iter().position(|(_, is_busy)| !is_busy);
        let (index, title) = (free.unwrap_or(lanes.lanes.len()), lanes.name);
        if free.is_none() {
            let track = self.trace.track(title, Some(self.process));
            self.lanes(group).lanes.push((track, false));
        }
        let (track, is_busy) = &mut self.lanes(group).lanes[index];
        *is_busy = true;
        let track = *track;
        self.trace.begin_with(at, track, name, details, &[]);
        self.write();
        Place(group, index)
    }

    /// It ends.
    pub(crate) fn end(&mut self, at: u64, Place(group, index): Place) {
        let (track, is_busy) = &mut self.lanes(group).lanes[index];
        *is_busy = false;
        let track = *track;
        self.trace.end(at, track);
    }

    /// A track of its own for an instance.
    pub(crate) fn track(&mut self, name: &str) -> Track {
        self.trace.track(name, Some(self.process))
    }

    /// An instance was given something and did something.
    pub(crate) fn step(
        &mut self,
        track: Track,
        (begun, ended): (u64, u64),
        name: &str,
        details: &[(&str, Detail<'_>)],
        flows: &[Flow],
    ) {
        self.trace.begin_with(begun, track, name, details, flows);
        self.trace.end(ended, track);
    }

    /// Writes what was told. Where the disk takes no more, or the limit is reached, that was the last.
    pub(crate) fn write(&mut self) {
        let told = std::mem::take(self.trace.target());
        if told.len() <= self.room {
            self.room -= told.len();
            if let Err(error) = self.file.write_all(&told) {
                self.room = 0;
                tracing::warn!(target: "quintet::trace", %error, "this process's part of the trace ends here: {error}");
            }
        } else if self.room > 0 {
            self.room = 0;
            let text = "this process's part of the trace is full, and ends here";
            self.trace.instant(monotonic(), self.process, text, &[]);
            // The very last, and a little beyond the limit.
            let _ = self.file.write_all(&std::mem::take(self.trace.target()));
            tracing::warn!(target: "quintet::trace", "{text}");
        }
        // Its room serves the next.
        let mut told = told;
        told.clear();
        *self.trace.target() = told;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_perfetto::whole_packets;
    use quintet_testbed::TempDir;

    #[test]
    fn a_part_ends_at_its_limit_and_says_so() {
        const ROOM: usize = 1_000;
        let folder = TempDir::new().expect("a temporary directory");
        let path = folder.join("1.part");
        let tracer = Tracer::create_within(&path, "worker 1", ROOM).expect("the folder is there");
        let read = || std::fs::read(&path).expect("it is there");
        drop(tracer.begin_task("first", &[]));
        let written = read();
        assert!(written.len() < ROOM / 2 && written == whole_packets(&written), "all is written at once");
        (0..100).for_each(|_| drop(tracer.begin_task("another", &[])));
        let full = read();
        assert!(full.len() <= ROOM + 100 && full == whole_packets(&full), "{} bytes", full.len());
        assert!(full.windows(7).any(|window| window == b"is full"), "it says so");
        drop(tracer.begin_task("late", &[]));
        assert_eq!(read(), full, "nothing is written after that");
        assert!(Tracer::create(&path, "other").is_err(), "nothing is written over");
    }
}
