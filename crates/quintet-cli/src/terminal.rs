//! A terminal that is drawn on in place.

use crate::connection::refused;
use crate::output::print;
use quintet::Error;
use quintet_agent::log::escaped;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use std::io::{IsTerminal, Read, stdin, stdout};
use std::thread;

/// So many columns and lines where the terminal does not say.
const SIZE: (usize, usize) = (80, 24);

/// A terminal that is drawn on. Dropped, it is as it was.
pub(crate) struct Terminal {
    /// How keys were read before; none where they come from elsewhere.
    before: Option<Termios>,
}

impl Terminal {
    /// Begins to draw; `on_end` is called when `q` is typed.
    ///
    /// # Errors
    /// The terminal cannot be read or set.
    pub(crate) fn take(on_end: impl FnOnce() + Send + 'static) -> Result<Terminal, Error> {
        let mut before = None;
        if stdin().is_terminal() {
            let keys = tcgetattr(stdin()).map_err(|errno| refused("read the terminal")(errno.into()))?;
            let mut raw = keys.clone();
            raw.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
            tcsetattr(stdin(), OptionalActions::Now, &raw)
                .map_err(|errno| refused("set the terminal")(errno.into()))?;
            before = Some(keys);
            thread::spawn(move || {
                let is_end = |key: &std::io::Result<u8>| matches!(key, Ok(b'q' | b'Q'));
                if stdin().lock().bytes().find(is_end).is_some() {
                    on_end();
                }
            });
        }
        let terminal = Terminal { before };
        // A screen of its own, without a cursor.
        print("\x1b[?1049h\x1b[?25l")?;
        Ok(terminal)
    }

    /// Draws this over what is there, and first what was lost, if anything was. False if nobody sees it any more.
    ///
    /// # Errors
    /// The terminal takes no more.
    pub(crate) fn draw(&self, text: &str, lost: Option<&str>) -> Result<bool, Error> {
        print(&frame(text, lost, size()))
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

/// The lines of a text. What others have said in it, clients of a space or agents of other machines, is nothing that a terminal obeys.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = String> {
    text.lines().map(escaped)
}

/// Draws over what is there: each line is cut to the terminal's width, as are those below its last.
fn frame(text: &str, lost: Option<&str>, (columns, rows): (usize, usize)) -> String {
    let first =
        lost.map(|lost| if has_colours() { format!("\x1b[1m{lost}\x1b[0m") } else { lost.to_owned() });
    let lines = lines(text).map(|line| cut(&line, columns));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_as_large_as_the_terminal_and_says_first_what_was_lost() {
        let text = "one\ntwo and more\nthree\nfour\n";
        let drawn = frame(text, None, (7, 4));
        assert_eq!(drawn, "\x1b[Hone\x1b[K\r\ntwo and\x1b[K\r\nthree\x1b[K\r\n\x1b[J");
        let drawn = frame(text, Some("it was lost"), (80, 3));
        assert!(
            drawn.contains("it was lost") && drawn.contains("one") && !drawn.contains("two"),
            "{drawn:?}"
        );
    }

    #[test]
    fn what_others_say_moves_no_cursor_and_begins_no_line() {
        let text = "worker 1 of \x1b]0;mine\x07\rall is well\u{9b}2K\u{202e} \u{fc}\n";
        let plain = "worker 1 of \\u{1b}]0;mine\\u{7}\\rall is well\\u{9b}2K\\u{202e} \u{fc}";
        assert_eq!(lines(text).collect::<Vec<_>>(), [plain]);
        assert_eq!(frame(text, None, (200, 4)), format!("\x1b[H{plain}\x1b[K\r\n\x1b[J"));
    }
}
