//! A quantity against a parameter, a line for each combination of the others, as SVG.

use crate::commands::simulate::run::scale::number;
use std::fmt::Write;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 460.0;
/// Where the axes are: left, right, top, bottom.
const LEFT: f64 = 90.0;
const RIGHT: f64 = 730.0;
const TOP: f64 = 60.0;
const BOTTOM: f64 = 390.0;
/// Of the lines; colours that also the colour-blind tell apart (Okabe and Ito).
const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"];
/// Of lines, as many as have no divisor in common with the colours: strokes and gaps, which also let a line be seen that is
/// below another.
const DASHES: [&str; 4] = ["", "7 4", "2 3", "9 3 2 3"];
/// What the names of lines take beside the axes: for the line itself, and a letter.
const SAMPLE: f64 = 50.0;
const LETTER: f64 = 7.5;

/// A point of a line: the parameter, the mean, and how far from it the true one may lie, in the unit that is shown.
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) mean: f64,
    pub(crate) half_width: f64,
}

/// What is drawn in one style.
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) points: Vec<Point>,
}

/// How a line is drawn: no two of the first 28 alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Style {
    colour: &'static str,
    dashes: &'static str,
}

impl Style {
    fn of(place: usize) -> Style {
        let dashes = DASHES[place % DASHES.len()];
        Style { colour: COLOURS[place % COLOURS.len()], dashes }
    }

    /// Of a line's stroke, as attributes.
    fn stroke(self) -> String {
        let Style { colour, dashes } = self;
        match dashes.is_empty() {
            true => format!("stroke=\"{colour}\""),
            false => format!("stroke=\"{colour}\" stroke-dasharray=\"{dashes}\""),
        }
    }
}

/// From values to places.
#[derive(Clone, Copy)]
struct Range {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

/// The title above, the parameter below, the quantity on the left; names of lines on the right.
pub(crate) fn draw(title: &str, parameter: &str, quantity: &str, lines: &[Line]) -> String {
    let points = || lines.iter().flat_map(|line| &line.points);
    let across = Range::of(points().map(|point| point.x), LEFT, RIGHT);
    let ends = points().flat_map(|point| [point.mean - point.half_width, point.mean + point.half_width]);
    let ends: Vec<f64> = ends.collect();
    // Zero is shown unless it is far off.
    let (least, most) =
        (ends.iter().copied().fold(f64::MAX, f64::min), ends.iter().copied().fold(f64::MIN, f64::max));
    let zero = (least > 0.0 && least < most / 2.0).then_some(0.0);
    let up = Range::of(ends.into_iter().chain(zero), BOTTOM, TOP);
    let width = WIDTH + beside(lines);
    // Its ground is its own, so that it can be read on a dark page, too.
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {HEIGHT}\" width=\"{width}\" height=\"{HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"{width}\" height=\"{HEIGHT}\" fill=\"white\"/>\n"
    );
    let (middle, centre) = (LEFT.midpoint(RIGHT), TOP.midpoint(BOTTOM));
    svg += &label(middle, 24.0, "middle", title);
    svg += &label(middle, HEIGHT - 20.0, "middle", parameter);
    let _ = writeln!(
        svg,
        "<text transform=\"translate(20 {centre}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
        escaped(quantity)
    );
    svg += &axes(across, up);
    for (place, line) in lines.iter().enumerate() {
        svg += &curve(line, Style::of(place), across, up);
        svg += &legend(line, place);
    }
    svg + "</svg>\n"
}

/// The room for the names of lines.
fn beside(lines: &[Line]) -> f64 {
    let longest = lines.iter().map(|line| line.name.chars().count()).max().unwrap_or_default();
    if longest == 0 { 0.0 } else { SAMPLE + LETTER * longest as f64 }
}

/// A line's name, and how it is drawn.
fn legend(line: &Line, place: usize) -> String {
    if line.name.is_empty() {
        return String::new();
    }
    let y = TOP + 16.0 * (place as f64 + 1.0);
    let sample = format!(
        "<path d=\"M{} {}h26\" {} stroke-width=\"2\"/>\n",
        RIGHT + 12.0,
        y - 4.0,
        Style::of(place).stroke()
    );
    sample + &label(RIGHT + 44.0, y, "start", &line.name)
}

fn axes(across: Range, up: Range) -> String {
    let mut svg = String::new();
    for tick in across.ticks() {
        let x = across.place(tick);
        let _ = writeln!(svg, "<path d=\"M{x:.1} {TOP}V{}\" stroke=\"#ddd\"/>", BOTTOM + 5.0);
        svg += &label(x, BOTTOM + 20.0, "middle", &number(tick));
    }
    for tick in up.ticks() {
        let y = up.place(tick);
        let _ = writeln!(svg, "<path d=\"M{} {y:.1}H{RIGHT}\" stroke=\"#ddd\"/>", LEFT - 5.0);
        svg += &label(LEFT - 9.0, y + 4.0, "end", &number(tick));
    }
    let _ = writeln!(svg, "<path d=\"M{LEFT} {TOP}V{BOTTOM}H{RIGHT}\" fill=\"none\" stroke=\"black\"/>");
    svg
}

fn curve(line: &Line, style: Style, across: Range, up: Range) -> String {
    let Style { colour, .. } = style;
    let places: Vec<String> = line
        .points
        .iter()
        .map(|point| format!("{:.1},{:.1}", across.place(point.x), up.place(point.mean)))
        .collect();
    let mut svg = format!(
        "<polyline points=\"{}\" fill=\"none\" {} stroke-width=\"1.5\"/>\n",
        places.join(" "),
        style.stroke()
    );
    for point in &line.points {
        let (x, y) = (across.place(point.x), up.place(point.mean));
        let (top, bottom) =
            (up.place(point.mean + point.half_width), up.place(point.mean - point.half_width));
        let left = x - 4.0;
        let _ = writeln!(
            svg,
            "<path class=\"error\" d=\"M{left:.1} {top:.1}h8m-4 0V{bottom:.1}m-4 0h8\" fill=\"none\" stroke=\"{colour}\"/>\n\
             <circle class=\"point\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>"
        );
    }
    svg
}

fn label(x: f64, y: f64, anchor: &str, text: &str) -> String {
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>\n", escaped(text))
}

/// As XML wants it: characters that it cannot hold are left out.
fn escaped(text: &str) -> String {
    let kept = text.chars().filter(|letter| !letter.is_control());
    let kept: String = kept.collect();
    kept.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

impl Range {
    /// All values, and a little room.
    fn of(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Range {
        let (low, high) =
            values.fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(value), high.max(value)));
        let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
        let room = if high > low { (high - low) * 0.04 } else { high.abs().max(1.0) / 2.0 };
        // What begins at zero does not show less.
        Range { low: if low == 0.0 { 0.0 } else { low - room }, high: high + room, from, to }
    }

    fn place(self, value: f64) -> f64 {
        self.from + (value - self.low) / (self.high - self.low) * (self.to - self.from)
    }

    /// Round values, four to ten of them.
    fn ticks(self) -> Vec<f64> {
        let rough = (self.high - self.low) / 5.0;
        let power = 10f64.powf(rough.log10().floor());
        let step =
            [1.0, 2.0, 5.0].into_iter().rev().find(|step| step * power <= rough).unwrap_or(1.0) * power;
        let (first, last) = ((self.low / step).ceil(), (self.high / step).floor());
        let count = if (last - first).is_finite() { (last - first).clamp(0.0, 20.0) as u32 } else { 0 };
        (0..=count).map(|tick| (first + f64::from(tick)) * step).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within() {
        let ticks = |low, high| Range { low, high, from: 0.0, to: 1.0 }.ticks();
        assert_eq!(ticks(0.0, 10.0), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(ticks(-0.35, 0.35).len(), 7);
        assert_eq!(ticks(4.0, 65_024.0), [10_000.0, 20_000.0, 30_000.0, 40_000.0, 50_000.0, 60_000.0]);
    }

    #[test]
    fn one_value_alone_has_a_place() {
        let range = Range::of([3.0].into_iter(), 0.0, 100.0);
        assert_eq!(range.place(3.0), 50.0);
        assert!(!range.ticks().is_empty());
    }

    #[test]
    fn lines_are_told_apart_when_colours_come_again() {
        let styles: Vec<Style> = (0..28).map(Style::of).collect();
        assert!((0..28).all(|place| !styles[place + 1..].contains(&styles[place])));
        let line = |place: usize| Line {
            name: format!("line {place}"),
            points: vec![Point { x: 1.0, mean: place as f64, half_width: 0.0 }],
        };
        let svg = draw("title", "x", "y", &(0..12).map(line).collect::<Vec<Line>>());
        // The curve and its sample of the second, sixth and tenth.
        assert_eq!(svg.matches("stroke-dasharray=\"7 4\"").count(), 6);
        assert!((0..12).all(|place| svg.contains(&format!(">line {place}</text>"))));
    }

    #[test]
    fn text_cannot_break_out() {
        assert_eq!(escaped("a<b> & \u{7}c"), "a&lt;b&gt; &amp; c");
    }
}
