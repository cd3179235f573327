//! The study as a whole: every printed cell is there, a run is reproducible, and it is no worse than it was.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use quintet_reproduce::thomas_1991::{
    Application, Case, Inferred, Lan, Model, Transport, reproduce, simulate,
};
use quintet_reproduce::{Cell, Report, Role};
use std::sync::LazyLock;

static REPORT: LazyLock<Report> = LazyLock::new(|| reproduce(3));

fn rows(table: &str) -> impl Iterator<Item = &str> {
    table.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).skip(1)
}

#[test]
fn every_printed_cell_is_in_the_report_once() {
    let realtime = rows(include_str!("../published/vector-realtime.csv")).count();
    let batch = rows(include_str!("../published/vector-measured.csv")).count();
    assert_eq!((realtime, batch), (28, 8));
    // Two times and five utilisations; four times and six utilisations.
    assert_eq!(REPORT.cells.len(), 28 * 7 + 8 * 10);
    let mut names: Vec<_> =
        REPORT.cells.iter().map(|cell| (cell.table, &cell.row, cell.column.name())).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), REPORT.cells.len());
}

#[test]
fn printed_values_are_those_of_the_tables() {
    let mut printed: Vec<String> = Vec::new();
    for (table, first) in [
        (include_str!("../published/vector-realtime.csv"), 5),
        (include_str!("../published/vector-measured.csv"), 3),
        (include_str!("../published/vector-batch-utilisation.csv"), 3),
    ] {
        printed.extend(rows(table).flat_map(|row| row.split(',').skip(first).map(|value| value.to_owned())));
    }
    let mut printed: Vec<f64> = printed.iter().map(|value| value.parse().unwrap()).collect();
    let mut reported: Vec<f64> = REPORT.cells.iter().map(|cell| cell.published).collect();
    printed.sort_unstable_by(f64::total_cmp);
    reported.sort_unstable_by(f64::total_cmp);
    assert_eq!(printed, reported);
}

#[test]
fn as_many_cells_are_within_as_were() {
    let (fitted, predicted) = (REPORT.count(Role::Fitted), REPORT.count(Role::Predicted));
    assert_eq!((fitted.of, predicted.of), (71, 172));
    assert!(fitted.within >= 68, "{fitted:?}");
    assert!(predicted.within >= 131, "{predicted:?}");
}

#[test]
fn only_ethernet_tcp_and_16_mips_are_fitted() {
    let fitted = REPORT.cells.iter().filter(|cell| cell.role == Role::Fitted);
    assert!(
        fitted.clone().all(|cell| cell.row.starts_with("ethernet 16 mips") && cell.row.contains(" tcp "))
    );
    assert!(fitted.count() > 0);
}

#[test]
fn every_miss_and_everything_set_aside_has_its_reason() {
    let without = |cell: &&Cell| cell.within() != Some(true) && cell.reason.is_none();
    let silent: Vec<_> = REPORT.cells.iter().filter(without).collect();
    assert!(silent.is_empty(), "{silent:#?}");
}

#[test]
fn a_run_follows_from_its_seed() {
    let case = Case {
        lan: Lan::Ethernet,
        server_mips: 16,
        model: Model::Rpc,
        transport: Transport::Tcp,
        application: Application::Realtime { words: 32_768 },
    };
    let (first, second) = (simulate(&case, &Inferred::FITTED, 7), simulate(&case, &Inferred::FITTED, 7));
    assert_eq!(first, second);
    assert_ne!(first.digest, simulate(&case, &Inferred::FITTED, 8).digest);
}

#[test]
fn the_report_is_one_object_a_cell_and_a_sum() {
    let objects = REPORT.objects();
    assert_eq!(objects.len(), REPORT.cells.len() + 1);
    let first = objects[0].as_object().unwrap();
    for key in ["table", "row", "column", "published", "ours", "difference", "within", "role", "reason"] {
        assert!(first.contains_key(key), "{key}");
    }
    let page = REPORT.html();
    assert_eq!(page.matches("<tr class=").count(), REPORT.cells.len());
}
