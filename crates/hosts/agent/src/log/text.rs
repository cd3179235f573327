//! Times and texts as lines have them.

use core::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

/// Characters of one entry's text, at most: the rest is cut off.
const LONGEST: usize = 1024;

/// A time in UTC, to the second, as RFC 3339 has it: `2026-11-22T14:18:41Z`. What is before 1970 is told as its first second.
#[must_use]
pub fn rfc_3339(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// The day that is so many after the first of 1970: Howard Hinnant's `civil_from_days`, which counts years from March, so that the day
/// that leap years have is the last one.
fn date(days: u64) -> (u64, u64, u64) {
    let from_march = days + 719_468;
    let (era, day_of_era) = (from_march / 146_097, from_march % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day)
}

/// A text as it may stand in a line: what would end the line, move on a terminal or hide there is escaped, and what is long is cut.
#[must_use]
pub fn on_one_line(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => escaped(&text[..end]) + "...",
        None => escaped(text),
    }
}

/// The same, whole.
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '"' | '\'' | '\\' => line.push(character),
            // Also what changes the direction of writing, and whatever else is not seen.
            _ => _ = write!(line, "{}", character.escape_debug()),
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;

    #[test]
    fn times_are_those_of_the_calendar() {
        let at = |seconds| rfc_3339(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01T00:00:00Z");
        assert_eq!(at(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(at(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(at(1_795_357_121), "2026-11-22T14:18:41Z");
        assert_eq!(at(4_107_542_400), "2100-03-01T00:00:00Z", "that was no leap year");
        assert_eq!(rfc_3339(UNIX_EPOCH - Duration::from_secs(1)), "1970-01-01T00:00:00Z");
    }

    #[test]
    fn nothing_that_somebody_else_has_written_begins_a_line_or_moves_on_a_terminal() {
        assert_eq!(
            on_one_line("0.1\nquintet: all is well\r\u{1b}[2K"),
            "0.1\\nquintet: all is well\\r\\u{1b}[2K"
        );
        assert_eq!(on_one_line("a\u{202e}b \"ü\" '\\'"), "a\\u{202e}b \"ü\" '\\'");
        let long = on_one_line(&"ü".repeat(LONGEST + 1));
        assert_eq!((long.chars().count(), long.ends_with("ü...")), (LONGEST + 3, true));
    }
}
