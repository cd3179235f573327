//! How long the operations of this process took, as interval logs of HdrHistogram (<https://hdrhistogram.github.io/HdrHistogram/>): each second a line for each
//! kind of operation that ended in it, with all its times, in nanoseconds, to three significant digits.

mod encoding;

use hdrhistogram::Histogram;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The length of an interval.
const INTERVAL: Duration = Duration::from_secs(1);
/// Longer times count as this one, half an hour: it limits the memory of a histogram to 0.3 MB.
const LONGEST_NS: u64 = 1_800_000_000_000;
const SIGNIFICANT_DIGITS: u8 = 3;

/// Gathers times, and writes them in a thread of its own. Clones write to the same file; with the last of them the file ends.
#[derive(Clone)]
pub struct Histograms(Arc<Owner>);

struct Owner {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Whose thread it is: one that is forked from it has none.
    process: u32,
}

struct Shared {
    interval: Mutex<Interval>,
    changed: Condvar,
    log: Mutex<Log>,
}

/// What has ended since the last line.
struct Interval {
    times: BTreeMap<&'static str, Histogram<u64>>,
    begun: Instant,
    /// No more will come.
    is_over: bool,
}

/// The file. After its first failure nothing is written to it.
struct Log {
    file: Option<File>,
    begun: Instant,
}

impl Histograms {
    /// Begins an interval log in a new file.
    ///
    /// # Errors
    /// There is such a file, or it cannot be made; the system refuses a thread.
    pub fn create(path: &Path) -> io::Result<Histograms> {
        let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        write!(
            file,
            "#[Times of operations of quintet, in nanoseconds]\n#[Histogram log format version 1.3]\n#[StartTime: {since:.3} (seconds since epoch)]\n\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n"
        )?;
        let begun = Instant::now();
        let interval = Interval { times: BTreeMap::new(), begun, is_over: false };
        let shared = Arc::new(Shared {
            interval: Mutex::new(interval),
            changed: Condvar::new(),
            log: Mutex::new(Log { file: Some(file), begun }),
        });
        let writes = Arc::clone(&shared);
        let thread = Builder::new().name("quintet-histograms".to_owned()).spawn(move || writes.run())?;
        let thread = Mutex::new(Some(thread));
        Ok(Histograms(Arc::new(Owner { shared, thread, process: std::process::id() })))
    }

    /// An operation of this kind has ended after so long.
    pub(crate) fn add(&self, kind: &'static str, ns: u64) {
        let mut interval = lock(&self.0.shared.interval);
        let times = interval.times.entry(kind).or_insert_with(|| {
            Histogram::new_with_bounds(1, LONGEST_NS, SIGNIFICANT_DIGITS).expect("the bounds are in order")
        });
        times.saturating_record(ns.max(1));
    }

    /// Writes what has ended so far, without waiting for the end of the interval.
    pub fn flush(&self) {
        if self.0.process == std::process::id() {
            self.0.shared.write();
        }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            return;
        }
        lock(&self.shared.interval).is_over = true;
        self.shared.changed.notify_all();
        let thread = lock(&self.thread).take();
        // What it panicked of was told when it did.
        let _ = thread.map(JoinHandle::join);
    }
}

impl Shared {
    fn run(&self) {
        loop {
            let interval = lock(&self.interval);
            let waited = self.changed.wait_timeout_while(interval, INTERVAL, |interval| !interval.is_over);
            let is_over = waited.unwrap_or_else(PoisonError::into_inner).0.is_over;
            self.write();
            if is_over {
                return;
            }
        }
    }

    /// A line for each kind of which something has ended.
    fn write(&self) {
        // Before the times are taken: lines of a later interval stand below.
        let mut log = lock(&self.log);
        let (times, begun, ended) = {
            let mut interval = lock(&self.interval);
            let ended = Instant::now();
            let begun = std::mem::replace(&mut interval.begun, ended);
            (std::mem::take(&mut interval.times), begun, ended)
        };
        let (start, length) = (begun.duration_since(log.begun), ended.duration_since(begun));
        let (start, length) = (start.as_secs_f64(), length.as_secs_f64());
        let mut lines = String::new();
        for (kind, times) in &times {
            let (longest, encoded) = (times.max(), encoding::encode(times));
            // Writing to text does not fail.
            let _ = writeln!(lines, "Tag={kind},{start:.3},{length:.3},{longest}.0,{encoded}");
        }
        log.append(lines.as_bytes());
    }
}

impl Log {
    fn append(&mut self, lines: &[u8]) {
        let Some(file) = &mut self.file else { return };
        if let Err(error) = file.write_all(lines) {
            self.file = None;
            tracing::warn!(target: "quintet::histograms", %error, "the histograms of this process end here: {error}");
        }
    }
}

/// A panic elsewhere leaves whole histograms behind.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_testbed::TempDir;

    #[test]
    fn each_interval_has_a_line_for_each_kind_that_ended_in_it() {
        let folder = TempDir::new().expect("a temporary directory");
        let path = folder.join("worker.hlog");
        let histograms = Histograms::create(&path).expect("the folder is there");
        (1..=100).for_each(|number| histograms.add("take", number * 1_000));
        histograms.add("out", 0);
        histograms.flush();
        let first = std::fs::read_to_string(&path).expect("it is there");
        histograms.add("take", u64::MAX);
        drop(histograms);
        let log = std::fs::read_to_string(&path).expect("it is there");
        assert!(log.starts_with(&first) && first.contains("#[StartTime: "), "{log}");
        let lines = |kind: &str| log.lines().filter(|line| line.starts_with(&format!("Tag={kind},"))).count();
        // The thread may have written at any time.
        assert!((2..=3).contains(&lines("take")) && lines("out") == 1, "{log}");
        assert!(log.lines().any(|line| line.contains(",100031.0,HISTFAAAA")), "to three digits: {log}");
        assert!(log.lines().any(|line| line.contains(",1800")), "no time is longer than half an hour: {log}");
        assert!(Histograms::create(&path).is_err(), "nothing is written over");
    }
}
