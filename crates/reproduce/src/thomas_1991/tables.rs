//! The printed rows, and which cells they have.

use super::case::{Application, Case, Lan, Model, Transport};
use crate::cell::Column;
use crate::table::{Row, rows};

const REALTIME: &str = include_str!("../../published/vector-realtime.csv");
const UTILISATION: &str = include_str!("../../published/vector-batch-utilisation.csv");
const MEASURED: &str = include_str!("../../published/vector-measured.csv");

/// What is printed of one simulation: table, column and value of each cell.
pub(super) struct Printed {
    pub(super) case: Case,
    pub(super) cells: Vec<(&'static str, Column, f64)>,
}

/// All simulations, in the order of the tables.
pub(super) fn all() -> Vec<Printed> {
    let mut all: Vec<Printed> = rows(MEASURED).iter().map(without_vector_processor).collect();
    all.extend(
        rows(MEASURED)
            .iter()
            .zip(rows(UTILISATION))
            .map(|(times, shares)| with_vector_processor(times, &shares)),
    );
    all.extend(rows(REALTIME).iter().map(realtime));
    all
}

fn model(row: &Row<'_>) -> Model {
    if row.text("model") == "rpc" { Model::Rpc } else { Model::Rexec }
}

fn transport(row: &Row<'_>) -> Transport {
    if row.text("transport") == "udp" { Transport::Udp } else { Transport::Tcp }
}

fn batch(row: &Row<'_>, vector_processor: bool) -> Case {
    Case {
        lan: Lan::Ethernet,
        server_mips: 16,
        model: model(row),
        transport: transport(row),
        application: Application::Batch { elements: row.whole("vector_length"), vector_processor },
    }
}

/// The cells of some columns.
fn cells(
    table: &'static str,
    row: &Row<'_>,
    of: fn(&'static str) -> Column,
    names: &[&'static str],
) -> Vec<(&'static str, Column, f64)> {
    names.iter().map(|&name| (table, of(name), row.number(name))).collect()
}

fn without_vector_processor(row: &Row<'_>) -> Printed {
    let case = batch(row, false);
    let table = if case.model == Model::Rpc { "6.3a" } else { "6.2a" };
    Printed { case, cells: cells(table, row, Column::Time, &["measured_s", "simulated_s"]) }
}

fn with_vector_processor(times: &Row<'_>, shares: &Row<'_>) -> Printed {
    let case = batch(times, true);
    let (a, b) = if case.model == Model::Rpc { ("6.3a", "6.3b") } else { ("6.2a", "6.2b") };
    let columns = ["simulated_with_vp_s", "throughput_with_vp_ops_per_s"];
    let mut printed = Printed { case, cells: cells(a, times, Column::Time, &columns) };
    let columns =
        ["server_applic", "server_xport", "client_applic", "client_xport", "ethernet", "vector_processor"];
    printed.cells.extend(cells(b, shares, Column::Utilisation, &columns));
    printed
}

fn realtime(row: &Row<'_>) -> Printed {
    let case = Case {
        lan: if row.text("lan_kind") == "fddi" { Lan::Fddi } else { Lan::Ethernet },
        server_mips: row.whole("server_mips"),
        model: model(row),
        transport: transport(row),
        // Sizes that the paper calls bytes are words, but for the smallest, which is one word.
        application: Application::Realtime {
            words: if row.whole("buffer_bytes") == 4 { 1 } else { row.whole("buffer_bytes") },
        },
    };
    let (a, b) = match (case.server_mips, case.lan, case.model) {
        (32, ..) => ("6.7a", "6.7b"),
        (_, Lan::Fddi, _) => ("6.6a", "6.6b"),
        (_, _, Model::Rpc) => ("6.5a", "6.5b"),
        _ => ("6.4a", "6.4b"),
    };
    let mut printed =
        Printed { case, cells: cells(a, row, Column::Time, &["read_time_s", "throughput_bytes_per_s"]) };
    let columns = ["server_applic", "server_xport", "client_applic", "client_xport", "lan"];
    printed.cells.extend(cells(b, row, Column::Utilisation, &columns));
    printed
}

/// The value in the column of that name; 0 if the row has none.
#[cfg(test)]
pub(super) fn value(printed: &Printed, name: &str) -> f64 {
    printed.cells.iter().find(|(_, column, _)| column.name() == name).map_or(0.0, |cell| cell.2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_batch_tables_has_its_utilisations() {
        for (times, shares) in rows(MEASURED).iter().zip(rows(UTILISATION)) {
            for name in ["model", "transport", "vector_length"] {
                assert_eq!(times.text(name), shares.text(name));
            }
        }
        assert_eq!(rows(MEASURED).len(), rows(UTILISATION).len());
    }
}
