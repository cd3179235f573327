//! For a terminal.

use super::{Curve, Figure, Measured};
use core::fmt;

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for figure in self.figures() {
            write_figure(f, &figure)?;
        }
        writeln!(f, "{}", self.place_in_words())?;
        self.explanation().iter().try_for_each(|sentence| writeln!(f, "{sentence}"))
    }
}

impl Measured {
    /// Where it was measured, as a sentence.
    pub(super) fn place_in_words(&self) -> String {
        let place = &self.place;
        let without = place
            .no_second
            .as_ref()
            .map(|why| format!(" Nothing was measured on two machines: {why}."))
            .unwrap_or_default();
        let one_each = if place.is_one_each { ", one for each machine of the experiment" } else { "" };
        format!(
            "Measured on a machine with {} processors{one_each}, whose load was {:.2} before and {:.2} after; medians of turns, with quartiles.{without}",
            place.processors, place.load_before, place.load_after
        )
    }
}

impl Figure {
    /// Ours beside the printed one, as a sentence.
    pub(super) fn compared(&self) -> String {
        let (ours, processor) = (&self.decrease_percent, &self.processor_percent);
        format!(
            "one packet takes {} (quartiles {:.1} to {:.1}, {} turns{}), and of the processors' time {} ({:.1} to {:.1}); printed: {:.0}% less",
            less(ours.median),
            ours.low,
            ours.high,
            self.turns,
            if ours.low < 0.0 && ours.high > 0.0 { ": it may be none" } else { "" },
            less(processor.median),
            processor.low,
            processor.high,
            self.published.decrease_percent
        )
    }
}

/// A decrease in words.
fn less(percent: f64) -> String {
    if percent < 0.0 { format!("{:.1}% more", -percent) } else { format!("{percent:.1}% less") }
}

impl Curve {
    /// Its name.
    pub(super) fn name(&self) -> &'static str {
        self.packets.name()
    }

    /// The line through its times, as a sentence.
    pub(super) fn line_in_words(&self) -> Option<String> {
        let line = self.line?;
        Some(format!(
            "{}: {:.1} us and {:.3} ns a byte (r2 {:.3})",
            self.name(),
            line.intercept * 1e6,
            line.slope * 1e9,
            line.determination
        ))
    }
}

fn write_figure(f: &mut fmt::Formatter<'_>, figure: &Figure) -> fmt::Result {
    writeln!(f, "{}: {}", figure.published.title(), figure.compared())?;
    figure.published.note().iter().try_for_each(|note| writeln!(f, "  {note}"))?;
    writeln!(f, "  {:>22} {:>14} {:>14}", figure.published.across.name(), "two [ms]", "one [ms]")?;
    let [two, one] = &figure.curves[..] else { return Ok(()) };
    for ((at, two), (_, one)) in two.points.iter().zip(&one.points) {
        let told = |times: &super::Quartiles| format!("{:.3}", times.median * 1e3);
        writeln!(f, "  {at:>22} {:>14} {:>14}", told(two), told(one))?;
    }
    for line in figure.curves.iter().filter_map(Curve::line_in_words) {
        writeln!(f, "  {line}")?;
    }
    writeln!(f)
}

#[cfg(test)]
mod tests {
    use super::super::tests::measured;

    #[test]
    fn each_figure_stands_beside_what_is_printed() {
        let text = measured().to_string();
        assert!(text.contains("Figure 5.1: jmatrix, one machine: one packet takes 25.0% less (quartiles 25.0 to 25.0, 3 turns), and of the processors' time 50.0% less (50.0 to 50.0); printed: 25% less"), "{text}");
        assert_eq!(text.matches("Nothing is on the second machine").count(), 1, "that of figure 5.6: {text}");
        assert!(text.contains("one packet: 1.0 us and 1.000 ns a byte"), "{text}");
        assert!(text.contains("2 processors, one for each machine of the experiment, whose load was 0.50 before and 1.50 after"), "{text}");
    }
}
