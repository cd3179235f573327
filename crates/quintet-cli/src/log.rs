//! `--log`, `--log-format`: the events of this process on standard error, or in a file.
//!
//! What happens is told to `tracing` wherever it happens; this is the one place that listens, in the command only. Lines are written by a thread of
//! their own: nobody who reads them late, or not at all, holds up what tells them.

use crate::connection::refused;
use clap::{Args, ValueEnum};
use quintet::{Code, Error};
use quintet_agent::log::{on_one_line, rfc_3339};
use quintet_settings::{LOG_FILTER, LOG_FORMAT, Settings};
use serde_json::json;
use std::io::{self, Write, stderr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::Builder;
use std::time::{Duration, SystemTime};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::{MakeWriter, layer};
use tracing_subscriber::layer::SubscriberExt;

/// Lines that may wait to be written. Further ones are left out, and counted.
const WAITING: usize = 1024;
/// How long the end of this process waits for who reads the lines.
const LAST_PATIENCE: Duration = Duration::from_secs(1);

#[derive(Args, Clone)]
pub(crate) struct LogArguments {
    /// Which events are written to standard error: a level, or rules TARGET=LEVEL with commas between them; else the setting log.filter
    #[arg(long, value_name = "FILTER")]
    log: Option<String>,
    /// How they are written; else the setting log.format
    #[arg(long, value_enum, value_name = "FORMAT")]
    log_format: Option<Format>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Format {
    /// A line for people
    Text,
    /// An object a line
    Json,
}

impl Format {
    fn name(self) -> &'static str {
        match self {
            Format::Text => "text",
            Format::Json => "json",
        }
    }
}

/// Takes a line without its end.
pub(crate) type Sink = Box<dyn FnMut(&str) -> io::Result<()> + Send>;

/// Lines on standard error.
pub(crate) fn to_standard_error() -> Sink {
    Box::new(|line| writeln!(stderr(), "{line}"))
}

/// The events of this process, which are written. Dropped, it waits as [`Log::flush`] does.
pub(crate) struct Log(SyncSender<Line>);

/// For the thread that writes.
enum Line {
    Event(String),
    /// Everything before was written.
    Reached(Sender<()>),
}

impl LogArguments {
    /// The same options, for another process of this program.
    pub(crate) fn words(&self) -> Vec<String> {
        let filter = self.log.iter().flat_map(|filter| ["--log".to_owned(), filter.clone()]);
        let format = self.log_format.iter().flat_map(|format| ["--log-format", format.name()]);
        filter.chain(format.map(str::to_owned)).collect()
    }

    /// Looks whether there is such a filter and such a format.
    ///
    /// # Errors
    /// [`Code::BadValue`]: there is not.
    pub(crate) fn look(&self, settings: &Settings) -> Result<(), Error> {
        self.chosen(settings).map(drop)
    }

    /// Which events, and how they are written.
    fn chosen(&self, settings: &Settings) -> Result<(Targets, Format), Error> {
        let filter = self.log.as_deref().unwrap_or(settings.text(&LOG_FILTER));
        let targets = targets(filter)?;
        let format = match self.log_format {
            Some(format) => format,
            None => {
                let word = settings.text(&LOG_FORMAT);
                Format::from_str(word, false).map_err(|_| {
                    Error::new(Code::BadValue, format!("log.format: it is {word:?}, expected text or json"))
                })?
            }
        };
        Ok((targets, format))
    }

    /// From now on this process writes its events there.
    ///
    /// # Errors
    /// Those of [`LogArguments::look`]; or the system refused.
    pub(crate) fn start(&self, sink: Sink, settings: &Settings) -> Result<Log, Error> {
        let (targets, format) = self.chosen(settings)?;
        let (lines, waiting) = sync_channel(WAITING);
        let lost = Arc::<AtomicU64>::default();
        let counted = Arc::clone(&lost);
        let thread = Builder::new().name("quintet-log".to_owned());
        let writing = thread.spawn(move || write(&waiting, &counted, format, sink));
        writing.map_err(refused("begin to write events"))?;
        let writer = Lines { lines: lines.clone(), lost, escapes: format == Format::Text };
        let layer = match format {
            Format::Text => layer().with_ansi(false).with_writer(writer).boxed(),
            Format::Json => layer().json().flatten_event(true).with_writer(writer).boxed(),
        };
        let subscriber = tracing_subscriber::registry().with(layer.with_filter(targets));
        tracing::subscriber::set_global_default(subscriber)
            .map_err(|error| Error::new(Code::Resource, format!("begin to write events: {error}")))?;
        Ok(Log(lines))
    }
}

/// What a filter lets through. The library would take a target without a level for all of its events, and a word that is no level for a target.
fn targets(filter: &str) -> Result<Targets, Error> {
    let wrong = |why: &str| {
        let text =
            format!("the filter of events is {filter:?}: {why}; info, say, or info,quintet::link=debug");
        Error::new(Code::BadValue, text)
    };
    for rule in filter.split(',').map(str::trim).filter(|rule| !rule.is_empty()) {
        let (target, level) = rule.split_once('=').unwrap_or(("quintet", rule));
        if target.is_empty() || level.is_empty() || level.parse::<LevelFilter>().is_err() {
            return Err(wrong(&format!(
                "{rule:?} is neither a level (off, error, warn, info, debug, trace) nor TARGET=LEVEL"
            )));
        }
    }
    filter.parse().map_err(|error| wrong(&format!("{error}")))
}

impl Log {
    /// Waits until all events are written that came before: for a moment.
    pub(crate) fn flush(&self) {
        let (reached, is_reached) = channel();
        if self.0.try_send(Line::Reached(reached)).is_ok() {
            // Nobody may be reading: then the last lines are lost.
            let _ = is_reached.recv_timeout(LAST_PATIENCE);
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.flush();
    }
}

/// Writes lines as they come, and in between how many were left out: for which there was no room, or which could not be written.
fn write(waiting: &Receiver<Line>, lost: &AtomicU64, format: Format, mut sink: Sink) {
    let mut left_out = 0;
    for line in waiting {
        match line {
            Line::Event(line) => left_out += u64::from(sink(&line).is_err()),
            Line::Reached(reached) => {
                // Who waited for it may have lost patience.
                let _ = reached.send(());
            }
        }
        left_out += lost.swap(0, Ordering::Relaxed);
        if left_out > 0 && sink(&line_of_left_out(left_out, format)).is_ok() {
            left_out = 0;
        }
    }
}

/// What is written in the place of so many events, in the same format.
fn line_of_left_out(count: u64, format: Format) -> String {
    let time = rfc_3339(SystemTime::now());
    let text = "events were left out: they could not be written, or not as fast as they came";
    match format {
        Format::Text => format!("{time}  WARN quintet::log: {count} {text} count={count}"),
        Format::Json => {
            let message = format!("{count} {text}");
            json!({"timestamp": time, "level": "WARN", "message": message, "count": count, "target": "quintet::log"})
                .to_string()
        }
    }
}

/// Where the lines of events go.
struct Lines {
    lines: SyncSender<Line>,
    lost: Arc<AtomicU64>,
    /// Whether a line is still to be made one: in JSON it is.
    escapes: bool,
}

/// One line.
struct OneLine<'a>(&'a Lines);

impl<'a> MakeWriter<'a> for Lines {
    type Writer = OneLine<'a>;

    fn make_writer(&'a self) -> OneLine<'a> {
        OneLine(self)
    }
}

impl Write for OneLine<'_> {
    /// A line comes whole. What others have said in it neither ends it nor moves the cursor of a terminal.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line.strip_suffix(b"\n").unwrap_or(line));
        let text = if self.0.escapes { on_one_line(&text) } else { text.into_owned() };
        if self.0.lines.try_send(Line::Event(text)).is_err() {
            self.0.lost.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn events_that_cannot_be_written_are_counted_and_told_of_in_the_same_format() {
        for format in [Format::Text, Format::Json] {
            let written = Arc::<Mutex<Vec<String>>>::default();
            let (told, mut refusals) = (Arc::clone(&written), 3);
            let sink: Sink = Box::new(move |line| {
                if refusals > 0 {
                    refusals -= 1;
                    return Err(io::ErrorKind::StorageFull.into());
                }
                told.lock().unwrap().push(line.to_owned());
                Ok(())
            });
            let (lines, waiting) = sync_channel(WAITING);
            let thread = std::thread::spawn(move || write(&waiting, &AtomicU64::new(5), format, sink));
            let log = Log(lines);
            for line in ["one", "two", "three"] {
                log.0.send(Line::Event(line.to_owned())).unwrap();
            }
            log.flush();
            let lines = written.lock().unwrap().clone();
            // The first could not be written, nor that it could not, nor the second: but for that.
            let [left_out, third] = &lines[..] else { panic!("{lines:?}") };
            assert!(left_out.contains("7 events were left out") && third == "three", "{lines:?}");
            let object = serde_json::from_str::<serde_json::Value>(left_out);
            match format {
                Format::Text => assert!(left_out.contains(" WARN quintet::log: "), "{left_out}"),
                Format::Json => assert_eq!(object.unwrap()["count"], 7),
            }
            drop(log);
            thread.join().unwrap();
        }
    }
}
