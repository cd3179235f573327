//! Cells that are not compared, each with its argument. Decided before fitting.
//!
//! Only what is no simulation's result, and what the paper's own text or tables contradict, whatever the model. What a model has to
//! be believed for, or what is merely hard to meet, is compared; `misses.rs` says what is strange about it.

use super::case::{Application, Case, Lan, Model, Transport};
use crate::cell::Column;

const MEASURED: &str = "measured on the machines of 1991, not simulated";
const ONE_DIGIT: &str = "printed with one digit, up to 19% off the throughput beside it, which is compared";
const OTHER_TIME: &str =
    "printed as 4.90 s, but the throughput beside it is 65024 in 3.16 s: the throughput is compared";
const COPIED_CLIENT: &str = "the very value of the UDP row below, which is of 2.08 s a read: a client that converts the same buffers \
     would work 945 ms for each here, 744 there and 752 with FDDI";
const SIX_TO_FOUR: &str = "a call waits for the one before (section 6.3.2), and 20 s hold five reads of 4.02 s; server applic's value is \
     six marshallings, that of the FDDI row, client applic's four conversions";

/// Why the cell is set aside, if it is.
pub(super) fn why(case: &Case, column: Column) -> Option<&'static str> {
    if column.name() == "measured_s" {
        return Some(MEASURED);
    }
    let Application::Realtime { words } = case.application else { return None };
    match (case.model, case.transport, case.lan, case.server_mips, words, column.name()) {
        (.., 16, 1, "read_time_s") => Some(ONE_DIGIT),
        (Model::Rexec, Transport::Tcp, Lan::Fddi, 16, 65_024, "read_time_s") => Some(OTHER_TIME),
        (Model::Rpc, Transport::Tcp, Lan::Ethernet, 16, 32_768, "client_applic") => Some(COPIED_CLIENT),
        (Model::Rpc, Transport::Udp, Lan::Ethernet, 16, 65_024, "server_applic" | "client_applic") => {
            Some(SIX_TO_FOUR)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::given;
    use super::super::tables::{Printed, all, value};
    use super::*;

    fn is_aside(case: &Case, name: &'static str) -> bool {
        why(case, Column::Time(name)).is_some()
    }

    fn realtime() -> impl Iterator<Item = Printed> {
        all().into_iter().filter(|printed| matches!(printed.case.application, Application::Realtime { .. }))
    }

    /// Seconds a read, by the throughput.
    fn seconds(printed: &Printed) -> f64 {
        f64::from(printed.case.application.size()) / value(printed, "throughput_bytes_per_s")
    }

    #[test]
    fn twenty_cells_are_set_aside() {
        let rows = all();
        let cells = rows.iter().flat_map(|printed| printed.cells.iter().map(move |cell| (printed, cell.1)));
        let aside = cells.filter(|(printed, column)| why(&printed.case, *column).is_some()).count();
        assert_eq!(aside, 20);
    }

    #[test]
    fn times_are_set_aside_that_are_not_those_of_the_throughput_to_two_digits() {
        for printed in realtime() {
            let (said, follows) = (value(&printed, "read_time_s"), seconds(&printed));
            let contradicts = (said - follows).abs() > 0.01 * follows;
            assert_eq!(is_aside(&printed.case, "read_time_s"), contradicts, "{}: {follows}", printed.case);
        }
    }

    #[test]
    fn a_client_converts_no_read_more_slowly_than_its_neighbours_but_the_one_set_aside() {
        // Reads of 20 s: those that ended, and the one that the end cut off, are what a client can have converted.
        let least = |printed: &Printed| {
            let busy = value(printed, "client_applic") / 100.0 * given::REALTIME_SECONDS;
            busy / (given::REALTIME_SECONDS / seconds(printed)).ceil()
        };
        let large = Application::Realtime { words: 32_768 };
        let rows: Vec<Printed> = realtime()
            .filter(|printed| printed.case.model == Model::Rpc && printed.case.application == large)
            .collect();
        let fastest = rows.iter().map(least).fold(f64::MAX, f64::min);
        for printed in &rows {
            let contradicts = least(printed) > 1.2 * fastest;
            assert_eq!(is_aside(&printed.case, "client_applic"), contradicts, "{}", printed.case);
        }
    }

    #[test]
    fn a_server_marshals_no_more_buffers_than_reads_begin_but_in_the_row_set_aside() {
        let marshalling = given::MARSHALL_WORD * given::SERVER_CYCLE.as_seconds();
        let blocking = realtime().filter(|printed| printed.case.model == Model::Rpc);
        for printed in blocking {
            let Application::Realtime { words: words @ 2.. } = printed.case.application else { continue };
            let busy = value(&printed, "server_applic") / 100.0 * given::REALTIME_SECONDS;
            let marshalled = busy / (marshalling * f64::from(words));
            let began = (given::REALTIME_SECONDS / seconds(&printed)).ceil();
            // Asking and sending cost a percent or two besides.
            let contradicts = marshalled > began + 0.3;
            assert_eq!(is_aside(&printed.case, "server_applic"), contradicts, "{}", printed.case);
        }
    }
}
