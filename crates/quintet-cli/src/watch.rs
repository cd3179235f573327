//! `--watch`: shows something again and again. At a terminal it is drawn in place, until `q` or ctrl-C; elsewhere a block, or an object with
//! `--json`, is printed each time.
//!
//! What is shown is fetched by a thread of its own: keys are heard, and a terminal of another size is drawn anew, however long that takes.
//! Somebody who is asked may be lost: then the last view stays, with that in its first line, and it is tried again.

use crate::connection::refused;
use crate::interrupt::on_interrupt_or_resize;
use crate::output::{print, print_json, print_line};
use clap::Args;
use quintet::Error;
use quintet_agent::log::escaped;
use rustix::process::Signal;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use serde_json::Value;
use std::io::{IsTerminal, Read, stdin, stdout};
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
    /// Its lines. What others have said in them, clients of a space or agents of other machines, is nothing that a terminal obeys.
    fn lines(&self) -> impl Iterator<Item = String> {
        self.text.lines().map(escaped)
    }

    /// All of them.
    fn plain(&self) -> String {
        self.lines().map(|line| line + "\n").collect()
    }
}

/// What comes to who draws.
enum Event {
    View(Result<View, Error>),
    Resized,
    End,
}

/// So many columns and lines where the terminal does not say.
const SIZE: (usize, usize) = (80, 24);

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
    let _terminal = in_place.then(|| Terminal::take(&tell)).transpose()?;
    thread::spawn(move || keep_fetching(interval, looks, fetch, &tell));
    draw_all(&events, in_place, as_json)
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

fn draw_all(events: &Receiver<Event>, in_place: bool, as_json: bool) -> Result<ExitCode, Error> {
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
        let is_taken = match (&lost, as_json) {
            _ if in_place => print(&frame(view, lost.as_deref(), size())),
            (None, true) => print_json(&view.json),
            (Some(lost), true) => print_json(&serde_json::json!({"lost": lost})),
            (None, false) => print(&(view.plain() + "\n")),
            (Some(lost), false) => print_line(lost),
        }?;
        if !is_taken {
            break;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Draws over what is there: each line is cut to the terminal's width, as are those below its last.
fn frame(view: &View, lost: Option<&str>, (columns, rows): (usize, usize)) -> String {
    let first =
        lost.map(|lost| if has_colours() { format!("\x1b[1m{lost}\x1b[0m") } else { lost.to_owned() });
    let lines = view.lines().map(|line| cut(&line, columns));
    let lines = first.into_iter().chain(lines).take(rows.saturating_sub(1));
    let drawn: String = lines.map(|line| format!("{line}\x1b[K\r\n")).collect();
    format!("\x1b[H{drawn}\x1b[J")
}

fn cut(line: &str, columns: usize) -> String {
    line.chars().take(columns).collect()
}

/// Whether words may be set in bold: https://no-color.org
fn has_colours() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty())
}

fn size() -> (usize, usize) {
    match tcgetwinsize(stdout()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col.into(), size.ws_row.into()),
        _ => SIZE,
    }
}

/// A terminal that is drawn on. Dropped, it is as it was.
struct Terminal {
    /// How keys were read before; none where they come from elsewhere.
    before: Option<Termios>,
}

impl Terminal {
    /// Begins to draw; tells when `q` is typed.
    fn take(tell: &Sender<Event>) -> Result<Terminal, Error> {
        let mut before = None;
        if stdin().is_terminal() {
            let keys = tcgetattr(stdin()).map_err(|errno| refused("read the terminal")(errno.into()))?;
            let mut raw = keys.clone();
            raw.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
            tcsetattr(stdin(), OptionalActions::Now, &raw)
                .map_err(|errno| refused("set the terminal")(errno.into()))?;
            before = Some(keys);
            let tell = tell.clone();
            thread::spawn(move || {
                let is_end = |key: &std::io::Result<u8>| matches!(key, Ok(b'q' | b'Q'));
                if stdin().lock().bytes().find(is_end).is_some() {
                    // Nobody listens any more once this ends.
                    let _ = tell.send(Event::End);
                }
            });
        }
        let terminal = Terminal { before };
        // A screen of its own, without a cursor.
        print("\x1b[?1049h\x1b[?25l")?;
        Ok(terminal)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A terminal that has gone needs nothing of this.
        let _ = print("\x1b[?25h\x1b[?1049l");
        if let Some(before) = &self.before {
            let _ = tcsetattr(stdin(), OptionalActions::Now, before);
        }
    }
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
    fn a_frame_is_as_large_as_the_terminal_and_says_first_what_was_lost() {
        let view = View { text: "one\ntwo and more\nthree\nfour\n".to_owned(), json: Value::Null };
        let drawn = frame(&view, None, (7, 4));
        assert_eq!(drawn, "\x1b[Hone\x1b[K\r\ntwo and\x1b[K\r\nthree\x1b[K\r\n\x1b[J");
        let drawn = frame(&view, Some("it was lost"), (80, 3));
        assert!(
            drawn.contains("it was lost") && drawn.contains("one") && !drawn.contains("two"),
            "{drawn:?}"
        );
    }

    #[test]
    fn what_others_say_moves_no_cursor_and_begins_no_line() {
        let text = "worker 1 of \x1b]0;mine\x07\rall is well\u{9b}2K\u{202e} \u{fc}\n".to_owned();
        let view = View { text, json: Value::Null };
        let plain = "worker 1 of \\u{1b}]0;mine\\u{7}\\rall is well\\u{9b}2K\\u{202e} \u{fc}";
        assert_eq!(view.plain(), format!("{plain}\n"));
        assert_eq!(frame(&view, None, (200, 4)), format!("\x1b[H{plain}\x1b[K\r\n\x1b[J"));
    }

    #[test]
    fn intervals_are_seconds() {
        assert_eq!(interval("0.25"), Ok(Duration::from_millis(250)));
        for bad in ["0", "-1", "x", "nan", "1e9"] {
            assert!(interval(bad).is_err(), "{bad}");
        }
    }
}
