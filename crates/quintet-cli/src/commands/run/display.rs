//! What is shown while a job runs: a progress bar at a terminal, now and then a plain line elsewhere.

use super::happening::Happening;
use super::ledger::Ledger;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, Write, stderr, stdout};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, Sender, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// Plain lines come no closer than this.
const PLAIN_PERIOD: Duration = Duration::from_secs(2);
/// Lines of the job itself that may wait for who reads standard error. More are left out.
const UNREAD_LINES: usize = 256;

/// Where a line goes.
#[derive(Clone, Copy)]
pub(super) enum Stream {
    Output,
    Error,
}

/// Writes lines around the progress bar.
#[derive(Clone)]
pub(super) struct Printer {
    output: Output,
    /// What the job itself says. A thread writes it: the job goes on, and can be ended, while nobody reads.
    lines: SyncSender<String>,
    /// How many of these are not written yet.
    unread: Arc<AtomicU64>,
}

#[derive(Clone)]
struct Output {
    bar: Option<ProgressBar>,
    only_standard_error: bool,
    /// That were passed on, by all clones.
    pieces: Arc<AtomicU64>,
}

impl Printer {
    /// `only_standard_error`: standard output is kept for a program that reads it. `tell`: is told when a line of the job itself
    /// was written.
    pub(super) fn new(only_standard_error: bool, tell: Sender<Happening>) -> Printer {
        let bar = (stderr().is_terminal() && !only_standard_error).then(|| {
            let style = ProgressStyle::with_template("{bar:30} {pos} of {len} tasks, {elapsed}{msg}");
            // Nothing is drawn until there is a task.
            ProgressBar::hidden().with_style(style.expect("the template is well-formed"))
        });
        let output = Output { bar, only_standard_error, pieces: Arc::default() };
        let (lines, said) = sync_channel(UNREAD_LINES);
        let printer = Printer { output: output.clone(), lines, unread: Arc::default() };
        let unread = Arc::clone(&printer.unread);
        thread::spawn(move || write_lines(&said, &output, &unread, &tell));
        printer
    }

    pub(super) fn has_bar(&self) -> bool {
        self.output.bar.is_some()
    }

    pub(super) fn only_standard_error(&self) -> bool {
        self.output.only_standard_error
    }

    /// Passes on a piece of what a child said. One without an end becomes a line. Waits for who reads.
    pub(super) fn piece(&self, stream: Stream, prefix: &str, piece: &[u8]) {
        self.output.piece(stream, prefix, piece);
    }

    /// How many pieces were passed on.
    pub(super) fn pieces(&self) -> u64 {
        self.output.pieces.load(Relaxed)
    }

    /// Says something of the job itself, without waiting for who reads.
    pub(super) fn say(&self, text: &str) {
        self.unread.fetch_add(1, Relaxed);
        if self.lines.try_send(text.to_owned()).is_err() {
            self.unread.fetch_sub(1, Relaxed);
        }
    }

    /// Whether all that was said of the job is written.
    pub(super) fn is_silent(&self) -> bool {
        self.unread.load(Relaxed) == 0
    }
}

fn write_lines(lines: &Receiver<String>, output: &Output, unread: &AtomicU64, tell: &Sender<Happening>) {
    for line in lines {
        output.piece(Stream::Error, "quintet: ", line.as_bytes());
        unread.fetch_sub(1, Relaxed);
        // The job may be over without it.
        let _ = tell.send(Happening::Said);
    }
}

impl Output {
    /// Passes on a piece of what a child said. One without an end becomes a line.
    fn piece(&self, stream: Stream, prefix: &str, piece: &[u8]) {
        let end: &[u8] = if piece.ends_with(b"\n") || piece.ends_with(b"\r") { b"" } else { b"\n" };
        let whole = [prefix.as_bytes(), piece, end].concat();
        let write = || match stream {
            Stream::Output if !self.only_standard_error => stdout().lock().write_all(&whole),
            _ => stderr().lock().write_all(&whole),
        };
        let written = match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        };
        // Nobody may be reading any more; the job goes on.
        let _ = written;
        self.pieces.fetch_add(1, Relaxed);
    }
}

/// Shows how far the job is.
pub(super) struct Display {
    printer: Printer,
    last: Instant,
    shown: u64,
}

impl Display {
    pub(super) fn new(printer: &Printer) -> Display {
        Display { printer: printer.clone(), last: Instant::now(), shown: 0 }
    }

    pub(super) fn update(&mut self, ledger: &Ledger) {
        if let Some(bar) = &self.printer.output.bar {
            if bar.is_hidden() && ledger.submitted() > 0 {
                bar.set_draw_target(ProgressDrawTarget::stderr());
            }
            bar.set_length(ledger.submitted().max(ledger.done()));
            bar.set_position(ledger.done());
            if ledger.redone() > 0 {
                bar.set_message(format!(", {} redone", ledger.redone()));
            }
        } else if ledger.done() > self.shown && self.last.elapsed() >= PLAIN_PERIOD {
            self.last = Instant::now();
            self.shown = ledger.done();
            self.printer.say(&format!("{} of {} tasks done", ledger.done(), ledger.submitted()));
        }
    }

    pub(super) fn finish(&self) {
        if let Some(bar) = &self.printer.output.bar {
            bar.finish_and_clear();
        }
    }
}
