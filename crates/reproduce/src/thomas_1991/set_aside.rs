//! Cells that are not compared, each with its argument. Decided before fitting.

use super::case::{Application, Case, Lan, Model, Transport};
use crate::cell::Column;

const MEASURED: &str = "measured on the machines of 1991, not simulated";
const TWO_DIGITS: &str = "printed with one digit: the throughput is compared";
const OTHER_TIME: &str =
    "printed as 4.90 s, but the throughput beside it is 65024 in 3.16 s: the throughput is compared";
const FASTER_SMALL: &str = "the client's work for a read cannot depend on the server's speed; with the time printed it does \
     (client applic 0.107 ms for 0.095, client xport 2.0 for 1.8), while a tenth less brings all four processors together";
const LAN_ABOVE_SENDER: &str = "a frame holds the LAN for 1.23 ms at most (0.124 on FDDI) and costs server xport 1.5 ms of set-up \
     before: server xport would have to be busy longer than it is printed to be";
const FEW_ACKNOWLEDGEMENTS: &str = "each 4096 bytes wait for an acknowledgement, which costs client xport 1.5 ms of set-up: 96 or 190 ms \
     a read at least, by table 5.2's bytes; the time printed holds a quarter to a third of them, and the rows at 32 MIPS all";
const COPIED_CLIENT: &str =
    "the value of the UDP row below: 945 ms a read for conversions that take 744 there and 752 with FDDI";
const SIX_TO_FOUR: &str = "a call blocks, but six buffers are marshalled and four converted; with server xport the three, of which one \
     works at a time, make 101.2 percent; server applic is that of the FDDI row";

/// Why the cell is set aside, if it is.
pub(super) fn why(case: &Case, column: Column) -> Option<&'static str> {
    if column.name() == "measured_s" {
        return Some(MEASURED);
    }
    let Application::Realtime { words } = case.application else { return None };
    match (case.model, case.transport, case.lan, case.server_mips, words, column.name()) {
        (.., 32, 1, "read_time_s" | "throughput_bytes_per_s") => Some(FASTER_SMALL),
        (.., 16, 1, "read_time_s") => Some(TWO_DIGITS),
        (Model::Rexec, Transport::Tcp, Lan::Fddi, 16, 65_024, "read_time_s") => Some(OTHER_TIME),
        (Model::Rexec, Transport::Tcp, _, 16, 2.., "client_xport") => Some(FEW_ACKNOWLEDGEMENTS),
        (Model::Rexec, Transport::Tcp, Lan::Ethernet, 16, 65_024, "lan") => Some(LAN_ABOVE_SENDER),
        (Model::Rexec, Transport::Tcp, Lan::Fddi, 16, 32_768, "server_xport")
        | (Model::Rexec, Transport::Tcp, _, 32, 65_024, "server_xport")
        | (Model::Rpc, Transport::Tcp, Lan::Ethernet, 16, 32_768, "server_xport") => Some(LAN_ABOVE_SENDER),
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
    use super::super::tables::{Printed, all};
    use super::*;

    fn value(printed: &Printed, name: &str) -> f64 {
        printed.cells.iter().find(|(_, column, _)| column.name() == name).map_or(0.0, |cell| cell.2)
    }

    /// What else the LAN carries: what it carries when buffers are a word.
    fn load(rows: &[Printed], case: &Case) -> f64 {
        let small = Case { application: Application::Realtime { words: 1 }, ..*case };
        rows.iter().find(|printed| printed.case == small).map_or(0.0, |printed| value(printed, "lan"))
    }

    #[test]
    fn the_lan_is_above_its_sender_in_these_rows_and_no_others() {
        let rows = all();
        let large =
            |printed: &&Printed| matches!(printed.case.application, Application::Realtime { words: 2.. });
        for printed in rows.iter().filter(large) {
            let carried = value(printed, "lan") - load(&rows, &printed.case);
            let frame = printed.case.lan.longest_frame_us();
            let set_up = given::IO_SETUP.as_seconds() * 1e6;
            let impossible = carried * (set_up + frame) / frame > value(printed, "server_xport");
            let aside = printed
                .cells
                .iter()
                .any(|(_, column, _)| why(&printed.case, *column) == Some(LAN_ABOVE_SENDER));
            assert_eq!(aside, impossible, "{}", printed.case);
        }
    }
}
