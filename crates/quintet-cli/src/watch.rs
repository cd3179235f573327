//! `--watch`: shows something again and again. At a terminal it is drawn in place, until `q` or ctrl-C; elsewhere a block, or an object with
//! `--json`, is printed each time.
//!
//! What is shown is fetched by a thread of its own: keys are heard, and a terminal of another size is drawn anew, however long that takes.
//! Somebody who is asked may be lost: then the last view stays, with that in its first line, and it is tried again.

use crate::interrupt::on_interrupt_or_resize;
use crate::output::{print, print_json, print_line};
use crate::terminal::{Terminal, lines};
use clap::Args;
use quintet::Error;
use quintet_agent::log::escaped;
use rustix::process::Signal;
use serde_json::Value;
use std::io::{IsTerminal, stdout};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

/// How often something is shown.
#[derive(Args)]
pub(crate) struct WatchArguments {
    /// Show it again and again: at a terminal in place, until q or ctrl-C
    #[arg(long)]
    watch: bool,
    /// Show it once, as without --watch
    #[arg(long, conflicts_with = "watch")]
    once: bool,
    /// Seconds between two looks with --watch, from 0.1
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = interval)]
    pub(crate) interval: Duration,
}

/// What is shown.
pub(crate) struct View {
    /// For a person: lines.
    pub(crate) text: String,
    /// For a program.
    pub(crate) json: Value,
}

impl View {
    /// All its lines.
    fn plain(&self) -> String {
        lines(&self.text).map(|line| line + "\n").collect()
    }
}

/// What comes to who draws.
enum Event {
    View(Result<View, Error>),
    Resized,
    End,
}

impl WatchArguments {
    /// Shows what `fetch` gives: once, or again and again.
    ///
    /// # Errors
    /// The first view cannot be had, or none can be shown.
    pub(crate) fn show(
        &self,
        as_json: bool,
        fetch: impl FnMut() -> Result<View, Error> + Send + 'static,
    ) -> Result<ExitCode, Error> {
        if self.watch { watch(self.interval, as_json, None, fetch) } else { once(as_json, fetch) }
    }
}

/// Shows it once.
///
/// # Errors
/// The view cannot be had.
pub(crate) fn once(as_json: bool, mut fetch: impl FnMut() -> Result<View, Error>) -> Result<ExitCode, Error> {
    let view = fetch()?;
    if as_json { print_json(&view.json) } else { print(&view.plain()) }?;
    Ok(ExitCode::SUCCESS)
}

/// Shows it until somebody ends that, or for so many looks.
///
/// # Errors
/// As [`WatchArguments::show`].
pub(crate) fn watch(
    interval: Duration,
    as_json: bool,
    looks: Option<u64>,
    fetch: impl FnMut() -> Result<View, Error> + Send + 'static,
) -> Result<ExitCode, Error> {
    let (tell, events) = channel();
    let on_signal = tell.clone();
    on_interrupt_or_resize(move |signal| {
        let event = if signal == Signal::WINCH { Event::Resized } else { Event::End };
        // Nobody listens any more once this ends.
        let _ = on_signal.send(event);
    })?;
    let in_place = stdout().is_terminal() && !as_json;
    let on_key = tell.clone();
    // Nobody listens any more once this ends.
    let take = || Terminal::take(move || drop(on_key.send(Event::End)));
    let terminal = in_place.then(take).transpose()?;
    thread::spawn(move || keep_fetching(interval, looks, fetch, &tell));
    draw_all(&events, terminal.as_ref(), as_json)
}

fn keep_fetching(
    interval: Duration,
    looks: Option<u64>,
    mut fetch: impl FnMut() -> Result<View, Error>,
    tell: &Sender<Event>,
) {
    let mut left = looks;
    while tell.send(Event::View(fetch())).is_ok() {
        left = left.map(|left| left - 1);
        if left == Some(0) {
            // Nobody listens any more if this has ended.
            let _ = tell.send(Event::End);
            return;
        }
        thread::sleep(interval);
    }
}

fn draw_all(events: &Receiver<Event>, terminal: Option<&Terminal>, as_json: bool) -> Result<ExitCode, Error> {
    let mut last: Option<View> = None;
    let mut trouble: Option<Error> = None;
    for event in events {
        match event {
            Event::End => break,
            Event::Resized => {}
            Event::View(Ok(view)) => (last, trouble) = (Some(view), None),
            Event::View(Err(error)) if last.is_none() => return Err(error),
            Event::View(Err(error)) => trouble = Some(error),
        }
        let Some(view) = &last else { continue };
        let lost = trouble.as_ref().map(|error| escaped(&format!("was lost, trying again: {error}")));
        let is_taken = match (terminal, &lost, as_json) {
            (Some(terminal), lost, _) => terminal.draw(&view.text, lost.as_deref()),
            (None, None, true) => print_json(&view.json),
            (None, Some(lost), true) => print_json(&serde_json::json!({"lost": lost})),
            (None, None, false) => print(&(view.plain() + "\n")),
            (None, Some(lost), false) => print_line(lost),
        }?;
        if !is_taken {
            break;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Seconds, with a fraction.
pub(crate) fn interval(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.1..=86_400.0).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| "expected seconds, from 0.1 to 86400".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_seconds() {
        assert_eq!(interval("0.25"), Ok(Duration::from_millis(250)));
        for bad in ["0", "-1", "x", "nan", "1e9"] {
            assert!(interval(bad).is_err(), "{bad}");
        }
    }
}
