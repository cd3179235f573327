//! The study as a whole: every printed cell is there, a run is reproducible, and it is no worse than it was.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use quintet_reproduce::thomas_1991::{
    Application, Case, Inferred, Lan, Model, PARAMETERS, Transport, reproduce, sensitivities, simulate,
};
use quintet_reproduce::{Cell, Predictor, Report, Role, Scope};
use std::sync::LazyLock;

/// As many as were within when the parameters were fitted.
const FITTED_WITHIN: usize = 68;
const PREDICTED_WITHIN: usize = 155;

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
    assert_eq!((fitted.of, predicted.of), (75, 181));
    assert!(fitted.within >= FITTED_WITHIN, "{fitted:?}");
    assert!(predicted.within >= PREDICTED_WITHIN, "{predicted:?}");
}

#[test]
fn every_simulated_cell_counts_and_those_set_aside_as_missed() {
    for (role, of) in [(Role::Fitted, 78), (Role::Predicted, 190)] {
        let every = REPORT.count_of(role, Scope::Every, Predictor::Simulation);
        assert_eq!((every.within, every.of), (REPORT.count(role).within, of));
    }
    assert_eq!(REPORT.set_aside(), (20, 8));
}

#[test]
fn the_naive_predictor_is_far_behind_and_says_nothing_of_fitted_cells() {
    let naive = |scope| REPORT.count_of(Role::Predicted, scope, Predictor::Naive);
    let (compared, every) = (naive(Scope::Compared), naive(Scope::Every));
    assert_eq!((compared.of, every.of, compared.within), (181, 190, every.within));
    assert!(REPORT.count(Role::Predicted).within > compared.within + 60, "{compared:?}");
    assert!(REPORT.cells.iter().all(|cell| cell.naive.is_some() == (cell.role == Role::Predicted)));
    // A row over UDP, by hand: times that differ by less than a tenth, and one that does not.
    let of = |row: &str, column: &str| {
        REPORT.cells.iter().find(|cell| cell.row == row && cell.column.name() == column).unwrap()
    };
    let row = "ethernet 16 mips rpc udp 1000 elements";
    assert_eq!(of(row, "simulated_with_vp_s").naive, Some(5.70));
    assert_eq!(of(row, "simulated_with_vp_s").naive_within(), Some(true));
    assert_eq!(of("fddi 16 mips rpc udp 65024 words", "read_time_s").naive_within(), Some(false));
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
    let silent = |cell: &&Cell| match cell.within() {
        Some(true) => false,
        Some(false) => cell.miss.is_none(),
        None => cell.set_aside.is_none(),
    };
    let silent: Vec<_> = REPORT.cells.iter().filter(silent).collect();
    assert!(silent.is_empty(), "{silent:#?}");
}

#[test]
fn there_are_no_more_parameters_than_told_and_cells_rest_on_each() {
    let report = reproduce(1);
    let found = sensitivities(&report);
    assert_eq!(found.len(), PARAMETERS.len());
    assert!(found.len() <= 15);
    for parameter in &found {
        assert!(parameter.cells > 0, "{parameter:?}");
        assert!(parameter.off.iter().all(|off| off.error.iter().all(|error| error.is_finite())));
    }
    // All but the parameter stays: what it found with none off it finds again.
    assert_eq!(reproduce(1), report);
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
    let sum = &objects[REPORT.cells.len()]["predicted"];
    assert_eq!(
        (&sum["of"], &sum["every"]["of"], &sum["naive"]["compared"]["of"]),
        (&181.into(), &190.into(), &181.into())
    );
    let first = objects[0].as_object().unwrap();
    for key in [
        "table",
        "row",
        "column",
        "published",
        "ours",
        "difference",
        "within",
        "naive",
        "role",
        "set_aside",
        "miss",
    ] {
        assert!(first.contains_key(key), "{key}");
    }
    let page = REPORT.html();
    assert_eq!(page.matches("<tr class=").count(), REPORT.cells.len());
}
