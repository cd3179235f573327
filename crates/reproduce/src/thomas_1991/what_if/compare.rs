//! One model beside another.

use super::Row;

/// Less is no difference: a share of the throughput.
const RELEVANT: f64 = 0.01;

/// The rows that differ in nothing but model and clients, with what they share; in the order of the rows.
pub(super) fn by_label(rows: &[Row]) -> Vec<(String, Vec<&Row>)> {
    let mut groups: Vec<(String, Vec<&Row>)> = Vec::new();
    for row in rows {
        let label = row.experiment.label();
        match groups.iter_mut().find(|(name, _)| *name == label) {
            Some((_, group)) => group.push(row),
            None => groups.push((label, vec![row])),
        }
    }
    groups
}

/// Whether a row's throughput is above another's: by more than a hundredth, and the intervals do not meet.
pub(super) fn is_above(row: &Row, other: &Row) -> bool {
    let (low, high) = (row.throughput.range().0, other.throughput.range().1);
    row.throughput.mean > other.throughput.mean * (1.0 + RELEVANT) && low > high
}

/// The least number of clients from which on, to the end of the range, `one` is above `other`.
pub(super) fn ahead_from(one: &[&Row], other: &[&Row]) -> Option<u16> {
    let mut from = None;
    for row in one.iter().rev() {
        let beside = other.iter().find(|beside| beside.clients() == row.clients())?;
        if !is_above(row, beside) {
            break;
        }
        from = Some(row.clients());
    }
    from
}

/// The rows of one model, from few clients to many.
pub(super) fn of_model<'a>(rows: &[&'a Row], model: &str) -> Vec<&'a Row> {
    let mut found: Vec<&Row> = rows.iter().copied().filter(|row| row.experiment.model() == model).collect();
    found.sort_by_key(|row| row.clients());
    found
}

/// The row with the most throughput, and whether it is above all the others.
pub(super) fn best<'a>(rows: &[&'a Row]) -> Option<(&'a Row, bool)> {
    let best = rows.iter().copied().max_by(|a, b| a.throughput.mean.total_cmp(&b.throughput.mean))?;
    let alone = rows.iter().all(|row| row.experiment == best.experiment || is_above(best, row));
    Some((best, alone))
}

/// Below, an element that is busy most is no bottleneck: in percent.
const SATURATED: f64 = 90.0;

/// The element that limits a row, if one does.
pub(super) fn saturated(row: &Row) -> Option<&'static str> {
    let (element, share) = row.bottleneck();
    (share >= SATURATED).then_some(element)
}

/// How a row is limited, in words.
pub(super) fn limit(row: &Row) -> String {
    let (element, share) = row.bottleneck();
    format!("{element} {share:.0}%")
}
