//! For a browser: one page without anything else.

use super::{Curve, Drawing, DrawnLine, Figure, Measured, Quartiles};
use crate::page;
use std::fmt::Write;

impl Measured {
    /// The whole page; `draw` makes lines an SVG element.
    #[must_use]
    pub fn html(&self, draw: Drawing<'_>) -> String {
        let mut page = page::head("One packet against two");
        page.push_str("<h1>linda-lan: one packet against two</h1>\n");
        let _ = writeln!(page, "<p>{}</p>", page::escape(&self.place_in_words()));
        page.push_str(&table(&self.figures()));
        page.push_str(
            "<p>In the figures bars are half the distance between the quartiles, around the median.</p>\n",
        );
        page.push_str("<h2>Why ours differ</h2>\n<ul>\n");
        for sentence in self.explanation() {
            let _ = writeln!(page, "<li>{}</li>", page::escape(&sentence));
        }
        page.push_str("</ul>\n");
        for figure in self.figures() {
            let _ = writeln!(page, "<h2>{}</h2>\n<p>{}</p>", figure.published.title(), figure.compared());
            page.extend(figure.published.note().map(|note| format!("<p>{note}</p>\n")));
            page.push_str(&draw_figure(&figure, draw));
            for line in figure.curves.iter().filter_map(Curve::line_in_words) {
                let _ = writeln!(page, "<p>{line}</p>");
            }
        }
        page.push_str(page::END);
        page
    }
}

fn table(figures: &[Figure]) -> String {
    let mut table = String::from(
        "<table><tr><th>figure<th>program<th>machines<th>across<th>less with one packet, printed<th>ours<th>quartiles<th>of the processors' time<th>turns</tr>\n",
    );
    for figure in figures {
        let (published, ours) = (&figure.published, &figure.decrease_percent);
        let _ = writeln!(
            table,
            "<tr><td>{}<td>{}<td class=\"n\">{}<td>{}<td class=\"n\">{:.0}%<td class=\"n\">{:.1}%<td class=\"n\">{:.1} to {:.1}<td class=\"n\">{:.1}%<td class=\"n\">{}</tr>",
            published.figure,
            published.program,
            published.machines,
            published.across.name(),
            published.decrease_percent,
            ours.median,
            ours.low,
            ours.high,
            figure.processor_percent.median,
            figure.turns,
        );
    }
    table + "</table>\n"
}

fn draw_figure(figure: &Figure, draw: Drawing<'_>) -> String {
    let millis = |(at, times): &(f64, Quartiles)| (*at, times.median * 1e3, times.half_width() * 1e3);
    let mut lines: Vec<DrawnLine> = figure
        .curves
        .iter()
        .map(|curve| (curve.name().to_owned(), curve.points.iter().map(millis).collect()))
        .collect();
    for curve in &figure.curves {
        let (Some(line), Some((last, _))) = (curve.line, curve.points.last()) else { continue };
        let ends = [0.0, *last].map(|at| (at, line.at(at) * 1e3, 0.0));
        lines.push((format!("{}, line", curve.name()), ends.into()));
    }
    draw(&figure.published.title(), figure.published.across.name(), "milliseconds", &lines)
}

#[cfg(test)]
mod tests {
    use super::super::DrawnLine;
    use super::super::tests::measured;

    #[test]
    fn the_page_has_all_figures_and_needs_nothing_else() {
        let draw = |title: &str, _: &str, _: &str, lines: &[DrawnLine]| {
            format!("<svg>{title}: {} lines</svg>", lines.len())
        };
        let page = measured().html(&draw);
        assert_eq!(page.matches("<svg>").count(), 6);
        assert!(page.contains("Figure 5.5: jblock, one machine: 4 lines"), "{page}");
        assert_eq!(page.matches("<p>Nothing is on the second machine").count(), 1);
        assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
        assert!(!page.contains("http") && !page.contains("NaN"));
    }
}
