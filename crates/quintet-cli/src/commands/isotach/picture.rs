//! How the dinner goes, for a person: at a terminal a picture that is drawn in place, elsewhere a line now and then.

use super::heard::Heard;
use crate::output::{print, print_line};
use crate::terminal::Terminal;
use quintet::Error;
use quintet::isotach::{Pulse, View};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::{IsTerminal, stdout};
use std::time::{Duration, Instant};

/// Between two of them.
pub(super) const BETWEEN_LOOKS: Duration = Duration::from_millis(500);
/// What stands for the most meals.
const LONGEST_BAR: usize = 30;

pub(super) struct Picture {
    /// How many philosophers.
    number: u16,
    /// None where lines are printed.
    terminal: Option<Terminal>,
    /// What was there to be shown last.
    last: Look,
    /// Histograms that were printed.
    printed: usize,
}

/// What had been heard at an instant: rates are those since then.
struct Look {
    time: Instant,
    at: Option<(View, Pulse)>,
    meals: BTreeMap<u16, u64>,
}

impl Picture {
    /// Begins to show it; `on_end` is called where somebody at the terminal has seen enough.
    ///
    /// # Errors
    /// The terminal cannot be read or set.
    pub(super) fn begin(number: u16, on_end: impl FnOnce() + Send + 'static) -> Result<Picture, Error> {
        let terminal = stdout().is_terminal().then(|| Terminal::take(on_end)).transpose()?;
        let last = Look::of(&Heard::default(), Instant::now());
        Ok(Picture { number, terminal, last, printed: 0 })
    }

    /// Shows it, if it is time.
    ///
    /// # Errors
    /// Standard output takes no more.
    pub(super) fn show(&mut self, heard: &Heard, now: Instant) -> Result<(), Error> {
        if now.duration_since(self.last.time) < BETWEEN_LOOKS {
            return Ok(());
        }
        match &self.terminal {
            Some(terminal) => drop(terminal.draw(&drawn(self.number, heard, &self.last, now), None)?),
            // Nothing is to be told before all have begun.
            None if heard.meals.len() < self.number.into() => {}
            None => {
                print_line(line(heard))?;
                for report in &heard.reports[self.printed..] {
                    print(&report.histogram)?;
                }
                self.printed = heard.reports.len();
            }
        }
        self.last = Look::of(heard, now);
        Ok(())
    }

    /// Leaves the terminal, and there the last picture.
    ///
    /// # Errors
    /// Standard output takes no more.
    pub(super) fn end(self, heard: &Heard) -> Result<(), Error> {
        let Some(terminal) = self.terminal else { return Ok(()) };
        drop(terminal);
        print(&drawn(self.number, heard, &self.last, Instant::now())).map(drop)
    }
}

impl Look {
    fn of(heard: &Heard, time: Instant) -> Look {
        Look { time, at: heard.at, meals: heard.meals.clone() }
    }

    /// How many more there are a second since then.
    #[expect(clippy::cast_precision_loss, reason = "a rate is shown without decimals")]
    fn rate(&self, before: u64, count: u64, now: Instant) -> f64 {
        let since = now.duration_since(self.time).max(Duration::from_millis(1));
        count.saturating_sub(before) as f64 / since.as_secs_f64()
    }
}

/// View and pulse; zeros before the first.
fn numbers(at: Option<(View, Pulse)>) -> (u32, u64) {
    at.map_or((0, 0), |(view, pulse)| (view.0, pulse.0))
}

/// Where the order is, and everybody's meals.
fn line(heard: &Heard) -> String {
    let (view, pulse) = numbers(heard.at);
    let lost: String = heard.lost.keys().map(|member| format!(" without {member}")).collect();
    let meals: Vec<String> = heard.meals.values().map(u64::to_string).collect();
    format!("view {view}{lost}, pulse {pulse}, {:.0} us apart: meals {}", heard.apart_us, meals.join(" "))
}

/// Where the order is, and a line for each philosopher.
fn drawn(number: u16, heard: &Heard, last: &Look, now: Instant) -> String {
    let ((view, pulse), (view_before, pulse_before)) = (numbers(heard.at), numbers(last.at));
    let before = if view == view_before { pulse_before } else { 0 };
    let pulses = last.rate(before, pulse, now);
    let mut picture = format!(
        "view {view}, pulse {pulse}: {pulses:.0} pulses a second, {:.0} us apart\n\n",
        heard.apart_us
    );
    let most = heard.meals.values().max().copied().unwrap_or(0).max(1);
    for member in 0..number {
        let meals = heard.meals.get(&member).copied().unwrap_or(0);
        let bar = "#".repeat(usize::try_from(meals * LONGEST_BAR as u64 / most).unwrap_or(LONGEST_BAR));
        // A process that came back begins anew.
        let before = last.meals.get(&member).copied().filter(|before| *before <= meals).unwrap_or(0);
        let state = match heard.lost.get(&member) {
            Some(lost) => (*lost).to_owned(),
            None if meals == 0 => "comes to the table".to_owned(),
            None => format!("{:.0} a second", last.rate(before, meals, now)),
        };
        // A string takes whatever is written.
        let _ = writeln!(picture, "philosopher {member:2}  {bar:LONGEST_BAR$}  {meals:7} meals  {state}");
    }
    let histogram = heard.reports.last().map(|report| format!("\n{}", report.histogram));
    picture + &histogram.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Three of whom the first was killed, half a second after nobody had eaten.
    fn heard() -> (Heard, Look, Instant) {
        let mut heard = Heard::default();
        let mut before = Look::of(&heard, Instant::now());
        // There was another process in its place.
        before.meals.insert(2, 500);
        for (member, view, pulse, meals) in [(0, 1, 10_684, 100), (1, 2, 300, 200), (2, 2, 250, 150)] {
            let told = json!({"view": view, "pulse": pulse, "meals": meals, "apart_us": 1500.0});
            heard.hear(member, &told).expect("it says what philosophers do");
        }
        heard.lost.insert(0, "was killed");
        let now = before.time + BETWEEN_LOOKS;
        (heard, before, now)
    }

    #[test]
    fn the_pulse_is_that_of_the_last_view() {
        let (heard, ..) = heard();
        assert_eq!(line(&heard), "view 2 without 0, pulse 300, 1500 us apart: meals 100 200 150");
    }

    #[test]
    fn each_has_a_bar_and_who_was_lost_is_named() {
        let (heard, before, now) = heard();
        let picture = drawn(4, &heard, &before, now);
        let lines: Vec<&str> = picture.lines().collect();
        assert_eq!(lines[0], "view 2, pulse 300: 600 pulses a second, 1500 us apart");
        let bar = |length| format!("{:30}", "#".repeat(length));
        assert_eq!(
            lines[2..],
            [
                format!("philosopher  0  {}      100 meals  was killed", bar(15)),
                format!("philosopher  1  {}      200 meals  400 a second", bar(30)),
                format!("philosopher  2  {}      150 meals  300 a second", bar(22)),
                format!("philosopher  3  {}        0 meals  comes to the table", bar(0)),
            ]
        );
    }
}
