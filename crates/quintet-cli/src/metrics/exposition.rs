//! The text that a scraper reads: Prometheus' text format, version 0.0.4
//! (<https://prometheus.io/docs/instrumenting/exposition_formats/>). Every Prometheus and OpenTelemetry collector reads it.

use super::Part;
use quintet::{Measurement, MetricKind};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

/// What the text is, as HTTP says it.
pub(super) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// All numbers of all parts; or which part does not answer: then nothing is told, and the scraper notes that.
pub(super) fn page(parts: &[Part], limit: Duration) -> Result<String, String> {
    let mut families: BTreeMap<String, Family<'_>> = BTreeMap::new();
    for part in parts {
        let told = (part.measure)(limit)
            .ok_or_else(|| format!("{} of this process has not answered within {limit:?}", which(part)))?;
        for measurement in told {
            let name = family_name(&measurement);
            families.entry(name).or_default().add(part, measurement);
        }
    }
    let mut page = String::new();
    families.iter().for_each(|(name, family)| family.write(name, &mut page));
    let (name, version) = ("quintet_build_info", env!("CARGO_PKG_VERSION"));
    let _ = write!(
        page,
        "# HELP {name} The version of this program\n# TYPE {name} gauge\n{name}{{version=\"{version}\"}} 1\n"
    );
    Ok(page)
}

fn which(part: &Part) -> String {
    match &part.space {
        Some(space) => format!("the space {space}"),
        None => format!("the {}", part.name),
    }
}

/// A counter's name says that it is one.
fn family_name(measurement: &Measurement) -> String {
    let name = measurement.metric.name;
    match measurement.metric.kind {
        MetricKind::Counter => format!("{name}_total"),
        MetricKind::Gauge => name.to_owned(),
    }
}

/// The numbers of one name, and which part has told each.
#[derive(Default)]
struct Family<'a>(Vec<(&'a Part, Measurement)>);

impl<'a> Family<'a> {
    fn add(&mut self, part: &'a Part, measurement: Measurement) {
        self.0.push((part, measurement));
    }

    /// Names, labels and texts are this program's own: lower case words, and sentences without a backslash or a line's end, which tests see to. Names of spaces
    /// have letters, digits, `-`, `_` and `.` alone. So there is nothing to be escaped.
    fn write(&self, name: &str, page: &mut String) {
        let Some((_, first)) = self.0.first() else { return };
        let kind = match first.metric.kind {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
        };
        // Writing to text does not fail.
        let _ = write!(page, "# HELP {name} {}\n# TYPE {name} {kind}\n", first.metric.text);
        for (Part { name: part, space, .. }, Measurement { metric, value }) in &self.0 {
            let space = space.iter().map(|space| format!(",space=\"{space}\"")).collect::<String>();
            let label = metric.label.map(|(label, of)| format!(",{label}=\"{of}\"")).unwrap_or_default();
            let _ = writeln!(page, "{name}{{part=\"{part}\"{space}{label}}} {value}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet::Metric;

    static OUT: Metric = Metric::counter("quintet_x_frames", "Frames").of("direction", "out");
    static NOW: Metric = Metric::gauge("quintet_x", "Now");

    fn part(name: &'static str, told: Option<Vec<(&'static Metric, u64)>>) -> Part {
        let measure = move |_| {
            let told = told.as_ref()?;
            Some(told.iter().map(|(metric, value)| Measurement { metric, value: *value }).collect())
        };
        Part { name, space: None, measure: Box::new(measure) }
    }

    #[test]
    fn spaces_that_are_kept_tell_which_they_are() {
        let kept = |told| Part { space: Some("orders.2".to_owned()), ..part("kept", told) };
        let text = page(&[kept(Some(vec![(&OUT, 3)]))], Duration::ZERO).expect("all answer");
        let frames = "quintet_x_frames_total{part=\"kept\",space=\"orders.2\",direction=\"out\"} 3\n";
        assert!(text.contains(frames), "{text}");
        let error = page(&[kept(None)], Duration::from_secs(1)).expect_err("it is silent");
        assert_eq!(error, "the space orders.2 of this process has not answered within 1s");
    }

    #[test]
    fn numbers_of_one_name_stand_together_whoever_tells_them() {
        let parts =
            [part("agent", Some(vec![(&OUT, 3), (&NOW, u64::MAX)])), part("space", Some(vec![(&OUT, 4)]))];
        let page = page(&parts, Duration::ZERO).expect("all answer");
        let frames = "# HELP quintet_x_frames_total Frames\n# TYPE quintet_x_frames_total counter\n\
            quintet_x_frames_total{part=\"agent\",direction=\"out\"} 3\nquintet_x_frames_total{part=\"space\",direction=\"out\"} 4\n";
        assert!(page.contains(frames), "{page}");
        assert!(
            page.contains("# TYPE quintet_x gauge\nquintet_x{part=\"agent\"} 18446744073709551615\n"),
            "{page}"
        );
        assert!(page.ends_with(" 1\n"), "{page}");
    }

    #[test]
    fn nothing_is_told_while_a_part_does_not_answer() {
        let parts = [part("agent", Some(vec![(&NOW, 1)])), part("space", None)];
        let error = page(&parts, Duration::from_secs(1)).expect_err("the space is silent");
        assert_eq!(error, "the space of this process has not answered within 1s");
    }
}
